/* SPDX-License-Identifier: MIT */
/* Bars that lie, so that their names can be read: bars beside each other, behind each other, and spans of
 * time. Panels stand below each other and share the axis of the numbers. gnuplot's histograms stand: these are
 * boxes. */
#include <math.h>
#include <stdlib.h>

#include "common/memory.h"
#include "report/pen.h"

enum { BAR = 15, AXES = 52, PANEL_TITLE = 30, MARK_ROW = 17 };
static const double gap = 0.6; /* between categories, in bars */

static const struct figure_value *value_of(const struct figure_series *series, size_t category)
{
    for (size_t k = 0; k < series->count; k++) {
        if ((size_t)series->items[k].x == category) {
            return &series->items[k];
        }
    }
    return NULL;
}

/* How many bars a category has below each other: what has no value takes no place. */
static double bars_in(const struct figure *figure, const struct figure_panel *panel,
                      size_t category)
{
    size_t count = 0;
    for (size_t j = 0; j < panel->count; j++) {
        count += value_of(&panel->items[j], category) != NULL;
    }
    return figure->kind == FIGURE_BARS ? (double)count : count > 0;
}

/* In bars. */
static double panel_length(const struct figure *figure, const struct figure_panel *panel)
{
    double length = gap;
    for (size_t c = 0; c < figure->categories.count; c++) {
        const double bars = bars_in(figure, panel, c);
        length += bars > 0 ? bars + gap : 0;
    }
    return length;
}

static double above_panel(const struct figure *figure, const struct figure_panel *panel)
{
    return (*panel->title != '\0' ? PANEL_TITLE : 8) + MARK_ROW * (double)figure->marks.count;
}

static double panel_height(const struct figure *figure, const struct figure_panel *panel)
{
    return BAR * panel_length(figure, panel) + above_panel(figure, panel) + AXES;
}

double height_of_bars(const struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    double height = 0;
    for (size_t i = 0; i < figure->panels.count; i++) {
        height += panel_height(figure, &figure->panels.items[i]);
    }
    return height;
}

/* From where to where the bar of a category goes, and its whisker. */
struct bar {
    double from, to, low, high;
};

static struct bar bar_of(const struct figure *figure, const struct figure_panel *panel, size_t j,
                         const struct figure_value *value)
{
    struct bar bar = {0, value->y, value->y, value->y};
    if (figure->kind == FIGURE_SPANS) {
        return (struct bar){value->low, value->high, value->high, value->high};
    }
    if (figure->kind == FIGURE_BARS && isfinite(value->low) && isfinite(value->high)) {
        bar.low = value->low;
        bar.high = value->high;
    }
    for (size_t i = 0; figure->kind == FIGURE_STACKS && i < j; i++) {
        const struct figure_value *const before = value_of(&panel->items[i], (size_t)value->x);
        bar.from += before != NULL ? before->y : 0;
    }
    if (figure->kind == FIGURE_STACKS) {
        bar.to = bar.low = bar.high = bar.from + value->y;
    }
    return bar;
}

/* The ends of the axis, with room for the numbers behind the bars. */
static void put_range(const struct pen *pen, double *span)
{
    const struct figure *const figure = pen->figure;
    double from = 0;
    double to = 0;
    for (size_t i = 0; i < figure->panels.count; i++) {
        const struct figure_panel *const panel = &figure->panels.items[i];
        for (size_t j = 0; j < panel->count; j++) {
            for (size_t k = 0; k < panel->items[j].count; k++) {
                const struct bar bar = bar_of(figure, panel, j, &panel->items[j].items[k]);
                from = fmin(from, fmin(bar.low, bar.from));
                to = fmax(to, bar.high);
            }
        }
    }
    for (size_t i = 0; i < figure->marks.count; i++) {
        to = fmax(to, figure->marks.items[i].at);
    }
    *span = to > from ? to - from : 1;
    pen_axis(pen, 'x', from, to + 0.12 * *span);
    if (pen->width < PEN_WIDE) { /* gnuplot's own would touch */
        const double power = pow(10, floor(log10(*span / 3)));
        const double step = *span / 3 / power;
        (void)fprintf(pen->to, "set xtics %.7g\n", power * (step < 2 ? 1 : step < 5 ? 2 : 5));
    }
}

