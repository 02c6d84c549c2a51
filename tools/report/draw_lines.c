/* SPDX-License-Identifier: MIT */
/* Lines over numbers, in panels that share their axes. */
#include <math.h>

#include "report/pen.h"

enum { PLOT = 340, SMALL_PLOT = 250, TITLE = 26, AXIS = 52 };

static size_t columns_of(const struct pen *pen)
{
    return pen->width < PEN_WIDE || pen->figure->panels.count <= 1 || pen->figure->curves ? 1 : 2;
}

static double panel_height(const struct figure *figure)
{
    return figure->panels.count > 1 ? SMALL_PLOT : PLOT;
}

double height_of_lines(const struct pen *pen)
{
    const size_t columns = columns_of(pen);
    const size_t rows = (pen->figure->panels.count + columns - 1) / columns;
    return panel_height(pen->figure) * (double)rows;
}

/* The least and the greatest of what is shown. */
struct range {
    double from, to;
};

static void take(struct range *range, double value)
{
    range->from = isnan(range->from) || value < range->from ? value : range->from;
    range->to = isnan(range->to) || value > range->to ? value : range->to;
}

static bool is_shown(const struct figure *figure, const struct figure_value *value)
{
    return (!figure->log_x || value->x > 0) && (!figure->log_y || value->y > 0);
}

static bool is_power_of_two(double value)
{
    int exponent;
    return frexp(value, &exponent) == 0.5;
}

/* Each panel shows the same part of the axes. */
static bool put_axes(const struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    struct range x = {NAN, NAN};
    struct range y = {NAN, NAN};
    bool powers = true;
    for (size_t i = 0; i < figure->panels.count; i++) {
        const struct figure_panel *const panel = &figure->panels.items[i];
        for (size_t j = 0; j < panel->count; j++) {
            for (size_t k = 0; k < panel->items[j].count; k++) {
                const struct figure_value *const value = &panel->items[j].items[k];
                if (is_shown(figure, value)) {
                    powers = powers && is_power_of_two(value->x);
                    take(&x, value->x);
                    take(&y, value->y);
                }
            }
        }
    }
    if (isnan(x.from)) {
        return false;
    }
    if (figure->x_from < figure->x_to) {
        x = (struct range){figure->x_from, figure->x_to};
    } else if (figure->log_x) {
        (void)fprintf(pen->to, "set logscale x %d\n", powers ? 2 : 10);
        x = (struct range){x.from / 1.15, x.to * 1.15};
    } else {
        const double room = x.to > x.from ? 0.03 * (x.to - x.from) : 1;
        x = (struct range){x.from - room, x.to + room};
    }
    if (figure->log_y) {
        (void)fputs("set logscale y\n", pen->to);
        y = (struct range){y.from / 1.2, y.to * 1.2};
        if (y.to / y.from < 100) { /* powers of ten are too few */
            (void)fprintf(pen->to, "set ytics %.7g,2\n", pow(10, floor(log10(y.from))));
        }
    } else {
        y.from = fmin(y.from, 0);
        y.to = y.to > y.from ? y.to + 0.04 * (y.to - y.from) : y.from + 1;
    }
    pen_axis(pen, 'x', x.from, x.to);
    pen_axis(pen, 'y', y.from, y.to);
    (void)fputs("set grid xtics ytics lt 1 lw 1 lc rgb '#dddddd'\n", pen->to);
    pen_set(pen, "xlabel", figure->x_label);
    pen_set(pen, "ylabel", figure->y_label);
    return true;
}

/* True if there is anything to be seen. */
static bool put_data(const struct pen *pen, size_t number, const struct figure_series *series)
{
    bool any = false;
    (void)fprintf(pen->to, "$s%zu << EOD\n", number);
    for (size_t k = 0; k < series->count; k++) {
        const struct figure_value *const value = &series->items[k];
        if (is_shown(pen->figure, value)) {
            const bool whisker = isfinite(value->low) && isfinite(value->high) &&
                                 (!pen->figure->log_y || value->low > 0);
            (void)fprintf(pen->to, "%.7g %.7g %.7g %.7g\n", value->x, value->y,
                          whisker ? value->low : value->y, whisker ? value->high : value->y);
            any = true;
        }
    }
    (void)fputs("EOD\n", pen->to);
    return any;
}

static void put_panel(const struct pen *pen, const struct figure_panel *panel)
{
    bool shown[64] = {false};
    const char *before = "plot ";
    pen_set(pen, "title", panel->title);
    for (size_t j = 0; j < panel->count && j < sizeof(shown); j++) {
        shown[j] = put_data(pen, j, &panel->items[j]);
    }
    for (size_t j = 0; j < panel->count && j < sizeof(shown); j++) {
        const struct pen_style style = pen_style(pen->figure, panel->items[j].name);
        if (shown[j]) {
            (void)fprintf(pen->to, "%s$s%zu %s lw 2 pt %d ps 1.1 dt %s lc rgb '#%06x'", before, j,
                          pen->figure->curves ? "with linespoints pointinterval 20"
                                              : "with yerrorlines",
                          style.point, style.dash, style.color);
            before = ", ";
        }
    }
    (void)fputc('\n', pen->to);
}

void draw_lines(const struct pen *pen)
{
    const size_t columns = columns_of(pen);
    const double width = (double)pen->width / (double)columns;
    const double height = panel_height(pen->figure);
    for (size_t i = 0; put_axes(pen) && i < pen->figure->panels.count; i++) {
        const size_t row = i / columns;
        pen_area(pen,
                 (struct pen_area){width * (double)(i % columns), pen->head + height * (double)row,
                                   width, height, TITLE, AXIS});
        put_panel(pen, &pen->figure->panels.items[i]);
    }
}
