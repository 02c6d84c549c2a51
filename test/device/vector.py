#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs pdl/types.cuh and pdl/vector.cuh on the host: each asm statement becomes a call of emulate().

    compiles    each compiler takes them for each architecture, with the widest loads that it has
    run         as they are, as compiled for old and new devices, vector_host.cpp finds nothing wrong
"""

import argparse
import os
import re
import sys
import tempfile

import probe

HERE = os.path.dirname(os.path.abspath(__file__))


def closing(text, at):
    """The index behind the parenthesis that closes the one at `at`."""
    depth = 0
    for match in re.compile(r'"(?:[^"\\]|\\.)*"|[()]').finditer(text, at):
        depth += {"(": 1, ")": -1}.get(match.group(0), 0)
        if depth == 0:
            return match.end()
    sys.exit("a parenthesis is never closed")


def sections(inside):
    """Splits what is in an asm's parentheses at its colons: the template, outputs, inputs, clobbers."""
    out, depth, last = [], 0, 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[():]', inside):
        depth += {"(": 1, ")": -1}.get(match.group(0), 0)
        if match.group(0) == ":" and depth == 0:
            out.append(inside[last : match.start()])
            last = match.end()
    return out + [inside[last:]]


def operands(section):
    """The expressions of "constraint"(expression), ..."""
    out, at = [], section.find("(")
    while at >= 0:
        end = closing(section, at)
        out.append(section[at:end])
        at = section.find("(", end)
    return out


def emulated(text):
    out, last = [], 0
    for match in re.finditer(r"\basm(?: volatile)?\(", text):
        if match.start() < last:
            continue
        end = closing(text, match.end() - 1)
        parts = sections(text[match.end() : end - 1])
        arguments = [parts[0]] + [o for part in parts[1:3] for o in operands(part)]
        out += [text[last : match.start()], "emulate(%s)" % ", ".join(arguments)]
        last = end
    return "".join(out + [text[last:]])


def device(architecture):
    macros = ["__CUDACC__", "__CUDA_ARCH__=%d" % architecture, "__CUDACC_VER_MAJOR__=13", "__CUDACC_VER_MINOR__=0"]
    return ["-D" + macro for macro in macros]


def check(arguments, directory, architecture, trial):
    """The lines of what is wrong, as compiled for the architecture; `trial` is what vector_host.cpp shall call."""
    os.makedirs(os.path.join(directory, "pdl"), exist_ok=True)
    for name in ("types.cuh", "vector.cuh"):
        with open(os.path.join(arguments.include, "pdl", name), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(directory, "pdl", name), "w", encoding="utf-8") as file:
            file.write(emulated(text))
    program = os.path.join(directory, "host")
    command = [arguments.cxx, "-std=c++17", "-O1", "-w", "-frounding-math", "-DTRY=" + trial, *device(architecture)]
    command += ["-I", directory, "-I", arguments.include, "-I", arguments.reference]
    for step in (command + [os.path.join(HERE, "vector_host.cpp"), "-o", program], [program]):
        result = probe.run(step)
        if result.returncode != 0:
            lines = result.stdout.splitlines()[:5] or ["it failed"]
            return ["for %d: %s" % (architecture, line) for line in lines]
    return []


# What is in a kernel's PTX, by the architecture: the widest accesses, and nothing in local memory.
def look(where, architecture, compiler, ptx):
    wrong = []
    wide = architecture >= 100 and compiler != "clang"
    for name, body in probe.ptx_kernels(ptx):
        opcodes = [item[1] for item in probe.statements(body) if item[0] == "instruction"]
        vector = {"widest": "v8.b32" if wide else "v4.u32", "halves": "v4.u32"}.get(name)
        for kind in ("ld", "st") if vector else ():
            if "%s.global.%s" % (kind, vector) not in opcodes:
                wrong.append("wrong: %s: %s has no %s.global.%s" % (where, name, kind, vector))
        for opcode in opcodes:
            if ".nc" in opcode or ".local" in opcode or opcode.startswith("call"):
                wrong.append("wrong: %s: %s has %s" % (where, name, opcode))
        if architecture >= 90 and [o for o in opcodes if o.startswith("griddepcontrol")] != [
            "griddepcontrol.wait",
            "griddepcontrol.launch_dependents",
        ]:
            wrong.append("wrong: %s: %s does not wait and trigger once" % (where, name))
    return wrong


def compiles(arguments, directory):
    """NVRTC gets the headers as one, so that it cannot include anything else."""
    joined, texts = os.path.join(directory, "vector.cuh"), []
    for name in ("device.cuh", "types.cuh", "vector.cuh"):
        with open(os.path.join(arguments.include, "pdl", name), encoding="utf-8") as file:
            text = file.read().replace("#include <pdl/types.cuh>\n", "")
        if re.search(r"^\s*#\s*(include|import)", text, flags=re.M):
            return ["wrong: %s has an #include" % name]
        texts.append(text)
    with open(joined, "w", encoding="utf-8") as file:
        file.write("".join(texts))
    source, alone = os.path.join(HERE, "vector_kernels.cu"), os.path.join(directory, "alone.cu")
    with open(source, encoding="utf-8") as file, open(alone, "w", encoding="utf-8") as copy:
        copy.write(file.read().replace("#include <pdl/device.cuh>\n", ""))
    compiler = probe.Compiler(arguments.compiler, arguments.program, arguments.include, arguments.ptxas)
    output, wrong = os.path.join(directory, "out.ptx"), []
    for architecture in compiler.architectures():
        if architecture < 75 and compiler.kind == "clang":
            continue  # older than what ptxas assembles
        for standard in probe.STANDARDS if architecture == 90 else probe.STANDARDS[:1]:
            where = "%s, compute_%d, %s" % (compiler.kind, architecture, standard)
            command = compiler.command(source, output, architecture, (), standard)
            if compiler.kind == "nvrtc":
                command[4], command[6:8] = alone, [joined, "pdl/vector.cuh"]
            assemble = [arguments.ptxas, "-arch=sm_%d" % architecture, output, "-o", os.devnull]
            for step in (command, assemble):
                result = probe.run(step)
                if result.returncode != 0:
                    wrong.append("wrong: %s\n%s" % (where, probe.beginning(result.stdout)))
                    break
            else:
                with open(output, encoding="utf-8") as file:
                    wrong += look(where, architecture, compiler.kind, file.read())
    return wrong


def preprocessed(arguments, architecture, name):
    command = [arguments.cxx, "-E", "-P", "-x", "c++", "-I", arguments.include, *device(architecture)]
    return probe.run(command + [os.path.join(arguments.include, "pdl", name)]).stdout


def run(arguments, directory):
    """A header that is the same for two architectures is tried once."""
    wrong, seen = [], set()
    for architecture in (750, 800, 900, 1000):
        for name, trial in (("types.cuh", "try_types()"), ("vector.cuh", "try_grids()")):
            text = preprocessed(arguments, architecture, name)
            if text not in seen:
                wrong += check(arguments, directory, architecture, trial)
            seen.add(text)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=("compiles", "run"))
    parser.add_argument("--include", required=True)
    parser.add_argument("--reference", help="the directory of rtc_reference.cuh")
    parser.add_argument("--cxx", help="the host's C++ compiler")
    parser.add_argument("--compiler", choices=("nvcc", "nvrtc", "clang"))
    parser.add_argument("--program", help="that compiler, or the NVRTC library")
    parser.add_argument("--ptxas")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        wrong = {"compiles": compiles, "run": run}[arguments.check](arguments, directory)
    print("\n".join(wrong) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
