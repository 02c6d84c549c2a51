#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The forms of a timeline: text, picture and trace file, of the samples of timeline_sample.c."""

import argparse
import csv
import decimal
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
import unittest
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
SVG = "{http://www.w3.org/2000/svg}"
NONE = -(2**63)
CASES = ("pair", "ragged", "slower", "different", "nasty", "large", "many", "odd", "point", "early", "slow", "nothing")


class Sample:
    """What timeline_sample writes for a case."""

    made = {}

    def __init__(self, case):
        with tempfile.TemporaryDirectory() as directory:
            self.output = subprocess.run(
                [PROGRAM, case, directory], check=True, stdout=subprocess.PIPE, env={"LC_ALL": "C"}
            ).stdout.decode()
            self.text = {c: self.read(directory, "out.%d.txt" % c) for c in (0, 72, 73, 80, 132, 400)}
            self.svg = self.read(directory, "out.svg")
            self.json = self.read(directory, "out.json")
            with open(os.path.join(directory, "blocks.csv"), encoding="utf-8") as file:
                self.blocks = [tuple(map(int, row)) for row in csv.reader(file)]

    @staticmethod
    def read(directory, name):
        with open(os.path.join(directory, name), "rb") as file:
            return file.read().decode("utf-8")  # fails for what is not UTF-8

    @classmethod
    def of(cls, case):
        if case not in cls.made:
            cls.made[case] = cls(case)
        return cls.made[case]


