/* SPDX-License-Identifier: MIT */
/* Lines over numbers, in panels that share their axes. */
#include <math.h>
#include <stdlib.h>

#include "report/pen.h"

enum { PLOT_HEIGHT = 300, SMALL_PLOT_HEIGHT = 190, LABEL_ROOM = 52, TICK_HEIGHT = 40 };

static size_t columns_of(const struct figure *figure)
{
    const size_t count = figure->panels.count;
    return count <= 1 || figure->stacked ? 1 : count == 2 || count == 4 ? 2 : 3;
}

static size_t rows_of(const struct figure *figure)
{
    const size_t columns = columns_of(figure);
    return (figure->panels.count + columns - 1) / columns;
}

static int plot_height(const struct figure *figure)
{
    return figure->panels.count > 1 ? SMALL_PLOT_HEIGHT : PLOT_HEIGHT;
}

/* What stands above a panel: its title, and what its y axis shows. */
static int head_height(const struct figure *figure)
{
    return (figure->panels.count > 1 ? PEN_ROW : 0) + (*figure->y_label != '\0' ? PEN_ROW : 0) + 14;
}

static int row_height(const struct figure *figure)
{
    return head_height(figure) + plot_height(figure) + LABEL_ROOM;
}

static int top_of(const struct figure *figure)
{
    return PEN_TITLE + pen_legend_rows(figure) * PEN_LEGEND + 2;
}

int height_of_lines(const struct figure *figure)
{
    return top_of(figure) + (int)rows_of(figure) * row_height(figure) + 4;
}

static bool is_shown(const struct figure *figure, const struct figure_value *value)
{
    return (!figure->log_x || value->x > 0) && (!figure->log_y || value->y > 0);
}

struct axes {
    struct pen_range x, y;
    struct pen_ticks x_ticks, y_ticks;
};

static void take_ranges(const struct figure *figure, struct axes *axes)
{
    axes->x = axes->y = (struct pen_range){NAN, NAN};
    for (size_t i = 0; i < figure->panels.count; i++) {
        const struct figure_panel *const panel = &figure->panels.items[i];
        for (size_t j = 0; j < panel->count; j++) {
            for (size_t k = 0; k < panel->items[j].count; k++) {
                const struct figure_value *const value = &panel->items[j].items[k];
                if (is_shown(figure, value)) {
                    pen_range_take(&axes->x, value->x);
                    pen_range_take(&axes->y, value->y);
                }
            }
        }
    }
    for (size_t i = 0; i < figure->marks.count; i++) {
        pen_range_take(&axes->y, figure->marks.items[i].at);
    }
    if (isnan(axes->x.from)) {
        axes->x = axes->y = (struct pen_range){1, 2};
    }
    if (figure->x_from < figure->x_to) {
        axes->x = (struct pen_range){figure->x_from, figure->x_to};
    }
}

static void widen(struct pen_range *range, bool log, double share)
{
    if (log) {
        range->from /= 1 + share;
        range->to *= 1 + share;
    } else {
        const double span = range->to > range->from ? range->to - range->from
                            : range->to != 0        ? fabs(range->to)
                                                    : 1;
        range->from -= span * share;
        range->to += span * share;
    }
}

