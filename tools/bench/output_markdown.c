/* SPDX-License-Identifier: MIT */
/* A run as tables in markdown, to be read on a terminal and on a page. */
#include "bench/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

enum {
    LINE_WIDTH = 100,  /* of sentences */
    TABLE_WIDTH = 120, /* a wider one is printed in parts, each with some of the metrics */
};

/* ---- numbers ---------------------------------------------------------------------------------- */

static char *grouped(const char *digits)
{
    const size_t sign = *digits == '-';
    const size_t length = strlen(digits + sign);
    char *const text = allocate(sign + 2 * length + 1, 1);
    size_t used = sign;
    memcpy(text, digits, sign);
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = digits[sign + i];
    }
    return text;
}

char *output_number(double number)
{
    const double size = fabs(number);
    if (!isfinite(number)) {
        return copy_text(isnan(number) ? "-" : number > 0 ? "inf" : "-inf");
    }
    if (number == 0 || (size < 1000 && size == floor(size))) {
        return format_text("%.0f", size == 0 ? 0 : number);
    }
    if (size >= 1e15 || size < 1e-6) {
        return format_text("%.3e", number);
    }
    if (size < 999.95) {
        return format_text("%.*f", 3 - (int)floor(log10(size)), number);
    }
    char *digits = format_text("%.0f", number);
    char *const text = grouped(digits);
    free(digits);
    return text;
}

/* Pads numbers so that their points stand below each other where they are set right-aligned. */
static void align_points(char **numbers, size_t count)
{
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        const char *point = strchr(numbers[i], '.');
        const size_t length = point != NULL ? strlen(point) : 0;
        longest = length > longest ? length : longest;
    }
    for (size_t i = 0; i < count; i++) {
        const char *point = strchr(numbers[i], '.');
        const size_t length = point != NULL ? strlen(point) : 0;
        char *const padded = format_text("%s%*s", numbers[i], (int)(longest - length), "");
        free(numbers[i]);
        numbers[i] = padded;
    }
}

/* A share in per cent. */
static char *percent(double share)
{
    if (!isfinite(share)) {
        return copy_text("");
    }
    return format_text(share < 0.9995 ? "%.1f%%" : "%.0f%%", 100 * share);
}

/* ---- tables ----------------------------------------------------------------------------------- */

/* What would end the cell or steer a terminal is made harmless. */
static char *cell_text(const char *text)
{
    char *const plain = plain_text(text);
    char *const safe = allocate(2 * strlen(plain) + 1, 1);
    size_t used = 0;
    for (const char *at = plain; *at != '\0'; at++) {
        if (*at == '|') {
            safe[used++] = '\\';
        }
        safe[used++] = *at;
    }
    free(plain);
    return safe;
}

/* On a terminal: UTF-8's continuation bytes take no column. */
static size_t cell_width(const char *text)
{
    char *const safe = cell_text(text);
    size_t width = 0;
    for (const char *at = safe; *at != '\0'; at++) {
        width += ((unsigned char)*at & 0xc0) != 0x80;
    }
    free(safe);
    return width;
}

size_t markdown_width(const struct table *table, size_t column)
{
    const size_t columns = strlen(table->right);
    size_t width = cell_width(table->headings[column]);
    for (size_t i = column; i < table->count; i += columns) {
        const bool last = column + 1 < columns && table->items[i + 1] == NULL;
        if (table->items[i] != NULL && !last && cell_width(table->items[i]) > width) {
            width = cell_width(table->items[i]);
        }
    }
    return width > 3 ? width : 3;
}

static void print_cell(FILE *to, const char *text, size_t width, bool right)
{
    char *const safe = cell_text(text);
    const size_t own = cell_width(text);
    const int blanks = own < width ? (int)(width - own) : 0;
    if (right) {
        (void)fprintf(to, " %*s%s |", blanks, "", safe);
    } else {
        (void)fprintf(to, " %s%*s |", safe, blanks, "");
    }
    free(safe);
}

