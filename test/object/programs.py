#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What libpdl reads of the kernels of real programs: every way that nvcc puts code into them."""

import argparse
import os
import shutil
import subprocess
import tempfile
import unittest

given = argparse.Namespace()

WAITS, NEVER, UNKNOWN = "waits=yes", "waits=no", "waits=unknown"
# What the kernels of kernels.cu do, by the end of their names.
TRUTH = {
    "_waits": WAITS,
    "_never": NEVER,
    "_pointer": UNKNOWN,
    "_elsewhere": WAITS,
    "_Z8instanceIfLb1EEvPT_": WAITS,
    "_Z8instanceIiLb0EEvPT_": NEVER,
}
SM_90 = ("-arch=sm_90",)
# As before CUDA 13: kernels are symbols that other objects see, and may replace.
EXPORTED = ("--device-entity-has-hidden-visibility=false", "-static-global-template-stub=false")


def run(*command, **environment):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600,
                            env={**os.environ, **environment}, check=False)
    if result.returncode != 0:
        raise AssertionError(" ".join(map(str, command)) + "\n" + result.stdout + result.stderr)
    return result.stdout


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pdl-object-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, source, name, *options):
        run(given.nvcc, "-I", given.include, *options, "-c", os.path.join(given.sources, source), "-o", self.path(name))
        return self.path(name)

    def link(self, name, *parts):
        run(given.nvcc, *parts, given.probe, *given.libraries, "-ldl", "-lpthread", "-o", self.path(name))
        return self.path(name)

    def program(self, *options):
        """A program of one source, and what is read of it."""
        return self.link("program", self.compile("kernels.cu", "kernels.o", *options), *options)

    def shared(self, name, prefix, *options):
        """A shared object of one source, with code for one device unless options say more."""
        path = self.path(name)
        run(given.nvcc, "-shared", "-Xcompiler", "-fPIC", "-I", given.include, f"-DPREFIX={prefix}", *(options or SM_90),
            os.path.join(given.sources, "kernels.cu"), "-o", path)
        return path

    def answers(self, *command, **environment):
        """What the probe says: by object and kernel."""
        lines = run(*command, **environment).splitlines()
        self.assertTrue(lines)
        return {tuple(line.split()[:2]): line for line in lines}

    def check(self, answers, prefix="own", **changes):
        """Everything is as the code is, but for changes by the end of a name."""
        seen = 0
        for (where, name), line in answers.items():
            for end, truth in TRUTH.items():
                if where == prefix and name.endswith(end):
                    self.assertIn(" " + changes.get(end, truth) + " ", line)
                    seen += 1
        self.assertEqual(seen, len(TRUTH), answers)


