#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool tune on a device that needs none (see mock_device.c): what it finds, refuses and writes, and how it ends."""

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
TRIGGERS = (-1, 0, 1, 2, 3, 4)
CHAIN = """
image -1 image-1
image 0 image0
image 1 image1
image 2 image2
image 3 image3
image 4 image4
buffer w bytes=64 constant fill=7
buffer x bytes=64 file=data
buffer y bytes=64
buffer z bytes=64 fill=0
kernel first code=up grid=132 block=256
kernel second code=down grid=132x1 block=32x8
kernel scale grid=8 block=256 triggers=0,-1
repeat 8
launch first x y i32:16
launch second y z i32:16
launch scale { i32:16 z x f32:0.5 }
end
"""
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
            errors="replace",
            timeout=120,
            check=False,
        )
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertNotIn("Sanitizer", result.stderr)
        self.assertNotIn("runtime error", result.stderr)
        return result

    def refused(self, said, *arguments, **options):
        """Expects a usage error that says so in one line, and nothing else."""
        result = self.tune(*arguments, code=2, **options)
        self.assertIn(said, result.stderr)
        self.assertEqual((result.stdout, result.stderr.count("\n")), ("", 1))
        return result.stderr


class Chains(Case):
    """With images of all variants."""

    def setUp(self):
        super().setUp()
        self.images(CASES)
        self.file("data", b"\1\2\3\4" * 16)

    def images(self, cases):
        for trigger in TRIGGERS:
            for faulty, name in enumerate(("image", "faulty")):
                self.file("%s%d" % (name, trigger), "mock %d %d\n%s" % (trigger, faulty, cases))

    def chain(self, *changes):
        """Writes the chain into a file; a change is a text and what takes its place."""
        text = CHAIN
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.file("it.pdltune", text)
        return "it.pdltune"

    def measured(self, *arguments, code=0, changes=(), **environment):
        """The JSON of a search."""
        return json.loads(self.tune(self.chain(*changes), *QUICK, *arguments, "--json", code=code, **environment).stdout)


def states(result, kind):
    """What became of each trigger of a kind in the first sweep."""
    curve = next(curve for curve in result["curves"] if curve["kind"] == kind)
    return {point["trigger"]: (point["state"], point["why"]) for point in curve["points"]}


def chosen(result):
    return {kind["name"]: kind["chosen"]["trigger"] for kind in result["kinds"]}


FAULTY = [(" image", " faulty")]
SERIAL = ("wrong", "its result is wrong, also without overlap")
OVERLAP = ("race", "with overlap its result is wrong: a race")
REFUSED = ("refused", "line 17: the mock takes no such grid")
RIGHT = ("right", None)


