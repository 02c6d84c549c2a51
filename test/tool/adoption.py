#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool lint in a tree: how kernels are launched, project files, baselines, and what is of no use."""

import json
import lzma
import os
import pathlib

import tooltest

RECORDINGS = pathlib.Path(__file__).resolve().parents[1] / "watch" / "recordings"

HEAD = '.version 7.8\n.target sm_90\n.address_size 64\n.file 1 "/home/me/src/a.cu"\n.file 2 "/home/me/vendor/v.cuh"\n'
PARAMETERS = "(.param .u64 w, .param .u64 out)"
BEGIN = """
{
.reg .b64 %rd<5>; .reg .b32 %r<2>;
ld.param.u64 %rd1, [w]; ld.param.u64 %rd2, [out];
cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2;
"""
READ = "ld.global.u32 %r1, [%rd3];\n"
WRITE = "st.global.u32 [%rd4], %r1;\n"
WAIT = "griddepcontrol.wait;\n"
TRIGGER = "griddepcontrol.launch_dependents;\n"


def loc(line, file=1):
    return f".loc {file} {line} 1\n"


def kernel(name, *body, line=1):
    return f".visible .entry {name}{PARAMETERS}{BEGIN}{loc(line)}{''.join(body)}ret;\n}}\n"


def early(name="_Z5earlyPKfPf", line=10):
    return kernel(name, loc(line), READ, WAIT, WRITE, TRIGGER, line=line - 1)


def never(name="_Z5neverPKfPf", line=20):
    return kernel(name, READ, WRITE, line=line)


FLAG = "ld.param.u32 %q0, [on]; setp.eq.s32 %p1, %q0, 0;\n"
BY_FLAG = FLAG + "@%p1 bra A;\n" + WAIT + "A:\n" + READ + WRITE


def flagged(name, body=BY_FLAG):
    text = kernel(name, ".reg .pred %p<2>; .reg .b32 %q<2>;\n", body)
    return text.replace(PARAMETERS, PARAMETERS.replace(")", ", .param .u32 on)"))


def right(name="_Z5rightPKfPf", line=30):
    return kernel(name, WAIT, READ, WRITE, TRIGGER, line=line)


class Case(tooltest.Case):
    def lint(self, *arguments, code=None, **options):
        result = self.tool("lint", *arguments, **options)
        if code is not None:
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def ptx(self, *kernels, name="k.ptx"):
        return self.file(name, HEAD + "".join(kernels))

    def findings(self, *arguments, suppressed=False):
        if "json" in tooltest.without:
            self.skipTest("no JSON in this build")
        report = json.loads(self.lint("--json", "--level=note", *arguments).stdout)
        found = [f for f in report["findings"] if f["rule"] != "no-trigger"]
        return [(f["kernel"], f["rule"], f["level"]) for f in found if suppressed or f["suppressed"] is None]


