#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions that one pdl_launch() takes outside the driver.

Runs the program with N and with 2N launches under callgrind, which collects inside pdl_launch()
only, subtracts what cuLaunchKernelEx() and everything below it took, and divides the difference of
the two runs by N, so that what is done once does not count. Prints a line of JSON and fails over
the bound.
"""

import argparse
import json
import os
import re
import subprocess
import sys

NUMBER = re.compile(r"^(?:[+-]?\d+|\*|0x[0-9a-f]+) (\d+)$")


def measure(arguments, launches):
    """Returns (instructions of pdl_launch with all below, of the driver's call with all below)."""
    out = os.path.join(arguments.directory, f"callgrind_launch.{arguments.attribute}.{launches}.out")
    command = [
        arguments.valgrind,
        "--tool=callgrind",
        "--quiet",
        "--toggle-collect=pdl_launch",
        "--compress-strings=no",
        "--compress-pos=no",
        f"--callgrind-out-file={out}",
        arguments.program,
        str(launches),
        arguments.attribute,
    ]
    subprocess.run(command, check=True)
    total = 0
    driver = 0
    driver_calls = 0
    callee = None
    with open(out, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("cfn="):
                callee = line[4:]
                continue
            if line.startswith("calls="):
                # The next line is what the call cost with everything below it.
                cost = int(next(lines).split()[1])
                if callee.startswith("cuLaunchKernelEx"):
                    driver += cost
                    driver_calls += int(line[6:].split()[0])
                continue
            own = NUMBER.match(line)
            if own:
                total += int(own.group(1))
    if driver_calls != launches:
        sys.exit(f"{driver_calls} calls of cuLaunchKernelEx were seen, {launches} were made")
    return total, driver


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--attribute", choices=["overlap", "cooperative"], default="overlap")
    parser.add_argument("--valgrind", default="valgrind")
    parser.add_argument("--launches", type=int, default=2000)
    parser.add_argument("--bound", type=float, default=300)
    parser.add_argument("--directory", default=".")
    arguments = parser.parse_args()
    os.environ.pop("PDL_FAKE_LOG", None)

    once = measure(arguments, arguments.launches)
    twice = measure(arguments, 2 * arguments.launches)
    total = (twice[0] - once[0]) / arguments.launches
    driver = (twice[1] - once[1]) / arguments.launches
    result = {
        "instructions_per_launch": round(total - driver, 2),
        "instructions_in_fake_driver": round(driver, 2),
        "attribute": arguments.attribute,
        "launches": arguments.launches,
        "bound": arguments.bound,
    }
    print(json.dumps(result))
    if not 0 < result["instructions_per_launch"] <= arguments.bound:
        sys.exit(f"a launch takes {result['instructions_per_launch']} instructions")


if __name__ == "__main__":
    main()
