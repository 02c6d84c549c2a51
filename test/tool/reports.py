#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool lint and inspect on descriptions that a mock of libpdl-inspect reads (see mock_inspect.c)."""

import json
import os
import pty
import subprocess

import tooltest

ONE = """mock
image kind=ptx target=90 suffix=a version=85
kernel name=_Z3fc2PKf waits=yes always=yes triggers=no wait_count=2 parameters=3 ptx_line=20 line=25 | fc.cu
finding rule=read-before-wait level=warning line=123 column=5 parameter=1 count=2 | reads through 'w' | load it later | w
place line=30 column=12 | fc.cu | _Z6helperPKf
place line=44 column=3 | main.cu
"""

# The same line of a template in three kernels, one of them for two architectures as well.
MANY = """mock
image kind=ptx target=90
kernel name=_Z1aIiEvv waits=yes
finding rule=read-before-wait level=warning line=10 column=1 | reads early | move it
place line=7 column=2 | t.cuh
kernel name=_Z1aIfEvv waits=yes
finding rule=read-before-wait level=warning line=30 column=1 | reads early | move it
place line=7 column=2 | t.cuh
finding rule=write-before-wait level=warning line=31 column=1 | writes early | move it
place line=7 column=2 | t.cuh
image kind=ptx target=100
kernel name=_Z1aIfEvv waits=yes
finding rule=read-before-wait level=warning line=90 column=1 | reads early | move it
place line=7 column=2 | t.cuh
kernel name=plain waits=yes
finding rule=read-before-wait level=warning line=95 column=1 | reads early | move it
place line=7 column=2 | t.cuh
"""

LEVELS = """mock
image kind=ptx target=90
kernel name=k
finding rule=no-trigger level=note line=1 column=1 | a note
finding rule=read-before-wait level=warning line=2 column=1 | a warning
finding rule=compiled-out level=error line=3 column=1 | an error
"""


def of_level(level):
    return "mock\nimage\nkernel name=k\nfinding rule=no-wait level=%s line=1 column=1 | found\n" % level


class Case(tooltest.Case):
    def lint(self, *arguments, **options):
        return self.tool("lint", *arguments, **options)

    def names(self, text, mangled):
        """The text as it is in a build without a demangler."""
        if "demangled" in tooltest.without:
            for name, demangled in mangled.items():
                text = text.replace(demangled, name)
        return text


