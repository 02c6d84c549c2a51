#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool tune on a device that needs none (see mock_device.c): what it finds, refuses and writes, and how it ends."""

import copy
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
case up 3 132 1 hidden
case up 4 132 1 wrong
case up -1 132 10 right
case up 0 132 8 right
case up 1 132 7 right
case up 2 132 6 right
case up - - 9 right
case down 4 132 1 refused
case down 1 - 5 rare
case down 2 - 9 right
case down 3 - 4 race
case down - - 10 right
case scale -1 - 2 right
case scale - - 3 right
"""
TRIGGERS = [-1, 0, 1, 2, 3, 4]


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
        "first": {"kernel": "up", "grid": 132, "block": 256},
        "second": {"kernel": "down", "grid": [132, 1], "block": [32, 8]},
        "scale": {"grid": 8, "block": 256, "triggers": [0, -1]},
    },
    "links": [
        {"kind": "first", "args": words("x", "y")},
        {"kind": "second", "args": words("y", "z")},
        {"kind": "scale", "args": [{"struct": [{"i32": 16}, {"buffer": "z"}, {"buffer": "x"}, {"f32": 0.5}]}]},
    ],
    "repeat": 8,
}
QUICK = ("--rounds", "9")


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
        for trigger in TRIGGERS:
            for faulty, name in enumerate(("image", "faulty")):
                self.file("%s%d" % (name, trigger), "mock %d %d\n%s" % (trigger, faulty, cases))

    def chain(self, change=None, faulty=False):
        """Writes the chain with a change into a file."""
        chain = copy.deepcopy(CHAIN)
        if faulty:
            chain["faulty"] = {str(trigger): "faulty%d" % trigger for trigger in TRIGGERS}
        if change is not None:
            change(chain)
        self.file("chain.json", json.dumps(chain))
        return "chain.json"

    def measured(self, *arguments, code=0, change=None, faulty=False, **environment):
        """The JSON of a search."""
        self.tune(self.chain(change, faulty), *QUICK, *arguments, "--json", "result.json", code=code, **environment)
        return json.loads(self.read("result.json"))


def changed(*path_and_value):
    """Changes the value at a path; None removes it."""
    *path, last, value = path_and_value

    def change(chain):
        at = chain
        for key in path:
            at = at[int(key) if isinstance(at, list) else key]
        key = int(last) if isinstance(at, list) else last
        if value is None:
            del at[key]
        else:
            at[key] = value

    return change


def states(result, kind):
    """What became of each trigger of a kind in the first sweep."""
    curve = next(curve for curve in result["curves"] if curve["kind"] == kind)
    return {point["trigger"]: (point["state"], point["why"]) for point in curve["points"]}


def chosen(result):
    return {kind["name"]: (kind["chosen"]["trigger"], kind["chosen"]["grid"]) for kind in result["kinds"]}


BEST = {"first": (2, [132, 1, 1]), "second": (2, [132, 1, 1]), "scale": (-1, [8, 1, 1])}
SERIAL = ("wrong", "its result is wrong, also without overlap")
FAULTS = ("race", "with injected faults its result is wrong: a race")
OVERLAP = ("race", "with overlap its result is wrong: a race")
REFUSED = ("refused", "links[1]: the mock takes no such grid")
RIGHT = ("right", None)


class Search(Chains):
    def test_finds_the_fastest_and_throws_out_what_is_wrong(self):
        result = self.measured(faulty=True)
        self.assertEqual(chosen(result), BEST)
        self.assertTrue(result["better"])
        self.assertEqual((result["failed"], result["ended_early"], result["exclude"]), (None, None, None))
        self.assertEqual(states(result, "first"), {-1: RIGHT, 0: RIGHT, 1: RIGHT, 2: RIGHT, 3: FAULTS, 4: SERIAL})
        self.assertEqual(states(result, "second"), {-1: RIGHT, 0: RIGHT, 1: OVERLAP, 2: RIGHT, 3: FAULTS, 4: REFUSED})

    def test_without_faulty_images_no_faults_are_injected(self):
        result = self.measured()
        self.assertEqual(states(result, "first"), {-1: RIGHT, 0: RIGHT, 1: RIGHT, 2: RIGHT, 3: RIGHT, 4: SERIAL})
        self.assertEqual(states(result, "second")[3], OVERLAP)
        self.assertEqual(chosen(result), {**BEST, "first": (3, [132, 1, 1])})

    def test_json(self):
        result = self.measured(faulty=True)
        self.assertEqual((result["version"], result["tool"], result["gpu"], result["chain"]), (1, "pdltool 1.2.3", "Mock GPU", "chain.json"))
        self.assertEqual((result["links"], result["driver_version"]), (24, 13000))
        self.assertGreater(result["replays_per_sample"], 1)
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

    def test_text(self):
        result = self.tune(self.chain(faulty=True), *QUICK)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], "chain.json on Mock GPU: a chain of 24 links of 3 kinds, 192 bytes of results compared after each sample")
        self.assertIn("sweep 1, first", lines)
        self.assertRegex(result.stdout, r"\n +3 +- +- +with injected faults its result is wrong: a race\n")
        self.assertRegex(result.stdout, r"\nchosen after \d+ configurations in \d+\.\d s, \d+ replays per sample:\n")
        self.assertRegex(result.stdout, r"\n +first +2 +was trigger 0 *\n")
        self.assertRegex(result.stdout, r"\n +scale +none +was trigger 0 *\n")
        for said in ("could not be built", "wrong result", "raced"):
            self.assertRegex(result.stdout, r"\n\d+ configurations? discarded: %s\n" % said)
        self.assertEqual(result.stderr, "")

    def test_where_nothing_is_better_the_start_stays(self):
        self.images(re.sub(r"(case .*) \d+ \w+\n", r"\1 5 right\n", CASES))
        result = self.tune(self.chain(), "--rounds", "99", "--json", "result.json")
        self.assertIn("nothing is faster than the start by more than the noise\n", result.stdout)
        self.assertIn("\nkept after ", result.stdout)
        result = json.loads(self.read("result.json"))
        self.assertFalse(result["better"])
        self.assertEqual({kind: choice[0] for kind, choice in chosen(result).items()}, {"first": 0, "second": 0, "scale": 0})
        self.assertIsNone(result["last_comparison"]["chosen"])

    def test_the_json_on_standard_output_stands_alone(self):
        result = self.tune(self.chain(), *QUICK, "--json", "-")
        self.assertEqual(chosen(json.loads(result.stdout))["scale"], BEST["scale"])
        self.assertIn("chosen after", result.stderr)

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
        self.assertEqual(states(result, "second")[3], RIGHT)  # races only with overlap

    def test_shapes_have_up_to_three_numbers(self):
        result = self.measured(change=changed("kinds", "first", "grid", [2, 3, 4]))
        self.assertEqual({tuple(point["grid"]) for point in result["curves"][0]["points"]}, {(2, 3, 4)})

    def test_members_of_a_struct_lie_where_a_compiler_puts_them(self):
        more = [{"f64": 1}, {"u32": 2}, {"i64": 3}, {"f32": 4}]
        self.images(CASES.replace("scale 32", "scale 64"))
        self.tune(self.chain(lambda chain: chain["links"][2]["args"][0]["struct"].extend(more)), "--rounds", "3")

    def test_every_type_and_a_file_fill_a_buffer(self):
        for kind in ("f64", "f32", "f16", "bf16", "i64", "u64", "i32", "u32", "i8", "u8"):
            with self.subTest(kind):
                low = 0 if kind[0] == "u" else -100
                change = changed("buffers", "x", "uniform", {"type": kind, "low": low, "high": 100, "seed": 7})
                self.tune(self.chain(change), "--rounds", "3")
        self.file("data", b"x" * 64)
        self.tune(self.chain(changed("buffers", "y", "file", "data")), "--rounds", "3")

    def test_paths_are_relative_to_the_file(self):
        path = self.chain()
        os.mkdir(self.path("inner"))
        self.tune("../" + path, *QUICK, directory=self.path("inner"))


class Ends(Chains):
    def test_a_chain_that_does_not_work_as_it_is_given(self):
        table = (
            (OVERLAP[1], CASES.replace("up 0 132 8 right", "up 0 132 8 race"), None),
            (FAULTS[1], CASES.replace("up 0 132 8 right", "up 0 132 8 hidden"), None),
            ("without any overlap the chain computes something else from run to run", CASES.replace("scale - - 3 right", "scale - - 3 unsteady"), None),
            ("links[2]: the mock takes no such grid", CASES.replace("scale - - 3 right", "scale - - 3 refused"), None),
            ("the chain has written to buffer w, which is declared constant", CASES, changed("links", 1, "args", 1, {"buffer": "w"})),
            ("links[0]: the mock has smaller blocks", CASES, changed("kinds", "first", "block", 2048)),
            ("links[0]: the mock has smaller clusters", CASES, changed("kinds", "first", "cluster", 7)),
            ("links[0]: the mock has other parameters", CASES, changed("links", 0, "args", [{"i32": 1}])),
            ("links[2]: the mock has other parameters", CASES, changed("links", 2, "args", words("z", "x"))),
        )
        for said, cases, change in table:
            with self.subTest(said):
                self.images(cases)
                result = self.tune(self.chain(change, faulty=said != OVERLAP[1]), *QUICK, "--json", "result.json", code=1)
                self.assertIn("the chain as given does not work: " + said, result.stdout)
                self.assertIn(said, json.loads(self.read("result.json"))["failed"])

    def test_where_a_constant_was_written_nothing_is_chosen(self):
        path = self.chain(changed("links", 1, "args", 1, {"buffer": "w"}))
        result = self.tune(path, *QUICK, "--json", "result.json", code=1)
        self.assertRegex(result.stdout, r"\nno result after \d+ configurations in \d+\.\d s, \d+ replays per sample\n")
        self.assertNotIn("chosen", result.stdout)
        self.assertNotIn("was trigger", result.stdout)
        result = json.loads(self.read("result.json"))
        self.assertLess(result["last_comparison"]["chosen"]["ratio_high"], 1)  # something was faster
        self.assertFalse(result["better"])
        self.assertEqual([kind["chosen"] for kind in result["kinds"]], [kind["start"] for kind in result["kinds"]])

    def test_interrupted(self):
        result = self.measured(code=128 + signal.SIGINT, MOCK_INTERRUPT="100")
        self.assertEqual(result["ended_early"], "interrupted")
        self.assertGreater(len(result["curves"]), 1)
        self.assertIsNone(result["last_comparison"]["start"])

    def test_the_budget(self):
        result = self.measured("--budget", "0.25", "--rounds", "99")
        self.assertEqual(result["ended_early"], "the budget of 0.25 s is used up")
        self.assertEqual(result["last_comparison"]["start"]["state"], "right")
        self.assertLess(result["seconds"], 1)

    def test_a_device_that_fails(self):
        result = self.tune(self.chain(), *QUICK, "--json", "result.json", code=2, MOCK_FAIL="100")
        self.assertEqual(result.stderr, "pdltool tune: error: the mock's device is lost\n")
        self.assertIn("sweep 1, first", result.stdout)  # what there was is told
        self.assertEqual([name for name in os.listdir(self.directory) if "result" in name], [])

    def test_an_output_that_cannot_be_written(self):
        path = self.chain()
        self.refused("--json %s: Is a directory\n" % self.directory, path, "--json", self.directory)
        result = self.tune(path, *QUICK, "--json", "/dev/full", code=2)
        self.assertIn("pdltool tune: error: --json /dev/full: No space left on device\n", result.stderr)
        self.assertIn("chosen after", result.stdout)

    def test_an_old_file_stays_until_the_new_one_is_whole(self):
        path = self.chain()
        self.file("a.json", "old")
        self.file("none.json", "{")
        for arguments in (("none.json",), (path, "--device", "1000")):
            with self.subTest(arguments):
                self.tune(*arguments, *QUICK, "--json", "a.json", code=2)
                self.assertEqual(self.read("a.json"), "old")
                self.assertFalse(os.path.exists(self.path("a.json.part")))
        self.tune(path, *QUICK, "--json", path)  # the chain may be written over
        self.assertEqual(chosen(json.loads(self.read(path)))["scale"], BEST["scale"])


class Excluded(Chains):
    """The last line: what PDL_OVERLAP_EXCLUDE should name."""

    SLOW = CASES.replace("2 right\ncase scale - - 3 right", "2 slower\ncase scale - - 3 slower")

    def expect(self, names, change, cases=CASES, code=0):
        """What the text ends with, and the JSON has; None: nothing."""
        self.images(cases)
        stdout = self.tune(self.chain(change), *QUICK, "--json", "out.json", code=code).stdout
        lines = [line for line in stdout.splitlines() if line.startswith("PDL_OVERLAP_EXCLUDE")]
        self.assertEqual(lines, [] if names is None else ["PDL_OVERLAP_EXCLUDE=" + names])
        if names is not None:
            self.assertTrue(stdout.endswith(lines[0] + "\n"), stdout)
        self.assertEqual(json.loads(self.read("out.json"))["exclude"], names)

    def test_what_is_slower_with_overlap_in_every_shape(self):
        """Kernels with the states of their cases, and what is excluded."""
        both = {kind: "both" for kind in ("first", "second", "scale")}
        slow = self.SLOW
        table = (
            ("none was tried without", {}, slow, None),
            ("none is slower", both, CASES, None),
            ("one kernel", {"scale": "both"}, slow, "scale"),
            ("one that never overlaps", {"scale": False}, slow, None),
            ("one of three", both, slow, "scale"),
            ("two of them", both, re.sub("(case up .*) (right|hidden)", r"\1 slower", slow), "up:scale"),
            ("one that is faster with one trigger", both, re.sub("(case up .*) right", r"\1 slower", slow), "scale"),
            ("not with every grid", {"first": "both"}, CASES.replace("up - - 9 right", "up - - 9 slower"), None),
            ("not with every trigger", {"scale": "both"}, CASES.replace("scale - - 3 right", "scale - - 3 slower"), None),
            ("not by more than the noise", {"scale": "both"}, slow.replace("scale -1 - 2", "scale -1 - 0"), None),
        )
        for what, overlaps, cases, names in table:
            with self.subTest(what):

                def change(chain, overlaps=overlaps):
                    for kind, overlap in overlaps.items():
                        chain["kinds"][kind]["overlap"] = overlap

                self.expect(names, change, cases)

    def test_a_kernel_of_two_kinds_is_named_once_and_only_if_both_are_slower(self):
        def again(grid):
            def change(chain):
                chain["kinds"]["scale"].update(kernel="scale", overlap="both")
                chain["kinds"]["again"] = dict(chain["kinds"]["scale"], grid=grid)
                chain["links"].append(dict(chain["links"][2], kind="again"))

            return change

        self.expect("scale", again(16), self.SLOW)
        self.expect(None, again(16), self.SLOW.replace("case scale -1 -", "case scale - 16 2 right\ncase scale -1 -"))

    def test_a_chain_that_does_not_work_excludes_nothing(self):
        def change(chain):
            chain["kinds"]["scale"]["overlap"] = "both"
            chain["links"][1]["args"][1] = {"buffer": "w"}  # which is constant: noticed after the search

        self.expect(None, change, self.SLOW, code=1)


class File(Chains):
    """What is wrong in a chain's file is told with the place, and nothing is written."""

    def bad(self, where, said, change=None):
        stderr = self.refused(said, self.chain(change), "--json", "out.json")
        place = where + ": " if where else ""
        self.assertTrue(stderr.startswith("chain.json: error: " + place + said), stderr)

    def bad_values(self, *table):
        """Rows of the place, what is said, the path to a key, and values: None removes the key."""
        for where, said, path, *values in table:
            for value in values:
                with self.subTest((where, path, value)):
                    self.bad(where, said, changed(*path.split(), value))

    def test_files_that_are_no_json(self):
        for text, said in (
            ("", "line 1, column 0: '[' or '{' expected near end of file\n"),
            ('{"a": 1,\n "b" 2}', "line 2, column 6: "),
            ('{"links": 1, "links": 2}', "line 1, column 20: duplicate object key near '\"links\"'"),
            ("\x00\xff", "line 1, column 1: "),
            ("[" * 100000, "line 1, column 2049: maximum parsing depth reached"),
            ("[1]", "an object is wanted here"),
            ('"text"', "line 1"),
        ):
            with self.subTest(text[:20]):
                self.file("chain.json", text.encode("latin-1"))
                self.refused("chain.json: error: " + said, "chain.json", "--json", "out.json")
        self.refused("missing.json: error: No such file or directory\n", "missing.json")
        self.refused("%s: error: Is a directory\n" % self.directory, self.directory)

    def test_objects(self):
        self.bad_values(
            ("", 'there is no key "lnks"', "lnks", 1),
            ("", '"repeat" takes a whole number from 1 to 100000', "repeat", 0, -1, 100001, 1.5, "2"),
            ("buffers", "an object with a buffer for each name is wanted here", "buffers", None, []),
            ("buffers.x", 'there is no key "size"', "buffers x size", 1),
            ("kinds", "an object with a kind of launch for each name is wanted", "kinds", {}, [], None),
            ("kinds.first", 'there is no key "grids"', "kinds first grids", [64]),
            ("kinds.first", "an object is wanted here", "kinds first", 1),
            ("links", "a list of links is wanted here", "links", {}, [], None),
            ("links[0]", 'there is no key "arg"', "links 0 arg", []),
            ("images", "an object with a file for each trigger is wanted here", "images", None, []),
            ("faulty", "an object with a file for each trigger is wanted here", "faulty", "image0"),
        )

    def test_buffers(self):
        uniform = "buffers x uniform "
        self.bad_values(
            ("buffers.y", "an object is wanted here", "buffers y", 64),
            ("buffers.w", '"constant" is true or false', "buffers w constant", 1),
            ("buffers.y", '"bytes" is missing', "buffers y", {}),
            ("buffers.y", '"bytes" takes a whole number from 1 to ', "buffers y bytes", -3, 0, 1 << 60, 6.5, "64"),
            ("", "the buffers take 16777409 bytes, and 16777216 of the device's memory are free", "buffers y bytes", (1 << 24) + 1),
            ("buffers.z", '"fill" takes a whole number from 0 to 255', "buffers z fill", 256, -1, "0"),
            ("buffers.x", '"fill", "uniform" and "file" exclude each other', "buffers x fill", 2),
            ("buffers.z", '"fill", "uniform" and "file" exclude each other', "buffers z file", "image0"),
            ("buffers.x", "an object is wanted here", uniform, 1),
            ("buffers.x", 'there is no key "tpye"', uniform + "tpye", "f32"),
            ("buffers.x", '"type" is one of f64, f32, f16, bf16, i64, u64, i32, u32, i8, u8', uniform + "type", "f23", None),
            ("buffers.x", '"type" is a string', uniform + "type", 32),
            ("buffers.x", '"low" and "high" are numbers in that order', uniform + "low", 5, None),
            ("buffers.x", '"low" and "high" are numbers in that order', uniform + "high", "1", None),
            ("buffers.x", '"seed" takes a whole number', uniform + "seed", -1, 0.5),
            ("buffers.y", "./nothere.bin: No such file or directory", "buffers y file", "nothere.bin"),
            ("buffers.y", "/: Is a directory", "buffers y file", "/"),
            ("buffers.y", "data has 63 bytes, and the buffer 64", "buffers y file", self.file("data", b"x" * 63) and "data"),
        )
        for kind, low, high in (("i8", 0, 128), ("u8", -1, 1), ("i8", -129, 0), ("u32", 0, 1 << 32), ("f16", 0, 65505), ("f32", -1e39, 0), ("u64", -1, 0)):
            self.bad_values(("buffers.x", kind + " holds numbers from ", uniform, {"type": kind, "low": low, "high": high}))
        self.bad("buffers", "all are constant", lambda chain: [buffer.update(constant=True) for buffer in chain["buffers"].values()])

    def test_more_than_the_host_has(self):
        if "sanitized" in tooltest.without:
            return  # a sanitizer takes more than any limit
        path = self.chain(changed("buffers", "y", "bytes", 1 << 40))
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))
        self.refused("chain.json: error: buffers.y: there is no memory for 1099511627776 bytes\n", path, limit=limit)

    def test_kinds(self):
        first = "kinds first "
        self.bad_values(
            ("kinds.first", '"kernel" is a string', first + "kernel", 1),
            ("kinds.first", '"overlap" is true or false', first + "overlap", 1),
            ("kinds.first", '"grid" is missing', first + "grid", None),
            ("kinds.first", '"grid" takes a whole number from 1 to 2147483647', first + "grid", 0, -1, 1 << 31, 1.5, "132", [132, 0]),
            ("kinds.first", '"grid" has one to three numbers', first + "grid", [], [1, 2, 3, 4]),
            ("kinds.first", '"block" is missing', first + "block", None),
            ("kinds.first", '"block" has one to three numbers', first + "block", []),
            ("kinds.first", '"cluster" takes a whole number', first + "cluster", 0),
            ("kinds.first", '"shared" takes a whole number', first + "shared", -1),
            ("kinds.first", '"carveout" takes a whole number from 0 to 100', first + "carveout", 101),
            ("kinds.first", '"triggers" has 0 twice', "triggers", [0, 1, 0]),
            ("kinds.first", '"triggers" is a list of numbers', "triggers", [], "0", {}),
            ("kinds.first", '"triggers" takes a whole number from -1 to 999', "triggers", ["a"], [-2], [1000], [0.5]),
            ("kinds.scale", '"trigger" is not one of the "triggers"', "kinds scale trigger", 2),
            ("kinds.scale", '"trigger" takes a whole number', "kinds scale trigger", "0"),
        )

    def test_links(self):
        args = "links 0 args "
        members = "links 2 args 0"
        self.bad_values(
            ("links[1]", "an object is wanted here", "links 1", "second"),
            ("links[1]", 'its "kind" is not one of the "kinds"', "links 1 kind", "third"),
            ("links[1]", '"kind" is missing', "links 1 kind", None),
            ("links[1]", '"kind" is a string', "links 1 kind", 1),
            ("links[1].args", "a list of values is wanted here", "links 1 args", {"i32": 1}),
            ("links[0].args[0]", "there is no buffer q", args + "0", {"buffer": "q"}),
            ("links[0].args[0]", '"buffer" is a string', args + "0", {"buffer": 1}),
            ("links[0].args[0]", "the offset 64 is beyond the end of buffer x", args + "0", {"buffer": "x", "offset": 64}),
            ("links[0].args[0]", '"offset" takes a whole number', args + "0", {"buffer": "x", "offset": -4}),
            ("links[0].args[2]", "a value is a buffer, or a number of type", args + "2", {"i16": 3}, {"offset": 0}),
            ("links[0].args[2]", 'a value is {"buffer": NAME}', args + "2", {"i32": 1, "u32": 2}, {}, 5, [], {"buffer": "x", "i32": 1}),
            ("links[0].args[2]", '"i32" takes a whole number from ', args + "2", *({"i32": value} for value in (1 << 31, -(1 << 31) - 1, "1", 0.5))),
            ("links[0].args[2]", '"u32" takes a whole number from ', args + "2", {"u32": -1}, {"u32": 1 << 32}),
            ("links[0].args[2]", '"u64" takes a whole number from ', args + "2", {"u64": -1}),
            ("links[0].args[2]", '"i64" takes a whole number from ', args + "2", {"i64": 0.5}),
            ("links[0].args[2]", '"f32" takes a number', args + "2", {"f32": "1"}),
            ("links[0].args[2]", '"f64" takes a number', args + "2", {"f64": "1"}),
            ("links[2].args[0]", '"struct" is a list of values, and stands alone', members, {"struct": []}, {"struct": 1}, {"struct": words("z", "x"), "i32": 1}),
            ("links[2].args[0].struct[0]", '"i32" takes a whole number', members + " struct 0", {"i32": "x"}),
            ("links[2].args[0].struct[1]", "a value is a buffer", members + " struct 1", {"struct": []}),
        )

    def test_code(self):
        self.bad_values(
            ("images", "there is none for trigger 2", "images 2", None),
            ("images", '"2" is a string', "images 2", 2),
            ("images", "./gone: No such file or directory", "images 2", "gone"),
            ("images", "/: Is a directory", "images 2", "/"),
            ("faulty", "there is none for trigger -1", "faulty", {}),
            ("", "kernel up, trigger 2: the mock reads no such image", "images 2", "chain.json"),
            ("", "kernel up, trigger -1: the mock reads no such image", "images -1", os.path.basename(self.file("empty", ""))),
            ("", "kernel upp, trigger -1: the mock finds no such kernel", "kinds first kernel", "upp"),
            ("", "kernel up, trigger -1: the mock has less shared memory", "kinds first shared", 300000),
        )


