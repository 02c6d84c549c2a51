#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool lint and inspect with libpdl-inspect: that they work on the inputs there are.

What the rules find is tested in ../lint; here one broken kernel goes through every kind of input.
"""

import json
import os
import resource
import shutil
import subprocess

import tooltest

HEAD = ".version 7.8\n.target sm_90\n.address_size 64\n"

BROKEN = (
    HEAD
    + """.visible .entry _Z6brokenPKfPf(
    .param .u64 p0,
    .param .u64 p1
)
{
    .reg .b64 %rd<5>;
    .reg .b32 %r<2>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    ld.global.f32 %f1, [%rd3];
    griddepcontrol.wait;
    st.global.f32 [%rd4], %f1;
    griddepcontrol.launch_dependents;
    ret;
}
"""
)
LOAD_LINE = BROKEN[: BROKEN.index("ld.global")].count("\n") + 1

WITH_LINES = BROKEN.replace(
    "    ld.global.f32", "    .loc 1 30 12\n    ld.global.f32"
).replace(HEAD, HEAD + '.file 1 "/nowhere/fc.cu"\n')

SOURCE = """#include <pdl/device.cuh>
__global__ void broken(const float *w, float *y)
{
    __shared__ float tile[256];
    const float early = w[threadIdx.x]; // LINE
    tile[threadIdx.x] = early;
    __syncthreads();
    PDL_WAIT();
    y[threadIdx.x] = tile[255 - threadIdx.x];
    PDL_LAUNCH_DEPENDENTS();
}
#ifdef WITH_MAIN
int main(void) { broken<<<1, 256>>>(nullptr, nullptr); return 0; }
#endif
"""
SOURCE_LINE = SOURCE[: SOURCE.index("// LINE")].count("\n") + 1


class Case(tooltest.Case):
    def lint(self, *arguments, **options):
        return self.tool("lint", *arguments, **options)


class Ptx(Case):
    def test_broken(self):
        path = self.file("broken.ptx", BROKEN)
        result = self.lint(path)
        self.assertIn("%s:%d:5: warning: " % (path, LOAD_LINE), result.stdout)
        self.assertIn("[read-before-wait]", result.stdout)
        self.assertEqual((result.stderr, result.returncode), ("", 1))

    def test_inspect(self):
        path = self.file("broken.ptx", BROKEN)
        row = self.tool("inspect", path).stdout.splitlines()[1].split()
        self.assertEqual(row[:7], ["compute_90", "PTX", "7.8", "yes", "yes", "-", "-"])

    def test_json_and_sarif(self):
        if "json" in tooltest.without:
            self.skipTest("no JSON in this build")
        path = self.file("broken.ptx", WITH_LINES)
        findings = json.loads(self.lint("--json", path).stdout)["findings"]
        self.assertEqual([f["rule"] for f in findings], ["read-before-wait"])
        self.assertEqual((findings[0]["file"], findings[0]["line"]), ("/nowhere/fc.cu", 30))
        self.assertEqual(findings[0]["parameter"]["number"], 1)
        document = json.loads(self.lint("--sarif", "--level=note", path).stdout)
        for schema in tooltest.schemas:
            import jsonschema  # pylint: disable=import-outside-toplevel

            with open(schema, encoding="utf-8") as file:
                jsonschema.validate(document, json.load(file))


class BadInput(Case):
    """A clear line, exit code 2, no crash, and not more memory than the input is worth."""

    def refuse(self, path, *words):
        for command in ("lint", "inspect"):
            result = self.tool(command, path)
            self.assertEqual(result.returncode, 2, (command, result.stdout, result.stderr))
            (line,) = result.stderr.splitlines()
            self.assertTrue(line.startswith(path), line)
            self.assertIn(": error: ", line)
            for word in words:
                self.assertIn(word, line)

    def test_an_empty_file(self):
        self.refuse(self.file("empty.ptx", ""), "empty")

    def test_blanks_only(self):
        self.refuse(self.file("blank.ptx", " \n\t\n// nothing\n"))

    def test_noise(self):
        noise = bytes((i * 7919 + i * i * 31) % 251 for i in range(100000))
        self.refuse(self.file("noise", noise))
        self.refuse(self.file("noise", HEAD.encode() + noise))
        self.refuse(self.file("noise", b"\177ELF" + noise))
        self.refuse(self.file("noise", b"\x50\xed\x55\xba" + noise))

    def test_a_text_cut_short(self):
        accepted = 0
        for size in range(1, len(BROKEN) - 1):
            result = self.lint(self.file("cut.ptx", BROKEN[:size]))
            accepted += result.returncode != 2
        # No more than the module's directives, and those cut where a number may end.
        self.assertLess(accepted, len(HEAD) + 1)

    def test_a_program_without_device_code(self):
        self.refuse(shutil.which("true"), "device code")

    def test_a_line_of_a_gigabyte(self):
        path = self.path("long.ptx")
        with open(path, "wb") as file:
            file.write(HEAD.encode() + b"/")
            file.truncate(1 << 30)
        self.refuse_in_little_memory(path)
        chunk = b"abcdefgh" * (1 << 17)
        with open(path, "wb") as file:
            file.write(HEAD.encode())
            for _ in range(1 << 10):
                file.write(chunk)
        self.refuse_in_little_memory(path)

    def refuse_in_little_memory(self, path):
        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))

        sanitized = "sanitized" in tooltest.without
        for command in ("lint", "inspect"):
            result = subprocess.run(
                [tooltest.program, command, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, timeout=100, check=False, preexec_fn=None if sanitized else limit,
            )
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertTrue(result.stderr.startswith(path) and ": error: " in result.stderr, result.stderr)
            self.assertLess(len(result.stderr), 1000)

    def test_deeply_nested_scopes(self):
        deep = 200000
        text = BROKEN.replace("    ret;", "{" * deep + "}" * deep + "\n    ret;")
        result = self.lint(self.file("deep.ptx", text))
        self.assertIn(result.returncode, (1, 2))
        self.refuse(self.file("deep.ptx", BROKEN.replace("    ret;", "{" * deep)))

    def test_recursive_calls(self):
        function = ".func f()\n{\n    call f, ();\n    ret;\n}\n"
        text = BROKEN.replace(".visible .entry", function + ".visible .entry").replace(
            "    griddepcontrol.wait;", "    griddepcontrol.wait;\n    call f, ();")
        result = self.lint(self.file("recursive.ptx", text))
        self.assertEqual((result.stderr, result.returncode), ("", 1))


class Toolkit(Case):
    """What nvcc makes of a kernel, in every form there is."""

    def compile(self, name, *options):
        source = self.file("kernel.cu", SOURCE)
        path = self.path(name)
        subprocess.run(
            [tooltest.nvcc, "-I", tooltest.include, "-o", path, *options, source],
            cwd=self.directory, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        return path

    def assert_found(self, path, in_source):
        result = self.lint(path)
        if in_source:
            self.assertIn("kernel.cu:%d:" % SOURCE_LINE, result.stdout)
        self.assertIn("[read-before-wait]", result.stdout)
        self.assertEqual((result.stderr, result.returncode), ("", 1))

    def rows(self, path):
        result = self.tool("inspect", path)
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        return sorted(line.split()[:2] + line.split()[3:5] for line in result.stdout.splitlines()[1:-2])

    def test_ptx(self):
        self.assert_found(self.compile("k.ptx", "-arch=sm_90", "-lineinfo", "-ptx"), True)

    def test_cubin(self):
        path = self.compile("k.cubin", "-arch=sm_90", "-cubin")
        self.assertEqual(self.rows(path), [["sm_90", "SASS", "yes", "yes"]])
        table = self.tool("inspect", path).stdout
        self.assertRegex(table, r"- +yes +yes +[0-9]+ +[1-9],?[0-9]+ ")  # registers, shared memory

    def test_fatbin(self):
        self.assert_found(self.compile("k.fatbin", "-gencode=arch=compute_90,code=[sm_90,compute_90]",
                                       "-lineinfo", "-fatbin"), True)

    def test_object_archive_library_program(self):
        code = ["-gencode=arch=compute_90,code=[sm_90,compute_90]", "-lineinfo"]
        made = self.compile("k.o", *code, "-c")
        self.assert_found(made, True)
        subprocess.run(["ar", "rc", "libk.a", "k.o"], cwd=self.directory, check=True)
        self.assert_found(self.path("libk.a"), True)
        library = self.compile("libk.so", *code, "-shared", "-Xcompiler=-fPIC")
        self.assert_found(library, True)
        self.assertEqual(self.rows(library), [["compute_90", "PTX", "yes", "yes"], ["sm_90", "SASS", "yes", "yes"]])
        self.assert_found(self.compile("program", *code, "-DWITH_MAIN"), True)

    def test_ways_of_compression(self):
        if "codecs" in tooltest.without:
            self.skipTest("this build decompresses nothing")
        modes = subprocess.run([tooltest.nvcc, "--help"], stdout=subprocess.PIPE, text=True, check=True)
        if "--compress-mode" not in modes.stdout:
            self.skipTest("nvcc has one way only")
        for mode in ("default", "size", "speed", "balance", "none"):
            path = self.compile("k.fatbin", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-lineinfo",
                                "-fatbin", "--compress-mode=" + mode)
            self.assert_found(path, True)

    def test_a_directory_of_builds(self):
        os.makedirs(self.path("build/sub"))
        self.compile("build/k.o", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-lineinfo", "-c")
        shutil.copy(shutil.which("true"), self.path("build/sub/host"))
        self.assert_found(self.path("build"), True)

    def test_code_for_older_devices(self):
        path = self.compile("k.fatbin", "-gencode=arch=compute_80,code=compute_80",
                            "-gencode=arch=compute_90,code=sm_90", "-fatbin")
        rows = self.rows(path)
        self.assertEqual(rows, [["compute_80", "PTX", "no", "no"], ["sm_90", "SASS", "yes", "yes"]])
        result = self.lint(path)
        self.assertIn("[compiled-out]", result.stdout)
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    tooltest.main(globals())
