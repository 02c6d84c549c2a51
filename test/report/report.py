#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pdltool report on runs that make_sample.py makes up."""

import html.parser
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import urllib.parse
import xml.dom.minidom
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tool"))

import make_sample  # pylint: disable=wrong-import-position
import tooltest  # pylint: disable=wrong-import-position

VOID = {"meta", "br", "hr", "img", "link", "input"}
PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = "data:image/svg+xml,"
SVG = "{http://www.w3.org/2000/svg}"


class Reader(html.parser.HTMLParser):
    """Reads a page: what is not closed, ids, links, rows by their data-id, and texts by the element they are in."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.faults, self.tags = [], [], [], [], []
        self.rows, self.row, self.cell = {}, None, None
        self.texts = []  # (tags around it, text)
        self.feed(text)
        self.close()
        self.faults += ["%s is not closed" % tag for tag in self.open]

    def handle_startendtag(self, tag, attrs):
        self.take(tag, dict(attrs))

    def handle_starttag(self, tag, attrs):
        self.take(tag, dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def take(self, tag, attributes):
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        for name in ("href", "src", "xlink:href"):
            if name in attributes:
                self.links.append(attributes[name])
        if tag == "tr" and "data-id" in attributes:
            self.row = self.rows.setdefault(attributes["data-id"], [])
        elif tag in ("td", "th") and self.row is not None:
            self.cell = {"value": attributes.get("data-value"), "text": ""}
            self.row.append(self.cell)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append("</%s> closes %s" % (tag, self.open[-1:]))
        else:
            self.open.pop()
        if tag == "tr":
            self.row = None
        elif tag in ("td", "th"):
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell["text"] += data
        self.texts.append((tuple(self.open), data))

    def text(self, tag=None, without=None):
        found = [text for tags, text in self.texts if (tag is None or tag in tags) and (without is None or without not in tags)]
        return re.sub(r"\s+", " ", "".join(found))


class Case(tooltest.Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("runs"))

    def put(self, name, content):
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        return self.file(os.path.join("runs", name), content)

    def report(self, *arguments, **options):
        return self.tool("report", self.path("runs"), *arguments, **options)

    def page(self, directory="runs"):
        with open(os.path.join(self.path(directory), "index.html"), encoding="utf-8") as file:
            reader = Reader(file.read())
        self.assertEqual(reader.faults, [])
        return reader

    def made(self, *arguments, code=0, message="", **options):
        """The page of a report that ends with that code and says that."""
        result = self.report(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        if message:
            self.assertIn(message, result.stderr)
        else:
            self.assertEqual(result.stderr, "")
        return self.page()

    def plots(self, ending):
        folder = self.path("runs/plots")
        return sorted(name for name in os.listdir(folder) if name.endswith(ending))

    def read_svg(self, name):
        with open(os.path.join(self.path("runs/plots"), name + ".svg"), encoding="utf-8", newline="") as file:
            return file.read()

    def svg(self, name):
        return xml.etree.ElementTree.parse(os.path.join(self.path("runs/plots"), name + ".svg")).getroot()

    def texts(self, name):
        return ["".join(text.itertext()).strip() for text in self.svg(name).iter(SVG + "text")]


def table(**options):
    """A small table of a suite that nothing is known of."""
    options = {"suite": "mine", "name": "one", "axes": ["way"], "metrics": [make_sample.metric("time", "us")], **options}
    return make_sample.Table(**options)


def small_run(centres=(("first", 10), ("second", 20)), **environment):
    own = table()
    for name, centre in centres:
        own.add((name,), [centre])
    return make_sample.run([own], **environment)


class Page(Case):
    def whole(self, *names):
        runs = {}
        for name in names or make_sample.SUITES:
            runs[name] = make_sample.run(make_sample.SUITES[name]())
            self.put(name + ".json", runs[name])
        return runs

    def test_all_suites(self):
        runs = self.whole()
        page = self.made()
        self.assertEqual(len(page.ids), len(set(page.ids)), "an id is there twice")
        images = []
        for link in page.links:
            if link.startswith("#"):
                self.assertIn(link[1:], page.ids)
            elif link.startswith(IMAGE):
                self.assertNotRegex(link, r'["#&<>\n]')
                images.append(urllib.parse.unquote(link[len(IMAGE) :]))
            else:
                self.assertRegex(link, r"^plots/[a-z0-9-]+\.(svg|png)$")
                self.assertTrue(os.path.getsize(os.path.join(self.path("runs"), link)) > 0, link)
        files = [self.read_svg(name[: -len(".svg")]) for name in self.plots("svg")]
        classes = [attributes["class"] for tag, attributes in page.tags if tag == "img"]
        wide = [image for image, kind in zip(images, classes) if kind == "wide"]
        self.assertEqual(sorted(wide), sorted(files))
        self.assertEqual(classes.count("narrow"), len(files))  # the same for a narrow page
        self.assertEqual([tag for tag, _ in page.tags].count("img"), len(images))
        self.assertFalse([tag for tag, _ in page.tags if tag in ("script", "iframe", "link")])
        headings = page.text("h3")
        for run in runs.values():
            for one in run["tables"]:
                self.assertIn("%s/%s" % (one["suite"], one["name"]), headings)
                self.rows_equal(page, one)
        for key in make_sample.ENVIRONMENT.items():
            self.assertIn("%s" % key[0], page.text("table"))
            self.assertIn("%s" % key[1], page.text("table"))

    def rows_equal(self, page, one):
        points = {point["id"]: point for point in one["points"]}
        for point in points.values():
            cells = page.rows[point["id"]]
            axes, rest = cells[: len(one["axes"])], cells[len(one["axes"]) :]
            self.assertEqual([cell["text"] for cell in axes], list(point["axes"].values()))
            why = point["failed"] or point["waived"]
            if why:
                self.assertEqual(rest[0]["text"], ("FAILED: " if point["failed"] else "waived: ") + why)
                continue
            against = any(other["against"] for other in points.values())
            step = 3 if against else 2
            for i, described in enumerate(one["metrics"]):
                figures = point["metrics"][described["name"]]
                self.cell_equals(rest[step * i], figures["median"], point["id"])
                if against and point["against"]:
                    base = points[point["against"]]["metrics"][described["name"]]["samples"]
                    pairs = zip(figures["samples"], base)
                    ratios = [a / b for a, b in pairs if a is not None and b]
                    self.cell_equals(rest[step * i + 2], statistics.median(ratios) if ratios else None, point["id"], 6e-4)
            self.assertEqual(rest[-1]["text"], str(point["checks"]))

    def cell_equals(self, cell, number, where, digits=0):
        if number is None:
            self.assertIsNone(cell["value"], where)
            return
        self.assertAlmostEqual(float(cell["value"]), number, delta=1e-6 * abs(number), msg=where)
        shown = float(re.match(r"-?[\d,.]+(e[-+]\d+)?", cell["text"]).group().replace(",", ""))
        self.assertAlmostEqual(shown, number, delta=max(6e-4 * abs(number), digits), msg=where)

    def test_headline(self):
        runs = self.whole("decode", "sync")
        page = self.made()
        token = next(one for one in runs["decode"]["tables"] if one["name"] == "token")
        chain = next(point for point in token["points"] if point["id"] == "decode/token/part=linear/way=chain")
        self.assertIn("%.1f" % chain["metrics"]["time"]["median"], page.text("td").replace("\u00a0", " "))
        counts = [len(one["points"]) for run in runs.values() for one in run["tables"]]
        self.assertIn("{:,} configurations".format(sum(counts)), page.text("header"))
        self.assertIn("1 failed", page.text("header"))

    def test_what_went_wrong_is_not_folded(self):
        self.whole("sync")
        page = self.made()
        seen = page.text(without="details")
        self.assertIn("12 of 132 reads were wrong while it was timed", seen)
        self.assertIn("the driver refuses clusters of more than 8 blocks", seen)
        self.assertNotIn("Made up.", seen)  # a note, which is with the table

    def test_the_same_again_is_the_same(self):
        self.whole("decode")
        self.made()
        first = {name: open(os.path.join(self.path("runs/plots"), name), "rb").read() for name in self.plots("svg")}
        page = open(self.path("runs/index.html"), "rb").read()
        self.made()
        self.assertEqual(open(self.path("runs/index.html"), "rb").read(), page)
        for name, content in first.items():
            self.assertEqual(open(os.path.join(self.path("runs/plots"), name), "rb").read(), content)

    def test_runs_of_one_table_stand_together(self):
        self.put("new.json", small_run())
        self.put("old.json", small_run((("first", 11), ("second", 22)), gpu="Another"))
        page = self.made()
        self.assertIn("in new", page.text("h3"))
        self.assertIn("in old", page.text("h3"))
        self.assertEqual(self.plots("svg"), ["mine-one-time-new.svg", "mine-one-time-old.svg"])
        self.assertIn("NVIDIA H200, Another", page.text("h1"))

    def test_an_early_end_is_said(self):
        self.put("a.json", {**small_run(), "ended_early": "interrupted <again>"})
        self.assertIn("ended early: interrupted <again>", self.made().text("header"))

    def test_other_output(self):
        self.put("a.json", small_run())
        result = self.report("--output", self.path("page"))
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        self.assertEqual(result.stdout, self.path("page/index.html") + "\n")
        self.page("page")
        self.assertEqual(os.listdir(self.path("runs")), ["a.json"])
        self.assertIn("mine-one-time.png", os.listdir(self.path("page/plots")))

    def test_nothing_unfinished_stays(self):
        self.put("a.json", small_run())
        self.made()
        self.assertEqual(sorted(os.listdir(self.path("runs"))), ["a.json", "index.html", "plots"])
        self.assertEqual(self.plots(""), ["mine-one-time.png", "mine-one-time.svg"])


class Plots(Case):
    def test_of_all_suites(self):
        for name, make in make_sample.SUITES.items():
            self.put(name + ".json", make_sample.run(make()))
        self.made("--require-plots")
        names = [name[: -len(".svg")] for name in self.plots(".svg")]
        self.assertEqual([name + ".png" for name in names], self.plots(".png"))
        for wanted in (
            "overhead-host-ecdf", "overhead-unit", "overhead-small", "overhead-large", "overhead-other", "overhead-total",
            "overlap-phases", "overlap-trigger-chain-spin", "overlap-conditions", "overlap-timeline", "graph-line-device",
            "graph-build", "sync-grid-first", "device-throughput-rate", "device-latency", "decode-token-linear",
        ):  # fmt: skip
            self.assertIn(wanted, names)
        for name in names:
            root = self.svg(name)
            width, height = [float(number) for number in root.get("viewBox").split()[2:]]
            self.assertTrue(self.texts(name)[0], name)
            drawn = [element for element in root.iter() if element.tag in (SVG + "path", SVG + "polygon")]
            self.assertGreater(len(drawn), 3, name)
            with open(os.path.join(self.path("runs/plots"), name + ".png"), "rb") as file:
                head = file.read(24)
            self.assertEqual(head[:8], PNG)
            self.assertEqual(struct.unpack(">II", head[16:24]), (2 * width, 2 * height))
            self.inside(root, width, height, name)

    def inside(self, root, width, height, name):
        """Texts begin and end within the picture, by about how wide letters are."""
        for group in root.iter(SVG + "g"):
            text = group.find(SVG + "text")
            if text is None:
                continue
            x, y = [float(number) for number in re.match(r"translate\(([-\d.]+),([-\d.]+)\)", group.get("transform")).groups()]
            length = len("".join(text.itertext())) * 6.0 * float(group.get("font-size")) / 13
            before = {"start": 0, "middle": length / 2, "end": length}[group.get("text-anchor")]
            message = "%s: %s" % (name, "".join(text.itertext()))
            if "rotate(270)" in group.get("transform"):  # upwards
                first, last, size = height - y - before, height - y - before + length, height
                across = (x, width)
            else:
                first, last, size = x - before, x - before + length, width
                across = (y, height)
            self.assertGreaterEqual(first, -2, message)
            self.assertLessEqual(last, size + 2, message)
            self.assertGreater(across[0], 8, message)
            self.assertLess(across[0], across[1], message)

    def bars(self, name):
        """The widths of the filled boxes of a figure, from the top."""
        found = []
        for polygon in self.svg(name).iter(SVG + "polygon"):
            corners = [tuple(float(n) for n in pair.split(",")) for pair in polygon.get("points").split()]
            xs, ys = [x for x, _ in corners], [y for _, y in corners]
            found.append((min(ys), max(xs) - min(xs)))
        return [width for _, width in sorted(found)]

    def test_bars_are_as_long_as_their_values(self):
        self.put("a.json", small_run((("a", 10), ("b", 20), ("c", 50))))
        self.made()
        medians = [point["metrics"]["time"]["median"] for point in small_run((("a", 10), ("b", 20), ("c", 50)))["tables"][0]["points"]]
        widths = self.bars("mine-one-time")
        self.assertEqual(len(widths), 3)
        for width, median in zip(widths, medians):
            self.assertAlmostEqual(width / widths[-1], median / medians[-1], delta=0.01)
        texts = self.texts("mine-one-time")
        for name, median in zip("abc", medians):
            self.assertIn(name, texts)
            self.assertIn("%.2f" % median, texts)

    def test_spans_are_as_long_as_their_times(self):
        own = make_sample.run([one for one in make_sample.overlap() if one.content["name"] == "timeline"])
        self.put("overlap.json", own)
        self.made()
        legend = 3
        widths = self.bars("overlap-timeline")[legend:]
        points = own["tables"][0]["points"]
        self.assertEqual(len(widths), 3 * len(points))
        times = []
        for point in points:
            at = [point["metrics"][name]["median"] for name in ("first_start", "last_waited", "last_triggered", "last_ended")]
            times.append(at[3] - at[0])
        scale = sum(widths) / sum(times)
        for i, time in enumerate(times):
            self.assertAlmostEqual(sum(widths[3 * i : 3 * i + 3]), scale * time, delta=1)

    def gains(self, points, main, way, plain):
        """How fast that way is against the plain one with the same kernel and grid, for each place of the trigger."""
        found = []
        for point in points:
            if point["axes"]["way"] == way and point["axes"]["main"] == main:
                axes = {**point["axes"], "way": plain, "trigger": "any"}
                base = next(other for other in points if other["axes"] == axes)
                pairs = zip(base["metrics"]["device"]["samples"], point["metrics"]["device"]["samples"])
                found.append(statistics.median([a / b for a, b in pairs]))
        return found

    def test_a_loss_and_a_gain_have_other_colours(self):
        tables = [one for one in make_sample.overlap() if one.content["name"] == "trigger"]
        self.put("overlap.json", make_sample.run(tables))
        page = self.made()
        for main, way, plain in (("work", "chain", "graph"), ("work", "libpdl", "stream")):
            gains = self.gains(tables[0].content["points"], main, way, plain)
            losses = sum(1 for gain in gains if gain < 0.99)
            self.assertGreater(losses, 0)
            self.assertIn("It loses more than 1 %% in %d of %d places" % (losses, len(gains)), page.text("figcaption"))
        fills = {}
        for name in ("overlap-trigger-chain-spin", "overlap-trigger-chain-work"):
            fills[name] = []
            for polygon in self.svg(name).iter(SVG + "polygon"):
                xs = [float(pair.split(",")[0]) for pair in polygon.get("points").split()]
                if max(xs) - min(xs) < 15:
                    continue  # of the scale
                color = re.search(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)", polygon.get("fill") or polygon.get("style") or "")
                if color:
                    fills[name].append([int(part) for part in color.groups()])
        self.assertTrue(any(blue - red > 60 for red, _, blue in fills["overlap-trigger-chain-spin"]))
        self.assertFalse(any(red - blue > 60 for red, _, blue in fills["overlap-trigger-chain-spin"]))
        self.assertTrue(any(red - blue > 60 for red, _, blue in fills["overlap-trigger-chain-work"]))

    def key(self, name):
        """How each curve is drawn by the figure's key: its colour, the form of its point, its dashes."""
        entries = {}
        for group in self.svg(name).iter(SVG + "g"):
            text, point, path = [group.find(".//" + SVG + tag) for tag in ("text", "use", "path")]
            if (group.get("id") or "").startswith("gnuplot_plot_") and None not in (text, point, path):
                form = point.get("{http://www.w3.org/1999/xlink}href")
                entries["".join(text.itertext()).strip()] = (point.get("color"), form, path.get("stroke-dasharray"))
        return entries

    def test_plots_explain_their_axes_and_ratios(self):
        self.put("a.json", make_sample.run(make_sample.overhead()))
        said = self.made("--require-plots").text("figcaption")
        self.assertIn("Across: ns per launch. Up: % of batches.", said)
        self.assertIn("Raw CUDA: solid line, filled points; libpdl: broken line, open points.", said)
        self.assertIn("Length of a bar: ns per launch, the median", said)
        for first, second, ratio, rest in re.findall(r"(?:[\w-]+): ([\d,.]+) ns; [\w-]+: ([\d,.]+) ns, ([\d.]+) times that(.{12})", said):
            quotient = float(second.replace(",", "")) / float(first.replace(",", ""))
            if abs(quotient - float(ratio)) > 0.002 * quotient:
                self.assertEqual(rest, " (the median")

    def test_raw_calls_and_those_of_libpdl_are_told_apart(self):
        self.put("a.json", make_sample.run(make_sample.overhead() + make_sample.overlap() + make_sample.graph()))
        self.made("--require-plots")
        pairs = {
            "overhead-host-ecdf": [("raw: " + raw, "libpdl: " + libpdl) for raw, libpdl in (
                ("cudaLaunchKernelExC", "pdl_launch-symbol"), ("cudaLaunchKernelEx", "pdl_launch_kernel"),
                ("cuLaunchKernelEx", "pdl_launch"), ("cooperative", "pdl_launch-cooperative"))],
            "overhead-total": [("cuLaunchKernelEx", "pdl_launch"), ("cuLaunchKernelEx-pdl", "pdl_launch-auto"), ("graph-pdl", "chain")],
            "graph-line-device": [("stream-pdl", "libpdl"), ("graph-pdl", "chain")],
        }  # fmt: skip
        for name, own in pairs.items():
            key = self.key(name)
            self.assertEqual(len(set(key.values())), len(key))
            if name == "overhead-host-ecdf":
                self.assertEqual(len(key), 2 * len(own))
            for raw, libpdl in own:
                for mine, its in zip(key[libpdl], key[raw]):
                    self.assertNotEqual(mine, its, "%s: %s, %s" % (name, raw, libpdl))

    def test_they_take_the_colours_of_the_page(self):
        self.put("a.json", small_run())
        page = self.made()
        with open(self.path("runs/plots/mine-one-time.svg"), encoding="utf-8") as file:
            text = file.read()
        style, drawn = re.search(r"<style>(.*?)</style>(.*)", text, re.DOTALL).groups()
        self.assertIn("prefers-color-scheme: dark", style)
        for name in set(re.findall(r"(\w+)\s*=\s*[\"']black[\"']", drawn)):
            self.assertRegex(style, r"\[%s=black\] \{ (color: inherit|%s: currentColor) \}" % (name, name))
        drawn = re.sub(r"\w+\s*=\s*[\"']black[\"']", "", drawn)
        for black in ("black", "rgb(0,0,0)", "#000000", "rgb(  0,   0,   0)"):
            self.assertNotIn(black, drawn)
        self.assertEqual([tag for tag, _ in page.tags].count("style"), 1)  # the page's own

    def test_lines_over_numbers(self):
        own = table(axes=["length", "way"], rounds=5)
        for length in (1, 2, 4, 8, 16, 32, 64):
            for way in ("a", "b"):
                own.add((length, way), [100 / length + (10 if way == "b" else 0)])
        self.put("a.json", make_sample.run([own]))
        self.made()
        texts = self.texts("mine-one-time")
        for wanted in ("a", "b", "length", "1", "64"):
            self.assertIn(wanted, texts)

    def test_many_rows_are_left_to_the_table(self):
        own = table()
        for i in range(200):
            own.add(("way-%d" % i,), [i + 1])
        self.put("a.json", make_sample.run([own]))
        page = self.made()
        self.assertEqual(self.plots(""), [])
        self.assertEqual(len(page.rows), 200)

    def test_values_that_no_axis_has(self):
        own = table(axes=["length", "way"], rounds=5, noise=0, metrics=[make_sample.metric("a", "us"), make_sample.metric("b", "us")])
        for i, value in enumerate((0, -5, 1e-300, 1e300, 5, None)):
            own.add((i, "x"), [value, 0])
        self.put("a.json", make_sample.run([own]))
        lines = table(suite="graph", name="line", axes=["kernels", "blocks", "way"], noise=0,
                      metrics=[make_sample.metric(name, "ns") for name in ("host", "device", "wall")])  # fmt: skip
        for i, value in enumerate((0, -5, 3, None)):
            lines.add((i, "1", "chain"), [value, 0, 7])
        self.put("b.json", make_sample.run([lines]))
        result = self.report("--require-plots")
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        self.page()


    def test_of_a_tuned_chain(self):
        self.put("chain.json", make_sample.tuned())
        page = self.made("--require-plots")
        texts = self.texts("tune-chain")
        for wanted in ("qkv", "out", "none", "0", "1", "132", "128 \u00d7 2", "1.25", "0.50"):
            self.assertIn(wanted, texts)
        self.assertIn("Chosen: 80 \u00b5s; before: 100 \u00b5s", page.text("figcaption").replace("\u00a0", " "))
        self.assertIn("qkv trigger 0, grid 132 trigger 1, grid 128 \u00d7 2", " ".join(text.strip() for _, text in page.texts))
        self.assertIn("1 of the last curves\u2019 points was wrong".replace("\u2019", "'"), page.text("figcaption"))

    def test_of_a_chain_that_does_not_work(self):
        self.put("chain.json", {**make_sample.tuned(), "failed": "the chain has written to buffer w, which is declared constant"})
        said = self.made("--require-plots").text("figcaption")
        self.assertIn("Nothing was chosen: the chain has written to buffer w, which is declared constant.", said)
        self.assertNotIn("What was chosen", said)


