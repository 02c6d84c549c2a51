#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the kernels in broken/ and right/ and compares what `pdltool lint` finds with what they say.

The sources carry their expectations in comments:

    // EXPECT: read-before-wait              a finding above note, on this statement, in this kernel
    // EXPECT: partial-wait in a, b          in these kernels: the statement is in a function they call
    // EXPECT note: no-wait                  a note
    // COMPILERS: nvcc nvrtc clang           who compiles the file; nvcc alone if there is no such line
    // OPTIONS: -arch=sm_80                  more options for nvcc
    // LINT: --constant-param w              more options for pdltool lint; CORPUS is the folder of this file
    // NOT plain: why                        a mode that the file is not for

An expectation holds from its line to the end of the statement, and in each instance of a template. It also
holds for a line above that ends in "(": an `asm volatile(` of several lines is on its first from nvcc 13.5 on, and
on its second before. Findings above note that nothing expects are false, in broken kernels too. Notes that nothing
expects are no matter. A finding's line is the innermost one in the file itself, so that an access in an
inlined function of CUDA's headers counts where it was called.

Modes, of which one run may have several:

    lines     nvcc -lineinfo, the reference: rules, lines and kernels, and at least so many kernels
    newer     the same for a newer architecture
    rdc       the same, as relocatable code
    plain     nvcc without line information: rules and kernels
    debug     nvcc -G, which inlines nothing: code of a function in another file has no line in this one
    nvrtc     the files that NVRTC takes
    clang     the files that clang takes without CUDA's headers; clang 16 does not write where inlined
              code came from, so that lines count only where they are in the kernel's own body
    mutants   the PTX of `lines`, changed: without its waits every kernel has a finding; with a wait in
              front of everything no kernel has one of those that are about its order
    machine   PTX and machine code in one fatbin, with line information and without: of the files called
              machine_*, what `// MACHINE: moved` or `kept` says of a finding on that line; of all files,
              that no load or store that is coherent was moved
    pages     the programs in docs/lint/: the first has the page's rule, the second has not
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NVRTC = os.path.join(os.path.dirname(HERE), "device", "nvrtc.py")
COMPILED = {}  # what compile_all() returned, by the mode
LEAST = {"all": 60, "broken": 25, "right": 25}
LEVELS = {"note": 1, "warning": 2, "error": 3}
# What a wait in front of everything mends.
ORDER = ("read-before-wait", "write-before-wait", "no-wait", "partial-wait")


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


# --------------------------------------------------------------------------------------------------
# Sources


def blank(text):
    """The text with comments, strings and character constants blanked out, lines kept."""

    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', spaces, text, flags=re.S)


class Expectation:
    def __init__(self, rule, note, kernels, in_function, first, last):
        self.rule, self.note, self.kernels, self.in_function = rule, note, kernels, in_function
        self.first, self.last = first, last

    def fits(self, finding, mode):
        if finding["rule"] != self.rule or (LEVELS[finding["level"]] < 2) != self.note:
            return False
        if mode == "plain" or (mode == "clang" and self.in_function):
            return True
        if mode in ("clang", "debug") and finding["line"] == 0:
            return True
        return self.first <= finding["line"] <= self.last


class Source:
    """A file of the corpus: its kernels, what is expected of them, and how to compile it."""

    def __init__(self, path):
        self.path, self.name = path, os.path.relpath(path, HERE)
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.code = blank(self.text)
        self.kernels = self.find_kernels()  # name: (first line, last line)
        self.compilers = self.words("COMPILERS") or ["nvcc"]
        self.options = self.words("OPTIONS")
        self.lint = [word.replace("CORPUS", HERE) for word in self.words("LINT")]
        self.excluded = re.findall(r"^// NOT (\w+): .", self.text, flags=re.M)
        self.expectations = self.find_expectations()

    def words(self, key):
        return shlex.split(" ".join(re.findall(r"^// %s: (.*)$" % key, self.text, flags=re.M)))

    def line_at(self, offset):
        return self.code.count("\n", 0, offset) + 1

    def find_kernels(self):
        kernels = {}
        for match in re.finditer(r"__global__\s+void\s+(?:__\w+__\([^)]*\)\s*)*(\w+)\s*\(", self.code):
            at, depth = self.code.index("{", match.end()), 0
            if ";" in self.code[match.end() : at]:
                continue  # a declaration or an instance
            while True:
                depth += {"{": 1, "}": -1}.get(self.code[at], 0)
                at += 1
                if depth == 0:
                    break
            kernels[match.group(1)] = (self.line_at(match.start()), self.line_at(at))
        return kernels

    def find_expectations(self):
        found, lines = [], self.code.splitlines()
        for number, line in enumerate(self.text.splitlines(), 1):
            if "EXPECT" not in line:
                continue
            line = re.sub(r" // MACHINE: \w+$", "", line)
            match = re.search(r"// EXPECT( note)?: ([a-z-]+)(?: in (\w+(?:, \w+)*))?$", line)
            if not match:
                sys.exit("%s:%d: cannot read the expectation" % (self.path, number))
            first = last = number
            while lines[first - 2].rstrip().endswith("("):
                first -= 1
            while not re.search(r"[;{}]\s*$", lines[last - 1]):
                last += 1
            in_function = match.group(3) is not None
            if in_function:
                kernels = match.group(3).split(", ")
            else:
                kernels = [k for k, (first, end) in self.kernels.items() if first <= number <= end]
            if not kernels or not set(kernels) <= set(self.kernels):
                sys.exit("%s:%d: in which kernel?" % (self.path, number))
            found.append(Expectation(match.group(2), bool(match.group(1)), kernels, in_function, first, last))
        return found

    def expected(self, kernel):
        return [e for e in self.expectations if kernel in e.kernels]


