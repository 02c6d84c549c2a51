# SPDX-License-Identifier: MIT
"""pdltool sim: descriptions, what is wrong with them, outputs, traces, and calibrations."""

import json
import os
import sys

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
        self.assertEqual(result.stderr, self.path("it.pdlsim") + ":" + message + "\n")


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
            self.refused(f"kernel k blocks=1 threads=1 before={text}\n", f"1: '{text}' is no number")

    def test_a_count_out_of_bounds_is_told(self):
        for text in ("0", "1025", "1.5", "-1", "1X"):
            self.refused(f"kernel k blocks=1 threads={text}\n", f"1: '{text}' is no whole number from 1 to 1024")

    def test_a_kernel_that_can_never_fit_is_told(self):
        self.refused(
            "device h200\nkernel k blocks=1 threads=32 shared=228K\nlaunch k\n",
            "2: kernel 'k' can never run: a block takes 234496 bytes of shared memory, and an SM of h200 has 233472",
        )
        self.refused(
            "kernel k blocks=1 threads=1024 registers=128\nlaunch k\n",
            "1: kernel 'k' can never run: a block takes 131072 registers, and an SM of h200 has 65536",
        )

    def test_a_cycle_of_edges_is_told(self):
        self.refused(
            KERNEL + "graph\nnode a k\nnode b k\nnode c k\nedge a b\nedge b c\nedge c b\nend\n",
            "8: a cycle: this makes a launch wait for itself",
        )

    def test_a_cycle_through_events_is_told(self):
        self.refused(
            KERNEL + "await y stream=a\nlaunch k stream=a\nrecord x stream=a\nawait x stream=b\nlaunch k stream=b\nrecord y stream=b\n",
            "7: a cycle: this makes a launch wait for itself",
        )

    def test_names_that_are_not_there_are_told(self):
        self.refused("launch k\n", "1: there is no kernel 'k'")
        self.refused(KERNEL + "graph\nnode a k\nedge a b\nend\n", "4: there is no node 'b'")
        self.refused("device b200\n", "1: device takes h200; --device reads others")

    def test_names_that_are_there_twice_are_told(self):
        self.refused(KERNEL + KERNEL, "2: there is a kernel 'k' already, in line 1")
        self.refused(KERNEL + "graph\nnode a k\nnode a k\nend\n", "4: there is a node 'a' already")

    def test_words_in_the_wrong_place_are_told(self):
        self.refused(KERNEL + "edge a b\n", "2: 'edge' belongs in a graph")
        self.refused(KERNEL + "graph\nrecord e\nend\n", "3: 'record' belongs outside of a graph")
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
        self.assertIn("absent.pdlsim: No such file or directory", result.stderr)

    def test_bytes_of_any_kind_end_with_a_line(self):
        for text in (b"\0kernel", b"\xff\xfe", b"kernel k blocks=1 threads=1\0x\n", b"a " * 40):
            result = self.run_text(text)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_too_many_launches_are_told(self):
        self.refused(KERNEL + "repeat 10000\nrepeat 10000\nlaunch k\nend\nend\n", "4: more than 1000000 launches")


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

    def test_an_event_orders_two_streams(self):
        text = "gate\n" + KERNEL + "launch k stream=a\nrecord e stream=a\nawait e stream=b\nlaunch k stream=b\n"
        first, second = self.result(text)["launches"]
        self.assertGreater(second["start_us"], first["complete_us"])

    def test_an_event_that_is_recorded_further_down_orders_them_too(self):
        text = "gate\n" + KERNEL + "await e stream=b\nlaunch k stream=b\nlaunch k stream=a\nrecord e stream=a\n"
        second, first = self.result(text)["launches"]
        self.assertGreater(second["start_us"], first["complete_us"])

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

    def test_the_example_s_second_kernel_overlaps_the_first(self):
        path = os.path.join(ROOT, "examples", "sim", "fc.pdlsim")
        result = json.loads(self.tool("sim", path, "--json", "--plain").stdout)
        first, second = result["launches"]
        self.assertLess(second["start_us"], first["end_us"])
        self.assertGreater(result["without_overlap_us"], result["total_us"] + 1)


