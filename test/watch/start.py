# SPDX-License-Identifier: MIT
"""How pdltool watch starts a program: its environment, signals, exit codes, and what becomes of its recording."""

import os
import signal
import struct
import subprocess
import sys
import time
import unittest

import tooltest

EMULATED = "PDL_TEST_EMULATED" in os.environ # programs of the build are of another architecture than sh
LIBRARY = os.path.realpath(os.environ["PDL_WATCH_LIBRARY"])

# A program that records: a header, as lib/watch/format.h has it.
UNOBSERVED = "pdltool watch: error: no launch was recorded: what --fail-on asks about was not observed; --allow-unobserved accepts this\n"
RECORDER = """
import os, struct, sys
with open(os.environ["PDL_WATCH_RECORD"] + (sys.argv[1] if len(sys.argv) > 1 else ""), "wb") as file:
    header = struct.pack("=8sIIIIIIQQQQII", b"PDLWATCH", 1, 0x01020304, 4096, os.getpid(), 1, 1, 0, 0, 0, 0, 0, 0)
    file.write(header.ljust(4096, b"\\0"))
"""


class Case(tooltest.Case):
    def watch(self, *arguments, env=None, **options):
        """Any exit code."""
        return subprocess.run(
            [tooltest.program, "watch", *arguments],
            capture_output=True,
            env={**os.environ, **(env or {})},
            cwd=self.directory,
            text=True,
            timeout=60,
            check=False,
            **options,
        )

    def variables(self, *options, env=None):
        """Those of the program."""
        result = self.watch("--allow-unobserved", *options, "--", "env", "-0", env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return dict(item.split("=", 1) for item in result.stdout.split("\0") if item)

    def script(self, name, text):
        path = self.file(name, text)
        os.chmod(path, 0o755)
        return path

    def recorder(self):
        return [sys.executable, self.file("recorder.py", RECORDER)]


class Environment(Case):
    def test_the_driver_is_told_of_the_library(self):
        variables = self.variables()
        self.assertEqual(variables["CUDA_INJECTION64_PATH"], LIBRARY)
        self.assertNotIn("LD_PRELOAD", variables)
        self.assertNotIn("PDL_WATCH_RULES", variables)

    def test_the_window_is_handed_on(self):
        variables = self.variables("--skip", "5", "--count", "7", "--seconds", "0.25")
        self.assertEqual([variables["PDL_WATCH_" + name] for name in ("SKIP", "COUNT")], ["5", "7"])
        self.assertEqual(float(variables["PDL_WATCH_SECONDS"]), 0.25)

    def test_settings_of_an_outer_pdltool_are_not_handed_on(self):
        old = {"PDL_WATCH_" + name: "9" for name in ("SKIP", "COUNT", "SECONDS", "RULES", "RECORD")}
        variables = self.variables(env=old)
        self.assertEqual([name for name in old if variables.get(name) == "9"], [])

    def test_the_users_other_settings_stay(self):
        variables = self.variables(env={"PDL_WATCH_LIMIT": "1000000", "PDL_WATCH_CODE": "0", "PDL_CUPTI_PATH": "/x", "PDL_LOG": "stderr"})
        self.assertEqual([variables[name] for name in ("PDL_WATCH_LIMIT", "PDL_WATCH_CODE", "PDL_CUPTI_PATH", "PDL_LOG")], ["1000000", "0", "/x", "stderr"])

    def test_paths_are_whole(self):
        self.assertEqual(self.variables("--record", "x.rec")["PDL_WATCH_RECORD"], self.path("x.rec"))

    def test_without_cupti_the_library_is_preloaded(self):
        variables = self.variables("--no-cupti")
        self.assertEqual((variables["PDL_WATCH_CUPTI"], variables["LD_PRELOAD"]), ("0", LIBRARY))

    @unittest.skipIf(EMULATED, "the library cannot be loaded into this machine's sh")
    def test_a_change_preloads_the_library_in_front_of_what_is_there(self):
        result = self.watch("--overlap", "off", "--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": "libm.so.6", "TELLER_SAYS": "1"})
        if "ASan runtime does not come first" in result.stderr: # a library with a sanitizer, and a shell without
            self.skipTest("the library cannot be loaded into other programs")
        self.assertEqual(result.stdout, LIBRARY + ":libm.so.6\n")
        self.assertIn("teller: loaded\n", result.stderr)

    def test_rules_are_written_for_it(self):
        for options, rules in (
            (("off",), "off *\n"),
            (("on", "--only", "a*", "--only", "=b", "--except", "c"), "on a*\non =b\nkeep c\n"),
            (("off", "--except", "c"), "off *\nkeep c\n"),
        ):
            with self.subTest(options):
                result = self.watch("--overlap", *options, "--allow-unobserved", "--", "sh", "-c", 'cat "$PDL_WATCH_RULES"')
                self.assertEqual((result.stdout, result.returncode), (rules, 0))

    def test_what_is_instrumented_is_handed_on_and_gets_overlap(self):
        names = ("PDL_INSTRUMENT", "PDL_INSTRUMENT_TRIGGER")
        shell = "; ".join(f'echo "${{{name}-unset}}"' for name in names) + '; cat "$PDL_WATCH_RULES"; echo "$LD_PRELOAD"'
        for options, variables, rule in (
            (("hoist",), ("hoist", "last-read"), "on *"),
            (("entry", "--overlap", "off"), ("entry", "last-read"), "off *"),
            (("entry", "--only", "a*"), ("entry", "last-read"), "on a*"),
        ):
            with self.subTest(options):
                result = self.watch("--instrument", *options, "--", "sh", "-c", shell, env={"PDL_INSTRUMENT_TRIGGER": "last-read"})
                self.assertEqual(result.stdout.split("\n")[:4], [*variables, rule, LIBRARY])
        kept = self.variables(env={"PDL_INSTRUMENT": "entry", "PDL_INSTRUMENT_TRIGGER": "none"})
        self.assertEqual((kept["PDL_INSTRUMENT"], kept["PDL_INSTRUMENT_TRIGGER"]), ("entry", "none"))

    def test_another_tool_that_is_injected_stays_and_is_named(self):
        result = self.watch("--", "sh", "-c", "echo $CUDA_INJECTION64_PATH $LD_PRELOAD", env={"CUDA_INJECTION64_PATH": "/opt/tool.so"})
        self.assertEqual(result.stdout, f"/opt/tool.so {LIBRARY}\n")
        self.assertIn("CUDA_INJECTION64_PATH names another tool and is kept: /opt/tool.so", result.stderr)

    def test_a_path_that_cannot_be_preloaded_is_refused(self):
        os.mkdir(self.path("a b"))
        os.symlink(LIBRARY, self.path("link"))
        with open(LIBRARY, "rb") as file:
            copy = self.file("a b/x.so", file.read())
        result = self.watch("--overlap", "off", "--", "true", env={"PDL_WATCH_LIBRARY": copy})
        self.assertEqual(result.returncode, 2)
        self.assertIn("LD_PRELOAD takes no path with a blank", result.stderr)
        self.assertEqual(self.watch("--allow-unobserved", "--", "true", env={"PDL_WATCH_LIBRARY": copy}).returncode, 0)

    def test_a_library_that_is_not_there_is_named(self):
        result = self.watch("--", "true", env={"PDL_WATCH_LIBRARY": "/no/such.so"})
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("PDL_WATCH_LIBRARY=/no/such.so: No such file", result.stderr)


