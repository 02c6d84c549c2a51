#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that end badly or do what programs seldom do, and recordings that are damaged, with the real driver.

Each must end as it does when it is not watched, the tool must not hang or crash, and what was recorded up to then must
be readable."""

import glob
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import watched

PROGRAMS = ["well", "killed", "crash", "abort", "terminated", "quick_exit", "exec", "exec_other", "reset", "descriptors",
            "fork"]
LAUNCHES = 200 # that each made before
CRASHED = {128 + signal.SIGSEGV, 128 + signal.SIGABRT, 128 + signal.SIGBUS, 128 + signal.SIGILL, 128 + signal.SIGFPE}


def recorded(report):
    return watched.sums(report).get("launches")


def try_program(tool, how):
    plain = watched.run([tool.program("bad"), how], 60)
    if plain.code == watched.SKIPPED:
        return None
    watch = tool.watch([tool.program("bad"), how], timeout=60)
    launches = recorded(watch.report)
    right = not watch.finished.timed_out and watch.finished.code == plain.code and (launches or 0) >= LAUNCHES
    return {"exit_code": plain.code, "watched": watch.finished.code, "launches": launches, "right": right,
            "problem": watch.problem, "error": watch.finished.err[-400:]}


def try_command(tool, command, expected):
    """A command that has no CUDA or cannot run."""
    watch = tool.watch(command, timeout=30)
    return {"exit_code": expected, "watched": watch.finished.code, "launches": recorded(watch.report),
            "right": watch.finished.code == expected and not watch.finished.timed_out,
            "error": watch.finished.err[-400:]}


def try_signal(tool, number, to_program):
    """A signal from outside: to the program, or to the tool, which passes it on."""
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "recording")
        with open(os.path.join(folder, "stderr"), "w+b") as error_file:
            process = subprocess.Popen(tool.command(record, [], [tool.program("bad"), "hangs"]), start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=error_file)
            time.sleep(4) # it has launched by then
            target = process.pid
            if to_program:
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
                target = int(children[-1]) if children else target # in front of it is a process of the tool
            os.kill(target, number)
            try:
                process.wait(20)
                hung = False
            except subprocess.TimeoutExpired:
                hung = True
            watched.kill_tree(process.pid)
            process.wait()
            error_file.seek(0)
            error = error_file.read()
        files = sorted(glob.glob(record + "*"))
        report, problem = tool.report(files) if files else (None, "no recording")
        code = process.returncode
        return {"exit_code": 128 + number, "watched": 128 - code if code < 0 else code, "launches": recorded(report),
                "right": not hung and (recorded(report) or 0) >= LAUNCHES, "problem": problem,
                "error": error.decode(errors="replace")[-400:]}


def try_recordings(tool):
    """A good recording, cut, changed, and beside another."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "recording")
        watched.run(tool.command(record, [], [tool.program("bad"), "well"]), 60)
        if not os.path.exists(record):
            return {"recording": {"right": False, "problem": "no recording"}}
        whole = Path(record).read_bytes()
        changed = bytearray(whole)
        changed[8:12] = (99).to_bytes(4, sys.byteorder)
        cases = {"empty": b"", "header only": whole[:4096], "cut in the header": whole[:100],
                 "cut in half": whole[:len(whole) // 2 + 17], "cut by a byte": whole[:-1], "newer version": bytes(changed),
                 "no recording": b"\x7fELF" + whole[4:8192], "zeros behind the header": whole[:4096] + bytes(100000)}
        for name, content in cases.items():
            path = os.path.join(folder, "damaged")
            Path(path).write_bytes(content)
            read = tool.read([path], timeout=30)
            found[f"recording: {name}"] = {"watched": read.code, "right": not read.timed_out and read.code not in CRASHED,
                                           "error": (read.err or read.out)[-300:]}
        report, problem = tool.report([record, record])
        found["recording: twice"] = {"watched": 0, "launches": recorded(report), "right": report is not None,
                                     "problem": problem}
    return found


def try_full_disk(tool):
    """A file system of a MB. Only root can make one."""
    with tempfile.TemporaryDirectory() as folder:
        made = watched.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], 10)
        if made.code != 0:
            return {"right": True, "skipped": made.err.strip()}
        try:
            record = os.path.join(folder, "recording")
            # Enough launches to fill it.
            finished = watched.run(tool.command(record, [], [tool.program("cost"), "stream", "101"]), 60)
            report, problem = tool.report([record]) if os.path.exists(record) else (None, "no recording")
            return {"exit_code": 0, "watched": finished.code, "launches": recorded(report), "problem": problem,
                    "right": finished.code == 0 and finished.line_of_json() is not None,
                    "error": finished.err[-400:]}
        finally:
            watched.run(["umount", folder], 10)


def main():
    options = watched.parser(__doc__).parse_args()
    tool = watched.Tool(options)
    found = {}
    for how in PROGRAMS:
        case = try_program(tool, how)
        if case is None:
            return watched.SKIPPED
        found[how] = case
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "not_executable"
        plain.write_text("no program\n", encoding="utf-8")
        plain.chmod(0o644)
        script = Path(folder) / "script"
        script.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
        script.chmod(0o755)
        found["not found"] = try_command(tool, [str(Path(folder) / "missing")], 127)
        found["not executable"] = try_command(tool, [str(plain)], 126)
        found["a folder"] = try_command(tool, [folder], 126)
        found["no CUDA"] = try_command(tool, ["/bin/true"], 0)
        found["no CUDA, a script"] = try_command(tool, [str(script)], 3)
        for path in ("/bin/su", "/usr/bin/su"):
            if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID:
                found["set-uid"] = try_command(tool, [path, "--version"], 0)
                break
    found["program killed from outside"] = try_signal(tool, signal.SIGKILL, True)
    found["tool ended by SIGTERM"] = try_signal(tool, signal.SIGTERM, False)
    found["disk full"] = try_full_disk(tool)
    found.update(try_recordings(tool))
    for name, case in found.items():
        watched.say(f"{name}: {'right' if case['right'] else 'WRONG'}", {key: case.get(key) for key in
                                                                         ("exit_code", "watched", "launches")})
    watched.write(options, "bad", {"program": "bad", "cases": found})
    return watched.end([f"{name}: {case}" for name, case in found.items() if not case["right"]])


if __name__ == "__main__":
    sys.exit(main())