class Never(Case):
    def line(self, *kernels, arguments=()):
        lines = [line for line in self.lint(*arguments, self.ptx(*kernels)).stdout.splitlines() if line.startswith("note: ") and "never wait" in line]
        self.assertLessEqual(len(lines), 1)
        return lines[0] if lines else None

    def test_one_line_tells_of_all_kernels(self):
        tail = "; a race if they are launched with overlap (--overlapped, --launches)"
        self.assertEqual(self.line(never("a")), "note: 1 kernel never waits: a; a race if it is launched with overlap (--overlapped, --launches)")
        self.assertEqual(self.line(never("a"), never("b")), "note: 2 kernels never wait: a and b" + tail)
        self.assertEqual(self.line(*map(never, "cab")), "note: 3 kernels never wait: a, b and c" + tail)
        self.assertEqual(self.line(*map(never, "abcdef")), "note: 6 kernels never wait: a, b, c and 3 more" + tail)

    def test_a_wait_behind_a_flag_is_named(self):
        one = "note: 1 kernel never waits unless a flag is set: a; a race if it is launched with overlap and does not wait (--overlapped, --launches)"
        trigger = "@%p1 bra B;\n" + TRIGGER + "B:\n"
        for title, body, named in (
            ("set to wait", BY_FLAG, True),
            ("and to trigger", BY_FLAG + trigger, True),
            ("one bit", BY_FLAG.replace("setp.eq.s32 %p1, %q0", "and.b32 %q1, %q0, 4; setp.eq.s32 %p1, %q1"), True),
            ("as a guard", FLAG + "@!%p1 griddepcontrol.wait;\n" + READ + WRITE, True),
            ("not set to wait", BY_FLAG.replace("@", "@!"), False),  # a warning of its own
            ("a number", BY_FLAG.replace("eq", "lt"), False),
            ("that decides more", BY_FLAG + FLAG + "@%p1 bra C;\nst.global.u32 [%rd3], %r1;\nC:\n", False),
            ("no flag", WAIT + READ + WRITE, False),
            ("an early exit", FLAG + "@%p1 ret;\n" + WAIT + READ + WRITE, False),
            ("of the thread", BY_FLAG.replace("ld.param.u32 %q0, [on]", "mov.u32 %q0, %tid.x"), False),
            ("of a launch that touches nothing", BY_FLAG.replace(READ + WRITE, ""), False),
        ):
            with self.subTest(title):
                self.assertEqual(self.line(flagged("a", body)), one if named else None)
        for arguments in (["--overlapped=a"], ["--level=note"], ["--project", self.file("s", "suppress no-wait kernel=a : x\n")], ["--project", self.file("l", "plain a\n")]):
            self.assertIsNone(self.line(flagged("a"), arguments=arguments))
        self.assertIn(": 3 kernels never wait unless a flag is set: a, b and c; a race if they are launched", self.line(*map(flagged, "cab")))
        self.assertIn(
            ": 2 kernels never wait: a and b; 1 kernel never waits unless a flag is set: c; a race if they are launched with overlap and do not wait",
            self.line(never("b"), flagged("c"), never("a")),
        )
        # A flag of the host is not the template's, whose other instance waits.
        self.assertIn("1 kernel never waits unless", self.line(right("_Z1kILb1EEvPf"), flagged("_Z1kILb0EEvPf"), never("_Z1kILb2EEvPf")))
        self.lint("--fail-on=warning", self.ptx(flagged("a")), code=0)

    def test_instances_of_a_template_are_one_name(self):
        if "demangled" in tooltest.without:
            self.skipTest("no demangler in this build")
        line = self.line(never("_Z1kIfEvPfS0_"), never("_Z1kIdEvPdS0_"))
        self.assertIn("2 kernels never wait: instances of 1 template: k;", line)

    def test_it_does_not_make_the_exit_code(self):
        self.lint("--fail-on=warning", self.ptx(never()), code=0)

    def test_kernels_that_touch_no_memory_are_left_out(self):
        self.assertIsNone(self.line(kernel("a"), kernel("b", ".shared .u32 s; st.shared.u32 [s], 1;\n")))

    def test_instances_that_differ_in_a_flag_from_one_that_waits_are_left_out(self):
        for waits, other, left_out in (
            ("_Z1kILb1EEvPf", "_Z1kILb0EEvPf", True),
            ("_Z1kIfLi4ELb1EEvPT_", "_Z1kIfLin8ELb0EEvPT_", True),
            ("_Z1kIL4Mode1EEvPf", "_Z1kIL4Mode0EEvPf", True),
            ("_Z1kILN2ns4ModeE1EEvPf", "_Z1kILN2ns4ModeE0EEvPf", True),
            ("_Z1kI6TraitsIfLb1EEEvPf", "_Z1kI6TraitsIfLb0EEEvPf", True),
            ("_Z1kIfEvPf", "_Z1kIdEvPf", False),  # another kernel may be in the type
            ("_Z1kI1AEvPf", "_Z1kI1BEvPf", False),
            ("_Z1kILb1EEvPf", "_Z1jILb0EEvPf", False),
            ("_ZL6kernelPf", "_ZL6kernelPd", False),
        ):
            with self.subTest(other):
                self.assertEqual(self.line(right(waits), never(other)) is None, left_out)

    def test_what_is_known_is_left_out(self):
        for arguments in (["--overlapped=a"], ["--level=error"], ["--project", self.file("s", "suppress no-wait kernel=a : x\n")]):
            self.assertIsNone(self.line(never("a"), arguments=arguments))
        self.assertIsNone(self.line(kernel("a", WRITE, TRIGGER)))  # a warning of its own
        self.assertIsNone(self.line(right("a")))

    def test_strange_names_are_no_trouble(self):
        for name in ("_ZL", "_Z99k", "_ZLN", "_ZLNS", "_ZLNS_", "_ZL1", "_Z1kIL", "_Z1kILb", "_ZLb1", "_ZLSt", "_Z1kILN1aE", "_Z" + "9" * 40):
            with self.subTest(name):
                self.assertIn(name if "demangled" in tooltest.without else "1 kernel", self.line(right(), never(name)))


