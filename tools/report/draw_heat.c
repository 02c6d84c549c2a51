/* SPDX-License-Identifier: MIT */
/* Ratios as colours around 1, in panels side by side. */
#include <math.h>
#include <stdlib.h>

#include "common/memory.h"
#include "report/pen.h"

enum { CELL = 30, BELOW = 48, HEAD = 40, GAP = 16, SCALE_WIDTH = 240, SCALE_STEPS = 40 };

struct color {
    double red, green, blue;
};

/* From what loses to what wins; told apart without red and green, and in light and dark. */
static unsigned color_of(double share)
{
    static const struct color loses = {0xb5, 0x43, 0x0e};
    static const struct color same = {0xee, 0xee, 0xea};
    static const struct color wins = {0x0b, 0x5c, 0xa0};
    const struct color *const end = share < 0 ? &loses : &wins;
    const double part = pow(fmin(fabs(share), 1), 0.85);
    const unsigned red = (unsigned)(same.red + (end->red - same.red) * part + 0.5);
    const unsigned green = (unsigned)(same.green + (end->green - same.green) * part + 0.5);
    const unsigned blue = (unsigned)(same.blue + (end->blue - same.blue) * part + 0.5);
    return red << 16 | green << 8 | blue;
}

/* How far a ratio is from 1, as a share of the farthest one. */
static double share_of(double ratio, double farthest)
{
    return log(ratio) / farthest;
}

/* Equal ways up and down, so that one colour means as much on both sides. */
static double farthest_of(const struct figure *figure)
{
    double farthest = log(1.1);
    for (size_t i = 0; i < figure->panels.count; i++) {
        const struct figure_panel *const panel = &figure->panels.items[i];
        for (size_t j = 0; j < panel->count; j++) {
            for (size_t k = 0; k < panel->items[j].count; k++) {
                const double size = fabs(log(panel->items[j].items[k].y));
                farthest = isfinite(size) && size > farthest ? size : farthest;
            }
        }
    }
    return farthest;
}

static size_t columns_of(const struct figure *figure)
{
    const size_t count = figure->panels.count;
    const size_t wide = figure->categories.count > 12 ? 1 : figure->categories.count > 5 ? 2 : 3;
    return count < wide ? (count > 0 ? count : 1) : count == 4 && wide == 3 ? 2 : wide;
}

/* Where a row stands from below: numbers rise, other names stand in their order from above. */
static size_t place_of_row(const struct figure *figure, size_t row)
{
    size_t below = 0;
    bool numbers = true;
    for (size_t i = 0; i < figure->rows.count; i++) {
        const double other = number_of(figure->rows.items[i]);
        numbers = numbers && !isnan(other);
        below += other < number_of(figure->rows.items[row]);
    }
    return numbers ? below : figure->rows.count - 1 - row;
}

static double panel_height(const struct figure *figure)
{
    return HEAD + CELL * (double)figure->rows.count + BELOW;
}

int height_of_heat(const struct figure *figure)
{
    const size_t columns = columns_of(figure);
    const size_t rows = (figure->panels.count + columns - 1) / columns;
    return (int)(PEN_TITLE + PEN_LEGEND + 14 + panel_height(figure) * (double)rows);
}

static double rows_width(const struct figure *figure)
{
    double widest = 0;
    for (size_t i = 0; i < figure->rows.count; i++) {
        const double width = pen_text_width(figure->rows.items[i]);
        widest = width > widest ? width : widest;
    }
    return widest + 18;
}

/* What the colours mean. */
static void put_scale(struct pen *pen, double farthest)
{
    const double left = 70;
    const double top = PEN_TITLE + 6;
    char *low = times_text(exp(-farthest));
    char *high = times_text(exp(farthest));
    for (int i = 0; i < SCALE_STEPS; i++) {
        const double share = 2 * (i + 0.5) / SCALE_STEPS - 1;
        const double x = left + SCALE_WIDTH * (double)i / SCALE_STEPS;
        (void)fprintf(pen->to,
                      "set object %d rectangle from screen %.5f,%.5f to screen %.5f,%.5f "
                      "fc rgb '#%06x' fs solid 1 noborder front\n",
                      ++pen->objects, x / PEN_WIDTH, 1 - (top + 12) / pen->height,
                      (x + (double)SCALE_WIDTH / SCALE_STEPS + 0.4) / PEN_WIDTH,
                      1 - top / pen->height, color_of(share));
    }
    pen_text(pen, left - 6, top + 6, "right", INK_TEXT, low);
    pen_text(pen, left + SCALE_WIDTH + 6, top + 6, "left", INK_TEXT, high);
    pen_text(pen, left + SCALE_WIDTH / 2.0, top + 22, "center", INK_FAINT,
             "slower \u2190 1\u00d7 \u2192 faster");
    free(low);
    free(high);
}