class Program(Case):
    """Kernels of the program itself."""

    def test_a_program_with_the_static_runtime(self):
        program = self.program(*SM_90)
        self.check(self.answers(program))
        run("strip", "-s", program)
        self.check(self.answers(program))
        # The file is not needed once it runs.
        shutil.copy(program, self.path("gone"))
        self.check(self.answers("/bin/sh", "-c", f"exec 3<{self.path('gone')}; rm {self.path('gone')}; exec /proc/self/fd/3"))

    def test_a_program_with_the_shared_runtime_that_is_not_position_independent(self):
        self.check(self.answers(self.program(*SM_90, "-cudart", "shared", "-Xcompiler", "-fno-pie", "-Xlinker", "-no-pie")))

    def test_the_code_that_the_device_runs_is_read(self):
        every = ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]")
        program = self.program(*every)
        self.check(self.answers(program))
        self.check(self.answers(program, CUDA_FORCE_PTX_JIT="1"))
        # The driver says that it runs something else.
        for line in self.answers(program, PTX_VERSION="80", CUDA_FORCE_PTX_JIT="1").values():
            self.assertIn(UNKNOWN, line)
            self.assertIn("other code", line)

    def test_ptx_for_an_older_device_has_no_waits(self):
        program = self.program("-gencode=arch=compute_80,code=compute_80")
        answers = self.answers(program, PTX_VERSION="80")
        self.check(answers, **{end: NEVER for end in TRUTH if TRUTH[end] == WAITS})

    def test_code_for_one_architecture_alone(self):
        self.check(self.answers(self.program("-gencode=arch=compute_90a,code=sm_90a")))

    def test_code_for_another_device_is_not_found(self):
        for line in self.answers(self.program("-arch=sm_100")).values():
            self.assertIn(UNKNOWN, line)
            self.assertIn("not found", line)

    def test_compressed_code(self):
        modes = ["none", "speed", "balance", "size"] if "--compress-mode" in run(given.nvcc, "--help") else []
        empty = self.path("empty")
        os.mkdir(empty)
        for library in ("libzstd.so.1", "liblz4.so.1"):
            with open(os.path.join(empty, library), "wb"):
                pass
        for mode in modes:
            with self.subTest(mode=mode):
                # Enough of it that there is something to compress.
                program = self.program(f"--compress-mode={mode}", "-gencode=arch=compute_90,code=[sm_90,compute_90]")
                self.check(self.answers(program))
                self.check(self.answers(program, CUDA_FORCE_PTX_JIT="1"))
                for line in self.answers(program, LD_LIBRARY_PATH=empty, CUDA_FORCE_PTX_JIT="1").values():
                    self.assertIn(UNKNOWN if mode != "none" else "waits=", line)
                    self.assertIn("cannot be opened" if mode != "none" else "", line)

    def linked(self, *options):
        options = (*options, "-rdc=true", "-DRELOCATABLE")
        parts = [self.compile(name + ".cu", name + ".o", *options) for name in ("kernels", "elsewhere")]
        archive = self.path("libkernels.a")
        run("ar", "rcs", archive, *parts)
        return self.link("program", *options[:-1], "-Xlinker", "--whole-archive", archive, "-Xlinker", "--no-whole-archive")

    def test_relocatable_code_in_a_static_archive(self):
        self.check(self.answers(self.linked(*SM_90)))
        self.check(self.answers(self.linked("-gencode=arch=compute_90,code=[sm_90,compute_90]")))

    def test_relocatable_code_that_the_driver_would_link_is_not_found(self):
        for line in self.answers(self.linked("-gencode=arch=compute_90,code=compute_90")).values():
            self.assertIn(UNKNOWN, line)

    def test_code_that_was_optimized_when_it_was_linked(self):
        try:
            program = self.linked(*SM_90, "-dlto")
        except AssertionError as error:
            if "linker library load error" not in str(error):
                raise
            self.skipTest("nvlink has no library for link-time optimization here")
        self.check(self.answers(program))


class Objects(Case):
    """Kernels of several objects."""

    def test_a_shared_object_that_is_opened_closed_and_replaced(self):
        program = self.program(*SM_90)
        first = self.shared("libfirst.so", "a")
        answers = self.answers(program, "a:" + first)
        self.check(answers)
        self.check(answers, "a")
        # Another one under the same path, which may lie where the first one lay.
        other = self.shared("libother.so", "b", *SM_90, "-DNO_WAITS")
        again = shutil.copy(first, self.path("libagain.so"))
        answers = self.answers(program, "a:" + first, "-a", "b:" + other, "-b", "a:" + again, UNLINK="1")
        self.check(answers, "a")
        self.check(answers, "b", _waits=NEVER, _elsewhere=NEVER, _Z8instanceIfLb1EEvPT_=NEVER)

    def test_kernels_of_one_name_in_two_objects(self):
        program = self.program(*SM_90, "-DSAME=1")
        other = self.shared("libother.so", "a", *SM_90, "-DSAME=0")
        answers = self.answers(program, "a:" + other)
        self.assertIn(WAITS, answers["own", "same"])
        self.assertIn(NEVER, answers["a", "same"])

    def test_kernels_of_one_name_whose_stubs_are_one(self):
        program = self.program(*SM_90, "-DSAME=1", "-Xcompiler", "-rdynamic", *EXPORTED)
        other = self.shared("libother.so", "a", *SM_90, "-DSAME=0", *EXPORTED)
        answers = self.answers(program, "a:" + other)
        self.assertIn(UNKNOWN, answers["a", "same"])
        self.assertIn("several codes", answers["a", "same"])
        self.check(answers, "a")
        same = self.shared("libsame.so", "b", *SM_90, "-DSAME=1", *EXPORTED)
        self.assertIn(WAITS, self.answers(program, "b:" + same)["b", "same"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--sources", required=True)
    parser.add_argument("--probe", required=True, help="probe.c as an object")
    parser.add_argument("--libraries", nargs="+", required=True)
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args()
    unittest.main(argv=[__file__, *given.tests], verbosity=2)