class Launches(Case):
    def recording(self, name):
        return self.file(name, lzma.decompress((RECORDINGS / f"{name}.rec.xz").read_bytes()))

    def test_a_recording(self):
        ptx = self.ptx(never("_Z9secondaryPKjPj"), kernel("_Z7primaryPj", READ, TRIGGER), never("_Z5otherPj"))
        self.assertEqual(
            self.findings(ptx),
            [("_Z9secondaryPKjPj", "no-wait", "note"), ("_Z7primaryPj", "no-wait", "warning"), ("_Z5otherPj", "no-wait", "note")],
        )
        path = self.recording("overlapped")
        self.assertEqual(
            self.findings("--launches", path, ptx),
            [("_Z9secondaryPKjPj", "no-wait", "error"), ("_Z5otherPj", "no-wait", "note")],
        )
        result = self.lint("--launches", path, ptx, code=1)
        self.assertIn("1 in kernels that are launched without overlap only", result.stdout)
        self.assertIn("1 kernel launched, but not in any input: ", result.stderr)
        self.assertIn("1 kernel never waits: ", result.stdout)  # the one that nobody launched

    def test_a_recording_of_a_graph(self):
        ptx = self.ptx(never("_Z9secondaryPKjPj"))
        self.assertEqual(self.findings("--launches", self.recording("overlapped_graph"), ptx)[0][2], "error")

    def test_a_kernel_that_waits_is_right_in_both(self):
        ptx = self.ptx(right("_Z9secondaryPKjPj"), right("_Z7primaryPj"))
        self.assertEqual(self.findings("--launches", self.recording("overlapped"), ptx), [])

    def test_a_log(self):
        log = self.file(
            "log",
            "12:00 libpdl[7]: device 0, kernel a: overlaps\nnoise\n"
            "libpdl[7]: device 0, kernel b: does not overlap: the launch does not ask for it\n"
            "libpdl[7]: device 1, kernel c: does not overlap: x\nlibpdl[7]: device 1, kernel c: now overlaps\n"
            "libpdl[8]: device 0, kernel d: overlaps although it may not wait, and so on\n"
            "libpdl[8]: device 0, kernel e: jumps\nlibpdl[: kernel",
        )
        ptx = self.ptx(*map(early, "ab"), *map(never, "cde"))
        self.assertEqual(
            self.findings("--launches", log, ptx),
            [
                ("a", "read-before-wait", "warning"),
                ("c", "no-wait", "error"),
                ("d", "no-wait", "error"),
                ("e", "no-wait", "note"),
            ],
        )

    def test_a_log_with_names_that_were_cut(self):
        name = "_Z520" + "k" * 520 + "v"
        log = self.file("log", f"libpdl[7]: device 0, kernel {name[:500]}: overlaps\n")
        self.assertEqual(self.findings("--launches", log, self.ptx(never(name))), [(name, "no-wait", "warning")])

    def test_several_files(self):
        plain = self.file("plain", "libpdl[7]: device 0, kernel a: does not overlap: x\n")
        overlap = self.file("overlap", "libpdl[7]: device 0, kernel a: overlaps\n")
        ptx = self.ptx(never("a"))
        self.assertEqual(self.findings("--launches", plain, "--launches", overlap, ptx)[0][2], "error")
        self.assertEqual(self.findings("--launches", overlap, "--launches", plain, ptx)[0][2], "error")
        self.assertEqual(self.findings("--launches", plain, ptx), [])

    def test_what_is_none(self):
        ptx = self.ptx(never())
        for content, message in (
            ("overlapped a\n", "list: error: neither a recording (pdltool watch --record) nor a log of libpdl"),
            ('{"version": 1}\n', "list: error: neither a recording"),
            ("", "list: error: neither a recording"),
            (b"PDLWATCH" + b"\x01" * 8, "the recording ends within its header"),
        ):
            with self.subTest(message):
                self.assertIn(message, self.lint("--launches", self.file("list", content), ptx, code=2).stderr)
        self.assertIn("missing: error: No such file", self.lint("--launches", self.path("missing"), ptx, code=2).stderr)


