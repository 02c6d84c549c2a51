#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instruments what nvcc makes of the kernels of test/lint, without their waits and triggers, in every mode.

Each result has to assemble and to pass lint as launched with overlap. Apart from lines of its own and from
loads that were made coherent it is the input, and a second pass changes nothing. Kernels that are refused are
those that ALLOWED names."""

import argparse
import concurrent.futures
import glob
import itertools
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STATEMENT = re.compile(r"(@!?[%\w]+\s+)?griddepcontrol\.\w+\s*;")
# Why a kernel may be refused; a texture has no coherent read.
ALLOWED = ("cooperative", "launches")
MODES = list(itertools.product(("entry", "hoist"), ("none", "wait", "last-read")))


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=300)


def coherent(text):
    return text.replace(".nc", "").replace("ldu.", "ld.")


class Failure(Exception):
    pass


def must(result, *codes):
    if result.returncode not in codes:
        raise Failure(f"{' '.join(result.args)}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def lint_options(text):
    """The parameters that the source says are constant."""
    words = " ".join(re.findall(r"^// LINT: (.*)$", text, flags=re.M)).split()
    return [word for i, word in enumerate(words) if word == "--constant-param" or (i > 0 and words[i - 1] == "--constant-param")]


def check_text(before, after):
    """The text differs in its own lines and in coherent loads alone."""
    old, new = coherent(before), coherent(STATEMENT.sub("", after))
    if old.split() != new.split():
        raise Failure("the text differs in something else")


def check_mode(arguments, name, text, constants, mode):
    wait, trigger = mode
    path = os.path.join(arguments.folder, name)
    target = f"{path}.{wait}-{trigger}.ptx"
    command = [arguments.pdltool, "instrument", "--wait", wait, "--trigger", trigger, *constants, "-o", target]
    report = json.loads(must(run(*command, "--json", path + ".ptx"), 0, 1).stdout)
    refused = [kernel for kernel in report["kernels"] if kernel["result"] == "refused"]
    wrong = [kernel for kernel in refused if kernel["reason"] not in ALLOWED and not kernel["demangled"].startswith("texture_")]
    if wrong:
        raise Failure(f"{name} {mode}: refused: {wrong}")
    with open(target, encoding="utf-8", newline="") as file:
        after = file.read()
    check_text(text, after)
    lines = [line.strip() for line in after.split("\n")]
    for kernel in report["kernels"]:
        done = kernel["result"] == "instrumented"
        if done and lines[kernel["wait_line"] - 1] != "griddepcontrol.wait;":
            raise Failure(f"{name} {mode}: no wait on line {kernel['wait_line']}")
        if done and kernel["trigger_line"] and lines[kernel["trigger_line"] - 1] != "griddepcontrol.launch_dependents;":
            raise Failure(f"{name} {mode}: no trigger on line {kernel['trigger_line']}")
        if done and (trigger == "wait") != (kernel["trigger_line"] == kernel["wait_line"] + 1) and trigger != "last-read":
            raise Failure(f"{name} {mode}: the trigger is elsewhere")
    must(run(arguments.ptxas, "-c", f"-arch=sm_{arguments.architecture}", "-o", os.devnull, target), 0)
    done = [kernel["name"] for kernel in report["kernels"] if kernel["result"] == "instrumented"]
    options = [f"--overlapped={kernel}" for kernel in done]
    linted = json.loads(must(run(arguments.pdltool, "lint", "--json", "--no-project", *options, *constants, target), 0, 1).stdout)
    found = [finding for finding in linted["findings"] if finding["kernel"] in done and finding["level"] != "note" and not finding["suppressed"]]
    if found:
        raise Failure(f"{name} {mode}: {found}")
    waits = {kernel["name"]: kernel["waits_always"] for kernel in linted["kernels"]}
    if any(waits[kernel] == "no" for kernel in done):
        raise Failure(f"{name} {mode}: a kernel does not always wait: {waits}")
    again = must(run(arguments.pdltool, "instrument", "--wait", wait, "--trigger", trigger, *constants, target), 0, 1)
    if again.stdout != after:
        raise Failure(f"{name} {mode}: a second pass changes the text")
    return len(done), len(refused)


def check_source(arguments, source, options):
    with open(source, encoding="utf-8") as file:
        text = file.read()
    own = " ".join(re.findall(r"^// OPTIONS: (.*)$", text, flags=re.M)).split()
    if any("sm_80" in option or "compute_80" in option for option in own):
        return 0, 0
    name = os.path.splitext(os.path.basename(source))[0] + "".join(options).replace("=", "_")
    path = os.path.join(arguments.folder, name + ".ptx")
    architecture = [] if any(option.startswith("-arch") for option in own) else ["-arch=sm_90"]
    must(run(arguments.nvcc, "-ptx", "-std=c++17", "-I", arguments.include, *architecture, *options, *own, source, "-o", path), 0)
    with open(path, encoding="utf-8", newline="") as file:
        ptx = STATEMENT.sub("", file.read())
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(ptx)
    arguments.architecture = re.search(r"^\.target sm_(\w+)", ptx, flags=re.M).group(1)
    counts = [check_mode(arguments, name, ptx, lint_options(text), mode) for mode in MODES]
    return tuple(map(sum, zip(*counts)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--options", default="-lineinfo", help="for nvcc, separated by commas")
    parser.add_argument("sources", nargs="*")
    arguments = parser.parse_args()
    arguments.ptxas = os.path.join(os.path.dirname(arguments.nvcc), "ptxas")
    os.makedirs(arguments.folder, exist_ok=True)
    sources = arguments.sources or sorted(glob.glob(os.path.join(HERE, "..", "lint", "*", "*.cu")))
    failures, done, refused = 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for source, future in [
            (source, pool.submit(check_source, argparse.Namespace(**vars(arguments)), source, arguments.options.split(",")))
            for source in sources
        ]:
            try:
                counts = future.result()
                done, refused = done + counts[0], refused + counts[1]
            except Failure as failure:
                failures += 1
                print(f"{source}: {failure}")
    print(f"{len(sources)} sources, {len(MODES)} modes: {done} kernels instrumented, {refused} refused, {failures} failures")
    if done < 6 * len(sources):
        print("too few kernels were instrumented")
        failures += 1
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
