#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Searches triggers for kernels that were written without PDL, as docs/instrument.md says: instruments them with a trigger
at each point, and lets pdltool tune choose. Exit status: 0; 1 if the chosen chain is not that of instrumented kernels, or a
result differs; 77 if there is no device."""

import argparse
import array
import json
import os
import random
import subprocess
import sys
import tempfile

KERNELS = r"""
extern "C" __global__ void gemv(const float *weights, const float *x, float *y, int columns)
{
    const float *row = weights + (size_t)(blockIdx.x * blockDim.y + threadIdx.y) * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32) {
        sum += row[i] * x[i];
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x * blockDim.y + threadIdx.y] = sum;
    }
}

extern "C" __global__ void rms_norm(const float *x, float *y, int count)
{
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += 32) {
        sum += x[i] * x[i];
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
    }
    for (int i = threadIdx.x; i < count; i += 32) {
        y[i] = x[i] * rsqrtf(sum / count + 1e-5f);
    }
}
"""
SIZE = 2048


def chain(points):
    """Products and norms, 32 of each, with the images of all triggers."""
    links = [f"launch norm x y i32:{SIZE}\nlaunch product w{i} y x i32:{SIZE}" for i in range(8)]
    return "\n".join([
        *[f"image {n} {n}.ptx" for n in range(-1, points)],
        *[f"buffer w{i} bytes={4 * SIZE * SIZE} constant file=w{i}" for i in range(8)],
        f"buffer x bytes={4 * SIZE} file=x", f"buffer y bytes={4 * SIZE}",
        "kernel norm code=rms_norm grid=1 block=32 trigger=-1",
        f"kernel product code=gemv grid={SIZE // 8} block=32x8 trigger=-1",
        "repeat 4", *links, "end", ""])  # fmt: skip


def write_data(path):
    """Weights and a vector; a row of random numbers is enough, at another place in each file."""
    some = random.Random(1)
    values = array.array("f", (some.uniform(-1, 1) for _ in range(SIZE + 8))).tobytes()
    for i in range(8):
        with open(path(f"w{i}"), "wb") as file:
            file.write(values[4 * i : 4 * (i + SIZE)] * SIZE)
    with open(path("x"), "wb") as file:
        file.write(values[: 4 * SIZE])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--budget", default="40", help="seconds of search")
    parser.add_argument("--output", help="for the JSON of pdltool tune")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)

        def instrument(trigger):
            done = subprocess.run([options.pdltool, "instrument", "--no-project", "--trigger", str(trigger), "--json", "-o",
                                   path(f"{-1 if trigger == 'none' else trigger}.ptx"), path("kernels.ptx")],
                                  check=True, stdout=subprocess.PIPE)
            return max(kernel["trigger_points"] or 0 for kernel in json.loads(done.stdout)["kernels"])

        with open(path("kernels.cu"), "w", encoding="utf-8") as file:
            file.write(KERNELS)
        subprocess.run([options.nvcc, "-arch=sm_90", "-ptx", "-o", path("kernels.ptx"), path("kernels.cu")], check=True)
        instrument("none")
        points = instrument(0)
        for point in range(1, points):
            instrument(point)
        write_data(path)
        with open(path("it.pdltune"), "w", encoding="utf-8") as file:
            file.write(chain(points))
        done = subprocess.run([options.pdltool, "tune", path("it.pdltune"), "--budget", options.budget, "--rounds", "9", "--json"],
                              check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        print(done.stderr)
        if done.returncode != 0:
            return 77 if "no cuda d" in done.stderr.lower() else 1
        tuned = json.loads(done.stdout)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(tuned, file, indent=1)
    states = [point["state"] for curve in tuned["curves"] for point in curve["points"]]
    print(f"{points} points; {len(states)} measured, states: {sorted(set(states))}")
    return 0 if len(states) > points and set(states) == {"right"} else 1


if __name__ == "__main__":
    sys.exit(main())