class Text(Case):
    def test_form(self):
        result = self.lint(self.file("fc.ptx", ONE))
        expected = self.names(
            "fc.cu:30:12: warning: reads through 'w' [read-before-wait]\n"
            "  in kernel 'fc2(float const*)', by 2 instructions\n"
            "  in 'helper(float const*)', inlined from main.cu:44:3\n"
            "  note: load it later\n"
            "1 warning\n",
            {"_Z3fc2PKf": "fc2(float const*)", "_Z6helperPKf": "helper(float const*)"},
        )
        self.assertEqual((result.stdout, result.stderr, result.returncode), (expected, "", 1))

    def test_without_line_information(self):
        path = self.file("k.ptx", LEVELS)
        result = self.lint("--level=note", path)
        self.assertIn("%s:2:1: warning: a warning [read-before-wait]\n" % path, result.stdout)
        self.assertIn("%s:3:1: error: an error [compiled-out]\n" % path, result.stdout)
        self.assertIn("1 error, 1 warning, 1 note\n", result.stdout)

    def test_without_any_line(self):
        text = "mock\nimage kind=sass | x(1.sm_90.cubin)\nkernel name=k\nfinding rule=no-wait level=warning | never waits\n"
        self.assertIn("x(1.sm_90.cubin): warning: never waits", self.lint(self.file("x", text)).stdout)

    def test_the_same_in_several_kernels_is_shown_once(self):
        result = self.lint(self.file("t.ptx", MANY))
        self.assertEqual(result.stdout.count("t.cuh:7:2: warning: reads early"), 1)
        self.assertIn("and 2 more\n", result.stdout)  # three kernels, one of them twice
        self.assertEqual(result.stdout.count("t.cuh:7:2: warning: writes early"), 1)
        self.assertIn("2 warnings\n", result.stdout)

    def test_the_same_in_several_inputs_is_shown_once(self):
        result = self.lint(self.file("a.ptx", ONE), self.file("b.ptx", ONE.replace("_Z3fc2PKf", "other")))
        self.assertEqual(result.stdout.count("reads through 'w'"), 1)
        self.assertIn(" and 1 more, ", result.stdout)

    FINDING = "finding rule=%s level=%s line=9 parameter=%d offset=%d | %s\nplace line=%d column=%d | %s\n"

    def looks(self, *looks):
        return self.lint(self.file("k.ptx", "mock\nimage\nkernel name=k\n" + "".join(self.FINDING % look for look in looks)))

    def test_what_differs_is_shown_each(self):
        result = self.looks(
            ("no-wait", "warning", 0, -1, "m", 7, 2, "t.cuh"),
            ("no-trigger", "warning", 0, -1, "m", 7, 2, "t.cuh"),
            ("no-wait", "warning", 0, -1, "m", 7, 2, "u.cuh"),
            ("no-wait", "warning", 0, -1, "m", 8, 2, "t.cuh"),
            ("no-wait", "warning", 1, 0, "m", 7, 2, "t.cuh"),
            ("no-wait", "warning", 0, -1, "in 'a'", 7, 2, "t.cuh"),
            ("no-wait", "warning", 0, -1, "in 'b'", 7, 2, "t.cuh"),
            ("read-before-wait", "warning", 1, -1, "r", 7, 2, "t.cuh"),
            ("write-before-wait", "warning", 1, -1, "w", 7, 2, "t.cuh"),
        )
        self.assertIn("9 warnings\n", result.stdout)

    def test_states_of_one_line_and_parameter_are_one_finding_of_the_worst_level(self):
        result = self.looks(
            ("partial-wait", "note", 1, 0, "some blocks read", 7, 2, "t.cuh"),
            ("partial-wait", "error", 1, 0, "some threads read", 7, 3, "t.cuh"),
            ("read-before-wait", "warning", 1, 0, "reads", 7, 2, "t.cuh"),
        )
        self.assertIn("t.cuh:7:3: error: some threads read [partial-wait]\n  in kernel 'k', by 3 instructions\n", result.stdout)
        self.assertIn("1 error\n", result.stdout)

    def test_suppressed_findings_do_not_hide_others(self):
        result = self.looks(
            ("no-wait", "error", 1, 0, "m | - | - | because", 7, 2, "t.cuh"),
            ("no-wait", "warning", 1, 0, "m", 7, 2, "t.cuh"),
        )
        self.assertIn("1 warning, 1 suppressed\n", result.stdout)

    def test_instances_are_counted(self):
        names = {"_Z1aIiEvv": "a<int>()", "_Z1aIfEvv": "a<float>()"}
        text = MANY.replace("plain", "_Z1aIdEvv")
        result = self.lint(self.file("t.ptx", text)).stdout
        self.assertIn("in 3 instances of 'a'" if "demangled" not in tooltest.without else "in kernel '_Z1aIiEvv' and 2 more", result)
        self.assertIn(self.names("in kernel 'void a<float>()'\n", {k: "void " + v for k, v in names.items()}), result)

    def test_pointers_in_one_parameter_are_listed(self):
        result = self.looks(*[("no-wait", "warning", 1, offset, "m", 7, 2, "t.cuh") for offset in (8, -1, 32, 16, 32)]).stdout
        self.assertEqual(result, "t.cuh:7:2: warning: m [no-wait]\n  in kernel 'k', by 5 instructions\n"
                         "  also through the pointers at bytes 16 and 32\n1 warning\n")
        result = self.looks(*[("no-wait", "warning", 1, offset, "m", 7, 2, "t.cuh") for offset in range(0, 96, 8)]).stdout
        self.assertIn("also through the pointers at bytes 8, 16, 24, 32, 40, 48, 56, 64 and 3 more\n", result)

    def test_the_same_advice_is_given_once_in_a_row(self):
        text = "mock\nimage\nkernel name=k\n"
        for line, advice in ((1, "a"), (2, "a"), (3, "b"), (4, "a")):
            text += "finding rule=no-wait level=warning line=%d | m | %s\nplace line=%d | k.cu\n" % (line, advice, line)
        result = self.lint(self.file("a.ptx", text)).stdout
        self.assertEqual([line for line in result.splitlines() if "note:" in line], ["  note: a", "  note: b", "  note: a"])

    def test_without_lines_a_kernel_and_parameter_are_one(self):
        finding = "finding rule=no-wait level=warning line=%d parameter=1 | m\n"
        path = self.file("a.ptx", "mock\nimage | a.ptx\nkernel name=a\n" + finding % 9 + finding % 12 + "kernel name=b\n" + finding % 20)
        result = self.lint(path).stdout
        self.assertIn("a.ptx:9: warning: m [no-wait]\n  in kernel 'a', by 2 instructions\n  at a.ptx:9, 12\n", result)
        self.assertIn("a.ptx:20: warning: m [no-wait]\n  in kernel 'b'\n", result)
        self.assertEqual(result.count("compile with -lineinfo"), 1)
        self.assertNotIn("-lineinfo", self.lint(self.file("fc.ptx", ONE)).stdout)

    CHAIN = ("mock\nimage\nkernel name=k\nfinding rule=no-wait level=warning line=9 place=%d | m\n"
             "place line=3 column=4 | deep.hpp | f\nplace line=5 | middle.cuh | g\nplace line=7 | own.cu | h\nplace line=9 | main.cu\n")

    def test_the_place_that_the_library_chose_comes_first(self):
        result = self.lint(self.file("a.ptx", self.CHAIN % 2)).stdout
        self.assertEqual(
            result,
            "own.cu:7: warning: m [no-wait]\n  in kernel 'k'\n  at deep.hpp:3:4, in 'f'\n  at middle.cuh:5, in 'g'\n"
            "  in 'h', inlined from main.cu:9\n1 warning\n",
        )
        self.assertIn("deep.hpp:3:4: warning", self.lint(self.file("a.ptx", self.CHAIN % 9)).stdout)

    def test_several_lines_of_what_is_inlined_are_listed(self):
        text = "mock\nimage\nkernel name=k\n"
        for line in range(20):
            text += ("finding rule=no-wait level=warning line=%d place=1 | m\nplace line=%d | deep.hpp | f\nplace line=7 | own.cu\n"
                     % (line, 100 + line))
        result = self.lint(self.file("a.ptx", text)).stdout
        self.assertIn("own.cu:7: warning: m [no-wait]\n  in kernel 'k', by 20 instructions\n"
                      "  at deep.hpp:100, 101, 102, 103, 104, 105 and 14 more lines\n1 warning\n", result)

    def test_of_a_long_chain_only_the_end_is_shown(self):
        text = "mock\nimage\nkernel name=k\nfinding rule=no-wait level=warning line=9 place=15 | m\n"
        text += "".join("place line=%d | %s | f%d\n" % (line, "-" if line == 8 else "a.cu", line) for line in range(16))
        result = self.lint(self.file("a.ptx", text)).stdout
        self.assertEqual(result.split("\n")[2:-2], ["  at a.cu, in 'f0', through 14 more"])

    LONG = "_Z1fI1aI1bIiiiiiiiiiiEiiiiiiiiiES1_IiiiiiiiiiiiiiiiEEvv"

    def test_long_names_are_shortened_from_the_inside(self):
        if "demangled" in tooltest.without:
            self.skipTest("names are not demangled in this build")
        text = of_level("warning").replace("name=k", "name=" + self.LONG)
        result = self.lint(self.file("a.ptx", text)).stdout
        name = result.split("in kernel '")[1].split("'")[0]
        self.assertIn("...", name)
        self.assertLessEqual(len(name), 80)

    def test_a_line_of_ptx_is_not_the_same_in_another_input(self):
        result = self.lint(self.file("a.ptx", LEVELS), self.file("b.ptx", LEVELS))
        self.assertIn("2 errors, 2 warnings, 2 notes not shown", result.stdout)

    def test_level_hides_and_says_so(self):
        path = self.file("k.ptx", LEVELS)
        result = self.lint(path)
        self.assertNotIn("a note [", result.stdout)
        self.assertIn("1 error, 1 warning, 1 note not shown (--level=note shows them)\n", result.stdout)
        result = self.lint("--level", "error", path)
        self.assertNotIn("a warning [", result.stdout)
        self.assertIn("1 error, 1 warning not shown, 1 note not shown (", result.stdout)

    def test_nothing_is_said_of_nothing(self):
        result = self.lint(self.file("k.ptx", "mock\nimage\nkernel name=k waits=yes\n"))
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("", "", 0))

    def test_terminals_are_not_steered(self):
        text = of_level("warning").replace("found", "fo\033[2Jund\a")
        self.assertIn("fo\\x1b[2Jund\\x07", self.lint(self.file("k.ptx", text)).stdout)

    def test_colours_on_terminals_only(self):
        path = self.file("k.ptx", of_level("warning"))
        self.assertNotIn("\033", self.lint(path).stdout)
        self.assertIn("\033[1;35mwarning:", self.on_terminal(path, TERM="xterm"))
        self.assertNotIn("\033", self.on_terminal(path, TERM="xterm", NO_COLOR="1"))
        self.assertNotIn("\033", self.on_terminal(path, TERM="dumb"))

    def on_terminal(self, path, **environment):
        ours, theirs = pty.openpty()
        environment = {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **environment}
        subprocess.run([tooltest.program, "lint", path], stdout=theirs, env=environment, check=False)
        os.close(theirs)
        text = os.read(ours, 65536).decode()
        os.close(ours)
        return text

    def test_exit_codes(self):
        order = ["note", "warning", "error"]
        for level in order:
            path = self.file("k.ptx", of_level(level))
            for fail_on in order + ["never"]:
                fails = fail_on != "never" and order.index(level) >= order.index(fail_on)
                result = self.lint("--fail-on", fail_on, path)
                self.assertEqual(result.returncode, 1 if fails else 0, (level, fail_on))

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run(
                [tooltest.program, "lint", self.file("k.ptx", LEVELS)],
                stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            )
        self.assertEqual(result.returncode, 2)
        self.assertIn("pdltool lint: error: cannot write the report", result.stderr)


