#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool overlap: on numbers, on descriptions that a mock of libpdl-inspect reads, and on what nvcc makes."""

import json
import subprocess

import tooltest

# 2 blocks an SM by registers, 1,024 threads of 2,048.
HALF = "blocks=264,threads=512,registers=64"
SMALL = "blocks=264,threads=128,registers=32"

CODE = """mock
image kind=sass target=90
kernel name=_Z3fc1PKf waits=yes triggers=yes registers=64 shared=1024
kernel name=_Z3fc2PKf waits=yes triggers=no registers=40 shared=2048
kernel name=_Z1tIiEvv waits=yes triggers=yes registers=16 shared=0
kernel name=_Z1tIfEvv waits=no triggers=yes registers=16 shared=0
kernel name=_Z1uIifEvv waits=yes triggers=yes registers=24 shared=0
image kind=ptx target=90
kernel name=_Z3fc1PKf waits=unknown triggers=unknown
kernel name=only_ptx waits=yes triggers=yes
image kind=sass target=100
kernel name=_Z3fc1PKf waits=yes triggers=yes registers=72 shared=4096
image kind=sass target=103
kernel name=newer waits=yes triggers=yes registers=20 shared=0
image kind=sass target=80
kernel name=old waits=no triggers=no registers=20 shared=0
"""

SOURCE = """#include <pdl/device.cuh>
__global__ void first(float *x) { PDL_WAIT(); PDL_LAUNCH_DEPENDENTS(); x[threadIdx.x] = 1; }
__global__ void second(float *x)
{
    __shared__ float part[256];
    PDL_WAIT();
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = part[255 - threadIdx.x];
}
"""


class Case(tooltest.Case):
    def overlap(self, primary, secondary, *more, **options):
        return self.tool("overlap", "--primary", primary, "--secondary", secondary, *more, **options)

    def conditions(self, result):
        """Conditions with their answers."""
        found = {}
        for line in result.stdout.splitlines():
            words = line.split()
            if line.startswith("  ") and len(words) > 1 and words[0] in ("yes", "NO", "?"):
                found[words[1]] = words[0]
        return found

    def assert_usage(self, result, *texts):
        self.assertEqual((result.stdout, result.returncode), ("", 2))
        for text in texts:
            self.assertIn(text, result.stderr)