class Search(Chains):
    def test_finds_the_fastest_and_throws_out_what_is_wrong(self):
        result = self.measured()
        self.assertEqual(chosen(result), {"first": 3, "second": 2, "scale": -1})
        self.assertTrue(result["better"])
        self.assertEqual((result["failed"], result["ended_early"], result["exclude"]), (None, None, None))
        self.assertEqual(states(result, "first"), {-1: RIGHT, 0: RIGHT, 1: RIGHT, 2: RIGHT, 3: RIGHT, 4: SERIAL})
        self.assertEqual(states(result, "second"), {-1: RIGHT, 0: RIGHT, 1: OVERLAP, 2: RIGHT, 3: OVERLAP, 4: REFUSED})

    def test_images_with_injected_faults_show_hidden_races(self):
        result = self.measured(changes=FAULTY)
        self.assertEqual(states(result, "first"), {-1: RIGHT, 0: RIGHT, 1: RIGHT, 2: RIGHT, 3: OVERLAP, 4: SERIAL})
        self.assertEqual(chosen(result)["first"], 2)

    def test_json(self):
        result = self.measured(changes=[("triggers=0,-1", "triggers=0,-1 overlap=both")])
        self.assertEqual((result["version"], result["tool"], result["gpu"], result["chain"]), (2, "pdltool tune", "Mock GPU", "it.pdltune"))
        self.assertEqual([kind["start"] for kind in result["kinds"]], [{"trigger": 0}] * 3)
        last = result["last_comparison"]
        for name, us in (("no_overlap", 8 * 1.5 * 21), ("start", 8 * 21), ("chosen", 8 * 12)):
            self.assertEqual(last[name]["state"], "right")
            self.assertAlmostEqual(last[name]["us"] / us, 1, delta=0.003)
            self.assertAlmostEqual(last[name]["ratio"] / (us / (8 * 21)), 1, delta=0.003)
            self.assertLessEqual(last[name]["ratio_low"], last[name]["ratio"])
            self.assertLessEqual(last[name]["ratio"], last[name]["ratio_high"])
        first = result["curves"][0]
        self.assertEqual((first["sweep"], first["kind"], first["taken"]), (1, "first", {"trigger": 3}))
        for point in first["points"]:
            self.assertEqual(point["us"] is not None, point["state"] == "right")
        scale = next(curve for curve in result["curves"] if curve["kind"] == "scale")
        self.assertEqual([(point["trigger"], point.get("overlap", True)) for point in scale["points"]],
                         [(0, True), (-1, True), (0, False), (-1, False)])  # fmt: skip

    def test_text(self):
        result = self.tune(self.chain(), *QUICK)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], "it.pdltune on Mock GPU: a chain of 24 links of 3 kinds, 192 bytes of results compared after each sample")
        self.assertIn("sweep 1, first", lines)
        self.assertRegex(result.stdout, r"\n +4 +- +- +its result is wrong, also without overlap\n")
        self.assertRegex(result.stdout, r"\nchosen after \d+ configurations in \d+\.\d s, \d+ replays per sample:\n")
        self.assertRegex(result.stdout, r"\n +first +3 +was trigger 0 *\n")
        self.assertRegex(result.stdout, r"\n +scale +none +was trigger 0 *\n")
        self.assertEqual(result.stderr, "")

    def test_where_nothing_is_better_the_start_stays(self):
        self.images(re.sub(r"(case .*) \d+ \w+\n", r"\1 5 right\n", CASES))
        result = self.tune(self.chain(), "--rounds", "99", "--json")
        self.assertIn("nothing is faster than the start by more than the noise\n", result.stderr)
        self.assertIn("\nkept after ", result.stderr)
        result = json.loads(result.stdout)
        self.assertFalse(result["better"])
        self.assertEqual(chosen(result), {"first": 0, "second": 0, "scale": 0})
        self.assertIsNone(result["last_comparison"]["chosen"])

    def test_what_it_begins_with(self):
        for word, start in (("trigger=2", 2), ("triggers=2,-1", 2), ("triggers=4,0", 0)):
            result = self.measured(changes=[("code=up", "code=up " + word)])
            self.assertEqual(result["kinds"][0]["start"], {"trigger": start})

    def test_kinds_that_never_overlap(self):
        result = self.measured(changes=[("code=down", "code=down overlap=no")])
        self.assertEqual(states(result, "second")[3], RIGHT)  # races only with overlap

    def test_what_a_description_can_say(self):
        """Each change leaves a chain that works."""
        more = "{ i32:16 z x f32:0.5 f64:1 u32:0xffffffff i64:-3 f32:4 }"
        for change in (
            ("132x1 block=32x8", "11x3x4 block=32x8 cluster=1 dynamic=64K carveout=50"),
            ("x y i32:16", "x y+0 i32:0x10"), ("bytes=64 file=data", "bytes=64 file=" + self.path("data")),
            ("buffer y bytes=64", "buffer y bytes=1K # large"), ("repeat 8", "repeat 2\nrepeat 4\nend"), ("f32:0.5 }", "f32:-1e9 }"),
            ("{ i32:16 z x f32:0.5 }", more),
        ):  # fmt: skip
            with self.subTest(change):
                self.images(CASES.replace("scale 32", "scale 64") if change[1] == more else CASES)
                self.tune(self.chain(change), "--rounds", "3")

    def test_paths_are_relative_to_the_file(self):
        path = self.chain()
        os.mkdir(self.path("inner"))
        self.tune("../" + path, *QUICK, directory=self.path("inner"))


