#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py --build BUILD --out FOLDER [--tutorials FOLDER] [--quick]: programs of Triton and torch.compile on a device,
as they are and instrumented. All variants start at once and compile side by side; then each measures in turn, so that
no two use the device at the same time. Writes FOLDER/instrument_programs.jsonl as results come, and the tables that
table.py makes of it."""

import argparse
import importlib.util
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "watch"))

import table
import watched


class Program:
    """A variant of a program: a process that takes turns."""

    def __init__(self, name, variant, command, env, folder):
        self.name, self.variant, self.lines, self.ready = name, variant, queue.Queue(), False
        with open(folder / f"{name}_{variant}.err", "wb") as errors:
            self.errors = Path(errors.name)
            self.process = subprocess.Popen([str(word) for word in command], env=env, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, start_new_session=True, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                try:
                    self.lines.put(json.loads(line))
                except ValueError:
                    pass
        self.lines.put(None)

    def until(self, key, seconds, write):
        """Writes lines up to the one that has `key`, and returns it; None: the program ended, or was late."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                write({"problem": f"no {key} after {seconds:.0f} s"}, self)
                return None
            if line is None:
                code = self.process.wait()
                write({"problem": f"exit code {code}: {self.errors.read_text(errors='replace')[-1500:]}"}, self)
                return None
            write(line, self)
            if key in line:
                return line

    def turn(self, seconds, write):
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except OSError:
            pass
        return self.until("round", seconds, write) is not None

    def end(self, seconds):
        """Lets it end by itself, which pdltool's report needs."""
        try:
            self.process.stdin.close()
            self.process.wait(seconds)
        except (OSError, subprocess.TimeoutExpired):
            pass
        if self.process.poll() is None:
            watched.kill_tree(self.process.pid)


def environment(options, folder, variant, instrument):
    env = dict(os.environ, TRITON_CACHE_DIR=str(folder / variant / "triton"), PYTHONUNBUFFERED="1",
               TORCHINDUCTOR_CACHE_DIR=str(folder / variant / "inductor"),
               # The same kernels in every variant, whatever a measurement says.
               TORCHINDUCTOR_DETERMINISTIC="1", TORCHINDUCTOR_COMPILE_THREADS="4")
    if instrument is not None:
        triton = Path(importlib.util.find_spec("triton").origin).parent
        env.update(TRITON_PTXAS_PATH=str(options.build / "tools" / "pdl-ptxas"), PDL_INSTRUMENT=instrument,
                   PDL_PTXAS=str(triton / "backends" / "nvidia" / "bin" / "ptxas"),
                   PDL_INSTRUMENT_LOG=str(folder / f"{variant}.log"))
    return env


def programs(options, folder):
    """All of them, started."""
    pdltool = options.build / "tools" / "pdltool"
    watch = [pdltool, "watch", "--fail-on", "never", "--overlap", "on"]
    python = [options.python, "-B"]
    started = []

    def start(name, variant, command, instrument=None, **more):
        env = dict(environment(options, folder, variant, instrument), **more)
        started.append(Program(name, variant, command, env, folder))

    start("shapes", "all", [*python, HERE / "shapes.py", "--pdltool", pdltool, *(["--quick"] if options.quick else [])])
    commands = {"decoder": [*python, HERE / "decoder.py", *(["--cases", "triton", "library"] if options.quick else [])]}
    start("decoder", "inductor", commands["decoder"], TORCHINDUCTOR_ENABLE_PDL="1")
    start("decoder", "plain again", commands["decoder"])
    start("decoder", "times", [pdltool, "watch", "--fail-on", "never", "--json", "--output", folder / "decoder.plain.json", "--",
                               *commands["decoder"]])
    if options.tutorials is not None:
        commands["tutorials"] = [*python, HERE / "tutorials.py", options.tutorials]
    for name, command in commands.items():
        start(name, "plain", command)
        for wait in ("entry", "hoist"):
            start(name, wait, [*watch, "--no-cupti", "--rows", 3, "--", *command], wait)
        start(name, "trigger", [*watch, "--no-cupti", "--rows", 3, "--", *command], "entry", PDL_INSTRUMENT_TRIGGER="wait")
        start(name, "helper", [*command, "--helper", pdltool])
        # Times of single kernels cost time themselves: only for the reasons.
        start(name, "reasons", [*watch, "--json", "--output", folder / f"{name}.trigger.json", "--", *command], "entry",
              PDL_INSTRUMENT_TRIGGER="wait")
    return started


