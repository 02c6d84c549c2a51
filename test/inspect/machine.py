#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What machine code shows of the kernels of test/lint, for several architectures, with and without optimization.

A kernel that its PTX does not show to wait first is not shown by its machine code either. A kernel that was
instrumented at its entry is, and none is whose waits are replaced by another instruction."""

import argparse
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHITECTURES = [(90, 3), (90, 0), (100, 3), (120, 3)]
STATEMENT = re.compile(r"(@!?[%\w]+\s+)?griddepcontrol\.\w+\s*;")
WAIT, NOP = 0x82E, 0x918
LEAST = 200  # machine code that shows it


def run(*command, codes=(0,)):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=300)
    if result.returncode not in codes:
        sys.exit(f"{' '.join(command)}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def shown(arguments, *paths):
    """By path and kernel."""
    lines = run(arguments.shown, *paths).splitlines() if paths else []
    return {tuple(line.split()[:2]): line.split()[2] for line in lines}


def without_waits(path):
    """A copy of a cubin in which each wait is another instruction."""
    with open(path, "rb") as file:
        code = bytearray(file.read())
    for at in range(0, len(code) - 15, 16):
        low = int.from_bytes(code[at : at + 2], "little")
        if low & 0xFFF == WAIT:
            code[at : at + 2] = (low & 0xF000 | NOP).to_bytes(2, "little")
    changed = path + ".none"
    with open(changed, "wb") as file:
        file.write(code)
    return changed


def without_order(text):
    """The kernels with accesses that no wait orders."""
    bodies = re.split(r"\.entry (\w+)", text)
    return [name for name, body in zip(bodies[1::2], bodies[2::2]) if re.search(r"\b(su(ld|st|red)|tex|tld4)\.|\.nc\.", body)]


def assemble(arguments, text, name):
    """The cubins that ptxas makes; none of a text that it takes for linking only."""
    made = []
    for architecture, level in ARCHITECTURES:
        path = f"{name}.{architecture}.{level}.cubin"
        command = [arguments.ptxas, f"-O{level}", f"-arch=sm_{architecture}", "-o", path, text]
        if subprocess.run(command, stderr=subprocess.DEVNULL, check=False, timeout=300).returncode == 0:
            made.append(path)
    return made


def check(arguments, source, counts):
    with open(source, encoding="utf-8") as file:
        options = " ".join(re.findall(r"^// OPTIONS: (.*)$", file.read(), flags=re.M)).split()
    if any("-arch" in option for option in options):
        return []
    wrong = []
    kind = os.path.basename(os.path.dirname(source))
    name = os.path.join(arguments.folder, f"{kind}_{os.path.basename(source)[:-3]}")
    run(arguments.nvcc, "-ptx", "-std=c++17", "-arch=sm_90", "-I", arguments.include, *options, source, "-o", name + ".ptx")
    said = {kernel: answer for (_, kernel), answer in shown(arguments, name + ".ptx").items()}
    cubins = assemble(arguments, name + ".ptx", name)
    for (path, kernel), answer in shown(arguments, *cubins).items():
        counts[said[kernel], answer] += 1
        if answer == "yes" and said[kernel] != "yes":
            wrong.append(f"{path}: {kernel} is shown to wait first, and not by its PTX")
    with open(name + ".ptx", encoding="utf-8") as file:
        stripped = STATEMENT.sub("", file.read())
    with open(name + ".none.ptx", "w", encoding="utf-8") as file:
        file.write(stripped)
    report = run(arguments.pdltool, "instrument", "-o", name + ".entry.ptx", name + ".none.ptx", codes=(0, 1))
    refused = len(re.findall(r"^refused ", report, flags=re.M))
    cubins = assemble(arguments, name + ".entry.ptx", name + ".entry")
    with open(name + ".entry.ptx", encoding="utf-8") as file:
        unordered = without_order(file.read())  # through parameters that are said to be constant, loads too
    answers = collections.Counter(a for (_, kernel), a in shown(arguments, *cubins).items() if kernel not in unordered)
    counts["instrumented", "yes"] += answers["yes"]
    if sum(answers.values()) - answers["yes"] > refused * len(cubins):
        wrong.append(f"{name}: instrumented kernels are not shown to wait first: {dict(answers)}, {refused} refused")
    for (path, kernel), answer in shown(arguments, *map(without_waits, cubins)).items():
        counts["without waits", answer] += 1
        if answer == "yes":
            wrong.append(f"{path}: {kernel} is shown to wait first, and does not")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in "pdltool", "shown", "nvcc", "include", "folder":
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("sources", nargs="*")
    arguments = parser.parse_args()
    arguments.ptxas = os.path.join(os.path.dirname(arguments.nvcc), "ptxas")
    os.makedirs(arguments.folder, exist_ok=True)
    sources = arguments.sources or sorted(glob.glob(os.path.join(HERE, "..", "lint", "*", "*.cu")))
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        wrong = sum(pool.map(lambda source: check(arguments, source, counts), sources), [])
    for (first, second), count in sorted(counts.items()):
        print(f"{first}: {second} by machine code: {count}")
    print("\n".join(wrong))
    if not arguments.sources and min(counts["yes", "yes"], counts["instrumented", "yes"]) < LEAST:
        wrong.append("too little")
        print("too little machine code shows it")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
