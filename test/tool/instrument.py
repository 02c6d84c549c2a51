# SPDX-License-Identifier: MIT
"""pdltool instrument: what its options do to a text, and where constant parameters come from."""

import json
import os

import tooltest

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 w)
{
	.reg .pred p;
	.reg .b32 r<9>;
	.reg .b64 d<9>;
	ld.param.u64 d1, [x];
	ld.param.u64 d2, [w];
	ld.global.u32 r1, [d1];
L:
	ld.global.u32 r2, [d1+4];
	setp.eq.u32 p, r2, 0;
	@p bra L;
	ld.global.nc.u32 r3, [d2];
	st.global.u32 [d1], r3;
	ret;
}
"""
WAIT = "\tgriddepcontrol.wait;\n"
TRIGGER = "\tgriddepcontrol.launch_dependents;\n"


def lines(text):
    return [line.strip() for line in text.splitlines()]


class Instrument(tooltest.Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("kernels"))
        self.ptx = self.file("kernels/k.ptx", KERNEL)

    def made(self, *options, status=0):
        result = self.tool("instrument", *options, self.ptx)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout

    def test_only_what_is_inserted_differs(self):
        made = self.made("--trigger", "wait")
        self.assertEqual(made.replace(WAIT, "").replace(TRIGGER, ""), KERNEL.replace(".nc", ""))
        self.assertIn(WAIT + TRIGGER + "\tld.global.u32 r1", made)

    def test_the_output_is_standard_output_or_a_file(self):
        report = self.made("-o", self.path("out.ptx"))
        self.assertRegex(report, r"instrumented +11 +- +1  k\n")
        with open(self.path("out.ptx"), encoding="ascii") as file:
            self.assertEqual(file.read(), self.made())
        with open(self.ptx, "rb") as file:
            self.assertEqual(self.tool("instrument", "-", stdin=file).stdout, self.made())

    def test_a_trigger_at_each_point(self):
        for point, after in enumerate(("griddepcontrol.wait;", "@p bra L;", "ld.global.u32 r3, [d2];", "ld.global.u32 r3, [d2];")):
            made = lines(self.made("--trigger", str(point)))
            self.assertEqual(made[made.index(TRIGGER.strip()) - 1], after)
        if "json" not in tooltest.without:
            report = json.loads(self.made("--trigger", "1", "--json", "-o", self.path("out.ptx")))
            self.assertEqual(report["kernels"][0]["trigger_points"], 3)
        for wrong in ("1024", "1x", "-1", "first"):
            self.made("--trigger", wrong, status=2)

    def test_constant_parameters_of_the_command_line_and_of_the_project(self):
        constant, options = "ld.global.nc.u32 r3", ("--wait", "hoist")
        self.assertNotIn(constant, self.made(*options))
        self.assertIn(constant, self.made(*options, "--constant-param", "w"))
        self.file(".pdl-lint", "constant-param w\n")
        self.assertIn(constant, self.made(*options))
        self.assertNotIn(constant, self.made(*options, "--no-project"))
        other = self.file("other", "overlapped *\n")
        self.assertNotIn(constant, self.made(*options, "--project", other))
        self.file(".pdl-lint", "constant w\n")
        self.made(*options, "-o", self.path("out.ptx"), status=2)
        self.assertFalse(os.path.exists(self.path("out.ptx")))

    def test_a_kernel_that_waits_too_late_is_refused(self):
        self.ptx = self.file("late.ptx", KERNEL.replace("\tst.global", WAIT + "\tst.global"))
        result = self.tool("instrument", self.ptx)
        self.assertEqual(result.returncode, 1)
        self.assertIn("late.ptx:4: refused: k: it waits already, and has a finding, read-before-wait", result.stderr)
        with open(self.ptx, encoding="ascii") as file:
            self.assertEqual(result.stdout, file.read())


if __name__ == "__main__":
    tooltest.main({"Instrument": Instrument})