class Numbers(Case):
    def test_a_full_primary_leaves_no_room(self):
        result = self.overlap(HALF, SMALL)
        self.assertEqual((result.stderr, result.returncode), ("", 1))
        self.assertIn("device: NVIDIA H200, compute capability 9.0, 132 SMs\n", result.stdout)
        self.assertIn("512 threads, 64 registers, 0 bytes of shared memory: 2 on an SM\n", result.stdout)
        self.assertIn("\noverlap: no; early launch: yes\n", result.stdout)

    def test_room_beside_half(self):
        result = self.overlap(HALF.replace("264", "132"), SMALL)
        self.assertEqual(result.returncode, 0)
        self.assertIn("\noverlap: yes; early launch: yes\n", result.stdout)
        # 32,768 registers are left, 4,096 a block
        self.assertIn("264 of the secondary's 264 blocks", result.stdout)
        self.assertIn(" 7 to 8 on each of the 132 SMs that hold 1 block of the primary; registers run out first", result.stdout)
        self.assertEqual(set(self.conditions(result).values()), {"yes"})
        self.assertEqual(len(self.conditions(result)), 17)

    def test_the_table_says_what_would_have_to_shrink(self):
        lines = self.overlap(HALF.replace("264", "132"), SMALL).stdout.splitlines()
        row = next(line for line in lines if line.startswith("registers"))
        # 9 blocks are 36 warps, 9 in a partition's 8,192 registers: 768 a warp, 24 a thread
        self.assertEqual(row.split(), ["registers", "65,536", "32,768", "32,768", "4,096", "8", "24", "56"])

    def test_what_runs_out_is_named(self):
        result = self.overlap(HALF, SMALL)
        self.assertEqual([name for name, met in self.conditions(result).items() if met == "NO"], ["registers"])

    def test_devices(self):
        for device, code in ("h200", 0), ("9.0:132", 0), ("10.0:148", 0), ("12.0:170", 0), ("8.0:108", 1):
            result = self.overlap(SMALL, SMALL, "--device", device)
            self.assertEqual(result.returncode, code, device)
        # 48 KiB, 1 KiB of which is reserved, go twice into 100 KiB and four times into 228
        specs = ["blocks=1,threads=32,registers=16,shared=48K"] * 2
        self.assertIn(": 2 on an SM", self.overlap(*specs, "--device", "12.0:170").stdout)
        self.assertIn(": 4 on an SM", self.overlap(*specs, "--device", "10.0:148").stdout)

    def test_the_most_shared_memory_of_a_block(self):
        for device, most in ("12.0:170", 99), ("8.0:108", 163), ("9.0:132", 227), ("10.0:148", 227):
            for kib, count in (most, 1), (most + 1, 0):
                result = self.overlap("blocks=1,threads=32,registers=16,shared=%dK" % kib, SMALL, "--device", device)
                self.assertIn("bytes of shared memory: %d on an SM\n" % count, result.stdout, (device, kib))

    def test_each_value_counts(self):
        changes = [
            ("", ",overlap=no", "attribute", "NO", 1),
            ("", ",waits=no", "waits", "NO", 1),
            ("", ",waits=unknown", "waits", "yes", 0),  # without code it is taken to wait
            (",triggers=no", "", "triggers", "NO", 1),
            ("", ",cooperative=yes", "cooperative", "NO", 1),
            (",cooperative=yes", "", "cooperative", "yes", 0),
            (",code=8.0", "", "primary-code", "NO", 1),
            ("", ",code=80", "secondary-code", "NO", 1),
            ("", ",cluster=2x2", "cluster", "?", 0),
            ("", ",shared=200K", "shared-memory", "yes", 0),
            (",dynamic=100K", ",shared=200K", "shared-memory", "NO", 1),
            (",barriers=16", ",barriers=16", "barriers", "yes", 0),
            (",carveout=0", "", "carveout", "yes", 0),
            ("", ",carveout=50", "carveout", "?", 0),
        ]
        for first, second, condition, met, code in changes:
            result = self.overlap(HALF.replace("264", "132") + first, SMALL + second)
            self.assertEqual(self.conditions(result)[condition], met, first + second)
            self.assertEqual(result.returncode, code, first + second)

    def test_the_environment_counts(self):
        result = self.overlap(HALF.replace("264", "132"), SMALL, env={"PDL_OVERLAP": "0"})
        self.assertEqual(self.conditions(result)["environment"], "NO")
        self.assertEqual(result.returncode, 1)

    def test_extents_are_multiplied(self):
        result = self.overlap("grid=11x4x3,block=16x8x4,registers=64", "grid=2x3,block=32x4,registers=32")
        self.assertIn("132 blocks of 512 threads", result.stdout)
        self.assertIn("6 blocks of 128 threads", result.stdout)

    def test_a_block_that_never_fits(self):
        result = self.overlap("blocks=1,threads=32,registers=16,shared=300K", SMALL)
        self.assertIn("a block of the primary does not fit on an SM at all", result.stdout)
        self.assertEqual(result.returncode, 1)


