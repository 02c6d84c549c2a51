/* SPDX-License-Identifier: MIT */
#include "report/draw.h"

#include <stdlib.h>

#include "common/memory.h"
#include "report/pen.h"

char *draw_script(const struct figure *figure, enum draw_form form)
{
    static const struct {
        int (*height)(const struct figure *figure);
        void (*draw)(struct pen *pen);
    } kinds[] = {
        [FIGURE_LINES] = {height_of_lines, draw_lines}, [FIGURE_BARS] = {height_of_bars, draw_bars},
        [FIGURE_STACKS] = {height_of_bars, draw_bars},  [FIGURE_HEAT] = {height_of_heat, draw_heat},
        [FIGURE_SPANS] = {height_of_bars, draw_bars},
    };
    char *script = NULL;
    size_t length = 0;
    struct pen pen = {.figure = figure, .form = form};
    pen.to = open_memstream(&script, &length);
    if (pen.to == NULL) {
        return copy_text("");
    }
    pen.legend_rows = pen_legend_rows(figure);
    pen.height = kinds[figure->kind].height(figure);
    pen_begin(&pen);
    kinds[figure->kind].draw(&pen);
    (void)fclose(pen.to);
    return script;
}
