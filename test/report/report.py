#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool report: pages of the committed results, runs compared, and files that are wrong."""

import base64
import copy
import html.parser
import json
import os
import re
import statistics
import sys
import xml.dom.minidom

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))

import tooltest  # pylint: disable=wrong-import-position

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "results", "h200")
SVG = "data:image/svg+xml;base64,"


class Reader(html.parser.HTMLParser):
    """Reads a page: what is not closed, tags, ids, rows by their data-id, and all text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.tags, self.rows, self.text = [], [], [], {}, ""
        self.row = []
        self.feed(text)
        self.close()
        self.faults += [f"{tag} is not closed" for tag in self.open]
        self.images = {attributes["alt"]: base64.b64decode(attributes["src"][len(SVG) :]).decode()
                       for tag, attributes in self.tags if tag == "img"}  # fmt: skip

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)
        if tag == "tr":
            self.row = self.rows.setdefault(dict(attrs).get("data-id"), [])
        if tag == "td":
            self.row.append(dict(attrs).get("data-value"))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        self.text += data


def run(points=(("first", 10), ("second", 20)), **changed):
    """A run of one small table, of points with a way and a median."""
    rows = [{"id": f"mine/one/way={way}", "axes": {"way": way}, "against": None, "waived": None, "failed": None, "checks": 6,
             "passes": [10, 20, 30], "metrics": {"time": {"samples": [value * (1 + i % 10 / 1000) for i in range(30)]}}}
            for way, value in points]  # fmt: skip
    table = {"suite": "mine", "name": "one", "title": "A table", "note": "Made up.", "axes": ["way"], "points": rows,
             "metrics": [{"name": "time", "unit": "us", "higher_is_better": False, "tolerance": 0.03}]}  # fmt: skip
    return {"schema": 1, "tool": "pdltool bench", "environment": {"gpu": "NVIDIA H200", "driver": "580.1", "date": "2026-01-02"},
            "ended_early": None, "tables": [table], **changed}  # fmt: skip


def rows_of(content):
    return content["tables"][0]["points"]


class Case(tooltest.Case):
    def put(self, name, content):
        os.makedirs(self.path("runs"), exist_ok=True)
        return self.file(os.path.join("runs", name), content if isinstance(content, str) else json.dumps(content))

    def link(self, *names):
        os.makedirs(self.path("runs"), exist_ok=True)
        for name in names:
            os.symlink(os.path.abspath(os.path.join(RESULTS, name)), self.path(os.path.join("runs", os.path.basename(name))))

    def made(self, code=0, said="", **options):
        result = self.tool("report", self.path("runs"), **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(said, result.stderr)
        self.assertTrue(said or not result.stderr, result.stderr)
        with open(self.path("runs/index.html"), encoding="utf-8") as file:
            page = Reader(file.read())
        self.assertEqual(page.faults, [])
        return page


class Page(Case):
    # A file of results, and words of the titles of its figures.
    FIGURES = (
        ("bench/overhead.json", "8 arguments", "Host time of a launch", "figure 2", "figure 3", "figure 4, left", "figure 5, left",
         "figure 6", "right): host", "right): execution"),
        ("bench/overlap.json", "cycles before the wait", 'libpdl over a plain stream, main part "work"',
         'chain over a plain graph, main part "spin"', "overlap, by the condition"),
        ("sim/overlap.json", "Random shapes"),
         ("bench/graph.json", "Kernels in series, each: device", "further kernel", "make, change and launch"),
         ("bench/device.json", "grids a second", "pending ones: lost", "launches itself", "first instruction", "1,024 small"),
         ("bench/decode.json", "One token", "Each kernel alone", "reading the decoder"),
        ("tensor_parallel.json", "tensor_parallel"), ("decode.json", "decode"), ("one_job.json", "one_job"),
    )  # fmt: skip

    def test_each_result_has_its_figures_and_its_rows(self):
        for name, *titles in self.FIGURES:
            with self.subTest(name):
                self.link(name)
                page = self.made()
                for title in titles:
                    self.assertTrue([alt for alt in page.images if title in alt], title)
                for title, image in page.images.items():
                    self.assertGreater(len(xml.dom.minidom.parseString(image).getElementsByTagName("path")), 3, title)
                self.assertFalse([tag for tag, _ in page.tags if tag in ("script", "link", "iframe")])
                links = [attributes.get("href") or attributes["src"] for _, attributes in page.tags if "href" in attributes or "src" in attributes]
                self.assertFalse([link for link in links if not link.startswith((SVG, "#"))])
                with open(os.path.join(RESULTS, name), encoding="utf-8") as file:
                    content = json.load(file)
                for table in content["tables"] if "tables" in content else ():
                    for point in table["points"]:
                        samples = point["metrics"][table["metrics"][0]["name"]]["samples"]
                        known = [sample for sample in samples if sample is not None]
                        if known and point["waived"] is None and point["failed"] is None:
                            cell = page.rows[point["id"]][len(table["axes"])]
                            self.assertAlmostEqual(float(cell) / (statistics.median(known) or 1), statistics.median(known) and 1, delta=1e-5)
                os.remove(self.path(os.path.join("runs", os.path.basename(name))))

    def test_bars_say_their_medians_and_the_same_again_is_the_same(self):
        self.put("a.json", run((("a", 10), ("b", 20))))
        (image,) = self.made().images.values()
        for text in ("10.04", "20.09"):
            self.assertIn(f">{text}<", image)
        self.assertEqual(self.made().images["A table: time"], image)
        self.assertEqual(sorted(os.listdir(self.path("runs"))), ["a.json", "index.html"])

    def test_what_went_wrong_is_on_the_page(self):
        content = run((("a", 1), ("b", 2), ("c", 3)), ended_early="interrupted <again>")
        rows_of(content)[0]["failed"], rows_of(content)[1]["waived"] = "the sum is <3>", "no clusters"
        self.put("a.json", content)
        text = self.made().text
        for words in ("ended early: interrupted <again>", "1 row: FAILED: the sum is <3>", "1 row: no clusters", "1 failed, 1 waived"):
            self.assertIn(words, text)

    def test_runs_of_one_table_stand_together(self):
        self.put("new.json", run())
        self.put("old.json", run(environment={"gpu": "Another"}))
        text = self.made().text
        self.assertRegex(text, r"(?s)in new.*in old")
        self.assertIn("NVIDIA H200, Another", text)

    def test_other_output(self):
        self.put("a.json", run())
        result = self.tool("report", self.path("runs"), "--output", self.path("page"))
        self.assertEqual((result.stdout, result.stderr, result.returncode), (self.path("page/index.html") + "\n", "", 0))
        self.assertEqual(os.listdir(self.path("runs")), ["a.json"])

    def test_a_known_table_with_other_columns_gets_what_any_table_gets(self):
        content = run()
        content["tables"][0].update(suite="overhead", name="host")
        self.put("a.json", content)
        self.assertIn("A table: time", self.made().images)

    def test_names_are_text_and_nothing_else(self):
        names = ["<script>alert(1)</script>", "a ]]> b", "-->", "$\\frac{1}{0}$", "%s%n", "&amp;", "\u202e\x1b[1m\x00end", "v" * 2000]
        content = run([(name, i + 1) for i, name in enumerate(names)])
        content["tables"][0].update(title=names[0], suite="../../up")
        self.put("a.json", content)
        page = self.made()
        self.assertNotIn("script", [tag for tag, _ in page.tags])
        for image in page.images.values():
            self.assertEqual(xml.dom.minidom.parseString(image).getElementsByTagName("script"), [])
        for name in names[:6]:
            self.assertIn(name, page.text)

    def test_no_points_and_nothing_known(self):
        self.put("a.json", run(()))
        self.assertIn("Nothing was measured", self.made().text)
        content = run()
        for row in rows_of(content):
            row["metrics"]["time"]["samples"] = [None] * 30
        self.put("a.json", content)
        self.assertNotIn("nan", self.made().text)

    def test_what_cannot_be_read_is_said_and_the_rest_is_there(self):
        self.put("good.json", run())
        bad = {"half": json.dumps(run())[:200], "schema": run(schema=9), "tables": run(tables=7), "environment": run(environment=[]),
               "point": {**run(), "tables": [{**run()["tables"][0], "points": [7]}]}, "nested": "[" * 100000}  # fmt: skip
        for name, content in bad.items():
            self.put(f"bad-{name}.json", content)
        os.mkdir(self.path("runs/folder.json"))
        os.mkfifo(self.path("runs/pipe.json"))
        self.put("other.json", {"tool": "another"})
        page = self.made(code=1, said="other.json: note: ignored")
        self.assertEqual(page.text.count("could not be read"), len(bad) + 2)
        self.assertIn("mine/one/way=first", page.rows)

    def test_no_page(self):
        self.put("other.json", "{}")
        self.file("file", "")
        for arguments, said in (((self.path("runs"),), "no JSON file"), ((self.path("nowhere"),), "nowhere: error: No such file"),
                                ((self.path("file"),), "Not a directory")):  # fmt: skip
            result = self.tool("report", *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(said, result.stderr)
        self.put("a.json", run())
        for place in ("/proc/pdl-report", self.path("file")):
            result = self.tool("report", self.path("runs"), "-o", place)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(place, result.stderr)


class Compare(Case):
    def compare(self, change, code=0, old=None):
        """What is said of a run and of the same after a change."""
        before, now = old or run((("a", 100), ("b", 200), ("c", 300))), run((("a", 100), ("b", 200), ("c", 300)))
        change(now)
        result = self.tool("report", "compare", self.put("old.json", before), self.put("new.json", now))
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    @staticmethod
    def scaled(factor, noise=0.0, higher=False):
        def change(content):
            content["tables"][0]["metrics"][0]["higher_is_better"] = higher
            samples = rows_of(content)[0]["metrics"]["time"]["samples"]
            samples[:] = [value * factor * (1 + noise * (i % 2 - 0.5)) for i, value in enumerate(samples)]

        return change

    def test_verdicts(self):
        for what, change, code, said in (
            ("same", lambda now: None, 0, "3 same, 0 worse."),
            ("worse", self.scaled(1.2), 1, "2 same, 1 worse."),
            ("better", self.scaled(0.8), 0, "2 same, 0 worse, 1 better."),
            ("higher is better", self.scaled(0.8, higher=True), 1, "2 same, 1 worse."),
            ("within the tolerance", self.scaled(1.02), 0, "3 same, 0 worse."),
            ("within the noise", self.scaled(1.1, noise=0.3), 0, "3 same, 0 worse."),
            ("gone", lambda now: rows_of(now).pop(), 0, "2 same, 0 worse, 1 gone."),
            ("failed", lambda now: rows_of(now)[0].update(failed="x"), 1, "2 same, 0 worse, 1 failed."),
            ("waived", lambda now: rows_of(now)[0].update(waived="no | clusters"), 0, "2 same, 0 worse, 1 waived."),
            ("not measured", lambda now: rows_of(now)[0]["metrics"]["time"].update(samples=[]), 2, "2 same, 0 worse, 1 not measured."),
            ("a new row", lambda now: rows_of(now).append({**copy.deepcopy(rows_of(now)[0]), "id": "mine/one/way=d", "axes": {"way": "d"}}), 0,
             "3 same, 0 worse, 1 new."),
            ("another suite", lambda now: now["tables"][0].update(suite="other", points=[]), 2, "0 same, 0 worse; 3 rows of the old run not asked for."),
            ("a table gone", lambda now: now["tables"][0].update(points=[]), 2, "| mine/one | gone: 3 rows |"),
            ("conditions", lambda now: now["environment"].update(driver="590.1", date="x"), 0,
             "The runs were made under other conditions: driver was 580.1, now 590.1."),
            ("an early end", lambda now: now.update(ended_early="signal 2"), 0, "The new run ended early: signal 2."),
        ):  # fmt: skip
            with self.subTest(what):
                self.assertIn("\n" + said + "\n" if not said.startswith("|") else said, re.sub(" +", " ", self.compare(change, code)))

    def test_a_change_has_its_figures(self):
        self.assertIn("| mine/one/way=a | worse   | time   | 100.4 µs | 120.5 µs | +20.0% |    3.0% |", self.compare(self.scaled(1.2), 1))

    def test_the_spread_of_passes_counts(self):
        def drift(content):
            self.scaled(1.1)(content)
            rows_of(content)[0]["metrics"]["time"]["samples"][:10] = [130] * 10

        self.assertIn("3 same", self.compare(drift))

    def test_committed_runs(self):
        result = self.tool("report", "compare", os.path.join(RESULTS, "bench/overhead.json"), os.path.join(RESULTS, "launch_cost.json"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("same, 0 worse", result.stdout)


class CommandLine(Case):
    def test_wrong(self):
        self.put("a.json", run())
        for arguments in ((), ("a", "b"), ("--nothing", "a"), ("-o",), ("compare", "a"), ("calibrate",), ("predict", "a", "b")):
            result = self.tool("report", *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertRegex(result.stderr, r"^pdltool report: error: .*; see 'pdltool report --help'\n$")

    def test_missing_parts_are_one_line_that_says_what_to_install(self):
        self.put("a.json", run())
        self.file("matplotlib.py", "raise ImportError('none')\n")
        for env in ({"PYTHONPATH": self.directory}, {"PATH": self.directory}):
            result = self.tool("report", self.path("runs"), env=env)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), result.stderr)
            self.assertIn("apt install python3-matplotlib", result.stderr)
        result = self.tool("report", "compare", self.path("runs/a.json"), self.path("runs/a.json"), env={"PYTHONPATH": self.directory})
        self.assertEqual(result.returncode, 0)  # which draws nothing


if __name__ == "__main__":
    tooltest.main({case.__name__: case for case in (Page, Compare, CommandLine)})