class Text(unittest.TestCase):
    def test_the_table_and_the_picture_are_as_wide_as_the_columns(self):
        for case in set(CASES) - {"nothing", "point", "slow"}:  # whose times have more digits than there is room for
            for columns, text in Sample.of(case).text.items():
                table = text[text.find("launch, times") - 5 :]
                for line in table.splitlines():
                    if "SMs busy" not in line:
                        self.assertLessEqual(len(line), columns or 80, "%s: %r" % (case, line))
        for columns, text in Sample.of("pair").text.items():
            rows = [line for line in text.splitlines() if re.search("[█▒+]", line) and "the wait," not in line]
            self.assertEqual({len(row) for row in rows}, {columns or 80})
            self.assertEqual(len(rows), 1 + 4)

    def test_0_columns_are_80_and_a_dash_is_standard_output(self):
        self.assertEqual(Sample.of("pair").text[0], Sample.of("pair").text[80])
        self.assertEqual(Sample.of("pair").text[0], Sample.of("pair").output)

    def test_what_is_lost_and_noted_is_said_once(self):
        text = Sample.of("pair").text[80]
        self.assertEqual(text.count("The stamps of 3 blocks were lost."), 1)
        self.assertEqual(text.count("simulated, not measured"), 1)

    def test_the_first_line_compares_two_tracks_of_the_same_kernels(self):
        blocks = Sample.of("pair").blocks
        spans = []
        for track in (0, 1):
            own = [block for block in blocks if block[0] // 2 == track]
            spans.append(max(block[7] for block in own) - min(block[3] for block in own))
        first = Sample.of("pair").text[80].splitlines()[0]
        figures = re.fullmatch(r"PDL: (\d+\.\d) → (\d\.\d) µs, (\d\.\d\d)× faster", first)
        self.assertIsNotNone(figures, first)
        for shown, wanted in zip(figures.groups(), (spans[0] / 1e3, spans[1] / 1e3, spans[0] / spans[1])):
            self.assertAlmostEqual(float(shown), wanted, delta=0.051 if wanted > 2 else 0.0051)
        self.assertRegex(Sample.of("slower").text[80], r"^b: 9\.\d\d → 13\.\d\d µs, 1\.\d\d× slower\n")

    def test_tracks_of_different_kernels_are_not_compared(self):
        for case in ("different", "nasty", "large", "many", "odd"):
            self.assertNotRegex(Sample.of(case).text[80], "→|faster|slower", case)
            self.assertNotRegex(Sample.of(case).svg, "→|faster|slower", case)

    def test_the_summary_tells_gaps_and_overlaps(self):
        text = Sample.of("pair").text[132]
        self.assertRegex(text, r"\nwithout PDL: \d+\.\d\d µs, overlap 0\.00 µs \(0\.0 %\), gaps 1\.\d\d µs, SMs busy")
        self.assertRegex(text, r"\nwith PDL: \d+\.\d\d µs, overlap [01]\.\d\d µs \([1-9]\d?\.\d %\), gaps 0\.00 µs")

    def test_there_is_one_table(self):
        self.assertEqual(Sample.of("pair").text[80].count("times in µs"), 1)

    def test_each_launch_has_a_line(self):
        text = Sample.of("pair").text[80]
        lines = re.findall(r"(?m)^ +(\d) (fc\d) +\d+\.\d\d +\d+\.\d\d +[-\d.]+ +\d+\.\d\d +132$", text)
        self.assertEqual(lines, [("0", "fc1"), ("1", "fc2")] * 2)

    def test_the_picture_shows_the_phases_in_their_order(self):
        rows = re.findall(r"(?m)^ +(\d) fc[12] +([░·█▒ ]{20,})$", Sample.of("pair").text[132])
        shapes = [(index, re.sub(r"(.)\1*", r"\1", cells.strip())) for index, cells in rows]
        self.assertEqual(shapes, [("0", "█▒"), ("1", "█▒"), ("0", "█▒"), ("1", "░·█▒")])

    def test_the_second_launch_starts_under_the_first_where_they_overlap(self):
        rows = re.findall(r"(?m)^ +\d fc[12] +([░·█▒ ]{20,})$", Sample.of("pair").text[132])
        width = 132 - 24
        starts = [len(cells.rjust(width)) - len(cells.rjust(width).lstrip()) for cells in rows]
        ends = [len(cells.rjust(width).rstrip()) for cells in rows]
        self.assertGreater(starts[1], ends[0])
        self.assertLess(starts[3], ends[2])

    def test_of_many_launches_the_first_are_shown_on_their_own_axis(self):
        text = Sample.of("many").text[80]
        self.assertIn("… 276 launches more", text)
        table, picture = text.split("  µs ")
        self.assertEqual([int(index) for index in re.findall(r"(?m)^ +(\d+) kernel\d+ +[\d.]+ ", table)], [*range(24)])
        self.assertEqual([int(index) for index in re.findall(r"(?m)^ +(\d+) kernel\d+ +[█▒]", picture)], [*range(24)])
        self.assertEqual(re.findall(r"\d+", picture.splitlines()[0])[-1], "150")

    def test_controls_do_not_reach_the_terminal(self):
        for columns, text in Sample.of("nasty").text.items():
            controls = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
            self.assertEqual(controls, {"\n"}, columns)
            self.assertNotIn("\ufffd", text)

    def test_a_trigger_before_the_wait_shows_after_it(self):
        (cells,) = re.findall(r"(?m)^ +0 early +([░·█▒ ]{20,})$", Sample.of("early").text[80])
        self.assertEqual(re.sub(r"(.)\1*", r"\1", cells.strip()), "░·▒")

    def test_the_axis_has_its_marks_at_round_times(self):
        lines = Sample.of("early").text[80].splitlines()
        (at,) = [i for i, line in enumerate(lines) if line.startswith("  µs ")]
        for match in re.finditer(r"\d+", lines[at]):
            cell = round((int(match.group()) * 1000 - 900) / 5000 * 64)
            self.assertEqual(match.start(), 16 + cell)
            self.assertEqual(lines[at + 1][match.start()], "+")
        self.assertEqual(re.findall(r"\d+", lines[at]), ["1", "2", "3", "4", "5"])

    def test_numbers_are_rounded(self):
        self.assertRegex(Sample.of("odd").text[80], r"(?m)^ +2 point +0\.08 +0\.08 ")

    def test_no_blocks_are_said(self):
        self.assertEqual(Sample.of("nothing").text[80], "no blocks\n")


class Picture(unittest.TestCase):
    def test_it_is_xml(self):
        for case in CASES:
            root = xml.etree.ElementTree.fromstring(Sample.of(case).svg)
            self.assertEqual(root.tag, SVG + "svg")

    def test_it_is_alone_and_follows_light_and_dark(self):
        svg = Sample.of("pair").svg
        self.assertNotRegex(svg, r"href|@import|<script|<image|https?://(?!www\.w3\.org/2000/svg)")
        self.assertEqual(svg.count("prefers-color-scheme:dark"), 1)
        before, after = svg.split("prefers-color-scheme:dark")
        for name in ("bg", "area", "t", "s", "grid", "tick", "n", "k0", "k6"):
            self.assertRegex(before, r"\.%s[,{]" % name)
            self.assertRegex(after.split("</style>")[0], r"[.,]%s[,{]" % name)

    def test_everything_lies_within_it(self):
        for case in CASES:
            svg = Sample.of(case).svg
            root = xml.etree.ElementTree.fromstring(svg)
            left, _, width, height = map(int, root.get("viewBox").split())
            width += left
            for node in root.iter():
                points = [(node.get("x"), node.get("y"))] if "x" in node.attrib else []
                for x, y in points + re.findall(r"M(-?\d+) (-?\d+)", node.get("d", "")):
                    self.assertTrue(0 <= int(x) <= width and 0 <= int(y) <= height, node.attrib)

    def test_launches_in_one_even_wave_are_bands_and_others_have_rows_of_sms(self):
        self.assertNotIn(">SM ", Sample.of("pair").svg)
        self.assertNotIn('class="tick"', Sample.of("pair").svg)
        self.assertIn(">SM ", Sample.of("ragged").svg)

    def test_the_title_compares_the_tracks(self):
        svg = Sample.of("pair").svg
        first = Sample.of("pair").text[80].splitlines()[0]
        self.assertIn("<title>%s</title>" % first, svg)
        self.assertIn(">%s</text>" % first, svg)

    def boxes(self, case):
        """The left, top, width and height of what blocks do, in tenths of a pixel. Bars of launches are 300 high."""
        found = re.findall(r'<path class="[kw]\d[^"]*" d="M(\d+) (\d+)h(\d+)v(\d+)H\d+z"', Sample.of(case).svg)
        return [tuple(map(int, box)) for box in found if box[3] not in ("300", "120")]

    def test_blocks_stand_at_their_times_and_on_their_sms(self):
        sample = Sample.of("ragged")
        self.assertLess(min(block[3] for block in sample.blocks), 500)  # so that the axis begins at 0
        span = max(block[7] for block in sample.blocks)
        boxes = {(box[0], box[0] + box[2]) for box in self.boxes("ragged")}
        self.assertGreater(len(boxes), 500)
        for launch, _, _, begin, wait, waited, _, end in sample.blocks:
            pieces = [(begin, end)] if wait == NONE else [(begin, wait), (wait, waited), (waited, end)]
            for left, right in pieces:
                if right > left:
                    wanted = (round(1000 + left / span * 10800), round(1000 + right / span * 10800))
                    near = any((wanted[0] + a, wanted[1] + b) in boxes for a in (-1, 0, 1) for b in (-1, 0, 1))
                    self.assertTrue(near, (launch, wanted))

    def test_blocks_that_run_at_once_do_not_cover_each_other(self):
        boxes = self.boxes("nasty")
        self.assertEqual(len(boxes), 4 * 6 + 1)
        for i, (x, y, width, height) in enumerate(boxes):
            for ox, oy, owidth, oheight in boxes[:i]:
                across = min(x + width, ox + owidth) - max(x, ox)
                down = min(y + height, oy + oheight) - max(y, oy)
                self.assertFalse(across > 0 and down > 0)

    def test_notes_come_through_as_text(self):
        root = xml.etree.ElementTree.fromstring(Sample.of("nasty").svg)
        texts = [text.text for text in root.iter(SVG + "text")]
        self.assertIn('--> <!-- <![CDATA[ "><script>alert(1)</script> &amp; `x` $(x) ]]>', texts)
        self.assertEqual([element.tag for element in root.iter() if "script" in element.tag], [])

    def test_waits_are_hatched_in_the_kernels_colour(self):
        svg = Sample.of("pair").svg
        self.assertIn('<path class="w1" d="M', svg)  # fc2 waits
        self.assertNotIn('<path class="w0" d="M', svg)  # fc1 does not
        self.assertRegex(svg, r'<pattern id="w1"[^>]*><rect class="k1"')

    def test_each_block_has_a_mark_at_its_trigger(self):
        self.assertEqual(Sample.of("ragged").svg.count('<path class="tick"'), 4 * 132 + 1)
        self.assertEqual(Sample.of("ragged").svg.count('class="mark"'), 4 + 1)

    def test_each_launch_has_its_name_and_time_for_the_pointer(self):
        root = xml.etree.ElementTree.fromstring(Sample.of("pair").svg)
        titles = [group.find(SVG + "title").text for group in root.iter(SVG + "g")]
        self.assertEqual(len(titles), 4)
        self.assertRegex(titles[0], r"^fc1, 4\.\d\d µs$")

    def test_numbers_of_sms_do_not_touch(self):
        for case in ("ragged", "nasty"):
            root = xml.etree.ElementTree.fromstring(Sample.of(case).svg)
            rows = [int(t.get("y")) for t in root.iter(SVG + "text") if (t.text or "").startswith("SM ")]
            self.assertGreaterEqual(len(rows), 2)
            near = min(abs(a - b) for i, a in enumerate(rows) for b in rows[:i])
            self.assertGreaterEqual(near, 150)

    def test_of_too_many_blocks_only_launches_are_drawn_and_that_is_said(self):
        sample = Sample.of("large")
        self.assertEqual(len(sample.blocks), 126721)
        self.assertLess(len(sample.svg), 1e5)
        self.assertNotIn(">SM ", sample.svg)
        self.assertEqual(sample.svg.count("126721 blocks on 132 SMs are too many to be drawn here; a trace has each."), 1)

    def test_what_is_lost_and_noted_is_said(self):
        self.assertIn(">The stamps of 3 blocks were lost.<", Sample.of("pair").svg)
        self.assertIn(">simulated, not measured<", Sample.of("pair").svg)


class Trace(unittest.TestCase):
    def load(self, case):
        return json.loads(Sample.of(case).json, parse_float=decimal.Decimal)

    def test_it_is_of_the_schema(self):
        try:
            import jsonschema  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("Python's jsonschema was not found")
        with open(os.path.join(HERE, "trace-event.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        for case in CASES:
            if case != "large":  # takes minutes, and has nothing of its own
                jsonschema.validate(json.loads(Sample.of(case).json), schema)

    def test_every_stamp_is_in_it_to_the_nanosecond(self):
        for case in CASES:
            found = []
            for event in self.load(case)["traceEvents"]:
                if event.get("cat") == "block":
                    args = event["args"]
                    start = int(event["ts"] * 1000)
                    stamps = [args.get(key, NONE) for key in ("wait_ns", "waited_ns", "triggered_ns")]
                    end = start + int(event["dur"] * 1000)
                    found.append((args["launch"], args["block"], args["sm"], start, *stamps, end))
            self.assertEqual(sorted(found), sorted(Sample.of(case).blocks), case)

    def test_slices_of_a_thread_lie_apart_or_in_each_other(self):
        for case in CASES:
            threads = {}
            for event in self.load(case)["traceEvents"]:
                if event["ph"] == "X":
                    threads.setdefault((event["pid"], event["tid"]), []).append(event)
            for events in threads.values():
                open_ends = []
                for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
                    while open_ends and open_ends[-1] <= event["ts"]:
                        open_ends.pop()
                    end = event["ts"] + event["dur"]
                    self.assertTrue(not open_ends or end <= open_ends[-1], (case, event))
                    open_ends.append(end)

    def test_waits_and_triggers_are_inside_their_block(self):
        events = self.load("pair")["traceEvents"]
        self.assertEqual(sum(e["name"] == "wait" for e in events), 132)
        self.assertEqual(sum(e["name"] == "trigger" and e["ph"] == "i" for e in events), 4 * 132)

    def test_tracks_sms_and_kernels_have_their_names(self):
        events = self.load("pair")["traceEvents"]
        names = {}
        for event in events:
            if event["name"] in ("process_name", "thread_name"):
                key = (event["pid"], event["tid"] if event["name"] == "thread_name" else None)
                self.assertNotIn(key, names)
                names[key] = event["args"]["name"]
        self.assertEqual([names[(1, None)], names[(2, None)]], ["without PDL", "with PDL"])
        for event in events:
            if event["ph"] == "X":
                name = names[(event["pid"], event["tid"])]
                if event["cat"] == "launch":
                    self.assertEqual(name, "launches")
                elif event["cat"] == "block":
                    self.assertIn(event["name"], ("fc1", "fc2"))
                    self.assertEqual(name.split(",")[0], "SM %d" % event["args"]["sm"])

    def test_names_come_through_any_characters(self):
        events = self.load("nasty")["traceEvents"]
        names = {event["name"] for event in events if event.get("cat") == "launch"}
        self.assertIn("void gemm<float, 2>(float const*, char&) [clone] \"quoted\" 'a' ]]>", names)
        self.assertIn("back\\slash\nnew line\ttab\x01\x7f end", names)
        self.assertIn("%s%n%d", names)
        (other,) = names - {name for name in names if name[0] in "vb%"}
        self.assertTrue(other.startswith("ä你😀 \ufffd"), other)
        self.assertNotIn("/", other)  # written with more bytes than it takes
        self.assertTrue(other.endswith(" cut\ufffd\ufffd"), other)

    def test_what_is_lost_and_noted_is_in_it(self):
        other = self.load("pair")["otherData"]
        self.assertEqual(other["lost_blocks"], 3)
        self.assertEqual(other["note_1"], "simulated, not measured")

    def test_perfetto_reads_it(self):
        try:
            from perfetto.trace_processor import TraceProcessor  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("Perfetto's trace processor was not found")
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "trace.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(Sample.of("pair").json)
            with TraceProcessor(trace=path) as processor:
                rows = processor.query("select count(*) as n from slice where category = 'block'")
                self.assertEqual([row.n for row in rows], [4 * 132])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("classes", nargs="+")
    arguments = parser.parse_args()
    PROGRAM = arguments.program
    unittest.main(argv=[sys.argv[0], "-v", *arguments.classes])