class Ends(Chains):
    def test_a_chain_that_does_not_work_as_it_is_given(self):
        table = (
            (OVERLAP[1], CASES.replace("up 0 132 8 right", "up 0 132 8 race"), ()),
            (OVERLAP[1], CASES.replace("up 0 132 8 right", "up 0 132 8 hidden"), FAULTY),
            ("without any overlap the chain computes something else from run to run", CASES.replace("scale - - 3 right", "scale - - 3 unsteady"), ()),
            ("line 18: the mock takes no such grid", CASES.replace("scale - - 3 right", "scale - - 3 refused"), ()),
            ("the chain has written to buffer w, which is declared constant", CASES, [("y z i32", "y w i32")]),
            ("line 16: the mock has smaller clusters", CASES, [("code=up", "code=up cluster=7")]),
            ("line 16: the mock has other parameters", CASES, [("launch first x y i32:16", "launch first i32:1")]),
            ("line 18: the mock has other parameters", CASES, [("{ i32:16 z x f32:0.5 }", "z x i32:16")]),
        )
        for said, cases, changes in table:
            with self.subTest(said):
                self.images(cases)
                self.assertIn(said, self.measured(code=1, changes=changes)["failed"])
                self.assertIn("the chain as given does not work: " + said, self.tune(self.chain(*changes), *QUICK, code=1).stdout)

    def test_where_a_constant_was_written_nothing_is_chosen(self):
        path = self.chain(("y z i32", "y w i32"))
        result = self.tune(path, *QUICK, "--json", code=1)
        self.assertRegex(result.stderr, r"\nno result after \d+ configurations in \d+\.\d s, \d+ replays per sample\n")
        self.assertNotIn("chosen", result.stderr)
        self.assertNotIn("was trigger", result.stderr)
        result = json.loads(result.stdout)
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

    def test_a_device_that_fails(self):
        result = self.tune(self.chain(), *QUICK, code=2, MOCK_FAIL="100")
        self.assertEqual(result.stderr, "pdltool tune: error: the mock's device is lost\n")
        self.assertIn("sweep 1, first", result.stdout)  # what there was is told


class Excluded(Chains):
    """The last line: what PDL_OVERLAP_EXCLUDE should name."""

    SLOW = CASES.replace("2 right\ncase scale - - 3 right", "2 slower\ncase scale - - 3 slower")

    def expect(self, names, *changes, cases=CASES, code=0):
        """What the text ends with, and the JSON has; None: nothing."""
        self.images(cases)
        result = self.tune(self.chain(*changes), *QUICK, "--json", code=code)
        lines = [line for line in result.stderr.splitlines() if line.startswith("PDL_OVERLAP_EXCLUDE")]
        self.assertEqual(lines, [] if names is None else ["PDL_OVERLAP_EXCLUDE=" + names])
        if names is not None:
            self.assertTrue(result.stderr.endswith(lines[0] + "\n"), result.stderr)
        self.assertEqual(json.loads(result.stdout)["exclude"], names)

    def test_what_is_slower_with_overlap_in_every_shape(self):
        """Kernels with the states of their cases, and what is excluded."""
        first, scale = ("code=up", "code=up overlap=both"), ("kernel scale", "kernel scale overlap=both")
        both = (first, ("code=down", "code=down overlap=both"), scale)
        slow = self.SLOW
        table = (
            ("none was tried without", (), slow, None),
            ("none is slower", both, CASES, None),
            ("one kernel", (scale,), slow, "scale"),
            ("one that never overlaps", (("kernel scale", "kernel scale overlap=no"),), slow, None),
            ("one of three", both, slow, "scale"),
            ("two of them", both, re.sub("(case up .*) (right|hidden)", r"\1 slower", slow), "up:scale"),
            ("one that is faster with one trigger", both, re.sub("(case up .*) right", r"\1 slower", slow), "scale"),
            ("not with every grid", (first,), CASES.replace("up - - 9 right", "up - - 9 slower"), None),
            ("not with every trigger", (scale,), CASES.replace("scale - - 3 right", "scale - - 3 slower"), None),
            ("not by more than the noise", (scale,), slow.replace("scale -1 - 2", "scale -1 - 0"), None),
        )
        for what, changes, cases, names in table:
            with self.subTest(what):
                self.expect(names, *changes, cases=cases)

    def test_a_kernel_of_two_kinds_is_named_once_and_only_if_both_are_slower(self):
        kernel = "kernel scale grid=8 block=256 triggers=0,-1"
        launch = "launch scale { i32:16 z x f32:0.5 }"
        again = ((kernel, kernel + " overlap=both\nkernel again code=scale grid=16 block=256 triggers=0,-1 overlap=both"),
                 (launch, launch + "\n" + launch.replace("scale", "again")))  # fmt: skip
        self.expect("scale", *again, cases=self.SLOW)
        self.expect(None, *again, cases=self.SLOW.replace("case scale -1 -", "case scale - 16 2 right\ncase scale -1 -"))

    def test_a_chain_that_does_not_work_excludes_nothing(self):
        # A constant that was written is noticed after the search.
        self.expect(None, ("kernel scale", "kernel scale overlap=both"), ("y z i32", "y w i32"), cases=self.SLOW, code=1)


