#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks of pdl/device.cuh and pdl/trace.cuh that are not a matter of the order of instructions.

    alone       it includes nothing, in no branch of its #ifs
    barriers    the wait and the trigger are written as barriers for the compiler
    host        the host pass of nvcc (and of clang) takes it, with warnings as errors, in each C++ standard
    range       the arithmetic of PDL_PREFETCH_L2_RANGE, run on the host

    trace_off        without PDL_TRACE the code is, to the byte, that of a kernel which never heard of a trace
    trace_registers  with it, a kernel takes hardly more registers
    trace_again      included again, the macros follow PDL_TRACE
    trace_host       the host pass takes it, beside pdl/trace.h too, with warnings as errors
"""

import argparse
import os
import re
import sys
import tempfile

import probe

HERE = os.path.dirname(os.path.abspath(__file__))


def read_header(arguments):
    with open(os.path.join(arguments.include, "pdl", "device.cuh"), encoding="utf-8") as file:
        return file.read()


def alone(arguments, _):
    if re.search(r"^\s*#\s*(include|import)", read_header(arguments), flags=re.M):
        return ["device.cuh has an #include"]
    header = os.path.join(arguments.include, "pdl", "device.cuh")
    out = probe.must([arguments.cxx, "-E", "-nostdinc", "-x", "c++", "-D__CUDACC__", "-D__CUDA_ARCH__=900", header])
    files = set(re.findall(r'^# \d+ "([^"]*)"', out, flags=re.M))
    return ["preprocessing reads %s" % f for f in files if f != header and not f.startswith("<")]


def barriers(arguments, _):
    # Read, not probed: nvcc and clang take every volatile asm for a barrier, with a memory clobber or
    # without, but their manuals promise it only for the clobber.
    text = read_header(arguments)
    wanted = ["griddepcontrol.wait", "griddepcontrol.launch_dependents"]
    return ["%s has no memory clobber" % w for w in wanted if 'asm volatile("%s;" ::: "memory")' % w not in text]


def plain_host(arguments, directory, headers, text):
    """A C++ file that no CUDA compiler sees may include them too."""
    source = os.path.join(directory, "plain.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write("".join("#include <pdl/%s>\n" % header for header in headers) + text)
    command = [arguments.cxx, "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    probe.must(command + ["-I", arguments.include, source])


def host(arguments, directory):
    for name in ("instructions", "load", "fault"):
        source = os.path.join(HERE, "probes", name + ".cu")
        for standard in probe.STANDARDS:
            command = [arguments.nvcc, "-c", "-arch=sm_90", "-std=" + standard, "-I", arguments.include]
            command += ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
            probe.must(command + [source, "-o", os.path.join(directory, "host.o")])
            if arguments.clang:
                command = [arguments.clang, "-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib"]
                command += ["-fsyntax-only", "-std=" + standard, "-I", arguments.include]
                probe.must(command + ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unknown-cuda-version", source])
    plain_host(arguments, directory, ["device.cuh"], "void waits()\n{\n    PDL_WAIT();\n    PDL_LAUNCH_DEPENDENTS();\n}\n")
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
    probe.must([arguments.cxx, "-std=c++11", "-Wall", "-Wextra", "-Werror", source, "-o", program])
    result = probe.run([program])
    return [] if result.returncode == 0 else [result.stdout or "the program failed"]


# ---- pdl/trace.cuh

LAYER = r"""
#include <pdl/%(header)s.cuh>
#define TILE 256
extern "C" __global__ void __launch_bounds__(TILE) layer(const float *w, const float *x, float *y,
                                                         int cols%(parameter)s)
{
    __shared__ float sums[TILE];
    %(begin)s;
    float sum = 0, first = w[blockIdx.x * cols + threadIdx.x];
    %(wait)s;
    for (int i = threadIdx.x; i < cols; i += TILE) {
        sum += (i == threadIdx.x ? first : w[blockIdx.x * cols + i]) * x[i];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    %(trigger)s;
    for (int half = TILE / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sums[0];
    }
    %(end)s;
}
"""
PLAIN = {
    "header": "device",
    "parameter": "",
    "begin": "",
    "wait": "PDL_WAIT()",
    "trigger": "PDL_LAUNCH_DEPENDENTS()",
    "end": "",
}
TRACED = {
    "header": "trace",
    "parameter": " PDL_TRACE_PARAMETER",
    "begin": "PDL_TRACE_BEGIN()",
    "wait": "PDL_TRACE_WAIT()",
    "trigger": "PDL_TRACE_LAUNCH_DEPENDENTS()",
    "end": "PDL_TRACE_END()",
}


def build_layer(arguments, directory, traced, arch, kind, options=()):
    """The bytes of the PTX or the cubin. The source has one name, because some outputs hold it."""
    source, output = os.path.join(directory, "kernel.cu"), os.path.join(directory, "kernel." + kind)
    with open(source, "w", encoding="utf-8") as file:
        file.write(LAYER % (TRACED if traced else PLAIN))
    probe.must([arguments.nvcc, "-" + kind, "-arch=sm_%d" % arch, "-std=c++17", "-I", arguments.include, *options,
                source, "-o", output])
    with open(output, "rb") as file:
        return file.read()


def trace_off(arguments, directory):
    wrong = []
    for arch in (80, 90, 100):
        for kind in ("ptx", "cubin"):
            plain = build_layer(arguments, directory, False, arch, kind)
            for options in ([], ["-DPDL_TRACE=0"]):
                if build_layer(arguments, directory, True, arch, kind, options) != plain:
                    wrong.append("sm_%d %s %s: the code is not that of a plain kernel" % (arch, kind, options))
            if build_layer(arguments, directory, True, arch, kind, ["-DPDL_TRACE=1"]) == plain:
                wrong.append("sm_%d %s: the trace changes nothing, so that this test says nothing" % (arch, kind))
    return wrong


def trace_registers(arguments, directory):
    used = []
    for traced in (False, True):
        out = build_layer(arguments, directory, traced, 90, "ptx", ["-DPDL_TRACE=1"])
        ptx = os.path.join(directory, "registers.ptx")
        with open(ptx, "wb") as file:
            file.write(out)
        out = probe.must([arguments.ptxas, "-arch=sm_90", "-v", ptx, "-o", os.devnull])
        used.append(int(re.search(r"Used (\d+) registers", out).group(1)))
    print("%d registers without the trace, %d with it" % tuple(used))
    return ["the trace takes %d registers more" % (used[1] - used[0])] if used[1] > used[0] + 4 else []


AGAIN = r"""
#define PDL_TRACE 1
#include <pdl/trace.cuh>
#include <pdl/trace.h>
__global__ void with_trace(int *x PDL_TRACE_PARAMETER)
{
    PDL_TRACE_BEGIN();
    *x = 1;
    PDL_TRACE_END();
}
__global__ void only(PDL_TRACE_ONLY_PARAMETER)
{
    PDL_TRACE_BEGIN();
    PDL_TRACE_END();
}
static void launch(pdl_trace_launch stamps)
{
    with_trace<<<1, 1>>>(nullptr PDL_TRACE_ARGUMENT(stamps));
    only<<<1, 1>>>(PDL_TRACE_ONLY_ARGUMENT(stamps));
}
#undef PDL_TRACE
#define PDL_TRACE 0
#include <pdl/trace.cuh>
__global__ void without_trace(int *x PDL_TRACE_PARAMETER)
{
    PDL_TRACE_BEGIN();
    *x = 1;
    PDL_TRACE_END();
}
__global__ void nothing(PDL_TRACE_ONLY_PARAMETER)
{
    PDL_TRACE_BEGIN();
    PDL_TRACE_END();
}
static void launch_without()
{
    without_trace<<<1, 1>>>(nullptr PDL_TRACE_ARGUMENT(not_there));
    nothing<<<1, 1>>>(PDL_TRACE_ONLY_ARGUMENT(not_there));
}
int main()
{
    launch(pdl_trace_launch());
    launch_without();
}
"""


def compile_again(arguments, directory, *options):
    source = os.path.join(directory, "again.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write(AGAIN)
    probe.must([arguments.nvcc, "-arch=sm_90", "-I", arguments.include, *options, source])


def trace_again(arguments, directory):
    output = os.path.join(directory, "again.ptx")
    compile_again(arguments, directory, "-ptx", "-o", output)
    with open(output, encoding="utf-8") as file:
        stamps = {name: "globaltimer" in body for name, body in probe.ptx_kernels(file.read())}
    expected = ["with_trace", "only"]
    wrong = [name for name in stamps if stamps[name] != any(re.search(r"^_Z\d+%s[A-Z\d]*" % e, name) for e in expected)]
    return wrong + ([] if len(stamps) == 4 else ["found the kernels %s" % sorted(stamps)])


def trace_host(arguments, directory):
    for standard in probe.STANDARDS:
        options = ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
        compile_again(arguments, directory, "-c", "-std=" + standard, *options, "-o", os.path.join(directory, "again.o"))
    for order in (("trace.h", "trace.cuh"), ("trace.cuh", "trace.h")):
        plain_host(arguments, directory, order, 'static_assert(sizeof(pdl_trace_launch) == 24, "");\n'
                   "void waits()\n{\n    PDL_TRACE_BEGIN();\n    PDL_TRACE_WAIT();\n    PDL_TRACE_END();\n}\n")
    return []


def main():
    checks = {"alone": alone, "barriers": barriers, "host": host, "range": range_arithmetic,
              "trace_off": trace_off, "trace_registers": trace_registers, "trace_again": trace_again,
              "trace_host": trace_host}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=checks)
    parser.add_argument("--include", required=True, help="the directory that holds pdl/device.cuh")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--cxx", required=True, help="the host's C++ compiler")
    parser.add_argument("--clang", help="a clang that compiles CUDA")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        wrong = checks[arguments.check](arguments, directory)
    print("\n".join(wrong) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
