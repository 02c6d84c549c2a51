#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks of pdl/device.cuh that are not a matter of PTX, and a check of the checks.

    alone       it includes nothing, in no branch of its #ifs
    barriers    the wait and the trigger are written as barriers for the compiler
    host        the host pass of nvcc (and of clang) takes it, with warnings as errors, in each C++ standard
    range       the arithmetic of PDL_PREFETCH_L2_RANGE, run on the host
    broken      each way of breaking it that is listed here makes a probe fail
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import probe

HERE = os.path.dirname(os.path.abspath(__file__))


def must(command):
    result = probe.run(command)
    if result.returncode != 0:
        sys.exit("%s\n%s" % (" ".join(command), probe.beginning(result.stdout)))
    return result.stdout


def read_header(arguments):
    with open(os.path.join(arguments.include, "pdl", "device.cuh"), encoding="utf-8") as file:
        return file.read()


def alone(arguments, _):
    if re.search(r"^\s*#\s*(include|import)", read_header(arguments), flags=re.M):
        return ["device.cuh has an #include"]
    header = os.path.join(arguments.include, "pdl", "device.cuh")
    out = must([arguments.cxx, "-E", "-nostdinc", "-x", "c++", "-D__CUDACC__", "-D__CUDA_ARCH__=900", header])
    files = set(re.findall(r'^# \d+ "([^"]*)"', out, flags=re.M))
    return ["preprocessing reads %s" % f for f in files if f != header and not f.startswith("<")]


def barriers(arguments, _):
    # Read, not probed: nvcc and clang take every volatile asm for a barrier, with a memory clobber or
    # without, but their manuals promise it only for the clobber.
    text = read_header(arguments)
    wanted = ["griddepcontrol.wait", "griddepcontrol.launch_dependents"]
    return ["%s has no memory clobber" % w for w in wanted if 'asm volatile("%s;" ::: "memory")' % w not in text]


