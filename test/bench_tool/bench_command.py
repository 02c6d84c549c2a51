#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool bench on suites that need no device (see mock_suites.c): the command line, what it writes, and how it ends."""

import json
import math
import os
import pty
import re
import resource
import signal
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import tooltest  # pylint: disable=wrong-import-position

ALPHA = [
    "alpha/launch/way=raw/arguments=0",
    "alpha/launch/way=libpdl/arguments=0",
    "alpha/launch/way=pdl/arguments=0",
    "alpha/launch/way=raw/arguments=64",
    "alpha/launch/way=libpdl/arguments=64",
    "alpha/launch/way=pdl/arguments=64",
    'alpha/speed/trigger=early/fill=a, "b"',
    "alpha/speed/trigger=late/fill=a|b",
]
BETA = [
    "beta/many/way=stream/mode=full",
    "beta/many/way=graph/mode=full",
    "beta/many/way=chain/mode=full",
    "beta/many/way=graph/mode=half",
]
# How many samples of the whole mock a pass takes: rounds, and one that warms up.
LAUNCH_ROUNDS, LAUNCH_POINTS = 40, 6


def with_json(test):
    """Leaves the test out of a build that has no JSON."""

    def run(self):
        if "json" not in tooltest.without:
            test(self)

    return run


