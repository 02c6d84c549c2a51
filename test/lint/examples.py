#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lints the kernels of the examples and of bench's programs as nvcc puts them into programs, where libpdl looks: nothing above note."""

import argparse
import concurrent.futures
import glob
import os
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--bench", required=True)
    options = parser.parse_args()
    programs = ("five_ways", "tensor_parallel", "uneven")  # the rest of bench takes more than a compiler's options
    sources = sorted(glob.glob(os.path.join(options.examples, "*.cu")))
    sources += [os.path.join(options.bench, program + ".cu") for program in programs]
    if len(sources) < 13:
        sys.exit(f"only {len(sources)} examples in {options.examples}")
    with tempfile.TemporaryDirectory() as folder:

        def compile_one(source):
            image = os.path.join(folder, os.path.basename(source) + ".fatbin")
            with open(source, encoding="utf-8") as file:
                launches = ["-rdc=true"] if "<pdl/cdp.cuh>" in file.read() else []
            subprocess.run([options.nvcc, "-std=c++17", "-arch=compute_90", "-lineinfo", "-fatbin", "-I", options.include,
                            *launches, "-o", image, source], check=True)
            return image

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            images = list(pool.map(compile_one, sources))
        sys.exit(subprocess.run([options.pdltool, "lint", *images], check=False).returncode)


if __name__ == "__main__":
    main()