def corpus(directory):
    path = os.path.join(HERE, directory)
    return [Source(os.path.join(path, name)) for name in sorted(os.listdir(path)) if name.endswith(".cu")]


# --------------------------------------------------------------------------------------------------
# Compilers


def base_name(mangled):
    """The name of a function without namespaces, and without what nvcc puts around what is local to a file."""
    unit = re.match(r"__nv_static_(\d+)_", mangled)
    if unit:
        mangled = mangled[unit.end() + int(unit.group(1)) + 1 :]
    begin = re.match(r"_Z(N?)L?", mangled)
    name, at = mangled, begin.end() if begin else len(mangled)
    while length := re.match(r"\d+", mangled[at:]):
        at += length.end() + int(length.group())
        name = mangled[at - int(length.group()) : at]
        if not begin.group(1):
            break
    return name


def ptx_entries(text):
    return re.findall(r"\.entry\s+([\w$]+)", re.sub(r"//[^\n]*", "", text))


def compile_command(arguments, mode, path, output, options):
    """The compiler's command line for a mode."""
    if mode == "nvrtc":
        header = os.path.join(arguments.include, "pdl", "device.cuh")
        command = [sys.executable, "-B", NVRTC, arguments.nvrtc, path, output, header, "pdl/device.cuh"]
        return command + ["--gpu-architecture=compute_90", "--std=c++17", "-lineinfo", *options]
    if mode == "clang":
        command = [arguments.clang, "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S", "-O3"]
        command += ["--cuda-gpu-arch=sm_90", "-std=c++17", "-gline-directives-only", "-Wno-unknown-cuda-version"]
        return command + ["-Wall", "-Wextra", "-Werror", "-I", arguments.include, *options, path, "-o", output]
    more = {"plain": [], "debug": ["-G"], "rdc": ["-lineinfo", "-rdc=true"]}.get(mode, ["-lineinfo"])
    command = [arguments.nvcc, "-ptx", "-std=c++17", "-Werror", "all-warnings", "-I", arguments.include]
    if not any(option.startswith("-arch") for option in options):
        command.append("-arch=sm_100" if mode == "newer" else "-arch=sm_90")
    return command + [*more, *options, path, "-o", output]


def compile_ptx(arguments, mode, path, output, options):
    """Returns the PTX text; ends the run if the compiler refuses."""
    result = run(compile_command(arguments, mode, path, output, options))
    if result.returncode != 0:
        beginning = "\n".join((result.stdout + result.stderr).splitlines()[:15])
        sys.exit("%s does not compile (%s)\n%s" % (path, mode, beginning))
    with open(output, encoding="utf-8") as file:
        return file.read()


# --------------------------------------------------------------------------------------------------
# pdltool


def same_file(path, source):
    return os.path.basename(path) == os.path.basename(source) and (
        not os.path.isabs(path) or os.path.realpath(path) == os.path.realpath(source)
    )


