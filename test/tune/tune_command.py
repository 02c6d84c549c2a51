#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool tune on a device that needs none (see mock_device.c): what it finds, what it refuses, and how it ends."""

import copy
import csv
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))
import tooltest  # pylint: disable=wrong-import-position

# What the mock's kernels take, and what becomes of them: kernel, trigger, grid, us, state.
CASES = """
kernel up 8 8 4
kernel down 8 8 4
kernel scale 32
case up - 256 2 wrong
case up 3 132 1 hidden
case up 3 64 2 hidden
case up -1 132 10 right
case up 0 132 8 right
case up 1 132 7 right
case up 2 132 6 right
case up - - 9 right
case down - 64 1 refused
case down 1 - 5 rare
case down 2 - 9 right
case down 3 - 4 race
case down - - 10 right
case scale -1 - 2 right
case scale - - 3 right
"""
TRIGGERS = [-1, 0, 1, 2, 3]


def words(source, to, count=16):
    return [{"buffer": source}, {"buffer": to}, {"i32": count}]


CHAIN = {
    "images": {str(trigger): "image%d" % trigger for trigger in TRIGGERS},
    "triggers": TRIGGERS,
    "buffers": {
        "w": {"bytes": 64, "constant": True, "uniform": {"type": "i32", "low": -9, "high": 9}},
        "x": {"bytes": 64, "uniform": {"type": "f32", "low": -1, "high": 1}},
        "y": {"bytes": 64},
        "z": {"bytes": 64, "fill": 0},
    },
    "kinds": {
        "first": {"kernel": "up", "grid": 132, "grids": [64, 256, 132], "block": 256},
        "second": {"kernel": "down", "grid": [132, 1], "grids": [64], "block": [32, 8]},
        "scale": {"grid": 8, "block": 256, "triggers": [0, -1]},
    },
    "links": [
        {"kind": "first", "args": words("x", "y")},
        {"kind": "second", "args": words("y", "z")},
        {"kind": "scale", "args": [{"struct": [{"i32": 16}, {"buffer": "z"}, {"buffer": "x"}, {"f32": 0.5}]}]},
    ],
    "repeat": 8,
}
QUICK = ("--rounds", "9", "--restarts", "1")


