# SPDX-License-Identifier: MIT
"""What was not looked at is never clean: commands that get nothing to look at, and the exit code that does not say so."""

import json
import os
import unittest

import tooltest

HEAD = ".version 8.0\n.target %s\n.address_size 64\n"
EMPTY = HEAD % "sm_90"
FUNCTION = EMPTY + ".visible .func f()\n{\nret;\n}\n"
OLD = HEAD % "sm_80" + ".visible .entry old()\n{\nret;\n}\n"
KERNEL = EMPTY + ".visible .entry k()\n{\ngriddepcontrol.wait;\ngriddepcontrol.launch_dependents;\nret;\n}\n"
POINTER = EMPTY + ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd;\nld.param.u64 %rd, [p];\ncall %rd, (), proto;\nproto: .callprototype _ ();\nret;\n}\n"
LAUNCHED = "libpdl[7]: device 0, kernel other: overlaps\n"
SPEC = "blocks=132,threads=256"


class Unobserved(tooltest.Case):
    # What, the arguments, the exit code. Those that need a device are asked in their own tests.
    CASES = (
        ("lint: no kernel", ("lint", "empty.ptx"), 2),
        ("lint: only a function", ("lint", "function.ptx"), 2),
        ("lint: only old code", ("lint", "old.ptx"), 2),
        ("lint: a gate that nothing passes by", ("lint", "--fail-on=never", "empty.ptx"), 2),
        ("lint: all has to be checked", ("lint", "--require-checked", "empty.ptx"), 1),
        ("lint: some is not checked", ("lint", "--require-checked", "kernel.ptx", "old.ptx"), 1),
        ("lint: a launched kernel is in no input", ("lint", "--require-checked", "--launches=log", "kernel.ptx"), 1),
        ("lint: a baseline of nothing", ("lint", "--write-baseline=base", "empty.ptx"), 2),
        ("lint: a folder without code", ("lint", "folder"), 2),
        ("lint: as SARIF", ("lint", "--sarif", "empty.ptx"), 2),
        ("inspect: no kernel", ("inspect", "empty.ptx"), 1),
        ("inspect: only a function", ("inspect", "--summary", "function.ptx"), 1),
        ("inspect: unknown whether it waits", ("inspect", "--pdl", "pointer.ptx"), 2),
        ("instrument: no kernel", ("instrument", "--output", "out.ptx", "empty.ptx"), 1),
        ("instrument: only refused", ("instrument", "--output", "out.ptx", "old.ptx"), 1),
        ("overlap: no registers in PTX", ("overlap", "--primary=k," + SPEC, "--secondary=k," + SPEC, "kernel.ptx"), 2),
        ("report: no rows to predict", ("report", "predict", "nothing.json"), 2),
        ("watch: no CUDA", ("watch", "--", "true"), 2),
        ("watch: not the environment", ("watch", "--", "env", "-i", "true"), 2),
        ("watch: no file of a recording", ("watch", "--input", "empty.ptx"), 2),
        ("bisect: passes, no CUDA", ("bisect", "--", "true"), 2),
        ("bisect: fails, no CUDA", ("bisect", "--", "false"), 2),
    )

    def setUp(self):
        super().setUp()
        for name, text in (("empty", EMPTY), ("function", FUNCTION), ("old", OLD), ("kernel", KERNEL), ("pointer", POINTER)):
            self.file(name + ".ptx", text)
        self.file("log", LAUNCHED)
        os.mkdir(self.path("folder"))
        self.file("folder/text", "hello")
        self.file("nothing.json", "{}")

    def test_no_evidence_is_not_the_exit_code_of_clean(self):
        for what, arguments, code in self.CASES:
            with self.subTest(what):
                result = self.tool(*arguments)
                self.assertEqual(result.returncode, code, result.stdout + result.stderr)
                self.assertNotEqual(result.stdout + result.stderr, "")

    def test_with_evidence_the_same_commands_are_clean(self):
        for arguments in (
            ("lint", "kernel.ptx", "empty.ptx", "old.ptx"),
            ("lint", "--require-checked", "kernel.ptx"),
            ("inspect", "--pdl", "kernel.ptx"),
            ("instrument", "--output", "out.ptx", "kernel.ptx"),
            ("overlap", "--primary=" + SPEC + ",registers=32", "--secondary=" + SPEC + ",registers=32"),
        ):
            with self.subTest(arguments):
                result = self.tool(*arguments)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_json_and_sarif_say_so(self):
        if "json" in tooltest.without:
            raise unittest.SkipTest("it is not built")
        for name in ("empty.ptx", "function.ptx", "old.ptx"):
            self.assertEqual(json.loads(self.tool("lint", "--json", name).stdout)["exit_code"], 2)
            (invocation,) = json.loads(self.tool("lint", "--sarif", name).stdout)["runs"][0]["invocations"]
            self.assertEqual((invocation["executionSuccessful"], invocation["exitCode"]), (False, 2))
            (notification,) = invocation["toolExecutionNotifications"]
            self.assertIn("not checked: ", notification["message"]["text"])


if __name__ == "__main__":
    tooltest.main(globals())
