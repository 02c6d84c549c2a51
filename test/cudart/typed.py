#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the typed launch of pdl/cudart.h takes, refuses and warns of, under one C++ compiler.

runs: typed.cpp compares what launches and calls of the same kernels are given.
refused: what a call refuses, a launch refuses too, with one error each.
warns: where a call narrows, the compiler warns of the launch as well.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STANDARDS = ("c++11", "c++17", "c++20")

KERNELS = """#include <pdl/cudart.h>
struct other;
struct base {};
struct derived : base {};
struct hidden : private base {};
struct from_int { explicit from_int(int); };
struct to_int { explicit operator int() const; };
struct move_only { move_only(move_only &&); };
enum plain { PLAIN };
enum class scoped { VALUE };
void k_none();
void k_int(int);
void k_float(float);
void k_enum(plain);
void k_scoped(scoped);
void k_pointer(float *);
void k_derived(derived *);
void k_base(base *);
void k_class(from_int);
void k_move(move_only);
void k_three(const float *, int, float *);
pdl_status launch(const pdl_launch_desc &d, float *p, const float *c, base *b, hidden *h, move_only &m, to_int t,
                  long long n, double x)
{
    (void)d; (void)p; (void)c; (void)b; (void)h; (void)m; (void)t; (void)n; (void)x;
    %s
    return PDL_SUCCESS;
}
"""

# A kernel, and arguments that it does not take: wrong counts, then wrong types.
REFUSED = [
    ("k_none", "1"),
    ("k_int", ""),
    ("k_int", "1, 2"),
    ("k_three", "c, 1"),
    ("k_three", "c, 1, p, p"),
    ("k_int", "p"),
    ("k_int", "nullptr"),
    ("k_int", "scoped::VALUE"),
    ("k_int", "t"),
    ("k_float", "p"),
    ("k_enum", "1"),
    ("k_scoped", "1"),
    ("k_pointer", "c"),
    ("k_pointer", "1"),
    ("k_pointer", "b"),
    ("k_derived", "b"),
    ("k_base", "h"),
    ("k_class", "1"),
    ("k_move", "m"),
    ("k_three", "c, p, p"),
    ("k_three", "p, 1, c"),
]

# What compiles, and what -Wconversion says something of.
NARROWS = [("k_int", "n"), ("k_int", "x"), ("k_float", "x"), ("k_float", "n"), ("k_int", "size_t(n)")]
FITS = [("k_int", "1"), ("k_int", "sizeof(char) == 1"), ("k_float", "1.0f"), ("k_int", "'a'"), ("k_pointer", "p")]


def compile_command(arguments, standard, options, source, output):
    command = [arguments.cxx, "-std=" + standard, "-I", arguments.include, "-isystem", arguments.cuda_include]
    if arguments.nvcc:
        command += ["-x", "cu", "-arch=sm_90", "--cudart", "shared"]
        options = ["-Xcompiler=" + option for option in options]
    return command + options + ["-o", output, source]


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def check_runs(arguments, standard, directory):
    program = os.path.join(directory, "typed")
    built = run(compile_command(arguments, standard, ["-w"], os.path.join(HERE, "typed.cpp"), program))
    if built.returncode != 0:
        return [built.stdout]
    done = run([program])
    return [] if done.returncode == 0 else [done.stdout or "it ended with %d" % done.returncode]


def launch_of(kernel, values):
    return "(void)pdl_launch_kernel(d, %s%s);" % (kernel, ", " + values if values else "")


def call_of(kernel, values):
    return "%s(%s);" % (kernel, values)


def count_reports(arguments, standard, directory, statements, options, kind):
    """Compiles each statement on a line of its own, and counts the errors or warnings of each."""
    source = os.path.join(directory, "case.cpp")
    before = (KERNELS.split("%s", maxsplit=1)[0]).count("\n") + 1
    with open(source, "w", encoding="utf-8") as file:
        file.write(KERNELS % "\n".join(statements))
    result = run(compile_command(arguments, standard, options + ["-c"], source, os.path.join(directory, "case.o")))
    found = [int(a or b) for a, b in
             re.findall(r"case\.cpp(?::(\d+):\d+|\((\d+)\)): (?:%s)\b" % kind, result.stdout)]
    return [found.count(before + i) for i in range(len(statements))], len(found), result.stdout


def compare(statements, counts, expected, total, output):
    wrong = ["%s: %d instead of %d" % case for case in zip(statements, counts, expected) if case[1] != case[2]]
    if total != sum(expected):
        wrong.append("%d reports instead of %d" % (total, sum(expected)))
    return [text + "\n" + output for text in wrong[:1]] + wrong[1:]


def check_refused(arguments, standard, directory):
    wrong = []
    options = ["-w"] + (["-ferror-limit=0"] if "clang" in arguments.cxx else [])
    for form in (call_of, launch_of):
        statements = [form(*case) for case in REFUSED]
        counts, total, output = count_reports(arguments, standard, directory, statements, options, "error")
        wrong += compare(statements, counts, [1] * len(statements), total, output)
    return wrong


def check_warns(arguments, standard, directory):
    wrong = []
    for form in (call_of, launch_of):
        statements = [form(*case) for case in FITS + NARROWS]
        counts, total, output = count_reports(arguments, standard, directory, statements,
                                              ["-Wall", "-Wextra", "-Wconversion"], "error|warning")
        wrong += compare(statements, counts, [0] * len(FITS) + [1] * len(NARROWS), total, output)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("check", choices=("runs", "refused", "warns"))
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--nvcc", action="store_true", help="--cxx is nvcc")
    parser.add_argument("--include", required=True)
    parser.add_argument("--cuda-include", required=True)
    arguments = parser.parse_args()
    check = {"runs": check_runs, "refused": check_refused, "warns": check_warns}[arguments.check]
    wrong = []
    standards = STANDARDS[:1] if arguments.nvcc else STANDARDS
    with tempfile.TemporaryDirectory(prefix="pdl-typed-") as directory:
        for standard in standards:
            wrong += ["%s: %s" % (standard, text) for text in check(arguments, standard, directory)]
    print("\n".join(wrong) or "%s: as it should be in %s" % (arguments.check, ", ".join(standards)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