static void print_rule(FILE *to, size_t width, bool right)
{
    (void)putc('-', to);
    for (size_t i = 0; i < width; i++) {
        (void)putc('-', to);
    }
    (void)fputs(right ? ":|" : "-|", to);
}

void markdown_print(const struct table *table, const size_t *which, size_t count, FILE *to)
{
    const size_t columns = strlen(table->right);
    size_t *const widths = allocate(count, sizeof(*widths));
    (void)putc('|', to);
    for (size_t i = 0; i < count; i++) {
        widths[i] = markdown_width(table, which[i]);
        print_cell(to, table->headings[which[i]], widths[i], table->right[which[i]] == 'r');
    }
    (void)fputs("\n|", to);
    for (size_t i = 0; i < count; i++) {
        print_rule(to, widths[i], table->right[which[i]] == 'r');
    }
    (void)putc('\n', to);
    for (size_t row = 0; row < table->count; row += columns) {
        (void)putc('|', to);
        for (size_t i = 0; i < count && table->items[row + which[i]] != NULL; i++) {
            print_cell(to, table->items[row + which[i]], widths[i], table->right[which[i]] == 'r');
        }
        (void)putc('\n', to);
    }
    free(widths);
}

/* ---- a table of points ------------------------------------------------------------------------ */

/* The columns of a table: its axes, the number of samples, and three for each metric. */
enum { MEDIAN, NOISE, RATIO, METRIC_COLUMNS };
enum { MOST_COLUMNS = BENCH_AXES + 1 + BENCH_METRICS * METRIC_COLUMNS };

struct layout {
    const struct bench_table *points;
    size_t axes, metrics, rows;
    bool ratios;   /* any point is compared with another one */
    char *against; /* with which, where it is the same for all of them; NULL otherwise */
    char *headings[MOST_COLUMNS];
    char right[MOST_COLUMNS + 1];
    struct table cells;
};

/* What the other point has different, such as "stream"; all of its values where nothing is. */
static char *name_against(const struct bench_point *point, size_t axes)
{
    char *name = NULL;
    for (int all = 0; all < 2 && name == NULL; all++) {
        for (size_t i = 0; i < axes; i++) {
            if (all || strcmp(point->values[i], point->against->values[i]) != 0) {
                char *longer = format_text("%s%s%s", name != NULL ? name : "",
                                           name != NULL ? "/" : "", point->against->values[i]);
                free(name);
                name = longer;
            }
        }
    }
    return name != NULL ? name : copy_text("");
}

static void find_against(struct layout *layout)
{
    bool same = true;
    for (size_t i = 0; i < layout->points->count; i++) {
        const struct bench_point *const point = layout->points->items[i];
        if (point->selected && point->against != NULL) {
            char *const name = name_against(point, layout->axes);
            layout->ratios = true;
            if (layout->against == NULL) {
                layout->against = name;
                continue;
            }
            same = same && strcmp(name, layout->against) == 0;
            free(name);
        }
    }
    if (!same) {
        free(layout->against);
        layout->against = NULL;
    }
}

static void add_heading(struct layout *layout, char *heading, char alignment)
{
    const size_t column = strlen(layout->right);
    layout->headings[column] = heading;
    layout->right[column] = alignment;
}

static void add_headings(struct layout *layout)
{
    const struct bench_spec *const spec = &layout->points->spec;
    for (size_t i = 0; i < layout->axes; i++) {
        add_heading(layout, copy_text(spec->axes[i]), 'l');
    }
    add_heading(layout, copy_text("Samples"), 'r');
    for (size_t i = 0; i < layout->metrics; i++) {
        const struct bench_metric *const metric = &spec->metrics[i];
        add_heading(layout, format_text("%s (%s)", metric->name, unit_name(metric->unit)), 'r');
        add_heading(layout, copy_text("Noise"), 'r');
        add_heading(layout,
                    layout->against != NULL ? format_text("Ratio to %s", layout->against)
                                            : copy_text("Ratio"),
                    'l');
    }
}

