# SPDX-License-Identifier: MIT
"""What pdltool watch writes: on models of recordings, which forms_model.c makes by the name of the recording."""

import json
import re
import unittest
import xml.etree.ElementTree as ET

import tooltest

SVG = "{http://www.w3.org/2000/svg}"


class Case(tooltest.Case):
    def watch(self, *arguments, code=0, env=None):
        result = self.tool("watch", *arguments, env=env)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def report(self, model, *arguments, code=None):
        """Of models that lack launches or records nothing is known."""
        unseen = model in ("empty", "no-times") and "--allow-unobserved" not in arguments
        code = (2 if unseen else 0) if code is None else code
        return self.watch("--input", model, *arguments, code=code).stdout

    def section(self, text, heading):
        """The lines below a heading, up to an empty line."""
        lines = text.split("\n")
        start = next(i for i, line in enumerate(lines) if line.startswith(heading)) + 1
        return lines[start : lines.index("", start)] if "" in lines[start:] else lines[start:]


class Text(Case):
    def test_the_first_line_is_the_verdict(self):
        text = self.report("chain")
        verdict = self.report("chain", "--quiet")
        self.assertEqual(
            verdict,
            "12,945 launches (300 in graphs): 12,345 asked for overlap, 12,340 overlapped the kernel before (95 %), which "
            "saved 24.7 ms; overlap would save at most 1.50 ms more; no races\n",
        )
        self.assertTrue(text.startswith(verdict + "\n"), text)

    def test_quiet_leaves_only_the_verdict(self):
        self.assertEqual(self.report("chain", "--quiet").count("\n"), 1)
        self.assertEqual(self.report("chain", "-q"), self.report("chain", "--quiet"))

    def test_no_launch_is_said_plainly(self):
        self.assertEqual(self.report("empty"), "no kernel was launched\n")

    def test_advice_to_go_without_cupti_is_for_those_who_have_not(self):
        self.assertEqual(self.report("no-cupti", code=2), "no launch was seen: CUPTI is missing; try --no-cupti\nnote: libcupti.so was not found\n")
        self.assertNotIn("try --no-cupti", self.report("without-cupti", code=2))
        self.assertIn("CUPTI was not used", self.report("without-cupti", "-q", code=2))

    def test_launches_that_do_not_count_are_not_denied(self):
        self.assertIn("no launch counts: all are of other kernels", self.report("outside", code=2))

    def test_without_times_no_overlap_is_claimed_and_it_says_why(self):
        text = self.report("no-times")
        self.assertTrue(text.startswith("3 launches: 1 asked for overlap; without device times it is unknown which overlapped; no races in what was recorded\n"), text)
        self.assertIn("note: libcupti.so was not found\n", text)
        self.assertNotIn("by pair", text)

    def test_what_was_lost_is_said(self):
        text = self.report("no-times")
        self.assertIn("process 1000 did not exit normally", text)
        self.assertIn("no-times is damaged", text)
        self.assertIn("process 1000: 1,234 records were lost: the disk is full", text)
        self.assertIn("process 1000: 1 run on the device was dropped by CUPTI", text)

    def test_races_are_named_with_what_was_found(self):
        lines = self.section(self.report("races", code=1), "races")
        self.assertEqual(
            lines,
            [
                "  race: broken(float*)",
                "    40 launches with overlap; it never waits",
                "  race: hasty(float*)",
                "    40 launches with overlap; some of its threads or launches do not wait",
                "    kernel.cu:12: a store before the wait",
            ],
        )

    def test_what_could_not_be_judged_is_apart_and_no_race(self):
        text = self.report("races", code=1)
        self.assertIn("; 2 kernels race, 1 kernel not judged\n", text)
        self.assertEqual(
            self.section(text, "not judged"),
            ["  unknown: opaque(float*)", "    40 launches with overlap; it is unknown whether it waits in time: it calls through a pointer"],
        )

    def test_changes_are_told(self):
        text = self.report("races", code=1)
        self.assertIn("\noverlap was added to 40 launches: none overlapped\n", text)
        self.assertIn("\noverlap was removed from 1 launch\n", text)
        self.assertIn("\n1,000 launches did not get overlap: their kernels are not proved", text)

    def test_what_added_overlap_gained_is_said(self):
        lines = self.report("gains").split("\n\n")[0].split("\n")
        self.assertEqual(lines, [
            "20,000 launches: 0 asked for overlap, 12,288 were given it, 12,100 overlapped the kernel before (60 %), which saved 5.40 ms; no races",
            "overlap was added to 12,288 launches: 12,100 overlapped, and 100 followed without a gap; "
            "with the hidden launch latency this saved about 12.4 ms (51 % of the busy time)",
            "1,204 of these launches follow a kernel that never triggers: little but the launch latency is hidden",
            "1,000 launches did not get overlap: their kernels are not proved to wait before they touch memory",
            "overlap cannot help 5,000 launches: the host launches a kernel every 15.2 µs, and kernels take 3.10 µs; record a graph, or launch earlier",
            "1 kernel was instrumented, 1 waits already, 1 was refused, 1 was not loaded as PTX",
            "  refused: second(float*): it uses the barrier of the grid",
        ])

    def test_a_kernel_has_a_row_with_numbers_and_units(self):
        rows = self.section(self.report("chain"), "by kernel")
        self.assertEqual(rows[0].split()[:5], ["launches", "time", "asked", "overlapped", "by"])
        self.assertEqual(
            rows[1].split(), ["12,345", "61.7", "ms", "12,345", "12,340", "2.00", "µs", "40", "%", "yes", "yes", "9.0", "host", "late", "scale(float*)"]
        )
        self.assertEqual(rows[2].split()[:6], ["600", "3.00", "ms", "0", "0", "-"])
        self.assertIn("not asked", rows[2])

    def test_a_pair_has_a_row_and_its_numbers_below(self):
        rows = self.section(self.report("chain"), "by pair")
        self.assertEqual(rows[1].split()[:9], ["1", "600", "0", "-", "1.00", "µs", "1.50", "ms", "not"])
        self.assertIn("scale(float*) → ", rows[1])
        self.assertTrue(rows[2].endswith("→ copy or memset, graph"), rows[2])
        self.assertEqual(rows[3], "  1: it has 132 blocks of 256 threads")

    def test_each_reason_of_a_table_is_explained_and_no_other(self):
        rows = self.section(self.report("chain"), "why not")
        self.assertEqual([row.split("  ")[1] for row in rows], ["not asked", "host late"])
        self.assertTrue(rows[1].endswith("  the host launched it too late: record a graph, or launch earlier"), rows[1])

    def test_the_tables_fit_into_120_columns(self):
        text = self.report("chain")
        for line in self.section(text, "by kernel") + self.section(text, "by pair"):
            self.assertLessEqual(len(line), 120, line)

    def test_rows_are_limited_and_the_rest_counted(self):
        text = self.report("many", "--rows", "3")
        self.assertEqual(len(self.section(text, "by kernel")), 5)
        self.assertIn("  and 37 kernels more; --all shows all\n", text)
        self.assertIn("  and 37 pairs more; --all shows all\n", text)
        self.assertNotIn(" more;", self.report("many", "--all"))

    def test_kernels_come_by_their_time(self):
        rows = self.section(self.report("many", "--all"), "by kernel")
        self.assertEqual([row.split()[-1] for row in rows[1:]], [f"kernel{i}(int)" for i in range(40)])

    def test_nothing_from_outside_steers_the_terminal(self):
        text = self.report("hostile", "--all", code=0) + self.report("hostile", "-q")
        for character in "\x1b\u202e":
            self.assertNotIn(character, text)
        self.assertIn("\\x1b[2J", text)


