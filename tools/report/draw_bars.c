/* SPDX-License-Identifier: MIT */
/* Bars that lie, so that their names can be read: bars beside each other, behind each other, and spans of
 * time. Panels stand below each other and share the axis of the numbers. */
#include <math.h>
#include <stdlib.h>

#include "common/memory.h"
#include "report/pen.h"

enum {
    BAR = 17,
    THIN_BAR = 14,
    GROUP_GAP = 9,
    NAMES = 330, /* what names may take at most */
    BELOW = 50,  /* ticks and what the axis shows */
    MARK_ROW = 17,
    RIGHT_EDGE = 12,
    VALUE_GAP = 7,
};

static bool is_grouped(const struct figure *figure)
{
    return figure->kind == FIGURE_BARS;
}

/* Bars stand where there is something to draw, so that categories without one of the series have no gap. */
static bool has_value(const struct figure_series *series, size_t category)
{
    for (size_t k = 0; k < series->count; k++) {
        if ((size_t)series->items[k].x == category) {
            return true;
        }
    }
    return false;
}

static size_t bars_in(const struct figure_panel *panel, size_t category)
{
    size_t count = 0;
    for (size_t j = 0; j < panel->count; j++) {
        count += has_value(&panel->items[j], category);
    }
    return count;
}

static double bar_width(const struct figure *figure, const struct figure_panel *panel)
{
    return is_grouped(figure) && panel->count > 1 ? THIN_BAR : BAR;
}

static double panel_height(const struct figure *figure, const struct figure_panel *panel)
{
    double height = GROUP_GAP;
    for (size_t c = 0; c < figure->categories.count; c++) {
        const size_t bars = bars_in(panel, c);
        if (bars > 0) {
            height +=
                bar_width(figure, panel) * (is_grouped(figure) ? (double)bars : 1) + GROUP_GAP;
        }
    }
    return height;
}

static double panel_head(const struct figure_panel *panel)
{
    return *panel->title != '\0' ? PEN_ROW + 14 : 8;
}

/* ---- the axis of the numbers ------------------------------------------------------------------- */

struct layout {
    double left; /* where the bars begin */
    struct pen_range range;
    struct pen_ticks ticks;
    int mark_rows;
    int row_of_mark[8];
};

/* Where a bar ends; of stacks, with what stands before it. */
static double end_of(const struct figure *figure, const struct figure_panel *panel, size_t j,
                     const struct figure_value *value)
{
    double end = figure->kind == FIGURE_SPANS ? value->high : value->y;
    for (size_t i = 0; figure->kind == FIGURE_STACKS && i < j; i++) {
        for (size_t k = 0; k < panel->items[i].count; k++) {
            end += panel->items[i].items[k].x == value->x ? panel->items[i].items[k].y : 0;
        }
    }
    return end;
}

static double scaled(const struct layout *layout, double value)
{
    return layout->left + (value - layout->range.from) / (layout->range.to - layout->range.from) *
                              (PEN_WIDTH - RIGHT_EDGE - layout->left);
}

/* Labels of marks go into as many rows as keep them apart. */
static void place_marks(const struct figure *figure, struct layout *layout)
{
    double ends[8] = {0};
    layout->mark_rows = 0;
    for (size_t i = 0; i < figure->marks.count && i < 8; i++) {
        const double half = pen_text_width(figure->marks.items[i].label) / 2;
        const double at = scaled(layout, figure->marks.items[i].at);
        const double middle = at + half > PEN_WIDTH - 6 ? PEN_WIDTH - 6 - half : at;
        int row = 0;
        while (row < 7 && ends[row] > middle - half) {
            row++;
        }
        ends[row] = middle + half + 10;
        layout->row_of_mark[i] = row;
        layout->mark_rows = row + 1 > layout->mark_rows ? row + 1 : layout->mark_rows;
    }
}

static double names_width(const struct figure *figure)
{
    double widest = 20;
    for (size_t i = 0; i < figure->categories.count; i++) {
        const double width = pen_text_width(figure->categories.items[i]);
        widest = width > widest ? width : widest;
    }
    return (widest < NAMES ? widest : NAMES) + 22;
}

