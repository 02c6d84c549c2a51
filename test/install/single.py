# SPDX-License-Identifier: MIT
"""Builds programs from the two files that the target single makes, in a folder that has nothing else of libpdl.

single.py CASE --files DIR --source DIR --work DIR --cuda-include DIR --cc CC --cxx CXX [--nvcc NVCC] [--fake DIR]
               --nm NM --map MAP -- COMMAND...      COMMAND makes the two files, less its --out
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]
EXPORTED = '-DPDL_API=__attribute__((visibility("default")))'
LIBRARIES = ["-ldl", "-lpthread"]


def run(*command, **options):
    print("$", " ".join(command), flush=True)
    result = subprocess.run(command, check=False, **options)
    if result.returncode != 0:
        sys.exit(f"{command[0]} returned {result.returncode}\n{result.stdout or ''}{result.stderr or ''}")
    return result.stdout


class Test:
    def __init__(self, arguments):
        self.arguments = arguments
        self.cuda = ["-isystem", arguments.cuda_include]
        self.source = os.path.join(arguments.source, "single")
        shutil.rmtree(arguments.work, ignore_errors=True)
        os.makedirs(arguments.work)
        os.chdir(arguments.work)
        for name in ("pdl.h", "pdl.c"):
            shutil.copy(os.path.join(arguments.files, name), name)

    def take(self, name, to=None):
        shutil.copy(os.path.join(self.source, name), to or name)

    def start(self, program, *arguments):
        environment = dict(os.environ, PDL_FAKE_LOG=os.path.abspath("calls.log"), PDL_OVERLAP="")
        if os.path.exists("calls.log"):
            os.remove("calls.log")
        if self.arguments.fake:
            environment["LD_LIBRARY_PATH"] = self.arguments.fake
        run("./" + program, *arguments, env=environment)

    def compiler(self, standard):
        cxx = standard.startswith("c++")
        return [self.arguments.cxx if cxx else self.arguments.cc, "-std=" + standard], "cpp" if cxx else "c"

    def consumer(self, standard, header_only, strict=True):
        """A program of two sources; the implementation is pdl.c, or in one of them."""
        compiler, suffix = self.compiler(standard)
        flags = STRICT if strict else []
        for name in ("consumer", "other"):
            self.take(name + ".c", f"{name}.{suffix}")
        implementation = ["-DPDL_IMPLEMENTATION", *self.cuda] if header_only else []
        run(*compiler, *flags, *implementation, "-c", f"consumer.{suffix}", "-o", "consumer.o")
        run(*compiler, *flags, "-c", f"other.{suffix}", "-o", "other.o")
        objects = ["consumer.o", "other.o"]
        if not header_only:
            run(self.arguments.cc, "-std=c11", *flags, *self.cuda, "-c", "pdl.c", "-o", "pdl.o")
            objects.append("pdl.o")
        run(compiler[0], *objects, "-o", "consumer", *LIBRARIES)
        self.start("consumer")

    def hidden_even_from_other_sources(self):
        for standard in ("c11", "c++17"):
            compiler, suffix = self.compiler(standard)
            self.take("consumer.c", "consumer." + suffix)
            run(*compiler, *STRICT, *self.cuda, "-DALONE", "-DPDL_IMPLEMENTATION", "-DPDL_API=static", "-c",
                "consumer." + suffix, "-o", "consumer.o")
            run(compiler[0], "consumer.o", "-o", "consumer", *LIBRARIES)
            self.start("consumer")
            self.expect_symbols(f"{standard}, static", {"main"}, "-g", "consumer.o")

    def symbols(self):
        with open(self.arguments.map, encoding="utf-8") as file:
            listed = set(re.findall(r"^ +(pdl_\w+);", file.read(), re.M))
        shutil.copy("pdl.c", "pdl.cpp")
        for standard in ("c11", "c++17"):
            compiler, suffix = self.compiler(standard)
            compiler += ["-O0", "-fPIC", "-shared", *self.cuda, "pdl." + suffix, "-o", "pdl.so"]
            run(*compiler, *LIBRARIES)
            self.expect_symbols(f"{standard}, hidden", set(), "-D", "pdl.so")
            run(*compiler, EXPORTED, *LIBRARIES)
            self.expect_symbols(f"{standard}, exported", listed, "-D", "pdl.so")

    def expect_symbols(self, what, expected, *nm):
        text = run(self.arguments.nm, "--defined-only", *nm, stdout=subprocess.PIPE, text=True)
        found = {line.split()[-1].split("@")[0] for line in text.splitlines()}
        found -= {"_init", "_fini", "DW.ref.__gxx_personality_v0"}
        if found != expected:
            sys.exit(f"{what}: not there: {sorted(expected - found)}; there and not expected: {sorted(found - expected)}")

    def two_copies(self):
        for standard in ("c11", "c++17"):
            compiler, suffix = self.compiler(standard)
            self.take("copy.c", "copy." + suffix)
            self.take("copies.c")
            for name in ("first", "second"):
                run(*compiler, "-fPIC", "-shared", *self.cuda, f"-DNAME={name}", "copy." + suffix, "-o",
                    f"lib{name}.so", *LIBRARIES)
            run(self.arguments.cc, "copies.c", "-o", "copies", "-L.", "-lfirst", "-lsecond", "-Wl,-rpath,$ORIGIN")
            self.start("copies")

    def launches(self, standard):
        """The program of the tests on the fake driver, with the implementation as its only libpdl."""
        compiler, suffix = self.compiler(standard)
        if suffix != "c":
            shutil.copy("pdl.c", "pdl." + suffix)
        os.mkdir("pdl")
        for header in ("chain.h", "pdl.h"):
            with open(os.path.join("pdl", header), "w", encoding="utf-8") as file:
                file.write('#include "../pdl.h"\n')
        run(*compiler, "-O1", *self.cuda, "-c", "pdl." + suffix, "-o", "pdl.o")
        run(self.arguments.cc, "-std=c11", "-D_GNU_SOURCE", "-I.", *self.cuda, "-c",
            os.path.join(self.arguments.source, "../fake/fake_consumer.c"), "-o", "fake_consumer.o")
        run(compiler[0], "fake_consumer.o", "pdl.o", "-o", "fake_consumer", *LIBRARIES)
        for scenario, variables in (("granted", {}), ("several_devices", {"PDL_FAKE_DEVICES": "2"}),
                                    ("old_driver", {"PDL_FAKE_DRIVER_VERSION": "12020"}),
                                    ("no_device", {"PDL_FAKE_DEVICES": "0"})):
            os.environ.update(variables)
            self.start("fake_consumer", scenario)
            for name in variables:
                del os.environ[name]

    def device_part(self):
        """NVRTC has no headers: there, pdl.h includes nothing, and has the macros."""
        text = run(self.arguments.cxx, "-E", "-nostdinc", "-x", "c++", "-D__CUDACC__", "-D__CUDACC_RTC__",
                   "-DPDL_CUDART", "-DPDL_IMPLEMENTATION", "-D__CUDA_ARCH__=900", "-include", "pdl.h", "-",
                   input="marker PDL_WAIT()", stdout=subprocess.PIPE, text=True)
        if "griddepcontrol.wait" not in text.split("marker")[1] or "pdl_launch" in text:
            sys.exit("the part for NVRTC is another")

    def cuda_runtime(self, standard):
        self.take("kernel.cu")
        run(self.arguments.nvcc, "-std=" + standard, "-arch=sm_90", "-Werror", "all-warnings", "-Xcompiler",
            "-Wall,-Wextra,-Werror", "kernel.cu", "-o", "kernel", *LIBRARIES)
        if self.arguments.fake:  # it cannot serve the Runtime, so that there is none for this
            self.arguments.fake = os.path.join(self.arguments.work, "none")
            os.mkdir(self.arguments.fake)
            with open(os.path.join(self.arguments.fake, "libcuda.so.1"), "w", encoding="utf-8") as file:
                file.write("not a library\n")
        self.start("kernel", "NO_DRIVER")

    def cuda_headers_in_host_code(self):
        """The parts of pdl/cudart.h and pdl/cuda_error.h are there behind CUDA's headers, and only then."""
        both = {"cudart", "error"}
        for number, (text, there) in enumerate((('#include "pdl.h"', set()),
                                                ('#include <cuda.h>\n#include "pdl.h"', {"error"}),
                                                ('#include <cuda_runtime_api.h>\n#include "pdl.h"', both),
                                                ('#define PDL_CUDART\n#include "pdl.h"', both),
                                                ('#include "pdl.h"\n#define PDL_CUDART\n#include "pdl.h"', both))):
            for suffix, standard in (("c", "c99"), ("cpp", "c++11")):
                name = f"host{number}.{suffix}"
                with open(name, "w", encoding="utf-8") as file:
                    file.write(text + "\n#ifdef PDL_CUDART_H\nint cudart;\n#endif\n"
                               "#ifdef PDL_CUDA_ERROR_H\nint error;\n#endif\nint always;\n")
                compiler, _ = self.compiler(standard)
                run(*compiler, *STRICT, *self.cuda, "-c", name, "-o", "host.o")
                self.expect_symbols(name, there | {"always"}, "-g", "host.o")

    def same_bytes(self):
        for seed, directory in (("1", "/"), ("2", self.arguments.work)):
            made = os.path.join(self.arguments.work, "again" + seed)
            run(*self.arguments.command, "--out", made, cwd=directory, env=dict(os.environ, PYTHONHASHSEED=seed))
            for name in ("pdl.h", "pdl.c"):
                with open(name, "rb") as first, open(os.path.join(made, name), "rb") as second:
                    if first.read() != second.read():
                        sys.exit(f"{name} differs, made with PYTHONHASHSEED={seed} in {directory}")

    def refuses_what_clashes(self):
        """Sources that would not be one translation unit: each with the message that names the places."""
        script = self.arguments.command[self.arguments.command.index("-B") + 1]
        for sources, message in (
                ({"core/a.c": "static int pdl_same;\n", "core/b.c": "static int pdl_same;\n"},
                 "lib/core/b.c and lib/core/a.c both have a pdl_same"),
                ({"core/a.c": "static int x;\n", "core/b.c": "void pdl_a_x_(void);\n"},
                 "x of lib/core/a.c would become pdl_a_x_, which lib/core/b.c uses"),
                ({"core/a_b.c": "static int c;\n", "core/a.c": "static int b_c;\n"},
                 "b_c of lib/core/a.c and c of lib/core/a_b.c would both become pdl_a_b_c_"),
                ({"core/a.c": "#ifdef X\n#include <stdio.h>\n#endif\n"}, "core/a.c includes stdio.h in a condition"),
                ({"core/a.c": "#include <pdl/other.h>\n"}, "pdl/other.h, which is not a header of the core"),
                ({"core/a.c": '#include "core/a.h"\n', "core/a.h": "#ifndef A\n#define A\nint shared(void);\n#endif\n"},
                 "lib/core/a.h declares shared: what sources share begins with pdl_")):
            shutil.rmtree("root", ignore_errors=True)
            files = {"include/pdl/pdl.h": "#ifndef A\n#define A\n#endif\n", "LICENSE": "None\n"}
            files.update({"lib/" + name: text for name, text in sources.items()})
            for name, text in files.items():
                os.makedirs(os.path.dirname(os.path.join("root", name)), exist_ok=True)
                with open(os.path.join("root", name), "w", encoding="utf-8") as file:
                    file.write(text)
            result = subprocess.run([sys.executable, "-B", script, "--root", "root", "--out", "out", "--version", "1",
                                     "--public", "pdl/pdl.h", "--sources",
                                     *(name for name in sources if name.endswith(".c"))],
                                    check=False, capture_output=True, text=True)
            if result.returncode == 0 or message not in result.stderr or os.path.exists("out"):
                sys.exit(f"expected '{message}', and it returned {result.returncode}: {result.stderr}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    for name in ("files", "source", "work", "cuda-include", "cc", "cxx", "nm", "map"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--nvcc")
    parser.add_argument("--fake")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    test = Test(arguments)
    name, _, option = arguments.case.partition(".")
    if name in ("pdl_c", "header_only"):
        test.consumer(option, name == "header_only")
    elif option:
        getattr(test, name)(option)
    else:
        getattr(test, name)()


if __name__ == "__main__":
    main()
