# SPDX-License-Identifier: MIT
"""Runs a program and measures it. A process that is started counts the memory of the one that starts it as
its own until it has more, so that a small one is put in between."""

import json
import os
import subprocess
import sys
import tempfile

BETWEEN = """
import json, os, signal, sys, time
limit, report, *command = sys.argv[1:]
begin = time.monotonic()
child = os.fork()
if child == 0:
    os.execvp(command[0], command)
signal.signal(signal.SIGALRM, lambda number, frame: os.kill(child, signal.SIGKILL))
signal.setitimer(signal.ITIMER_REAL, float(limit))
_, status, usage = os.wait4(child, 0)
with open(report, "w") as to:
    json.dump({"code": os.waitstatus_to_exitcode(status), "seconds": time.monotonic() - begin,
               "busy": usage.ru_utime + usage.ru_stime, "mebibytes": usage.ru_maxrss / 1024}, to)
"""


class Run:
    """What came of it: code, output, error; seconds on the clock and busy ones; the most memory in MiB."""

    def __init__(self, command, stdin=None, limit=120.0):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report")
            with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as error:
                subprocess.run(
                    [sys.executable, "-I", "-S", "-c", BETWEEN, str(limit), report, *command],
                    stdin=stdin if stdin is not None else subprocess.DEVNULL,
                    stdout=output,
                    stderr=error,
                    check=True,
                )
                output.seek(0)
                error.seek(0)
                self.output = output.read(4 << 20).decode(errors="replace")
                self.error = error.read(1 << 20).decode(errors="replace")
            with open(report, encoding="ascii") as to:
                figures = json.load(to)
        self.code = figures["code"]
        self.seconds = figures["seconds"]
        self.busy = figures["busy"]
        self.mebibytes = figures["mebibytes"]

    def __str__(self):
        return (f"exit {self.code} after {self.seconds:.1f} s, {self.busy:.1f} s of them busy, "
                f"{self.mebibytes:.0f} MiB: {self.error[:500]}")