static struct layout lay_out(const struct figure *figure)
{
    struct layout layout = {.range = {0, NAN}};
    double longest = 0; /* of the numbers at the bars' ends */
    layout.left = names_width(figure);
    for (size_t i = 0; i < figure->panels.count; i++) {
        const struct figure_panel *const panel = &figure->panels.items[i];
        for (size_t j = 0; j < panel->count; j++) {
            for (size_t k = 0; k < panel->items[j].count; k++) {
                const struct figure_value *const value = &panel->items[j].items[k];
                const double end = end_of(figure, panel, j, value);
                char *text = value_text(end);
                const double width = pen_text_width(text);
                longest = width > longest ? width : longest;
                free(text);
                pen_range_take(&layout.range, end);
                pen_range_take(&layout.range, value->low);
                pen_range_take(&layout.range, value->high);
            }
        }
    }
    for (size_t i = 0; i < figure->marks.count; i++) {
        pen_range_take(&layout.range, figure->marks.items[i].at);
    }
    if (!(layout.range.to > layout.range.from)) {
        layout.range.to = layout.range.from + 1;
    }
    const double room = PEN_WIDTH - RIGHT_EDGE - layout.left;
    const double taken = figure->kind == FIGURE_SPANS ? 10 : longest + 2 * VALUE_GAP;
    layout.range.to = layout.range.from + (layout.range.to - layout.range.from) * room /
                                              (room - taken > 50 ? room - taken : 50);
    layout.ticks = pen_ticks_linear(&layout.range, room, 64, false);
    place_marks(figure, &layout);
    return layout;
}

static double top_of(const struct figure *figure, const struct layout *layout)
{
    return PEN_TITLE + pen_legend_rows(figure) * PEN_LEGEND + layout->mark_rows * MARK_ROW;
}

int height_of_bars(const struct figure *figure)
{
    const struct layout layout = lay_out(figure);
    double height = top_of(figure, &layout) + BELOW;
    for (size_t i = 0; i < figure->panels.count; i++) {
        height +=
            panel_head(&figure->panels.items[i]) + panel_height(figure, &figure->panels.items[i]);
    }
    return (int)height;
}

/* ---- a panel ----------------------------------------------------------------------------------- */

/* The top of the group of a category, in pixels from the panel's. */
static double group_top(const struct figure *figure, const struct figure_panel *panel,
                        size_t category)
{
    double top = GROUP_GAP;
    for (size_t c = 0; c < category; c++) {
        const size_t bars = bars_in(panel, c);
        if (bars > 0) {
            top += bar_width(figure, panel) * (is_grouped(figure) ? (double)bars : 1) + GROUP_GAP;
        }
    }
    return top;
}

static double bar_top(const struct figure *figure, const struct figure_panel *panel,
                      size_t category, size_t series)
{
    double top = group_top(figure, panel, category);
    for (size_t j = 0; is_grouped(figure) && j < series; j++) {
        top += has_value(&panel->items[j], category) ? bar_width(figure, panel) : 0;
    }
    return top;
}

static void put_names(const struct pen *pen, const struct figure_panel *panel)
{
    const struct figure *const figure = pen->figure;
    const char *between = "set ytics (";
    for (size_t c = 0; c < figure->categories.count; c++) {
        const size_t bars = bars_in(panel, c);
        if (bars > 0) {
            const double height =
                bar_width(figure, panel) * (is_grouped(figure) ? (double)bars : 1);
            char *name = pen_shortened(figure->categories.items[c], NAMES);
            (void)fputs(between, pen->to);
            pen_quoted_tick(pen->to, name);
            (void)fprintf(pen->to, " %.1f", group_top(figure, panel, c) + height / 2);
            between = ", ";
            free(name);
        }
    }
    (void)fputs(") scale 0\n", pen->to);
}

/* x, y, from, to, top, bottom of each bar, its whisker and its colour. */
static void put_data(const struct pen *pen, const struct figure_panel *panel, size_t number)
{
    const struct figure *const figure = pen->figure;
    for (size_t j = 0; j < panel->count; j++) {
        (void)fprintf(pen->to, "$p%zus%zu << EOD\n", number, j);
        for (size_t k = 0; k < panel->items[j].count; k++) {
            const struct figure_value *const value = &panel->items[j].items[k];
            const double top = bar_top(figure, panel, (size_t)value->x, j);
            const double end = end_of(figure, panel, j, value);
            const double from = figure->kind == FIGURE_SPANS    ? value->low
                                : figure->kind == FIGURE_STACKS ? end - value->y
                                                                : 0;
            const bool whisker =
                figure->kind == FIGURE_BARS && isfinite(value->low) && isfinite(value->high);
            const double width = bar_width(figure, panel);
            (void)fprintf(pen->to, "%.7g %.2f %.7g %.7g %.2f %.2f %.7g %.7g %u\n", end,
                          top + width / 2, from, end, top + 0.8, top + width - 0.8,
                          whisker ? value->low : end, whisker ? value->high : end,
                          *panel->items[j].name != '\0'
                              ? pen_style(figure, panel->items[j].name).color
                              : pen_category_color(figure->categories.items[(size_t)value->x]));
        }
        (void)fputs("EOD\n", pen->to);
    }
}

