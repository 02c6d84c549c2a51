/* SPDX-License-Identifier: MIT */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"
#include "report/subject.h"

/* The suites in the order in which they are best read, and what they ask. Others follow. */
static const struct known_suite {
    const char *name, *title, *question;
} known_suites[] = {
    {"overhead", "What a launch costs",
     "Every form of a launch, on the host and on the device, beside a V100 with CUDA 10.0: "
     "Zhang, Wahib, Matsuoka, \u201cUnderstanding the Overheads of Launching CUDA Kernels\u201d, "
     "poster "
     "at ICPP 2019."},
    {"overlap", "What overlap gives, and where it loses",
     "Two kernels with a prologue, a main part and a tail, and a trigger that moves."},
    {"graph", "Kernels in series", "The same kernels in streams, graphs and chains, by length."},
    {"sync", "Ordering the whole device", "What one synchronization of all blocks costs."},
    {"device", "Launches from the device",
     "Kernels that launch kernels, beside the host's launches."},
    {"decode", "One token through a decoder",
     "A workload: 16 layers of the 1B class, batch 1, bf16."},
};
enum { KNOWN_SUITES = sizeof(known_suites) / sizeof(known_suites[0]) };

bool table_is_shown(const struct bench_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i]->selected) {
            return true;
        }
    }
    return table->count == 0;
}

static const struct bench_table *table_of(const struct bench_run *run,
                                          const struct bench_table *like)
{
    for (size_t i = 0; i < run->bench.count; i++) {
        const struct bench_table *const table = run->bench.items[i];
        if (strcmp(table->suite, like->suite) == 0 &&
            strcmp(table->spec.name, like->spec.name) == 0) {
            return table;
        }
    }
    return NULL;
}

const char *run_label(const struct report *report, const struct report_run *run,
                      const struct bench_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++) {
        count += table_of(&report->items[i].run, table) != NULL;
    }
    return count > 1 ? run->name : "";
}

static const char *fact(const struct bench_run *run, const char *key)
{
    const struct bench_fact *const found = environment_find(&run->environment, key);
    return found != NULL && found->text != NULL ? found->text : NULL;
}

/* The different texts that runs have for a fact, no more than the first so many bytes of each. */
static char *all_facts(const struct report *report, const char *key, int most)
{
    struct texts texts = {.items = NULL};
    for (size_t i = 0; i < report->count; i++) {
        const char *const text = fact(&report->items[i].run, key);
        if (text != NULL && *text != '\0' && strcmp(text, "unknown") != 0) {
            char *part = format_text("%.*s", most, text);
            (void)texts_place(&texts, part);
            free(part);
        }
    }
    char *all = joined_text(&texts, ", ");
    texts_free(&texts);
    return all;
}

/* ---- the top ----------------------------------------------------------------------------------- */

struct counts {
    size_t points, waived, failed;
    unsigned long long checks, samples;
};

static void count_points(const struct report *report, struct counts *counts)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct bench *const bench = &report->items[i].run.bench;
        for (size_t j = 0; j < bench->count; j++) {
            for (size_t k = 0; k < bench->items[j]->count; k++) {
                const struct bench_point *const point = bench->items[j]->items[k];
                counts->points += point->selected;
                counts->failed += point->selected && point->failed != NULL;
                counts->waived += point->selected && point->failed == NULL && point->waived != NULL;
                counts->checks += point->selected ? point->checks : 0;
                counts->samples += point->selected ? point->samples[0].count : 0;
            }
        }
    }
}

static void put_counts(FILE *to, const struct report *report)
{
    struct counts counts = {0};
    count_points(report, &counts);
    char *points = format_count(counts.points, "configuration", "configurations");
    char *samples = format_count(counts.samples, "sample", "samples");
    char *checks = format_count(counts.checks, "check", "checks");
    (void)fprintf(to, "<p>%s, %s, %s of what they computed: ", points, samples, checks);
    (void)fprintf(to, "<span class=\"%s\">%zu failed</span>, %zu waived.</p>\n",
                  counts.failed > 0 ? "bad" : "", counts.failed, counts.waived);
    free(points);
    free(samples);
    free(checks);
}

static void put_banners(FILE *to, const struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct report_run *const run = &report->items[i];
        if (run->run.ended_early != NULL) {
            html_format(to, "<p class=\"banner\">The run <code>", run->name,
                        ".json</code> ended early: ");
            html_format(to, "", run->run.ended_early,
                        ". The page has what it measured until then.</p>\n");
        }
    }
    for (size_t i = 0; i < report->troubles.count; i++) {
        html_format(to, "<p class=\"banner\">", report->troubles.items[i], "</p>\n");
    }
}

