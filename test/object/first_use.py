#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the first question about a symbol in programs of so many kernels, 1,000 a source, and prints JSON lines."""

import argparse
import concurrent.futures
import os
import subprocess
import tempfile

KERNEL = """extern "C" __global__ void kernel_%d(float *x, const float *y)
{
    %s
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    x[i] = y[i] * %d.f + x[i];
    PDL_LAUNCH_DEPENDENTS();
}
"""
SYMBOLS = """struct symbol { const void *stub; const char *name; };
extern "C" const symbol *own_symbols(void)
{
    static const symbol symbols[] = {{(const void *)kernel_0, "kernel_0"}, {(const void *)kernel_1, "kernel_1"}};
    return symbols;
}
"""


def write(path, first, count):
    with open(path, "w", encoding="ascii") as file:
        file.write("#include <pdl/device.cuh>\n")
        for i in range(first, first + count):
            file.write(KERNEL % (i, "PDL_WAIT();" if i % 3 else "", i))
        if first == 0:
            file.write(SYMBOLS)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--library", required=True, help="libpdl.a")
    parser.add_argument("--option", action="append", default=[], help="of nvcc, such as --compress-mode=none")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("kernels", type=int, nargs="+")
    given = parser.parse_args()
    include = ["-I", os.path.join(given.root, "include"), "-I", os.path.join(given.root, "lib")]
    options = ["-arch=sm_90", *given.option]
    with tempfile.TemporaryDirectory() as folder:
        probe = os.path.join(folder, "probe.o")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "first_use.c")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", *include, "-c", source, "-o", probe], check=True)
        for total in given.kernels:
            sources = []
            for first in range(0, total, 1000):
                sources.append(os.path.join(folder, f"{total}_{first}.cu"))
                write(sources[-1], first, min(1000, total - first))
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(lambda path: subprocess.run([given.nvcc, *options, *include, "-c", path, "-o", path + ".o"],
                                                          check=True), sources))
            program = os.path.join(folder, f"program_{total}")
            subprocess.run([given.nvcc, *options, *[path + ".o" for path in sources], probe, given.library,
                            "-ldl", "-lpthread", "-o", program], check=True)
            for _ in range(given.runs):
                subprocess.run([program, f"a program of {total} kernels, {os.path.getsize(program) // 1000} kB"], check=True)


if __name__ == "__main__":
    main()