class Project(Case):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("tree/a/b"))

    def project(self, text, name="tree/.pdl-lint"):
        return self.file(name, text)

    def test_it_is_found_upwards_from_each_input(self):
        self.project("constant-param w\n")
        self.project("plain *early*\n", "tree/a/b/.pdl-lint")
        outside = self.ptx(early("_Z1xPf"))
        inside = self.ptx(early("_Z1yPf"), name="tree/a/k.ptx")
        nearer = self.ptx(early("_Z5earlyPf"), early("_Z1zPf"), name="tree/a/b/k.ptx")
        self.assertEqual([f[0] for f in self.findings(outside, inside, nearer)], ["_Z1xPf", "_Z1zPf"])
        # A directory has the one that is nearest to itself.
        self.assertEqual(self.findings(self.path("tree/a")), [])

    def test_it_can_be_named_or_left_out(self):
        self.project("constant-param w\n")
        other = self.project("", "other")
        ptx = self.ptx(early(), name="tree/k.ptx")
        self.lint(ptx, code=0)
        self.lint("--no-project", ptx, code=1)
        self.lint("--project", other, ptx, code=1)
        self.lint("--project", self.path("tree/.pdl-lint"), self.ptx(early()), code=0)
        self.assertIn("missing: error: ", self.lint("--project", self.path("missing"), ptx, code=2).stderr)

    def test_all_lines(self):
        self.file("tree/log", "libpdl[7]: device 0, kernel f: overlaps\n")
        self.project(
            "# what holds for all\n"
            "overlapped n?\nplain  head*\n\tconstant-param c*:[vw]\n"
            "third-party vendor\nsuppress read-before-wait kernel=s file=a.cu : it is right\n"
            "launches log\n"
        )
        ptx = self.ptx(
            never("n1"), kernel("head", TRIGGER), early("c"), early("s"), never("f"),
            kernel("v", loc(3, 2), READ, WAIT, TRIGGER), early("left"), name="tree/k.ptx",
        )
        self.assertEqual(
            self.findings(ptx),
            [("n1", "no-wait", "warning"), ("f", "no-wait", "error"), ("left", "read-before-wait", "warning")],
        )
        result = self.lint(ptx, code=1)
        for part in ("1 suppressed", "1 in kernels that are launched without overlap only", "1 in third-party files"):
            self.assertIn(part, result.stdout)

    def test_code_that_has_to_be_checked(self):
        ptx = self.file("tree/k.ptx", (HEAD + right()).replace("sm_90", "sm_80").replace(WAIT, "").replace(TRIGGER, ""))
        self.lint(ptx, code=2)
        self.lint(ptx, self.ptx(right(), name="tree/right.ptx"), code=0)
        self.lint("--require-checked", ptx, code=1)

    def test_the_command_line_counts_more(self):
        self.project("plain *\n")
        ptx = self.ptx(never("a"), name="tree/k.ptx")
        log = self.file("log", "libpdl[7]: device 0, kernel a: overlaps\n")
        self.assertEqual(self.findings("--launches", log, ptx), [("a", "no-wait", "error")])

    def test_standard_input_is_in_the_working_directory(self):
        self.project("constant-param w\n", ".pdl-lint")
        self.lint("-", input=HEAD + early(), code=0)

    def test_links_are_followed(self):
        self.project("constant-param w\n")
        self.ptx(early(), name="tree/k.ptx")
        os.symlink("tree/k.ptx", self.path("link.ptx"))
        self.lint(self.path("link.ptx"), code=0)

    def test_mistakes_have_a_line_and_a_column(self):
        ptx = self.ptx(right(), name="tree/k.ptx")
        for text, message in (
            ("\n  what x\n", "2:3: error: 'what' is unknown; known are overlapped, plain"),
            ("overlapped\n", "1:11: error: no pattern behind overlapped"),
            ("plain a  b\n", "1:10: error: more than one pattern in the line"),
            ("fail-on error\n", "1:1: error: 'fail-on' is unknown"),
            ("launches\n", "1:9: error: nothing behind launches"),
            ("suppress what : x\n", "1:10: error: 'what' is not a rule's id"),
            ("plain a\n suppress no-wait foo=x : y\n", "2:19: error: 'foo' is not a key"),
            ("suppress : x\n", "1:10: error: no rule before ':'"),
            ("suppress no-wait\n", "1:17: error: no reason"),
            ("suppress no-wait :\n", "1:19: error: no reason"),
            ("suppress no-wait kernel=k:\n", "1:27: error: no reason"),
            ("suppress no-wait because I say so\n", "1:18: error: 'because' is not KEY=PATTERN"),
            ("suppress no-wait kernel= : x\n", "1:18: error: nothing after 'kernel='"),
            ("suppress no-wait =red : x\n", "1:18: error: '' is not a key"),
            ("suppress no-wait kernel=a kernel=b : x\n", "1:27: error: kernel= is given twice"),
            ("suppress no-wait line=1 line=2 : x\n", "1:25: error: line= is given twice"),
            ("suppress no-wait line=0 : x\n", "1:23: error: '0' is not a line number"),
            ("suppress no-wait line=-3 : x\n", "1:23: error: '-3' is not a line number"),
            ("suppress no-wait line=4294967296 : x\n", "1:23: error: '4294967296' is not a line number"),
            ("suppress no-wait line=99999999999999999999999999 : x\n", "1:23: error: "),
            ("plain \x07\n", "1:7: error: a control character (0x07)"),
        ):
            with self.subTest(text):
                self.project(text)
                self.assertIn("tree/.pdl-lint:" + message, self.lint(ptx, code=2).stderr)
        self.project("launches nothing\n")
        self.assertIn("tree/nothing: error: No such file", self.lint(ptx, code=2).stderr)

    def test_suppressions_match_by_all_their_keys(self):
        if "json" in tooltest.without:
            self.skipTest("no JSON in this build")
        helper = ".loc 2 5 1, function_name $L, inlined_at 1 30 1\n"
        label = '.section .debug_str\n{\n$L:\n' + "".join(f".b8 {byte}\n" for byte in b"_Z4loadPKf\0") + "}\n"
        ptx = self.ptx(kernel("_Z3fc2PKf", helper, READ, WAIT), kernel("_Z3fc3PKf", WRITE, WAIT), label)
        for line, kernels in (
            ("* : x", ()), ("*: x", ()), ("* :x", ()), ("*\t:\tx", ()),
            ("read-before-wait : x", (3,)), ("write-before-wait : x", (2,)), ("no-wait : x", (2, 3)),
            ("* kernel=_Z3fc3PKf : x", (2,)), ("* kernel=*fc* : x", ()), ("* kernel=fc2 : x", (2, 3)),
            ("* file=/home/me/vendor/v.cuh : x", (3,)), ("* file=v.cuh : x", (3,)), ("* file=vendor/*.cuh : x", (3,)),
            ("* file=a.cu line=30 : x", (3,)),  # where it was inlined to
            ("* file=.cuh : x", (2, 3)), ("* file=/v.cuh : x", (2, 3)),
            ("* line=5 : x", (3,)), ("* line=31 : x", (2, 3)), ("* file=a.cu line=5 : x", (2, 3)),  # no one place is both
            ("* function=*load* : x", (3,)), ("* function=*load* line=30 : x", (2, 3)),
            ("* parameter=w : x", (3,)), ("* parameter=1 : x", (3,)), ("* parameter=2 : x", (2,)),
            ("* parameter=w* kernel=*fc2* file=v.cuh line=5 function=_Z4load* : x", (3,)),
            ("* parameter=w* kernel=*fc3* : x", (2, 3)),
        ):
            with self.subTest(line):
                found = self.findings("--project", self.file("p", f"suppress {line}\n"), ptx)
                self.assertEqual(tuple(int(name[5]) for name, _, _ in found), kernels)
        result = self.lint("--json", "--project", self.file("p", "suppress read-before-wait : first\nsuppress * : second\n"), ptx, code=0)
        reasons = [f["suppressed"] for f in json.loads(result.stdout)["findings"] if f["rule"] != "no-trigger"]
        self.assertEqual(reasons, ["first", "second"])  # the first that matches

    def test_other_forms_of_text(self):
        self.file("tree/.pdl-lint", b"\xef\xbb\xbfconstant-param w\r\nsuppress no-wait : x\r\n")
        self.lint(self.ptx(early(), never(), name="tree/k.ptx"), code=0)

    def test_other_forms_have_the_reason(self):
        if "json" in tooltest.without:
            self.skipTest("no JSON in this build")
        ptx = self.ptx(kernel("v", loc(3, 2), READ, WAIT, TRIGGER))
        self.file(".pdl-lint", "third-party vendor\n")
        report = json.loads(self.lint("--json", ptx, code=0).stdout)
        self.assertEqual([f["suppressed"] for f in report["findings"]], ["the file is third-party"])
        run = json.loads(self.lint("--sarif", ptx, code=0).stdout)["runs"][0]
        self.assertEqual([s["kind"] for r in run["results"] for s in r["suppressions"]], ["external"])

    def test_third_party_files(self):
        ptx = self.ptx(kernel("v", loc(3, 2), READ, WAIT, TRIGGER))
        for pattern, code in (
            ("vendor", 0), ("vendor/", 0), ("vendor/v.cuh", 0), ("v.cuh", 0), ("/home/me/vendor", 0), ("*.cuh", 0), ("me/*/v.cuh", 0),
            ("vend", 1), ("v.cu", 1), ("/vendor", 1), ("endor/v.cuh", 1), ("src", 1),
        ):
            with self.subTest(pattern):
                self.file(".pdl-lint", f"third-party {pattern}\n")
                self.lint(ptx, code=code)


