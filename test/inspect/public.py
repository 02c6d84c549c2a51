#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instruments PTX that others wrote, and checks and measures each result.

Each FOLDER is one source of kernels, with PTX files at any depth. Each file is instrumented in three modes. A
result must assemble if its input does, for each architecture. It must pass lint as launched with overlap, and a
second pass must not change it. No access to global memory may come before the wait in its machine code. Registers, instructions and spills of each instrumented kernel are compared with
those of the input. A target such as sm_90a assembles for other architectures without its suffix, unless the
kernels need it.

Example: public.py --pdltool build/release/tools/pdltool --summary summary.jsonl ~/ptx/triton ~/ptx/numba

Exit status: 0; 1 if a check failed."""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

MODES = (("entry", "none"), ("entry", "wait"), ("hoist", "last-read"))
TARGET = re.compile(r"^(\s*\.target\s+sm_)(\d+)([af]?)", flags=re.M)
# The low 12 bits of an instruction that pads, and of the wait.
NOP, WAIT = 0x918, 0x82e
# The low 9 bits of accesses to global memory: LDG, STG, ATOM, RED, SULD, SUST, SURED, LDGMC, ATOMG, LDGSTS, UTMALDG, UTMASTG,
# UTMAREDG, UBLKCP, UBLKRED and texture reads. LD and ST may mean shared or local memory.
ACCESSES = frozenset((
    0x181, 0x186, 0x18a, 0x18b, 0x18e, 0x199, 0x19d, 0x19f, 0x1a3, 0x1a5, 0x1a6, 0x1a8, 0x1a9, 0x1ae, 0x1b4, 0x1b5, 0x1b6, 0x1ba, 0x1bb,
    0x160, 0x161, 0x163, 0x164, 0x166, 0x167, 0x16c, 0x16d))


class Run:
    """A process that has ended: its exit code, output and seconds of processor time."""

    def __init__(self, *command):
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as error:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=error)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self.seconds = usage.ru_utime + usage.ru_stime
            for file in (output, error):
                file.seek(0)
            self.output = output.read().decode(errors="replace")
            self.error = error.read().decode(errors="replace")


def instructions(cubin):
    """Of each kernel's machine code: the instructions without those that pad, and the accesses before the wait; None: no wait."""
    with open(cubin, "rb") as file:
        data = file.read()
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    counts = {}
    for name, _, _, _, offset, length in sections:
        begin = sections[names][4] + name
        text = data[begin:data.index(b"\0", begin)].decode(errors="replace")
        if text.startswith(".text."):
            opcodes = [struct.unpack_from("<H", data, at)[0] & 0xfff for at in range(offset, offset + length, 16)]
            before = opcodes[:opcodes.index(WAIT)] if WAIT in opcodes else None
            counts[text[len(".text."):]] = {
                "instructions": sum(opcode != NOP for opcode in opcodes),
                "early": None if before is None else sum(opcode & 0x1ff in ACCESSES for opcode in before),
            }
    return counts


class Assembled:
    """The resources of each kernel of a PTX text for one architecture; `kernels` is None if it does not assemble."""

    def __init__(self, ptxas, text, architecture, folder):
        target = TARGET.search(text)
        own = target.group(2) == architecture
        ptx, cubin = (os.path.join(folder, "assembled." + ending) for ending in ("ptx", "cubin"))
        with open(ptx, "w", encoding="utf-8", newline="") as file:
            file.write(text if own else TARGET.sub(r"\1\2", text))
        command = (ptxas, "-v", f"-arch=sm_{architecture}{target.group(3) if own else ''}", ptx, "-o", cubin)
        run = Run(*command)
        if "Unresolved extern" in run.error:
            run = Run(*command, "-c")
        self.error = run.error.strip()
        self.kernels = None
        if run.code == 0:
            counts = instructions(cubin)
            self.kernels = {name: {**resources, **counts[name]} for name, resources in self.resources()}

    def resources(self):
        for part in re.split(r"Compiling entry function '", self.error)[1:]:
            spills = [int(number) for number in re.findall(r"(\d+) bytes spill", part)[:2]]
            yield part.split("'", 1)[0], {"registers": int(re.search(r"Used (\d+) registers", part).group(1)), "spills": sum(spills)}


