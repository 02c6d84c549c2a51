#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that every public struct has one layout in each standard of C and C++, that the descriptor is
trivial, and that PDL_LAUNCH_DESC() draws no warning."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
C_STANDARDS = ("c99", "c11", "gnu17")
CXX_STANDARDS = ("c++11", "c++14", "c++17", "c++20", "c++2b")
HEADERS = ("chain.h", "inspect.h", "instrument.h", "overlap.h", "policy.h", "rtc.h", "timeline.h", "trace.h", "vector.h", "detail/runtime.h")
STRUCT = re.compile(r"typedef struct (pdl_\w+) \{\n(.*?)\n\} \1;", re.DOTALL)
# The name of a member: before its array, at the end of its declaration, or of a pointer to a function.
MEMBER = re.compile(r"\(\*(\w+)\)\(|(\w+)(?:\[[^;]*\])?;")


def structs(include):
    """Every public struct with the names of its members."""
    found = {}
    folder = os.path.join(include, "pdl")
    for name in sorted(os.listdir(folder)) + ["detail/runtime.h"]:
        if name.endswith(".h"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
            for struct, body in STRUCT.findall(text):
                found[struct] = [one or other for one, other in MEMBER.findall(body)]
    return found


def program(found):
    lines = [f"#include <pdl/{header}>" for header in HEADERS]
    lines += ["#include <pdl/pdl.h>", "#include <stddef.h>", "#include <stdio.h>"]
    lines += ["#ifdef __cplusplus", "#include <type_traits>"]
    for struct in sorted(found):
        lines += [f'static_assert(std::is_trivial<{struct}>::value && std::is_standard_layout<{struct}>::value, "");']
    lines += ["#endif", "int main(void)", "{"]
    for struct, members in sorted(found.items()):
        lines += [f'    printf("{struct} %zu\\n", sizeof({struct}));']
        lines += [f'    printf("{struct}.{member} %zu\\n", offsetof({struct}, {member}));' for member in members]
    # As users write it; in C++20 the fields in their order, and at the scope of a file too.
    lines += ["#if !defined(__cplusplus) || __cplusplus >= 202002L"]
    lines += ["    const pdl_launch_desc desc = PDL_LAUNCH_DESC(.grid = {132}, .block = {256}, .overlap = PDL_OVERLAP_AUTO);"]
    lines += ['    printf("made %u %u\\n", (unsigned)desc.size, (unsigned)desc.grid[0]);', "#else"]
    lines += ["    pdl_launch_desc desc;", "    pdl_launch_desc_init(&desc);", "    desc.grid[0] = 132;"]
    lines += ['    printf("made %u %u\\n", (unsigned)desc.size, (unsigned)desc.grid[0]);', "#endif"]
    return "\n".join(lines + ["    return 0;", "}", ""])


def run(compiler, language, standard, include, source, directory):
    """What the program prints, or None where the compiler does not know the standard."""
    output = os.path.join(directory, "program")
    command = [compiler, "-x", language, f"-std={standard}"]
    if subprocess.run(command + ["-fsyntax-only", os.devnull], capture_output=True, check=False).returncode != 0:
        return None
    done = subprocess.run(command + WARNINGS + ["-I", include, source, "-o", output], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    return subprocess.run([output], capture_output=True, text=True, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True)
    parser.add_argument("--cc", action="append", default=[], help="a C compiler; may be given again")
    parser.add_argument("--cxx", action="append", default=[], help="a C++ compiler; may be given again")
    arguments = parser.parse_args()
    found = structs(arguments.include)
    if len(found) < 25 or any(not members for members in found.values()):
        sys.exit(f"only these structs were understood: {found}")
    layouts = {}
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "source.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program(found))
        for language, compilers, standards in (("c", arguments.cc, C_STANDARDS), ("c++", arguments.cxx, CXX_STANDARDS)):
            for compiler in compilers:
                for standard in standards:
                    layout = run(compiler, language, standard, arguments.include, source, directory)
                    if layout is not None:
                        layouts[f"{os.path.basename(compiler)} {standard}"] = layout
    first = next(iter(layouts))
    print(f"{len(found)} structs in {len(layouts)} ways: {', '.join(layouts)}")
    for way, layout in layouts.items():
        if layout != layouts[first]:
            lines = [f"{a} / {b}" for a, b in zip(layouts[first].splitlines(), layout.splitlines()) if a != b]
            sys.exit(f"{first} and {way} differ: {'; '.join(lines[:5])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
