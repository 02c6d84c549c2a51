/* SPDX-License-Identifier: MIT */
/* Ratios as colours around 1, in panels side by side. */
#include <math.h>
#include <stdlib.h>

#include "common/memory.h"
#include "report/pen.h"

enum { CELL = 30, ABOVE = 26, BELOW = 52 };

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

static size_t columns_of(const struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    if (pen->width < PEN_WIDE) {
        return 1;
    }
    const size_t count = figure->panels.count;
    const size_t wide = figure->categories.count > 12 ? 1 : figure->categories.count > 5 ? 2 : 3;
    return count < wide ? (count > 0 ? count : 1) : count == 4 && wide == 3 ? 2 : wide;
}

static double panel_height(const struct figure *figure)
{
    return CELL * (double)figure->rows.count + ABOVE + BELOW;
}

double height_of_heat(const struct pen *pen)
{
    const size_t columns = columns_of(pen);
    const size_t rows = (pen->figure->panels.count + columns - 1) / columns;
    return panel_height(pen->figure) * (double)rows;
}

/* What the colours mean: told apart without red and green, and in light and dark. */
static void put_scale(const struct pen *pen, double farthest)
{
    const double row = 1 / pen->height;
    (void)fprintf(
        pen->to,
        "set palette defined (-1 '#b5430e', 0 '#eeeeea', 1 '#0b5ca0') maxcolors 41\n"
        "set cbrange [%.7g:%.7g]\nset cbtics ('%s' %.7g, '1\u00d7' 0, '%s' %.7g) scale 0\n"
        "set colorbox horizontal user origin 0.3,%.5f size 0.4,%.5f noborder\n",
        -farthest, farthest, times_text(exp(-farthest)).text, -farthest,
        times_text(exp(farthest)).text, farthest, 1 - (pen->head - 40) * row, 12 * row);
}

static void put_panel(const struct pen *pen, const struct figure_panel *panel, double farthest)
{
    pen_set(pen, "title", panel->title);
    (void)fputs("$cells << EOD\n", pen->to);
    for (size_t j = 0; j < panel->count; j++) {
        for (size_t k = 0; k < panel->items[j].count; k++) {
            const struct figure_value *const value = &panel->items[j].items[k];
            const double distance = log(value->y);
            if (isfinite(distance)) {
                /* The text's colour stands out from the cell's. */
                (void)fprintf(pen->to, "%.0f %.0f %.7g %.2f %u\n", value->x, value->low, distance,
                              value->y, fabs(distance) > 0.55 * farthest ? 0xffffffu : 0x222222u);
            }
        }
    }
    (void)fputs("EOD\nplot $cells using 1:2:($1-0.49):($1+0.49):($2-0.48):($2+0.48):3 with "
                "boxxyerror lc palette, '' using 1:2:(sprintf('%.2f', $4)):5 with labels tc rgb "
                "variable\nunset colorbox\n",
                pen->to);
}

void draw_heat(const struct pen *pen)
{
    const struct figure *const figure = pen->figure;
    const size_t columns = columns_of(pen);
    const double width = (double)pen->width / (double)columns;
    const double height = panel_height(figure);
    const double farthest = farthest_of(figure);
    char *label = format_text("%s; rows: %s", figure->x_label, figure->y_label);
    put_scale(pen, farthest);
    (void)fprintf(pen->to,
                  "unset key\nunset border\nset xrange [-0.5:%zu.5]\nset yrange [%zu.5:-0.5]\n",
                  figure->categories.count - 1, figure->rows.count - 1);
    pen_named_tics(pen, 'x', &figure->categories, NULL);
    pen_named_tics(pen, 'y', &figure->rows, NULL);
    pen_set(pen, "xlabel", label);
    free(label);
    for (size_t i = 0; i < figure->panels.count; i++) {
        const size_t row = i / columns;
        pen_area(pen,
                 (struct pen_area){width * (double)(i % columns), pen->head + height * (double)row,
                                   width, height, ABOVE, BELOW});
        put_panel(pen, &figure->panels.items[i], farthest);
    }
}
