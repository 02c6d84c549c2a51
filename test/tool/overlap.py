#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool overlap: on numbers, on descriptions that a mock of libpdl-inspect reads, and on what nvcc makes."""

import json
import re
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

BOUNDED = """mock
image kind=sass target=90
kernel name=small waits=yes triggers=yes registers=16 shared=0 threads=256
kernel name=step waits=yes triggers=yes registers=16 shared=0 cluster=4x1x1 set_cluster=1 counts_clusters=no
kernel name=flat waits=yes triggers=yes registers=16 shared=0 cluster=2x2x1
kernel name=open waits=yes triggers=yes registers=16 shared=0 set_cluster=1
kernel name=most waits=yes triggers=yes registers=16 shared=0 most_cluster=4
kernel name=sized waits=yes triggers=yes registers=16 shared=0 threads=256 block=128x2x1
kernel name=counts waits=yes triggers=yes registers=16 shared=0 threads=128 block=128x1x1 cluster=2x1x1 counts_clusters=yes
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

BOUNDED_SOURCE = """
extern "C" __global__ void plain(float *x) { x[threadIdx.x] = 1; }
extern "C" __global__ void __launch_bounds__(256, 2, 4) bounds(float *x) { x[threadIdx.x] = 1; }
extern "C" __global__ void __cluster_dims__(4, 2, 1) dims(float *x) { x[threadIdx.x] = 1; }
"""


class Case(tooltest.Case):
    def plain(self, result):
        """The output without line breaks."""
        return re.sub(r"\s+", " ", result.stdout)

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
        self.assertIn("512 threads; 64 registers per thread and 0 bytes of shared memory per block; 2 per SM", self.plain(result))
        self.assertTrue(result.stdout.startswith("overlap: no; early launch: yes\nno block of the secondary fits"))

    def test_room_beside_half(self):
        result = self.overlap(HALF.replace("264", "132"), SMALL)
        self.assertEqual(result.returncode, 0)
        self.assertTrue(result.stdout.startswith("overlap: yes; early launch: yes\n264 of the secondary's 264 blocks"))
        # 32,768 registers are left, 4,096 a block
        self.assertIn(" 7 to 8 on each of the 132 SMs that hold 1 block of the primary; registers run out first", self.plain(result))
        self.assertEqual(set(self.conditions(result).values()), {"yes"})
        self.assertEqual(len(self.conditions(result)), 16)  # no occupancy: the driver was not asked

    def test_the_table_says_what_would_have_to_shrink(self):
        lines = self.overlap(HALF.replace("264", "132"), SMALL).stdout.splitlines()
        row = next(line for line in lines if line.startswith("registers"))
        # 9 blocks are 36 warps, 9 in a partition's 8,192 registers: 768 a warp, 24 a thread
        self.assertEqual(row.split(), ["registers", "65,536", "32,768", "32,768", "4,096", "8", "24", "56"])

    def test_what_runs_out_is_named(self):
        result = self.overlap(HALF, SMALL)
        self.assertEqual(list(self.conditions(result).items())[:2], [("registers", "NO"), ("device", "yes")])

    def test_devices(self):
        for device, code in ("h200", 0), ("9.0:132", 0), ("10.0:148", 0), ("12.0:170", 0), ("8.0:108", 1):
            result = self.overlap(SMALL, SMALL, "--device", device)
            self.assertEqual(result.returncode, code, device)
        # 48 KiB, 1 KiB of which is reserved, go twice into 100 KiB and four times into 228
        specs = ["blocks=1,threads=32,registers=16,shared=48K"] * 2
        self.assertIn("; 2 per SM", self.plain(self.overlap(*specs, "--device", "12.0:170")))
        self.assertIn("; 4 per SM", self.plain(self.overlap(*specs, "--device", "10.0:148")))

    def test_blocks_of_each_compute_capability(self):
        # One warp a block is held by block slots; 1,024 threads by the threads of the SM.
        table = (("8.0", 32, 2), ("8.6", 16, 1), ("8.7", 16, 1), ("8.8", 16, 1), ("8.9", 24, 1), ("9.0", 32, 2), ("10.0", 32, 2),
                 ("10.3", 32, 2), ("10.7", 16, 1), ("11.0", 24, 1), ("12.0", 24, 1), ("12.1", 24, 1))
        for capability, small, large in table:
            for threads, count in (32, small), (1024, large):
                result = self.overlap("blocks=1,threads=%d,registers=16" % threads, SMALL, "--device", capability + ":10")
                self.assertIn("; %d per SM" % count, self.plain(result), (capability, threads))
        listed = self.tool("overlap", "--help").stdout.split("compute capability X.Y:")[1].split("\n")[1]
        self.assertEqual(listed.replace(",", "").split(), [capability for capability, _, _ in table])

    def test_an_undocumented_compute_capability_is_said_to_be_so(self):
        result = self.overlap(SMALL, SMALL, "--device", "13.0:10")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no header of CUDA 13.5 says what an SM of compute capability 13.0 has", result.stderr)

    def test_the_most_shared_memory_of_a_block(self):
        for device, most in ("12.0:170", 99), ("8.0:108", 163), ("9.0:132", 227), ("10.0:148", 227), ("10.7:148", 227), ("8.7:16", 163):
            for kib, count in (most, 1), (most + 1, 0):
                result = self.overlap("blocks=1,threads=32,registers=16,shared=%dK" % kib, SMALL, "--device", device)
                self.assertIn("bytes of shared memory per block; %d per SM secondary" % count, self.plain(result), (device, kib))

    def test_each_value_counts(self):
        changes = [
            ("", "", "waits", "yes", 0),  # without code it is taken to wait
            ("", ",cluster=2x2", "cluster", "?", 2),
            ("", ",shared=200K", "shared-memory", "yes", 2),
            (",dynamic=100K", ",shared=200K", "shared-memory", "NO", 1),
            (",carveout=0", "", "carveout", "yes", 0),
            ("", ",carveout=50", "carveout", "?", 2),
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
        self.assertIn("132 blocks of 512 threads", self.plain(result))
        self.assertIn("6 blocks of 128 threads", self.plain(result))

    def test_a_block_that_never_fits(self):
        result = self.overlap("blocks=1,threads=32,registers=16,shared=300K", SMALL)
        self.assertIn("overlap: no; early launch: no the primary cannot be launched: a block of the primary takes 308224 bytes of shared memory; the limit is 233472 ", self.plain(result))
        self.assertEqual([name for name, met in self.conditions(result).items() if met == "NO"], ["shared-memory"])
        self.assertEqual(result.returncode, 1)


class Code(Case):
    def test_what_is_known_of_the_code_is_taken(self):
        path = self.file("k.cubin", CODE)
        result = self.overlap("_Z3fc1PKf,blocks=132,threads=256,dynamic=4K", "_Z3fc2PKf,blocks=9,threads=256", path)
        self.assertEqual(result.stderr, "")
        self.assertIn("64 registers per thread and 5,120 bytes of shared memory", self.plain(result))
        self.assertIn("40 registers per thread and 2,048 bytes of shared memory", self.plain(result))
        self.assertIn("(machine code for sm_90)", result.stdout)
        self.assertEqual(self.conditions(result)["triggers"], "yes")
        self.assertEqual(result.returncode, 0)

    def test_bounds_of_the_code_count(self):
        path = self.file("k.cubin", BOUNDED)
        fine = "small,blocks=132,threads=256"
        table = (
            ("small,blocks=132,threads=256", 0, "yes", "yes", "132 blocks of 256 threads;"),
            ("small,blocks=132,threads=512", 1, "NO", "yes", "a block has 512 threads, and its code allows 256"),
            ("small,blocks=132,threads=257", 1, "NO", "yes", "a block has 257 threads"),
            ("step,blocks=134,threads=256", 1, "yes", "NO", "clusters of 4 blocks do not divide its grid of 134"),
            ("step,blocks=136,threads=256", 2, "yes", "?", "136 blocks of 256 threads in clusters of 4"),
            ("step,blocks=136,threads=256,cluster=2", 1, "yes", "NO", "cluster is 2, and its code is compiled for clusters of 4 x 1 x 1"),
            ("step,blocks=136,threads=256,cluster=4", 2, "yes", "?", "in clusters of 4"),
            ("step,grid=8x3,threads=256", 2, "yes", "?", "24 blocks of 256 threads in clusters of 4"),
            ("step,grid=3x8,threads=256", 1, "yes", "NO", "do not divide its grid of 24"),
            ("step,blocks=136,threads=256,cluster=1x4", 1, "yes", "NO", "compiled for clusters of 4 x 1 x 1"),
            ("flat,grid=2x2,threads=256", 2, "yes", "?", "in clusters of 4"),
            ("flat,grid=4x3,threads=256", 1, "yes", "NO", "do not divide its grid of 12"),
            ("open,blocks=132,threads=256", 1, "yes", "NO", "add cluster=N"),
            ("open,blocks=132,threads=256,cluster=2", 2, "yes", "?", "in clusters of 2"),
            ("most,blocks=128,threads=256,cluster=8", 1, "yes", "NO", "cluster is 8, and its code allows 4"),
            ("most,blocks=128,threads=256,cluster=4", 2, "yes", "?", "in clusters of 4"),
            ("most,blocks=128,threads=256", 0, "yes", "yes", "128 blocks of 256 threads;"),
            ("sized,blocks=132,threads=256", 0, "yes", "yes", "132 blocks of 256 threads;"),
            ("sized,blocks=132", 0, "yes", "yes", "132 blocks of 256 threads;"),
            ("sized,blocks=132,block=128x2", 0, "yes", "yes", "132 blocks of 256 threads;"),
            ("sized,blocks=132,block=2x128", 1, "NO", "yes", "its code requires 128 x 2 x 1"),
            ("sized,blocks=132,threads=64", 1, "NO", "yes", "a block has 64 threads, and its code requires 128 x 2 x 1"),
            ("counts,blocks=67,threads=128", 2, "yes", "?", "134 blocks of 128 threads in clusters of 2"),
            ("counts,blocks=67,threads=128,cluster=4", 1, "yes", "NO", "compiled for clusters of 2 x 1 x 1"),
        )
        for spec, code, threads, cluster, text in table:
            for pair in (fine, spec), (spec, fine):
                result = self.overlap(*pair, path)
                self.assertEqual((result.stderr, result.returncode), ("", code), pair)
                conditions = self.conditions(result)
                self.assertEqual((conditions["threads"], conditions["cluster"]), (threads, cluster), pair)
                self.assertIn(text, self.plain(result), pair)
                role = "secondary" if pair[1] == spec else "primary"
                self.assertEqual("the %s cannot be launched: " % role in self.plain(result), code == 1, pair)
                self.assertEqual("early launch: no" in result.stdout, code == 1, pair)

    def test_clusters_of_the_command_line_divide_the_grid(self):
        for spec, code in ("blocks=134,cluster=4", 1), ("blocks=136,cluster=4", 2), ("grid=4x3,cluster=2x2", 1), ("grid=4x2,cluster=2x2", 2):
            result = self.overlap(SMALL, spec + ",threads=128,registers=32")
            self.assertEqual((result.stderr, result.returncode), ("", code), spec)

    def test_the_other_way_round_nothing_triggers(self):
        path = self.file("k.cubin", CODE)
        result = self.overlap("_Z3fc2PKf,blocks=132,threads=256", "_Z3fc1PKf,blocks=9,threads=256", path)
        self.assertEqual(self.conditions(result)["triggers"], "NO")
        self.assertEqual(result.returncode, 1)

    def test_the_code_is_that_of_the_device(self):
        path = self.file("k.cubin", CODE)
        specs = ["_Z3fc1PKf,blocks=132,threads=256"] * 2
        self.assertIn("72 registers", self.plain(self.overlap(*specs, "--device", "10.0:148", path)))
        self.assertIn("64 registers", self.plain(self.overlap(*specs, "--device", "9.0:132", path)))

    def test_what_is_told_stands_above_the_code(self):
        path = self.file("k.cubin", CODE)
        result = self.overlap(
            "_Z3fc2PKf,blocks=132,threads=256,registers=80,shared=8K", "_Z3fc1PKf,blocks=9,threads=256", path
        )
        self.assertIn("80 registers per thread and 8,192 bytes", self.plain(result))

    def test_ptx_has_no_registers(self):
        path = self.file("k.ptx", CODE)
        specs = ["only_ptx,blocks=132,threads=256"] * 2
        result = self.overlap(*specs, path)
        self.assertEqual(self.conditions(result)["registers"], "?")
        self.assertIn("overlap: unknown; early launch: yes\n", result.stdout)
        self.assertEqual(result.returncode, 2)
        result = self.overlap(*[spec + ",registers=64,shared=0" for spec in specs], path)
        self.assertTrue(result.stdout.startswith("overlap: yes;"))

    def test_demangled_names(self):
        if "demangled" in tooltest.without:
            self.skipTest("no demangler in this build")
        path = self.file("k.cubin", CODE)
        for name in "fc1", "fc1(float const*)", "*t<int>*", "void t<int>()", "*u<int, float>*":
            result = self.overlap(name + ",blocks=132,threads=64", "fc2,blocks=9,threads=256", path)
            self.assertEqual((result.stderr, result.returncode), ("", 0), name)
        result = self.overlap("*t<float>*,blocks=132,threads=64", "*t<float>*,blocks=1,threads=64", path)
        self.assertEqual(self.conditions(result)["waits"], "NO")

    def test_names_that_are_not_there(self):
        path = self.file("k.cubin", CODE)
        good = "_Z3fc1PKf,blocks=132,threads=256"
        self.assert_usage(self.overlap(good, "fc9,blocks=1,threads=1", path), "--secondary: no kernel 'fc9'")
        self.assert_usage(
            self.overlap(good, "old,blocks=1,threads=1", path), "'old' has no code for compute capability 9.0"
        )
        result = self.overlap("newer,blocks=1,threads=1", "newer,blocks=1,threads=1", path, "--device", "10.0:148")
        self.assert_usage(result, "'newer' has no code for compute capability 10.0")
        self.assert_usage(self.overlap("blocks=1,threads=1", good, path), "--primary names no kernel")

    def test_files_that_cannot_be_read(self):
        good = "_Z3fc1PKf,blocks=132,threads=256"
        result = self.overlap(good, good, self.path("missing.cubin"))
        self.assert_usage(result, "missing.cubin")


class CommandLine(Case):
    def test_both_kernels_are_needed(self):
        self.assert_usage(self.tool("overlap"), "pdltool overlap: error: no --primary; see 'pdltool overlap --help'\n")
        self.assert_usage(self.tool("overlap", "--primary", SMALL), "no --secondary;")

    def test_values_are_checked(self):
        bad = [
            ("blocks=0", "invalid value '0' of blocks"),
            ("blocks=-1", "invalid value '-1' of blocks"),
            ("blocks=", "invalid value '' of blocks"),
            ("blocks=2x", "invalid value '2x' of blocks"),
            ("grid=1x2x3x4", "invalid value '1x2x3x4' of grid"),
            ("grid=4000000000x4000000000", "invalid value '4000000000x4000000000' of grid"),
            ("threads=1025", "invalid value '1025' of threads"),
            ("threads=32x33", "invalid value '32x33' of threads"),
            ("registers=256", "invalid value '256' of registers"),
            ("registers=many", "invalid value 'many' of registers"),
            ("shared=4M", "invalid value '4M' of shared"),
            ("shared=99999K", "invalid value '99999K' of shared"),
            ("dynamic=K", "invalid value 'K' of dynamic"),
            ("carveout=101", "invalid value '101' of carveout"),
            ("cluster=0", "invalid value '0' of cluster"),
            ("treads=3", "unknown key 'treads'; did you mean 'threads'?"),
            ("colour=3", "unknown key 'colour'; see 'pdltool overlap --help'"),
        ]
        for text, message in bad:
            self.assert_usage(self.overlap(SMALL + "," + text, SMALL), "--primary: " + message)
            self.assert_usage(self.overlap(SMALL, SMALL + "," + text), "--secondary: " + message)

    def test_what_must_be_said(self):
        for key in "blocks", "threads", "registers":
            rest = ",".join(part for part in SMALL.split(",") if not part.startswith(key))
            self.assert_usage(self.overlap(SMALL, rest), "--secondary lacks %s=N\n" % key)
        self.assert_usage(self.overlap("threads=3", "dynamic=0"), "--primary lacks blocks=N, registers=N\n", "--secondary lacks blocks=N, threads=N, registers=N\n")

    def test_an_unknown_device(self):
        for name in "h900", "0", "9.0", "9.0:", "9.0:0", "9.0:-1", "9.0:1x", "9.0x132", "9.0:65537", ".0:1", "9.:1", "-9.0:1":
            self.assert_usage(self.overlap(SMALL, SMALL, "--device", name), "unknown device '%s'; use h200, or X.Y:SMS" % name)

    def test_a_device_of_so_many_sms(self):
        result = self.overlap(SMALL, SMALL, "--device", "9.0:65536")
        self.assertIn("device: a device, compute capability 9.0, 65536 SMs\n", result.stdout)

    def test_help_lists_the_devices(self):
        result = self.tool("overlap", "--help")
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        self.assertIn("  h200       NVIDIA H200: compute capability 9.0, 132 SMs\n", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [tooltest.program, "overlap", "--primary", SMALL, "--secondary", SMALL],
                stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
            )
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot write the report", result.stderr)


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
        self.assertEqual(len(made["conditions"]), 16)
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
        self.assertEqual((made["primary"]["cluster"], made["primary"]["refused"]), (None, None))

    def test_what_the_code_refuses(self):
        path = self.file("k.cubin", BOUNDED)
        made = self.document("small,blocks=132,threads=256", "step,blocks=134,threads=256", path)
        self.assertEqual((made["overlap"], made["early_launch"]), ("no", "no"))
        self.assertEqual(made["secondary"]["cluster"], 4)
        self.assertEqual(made["secondary"]["refused"], "clusters of 4 blocks do not divide its grid of 134")
        self.assertEqual(made["primary"]["refused"], None)

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
        self.assertTrue(result.stdout.startswith("overlap: yes;"))
        result = self.overlap("_Z6secondPf,blocks=132,threads=256", "_Z5firstPf,blocks=9,threads=256", cubin)
        self.assertEqual(self.conditions(result)["triggers"], "NO")
        self.assertEqual(result.returncode, 1)

    def test_bounds_that_nvcc_compiles_in(self):
        source = self.file("k.cu", BOUNDED_SOURCE)
        for kind, per_sm in ("cubin", None), ("ptx", 2):
            made = self.path("k." + kind)
            subprocess.run(
                [tooltest.nvcc, "-I", tooltest.include, "-arch=sm_90", "-" + kind, "-o", made, source],
                cwd=self.directory, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            kernels = json.loads(self.tool("inspect", "--json", made).stdout)["kernels"]
            bounds = {kernel["name"]: kernel["bounds"] for kernel in kernels}
            plain = {"threads": None, "block": None, "per_sm": None, "cluster": None, "cluster_must_be_set": False,
                     "max_cluster": None, "blocks_are_clusters": "no"}
            self.assertEqual(bounds["plain"], plain)
            self.assertEqual(bounds["bounds"], {**plain, "threads": 256, "per_sm": per_sm, "max_cluster": 4})
            self.assertEqual(bounds["dims"], {**plain, "cluster": [4, 2, 1], "cluster_must_be_set": True})


if __name__ == "__main__":
    tooltest.main(globals())
