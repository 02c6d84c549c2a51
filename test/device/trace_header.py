#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks of pdl/trace.cuh that are not a matter of the order of instructions.

    same        without PDL_TRACE the code is, to the byte, that of a kernel which never heard of a trace
    registers   with it, a kernel takes hardly more registers
    again       included again, the macros follow PDL_TRACE
    host        the host pass takes it, beside pdl/trace.h too, with warnings as errors
"""

import argparse
import os
import re
import sys
import tempfile

import probe

KERNEL = r"""
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


def must(command):
    result = probe.run(command)
    if result.returncode != 0:
        sys.exit("%s\n%s" % (" ".join(command), probe.beginning(result.stdout)))
    return result.stdout


class Builder:
    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.directory = directory

    def build(self, parts, arch, kind, options=()):
        """The bytes of the PTX or the cubin. The source has one name, because some outputs hold it."""
        source = os.path.join(self.directory, "kernel.cu")
        output = os.path.join(self.directory, "kernel." + kind)
        with open(source, "w", encoding="utf-8") as file:
            file.write(KERNEL % parts)
        command = [self.arguments.nvcc, "-" + kind, "-arch=sm_%d" % arch, "-std=c++17"]
        must(command + ["-I", self.arguments.include, *options, source, "-o", output])
        with open(output, "rb") as file:
            return file.read()


def same(builder):
    wrong = []
    for arch in (80, 90, 100):
        for kind in ("ptx", "cubin"):
            plain = builder.build(PLAIN, arch, kind)
            for options in ([], ["-DPDL_TRACE=0"]):
                if builder.build(TRACED, arch, kind, options) != plain:
                    wrong.append("sm_%d %s %s: the code is not that of a plain kernel" % (arch, kind, options))
            if builder.build(TRACED, arch, kind, ["-DPDL_TRACE=1"]) == plain:
                wrong.append("sm_%d %s: the trace changes nothing, so that this test says nothing" % (arch, kind))
    return wrong


def registers(builder):
    used = []
    for parts, options in ((PLAIN, []), (TRACED, ["-DPDL_TRACE=1"])):
        ptx = os.path.join(builder.directory, "registers.ptx")
        with open(ptx, "wb") as file:
            file.write(builder.build(parts, 90, "ptx", options))
        out = must([builder.arguments.ptxas, "-arch=sm_90", "-v", ptx, "-o", os.devnull])
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


def compile_again(builder, *options):
    source = os.path.join(builder.directory, "again.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write(AGAIN)
    must([builder.arguments.nvcc, "-arch=sm_90", "-I", builder.arguments.include, *options, source])


def again(builder):
    output = os.path.join(builder.directory, "again.ptx")
    compile_again(builder, "-ptx", "-o", output)
    with open(output, encoding="utf-8") as file:
        stamps = {name: "globaltimer" in body for name, body in probe.ptx_kernels(file.read())}
    expected = ["with_trace", "only"]
    wrong = [name for name in stamps if stamps[name] != any(re.search(r"^_Z\d+%s[A-Z\d]*" % e, name) for e in expected)]
    return wrong + ([] if len(stamps) == 4 else ["found the kernels %s" % sorted(stamps)])


def host(builder):
    for standard in probe.STANDARDS:
        output = os.path.join(builder.directory, "again.o")
        options = ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
        compile_again(builder, "-c", "-std=" + standard, *options, "-o", output)
    source = os.path.join(builder.directory, "plain.cpp")
    for order in (("trace.h", "trace.cuh"), ("trace.cuh", "trace.h")):
        with open(source, "w", encoding="utf-8") as file:
            file.write("".join("#include <pdl/%s>\n" % header for header in order))
            file.write("static_assert(sizeof(pdl_trace_launch) == 24, \"\");\n")
            file.write("void waits()\n{\n    PDL_TRACE_BEGIN();\n    PDL_TRACE_WAIT();\n    PDL_TRACE_END();\n}\n")
        command = [builder.arguments.cxx, "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
        must(command + ["-I", builder.arguments.include, source])
    return []


def main():
    checks = {"same": same, "registers": registers, "again": again, "host": host}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("check", choices=sorted(checks))
    parser.add_argument("--include", required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--cxx", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        wrong = checks[arguments.check](Builder(arguments, directory))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