class Hostile(Case):
    def test_no_runs(self):
        result = self.report()
        self.assertEqual(result.returncode, 2)
        self.assertIn("no JSON file of pdltool bench or tune", result.stderr)
        self.assertEqual(os.listdir(self.path("runs")), [])

    def test_no_folder(self):
        for path in (self.path("nowhere"), self.file("file", "")):
            result = self.tool("report", path)
            self.assertEqual(result.returncode, 2)
            self.assertIn("%s: error: " % path, result.stderr)

    def test_no_place_to_write(self):
        self.put("a.json", small_run())
        for place in ("/proc/pdl-report", self.file("file", ""), self.path("no/such")):
            result = self.report("--output", place)
            self.assertEqual(result.returncode, 2)
            self.assertIn(place, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_read_only_folder(self):
        if os.geteuid() == 0:
            self.skipTest("nothing is read-only for root; the case above has what is for everyone")
        self.put("a.json", small_run())
        os.chmod(self.path("runs"), 0o555)
        result = self.report()
        os.chmod(self.path("runs"), 0o755)
        self.assertEqual(result.returncode, 2)
        self.assertIn("Permission denied", result.stderr)

    def test_a_page_that_cannot_be_written(self):
        self.put("a.json", small_run())
        os.makedirs(self.path("runs/index.html"))
        result = self.report()
        self.assertEqual(result.returncode, 2)
        self.assertIn("index.html", result.stderr)
        self.assertFalse([name for name in os.listdir(self.path("runs")) if name.endswith(".part")])

    def test_truncated(self):
        text = json.dumps(small_run())
        self.put("good.json", text)
        self.put("half.json", text[: len(text) // 2])
        page = self.made(code=1, message="half.json: error: line 1")
        self.assertIn("half.json could not be read", page.text("header"))
        self.assertIn("mine/one/way=first", page.rows)

    def test_wrong_types(self):
        good = small_run()
        self.put("good.json", good)
        spoiled = {
            "tables": 7,
            "environment": [],
            "ended_early": 3,
        }
        for key, value in spoiled.items():
            self.put("bad-%s.json" % key, {**good, key: value})
        for i, value in enumerate(("x", -1, [], {"axes": 3}, None)):
            self.put("bad-point-%d.json" % i, {**good, "tables": [{**good["tables"][0], "points": [value]}]})
        self.put("bad-schema.json", {**good, "schema": 99})
        result = self.report()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("\n"), 9)
        self.assertEqual(self.page().text("header").count("could not be read"), 9)

    def test_all_broken(self):
        self.put("a.json", "{")
        result = self.report()
        self.assertEqual(result.returncode, 2)
        self.assertFalse(os.path.exists(self.path("runs/index.html")))

    def test_a_tuned_chain_that_is_none(self):
        self.put("a.json", small_run())
        for i, spoiled in enumerate(({"kinds": [7]}, {"kinds": [{}]})):
            self.put("bad-%d.json" % i, {**make_sample.tuned(), **spoiled})
        for i, odd in enumerate(({"curves": [3, {}, {"kind": 1}, {"kind": "qkv", "points": {}}]}, {"last_comparison": []}, {"curves": [], "kinds": []},
                                 {"kinds": [{"name": "<b>", "start": 1, "chosen": None}]})):  # fmt: skip
            self.put("odd-%d.json" % i, {**make_sample.tuned(), **odd})
        result = self.report()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("not written by pdltool tune"), 2)
        self.page()

    def test_what_others_wrote_is_left_out(self):
        self.put("a.json", small_run())
        for i, content in enumerate(({"tool": "another"}, [1, 2], {"results": []})):
            self.put("other-%d.json" % i, content)
        result = self.report()
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.count(": note: ignored, not written by pdltool"), 3)

    def test_a_folder_with_the_name_of_a_file(self):
        self.put("a.json", small_run())
        os.mkdir(self.path("runs/b.json"))
        os.symlink("nowhere", self.path("runs/c.json"))
        result = self.report()
        self.assertEqual(result.returncode, 1)
        self.assertIn("b.json", result.stderr)
        self.assertIn("c.json", result.stderr)

    def test_html_in_texts(self):
        evil = "<script>alert('x' + \"y\")</script>&amp;"
        own = table(title=evil, note=evil, name="n", axes=["<b>"], metrics=[make_sample.metric("<i>", "<u>")])
        own.add((evil,), [1])
        own.add(("w" + evil,), [1], waived=evil)
        own.add(("f" + evil,), [1], failed=evil)
        self.put("a.json", make_sample.run([own], ended_early=evil, gpu=evil, **{"<key>": evil}))
        page = self.made()
        self.assertFalse([tag for tag, _ in page.tags if tag in ("script", "i", "u")])
        self.assertIn(evil, page.text("h1"))
        self.assertIn(evil, page.text("h3"))
        self.assertEqual(page.rows["mine/n/<b>=" + evil][0]["text"], evil)
        self.assertIn(evil[:14], "".join(self.texts("mine-n-i")))

    def test_texts_are_no_commands_for_gnuplot(self):
        names = ["`touch pwned`", "'; system('touch pwned'); #", "\"; system(\"touch pwned\"); #", "$(touch pwned)", "a\\", "EOD",
                 "x' at 0,0; !touch pwned", "@pwned", "{/Bold x}_^~", "%s%n"]  # fmt: skip
        own = table(axes=["way", "other"])
        for i, name in enumerate(names):
            own.add((name, i % 2), [i + 1])
        self.put("a.json", make_sample.run([own], gpu=names[0]))
        self.made("--require-plots")
        self.assertFalse(os.path.exists(self.path("pwned")))
        shown = " ".join(self.texts("mine-one-time"))
        for name in names:
            self.assertIn(name.replace("'", "\u2019"), shown)

    def test_pictures_and_the_page_are_well_formed_whatever_the_names(self):
        names = ["a ]]> b", "-->", "<!--", "<![CDATA[", "\"><script>alert(1)</script>", "`touch pwned`", "$(touch pwned)", "&amp;",
                 "".join(map(chr, range(0x20, 0x7f))), "".join(map(chr, range(0x80, 0x100))), "\u202e\u2028\ufeff\ufffe\U000e0041 end"]  # fmt: skip
        for where in ("line", "bar"):
            own = table(axes=["way", "other"] if where == "bar" else ["other", "way"], title=names[0], note="".join(map(chr, range(1, 0x100))))
            for i, name in enumerate(names):
                own.add((name, i % 2) if where == "bar" else (i % 2, name), [i + 1])
            self.put("%s.json" % where, make_sample.run([own], gpu=names[0]))
        page = self.made("--require-plots")
        self.assertFalse(os.path.exists(self.path("pwned")))
        self.assertFalse([tag for tag, _ in page.tags if tag == "script"])
        plots = self.plots(".svg")
        self.assertTrue(plots)
        for plot in plots:
            root = xml.dom.minidom.parse(self.path("runs/plots/" + plot))  # fails where it is not well-formed
            self.assertEqual(root.getElementsByTagName("script"), [])
        shown = " ".join(self.texts(plots[0][:-4]))
        for name in ("a ]]> b", "-->", "<![CDATA[", "&amp;", "`touch pwned`"):
            self.assertIn(name, shown)

    def test_names_that_are_no_file_names(self):
        own = table(suite="../../up", name="a/b\u00e9 \u4e2d")
        own.add(("x",), [1])
        self.put("a.json", make_sample.run([own]))
        self.made()
        self.assertEqual(self.plots("svg"), ["up-a-b-time.svg"])
        self.assertFalse(os.path.exists(self.path("up-a-b-time.svg")))

    def test_tables_whose_files_would_have_one_name(self):
        first, second = table(name="a b"), table(name="a-b")
        first.add(("x",), [1])
        second.add(("x",), [2])
        self.put("a.json", make_sample.run([first, second]))
        page = self.made()
        self.assertEqual(len(self.plots("svg")), 2)
        self.assertEqual(len(page.ids), len(set(page.ids)))

    def test_long_names(self):
        own = table(name="n" * 400, title="T" * 3000, axes=["a" * 300, "b"])
        own.add(("v" * 2000, "w"), [1])
        own.add(("\u4e2d" * 700, "w"), [2])
        self.put("a.json", make_sample.run([own]))
        self.made("--require-plots")
        self.assertEqual(len(self.plots("svg")), 1)

    def test_no_points(self):
        self.put("a.json", make_sample.run([table()]))
        page = self.made()
        self.assertIn("Nothing was measured", page.text("article"))
        self.assertEqual(self.plots(""), [])

    def test_no_tables(self):
        self.put("a.json", make_sample.run([]))
        self.assertIn("0 configurations", self.made().text("header"))

    def test_all_waived(self):
        own = table()
        for i in range(10):
            own.add(("way-%d" % i,), [1], waived="the device has none")
        self.put("a.json", make_sample.run([own]))
        for name, make in make_sample.SUITES.items():
            tables = make()
            for one in tables:
                for point in one.content["points"]:
                    point.update(waived="no device", passes=[])
                    point["metrics"] = {key: make_sample.summary([]) for key in point["metrics"]}
            self.put(name + ".json", make_sample.run(tables))
        page = self.made()
        self.assertEqual(self.plots(""), [])
        self.assertIn("10 rows: the device has none", page.text("ul"))
        self.assertNotIn("nan", page.text("main").lower().replace("nanosleep", "").split())

    def test_all_samples_missing(self):
        own = table(rounds=3)
        own.add(("x",), [None])
        self.put("a.json", make_sample.run([own]))
        page = self.made()
        self.assertEqual(page.rows["mine/one/way=x"][1]["text"], "\u2013")

    def test_a_known_table_with_other_columns(self):
        for suite, make in make_sample.SUITES.items():
            tables = []
            for one in make():
                content = one.content
                strange = table(suite=suite, name=content["name"], axes=["odd"], metrics=[make_sample.metric("strange", "x")])
                strange.add(("v",), [1])
                tables.append(strange)
            self.put(suite + ".json", make_sample.run(tables))
        self.made("--require-plots")
        self.assertIn("overhead-host-strange.svg", self.plots("svg"))


