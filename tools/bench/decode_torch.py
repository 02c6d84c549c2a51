#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The token of `pdltool bench decode` in PyTorch, for comparison, always in a CUDA graph: as it is, compiled, and compiled with
max-autotune, which takes minutes. Prints a JSON object per line: microseconds per token, of the linear part and with
attention. Exits with 77 without PyTorch or a device."""

import argparse
import json
import statistics
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(77)

# layers, hidden, heads, kv heads, head size, feed-forward: as decoder_shapes in decode_device.cuh
SHAPES = {"1b": (16, 2048, 32, 8, 64, 8192), "3b": (28, 3072, 24, 8, 128, 8192), "8b": (32, 4096, 32, 8, 128, 14336)}

COMPILED = {"compiled": "default", "max-autotune": "max-autotune-no-cudagraphs"}


class Block(torch.nn.Module):
    def __init__(self, shape, context, attention):
        super().__init__()
        _, hidden, self.heads, self.kv_heads, self.size, feed_forward = shape
        self.context, self.attention = context, attention
        queries = self.heads * self.size
        for name, rows, cols in (("qkv", queries + 2 * self.kv_heads * self.size, hidden), ("out", hidden, queries),
                                 ("gate_up", 2 * feed_forward, hidden), ("down", hidden, feed_forward)):
            weight = torch.empty(rows, cols).uniform_(-1, 1).mul_((3 / cols) ** 0.5)
            self.register_buffer(name, weight.to(torch.bfloat16))
        for name in ("norm", "norm2"):
            self.register_buffer(name, torch.ones(hidden, dtype=torch.bfloat16))
        if attention:
            self.register_buffer("cache", torch.randn(2, 1, self.kv_heads, context, self.size, dtype=torch.bfloat16))
            angles = (context - 1) * 10000.0 ** (-2 * torch.arange(self.size // 2) / self.size)
            self.register_buffer("cos", angles.cos())
            self.register_buffer("sin", angles.sin())

    def rotate(self, x):
        a, b = x.float().chunk(2, dim=-1)
        return torch.cat((a * self.cos - b * self.sin, b * self.cos + a * self.sin), dim=-1).to(x.dtype)

    def forward(self, x):
        queries = self.heads * self.size
        qkv = F.linear(F.rms_norm(x, x.shape[-1:], self.norm, 1e-5), self.qkv)
        if self.attention:
            q, k, v = qkv.view(1, -1, self.size).split((self.heads, self.kv_heads, self.kv_heads), dim=1)
            self.cache[0, :, :, self.context - 1] = self.rotate(k)
            self.cache[1, :, :, self.context - 1] = v
            mixed = F.scaled_dot_product_attention(self.rotate(q).unsqueeze(2), self.cache[0], self.cache[1],
                                                   enable_gqa=True).reshape(1, queries)
        else:
            mixed = qkv[:, :queries]
        x = x + F.linear(mixed, self.out)
        both = F.linear(F.rms_norm(x, x.shape[-1:], self.norm2, 1e-5), self.gate_up)
        gate, up = both.chunk(2, dim=-1)
        return x + F.linear(F.silu(gate) * up, self.down)


def measure(blocks, x, rounds):
    """The median time of a step in a CUDA graph, us, with the first and third quartile."""
    def step():
        y = x
        for block in blocks:
            y = block(y)
        return y

    with torch.inference_mode():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
    times = []
    for _ in range(rounds + 2):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(5):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(200 * begin.elapsed_time(end))
    quartiles = statistics.quantiles(times[2:], n=4)
    return {"us_per_token": round(quartiles[1], 2), "p25": round(quartiles[0], 2), "p75": round(quartiles[2], 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", default="1b", choices=list(SHAPES))
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--parts", nargs="+", default=["linear", "with_attention"], choices=("linear", "with_attention"))
    parser.add_argument("--modes", nargs="+", default=["eager", *COMPILED], choices=("eager", *COMPILED))
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: no device", file=sys.stderr)
        return 77
    shape = SHAPES[options.shape]
    layers = shape[0]
    about = {"program": "decode_torch", "torch": torch.__version__, "device": torch.cuda.get_device_name(),
             "shape": options.shape, "layers": layers, "context": options.context, "rounds": options.rounds}
    for part in options.parts:
        for mode in options.modes:
            torch.manual_seed(1)
            with torch.device("cuda"):
                blocks = [Block(shape, options.context, part == "with_attention") for _ in range(layers)]
                x = torch.randn(1, shape[1], dtype=torch.bfloat16)
            for block in blocks:
                if mode != "eager":
                    block.compile(mode=COMPILED[mode], dynamic=False)
            try:
                times = measure(blocks, x, options.rounds)
            except Exception as error:  # whatever the compiler fails with: the rest still counts
                times = {"failed": str(error)[:200]}
            print(json.dumps({**about, "part": part, "mode": mode, **times}), flush=True)
            del blocks, x
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
