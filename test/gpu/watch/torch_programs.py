#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch_programs.py eager|compile|graph|products|triton|triton_pdl: small programs of PyTorch and Triton, as users write them,
to be watched. Exits with 77 where PyTorch, Triton or a device is not there."""

import sys

SKIPPED = 77
STEPS = 20

try:
    import torch
    import torch.nn.functional as F
    import triton
    import triton.language as tl
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(SKIPPED)


class Decoder(torch.nn.Module):
    """A small transformer that decodes a token at a time, with a cache of a fixed length."""

    def __init__(self, layers=8, width=1024, heads=16, length=256):
        super().__init__()
        self.heads, self.width = heads, width
        self.layers = torch.nn.ModuleList()
        for _ in range(layers):
            self.layers.append(torch.nn.ModuleDict({
                "norm": torch.nn.RMSNorm(width), "qkv": torch.nn.Linear(width, 3 * width, bias=False),
                "out": torch.nn.Linear(width, width, bias=False), "norm2": torch.nn.RMSNorm(width),
                "up": torch.nn.Linear(width, 8 * width, bias=False),
                "down": torch.nn.Linear(4 * width, width, bias=False)}))
        self.register_buffer("cache", torch.randn(layers, 2, 1, heads, length, width // heads))

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            q, k, v = layer["qkv"](layer["norm"](x)).view(1, 3, self.heads, 1, -1).unbind(1)
            keys = torch.cat([self.cache[index, 0], k], dim=2)
            values = torch.cat([self.cache[index, 1], v], dim=2)
            x = x + layer["out"](F.scaled_dot_product_attention(q, keys, values).reshape(1, 1, self.width))
            gate, up = layer["up"](layer["norm2"](x)).chunk(2, dim=-1)
            x = x + layer["down"](F.silu(gate) * up)
        return x


@torch.inference_mode()
def decode(way):
    torch.manual_seed(1)
    model = Decoder().to("cuda", torch.bfloat16).eval()
    x = torch.randn(1, 1, model.width, device="cuda", dtype=torch.bfloat16)
    step = torch.compile(model) if way == "compile" else model
    for _ in range(3):
        result = step(x)
    torch.cuda.synchronize()
    if way == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = model(x)
        for _ in range(STEPS):
            graph.replay()
    else:
        for _ in range(STEPS):
            result = step(x)
    torch.cuda.synchronize()
    return bool(torch.isfinite(result).all())


def products():
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(4096, 16, device="cuda", dtype=torch.bfloat16)
    narrow = torch.randn(256, 8192, device="cuda", dtype=torch.bfloat16)
    for _ in range(100):
        c = a @ b
        d = narrow @ narrow.T
    torch.cuda.synchronize()
    return bool(torch.isfinite(c).all() and torch.isfinite(d).all())


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, count, USE_GDC: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    if USE_GDC:
        tl.extra.cuda.gdc_wait()
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    if USE_GDC:
        tl.extra.cuda.gdc_launch_dependents()
    tl.store(out_ptr + offsets, x + y, mask=mask)


def triton_chain(pdl):
    count = 1 << 18
    x = torch.zeros(count, device="cuda")
    one = torch.ones(count, device="cuda")
    steps = 200
    other = torch.empty_like(x)
    for _ in range(steps):
        add_kernel[(triton.cdiv(count, 1024),)](x, one, other, count, USE_GDC=pdl, BLOCK=1024, launch_pdl=pdl)
        x, other = other, x
    torch.cuda.synchronize()
    return bool((x == steps).all())


def main():
    way = sys.argv[1] if len(sys.argv) == 2 else ""
    programs = {"eager": lambda: decode("eager"), "compile": lambda: decode("compile"), "graph": lambda: decode("graph"),
                "products": products, "triton": lambda: triton_chain(False), "triton_pdl": lambda: triton_chain(True)}
    if way not in programs:
        print(f"usage: {sys.argv[0]} {'|'.join(programs)}", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("skipped: no device", file=sys.stderr)
        return SKIPPED
    right = programs[way]()
    print(f"{way}: {'right' if right else 'WRONG'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