class Unused(Case):
    def test_options_that_match_nothing_are_told(self):
        ptx = self.ptx(early())
        for option, text in (
            ("--constant-param=x", "x"), ("--constant-param=k:w", "k:w"), ("--overlapped=none*", ""),
            ("--launches=" + self.file("log", "libpdl[7]: device 0, kernel a: overlaps\n"), ""),
        ):
            with self.subTest(option):
                result = self.lint("--fail-on=error", option, ptx, code=0)
                self.assertIn(f"command line: warning: unused option '{option}': it matches nothing\n", result.stdout)
                self.lint("--fail-on=note", option, self.ptx(right(), name="r.ptx"), code=1)

    def test_those_that_match_are_not(self):
        ptx = self.ptx(early("k"), kernel("v", loc(3, 2), READ, WAIT, TRIGGER))
        result = self.lint(
            "--constant-param=k:[w]", "--constant-param=2", "--overlapped=k", "--project=" + self.file("p", "third-party v.cuh\n"),
            "--launches=" + self.file("log", "libpdl[7]: device 0, kernel k: overlaps\n"), ptx, code=0,
        )
        self.assertNotIn("unused", result.stdout)

    def test_options_and_lines_are_told_apart(self):
        self.file(".pdl-lint", "constant-param w\noverlapped none\nthird-party a.cu\n")
        ptx = self.ptx(early("k"))
        told = self.lint("--level=note", "--constant-param=x", "--overlapped=k", ptx).stdout
        self.assertEqual(
            [line.split("unused ")[1] for line in told.splitlines() if "unused" in line],
            [
                "option '--constant-param=x': it matches nothing",
                "line 'overlapped none': it matches nothing",
                "line 'third-party a.cu': it matches nothing",  # there is nothing left to find
            ],
        )

    def test_any_input_is_enough(self):
        result = self.lint("--overlapped=a", self.ptx(right("a")), self.ptx(right("b"), name="b.ptx"), code=0)
        self.assertEqual(result.stdout, "")

    def test_lines_of_a_project_file_that_was_found_are_notes(self):
        path = self.file(".pdl-lint", "plain nobody\n\nconstant-param none\nsuppress no-wait kernel=nobody : x\n")
        ptx = self.ptx(right())
        self.assertEqual(self.lint(ptx, code=0).stdout, "")
        told = self.lint("--level=note", ptx, code=0).stdout
        for line in (
            f"{path}:1: note: unused line 'plain nobody': it matches nothing\n",
            f"{path}:3: note: unused line 'constant-param none': it matches nothing\n",
            f"{path}:4: note: unused line 'no-wait kernel=nobody': it suppresses nothing\n",
        ):
            self.assertIn(line, told)
        self.assertIn(f"{path}:1: warning: unused line 'plain nobody'", self.lint("--project", path, ptx, code=0).stdout)

    def test_nothing_is_unused_where_not_all_was_read(self):
        result = self.lint("--overlapped=none", self.ptx(right()), self.path("missing"), code=2)
        self.assertNotIn("unused", result.stdout)

    def test_json_tells_them(self):
        if "json" in tooltest.without:
            self.skipTest("no JSON in this build")
        self.file(".pdl-lint", "plain nobody\n")
        report = json.loads(self.lint("--json", "--overlapped=k", self.ptx(right("k"))).stdout)
        self.assertEqual(
            [(s["kind"], s["text"], s["unused"]) for s in report["suppressions"]],
            [("option", "--overlapped=k", False), ("line", "plain nobody", True)],
        )
        self.assertEqual([(k["launch"], k["touches_memory"]) for k in report["kernels"]], [("overlapped", "yes")])


