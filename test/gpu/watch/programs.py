#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Watches programs that end badly, those of the GPU tests that have several threads, processes and devices or call CUB and
cuBLAS, and programs of PyTorch and Triton. Each must end as it does when it is not watched, and what was recorded up to
then must be readable. What needs no device is tested in test/watch."""

import sys
from pathlib import Path

import watched

HERE = Path(__file__).resolve().parent
BAD = ("well", "killed", "crash", "abort", "terminated", "quick_exit", "exec", "exec_other", "reset", "descriptors", "fork")
TORCH = ("eager", "graph", "products", "compile", "triton", "triton_pdl")


def commands(tool, python):
    """By name: the command, and how many launches it makes at least."""
    found = {f"bad, {how}": ([tool.program("bad"), how], 200) for how in BAD}
    tests = {name: str(Path(tool.programs).parent / f"gpu_{name}") for name in ("threads", "chain_library", "multi_device")}
    found["threads"] = ([tests["threads"]], 40000)
    found["processes"] = (["/bin/sh", "-c", '"$1" & "$1" && wait', "sh", tests["threads"]], 80000)
    found["libraries"] = ([tests["chain_library"]], 100)
    found["devices"] = ([tests["multi_device"]], 0)
    found.update({f"torch, {way}": ([python, "-B", str(HERE / "torch_programs.py"), way], 1) for way in TORCH})
    return found


def look(tool, command, least, text):
    plain = watched.run(command, 150)
    if plain.code == watched.SKIPPED:
        return {"skipped": plain.err.strip()[-200:]}
    watch = tool.watch(command, timeout=150, text=text)
    sums = watched.sums(watch.report)
    right = watch.finished.code == plain.code and not watch.finished.timed_out and (sums.get("launches") or 0) >= least
    return {"exit_code": plain.code, "watched": watch.finished.code, "verdict": sums, "right": right,
            "problem": None if right else watch.problem or watch.finished.err[-600:]}


def main():
    parser = watched.parser(__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", nargs="*", help="names of programs")
    options = parser.parse_args()
    tool, result = watched.Tool(options), {}
    for name, (command, least) in commands(tool, options.python).items():
        if options.only and name not in options.only:
            continue
        text = options.out / f"program_{name.replace(', ', '_').replace(' ', '_')}.txt" if options.out is not None else None
        result[name] = look(tool, command, least, text)
        watched.say(f"{name}:", result[name])
        watched.write(options, "programs", result)
    if all("skipped" in found for found in result.values()):
        return watched.SKIPPED
    return watched.end([f"{name}: {found}" for name, found in result.items() if not found.get("right", True)])


if __name__ == "__main__":
    sys.exit(main())