class Code(Case):
    def test_what_is_known_of_the_code_is_taken(self):
        path = self.file("k.cubin", CODE)
        result = self.overlap("_Z3fc1PKf,blocks=132,threads=256,dynamic=4K", "_Z3fc2PKf,blocks=9,threads=256", path)
        self.assertEqual(result.stderr, "")
        self.assertIn("64 registers, 5,120 bytes of shared memory", result.stdout)
        self.assertIn("40 registers, 2,048 bytes of shared memory", result.stdout)
        self.assertIn("(machine code for sm_90)", result.stdout)
        self.assertEqual(self.conditions(result)["triggers"], "yes")
        self.assertEqual(result.returncode, 0)

    def test_the_other_way_round_nothing_triggers(self):
        path = self.file("k.cubin", CODE)
        result = self.overlap("_Z3fc2PKf,blocks=132,threads=256", "_Z3fc1PKf,blocks=9,threads=256", path)
        self.assertEqual(self.conditions(result)["triggers"], "NO")
        self.assertEqual(result.returncode, 1)

    def test_the_code_is_that_of_the_device(self):
        path = self.file("k.cubin", CODE)
        specs = ["_Z3fc1PKf,blocks=132,threads=256"] * 2
        self.assertIn("72 registers", self.overlap(*specs, "--device", "10.0:148", path).stdout)
        self.assertIn("64 registers", self.overlap(*specs, "--device", "9.0:132", path).stdout)

    def test_what_is_told_stands_above_the_code(self):
        path = self.file("k.cubin", CODE)
        result = self.overlap(
            "_Z3fc2PKf,blocks=132,threads=256,registers=80,triggers=yes,shared=8K", "_Z3fc1PKf,blocks=9,threads=256", path
        )
        self.assertIn("80 registers, 8,192 bytes", result.stdout)
        self.assertEqual(self.conditions(result)["triggers"], "yes")

    def test_ptx_has_no_registers(self):
        path = self.file("k.ptx", CODE)
        specs = ["only_ptx,blocks=132,threads=256"] * 2
        result = self.overlap(*specs, path)
        self.assertEqual(self.conditions(result)["registers"], "?")
        self.assertIn("\noverlap: unknown; early launch: yes\n", result.stdout)
        self.assertEqual(result.returncode, 0)
        result = self.overlap(*[spec + ",registers=64,shared=0" for spec in specs], path)
        self.assertIn("\noverlap: yes;", result.stdout)

    def test_demangled_names(self):
        if "demangled" in tooltest.without:
            self.skipTest("no demangler in this build")
        path = self.file("k.cubin", CODE)
        for name in "fc1", "fc1(float const*)", "t<int>", "void t<int>()", "u<int, float>":
            result = self.overlap(name + ",blocks=132,threads=64", "fc2,blocks=9,threads=256", path)
            self.assertEqual((result.stderr, result.returncode), ("", 0), name)
        result = self.overlap("t<float>,blocks=132,threads=64", "t<float>,blocks=1,threads=64", path)
        self.assertEqual(self.conditions(result)["waits"], "NO")

    def test_names_that_are_not_there(self):
        path = self.file("k.cubin", CODE)
        good = "_Z3fc1PKf,blocks=132,threads=256"
        self.assert_usage(self.overlap(good, "fc9,blocks=1,threads=1", path), "--secondary: fc9 is not there")
        self.assert_usage(
            self.overlap(good, "old,blocks=1,threads=1", path), "old has no code for compute capability 9.0"
        )
        result = self.overlap("newer,blocks=1,threads=1", "newer,blocks=1,threads=1", path, "--device", "10.0:148")
        self.assert_usage(result, "newer has no code for compute capability 10.0")
        self.assert_usage(self.overlap("blocks=1,threads=1", good, path), "--primary names no kernel")

    def test_files_that_cannot_be_read(self):
        good = "_Z3fc1PKf,blocks=132,threads=256"
        result = self.overlap(good, good, self.path("missing.cubin"))
        self.assert_usage(result, "missing.cubin")


class CommandLine(Case):
    def test_both_kernels_are_needed(self):
        self.assert_usage(self.tool("overlap"), "--primary and --secondary")
        self.assert_usage(self.tool("overlap", "--primary", SMALL), "--primary and --secondary")

    def test_values_are_checked(self):
        bad = [
            ("blocks=0", "blocks cannot be 0"),
            ("blocks=-1", "blocks cannot be -1"),
            ("blocks=", "blocks cannot be empty"),
            ("blocks=2x", "blocks cannot be 2x"),
            ("grid=1x2x3x4", "grid cannot be"),
            ("grid=4000000000x4000000000", "grid cannot be"),
            ("threads=1025", "threads cannot be"),
            ("threads=32x33", "threads cannot be"),
            ("registers=256", "registers cannot be"),
            ("registers=many", "registers cannot be"),
            ("shared=4M", "shared cannot be"),
            ("shared=99999K", "shared cannot be"),
            ("dynamic=K", "dynamic cannot be"),
            ("carveout=101", "carveout cannot be"),
            ("barriers=17", "barriers cannot be"),
            ("cluster=0", "cluster cannot be"),
            ("waits=maybe", "waits cannot be"),
            ("overlap=unknown", "overlap cannot be"),
            ("code=9.x", "code cannot be"),
            ("treads=3", "there is no treads"),
        ]
        for text, message in bad:
            self.assert_usage(self.overlap(SMALL + "," + text, SMALL), "--primary: " + message)
            self.assert_usage(self.overlap(SMALL, SMALL + "," + text), "--secondary: " + message)

    def test_what_must_be_said(self):
        for key in "blocks", "threads", "registers":
            rest = ",".join(part for part in SMALL.split(",") if not part.startswith(key))
            self.assert_usage(self.overlap(SMALL, rest), "--secondary does not say %s=" % key)

    def test_an_unknown_device(self):
        for name in "h900", "9.0", "9.0:", "9.0:0", "9.0:-1", "9.0:1x", "9.0x132", "9.0:65537", "9.1:132", ".0:1", "9.:1", "-9.0:1":
            self.assert_usage(self.overlap(SMALL, SMALL, "--device", name), "no device is known as %s;" % name)

    def test_a_device_of_so_many_sms(self):
        result = self.overlap(SMALL, SMALL, "--device", "9.0:65536")
        self.assertIn("device: a device, compute capability 9.0, 65536 SMs\n", result.stdout)

    def test_an_unknown_option(self):
        self.assert_usage(self.overlap(SMALL, SMALL, "--frobnicate"), "pdltool overlap --help")

    def test_help_lists_the_devices(self):
        result = self.tool("overlap", "--help")
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        self.assertIn("  h200       NVIDIA H200: compute capability 9.0, 132 SMs\n", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 95)

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [tooltest.program, "overlap", "--primary", SMALL, "--secondary", SMALL],
                stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
            )
        self.assertEqual(result.returncode, 2)
        self.assertIn("could not be written", result.stderr)