class File:
    """One PTX file in all modes: a record per kernel and mode, and what is wrong."""

    def __init__(self, arguments, source, path):
        self.arguments, self.source, self.path = arguments, source, path
        self.records, self.defects, self.seconds, self.bytes = [], [], collections.Counter(), os.path.getsize(path)
        with open(path, encoding="utf-8", newline="") as file:
            self.text = file.read()
        with tempfile.TemporaryDirectory() as self.folder:
            target = TARGET.search(self.text)
            self.inputs = {
                architecture: Assembled(arguments.ptxas, self.text, architecture, self.folder)
                for architecture in arguments.architectures if target and int(target.group(2)) <= int(architecture)
            }
            for wait, trigger in MODES:
                self.check(f"{wait}/{trigger}", ("--wait", wait, "--trigger", trigger))

    def defect(self, mode, what, detail):
        self.defects.append({"source": self.source, "file": self.path, "mode": mode, "defect": what, "detail": detail[:500]})

    def check(self, mode, options):
        command = (self.arguments.pdltool, "instrument", "--no-project", *options)
        after, again = (os.path.join(self.folder, name) for name in ("after.ptx", "again.ptx"))
        run = Run(*command, "--json", "-o", after, self.path)
        self.seconds[mode] = run.seconds
        if run.code not in (0, 1):
            self.defect(mode, "not read", run.error)
            return
        kernels = json.loads(run.output)["kernels"]
        done = {kernel["name"] for kernel in kernels if kernel["result"] == "instrumented"}
        with open(after, encoding="utf-8", newline="") as file:
            text = file.read()
        second = Run(*command, "-o", again, after)
        with open(again, encoding="utf-8", newline="") as file:
            if second.code not in (0, 1) or file.read() != text:
                self.defect(mode, "second pass", second.error)
        self.lint(mode, after, done)
        outputs = {}
        if text == self.text:
            outputs = self.inputs
        else:
            for architecture, before in self.inputs.items():
                if before.kernels is not None:
                    outputs[architecture] = Assembled(self.arguments.ptxas, text, architecture, self.folder)
                    if outputs[architecture].kernels is None:
                        self.defect(mode, "assembly", outputs[architecture].error)
        for kernel in kernels:
            record = {"source": self.source, "file": self.path, "mode": mode}
            record.update({key: kernel[key] for key in ("name", "demangled", "result", "reason", "message", "coherent_loads")})
            record["trigger"] = kernel["trigger_line"] is not None
            for architecture, output in outputs.items():
                if output.kernels is not None and kernel["name"] in output.kernels:
                    record["sm_" + architecture] = [self.inputs[architecture].kernels[kernel["name"]], output.kernels[kernel["name"]]]
                    if kernel["name"] in done and output.kernels[kernel["name"]]["early"] != 0:
                        self.defect(mode, "machine code", f"sm_{architecture}: {kernel['name']}: an access before the wait, or no wait")
            self.records.append(record)

    def lint(self, mode, path, done):
        run = Run(self.arguments.pdltool, "lint", "--json", "--no-project", "--no-source", "--overlapped=*", path)
        if run.code not in (0, 1):
            self.defect(mode, "lint", run.error)
            return
        report = json.loads(run.output)
        for finding in report["findings"]:
            if finding["kernel"] in done and finding["level"] != "note" and not finding["suppressed"]:
                self.defect(mode, "finding", json.dumps(finding))
        for kernel in report["kernels"]:
            if kernel["name"] in done and kernel["waits_always"] != "yes":
                self.defect(mode, "waits_always", f"{kernel['name']}: {kernel['waits_always']}")


def changes(pairs, key):
    values = [after[key] - before[key] for before, after in pairs]
    return {
        "median": statistics.median(values), "lowest": min(values), "highest": max(values),
        "more": sum(value > 0 for value in values), "fewer": sum(value < 0 for value in values),
    } if values else None