static void put_headline(FILE *to, const struct report *report)
{
    struct cards cards = {NULL, 0, 0};
    headline_make(report, &cards);
    if (cards.count > 0) {
        (void)fputs("<table class=\"headline\"><tbody>\n", to);
        for (size_t i = 0; i < cards.count; i++) {
            html_format(to, "<tr><td class=\"n\">", cards.items[i].value, "</td>");
            html_format(to, "<th scope=\"row\">", cards.items[i].label, "");
            html_format(to, "<small>", cards.items[i].more, " ");
            html_format(to, "<a href=\"#", cards.items[i].anchor, "\"><code>");
            html_format(to, "", cards.items[i].from, "</code></a></small></th></tr>\n");
        }
        (void)fputs("</tbody></table>\n", to);
    }
    headline_free(&cards);
}

static void put_top(FILE *to, const struct report *report, const char *title)
{
    static const struct {
        const char *key, *before;
        int most;
    } facts[] = {{"date", "", 10}, /* the day */
                 {"libpdl", "libpdl ", 100},
                 {"driver", "driver ", 100},
                 {"git", "commit ", 100}};
    bool first = true;
    html_format(to, "<header>\n<h1>", title, "</h1>\n<p class=\"faint\">");
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        char *text = all_facts(report, facts[i].key, facts[i].most);
        if (*text != '\0') {
            (void)fprintf(to, "%s%s", first ? "" : " \u00b7 ", facts[i].before);
            html_text(to, text);
            first = false;
        }
        free(text);
    }
    (void)fputs("</p>\n", to);
    put_counts(to, report);
    put_banners(to, report);
    put_headline(to, report);
    (void)fputs("</header>\n", to);
}

/* ---- tables and figures ------------------------------------------------------------------------ */

/* The SVG in the page: as an image of its own it shares no ids and no style with others. */
static void put_image(FILE *to, const char *svg, const char *class, const char *title)
{
    html_format(to, "<img class=\"", class, "\" alt=\"");
    html_format(to, "", title, "\" src=\"data:image/svg+xml,");
    for (const char *at = svg; *at != '\0'; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c < 0x20 || strchr("\"#%&<>", c) != NULL) {
            (void)fprintf(to, "%%%02X", c);
        } else {
            (void)fputc(c, to);
        }
    }
    (void)fputs("\">", to);
}

/* How the plot is read. */
static void put_axes(FILE *to, const struct figure *figure)
{
    const char *const x = *figure->x_label != '\0' ? figure->x_label : "the value";
    switch (figure->kind) {
    case FIGURE_LINES:
        html_format(to, "Across: ", x, figure->log_x ? ", logarithmic. " : ". ");
        html_format(to, "Up: ", figure->y_label, figure->log_y ? ", logarithmic." : ".");
        (void)fputs(figure->curves
                        ? " A curve shows the share of the samples that take no longer. Raw "
                          "CUDA: solid line, filled points; libpdl: broken line, open points."
                        : " Points are medians; whiskers reach from the 10th to the 90th "
                          "percentile.",
                    to);
        break;
    case FIGURE_BARS:
        html_format(to, "Length of a bar: ", x,
                    ", the median; its whisker reaches from the 10th to the 90th percentile.");
        break;
    case FIGURE_STACKS:
        html_format(to, "Length of a bar: ", x, ", the medians of the parts one after another.");
        break;
    case FIGURE_HEAT:
        html_format(to, "Columns: ", x, ". ");
        html_format(to, "Rows: ", figure->y_label,
                    ". A cell is how many times as fast: above 1 blue, below 1 orange.");
        break;
    case FIGURE_SPANS:
        html_format(to, "Across: ", x, ". A bar reaches from the first to the last block.");
        break;
    }
}