class Gnuplot(Case):
    def setUp(self):
        super().setUp()
        self.put("a.json", small_run())
        os.mkdir(self.path("bin"))

    def fake(self, script):
        path = self.file("bin/gnuplot", "#!/bin/sh\n" + script)
        os.chmod(path, 0o755)
        return {"PATH": self.path("bin") + ":/usr/bin:/bin"}

    @tooltest.needs_failed_starts
    def test_missing(self):
        os.chmod(self.file("bin/gnuplot", "no program"), 0o644)
        for name in ("empty", "bin"):
            os.makedirs(self.path(name), exist_ok=True)
        env = {"PATH": self.path("empty")}
        page = self.made(message="no plots: gnuplot: there is none in PATH", env=env)
        self.assertIn("There are no plots", page.text("header"))
        self.assertIn("mine/one/way=first", page.rows)
        self.assertEqual(self.plots(""), [])
        self.made("--require-plots", code=1, message="no plots", env=env)

    def test_failing(self):
        env = self.fake("echo \"gnuplot> plot 'line 2'\n               ^\n         line 3: out of ink\n\" >&2\nexit 1\n")
        page = self.made(message="gnuplot: line 3: out of ink\n", env=env)
        self.assertIn("out of ink", page.text("header"))
        self.made("--require-plots", code=1, message="out of ink", env=env)

    def test_that_fails_in_the_middle(self):
        real = shutil.which("gnuplot")
        env = self.fake("%s -d\necho 'line 9: no more paper' >&2\nexit 1\n" % real)
        page = self.made(message="line 9: no more paper", env=env)
        self.assertFalse([tag for tag, _ in page.tags if tag == "svg"])

    def test_killed(self):
        self.made(message="ended by signal 9", env=self.fake("kill -9 $$\n"))

    def test_silent(self):
        self.made(message="ended with 0", env=self.fake("cat >/dev/null\n"))

    def test_that_writes_something_else(self):
        page = self.made(message="other than SVG", env=self.fake("echo 'no picture'\n"))
        self.assertIn("was not drawn: gnuplot wrote something other than SVG", page.text("article"))

    def test_without_cairo(self):
        real = shutil.which("gnuplot")
        if subprocess.run([real, "-e", "set terminal png"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this gnuplot has no other terminal for PNG")
        env = self.fake("cat > script$$\nif grep -q pngcairo script$$; then echo 'unknown terminal' >&2; exit 1; fi\n%s -d < script$$\n" % real)
        self.made("--require-plots", env=env)
        with open(self.path("runs/plots/mine-one-time.png"), "rb") as file:
            self.assertEqual(file.read(8), PNG)

    def test_that_knows_no_png(self):
        real = shutil.which("gnuplot")
        env = self.fake("cat > script$$\nif grep -q 'terminal png' script$$; then echo 'no such terminal' >&2; exit 1; fi\n%s -d < script$$\n" % real)
        page = self.made(message="no such terminal", env=env)
        self.assertIn("plots/mine-one-time.svg", page.links)
        self.assertNotIn("plots/mine-one-time.png", page.links)

    def test_plots_of_an_earlier_time_do_not_stay(self):
        self.made()
        self.assertEqual(len(self.plots("")), 2)
        real = shutil.which("gnuplot")
        env = self.fake("cat > script$$\nif grep -q mine script$$ || grep -q EOD script$$; then echo 'broken' >&2; exit 1; fi\n%s -d < script$$\n" % real)
        self.made(message="broken", env=env)
        self.assertEqual(self.plots(""), [])


class CommandLine(Case):
    def test_help(self):
        result = self.tool("report", "--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("--require-plots", result.stdout)

    def test_wrong(self):
        for arguments in ((), ("a", "b"), ("--nothing", "a"), ("-o",)):
            result = self.tool("report", *arguments)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stdout, "")
            self.assertNotEqual(result.stderr, "")


class Plain(Case):
    """Without jansson."""

    def test_it_says_so(self):
        self.put("a.json", small_run())
        result = self.report()
        self.assertEqual(result.returncode, 2)
        self.assertIn("built with the library jansson", result.stderr)


if __name__ == "__main__":
    tooltest.main({case.__name__: case for case in (Page, Plots, Hostile, Gnuplot, CommandLine, Plain)})
