#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A torch.compile'd decoder block, with a cache of fixed length, applied eight times per step. `triton`: the products
of one token are sums, which Inductor compiles to Triton kernels as well. `library`: they are cuBLAS's, whose kernels
never trigger. `batch`: 64 sequences, where kernels take much longer than their launch. Takes turns as turns.py says.
Exits with 77 where PyTorch, Triton or a device is not there."""

import argparse
import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "triton"))

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(77)

import pdl_triton
import turns

LAYERS = 8


def sum_product(x, weight):
    """x @ weight.T for one row, as a sum."""
    return (x.float() * weight.float()).sum(-1, keepdim=True).view(1, 1, -1).to(x.dtype)


class Block(torch.nn.Module):
    """Attention of one new token per sequence, and a gated feed-forward layer."""

    def __init__(self, width, heads, length, batch, product):
        super().__init__()
        self.heads, self.width, self.batch, self.product = heads, width, batch, product
        linear = functools.partial(torch.nn.Linear, bias=False)
        self.norm, self.norm2 = torch.nn.RMSNorm(width), torch.nn.RMSNorm(width)
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.up, self.down = linear(width, 8 * width), linear(4 * width, width)
        self.register_buffer("cache", torch.randn(2, batch, heads, length, width // heads))

    def forward(self, x):
        q, k, v = self.product(self.norm(x), self.qkv.weight).view(self.batch, 3, self.heads, 1, -1).unbind(1)
        keys, values = self.cache[0], self.cache[1]
        scores = (q * keys).sum(-1, dtype=torch.float32) * (q.shape[-1] ** -0.5)
        own = (q * k).sum(-1, dtype=torch.float32) * (q.shape[-1] ** -0.5)
        top = torch.maximum(scores.amax(-1, keepdim=True), own)
        weights, own = (scores - top).exp(), (own - top).exp()
        mixed = (weights.unsqueeze(-1) * values).sum(-2) + own * v.squeeze(2)
        mixed = (mixed / (weights.sum(-1, keepdim=True) + own)).to(x.dtype).reshape(self.batch, 1, self.width)
        x = x + self.product(mixed, self.out.weight)
        gate, up = self.product(self.norm2(x), self.up.weight).chunk(2, dim=-1)
        return x + self.product(F.silu(gate) * up, self.down.weight)


def make(width, batch, length, product):
    """A Case: a step of LAYERS blocks that share compiled code, each with weights of its own."""
    torch.manual_seed(1)
    with torch.device("cuda"):
        blocks = [Block(width, width // 64, length, batch, product).to(torch.bfloat16).eval() for _ in range(LAYERS)]
    for block in blocks:
        block.compile(dynamic=False)
    with torch.inference_mode():
        x = torch.randn(batch, 1, width, device="cuda", dtype=torch.bfloat16)

    @torch.inference_mode()
    def step():
        y = x
        for block in blocks:
            y = block(y)
        return y

    return turns.Case(step)


CASES = {"triton": functools.partial(make, 1024, 1, 256, sum_product),
         "library": functools.partial(make, 1024, 1, 256, F.linear),
         "batch": functools.partial(make, 4096, 64, 512, F.linear)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--helper", metavar="PDLTOOL", help="instrument by pdl_triton, with this program")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: no device", file=sys.stderr)
        return 77
    if options.helper:
        pdl_triton.enable(pdltool=options.helper)
    turns.serve({name: CASES[name] for name in options.cases})
    return 0


if __name__ == "__main__":
    sys.exit(main())
