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

    def refused(self, text, message):
        result = self.run_text(text)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, self.path("it.pdlsim") + ":" + message.replace(": ", ": error: ", 1) + "\n")


class BadInput(Case):
    def test_an_unknown_word_is_told_with_its_line(self):
        self.refused("# a comment\n\nkernle k\n", "3: unknown word 'kernle'")

    def test_an_unknown_value_of_a_kernel_is_told(self):
        self.refused("kernel k blocks=1 threads=1 colour=red\n", "1: a kernel has no 'colour=red'")

    def test_a_time_below_0_is_told(self):
        self.refused("kernel k blocks=1 threads=1 before=-1us\n", "1: a time below 0: -1us")

    def test_a_time_without_a_unit_is_told(self):
        self.refused("kernel k blocks=1 threads=1 before=5\n", "1: a time is in ns, us, ms or c (cycles), not '5'")

    def test_what_is_no_number_is_told(self):
        for text in ("x", "nan", "inf", "", "1e999"):
            self.refused(f"kernel k blocks=1 threads=1 before={text}\n", f"1: '{text}' is not a number")

    def test_a_count_out_of_bounds_is_told(self):
        for text in ("0", "1025", "1.5", "-1", "1X"):
            self.refused(f"kernel k blocks=1 threads={text}\n", f"1: '{text}' is not a whole number from 1 to 1024")

    def test_a_kernel_that_can_never_fit_is_told(self):
        self.refused(
            "device h200\nkernel k blocks=1 threads=32 shared=228K\nlaunch k\n",
            "2: kernel 'k' can never run: a block takes 234496 bytes of shared memory, and an SM of h200 has 233472",
        )
        self.refused(
            "kernel k blocks=1 threads=1024 registers=128\nlaunch k\n",
            "1: kernel 'k' can never run: a block takes 131072 registers, and an SM of h200 has 65536",
        )

    def test_clusters_that_can_never_run_are_told(self):
        self.refused(
            "kernel k blocks=134 threads=32 cluster=4\nlaunch k\n",
            "1: kernel 'k' can never run: its clusters of 4 blocks do not divide its 134 blocks",
        )
        self.refused(
            "kernel k blocks=1024 threads=1024 registers=64 cluster=256\nlaunch k\n",
            "1: kernel 'k' can never run: a cluster has 256 blocks, and h200 holds 132 of them",
        )
        self.refused("kernel k blocks=4 threads=32 cluster=0\n", "1: '0' is not a whole number from 1 to 1024")

    def test_a_cycle_of_edges_is_told(self):
        cycle = KERNEL + "graph\nnode a k\nnode b k\nnode c k\nedge a b\nedge b c\nedge c b\nend\n"
        for options in ((), ("--plain",), ("--text",), ("--what-if", "trigger=0..1:3"), ("--json",)):
            result = self.run_text(cycle, *options)
            self.assertEqual((result.returncode, result.stdout), (2, ""), options)
            self.assertEqual(result.stderr, "pdltool sim: error: line 4: a cycle: this, or what it comes after, waits for itself\n")

    def test_names_that_are_not_there_are_told(self):
        self.refused("launch k\n", "1: there is no kernel 'k'")
        self.refused(KERNEL + "graph\nnode a k\nedge a b\nend\n", "4: there is no node 'b'")
        self.refused("device b200\n", "1: device takes h200; --device reads others")

    def test_names_that_are_there_twice_are_told(self):
        self.refused(KERNEL + KERNEL, "2: there is a kernel 'k' already, in line 1")
        self.refused(KERNEL + "graph\nnode a k\nnode a k\nend\n", "4: there is a node 'a' already")

    def test_words_in_the_wrong_place_are_told(self):
        self.refused(KERNEL + "edge a b\n", "2: 'edge' belongs in a graph")
        self.refused(KERNEL + "graph\ngate\nend\n", "3: 'gate' belongs outside of a graph")
        self.refused(KERNEL + "graph\nlaunch k stream=a\nend\n", "3: 'stream=a' does not belong here")
        self.refused(KERNEL + "graph overlap\nend\n", "2: 'overlap' does not belong here")
        self.refused(KERNEL + "launch k quickly\n", "2: 'quickly' does not belong here")
        self.refused("end\n", "1: unknown word 'end'")

    def test_an_end_that_is_missing_is_told(self):
        self.refused(KERNEL + "repeat 3\nlaunch k\n", "2: repeat without an end")
        self.refused(KERNEL + "graph\n", "2: graph without an end")

    def test_a_description_without_launches_is_told(self):
        self.refused(KERNEL, "1: nothing is launched")
        self.refused("", "1: nothing is launched")

    def test_a_file_that_is_not_there_is_told(self):
        result = self.tool("sim", "absent.pdlsim")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("absent.pdlsim: error: No such file or directory", result.stderr)

    def test_bytes_of_any_kind_end_with_a_line(self):
        for text in (b"\0kernel", b"\xff\xfe", b"kernel k blocks=1 threads=1\0x\n", b"a " * 40):
            result = self.run_text(text)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_too_many_launches_are_told(self):
        self.refused(KERNEL + "repeat 10000\nrepeat 10000\nlaunch k\nend\nend\n", "4: more than 1000000 launches")