class Excerpts(Case):
    """The line of the source, and a caret under its column."""

    def show(self, source, line, column, *arguments):
        self.file("fc.cu", source)
        text = of_level("warning") + "place line=%d column=%d | fc.cu\n" % (line, column)
        lines = self.lint(*arguments, self.file("fc.ptx", text)).stdout.split("\n")
        self.assertTrue(lines[0].startswith("fc.cu:%d" % line))
        return lines[1 : lines.index("  in kernel 'k'")]

    def test_the_line_and_a_caret(self):
        self.assertEqual(self.show("a\n  x = y[i];\n", 2, 7), ["    2 |     x = y[i];", "      |         ^"])
        self.assertEqual(self.show("a\nb = c;", 2, 0), ["    2 |     b = c;"])
        self.assertEqual(self.show("x = 1;\r\n", 1, 6), ["    1 |     x = 1;", "      |          ^"])

    def test_tabs_and_wide_characters(self):
        self.assertEqual(self.show("\tx\t= y;\n", 1, 4), ["    1 |     x       = y;", "      |             ^"])
        self.assertEqual(self.show("/* \u00e9\u00e9 */ y;\n", 1, 12), ["    1 |     /* \u00e9\u00e9 */ y;", "      |              ^"])

    def test_long_lines_are_cut_around_the_caret(self):
        for column in (1, 90, 300, 598):
            line, caret = self.show("x" * (column - 1) + "Y" + "x" * (598 - column) + "\n", 1, column)
            self.assertLess(len(line), 115)
            self.assertEqual(line[caret.index("^")], "Y", column)
        self.assertEqual(self.show("x" * 5000 + "\n", 1, 1), [])

    def test_terminals_are_not_steered(self):
        line, caret = self.show("a\033[2J\u202e\x07 b;\n", 1, 11)
        self.assertEqual((line, caret.index("^")), ("    1 |     a?[2J?? b;", line.index("b")))
        self.show(b"a\x9b\xff b;\n", 1, 1)

    def test_what_cannot_be_read_is_not_shown(self):
        self.assertEqual(self.show("a;\n", 3, 1), [])
        self.assertEqual(self.show("a;\n", 1, 9), [])
        self.assertEqual(self.show("a;\n\n", 2, 0), [])
        self.assertEqual(self.show("a;\n", 1, 1, "--no-source"), [])
        os.remove(self.path("fc.cu"))
        os.mkfifo(self.path("pipe"))
        for name in ("missing.cu", "pipe", self.directory, "/dev/zero"):
            text = of_level("warning") + "place line=1 column=1 | %s\n" % name
            self.assertNotIn(" | ", self.lint(self.file("fc.ptx", text)).stdout)


class Suppressions(Case):
    def suppress(self, text, *arguments):
        return self.lint("--project", self.file("list", "suppress " + text), *arguments)

    def test_every_suppressed_kernel_by_itself(self):
        result = self.suppress("read-before-wait kernel=plain : fine\n", self.file("t.ptx", MANY))
        self.assertIn(" and 1 more\n" if "demangled" in tooltest.without else "in 2 instances of 'a'\n", result.stdout)
        self.assertIn("2 warnings, 1 suppressed\n", result.stdout)

    def test_used_in_any_input_is_used(self):
        other = self.file("other.ptx", of_level("warning"))
        result = self.suppress("read-before-wait : fine\n", "--fail-on=note", other, self.file("fc.ptx", ONE))
        self.assertNotIn("unused", result.stdout)

    def test_a_marker_in_two_inputs_is_one(self):
        marker = "marker used=%d | h.cuh:3 | no-wait | because\n"
        head = ONE.split("finding")[0]
        unused = self.file("a.ptx", head + marker % 0)
        result = self.lint(unused, self.file("b.ptx", head + marker % 0))
        self.assertEqual(result.stdout.count("h.cuh:3: warning: unused marker 'no-wait'"), 1)
        result = self.lint(unused, self.file("c.ptx", head + marker % 2))
        self.assertEqual(result.stdout, "")


