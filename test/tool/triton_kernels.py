#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdl_triton.py, with a stand-in for the part of Triton that it adds a step to, and with Triton where it is installed. Triton
compiles without a device."""

import importlib.util
import json
import os
import subprocess
import sys
import types

import tooltest

MODULE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "triton", "pdl_triton.py")
PTX = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry scale(
	.param .u64 .ptr .global .align 1 scale_param_0,
	.param .u64 .ptr .global .align 1 scale_param_1
)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<3>;
	ld.param.b64 %rd1, [scale_param_0];
	ld.param.b64 %rd2, [scale_param_1];
	ld.global.b32 %r1, [%rd1];
	ld.global.b32 %r2, [%rd2];
	mul.lo.s32 %r3, %r1, %r2;
	st.global.b32 [%rd1], %r3;
	ret;
}
"""
WAIT, TRIGGER = "griddepcontrol.wait;", "griddepcontrol.launch_dependents;"


class Options:
    """Those of Triton that a kernel is compiled with."""

    def __init__(self, launch_cooperative_grid=False):
        self.launch_cooperative_grid = launch_cooperative_grid


class Triton(tooltest.Case):
    """Compiles as Triton does: stages that a backend adds, one after the other."""

    def setUp(self):
        super().setUp()

        class CUDABackend:
            """Triton's."""

            def add_stages(self, stages, options, language):
                stages["ptx"] = lambda source, metadata: source
                stages["cubin"] = lambda source, metadata: "machine code of " + source

            def hash(self):
                return "ptxas-90"

        self.backend = CUDABackend
        names = ["triton", "triton.backends", "triton.backends.nvidia", "triton.backends.nvidia.compiler"]
        modules = {name: types.ModuleType(name) for name in names}
        modules[names[-1]].CUDABackend = CUDABackend
        self.replace(sys.modules, {**modules, "torch._inductor.config": types.SimpleNamespace(compile_threads=16)})
        self.replace(os.environ, {"TORCHINDUCTOR_COMPILE_THREADS": "16"})
        spec = importlib.util.spec_from_file_location("pdl_triton", MODULE)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)

    def replace(self, place, items):
        old = {name: place.get(name) for name in items}
        place.update(items)

        def restore():
            for name, value in old.items():
                if value is None:
                    place.pop(name, None)
                else:
                    place[name] = value

        self.addCleanup(restore)

    def enable(self, **settings):
        self.module.enable(pdltool=tooltest.program, **settings)

    def compile(self, ptx=PTX, **options):
        """The PTX, and whether it is launched with overlap."""
        stages, metadata = {}, {"name": "scale", "launch_pdl": False}
        self.backend().add_stages(stages, Options(**options), "triton")
        self.assertEqual(list(stages), ["ptx", "cubin"])
        return stages["ptx"](ptx, metadata), metadata["launch_pdl"]

    def key(self):
        return self.backend().hash()

    def test_a_kernel_waits_and_is_launched_with_overlap(self):
        self.enable()
        text, overlap = self.compile()
        self.assertTrue(overlap)
        self.assertLess(text.index(WAIT), text.index("ld.global"))
        self.assertNotIn(TRIGGER, text)

    def test_the_options_are_those_of_the_command(self):
        self.enable(wait="hoist", trigger="wait", constant_params=["scale:1"])
        text, overlap = self.compile()
        self.assertTrue(overlap)
        self.assertLess(text.index("[%rd1]"), text.index(WAIT))
        self.assertLess(text.index(WAIT), text.index(TRIGGER))
        self.assertLess(text.index(TRIGGER), text.index("[%rd2]"))

    def test_kernels_have_triggers_of_their_own(self):
        self.enable(trigger={"other*": "wait", "sc?le": "last-read", "*": "wait"})
        text, _ = self.compile()
        self.assertLess(text.rindex("ld.global"), text.index(TRIGGER))
        self.enable(trigger={"other*": "wait"})
        text, overlap = self.compile()
        self.assertTrue(overlap)
        self.assertNotIn(TRIGGER, text)

    def test_a_project_file_changes_nothing(self):
        self.file(".pdl-lint", "constant-param *:1\n")
        old = os.getcwd()
        self.addCleanup(os.chdir, old)
        os.chdir(self.directory)
        self.enable(wait="hoist")
        text, _ = self.compile()
        self.assertLess(text.index(WAIT), text.index("ld.global"))

    def test_a_refused_kernel_stays_as_it_is(self):
        self.enable()
        old = PTX.replace("sm_90a", "sm_80")
        for text in (old, old.replace("\n", "\r\n")):
            self.assertEqual(self.compile(text), (text, False))

    def test_a_triton_that_cannot_overlap_launches_as_before(self):
        self.enable()
        stages, metadata = {}, {}
        self.backend().add_stages(stages, Options(), "triton")
        with self.assertLogs("pdl_triton", "WARNING"):
            self.assertEqual(stages["ptx"](PTX, metadata), PTX)
        self.assertEqual(metadata, {})

    def test_a_kernel_that_waits_already_is_launched_as_its_author_says(self):
        self.enable()
        waits = PTX.replace("\tld.global", f"\t{WAIT}\n\tld.global", 1)
        self.assertEqual(self.compile(waits), (waits, False))

    def test_a_cooperative_kernel_stays_as_it_is(self):
        self.enable()
        self.assertEqual(self.compile(launch_cooperative_grid=True), (PTX, False))

    def test_the_cache_keeps_settings_apart(self):
        keys = {self.key()}
        for settings in ({}, {"wait": "hoist"}, {"trigger": "wait"}, {"trigger": {"a": "wait"}},
                         {"constant_params": ["1"]}):
            self.enable(**settings)
            keys.add(self.key())
        self.assertEqual(len(keys), 6)

    def test_off_leaves_kernels_and_keys_as_they_were(self):
        before = self.key()
        self.enable()
        self.enable(wait="off")
        self.assertEqual(self.compile(), (PTX, False))
        self.assertEqual(self.key(), before)

    def test_the_last_settings_hold(self):
        self.enable(trigger="wait")
        self.enable()
        text, _ = self.compile()
        self.assertEqual(text.count(WAIT), 1)
        self.assertEqual(self.key().count("instrument"), 1)
        self.assertNotIn(TRIGGER, text)

    def test_inductor_compiles_in_this_process(self):
        self.enable()
        self.assertEqual(os.environ["TORCHINDUCTOR_COMPILE_THREADS"], "1")
        self.assertEqual(sys.modules["torch._inductor.config"].compile_threads, 1)

    def test_invalid_options_are_an_error(self):
        self.enable(wait="soon")
        with self.assertRaisesRegex(RuntimeError, "soon"):
            self.compile()

    def test_without_pdltool_it_says_so(self):
        self.replace(os.environ, {"PATH": self.directory})
        with self.assertRaisesRegex(FileNotFoundError, "pdltool"):
            self.module.enable()