class Run(Case):
    def test_standard_streams_are_the_programs_own(self):
        result = self.watch("--output", "report", "--", "sh", "-c", "cat; echo error >&2", input="input\n")
        self.assertEqual((result.stdout, result.stderr), ("input\n", "error\n" + UNOBSERVED))
        with open(self.path("report"), encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("nothing was recorded: the program does not use CUDA"))

    def test_the_report_is_on_standard_error(self):
        result = self.watch("--", "echo", "out")
        self.assertEqual(result.stdout, "out\n")
        self.assertTrue(result.stderr.startswith("nothing was recorded"), result.stderr)

    @unittest.skipIf(EMULATED, "the emulator has descriptors of its own")
    def test_closed_descriptors_stay_closed(self):
        script = 'import os\nfor i in range(64):\n try: os.fstat(i); print(i, end=" ")\n except OSError: pass'
        command = 'exec 3>&- 4>&- 5>&- 0<&-; "$@"'
        result = subprocess.run(
            ["sh", "-c", command, "sh", tooltest.program, "watch", "-q", "--allow-unobserved", "--", sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((result.stdout, result.returncode), ("1 2 ", 0), result.stderr)

    def test_the_exit_code_is_the_programs(self):
        for code in (0, 1, 3, 255):
            self.assertEqual(self.watch("--allow-unobserved", "--", "sh", "-c", f"exit {code}").returncode, code)
            self.assertEqual(self.watch("--", "sh", "-c", f"exit {code}").returncode, code or 2)

    def test_a_program_that_was_not_observed_passes_no_gate(self):
        for gate in ("race", "unknown", "no-overlap", "never"):
            for program in (("true",), ("env", "-i", "true")):
                result = self.watch("--fail-on", gate, "--", *program)
                self.assertEqual(result.returncode, 2)
                self.assertIn(UNOBSERVED, result.stderr)

    def test_arguments_are_the_programs_own(self):
        result = self.watch("--", "printf", "%s|", "--json", "-q", "", "a b")
        self.assertEqual(result.stdout, "--json|-q||a b|")
        self.assertEqual(self.watch("printf", "%s|", "--json").stdout, "--json|")

    def test_a_signal_that_ends_the_program_is_told_as_a_shell_does(self):
        result = self.watch("--", "sh", "-c", "kill -SEGV $$")
        self.assertEqual(result.returncode, 128 + signal.SIGSEGV)
        self.assertIn(f"signal {int(signal.SIGSEGV)} (Segmentation fault) ended the program", result.stderr)

    def test_a_finding_counts_where_the_program_succeeds(self):
        env = {"FORMS_MODEL": "races"}
        self.assertEqual(self.watch("--", *self.recorder(), env=env).returncode, 1)
        self.assertEqual(self.watch("--fail-on", "never", "--", *self.recorder(), env=env).returncode, 0)
        self.assertEqual(self.watch("--", "sh", "-c", '"$@"; exit 7', "sh", *self.recorder(), env=env).returncode, 7)

    def start(self, *command):
        return subprocess.Popen(
            [tooltest.program, "watch", "-q", "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.directory, text=True
        )

    def test_sigterm_and_sighup_are_passed_on(self):
        for number, name in ((signal.SIGTERM, "TERM"), (signal.SIGHUP, "HUP")):
            with self.subTest(name):
                tool = self.start("sh", "-c", f"trap 'echo got; exit 5' {name}; echo ready; while :; do sleep 0.05; done")
                self.assertEqual(tool.stdout.readline(), "ready\n")
                tool.send_signal(number)
                self.assertEqual((tool.communicate(timeout=30)[0], tool.returncode), ("got\n", 5))

    def test_sigint_is_left_to_the_program(self):
        for number in (signal.SIGINT, signal.SIGQUIT):
            tool = self.start("sh", "-c", "echo ready; sleep 0.4; exit 6")
            self.assertEqual(tool.stdout.readline(), "ready\n")
            tool.send_signal(number)
            self.assertEqual((tool.wait(timeout=30), tool.communicate()[0]), (6, ""))

    def test_the_program_has_the_signals_of_its_caller(self):
        script = "import signal; print(signal.pthread_sigmask(0, []), *(signal.getsignal(n).name for n in (17, 1, 15)))"
        result = self.watch("-q", "--", sys.executable, "-c", script)
        self.assertEqual(result.stdout, "set() SIG_DFL SIG_DFL SIG_DFL\n")

    def test_nothing_temporary_is_left(self):
        os.mkdir(self.path("tmp"))
        self.watch("--overlap", "off", "--", *self.recorder(), env={"TMPDIR": self.path("tmp")})
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_nothing_temporary_is_left_when_the_tool_is_killed(self):
        os.mkdir(self.path("tmp"))
        os.environ["TMPDIR"] = self.path("tmp")
        try:
            tool = self.start("sh", "-c", "echo $$; sleep 1")
        finally:
            del os.environ["TMPDIR"]
        self.assertTrue(tool.stdout.readline().strip().isdigit())
        self.assertEqual(len(os.listdir(self.path("tmp"))), 1)
        tool.kill()
        tool.communicate(timeout=30)
        end = time.monotonic() + 20
        while os.listdir(self.path("tmp")) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(os.listdir(self.path("tmp")), [])


class Failures(Case):
    def failed(self, *command, code):
        result = self.watch("--", *command)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    def test_a_program_that_is_not_there(self):
        self.assertIn("cannot start no-such-program: there is no such program in PATH", self.failed("no-such-program", code=127))
        self.assertIn("cannot start ./nothing: there is no such file", self.failed("./nothing", code=127))

    def test_a_program_that_is_not_executable(self):
        self.file("data", "echo no\n")
        self.assertIn("cannot start ./data: Permission denied", self.failed("./data", code=126))
        self.assertIn("cannot start /: Permission denied", self.failed("/", code=126))

    def test_a_script_without_its_interpreter(self):
        self.script("script", "#!/no/such/interpreter\n")
        self.assertIn("its interpreter or dynamic linker does not exist", self.failed("./script", code=127))

    def test_a_script_without_a_first_line_runs_as_in_a_shell(self):
        self.script("script", "echo hello\n")
        self.assertEqual(self.watch("--", "./script").stdout, "hello\n")

    def test_a_name_that_steers_a_terminal_is_escaped(self):
        self.assertIn("\\x1b[2J", self.failed("\x1b[2J", code=127))


class Recording(Case):
    def test_an_older_recording_is_replaced_with_all_its_files(self):
        for _ in range(2):
            result = self.watch("--record", "x.rec", "--", "sh", "-c", '"$@"; "$@" .2', "sh", *self.recorder(), env={"FORMS_MODEL": "chain"})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("process 1001: ", result.stderr)
        self.watch("--record", "x.rec", "--", "true")
        self.assertEqual([name for name in os.listdir(self.directory) if name.startswith("x.rec")], [])

    def test_a_file_that_is_no_recording_stays(self):
        path = self.file("precious", "do not lose me")
        result = self.watch("--record", "precious", "--", "echo", "ran")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("precious: error: it exists and is not a recording; it is not overwritten", result.stderr)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "do not lose me")


if __name__ == "__main__":
    tooltest.main(globals())