/* A row a bar: its place; from, to; low, high; colour; what stands behind it and, of stacks, in it. */
static void put_category(const struct pen *pen, const struct figure_panel *panel, size_t category,
                         double place, double span)
{
    const struct figure *const figure = pen->figure;
    size_t last = 0;
    for (size_t j = 0; j < panel->count; j++) {
        last = value_of(&panel->items[j], category) != NULL ? j : last;
    }
    for (size_t j = 0; j < panel->count; j++) {
        const struct figure_value *const value = value_of(&panel->items[j], category);
        const bool stacked = figure->kind == FIGURE_STACKS;
        if (value == NULL) {
            continue;
        }
        const struct bar bar = bar_of(figure, panel, j, value);
        const bool behind = stacked ? j == last : figure->kind == FIGURE_BARS;
        const bool inside = stacked && value->y > 0.08 * span;
        (void)fprintf(
            pen->to, "%.4g %.7g %.7g %.7g %.7g %u \"%s\" \"%s\"\n", place, bar.from, bar.to,
            bar.low, bar.high,
            *panel->items[j].name != '\0' ? pen_style(figure, panel->items[j].name).color
                                          : pen_category_color(figure->categories.items[category]),
            behind ? value_text(bar.to).text : " ", inside ? value_text(value->y).text : " ");
        place += figure->kind == FIGURE_BARS;
    }
}

static void put_bars(const struct pen *pen, const struct figure_panel *panel, double span)
{
    const struct figure *const figure = pen->figure;
    double *places = allocate(figure->categories.count, sizeof(*places));
    double place = gap;
    (void)fputs("$bars << EOD\n", pen->to);
    for (size_t c = 0; c < figure->categories.count; c++) {
        const double bars = bars_in(figure, panel, c);
        places[c] = bars > 0 ? place + bars / 2 : NAN;
        put_category(pen, panel, c, place + 0.5, span);
        place += bars > 0 ? bars + gap : 0;
    }
    (void)fprintf(pen->to, "EOD\nset yrange [%.4g:0]\n", place);
    pen_named_tics(pen, 'y', &figure->categories, places);
    free(places);
    (void)fputs("plot $bars using 3:1:2:3:($1-0.46):($1+0.46):6 with boxxyerror lc rgb variable, "
                "'' using 4:1:($5-$4):(0) with vectors nohead lt -1 lw 1.3, "
                "'' using ($5>0?$5:0):1:7 with labels left offset 0.8,0, "
                "'' using (($2+$3)/2):1:8 with labels tc rgb 'white'\n",
                pen->to);
}

/* Lines across a panel; what they are stands above, a row each, on the side where there is room. */
static void put_marks(const struct pen *pen, double span)
{
    const struct figure *const figure = pen->figure;
    for (size_t i = 0; i < figure->marks.count; i++) {
        const struct figure_mark *const mark = &figure->marks.items[i];
        (void)fprintf(pen->to,
                      "set arrow from %.7g, graph 0 to %.7g, graph 1 nohead lw 1.3 dt (4,3) front\n"
                      "set label at %.7g, graph 1 %s offset 0,%.2f ",
                      mark->at, mark->at, mark->at, mark->at > span / 2 ? "right" : "left",
                      0.6 + 1.05 * (double)i);
        pen_quoted(pen->to, mark->label, 60);
        (void)fputc('\n', pen->to);
    }
}

void draw_bars(const struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    double top = pen->head;
    double span;
    (void)fputs("set grid xtics lt 1 lw 1 lc rgb '#dddddd'\n", pen->to);
    pen_set(pen, "xlabel", figure->x_label);
    put_range(pen, &span);
    put_marks(pen, span);
    for (size_t i = 0; i < figure->panels.count; i++) {
        const struct figure_panel *const panel = &figure->panels.items[i];
        const double height = panel_height(figure, panel);
        if (panel_length(figure, panel) > gap) {
            pen_area(pen, (struct pen_area){0, top, pen->width, height, above_panel(figure, panel),
                                            AXES});
            pen_set(pen, "title", panel->title);
            put_bars(pen, panel, span);
        }
        top += height;
    }
}
