# SPDX-License-Identifier: MIT
"""pdl-ptxas: with a ptxas of our own that notes what it was given, and with the toolkit's."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import tooltest

HERE = os.path.dirname(os.path.abspath(__file__))

KERNEL = """.version {version}
.target {target}
.address_size 64
.visible .entry {name}(.param .u64 x)
{{
	.reg .b64 %rd<2>;
	.reg .f32 %f<2>;
	ld.param.u64 %rd1, [x];
{first}	ld.global.f32 %f1, [%rd1];
	st.global.f32 [%rd1], %f1;
	ret;
}}
"""

# Notes its arguments, and the text of each that is a file. What it prints and how it ends is in the environment.
FAKE = """#!{python}
import json, os, signal, sys, time
texts = [sys.stdin.read() if a == "-" else open(a, encoding="latin-1").read() for a in sys.argv[1:] if a == "-" or os.path.isfile(a)]
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write(json.dumps([sys.argv[1:], texts]) + "\\n")
if "--version" in sys.argv:
    print("Cuda compilation tools, release 13.0, V13.0.88")
with_waits = any("griddepcontrol" in text for text in texts + sys.argv)
for stream in (sys.stdout, sys.stderr):
    print("ptxas", [a for a in sys.argv[1:] if os.path.isfile(a)], "; warning", file=stream)
for line in range(len(texts[-1].splitlines()) if os.environ.get("FAKE_LINES") else 0):
    print(f"ptxas {{sys.argv[-1]}}, line {{line + 1}}; {{line + 1}}", file=sys.stderr)
if os.environ.get("FAKE_SLEEP"):
    print(os.getpid(), file=open(os.environ["FAKE_SLEEP"], "w"), flush=True)
    time.sleep(60)
if with_waits and os.environ.get("FAKE_SIGNAL"):
    os.kill(os.getpid(), int(os.environ["FAKE_SIGNAL"]))
