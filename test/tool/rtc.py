#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool rtc, with the NVRTC that there is."""

import glob
import os

import tooltest

SCALE = """#include <pdl/device.cuh>
#ifndef FACTOR
#define FACTOR 2
#endif
template <typename T> __global__ void scale(T *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    if (i < n) {
        x[i] *= FACTOR;
    }
    PDL_LAUNCH_DEPENDENTS();
}
extern "C" __global__ void plain(int *p)
{
    __shared__ int tile[256];
    tile[threadIdx.x] = p[threadIdx.x]; // EARLY
    __syncthreads();
    PDL_WAIT();
    p[threadIdx.x] = tile[255 - threadIdx.x];
}
"""
EARLY = SCALE[: SCALE.index("// EARLY")].count("\n") + 1
TRIVIAL = 'extern "C" __global__ void k(int *p) { *p = 1; }\n'
TUNE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tune")


class Case(tooltest.Case):
    """Has a home of its own, where the default folder is."""

    def setUp(self):
        super().setUp()
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("PDL_RTC_")}
        self.environment.update(HOME=self.directory, XDG_CACHE_HOME=self.path("xdg"))

    def rtc(self, *arguments, code=0, env=None, **options):
        result = self.tool("rtc", *arguments, env={**self.environment, **(env or {})}, **options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def refused(self, said, *arguments, code=2, **options):
        """Nothing on standard output, and no file that was not there."""
        before = self.files()
        result = self.rtc(*arguments, code=code, **options)
        self.assertIn(said, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(self.files(), before)
        return result

    def files(self):
        return sorted(os.path.join(path, name) for path, _, names in os.walk(self.directory) for name in names if name != "lock")

    def entries(self, folder="cache"):
        return sorted(glob.glob(self.path(folder) + "/pdl-rtc-2/??/*"))

    def damage(self, path):
        with open(path, "r+b") as file:
            file.seek(-9, os.SEEK_END)
            byte = file.read(1)[0]
            file.seek(-9, os.SEEK_END)
            file.write(bytes([byte ^ 4]))


class Nvrtc(Case):
    """A case that compiles; skipped where there is no NVRTC."""

    def setUp(self):
        super().setUp()
        self.file("trivial.cu", TRIVIAL)
        result = self.tool("rtc", "trivial.cu", "-t", "sm_90", "--no-cache", "--no-lint", env=self.environment)
        if "NVRTC cannot be loaded" in result.stderr:
            self.skipTest("there is no NVRTC")
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        self.file("scale.cu", SCALE)

    def rows(self, result):
        """Of the table of kernels."""
        lines = result.stdout.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("waits"))
        return [line.split() for line in lines[first + 1 :] if line.startswith(("yes", "no", "unknown"))]


class Compile(Nvrtc):
    def test_what_it_tells_of_each_kernel(self):
        result = self.rtc("scale.cu", "--name", "scale<float>", "-n", "scale<int>", "--target", "sm_90", "--no-cache", "--no-lint")
        self.assertRegex(result.stdout.splitlines()[0], r"^scale\.cu: machine code for sm_90, [0-9,]+ bytes$")
        rows = {row[5]: row for row in self.rows(result)}
        self.assertEqual(set(rows), {"scale<float>", "scale<int>", "plain"})
        self.assertEqual(rows["scale<float>"][:2] + rows["scale<float>"][3:5], ["yes", "yes", "0", "2"])
        self.assertEqual(rows["scale<float>"][6], "_Z5scaleIfEvPT_i")
        self.assertEqual(rows["plain"][:2] + rows["plain"][3:], ["yes", "no", "1,024", "1", "plain", "plain"])
        self.assertGreater(int(rows["plain"][2]), 0)
        self.assertEqual(result.stderr, "")

    def test_a_template_that_nobody_names(self):
        self.file("scale.cu", SCALE[: SCALE.index('extern "C"')])
        result = self.rtc("scale.cu", "-t", "sm_90", "--no-cache")
        self.assertIn("no kernels; name an instance of a template with --name\n", result.stdout)

    def test_forms_of_code(self):
        for form, target, head, said in (
            ("ptx", "compute_90", b"//\n", "PTX for compute_90"),
            ("cubin", "sm_90a", b"\177ELF", "machine code for sm_90a"),
        ):
            with self.subTest(form):
                result = self.rtc("scale.cu", "-t", target, "--output", form, "--no-cache", "--no-lint", "-o", "code")
                self.assertIn(said, result.stdout)
                with open(self.path("code"), "rb") as file:
                    code = file.read()
                self.assertTrue(code.startswith(head), code[:8])
                self.assertNotIn(b"\0", code if form == "ptx" else b"")
                self.assertEqual(self.tool("inspect", "code").stderr, "")

    def test_options_of_the_compiler(self):
        self.file("scale.cu", SCALE.replace("#include", '#include "own.h"\n#include <other.h>\n#include'))
        self.file("own.h", "#ifndef GIVEN\n#error not given\n#endif\n")
        os.mkdir(self.path("dir"))
        self.file("dir/other.h", "")
        self.rtc("scale.cu", "-t", "sm_90", "--no-cache", "--no-lint", "--", "-DGIVEN", "-I", "dir", "--std=c++20")
        self.rtc("scale.cu", "-t", "sm_90", "--no-cache", "--no-lint", "--", "-DGIVEN", code=1)

    def test_standard_input(self):
        result = self.rtc("-", "-t", "sm_90", "--no-cache", "--no-lint", input=TRIVIAL)
        self.assertTrue(result.stdout.startswith("<stdin>: machine code"))
        result = self.rtc("-", "-t", "sm_90", "--no-cache", "--program", "own.cu", input=TRIVIAL + "what\n", code=1)
        self.assertIn("own.cu(2): error", result.stderr)

    def test_findings(self):
        result = self.rtc("scale.cu", "-t", "sm_90", "--no-cache", code=1)
        self.assertRegex(result.stdout, r"scale\.cu:%d:[0-9]+: warning: .*\[read-before-wait\]\n.* EARLY\n +\| +\^\n  in kernel 'plain'" % EARLY)
        self.assertEqual(self.rtc("trivial.cu", "-t", "sm_90", "--no-cache").returncode, 0)
        self.assertNotIn("warning", self.rtc("scale.cu", "-t", "sm_90", "--no-cache", "--no-lint").stdout)

    def test_warnings_of_the_compiler_are_shown_each_time(self):
        self.file("scale.cu", SCALE.replace("{\n    const", "{\n    int unused;\n    const"))
        for _ in range(2):
            result = self.rtc("scale.cu", "-n", "scale<float>", "-t", "sm_90", "--cache", "cache", "--no-lint")
            self.assertRegex(result.stderr, r'^scale\.cu\(7\): warning .*"unused"')

    def test_the_kernels_of_the_tuner_s_test(self):
        for select in (-1, 0, 1, 2, 3):
            self.rtc(os.path.join(TUNE, "fc.cu"), "-n", "fc", "-n", "scale", "-t", "sm_90", "--no-cache", "--no-lint", "--",
                     "-DPDL_TRIGGER_SELECT=%d" % select, "-DPDL_FAULT_INJECT=2")


class InCache(Nvrtc):
    ARGUMENTS = ("scale.cu", "-n", "scale<float>", "-t", "sm_90", "--no-lint")

    def origin(self, *arguments, **options):
        """What it says of the cache, without the time."""
        result = self.rtc(*self.ARGUMENTS, *arguments, **options)
        (line,) = [line for line in result.stdout.splitlines() if line.startswith("cache: ") and " ms" in line]
        self.assertRegex(line, r", in [0-9]+\.[0-9] ms$")
        return line[len("cache: ") : line.rindex(", in ")]

    def test_compiled_once(self):
        self.assertEqual(self.origin("--cache", "cache"), "compiled and stored in cache")
        self.assertEqual(self.origin("--cache", "cache"), "found in cache")
        self.assertEqual(self.origin("--cache", "cache", "--", "-DFACTOR=3"), "compiled and stored in cache")
        self.assertEqual(len(self.entries()), 2)

    def test_the_default_folder(self):
        self.assertEqual(self.origin(), "compiled and stored in " + self.path("xdg/pdl"))
        self.assertEqual(self.origin(env={"PDL_RTC_CACHE_DIR": self.path("other")}), "compiled and stored in " + self.path("other"))
        self.assertEqual(self.origin(env={"PDL_RTC_CACHE": "0"}), "compiled, not stored")

    def test_no_cache(self):
        self.assertEqual(self.origin("--no-cache"), "compiled, not stored")
        self.assertEqual(self.origin("--no-cache"), "compiled, not stored")
        self.assertFalse(os.path.exists(self.path("xdg")))

    def test_a_shipped_folder(self):
        self.origin("--cache", "shipped")
        shipped = {"PDL_RTC_CACHE_SHIPPED": self.path("shipped")}
        self.assertEqual(self.origin("--cache", "cache", env=shipped), "found in the shipped cache " + self.path("shipped"))

    def test_without_nvrtc(self):
        self.origin("--cache", "cache")
        away = {"PDL_NVRTC": "/nonexistent"}
        self.assertEqual(self.origin("--cache", "cache", env=away), "found in cache")
        result = self.rtc("scale.cu", "-n", "scale<float>", "-t", "sm_90", "--cache", "cache", env=away)
        self.assertIn("pdltool rtc: note: not linted: NVRTC cannot be loaded", result.stderr)

    def test_findings_leave_nothing_in_the_cache(self):
        self.rtc("scale.cu", "-t", "sm_90", "--cache", "cache", code=1)
        self.assertEqual(len(self.entries()), 1)

    def test_a_damaged_file(self):
        self.origin("--cache", "cache")
        (path,) = self.entries()
        self.damage(path)
        result = self.rtc(*self.ARGUMENTS, "--cache", "cache")
        self.assertIn("cache: compiled and stored in cache, in ", result.stdout)
        self.assertIn("cache: ignored a damaged entry\n", result.stdout)
        self.assertEqual(self.origin("--cache", "cache"), "found in cache")

    def test_a_folder_that_cannot_be_used(self):
        self.file("cache", "a file")
        self.refused("cache", *self.ARGUMENTS, "--cache", "cache")
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        self.refused("open", *self.ARGUMENTS, "--cache", "open")


class BadText(Nvrtc):
    def test_syntax_errors(self):
        text = SCALE.replace("    PDL_WAIT();\n    if", "    PDL_WAIT()\n    if").replace("tile[threadIdx.x] = p", "tile[threadIdx.x] = q")
        self.file("bad.cu", text)
        lines = [i + 1 for i, line in enumerate(text.splitlines()) if "if (i" in line or "= q" in line]
        result = self.refused("bad.cu(%d): error: " % lines[0], "bad.cu", "-n", "scale<float>", "-t", "sm_90", code=1)
        self.assertIn('bad.cu(%d): error: identifier "q" is undefined' % lines[1], result.stderr)
        last = result.stderr.splitlines()[-1]
        self.assertTrue(last.startswith("pdltool rtc: error: bad.cu"), last)

    def test_a_copy_is_kept_where_one_is_wanted(self):
        self.file("bad.cu", "what")
        result = self.rtc("bad.cu", "-t", "sm_90", code=1, env={"PDL_RTC_DUMP_DIR": self.path("dumps")})
        (name,) = os.listdir(self.path("dumps"))
        self.assertIn(name, result.stderr)

    def test_names_that_are_not_there(self):
        for name in ("missing", "scale<Nothing>", "scale", "plain<int>"):
            with self.subTest(name):
                self.refused(name, "scale.cu", "-n", name, "-t", "sm_90", "--no-cache", code=1)

    def test_an_option_that_the_library_does_not_know(self):
        """It goes to NVRTC, each time, and the target stays."""
        for _ in range(2):
            result = self.rtc("scale.cu", "-n", "scale<int>", "-t", "sm_90", "--cache", "cache", "--no-lint", "--", "-arch=sm_80")
            self.assertIn("scale.cu is not cached: libpdl-rtc does not know what one of its options does", result.stderr)
            self.assertIn("cache: compiled, not stored", result.stdout)
            self.assertIn("machine code for sm_90", result.stdout)
            self.assertEqual(self.rows(result)[0][:2], ["yes", "yes"])

    def test_options_that_are_refused(self):
        for option, said in (("--wibble", "--wibble"), ("--std=c++7", "std")):
            with self.subTest(option):
                self.refused(said, "scale.cu", "-t", "sm_90", "--no-cache", "--", option)

    def test_targets_and_outputs(self):
        self.refused('"sm_7"', "scale.cu", "-t", "sm_7")
        self.refused("pdltool rtc: error: ", "scale.cu", "-t", "compute_90", "--output", "cubin")
        self.assertIn("PTX for compute_90", self.rtc("scale.cu", "-t", "sm_90", "--output", "ptx", "--no-cache", "--no-lint").stdout)

    def test_outputs_that_cannot_be_written(self):
        self.refused("--file nowhere/x: No such file or directory", "scale.cu", "-t", "sm_90", "-o", "nowhere/x", "--no-cache")
        self.file("there", "before")
        self.refused("bad.cu", self.file("bad.cu", "what"), "-t", "sm_90", "-o", "there", "--no-cache", code=1)
        with open(self.path("there"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "before")

    def test_messages_do_not_steer_the_terminal(self):
        self.file("bad.cu", "#error \x1b[31mred\n")
        result = self.refused("error", "bad.cu", "-t", "sm_90", code=1)
        self.assertNotIn("\x1b", result.stderr)


class BadInput(Case):
    """What needs no NVRTC to be refused."""

    def test_no_nvrtc(self):
        away = {"PDL_NVRTC": "/nonexistent"}
        self.file("k.cu", TRIVIAL)
        result = self.refused("PDL_NVRTC names /nonexistent", "k.cu", "-t", "sm_90", "--no-cache", env=away)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.file("none.so", "this is no library")
        self.refused("none.so", "k.cu", "-t", "sm_90", "--no-cache", env={"PDL_NVRTC": self.path("none.so")})

    def test_texts_that_are_none(self):
        self.refused("gone.cu: error: No such file or directory\n", "gone.cu", "-t", "sm_90")
        self.refused(": error: Is a directory\n", self.directory, "-t", "sm_90")
        self.refused("nul.cu: error: not a text: it contains a NUL byte", self.file("nul.cu", TRIVIAL + "\0"), "-t", "sm_90")

    def test_a_text_that_is_too_large(self):
        with open(self.path("large.cu"), "wb") as file:
            file.write(b" " * ((64 << 20) + 1))
        self.refused("67108864", "large.cu", "-t", "sm_90", "--no-cache")

    def test_the_command_line(self):
        self.file("k.cu", TRIVIAL)
        for said, arguments in (
            ("pdltool rtc: error: no source file; see 'pdltool rtc --help'\n", ()),
            ("no source file", ("--", "k.cu")),
            ("one source file at a time", ("k.cu", "other.cu")),
            ("unknown option '--fast'", ("k.cu", "--fast")),
            ("note: compiler options follow --\n", ("k.cu", "-DN=4")),
            ("--output takes cubin or ptx, not 'elf'", ("k.cu", "--output", "elf")),
            ("--cache and --no-cache exclude each other", ("k.cu", "--cache", "c", "--no-cache")),
            ("-o needs a file", ("k.cu", "-o", "-")),
        ):
            with self.subTest(arguments):
                self.refused(said, *arguments)


if __name__ == "__main__":
    tooltest.main(globals())