class Names(Case):
    def test_a_long_name_loses_parameters_and_namespaces_first(self):
        row = self.section(self.report("chain"), "by kernel")[2]
        self.assertTrue(row.endswith("  vectorized_elementwise_kernel…"), row)

    def test_all_shows_whole_names(self):
        row = self.section(self.report("chain", "--all"), "by kernel")[2]
        self.assertTrue(row.endswith("(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"), row)


class Json(Case):
    def document(self, model, *arguments, code=None):
        result = self.report(model, "--json", *arguments, code=code)
        document = json.loads(result)
        if tooltest.schemas:
            import jsonschema  # pylint: disable=import-outside-toplevel

            with open(tooltest.schemas[0], encoding="ascii") as file:
                jsonschema.Draft7Validator(json.load(file)).validate(document)
        return document

    def test_every_model_is_as_the_schema_says(self):
        for model in ("chain", "gains", "races", "unknown", "no-times", "hostile", "many", "empty"):
            with self.subTest(model):
                self.document(model, code=1 if model == "races" else None)

    def test_what_was_not_observed_is_named(self):
        for model, unobserved, races in (
            ("chain", None, 0), ("empty", "nothing_recorded", None), ("outside", "no_launch", None), ("no-times", "lost", 0), ("no-code", "no_code", 0)
        ):
            verdict = self.document(model, "--allow-unobserved")["verdict"]
            self.assertEqual((verdict["unobserved"], verdict["races"]), (unobserved, races), model)

    def test_it_has_what_the_text_has(self):
        document = self.document("chain")
        self.assertEqual(document["verdict"]["overlapped"], 12340)
        self.assertEqual(document["kernels"][0]["reasons"], {"overlapped": 12340, "host_late": 5})
        self.assertEqual((document["pairs"][0]["first"], document["pairs"][0]["second"], document["pairs"][0]["reason"]), (0, 1, "not_asked"))
        self.assertIsNone(document["pairs"][1]["second"])
        self.assertIsNone(document["program"])
        self.assertIsNone(document["verdict"]["instrumented"])
        document = self.document("gains")
        self.assertEqual([kernel["instrumented"] for kernel in document["kernels"]], ["yes", "refused", "no", "waits"])
        self.assertEqual(document["kernels"][1]["why_not_instrumented"], "it uses the barrier of the grid")
        keys = ("added", "added_overlapped", "added_close", "added_saved_ns", "no_trigger", "late", "late_interval_ns", "late_kernel_ns", "instrumented")
        self.assertEqual([document["verdict"][key] for key in keys], [12288, 12100, 100, 12400000, 1204, 5000, 15200, 3100, 1])

    def test_without_times_what_needs_them_is_null(self):
        document = self.document("no-times")
        self.assertFalse(document["has_times"])
        for key in ("overlapped", "saved_ns", "saving_ns"):
            self.assertIsNone(document["verdict"][key])

    def test_it_is_ascii(self):
        self.assertTrue(self.report("hostile", "--json").isascii())


