#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool tune on a mock of the device: the files that it writes."""

import json
import os
import resource
import signal
import subprocess

from tune_command import BEST, QUICK, Chains, chosen, tooltest


class Outputs(Chains):
    def test_outputs_that_cannot_be_written(self):
        path = self.chain()
        self.refused("--csv nowhere/x: No such file or directory\n", path, "--csv", "nowhere/x")
        self.refused("--json %s: Is a directory\n" % self.directory, path, "--json", self.directory, "--csv", "x")
        for option in ("--csv", "--json"):
            result = self.tune(path, *QUICK, option, "/dev/full", code=2)
            self.assertIn("pdltool tune: %s /dev/full: No space left on device\n" % option, result.stderr)
            self.assertIn("chosen after", result.stdout)

    def test_two_forms_in_one_file(self):
        path = self.chain()
        for other in ("a", "./a", os.path.join(self.directory, "a")):
            self.refused("pdltool tune: --json %s: another form goes there\n" % other, path, "--csv", "a", "--json", other)

    def test_the_first_output_goes_where_the_second_cannot_be_made(self):
        self.refused("--json nowhere/x: ", self.chain(), "--csv", "a.csv", "--json", "nowhere/x")

    def test_an_old_file_stays_until_the_new_one_is_whole(self):
        path = self.chain()
        self.file("a.csv", "old")
        self.file("none.json", "{")
        for arguments in (("none.json",), (path, "--device", "1000"), (path, "--json", "nowhere/x")):
            with self.subTest(arguments):
                self.tune(*arguments, *QUICK, "--csv", "a.csv", code=2)
                self.assertEqual(self.read("a.csv"), "old")
                self.assertFalse(os.path.exists(self.path("a.csv.part")))
        self.tune(path, *QUICK, "--csv", "a.csv")
        self.assertTrue(self.read("a.csv").startswith("sweep,"))
        self.assertFalse(os.path.exists(self.path("a.csv.part")))

    def test_the_chain_may_be_written_over(self):
        self.tune(self.chain(), *QUICK, "--json", "chain.json")
        self.assertEqual(chosen(json.loads(self.read("chain.json")))["scale"], BEST["scale"])

    def test_a_disk_that_is_full(self):
        def small_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        path = self.chain()
        self.file("a.json", "old")
        before = sorted(os.listdir(self.directory))
        stderr = self.tune(path, *QUICK, "--json", "a.json", code=2, limit=small_disk).stderr
        self.assertEqual(stderr, "pdltool tune: --json a.json: File too large\n")
        self.assertEqual(self.read("a.json"), "old")
        self.assertEqual(sorted(os.listdir(self.directory)), before)

    def test_device_files_stay_device_files(self):
        path = self.chain()
        os.mkfifo(self.path("pipe"))
        before = sorted(os.listdir(self.directory))
        with subprocess.Popen(["cat", self.path("pipe")], stdout=subprocess.PIPE, text=True) as reader:
            try:
                self.tune(path, *QUICK, "--csv", "pipe")
                self.assertTrue(reader.communicate(timeout=10)[0].startswith("sweep,"))
            finally:
                reader.kill()
        self.assertEqual(sorted(os.listdir(self.directory)), before)


if __name__ == "__main__":
    tooltest.main(globals())