FIRST, LAUNCH = "kernel first code=up grid=132 block=256", "launch first x y i32:16"
WRONG = (
    # A line of the chain, what takes its place, and what is said of that line.
    ("repeat 8", "lanch first", "unknown word 'lanch'"),
    ("end\n", "", "repeat without an end"),
    ("image 2 image2", "image 2", "image needs a trigger and a file"),
    ("image 2 image2", "image -2 image2", "'-2' is not a whole number from -1 to 999"),
    ("image 2 image2", "image 1 image2", "images come before the kernels, one per trigger"),
    ("repeat 8", "image 5 image2", "images come before the kernels, one per trigger"),
    ("image 2 image2", "image 2 gone", "./gone: No such file or directory"),
    ("image 2 image2", "image 2 /", "/: Is a directory"),
    ("buffer y bytes=64", "buffer", "a buffer needs a name"),
    ("buffer y bytes=64", "buffer x bytes=64", "there is a buffer 'x' already"),
    ("buffer y bytes=64", "buffer y", "buffer 'y' needs bytes="),
    ("buffer y bytes=64", "buffer y size=64", "a buffer has no 'size=64'"),
    *(("buffer y bytes=64", f"buffer y bytes={size}", f"'{size}' is not a whole number from 1 to 17592186044416")
      for size in ("-3", "0", "6.5", "x", "1152921504606846976")),
    ("buffer y bytes=64", "buffer y bytes=16777217", "the buffer takes 16777217 bytes, and 16777216 of the device's memory are free"),
    ("buffer y bytes=64", "buffer y bytes=64 fill=256", "'256' is not a whole number from 0 to 255"),
    ("buffer y bytes=64", "buffer y bytes=64 file=gone", "./gone: No such file or directory"),
    ("buffer y bytes=64", "buffer y bytes=65 file=data", "data has 64 bytes, and the buffer 65"),
    (FIRST, "kernel", "a kernel needs a name"),
    (FIRST, FIRST + "\n" + FIRST, "there is a kernel 'first' already"),
    (FIRST, FIRST + " colour=red", "a kernel has no 'colour=red'"),
    (FIRST, "kernel first grid=132", "kernel 'first' needs grid= and block="),
    (FIRST, "kernel first block=132", "kernel 'first' needs grid= and block="),
    (FIRST, "kernel first grid=1x2x3x4 block=1", "'1x2x3x4' is not a whole number from 1 to 4611686018427387904"),
    (FIRST, "kernel first grid=2147483648 block=1", "a grid has at most 2147483647 blocks along an axis"),
    (FIRST, "kernel first grid=1 block=0", "'0' is not a whole number from 1 to 1024"),
    (FIRST, "kernel first grid=1 block=32x33", "'32x33' is not a whole number from 1 to 1024"),
    (FIRST, FIRST + " carveout=101", "'101' is not a whole number from 0 to 100"),
    (FIRST, FIRST + " registers=32", "registers and static shared memory are those of the code"),
    (FIRST, FIRST + " overlap=maybe", "overlap is yes, no or both, not 'maybe'"),
    (FIRST, FIRST + " triggers=0,1,0", "triggers= has 0 twice"),
    (FIRST, FIRST + " triggers=", "'' is not a whole number from -1 to 999"),
    (FIRST, FIRST + " triggers=1,a", "'a' is not a whole number from -1 to 999"),
    (FIRST, FIRST + " triggers=1,5", "there is no image for trigger 5"),
    (FIRST, FIRST + " trigger=5", "trigger=5 is not one of the triggers"),
    (FIRST, FIRST.replace("up", "upp"), "kernel upp, trigger -1: the mock finds no such kernel"),
    (FIRST, FIRST + " dynamic=300000", "kernel up, trigger -1: the mock has less shared memory"),
    (LAUNCH, "launch", "there is no kernel ''"),
    (LAUNCH, "launch third x", "there is no kernel 'third'"),
    (LAUNCH, "launch first q", "there is no buffer 'q'"),
    (LAUNCH, "launch first x+64", "'64' is not a whole number from 0 to 63"),
    (LAUNCH, "launch first x+-4", "'-4' is not a whole number from 0 to 63"),
    (LAUNCH, "launch first i16:3", "the types of numbers are i32, u32, i64, u64, f32 and f64"),
    *((LAUNCH, f"launch first {word}", f"'{word}' is not a number of that type")
      for word in ("i32:2147483648", "i32:x", "i32:0.5", "i32:", "u32:-1", "u32:4294967296", "u64:-1", "i64:1e3", "f32:1x", "f64:")),
    (LAUNCH, "launch first { }", "a struct is { VALUE ... }"),
    (LAUNCH, "launch first { x", "a struct is { VALUE ... }"),
    (LAUNCH, "launch first }", "a struct is { VALUE ... }"),
    (LAUNCH, "launch first { x { y } }", "there is no buffer '{'"),
)  # fmt: skip


