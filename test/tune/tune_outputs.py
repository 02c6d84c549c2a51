#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool tune on a mock of the device: the files that it writes."""

import json
import os
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


class Saved(Chains):
    """--save: what libpdl reads."""

    def found(self, *shapes):
        """What libpdl finds in the file: of each kernel, grid and block."""
        words = [str(word) for shape in shapes for word in shape]
        result = subprocess.run([os.environ["TUNE_READ_SAVED"], self.path("out.tuned"), *words], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.splitlines()

    def save(self, change=None, cases=CASES, code=0, source=False):
        self.images(cases)
        self.tune(self.chain(change, source), *QUICK, "--save", "out.tuned", code=code)
        return self.read("out.tuned").splitlines()

    def test_what_was_chosen_is_read(self):
        lines = self.save()
        self.assertEqual(lines[0], "pdl-tuned 1")
        self.assertRegex(lines[1], r"^# chain.json on Mock GPU, driver for CUDA 13.0, pdltool tune 1.2.3, \d{4}-\d\d-\d\d$")
        self.assertEqual(lines[3:9:2], ["# first", "# second", "# scale"])
        self.assertRegex(lines[4], r"^up 132 256 overlap trigger=3 gain=\d+\.\d{3}$")
        self.assertRegex(lines[6], r"^down 132 32x8x1 overlap trigger=2 gain=")
        self.assertRegex(lines[8], r"^scale 8 256 overlap trigger=-1 gain=")
        gain = lines[4].split("gain=")[1]
        self.assertGreater(float(gain), 1)
        self.assertEqual(
            self.found(("up", 132, 256), ("scale", 8, 256), ("up", 64, 256), ("down", 132, 32)),
            ["overlap 3 " + gain, "overlap -1 " + gain, "nothing", "nothing"],
        )

    def test_a_kind_that_is_faster_without_overlap(self):
        lines = self.save(changed("kinds", "scale", "overlap", "both"), CASES.replace("2 right\ncase scale - - 3 right", "2 slower\ncase scale - - 3 slower"))
        self.assertRegex(lines[4], r"^up 132 256 overlap ")
        self.assertRegex(lines[8], r"^scale 8 256 serial trigger=-?\d+ gain=0\.\d{3}$")
        self.assertTrue(self.found(("scale", 8, 256))[0].startswith("serial "))

    def test_a_kind_that_is_faster_with_overlap_and_was_tried_without(self):
        lines = self.save(changed("kinds", "first", "overlap", "both"))
        self.assertRegex(lines[4], r"^up 132 256 overlap trigger=3 gain=1\.")
        self.assertNotEqual(lines[4].split("gain=")[1], lines[6].split("gain=")[1])  # the kind's own

    def test_a_kind_that_never_overlaps(self):
        self.assertRegex(self.save(changed("kinds", "second", "overlap", False))[6], r"^down 132 32x8x1 serial trigger=3$")

    def test_a_kernel_has_one_line_for_a_shape(self):
        def change(chain):
            chain["kinds"]["again"] = dict(chain["kinds"]["scale"], kernel="scale")
            chain["links"].append(dict(chain["links"][2], kind="again"))

        lines = self.save(change)
        self.assertRegex(lines[8], r"^scale 8 256 overlap ")
        self.assertRegex(lines[10], r"^# scale 8 256 overlap ")
        self.found()

    def test_without_a_choice_it_has_no_lines(self):
        lines = self.save(cases=CASES.replace("scale - - 3 right", "scale - - 3 unsteady"), code=1)
        self.assertEqual([line for line in lines[1:] if not line.startswith("#")], [])
        self.assertEqual(self.found(("up", 132, 256)), ["nothing"])


if __name__ == "__main__":
    tooltest.main(globals())