static void put_cells(const struct pen *pen, size_t number, double farthest, bool words)
{
    const struct figure *const figure = pen->figure;
    const struct figure_panel *const panel = &figure->panels.items[number];
    (void)fprintf(pen->to, "$p%zu << EOD\n", number);
    for (size_t j = 0; j < panel->count; j++) {
        for (size_t k = 0; k < panel->items[j].count; k++) {
            const struct figure_value *const value = &panel->items[j].items[k];
            const double share = share_of(value->y, farthest);
            if (isfinite(share)) {
                /* The text's colour stands out from the cell's. */
                (void)fprintf(pen->to, "%.0f %zu %.2f %u %u\n", value->x,
                              place_of_row(figure, (size_t)value->low), value->y, color_of(share),
                              fabs(share) > 0.55 ? 0xffffffu : 0x222222u);
            }
        }
    }
    (void)fprintf(pen->to,
                  "EOD\nplot $p%zu using 1:2:($1-0.49):($1+0.49):($2-0.48):($2+0.48):4 with "
                  "boxxyerror lc rgb variable",
                  number);
    if (words) {
        (void)fputs(", '' using 1:2:(sprintf('%.2f', $3)):5 with labels tc rgb variable", pen->to);
    }
    (void)fputc('\n', pen->to);
}

static void put_columns(const struct pen *pen, double cell)
{
    const struct texts *const names = &pen->figure->categories;
    double last = -INFINITY;
    const char *between = "set xtics (";
    for (size_t i = 0; i < names->count; i++) {
        const double half = pen_text_width(names->items[i]) / 2;
        const double at = cell * ((double)i + 0.5);
        if (at - half > last + 6) {
            (void)fputs(between, pen->to);
            pen_quoted_tick(pen->to, names->items[i]);
            (void)fprintf(pen->to, " %zu", i);
            between = ", ";
            last = at + half;
        }
    }
    (void)fputs(") scale 0\n", pen->to);
}

static void put_rows(const struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    for (size_t i = 0; i < figure->rows.count; i++) {
        (void)fputs(i == 0 ? "set ytics (" : ", ", pen->to);
        pen_quoted_tick(pen->to, figure->rows.items[i]);
        (void)fprintf(pen->to, " %zu", place_of_row(figure, i));
    }
    (void)fputs(") scale 0\n", pen->to);
}

void draw_heat(struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    const size_t columns = columns_of(figure);
    const double farthest = farthest_of(figure);
    const double left = rows_width(figure);
    const double width = (double)PEN_WIDTH / (double)columns;
    const double cell = (width - left - GAP) / (double)figure->categories.count;
    put_scale(pen, farthest);
    (void)fprintf(pen->to, "unset border\nset xrange [-0.5:%zu.5]\nset yrange [-0.5:%zu.5]\n",
                  figure->categories.count - 1, figure->rows.count - 1);
    put_columns(pen, cell);
    put_rows(pen);
    (void)fputs("set multiplot\n", pen->to);
    for (size_t i = 0; i < figure->panels.count; i++) {
        const size_t row = i / columns;
        const double x = width * (double)(i % columns);
        const double top = PEN_TITLE + PEN_LEGEND + 14 + panel_height(figure) * (double)row + HEAD;
        const double bottom = top + CELL * (double)figure->rows.count;
        const struct pen_area area = {x + left, x + width - GAP, top, bottom};
        pen_panel_title(pen, x + 10, top - 27, figure->panels.items[i].title);
        pen_text(pen, x + 10, top - 10, "left", INK_FAINT, figure->y_label);
        pen_text(pen, (area.left + area.right) / 2, bottom + 32, "center", INK_FAINT,
                 figure->x_label);
        pen_area(pen, &area);
        put_cells(pen, i, farthest, cell > 29);
        (void)fputs("unset label\nunset object\n", pen->to);
    }
    (void)fputs("unset multiplot\n", pen->to);
}