class Bounds(Case):
    def test_a_time_that_is_too_long_is_told_with_the_range(self):
        for time in ("2e7ms", "1e308ms", "1000000.001ms", "1e13ns", "1e18c", "1e300us"):
            self.refused(f"kernel k blocks=1 threads=1 before={time}\n", f"1: a time is from 0 to 1000 s, not {time}")

    def test_the_longest_time_is_taken(self):
        result = self.result("gate\nkernel k blocks=1 threads=1 before=999999ms\nlaunch k\n")
        self.assertGreater(result["total_us"], 999999000)

    def test_times_that_are_too_long_together_are_told(self):
        kernel = "kernel k blocks=1 threads=1 before=999999ms after=999999ms tail=999999ms\n"
        for launches in ("launch k\n", "repeat 1000\nlaunch k\nend\n", "launch k\nlaunch k overlap\n"):
            for options in ((), ("--plain",), ("--text",), ("--what-if", "trigger=0..1:3"), ("--json",)):
                result = self.run_text(kernel + launches, *options)
                self.assertEqual((result.returncode, result.stdout), (2, ""), options)
                self.assertIn("longer than 1000 s, the most that is simulated", result.stderr)

    def test_a_clock_far_from_0_still_advances(self):
        text = "gate\nkernel long blocks=1 threads=32 before=990000ms\nkernel k blocks=300 threads=1024 before=0.001ns issue=0.3\n"
        text += "launch long\nrepeat 200\nlaunch k overlap\nend\n"
        self.assertEqual(len(self.result(text)["launches"]), 201)

    def test_a_kernel_of_very_many_blocks_ends(self):
        self.assertGreater(self.result("kernel k blocks=100000000 threads=1024\nlaunch k\n")["total_us"], 0)

    def test_more_blocks_are_told(self):
        for blocks in ("2147483649", "1e18", "99999999999999999999", "4G"):
            self.refused(f"kernel k blocks={blocks} threads=1\n", f"1: '{blocks}' is not a whole number from 1 to 2147483648")

    def test_repeats_that_launch_nothing_end(self):
        text = KERNEL + "launch k\n" + "repeat 1000000\n" * 3 + "end\n" * 3
        self.refused(text, "6: more than 10000000 lines, each as often as it is repeated")

    def test_graphs_that_come_after_each_other_by_too_many_edges_are_told(self):
        graph = "graph\n" + "".join(f"node n{i} k\n" for i in range(9000)) + "end\n"
        result = self.run_text(KERNEL + graph + graph)
        self.assertEqual(result.returncode, 2)
        self.assertIn("launches come after more than 50000000 others", result.stderr)

    def test_repeats_are_not_in_each_other_without_end(self):
        self.refused("repeat 1\n" * 100000, "65: more than 64 of repeat and graph in each other")

    def calibrated(self, *lines):
        calibration = os.path.join(ROOT, "tools", "sim", "h200.cal")
        with open(calibration, encoding="utf-8") as file:
            text = file.read()
        path = self.file("it.cal", text + "".join(line + "\n" for line in lines))
        return self.run_text(KERNEL + "launch k\n", "-d", path)

    def test_values_of_a_device_have_ranges(self):
        self.assertEqual(self.calibrated("gap-stream 1e9").returncode, 0)
        for line, wanted in (
            ("clock 1e-300", "clock is from 1 to 1000000 MHz, not 1e-300"),
            ("clock 1e300", "clock is from 1 to 1000000 MHz, not 1e+300"),
            ("host-launch 1e300", "host-launch is from 0 to 1000000000 ns, not 1e+300"),
            ("bench-additions 1e300", "bench-additions is from 0 to 1000000 cycles"),
            ("bench-weight 1e300", "bench-weight is from 0 to 1000000 blocks"),
            ("sms 1e18", "sms is a whole number from 1 to 1024"),
            ("submit nan", "the value is not a number of 0 or more"),
            ("submit inf", "the value is not a number of 0 or more"),
            ("submit 1e999", "the value is not a number of 0 or more"),
        ):
            result = self.calibrated(line)
            self.assertEqual((result.returncode, result.stdout), (2, ""), line)
            self.assertIn(wanted, result.stderr)

    def test_a_device_that_has_no_room_for_a_block_is_told(self):
        trace = self.trace([self.block(0, 0)])
        result = self.tool("sim", trace, "-d", self.file("it.cal", "clock 1000\nsms 1\nsm-blocks 1\nsm-threads 1\nsm-registers 1\nsm-shared 1\n"))
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("no SM has room for its blocks", result.stderr)

    @staticmethod
    def block(launch, start_ns, **args):
        args = {"launch": launch, "sm": 0, **{key: start_ns + value for key, value in args.items()}}
        ts = "%d.%03d" % divmod(start_ns, 1000)
        text = json.dumps({"ph": "X", "cat": "block", "pid": 1, "name": "k", "ts": 0, "dur": 5.25, "args": args})
        return text.replace('"ts": 0', '"ts": ' + ts)

    def trace(self, events):
        return self.file("it.json", '{"traceEvents": [' + ",\n".join(events) + "]}")

    def test_stamps_since_1970_count_as_those_from_0(self):
        totals = []
        for first in (0, 10**9, 1790000000000000001, 2**62 - 10**6):
            stamps = {"wait_ns": 1000, "waited_ns": 1003, "triggered_ns": 4001}
            events = [self.block(i, first + 4003 * i, **stamps) for i in range(20)]
            result = self.tool("sim", self.trace(events), "--json")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            totals.append(json.loads(result.stdout)["launches"])
        self.assertEqual(totals[1:], totals[:1] * 3)

    def test_numbers_of_a_trace_have_ranges(self):
        good = self.block(0, 1000, wait_ns=1000, waited_ns=1000)
        for old, new, wanted in (
            ('"dur": 5.25', '"dur": 1e400', "dur is 1e400, not a number from 0 to 1000000000"),
            ('"dur": 5.25', '"dur": -1', "dur is -1, not"),
            ('"dur": 5.25', '"dur": "x"', "dur is x, not"),
            ('"dur": 5.25, ', "", "dur is missing, not"),
            ('"ts": 1.000', '"ts": 99999999999999999999999', "ts is 99999999999999999999999, not a number from -4611686018427387 to"),
            ('"ts": 1.000', '"ts": null', "ts is missing, not"),
            ('"launch": 0', '"launch": 1e18', "launch is 1e18, not a number from 0 to 999999"),
            ('"launch": 0', '"launch": -1', "launch is -1, not"),
            ('"sm": 0', '"sm": 18446744073709551616', "sm is 18446744073709551616, not a number from 0 to 4294967295"),
            ('"wait_ns": 2000', '"wait_ns": 9007199254740993', "wait_ns is 9007199254740993, not a number from 1000 to 6250"),
        ):
            self.assertIn(old, good)
            result = self.tool("sim", self.trace([good.replace(old, new)]))
            self.assertEqual((result.returncode, result.stdout), (2, ""), new)
            self.assertIn("error: event 0: " + wanted, result.stderr)


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

    def test_json_and_traces_are_json_and_read_again(self):
        result = self.run_text(self.TEXT, "--json", "--trace", "it.json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.harmless(result.stdout.replace("x" * 100000, "").replace("\x7f", ""))
        names = [launch["kernel"] for launch in json.loads(result.stdout)["launches"]]
        self.assertEqual(names, [re.sub("[\udc80-\udcff]", "\ufffd", name.decode(errors="surrogateescape")) for name in NAMES])
        with open(self.path("it.json"), "rb") as file:
            json.loads(file.read().decode())
        again = json.loads(self.tool("sim", "it.json", "--json").stdout)
        self.assertEqual({launch["kernel"] for launch in again["launches"]}, set(names))

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

    @staticmethod
    def graph(edges):
        small = "kernel k blocks=1 threads=32 before=1us\n"
        return lambda n: "gate\n" + small + "graph\n" + "".join(f"node n{i} k\n" for i in range(n)) + edges(n) + "end\n"

    def test_nodes_in_a_line(self):
        self.grows_as_the_size(self.graph(lambda n: "".join(f"edge n{i} n{i + 1}\n" for i in range(n - 1))))

    def test_nodes_in_a_line_from_the_last_to_the_first(self):
        self.grows_as_the_size(self.graph(lambda n: "".join(f"edge n{i + 1} n{i}\n" for i in range(n - 1))))

    def test_nodes_that_one_comes_after(self):
        self.grows_as_the_size(self.graph(lambda n: "".join(f"edge n{i} n{n - 1}\n" for i in range(n - 1))))

    def test_nodes_without_edges(self):
        self.grows_as_the_size(self.graph(lambda n: ""))

    def test_nodes_in_a_circle(self):
        self.grows_as_the_size(self.graph(lambda n: "".join(f"edge n{i} n{(i + 1) % n}\n" for i in range(n))))

    def test_streams(self):
        self.grows_as_the_size(lambda n: "gate\n" + KERNEL + "".join(f"launch k stream=s{i}\n" for i in range(n)))

    def test_kernels(self):
        line = "kernel k%d blocks=1 threads=32\nlaunch k%d\n"
        self.grows_as_the_size(lambda n: "gate\n" + "".join(line % (i, i) for i in range(n)))

    def test_streams_after_each_other(self):
        line = "launch k stream=a\nlaunch k stream=b after=a\n"
        self.grows_as_the_size(lambda n: "gate\n" + KERNEL + line * n)

    def test_graphs_and_repeats(self):
        lines = "repeat 1\ngraph\nnode a k\nnode b k\nedge a b\nend\nend\n"
        self.grows_as_the_size(lambda n: "gate\n" + KERNEL + lines * n, 3000)

    @staticmethod
    def trace(launch, process, sm):
        def make(n):
            events = []
            for i in range(n):
                events.append({"ph": "M", "pid": process(i), "name": "process_name", "args": {"name": f"p{process(i)}"}})
                args = {"launch": launch(i), "sm": sm(i)}
                events.append({"ph": "X", "cat": "block", "pid": process(i), "name": "k", "ts": i, "dur": n if sm(i) == 0 else 5, "args": args})
            return json.dumps({"traceEvents": events})

        return make

    def test_tracks_of_a_trace(self):
        self.grows_as_the_size(self.trace(lambda i: i, lambda i: i, lambda i: 1))

    def test_launches_of_a_trace(self):
        self.grows_as_the_size(self.trace(lambda i: i, lambda i: 1, lambda i: 1))

    def test_blocks_on_an_sm_of_a_trace(self):
        self.grows_as_the_size(self.trace(lambda i: 0, lambda i: 1, lambda i: 0))


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

    def test_edges_say_what_a_graph_s_nodes_come_after(self):
        text = "gate\n" + KERNEL + "graph\nnode a k\nnode b k\nnode c k\nedge a c\nedge b c\nend\nlaunch k\n"
        a, b, c, after = self.result(text)["launches"]
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

    def test_the_first_line_is_the_result_with_the_table_and_with_the_timeline(self):
        table = self.run_text(self.TEXT, "--plain").stdout.splitlines()
        timeline = self.run_text(self.TEXT, "--plain", "--text").stdout.splitlines()
        self.assertRegex(table[0], r"^PDL: [0-9.]+ → [0-9.]+ µs, 1\.[0-9][0-9]× faster$")
        self.assertEqual(timeline[:2], [table[0], "Predicted for h200."])

    def test_what_cannot_overlap_shows_no_difference(self):
        for options in (("--plain",), ("--plain", "--text")):
            first = self.run_text("gate\n" + KERNEL + "launch k\n", *options).stdout.splitlines()[0]
            self.assertRegex(first, r"^PDL: ([0-9.]+) → \1 µs, no difference$")

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

    def test_a_trace_that_was_written_runs_as_the_description_did(self):
        self.run_text(self.TEXT, "--trace", self.path("a.json"))
        first = self.result(self.TEXT)["launches"]
        again = json.loads(self.tool("sim", "a.json", "--json").stdout)["launches"]
        for a, b in zip(first, again):
            for key in ("start_us", "waited_us", "triggered_us", "end_us"):
                self.assertAlmostEqual(a[key], b[key], delta=0.01)

    def test_waves_and_kernels_without_waits_and_triggers_survive_in_a_trace(self):
        text = "gate\nkernel k blocks=400 threads=1024 before=2us nowait trigger=never\nlaunch k\n"
        self.run_text(text, "--trace", self.path("a.json"))
        again = json.loads(self.tool("sim", "a.json", "--json").stdout)
        # What the arguments of first blocks take is a part of all blocks' phases in a trace.
        self.assertAlmostEqual(again["total_us"], self.result(text)["total_us"], delta=0.5)
        self.assertIsNone(again["launches"][0]["waited_us"])

    def test_as_many_blocks_share_an_sm_as_in_the_trace(self):
        for threads, blocks in ((640, 3), (288, 7), (1024, 2)):
            text = "gate\nkernel k blocks=2000 threads=%d prologue=1us before=2us after=2us\nlaunch k\n" % threads
            self.assertEqual(self.result(text)["launches"][0]["busiest"], blocks)
            self.run_text(text, "--trace", self.path("a.json"))
            result = self.tool("sim", self.path("a.json"), "--json")
            self.assertEqual(json.loads(result.stdout)["launches"][0]["busiest"], blocks)

    def test_json_that_is_no_trace_is_refused(self):
        for text in ("{}", "[", '{"traceEvents": [{"ph": "X", "cat": "block"}]}'):
            self.assertEqual(self.run_text(text).returncode, 2, text)

    def test_so_many_blocks_are_not_drawn(self):
        result = self.run_text("kernel k blocks=3000000 threads=32\nlaunch k\n", "--text")
        self.assertEqual(result.returncode, 2)
        self.assertIn("3000000 blocks", result.stderr)


class Device(Case):
    def test_a_device_s_file_with_a_mistake_is_told_with_its_line(self):
        for text, message in (
            ("sms 0\n", "1: error: the value is out of bounds"),
            ("\ncolour 1\n", "2: error: no such value"),
            ("clock -1\n", "1: error: the value is not a number of 0 or more"),
            ("clock\n", "1: error: a value is missing"),
            ("clock 1000\nsms 1\n", ": error: a limit of an SM is missing"),
        ):
            path = self.file("bad.cal", text)
            result = self.tool("sim", self.file("it.pdlsim", ""), "--device", path)
            self.assertEqual(result.returncode, 2)
            self.assertIn(message, result.stderr)


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
