#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rooms of lib/ by their #includes, and the lines of all rooms.

A room may include the rooms that ROOMS lists for it and itself, and no file may reach itself through
others: a source and the header of the same name count as one. No room grows above its limit.
"""

import argparse
import os
import re
import subprocess
import sys

# Each room with the rooms that it stands on. A folder within a room is a room of its own.
ROOMS = {
    "os": (),
    "core": ("os",),
    "code": ("core", "os"),
    "launch": ("code", "core", "os"),
    "overlap": ("launch", "core", "os"),
    "graph": ("launch", "core", "os"),
    "trace": ("core", "os"),
    "inspect/ptx": ("inspect", "code", "core", "os"),
    "inspect/flow": ("inspect/ptx", "inspect", "code", "core", "os"),
    "inspect/rules": ("inspect/flow", "inspect/ptx", "inspect", "code", "core", "os"),
    "inspect/edit": ("inspect/rules", "inspect/flow", "inspect/ptx", "inspect", "code", "core", "os"),
    "inspect": ("code", "core", "os"),
    "rtc": ("core", "os"),
    "watch": ("code", "core", "os"),
    "rtc/request": ("rtc", "core", "os"),
    "rtc/compile": ("rtc/request", "rtc", "code", "core", "os"),
    "rtc/cache": ("rtc/compile", "rtc/request", "rtc", "code", "core", "os"),
}
# Files that stand above their room: the front doors.
DOORS = {
    "inspect/inspect.c": ("inspect/rules", "inspect/flow", "inspect/ptx"),
    "inspect/analysis.c": ("inspect/rules", "inspect/flow", "inspect/ptx"),
    "inspect/analysis.h": ("inspect/rules", "inspect/flow", "inspect/ptx"),
    "inspect/instrument.c": ("inspect/edit", "inspect/rules", "inspect/flow", "inspect/ptx"),
    "inspect/functions.c": ("inspect/rules", "inspect/flow", "inspect/ptx"),
    "inspect/container.c": ("inspect/rules", "inspect/flow", "inspect/ptx"),
}
# What libpdl is beside the readers of code, which it shares, and beside the operating systems, of which a build has one.
SMALL = ("core", "launch", "overlap", "graph")
MOST_LINES = 9150
# The most lines of each room with its comments. A room without a limit is an error.
MOST_LINES_OF = {
    "lib/code": 4100,
    "lib/core": 1400,
    "lib/graph": 3300,
    "lib/inspect": 22350,
    "lib/launch": 3185,
    "lib/os": 1200,
    "lib/overlap": 1360,
    "lib/rtc": 7450,
    "lib/trace": 2850,
    "lib/watch": 5950,
    "tools/bench": 12750,
    "tools/bisect": 2100,
    "tools/common": 3210,
    "tools/lint": 5600,
    "tools/overlap": 910,
    "tools/ptxas": 1400,
    "tools/report": 1550,
    "tools/sim": 2790,
    "tools/triton": 100,
    "tools/tune": 1860,
    "tools/watch": 6300,
    "cmake": 2350,
    "examples": 2550,
    "include": 5400,
    "test/cuda": 3980,
    "test/device": 2450,
    "test/fake": 2460,
    "test/gpu": 13060,
    "test/inspect": 9400,
    "test/unit": 15050,
}
MOST_BYTES = {"x86-64": 130_000, "aarch64": 136_000}

SOURCES = (".c", ".h", ".cu", ".cuh", ".cpp", ".hpp", ".py", ".sh", ".cmake", ".in", ".map")

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def read(lib):
    """The files below lib/, each with the files of lib/ that it includes."""
    files = {}
    for folder, _, names in os.walk(lib):
        for name in names:
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as text:
                    files[os.path.relpath(path, lib)] = INCLUDE.findall(text.read())
    return files


def room_of(path):
    return os.path.dirname(path)


def wrong_arrows(files):
    for path, includes in sorted(files.items()):
        room = room_of(path)
        if room not in ROOMS:
            yield f"lib/{path} is in no room that this check knows"
            continue
        for include in includes:
            if include not in files:
                yield f"lib/{path} includes {include}, which is not written from lib/"
                continue
            below = (room,) + ROOMS[room] + DOORS.get(path, ())
            if room_of(include) not in below:
                yield f"lib/{path} includes {include}: {room} may include {', '.join(below)}"


def circles(files):
    """The groups of units that reach each other, by Tarjan's algorithm."""
    graph = {}
    for path, includes in files.items():
        unit = os.path.splitext(path)[0]
        others = {os.path.splitext(include)[0] for include in includes if include in files}
        graph.setdefault(unit, set()).update(others - {unit})
    number, low, stack, found = {}, {}, [], []

    def visit(unit):
        number[unit] = low[unit] = len(number)
        stack.append(unit)
        for other in sorted(graph.get(unit, ())):
            if other not in number:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in stack:
                low[unit] = min(low[unit], number[other])
        if low[unit] == number[unit]:
            group = stack[stack.index(unit):]
            del stack[stack.index(unit):]
            if len(group) > 1:
                found.append(group)

    for unit in sorted(graph):
        if unit not in number:
            visit(unit)
    return [f"circle: {', '.join(sorted(group))}" for group in found]


def lines_of(folder):
    count = 0
    for path, _, names in os.walk(folder):
        for name in names:
            if name == "CMakeLists.txt" or name.endswith(SOURCES):
                with open(os.path.join(path, name), encoding="utf-8") as text:
                    count += sum(1 for _ in text)
    return count


def sizes(lib):
    small = sum(lines_of(os.path.join(lib, room)) for room in SMALL)
    print(f"{', '.join(SMALL)} together: {small} lines of at most {MOST_LINES}")
    return [f"{small} lines in {', '.join(SMALL)}: the most is {MOST_LINES}"] if small > MOST_LINES else []


def grown(source):
    """The rooms that are above their limits, or have none."""
    found = []
    rooms = {f"{top}/{name}" for top in ("lib", "tools") for name in os.listdir(os.path.join(source, top))
             if os.path.isdir(os.path.join(source, top, name))}
    for room in sorted(rooms | MOST_LINES_OF.keys()):
        lines, most = lines_of(os.path.join(source, room)), MOST_LINES_OF.get(room, 0)
        print(f"{room}: {lines} lines of at most {most}")
        if lines > most:
            found.append(f"{room} has {lines} lines: the most is {most}")
    return found


def code_size(library):
    listed = subprocess.run(["size", "-A", library], check=True, capture_output=True, text=True).stdout
    size = sum(int(line.split()[1]) for line in listed.splitlines() if line.startswith(".text"))
    with open(library, "rb") as file:
        machine = {62: "x86-64", 183: "aarch64"}.get(int.from_bytes(file.read(20)[18:], "little"))
    most = MOST_BYTES.get(machine, max(MOST_BYTES.values()))
    print(f"code of {os.path.basename(library)}: {size} bytes of at most {most}")
    return [f"{library} has {size} bytes of code: the most is {most}"] if size > most else []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lib", help="the folder of the rooms")
    parser.add_argument("--library", help="libpdl.so as built with optimization")
    arguments = parser.parse_args()
    files = read(arguments.lib)
    if not files:
        sys.exit(f"there are no sources in {arguments.lib}")
    wrong = list(wrong_arrows(files)) + circles(files) + sizes(arguments.lib)
    wrong += grown(os.path.dirname(os.path.abspath(arguments.lib)))
    if arguments.library:
        wrong += code_size(arguments.library)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