def lint(arguments, path, options, source):
    """The findings in a PTX file that nothing suppressed: rule, level, kernel and line in `source`."""
    result = run([arguments.pdltool, "lint", "--json", "--level", "note", "--fail-on", "never", *options, path])
    document = json.loads(result.stdout or "{}")
    looked = document.get("findings") or any(kernel["unchecked"] is None for kernel in document.get("kernels", []))
    if not result.stdout or result.returncode != (0 if looked else 2):
        sys.exit("%s: pdltool lint ended with %d\n%s" % (path, result.returncode, result.stderr))
    found = []
    for finding in document["findings"]:
        if finding.get("suppressed"):
            continue
        lines = [p["line"] for p in finding.get("places", []) if p.get("file") and same_file(p["file"], source)]
        found.append(
            {
                "rule": finding["rule"],
                "level": finding["level"],
                "kernel": finding["kernel"],
                "line": lines[0] if lines else 0,
                "message": finding.get("message", ""),
                "machine": finding.get("machine") or "",
            }
        )
    return found


# --------------------------------------------------------------------------------------------------
# Checks


class Tally:
    def __init__(self):
        self.kernels = {"broken": 0, "right": 0}
        self.expected = self.found = 0
        self.missed, self.false = [], []

    def report(self, mode):
        print("\n".join(self.missed + self.false))
        counts = (self.kernels["broken"], self.kernels["right"], self.expected, self.found, len(self.false))
        print("%s: kernels: %d broken, %d right; findings: %d expected, %d found, %d false" % ((mode,) + counts))
        return 1 if self.missed or self.false else 0


def check_kernel(tally, source, kernel, findings, mode):
    """One instance of a kernel against what its source says."""
    expected = source.expected(base_name(kernel))
    tally.expected += len(expected)
    for expectation in expected:
        if any(expectation.fits(finding, mode) for finding in findings):
            tally.found += 1
        else:
            got = ", ".join("%s (%s) on line %d" % (f["rule"], f["level"], f["line"]) for f in findings)
            tally.missed.append(
                "%s:%d: missed: %s%s in kernel %s, which has: %s"
                % (
                    source.path,
                    expectation.first,
                    expectation.rule,
                    " (note)" if expectation.note else "",
                    kernel,
                    got or "nothing",
                )
            )
    for finding in findings:
        if LEVELS[finding["level"]] > 1 and not any(e.fits(finding, mode) for e in expected):
            tally.false.append(
                "%s:%d: false: %s (%s) in kernel %s: %s"
                % (source.path, finding["line"], finding["rule"], finding["level"], kernel, finding["message"])
            )


def sources_for(mode):
    """(kind, source) of the files that a mode is for."""
    compiler = mode if mode in ("nvrtc", "clang") else "nvcc"
    for kind in ("broken", "right"):
        for source in corpus(kind):
            fixed = any(option.startswith("-arch") for option in source.options)
            if compiler in source.compilers and mode not in source.excluded and not (mode == "newer" and fixed):
                yield kind, source


def compile_all(arguments, mode, directory):
    """[(kind, source, PTX path, PTX text)], compiled a few at a time, and once for `lines` and `mutants`."""
    if mode in COMPILED:
        return COMPILED[mode]
    listed = list(sources_for(mode))

    def one(item):
        kind, source = item
        output = os.path.join(directory, "%s_%s.ptx" % (kind, os.path.basename(source.path)[:-3]))
        text = compile_ptx(arguments, mode, source.path, output, source.options)
        return kind, source, output, text

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        COMPILED[mode] = list(pool.map(one, listed))
    return COMPILED[mode]


def check_corpus(arguments, mode, directory):
    tally = Tally()
    for kind, source, path, text in compile_all(arguments, mode, directory):
        findings = lint(arguments, path, source.lint, source.path)
        entries = ptx_entries(text)
        for name in sorted(set(source.kernels) - {base_name(e) for e in entries}):
            sys.exit("%s: there is no kernel %s in its PTX" % (source.path, name))
        if kind == "right" and any(not e.note for e in source.expectations):
            sys.exit("%s: a right kernel expects more than a note" % source.path)
        for kernel in source.kernels:
            if kind == "broken" and not any(not e.note for e in source.expected(kernel)):
                sys.exit("%s: nothing is expected of the broken kernel %s" % (source.path, kernel))
        tally.kernels[kind] += len(source.kernels)
        for kernel in entries:
            own = [f for f in findings if f["kernel"] == kernel]
            check_kernel(tally, source, kernel, own, mode)
    wrong = tally.report(mode)
    if mode == "lines":
        counts = dict(tally.kernels, all=sum(tally.kernels.values()))
        for kind, least in LEAST.items():
            if counts[kind] < least:
                print("only %d kernels (%s), and %d are wanted" % (counts[kind], kind, least))
                wrong = 1
    return wrong


def replace_instruction(text, instruction):
    """The text without an instruction, whatever predicate it has."""
    return re.sub(r"(?:@!?%?\w+\s+)?" + re.escape(instruction) + ";", "", text)


