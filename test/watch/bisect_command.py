# SPDX-License-Identifier: MIT
"""pdltool bisect on a stand-in for a program under libpdl-watch, which heeds the rules and fails by what overlaps."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

import tooltest

PROGRAM = os.environ["BISECT_PROGRAM"]


class Case(tooltest.Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("tmp"))

    def tearDown(self):
        self.assertEqual(os.listdir(self.path("tmp")), [])
        super().tearDown()

    def bisect(self, *arguments):
        return self.tool("bisect", *map(str, arguments), env={"TMPDIR": self.path("tmp")})

    def search(self, kernels, launches, fault, *options, own=(), code=0):
        """Runs it on the stand-in."""
        result = self.bisect(*own, "--", PROGRAM, kernels, launches, fault, "count=" + self.path("count"), *options)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def runs(self):
        return os.path.getsize(self.path("count")) if os.path.exists(self.path("count")) else 0

    def found(self, result):
        """Kernels' numbers with how many launches overlap, culprit by culprit."""
        culprits = []
        for part in re.split(r"(?m)^The command fails where only", result.stdout)[1:]:
            names = re.findall(r"name: _Z\d+kernel(\d+)vv", part)
            launches = re.findall(r"(?m)^    launches: (\S+)", part)
            culprits.append({int(name): text for name, text in zip(names, launches)})
        return culprits

    def steps(self, result):
        return len(re.findall(r"(?m)^step \d+ of about \d+: ", result.stderr))


class Search(Case):
    def test_one_of_64_is_found(self):
        for culprit in (0, 17, 63):
            with self.subTest(culprit):
                result = self.search(64, 40, culprit)
                self.assertEqual(self.found(result), [{culprit: "40"}])
                self.assertLessEqual(self.steps(result), 10)

    def test_two_that_fail_only_together_are_found(self):
        result = self.search(64, 4, "5+40")
        self.assertEqual(self.found(result), [{5: "4", 40: "4"}])
        self.assertLessEqual(self.steps(result), 20)

    def test_three_that_fail_only_together_are_found(self):
        result = self.search(32, 4, "5+6+31")
        self.assertEqual(self.found(result), [{5: "4", 6: "4", 31: "4"}])

    def test_several_culprits_are_found_one_after_the_other(self):
        result = self.search(32, 4, "20,3+9")
        self.assertEqual(sorted(map(sorted, self.found(result))), [[3, 9], [20]])

    def test_the_kernel_before_the_launch_is_named(self):
        result = self.search(8, 10, "3")
        self.assertIn("launched after: kernel2(void, void) (10 launches)" if "demangled" not in tooltest.without else "kernel2", result.stdout)

    def test_kernels_that_a_failing_run_does_not_come_to_are_suspected(self):
        result = self.search(8, 100, "3", "cut=3")
        self.assertEqual(self.found(result), [{3: "100"}])

    def test_overlaps_that_are_added_are_searched(self):
        result = self.search(16, 4, "11", "own=no", own=["--overlap=on"])
        self.assertEqual(self.found(result), [{11: "4"}])
        self.assertIn("--overlap=on --except='=_Z8kernel11vv'", result.stdout)

    def test_suspects_are_limited(self):
        result = self.search(16, 4, "11+3", own=["--only", "*kernel1*", "--except", "*15*"])
        self.assertEqual(self.found(result), [{11: "4"}])
        result = self.search(16, 4, "3", own=["--only", "*kernel1*"], code=1)
        self.assertIn("fails without the overlap of the suspects as well", result.stdout)

    def test_skipped_steps_are_gone_round(self):
        result = self.search(16, 4, "11", "skip=0", own=["--except", "*kernel0vv"])
        self.assertEqual(self.found(result), [{11: "4"}])

    def test_failures_of_any_kind_count(self):
        for kind in ("kill=11", "code=255", "code=128", "hang=yes"):
            with self.subTest(kind):
                result = self.search(4, 2, "1", kind, own=["--runs", "1", "--timeout", "0.3"])
                self.assertEqual(self.found(result), [{1: "2"}])