class Trace(Case):
    def trace(self, model):
        self.report(model, "--trace", "x.json", "-q")
        with open(self.path("x.json"), encoding="utf-8") as file:
            return json.load(file)["traceEvents"]

    def test_each_run_is_a_slice_on_the_track_of_its_stream(self):
        events = self.trace("chain")
        runs = [event for event in events if event.get("cat") == "kernel"]
        self.assertEqual(len(runs), 600)
        self.assertEqual({event["pid"] for event in runs}, {2})
        self.assertEqual((runs[0]["dur"], runs[0]["name"], runs[0]["args"]["grid"]), (5, "scale(float*)", "132x1x1"))
        names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
        self.assertEqual({names[event["tid"]] for event in runs}, {"stream 7", "stream 7, overlapping"})

    def test_slices_of_one_track_do_not_overlap(self):
        ends = {}
        for event in self.trace("chain"):
            if event.get("cat") in ("kernel", "transfer"):
                self.assertGreaterEqual(event["ts"] + 1e-9, ends.get(event["tid"], 0))
                ends[event["tid"]] = event["ts"] + event["dur"]

    def test_an_arrow_goes_from_each_launch_to_its_run(self):
        events = self.trace("chain")
        runs = {(event["pid"], event["tid"], event["ts"]) for event in events if event.get("cat") == "kernel"}
        calls = {(event["pid"], event["tid"], event["ts"]) for event in events if event["ph"] == "X" and event["cat"] == "launch"}
        starts = {event["id"]: (event["pid"], event["tid"], event["ts"]) for event in events if event["ph"] == "s"}
        ends = {event["id"]: (event["pid"], event["tid"], event["ts"]) for event in events if event["ph"] == "f"}
        self.assertEqual((len(starts), set(starts)), (600, set(ends)))
        self.assertEqual((set(starts.values()), set(ends.values())), (calls, runs))

    def test_times_begin_with_0_and_none_is_absurd(self):
        for model in ("chain", "hostile"):
            events = self.trace(model)
            self.assertEqual(min(event["ts"] for event in events if "ts" in event), 0)
            self.assertLess(max(event.get("dur", 0) for event in events), 1e5)
            self.assertLess(max(event.get("ts", 0) for event in events), 1e5)


