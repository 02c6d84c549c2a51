# SPDX-License-Identifier: MIT
"""What the scripts of this folder share: running a program with a time limit, under `pdltool watch` and as it is,
reading what the tool says, and writing results."""

import argparse
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

SKIPPED = 77
LOST = 79  # as in programs.cuh


class Finished:
    """How a program went."""

    def __init__(self, code, out, err, seconds, timed_out):
        self.code, self.out, self.err, self.seconds, self.timed_out = code, out, err, seconds, timed_out

    def line_of_json(self):
        """The line that a program printed about itself, or None."""
        for line in self.out.splitlines():
            if line.startswith('{"program"'):
                return json.loads(line)
        return None


def descendants(root):
    """Of a process, itself last."""
    children = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            fields = Path(path).read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(path.split("/")[2]))
    found, queue = [], [root]
    while queue:
        process = queue.pop()
        found.append(process)
        queue += children.get(process, [])
    return found[::-1]


def kill_tree(root):
    """What it started is in process groups of its own, if this module started it."""
    for process in descendants(root):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(command, timeout=120, env=None, cwd=None):
    """Runs a program in a process group of its own, which ends with it or when the time is up."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        try:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, start_new_session=True, env=env, cwd=cwd)
        except OSError as error:
            return Finished(127, "", str(error), 0.0, False)
        timed_out = False
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            kill_tree(process.pid)
        seconds = time.monotonic() - begin
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        code = process.returncode
        if code == LOST:
            sys.exit(f"failed: the device is lost: {texts[1][-400:]}")
        return Finished(128 - code if code < 0 else code, texts[0], texts[1], seconds, timed_out)


class Watched:
    """A watched run: how the program went, and what the tool says of the recording."""

    def __init__(self, finished, report, problem):
        self.finished, self.report, self.problem = finished, report, problem

    @property
    def skipped(self):
        return self.finished.code == SKIPPED


class Tool:
    """pdltool, and the programs of a build."""

    def __init__(self, options):
        self.pdltool = options.pdltool
        self.programs = options.programs

    def program(self, name):
        return str(Path(self.programs) / name)

    def command(self, record, options, command):
        return [self.pdltool, "watch", "--fail-on", "never", "--record", record, *options, "--", *command]

    def read(self, files, options=(), timeout=60):
        """Has the tool read recordings."""
        command = [self.pdltool, "watch", "--fail-on", "never", *options]
        for file in files:
            command += ["--input", file]
        return run(command, timeout)

    def report(self, files, options=(), timeout=60):
        """The recordings' report as JSON; None and why not."""
        finished = self.read(files, ["--json", *options], timeout)
        try:
            return json.loads(finished.out), None
        except ValueError as error:
            return None, f"exit code {finished.code}, {error}: {finished.err[-400:]}"

    def watch(self, command, options=(), timeout=120, env=None, text=None, runs=False):
        """Runs a program watched, then reads the recordings. `text`: a file for the report that people read. `runs`: the
        report gets "runs", those of kernels."""
        with tempfile.TemporaryDirectory() as folder:
            record = os.path.join(folder, "recording")
            finished = run(self.command(record, list(options), command), timeout, env)
            files = sorted(glob.glob(glob.escape(record) + "*"))
            report, problem = (None, "no recording: " + finished.err[-400:])
            if files:
                report, problem = self.report(files)
                if text is not None:
                    Path(text).parent.mkdir(parents=True, exist_ok=True)
                    Path(text).write_text(self.read(files).out, encoding="utf-8")
                if runs and report is not None:
                    trace = os.path.join(folder, "trace.json")
                    self.read(files, ["--trace", trace])
                    report["runs"] = runs_of_trace(trace)
        return Watched(finished, report, problem)


# ---- what the report says -----------------------------------------------------------------------------

def kernel_name(kernel):
    return kernel.get("demangled") or kernel.get("name") or ""


def word(text):
    """A reason as the tool writes it, in one spelling."""
    return (text or "").replace("-", "_").replace(" ", "_")


def sums(report):
    return (report or {}).get("verdict") or {}


def runs_of_trace(path):
    """The kernels' runs of a file that --trace wrote. Times are ns from its beginning."""
    found = []
    for event in json.loads(Path(path).read_text(encoding="utf-8"), parse_float=Decimal)["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") == "kernel":
            start, length = event["ts"] * 1000, event["dur"] * 1000
            reason = word(event["args"]["overlap"])
            found.append({"kernel": event["name"], "start_ns": int(start), "end_ns": int(start + length),
                          "in_graph": event["args"]["in_graph"], "reason": reason, "overlapped": reason == "overlapped"})
    return found


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else None


# ---- the command line -----------------------------------------------------------------------------------

def parser(text):
    options = argparse.ArgumentParser(description=text.splitlines()[0])
    options.add_argument("--pdltool", required=True)
    options.add_argument("--programs", required=True, help="folder of the programs of this folder, as built")
    options.add_argument("--out", type=Path, help="folder for results")
    return options


def write(options, name, result):
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / (name + ".json")
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def say(*words):
    print(*words, flush=True)


def end(failures):
    for failure in failures:
        print("failed:", failure, file=sys.stderr)
    return 1 if failures else 0
