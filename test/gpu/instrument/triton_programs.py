#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program of Triton kernels in a CUDA graph: 64 norms and matrix-vector products in a line, of some widths. Every variant
is compiled in one process, so that their replays interleave: as Triton compiles the kernels, and instrumented and launched
with overlap by pdl_triton, with each pair of triggers. Prints a line of JSON for each width and variant: the time, and in
how many trials a bit of the result was another. Exits with 1 where one was, and with 77 where PyTorch, Triton or a device
is not there."""

import argparse
import itertools
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "triton"))

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(77)

import pdl_triton

# VARIANT only makes kernels of their own for each way to instrument them.


@triton.jit
def rms_norm(x, weight, y, count, BLOCK: tl.constexpr, VARIANT: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    mask = columns < count
    scale = tl.load(weight + columns, mask=mask, other=0.0).to(tl.float32)
    row = tl.program_id(0) * count + columns
    values = tl.load(x + row, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(values * values, axis=0) / count
    tl.store(y + row, (values * tl.rsqrt(mean + 1e-5) * scale).to(tl.bfloat16), mask=mask)


@triton.jit
def product(x, weight, y, count, ROWS: tl.constexpr, BLOCK: tl.constexpr, VARIANT: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    tile = tl.load(weight + rows[:, None] * count + columns[None, :], mask=columns[None, :] < count, other=0.0)
    values = tl.load(x + columns, mask=columns < count, other=0.0).to(tl.float32)
    tl.store(y + rows, tl.sum(tile.to(tl.float32) * values[None, :], axis=1).to(tl.bfloat16))


def microseconds(call, repeats):
    """Device time of one call, when `repeats` are in the stream."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / repeats


def capture(call):
    """A graph of one call, and its result. The call ran before."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()
    torch.cuda.synchronize()
    return graph, result


def bfloat16(*size):
    return torch.randn(*size, device="cuda").to(torch.bfloat16)


class ProductNorm:
    """A norm, a matrix-vector product, a norm, ..., of one row. The weights are more than the L2 cache holds."""
    kernels = 64

    def __init__(self, width, rows):
        self.name, self.width, self.rows = f"products and norms, {width}, {rows} rows per block", width, rows
        self.input = bfloat16(width)
        self.scales = [bfloat16(width) for _ in range(self.kernels // 2)]
        self.weights = [bfloat16(width, width) for _ in range(self.kernels // 2)]

    def steps(self, norm, other):
        buffers = [torch.empty_like(self.input) for _ in range(2)]
        block = triton.next_power_of_2(self.width)

        def run():
            x = self.input
            for scale, weight in zip(self.scales, self.weights):
                rms_norm[(1,)](x, scale, buffers[0], self.width, BLOCK=block, VARIANT=norm, num_warps=8)
                product[(self.width // self.rows,)](buffers[0], weight, buffers[1], self.width, ROWS=self.rows,
                                                    BLOCK=block, VARIANT=other, num_warps=8)
                x = buffers[1]
            return x

        return run


CONSTANT = ("rms_norm:2", "product:2")
TRIGGERS = ("none", "wait", "last-read")
# The triggers are those of the norm and of the product.
VARIANTS = {"plain": {"wait": "off", "triggers": ("", "")},
            **{f"entry, {first} and {second}": {"wait": "entry", "triggers": (first, second)}
               for first, second in itertools.product(TRIGGERS, TRIGGERS)},
            **{f"hoist, weights constant, {trigger} and {trigger}": {"wait": "hoist", "triggers": (trigger, trigger),
                                                                     "constant_params": CONSTANT} for trigger in TRIGGERS}}


def different(graphs, shape, trials):
    """By variant: in how many of `trials` with inputs of their own a bit of the result differs from that of `plain`."""
    counts = {name: torch.zeros((), dtype=torch.int64, device="cuda") for name in graphs}
    for _ in range(trials):
        shape.input.copy_(bfloat16(*shape.input.shape))
        results = {}
        for name, (graph, result) in graphs.items():
            graph.replay()
            results[name] = result.clone().view(torch.int16)
        for name, result in results.items():
            counts[name] += (result != results["plain"]).any()
    return {name: int(count) for name, count in counts.items()}


class Compiled:
    """A shape, in each variant that could be compiled."""

    def __init__(self, shape, pdltool):
        self.shape, self.graphs, ways = shape, {}, []
        for name, settings in VARIANTS.items():
            settings = dict(settings)
            norm, other = settings.pop("triggers")
            numbers = []
            for trigger in (norm, other):
                if (settings, trigger) not in ways:
                    ways.append((settings, trigger))
                numbers.append(ways.index((settings, trigger)))
            try:
                pdl_triton.enable(pdltool=pdltool, trigger={"rms_norm": norm, "*": other}, **settings)
                call = shape.steps(*numbers)
                call()
                self.graphs[name] = capture(call)
            except Exception as error:  # pylint: disable=broad-except
                print(f"{shape.name}, {name}: {type(error).__name__}: {error}"[:600], file=sys.stderr)

    def measure(self, rounds, trials):
        """By variant: µs per kernel, and in how many trials a bit was different."""
        times = {name: [] for name in self.graphs}
        for _ in range(rounds):
            for name, (graph, _) in self.graphs.items():
                times[name].append(microseconds(graph.replay, 4) / self.shape.kernels)
        wrong = different(self.graphs, self.shape, trials)
        return {name: {"us": round(statistics.median(found), 3), "different": wrong[name], "trials": trials}
                for name, found in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pdltool", required=True)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: no device", file=sys.stderr)
        return 77
    torch.manual_seed(1)
    wrong = 0
    for shape in (ProductNorm(2048, 8), ProductNorm(2048, 2), ProductNorm(3072, 2), ProductNorm(4096, 2)):
        for variant, found in Compiled(shape, options.pdltool).measure(41, 200).items():
            print(json.dumps({"shape": shape.name, "variant": variant, **found}), flush=True)
            wrong += found["different"]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
