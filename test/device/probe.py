#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles a probe and compares its PTX with what the probe says it expects.

A probe is a small .cu file in probes/ whose comments hold the expectations:

    // VARIANT fault: -DPDL_FAULT_INJECT            compiled once more, with these options
    // VARIANT linked by nvcc: -rdc=true            the same, for one compiler only
    // EXPECT kernel sm_90+: griddepcontrol.wait, ld.global x2, st.global
    // EXPECT kernel below sm_90: nothing
    // EXPECT kernel sm_90+ fault nvcc: ...         only for that variant and that compiler
    // EXPECT kernel sm_90+ fault|linked: ...        for either variant

An expectation is the whole sequence, in the text order of the PTX, of the instructions that matter
here: griddepcontrol, prefetch, nanosleep, reads of %globaltimer ("globaltimer"), loads and stores of
global or generic memory, and "loop" and "again" where a backward branch lands and starts. A type at the
end of an opcode need not be written: "ld.global" stands for ld.global.f32, but never for ld.global.nc.
Every kernel must match exactly one expectation for each variant, architecture and compiler, so that
nothing goes unlooked at. The variant "plain" has no options and is always there.

With --assemble the PTX also goes through ptxas, and the machine code must hold as many waits and
triggers as the PTX, with as many loads and stores between them. That last is not asked of kernels with
branches, nor of those with non-coherent loads: ptxas does carry these across a wait.
"""

import argparse
import itertools
import os
import re
import struct
import subprocess
import sys
import tempfile

STANDARDS = ("c++11", "c++14", "c++17", "c++20")

# --------------------------------------------------------------------------------------------------
# Reading PTX


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def ptx_kernels(text):
    """Yields (name, body) of each entry."""
    text = strip_comments(text)
    for match in re.finditer(r"\.entry\s+([\w$]+)", text):
        start = text.find("{", match.end())
        semicolon = text.find(";", match.end())
        if start < 0 or 0 <= semicolon < start:
            continue  # a declaration
        depth, at = 0, start
        while True:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
        yield match.group(1), text[start:at]


def statements(body):
    """Yields ("label", name) and ("instruction", opcode, operands)."""
    body = re.sub(r"^\s*\.loc\b[^\n]*$", "", body, flags=re.M)  # these end with their line
    for piece in re.split(r"[;{}]", re.sub(r"\{([^{};]*)\}", r"<\1>", body)):
        piece = piece.strip()
        while True:
            match = re.match(r"([\w$]+):\s*", piece)
            if not match:
                break
            yield ("label", match.group(1))
            piece = piece[match.end() :]
        piece = re.sub(r"^@!?%?\w+\s+", "", piece)
        if piece and not piece.startswith("."):
            opcode, _, operands = re.sub(r"\s+", " ", piece).partition(" ")
            yield ("instruction", opcode, operands)


def trace(body):
    """The sequence of what matters in a kernel."""
    listed = list(statements(body))
    at_label = {item[1]: i for i, item in enumerate(listed) if item[0] == "label"}
    backward = {}
    for i, item in enumerate(listed):
        if item[0] == "instruction" and item[1].split(".")[0] == "bra":
            target = at_label.get(item[2].strip())
            if target is not None and target < i:
                backward[i] = target
    sequence = []
    for i, item in enumerate(listed):
        if i in backward:
            sequence.append("again")
        elif item[0] == "label":
            if i in backward.values():
                sequence.append("loop")
        elif item[1].startswith("mov.") and "%globaltimer" in item[2]:
            sequence.append("globaltimer")
        elif re.match(r"griddepcontrol|prefetch|cp\.|nanosleep|applypriority|discard", item[1]):
            sequence.append(item[1])
        elif re.match(r"(ld|ldu|st|red|atom)\b", item[1]) and not re.match(
            r"(ld|st)(\.volatile)?\.(param|local|shared|const)", item[1]
        ):
            sequence.append(item[1])
    return sequence


def branches(body):
    return any(i[0] == "instruction" and i[1].split(".")[0] in ("bra", "brx") for i in statements(body))


# --------------------------------------------------------------------------------------------------
# Reading cubins: enough of ELF64 to walk .text.* sections, 16-byte instructions

SASS = {0x82E: "wait", 0x82D: "trigger", 0x980: "load", 0x981: "load", 0x985: "store", 0x986: "store"}


def cubin_kernels(path):
    """Maps a kernel's name to its sequence of waits, triggers, loads and stores."""
    with open(path, "rb") as file:
        data = file.read()
    table, size, count, names = struct.unpack_from("<Q", data, 40) + struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    strings = sections[names][4]
    found = {}
    for name_at, _, _, _, offset, length in sections:
        end = data.index(b"\0", strings + name_at)
        name = data[strings + name_at : end].decode()
        if name.startswith(".text."):
            opcodes = (struct.unpack_from("<H", data, offset + i)[0] & 0xFFF for i in range(0, length, 16))
            found[name[6:]] = [SASS[opcode] for opcode in opcodes if opcode in SASS]
    return found


