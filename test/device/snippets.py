#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the code in a document, each block alone and as a reader would paste it.

A block marked as c, cpp or cuda is a source file: it includes what it needs. One with a main() is linked with libpdl and
the CUDA Runtime as well, and with libpdl-rtc if it includes that library's header. Kernels in a block's string literals
are the text that it gives to NVRTC; they are compiled too. A block whose first line is a comment that begins with
"Fragment" is not a source file, and FRAGMENTS has how many of them a document may have.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

ENDINGS = {"c": "c", "cpp": "cpp", "cuda": "cu"}
FRAGMENTS = {"migration.md": 2}  # launches of other libraries, whose headers are not here


def blocks(path):
    """Yields (line, language, text)."""
    language, start, lines = None, 0, []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fence = re.match(r"```(\w*)", line)
            if not fence:
                lines.append(line)
            elif language is None:
                language, start, lines = fence.group(1), number, []
            else:
                yield start, language, "".join(lines)
                language = None
    if language is not None:
        sys.exit("%s:%d: the block has no end" % (path, start))


def commands(language, text, source, output, arguments):
    """The compiler's command line."""
    links = re.search(r"\bmain\(", text) is not None
    library = ["-L" + os.path.dirname(arguments.library), "-l:" + os.path.basename(arguments.library)]
    if "<pdl/rtc.h>" in text:
        path, name = os.path.split(os.path.realpath(arguments.rtc_library))
        # It finds libpdl-inspect by the run path that it has in the build folder.
        library = ["-L" + path, "-l:" + name] + library
    runtime = os.path.join(os.path.dirname(os.path.realpath(arguments.nvcc)), "..", "lib64")
    if language == "c":
        command = [arguments.cc, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        command += ["-I", arguments.include, "-isystem", arguments.cuda_include]
        library += ["-L" + runtime, "-lcudart", "-Wl,-rpath-link," + runtime]
    else:
        command = [arguments.nvcc, "-std=c++17", "-arch=sm_90", "-I", arguments.include]
        command += ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror"]
        if "<pdl/cdp.cuh>" in text:  # it launches from the device
            command += ["-rdc=true"]
    # The libraries go after the source, for the linker.
    return command + ([] if links else ["-c"]) + [source, "-o", output] + (library if links else [])


def compile_text(directory, language, text, line, arguments):
    """None, or what the compiler says."""
    source = os.path.join(directory, "snippet." + ENDINGS[language])
    with open(source, "w", encoding="utf-8") as file:
        file.write('#line %d "%s"\n%s' % (line + 1, arguments.document, text))
    command = commands(language, text, source, os.path.join(directory, "out"), arguments)
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return None if result.returncode == 0 else result.stdout


def kernels_in_strings(text):
    """What a block's neighbouring string literals say together, where that has a kernel."""
    for literals in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")+', text):
        joined = re.sub(r'"\s*"', "", literals)[1:-1].replace("\\n", "\n").replace('\\"', '"')
        if "__global__" in joined:
            yield joined


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", required=True)
    parser.add_argument("--cuda-include", required=True)
    parser.add_argument("--library", required=True, help="libpdl.so")
    parser.add_argument("--rtc-library", help="libpdl-rtc.so, for blocks that include its header")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("document")
    arguments = parser.parse_args()
    arguments.library = os.path.realpath(arguments.library)
    count = failed = fragments = 0
    with tempfile.TemporaryDirectory() as directory:
        for line, language, text in blocks(arguments.document):
            if language not in ENDINGS:
                continue
            if re.match(r"(//|/\*) Fragment\b", text):
                fragments += 1
                continue
            for kind, part in [(language, text)] + [("cuda", part) for part in kernels_in_strings(text)]:
                count += 1
                wrong = compile_text(directory, kind, part, line, arguments)
                if wrong is not None:
                    failed += 1
                    print("%s:%d: the block does not compile alone\n%s" % (arguments.document, line, wrong))
    expected = FRAGMENTS.get(os.path.basename(arguments.document), 0)
    print("%d of %d sources compile alone; %d fragments, %d expected" % (count - failed, count, fragments, expected))
    return 1 if failed or count == 0 or fragments != expected else 0


if __name__ == "__main__":
    sys.exit(main())