def check_mutants(arguments, directory):
    """Lint has to see when the waits of right kernels go, and when broken kernels get one."""
    wrong, without, waiting = [], 0, 0
    for _, source, path, text in compile_all(arguments, "lines", directory):
        if "mutants" in source.excluded or any(option.startswith("-arch") for option in source.options):
            continue
        kernels = ptx_entries(text)
        path += ".changed"
        with open(path, "w", encoding="utf-8") as file:
            file.write(replace_instruction(text, "griddepcontrol.wait"))
        found = lint(arguments, path, source.lint + ["--overlapped", "*"], source.path)
        for kernel in kernels:
            without += 1
            if not any(f["kernel"] == kernel and f["rule"] == "no-wait" and LEVELS[f["level"]] > 1 for f in found):
                wrong.append("%s: kernel %s without its waits: no warning" % (source.path, kernel))
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r"(\.entry[^{;]*\{)", r"\1\ngriddepcontrol.wait;", text))
        found = lint(arguments, path, source.lint, source.path)
        for kernel in kernels:
            waiting += 1
            for finding in found:
                if finding["kernel"] == kernel and finding["rule"] in ORDER and LEVELS[finding["level"]] > 1:
                    wrong.append(
                        "%s:%d: kernel %s with a wait in front: %s"
                        % (source.path, finding["line"], kernel, finding["rule"])
                    )
    print("\n".join(wrong))
    print("mutants: %d kernels without waits, %d with one in front; %d wrong" % (without, waiting, len(wrong)))
    return 1 if wrong or without < LEAST["all"] else 0


# --------------------------------------------------------------------------------------------------
# Machine code

MACHINE = {"moved": "ptxas moved it above the wait: at 0x", "kept": "the code for sm_90 has it after the wait"}


def compile_fatbin(arguments, source, output, more):
    """PTX and machine code of a file for sm_90; ends the run if the compiler refuses."""
    command = [arguments.nvcc, "-fatbin", "-std=c++17", "-I", arguments.include, *more, *source.options]
    command += ["-gencode", "arch=compute_90,code=[sm_90,compute_90]", source.path, "-o", output]
    result = run(command)
    if "Unresolved extern" in result.stderr:
        result = run([*command, "-rdc=true"])
    if result.returncode != 0:
        sys.exit("%s does not compile\n%s" % (source.path, result.stderr[:2000]))


def machine_remarks(source):
    """{line: "moved" or "kept"}"""
    lines = enumerate(source.text.splitlines(), 1)
    found = [(number, re.search(r"// MACHINE: (moved|kept)$", line)) for number, line in lines]
    return {number: match.group(1) for number, match in found if match}


def check_machine_file(arguments, kind, source, path, lines):
    """What is wrong, and how many remarks were looked at."""
    wrong, remarks = [], machine_remarks(source)
    findings = lint(arguments, path, source.lint, source.path)
    for finding in findings:
        if "the machine code has it above" in finding["message"]:
            wrong.append("%s:%d: %s" % (source.path, finding["line"], finding["message"]))
        if kind == "right" and os.path.basename(source.path).startswith("machine_") and LEVELS[finding["level"]] > 1:
            wrong.append("%s:%d: false: %s" % (source.path, finding["line"], finding["message"]))
    for number, remark in remarks.items() if lines else ():
        own = [f for f in findings if f["rule"] == "nc-after-wait" and f["line"] == number]
        fits = [MACHINE[remark]] if arguments.knows_ptxas else MACHINE.values()
        if not own or not all(any(text in f["machine"] for text in fits) for f in own):
            got = ", ".join(f["machine"] or "nothing" for f in own) or "no finding"
            wrong.append("%s:%d: not %s: %s" % (source.path, number, remark, got))
    for name, (first, last) in source.kernels.items() if not lines else ():
        told = {remark for number, remark in remarks.items() if first <= number <= last and arguments.knows_ptxas}
        own = [f for f in findings if f["rule"] == "nc-after-wait" and base_name(f["kernel"]) == name]
        for finding in own if len(told) == 1 else ():
            other = "above" if told == {"kept"} else "has it after"
            if other in finding["machine"]:
                wrong.append("%s: kernel %s without lines: %s" % (source.path, name, finding["machine"]))
    return wrong, len(remarks)