def segments(sequence):
    """Counts loads and stores between waits and triggers: their order among themselves is free."""
    out = [[0, 0]]
    for kind in sequence:
        if kind in ("wait", "trigger"):
            out += [kind, [0, 0]]
        else:
            out[-1][kind == "store"] += 1
    return out


def sass_from_ptx(sequence):
    kinds = {"griddepcontrol.wait": "wait", "griddepcontrol.launch_dependents": "trigger"}
    out = []
    for opcode in sequence:
        root = opcode.split(".")[0]
        kind = kinds.get(opcode) or {"ld": "load", "st": "store"}.get(root)
        if kind:
            out.append(kind)
    return out


# --------------------------------------------------------------------------------------------------
# Expectations


class Probe:
    def __init__(self, path):
        self.path = path
        self.variants = [("plain", None, [])]
        self.expectations = []
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                line = line.strip()
                if line.startswith("// VARIANT "):
                    head, _, options = line[11:].partition(":")
                    words = head.split()
                    only = words[2] if len(words) == 3 and words[1] == "by" else None
                    self.variants.append((words[0], only, options.split()))
                elif line.startswith("// EXPECT "):
                    head, _, sequence = line[10:].partition(":")
                    self.expectations.append((number, head.split(), self.parse(sequence)))

    @staticmethod
    def parse(sequence):
        out = []
        for item in (part.strip() for part in sequence.split(",")):
            match = re.fullmatch(r"(\S+)(?: x(\d+))?", item)
            if not match:
                sys.exit("cannot read the expectation '%s'" % item)
            if item != "nothing":
                out += [match.group(1)] * int(match.group(2) or 1)
        return out

    def find(self, kernel, arch, variant, compiler):
        """The sequence expected of a kernel; of several that fit, the one that says most."""
        fitting = []
        for number, words, sequence in self.expectations:
            if words[0] != kernel:
                continue
            rest, fits = words[1:], True
            if rest[:1] == ["below"]:
                fits, rest = arch < int(rest[1][3:]), rest[2:]
            elif rest and rest[0].startswith("sm_"):
                fits, rest = arch >= int(rest[0][3:].rstrip("+")), rest[1:]
            known = {name for name, _, _ in self.variants} | {"nvcc", "nvrtc", "clang"}
            for word in rest:
                if not known.issuperset(word.split("|")):
                    sys.exit("%s:%d: what is '%s'?" % (self.path, number, word))
                fits = fits and any(one in (variant, compiler) for one in word.split("|"))
            if fits:
                fitting.append((len(rest), number, sequence))
        if not fitting:
            return None
        fitting.sort()
        if len(fitting) > 1 and fitting[-1][0] == fitting[-2][0]:
            sys.exit("%s: lines %d and %d both fit" % (self.path, fitting[-2][1], fitting[-1][1]))
        return fitting[-1][1:]


TYPE = re.compile(r"(\.(v[248]|[busf]\d+))*")


def fits(expected, opcode):
    if not opcode.startswith(expected):
        return False
    return TYPE.fullmatch(opcode[len(expected) :]) is not None


# --------------------------------------------------------------------------------------------------
# Compilers

PTX_VERSIONS = (*range(80, 89), *range(90, 100))  # from 8.0; clang ignores those that it does not know


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def beginning(text):
    return "\n".join(text.splitlines()[:12])


def must(command):
    result = run(command)
    if result.returncode != 0:
        sys.exit("%s\n%s" % (" ".join(command), beginning(result.stdout)))
    return result.stdout


NVRTC = [sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "nvrtc.py")]


