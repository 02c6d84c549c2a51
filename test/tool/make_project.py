#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a CMake project with kernels that overlap, for measurements of pdltool lint -p: DIRECTORY, and how many files.

Every file has a header of its own and one that all share. Of ten kernels one reads before it waits."""

import argparse
import os

LISTS = """cmake_minimum_required(VERSION 3.25)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90a)
endif()
project(kernels LANGUAGES CUDA)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CUDA_STANDARD 17)
add_library(kernels STATIC {sources})
target_include_directories(kernels PRIVATE include)
target_compile_definitions(kernels PRIVATE "NAME=\\"a name\\"")
target_compile_options(kernels PRIVATE -lineinfo --expt-relaxed-constexpr)
"""

SHARED = """#pragma once
template <typename T>
__device__ inline T scaled(const T *x, int i, float by)
{
    return static_cast<T>(static_cast<float>(x[i]) * by);
}
"""

OWN = """#pragma once
constexpr float factor_{number} = {number}.0f;
"""

SOURCE = """#include "own_{number}.cuh"
#include "shared.cuh"
{includes}
template <typename T, int Width>
__global__ void scale_{number}(const T *x, T *y, int n)
{{
    __shared__ T tile[Width];
    const int i = blockIdx.x * Width + threadIdx.x;
{before}    tile[threadIdx.x] = i < n ? scaled(x, i, factor_{number}) : T(0);
{after}    __syncthreads();
    if (i < n) {{
        y[i] = tile[Width - 1 - threadIdx.x];
    }}
}}

template __global__ void scale_{number}<float, 128>(const float *, float *, int);
template __global__ void scale_{number}<float, 256>(const float *, float *, int);
template __global__ void scale_{number}<double, 128>(const double *, double *, int);
"""

WAIT = "    cudaGridDependencySynchronize();\n"


def is_broken(number):
    return number % 10 == 3


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def make(directory, count, includes=()):
    """The names of the sources, relative to the directory."""
    sources = [f"kernels/scale_{number}.cu" for number in range(count)]
    write(os.path.join(directory, "CMakeLists.txt"), LISTS.format(sources=" ".join(sources)))
    write(os.path.join(directory, "include", "shared.cuh"), SHARED)
    for number, source in enumerate(sources):
        write(os.path.join(directory, "include", f"own_{number}.cuh"), OWN.format(number=number))
        text = SOURCE.format(
            number=number,
            includes="".join(f"#include <{name}>\n" for name in includes),
            before="" if is_broken(number) else WAIT,
            after=WAIT if is_broken(number) else "",
        )
        write(os.path.join(directory, source), text)
    return sources


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory")
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--include", action="append", default=[], help="a header that every source includes as well: cub/cub.cuh")
    arguments = parser.parse_args()
    make(arguments.directory, arguments.files, arguments.include)


if __name__ == "__main__":
    main()