class File(Chains):
    """What is wrong in a chain's file is told with the line."""

    def test_what_is_wrong_is_told_with_its_line(self):
        for old, new, said in WRONG:
            with self.subTest(new or said):
                number = CHAIN[: CHAIN.index(old)].count("\n") + 1 + new.count("\n")
                number = CHAIN.split("\n").index("repeat 8") + 1 if "without an end" in said else number
                self.assertEqual(self.refused(said, self.chain((old, new))), f"it.pdltune:{number}: error: {said}\n")

    def test_what_is_wrong_with_the_whole(self):
        for text, said in (("", "nothing is launched"), (CHAIN.replace("image 2 image2", "image 2 data"), "kernel up, trigger 2: the mock reads no such image"),
                           (re.sub("(buffer .*)", r"\1 constant", CHAIN), "all buffers are constant: there is no result that could be checked")):  # fmt: skip
            self.file("it.pdltune", text)
            self.refused(said, "it.pdltune")
        self.refused("missing.pdltune:1: error: No such file or directory\n", "missing.pdltune")
        self.refused("%s:1: error: Is a directory\n" % self.directory, self.directory)

    def test_bytes_of_any_kind_end_with_a_line(self):
        for text in (b"\0kernel", b"\xff\xfe", b"a " * 100000, b"{}", b"repeat 1\n" * 100000):
            self.file("it.pdltune", text)
            self.refused("it.pdltune:", "it.pdltune")

    def test_more_than_the_host_has(self):
        if "sanitized" in tooltest.without or tooltest.emulated:
            return  # a sanitizer and an emulator take more than any limit
        path = self.chain(("buffer y bytes=64", "buffer y bytes=16M"))
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 24, 1 << 24))
        self.refused("it.pdltune:10: error: there is no memory for 16777216 bytes\n", path, limit=limit)


class CommandLine(Case):
    """What holds with any device and without one."""

    def test_help(self):
        for option in ("--help", "-h"):
            result = self.tune(option)
            self.assertTrue(result.stdout.startswith("usage: pdltool tune FILE [OPTION...]\n"))
            self.assertEqual(result.stderr, "")
        for option in "device rounds budget json".split():
            self.assertIn("--" + option, result.stdout)

    def test_one_chain(self):
        self.refused("pdltool tune: error: no chain to tune; see 'pdltool tune --help'\n")
        self.refused("pdltool tune: error: one chain at a time; see 'pdltool tune --help'\n", "it.pdltune", "it.pdltune")

    def test_options_that_make_no_sense(self):
        self.refused("unknown option", "it.pdltune", "--fast")
        for option, least, most in (("rounds", 3, 100000), ("device", 0, 2147483647)):
            for value in ("", "x", "1x", "5.5", "99999999999999999999", str(least - 1), str(most + 1)):
                self.refused(
                    "pdltool tune: error: --%s takes a number from %d to %d, not '%s'\n" % (option, least, most, value),
                    "it.pdltune", "--%s=%s" % (option, value),
                )
        for value in ("", "x", "1x", "-1", "nan", "inf", "2e9"):
            self.refused("pdltool tune: error: --budget takes a number from 0 to 1e+09, not '%s'\n" % value, "it.pdltune", "--budget=" + value)

    def test_a_device_or_a_library_that_is_not_there(self):
        self.refused("pdltool tune: error: ", "it.pdltune", "--device", "1000")
        if "json" in tooltest.without:
            self.refused("--json needs a pdltool that was built with the library jansson\n", "it.pdltune", "--json")


class NoDevice(Case):
    """The whole program where there is no device."""

    def test_it_says_so(self):
        stderr = self.refused("pdltool tune: error: ", self.file("it.pdltune", CHAIN), CUDA_VISIBLE_DEVICES="-1")
        self.assertRegex(stderr, r"\Apdltool tune: error: .*(libcuda|driver|device).*\n\Z")


if __name__ == "__main__":
    tooltest.main(globals())