static void put_figure(FILE *to, const struct figure *figure)
{
    if (figure->svg == NULL) {
        html_format(to, "<p class=\"odd\">", figure->title, " was not drawn: ");
        html_format(to, "", figure->failure != NULL ? figure->failure : "there is no gnuplot",
                    "</p>\n");
        html_format(to, "<p>", figure->say, "</p>\n");
        return;
    }
    html_format(to, "<figure id=\"figure-", figure->name, "\"><div class=\"plot\">");
    put_image(to, figure->svg, figure->narrow != NULL ? "wide" : "", figure->title);
    if (figure->narrow != NULL) {
        html_format(to, "<p class=\"narrow\">", figure->title, "</p>");
        put_image(to, figure->narrow, "narrow", figure->title);
    }
    html_format(to, "</div>\n<figcaption>", figure->say, " <span class=\"faint\">");
    put_axes(to, figure);
    (void)fputs("</span> <span class=\"files\">", to);
    html_format(to, "<a href=\"plots/", figure->name, ".svg\">SVG</a>");
    if (figure->picture) {
        html_format(to, " <a href=\"plots/", figure->name, ".png\">PNG</a>");
    }
    (void)fputs("</span></figcaption></figure>\n", to);
}

static void put_table(FILE *to, const struct report *report, const struct report_run *run,
                      const struct bench_table *table, const struct figures *figures,
                      const char *anchor)
{
    const char *const label = run_label(report, run, table);
    html_format(to, "<article>\n<h3 id=\"", anchor, "\">");
    html_format(to, "", table->spec.title != NULL ? table->spec.title : table->spec.name, "");
    html_format(to, " <code>", table->suite, "/");
    html_format(to, "", table->spec.name, "</code>");
    if (*label != '\0') {
        html_format(to, " <span class=\"faint\">in ", label, "</span>");
    }
    (void)fputs("</h3>\n", to);
    for (size_t i = 0; i < figures->count; i++) {
        put_figure(to, figures->items[i]);
    }
    html_troubles(to, table);
    if (table->count == 0) {
        (void)fputs("<p class=\"faint\">Nothing was measured.</p>\n", to);
    } else {
        size_t rows = 0;
        for (size_t i = 0; i < table->count; i++) {
            rows += table->items[i]->selected;
        }
        char *count = format_count(rows, "row", "rows");
        (void)fprintf(to, "<details><summary>The table: %s</summary>\n", count);
        free(count);
        if (table->spec.note != NULL) {
            html_format(to, "<p class=\"note\">", table->spec.note, "</p>\n");
        }
        html_table(to, table);
        (void)fputs("</details>\n", to);
    }
    (void)fputs("</article>\n", to);
}

static void put_suite(FILE *to, const struct report *report, const char *suite)
{
    const struct known_suite *known = NULL;
    char *anchor = file_name("suite", suite, "", "");
    for (size_t i = 0; i < KNOWN_SUITES; i++) {
        known = strcmp(known_suites[i].name, suite) == 0 ? &known_suites[i] : known;
    }
    html_format(to, "<section>\n<h2 id=\"", anchor, "\">");
    html_format(to, "", known != NULL ? known->title : suite, "</h2>\n");
    if (known != NULL) {
        html_format(to, "<p class=\"faint\">", known->question, "</p>\n");
    }
    free(anchor);
    /* Tables of one name stand together, in the order of the first run that has them. */
    for (size_t i = 0; i < report->count; i++) {
        const struct bench *const bench = &report->items[i].run.bench;
        for (size_t j = 0; j < bench->count; j++) {
            bool before = strcmp(bench->items[j]->suite, suite) != 0;
            for (size_t k = 0; k < i; k++) {
                before = before || table_of(&report->items[k].run, bench->items[j]) != NULL;
            }
            for (size_t k = i; k < report->count && !before; k++) {
                const struct report_run *const run = &report->items[k];
                const struct bench_table *const table = table_of(&run->run, bench->items[j]);
                for (size_t n = 0; n < run->run.bench.count; n++) {
                    if (run->run.bench.items[n] == table && table_is_shown(table)) {
                        put_table(to, report, run, table, &run->figures[n], run->anchors.items[n]);
                    }
                }
            }
        }
    }
    (void)fputs("</section>\n", to);
}

/* ---- tuned chains ------------------------------------------------------------------------------ */