class Baseline(Case):
    def write(self, *arguments):
        path = self.path("base")
        result = self.lint("--write-baseline", path, *arguments, code=0)
        self.assertEqual(result.stdout, "")
        with open(path, encoding="ascii") as file:
            return path, file.read()

    def test_what_was_there_does_not_count(self):
        ptx = self.ptx(early("a"), early("b", 50))
        path, text = self.write(ptx)
        self.assertEqual(len(text.splitlines()), 4)
        result = self.lint("--baseline", path, ptx, code=0)
        self.assertTrue(result.stdout.endswith("2 in the baseline\n"), result.stdout)
        self.assertEqual(result.stderr, "")

    def test_what_is_new_does(self):
        path, _ = self.write(self.ptx(early("a")))
        result = self.lint("--baseline", path, self.ptx(early("a"), early("b", 50)), code=1)
        self.assertIn("1 warning, 1 in the baseline\n", result.stdout)
        self.assertIn("'b'", result.stdout)

    def test_moved_lines_are_not_new(self):
        path, _ = self.write(self.ptx(early("a")))
        self.lint("--baseline", path, self.ptx(early("a", 99)), code=0)

    def test_what_is_fixed_is_told(self):
        path, _ = self.write(self.ptx(early("a"), early("b", 50)))
        result = self.lint("--baseline", path, self.ptx(right("a"), early("b", 50)), code=0)
        self.assertIn("note: fixed: 1 entry of ", result.stderr)
        result = self.lint("--baseline", path, self.ptx(right("a")), self.path("missing"), code=2)
        self.assertNotIn("fixed", result.stderr)

    def test_it_is_the_same_text_whatever_the_order(self):
        a = self.ptx(early("a"), name="a.ptx")
        b = self.ptx(early("b", 50), name="b.ptx")
        first = self.write(a, b)[1]
        self.assertEqual(first, self.write(b, a)[1])
        lines = first.splitlines()[2:]
        self.assertEqual(lines, sorted(lines))
        self.assertRegex(lines[0], r"^a\.cu: read-before-wait of w in a \[[0-9a-f]{16}:1\]$")

    def test_levels(self):
        ptx = self.ptx(never("a"))
        self.assertEqual(len(self.write(ptx)[1].splitlines()), 2)
        self.assertEqual(len(self.write("--fail-on=note", ptx)[1].splitlines()), 3)
        self.assertEqual(len(self.write("--level=note", ptx)[1].splitlines()), 3)

    def test_what_is_suppressed_is_not_written(self):
        path = self.file("s", "suppress read-before-wait : x\n")
        self.assertEqual(len(self.write("--project", path, self.ptx(early()))[1].splitlines()), 2)

    def test_it_is_written_anew_with_what_was_in_it(self):
        path, text = self.write(self.ptx(early("a"), early("b", 50)))
        ptx = self.ptx(early("b", 50), early("c", 70))
        self.assertEqual(self.write("--baseline", path, ptx)[1], self.write(ptx)[1])
        self.assertNotEqual(self.write(ptx)[1], text)

    def test_it_is_not_written_where_something_could_not_be_read(self):
        path, text = self.write(self.ptx(early("a")))
        result = self.lint("--write-baseline", path, self.ptx(early("b")), self.path("missing"), code=2)
        self.assertIn("base is not written", result.stderr)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), text)

    def test_static_kernels_of_another_folder_are_the_same(self):
        """Of separate compilation: the name has a hash of the path in it."""
        self.file("a.cu", "\n" * 8 + "static __global__ void k(const float *weights, float *y)\n{\n")
        names = [f"__nv_static_25__{hash_}_4_a_cu_1a84dbe3__Z1kPKfPf" for hash_ in ("e752b89b", "1d7ff3b9")]
        first, second = (
            self.file(f"{i}.ptx", (HEAD + early(name, 10)).replace("/home/me/src/", self.directory + "/").replace("u64 w", f"u64 {name}_param_0").replace("[w]", f"[{name}_param_0]"))
            for i, name in enumerate(names)
        )
        path, text = self.write(first)
        if "demangled" not in tooltest.without:
            self.assertIn("a.cu: read-before-wait of weights in k [", text)
            self.assertIn("'k(float const*, float*)'", self.lint(first).stdout)
            self.lint("--baseline", path, second, code=0)

    def test_what_counts_for_one_kernel_only_stays_known_of_the_others(self):
        name = ".section .debug_str\n{\nL:\n.b8 102,0\n}\n"  # f, which both call
        ptx = self.ptx(name, *(kernel(k, f".loc 2 3 1, function_name L, inlined_at 1 {line} 1\n", READ, WAIT, TRIGGER) for k, line in (("a", 10), ("b", 50))))
        path, text = self.write(ptx)
        self.assertEqual(len(text.splitlines()), 3)
        for kernel_name in "ab":
            with self.subTest(kernel_name):
                project = self.file("s", f"suppress read-before-wait kernel={kernel_name} : x\n")
                result = self.lint("--baseline", path, "--project", project, ptx, code=0)
                self.assertIn("1 suppressed, 1 in the baseline", result.stdout)

    def test_bad_files(self):
        ptx = self.ptx(early())
        head = "# pdltool lint baseline 1\n"
        for text, message in (
            ("", "1:1: error: not a baseline of pdltool lint"),
            ("x [00:1]\n", "1:1: error: not a baseline"),
            (head + "x\n", "2:1: error: an entry ends in a fingerprint"),
            (head + "\nx 12:1]\n", "3:7: error: an entry ends"),
        ):
            with self.subTest(text):
                self.assertIn("base:" + message, self.lint("--baseline", self.file("base", text), ptx, code=2).stderr)
        self.assertIn("missing: error: ", self.lint("--baseline", self.path("missing"), ptx, code=2).stderr)
        self.assertIn("error: ", self.lint("--write-baseline", self.path("no/base"), ptx, code=2).stderr)


