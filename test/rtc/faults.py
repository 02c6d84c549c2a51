# SPDX-License-Identifier: MIT
"""Faults that a cache's folder must stand, in processes of their own: cache_process.c asks for texts and compares
what it gets. Whatever happens, it gets the right image."""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

program = None
shim = None
preload = ""


class Faults(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="pdl-faults-")
        self.folder = os.path.join(self.directory, "cache")
        self.log = os.path.join(self.directory, "log")

    def tearDown(self):
        shutil.rmtree(self.directory)

    def start(self, *arguments, folder=None, fault=None, after=0, **variables):
        env = dict(os.environ, **variables)
        if fault:
            env.update(LD_PRELOAD=f"{preload} {shim}".strip(), FAULT=fault, FAULT_AFTER=str(after))
        return subprocess.Popen(
            [program, folder or self.folder, "--log", self.log, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            text=True,
            cwd=self.directory,
        )

    def finish(self, process, status=0):
        output, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, errors)
        if status < 0:
            return {}
        line = output.splitlines()[-1]
        numbers, _, problem = line.partition(" problem=")
        stats = {name: int(value) for name, value in (word.split("=") for word in numbers.split())}
        stats["problem"] = problem
        return stats

    def ask(self, *arguments, **how):
        return self.finish(self.start(*arguments, **how))

    def compiled(self):
        """How often each text was."""
        counts = {}
        if os.path.exists(self.log):
            with open(self.log, encoding="utf-8") as file:
                for line in file:
                    counts[line] = counts.get(line, 0) + 1
        return counts

    def files(self, temporary=False):
        found = []
        for folder, _, names in os.walk(os.path.join(self.folder, "pdl-rtc-2")):
            found += [os.path.join(folder, name) for name in names]
        return [name for name in found if os.path.basename(name).startswith(".tmp-") == temporary]

    # ---- the end of a process ------------------------------------------------------------------

    def test_a_process_killed_in_a_write_leaves_no_file_that_counts(self):
        for after in (0, 1, 39, 40, 100, 150):
            self.finish(self.start("--keys", 3, fault="KILL_WRITE", after=after), -signal.SIGKILL)
            self.assertEqual(len(self.files()), 0)
            self.assertEqual(len(self.files(temporary=True)), 1)
            stats = self.ask("--keys", 3)
            self.assertEqual((stats["misses"], stats["damaged"]), (3, 0))
            shutil.rmtree(self.folder)

    def test_a_process_killed_around_the_rename_leaves_all_or_nothing(self):
        for fault, disk in (("KILL_BEFORE_RENAME", 1), ("KILL_AFTER_RENAME", 2)):
            self.finish(self.start("--keys", 3, fault=fault, after=1), -signal.SIGKILL)
            stats = self.ask("--keys", 3)
            self.assertEqual((stats["disk_hits"], stats["misses"], stats["damaged"]), (disk, 3 - disk, 0))
            shutil.rmtree(self.folder)

    def test_processes_killed_at_any_time_leave_right_images(self):
        chance = random.Random(1)
        longest = 0.5 if "PDL_TEST_EMULATED" in os.environ else 0.05 # an emulator takes long to start
        for _ in range(40):
            process = self.start("--keys", 200, "--threads", 4, "--rounds", 100)
            time.sleep(chance.uniform(0.0, longest))
            process.kill()
            process.communicate()
        stats = self.ask("--keys", 200, "--rounds", 10)
        self.assertEqual(stats["damaged"], 0)
        self.assertGreater(stats["disk_hits"], 0)

    def test_what_killed_processes_left_is_removed_when_it_is_old(self):
        self.finish(self.start(fault="KILL_WRITE", after=100), -signal.SIGKILL)
        left = self.files(temporary=True)
        self.assertEqual(len(left), 1)
        self.ask()
        self.assertEqual(self.files(temporary=True), left)
        os.utime(left[0], (time.time() - 4000, time.time() - 4000))
        self.ask("--keys", 2)
        self.assertEqual(self.files(temporary=True), [])

    # ---- disks ---------------------------------------------------------------------------------

    def test_a_full_disk_is_a_problem_and_leaves_nothing(self):
        for fault, words in (
            ("ENOSPC", "No space left on device"),
            ("EDQUOT", "quota exceeded"),
            ("EIO", "Input/output error"),
        ):
            for after in (0, 100):
                stats = self.ask("--keys", 3, fault=fault, after=after)
                self.assertEqual((stats["misses"], stats["store_failures"]), (3, 3))
                self.assertIn(words, stats["problem"])
                self.assertEqual(self.files() + self.files(temporary=True), [])

    def test_a_disk_that_fills_up_keeps_what_fit(self):
        self.ask("--keys", 1)
        size = os.path.getsize(self.files()[0])
        shutil.rmtree(self.folder)
        stats = self.ask("--keys", 5, fault="ENOSPC", after=2 * size + 10)
        self.assertEqual((stats["stored"], stats["store_failures"]), (2, 3))
        stats = self.ask("--keys", 5)
        self.assertEqual((stats["disk_hits"], stats["misses"], stats["damaged"]), (2, 3, 0))

    def test_short_writes_are_gone_on_with(self):
        self.assertEqual(self.ask("--keys", 3, fault="SHORT")["stored"], 3)
        self.assertEqual(self.ask("--keys", 3)["disk_hits"], 3)

    def test_a_rename_that_fails_leaves_nothing(self):
        stats = self.ask("--keys", 2, fault="RENAME")
        self.assertIn("cannot be renamed", stats["problem"])
        self.assertEqual(self.files() + self.files(temporary=True), [])

    def test_a_read_only_disk_is_read(self):
        self.ask("--keys", 2)
        stats = self.ask("--keys", 4, fault="EROFS")
        self.assertEqual((stats["disk_hits"], stats["misses"], stats["store_failures"]), (2, 2, 2))
        self.assertIn("Read-only file system", stats["problem"])

    def test_a_read_only_disk_without_a_cache_is_an_error_that_says_so(self):
        process = self.start(fault="EROFS")
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3)
        self.assertIn("cannot be used", output)

    # ---- many ----------------------------------------------------------------------------------

    def test_files_that_others_evict_are_never_damaged_or_wrong(self):
        few = {"PDL_RTC_CACHE_SIZE": "2K"}  # of about 20 files there is room for 4
        processes = [
            self.start("--keys", 20, "--threads", 2, "--seed", seed, "--rounds", 1, **few) for seed in range(6)
        ]
        stats = [self.finish(process) for process in processes]
        for each in stats:
            self.assertEqual((each["damaged"], each["store_failures"], each["problem"]), (0, 0, ""))
        self.assertGreater(sum(each["evicted"] for each in stats), 20)
        self.assertLess(len(self.files()), 20)

    def test_processes_that_compile_at_once_get_their_images(self):
        processes = [
            self.start("--keys", 50, "--threads", 8, "--seed", seed, "--milliseconds", 1) for seed in range(8)
        ]
        for process in processes:
            stats = self.finish(process)
            self.assertEqual((stats["damaged"], stats["store_failures"]), (0, 0))
        self.assertEqual(len(self.compiled()), 50)
        self.assertEqual(self.ask("--keys", 50)["disk_hits"], 50)


def main():
    global program, shim, preload  # pylint: disable=global-statement
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--preload", default="", help="what must come before the shim: a sanitizer's library")
    options, rest = parser.parse_known_args()
    program, shim, preload = options.program, options.shim, options.preload
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
