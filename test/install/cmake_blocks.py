#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds what the documents say in CMake: every fenced block that is marked as cmake, with the installed package.

A block with a project() is a project as it stands, and the file that a reader copies. Any other is a part of one: it gets
a project in front of it with the targets that it needs. Sources are stand-ins with a kernel that waits.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HEADER = """cmake_minimum_required(VERSION 3.25)
set(CMAKE_CUDA_ARCHITECTURES 90)
project(part LANGUAGES C CUDA)
"""
TARGETS = {"program": "add_executable(program program.c)\n",
           "kernels": "find_package(pdl REQUIRED)\nadd_library(kernels STATIC kernels.cu)\n"
                      "target_link_libraries(kernels PRIVATE pdl::headers)\n"}
KERNEL = """#include <pdl/device.cuh>
__global__ void %s(float *x)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    x[threadIdx.x] += 1.0f;
}
"""


def blocks(path):
    """Yields (line, text)."""
    text = path.read_text(encoding="utf-8")
    for block in re.finditer(r"^```cmake\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, block.start()) + 2, block.group(1)


def write_project(folder, text, source):
    """Writes the project, with a source for each name in it."""
    if not re.search(r"^\s*project\(", text, re.MULTILINE):
        needed = [name for name in TARGETS if re.search(r"\b%s\b" % name, text)]
        text = HEADER + "".join(TARGETS[name] for name in needed
                                if not re.search(r"add_\w+\(%s\b" % name, text)) + text
    (folder / "CMakeLists.txt").write_text(text, encoding="utf-8")
    for name in re.findall(r"\b(\w+)\.(?=cu\b)", text):
        (folder / (name + ".cu")).write_text(KERNEL % name, encoding="utf-8")
    for name in re.findall(r"\b\w+\.c\b", text):
        (folder / name).write_text("#include <pdl/pdl.h>\nint main(void)\n{\n    return pdl_version() == 0;\n}\n", encoding="utf-8")
    for name in re.findall(r"[\w-]+\.txt\b|\.pdl-lint\b", text):
        if name != "CMakeLists.txt":
            (folder / name).write_text("", encoding="utf-8")
    os.symlink(source, folder / "libpdl")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--cuda-include", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    count = failed = 0
    for page in arguments.pages:
        for line, text in blocks(page):
            count += 1
            with tempfile.TemporaryDirectory() as directory:
                folder = pathlib.Path(directory)
                write_project(folder, text, arguments.source)
                configure = ["cmake", "-S", folder, "-B", folder / "build", "-G", arguments.generator,
                             "-D", "CMAKE_PREFIX_PATH=" + arguments.prefix, "-D", "CMAKE_CUDA_COMPILER=" + arguments.nvcc,
                             "-D", "PDL_CUDA_INCLUDE_DIR=" + arguments.cuda_include]
                for command in configure, ["cmake", "--build", folder / "build", "--parallel", "2"]:
                    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                    # Where no architecture is named, waits are compiled out, and there is nothing to lint.
                    old = re.search(r"\bpdl_lint_ptx_\w+_([1-8]\d)\b", result.stdout)
                    if result.returncode != 0 or old:
                        failed += 1
                        print("%s:%d: the block does not build%s\n%s" % (
                            page, line, " for 9.0" if old else "", result.stdout))
                        break
    print("%d of %d blocks build" % (count - failed, count))
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
