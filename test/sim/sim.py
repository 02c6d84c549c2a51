# SPDX-License-Identifier: MIT
"""pdltool sim: descriptions, what is wrong with them, outputs, traces, and calibrations."""

import json
import os
import re
import resource
import sys
import unicodedata
import xml.dom.minidom

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "test", "tool"))
import tooltest  # pylint: disable=wrong-import-position

KERNEL = "kernel k blocks=132 threads=256 prologue=1us before=1us after=2us\n"


class Case(tooltest.Case):
    def run_text(self, text, *options):
        return self.tool("sim", self.file("it.pdlsim", text), *options)

    def result(self, text, *options):
        result = self.run_text(text, "--json", *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)


LONG = "kernel k blocks=1 threads=1 before=999999ms after=999999ms tail=999999ms\n"
ONE = "kernel k blocks=1 threads=1 "
REFUSED = (
    ("# a comment\n\nkernle k\n", "3: unknown word 'kernle'"),
    (ONE + "colour=red\n", "1: a kernel has no 'colour=red'"),
    (ONE + "carveout=50\n", "1: a kernel has no 'carveout=50'"),
    (ONE + "before=-1us\n", "1: a time below 0: -1us"),
    (ONE + "before=5\n", "1: a time is in ns, us, ms or c (cycles), not '5'"),
    *((ONE + f"before={text}\n", f"1: '{text}' is not a number") for text in ("x", "nan", "inf", "", "1e999")),
    *((ONE + f"before={time}\n", f"1: a time is from 0 to 1000 s, not {time}")
      for time in ("2e7ms", "1e308ms", "1000000.001ms", "1e13ns", "1e18c", "1e300us")),
    *((f"kernel k blocks=1 threads={text}\n", f"1: '{text}' is not a whole number from 1 to 1024")
      for text in ("0", "1025", "1.5", "-1", "1X")),
    *((f"kernel k blocks={blocks} threads=1\n", f"1: '{blocks}' is not a whole number from 1 to 2147483648")
      for blocks in ("2147483649", "1e18", "99999999999999999999", "4G")),
    ("device h200\nkernel k blocks=1 threads=32 shared=228K\nlaunch k\n",
     "2: kernel 'k' can never run: a block takes 234496 bytes of shared memory, and an SM of h200 has 233472"),
    ("kernel k blocks=1 threads=1024 registers=128\nlaunch k\n",
     "1: kernel 'k' can never run: a block takes 131072 registers, and an SM of h200 has 65536"),
    ("kernel k blocks=134 threads=32 cluster=4\nlaunch k\n",
     "1: kernel 'k' can never run: its clusters of 4 blocks do not divide its 134 blocks"),
    ("kernel k blocks=1024 threads=1024 registers=64 cluster=256\nlaunch k\n",
     "1: kernel 'k' can never run: a cluster has 256 blocks, and h200 holds 132 of them"),
    ("kernel k blocks=4 threads=32 cluster=0\n", "1: '0' is not a whole number from 1 to 1024"),
    ("launch k\n", "1: there is no kernel 'k'"),
    ("device b200\n", "1: device takes h200; --device reads others"),
    (KERNEL + KERNEL, "2: there is a kernel 'k' already, in line 1"),
    (KERNEL + "graph\ngate\nend\n", "3: 'gate' belongs outside of a graph"),
    (KERNEL + "graph\ngraph\nend\nend\n", "3: a graph in a graph"),
    (KERNEL + "graph overlap\nend\n", "2: 'overlap' does not belong here"),
    (KERNEL + "launch k quickly\n", "2: 'quickly' does not belong here"),
    ("repeat 1\n" + KERNEL + "end\n", "2: a kernel is described outside of repeat and graph"),
    ("end\n", "1: unknown word 'end'"),
    (KERNEL + "repeat 3\nlaunch k\n", "2: repeat without an end"),
    (KERNEL + "graph\n", "2: graph without an end"),
    (KERNEL, "1: nothing is launched"),
    ("", "1: nothing is launched"),
    (KERNEL + "repeat 10000\nrepeat 10000\nlaunch k\nend\nend\n", "4: more than 1000000 launches"),
    (KERNEL + "launch k\n" + "repeat 1000000\n" * 3 + "end\n" * 3,
     "6: more than 10000000 lines, each as often as it is repeated"),
    ("repeat 1\n" * 100000, "65: more than 64 of repeat and graph in each other"),
    (KERNEL + 2 * ("graph\n" + "".join(f"launch k stream=s{i}\n" for i in range(9000)) + "end\n"),
     "9004: launches come after more than 50000000 others"),
)  # fmt: skip
DEVICES = (
    ("sms 0", "1: error: the value is out of bounds: sms is a whole number from 1 to 1024"),
    ("\ncolour 1", "2: error: no such value"),
    ("clock -1", "1: error: the value is not a number of 0 or more"),
    ("clock", "1: error: a value is missing"),
    ("clock 1000\nsms 1", ": error: a limit of an SM is missing"),
    ("clock 1e-300", "clock is from 1 to 1000000 MHz, not 1e-300"),
    ("clock 1e300", "clock is from 1 to 1000000 MHz, not 1e+300"),
    ("host-launch 1e300", "host-launch is from 0 to 1000000000 ns, not 1e+300"),
    *((f"submit {text}", "the value is not a number of 0 or more") for text in ("nan", "inf", "1e999")),
)