class Compiler:
    """One of nvcc, nvrtc and clang; `path` is the program, or the NVRTC library."""

    def __init__(self, kind, path, include, ptxas):
        self.kind, self.path, self.include, self.ptxas = kind, path, include, ptxas
        self.features = {}  # clang's options by architecture

    def architectures(self):
        if self.kind == "nvcc":
            listed = run([self.path, "--list-gpu-arch"])
        elif self.kind == "nvrtc":
            listed = run([*NVRTC, self.path])
        else:
            # Clang prints no list: it is asked for each architecture that ptxas can assemble.
            listed = {int(arch) for arch in re.findall(r"'sm_(\d+)'", run([self.ptxas, "-h"]).stdout)}
            return [arch for arch in sorted(listed) if self.clang_features(arch) is not None]
        if listed.returncode != 0:
            sys.exit(listed.stdout)
        return sorted({int(arch) for arch in re.findall(r"compute_(\d+)\b", listed.stdout)})

    def clang_features(self, arch):
        """What clang has to be told to write PTX for an architecture; None if it cannot.

        Without CUDA's headers, clang writes the PTX version of the newest toolkit that it supports in full. It may know
        an architecture that needs a newer version, and refuses it then: the first version that it takes is asked for."""
        if arch not in self.features:
            common = [self.path, "-x", "cuda", "-nocudainc", "-nocudalib", "--cuda-device-only"]
            common += ["--cuda-gpu-arch=sm_%d" % arch, "-Wno-unknown-cuda-version", "/dev/null"]
            tried = [[]] + [["--cuda-feature=+ptx%d" % version] for version in PTX_VERSIONS]
            if run([*common, "-fsyntax-only"]).returncode != 0:
                tried = []  # it does not know the name
            accepted = (t for t in tried if run([*common, *t, "-S", "-o", os.devnull]).returncode == 0)
            self.features[arch] = next(accepted, None)
        return self.features[arch]

    def command(self, source, output, arch, options=(), standard="c++11"):
        define = "-D__PROBE_%s__" % self.kind.upper()
        if self.kind == "nvcc":
            command = [self.path, "-ptx", "-arch=compute_%d" % arch, "-std=" + standard, "-I", self.include]
            return command + ["-Werror", "all-warnings", define, *options, source, "-o", output]
        if self.kind == "nvrtc":
            # Only this header is handed over and no directory, so that it cannot include anything.
            header = os.path.join(self.include, "pdl", "device.cuh")
            command = [*NVRTC, self.path, source, output, header, "pdl/device.cuh"]
            with open(source, encoding="utf-8") as file:
                if "<pdl/trace.cuh>" in file.read():  # which includes the other
                    options = ["-I" + self.include, *options]
            return command + ["--gpu-architecture=compute_%d" % arch, "--std=" + standard, define, *options]
        command = [self.path, "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-S", "-O3"]
        command += ["--cuda-gpu-arch=sm_%d" % arch, *(self.clang_features(arch) or [])]
        command += ["-std=" + standard, "-I", self.include, define]
        command += ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unknown-cuda-version"]
        return command + [*options, source, "-o", output]


# --------------------------------------------------------------------------------------------------
# Checking


def check_once(probe, compiler, arch, variant, options, standard, assemble, directory):
    """Compiles the probe once and returns what is wrong, as a list of lines."""
    where = "%s, %s, compute_%d, %s, %s" % (
        os.path.basename(probe.path),
        compiler.kind,
        arch,
        variant,
        standard,
    )
    output = os.path.join(directory, "probe.ptx")
    result = run(compiler.command(probe.path, output, arch, options, standard))
    if result.returncode != 0:
        return ["%s: does not compile\n%s" % (where, beginning(result.stdout))]
    with open(output, encoding="utf-8") as file:
        kernels = dict(ptx_kernels(file.read()))
    wrong = []
    for name in sorted({words[0] for _, words, _ in probe.expectations} - set(kernels)):
        wrong.append("%s: there is no kernel %s" % (where, name))
    machine = {}
    if assemble:
        cubin = os.path.join(directory, "probe.cubin")
        # A relocatable unit (-rdc) leaves no undefined name in a probe, so that --compile-only does.
        if compiler.kind == "clang":  # clang 16 writes PTX 7.8, and the instructions in asm may be of 8.0
            with open(output, encoding="utf-8") as file:
                newer = file.read().replace(".version 7.8", ".version 8.0")
            with open(output, "w", encoding="utf-8") as file:
                file.write(newer)
        command = [compiler.ptxas, "-arch=sm_%d" % arch, output, "-o", cubin]
        result = run(command + (["--compile-only"] if "-rdc=true" in options else []))
        if result.returncode != 0:
            return ["%s: ptxas refuses it\n%s" % (where, beginning(result.stdout))]
        machine = cubin_kernels(cubin)
    for name, body in kernels.items():
        expected = probe.find(name, arch, variant, compiler.kind)
        got = trace(body)
        if expected is None:
            wrong.append("%s: nothing is expected of kernel %s, which does %s" % (where, name, ", ".join(got)))
            continue
        line, sequence = expected
        if len(got) != len(sequence) or not all(map(fits, sequence, got)):
            wrong.append(
                "%s:%d: kernel %s (%s)\n  expected: %s\n  found:    %s"
                % (probe.path, line, name, where, ", ".join(sequence) or "nothing", ", ".join(got) or "nothing")
            )
        if assemble:
            meant, made = segments(sass_from_ptx(got)), segments(machine.get(name, []))
            if len(meant) == 1 or branches(body) or any(".nc" in opcode for opcode in got):
                meant, made = (sorted(x for x in side if isinstance(x, str)) for side in (meant, made))
            if meant != made:
                wrong.append(
                    "%s: kernel %s: the PTX has %s, the machine code %s (waits, triggers and the"
                    " [loads, stores] between them)" % (where, name, meant, made)
                )
    return wrong