class Inputs(Case):
    def test_an_error_in_ptx_is_told_as_compilers_do(self):
        path = self.file("bad.ptx", "mock\nfail status=INVALID_IMAGE line=3 column=7 | no such thing\n")
        result = self.lint(path, self.file("fc.ptx", ONE))
        self.assertIn("%s:3:7: error: no such thing\n" % path, result.stderr)
        self.assertIn("fc.cu:30:12", result.stdout)  # the others are reported all the same
        self.assertEqual(result.returncode, 2)

    def test_noise(self):
        path = self.file("noise", b"\x00\xff\x80" * 100)
        result = self.lint(path)
        self.assertEqual(result.stderr, path + ": error: neither PTX nor anything else\n")
        self.assertEqual(result.returncode, 2)

    def test_standard_input(self):
        result = self.lint("-", input=LEVELS)
        self.assertIn("<stdin>:2:1: warning", result.stdout)
        result = self.lint("-", input="noise")
        self.assertIn("<stdin>: error: neither", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_a_directory(self):
        os.makedirs(self.path("tree/sub"))
        self.file("tree/sub/b.ptx", LEVELS)
        self.file("tree/a.cubin", of_level("warning"))
        self.file("tree/program", "\177ELF\n" + of_level("error"))
        self.file("tree/library.a", "!<arch>\n" + of_level("error").replace("name=k", "name=in_archive"))
        self.file("tree/host.so.1", "\177ELF\n")  # no device code: nothing is said
        self.file("tree/notes.txt", "neither")
        self.file("tree/empty", "")
        os.symlink("..", self.path("tree/sub/loop"))
        os.symlink("a.cubin", self.path("tree/link.cubin"))
        result = self.tool("inspect", self.path("tree"))
        names = [os.path.relpath(name[:-1], self.path("tree")) for name in result.stdout.splitlines() if name.endswith(":")]
        self.assertEqual(names, ["a.cubin", "library.a", "program", "sub/b.ptx"])
        self.assertEqual(result.stderr, "")
        self.assertEqual(self.lint(self.path("tree") + "/").returncode, 1)

    def test_a_broken_file_in_a_directory(self):
        os.makedirs(self.path("tree"))
        self.file("tree/a.ptx", "broken")
        self.file("tree/b.ptx", ONE)
        result = self.lint(self.path("tree"))
        self.assertIn("tree/a.ptx: error: ", result.stderr)
        self.assertIn("fc.cu:30:12", result.stdout)
        self.assertEqual(result.returncode, 2)

    def test_an_empty_directory(self):
        os.makedirs(self.path("tree/sub"))
        self.file("tree/host", "\177ELF\n")
        result = self.lint(self.path("tree"))
        self.assertIn("tree: error: no file with device code in this directory\n", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_a_named_file_without_device_code(self):
        result = self.lint(self.file("host", "\177ELF\n"))
        self.assertIn("host: error: no device code in it\n", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_a_deep_directory(self):
        os.makedirs(self.path("/".join(["d"] * 80)))
        result = self.lint(self.directory)
        self.assertIn("too many directories in each other", result.stderr)
        self.assertEqual(result.returncode, 2)


UNREAD = """\177ELF
mock
image kind=ptx target=90 | p(1.compute_90.ptx)
kernel name=known waits=yes
image kind=%s target=%d | p(2) | it is compressed in an unknown format
%s"""


class Cuobjdump(Case):
    """Code that the library does not read, with a cuobjdump that is a script."""

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("tmp"))
        os.makedirs(self.path("bin"))
        self.environment = {
            "PATH": self.path("bin") + ":/usr/bin:/bin",
            "TMPDIR": self.path("tmp"),
            "LOG": self.path("log"),
        }

    def tearDown(self):
        self.assertEqual(os.listdir(self.path("tmp")), [])
        super().tearDown()

    def install(self, script):
        path = self.file("bin/cuobjdump", '#!/bin/sh\necho "$@" >> $LOG\n' + script)
        os.chmod(path, 0o755)

    def unpacks(self, files):
        self.install("".join("cat > %s <<'END'\n%sEND\n" % item for item in files.items()))

    def run_lint(self, kind="ptx", target=90, more="", **options):
        self.program = self.file("p", UNREAD % (kind, target, more))
        return self.lint(self.program, env=self.environment, **options)

    @tooltest.needs_failed_starts
    def test_there_is_none(self):
        if any(os.path.exists(d + "/cuobjdump") for d in ("/usr/bin", "/bin")):
            self.skipTest("there is one")
        result = self.run_lint()
        self.assertIn("p(2): error: it is compressed in an unknown format; there is no cuobjdump", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_ptx_is_unpacked_and_read(self):
        self.unpacks({"x.1.sm_90.ptx": ONE})
        result = self.run_lint()
        self.assertIn("fc.cu:30:12: warning", result.stdout)
        self.assertIn("p(2): note: it is compressed in an unknown format; read with cuobjdump\n", result.stderr)
        self.assertEqual(result.returncode, 1)
        with open(self.environment["LOG"], encoding="utf-8") as log:
            self.assertEqual(log.read(), "-xptx all %s\n" % self.program)

    def test_what_it_prints_is_dropped(self):
        for end in ("", "exit 3\n"):
            self.unpacks({"x.ptx": ONE})
            with open(self.path("bin/cuobjdump"), "a", encoding="utf-8") as script:
                script.write("echo of its own; echo of its own >&2\n" + end)
            result = self.run_lint()
            self.assertNotIn("of its own", result.stdout + result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_what_holds_for_many_images_is_said_once(self):
        self.install("exit 1\n")
        result = self.run_lint(kind="lto", more="image kind=lto | p(3) | it is compressed in an unknown format\n" * 2000)
        self.assertEqual(result.stderr, "p(2): note: it is compressed in an unknown format; the same holds for 2,000 more images\n")

    def test_a_cubin_is_unpacked(self):
        self.unpacks({"x.1.sm_90.cubin": "mock\nimage kind=sass\nkernel name=s waits=no\n"})
        result = self.run_lint(kind="sass")
        self.assertEqual((result.returncode, result.stdout), (0, "not checked: 1 kernel without PTX\n"))
        with open(self.environment["LOG"], encoding="utf-8") as log:
            self.assertIn("-xelf all", log.read())

    def test_it_runs_once_a_kind(self):
        self.unpacks({"x.ptx": ONE})
        self.run_lint(more="image kind=ptx | p(3) | it is damaged\n")
        with open(self.environment["LOG"], encoding="utf-8") as log:
            self.assertEqual(len(log.readlines()), 1)

    def test_what_was_read_before_is_not_read_twice(self):
        self.unpacks({"a.ptx": "mock\nimage kind=ptx target=90\nkernel name=known\nfinding rule=no-wait level=error line=1 | twice\n",
                      "b.ptx": "mock\nimage kind=ptx target=80\nkernel name=known\nfinding rule=no-wait level=error line=1 | other target\n"})
        result = self.run_lint()
        self.assertNotIn("twice", result.stdout)
        self.assertIn("other target", result.stdout)

    def test_it_fails(self):
        self.install("exit 3\n")
        result = self.run_lint()
        self.assertIn("cuobjdump failed with exit code 3", result.stderr)
        self.assertEqual(result.returncode, 2)
        self.install("kill -9 $$\n")
        self.assertIn("cuobjdump was ended by signal 9", self.run_lint().stderr)

    def test_it_unpacks_nothing(self):
        self.install("true\n")
        result = self.run_lint()
        self.assertIn("cuobjdump unpacked nothing", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_what_it_unpacks_is_no_good(self):
        self.unpacks({"x.ptx": "broken\n"})
        result = self.run_lint()
        self.assertIn("cuobjdump unpacked x.ptx, which cannot be read either: neither PTX", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_no_code_at_all_could_be_read(self):
        self.unpacks({"x.ptx": ONE})
        path = self.file("p", "\177ELF\nmock\nfail status=INVALID_IMAGE | none of its images can be read\n")
        result = self.lint(path, env=self.environment)
        self.assertIn("p: note: none of its images can be read; read with cuobjdump", result.stderr)
        self.assertIn("fc.cu:30:12", result.stdout)
        self.assertEqual(result.returncode, 1)
        self.install("exit 1\n")
        result = self.lint(path, env=self.environment)
        self.assertIn("p: error: none of its images can be read; cuobjdump failed", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_standard_input_is_unpacked_too(self):
        self.install('grep -q "known" "$3" && cat > x.ptx <<END\n%sEND\n' % ONE)
        result = self.tool("inspect", "-", env=self.environment, input=UNREAD % ("ptx", 90, ""))
        names = [line for line in result.stdout.splitlines() if line.endswith(":")]
        self.assertEqual(names, ["<stdin>:", "<stdin>(x.ptx):"])
        self.assertEqual(len(result.stderr.splitlines()), 1)
        nothing = "\177ELF\nmock\nfail status=INVALID_IMAGE | none of its images can be read; not known\n"
        result = self.lint("-", env=self.environment, input=nothing)
        self.assertIn("fc.cu:30:12", result.stdout)
        self.assertEqual(result.returncode, 1)

    def test_it_is_not_run_for_what_it_cannot_help(self):
        self.install("exit 1\n")
        # Intermediate code, and a cubin that was unpacked but is for an unknown architecture.
        result = self.run_lint(kind="lto")
        self.assertIn("p(2): note: it is compressed", result.stderr)
        self.assertEqual(result.returncode, 0)
        result = self.run_lint(kind="sass", target=200, more="kernel name=known\n")
        self.assertIn("; other code of its kernels was read", result.stderr)
        self.assertEqual(result.returncode, 0)
        result = self.run_lint(kind="sass", target=200, more="kernel name=known\nkernel name=other\n")
        self.assertIn("p(2): error: ", result.stderr)
        self.assertEqual(result.returncode, 2)
        self.assertFalse(os.path.exists(self.environment["LOG"]))


class Unchecked(Case):
    def test_kernels_without_ptx_are_counted(self):
        text = "mock\nimage kind=sass\nkernel name=a\nkernel name=b\nimage kind=sass target=100\nkernel name=b\n"
        ptx = "mock\nimage kind=ptx\nkernel name=%s\n"
        result = self.lint(self.file("p", text))
        note = "not checked: 2 kernels without PTX\n"
        self.assertEqual((result.stdout, result.stderr, result.returncode), (note, "", 2))
        self.assertEqual(self.lint("--require-checked", self.path("p")).returncode, 1)
        result = self.lint(self.path("p"), self.file("a.ptx", ptx % "a"))
        self.assertEqual(result.stdout, "not checked: 1 kernel without PTX\n")
        result = self.lint(self.path("p"), self.path("a.ptx"), self.file("b.ptx", ptx % "b"))
        self.assertEqual(result.stdout, "")
        both = self.lint("--require-checked", self.path("p"), self.path("a.ptx"), self.path("b.ptx"))
        self.assertEqual(both.returncode, 0)

    def test_what_was_not_checked_comes_last(self):
        text = LEVELS + "image kind=sass target=75\nkernel name=old\nimage kind=lto | lto | it is intermediate\n"
        result = self.lint(self.file("p", text))
        self.assertTrue(
            result.stdout.endswith("\nnot checked: 1 kernel for architectures older than sm_90, 1 image of intermediate code\n")
        )

    def test_what_the_machine_code_does_is_a_note_of_the_finding(self):
        text = "mock\nimage\nkernel name=k\nfinding rule=no-wait level=warning line=9 | x | y | - | - | it moved it\n"
        self.assertIn("\n  note: it moved it\n  note: y\n", self.lint(self.file("k.ptx", text)).stdout)


class Inspect(Case):
    TEXT = (
        "mock\nimage kind=ptx target=90 suffix=a version=78\n"
        "kernel name=k waits=yes triggers=no wait_count=3\n"
        "image kind=sass target=90\nkernel name=k waits=unknown triggers=yes registers=128 shared=49152\n"
    )

    def test_a_line_a_kernel_and_architecture(self):
        result = self.tool("inspect", self.file("p", self.TEXT))
        rows = [line.split() for line in result.stdout.splitlines()]
        self.assertEqual(rows[0], "target kind PTX waits triggers registers shared kernel".split())
        self.assertEqual(rows[1], "compute_90a PTX 7.8 yes, 3 no - - k".split())
        self.assertEqual(rows[2], "sm_90 SASS - unknown yes 128 49,152 k".split())
        self.assertEqual(result.stdout.splitlines()[-1], "2 kernels: 1 waits, 1 triggers, 1 unknown")
        self.assertEqual((result.stderr, result.returncode), ("", 0))

    BOUNDS = (
        "mock\nimage kind=ptx target=90\n"
        "kernel name=a threads=256 per_sm=2 most_cluster=4 counts_clusters=no\n"
        "kernel name=b threads=128 block=128x1x1 cluster=2x1x1 counts_clusters=yes\n"
        "kernel name=c set_cluster=1\nkernel name=d cluster=4x2x1 set_cluster=1\nkernel name=e\n"
    )

    def test_bounds_have_a_column(self):
        result = self.tool("inspect", self.file("p", self.BOUNDS))
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0].split()[-3:], ["shared", "bounds", "kernel"])
        self.assertEqual(
            [line[lines[0].index("bounds"):].split("  ")[0] for line in lines[1:6]],
            ["threads <= 256, 2 per SM, cluster <= 4", "block 128x1x1, cluster 2x1x1, grid of clusters",
             "cluster set at launch", "cluster 4x2x1", "-"],
        )
        result = self.tool("inspect", "--kernel", "e", self.file("p", self.BOUNDS))
        self.assertNotIn("bounds", result.stdout)

    def test_several_files_are_named(self):
        empty = self.file("empty", "mock\nimage\n")
        result = self.tool("inspect", self.file("p", self.TEXT), empty, self.path("missing"))
        self.assertIn("/p:\n", result.stdout)
        self.assertIn("/empty: no kernels\n", result.stdout)
        self.assertIn("missing: error: ", result.stderr)
        self.assertEqual(result.returncode, 2)

    def test_only_facts_are_asked_for(self):
        result = self.lint("--level=note", self.file("p", "mock\nimage\nkernel name=k\noptions\n"))
        self.assertIn("flags 0", result.stdout)
        result = self.tool("inspect", self.file("p", "mock\nimage\nkernel name=k\noptions\n"))
        self.assertIn("facts_only", result.stdout)

    def test_filters_choose_kernels(self):
        path = self.file(
            "p",
            "mock\nimage kind=sass target=90 suffix=a\nkernel name=_Z4gemvIfEvPT_ waits=yes triggers=no\n"
            "kernel name=copy waits=no triggers=no\nimage kind=ptx target=100\nkernel name=copy waits=no triggers=yes\n",
        )
        for arguments, count, waiting, triggering in (
            ([], "3 kernels", 1, 1),
            (["--pdl"], "2 of 3 kernels", 1, 1),
            (["--kind", "sass"], "2 of 3 kernels", 1, 0),
            (["--arch", "sm_90"], "2 of 3 kernels", 1, 0),
            (["--arch=90a", "--arch", "compute_100"], "3 kernels", 1, 1),
            (["--arch", "10.0"], "1 of 3 kernels", 0, 1),
            (["-k", "c?py"], "2 of 3 kernels", 0, 1),
            (["--kernel=_Z4gemv*"], "1 of 3 kernels", 1, 0),
            (["--kernel", "copy", "--kind", "ptx"], "1 of 3 kernels", 0, 1),
            (["--arch", "90f"], "0 of 3 kernels", 0, 0),
        ):
            result = self.tool("inspect", *arguments, path)
            lines = result.stdout.splitlines()
            self.assertEqual((result.stderr, result.returncode), ("", 0 if waiting + triggering > 0 else 1), arguments)
            waits, triggers = ["%d %s" % (n, word + "s" * (n == 1)) for n, word in ((waiting, "wait"), (triggering, "trigger"))]
            self.assertEqual(lines[-1], "%s: %s, %s" % (count, waits, triggers))
            self.assertEqual(max(0, len(lines) - 3), int(count[0]))  # heading, kernels, blank line, total
        if "demangled" not in tooltest.without:
            self.assertIn("1 of 3 kernels", self.tool("inspect", "-k", "gemv", path).stdout)
            self.assertIn("1 of 3 kernels", self.tool("inspect", "-k", "*gemv<float>*", path).stdout)
        if "json" not in tooltest.without:
            kernels = json.loads(self.tool("inspect", "--json", "--pdl", path).stdout)["kernels"]
            self.assertEqual([(kernel["name"], kernel["image"]) for kernel in kernels], [("_Z4gemvIfEvPT_", 0), ("copy", 1)])

    def test_a_summary_counts_kernels(self):
        result = self.tool("inspect", "--summary", self.file("p", self.TEXT), self.file("q", self.TEXT))
        self.assertEqual(
            [line.split() for line in result.stdout.splitlines()],
            [
                "target kind kernels wait trigger neither unknown".split(),
                "sm_90 SASS 2 0 2 0 2".split(),
                "compute_90a PTX 2 2 0 0 0".split(),
                [],
                "4 kernels: 2 wait, 2 trigger, 2 unknown".split(),
            ],
        )

    def test_filters_that_make_no_sense(self):
        path = self.file("p", self.TEXT)
        for arguments, message in (
            (["--arch", "sm_"], "--arch takes an architecture such as 90 or sm_90a, not 'sm_'"),
            (["--arch", "90x"], "not '90x'"),
            (["--kind", "cubin"], "--kind takes sass or ptx, not 'cubin'"),
            (["--kernels", "x"], "unknown option '--kernels'; did you mean '--kernel'?"),
        ):
            result = self.tool("inspect", *arguments, path)
            self.assertEqual((result.stdout, result.returncode), ("", 2))
            self.assertIn(message, result.stderr)

    def test_json(self):
        if "json" in tooltest.without:
            self.skipTest("no JSON in this build")
        result = json.loads(self.tool("inspect", "--json", self.file("p", self.TEXT)).stdout)
        self.assertEqual(sorted(result), ["images", "inputs", "kernels", "tool", "version"])
        self.assertEqual([i["target"] for i in result["images"]], ["compute_90a", "sm_90"])
        self.assertEqual([i["ptx_version"] for i in result["images"]], ["7.8", None])
        self.assertEqual([k["registers"] for k in result["kernels"]], [None, 128])
        self.assertEqual([k["image"] for k in result["kernels"]], [0, 1])
        self.assertEqual([k["waits"] for k in result["kernels"]], ["yes", "unknown"])

    def test_bounds_in_json(self):
        if "json" in tooltest.without:
            self.skipTest("no JSON in this build")
        result = json.loads(self.tool("inspect", "--json", self.file("p", self.BOUNDS)).stdout)
        none = {"threads": None, "block": None, "per_sm": None, "cluster": None, "cluster_must_be_set": False,
                "max_cluster": None, "blocks_are_clusters": "unknown"}
        self.assertEqual([k["bounds"] for k in result["kernels"]], [
            {**none, "threads": 256, "per_sm": 2, "max_cluster": 4, "blocks_are_clusters": "no"},
            {**none, "threads": 128, "block": [128, 1, 1], "cluster": [2, 1, 1], "blocks_are_clusters": "yes"},
            {**none, "cluster_must_be_set": True},
            {**none, "cluster": [4, 2, 1], "cluster_must_be_set": True},
            none,
        ])


class CommandLine(Case):
    def test_what_is_wrong(self):
        path = self.file("fc.ptx", ONE)
        for arguments, message in (
            (["lint"], "pdltool lint: error: no input; see 'pdltool lint --help'\n"),
            (["inspect"], "pdltool inspect: error: no input; see 'pdltool inspect --help'\n"),
            (["lint", "--nope", path], "unknown option '--nope'"),
            (["inspect", "--nope", path], "unknown option '--nope'"),
            (["lint", "--level=never", path], "--level takes note, warning or error, not 'never'"),
            (["lint", "--fail-on=all", path], "--fail-on takes note, warning, error or never, not 'all'"),
            (["lint", "--project"], "'--project' needs a value; see 'pdltool lint --help'"),
        ):
            result = self.tool(*arguments)
            self.assertEqual((result.stdout, result.returncode), ("", 2), arguments)
            self.assertIn(message, result.stderr)

    def test_forms_exclude_each_other(self):
        result = self.lint("--sarif", "--json", self.file("fc.ptx", ONE))
        self.assertEqual(result.returncode, 2)
        if "json" not in tooltest.without:
            self.assertIn("--sarif and --json exclude each other", result.stderr)

    def test_forms_that_are_not_built_are_refused(self):
        if "json" not in tooltest.without:
            self.skipTest("all are built")
        for form in ("--json", "--sarif"):
            result = self.lint(form, self.file("fc.ptx", ONE))
            self.assertIn("needs a pdltool that was built with the library jansson", result.stderr)
            self.assertEqual(result.returncode, 2)

    def test_options_reach_the_library(self):
        path = self.file("k.ptx", "mock\nimage\nkernel name=k\noptions\n")
        result = self.lint(
            "--level=note", "--constant-param=w", "--constant-param", "k*:2", "--overlapped=fc*",
            "--no-source", path,
        )
        self.assertIn("flags 2, constant w, constant k*:2, overlapped fc*", result.stdout)
        log = self.file("log", "libpdl[7]: device 0, kernel a: overlaps\nlibpdl[7]: device 0, kernel b: does not overlap: x\n")
        result = self.lint("--level=note", "--project", self.file("p", "third-party v/\n"), f"--launches={log}", path)
        self.assertIn(
            "flags 0, third-party v, third-party v/*, third-party */v, third-party */v/*, launched-overlapped a, launched-plain b",
            result.stdout,
        )


class Json(Case):
    def test_what_was_not_checked_and_what_machine_code_does(self):
        text = LEVELS + "image kind=sass target=75\nkernel name=old\nimage kind=lto | lto | it is intermediate\n"
        found = json.loads(self.lint("--json", self.file("p", text)).stdout)
        self.assertEqual(found["unchecked"], {"without_ptx": 0, "before_sm_90": 1, "lto_images": 1})
        self.assertEqual([kernel["unchecked"] is None for kernel in found["kernels"]], [True, False])
        text = "mock\nimage\nkernel name=k\nfinding rule=no-wait level=warning line=9 | x | y | - | - | moved\n"
        found = json.loads(self.lint("--json", self.file("k.ptx", text)).stdout)
        self.assertEqual(found["findings"][0]["machine"], "moved")

    def test_keys(self):
        path = self.file("fc.ptx", ONE)
        result = json.loads(self.lint("--json", path, self.path("missing")).stdout)
        self.assertEqual(
            sorted(result),
            ["exit_code", "findings", "images", "inputs", "kernels", "suppressions", "tool", "unchecked",
             "version"],
        )
        self.assertEqual(result["version"], 1)
        self.assertEqual(result["exit_code"], 2)
        self.assertEqual(result["inputs"][0], {"name": path, "error": None, "line": None, "column": None})
        self.assertEqual(result["inputs"][1]["error"], "No such file or directory")
        demangled = self.names("fc2(float const*)", {"_Z3fc2PKf": "fc2(float const*)"})
        self.assertEqual(
            result["findings"],
            [{
                "rule": "read-before-wait", "level": "warning",
                "message": "reads through 'w'", "advice": "load it later", "machine": None,
                "kernel": "_Z3fc2PKf", "demangled": demangled, "kernel_index": 0, "target": "compute_90a",
                "file": "fc.cu", "line": 30, "column": 12,
                "places": [
                    {"file": "fc.cu", "line": 30, "column": 12, "function": "_Z6helperPKf"},
                    {"file": "main.cu", "line": 44, "column": 3, "function": None},
                ],
                "ptx": {"origin": path, "line": 123, "column": 5},
                "parameter": {"number": 1, "name": "w", "offset": None}, "instructions": 2, "suppressed": None,
                "place": 0, "fingerprint": result["findings"][0]["fingerprint"],
            }],
        )
        self.assertRegex(result["findings"][0]["fingerprint"], "^[0-9a-f]{16}:1$")

    def test_the_file_is_that_of_the_place_shown_first(self):
        result = json.loads(self.lint("--json", self.file("a.ptx", Text.CHAIN % 2)).stdout)["findings"][0]
        self.assertEqual((result["file"], result["line"], result["place"], len(result["places"])), ("own.cu", 7, 2, 4))
        result = json.loads(self.lint("--json", "--level=note", self.file("k.ptx", LEVELS)).stdout)["findings"][0]
        self.assertEqual((result["file"], result["place"]), (None, None))

    def test_findings_of_one_item_have_its_fingerprint(self):
        result = json.loads(self.lint("--json", self.file("t.ptx", MANY)).stdout)["findings"]
        self.assertEqual([result[0]["fingerprint"] == f["fingerprint"] for f in result], [True, True, False, True, True])

    def test_every_kernel_has_its_own_finding(self):
        result = json.loads(self.lint("--json", self.file("t.ptx", MANY), self.file("fc.ptx", ONE)).stdout)
        self.assertEqual([f["kernel_index"] for f in result["findings"]], [0, 1, 1, 2, 3, 4])
        self.assertEqual([k["image"] for k in result["kernels"]], [0, 0, 1, 1, 2])
        self.assertEqual([i["input"] for i in result["images"]], [0, 0, 1])
        for finding in result["findings"]:
            self.assertEqual(result["kernels"][finding["kernel_index"]]["name"], finding["kernel"])

    def test_level_and_suppressions(self):
        path = self.file("k.ptx", LEVELS + "marker used=1 | k.cu:3 | no-wait | said so\n")
        result = json.loads(self.lint("--json", "--project", self.file("s", "suppress compiled-out : old\nsuppress no-wait: none\n"), path).stdout)
        self.assertEqual([f["rule"] for f in result["findings"]], ["read-before-wait", "compiled-out"])
        self.assertEqual([f["suppressed"] for f in result["findings"]], [None, "old"])
        self.assertEqual([f["file"] for f in result["findings"]], [None, None])
        self.assertEqual([s["kind"] for s in result["suppressions"]], ["marker", "line", "line"])
        self.assertEqual([s["used"] for s in result["suppressions"]], [1, 1, 0])
        self.assertEqual([s["unused"] for s in result["suppressions"]], [False, False, True])

    def test_names_that_are_no_utf_8(self):
        path = os.fsencode(self.directory) + b"/caf\xe9.ptx"
        with open(path, "wb") as file:
            file.write(ONE.encode())
        result = json.loads(self.lint("--json", path).stdout)
        self.assertTrue(result["inputs"][0]["name"].endswith("/caf\ufffd.ptx"))


class Sarif(Case):
    def test_what_was_not_checked_is_a_notification(self):
        text = "mock\nimage kind=sass target=75\nkernel name=old\n"
        run = json.loads(self.lint("--sarif", self.file("p", text)).stdout)["runs"][0]
        notes = run["invocations"][0]["toolExecutionNotifications"]
        self.assertEqual(notes[-1]["message"]["text"], "not checked: 1 kernel for architectures older than sm_90")

    def sarif(self, *arguments):
        result = self.lint("--sarif", *arguments)
        document = json.loads(result.stdout)
        for schema in tooltest.schemas:
            import jsonschema  # pylint: disable=import-outside-toplevel

            with open(schema, encoding="utf-8") as file:
                jsonschema.validate(document, json.load(file))
        return document["runs"][0]

    def test_a_schema_was_there(self):
        if not tooltest.schemas:
            self.skipTest("Python's jsonschema was not found")

    def test_results(self):
        run = self.sarif("--level=note", self.file("t.ptx", MANY), self.file("fc.ptx", ONE), self.file("k.ptx", LEVELS))
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
        self.assertEqual([r["level"] for r in run["results"]], ["warning"] * 3 + ["note", "warning", "error"])
        kernels = [k["decoratedName"] for k in run["results"][0]["locations"][0]["logicalLocations"]]
        self.assertEqual(kernels, ["_Z1aIiEvv", "_Z1aIfEvv", "plain"])
        inlined = run["results"][2]["relatedLocations"][0]
        self.assertEqual(inlined["physicalLocation"]["artifactLocation"]["uri"], "main.cu")
        self.assertEqual(inlined["physicalLocation"]["region"], {"startLine": 44, "startColumn": 3})
        self.assertIn("inlined here", inlined["message"]["text"])

    def test_paths_become_uris(self):
        path = self.file("a b%c:d.ptx", of_level("warning"))
        where = self.sarif(path)["results"][0]["locations"][0]["physicalLocation"]
        self.assertEqual(where["artifactLocation"]["uri"], "file://" + self.directory + "/a%20b%25c%3Ad.ptx")
        self.assertEqual(where["region"], {"startLine": 1, "startColumn": 1})

    def test_a_line_of_ptx_inside_of_a_program_is_none_of_the_program(self):
        path = self.file("p", of_level("warning").replace("image", "image | p(1.compute_90.ptx)"))
        where = self.sarif(path)["results"][0]["locations"][0]["physicalLocation"]
        self.assertEqual(where, {"artifactLocation": {"uri": "file://" + path}})

    def test_suppressions(self):
        text = of_level("warning") + "finding rule=no-wait level=error line=2 | marked | - | - | said so\n"
        run = self.sarif("--project", self.file("s", "suppress no-wait : written down\n"), self.file("k.ptx", text))
        self.assertEqual(
            [r["suppressions"] for r in run["results"]],
            [
                [{"kind": "external", "status": "accepted", "justification": "written down"}],
                [{"kind": "inSource", "status": "accepted", "justification": "said so"}],
            ],
        )
        self.assertEqual(run["invocations"][0]["exitCode"], 0)

    def test_what_could_not_be_read(self):
        path = self.file("bad.ptx", "mock\nfail status=INVALID_IMAGE line=3 column=7 | no such thing\n")
        invocation = self.sarif(path)["invocations"][0]
        self.assertEqual((invocation["executionSuccessful"], invocation["exitCode"]), (False, 2))
        (notification,) = invocation["toolExecutionNotifications"]
        self.assertEqual(notification["message"]["text"], "no such thing")
        self.assertEqual(
            notification["locations"][0]["physicalLocation"]["region"], {"startLine": 3, "startColumn": 7}
        )

    def test_unused_suppressions(self):
        invocation = self.sarif("--project", self.file("s", "suppress no-wait : gone\n"), self.file("fc.ptx", ONE))
        (notification,) = invocation["invocations"][0]["toolExecutionNotifications"]
        self.assertIn("unused line 'no-wait'", notification["message"]["text"])

    def test_fingerprints_stay_when_lines_move(self):
        def prints(text):
            results = self.sarif(self.file("fc.ptx", text))["results"]
            return [r["partialFingerprints"]["pdlLint/v2"] for r in results]

        moved = ONE.replace("line=30", "line=31").replace("line=123", "line=140")
        self.assertEqual(prints(ONE), prints(moved))
        self.assertEqual(prints(ONE), prints(ONE.replace("| fc.cu", "| /elsewhere/fc.cu")))
        self.assertNotEqual(prints(ONE), prints(ONE.replace("_Z6helper", "_Z6hinder")))
        self.assertNotEqual(prints(ONE), prints(ONE.replace("read-before", "write-before")))
        self.assertNotEqual(prints(ONE), prints(ONE.replace("| w\n", "| x\n")))
        two = prints(ONE + ONE.split("\n", 3)[3].replace("line=30", "line=31"))
        self.assertEqual(len(set(two)), 2)

    def test_fingerprints_tell_lines_apart_by_what_is_in_them(self):
        def prints(source, *lines):
            self.file("fc.cu", source)
            text = "mock\nimage\nkernel name=k\n"
            for line in lines:
                text += "finding rule=no-wait level=warning line=%d | m\nplace line=%d | fc.cu\n" % (line, line)
            return [r["partialFingerprints"]["pdlLint/v2"] for r in self.sarif(self.file("fc.ptx", text))["results"]]

        one, other = prints("a;\nb;\n", 1, 2)
        self.assertNotEqual(one.split(":")[0], other.split(":")[0])
        self.assertEqual(prints("new;\n\t b ;\n    a;\n", 2, 3), [other, one])
        self.assertEqual(prints("a;\na;\n", 1, 2), [one, one.replace(":1", ":2")])

    def test_instances_do_not_count_in_fingerprints(self):
        if "demangled" in tooltest.without:
            self.skipTest("names are not demangled in this build")
        first = self.sarif(self.file("t.ptx", MANY))["results"][0]
        second = self.sarif(self.file("t.ptx", MANY.replace("_Z1aIiEvv", "_Z1aIjEvv")))["results"][0]
        self.assertEqual(first["partialFingerprints"], second["partialFingerprints"])

    def test_the_line_shown_first_is_the_location_and_the_others_are_related(self):
        result = self.sarif(self.file("a.ptx", Text.CHAIN % 2))["results"][0]
        self.assertEqual(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "own.cu")
        related = [(r["physicalLocation"]["artifactLocation"]["uri"], r["message"]["text"]) for r in result["relatedLocations"]]
        self.assertEqual(related, [("deep.hpp", "the access, in f"), ("middle.cuh", "the access, in g"), ("main.cu", "h is inlined here")])


if __name__ == "__main__":
    tooltest.main(globals())