static char *ratio_text(const struct layout *layout, const struct bench_point *point,
                        const struct stats_ratio *ratio)
{
    if (ratio->count == 0) {
        return copy_text("");
    }
    const int digits = ratio->median < 10 ? 3 : ratio->median < 100 ? 2 : 1;
    char *const name = layout->against == NULL ? name_against(point, layout->axes) : NULL;
    char *const text =
        format_text("%.*f [%.*f, %.*f]%s%s", digits, ratio->median, digits, ratio->low, digits,
                    ratio->high, name != NULL ? " to " : "", name != NULL ? name : "");
    free(name);
    return text;
}

/* Why there are no figures in a row; NULL where there are. The caller frees it. */
static char *missing_text(const struct bench_point *point)
{
    if (point->failed != NULL) {
        return format_text("FAILED: %s", point->failed);
    }
    if (point->waived != NULL) {
        return format_text("waived: %s", point->waived);
    }
    return point->samples[0].count == 0 ? copy_text("not measured") : NULL;
}

/* A row's cells, the medians' points not aligned yet. */
static void add_row(struct layout *layout, const struct bench_point *point)
{
    char *const missing = missing_text(point);
    for (size_t i = 0; i < layout->axes; i++) {
        table_add(&layout->cells, copy_text(point->values[i]));
    }
    table_add(&layout->cells,
              missing != NULL ? missing : format_count(point->samples[0].count, "", ""));
    for (size_t i = 0; i < layout->metrics; i++) {
        if (missing != NULL) {
            for (int j = 0; j < METRIC_COLUMNS; j++) {
                table_add(&layout->cells, NULL);
            }
            continue;
        }
        const struct output_figure figure = output_figure_of(point, i);
        table_add(&layout->cells, output_number(figure.stats.median));
        table_add(&layout->cells, percent(figure.noise));
        table_add(&layout->cells, ratio_text(layout, point, &figure.ratio));
    }
}

static void align_medians(const struct layout *layout)
{
    const size_t columns = strlen(layout->right);
    char **const numbers = allocate(layout->rows, sizeof(*numbers));
    for (size_t metric = 0; metric < layout->metrics; metric++) {
        const size_t column = layout->axes + 1 + metric * METRIC_COLUMNS + MEDIAN;
        size_t count = 0;
        for (size_t i = column; i < layout->cells.count; i += columns) {
            if (layout->cells.items[i] != NULL) {
                numbers[count++] = layout->cells.items[i];
            }
        }
        align_points(numbers, count);
        count = 0;
        for (size_t i = column; i < layout->cells.count; i += columns) {
            if (layout->cells.items[i] != NULL) {
                layout->cells.items[i] = numbers[count++];
            }
        }
    }
    free(numbers);
}

/* As many metrics beside each other as there is room for, at least one; the next ones below, with the axes
 * again. */
static void print_parts(const struct layout *layout, FILE *to)
{
    enum { BARS = 3 }; /* what a column takes besides its cell */
    size_t which[MOST_COLUMNS];
    size_t metric = 0;
    while (metric < layout->metrics) {
        size_t used = 0;
        size_t width = 1;
        for (; used <= layout->axes; used++) {
            which[used] = used;
            width += markdown_width(&layout->cells, used) + BARS;
        }
        const size_t first = metric;
        for (; metric < layout->metrics; metric++) {
            const size_t column = layout->axes + 1 + metric * METRIC_COLUMNS;
            const size_t columns = layout->ratios ? METRIC_COLUMNS : METRIC_COLUMNS - 1;
            for (size_t i = 0; i < columns; i++) {
                width += markdown_width(&layout->cells, column + i) + BARS;
            }
            if (width > TABLE_WIDTH && metric > first) {
                break;
            }
            for (size_t i = 0; i < columns; i++) {
                which[used++] = column + i;
            }
        }
        (void)putc('\n', to);
        markdown_print(&layout->cells, which, used, to);
    }
}