class BadInput(Case):
    def test_what_is_wrong_is_told_with_its_line(self):
        for text, message in REFUSED:
            with self.subTest(message):
                result = self.run_text(text)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(result.stderr, self.path("it.pdlsim") + ":" + message.replace(": ", ": error: ", 1) + "\n")

    def test_what_is_wrong_with_a_device_s_file_is_told_with_its_line(self):
        for text, message in DEVICES:
            with self.subTest(message):
                result = self.run_text(KERNEL + "launch k\n", "--device", self.file("bad.cal", text + "\n"))
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(message, result.stderr)

    def test_a_file_that_is_not_there_is_told(self):
        result = self.tool("sim", "absent.pdlsim")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("absent.pdlsim: error: No such file or directory", result.stderr)

    def test_bytes_of_any_kind_end_with_a_line(self):
        for text in (b"\0kernel", b"\xff\xfe", b"kernel k blocks=1 threads=1\0x\n", b"a " * 40):
            result = self.run_text(text)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_times_that_are_too_long_together_are_told(self):
        for launches in ("launch k\n", "repeat 1000\nlaunch k\nend\n", "launch k\nlaunch k overlap\n"):
            for options in ((), ("--plain",), ("--text",), ("--what-if", "trigger=0..1:3")):
                result = self.run_text(LONG + launches, *options)
                self.assertEqual((result.returncode, result.stdout), (2, ""), options)
                self.assertIn("longer than 1000 s, the most that is simulated", result.stderr)


class Bounds(Case):
    def test_the_longest_time_is_taken(self):
        result = self.result("gate\nkernel k blocks=1 threads=1 before=999999ms\nlaunch k\n")
        self.assertGreater(result["total_us"], 999999000)

    def test_a_clock_far_from_0_still_advances(self):
        text = "gate\nkernel long blocks=1 threads=32 before=990000ms\nkernel k blocks=300 threads=1024 before=0.001ns issue=0.3\n"
        text += "launch long\nrepeat 200\nlaunch k overlap\nend\n"
        self.assertEqual(len(self.result(text)["launches"]), 201)

    def test_a_kernel_of_very_many_blocks_ends(self):
        self.assertGreater(self.result("kernel k blocks=100000000 threads=1024\nlaunch k\n")["total_us"], 0)

    def test_the_last_line_of_a_device_s_file_counts(self):
        with open(os.path.join(ROOT, "tools", "sim", "h200.cal"), encoding="utf-8") as file:
            path = self.file("it.cal", file.read() + "gap-stream 1e9\n")
        text = "gate\n" + KERNEL + "launch k\nlaunch k\n"
        self.assertGreater(self.result(text, "-d", path)["total_us"], 1e6 + self.result(text)["total_us"] - 2)


# Bytes that are part of a name: no white space, which ends it, and no '#', where a comment begins.
BYTES = bytes(byte for byte in range(1, 256) if bytes([byte]) not in b" \t\r\n\v\f#=")
NAMES = [
    BYTES, b"]]>", b"-->", b"<!--", b'"><script>alert(1)</script>', b"`touch_pwned`", b"\\n", b"$(touch_pwned)", b"%s%n", b"&amp;",
    "\u009b31m\u202e\u2066\u2028\ufeff\uffff\U000e0041".encode(), b"\x9b\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82", b"x" * 100000,
    "\u00e4\u4f60\U0001f600".encode(),
]  # fmt: skip