def summarize(source, mode, files, architectures):
    records = [record for file in files for record in file.records if record["mode"] == mode]
    results = collections.Counter(record["result"] for record in records)
    summary = {
        "source": source,
        "mode": mode,
        "files": len(files),
        "bytes": sum(file.bytes for file in files),
        "kernels": len(records),
        # Without parameters and the arguments of templates.
        "names": len({re.sub(r"(?!^)[<(\[].*", "", record["demangled"].replace("(anonymous namespace)::", "")) for record in records}),
        "instrumented": results["instrumented"],
        "waits_already": results["waits already"],
        "refused": dict(collections.Counter(record["reason"] for record in records if record["result"] == "refused")),
        "triggers": sum(record["trigger"] for record in records),
        "coherent_loads": sum(record["coherent_loads"] for record in records),
        "defects": sum(defect["mode"] == mode for file in files for defect in file.defects),
        "seconds": round(sum(file.seconds[mode] for file in files), 3),
    }
    for architecture in architectures:
        key = "sm_" + architecture
        summary[key] = {"assembled": sum(key in record for record in records)}
        pairs = [record[key] for record in records if record["result"] == "instrumented" and key in record]
        summary[key].update({name: changes(pairs, name) for name in ("registers", "instructions", "spills")})
    return summary


def print_table(summaries, architectures):
    print("source mode kernels instrumented waits refused defects", *(f"sm_{a}: assembled registers instructions" for a in architectures), sep=" | ")
    for summary in summaries:
        cells = []
        for architecture in architectures:
            measured = summary["sm_" + architecture]
            cells.append(measured["assembled"])
            for name in ("registers", "instructions"):
                change = measured[name]
                cells.append(f"{change['median']:+g} ({change['lowest']:+g} to {change['highest']:+g})" if change else "-")
        refused = ", ".join(f"{count} {reason}" for reason, count in summary["refused"].items()) or 0
        print(summary["source"], summary["mode"], summary["kernels"], summary["instrumented"], summary["waits_already"], refused,
              summary["defects"], *cells, sep=" | ")


def write_lines(path, items):
    if path:
        with open(path, "w", encoding="utf-8") as to:
            to.writelines(json.dumps(item) + "\n" for item in items)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--ptxas", default=shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas")
    parser.add_argument("--arch", action="append", help="such as sm_90; repeatable; default: sm_90 and sm_100")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kernels", metavar="FILE", help="where a JSON line per kernel and mode goes")
    parser.add_argument("--summary", metavar="FILE", help="where a JSON line per source and mode goes")
    parser.add_argument("folders", metavar="FOLDER", nargs="+")
    arguments = parser.parse_args()
    for program in (arguments.pdltool, arguments.ptxas):
        if shutil.which(program) is None:
            parser.error(f"{program} cannot be executed")
    arguments.architectures = [name.replace("sm_", "") for name in arguments.arch or ("90", "100")]
    sources = {}
    for folder in arguments.folders:
        paths = sorted(os.path.join(where, name) for where, _, names in os.walk(folder) for name in names if name.endswith(".ptx"))
        sources.setdefault(os.path.basename(os.path.abspath(folder)), []).extend(paths)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = {source: [pool.submit(File, arguments, source, path) for path in paths] for source, paths in sources.items()}
        read = {source: [future.result() for future in items] for source, items in futures.items()}
    files = [file for source in read.values() for file in source]
    for file in files:
        for defect in file.defects:
            print("{file}: {mode}: {defect}: {detail}".format(**defect))
    summaries = [summarize(source, f"{wait}/{trigger}", items, arguments.architectures) for source, items in read.items() for wait, trigger in MODES]
    write_lines(arguments.kernels, (record for file in files for record in file.records))
    write_lines(arguments.summary, summaries)
    print_table(summaries, arguments.architectures)
    checked = sum(summary["kernels"] for summary in summaries)
    if checked == 0:
        print("no kernel was read")
    sys.exit(1 if checked == 0 or any(file.defects for file in files) else 0)


if __name__ == "__main__":
    main()
