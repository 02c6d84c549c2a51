#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What pdltool makes of recordings of real programs, in recordings/: test/gpu/watch/reasons and a loop in PyTorch, without
its code, on an H200 with driver 580.159.04, CUDA 13.0."""

import json
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RECORDINGS = pathlib.Path(__file__).resolve().parent / "recordings"
PDLTOOL = sys.argv.pop(1)


class Real(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def watch(self, name, *options, code=0, cut=None):
        path = os.path.join(self.folder.name, name)
        with lzma.open(RECORDINGS / (name + ".rec.xz")) as packed, open(path, "wb") as file:
            file.write(packed.read()[:cut])
        result = subprocess.run([PDLTOOL, "watch", *options, "--input", path], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertNotIn("Sanitizer", result.stderr)
        return result.stdout

    def report(self, name, **how):
        return json.loads(self.watch(name, "--json", **how))

    def pair(self, report, second):
        pairs = [pair for pair in report["pairs"] if report["kernels"][pair["second"]]["demangled"].startswith(second)]
        self.assertEqual(len(pairs), 1, pairs)
        return pairs[0]

    def test_overlap_in_a_stream(self):
        report = self.report("overlapped")
        self.assertEqual([report["verdict"][key] for key in ("launches", "asked", "overlapped", "races")], [62, 21, 20, 0])
        pair = self.pair(report, "secondary")
        self.assertEqual(pair["reasons"], {"overlapped": 20, "host_late": 1})
        self.assertGreater(pair["overlap_ns"], 20 * 10000)

    def test_overlap_in_a_graph(self):
        report = self.report("overlapped_graph")
        self.assertEqual([report["verdict"][key] for key in ("graph_runs", "asked", "overlapped")], [42, 21, 21])
        self.assertTrue(self.pair(report, "secondary")["in_graph"])

    def test_what_the_code_does_is_read_from_what_ran(self):
        kernels = {kernel["demangled"].split("(")[0]: kernel for kernel in self.report("overlapped")["kernels"]}
        self.assertEqual((kernels["secondary"]["waits"], kernels["secondary"]["triggers"]), ("yes", "no"))
        self.assertEqual((kernels["primary"]["waits"], kernels["primary"]["triggers"]), ("no", "yes"))
        self.assertEqual(kernels["secondary"]["shown_to_wait"], "yes")

    def test_no_room_on_an_sm(self):
        pair = self.pair(self.report("no_room_graph"), "secondary")
        self.assertEqual(pair["reason"], "no_room")
        self.assertIn("an SM has room for 0 blocks of secondary", pair["detail"])
        self.assertIn("shared memory", pair["detail"])

    def test_a_late_host(self):
        self.assertEqual(self.pair(self.report("host_late"), "secondary")["reasons"], {"host_late": 21})

    def test_an_event_of_another_stream(self):
        self.assertEqual(self.pair(self.report("event_eager"), "secondary")["reasons"], {"event_eager": 21})

    def test_old_code_is_a_race(self):
        report = self.report("old_code", code=1)
        self.assertEqual(report["verdict"]["races"], 1)
        kernel = next(kernel for kernel in report["kernels"] if kernel["race"] != "none")
        self.assertEqual((kernel["race"], kernel["ptx_version"]), ("old_code", 80))
        self.assertIn("1 kernel races", self.watch("old_code", "--quiet", code=1))

    def test_pytorch(self):
        report = self.report("torch")
        self.assertEqual((report["verdict"]["launches"], report["verdict"]["asked"]), (204, 0))
        self.assertGreater(report["verdict"]["late"], 200)
        self.assertTrue(any(kernel["name"].startswith("nvjet_sm90") and kernel["launches"] == 50
                            for kernel in report["kernels"]))

    def test_a_cut_recording_is_read_as_far_as_it_goes(self):
        whole = self.report("overlapped")["verdict"]["launches"]
        with lzma.open(RECORDINGS / "overlapped.rec.xz") as packed:
            size = len(packed.read())
        counts = [self.report("overlapped", code=2, cut=size * part // 8)["verdict"]["launches"] for part in range(2, 8)]
        self.assertEqual(counts, sorted(counts))
        self.assertLessEqual(counts[-1], whole)


if __name__ == "__main__":
    unittest.main(verbosity=2)