class Flaky(Case):
    def test_a_rare_failure_is_found(self):
        result = self.search(16, 4, "6", "chance=0.3", own=["--confidence", "0.9999"])
        self.assertIn(6, self.found(result)[0])
        passes = [int(count) for count in re.findall(r"passes \((\d+) run", result.stderr)]
        self.assertGreater(min(passes), 10)

    def test_runs_are_as_many_as_asked_for(self):
        result = self.search(8, 4, "6", own=["--runs", "7"])
        self.assertEqual(set(re.findall(r"passes \((\d+) run", result.stderr)), {"7"})

    def test_a_race_that_is_amplified_shows_more_often(self):
        result = self.search(8, 4, "6", "chance=0.02", "amplified=1", own=["--amplify"])
        self.assertEqual(self.found(result), [{6: "4"}])
        self.assertLess(self.runs(), 100)


class CommandLine(Case):
    def test_wrong_options_are_refused(self):
        for options in (
            [],
            ["--"],
            ["--runs", "0", "--", PROGRAM],
            ["--confidence", "1", "--", PROGRAM],
            ["--confidence", "nan", "--", PROGRAM],
            ["--timeout", "-1", "--", PROGRAM],
            ["--overlap", "off", "--", PROGRAM],
            ["--only", "", "--", PROGRAM],
            ["--nonsense", "--", PROGRAM],
        ):
            with self.subTest(options):
                result = self.bisect(*options)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertNotEqual(result.stderr, "")

    def test_the_output_is_shown_only_where_the_program_fails_as_it_is(self):
        result = self.search(4, 2, "1", "say=hello \x1b[2J")
        self.assertEqual(result.stderr.count("hello"), 1)
        self.assertIn("  | hello \\x1b[2J\n", result.stderr)
        self.assertNotIn("hello", result.stdout)

    def test_verbose_shows_it_on_standard_error(self):
        result = self.search(4, 2, "1", "say=hello", own=["--verbose"])
        self.assertGreater(result.stderr.count("hello"), 5)
        self.assertNotIn("hello", result.stdout)


class BadProgram(Case):
    def test_a_program_that_cannot_be_started(self):
        self.file("text", "x")
        for name, why in (("./absent", "no such"), ("absent", "no such"), ("./text", "ermission denied")):
            with self.subTest(name):
                result = self.bisect("--", name)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(why, result.stderr)

    def test_a_program_that_ends_with_126_or_127_ends_the_search(self):
        for code in (126, 127):
            result = self.search(4, 2, "1", f"code={code}", code=2)
            self.assertIn(f"exit {code}", result.stderr)
        self.assertEqual(self.runs(), 2)

    def test_it_never_fails(self):
        result = self.search(4, 2, "none", own=["--runs", "5"], code=1)
        self.assertIn("passes as it is", result.stdout)
        self.assertEqual(self.runs(), 5)

    def test_it_always_fails(self):
        result = self.search(4, 2, "all", code=1)
        self.assertIn("overlap is not the cause", result.stdout)
        self.assertEqual(self.runs(), 4)

    def test_it_cannot_be_judged(self):
        result = self.search(4, 2, "1", "code=125", code=1)
        self.assertIn("cannot be judged", result.stdout)
        result = self.search(4, 2, "1", "skip=2", code=1)
        self.assertIn("cannot be judged", result.stdout)

    def test_it_asks_for_no_overlap(self):
        result = self.search(4, 2, "all", "own=no", code=1)
        self.assertIn("asks for overlap", result.stdout)

    def test_it_leaves_no_recording(self):
        result = self.search(4, 2, "all", "record=no", code=2)
        self.assertIn("no readable recording", result.stderr)

    def test_its_kernels_are_others_in_each_run(self):
        result = self.search(4, 2, "1", "vary=yes", code=1)
        self.assertIn("other kernels from run to run", result.stdout)