def check(probe, compiler, architectures, assemble, directory, every_standard=True):
    """Compiles a probe in every way it asks for. Returns how often, and what is wrong."""
    wrong, count = [], 0
    # The C++ standards do not multiply with the architectures: the ends of the range are enough.
    ends = {min(architectures), max(architectures), 90} if every_standard else set()
    for arch in architectures:
        for variant, only, options in probe.variants:
            if only not in (None, compiler.kind):
                continue
            for standard in STANDARDS if arch in ends and variant == "plain" else STANDARDS[:1]:
                wrong += check_once(probe, compiler, arch, variant, options, standard, assemble, directory)
                count += 1
    return count, wrong


def refuse(path, compiler, architectures, directory):
    """Checks that a file is refused for each type in a '// REFUSED TYPE: ' line, with the message in that line."""
    with open(path, encoding="utf-8") as file:
        expected = re.findall(r"^// REFUSED (\w+): (.*)$", file.read(), flags=re.M)
    wrong = []
    for arch, (refused, message) in itertools.product(architectures, expected):
        result = run(compiler.command(path, os.path.join(directory, "refused.ptx"), arch, ["-DREFUSED=" + refused]))
        if result.returncode == 0:
            wrong.append("%s: %s compiles it for compute_%d" % (path, compiler.kind, arch))
        elif message not in re.sub(r"\s+", " ", result.stdout):
            wrong.append("%s: refused without '%s':\n%s" % (path, message, beginning(result.stdout)))
    return len(architectures) * len(expected), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", choices=("nvcc", "nvrtc", "clang"), required=True)
    parser.add_argument("--program", required=True, help="the compiler itself, or the NVRTC library")
    parser.add_argument("--include", required=True, help="the directory that holds pdl/device.cuh")
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--assemble", action="store_true", help="also assemble the PTX and look at the code")
    parser.add_argument("--refused", action="store_true", help="the files must not compile")
    parser.add_argument("--part", choices=("ends", "between"),
                        help="of the architectures: the oldest, 90 and the newest, in each C++ standard, or the others")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    compiler = Compiler(arguments.compiler, arguments.program, arguments.include, arguments.ptxas)
    architectures = compiler.architectures()
    if not any(arch < 90 for arch in architectures) or 90 not in architectures:
        sys.exit("%s lacks compute_90 or anything older: %s" % (arguments.program, architectures))
    ends = {min(architectures), 90, max(architectures)}
    if arguments.part:
        architectures = [arch for arch in architectures if (arch in ends) == (arguments.part == "ends")]
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as directory:
        for path in arguments.files:
            if arguments.refused:
                done = refuse(path, compiler, [min(architectures), 90], directory)
            else:
                probe = Probe(path)
                if not probe.expectations:
                    sys.exit("%s expects nothing" % path)
                every_standard = arguments.part != "between"
                done = check(probe, compiler, architectures, arguments.assemble, directory, every_standard)
            count, wrong = count + done[0], wrong + done[1]
    print("\n".join(wrong[:20] + ["and %d more" % (len(wrong) - 20)] * (len(wrong) > 20)))
    print("\n".join(["%d compilations for %s" % (count, architectures)]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
