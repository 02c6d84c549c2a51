#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lints the kernels of the examples: nothing above note but what examples/lint-suppressions.txt explains,
and nothing in that file that is not needed."""

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
    options = parser.parse_args()
    sources = sorted(glob.glob(os.path.join(options.examples, "*.cu")))
    if len(sources) < 9:
        sys.exit(f"only {len(sources)} examples in {options.examples}")
    with tempfile.TemporaryDirectory() as folder:

        def compile_one(source):
            ptx = os.path.join(folder, os.path.basename(source) + ".ptx")
            with open(source, encoding="utf-8") as file:
                launches = ["-rdc=true"] if "<pdl/cdp.cuh>" in file.read() else []
            subprocess.run([options.nvcc, "-std=c++17", "-arch=sm_90", "-lineinfo", "-ptx", "-I", options.include,
                            "-I", options.examples, *launches, "-o", ptx, source], check=True)
            return ptx

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            texts = list(pool.map(compile_one, sources))
        suppressions = os.path.join(options.examples, "lint-suppressions.txt")
        run = subprocess.run([options.pdltool, "lint", "--suppressions", suppressions, *texts],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    sys.stdout.write(run.stdout)
    sys.exit(run.returncode or "unused" in run.stdout)


if __name__ == "__main__":
    main()