sys.exit(int(os.environ.get("FAKE_STATUS" if with_waits else "FAKE_PLAIN_STATUS", "0")))
"""


def kernel(name="k", target="sm_90", version="8.0", first=""):
    return KERNEL.format(name=name, target=target, version=version, first=first)


class Case(tooltest.Case):
    def setUp(self):
        super().setUp()
        self.log = self.path("log")
        self.ptx = self.file("k.ptx", kernel())
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("PDL_", "CUDA_"))}
        self.environment.update(PDL_INSTRUMENT_LOG=self.log, FAKE_LOG=self.path("fake.log"))

    def run_tool(self, *arguments, status=0, stdin="", pass_fds=(), **variables):
        result = subprocess.run(
            [tooltest.program, *arguments],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.environment, **variables},
            cwd=self.directory,
            text=True,
            timeout=120,
            check=False,
            pass_fds=pass_fds,
        )
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertNotIn("Sanitizer", result.stderr)
        return result

    def lines(self, name):
        path = self.path(name)
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def logged(self):
        return [(line["kernel"], line["action"], line["reason"], line["file"]) for line in self.lines("log")]


class Stand(Case):
    """With a ptxas that only takes notes."""

    def setUp(self):
        super().setUp()
        self.fake = self.file("real-ptxas", FAKE.format(python=sys.executable))
        os.chmod(self.fake, 0o755)
        self.environment["PDL_PTXAS"] = self.fake

    def runs(self):
        return self.lines("fake.log")

    def assert_untouched(self, *arguments, **variables):
        """The real one gets the same arguments, once."""
        before = len(self.runs())
        result = self.run_tool(*arguments, **variables)
        self.assertEqual([run[0] for run in self.runs()[before:]], [list(arguments)])
        return result

    def test_the_text_waits_and_all_other_arguments_are_the_same(self):
        self.run_tool("-v", "-arch=sm_90", "k.ptx", "-o", "k.cubin", "--maxrregcount", "32")
        [[arguments, texts]] = self.runs()
        self.assertEqual([a for a in arguments if not a.startswith("/proc/")], ["-v", "-arch=sm_90", "-o", "k.cubin", "--maxrregcount", "32"])
        self.assertEqual(arguments[2][:6], "/proc/")
        self.assertRegex(texts[0], r"griddepcontrol.wait;[^}]*ld.global")
        self.assertNotIn("launch_dependents", texts[0])
        self.assertEqual(self.logged(), [("k", "instrumented", None, "k.ptx")])

    def test_what_it_prints_names_the_file_of_the_user(self):
        result = self.run_tool("-arch", "sm_90", "k.ptx")
        self.assertEqual((result.stdout, result.stderr), ("ptxas ['k.ptx'] ; warning\n",) * 2)

    def test_lines_that_it_prints_are_those_of_the_file_of_the_user(self):
        self.file("k.ptx", kernel("k") + kernel("l").partition("64\n")[2])
        result = self.run_tool("-arch=sm_90", "k.ptx", FAKE_LINES="1")
        with open(self.path("k.ptx"), encoding="ascii") as file:
            before = file.read().splitlines()
        after = self.runs()[0][1][0].splitlines()
        for line, text in enumerate(after, 1):
            [number] = re.findall(rf"k.ptx, line (\d+); {line}$", result.stderr, flags=re.M)
            if "griddepcontrol" not in text:
                self.assertEqual(before[int(number) - 1], text)

    def test_settings_come_from_the_environment(self):
        self.run_tool("-arch=sm_90", "k.ptx", PDL_INSTRUMENT_TRIGGER="wait")
        self.assertRegex(self.runs()[-1][1][0], r"griddepcontrol.wait;\s*griddepcontrol.launch_dependents;[^}]*ld.global")
        self.file("c.ptx", kernel().replace("ld.global.f32", "ld.global.nc.f32"))
        for constant, expected in (("", False), ("y,k:1", True)):
            self.run_tool("-arch=sm_90", "c.ptx", PDL_INSTRUMENT_CONSTANT=constant, PDL_INSTRUMENT="hoist")
            self.assertEqual("ld.global.nc" in self.runs()[-1][1][0], expected)
        for off in ("off", "OFF", "0", " no "):
            self.assert_untouched("-arch=sm_90", "k.ptx", PDL_INSTRUMENT=off)
        for on in ("", " ", "on", "1", "Entry"):
            self.run_tool("-arch=sm_90", "k.ptx", PDL_INSTRUMENT=on, PDL_INSTRUMENT_TRIGGER=" NONE")
            self.assertIn("griddepcontrol.wait", self.runs()[-1][1][0])

    def test_an_unknown_setting_is_an_error(self):
        for variable in ("PDL_INSTRUMENT", "PDL_INSTRUMENT_TRIGGER"):
            result = self.run_tool("-arch=sm_90", "k.ptx", status=1, **{variable: "early"})
            self.assertIn(f"error: {variable} is 'early', and must be ", result.stderr)
        self.assertEqual(self.runs(), [])

    def test_the_version_says_what_makes_results_differ(self):
        texts = set()
        for settings in ({}, {"PDL_INSTRUMENT": "hoist"}, {"PDL_INSTRUMENT_TRIGGER": "wait"}, {"PDL_INSTRUMENT_CONSTANT": "w"}):
            result = self.run_tool("--version", **settings)
            self.assertIn("Cuda compilation tools, release 13.0, V13.0.88\n", result.stdout)
            texts.add(result.stdout)
        self.assertEqual(len(texts), 4)
        self.assertNotIn("pdl-ptxas", self.run_tool("--version", PDL_INSTRUMENT="off").stdout)

    def test_help_of_its_own_follows_that_of_ptxas(self):
        text = self.run_tool("--help").stdout.partition("This is pdl-ptxas")[2]
        self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])
        with open(os.path.join(HERE, "..", "..", "docs", "man", "pdl-ptxas.1"), encoding="ascii") as file:
            page = file.read()
        variables = re.findall(r"(?m)^  ([A-Z_]+) ", text)
        self.assertEqual(variables, re.findall(r"\bPDL_[A-Z_]+", page.partition(".SH ENVIRONMENT")[2].partition(".SH ")[0]))
        self.assertEqual(len(re.findall("(?m)^  .*pdl-ptxas", text.partition("Examples:")[2])), 2)

    def test_what_cannot_wait_is_left_alone(self):
        for arguments in (["k.ptx"], ["-arch=sm_89", "k.ptx"], ["-arch", "compute_90", "k.ptx"], ["--gpu-name", "sm_80", "k.ptx"], ["-arch=sm_90", "-arch=sm_80", "k.ptx"]):
            self.assert_untouched(*arguments)
        self.assertEqual(self.logged(), [])

    def test_what_needs_no_wait_or_is_not_ptx_is_left_alone(self):
        self.file("w.ptx", kernel(first="	griddepcontrol.wait;\n"))
        self.file("n.ptx", "no PTX\n")
        self.file("e.ptx", "")
        self.file("b.ptx", b"\x7fELF\x00\xff")
        for name in ("w.ptx", "n.ptx", "e.ptx", "b.ptx", "none.ptx", "."):
            self.assert_untouched("-arch=sm_90", name)
        self.assertEqual([line[1:3] for line in self.logged()], [("waits already", None)] + [("failed", None)] * 3)

    def test_an_older_target_is_raised(self):
        self.file("k.ptx", kernel(target="sm_80", version="7.1"))
        self.run_tool("-arch=sm_100a", "k.ptx")
        self.assertRegex(self.runs()[0][1][0], r"^.version 7.8\n.target sm_90\n[^}]*griddepcontrol.wait")

    def test_the_output_is_never_taken_for_an_input(self):
        for arguments in (["-o", "k.ptx"], ["--output-file", "k.ptx"], ["-o=k.ptx"]):
            self.assert_untouched("-arch=sm_90", *arguments)

    def test_each_of_several_inputs_is_instrumented(self):
        self.file("l.ptx", kernel("l"))
        self.run_tool("-arch=sm_90", "k.ptx", "l.ptx")
        self.assertEqual([text.count("griddepcontrol.wait") for text in self.runs()[0][1]], [1, 1])

    def test_options_files_are_read_as_ptxas_reads_them(self):
        self.file("a b.ptx", kernel("ab"))
        self.file("inner", "-v a\\ b.ptx")
        self.file("outer", '-arch "sm_90"\n\t-optf inner -o "x y"')
        self.run_tool("--options-file=outer", "k.ptx")
        [[arguments, texts]] = self.runs()
        self.assertEqual([a for a in arguments if not a.startswith("/proc/")], ["-arch", "sm_90", "-v", "-o", "x y"])
        self.assertEqual([("griddepcontrol" in text, name in text) for text, name in zip(texts, (" ab(", " k("))], [(True, True)] * 2)

    def test_options_files_that_cannot_be_read_are_left_to_ptxas(self):
        self.file("loop", "-arch=sm_90 k.ptx -optf loop")
        for name in ("nowhere", "loop"):
            self.assert_untouched("-arch=sm_90", "k.ptx", "-optf", name)
        self.assert_untouched("-arch=sm_90", "k.ptx", "-optf")

    def test_standard_input_is_instrumented(self):
        for name in ("-", "/dev/stdin"):
            self.run_tool("-arch=sm_90", name, stdin=kernel())
            self.assertIn("griddepcontrol.wait", self.runs()[-1][1][0])
        self.run_tool("-arch=sm_80", "-", stdin=kernel())
        self.run_tool("-arch=sm_90", "-", stdin="no PTX")
        self.assertEqual([run[1] for run in self.runs()[2:]], [[kernel()], ["no PTX"]])

    def run_with_pipe(self, text, *arguments, **more):
        """{} in the arguments is the path of a pipe with the text, as of a shell's <(...)."""
        reads, writes = os.pipe()
        os.write(writes, text.encode())
        os.close(writes)
        try:
            return self.run_tool(*[argument.format(reads) for argument in arguments], pass_fds=(reads,), **more)
        finally:
            os.close(reads)

    def test_a_pipe_is_instrumented(self):
        for path in ("/dev/fd/{}", "/proc/self/fd/{}"):
            self.run_with_pipe(kernel(), "-arch=sm_90", path)
            self.assertIn("griddepcontrol.wait", self.runs()[-1][1][0])
            self.assertEqual(self.logged()[-1][:2], ("k", "instrumented"))
        self.run_with_pipe("no PTX", "-arch=sm_90", "/dev/fd/{}")
        self.assertEqual(self.runs()[-1][1], ["no PTX"])
        self.run_with_pipe(kernel(), "-arch=sm_90", "/dev/fd/{}", FAKE_STATUS="3")
        self.assertEqual(self.runs()[-1][1], [kernel()])

    def test_options_in_a_pipe_are_left_to_ptxas(self):
        self.run_with_pipe("k.ptx -arch=sm_90", "-optf", "/dev/fd/{}")
        self.assertIn("griddepcontrol.wait", self.runs()[-1][1][0])
        self.run_with_pipe("k.ptx -arch=sm_80", "-optf", "/dev/fd/{}")
        self.assertEqual(self.runs()[-1][1], ["k.ptx -arch=sm_80"])

    def test_a_named_pipe_is_left_to_ptxas_with_a_warning(self):
        os.mkfifo(self.path("pipe"))
        for arguments in (["-arch=sm_90", "pipe"], ["-optf", "pipe"]):
            result = self.assert_untouched(*arguments)
            self.assertIn("warning: pipe is a named pipe and is not instrumented", result.stderr)

    def test_a_string_is_instrumented(self):
        for arguments in (["-ias", kernel()], ["--input-as-string=" + kernel()]):
            self.run_tool("-arch=sm_90", *arguments, "-v")
            [option, text, last] = self.runs()[-1][0][1:]
            self.assertEqual((option, last), ("--input-as-string", "-v"))
            self.assertIn("griddepcontrol.wait", text)
        self.assert_untouched("-arch=sm_90", "-ias", "no PTX", "-v")

    def test_a_failure_is_that_of_the_text_as_it_was(self):
        result = self.run_tool("-arch=sm_90", "k.ptx", status=7, FAKE_STATUS="3", FAKE_PLAIN_STATUS="7")
        self.assertEqual([run[1][0] == kernel() for run in self.runs()], [False, True])
        self.assertEqual(result.stderr, "ptxas ['k.ptx'] ; warning\n")
        self.run_tool("-arch=sm_90", "-", stdin=kernel(), FAKE_STATUS="3")
        self.assertEqual(self.runs()[-1][1], [kernel()])
        self.assertEqual([line[1] for line in self.logged()], ["instrumented", "failed"] * 2)

    def test_a_crash_with_the_instrumented_text_breaks_no_build(self):
        self.run_tool("-arch=sm_90", "k.ptx", FAKE_SIGNAL=str(int(signal.SIGSEGV)))
        self.assertEqual(len(self.runs()), 2)

    def test_a_signal_ends_both(self):
        for to_child in (False, True):
            pid_file = self.path("pid")
            with subprocess.Popen([tooltest.program, "-arch=sm_90", "k.ptx"], env={**self.environment, "FAKE_SLEEP": pid_file}, cwd=self.directory) as process:
                while not os.path.exists(pid_file) or not os.path.getsize(pid_file):
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                with open(pid_file, encoding="ascii") as file:
                    child = int(file.read())
                os.kill(child if to_child else process.pid, signal.SIGTERM)
                self.assertEqual(process.wait(30), -signal.SIGTERM)
            self.assertFalse(os.path.exists(f"/proc/{child}"))
            os.remove(pid_file)

    def test_closed_streams_do_not_matter(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            command = f"exec {tooltest.program} -arch=sm_90 k.ptx {closed}"
            subprocess.run(["sh", "-c", command], env=self.environment, cwd=self.directory, check=True)
            self.assertIn("griddepcontrol.wait", self.runs()[-1][1][0], closed)

    def test_nothing_is_left_and_nothing_is_written_beside_the_input(self):
        before = sorted(os.listdir(self.directory))
        os.mkdir(self.path("tmp"))
        self.run_tool("-arch=sm_90", "k.ptx", TMPDIR=self.path("tmp"))
        self.assertEqual(os.listdir(self.path("tmp")), [])
        self.assertEqual(sorted(os.listdir(self.directory)), sorted([*before, "tmp", "log", "fake.log"]))

    def test_lines_of_the_log_stay_whole(self):
        name = 'quote".ptx'
        self.file(name, "".join(kernel(f"k{i}") if i == 0 else kernel(f"k{i}").partition("64\n")[2] for i in range(50)))
        command = [tooltest.program, "-arch=sm_90", name]
        running = [subprocess.Popen(command, env=self.environment, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(8)]
        self.assertEqual([process.wait(120) for process in running], [0] * 8)
        self.assertEqual(sorted(self.logged()), sorted([(f"k{i}", "instrumented", None, name) for i in range(50)] * 8))

    def test_a_log_that_cannot_be_written_breaks_no_build(self):
        os.mkfifo(self.path("pipe"))  # that nobody reads
        for log in ("/nowhere/log", "/dev/full", self.path("pipe")):
            result = self.run_tool("-arch=sm_90", "k.ptx", PDL_INSTRUMENT_LOG=log)
            self.assertEqual(result.stderr.count(f"cannot write to PDL_INSTRUMENT_LOG, {log}"), 1)
        self.assertEqual(len(self.runs()), 3)

    def test_a_pipe_that_is_read_is_a_log(self):
        os.mkfifo(self.path("pipe"))
        reads = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.run_tool("-arch=sm_90", "k.ptx", PDL_INSTRUMENT_LOG=self.path("pipe"))
        self.assertIn(b'"instrumented"', os.read(reads, 1000))
        os.close(reads)


class Find(Case):
    """Which ptxas runs."""

    def make(self, folder, text):
        os.makedirs(self.path(folder), exist_ok=True)
        path = self.file(os.path.join(folder, "ptxas"), f"#!/bin/sh\necho {text}\n")
        os.chmod(path, 0o755)
        return path

    def answer(self, **variables):
        return self.run_tool("--help", **{"PATH": self.path("empty"), **variables}).stdout.partition("\n")[0]

    @unittest.skipIf(tooltest.emulated, "the program that runs is the emulator")
    def test_the_first_that_is_not_this_program_in_the_order_of_the_manual(self):
        bin_folder = self.path("toolkit/bin")
        self.make("home/bin", "home")
        self.make("cuda/bin", "cuda")
        self.assertEqual(self.answer(CUDA_PATH=self.path("cuda")), "cuda")
        self.assertEqual(self.answer(CUDA_HOME=self.path("home"), CUDA_PATH=self.path("cuda")), "home")
        os.makedirs(bin_folder)
        os.symlink("/bin/true", os.path.join(bin_folder, "nvcc"))
        os.symlink(tooltest.program, os.path.join(bin_folder, "ptxas"))
        path = {"PATH": f"{bin_folder}:", "CUDA_HOME": self.path("home")}
        self.assertEqual(self.answer(**path), "home")
        os.remove(os.path.join(bin_folder, "ptxas"))
        self.make("toolkit/bin", "beside")
        self.assertEqual(self.answer(**path), "beside")
        self.make("path", "path")
        path["PATH"] = self.path("path") + ":" + path["PATH"]
        self.assertEqual(self.answer(**path), "path")
        self.assertEqual(self.answer(**path, PDL_PTXAS=self.make("set", "set")), "set")

    @unittest.skipIf(tooltest.emulated, "the program that runs is the emulator")
    def test_a_ptxas_that_is_none(self):
        for value in (tooltest.program, self.path("nowhere"), self.directory):
            result = self.run_tool("--help", status=1, PDL_PTXAS=value)
            self.assertIn(f"error: PDL_PTXAS is '{value}', which is not a ptxas to run", result.stderr)

    def test_a_ptxas_that_leads_back(self):
        path = self.make("loop", "")
        self.file("loop/ptxas", f'#!/bin/sh\nexec {tooltest.program} "$@"\n')
        result = self.run_tool("--help", status=1, PDL_PTXAS=path)
        self.assertIn(f"error: {path} runs pdl-ptxas", result.stderr)

    def test_nvcc_that_is_none(self):
        self.assertIn("error: no program nowhere", self.run_tool("--nvcc", "nowhere", status=127).stderr)
        self.assertIn("error: no nvcc.profile beside /bin/true", self.run_tool("--nvcc", "/bin/true", status=127).stderr)
        self.run_tool("--nvcc", "/bin/true", PDL_INSTRUMENT="off")
        loop = self.file("nvcc", f'#!/bin/sh\nexec {tooltest.program} --nvcc {self.path("nvcc")} "$@"\n')
        os.chmod(loop, 0o755)
        self.assertIn(f"error: no nvcc.profile beside {loop}", self.run_tool("--nvcc", loop, status=127).stderr)


SOURCE = """
__global__ void k(float *y, const float *x) { y[threadIdx.x] = x[threadIdx.x]; }
"""
GRID = """
#include <cooperative_groups.h>
__global__ void g(int *x) { x[0]++; cooperative_groups::this_grid().sync(); x[1]++; }
"""


class Toolkit(Case):
    """With the programs of the CUDA toolkit."""

    def setUp(self):
        super().setUp()
        self.file("k.cu", SOURCE)
        os.mkdir(self.path("tmp"))
        self.environment["TMPDIR"] = self.path("tmp")
        self.nvcc = tooltest.nvcc
        self.environment["PATH"] = os.path.dirname(self.nvcc) + ":" + self.environment["PATH"]

    def compile(self, *arguments, status=0, **variables):
        result = self.run_tool("--nvcc", self.nvcc, *arguments, status=status, **variables)
        self.assertEqual(os.listdir(self.path("tmp")), [])
        return result

    def images(self, name):
        """Pairs of a target and whether it waits."""
        pdltool = os.path.join(os.path.dirname(tooltest.program), "pdltool")
        text = subprocess.run([pdltool, "inspect", self.path(name)], stdout=subprocess.PIPE, text=True, check=True).stdout
        rows = re.findall(r"(?m)^((?:sm|compute)_\w+) +\w+ +[-\d.]+ +(yes|no)", text)
        return sorted((target, waits == "yes") for target, waits in rows)

    def test_ptxas_takes_what_it_is_given(self):
        for arguments in (["k.ptx"], ["-ias", kernel()]):
            self.run_tool("-arch=sm_90", *arguments, "-o", "k.cubin")
            self.assertEqual(self.images("k.cubin"), [("sm_90", True)])
        self.run_tool("-arch=sm_90", "-", "-o", "i.cubin", stdin=kernel())
        self.assertEqual(self.images("i.cubin"), [("sm_90", True)])
        self.file("options", '-arch sm_90 "k.ptx" -o "o p.cubin"')
        self.run_tool("-optf", "options")
        self.assertEqual(self.images("o p.cubin"), [("sm_90", True)])

    def test_errors_of_ptxas_name_the_file_and_line_of_the_user(self):
        self.file("k.ptx", kernel().replace("st.global.f32", "st.global.f31"))
        result = self.run_tool("-arch=sm_90", "k.ptx", status=255)
        self.assertIn("ptxas k.ptx, line 10; error", result.stderr)

    def test_machine_code_and_ptx_wait(self):
        self.compile("-arch=sm_90", "-fatbin", "k.cu", "-o", "k.fatbin")
        self.assertEqual(self.images("k.fatbin"), [("compute_90", True), ("sm_90", True)])
        self.compile("-arch=sm_90", "-rdc=true", "-c", "k.cu", "-o", "k.o")
        self.assertEqual(self.images("k.o"), [("compute_90", True), ("sm_90", True)])
        self.compile("-arch=sm_90", "-ptx", "k.cu", "-o", "k90.ptx")
        self.assertEqual(self.images("k90.ptx"), [("compute_90", True)])
        self.assertEqual([line[1:] for line in self.logged()], [("instrumented", None, "k.cu")] * 3)

    def test_several_targets_at_once(self):
        codes = ["-gencode", "arch=compute_80,code=[sm_80,sm_90,compute_80]", "-gencode", "arch=compute_90,code=compute_90"]
        result = self.compile("--threads", "0", *codes, "-fatbin", "k.cu", "-o", "k.fatbin")
        self.assertEqual(self.images("k.fatbin"), [("compute_80", False), ("compute_90", True), ("sm_80", False), ("sm_90", True)])
        self.assertEqual(result.stderr, "")

    def test_ptx_that_is_given_to_nvcc_is_instrumented_and_stays_as_it_is(self):
        self.compile("-arch=sm_90", "-fatbin", "k.ptx", "-o", "k.fatbin")
        self.assertEqual(self.images("k.fatbin"), [("compute_90", True), ("sm_90", True)])
        with open(self.ptx, encoding="ascii") as file:
            self.assertEqual(file.read(), kernel())

    def test_warns_of_ptx_that_later_devices_load_without_a_wait(self):
        result = self.compile("-gencode", "arch=compute_80,code=[sm_90,compute_80]", "-fatbin", "k.cu", "-o", "k.fatbin")
        self.assertIn("warning: devices without machine code here load the PTX for compute_80", result.stderr)
        self.assertEqual(self.compile("-arch=sm_80", "-fatbin", "k.cu", "-o", "k.fatbin").stderr, "")

    def test_warns_of_a_kernel_that_stays_without(self):
        self.file("g.cu", GRID)
        result = self.compile("-arch=sm_90", "-fatbin", "g.cu", "-o", "g.fatbin")
        self.assertRegex(result.stderr, r"^pdl-ptxas: warning: g.cu: g(\(int\*\))? is not instrumented: it uses the barrier of the whole grid")
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_warns_of_link_time_optimization(self):
        result = self.compile("-gencode", "arch=compute_90,code=lto_90", "-dc", "k.cu", "-o", "k.o")
        self.assertIn("warning: k.cu is not instrumented: link-time optimization", result.stderr)

    def test_warns_of_ptx_that_is_not_written_to_a_file(self):
        result = self.compile("-arch=sm_90", "-ptx", "k.cu", "-o", "-")
        self.assertIn("warning: k.cu is not instrumented: its PTX is not written to a file", result.stderr)
        self.assertIn(".entry", result.stdout)

    def test_fails_as_nvcc_does(self):
        self.file("k.cu", "__global__ void k() { nowhere(); }")
        plain = subprocess.run([self.nvcc, "-arch=sm_90", "-cubin", "k.cu"], cwd=self.directory, stderr=subprocess.PIPE, text=True, check=False)
        result = self.compile("-arch=sm_90", "-cubin", "k.cu", status=plain.returncode)
        self.assertEqual(result.stderr, plain.stderr)

    def test_dependencies_are_those_of_nvcc(self):
        texts = []
        for command in ([self.nvcc], [tooltest.program, "--nvcc", self.nvcc]):
            text = subprocess.run([*command, "-arch=sm_90", "-M", "k.cu"], cwd=self.directory, stdout=subprocess.PIPE, env=self.environment, text=True, check=True).stdout
            texts.append(text)
        self.assertEqual(texts[0], texts[1])

    def test_an_nvcc_behind_a_link_or_a_relative_path(self):
        os.symlink(self.nvcc, self.path("linked"))
        self.nvcc = "./linked"
        self.compile("-arch=sm_90", "-cubin", "k.cu", "-o", "k.cubin")
        self.assertEqual(self.images("k.cubin"), [("sm_90", True)])

    def test_nvcc_runs_its_own_ptxas(self):
        self.compile("-arch=sm_90", "-cubin", "k.cu", "-o", "k.cubin", PDL_PTXAS="/bin/false")
        self.assertEqual(self.images("k.cubin"), [("sm_90", True)])

    def test_an_nvcc_that_is_a_script(self):
        script = self.file("nvcc", f'#!/bin/sh\nexec {self.nvcc} "$@"\n')
        os.chmod(script, 0o755)
        self.nvcc = script
        self.compile("-arch=sm_90", "-cubin", "k.cu", "-o", "k.cubin")
        self.assertEqual(self.images("k.cubin"), [("sm_90", True)])

    def test_a_link_named_nvcc_is_nvcc(self):
        os.mkdir(self.path("bin"))
        os.symlink(tooltest.program, self.path("bin/nvcc"))
        path = self.path("bin") + ":" + self.environment["PATH"]
        subprocess.run(["nvcc", "-arch=sm_90", "-fatbin", "k.cu", "-o", "k.fatbin"], env={**self.environment, "PATH": path}, cwd=self.directory, check=True)
        self.assertEqual(self.images("k.fatbin"), [("compute_90", True), ("sm_90", True)])

    def test_a_signal_leaves_nothing(self):
        fake = self.path("bin")
        os.mkdir(fake)
        compiler = self.file("bin/g++", f"#!/bin/sh\necho $$ > {self.path('pid')}\nexec sleep 60\n")
        os.chmod(compiler, 0o755)
        shutil.copy(compiler, self.path("bin/gcc"))
        with subprocess.Popen([tooltest.program, "--nvcc", self.nvcc, "-ccbin", fake, "-arch=sm_90", "-c", "k.cu"], env=self.environment, cwd=self.directory, start_new_session=True) as process:
            while not os.path.exists(self.path("pid")):
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            self.assertTrue([name for name in os.listdir(self.path("tmp")) if name.startswith("pdltool-")])
            os.killpg(process.pid, signal.SIGINT)
            self.assertNotEqual(process.wait(60), 0)
        for _ in range(1000):
            if not [name for name in os.listdir(self.path("tmp")) if name.startswith("pdltool-")]:
                return
            time.sleep(0.01)
        self.fail("the folder is left")


if __name__ == "__main__":
    tooltest.main({"Stand": Stand, "Find": Find, "Toolkit": Toolkit})
