# SPDX-License-Identifier: MIT
"""A page of runs: one file of HTML with figures and tables, which loads nothing."""

import base64
import html
import math

from figures import figures_of
from runs import count, number, printable

SUITES = {
    "overhead": ("What a launch costs",
                 "Every form of a launch, on the host and on the device, beside a V100 with CUDA 10.0: Zhang, Wahib, "
                 "Matsuoka, “Understanding the Overheads of Launching CUDA Kernels”, poster at ICPP 2019."),
    "overlap": ("What overlap gives, and where it loses",
                "Two kernels with a prologue, a main part and a tail, and a trigger that moves."),
    "graph": ("Kernels in series", "The same kernels in streams, graphs and chains, by length."),
    "device": ("Launches from the device", "Kernels that launch kernels, beside the host's launches."),
    "decode": ("One token through a decoder", "A workload: 16 layers of the 1B class, batch 1, bf16."),
    "programs": ("Programs", "What programs of the examples measured. Here whiskers reach to about the quartiles."),
}  # fmt: skip
STYLE = """:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:64em;margin:auto;padding:1em}
table{border-collapse:collapse;font-size:13px}td,th{padding:.15em .6em;text-align:left;border-bottom:1px solid #8884}
td.n{text-align:right;font-variant-numeric:tabular-nums}figure{margin:1em 0}
img{max-width:100%;background:#fff;border-radius:4px}
small,figcaption,.faint{opacity:.75}.bad{color:#d33;font-weight:bold}.scroll{overflow-x:auto}"""


def escape(text):
    return html.escape(printable(str(text)))


def cell(value, text, title=""):
    if not math.isfinite(value):
        return "<td>–</td>"
    return f'<td class="n" data-value="{value:.6g}" title="{escape(title)}">{escape(text)}</td>'


def row_of(point, ratios):
    table = point.table
    cells = [f"<td>{escape(value)}</td>" for value in point.axes.values()]
    if point.failed is not None or point.waived is not None:
        why = f"FAILED: {point.failed}" if point.failed is not None else f"waived: {point.waived}"
        cells.append(f'<td colspan="{len(table.metrics) * (3 if ratios else 2)}">{escape(why)}</td>')
    else:
        for metric in table.metrics:
            median, ratio, noise = point.at(metric), point.ratio(point.against, metric), point.noise(metric)
            cells += [cell(median, number(median)), cell(noise, f"{100 * noise:.1f} %")]
            cells += [cell(ratio, f"{ratio:.3f}", point.against.id if point.against else "")] if ratios else []
    return f'<tr data-id="{escape(point.id)}">{"".join(cells)}<td class="n">{point.checks}</td></tr>'


def table_of(table):
    ratios = any(point.against for point in table.points)
    heads = [*table.axes]
    for metric in table.metrics:
        heads += [f"{metric} ({table.unit(metric)})", "noise", *(["ratio"] if ratios else [])]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in [*heads, "checks"])
    body = "\n".join(row_of(point, ratios) for point in table.points)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def troubles_of(table):
    """What went wrong is not folded away: each reason with its number of rows."""
    reasons = {}
    for point in table.points:
        if point.failed is not None or point.waived is not None:
            reason = (f"FAILED: {point.failed}", "bad") if point.failed is not None else (point.waived, "")
            reasons[reason] = reasons.get(reason, 0) + 1
    items = [f'<li class="{kind}">{count(many, "row", "rows")}: {escape(why)}</li>'
             for (why, kind), many in reasons.items()]  # fmt: skip
    return f"<ul>{''.join(items)}</ul>" if items else ""


def article(table, label):
    parts = [f"<article><h3>{escape(table.title)} <code>{escape(table.key)}</code>{escape(label)}</h3>"]
    for figure in figures_of(table):
        image = base64.b64encode(figure.svg.encode()).decode()
        title, source = escape(figure.title), f"data:image/svg+xml;base64,{image}"
        parts.append(f'<figure><b>{title}</b><br><img alt="{title}" src="{source}">'
                     f"<figcaption>{escape(' '.join(figure.said))}</figcaption></figure>")  # fmt: skip
    parts.append(troubles_of(table))
    if table.points:
        parts.append(f"<details><summary>The table: {count(len(table.points), 'row', 'rows')}</summary>"
                     f"<p>{escape(table.note or '')}</p>{table_of(table)}</details>")  # fmt: skip
    else:
        parts.append("<p>Nothing was measured.</p>")
    return "\n".join([*parts, "</article>"])


def page(runs, troubles):
    """The page of runs; `troubles` are lines on files that could not be read."""
    of_key = {}
    for run in runs:
        for table in run.tables:
            of_key.setdefault(table.key, []).append((run, table))
    suites = list(dict.fromkeys(table.suite for run in runs for table in run.tables))
    suites.sort(key=lambda suite: [*SUITES, suite].index(suite))
    sections = []
    for suite in suites:
        title, question = SUITES.get(suite, (suite, ""))
        sections.append(f"<section><h2>{escape(title)}</h2><p>{escape(question)}</p>")
        for pairs in of_key.values():
            for run, table in pairs:
                if table.suite == suite:  # tables of one name stand together
                    sections.append(article(table, f" in {run.name}" if len(pairs) > 1 else ""))
        sections.append("</section>")
    points = [point for run in runs for table in run.tables for point in table.points]
    failed = sum(point.failed is not None for point in points)
    waived = sum(point.failed is None and point.waived is not None for point in points)
    devices = dict.fromkeys(str(run.environment.get("gpu", run.environment.get("device", ""))) for run in runs)
    name = f"libpdl on {', '.join(filter(None, devices)) or 'a device'}"
    checks = count(sum(point.checks for point in points), "check", "checks")
    top = [f"<h1>{escape(name)}</h1>",
           f"<p>{count(len(points), 'configuration', 'configurations')}, {checks} of results: "
           f'<span class="{"bad" if failed else ""}">{failed} failed</span>, {waived} waived.</p>']  # fmt: skip
    ended = [f"The run {run.name} ended early: {run.ended_early}." for run in runs if run.ended_early is not None]
    top += [f'<p class="bad">{escape(line)}</p>' for line in [*troubles, *ended]]
    top.append('<p class="faint">Bars and points are medians, whiskers reach from the 10th to the 90th percentile. A '
               "ratio is the median of the rounds' ratios: each round runs both in turn, so that a slow moment of the "
               "machine affects both.</p>")  # fmt: skip
    ends = []
    for run in runs:
        facts = [f"<tr><td>{escape(key)}</td><td>{escape(value)}</td></tr>" for key, value in run.environment.items()]
        ends += [f"<details><summary>The environment of {escape(run.name)}</summary><table><tbody>", *facts,
                 "</tbody></table></details>"]  # fmt: skip
    return "\n".join(['<!doctype html><html lang="en"><head><meta charset="utf-8">',
                      '<meta name="viewport" content="width=device-width">',
                      f"<title>{escape(name)}</title><style>{STYLE}</style></head><body><header>", *top,
                      "</header><main>", *sections, "</main><footer>", *ends, "</footer></body></html>", ""])  # fmt: skip