class NotObserved(Case):
    """What was not seen is neither the cause nor not the cause."""

    CASES = (
        ("fails and uses no CUDA", [], ["false"], "no readable recording"),
        ("passes and uses no CUDA", [], ["true"], "no readable recording"),
        ("drops the environment", [], ["env", "-i", PROGRAM, "4", "2", "all"], "drops the environment"),
        ("passes without the environment", [], ["env", "-i", PROGRAM, "4", "2", "none"], "no readable recording"),
        ("leaves no recording", [], [PROGRAM, "4", "2", "all", "record=no"], "no readable recording"),
        ("launches nothing", [], [PROGRAM, "4", "0", "all"], "has no launch"),
        ("launches nothing and passes", [], [PROGRAM, "4", "0", "none"], "has no launch"),
        ("has no such kernel", ["--only", "kernal*"], [PROGRAM, "4", "2", "all"], "no launch is of a kernel that"),
        ("has records that were lost", [], [PROGRAM, "4", "2", "all", "own=no", "lost=7"], "records of launches were lost"),
        ("is not seen without overlap", [], [PROGRAM, "4", "2", "all", "record=own"], "run without overlap was not observed"),
    )

    def test_there_is_no_verdict_on_either_stream(self):
        for name, own, command, why in self.CASES:
            with self.subTest(name):
                result = self.bisect(*own, "--", *command)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(why, result.stderr)
                self.assertNotIn("cause", result.stderr)

    def test_records_that_were_lost_do_not_end_a_search_with_suspects(self):
        self.assertEqual(self.found(self.search(4, 2, "1", "lost=7")), [{1: "2"}])


class Interrupted(Case):
    def interrupt(self, number, group):
        command = [tooltest.program, "bisect", "--", PROGRAM, "16", "4", "11", "sleep=100", "count=" + self.path("count")]
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.directory,
            env={**os.environ, "TMPDIR": self.path("tmp")},
            start_new_session=True,
        ) as process:
            end = time.monotonic() + 30
            while self.runs() < 18 and time.monotonic() < end:
                time.sleep(0.01)
            (os.killpg if group else os.kill)(process.pid, number)
            said, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, -number)
        return said

    def test_control_c_ends_it_and_what_failed_so_far_is_told(self):
        for number, group in ((signal.SIGINT, True), (signal.SIGTERM, False)):
            with self.subTest(number):
                if os.path.exists(self.path("count")):
                    os.unlink(self.path("count"))
                said = self.interrupt(number, group)
                self.assertIn("It failed where only these overlap", said)
                own = re.findall(r"--only='\w*'", said)
                self.assertIn("--only='_Z8kernel11vv'", own)
                self.assertLess(len(own), 16)
                result = self.search(16, 4, 11, own=[word.replace("'", "") for word in own])
                self.assertEqual(list(self.found(result)[0]), [11])


class Json(Case):
    def test_what_was_found(self):
        result = self.search(16, 10, "11+2", own=["--json"])
        told = json.loads(result.stdout)
        self.assertEqual((told["outcome"], told["suspects"]), ("found", 16))
        (culprit,) = told["culprits"]
        self.assertTrue(culprit["smallest"])
        kernels = {kernel["name"]: kernel for kernel in culprit["kernels"]}
        self.assertEqual(sorted(kernels), ["_Z7kernel2vv", "_Z8kernel11vv"])
        self.assertEqual(kernels["_Z8kernel11vv"]["pattern"], "=_Z8kernel11vv")
        self.assertEqual(kernels["_Z8kernel11vv"]["launches_with_overlap"], 10)
        self.assertEqual(told["runs"], self.runs())

    def test_what_was_not_observed(self):
        for name, own, command, _ in NotObserved.CASES:
            with self.subTest(name):
                result = self.bisect("--json", *own, "--", *command)
                told = json.loads(result.stdout)
                self.assertEqual((result.returncode, told["outcome"], told["culprits"]), (2, "not_observed", []))

    def test_what_was_not_found(self):
        for fault, outcome in (("all", "not_overlap"), ("none", "never_fails")):
            told = json.loads(self.search(4, 2, fault, own=["--json", "--runs", "2"], code=1).stdout)
            self.assertEqual((told["outcome"], told["culprits"]), (outcome, []))


if __name__ == "__main__":
    tooltest.main(globals())
