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
        for place, ns in (("0.75", 7000), ("1", 8100), ("never", 8250), ("0", 9000)):
            for fill in ("half", "sms"):
                base = f"overlap/trigger/main=work/trigger={place}/prologue=2000/fill={fill}/shared=fits/way={pdl}"
                rows.append(point(base, {"device": US * ns}))
        for way, ns in ((path, 1000), (pdl, 500)):
            for blocks in ("1", "sm"):
                for span in ("64-512", "512-4096"):
                    base = f"graph/slope/span={span}/blocks={blocks}/way={way}"
                    slopes.append(point(base, {"device": ns, "host": 10 + number, "host-fixed": 4, "wall-fixed": 5}))
    environment = {"date": "2000-01-01T00:00:00Z", "sm_clock_measured_mhz_before": 1000.2, "multiprocessors": SMS}
    overlap = {"environment": environment, "tables": []}
    for name in ("shapes", "conditions", "trigger"):
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
            "bench-additions": 1.1, "bench-tail": 100,
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
        base = "overlap/trigger/main=spin/trigger={}/prologue=2000/fill=sms/shared=fits/way={}"
        points = []
        for trigger, way, us in measured:
            points.append(point(base.format(trigger, way), {"device": us}))
            if way == "stream-pdl":
                points[-1]["against"] = base.format("any", "stream")
        text = json.dumps({"environment": {}, "tables": [{"name": "trigger", "points": points}]})
        result = self.tool("report", "predict", self.file("bench.json", text), "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_rows_have_their_errors_and_signs(self):
        compared = self.rows(("any", "stream", 4.84), ("0.5", "stream-pdl", 2.84), ("1", "stream-pdl", 6.0))
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
        compared = self.rows(("any", "stream", 4.84), ("1", "stream-pdl", 4.7))
        self.assertEqual([row["sign"] for row in compared["rows"]], [None, None])

    def test_ways_of_libpdl_are_no_rows_of_their_own(self):
        self.assertEqual(len(self.rows(("any", "stream", 4.84), ("0.5", "libpdl", 2.64))["rows"]), 1)

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

    def measured(self, *names):
        path = os.path.join(ROOT, "docs", "results", "h200", *names, "overlap.json")
        return json.loads(self.tool("report", "predict", path, "--json").stdout)["validation"]

    def test_what_was_measured_on_an_h200_is_predicted(self):
        for name, rows, median, p95 in (("bench", 480, 3, 10), ("sim", 480, 3, 10)):
            validation = self.measured(name)
            self.assertGreaterEqual(validation["configurations"], rows)
            self.assertLess(validation["error_median_percent"], median)
            self.assertLess(validation["error_p95_percent"], p95)
            self.assertGreaterEqual(validation["signs_right"], 0.98 * validation["signs"])


if __name__ == "__main__":
    tooltest.main({case.__name__: case for case in (Calibrate, Predict)})
