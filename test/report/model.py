#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool report calibrate and predict: the simulator's device from what was measured, and what it predicts."""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))

import tooltest  # pylint: disable=wrong-import-position

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def point(identity, metrics):
    axes = dict(part.split("=") for part in identity.split("/")[2:])
    return {"id": identity, "axes": axes, "against": None, "metrics": {key: {"median": value} for key, value in metrics.items()}}


# blocks, threads, KiB, prologue, before, after
SHAPES = [
    (100, 128, 0, 1000, 500, 3000), (100, 128, 0, 100, 500, 3000), (100, 128, 0, 3000, 3000, 100),
    (100, 128, 0, 3000, 1000, 500), (100, 128, 0, 2000, 2000, 1000), (100, 128, 0, 500, 700, 900),
    (1, 128, 0, 1000, 500, 3000),
    (1000, 128, 150, 1000, 500, 3000),
]  # fmt: skip
SILENT = [(1, 128, 0, 1000, 500, 3000), (100, 128, 0, 1000, 500, 3000), (300, 128, 0, 0, 0, 0), (1500, 128, 0, 0, 0, 0)]
US = 1e-3  # at a clock of 1 GHz a cycle is a nanosecond
SMS = 100
MADE = {
    "gap-stream": 1500, "gap-graph": 500, "dependent-stream": 400, "dependent-graph": 300, "release-stream": 450,
    "release-graph": 300, "block-start": 100, "block-end": 50, "refill": 50, "report": 0.5,
    "arguments": 300, "flush": 150, "flush-sms": 40,
}  # fmt: skip


def shape_rows(path, shape, silent):
    """Of a device of round numbers, with and without PDL."""
    blocks, threads, kibibytes, prologue, before, after = shape
    name = f"{blocks}x{threads}+{kibibytes}K:{prologue}:{before}:{after}" + (":n" if silent else "")
    gap, dependent, release = (MADE[f"{value}-{path}"] for value in ("gap", "dependent", "release"))
    start = MADE["block-start"] + max(prologue, MADE["arguments"])
    at_once = min(blocks, SMS) if kibibytes > 0 else blocks
    reports = MADE["report"] * at_once
    flush = 0 if silent else MADE["flush"] + MADE["flush-sms"] * min(1, blocks / SMS)
    completion = MADE["block-end"] + (reports + flush if path == "stream" else max(reports, flush))
    if after == 0:  # the ends are reported behind the triggers
        completion = 2 * reports
    waves = (blocks + at_once - 1) // at_once - 1
    more = waves * (start + before + after + MADE["block-end"] + MADE["refill"])
    base = f"overlap/shapes/seed=fixed/first={name}/second=same/way={path}"
    yield point(base, {"device": US * (gap + start + before + after + completion + more)})
    if waves == 0 and after > 0:
        by_trigger = start + before + reports + dependent
        yield point(base + "-pdl", {"device": US * max(by_trigger, before + after + completion + release)})


def bench():
    """Runs of that device: what its rows would have been."""
    rows, slopes = [], []
    for number, path in enumerate(("stream", "graph")):
        for shape in SHAPES:
            rows += shape_rows(path, shape, False)
        for shape in SILENT:
            rows += shape_rows(path, shape, True)
        pdl = path + "-pdl"
        rows.append(point(f"overlap/conditions/condition=no-room/way={pdl}", {"overlap": -0.1}))
        for way, ns in ((path, 1000), (pdl, 500)):
            for blocks in ("1", "sm"):
                for span in ("64-512", "512-4096"):
                    base = f"graph/slope/span={span}/blocks={blocks}/way={way}"
                    slopes.append(point(base, {"device": ns, "host": 10 + number, "host-fixed": 4, "wall-fixed": 5}))
    environment = {"date": "2000-01-01T00:00:00Z", "sm_clock_measured_mhz_before": 1000.2, "multiprocessors": SMS}
    overlap = {"environment": environment, "tables": []}
    for name in ("shapes", "conditions"):
        table = [row for row in rows if row["id"].split("/")[1] == name]
        overlap["tables"].append({"name": name, "points": table})
    return overlap, {"environment": environment, "tables": [{"name": "slope", "points": slopes}]}