class CommandLine(Case):
    """What holds with any device and without one."""

    def test_help(self):
        for option in ("--help", "-h"):
            result = self.tune(option)
            self.assertTrue(result.stdout.startswith("usage: pdltool tune CHAIN.json [OPTION...]\n"))
            self.assertEqual(result.stderr, "")
        for option in "device rounds budget json".split():
            self.assertIn("--" + option, result.stdout)

    def test_one_chain(self):
        self.refused("pdltool tune: error: no chain to tune; see 'pdltool tune --help'\n")
        self.refused("pdltool tune: error: one chain at a time; see 'pdltool tune --help'\n", "chain.json", "chain.json")

    def test_options_that_make_no_sense(self):
        self.refused("unknown option", "chain.json", "--fast")
        self.refused("'--json' needs a value", "chain.json", "--json")
        for option, least, most in (("rounds", 3, 100000), ("device", 0, 2147483647)):
            for value in ("", "x", "1x", "5.5", "99999999999999999999", str(least - 1), str(most + 1)):
                self.refused(
                    "pdltool tune: error: --%s takes a number from %d to %d, not '%s'\n" % (option, least, most, value),
                    "chain.json", "--%s=%s" % (option, value),
                )
        for value in ("", "x", "1x", "-1", "nan", "inf", "2e9"):
            self.refused("pdltool tune: error: --budget takes a number from 0 to 1e+09, not '%s'\n" % value, "chain.json", "--budget=" + value)

    def test_a_device_or_a_library_that_is_not_there(self):
        self.refused("pdltool tune: error: ", "chain.json", "--device", "1000")
        if "json" in tooltest.without:
            self.refused("--json needs a pdltool that was built with the library jansson\n", "chain.json", "--json", "out.json")
        else:
            self.refused("--json nowhere/x: No such file or directory\n", "chain.json", "--json", "nowhere/x")


class Plain(Case):
    """A build without nvcc and without jansson."""

    def test_there_is_no_json(self):
        self.refused("pdltool tune: error: a chain in JSON needs a pdltool that was built with the library jansson\n", self.file("chain.json", json.dumps(CHAIN)))


class NoDevice(Case):
    """The whole program where there is no device."""

    def test_it_says_so(self):
        outputs = () if "json" in tooltest.without else ("--json", "out.json")
        stderr = self.refused("pdltool tune: error: ", self.file("chain.json", json.dumps(CHAIN)), *outputs, CUDA_VISIBLE_DEVICES="-1")
        self.assertRegex(stderr, r"\Apdltool tune: error: .*(libcuda|driver|device).*\n\Z")


if __name__ == "__main__":
    tooltest.main(globals())