class Case(tooltest.Case):
    def tune(self, *arguments, code=0, directory=None, limit=None, **environment):
        """Runs the command, expects the exit code, and returns what it wrote."""
        result = subprocess.run(
            [tooltest.program, "tune", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            cwd=directory or self.directory,
            preexec_fn=limit,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertNotIn("Sanitizer", result.stderr)
        self.assertNotIn("runtime error", result.stderr)
        return result

    def refused(self, said, *arguments, **environment):
        """Expects a usage error that says so in one line, and nothing else."""
        before = sorted(os.listdir(self.directory))
        result = self.tune(*arguments, code=2, **environment)
        self.assertIn(said, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(sorted(os.listdir(self.directory)), before)
        return result.stderr

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()


class Chains(Case):
    """With images of all variants."""

    def setUp(self):
        super().setUp()
        self.images(CASES)

    def images(self, cases):
        self.file("chain.mock", cases)
        for trigger in TRIGGERS:
            self.file("image%d" % trigger, "mock %d 0\n%s" % (trigger, cases))

    def chain(self, change=None, source=False):
        """Writes the chain with a change into a file."""
        chain = copy.deepcopy(CHAIN)
        if source:
            del chain["images"]
            chain["source"] = "chain.mock"
        if change is not None:
            change(chain)
        self.file("chain.json", json.dumps(chain))
        return "chain.json"

    def measured(self, *arguments, code=0, change=None, source=False, **environment):
        """The JSON of a search."""
        self.tune(self.chain(change, source), *QUICK, *arguments, "--json", "result.json", code=code, **environment)
        return json.loads(self.read("result.json"))

    def bad(self, said, change=None, source=False, where=None, **environment):
        """Expects that the chain is refused: "chain.json: error: WHERE: SAID"."""
        stderr = self.refused(said, self.chain(change, source), "--csv", "out.csv", "--json", "out.json", **environment)
        if where is not None:
            place = where + ": " if where else ""
            self.assertTrue(stderr.splitlines()[-1].startswith("chain.json: error: " + place + said), stderr)

    def bad_value(self, where, said, *path_and_value):
        """The same with one value changed; None removes it."""
        *path, last, value = path_and_value

        def change(chain):
            at = chain
            for key in path:
                at = at[key]
            if value is None:
                del at[last]
            else:
                at[last] = value

        with self.subTest(path_and_value):
            self.bad(said, change, where=where)


def changed(*path_and_value):
    *path, last, value = path_and_value

    def change(chain):
        at = chain
        for key in path:
            at = at[key]
        at[last] = value

    return change


def states(result, kind):
    """What became of each trigger and grid of a kind in the first sweep."""
    curve = next(curve for curve in result["curves"] if curve["kind"] == kind)
    return {(point["trigger"], point["grid"][0]): (point["state"], point["why"]) for point in curve["points"]}


def chosen(result):
    return {kind["name"]: (kind["chosen"]["trigger"], kind["chosen"]["grid"]) for kind in result["kinds"]}


BEST = {"first": (2, [132, 1, 1]), "second": (2, [132, 1, 1]), "scale": (-1, [8, 1, 1])}
SERIAL = ("wrong", "its result is wrong, also without overlap")
FAULTS = ("race", "with injected faults its result is wrong: a race")
OVERLAP = ("race", "with overlap its result is wrong: a race")
RIGHT = ("right", None)


class Search(Chains):
    def test_finds_the_fastest_and_throws_out_what_is_wrong(self):
        result = self.measured(source=True)
        self.assertEqual(chosen(result), BEST)
        self.assertTrue(result["better"])
        self.assertEqual((result["failed"], result["ended_early"]), (None, None))
        self.assertEqual(
            states(result, "first"),
            {
                **{(trigger, 132): RIGHT for trigger in (-1, 0, 1, 2)},
                **{(trigger, 64): RIGHT for trigger in (-1, 0, 1, 2)},
                **{(trigger, 256): SERIAL for trigger in TRIGGERS},
                (3, 132): FAULTS,
                (3, 64): FAULTS,
            },
        )
        second = states(result, "second")
        for trigger in TRIGGERS:
            self.assertEqual(second[(trigger, 64)], ("refused", "links[1]: the mock takes no such grid"))
        self.assertEqual([second[(trigger, 132)] for trigger in TRIGGERS], [RIGHT, RIGHT, OVERLAP, RIGHT, FAULTS])

    def test_without_the_source_no_faults_are_injected(self):
        result = self.measured()
        self.assertEqual(states(result, "first")[(3, 132)], RIGHT)
        self.assertEqual(states(result, "first")[(0, 256)], SERIAL)
        self.assertEqual(states(result, "second")[(3, 132)], OVERLAP)
        self.assertEqual(chosen(result)["first"], (3, [132, 1, 1]))
        self.assertEqual(chosen(result)["second"], BEST["second"])

    def test_json(self):
        result = self.measured("--batch", "3", source=True)
        self.assertEqual((result["version"], result["tool"], result["gpu"], result["chain"]), (1, "pdltool 1.2.3", "Mock GPU", "chain.json"))
        self.assertEqual((result["links"], result["replays_per_sample"], result["driver_version"]), (24, 3, 13000))
        self.assertEqual([kind["start"] for kind in result["kinds"]], [{"trigger": 0, "grid": [132, 1, 1]}] * 2 + [{"trigger": 0, "grid": [8, 1, 1]}])
        self.assertEqual(result["sweeps"], max(curve["sweep"] for curve in result["curves"]))
        last = result["last_comparison"]
        for name, us in (("no_overlap", 8 * 1.5 * 21), ("start", 8 * 21), ("chosen", 8 * 17)):
            self.assertEqual((last[name]["state"], len(last[name]["samples"])), ("right", 18))
            self.assertAlmostEqual(last[name]["us"] / us, 1, delta=0.003)
            self.assertAlmostEqual(last[name]["ratio"] / (us / (8 * 21)), 1, delta=0.003)
            self.assertLessEqual(last[name]["ratio_low"], last[name]["ratio"])
            self.assertLessEqual(last[name]["ratio"], last[name]["ratio_high"])
        first = result["curves"][0]
        self.assertEqual((first["sweep"], first["kind"], first["taken"]), (1, "first", {"trigger": 2, "grid": [132, 1, 1]}))
        self.assertEqual(first["at"]["first"], {"trigger": 0, "grid": [132, 1, 1]})
        for point in first["points"]:
            right = point["state"] == "right"
            self.assertEqual(len(point["samples"]), 9 if right else 0)
            self.assertEqual(point["us"] is not None, right)

    def test_csv(self):
        self.tune(self.chain(), *QUICK, "--csv", "out.csv")
        rows = list(csv.DictReader(io.StringIO(self.read("out.csv"))))
        self.assertEqual(list(rows[0]), "sweep,kind,trigger,grid,overlap,us,p25,p75,ratio,ratio_low,ratio_high,samples,state,taken".split(","))
        first = [row for row in rows if (row["sweep"], row["kind"]) == ("1", "first")]
        self.assertEqual(len(first), 15)
        self.assertEqual([(row["trigger"], row["grid"]) for row in first if row["taken"] == "1"], [("3", "132")])
        self.assertEqual({row["state"] for row in first if row["grid"] == "256"}, {"wrong"})
        self.assertEqual({(row["samples"], row["us"]) for row in first if row["grid"] == "256"}, {("0", "")})
        last = [(row["kind"], row["samples"], row["taken"]) for row in rows if row["sweep"] == "last"]
        self.assertEqual(last, [("no overlap", "18", "0"), ("start", "18", "0"), ("chosen", "18", "1")])

    def test_text(self):
        result = self.tune(self.chain(source=True), *QUICK)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], "chain.json on Mock GPU: a chain of 24 links of 3 kinds, 192 bytes of results compared after each sample")
        self.assertIn("sweep 1, first", lines)
        self.assertRegex(result.stdout, r"\n +3 +132 +- +- +with injected faults its result is wrong: a race\n")
        self.assertRegex(result.stdout, r"\nchosen after \d+ configurations in \d+\.\d s, \d+ replays per sample:\n")
        self.assertRegex(result.stdout, r"\n +first +2 +132 +was trigger 0, grid 132 *\n")
        self.assertRegex(result.stdout, r"\n +scale +none +8 +was trigger 0, grid 8 *\n")
        for said in ("could not be built", "wrong result", "raced"):
            self.assertRegex(result.stdout, r"\n\d+ configurations discarded: %s\n" % said)
        self.assertEqual(result.stderr, "")

    def test_where_nothing_is_better_the_start_stays(self):
        self.images(re.sub(r"(case .*) \d+ \w+\n", r"\1 5 right\n", CASES))
        result = self.tune(self.chain(), *QUICK, "--json", "result.json", "--gain", "0.5")
        self.assertIn("nothing is faster than the start by more than the noise\n", result.stdout)
        self.assertIn("\nkept after ", result.stdout)
        result = json.loads(self.read("result.json"))
        self.assertFalse(result["better"])
        self.assertEqual({kind: choice[0] for kind, choice in chosen(result).items()}, {"first": 0, "second": 0, "scale": 0})
        self.assertIsNone(result["last_comparison"]["chosen"])

    def test_only_one_result_on_standard_output(self):
        path = self.chain()
        result = self.tune(path, *QUICK, "--json", "-")
        self.assertEqual(chosen(json.loads(result.stdout))["scale"], BEST["scale"])
        self.assertIn("chosen after", result.stderr)
        self.assertTrue(self.tune(path, *QUICK, "--csv", "-").stdout.startswith("sweep,kind,"))
        self.refused("only one format can go to standard output", path, "--csv", "-", "--json", "-")

    def test_what_it_begins_with(self):
        result = self.measured(change=changed("kinds", "first", "trigger", 2))
        self.assertEqual(result["kinds"][0]["start"], {"trigger": 2, "grid": [132, 1, 1]})

        def without_zero(chain):
            chain["kinds"]["first"]["triggers"] = [2, -1]
            del chain["triggers"]

        result = self.measured(change=without_zero)
        self.assertEqual(result["kinds"][0]["start"]["trigger"], 2)
        self.assertEqual({point["trigger"] for point in result["curves"][1]["points"]}, {-1, 0})  # what is tried without a list

    def test_kinds_that_never_overlap(self):
        result = self.measured(change=changed("kinds", "second", "overlap", False))
        self.assertEqual(states(result, "second")[(3, 132)], RIGHT)  # races only with overlap

    def test_shapes_are_taken_apart(self):
        result = self.measured(change=changed("kinds", "first", "grids", [[2, 3, 4]]))
        self.assertEqual(sorted({tuple(point["grid"]) for point in result["curves"][0]["points"]}), [(2, 3, 4), (132, 1, 1)])
        self.tune("chain.json", *QUICK, "--csv", "out.csv")
        self.assertIn(",2x3x4,", self.read("out.csv"))


class Ends(Chains):
    def failed(self, said, cases=CASES, change=None, **options):
        """A chain that does not work as it is given."""
        self.images(cases)
        result = self.tune(self.chain(change, **options), *QUICK, "--json", "result.json", code=1)
        self.assertIn("the chain as given does not work: " + said, result.stdout)
        result = json.loads(self.read("result.json"))
        self.assertIn(said, result["failed"])

    def test_a_start_that_races(self):
        self.failed(OVERLAP[1], CASES.replace("up 0 132 8 right", "up 0 132 8 race"))
        self.failed(FAULTS[1], CASES.replace("up 0 132 8 right", "up 0 132 8 hidden"), source=True)

    def test_a_chain_that_is_never_the_same(self):
        self.failed("without any overlap the chain computes something else from run to run", CASES.replace("scale - - 3 right", "scale - - 3 unsteady"))

    def test_a_start_that_cannot_be_built(self):
        self.failed("links[2]: the mock takes no such grid", CASES.replace("scale - - 3 right", "scale - - 3 refused"))

    def test_constants_that_are_written(self):
        self.failed("the chain has written to buffer w, which is declared constant", change=changed("links", 1, "args", 1, {"buffer": "w"}))

    def test_where_a_constant_was_written_nothing_is_chosen(self):
        path = self.chain(changed("links", 1, "args", 1, {"buffer": "w"}))
        result = self.tune(path, *QUICK, "--json", "result.json", "--csv", "out.csv", code=1)
        self.assertRegex(result.stdout, r"\nno result after \d+ configurations in \d+\.\d s, \d+ replays per sample\n")
        self.assertNotIn("chosen", result.stdout)
        self.assertNotIn("was trigger", result.stdout)
        result = json.loads(self.read("result.json"))
        self.assertLess(result["last_comparison"]["chosen"]["ratio_high"], 1)  # something was faster
        self.assertFalse(result["better"])
        self.assertEqual([kind["chosen"] for kind in result["kinds"]], [kind["start"] for kind in result["kinds"]])
        last = [line.split(",") for line in self.read("out.csv").splitlines() if line.startswith("last,")]
        self.assertEqual([row[1] for row in last if row[-1] == "1"], ["start"])

    def test_launches_that_are_refused(self):
        self.failed("links[0]: the mock has smaller blocks", change=changed("kinds", "first", "block", 2048))
        self.failed("links[0]: the mock has smaller clusters", change=changed("kinds", "first", "cluster", 7))
        self.failed("links[0]: the mock has other parameters", change=changed("links", 0, "args", [{"i32": 1}]))
        self.failed("links[2]: the mock has other parameters", change=changed("links", 2, "args", words("z", "x")))

    def test_interrupted(self):
        result = self.measured(code=128 + signal.SIGINT, MOCK_INTERRUPT="200")
        self.assertEqual(result["ended_early"], "interrupted")
        self.assertGreater(len(result["curves"]), 1)
        self.assertIsNone(result["last_comparison"]["start"])

    def test_the_budget(self):
        result = self.measured("--budget", "0.25", "--restarts", "1000000")
        self.assertEqual(result["ended_early"], "the budget of 0.25 s is used up")
        self.assertEqual(result["last_comparison"]["start"]["state"], "right")
        self.assertLess(result["seconds"], 1)

    def test_a_device_that_fails(self):
        result = self.measured(code=2, MOCK_FAIL="200")
        self.assertEqual(result["ended_early"], "a call failed")
        self.assertGreater(len(result["curves"]), 1)  # what there was is written
        stderr = self.tune(self.chain(), code=2, MOCK_FAIL="1").stderr
        self.assertEqual(stderr, "pdltool tune: error: the mock's device is lost\n")


class Compiler(Chains):
    def compiled(self, *arguments, change=None, code=0, **environment):
        """The compilations of the mock: target, options, names and program."""
        self.file("rtc.log", "")
        self.tune(self.chain(change, source=True), *QUICK, *arguments, code=code, MOCK_RTC_LOG=self.path("rtc.log"), **environment)
        return [line.split("\t") for line in self.read("rtc.log").splitlines()]

    def test_each_trigger_is_compiled_plainly_and_with_faults(self):
        lines = self.compiled()
        self.assertEqual(len(lines), 2 * len(TRIGGERS))
        for trigger in TRIGGERS:
            mine = [line for line in lines if "-DPDL_TRIGGER_SELECT=%d" % trigger in line]
            self.assertEqual(["-DPDL_FAULT_INJECT=2" in line for line in mine], [False, True])
        for line in lines:
            self.assertEqual(line[0], "-")  # the device's
            self.assertEqual(line[-4:], ["up", "down", "scale", "./chain.mock"])

    def test_options_and_target(self):
        def change(chain):
            chain["options"] = ["-DB=1", "-DA=b c"]
            chain["target"] = "sm_90a"

        for line in self.compiled(change=change):
            self.assertEqual(line[0], "sm_90a")
            at = line.index("-DB=1")
            self.assertEqual(line[at : at + 2], ["-DB=1", "-DA=b c"])

    def test_paths_are_relative_to_the_file(self):
        path = self.chain(source=True)
        os.mkdir(self.path("inner"))
        self.tune("../" + path, *QUICK, directory=self.path("inner"), MOCK_RTC_LOG=self.path("rtc.log"))
        self.assertEqual(self.read("rtc.log").splitlines()[0].split("\t")[-1], "../chain.mock")

    def test_options_that_are_refused(self):
        self.bad("./chain.mock: the mock has no such option", changed("options", ["--nonsense"]), True, "source")

    def test_a_source_that_does_not_compile(self):
        self.file("chain.mock", "#error" + CASES)
        stderr = self.refused("source: ./chain.mock: the mock does not compile it\n", self.chain(source=True))
        self.assertIn("the mock's log\n", stderr)

    def test_a_source_that_is_no_text(self):
        self.file("chain.mock", CASES + "\0")
        self.bad("chain.mock: not a text: it contains a NUL byte", None, True, "source")

    def test_a_kernel_that_is_not_there(self):
        self.bad("kernel missing, trigger -1: the mock finds no such kernel", changed("kinds", "first", "kernel", "missing"), True, "")


class Structure(Chains):
    def test_files_that_are_no_json(self):
        for text, said in (
            ("", "line 1, column 0: '[' or '{' expected near end of file\n"),
            ('{"a": 1,\n "b" 2}', "line 2, column 6: "),
            ('{"links": 1, "links": 2}', "line 1, column 20: duplicate object key near '\"links\"'"),
            ("\x00\xff", "line 1, column 1: "),
            ("[" * 100000, "line 1, column 2049: maximum parsing depth reached"),
        ):
            with self.subTest(text[:20]):
                self.file("chain.json", text.encode("latin-1"))
                self.refused("chain.json: error: " + said, "chain.json", "--csv", "out.csv")

    def test_files_that_cannot_be_read(self):
        self.refused("missing.json: error: No such file or directory\n", "missing.json")
        self.refused("%s: error: Is a directory\n" % self.directory, self.directory)

    def test_not_an_object(self):
        for text in ("[1]", '"text"'):
            self.file("chain.json", text)
            self.refused("chain.json: error: ", "chain.json")

    def test_unknown_keys(self):
        self.bad_value("", 'there is no key "lnks"', "lnks", 1)
        self.bad_value("buffers.x", 'there is no key "size"', "buffers", "x", "size", 1)
        self.bad_value("buffers.x", 'there is no key "tpye"', "buffers", "x", "uniform", "tpye", "f32")
        self.bad_value("kinds.first", 'there is no key "blocks"', "kinds", "first", "blocks", 1)
        self.bad_value("links[0]", 'there is no key "arg"', "links", 0, "arg", [])

    def test_repeat(self):
        for value in (0, -1, 100001, 1.5, "2"):
            self.bad_value("", '"repeat" takes a whole number from 1 to 100000', "repeat", value)


class Buffers(Chains):
    def test_buffers(self):
        self.bad_value("buffers", "an object with a buffer for each name is wanted here", "buffers", None)
        self.bad_value("buffers", "an object with a buffer for each name is wanted here", "buffers", [])
        self.bad_value("buffers.y", "an object is wanted here", "buffers", "y", 64)
        self.bad("all are constant", lambda chain: [buffer.update(constant=True) for buffer in chain["buffers"].values()], where="buffers")
        self.bad_value("buffers.w", '"constant" is true or false', "buffers", "w", "constant", 1)

    def test_sizes(self):
        self.bad_value("buffers.y", '"bytes" is missing', "buffers", "y", {})
        for value in (-3, 0, 1 << 60, 6.5, "64"):
            self.bad_value("buffers.y", '"bytes" takes a whole number from 1 to ', "buffers", "y", "bytes", value)
        self.bad_value("", "the buffers take 16777409 bytes, and 16777216 of the device's memory are free", "buffers", "y", "bytes", (1 << 24) + 1)

    def test_more_than_the_host_has(self):
        if "sanitized" in tooltest.without:
            return  # a sanitizer takes more than any limit
        path = self.chain(changed("buffers", "y", "bytes", 1 << 40))
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
        self.refused("chain.json: error: buffers.y: there is no memory for 1099511627776 bytes\n", path, limit=limit)

    def test_fills(self):
        for value in (256, -1, "0"):
            self.bad_value("buffers.z", '"fill" takes a whole number from 0 to 255', "buffers", "z", "fill", value)
        self.bad_value("buffers.x", '"fill", "uniform" and "file" exclude each other', "buffers", "x", "fill", 2)
        self.bad_value("buffers.z", '"fill", "uniform" and "file" exclude each other', "buffers", "z", "file", "image0")

    def test_uniform(self):
        self.bad_value("buffers.x", "an object is wanted here", "buffers", "x", "uniform", 1)
        for value in ("f23", None):
            self.bad_value("buffers.x", '"type" is one of f64, f32, f16, bf16, i64, u64, i32, u32, i8, u8', "buffers", "x", "uniform", "type", value)
        self.bad_value("buffers.x", '"type" is a string', "buffers", "x", "uniform", "type", 32)
        for key, value in (("low", 5), ("low", None), ("high", None), ("high", "1")):
            self.bad_value("buffers.x", '"low" and "high" are numbers in that order', "buffers", "x", "uniform", key, value)
        for kind, low, high in (("i8", 0, 128), ("u8", -1, 1), ("i8", -129, 0), ("u32", 0, 1 << 32), ("f16", 0, 65505), ("f32", -1e39, 0), ("u64", -1, 0)):
            self.bad_value("buffers.x", kind + " holds numbers from ", "buffers", "x", "uniform", {"type": kind, "low": low, "high": high})
        for value in (-1, 0.5):
            self.bad_value("buffers.x", '"seed" takes a whole number', "buffers", "x", "uniform", "seed", value)

    def test_every_type_is_filled(self):
        for kind in ("f64", "f32", "f16", "bf16", "i64", "u64", "i32", "u32", "i8", "u8"):
            with self.subTest(kind):
                low = 0 if kind[0] == "u" else -100
                change = changed("buffers", "x", "uniform", {"type": kind, "low": low, "high": 100, "seed": 7})
                self.tune(self.chain(change), "--rounds", "3", "--restarts", "0")

    def test_files(self):
        self.bad_value("buffers.y", "./nothere.bin: No such file or directory", "buffers", "y", "file", "nothere.bin")
        self.bad_value("buffers.y", "/: Is a directory", "buffers", "y", "file", "/")
        self.bad_value("buffers.y", "data has 63 bytes, and the buffer 64", "buffers", "y", "file", self.file("data", b"x" * 63) and "data")
        self.file("data", b"x" * 64)
        self.tune(self.chain(changed("buffers", "y", "file", "data")), "--rounds", "3", "--restarts", "0")


class Kinds(Chains):
    def test_kinds(self):
        for value in ({}, [], None):
            self.bad_value("kinds", "an object with a kind of launch for each name is wanted", "kinds", value)
        self.bad_value("kinds.first", "an object is wanted here", "kinds", "first", 1)
        self.bad_value("kinds.first", '"kernel" is a string', "kinds", "first", "kernel", 1)
        self.bad_value("kinds.first", '"overlap" is true or false', "kinds", "first", "overlap", 1)

    def test_grids(self):
        self.bad_value("kinds.first", '"grid" is missing', "kinds", "first", "grid", None)
        for value in (0, -1, 1 << 31, 1.5, "132", [132, 0]):
            self.bad_value("kinds.first", '"grid" takes a whole number from 1 to 2147483647', "kinds", "first", "grid", value)
        for value in ([], [1, 2, 3, 4]):
            self.bad_value("kinds.first", '"grid" has one to three numbers', "kinds", "first", "grid", value)
        self.bad_value("kinds.first", '"grids" is a list of grids', "kinds", "first", "grids", "x")
        self.bad_value("kinds.first", '"grids" takes a whole number', "kinds", "first", "grids", [0])

    def test_launches(self):
        self.bad_value("kinds.first", '"block" is missing', "kinds", "first", "block", None)
        self.bad_value("kinds.first", '"block" has one to three numbers', "kinds", "first", "block", [])
        self.bad_value("kinds.first", '"cluster" takes a whole number', "kinds", "first", "cluster", 0)
        self.bad_value("kinds.first", '"shared" takes a whole number', "kinds", "first", "shared", -1)
        self.bad_value("kinds.first", '"carveout" takes a whole number from 0 to 100', "kinds", "first", "carveout", 101)
        self.bad_value("", "kernel up, trigger -1: the mock has less shared memory", "kinds", "first", "shared", 300000)

    def test_triggers(self):
        self.bad_value("kinds.first", '"triggers" has 0 twice', "triggers", [0, 1, 0])
        for value in ([], "0", {}):
            self.bad_value("kinds.first", '"triggers" is a list of numbers', "triggers", value)
        for value in (["a"], [-2], [1000], [0.5]):
            self.bad_value("kinds.first", '"triggers" takes a whole number from -1 to 999', "triggers", value)
        self.bad_value("kinds.scale", '"trigger" is not one of the "triggers"', "kinds", "scale", "trigger", 2)
        self.bad_value("kinds.scale", '"trigger" takes a whole number', "kinds", "scale", "trigger", "0")


class Links(Chains):
    def test_links(self):
        for value in ({}, [], None):
            self.bad_value("links", "a list of links is wanted here", "links", value)
        self.bad_value("links[1]", "an object is wanted here", "links", 1, "second")
        self.bad_value("links[1]", 'its "kind" is not one of the "kinds"', "links", 1, "kind", "third")
        self.bad_value("links[1]", '"kind" is missing', "links", 1, "kind", None)
        self.bad_value("links[1]", '"kind" is a string', "links", 1, "kind", 1)
        self.bad_value("links[1].args", "a list of values is wanted here", "links", 1, "args", {"i32": 1})

    def test_buffers(self):
        self.bad_value("links[0].args[0]", "there is no buffer q", "links", 0, "args", 0, {"buffer": "q"})
        self.bad_value("links[0].args[0]", '"buffer" is a string', "links", 0, "args", 0, {"buffer": 1})
        self.bad_value("links[0].args[0]", "the offset 64 is beyond the end of buffer x", "links", 0, "args", 0, {"buffer": "x", "offset": 64})
        self.bad_value("links[0].args[0]", '"offset" takes a whole number', "links", 0, "args", 0, {"buffer": "x", "offset": -4})

    def test_numbers(self):
        for value in ({"i16": 3}, {"offset": 0}):
            self.bad_value("links[0].args[2]", "a value is a buffer, or a number of type", "links", 0, "args", 2, value)
        for value in ({"i32": 1, "u32": 2}, {}, 5, [], {"buffer": "x", "i32": 1}):
            self.bad_value("links[0].args[2]", 'a value is {"buffer": NAME}', "links", 0, "args", 2, value)
        for kind, values in (
            ("i32", (1 << 31, -(1 << 31) - 1, "1", 0.5)),
            ("u32", (-1, 1 << 32)),
            ("u64", (-1,)),
            ("i64", (0.5,)),
        ):
            for value in values:
                self.bad_value("links[0].args[2]", '"%s" takes a whole number from ' % kind, "links", 0, "args", 2, {kind: value})
        for kind in ("f32", "f64"):
            self.bad_value("links[0].args[2]", '"%s" takes a number' % kind, "links", 0, "args", 2, {kind: "1"})

    def test_structs(self):
        for value in ({"struct": []}, {"struct": 1}, {"struct": words("z", "x"), "i32": 1}):
            self.bad_value("links[2].args[0]", '"struct" is a list of values, and stands alone', "links", 2, "args", 0, value)
        self.bad_value("links[2].args[0].struct[0]", '"i32" takes a whole number', "links", 2, "args", 0, "struct", 0, {"i32": "x"})
        self.bad_value("links[2].args[0].struct[1]", "a value is a buffer", "links", 2, "args", 0, "struct", 1, {"struct": []})

    def test_members_lie_where_a_compiler_puts_them(self):
        more = [{"f64": 1}, {"u32": 2}, {"i64": 3}, {"f32": 4}]
        self.images(CASES.replace("scale 32", "scale 64"))
        self.tune(self.chain(lambda chain: chain["links"][2]["args"][0]["struct"].extend(more)), "--rounds", "3", "--restarts", "0")


class Code(Chains):
    def test_either_a_source_or_images(self):
        said = 'either "source" names a file that is compiled, or "images" one file for each trigger'
        self.bad_value("", said, "images", None)
        self.bad_value("", said, "images", [])
        self.bad_value("", said, "source", "chain.mock")
        self.bad(said, changed("source", 1), True, "")

    def test_a_source_that_is_not_there(self):
        self.bad("./gone.cu: No such file or directory", changed("source", "gone.cu"), True, "source")

    def test_images(self):
        self.bad_value("images", "there is none for trigger 2", "images", "2", None)
        self.bad_value("images", '"2" is a string', "images", "2", 2)
        self.bad_value("images", "./gone: No such file or directory", "images", "2", "gone")
        self.bad_value("images", "/: Is a directory", "images", "2", "/")
        self.bad_value("", "kernel up, trigger 2: the mock reads no such image", "images", "2", "chain.json")
        self.bad_value("", "kernel up, trigger -1: the mock reads no such image", "images", "-1", os.path.basename(self.file("empty", "")))

    def test_kernels(self):
        self.bad_value("", "kernel upp, trigger -1: the mock finds no such kernel", "kinds", "first", "kernel", "upp")
        self.bad_value("", "kernel u, trigger -1: the mock finds no such kernel", "kinds", "first", "kernel", "u")

    def test_options(self):
        for value in ("-O3", {}):
            self.bad_value("options", "a list of options is wanted here", "options", value)
        self.bad_value("options", "an option is a string", "options", ["-DA", 3])
        self.bad('"target" is a string', changed("target", 90), True, "")


class CommandLine(Case):
    """What holds with any device and without one."""

    def test_help(self):
        for option in ("--help", "-h"):
            result = self.tune(option)
            self.assertTrue(result.stdout.startswith("usage: pdltool tune CHAIN.json [OPTION...]\n"))
            self.assertEqual(result.stderr, "")
        for option in "device rounds batch restarts gain budget csv json".split():
            self.assertIn("--" + option, result.stdout)

    def test_one_chain(self):
        self.refused("pdltool tune: error: no chain to tune; see 'pdltool tune --help'\n")
        self.refused("pdltool tune: error: one chain at a time; see 'pdltool tune --help'\n", "chain.json", "chain.json")

    def test_options_that_make_no_sense(self):
        self.refused("unknown option", "chain.json", "--fast")
        self.refused("'--csv' needs a value", "chain.json", "--csv")
        for option, least, most in (("rounds", 3, 100000), ("restarts", 0, 1000000), ("batch", 1, 512), ("device", 0, 2147483647)):
            for value in ("", "x", "1x", "5.5", "99999999999999999999", str(least - 1), str(most + 1)):
                self.refused(
                    "pdltool tune: error: --%s takes a number from %d to %d, not '%s'\n" % (option, least, most, value),
                    "chain.json", "--%s=%s" % (option, value),
                )
        for option, most in (("gain", "100"), ("budget", "1e+09")):
            for value in ("", "x", "1x", "-1", "nan", "inf", "2e9"):
                self.refused(
                    "pdltool tune: error: --%s takes a number from 0 to %s, not '%s'\n" % (option, most, value),
                    "chain.json", "--%s=%s" % (option, value),
                )

    def test_outputs_that_cannot_be_written(self):
        self.refused("--csv nowhere/x: No such file or directory\n", "chain.json", "--csv", "nowhere/x")

    def test_a_device_that_is_not_there(self):
        self.refused("pdltool tune: error: ", "chain.json", "--device", "1000", "--csv", "out.csv")
        if "json" in tooltest.without:
            self.refused("--json needs a pdltool that was built with the library jansson\n", "chain.json", "--json", "out.json")


class Plain(Case):
    """A build without nvcc and without jansson."""

    def test_there_is_no_json(self):
        self.refused("pdltool tune: error: a chain in JSON needs a pdltool that was built with the library jansson\n", self.file("chain.json", json.dumps(CHAIN)), "--csv", "out.csv")


class NoDevice(Case):
    """The whole program where there is no device."""

    def test_it_says_so(self):
        if "json" in tooltest.without:
            outputs = ("--csv", "out.csv")
        else:
            outputs = ("--csv", "out.csv", "--json", "out.json")
        chain = self.file("chain.json", json.dumps(CHAIN))
        stderr = self.refused("pdltool tune: error: ", chain, *outputs, CUDA_VISIBLE_DEVICES="-1")
        self.assertRegex(stderr, r"\Apdltool tune: error: .*(libcuda|driver|device).*\n\Z")


if __name__ == "__main__":
    tooltest.main(globals())