class Large(Case):
    """A hundred thousand of each, in a time that goes with their number."""

    COUNT = 100_000

    def test_names_of_launches(self):
        log = "".join(f"libpdl[7]: device 0, kernel _Z7k{i:06}v: overlaps\n" for i in range(self.COUNT))
        self.lint("--launches", self.file("log", log), self.ptx(never("_Z7k004711v")), code=1)

    def test_entries_of_a_baseline(self):
        base = "# pdltool lint baseline 1\n" + "".join(f"x [{i:016x}:1]\n" for i in range(self.COUNT))
        result = self.lint("--baseline", self.file("base", base), self.ptx(early()), code=1)
        self.assertIn("fixed: 100,000 entries", result.stderr)

    def test_lines_of_a_project_file(self):
        text = "".join(f"constant-param x{i}\nsuppress no-wait kernel=y{i} : x\nplain z{i}\n" for i in range(self.COUNT))
        self.lint("--project", self.file("project", text), self.ptx(early()), code=1)

    def test_kernels_that_never_wait(self):
        ptx = self.ptx(*(never(f"_Z7k{i:06}PfS_") for i in range(20_000)))
        self.assertIn("20,000 kernels never wait: ", self.lint(ptx, code=0).stdout)


if __name__ == "__main__":
    tooltest.main(globals())