PROGRAM = """
import json, sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
import pdl_triton

@triton.jit
def scale(x, y, count, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    factor = tl.load(y + columns, mask=columns < count)
    tl.store(x + columns, factor * tl.load(x + columns, mask=columns < count), mask=columns < count)

def compiled(architecture):
    source = ASTSource(scale, {"x": "*fp32", "y": "*fp32", "count": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128})
    kernel = triton.compile(source, target=GPUTarget("cuda", architecture, 32))
    return {"overlap": kernel.metadata.launch_pdl, "waits": kernel.asm["ptx"].count("griddepcontrol.wait"),
            "loads": kernel.asm["ptx"].split("griddepcontrol.wait")[0].count("ld.global"), "key": kernel.hash}

found = [compiled(90)]
for settings in ({}, {"wait": "hoist", "constant_params": ["scale:2"]}, {}, {"wait": "off"}):
    pdl_triton.enable(pdltool=sys.argv[1], **settings)
    found.append(compiled(90))
pdl_triton.enable(pdltool=sys.argv[1])
found.append(compiled(80))
print(json.dumps(found))
"""


class Real(tooltest.Case):
    """Triton itself."""

    def test_triton_compiles_instrumented_kernels(self):
        done = subprocess.run([sys.executable, "-B", self.file("program.py", PROGRAM), tooltest.program], check=False, text=True,
                              env={**os.environ, "TRITON_CACHE_DIR": self.path("cache"), "PYTHONPATH": os.path.dirname(MODULE)},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        before, entry, hoist, cached, off, refused = json.loads(done.stdout)
        self.assertEqual((before["overlap"], before["waits"]), (False, 0))
        self.assertEqual((entry["overlap"], entry["waits"], entry["loads"]), (True, 1, 0))
        self.assertEqual((hoist["overlap"], hoist["waits"], hoist["loads"]), (True, 1, 1))
        self.assertEqual(cached, entry)
        self.assertEqual(off, before)
        self.assertEqual((refused["overlap"], refused["waits"]), (False, 0))


if __name__ == "__main__":
    tooltest.main({"Triton": Triton, "Real": Real})
