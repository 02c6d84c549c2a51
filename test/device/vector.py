#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs pdl/types.cuh and pdl/vector.cuh on the host: each asm statement becomes a call of emulate().

    compiles    each compiler takes them for each architecture, with the widest loads that it has
    run         as they are, as compiled for old and new devices, vector_host.cpp finds nothing wrong
    broken      each way of breaking them that is listed here is found
"""

import argparse
import os
import re
import subprocess
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


def check(arguments, directory, changes=(), architectures=(750, 800, 900, 1000), options=()):
    """The lines of what is wrong, by the architecture that the headers take themselves to be for."""
    os.makedirs(os.path.join(directory, "pdl"), exist_ok=True)
    for name in ("types.cuh", "vector.cuh"):
        with open(os.path.join(arguments.include, "pdl", name), encoding="utf-8") as file:
            text = file.read()
        for where, old, new in changes:
            if where == name:
                if old not in text:
                    sys.exit("%s no longer has '%s'" % (name, old))
                text = text.replace(old, new, 1)
        with open(os.path.join(directory, "pdl", name), "w", encoding="utf-8") as file:
            file.write(emulated(text))
    wrong = []
    for architecture in architectures:
        program = os.path.join(directory, "host")
        command = [arguments.cxx, "-std=c++17", "-O1", "-w", "-frounding-math", "-D__CUDACC__"]
        command += ["-D__CUDA_ARCH__=%d" % architecture, "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0"]
        command += ["-I", directory, "-I", arguments.include, "-I", arguments.examples, *options]
        command += [os.path.join(HERE, "vector_host.cpp"), "-o", program]
        for step in (command, [program]):
            result = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if result.returncode != 0:
                wrong += ["for %d: %s" % (architecture, line) for line in result.stdout.splitlines()[:5]]
                wrong += [] if result.stdout else ["for %d: it failed" % architecture]
                break
    return wrong


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
                command[1], command[3:5] = alone, [joined, "pdl/vector.cuh"]
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


# What is broken, for which architecture it shows, and how: (file, old, new).
BREAKS = [
    ("a shifted load may begin before the array", 900, "vector.cuh",
     " && first + vector * bytes - shift >= begin", ""),
    ("a shifted load may end behind the array", 900, "vector.cuh",
     "first + last * bytes - shift + bytes + aligned <= end", "true"),
    ("the head is ignored", 900, "vector.cuh", "const long long head = unaligned < count ? unaligned : count",
     "const long long head = 0"),
    ("the tail is left out", 900, "vector.cuh", "i < single", "i < head"),
    ("bytes are shifted by words only", 900, "vector.cuh", "shift % 4 * 8", "shift / 16"),
    ("words are not shifted", 900, "vector.cuh", "(shift & 4u * Step) != 0", "false"),
    ("an input is aligned if the output is", 900, "vector.cuh", "if ((first & (piece - 1u)) == 0)", "if (true)"),
    ("every block does the ends", 900, "vector.cuh", "pdl_block_x_() == 0", "true"),
    ("rows are not divided among blocks", 900, "vector.cuh", "threads * pdl_block_y_() + pdl_thread_y_()",
     "pdl_thread_y_()"),
    ("an addition writes", 900, "vector.cuh", "pdl_add(old.template get<T>(i), value)",
     "pdl_storage<T>::store(value)"),
    ("32 bytes are loaded at 16", 1000, "vector.cuh", "if ((first & (piece - 1u)) == 0)",
     "if ((first & (aligned - 1u)) == 0)"),
    ("what was cut off is forgotten", 900, "types.cuh", "!= value ? 1u : 0u));", "!= value ? 0u : 0u));"),
    ("halves of 8 bits forget it", 750, "types.cuh", "(pdl_float_of_half_(cut) != value ? 1u : 0u)", "0u"),
    ("8 bits are rounded up at a tie", 750, "types.cuh", "- 1u + (size >> drop & 1u)) >> drop", ") >> drop"),
    ("8 bits do not saturate", 750, "types.cuh", "rounded > largest ? largest : rounded", "rounded"),
    ("a bfloat16 is cut", 750, "types.cuh", "(bits + 0x7fffu + (bits >> 16 & 1u)) >> 16", "bits >> 16"),
    ("e4m3 has infinity", 900, "types.cuh", "size == 0x7fu ? pdl_float_of_bits_(0x7fffffffu)",
     "size == 0x7fu ? pdl_float_of_bits_(0x7f800000u)"),
    ("not-a-number is no integer", 900, "types.cuh", "return value != value ? 0 : cut;", "return cut;"),
    ("integers wrap", 900, "types.cuh", "static_cast<T>(value < low ? low : value > high ? high : value)",
     "static_cast<T>(value)"),
    ("sums of 64 bits wrap", 900, "types.cuh", "value > ~old ? ~0ull : old + value", "old + value"),
    ("large integers are added in float", 900, "types.cuh", "(mine == 0 && sizeof(T) == 4)", "false"),
]


def broken(arguments, directory):
    missed = []
    for number, (what, architecture, where, old, new) in enumerate(BREAKS):
        only = "-DONLY_TYPES" if where == "types.cuh" else "-DONLY_GRIDS"
        found = check(arguments, os.path.join(directory, str(number)), [(where, old, new)], [architecture], [only])
        if not any(":" in line and "wrong" in line for line in found):
            missed.append("%s: not found %s" % (what, found))
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=("compiles", "run", "broken"))
    parser.add_argument("--include", required=True)
    parser.add_argument("--examples", help="the directory of rtc_reference.cuh")
    parser.add_argument("--cxx", help="the host's C++ compiler")
    parser.add_argument("--compiler", choices=("nvcc", "nvrtc", "clang"))
    parser.add_argument("--program", help="that compiler, or nvrtc_probe")
    parser.add_argument("--ptxas")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        wrong = {"compiles": compiles, "run": check, "broken": broken}[arguments.check](arguments, directory)
    print("\n".join(wrong) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