static void put_tuned(FILE *to, const struct report_tuned *tuned)
{
    html_format(to, "<article>\n<h3>", tuned->chain, "");
    html_format(to, " <code>", tuned->name, ".json</code></h3>\n");
    html_format(to, "<p class=\"faint\">", tuned->where, ".</p>\n");
    if (tuned->ended != NULL) {
        html_format(to, "<p class=\"banner\">The search ended early: ", tuned->ended, "</p>\n");
    }
    for (size_t i = 0; i < tuned->figures.count; i++) {
        put_figure(to, tuned->figures.items[i]);
    }
    (void)fputs("<div class=\"scroll\"><table><thead><tr><th scope=\"col\">link</th><th "
                "scope=\"col\">it was</th><th scope=\"col\">chosen</th></tr></thead><tbody>\n",
                to);
    for (size_t i = 0; i + 2 < tuned->choices.count; i += 3) {
        html_format(to, "<tr><th scope=\"row\">", tuned->choices.items[i], "</th>");
        html_format(to, "<td>", tuned->choices.items[i + 1], "</td>");
        html_format(to, "<td>", tuned->choices.items[i + 2], "</td></tr>\n");
    }
    (void)fputs("</tbody></table></div>\n</article>\n", to);
}

/* ---- the end ----------------------------------------------------------------------------------- */

static void put_environment(FILE *to, const struct report_run *run)
{
    html_format(to, "<h3><code>", run->name, ".json</code></h3>\n");
    (void)fputs("<div class=\"scroll\"><table class=\"facts\"><tbody>\n", to);
    for (size_t i = 0; i < run->run.environment.count; i++) {
        const struct bench_fact *const item = &run->run.environment.items[i];
        html_format(to, "<tr><th scope=\"row\">", item->key, "</th><td>");
        if (item->text != NULL) {
            html_text(to, item->text);
        } else {
            (void)fprintf(to, "%.10g", item->number);
        }
        (void)fputs("</td></tr>\n", to);
    }
    (void)fputs("</tbody></table></div>\n", to);
}

static void list_suites(const struct report *report, struct texts *suites)
{
    for (size_t k = 0; k <= KNOWN_SUITES; k++) { /* the known ones first */
        for (size_t i = 0; i < report->count; i++) {
            for (size_t j = 0; j < report->items[i].run.bench.count; j++) {
                const char *const suite = report->items[i].run.bench.items[j]->suite;
                if (k == KNOWN_SUITES || strcmp(suite, known_suites[k].name) == 0) {
                    (void)texts_place(suites, suite);
                }
            }
        }
    }
}

void page_write(FILE *to, const struct report *report)
{
    struct texts suites = {.items = NULL};
    char *gpus = all_facts(report, "gpu", 1000);
    char *title = format_text("Launches and overlap%s%s", *gpus != '\0' ? " on " : "", gpus);
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n",
                to);
    html_format(to, "<title>", title, "</title>\n<style>\n");
    for (size_t i = 0; page_style[i] != NULL; i++) {
        (void)fprintf(to, "%s\n", page_style[i]);
    }
    (void)fputs("</style>\n</head>\n<body>\n", to);
    put_top(to, report, title);
    list_suites(report, &suites);
    (void)fputs("<nav aria-label=\"suites\">", to);
    for (size_t i = 0; i < suites.count; i++) {
        char *anchor = file_name("suite", suites.items[i], "", "");
        html_format(to, "<a href=\"#", anchor, "\">");
        html_format(to, "", suites.items[i], "</a>");
        free(anchor);
    }
    if (report->tuned.count > 0) {
        (void)fputs("<a href=\"#tuned\">tune</a>", to);
    }
    (void)fputs("<a href=\"#environment\">environment</a></nav>\n<main>\n", to);
    for (size_t i = 0; i < suites.count; i++) {
        put_suite(to, report, suites.items[i]);
    }
    if (report->tuned.count > 0) {
        (void)fputs("<section>\n<h2 id=\"tuned\">Tuned chains</h2>\n<p class=\"faint\">Trigger "
                    "points and grids that were tried, all else as chosen in the end.</p>\n",
                    to);
        for (size_t i = 0; i < report->tuned.count; i++) {
            put_tuned(to, &report->tuned.items[i]);
        }
        (void)fputs("</section>\n", to);
    }
    (void)fputs("<section>\n<h2 id=\"environment\">Environment</h2>\n", to);
    for (size_t i = 0; i < report->count; i++) {
        put_environment(to, &report->items[i]);
    }
    (void)fputs(
        "</section>\n</main>\n"
        "<footer>Medians of all rounds. Noise is half of the distance from the 10th to the 90th "
        "percentile, in percent of the median. A ratio is the median of the rounds' ratios, "
        "which differs from the quotient of the two medians; its interval holds 95 % of the "
        "resampled medians. Made by <code>pdltool report</code>.</footer>\n"
        "</body>\n</html>\n",
        to);
    texts_free(&suites);
    free(gpus);
    free(title);
}
