# SPDX-License-Identifier: MIT
"""What the tests of pdltool share: the program, files of a test, and the command line of the tests."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

program = None
nvcc = None
include = None
schemas = []
without = []

# On a processor that an emulator translates for: programs take ten times as long, and the start of one that is not there
# succeeds, because the emulator's vfork() is a fork().
emulated = "PDL_TEST_EMULATED" in os.environ
needs_failed_starts = unittest.skipIf(emulated, "the emulator does not report that a program cannot be started")


def is_slow():
    return emulated or "sanitized" in without


class Case(unittest.TestCase):
    """Has a directory for each test. It is the tool's working directory, too."""

    maxDiff = None

    def setUp(self):
        self.directory = os.path.realpath(tempfile.mkdtemp(prefix="pdl-tool-"))

    def tearDown(self):
        shutil.rmtree(self.directory)

    def path(self, name):
        return os.path.join(self.directory, name)

    def file(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def wait_for(self, condition, what):
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    def is_gone(self, process):
        try:
            with open(f"/proc/{process}/stat", encoding="ascii") as file:
                return file.read().rsplit(")", 1)[1].split()[0] in "ZX"  # until init has waited for it
        except OSError:
            return True

    def tool(self, *arguments, env=None, **options):
        result = subprocess.run(
            [program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **env} if env else None,
            cwd=self.directory,
            text=True,
            errors="replace",
            timeout=600 if emulated else 60,
            check=False,
            **options,
        )
        self.assertIn(result.returncode, (0, 1, 2), result.stderr)
        self.assertNotIn("Sanitizer", result.stderr)
        return result


def main(names):
    global program, nvcc, include  # pylint: disable=global-statement
    parser = argparse.ArgumentParser()
    parser.add_argument("--pdltool", required=True)
    parser.add_argument("--schema", action="append", default=[], help="for SARIF; may be repeated")
    parser.add_argument("--without", action="append", default=[], help="json, demangled, codecs: not in this build; sanitized: it takes more memory")
    parser.add_argument("--nvcc", help="for the cases that compile")
    parser.add_argument("--include", help="the directory of pdl/device.cuh")
    parser.add_argument("case", help="the class to run")
    arguments = parser.parse_args()
    program = os.path.realpath(arguments.pdltool)
    nvcc, include = arguments.nvcc, arguments.include
    schemas.extend(arguments.schema)
    without.extend(arguments.without)
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(names[arguments.case])
    if suite.countTestCases() == 0:
        sys.exit("no tests in " + arguments.case)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
