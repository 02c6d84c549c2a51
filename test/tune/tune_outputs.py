#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool tune on a mock of the device: the files that it writes."""

import json
import os
import re
import resource
import signal
import subprocess

from tune_command import BEST, CASES, QUICK, Chains, changed, chosen, tooltest


class Outputs(Chains):
    def test_outputs_that_cannot_be_written(self):
        path = self.chain()
        self.refused("--csv nowhere/x: No such file or directory\n", path, "--csv", "nowhere/x")
        self.refused("--json %s: Is a directory\n" % self.directory, path, "--json", self.directory, "--csv", "x")
        for option in ("--csv", "--json"):
            result = self.tune(path, *QUICK, option, "/dev/full", code=2)
            self.assertIn("pdltool tune: error: %s /dev/full: No space left on device\n" % option, result.stderr)
            self.assertIn("chosen after", result.stdout)

    def test_two_forms_in_one_file(self):
        path = self.chain()
        for other in ("a", "./a", os.path.join(self.directory, "a")):
            self.refused("pdltool tune: error: --json %s: another format is written there\n" % other, path, "--csv", "a", "--json", other)

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
        self.assertEqual(stderr, "pdltool tune: error: --json a.json: File too large\n")
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


class Excluded(Chains):
    """The last line: what PDL_OVERLAP_EXCLUDE should name."""

    SLOW = CASES.replace("2 right\ncase scale - - 3 right", "2 slower\ncase scale - - 3 slower")

    def expect(self, names, change, cases=CASES, code=0):
        """What the text ends with, and the JSON has; None: nothing."""
        self.images(cases)
        stdout = self.tune(self.chain(change), *QUICK, "--json", "out.json", code=code).stdout
        lines = [line for line in stdout.splitlines() if line.startswith("PDL_OVERLAP_EXCLUDE")]
        self.assertEqual(lines, [] if names is None else ["PDL_OVERLAP_EXCLUDE=" + names])
        if names is not None:
            self.assertTrue(stdout.endswith(lines[0] + "\n"), stdout)
        self.assertEqual(json.loads(self.read("out.json"))["exclude"], names)

    def test_what_is_slower_with_overlap_in_every_shape(self):
        """Kernels with the states of their cases, and what is excluded."""
        both = {kind: "both" for kind in ("first", "second", "scale")}
        slow = self.SLOW
        table = (
            ("none was tried without", {}, slow, None),
            ("none is slower", both, CASES, None),
            ("one kernel", {"scale": "both"}, slow, "scale"),
            ("one that never overlaps", {"scale": False}, slow, None),
            ("one of three", both, slow, "scale"),
            ("two of them", both, re.sub("(case up .*) (right|hidden)", r"\1 slower", slow), "up:scale"),
            ("one that is faster with one trigger", both, re.sub("(case up .*) right", r"\1 slower", slow), "scale"),
            ("not with every grid", {"first": "both"}, CASES.replace("up - - 9 right", "up - - 9 slower"), None),
            ("not with every trigger", {"scale": "both"}, CASES.replace("scale - - 3 right", "scale - - 3 slower"), None),
            ("not by more than the noise", {"scale": "both"}, slow.replace("scale -1 - 2", "scale -1 - 0"), None),
        )
        for what, overlaps, cases, names in table:
            with self.subTest(what):

                def change(chain, overlaps=overlaps):
                    for kind, overlap in overlaps.items():
                        chain["kinds"][kind]["overlap"] = overlap

                self.expect(names, change, cases)

    def test_a_kernel_of_two_kinds_is_named_once_and_only_if_both_are_slower(self):
        def again(grid):
            def change(chain):
                chain["kinds"]["scale"].update(kernel="scale", overlap="both")
                chain["kinds"]["again"] = dict(chain["kinds"]["scale"], grid=grid)
                chain["links"].append(dict(chain["links"][2], kind="again"))

            return change

        self.expect("scale", again(16), self.SLOW)
        self.expect(None, again(16), self.SLOW.replace("case scale -1 -", "case scale - 16 2 right\ncase scale -1 -"))

    def test_a_chain_that_does_not_work_excludes_nothing(self):
        def change(chain):
            chain["kinds"]["scale"]["overlap"] = "both"
            chain["links"][1]["args"][1] = {"buffer": "w"}  # which is constant: noticed after the search

        self.expect(None, change, self.SLOW, code=1)


if __name__ == "__main__":
    tooltest.main(globals())