class Names(Case):
    TEXT = b"gate\n" + b"".join(
        b"kernel %s blocks=4 threads=32 before=1us\nlaunch %s stream=%s\n" % (name, name, name) for name in NAMES
    )

    def harmless(self, text):
        """As a terminal sees it: lines of characters that show as themselves."""
        self.assertNotIn("\ufffd", text)  # what was no UTF-8
        bad = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")}
        self.assertEqual(bad - {"\n"}, set())
        self.assertLess(max(map(len, text.split("\n"))), 4000)

    def test_tables_and_drawings_keep_printable_names_and_escape_others(self):
        result = self.run_text(self.TEXT, "--text", "--plain")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.harmless(result.stdout)
        for name in ("]]>", "\u00e4\u4f60\U0001f600", "\\u009b31m\\u202e\\u2066\\u2028\\ufeff", "\\x9b\\xc0\\xaf"):
            self.assertIn(name, result.stdout)

    def test_a_picture_is_xml(self):
        self.assertEqual(self.run_text(self.TEXT, "--svg", "it.svg").returncode, 0)
        root = xml.dom.minidom.parse(self.path("it.svg"))
        texts = ["".join(child.data for child in text.childNodes) for text in root.getElementsByTagName("text")]
        for name in (b"]]>", b"-->", b'"><script>alert(1)</script>', b"&amp;"):
            self.assertIn(name.decode(), texts)
        self.assertEqual(root.getElementsByTagName("script"), [])

    def test_json_and_traces_are_json(self):
        result = self.run_text(self.TEXT, "--json", "--trace", "it.json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.harmless(result.stdout.replace("x" * 100000, "").replace("\x7f", ""))
        names = [launch["kernel"] for launch in json.loads(result.stdout)["launches"]]
        self.assertEqual(names, [re.sub("[\udc80-\udcff]", "\ufffd", name.decode(errors="surrogateescape")) for name in NAMES])
        with open(self.path("it.json"), "rb") as file:
            json.loads(file.read().decode())

    def test_messages_are_one_harmless_line(self):
        for name in NAMES:
            for text in (b"launch " + name, b"kernel k " + name, name, b"kernel k blocks=" + name, b"kernel k blocks=1 threads=1 before=" + name):
                result = self.run_text(text + b"\n")
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(result.stderr.count("\n"), 1)
                self.harmless(result.stderr)

    def test_names_of_files_and_arguments_are_harmless(self):
        evil = "it\x1b[31m\n\u009b\u202e.pdlsim"
        for arguments in (("sim", evil), ("sim", "x", "-d", evil), ("report", "predict", evil), ("report", "calibrate", evil),
                          ("sim", "x", "--what-if", evil), (evil,), ("report", evil), ("overlap", "x", "--sms", evil)):  # fmt: skip
            result = self.tool(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.harmless(result.stderr)
            self.assertIn("\\x1b[31m\\x0a\\u009b\\u202e" if arguments[0] != "overlap" else "", result.stderr)


class Scale(Case):
    """Four times as many of a thing take about four times as long."""

    def seconds(self, make, count):
        self.file("it.pdlsim", make(count))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = self.tool("sim", "it.pdlsim")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertIn(result.returncode, (0, 2))
        return after.ru_utime - before.ru_utime

    def grows_as_the_size(self, make, count=5000):
        for _ in range(3):
            once, four_times = self.seconds(make, count), self.seconds(make, 4 * count)
            if four_times < 8 * once + 0.2:
                return
        self.fail(f"{count} take {once:.3f} s, and {4 * count} take {four_times:.3f} s")

    def test_each_thing(self):
        line = "kernel k%d blocks=1 threads=32\nlaunch k%d\n"
        for name, make in (
            ("a graph of a stream", lambda n: "graph\n" + "launch k\n" * n + "end\n"),
            ("a graph of streams", lambda n: "graph\n" + "".join(f"launch k stream=s{i}\n" for i in range(n)) + "end\n"),
            ("streams that one comes after", lambda n: "graph\n" + "".join(f"launch k stream=s{i}\nlaunch k after=s{i}\n" for i in range(n)) + "end\n"),
            ("streams", lambda n: "".join(f"launch k stream=s{i}\n" for i in range(n))),
            ("kernels", lambda n: "".join(line % (i, i) for i in range(n))),
            ("streams after each other", lambda n: "launch k stream=a\nlaunch k stream=b after=a\n" * n),
            ("graphs and repeats", lambda n: "repeat 1\ngraph\nlaunch k\nlaunch k\nend\nend\n" * n),
        ):  # fmt: skip
            with self.subTest(name):
                self.grows_as_the_size(lambda n, make=make: "gate\nkernel k blocks=1 threads=32 before=1us\n" + make(n))


class Describe(Case):
    def starts(self, text):
        return [launch["start_us"] for launch in self.result(text)["launches"]]

    def test_launches_of_a_stream_come_one_after_another(self):
        launches = self.result("gate\n" + KERNEL + "repeat 3\nlaunch k\nend\n")["launches"]
        self.assertEqual(len(launches), 3)
        for first, second in zip(launches, launches[1:]):
            self.assertGreater(second["start_us"], first["complete_us"] + 1)

    def test_overlap_brings_the_second_one_before_the_first_one_s_end(self):
        first, second = self.result("gate\n" + KERNEL + "launch k\nlaunch k overlap\n")["launches"]
        self.assertLess(second["start_us"], first["end_us"])
        self.assertGreater(second["waited_us"], first["end_us"])

    def test_launches_of_two_streams_run_at_once(self):
        starts = self.starts("gate\n" + KERNEL + "launch k stream=a\nlaunch k stream=b\n")
        self.assertLess(abs(starts[0] - starts[1]), 0.2)

    def test_a_launch_or_a_graph_comes_after_another_stream(self):
        for second in ("launch k stream=b after=a\n", "graph stream=b after=a\nlaunch k\nend\n"):
            text = "gate\n" + KERNEL + "launch k stream=b\nlaunch k stream=a\nlaunch k stream=a\n" + second + "launch k stream=a\n"
            launches = self.result(text)["launches"]
            first, awaited, last = launches[0], launches[2], launches[3]
            self.assertGreater(last["start_us"], max(first["complete_us"], awaited["complete_us"]))
            self.assertLess(abs(last["start_us"] - launches[4]["start_us"]), 1)  # which does not wait for it

    def test_after_a_stream_without_work_nothing_is_waited_for(self):
        for words in ("stream=b after=b", "stream=b after=c"):
            self.assertEqual(self.starts("gate\n" + KERNEL + "launch k\nlaunch k %s\n" % words), [0, 0])

    def test_extents_are_grids_and_blocks(self):
        text = "gate\nkernel k grid=2x3x4 block=16x8 shared=1K dynamic=1K before=1us\nlaunch k\n"
        self.assertEqual(self.result(text), self.result("gate\nkernel k blocks=24 threads=128 shared=2K before=1us\nlaunch k\n"))

    def test_streams_say_what_a_graph_s_launches_come_after(self):
        text = "gate\n" + KERNEL + "launch k stream=b\ngraph stream=b\nlaunch k stream=a\nlaunch k stream=b\nlaunch k stream=a after=b\nend\nlaunch k stream=b\n"
        before, a, b, c, after = self.result(text)["launches"]
        self.assertGreater(min(a["start_us"], b["start_us"]), before["complete_us"])
        self.assertEqual({launch["stream"] for launch in (before, a, b, c, after)}, {"b"})
        self.assertLess(abs(a["start_us"] - b["start_us"]), 0.2)
        self.assertGreater(c["start_us"], max(a["complete_us"], b["complete_us"]))
        self.assertGreater(after["start_us"], c["complete_us"])

    def test_a_graph_s_launches_come_sooner_than_a_stream_s(self):
        line = "repeat 4\nlaunch k\nend\n"
        stream = self.result("gate\n" + KERNEL + line)["total_us"]
        graph = self.result("gate\n" + KERNEL + "graph\n" + line + "end\n")["total_us"]
        self.assertGreater(stream, graph + 2)

    def test_without_a_gate_the_host_holds_up_small_kernels(self):
        text = "kernel k blocks=1 threads=32\nrepeat 20\nlaunch k\nend\n"
        self.assertGreater(self.result(text)["total_us"], 1.5 * self.result("gate\n" + text)["total_us"])

    def test_times_have_units(self):
        totals = [
            self.result(f"gate\nkernel k blocks=1 threads=32 before={time}\nlaunch k\n")["total_us"]
            for time in ("2us", "2000ns", "0.002ms", "3960c")
        ]
        self.assertEqual(len(set(totals)), 1)

    def test_the_kernels_of_the_example_overlap(self):
        path = os.path.join(ROOT, "examples", "sim", "fc.pdlsim")
        result = json.loads(self.tool("sim", path, "--json", "--plain").stdout)
        self.assertEqual(len(result["launches"]), 4)
        for first, second in zip(result["launches"], result["launches"][1:]):
            self.assertLess(second["start_us"], first["end_us"])
        self.assertGreater(result["without_overlap_us"], 1.4 * result["total_us"])


class Outputs(Case):
    TEXT = "gate\n" + KERNEL + "launch k\nlaunch k overlap\n"

    def test_the_table_has_a_line_a_launch_and_a_sum(self):
        result = self.run_text(self.TEXT, "--plain")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?m)^ +0  k +stream ")
        self.assertRegex(result.stdout, r"(?m)^2 launches: [0-9.]+ µs")
        self.assertRegex(result.stdout, r"(?m)^without overlap: [0-9.]+ µs$")

    def test_several_descriptions_have_an_object_each(self):
        paths = [self.file("a.pdlsim", self.TEXT), self.file("b.pdlsim", "gate\n" + KERNEL + "launch k\n")]
        both = self.tool("sim", *paths, "--json")
        self.assertEqual((both.stderr, both.returncode), ("", 0))
        self.assertEqual(both.stdout, "".join(self.tool("sim", path, "--json").stdout for path in paths))
        for options in ((), ("--json", "--text"), ("--json", "--svg", "x.svg"), ("--json", "--trace", "x.json")):
            result = self.tool("sim", *paths, *options)
            self.assertEqual((result.stdout, result.returncode), ("", 2), options)
            self.assertIn("one description at a time", result.stderr)

    def test_a_sweep_finds_that_late_triggers_lose(self):
        sweep = self.result(self.TEXT, "--what-if", "trigger=0..1:4")["what_if"]
        self.assertEqual([point["trigger"] for point in sweep], [0, 0.25, 0.5, 0.75, 1])
        self.assertGreater(sweep[4]["total_us"], sweep[0]["total_us"] + 0.5)

    def test_a_sweep_finds_that_triggers_too_early_lose(self):
        text = "gate\nkernel k blocks=256 threads=256 prologue=0.1us before=2us issue=1\nrepeat 40\nlaunch k overlap\nend\n"
        sweep = self.result(text, "--what-if", "trigger=0..1:2")["what_if"]
        self.assertGreater(sweep[0]["total_us"], 1.2 * sweep[2]["total_us"])

    def test_a_sweep_that_is_none_is_refused(self):
        for sweep in ("trigger=0", "trigger=0..2", "trigger=1..0", "trigger=0..1:0", "trigger=a..1", "block=0..1", "trigger=0..1:x"):
            result = self.run_text(self.TEXT, "--what-if", sweep)
            self.assertEqual((result.returncode, result.stdout), (2, ""), sweep)

    def test_the_timeline_goes_to_the_terminal_and_to_files(self):
        result = self.run_text(self.TEXT, "--text", "--svg", self.path("a.svg"), "--trace", self.path("a.json"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("µs, overlap ", result.stdout)
        with open(self.path("a.svg"), encoding="utf-8") as file:
            self.assertIn("</svg>", file.read())

    def test_so_many_blocks_are_not_drawn(self):
        result = self.run_text("kernel k blocks=3000000 threads=32\nlaunch k\n", "--text")
        self.assertEqual(result.returncode, 2)
        self.assertIn("3000000 blocks", result.stderr)


class Shapes(tooltest.Case):
    """The random configurations of the bench: listing them needs no device."""

    def listed(self, *options):
        result = self.tool("bench", "overlap", "--list", "--filter", "overlap/shapes", *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return [line.split("/")[2:] for line in result.stdout.splitlines() if "seed=fixed" not in line]

    def test_a_seed_makes_the_same_configurations_again_and_another_one_others(self):
        self.assertEqual(self.listed(), self.listed("--seed", "1"))
        configurations = [{tuple(words[1:3]) for words in self.listed("--seed", seed)} for seed in ("1", "2")]
        self.assertEqual([len(each) for each in configurations], [120, 120])
        self.assertFalse(configurations[0] & configurations[1])

    def test_they_are_in_their_ranges_and_fill_them(self):
        shapes, two = [], 0
        for seed, first, second, way in self.listed("--seed", "3"):
            self.assertEqual(seed, "seed=3")
            if way == "way=graph":
                two += second != "second=same"
                for text in {first, second} - {"second=same"}:
                    shapes.append([int(number) for number in re.fullmatch(r"\w+=(\d+)x(\d+)\+(\d+)K:(\d+):(\d+):(\d+)", text).groups()])
        self.assertTrue(40 < two < 80)
        ranges = ((1, 1500), (32, 1024), (0, 200), (100, 6000), (100, 6000), (100, 6000))
        for values, (least, most) in zip(zip(*shapes), ranges):
            self.assertTrue(least <= min(values) < 0.05 * most + least and 0.9 * most < max(values) <= most)


if __name__ == "__main__":
    tooltest.main(globals())