class Calibrate(tooltest.Case):
    def calibrate(self, overlap, graph):
        self.file("overlap.json", json.dumps(overlap))
        self.file("graph.json", json.dumps(graph))
        return self.tool("report", "calibrate", ".", "-o", "made.cal")

    def made(self):
        with open(self.path("made.cal"), encoding="utf-8") as file:
            lines = [line.split("#")[0].split() for line in file]
        return {words[0]: words[1] for words in lines if words}

    def test_the_values_that_rows_were_made_of_are_found_again(self):
        result = self.calibrate(*bench())
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        made = self.made()
        expected = MADE | {
            "clock": 1000, "sms": 100, "host-launch": 10, "host-node": 11, "host-graph": 4000, "submit": 4000,
        }  # fmt: skip
        for name, value in expected.items():
            self.assertAlmostEqual(float(made[name]), value, delta=0.01 * value, msg=name)

    def test_the_built_in_device_comes_of_the_committed_results(self):
        for name in ("sim/overlap.json", "bench/graph.json"):
            shutil.copy(os.path.join(ROOT, "docs", "results", "h200", name), self.directory)
        result = self.tool("report", "calibrate", self.directory)
        with open(os.path.join(ROOT, "tools", "sim", "h200.cal"), encoding="utf-8") as file:
            self.assertEqual((result.stdout, result.stderr), (file.read(), ""))

    def test_a_device_that_was_made_is_read_and_predicts_the_rows(self):
        overlap, graph = bench()
        self.calibrate(overlap, graph)
        result = self.tool("report", "predict", "overlap.json", "-d", "made.cal", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        compared = json.loads(result.stdout)
        rows = {row["id"]: row for row in compared["rows"] if "/shapes/" in row["id"]}
        self.assertEqual(len(rows), 2 * (12 + 9))
        for name, row in rows.items():
            self.assertLess(abs(row["error_percent"]), 1.5, name)

    def test_a_row_that_is_missing_is_told_and_nothing_is_written(self):
        overlap, graph = bench()
        overlap["tables"][1]["points"].clear()
        result = self.calibrate(overlap, graph)
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no overlap/conditions/condition=no-room/way=stream-pdl", result.stderr)
        self.assertFalse(os.path.exists(self.path("made.cal")))


class Predict(tooltest.Case):
    def rows(self, *measured):
        """A shape that takes 4.70 us in a stream and 2.85 us with PDL; what each row measured is compared with the first."""
        base = "overlap/shapes/seed={}/first=100x128+0K:2000:1000:3000/second=same/way={}"
        points = [point(base.format(*names), {"device": us}) for *names, us in measured]
        for row in points[1:]:
            row["against"] = points[0]["id"]
        text = json.dumps({"environment": {}, "tables": [{"name": "shapes", "points": points}]})
        result = self.tool("report", "predict", self.file("bench.json", text), "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_rows_have_their_errors_and_signs(self):
        compared = self.rows((7, "stream", 4.70), (7, "stream-pdl", 2.85), (8, "stream-pdl", 6.0))
        signs = [row["sign"] for row in compared["rows"]]
        self.assertEqual(signs, [None, "right", "wrong"])
        validation = compared["validation"]
        self.assertEqual((validation["configurations"], validation["signs"], validation["signs_right"]), (3, 2, 1))
        self.assertLess(validation["error_median_percent"], 3)
        self.assertGreater(validation["error_worst_percent"], 30)
        self.assertEqual(compared["calibrated_with"]["configurations"], 0)
        self.assertEqual([compared["calibrated_with"][f"error_{key}_percent"] for key in ("median", "p95", "worst")], [None] * 3)
        self.assertIn("Used to calibrate: no configuration\n", self.tool("report", "predict", "bench.json").stdout)

    def test_an_effect_below_5_percent_has_no_sign(self):
        compared = self.rows((7, "stream", 4.84), (7, "stream-pdl", 4.7))
        self.assertEqual([row["sign"] for row in compared["rows"]], [None, None])

    def test_ways_of_libpdl_are_no_rows_of_their_own(self):
        self.assertEqual(len(self.rows((7, "stream", 4.84), (7, "libpdl", 2.64))["rows"]), 1)

    def test_a_file_without_such_rows_is_refused(self):
        for text in ("{}", "{", '{"tables": [{"name": "other", "points": [{}]}]}'):
            result = self.tool("report", "predict", self.file("bench.json", text))
            self.assertEqual((result.returncode, result.stdout), (2, ""))

    def shapes(self, *measured):
        base = "overlap/shapes/seed={}/first={}/second={}/way={}"
        points = [point(base.format(*names), {"device": us}) for *names, us in measured]
        text = json.dumps({"environment": {}, "tables": [{"name": "shapes", "points": points}]})
        result = self.tool("report", "predict", self.file("bench.json", text), "--json")
        return json.loads(result.stdout) if result.returncode == 0 else None

    def test_fixed_shapes_are_calibrated_with_and_random_ones_are_not(self):
        compared = self.shapes(
            ("fixed", "100x128+0K:1000:500:3000", "same", "stream", 4),
            ("7", "100x512+0K:1000:500:3000", "same", "stream", 4),
            ("7", "1000x544+0K:1000:500:3000", "1x32+200K:100:100:100", "graph-pdl", 4),
        )
        self.assertEqual([row["warps_per_sm"] for row in compared["rows"]], [4, 16, 51])
        self.assertEqual([compared[name]["configurations"] for name in ("calibrated_with", "validation")], [1, 2])
        groups = {(group["way"], group["warps_least"]): group["configurations"] for group in compared["groups"]}
        self.assertEqual({key for key, count in groups.items() if count > 0}, {("stream", 0), ("graph-pdl", 17)})

    def test_two_kernels_in_turn_take_the_mean_of_both(self):
        one, other = "10x128+0K:1000:1000:1000", "10x128+0K:5000:1000:1000"
        rows = self.shapes(*[("7", first, second, "graph", 4) for first, second in ((one, "same"), (other, "same"), (one, other))])["rows"]
        times = [row["predicted_us"] for row in rows]
        self.assertAlmostEqual(times[2], (times[0] + times[1]) / 2, delta=0.001)

    def test_what_writes_nothing_completes_earlier(self):
        rows = self.shapes(*[("7", "10x128+0K:1000:1000:1000" + end, "same", "stream", 4) for end in ("", ":n")])["rows"]
        self.assertLess(rows[1]["predicted_us"], rows[0]["predicted_us"] - 0.1)

    def test_a_shape_that_is_none_is_no_row(self):
        good = "10x128+0K:1:2:3"
        self.assertIsNotNone(self.shapes(("7", good, "same", "stream", 4)))
        for bad in ("", "10", "0x128+0K:1:2:3", "10x0+0K:1:2:3", "10x1025+0K:1:2:3", "10x128+300K:1:2:3", "10x128+0K:1:2", "10x128+0K:1:2:3:x",
                    "10x128+0K:1:2:3 ", "9999999999x32+0K:1:2:3", "10x128+0K:1:2:-3"):  # fmt: skip
            for names in ((bad, "same"), (good, bad)):
                self.assertIsNone(self.shapes(("7", *names, "stream", 4)), names)

    def test_what_was_measured_on_an_h200_is_predicted(self):
        path = os.path.join(ROOT, "docs", "results", "h200", "sim", "overlap.json")
        validation = json.loads(self.tool("report", "predict", path, "--json").stdout)["validation"]
        with open(os.path.join(ROOT, "docs", "results", "h200", "sim.json"), encoding="utf-8") as file:
            self.assertEqual(validation, json.load(file)["validation"])


class Describe(tooltest.Case):
    """Timelines that were recorded, as descriptions for pdltool sim."""

    def described(self, events, code=0):
        text = events if isinstance(events, str) else '{"traceEvents": [' + ",\n".join(events) + "]}"
        result = self.tool("report", "describe", self.file("it.json", text))
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def again(self, text):
        """The launches of a description, and those of a description of their trace."""
        first = json.loads(self.tool("sim", self.file("a.pdlsim", text), "--json", "--trace", "a.json").stdout)["launches"]
        self.tool("report", "describe", "a.json", "-o", "b.pdlsim")
        return first, json.loads(self.tool("sim", "b.pdlsim", "--json").stdout)["launches"]

    def test_a_timeline_of_the_simulator_is_simulated_alike(self):
        kernel = "gate\nkernel k blocks=132 threads=256 prologue=1us before=1us after=2us\n"
        for launches in ("launch k\nlaunch k overlap\n", "launch k stream=a\nlaunch k stream=b\nlaunch k stream=a overlap\n"):
            for one, other in zip(*self.again(kernel + launches)):
                for key in ("start_us", "waited_us", "triggered_us", "end_us"):
                    self.assertAlmostEqual(one[key], other[key], delta=0.01)

    def test_waves_and_kernels_without_waits_and_triggers_survive(self):
        (one,), (other,) = self.again("gate\nkernel k blocks=400 threads=1024 before=2us nowait trigger=never\nlaunch k\n")
        # What the arguments of first blocks take is a part of all blocks' phases in a trace.
        self.assertAlmostEqual(one["complete_us"], other["complete_us"], delta=0.5)
        self.assertIsNone(other["waited_us"])

    def test_as_many_blocks_share_an_sm_as_in_the_trace(self):
        for threads, blocks in ((640, 3), (288, 7), (1024, 2)):
            text = f"gate\nkernel k blocks=2000 threads={threads} prologue=1us before=2us after=2us\nlaunch k\n"
            self.assertEqual([row["busiest"] for (row,) in self.again(text)], [blocks, blocks])

    @staticmethod
    def block(launch, start_ns, name="k", pid=1, **args):
        args = {"launch": launch, "sm": 0, **{key: start_ns + value for key, value in args.items()}}
        text = json.dumps({"ph": "X", "cat": "block", "pid": pid, "name": name, "ts": 0, "dur": 5.25, "args": args})
        return text.replace('"ts": 0', '"ts": %d.%03d' % divmod(start_ns, 1000))

    def test_stamps_since_1970_count_as_those_from_0(self):
        stamps = {"wait_ns": 1000, "waited_ns": 1003, "triggered_ns": 4001}
        made = [self.described([self.block(i, first + 4003 * i, **stamps) for i in range(20)]).stdout
                for first in (0, 10**9, 1790000000000000001, 2**62 - 10**6)]  # fmt: skip
        self.assertEqual(made[1:], made[:1] * 3)
        self.assertEqual(made[0].count(" overlap\n"), 19)

    def test_names_are_words_of_a_description(self):
        track = '{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "my stream"}}'
        text = self.described([track, self.block(3, 0, "void k<int>(a = 1) #"), self.block(5, 0, "k", pid=2)]).stdout
        self.assertIn("launch void_k<int>(a___1)__.3 stream=my_stream\nlaunch k.5 stream=trace\n", text)
        self.assertEqual(self.tool("sim", self.file("a.pdlsim", text)).returncode, 0)

    def test_what_is_no_trace_is_refused(self):
        good = self.block(0, 1000, wait_ns=1000, waited_ns=1000)
        changes = (('"dur": 5.25', '"dur": "x"'), ('"dur": 5.25, ', ""), ('"ts": 1.000', '"ts": null'), ('"ts": 1.000', '"ts": NaN'),
                   ('"launch": 0', '"launch": null'), ('"wait_ns": 2000', '"wait_ns": "x"'), ('"pid": 1, ', ""))  # fmt: skip
        for text in ("{}", "[", "[]", '{"traceEvents": []}', '{"traceEvents": [7]}', *([good.replace(*change)] for change in changes)):
            result = self.described(text, code=2)
            self.assertEqual((result.stdout, result.stderr.count("\n")), ("", 1), text)
            self.assertIn("it.json: error: ", result.stderr)


if __name__ == "__main__":
    tooltest.main({case.__name__: case for case in (Calibrate, Predict, Describe)})