class Outputs(Case):
    TEXT = "gate\n" + KERNEL + "launch k\nlaunch k overlap\n"

    def test_the_table_has_a_line_a_launch_and_a_sum(self):
        result = self.run_text(self.TEXT, "--plain")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?m)^ +0  k +stream ")
        self.assertRegex(result.stdout, r"(?m)^2 launches, [0-9.]+ us")
        self.assertRegex(result.stdout, r"(?m)^without overlap [0-9.]+ us: 1\.")

    def test_a_sweep_finds_that_late_triggers_lose(self):
        sweep = self.result(self.TEXT, "--what-if", "trigger=0..1:4")["what_if"]
        self.assertEqual([point["trigger"] for point in sweep], [0, 0.25, 0.5, 0.75, 1])
        self.assertGreater(sweep[4]["total_us"], sweep[0]["total_us"] + 1)

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
        self.assertIn("launches overlap", result.stdout)
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


def point(identity, metrics):
    axes = dict(part.split("=") for part in identity.split("/")[2:])
    return {"id": identity, "axes": axes, "against": None, "metrics": {key: {"median": value} for key, value in metrics.items()}}


PHASES = [(2000, 4000, 0), (2000, 2000, 2000), (2000, 200, 3800), (200, 4000, 0), (4000, 4000, 4000)]
US = 1e-3  # at a clock of 1 GHz a cycle is a nanosecond


def bench():
    """Runs of a device of round numbers: what its rows would have been."""
    gap, dependent, release = (1500, 500), (400, 300), (450, 300)
    start, end, placing, arguments, flush, sms = 100, 50, 0.5, 300, 40, 100
    rows, slopes = [], []
    for path, (plain, pdl) in enumerate((("stream", "stream-pdl"), ("graph", "graph-pdl"))):
        for results in ("one", "all"):
            written = flush if results == "all" else 0
            for prologue, before, after in PHASES:
                base = f"overlap/phases/results={results}/prologue={prologue}/before={before}/after={after}/way="
                whole = max(prologue, arguments) + before + after
                others = start + end + placing * sms + written
                rows.append(point(base + plain, {"device": US * (whole + others + gap[path])}))
                by_trigger = max(prologue, arguments) + before + start + placing * sms + dependent[path]
                by_end = before + after + end + written + release[path]
                rows.append(point(base + pdl, {"device": US * max(by_trigger, by_end)}))
        rows.append(point(f"overlap/timeline/way={pdl}/kernel=fc1", {"first_ended": 14.1, "last_ended": 14.1}))
        rows.append(point(f"overlap/conditions/condition=no-room/way={pdl}", {"overlap": -0.1}))
        for place, ns in (("0.75", 7000), ("1", 8100), ("never", 8250), ("0", 9000)):
            for fill in ("half", "sms"):
                base = f"overlap/trigger/main=work/trigger={place}/prologue=2000/fill={fill}/shared=fits/way={pdl}"
                rows.append(point(base, {"device": US * ns}))
        for way, ns in ((plain, 1000), (pdl, 500)):
            for blocks, more in (("1", 0), ("sm", placing * (sms - 1))):
                for span in ("64-512", "512-4096"):
                    base = f"graph/slope/span={span}/blocks={blocks}/way={way}"
                    slopes.append(point(base, {"device": ns + more, "host": 10 + path, "host-fixed": 4, "wall-fixed": 5}))
    environment = {"date": "2000-01-01T00:00:00Z", "sm_clock_measured_mhz_before": 1000.2, "multiprocessors": sms}
    overlap = {"environment": environment, "tables": []}
    for name in ("phases", "timeline", "conditions", "trigger"):
        table = [row for row in rows if row["id"].split("/")[1] == name]
        overlap["tables"].append({"name": name, "points": table})
    return overlap, {"environment": environment, "tables": [{"name": "slope", "points": slopes}]}