class Json(Case):
    def document(self, *arguments):
        result = self.overlap(*arguments, "--json")
        self.assertEqual(result.stderr, "")
        return json.loads(result.stdout)

    def test_everything_is_there(self):
        made = self.document(HALF.replace("264", "140"), SMALL)
        self.assertEqual(
            (made["version"], made["overlap"], made["early_launch"], made["device"]["sms"]), (1, "yes", "yes", 132)
        )
        self.assertEqual(made["device"]["ordinal"], None)
        self.assertEqual(len(made["conditions"]), 17)
        self.assertEqual({one["met"] for one in made["conditions"]}, {"yes"})
        wave = made["last_wave"]
        self.assertEqual(
            (wave["waves"], wave["blocks"], wave["most_on_sm"], wave["sms_with_most"], wave["fewest_on_sm"]),
            (1, 140, 2, 8, 1),
        )
        # beside the 1 KiB of a block of the primary 7 more go into 8 KiB, the least that the driver chooses
        self.assertEqual((wave["fit_beside_most"], wave["may_fit_beside_most"]), (0, 0))
        self.assertEqual((wave["fit_beside_fewest"], wave["may_fit_beside_fewest"]), (7, 8))
        self.assertEqual(wave["fit_total"], 264)
        registers = next(one for one in made["resources"] if one["resource"] == "registers")
        self.assertEqual(
            registers,
            {
                "resource": "registers", "capacity": 65536, "primary_block": 32768, "secondary_block": 4096,
                "left": 0, "fit": 0, "may_fit": 0, "secondary_at_most": None, "primary_at_most": 56,
            },
        )
        self.assertEqual(made["primary"]["per_sm"], 2)
        self.assertEqual(made["primary"]["carveout"], None)

    def test_what_is_not_known_is_null(self):
        path = self.file("k.ptx", CODE)
        made = self.document(*["only_ptx,blocks=132,threads=256"] * 2, path)
        self.assertEqual(made["overlap"], "unknown")
        self.assertEqual(made["primary"]["registers"], None)
        self.assertEqual(made["primary"]["per_sm"], None)
        self.assertEqual(made["primary"]["origin"], "PTX for compute_90")
        self.assertEqual(made["last_wave"]["first_out"], None)
        self.assertEqual(made["resources"], [])


class Toolkit(Case):
    def test_what_nvcc_makes(self):
        source = self.file("k.cu", SOURCE)
        cubin = self.path("k.cubin")
        subprocess.run(
            [tooltest.nvcc, "-I", tooltest.include, "-arch=sm_90", "-cubin", "-o", cubin, source],
            cwd=self.directory, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        result = self.overlap("_Z5firstPf,blocks=132,threads=256", "_Z6secondPf,blocks=9,threads=256", cubin)
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        self.assertIn("1,024 bytes of shared memory", result.stdout)
        self.assertIn("\noverlap: yes;", result.stdout)
        result = self.overlap("_Z6secondPf,blocks=132,threads=256", "_Z5firstPf,blocks=9,threads=256", cubin)
        self.assertEqual(self.conditions(result)["triggers"], "NO")
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    tooltest.main(globals())