static void print_sentences(const char *text, FILE *to)
{
    size_t column = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, " \n");
        if (length > 0) {
            if (column > 0) {
                (void)putc(column + 1 + length > LINE_WIDTH ? '\n' : ' ', to);
                column = column + 1 + length > LINE_WIDTH ? 0 : column + 1;
            }
            char *const word = format_text("%.*s", (int)length, text);
            print_plain(to, word);
            free(word);
            column += length;
        }
        text += length + (text[length] != '\0');
    }
    (void)putc('\n', to);
}

static void print_points(const struct bench_table *points, FILE *to)
{
    struct layout layout = {.points = points,
                            .axes = output_axis_count(&points->spec),
                            .metrics = output_metric_count(&points->spec),
                            .rows = output_selected_count(points)};
    if (layout.rows == 0) {
        return;
    }
    (void)fprintf(to, "\n## %s/%s: ", points->suite, points->spec.name);
    print_plain(to, points->spec.title);
    (void)putc('\n', to);
    if (points->spec.note != NULL) {
        (void)putc('\n', to);
        print_sentences(points->spec.note, to);
    }
    find_against(&layout);
    add_headings(&layout);
    layout.cells.headings = (const char *const *)layout.headings;
    layout.cells.right = layout.right;
    for (size_t i = 0; i < points->count; i++) {
        if (points->items[i]->selected) {
            add_row(&layout, points->items[i]);
        }
    }
    align_medians(&layout);
    print_parts(&layout, to);
    for (size_t i = 0; layout.right[i] != '\0'; i++) {
        free(layout.headings[i]);
    }
    table_free(&layout.cells);
    free(layout.against);
}

/* ---- the environment -------------------------------------------------------------------------- */

/* The fact whose key has another ending. */
static const struct bench_fact *find_other(const struct bench_environment *environment,
                                           const char *key, const char *ending, const char *other)
{
    char *const wanted = format_text("%.*s%s", (int)(strlen(key) - strlen(ending)), key, other);
    const struct bench_fact *const fact = environment_find(environment, wanted);
    free(wanted);
    return fact;
}

static void print_value(const struct bench_fact *fact, FILE *to)
{
    if (fact->text != NULL) {
        print_plain(to, fact->text);
        return;
    }
    char *const number = output_number(fact->number);
    (void)fputs(number, to);
    free(number);
}

/* The same fact from before and after the run takes one line. */
static void print_fact(const struct bench_environment *environment, const struct bench_fact *fact,
                       FILE *to)
{
    static const char before[] = "_before";
    static const char after[] = "_after";
    const struct bench_fact *other = NULL;
    size_t shown = strlen(fact->key);
    if (output_ends_in(fact->key, after) &&
        find_other(environment, fact->key, after, before) != NULL) {
        return; /* it stands in the line of that one */
    }
    if (output_ends_in(fact->key, before)) {
        other = find_other(environment, fact->key, before, after);
    }
    if (other != NULL) {
        shown -= strlen(before);
    }
    char *const key = format_text("%.*s", (int)shown, fact->key);
    (void)fputs("- ", to);
    print_plain(to, key);
    free(key);
    (void)fputs(": ", to);
    print_value(fact, to);
    if (other != NULL) {
        (void)fputs(" before, ", to);
        print_value(other, to);
        (void)fputs(" after", to);
    }
    (void)putc('\n', to);
}

void output_markdown(const struct bench_run *run, FILE *to)
{
    (void)fputs("# pdltool bench\n\n", to);
    for (size_t i = 0; i < run->environment.count; i++) {
        print_fact(&run->environment, &run->environment.items[i], to);
    }
    if (run->ended_early != NULL) {
        (void)fputs("\n**Ended early**: ", to);
        print_plain(to, run->ended_early);
        (void)fputs(". What had been measured until then follows.\n", to);
    }
    (void)putc('\n', to);
    print_sentences("Figures are medians. Noise is half of the distance from the 10th to the 90th "
                    "percentile, in percent of the median. A ratio is the median of the ratios of "
                    "the rounds, with the interval that 95 % of its resamplings fall into.",
                    to);
    for (size_t i = 0; i < run->bench.count; i++) {
        print_points(run->bench.items[i], to);
    }
}
