#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernels of Triton's tutorials, called by the tutorials' own functions: twenty calls in a line, of a small and a
large size. The tutorials are in the folder given; they run as they are, but for their benchmarks, and an autotuner
gets its first configuration only. Takes turns as turns.py says. Exits with 77 where PyTorch, Triton, a device or the
tutorials are not there."""

import argparse
import contextlib
import functools
import importlib.util
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "triton"))

try:
    import torch
    import triton
    import triton.testing
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(77)

import pdl_triton
import turns

CALLS = 20


def load(path):
    spec = importlib.util.spec_from_file_location("tutorial_" + path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    with contextlib.redirect_stdout(io.StringIO()):
        spec.loader.exec_module(module)
    return module


def without_benchmarks():
    """Tutorials run their benchmarks when they are imported."""
    triton.testing.Mark.run = lambda self, *args, **kwargs: None
    autotune = triton.autotune
    triton.autotune = lambda configs, *args, **kwargs: autotune(configs[:1], *args, **kwargs)


def line(call):
    """`call` takes its own result."""
    def run(x):
        for _ in range(CALLS):
            x = call(x)
        return x
    return run


def vector_add(module, count):
    y = torch.rand(count, device="cuda")
    return line(lambda x: module.add(x, y)), torch.rand(count, device="cuda")


def softmax(module, rows, columns):
    return line(module.softmax), torch.randn(rows, columns, device="cuda")


def matmul(module, size):
    b = (torch.randn(size, size, device="cuda") / size ** 0.5).to(torch.float16)
    return line(lambda a: module.matmul(a, b)), torch.randn(size, size, device="cuda", dtype=torch.float16)


def dropout(module, count):
    return line(lambda x: module.seeded_dropout(x, 0.1, 123)), torch.randn(count, device="cuda")


def layer_norm(module, rows, columns):
    weight, bias = torch.rand(2, columns, device="cuda", dtype=torch.float16)
    return (line(lambda x: module.layer_norm(x, (columns,), weight, bias, 1e-5)),
            torch.randn(rows, columns, device="cuda", dtype=torch.float16))


TUTORIALS = [("01-vector-add", vector_add, (98432,), (1 << 24,)), ("02-fused-softmax", softmax, (256, 781), (8192, 4096)),
             ("03-matrix-multiplication", matmul, (512,), (4096,)), ("04-low-memory-dropout", dropout, (98432,), (1 << 24,)),
             ("05-layer-norm", layer_norm, (64, 1024), (4096, 8192))]


def make(module, work, sizes):
    torch.manual_seed(1)
    run, x = work(module, *sizes)
    with torch.no_grad():
        return turns.Case(lambda: run(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--helper", metavar="PDLTOOL", help="instrument by pdl_triton, with this program")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: no device", file=sys.stderr)
        return 77
    if options.helper:
        pdl_triton.enable(pdltool=options.helper)
    without_benchmarks()
    makers = {}
    for name, work, small, large in TUTORIALS:
        try:
            module = load(options.folder / (name + ".py"))
        except Exception as error:  # pylint: disable=broad-except
            turns.say(case=name, failed=f"{type(error).__name__}: {error}"[:600])
            continue
        makers[f"{work.__name__}, small"] = functools.partial(make, module, work, small)
        makers[f"{work.__name__}, large"] = functools.partial(make, module, work, large)
    if not makers:
        return 77
    turns.serve(makers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