def host(arguments, directory):
    for name in ("instructions", "load", "fault"):
        source = os.path.join(HERE, "probes", name + ".cu")
        for standard in probe.STANDARDS:
            command = [arguments.nvcc, "-c", "-arch=sm_90", "-std=" + standard, "-I", arguments.include]
            command += ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
            must(command + [source, "-o", os.path.join(directory, "host.o")])
            if arguments.clang:
                command = [arguments.clang, "-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib"]
                command += ["-fsyntax-only", "-std=" + standard, "-I", arguments.include]
                must(command + ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unknown-cuda-version", source])
    # A C++ file that no CUDA compiler sees may include it too.
    source = os.path.join(directory, "plain.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <pdl/device.cuh>\nvoid waits()\n{\n    PDL_WAIT();\n    PDL_LAUNCH_DEPENDENTS();\n}\n")
    command = [arguments.cxx, "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    must(command + ["-I", arguments.include, source])
    return []


RANGE_MAIN = r"""
#include <cstdio>
struct piece {
    unsigned long long at;
    unsigned size;
};
static piece pieces[64];
static unsigned count;
#define PDL_DEVICE_INLINE_ static inline
@FUNCTION@
int main()
{
    const unsigned long long offsets[] = {0, 1, 8, 15, 16, 17, 127, 4095};
    const unsigned long long sizes[] = {0, 1, 2, 14, 15, 16, 17, 31, 32, 33, 4096, 0x3fffffff, 0x40000000,
                                        0x40000001, 0x80000000, 0x100000000, 0x140000123};
    for (unsigned long long offset : offsets) {
        for (unsigned long long size : sizes) {
            const unsigned long long begin = 0x7f0000000000ull + offset;
            count = 0;
            pdl_prefetch_l2_range_((const void *)begin, size);
            unsigned long long at = begin & ~15ull;
            bool right = size == 0 ? count == 0 : count > 0;
            for (unsigned i = 0; i < count; i++) {
                right = right && pieces[i].at == at && pieces[i].size > 0 && pieces[i].size % 16 == 0;
                at += pieces[i].size;
            }
            /* All of it, and less than 16 bytes more on each side. */
            right = right && (size == 0 || (at >= begin + size && at - (begin + size) < 16));
            if (!right) {
                std::printf("offset %llu, %llu bytes: %u pieces, up to %llx\n", offset, size, count, at);
                return 1;
            }
        }
    }
    return 0;
}
"""


def range_arithmetic(arguments, directory):
    """Runs the header's own function, with a record of each piece in the instruction's place."""
    match = re.search(r"^PDL_DEVICE_INLINE_ void pdl_prefetch_l2_range_\(.*?^}", read_header(arguments), re.M | re.S)
    if not match:
        return ["pdl_prefetch_l2_range_ is not where it was"]
    assembly = r'asm volatile\("[^;]*?cp\.async\.bulk\.prefetch\.L2\.global \[a\], %1; \}" ::"l"\(at\),\s*"r"\(size\)\s*: "memory"\);'
    assembly = assembly.replace('"[^;]*?cp', r'"\{ \.reg \.u64 a; cvta\.to\.global\.u64 a, %0;"\s*" cp')
    function, replaced = re.subn(assembly, "pieces[count++] = piece{at, size};", match.group(0))
    if replaced != 1:
        return ["the instruction in pdl_prefetch_l2_range_ is not written as it was"]
    source, program = os.path.join(directory, "range.cpp"), os.path.join(directory, "range")
    with open(source, "w", encoding="utf-8") as file:
        file.write(RANGE_MAIN.replace("@FUNCTION@", function))
    must([arguments.cxx, "-std=c++11", "-Wall", "-Wextra", "-Werror", source, "-o", program])
    result = probe.run([program])
    return [] if result.returncode == 0 else [result.stdout or "the program failed"]


# What is broken, in which probe it must show, and how: (old, new), each found in the header.
BREAKS = [
    ("PDL_RESTRICT is __restrict__", "barrier", [("#define PDL_RESTRICT\n", "#define PDL_RESTRICT __restrict__\n")]),
    ("PDL_RESTRICT is nothing below 9.0", "barrier", [("#define PDL_RESTRICT __restrict__", "#define PDL_RESTRICT")]),
    ("there is no guard", "instructions", [("__CUDA_ARCH__ >= 900", "__CUDA_ARCH__ >= 100")]),
    ("the guard is too high", "instructions", [("__CUDA_ARCH__ >= 900", "__CUDA_ARCH__ >= 1000")]),
    ("the wait does not wait", "instructions", [('"griddepcontrol.wait;"', '""')]),
    ("the trigger is a wait", "instructions", [("griddepcontrol.launch_dependents;", "griddepcontrol.wait;")]),
    ("the line is prefetched into L1", "instructions", [("prefetch.global.L2 [a]", "prefetch.global.L1 [a]")]),
    ("a range is one piece", "instructions", [("while (at < end)", "if (at < end)")]),
    (
        "another place is the default trigger",
        "trigger_point",
        [("#define PDL_TRIGGER_SELECT 0", "#define PDL_TRIGGER_SELECT 1")],
    ),
    (
        "PDL_LOAD is an ordinary load",
        "load",
        [
            (
                "pdl_loader_<alignof(T) == sizeof(T)>::load(bits, (const void *)pointer);",
                "PDL_MEMCPY_(&bits, (const void *)pointer, sizeof(T));",
            )
        ],
    ),
    ("PDL_LOAD is non-coherent", "load", [('"ld.u32 %0', '"ld.global.nc.u32 %0')]),
    (
        "PDL_LOAD may be moved",
        "load",
        [
            (
                'asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory")',
                'asm("ld.u32 %0, [%1];" : "=r"(value) : "l"(from))',
            )
        ],
    ),
    (
        "PDL_LOAD takes 16 bytes aligned to 8 in one load",
        "load",
        [("pdl_loader_<alignof(T) == sizeof(T)>", "pdl_loader_<true>")],
    ),
    ("the fault does not sleep", "fault", [("::pdl_fault_sleep_()", "((void)0)")]),
    ("the fault sleeps once", "fault", [("} while (now - start <", "} while (0 && now - start <")]),
    ("a fault of 0 is on", "fault", [("&& (0 - PDL_FAULT_INJECT - 1) != -1", "")]),
    (
        "the fault is always there",
        "fault",
        [("#if defined(PDL_FAULT_INJECT) && (0 - PDL_FAULT_INJECT - 1) != -1 && ", "#if ")],
    ),
]


def broken(arguments, directory):
    text, wrong = read_header(arguments), []
    copy = os.path.join(directory, "include", "pdl", "device.cuh")
    os.makedirs(os.path.dirname(copy))
    # NVRTC takes a tenth of the time: nvcc reads the Runtime's headers first.
    kind, program = ("nvrtc", arguments.nvrtc) if arguments.nvrtc else ("nvcc", arguments.nvcc)
    compiler = probe.Compiler(kind, program, os.path.join(directory, "include"), None)
    for what, name, changes in BREAKS:
        changed = text
        for old, new in changes:
            if old not in changed:
                wrong.append("%s: the header no longer has '%s'" % (what, old))
            changed = changed.replace(old, new)
        with open(copy, "w", encoding="utf-8") as file:
            file.write(changed)
        probed = probe.Probe(os.path.join(HERE, "probes", name + ".cu"))
        _, found = probe.check(probed, compiler, [80, 90], False, directory, every_standard=False)
        failures = [line for line in found if "expected:" in line]
        if not failures:
            wrong.append("%s: no kernel of %s.cu shows it%s" % (what, name, ", ".join([""] + found)))
    return wrong


def main():
    checks = {"alone": alone, "barriers": barriers, "host": host, "range": range_arithmetic, "broken": broken}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=checks)
    parser.add_argument("--include", required=True, help="the directory that holds pdl/device.cuh")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--cxx", required=True, help="the host's C++ compiler")
    parser.add_argument("--nvrtc", help="the program nvrtc_probe")
    parser.add_argument("--clang", help="a clang that compiles CUDA")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        wrong = checks[arguments.check](arguments, directory)
    print("\n".join(wrong) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