class Case(tooltest.Case):
    def bench(self, *arguments, code=0, **environment):
        """Runs the command, expects the exit code, and returns what it wrote."""
        result = subprocess.run(
            [tooltest.program, "bench", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            cwd=self.directory,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertNotIn("Sanitizer", result.stderr)
        return result

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def measured(self, name, *arguments, code=0, **environment):
        """The run's JSON, which stays in a file of that name."""
        self.bench(*arguments, "--json", name, code=code, **environment)
        return json.loads(self.read(name))

    def files(self):
        return sorted(os.listdir(self.directory))

    def refused(self, said, *arguments, **environment):
        """Refuses with that one line, measures nothing and leaves nothing behind."""
        before = self.files()
        result = self.bench(*arguments, code=2, **environment)
        self.assertIn(said, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(self.files(), before)
        return result


def points_of(document):
    return {point["id"]: point for table in document["tables"] for point in table["points"]}


def rows_of(text):
    """What the tables say, as {(suite/table, axis values): {heading: cell}}, with those of all metrics together; and the rows
    without figures, as {id: why}."""
    rows, missing, name, headings = {}, {}, None, None
    for line in text.split("resamplings fall into.")[1].splitlines():
        cells = re.split(r"  +", line.strip())
        found = re.match(r"([a-z]+/[a-z]+)(/\S+=.*?)?: (.*)", line)
        if found and found[2]:
            missing[found[1] + found[2]] = found[3]
        elif found and not headings:
            name = found[1]
        elif "samples" in cells:
            headings, axes = cells, cells.index("samples")
            metric = headings[axes + 1]
        elif headings and line:
            into = rows.setdefault((name, *cells[:axes]), {})
            into |= dict(zip(("samples", metric, metric + " noise", metric + " ratio"), cells[axes:]))
        else:
            headings = None
    return rows, missing


class CommandLine(Case):
    def test_help(self):
        result = self.bench("--help")
        self.assertIn("usage: pdltool bench [SUITE...] [OPTION...]\n", result.stdout)
        self.assertIn("  alpha     launches of the mock\n", result.stdout)
        for option in ("list", "filter", "device", "passes", "rounds", "quick", "json", "quiet"):
            self.assertIn("--" + option, result.stdout)

    def test_list_names_every_point_and_measures_nothing(self):
        result = self.bench("--list", MOCK_DEVICE="lost")
        self.assertEqual(result.stdout.splitlines(), ALPHA + BETA)
        self.assertEqual(self.bench("-l", "beta").stdout.splitlines(), BETA)
        self.assertEqual(self.bench("beta", "--list", "alpha").stdout.splitlines(), ALPHA + BETA)

    def test_filters(self):
        listed = lambda *arguments: self.bench("--list", *arguments).stdout.splitlines()
        self.assertEqual(listed("--filter", "speed"), ALPHA[6:])
        self.assertEqual(listed("-f", "way=raw"), [ALPHA[0], ALPHA[3]])
        self.assertEqual(listed("-f", "way=raw*=0", "-f", "late"), [ALPHA[0], ALPHA[7]])
        self.assertEqual(listed("-f", "way=pdl/arguments=64"), [ALPHA[3], ALPHA[5]])  # and what it is compared with
        self.assertEqual(listed("-f", "mode=half"), [BETA[0], BETA[1], BETA[3]])
        self.refused("no point matches", "--filter", "nothing")
        self.refused("no point matches", "beta", "--filter", "speed")

    def test_only_what_is_selected_is_measured(self):
        result = self.bench("alpha", "-f", "way=pdl/arguments=64", "--quick")
        self.assertEqual(list(rows_of(result.stdout)[0]), [("alpha/launch", "raw", "64"), ("alpha/launch", "pdl", "64")])

    def test_unknown_suite(self):
        self.refused("pdltool bench: error: unknown suite 'gamma'; the suites are alpha, beta\n", "alpha", "gamma")

    def test_options_that_make_no_sense(self):
        self.refused("unknown option", "--fast")
        self.refused("'--json' needs a value", "--json")
        for option, least, most in (("--passes", 1, 32), ("--rounds", 1, 1000000), ("--device", 0, 2147483647), ("--seed", 0, 2147483647)):
            for value in ("", "x", "1x", "-1", "1.5", "99999999999999999999", str(least - 1), str(most + 1)):
                self.refused(
                    "pdltool bench: error: %s takes a number from %d to %d, not '%s'\n" % (option, least, most, value),
                    option + "=" + value,
                )

    def test_device_that_is_not_there(self):
        self.refused("pdltool bench: error: there is no device 3\n", "--device", "3")
        self.refused("there is no device 3", "-d3")

    def test_device_that_does_not_open(self):
        self.refused("the mock's device does not answer", MOCK_DEVICE="lost")

    def test_rounds_and_passes(self):
        def samples(*arguments):
            rows, _ = rows_of(self.bench(*arguments).stdout)
            return rows[("alpha/launch", "raw", "0")]["samples"], rows[("beta/many", "stream", "full")]["samples"]

        self.assertEqual(samples(), ("120", "12"))
        self.assertEqual(samples("--passes", "2"), ("80", "8"))
        self.assertEqual(samples("--rounds", "5"), ("15", "15"))
        self.assertEqual(samples("--rounds", "1", "--passes", "32"), ("32", "32"))
        self.assertEqual(samples("--quick"), ("5", "3"))

    def test_progress_is_for_terminals(self):
        self.assertEqual(self.bench("--quick").stderr, "")
        self.assertIn(b"\r\033[Kpass 1 of 3, alpha/launch, round 1 of 40", self.on_terminal())
        self.assertEqual(self.on_terminal("--quiet"), b"")

    def on_terminal(self, *arguments):
        """What goes to standard error, which is a terminal."""
        reader, writer = pty.openpty()
        with subprocess.Popen([tooltest.program, "bench", *arguments], stdout=subprocess.DEVNULL, stderr=writer) as process:
            os.close(writer)
            written = b""
            try:
                while part := os.read(reader, 4096):
                    written += part
            except OSError:
                pass  # the other end is closed
            os.close(reader)
            self.assertEqual(process.wait(), 0)
        return written

    def test_without_json(self):
        if "json" in tooltest.without:
            self.refused("--json needs a pdltool that was built with the library jansson", "--json", "a.json")


class Forms(Case):
    def test_text_is_the_default(self):
        result = self.bench("--rounds", "3")
        self.assertTrue(result.stdout.startswith("date: 2"), result.stdout[:100])
        self.assertIn("\ncommand: pdltool bench --rounds 3\n", result.stdout)
        self.assertIn("\ngpu: Mock \\x1b[2J | GPU\n", result.stdout)  # what would steer a terminal does not
        self.assertIn("\nsm_clock_measured_mhz_before: 1,980\n", result.stdout)
        self.assertNotIn("ended early", result.stdout)
        self.assertEqual(result.stderr, "")

    @with_json
    def test_files_and_standard_output(self):
        self.assertTrue(self.bench("--quick", "--json", "a.json").stdout.startswith("date: 2"))
        self.assertEqual(self.files(), ["a.json"])
        self.assertEqual(json.loads(self.bench("--quick", "--json", "-").stdout)["tool"], "pdltool bench")

    @with_json
    def test_both_forms_say_the_same(self):
        result = self.bench("--json", "a.json", MOCK_WAIVE="way=chain", MOCK_FAIL="speed", code=1)
        document, (tables, missing) = json.loads(self.read("a.json")), rows_of(result.stdout)
        self.assertEqual(list(points_of(document)), ALPHA + BETA)
        for table in document["tables"]:
            for point in table["points"]:
                if point["waived"] or point["failed"]:
                    wanted = "waived: " + point["waived"] if point["waived"] else "FAILED: " + point["failed"]
                    self.assertEqual(missing.pop(point["id"]), wanted)
                    continue
                cells = tables[(table["suite"] + "/" + table["name"], *point["axes"].values())]
                for metric in table["metrics"]:
                    self.same_figure(point, metric, cells)
        self.assertEqual(missing, {})

    def same_figure(self, point, metric, cells):
        figure = point["metrics"][metric["name"]]
        heading = "%s (%s)" % (metric["name"], metric["unit"].replace("us", "µs"))
        self.assertEqual(cells["samples"], str(figure["count"]))
        shown = float(cells[heading].replace(",", ""))
        self.assertAlmostEqual(shown, figure["median"], delta=0.0006 * abs(figure["median"]))
        self.assertEqual(cells[heading + " noise"], "-" if figure["noise"] is None else "%.1f%%" % (100 * figure["noise"]))
        ratio = "%(median).3f [%(low).3f, %(high).3f] to " % figure["ratio"] if figure["ratio"] else "-"
        self.assertTrue(cells[heading + " ratio"].startswith(ratio), cells)

    def test_what_cannot_be_measured_has_no_figures(self):
        rows, _ = rows_of(self.bench("--quick", "alpha", MOCK_NAN="way=pdl").stdout)
        self.assertEqual(rows[("alpha/launch", "pdl", "0")]["host (ns)"], "-")

    def test_wrong_results_are_told_and_end_in_1(self):
        result = self.bench("--quick", MOCK_FAIL="way=pdl", code=1)
        self.assertEqual(result.stderr, "pdltool bench: error: 2 points failed\n")
        self.assertEqual(rows_of(result.stdout)[1][ALPHA[2]], 'FAILED: the sum is 3, "not" 4')
        self.assertEqual(self.bench("--quick", MOCK_FAIL="way=pdl/arguments=0", code=1).stderr, "pdltool bench: error: 1 point failed\n")

    def test_what_is_waived_is_no_failure(self):
        _, missing = rows_of(self.bench("--quick", MOCK_WAIVE="way=pdl").stdout)
        self.assertEqual(missing[ALPHA[2]], "waived: the device has no | clusters")


class Json(Case):
    def test_document(self):
        document = self.measured("a.json", "alpha", "--passes", "2", MOCK_NAN="arguments=64")
        self.assertEqual(list(document), ["schema", "tool", "environment", "ended_early", "tables"])
        self.assertEqual((document["schema"], document["tool"], document["ended_early"]), (1, "pdltool bench", None))
        self.assertEqual(document["environment"]["memory_bytes"], 150754820096)
        self.assertEqual(document["environment"]["command"], "pdltool bench alpha --passes 2 --json a.json")
        launch, speed = document["tables"]
        self.assertEqual(list(launch), ["suite", "name", "title", "note", "axes", "metrics", "points"])
        self.assertEqual((launch["suite"], launch["name"], launch["axes"]), ("alpha", "launch", ["way", "arguments"]))
        self.assertEqual(speed["note"], None)
        self.assertEqual(speed["metrics"], [{"name": "rate", "unit": "1/s", "higher_is_better": True, "tolerance": 0.03}])
        self.assertEqual(launch["metrics"][0], {"name": "host", "unit": "ns", "higher_is_better": False, "tolerance": 0.06})
        point = launch["points"][1]
        self.assertEqual(list(point), ["id", "axes", "against", "waived", "failed", "checks", "passes", "metrics"])
        self.assertEqual(point["axes"], {"way": "libpdl", "arguments": "0"})
        self.assertEqual((point["id"], point["against"]), (ALPHA[1], ALPHA[0]))
        self.assertEqual((point["waived"], point["failed"], point["checks"], point["passes"]), (None, None, 4, [40, 80]))
        without = launch["points"][3]["metrics"]["host"]
        self.assertEqual((without["count"], without["median"], without["samples"]), (0, None, [None] * 80))

    def test_statistics_are_those_of_the_samples(self):
        document = self.measured("a.json", "alpha", MOCK_DRIFT="way=pdl:0.05")
        points = points_of(document)
        for point in points.values():
            for name, figure in point["metrics"].items():
                samples = sorted(figure["samples"])
                at = lambda share: samples[int(share * (len(samples) - 1))]
                self.assertEqual(figure["count"], len(samples))
                self.assertEqual((figure["min"], figure["max"]), (samples[0], samples[-1]))
                self.assertAlmostEqual(figure["median"], statistics.median(samples), delta=1e-5 * samples[0])
                self.assertAlmostEqual(figure["mean"], statistics.fmean(samples), delta=1e-5 * samples[0])
                self.assertTrue(at(0.9) <= figure["p90"] <= at(1))
                self.assertTrue(figure["p90"] <= figure["p99"] <= figure["max"])
                passes = [statistics.median(figure["samples"][end - point["passes"][0] : end]) for end in point["passes"]]
                spread = max(abs(one - statistics.median(samples)) for one in passes) / statistics.median(samples)
                self.assertAlmostEqual(figure["spread"], spread, delta=2e-5)
                if point["against"]:
                    base = points[point["against"]]["metrics"][name]["samples"]
                    ratio = statistics.median(one / other for one, other in zip(figure["samples"], base))
                    self.assertAlmostEqual(figure["ratio"]["median"], ratio, delta=1e-5)
                    self.assertTrue(figure["ratio"]["low"] <= ratio <= figure["ratio"]["high"])
        self.assertGreater(points[ALPHA[2]]["metrics"]["host"]["spread"], 0.04)

    def test_files_are_small(self):
        self.measured("a.json", "alpha")
        text = self.read("a.json")
        self.assertEqual(sum(line.startswith('{"id":') for line in text.splitlines()), len(ALPHA))
        self.assertLess(len(text), 10 * 6 * 2 * 120 + 8000)


class Ends(Case):
    """How a run ends before its time."""

    def finished(self, printed):
        """The numbers of samples in the tables, and the JSON where there is some; nothing is beside it."""
        self.assertIn("\n\nended early: ", printed)
        measured, missing = rows_of(printed)
        rows = [row["samples"] for row in measured.values()] + list(missing.values())
        self.assertEqual(len(rows), len(ALPHA + BETA))
        self.assertEqual(self.files(), ["a.json"] if self.sinks() else [])
        document = json.loads(self.read("a.json")) if self.sinks() else None
        if document:
            self.assertEqual(list(points_of(document)), ALPHA + BETA)
        return rows, document

    def sinks(self):
        return ("--json", "a.json") if "json" not in tooltest.without else ()

    def test_interrupted_in_the_middle(self):
        # One round warms up; of the 13th round three samples are taken.
        event = (1 + 12) * LAUNCH_POINTS + 3
        result = self.bench(*self.sinks(), MOCK_EVENT="%d:interrupt" % event, code=128 + signal.SIGINT)
        self.assertIn("pdltool bench: note: interrupted by signal 2; what was measured is written\n", result.stderr)
        rows, document = self.finished(result.stdout)
        self.assertEqual(rows, ["12"] * 6 + ["not measured"] * 6)
        if document:
            self.assertEqual(document["ended_early"], "interrupted by signal 2")
            self.assertEqual(points_of(document)[ALPHA[0]]["passes"], [12])
            self.assertEqual(points_of(document)[BETA[0]]["passes"], [])
            self.assertEqual(document["environment"]["sm_clock_measured_mhz_after"], 1980)

    def test_interrupted_in_the_second_pass(self):
        pass_of_alpha = (1 + LAUNCH_ROUNDS) * LAUNCH_POINTS + 9 * 2
        event = pass_of_alpha + 5 * 4 + 2 * LAUNCH_POINTS + 1
        result = self.bench(*self.sinks(), MOCK_EVENT="%d:interrupt" % event, code=130)
        rows, document = self.finished(result.stdout)
        self.assertEqual(rows, ["41"] * 6 + ["8"] * 2 + ["4"] * 4)
        if document:
            self.assertEqual(points_of(document)[ALPHA[0]]["passes"], [40, 41])

    def test_signal_that_comes_twice_at_once_is_one(self):
        result = self.bench(*self.sinks(), MOCK_EVENT="50:interrupt-twice", code=130)
        self.assertEqual(self.finished(result.stdout)[0][:6], ["7"] * 6)

    def test_every_signal_that_ends_programs(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                with subprocess.Popen(
                    [tooltest.program, "bench", *self.sinks()],
                    env={**os.environ, "MOCK_EVENT": "50:wait"},
                    cwd=self.directory,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                ) as process:
                    self.assertEqual(process.stderr.readline(), "waiting\n")
                    process.send_signal(number)
                    printed, said = process.communicate(timeout=60)
                self.assertIn("interrupted by signal %d" % number, said)
                self.assertEqual(process.returncode, 128 + number)
                self.assertEqual(self.finished(printed)[0][:6], ["7"] * 6)

    def test_signals_that_are_ignored_do_not_end_it(self):
        result = subprocess.run(
            ["sh", "-c", 'trap "" INT; exec "$0" bench alpha --quick', tooltest.program],
            env={**os.environ, "MOCK_EVENT": "9:interrupt"},
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        )
        self.assertIn(b"  5      2,", result.stdout)

    def test_device_lost_in_the_middle(self):
        event = (1 + 12) * LAUNCH_POINTS + 3
        result = self.bench(*self.sinks(), MOCK_EVENT="%d:abort" % event, code=2)
        self.assertEqual(result.stderr, "pdltool bench: error: the mock lost its device\n")
        rows, document = self.finished(result.stdout)
        # The round that was begun begins with the first point again every six rounds.
        self.assertEqual(rows[:6], ["13"] * 2 + ["12"] * 4)
        if document:
            self.assertEqual(document["ended_early"], "the mock lost its device")
            self.assertEqual(points_of(document)[ALPHA[0]]["checks"], 1)

    def test_suite_that_ends_the_program(self):
        result = self.bench(*self.sinks(), MOCK_EVENT="50:exit", code=2)
        _, document = self.finished(result.stdout)
        if document:
            self.assertEqual(document["ended_early"], "a suite ended the program")

    def test_results_on_standard_output_survive_too(self):
        result = self.bench("alpha", MOCK_EVENT="50:abort", code=2)
        self.assertIn("\nended early: the mock lost its device; ", result.stdout)
        self.assertEqual(rows_of(result.stdout)[0][("alpha/launch", "raw", "0")]["samples"], "7")

    @with_json
    def test_output_that_cannot_be_made_is_found_before_measuring(self):
        os.mkdir(self.path("folder"))
        self.file("file", "")
        folders = ["no/such", "file", "/proc"]
        if os.geteuid() != 0:
            os.mkdir(self.path("read-only"), 0o555)
            folders.append("read-only")
        for folder in folders:
            self.refused("pdltool bench: error: --json %s/a.out: " % folder, "--json", folder + "/a.out", MOCK_DEVICE="lost")
        self.refused("pdltool bench: error: --json folder: ", "--json", "folder", MOCK_DEVICE="lost")

    @with_json
    def test_old_file_stays_until_the_new_one_is_whole(self):
        self.file("a.json", "old")
        self.refused("does not answer", "--json", "a.json", MOCK_DEVICE="lost")
        self.assertEqual(self.read("a.json"), "old")
        self.bench("--quick", "--json", "a.json")
        self.assertTrue(self.read("a.json").startswith("{"))

    def test_standard_output_that_is_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for arguments in (["--quick"], ["--list"]):
                result = subprocess.run(
                    [tooltest.program, "bench", *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
                )
                self.assertEqual(result.returncode, 2, arguments)
                self.assertIn("No space left on device", result.stderr)

    @with_json
    def test_disk_that_is_full(self):
        def small_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        self.file("a.json", "old")
        result = subprocess.run(
            [tooltest.program, "bench", "--json", "a.json"],
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
            preexec_fn=small_disk,
        )
        self.assertEqual((result.returncode, result.stderr), (2, "pdltool bench: error: --json a.json: File too large\n"))
        self.assertEqual(self.files(), ["a.json"])
        self.assertEqual(self.read("a.json"), "old")

    @with_json
    def test_device_files_stay_device_files(self):
        os.mkfifo(self.path("pipe"))
        with subprocess.Popen(["cat", self.path("pipe")], stdout=subprocess.PIPE, text=True) as reader:
            try:
                self.bench("--quick", "--json", "pipe")
                self.assertTrue(reader.communicate(timeout=10)[0].startswith("{"))
            finally:
                reader.kill()
        self.assertEqual(self.files(), ["pipe"])


if __name__ == "__main__":
    tooltest.main(globals())
