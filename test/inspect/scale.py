#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long `pdltool lint` takes, and how much memory, on PTX of 1, 10 and 100 MB, and on many of one thing.

The text is what nvcc makes of a few kernels, again and again with other names: many functions of a size
that occurs. Prints a line of JSON per size; fails if 10 MB take more than --seconds or --mebibytes. With
--counts, also a line per shape of shapes.py and count.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import measure
import shapes

HERE = os.path.dirname(os.path.abspath(__file__))
MB = 1000000


def seed(nvcc, include, sources, folder):
    """The header of a PTX text, and what to repeat: the functions of every source."""
    bodies = []
    head = None
    for i, source in enumerate(sources):
        path = os.path.join(folder, f"{i}.ptx")
        subprocess.run(
            [nvcc, "-std=c++17", "-I", include, "-lineinfo", "-arch=sm_90", "-ptx", "-o", path, source],
            check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        begin = text.index(".address_size 64") + len(".address_size 64")
        head = head or text[:begin] + "\n"
        bodies.append(text[begin:])
    return head, bodies


def write(path, head, bodies, size):
    """Repeats the bodies until there are `size` bytes; each time every name of theirs is another."""
    names = []
    for body in bodies:
        found = set(re.findall(r"\.(?:entry|func)\b\s*(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)", body))
        found |= set(re.findall(r"^\s*\.(?:visible |weak |extern )*(?:global|const|shared) .*?([A-Za-z_][\w$]*)\[",
                                body, re.M))
        found |= set(re.findall(r"^(\$?L__info_string\d+):", body, re.M))
        found -= {"vprintf", "malloc", "free", "__assertfail"}
        pattern = "|".join(re.escape(name) for name in sorted(found, key=len, reverse=True))
        names.append(re.compile(rf"(?<![\w$.])({pattern})(?=_param_|_retval|[^\w$]|$)"))
    files = 0
    with open(path, "w", encoding="utf-8") as to:
        to.write(head)
        turn = 0
        while to.tell() < size:
            for index, (body, name) in enumerate(zip(bodies, names)):
                text = name.sub(lambda match, own=f"_{index}_{turn}": match.group(1) + own, body)
                # Numbers of files go on from one copy to the next.
                own = re.findall(r"^\t?\.file\t(\d+) ", text, re.M)
                text = re.sub(r"(\.file\t|\.loc\t|inlined_at )(\d+)",
                              lambda match, files=files: f"{match.group(1)}{int(match.group(2)) + files}", text)
                files += max(map(int, own), default=0)
                to.write(text)
                if to.tell() >= size:
                    break
            turn += 1


def grow(pdltool, path, counts, runs):
    for shape in shapes.SHAPES:
        for count in counts:
            with open(path, "w", encoding="utf-8") as to:
                to.write(shape(count))
            found = [measure.Run([pdltool, "lint", "--no-source", path]) for _ in range(runs)]
            if any(run.code not in (0, 1) for run in found):
                sys.exit(f"{shape.__name__}({count}): {found[0]}")
            print(json.dumps({"shape": shape.__name__, "count": count, "size": os.path.getsize(path),
                              "busy": round(statistics.median(run.busy for run in found), 3),
                              "rss": int(max(run.mebibytes for run in found) * (1 << 20))}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--include", required=True, help="where the device header is")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1, 10, 100], help="in MB")
    parser.add_argument("--counts", type=int, nargs="+", default=[], help="of each thing of shapes.py")
    parser.add_argument("--runs", type=int, default=5, help="the median of so many is taken")
    parser.add_argument("--seconds", type=float, default=2.0, help="for 10 MB, no more than that")
    parser.add_argument("--mebibytes", type=float, default=200.0, help="for 10 MB, no more than that")
    parser.add_argument("--folder", help="where the texts are made")
    parser.add_argument("sources", nargs="*", default=[os.path.join(HERE, "kernels.cu")])
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="pdl-scale-", dir=options.folder) as folder:
        head, bodies = seed(options.nvcc, options.include, options.sources, folder)
        path = os.path.join(folder, "scale.ptx")
        for size in options.sizes:
            write(path, head, bodies, size * MB)
            runs = [measure.Run([options.pdltool, "lint", "--no-source", "--level=error", path])
                    for _ in range(options.runs)]
            if any(run.code not in (0, 1) for run in runs):
                sys.exit(f"{size} MB: {runs[0]}")
            with open(path, "rb") as text:
                kernels = sum(line.count(b".entry") for line in text)
            figures = {"size": os.path.getsize(path), "kernels": kernels,
                       "seconds": round(statistics.median(run.seconds for run in runs), 3),
                       "busy": round(statistics.median(run.busy for run in runs), 3),
                       "rss": int(max(run.mebibytes for run in runs) * (1 << 20))}
            print(json.dumps(figures), flush=True)
            if size == 10 and (figures["busy"] > options.seconds or figures["rss"] > options.mebibytes * (1 << 20)):
                print(f"10 MB take more than {options.seconds} s or {options.mebibytes} MiB", file=sys.stderr)
                failed = True
        grow(options.pdltool, path, options.counts, options.runs)
    sys.exit(failed)


if __name__ == "__main__":
    main()
