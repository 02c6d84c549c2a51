#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""device_loops.py SOURCE: no kernel of a test, an example or a benchmark can hold a device, or faults on purpose.

Reads all device code but that of lint's corpus, which test/gpu/instrument/kernels.txt lists. A loop that does not count
may wait for something that never comes, so it has to ask in_time(), which is false after 2 s. Jumps in assembly, traps and
assertions are refused. ALLOWED has what is right all the same, with the reason, and nothing that is not there.
"""

import os
import re
import sys

FOLDERS = ("examples", "include/pdl", "test", "tools")
SKIPPED = ("test/lint/", "test/layout/device_loops.py")
IN_TIME = re.compile(r"bool in_time\(unsigned long long begin, unsigned long long ns = 2000000000ull\)\s*\{\s*"
                     r"return \w+\(\) - begin < \(ns < 2000000000ull \? ns : 2000000000ull\);\s*\}")
ALLOWED = {
    ("examples/06_cross_stream.cu", "device_clock() - begin < 200000"): "200 microseconds",
    ("include/pdl/device.cuh", "now - start < (unsigned long long)(PDL_FAULT_INJECT_NS)"): "a time that is compiled in",
    ("include/pdl/device.cuh", "at < end"): "at grows",
    ("test/inspect/kernels.cu", "assert"): "is compiled, and not launched",
    ("test/rtc/device_macros.cu", "p != nullptr"): "a list of a few pairs",
    ("test/gpu/watch/programs.cuh", "clock64() - begin < cycles"): "a number of cycles",
    ("tools/bench/kernels/overhead.cuh", "clock64() < end"): "a number of cycles",
    ("tools/bench/kernels/overlap.cu", "cycle() - begin < cycles"): "a number of cycles",
}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match.group(0)), text, flags=re.S)


def behind(text, at, opening="(", closing=")"):
    """Where what is opened at or behind `at` is closed."""
    at, depth = text.index(opening, at), 0
    while at < len(text):
        depth += {opening: 1, closing: -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            break
    return at


def statement_end(text, at):
    """Where a statement ends, which may be a block."""
    while text[at].isspace():
        at += 1
    return behind(text, at, "{", "}") if text[at] == "{" else text.index(";", at) + 1


def device_functions(text):
    """(offset, body) of each."""
    end = 0
    for match in re.finditer(r"__(?:global|device)__|\bPDL_DEVICE_INLINE_\b", text):
        at, depth = match.end(), 0
        if at < end:
            continue  # a lambda in a function
        while at < len(text) and (depth > 0 or text[at] not in "{;"):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        if at < len(text) and text[at] == "{":
            end = behind(text, at, "{", "}")
            yield at, text[at:end]


def counts(header):
    """Whether a for counts: its condition compares what its last part changes, and nothing else can happen in it."""
    parts, depth = [""], 0
    for char in header:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(char, 0)
        if char == ";" and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    if len(parts) != 3:
        return len(parts) == 1  # over a range
    condition = re.sub(r"static_cast<[^>]*>|\b(?:sizeof|int|unsigned|min|max)(?=\s*\()", "", parts[1])
    changed = re.findall(r"(\w+)\s*(?:\+\+|--|[-+*/<>&]+=)", parts[2]) + re.findall(r"(?:\+\+|--)(\w+)", parts[2])
    compared = re.search(r"<|>|!=", condition) and any(re.search(r"\b%s\b" % name, condition) for name in changed)
    return bool(compared) and not re.search(r"\w\s*\(|(?:^|[(<>=!&|,])\s*\*|volatile", condition)


def loops(body):
    """(offset, condition, the loop's text) of each loop that does not count."""
    done = set()
    for match in re.finditer(r"\b(do|while|for)\b(?=\s*[({])", body):
        kind, at = match.group(1), match.end()
        if match.start() in done:
            continue
        if kind == "do":
            end = behind(body, at, "{", "}")
            at = body.index("while", end)
            done.add(at)
        close = behind(body, at)
        condition = " ".join(body[body.index("(", at) + 1 : close - 1].split())
        end = close if kind == "do" else statement_end(body, close)
        if condition != "0" and not (kind == "for" and counts(condition)):
            yield match.start(), condition, body[match.start() : end]


def findings(text):
    """(offset, what) of each thing that could hold a device, or faults."""
    for begin, body in device_functions(text):
        for at, condition, loop in loops(body):
            if "in_time(" not in loop:
                yield begin + at, condition
        for match in re.finditer(r"\bbra(?:\.uni)?\b|\b__trap\b|\btrap;|\bbrkpt\b|(?<!static_)\bassert(?=\s*\()", body):
            yield begin + match.start(), match.group(0)


def files(source):
    for folder in FOLDERS:
        for where, _, names in os.walk(os.path.join(source, folder)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(where, name), source)
                if name.endswith((".c", ".cpp", ".cu", ".cuh", ".h", ".py")) and not path.startswith(SKIPPED):
                    yield path


def self_test():
    """What must be found, and what must not."""
    kernel = "__global__ void k(volatile int *flag, int n)\n{\n%s\n}"
    waiting = ("while (*flag == 0) {\n}", "do {\n} while (load(flag) == 0);", "for (;;) {\n}", "for (; *flag != n; n++) {\n}",
               "for (int i = 0; !come(); i++) {\n}", "for (int i = 0; poll(i) < n; i++) {\n}", "while (clock64() < n)\n;",
               'asm volatile("AGAIN: bra AGAIN;");', 'asm volatile("trap;");', "assert(n);")
    ending = ("for (int i = 0; i < n; i++) {\n}", "while (*flag == 0 && in_time(begin)) {\n}", "for (int x : list) {\n}",
              "for (; from < to; from += step) {\n}", "static_assert(1 == 1, 0);", "do {\nf();\n} while (0);")
    wrong = [code for code in waiting if not list(findings(kernel % code))]
    return wrong + [code for code in ending if list(findings(kernel % code))]


def main():
    source, wrong, used, clocks, functions = sys.argv[1], [], set(), 0, 0
    wrong += ["not as it should be: %s" % code for code in self_test()]
    for path in files(source):
        with open(os.path.join(source, path), encoding="utf-8") as file:
            text = file.read()
        if not re.search(r"__(?:global|device)__|PDL_DEVICE_INLINE_", text):
            continue
        text = without_comments(text)
        functions += len(list(device_functions(text)))
        clocks += len(IN_TIME.findall(text))
        if len(re.findall(r"\bbool in_time\(", text)) != len(IN_TIME.findall(text)):
            wrong.append("%s: in_time() is another one" % path)
        for at, what in findings(text):
            used.add((path, what))
            if (path, what) not in ALLOWED:
                wrong.append("%s:%d: may hold the device, or faults: %s" % (path, text.count("\n", 0, at) + 1, what))
    wrong += ["%s: there is no %s" % place for place in ALLOWED if place not in used]
    print("\n".join(wrong + ["%d device functions, %d clocks, %d wrong" % (functions, clocks, len(wrong))]))
    return 1 if wrong or functions < 500 or clocks != 3 else 0


if __name__ == "__main__":
    sys.exit(main())