static int by_value(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

static bool ticks_fit(const double *values, size_t count, size_t stride,
                      const struct pen_range *range, double width)
{
    double last = -INFINITY;
    bool fit = true;
    const struct pen_ticks end = {{values[count - 1]}, 1};
    for (size_t n = 0; n < count; n += stride) {
        char *text = pen_tick_text(&end, values[n]);
        const double half = pen_text_width(text) / 2;
        const double at = log(values[n] / range->from) / log(range->to / range->from) * width;
        fit = fit && at - half > last + 7;
        last = at + half;
        free(text);
    }
    return fit;
}

/* The values that were measured, as many as there is room for: where they lie evenly on a logarithmic axis,
 * their own ticks say more than powers of ten. */
static struct pen_ticks measured_ticks(const struct figure *figure, const struct pen_range *range,
                                       double width)
{
    enum { MOST = 64 };
    double values[MOST] = {0};
    size_t count = 0;
    struct pen_ticks ticks = {{0}, 0};
    for (size_t i = 0; i < figure->panels.count; i++) {
        const struct figure_panel *const panel = &figure->panels.items[i];
        for (size_t j = 0; j < panel->count; j++) {
            for (size_t k = 0; k < panel->items[j].count; k++) {
                const double x = panel->items[j].items[k].x;
                bool known = x <= 0;
                for (size_t n = 0; n < count; n++) {
                    known = known || values[n] == x;
                }
                if (!known && count == MOST) {
                    return pen_ticks_log(range, width, 60);
                }
                if (!known) {
                    values[count++] = x;
                }
            }
        }
    }
    qsort(values, count, sizeof(values[0]), by_value);
    /* Every one, or every second, so that they stay even. */
    size_t stride = 1;
    while (stride < count && !ticks_fit(values, count, stride, range, width)) {
        stride++;
    }
    for (size_t n = 0; n < count; n += stride) {
        ticks.items[ticks.count++] = values[n];
    }
    return ticks;
}

static void make_axes(const struct figure *figure, struct axes *axes, double width)
{
    const bool chosen = figure->x_from < figure->x_to;
    take_ranges(figure, axes);
    if (!figure->log_y) {
        axes->y.from = axes->y.from > 0 ? 0 : axes->y.from;
    }
    if (!chosen) {
        widen(&axes->x, figure->log_x, figure->log_x ? 0.12 : 0.03);
    }
    if (figure->log_y) {
        widen(&axes->y, true, 0.15);
        axes->y_ticks = pen_ticks_log(&axes->y, plot_height(figure), 22);
    } else {
        if (!(axes->y.to > axes->y.from)) {
            axes->y.to = axes->y.from + 1;
        }
        axes->y_ticks = pen_ticks_linear(&axes->y, plot_height(figure), 34, true);
    }
    axes->x_ticks = figure->log_x ? measured_ticks(figure, &axes->x, width)
                                  : pen_ticks_linear(&axes->x, width, 62, false);
}

static void put_data(const struct pen *pen, size_t panel_number)
{
    const struct figure_panel *const panel = &pen->figure->panels.items[panel_number];
    for (size_t j = 0; j < panel->count; j++) {
        (void)fprintf(pen->to, "$p%zus%zu << EOD\n", panel_number, j);
        for (size_t k = 0; k < panel->items[j].count; k++) {
            const struct figure_value *const value = &panel->items[j].items[k];
            if (is_shown(pen->figure, value)) {
                const bool whisker = isfinite(value->low) && isfinite(value->high) &&
                                     (!pen->figure->log_y || value->low > 0);
                (void)fprintf(pen->to, "%.7g %.7g %.7g %.7g\n", value->x, value->y,
                              whisker ? value->low : value->y, whisker ? value->high : value->y);
            }
        }
        (void)fputs("EOD\n", pen->to);
    }
}

static bool series_is_shown(const struct pen *pen, const struct figure_series *series)
{
    for (size_t k = 0; k < series->count; k++) {
        if (is_shown(pen->figure, &series->items[k])) {
            return true;
        }
    }
    return false;
}

static void put_plot(const struct pen *pen, size_t panel_number, const struct pen_range *x)
{
    const struct figure *const figure = pen->figure;
    const struct figure_panel *const panel = &figure->panels.items[panel_number];
    const char *between = "plot ";
    for (size_t i = 0; i < figure->marks.count; i++) {
        (void)fprintf(pen->to, "%s[%.7g:%.7g] %.7g with lines lw 1.3 dt (4,3) lc rgb '%s'", between,
                      x->from, x->to, figure->marks.items[i].at, pen_ink(pen, INK_MARK));
        between = ", ";
    }
    for (size_t j = 0; j < panel->count; j++) {
        const struct pen_style style = pen_style(figure, panel->items[j].name);
        if (!series_is_shown(pen, &panel->items[j])) {
            continue;
        }
        (void)fprintf(pen->to, "%s$p%zus%zu using 1:2 with %s lw 2 dt %s lc rgb '#%06x'", between,
                      panel_number, j, figure->stepped ? "fsteps" : "lines", style.dash,
                      style.color);
        between = ", ";
        if (!figure->stepped) {
            (void)fprintf(pen->to,
                          ", '' using 1:3:(0):($4-$3) with vectors nohead lw 1 lc rgb '#%06x'"
                          ", '' using 1:2 with points pt %d ps 0.9 lc rgb '#%06x'",
                          style.color, style.point, style.color);
        }
    }
    (void)fputc('\n', pen->to);
}

static bool panel_is_shown(const struct pen *pen, const struct figure_panel *panel)
{
    for (size_t j = 0; j < panel->count; j++) {
        if (series_is_shown(pen, &panel->items[j])) {
            return true;
        }
    }
    return false;
}

/* A label above the line and to the right, where the lines of the figure seldom are. */
static void put_marks(const struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    for (size_t i = 0; i < figure->marks.count; i++) {
        (void)fprintf(pen->to, "set label %d ", 1000 + (int)i);
        pen_quoted(pen->to, figure->marks.items[i].label);
        (void)fprintf(pen->to, " at graph 0.995, first %.7g right offset 0,0.55 tc rgb '%s'\n",
                      figure->marks.items[i].at, pen_ink(pen, INK_FAINT));
    }
}

static void put_panel(struct pen *pen, size_t number, const struct pen_area *area)
{
    const struct figure_panel *const panel = &pen->figure->panels.items[number];
    const double left = area->left - 36;
    double y = area->top - 16;
    if (*pen->figure->y_label != '\0') {
        pen_text(pen, left, y, "left", INK_FAINT, pen->figure->y_label);
        y -= PEN_ROW;
    }
    pen_panel_title(pen, left, y, panel->title);
    pen_text(pen, (area->left + area->right) / 2, area->bottom + TICK_HEIGHT, "center", INK_FAINT,
             pen->figure->x_label);
    pen_area(pen, area);
}

/* Room for half of the last tick's text. */
static double right_margin(const struct axes *axes)
{
    double width = 0;
    if (axes->x_ticks.count > 0) {
        char *text = pen_tick_text(&axes->x_ticks, axes->x_ticks.items[axes->x_ticks.count - 1]);
        width = pen_text_width(text);
        free(text);
    }
    return 8 + width / 2;
}

void draw_lines(struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    const size_t columns = columns_of(figure);
    struct axes axes;
    make_axes(figure, &axes, (double)PEN_WIDTH / (double)columns - 70);
    const double left = pen_tick_width(&axes.y_ticks) + 20;
    const double width = (double)PEN_WIDTH / (double)columns;
    const double right = right_margin(&axes);
    pen_put_ticks(pen, 'x', &axes.x_ticks, true);
    pen_put_ticks(pen, 'y', &axes.y_ticks, true);
    (void)fprintf(pen->to, "set xrange [%.7g:%.7g]\nset yrange [%.7g:%.7g]\n", axes.x.from,
                  axes.x.to, axes.y.from, axes.y.to);
    (void)fprintf(pen->to, "%s%s", figure->log_x ? "set logscale x\n" : "",
                  figure->log_y ? "set logscale y\n" : "");
    pen_grid(pen, "xtics ytics");
    put_marks(pen);
    for (size_t i = 0; i < figure->panels.count; i++) {
        put_data(pen, i);
    }
    (void)fputs("set multiplot\n", pen->to);
    for (size_t i = 0; i < figure->panels.count; i++) {
        const size_t row = i / columns;
        const double x = width * (double)(i % columns);
        const double top = top_of(figure) + (double)row * row_height(figure) + head_height(figure);
        const struct pen_area area = {x + left, x + width - right, top, top + plot_height(figure)};
        if (panel_is_shown(pen, &figure->panels.items[i])) {
            put_panel(pen, i, &area);
            put_plot(pen, i, &axes.x);
            /* Texts are drawn again with each panel. */
            (void)fputs("unset label\nunset arrow\nunset object\n", pen->to);
            put_marks(pen);
        }
    }
    (void)fputs("unset multiplot\n", pen->to);
}