def reasons(report):
    """Of a report of pdltool watch: the sums, the pairs with the most to save, and the kernels with the most time."""
    def name(index):
        return None if index is None else watched.kernel_name(report["kernels"][index])

    def brief(pairs, most):
        return [{"first": name(pair["first"]), "second": name(pair["second"]),
                 **{key: pair.get(key) for key in ("in_graph", "count", "overlapped", "overlap_ns", "gap_ns", "saving_ns",
                                                   "reason", "detail")}} for pair in pairs[:most]]

    pairs = sorted(report["pairs"], key=lambda pair: -(pair["saving_ns"] or 0))
    kernels = sorted(report["kernels"], key=lambda kernel: -(kernel["time_ns"] or 0))
    return {"verdict": report["verdict"], "notes": report["notes"],
            "in_graph": brief([pair for pair in pairs if pair["in_graph"]], 40),
            "in_stream": brief([pair for pair in pairs if not pair["in_graph"]], 10),
            "kernels": [[watched.kernel_name(kernel), kernel["launches"], kernel["time_ns"]] for kernel in kernels[:40]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tutorials", type=Path, help="folder of Triton's tutorials")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--quick", action="store_true", help="few rounds and cases: whether each step works")
    parser.add_argument("--seconds", type=float, default=150, help="limit for all of it")
    options = parser.parse_args()
    began, rounds = time.monotonic(), 3 if options.quick else 11
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.out / "instrument_programs.jsonl"

    def left(share=1.0):
        return max(1.0, (options.seconds - 10) * share - (time.monotonic() - began))

    with open(results, "w", encoding="utf-8") as lines, tempfile.TemporaryDirectory() as folder:
        def write(line, program=None):
            own = {"program": program.name, "variant": program.variant} if program is not None else {}
            lines.write(json.dumps({**own, "at": round(time.monotonic() - began, 1), **line}) + "\n")
            lines.flush()

        for name in ("pdltool", "pdl-ptxas"):
            if not (options.build / "tools" / name).exists():
                write({"problem": f"{name} is not built"})
        started = programs(options, Path(folder))
        try:
            for program in started:
                program.ready = program.until("ready", left(0.7), write) is not None
            live = [program for program in started if program.ready]
            for program in started:
                if not program.ready:
                    program.end(0)
            once = [program for program in live if program.variant in ("all", "reasons", "times")]
            live = [program for program in live if program not in once]
            for program in once:
                program.turn(left(), write)
                program.end(min(20, left()))
            for _ in range(rounds):
                live = [program for program in live if left() > 3 and program.turn(min(15, left()), write)]
        finally:
            for program in started:
                program.end(5)
                if program.variant in ("entry", "hoist"): # what pdltool watch says
                    text = program.errors.read_text(errors="replace").splitlines()
                    write({"report": [line for line in text if not line.startswith("process ")][-40:]}, program)
        for log in sorted(Path(folder).glob("*.log")):
            actions = {}
            for line in log.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                word = entry["action"] + (f": {entry['reason']}" if entry.get("reason") else "")
                actions[word] = actions.get(word, 0) + 1
            write({"variant": log.stem, "kernels": actions})
        for report in sorted(Path(folder).glob("*.json")):
            try:
                name, variant = report.stem.split(".")
                write({"program": name, "variant": variant,
                       "reasons": reasons(json.loads(report.read_text(encoding="utf-8")))})
            except (ValueError, KeyError) as error:
                write({"program": report.stem, "problem": f"report: {error!r}"})
        write({"seconds": round(time.monotonic() - began, 1)})
    text = table.tables(results)
    (options.out / "instrument_programs.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