class Picture(Case):
    def picture(self, model):
        self.report(model, "--svg", "x.svg", "-q")
        return ET.parse(self.path("x.svg")).getroot()

    def texts(self, root):
        return [text.text for text in root.iter(SVG + "text")]

    def runs(self, root):
        return [group for group in root.iter(SVG + "g") if group.find(SVG + "title") is not None]

    def boxes(self, root):
        """The left, top, width and height of what has a colour, in tenths of a pixel."""
        paths = [path.get("d") for path in root.iter(SVG + "path") if re.match("k|bg|area", path.get("class"))]
        return [tuple(map(int, re.fullmatch(r"M(-?\d+) (-?\d+)h(\d+)v(\d+)H-?\d+z", path).groups())) for path in paths]

    def test_it_has_at_most_200_runs_and_says_so(self):
        root = self.picture("chain")
        self.assertEqual(len(self.runs(root)), 200)
        self.assertIn("200 of 601 runs, around those whose overlap could save most.", self.texts(root))

    def test_the_run_that_stands_for_the_first_pair_is_in_it(self):
        titles = [box.find(SVG + "title").text for box in self.runs(self.picture("chain"))]
        self.assertIn("scale(float*), 5.00 µs: it overlapped", titles)
        self.assertTrue(any("FillFunctor<float>, std::array<char*, 1ul>), 5.00" in title for title in titles))
        self.assertNotIn("scale(float*), 5.00 µs: no kernel is before it", titles)

    def test_each_stream_with_runs_has_a_heading(self):
        texts = self.texts(self.picture("chain"))
        self.assertIn("stream 7", texts)
        self.assertNotIn("stream 8", texts)

    def test_runs_of_one_row_do_not_overlap(self):
        ends = {}
        for run in self.runs(self.picture("chain")):
            ((x, row, width, _),) = self.boxes(run)
            self.assertGreaterEqual(x, ends.get(row, 0))
            ends[row] = x + width
        self.assertGreater(len(ends), 1)

    def test_all_is_within_the_picture(self):
        for model in ("chain", "many", "hostile"):
            root = self.picture(model)
            left, _, width, height = map(int, root.get("viewBox").split())
            for x, y, box_width, box_height in self.boxes(root):
                self.assertTrue(0 <= x <= x + box_width <= left + width)
                self.assertTrue(0 <= y <= y + box_height <= height)

    def test_a_picture_of_nothing_says_so(self):
        self.assertIn("Nothing has run, or there are no device times.", self.texts(self.picture("empty")))


