/* SPDX-License-Identifier: MIT */
/* A table of the bench as one of HTML. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/print.h"
#include "report/page.h"
#include "report/subject.h"
#include "trace/text.h"

void html_text(FILE *to, const char *text)
{
    pdl_text_put_xml(to, text, SIZE_MAX);
}

void html_format(FILE *to, const char *before, const char *text, const char *after)
{
    (void)fputs(before, to);
    html_text(to, text);
    (void)fputs(after, to);
}

/* A number as it is read, and as it is. */
static void number_cell(FILE *to, double number)
{
    if (isfinite(number)) {
        (void)fprintf(to, "<td class=\"n\" data-value=\"%.9g\">%s</td>", number,
                      value_text(number).text);
    } else {
        (void)fputs("<td class=\"n\">\u2013</td>", to);
    }
}

static void ratio_cell(FILE *to, const struct bench_point *point, int metric)
{
    const size_t mine = point->samples[metric].count;
    const size_t others = point->against->samples[metric].count;
    const struct stats_ratio ratio =
        stats_ratio_of(point->samples[metric].items, point->against->samples[metric].items,
                       mine < others ? mine : others);
    if (ratio.count == 0) {
        (void)fputs("<td class=\"n\">\u2013</td>", to);
    } else {
        (void)fprintf(to,
                      "<td class=\"n\" data-value=\"%.9g\">%.3f <span class=\"faint\">%.3f\u2013"
                      "%.3f</span></td>",
                      ratio.median, ratio.median, ratio.low, ratio.high);
    }
}

static bool any_against(const struct bench_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i]->selected && table->items[i]->against != NULL) {
            return true;
        }
    }
    return false;
}

static void heading(FILE *to, const struct bench_table *table, bool ratios)
{
    (void)fputs("<thead><tr>", to);
    for (int i = 0; i < axis_count(table); i++) {
        html_format(to, "<th scope=\"col\">", table->spec.axes[i], "</th>");
    }
    for (int i = 0; i < metric_count(table); i++) {
        html_format(to, "<th scope=\"col\" class=\"n\">", table->spec.metrics[i].name, "");
        if (*metric_unit(table, i) != '\0') {
            html_format(to, ", ", unit_name(metric_unit(table, i)), "");
        }
        (void)fputs("</th><th scope=\"col\" class=\"n\">noise</th>", to);
        if (ratios) {
            (void)fputs("<th scope=\"col\" class=\"n\">ratio, 95 %</th>", to);
        }
    }
    (void)fputs("<th scope=\"col\" class=\"n\">samples</th><th scope=\"col\" "
                "class=\"n\">checks</th></tr></thead>\n",
                to);
}

/* Half of what lies between the 10th and the 90th percentile, as a share of the median. */
static void noise_cell(FILE *to, const struct stats *stats)
{
    const double noise = (stats->p90 - stats->p10) / 2 / fabs(stats->median);
    if (isfinite(noise)) {
        (void)fprintf(to, "<td class=\"n faint\">%.1f %%</td>", 100 * noise);
    } else {
        (void)fputs("<td class=\"n faint\">\u2013</td>", to);
    }
}

static void measured_cells(FILE *to, const struct bench_point *point, bool ratios)
{
    size_t most = 0;
    for (int i = 0; i < metric_count(point->table); i++) {
        const struct stats stats = point_stats(point, i);
        most = stats.count > most ? stats.count : most;
        number_cell(to, stats.median);
        noise_cell(to, &stats);
        if (ratios && point->against != NULL) {
            ratio_cell(to, point, i);
        } else if (ratios) {
            (void)fputs("<td></td>", to);
        }
    }
    (void)fprintf(to, "<td class=\"n\">%zu</td><td class=\"n\">%u</td>", most, point->checks);
}

static void row(FILE *to, const struct bench_point *point, bool ratios)
{
    const struct bench_table *const table = point->table;
    html_format(to, "<tr data-id=\"", point->id != NULL ? point->id : "", "\">");
    for (int i = 0; i < axis_count(table); i++) {
        html_format(to,
                    isnan(number_of(value_at(point, i))) ? "<th scope=\"row\">"
                                                         : "<th scope=\"row\" class=\"n\">",
                    value_at(point, i), "</th>");
    }
    const char *const why = point->failed != NULL ? point->failed : point->waived;
    if (why != NULL) {
        (void)fprintf(
            to,
            "<td colspan=\"%d\" class=\"why %s\">%s: ", metric_count(table) * (ratios ? 3 : 2) + 2,
            point->failed != NULL ? "bad" : "odd", point->failed != NULL ? "FAILED" : "waived");
        html_format(to, "", why, "</td>");
    } else {
        measured_cells(to, point, ratios);
    }
    (void)fputs("</tr>\n", to);
}

void html_table(FILE *to, const struct bench_table *table)
{
    const bool ratios = any_against(table);
    (void)fputs("<div class=\"scroll\"><table>\n", to);
    heading(to, table, ratios);
    (void)fputs("<tbody>\n", to);
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i]->selected) {
            row(to, table->items[i], ratios);
        }
    }
    (void)fputs("</tbody></table></div>\n", to);
}

/* ---- what went wrong --------------------------------------------------------------------------- */

static const char *reason_of(const struct bench_point *point, bool failed)
{
    return !point->selected        ? NULL
           : failed                ? point->failed
           : point->failed == NULL ? point->waived
                                   : NULL;
}

/* The points that a reason is of, the first few by name. */
static void put_reason(FILE *to, const struct bench_table *table, const char *reason, bool failed)
{
    enum { NAMED = 4 };
    struct texts points = {.items = NULL};
    for (size_t i = 0; i < table->count; i++) {
        const char *const own = reason_of(table->items[i], failed);
        if (own != NULL && strcmp(own, reason) == 0) {
            texts_take(&points, point_label(table->items[i], 0));
        }
    }
    char *count = format_count(points.count, "row", "rows");
    (void)fprintf(to, "<li><span class=\"%s\">%s</span> %s: ", failed ? "bad" : "odd",
                  failed ? "FAILED" : "waived", count);
    html_text(to, reason);
    (void)fputs(" <span class=\"faint\">(", to);
    for (size_t i = 0; i < points.count && i < NAMED; i++) {
        html_format(to, i > 0 ? "; " : "", points.items[i], "");
    }
    (void)fprintf(to, "%s)</span></li>\n", points.count > NAMED ? " \u2026" : "");
    free(count);
    texts_free(&points);
}

void html_troubles(FILE *to, const struct bench_table *table)
{
    bool any = false;
    for (int failed = 1; failed >= 0; failed--) {
        struct texts reasons = {.items = NULL};
        for (size_t i = 0; i < table->count; i++) {
            const char *const reason = reason_of(table->items[i], failed != 0);
            if (reason != NULL) {
                (void)texts_place(&reasons, reason);
            }
        }
        for (size_t i = 0; i < reasons.count; i++) {
            (void)fputs(any ? "" : "<ul class=\"trouble\">\n", to);
            any = true;
            put_reason(to, table, reasons.items[i], failed != 0);
        }
        texts_free(&reasons);
    }
    (void)fputs(any ? "</ul>\n" : "", to);
}