/* The numbers at the ends of the bars. */
static void put_values(struct pen *pen, const struct layout *layout,
                       const struct figure_panel *panel, double top)
{
    const struct figure *const figure = pen->figure;
    for (size_t j = 0; j < panel->count; j++) {
        for (size_t k = 0; k < panel->items[j].count; k++) {
            const struct figure_value *const value = &panel->items[j].items[k];
            const double end = end_of(figure, panel, j, value);
            const double y =
                top + bar_top(figure, panel, (size_t)value->x, j) + bar_width(figure, panel) / 2;
            const bool stacked = figure->kind == FIGURE_STACKS;
            bool last = true;
            for (size_t i = j + 1; stacked && i < panel->count; i++) {
                last = last && !has_value(&panel->items[i], (size_t)value->x);
            }
            if (last) {
                const double far = value->high > end && !stacked ? value->high : end;
                char *text = value_text(end);
                pen_text(pen, scaled(layout, far > 0 ? far : 0) + VALUE_GAP, y, "left", INK_TEXT,
                         text);
                free(text);
            }
            const double begin = scaled(layout, end - value->y);
            char *inside = value_text(value->y);
            if (stacked && scaled(layout, end) - begin > pen_text_width(inside) + 8) {
                (void)fprintf(pen->to, "set label %d ", ++pen->labels);
                pen_quoted(pen->to, inside);
                (void)fprintf(pen->to, " at screen %.5f,%.5f center tc rgb '#ffffff' front\n",
                              (begin + scaled(layout, end)) / 2 / PEN_WIDTH, 1 - y / pen->height);
            }
            free(inside);
        }
    }
}

static void put_marks(struct pen *pen, const struct layout *layout, double top, bool first)
{
    const struct figure *const figure = pen->figure;
    for (size_t i = 0; i < figure->marks.count && i < 8; i++) {
        const struct figure_mark *const mark = &figure->marks.items[i];
        (void)fprintf(pen->to,
                      "set arrow %d from first %.7g, graph 0 to first %.7g, graph 1 nohead lw 1.3 "
                      "dt (4,3) lc rgb '%s' front\n",
                      ++pen->arrows, mark->at, mark->at, pen_ink(pen, INK_MARK));
        if (first) {
            const double half = pen_text_width(mark->label) / 2;
            const double at = scaled(layout, mark->at);
            pen_text(pen, at + half > PEN_WIDTH - 6 ? PEN_WIDTH - 6 - half : at,
                     top - 12 - MARK_ROW * layout->row_of_mark[i], "center", INK_FAINT,
                     mark->label);
        }
    }
}

static void put_plot(const struct pen *pen, const struct figure_panel *panel, size_t number)
{
    const char *between = "plot ";
    for (size_t j = 0; j < panel->count; j++) {
        if (panel->items[j].count > 0) {
            (void)fprintf(pen->to,
                          "%s$p%zus%zu using 1:2:3:4:5:6:9 with boxxyerror lc rgb variable",
                          between, number, j);
            between = ", ";
            if (pen->figure->kind == FIGURE_BARS) {
                (void)fprintf(pen->to,
                              ", '' using 7:2:($8-$7):(0) with vectors nohead lw 1.3 lc rgb '%s'",
                              pen->form == DRAW_SVG ? "black" : "#1f2328");
            }
        }
    }
    (void)fputc('\n', pen->to);
}

void draw_bars(struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    const struct layout layout = lay_out(figure);
    double top = top_of(figure, &layout);
    pen_grid(pen, "xtics noytics");
    (void)fprintf(pen->to, "set xrange [%.7g:%.7g]\nset multiplot\n", layout.range.from,
                  layout.range.to);
    for (size_t i = 0; i < figure->panels.count; i++) {
        const struct figure_panel *const panel = &figure->panels.items[i];
        const double height = panel_height(figure, panel);
        const bool last = i + 1 == figure->panels.count;
        top += panel_head(panel);
        const struct pen_area area = {layout.left, PEN_WIDTH - RIGHT_EDGE, top, top + height};
        if (height <= GROUP_GAP) {
            continue;
        }
        pen_panel_title(pen, 10, top - PEN_ROW / 2.0 - 3, panel->title);
        put_marks(pen, &layout, top_of(figure, &layout) + panel_head(panel), i == 0);
        put_data(pen, panel, i);
        put_names(pen, panel);
        if (figure->kind != FIGURE_SPANS) {
            put_values(pen, &layout, panel, top);
        }
        pen_put_ticks(pen, 'x', &layout.ticks, last);
        if (last) {
            pen_text(pen, (area.left + area.right) / 2, area.bottom + 38, "center", INK_FAINT,
                     figure->x_label);
        }
        pen_area(pen, &area);
        (void)fprintf(pen->to, "set yrange [%.1f:0]\n", height);
        put_plot(pen, panel, i);
        (void)fputs("unset label\nunset arrow\nunset object\n", pen->to);
        top += height;
    }
    (void)fputs("unset multiplot\n", pen->to);
}