class CommandLine(Case):
    def refused(self, *arguments):
        result = self.watch(*arguments, code=2)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def test_what_is_wrong_is_said(self):
        for arguments, said in (
            ((), "no program to run and no --input"),
            (("--input", "chain", "--", "true"), "pdltool watch: error: --input reads a recording and runs no program; see 'pdltool watch --help'\n"),
            (("--input", "chain", "--record", "x"), "need a program, not --input"),
            (("--input", "chain", "--overlap", "off"), "need a program, not --input"),
            (("--overlap", "maybe", "--", "true"), "--overlap takes on or off, not 'maybe'"),
            (("--only", "x", "--", "true"), "--only and --except need --overlap or --instrument"),
            (("--input", "chain", "--instrument", "entry"), "need a program, not --input"),
            (("--instrument", "late", "--", "true"), "--instrument"),
            (("--overlap", "on", "--except", "", "--", "true"), "--except takes"),
            (("--fail-on", "rac", "--input", "chain"), "not 'rac'"),
            (("--fail-on", "race,", "--input", "chain"), "not 'race,'"),
            (("--seconds", "0", "--", "true"), "a number above 0"),
            (("--skip", "5", "--input", "chain"), "need a program, not --input"),
            (("--rows", "0", "--input", "chain"), "--rows takes a number from 1"),
            (("--count", "-1", "--", "true"), "--count takes a number from 1"),
            (("--what",), "--help"),
            (("--input", "unreadable"), "unreadable: is no recording"),
            (("--input", "chain", "--output", "no/folder"), "--output no/folder: No such file"),
        ):
            with self.subTest(arguments):
                self.assertIn(said, self.refused(*arguments))

    def test_a_race_is_a_finding_unless_it_is_not_to_be(self):
        self.report("races", code=1)
        self.report("races", "--fail-on", "never", code=0)
        self.report("races", "--fail-on", "unknown", code=1)
        self.report("races", "--fail-on", "no-overlap", code=0)

    def test_what_is_unknown_is_no_finding_unless_it_is_to_be(self):
        self.report("unknown", code=0)
        self.report("unknown", "--fail-on", "race,unknown", code=1)
        self.report("unknown", "--fail-on", "no-overlap", code=1)

    def test_what_was_not_observed_fails_the_gate_that_asks_about_it(self):
        gates = {"race": (2, 2, 2, 2), "unknown": (2, 2, 2, 1), "no-overlap": (2, 1, 1, 0), "never": (2, 0, 0, 0)}
        for gate, codes in gates.items():
            for model, code in zip(("empty", "outside", "no-times", "no-code"), codes):
                with self.subTest(gate=gate, model=model):
                    result = self.watch("--input", model, "--fail-on", gate, code=code)
                    self.assertEqual("was not observed; --allow-unobserved accepts this" in result.stderr, code == 2)
                    allowed = {"no-overlap": 0 if model == "no-code" else 1, "unknown": int(model == "no-code")}.get(gate, 0)
                    self.watch("--input", model, "--fail-on", gate, "--allow-unobserved", code=allowed)
        self.report("outside", code=2)
        self.report("no-code", code=2)

    def test_a_finding_counts_where_more_was_not_observed(self):
        self.report("race-and-lost", code=1)

    def test_kernels_are_chosen_of_what_is_read(self):
        result = self.watch("--input", "chain", "--kernel", "a*", "--kernel", "b", env={"FORMS_WINDOW": "1"})
        self.assertIn("kernels 2\n", result.stderr)

    def test_several_recordings_are_read_together(self):
        text = self.report("chain", "--input", "chain", "again", "chain")
        for process in range(1000, 1004):
            self.assertIn(f"process {process}: ./program --fast\n", text)

    def test_the_report_goes_into_a_file(self):
        self.assertEqual(self.report("chain", "--output", "report"), "")
        with open(self.path("report"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.report("chain"))

    def test_a_file_that_cannot_be_written_is_said(self):
        for option in ("--trace", "--svg"):
            result = self.watch("--input", "chain", option, "no/folder", code=2)
            self.assertIn(f"{option} no/folder: No such file or directory", result.stderr)

    def test_a_full_disk_is_said(self):
        for option in ("--trace", "--svg", "--output"):
            result = self.watch("--input", "chain", option, "/dev/full", code=2)
            self.assertIn("No space left on device", result.stderr)

    def test_json_is_refused_where_it_is_not_built(self):
        if "json" not in tooltest.without:
            raise unittest.SkipTest("it is built")
        self.assertIn("--json needs a pdltool that was built with the library jansson", self.refused("--json", "--input", "chain"))


if __name__ == "__main__":
    tooltest.main(globals())