class Calibrate(Case):
    def calibrate(self, overlap, graph):
        self.file("overlap.json", json.dumps(overlap))
        self.file("graph.json", json.dumps(graph))
        return self.tool("sim", "--calibrate", ".", "-o", "made.cal")

    def made(self):
        with open(self.path("made.cal"), encoding="utf-8") as file:
            lines = [line.split("#")[0].split() for line in file]
        return {words[0]: words[1] for words in lines if words}

    def test_the_values_that_rows_were_made_of_are_found_again(self):
        result = self.calibrate(*bench())
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        made = self.made()
        expected = {
            "clock": 1000, "sms": 100, "gap-stream": 1500, "gap-graph": 500, "dependent-stream": 400,
            "dependent-graph": 300, "release-stream": 450, "release-graph": 300, "block-start": 100,
            "block-end": 50, "refill": 50, "placing": 0.5, "arguments": 300, "flush": 40,
            "host-launch": 10, "host-node": 11, "host-graph": 4000, "submit": 4000,
            "bench-additions": 1.1, "bench-tail": 100,
        }  # fmt: skip
        for name, value in expected.items():
            self.assertAlmostEqual(float(made[name]), value, delta=0.01 * value, msg=name)

    def test_a_device_that_was_made_is_read_and_predicts_the_rows(self):
        overlap, graph = bench()
        self.calibrate(overlap, graph)
        result = self.tool("sim", "--compare", "overlap.json", "-d", "made.cal", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        compared = json.loads(result.stdout)
        rows = {row["id"]: row for row in compared["rows"] if "/phases/" in row["id"]}
        self.assertEqual(len(rows), 40)
        for name, row in rows.items():
            self.assertLess(abs(row["error_percent"]), 1.5, name)

    def test_a_row_that_is_missing_is_told_and_nothing_is_written(self):
        overlap, graph = bench()
        overlap["tables"][2]["points"].clear()
        result = self.calibrate(overlap, graph)
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no overlap/conditions/condition=no-room/way=stream-pdl", result.stderr)
        self.assertFalse(os.path.exists(self.path("made.cal")))

    def test_a_device_s_file_with_a_mistake_is_told_with_its_line(self):
        for text, message in (
            ("sms 0\n", "1: the value is out of bounds"),
            ("\ncolour 1\n", "2: no such value"),
            ("clock -1\n", "1: the value is no number of 0 or more"),
            ("clock\n", "1: a value is missing"),
            ("clock 1000\nsms 1\n", ": a limit of an SM is missing"),
        ):
            path = self.file("bad.cal", text)
            result = self.tool("sim", self.file("it.pdlsim", ""), "--device", path)
            self.assertEqual(result.returncode, 2)
            self.assertIn(message, result.stderr)


class Compare(Case):
    def rows(self, *measured):
        base = "overlap/trigger/main=spin/trigger={}/prologue=2000/fill=sms/shared=fits/way={}"
        points = []
        for trigger, way, us in measured:
            points.append(point(base.format(trigger, way), {"device": us}))
            if way == "stream-pdl":
                points[-1]["against"] = base.format("any", "stream")
        text = json.dumps({"environment": {}, "tables": [{"name": "trigger", "points": points}]})
        result = self.tool("sim", "--compare", self.file("bench.json", text), "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_rows_have_their_errors_and_signs(self):
        compared = self.rows(("any", "stream", 4.84), ("0.5", "stream-pdl", 2.64), ("1", "stream-pdl", 6.0))
        signs = [row["sign"] for row in compared["rows"]]
        self.assertEqual(signs, [None, "right", "wrong"])
        validation = compared["validation"]
        self.assertEqual((validation["configurations"], validation["signs"], validation["signs_right"]), (3, 2, 1))
        self.assertLess(validation["error_median_percent"], 3)
        self.assertGreater(validation["error_worst_percent"], 30)
        self.assertEqual(compared["calibrated_with"]["configurations"], 0)

    def test_an_effect_below_5_percent_has_no_sign(self):
        compared = self.rows(("any", "stream", 4.84), ("1", "stream-pdl", 4.7))
        self.assertEqual([row["sign"] for row in compared["rows"]], [None, None])

    def test_ways_of_libpdl_are_no_rows_of_their_own(self):
        self.assertEqual(len(self.rows(("any", "stream", 4.84), ("0.5", "libpdl", 2.64))["rows"]), 1)

    def test_a_file_without_such_rows_is_refused(self):
        for text in ("{}", "{", '{"tables": [{"name": "other", "points": [{}]}]}'):
            result = self.tool("sim", "--compare", self.file("bench.json", text))
            self.assertEqual((result.returncode, result.stdout), (2, ""))

    def test_what_was_measured_on_an_h200_is_predicted(self):
        path = os.path.join(ROOT, "docs", "results", "h200", "bench", "overlap.json")
        result = self.tool("sim", "--compare", path, "--json")
        validation = json.loads(result.stdout)["validation"]
        self.assertGreaterEqual(validation["configurations"], 60)
        self.assertLess(validation["error_median_percent"], 7)
        self.assertLess(validation["error_p95_percent"], 15)
        self.assertGreaterEqual(validation["signs_right"], 0.98 * validation["signs"])


if __name__ == "__main__":
    tooltest.main(globals())