def check_machine(arguments, directory):
    """Each file with line information, and those with remarks without it too. What ptxas moves is known of 13.0's; of
    another one each remark must be there, as the one or the other."""
    arguments.knows_ptxas = "release 13.0," in run([arguments.nvcc, "--version"]).stdout
    jobs = []
    for kind, source in sources_for("newer"):
        jobs.append((kind, source, True))
        if machine_remarks(source):
            jobs.append((kind, source, False))

    def one(job):
        kind, source, lines = job
        path = os.path.join(directory, "%s_%s_%d.fatbin" % (kind, os.path.basename(source.path)[:-3], lines))
        compile_fatbin(arguments, source, path, ["-lineinfo"] if lines else [])
        return check_machine_file(arguments, kind, source, path, lines)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(one, jobs))
    wrong = [line for lines, _ in results for line in lines]
    remarks = sum(count for _, count in results)
    print("\n".join(wrong))
    print("machine: %d files, %d remarks; %d wrong" % (len(jobs), remarks, len(wrong)))
    return 1 if wrong or remarks < 10 else 0


# --------------------------------------------------------------------------------------------------
# The pages


def page_programs(path):
    """(line, nvcc options, lint options, text) of each cuda block in a page."""
    found, options, block, start = [], {"nvcc": [], "lint": []}, None, 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            comment = re.match(r"<!-- (nvcc|lint): (.*) -->", line)
            if comment:
                options[comment.group(1)] = shlex.split(comment.group(2))
            elif block is not None and line.startswith("```"):
                found.append((start, options["nvcc"], options["lint"], "".join(block)))
                options, block = {"nvcc": [], "lint": []}, None
            elif block is not None:
                block.append(line)
            elif line.startswith("```cuda"):
                block, start = [], number
    return found


def check_pages(arguments, directory):
    wrong, pages = [], os.path.join(arguments.docs, "lint")
    rules = re.findall(r'X\(PDL_LINT_\w+, \d+, "([a-z-]+)"', open_text(arguments.include, "pdl", "inspect.h"))
    index = open_text(pages, "README.md")
    if not rules:
        sys.exit("no rules in inspect.h")
    for extra in sorted(set(os.listdir(pages)) - {r + ".md" for r in rules} - {"README.md"}):
        wrong.append("%s: a page without a rule" % extra)
    for rule in rules:
        page = os.path.join(pages, rule + ".md")
        if not os.path.exists(page) or "(%s.md)" % rule not in index:
            wrong.append("%s: no page, or not in the index" % rule)
            continue
        programs = page_programs(page)
        if len(programs) != 2:
            wrong.append("%s: %d programs, not two" % (page, len(programs)))
            continue
        for broken, (line, nvcc, options, text) in zip((True, False), programs):
            source = os.path.join(directory, "%s_%s.cu" % (rule, "broken" if broken else "mended"))
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            output = source[:-3] + ".ptx"
            ptx = compile_ptx(arguments, "lines", source, output, nvcc)
            found = lint(arguments, output, options, source)
            if broken != any(f["rule"] == rule for f in found):
                wrong.append("%s:%d: %s %s" % (page, line, "does not give" if broken else "gives", rule))
            if not broken:
                wrong += [
                    "%s:%d: the mended program has a %s: %s" % (page, line, f["level"], f["rule"])
                    for f in found
                    if LEVELS[f["level"]] > 1
                ]
            elif not ptx_entries(ptx):
                wrong.append("%s:%d: no kernel" % (page, line))
    print("\n".join(wrong))
    print("pages: %d rules, %d wrong" % (len(rules), len(wrong)))
    return 1 if wrong else 0


def open_text(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    modes = ("lines", "newer", "rdc", "plain", "debug", "nvrtc", "clang", "mutants", "machine", "pages")
    parser.add_argument("--mode", choices=modes, required=True, nargs="+")
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--include", required=True, help="the directory that holds pdl/device.cuh")
    parser.add_argument("--nvcc", help="for all modes but nvrtc and clang")
    parser.add_argument("--nvrtc", help="the NVRTC library")
    parser.add_argument("--clang", help="a clang++ that knows sm_90")
    parser.add_argument("--docs", help="the directory docs/, for the mode pages")
    parser.add_argument("--keep", help="a directory for the PTX, which is kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        directory = arguments.keep or directory
        wrong = 0
        for mode in arguments.mode:
            if mode == "pages":
                wrong |= check_pages(arguments, directory)
            elif mode == "machine":
                wrong |= check_machine(arguments, directory)
            elif mode == "mutants":
                wrong |= check_mutants(arguments, directory)
            else:
                wrong |= check_corpus(arguments, mode, directory)
        return wrong


if __name__ == "__main__":
    sys.exit(main())
