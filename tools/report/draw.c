/* SPDX-License-Identifier: MIT */
#include "report/draw.h"

#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/pen.h"

enum { TITLE = 32, KEY_ROW = 18, SCALE = 52 };

static const struct kind {
    double (*height)(const struct pen *pen);
    void (*draw)(const struct pen *pen);
} kinds[] = {
    [FIGURE_LINES] = {height_of_lines, draw_lines}, [FIGURE_BARS] = {height_of_bars, draw_bars},
    [FIGURE_STACKS] = {height_of_bars, draw_bars},  [FIGURE_HEAT] = {height_of_heat, draw_heat},
    [FIGURE_SPANS] = {height_of_bars, draw_bars},
};

static void put_terminal(const struct pen *pen, enum draw_form form)
{
    static const char *const terminals[] = {
        [DRAW_SVG] = "svg dynamic font 'sans-serif,13'",
        [DRAW_SVG_NARROW] = "svg dynamic font 'sans-serif,13'",
        [DRAW_PNG] = "pngcairo font 'sans,13' fontscale 1.45 linewidth 2 pointscale 2",
        [DRAW_PNG_GD] = "png truecolor",
    };
    const int scale = form == DRAW_PNG ? 2 : 1;
    const int height = (int)pen->height;
    (void)fprintf(pen->to, "set encoding utf8\nset terminal %s noenhanced size %d,%d\n",
                  terminals[form], scale * pen->width, scale * height);
}

/* gnuplot takes letters to be wider than they are: the key is told so. */
static size_t key_excess(const struct texts *names)
{
    return pen_longest(names) / 5;
}

static size_t key_columns(const struct pen *pen, const struct texts *names)
{
    const size_t width = 9 * (pen_longest(names) - key_excess(names) + 8);
    return width <= (size_t)pen->width ? (size_t)pen->width / width : 1;
}

/* On a narrow page the title stands in the page. */
static double title_height(const struct pen *pen)
{
    return pen->width == PEN_WIDE ? TITLE : 4;
}

static double head_height(const struct pen *pen)
{
    struct texts names = {.items = NULL};
    pen_series_names(pen->figure, &names);
    const size_t columns = key_columns(pen, &names);
    const size_t rows = names.count > 1 ? (names.count + columns - 1) / columns : 0;
    texts_free(&names);
    return title_height(pen) + (pen->figure->kind == FIGURE_HEAT ? SCALE : (double)rows * KEY_ROW) +
           6;
}

/* The title, and the key of all panels: a plot of its own, whose curves lie outside it. */
static void put_head(const struct pen *pen)
{
    struct texts names = {.items = NULL};
    pen_area(pen, (struct pen_area){0, 0, pen->width, pen->head, title_height(pen), 0});
    (void)fputs("unset border\nunset tics\nset lmargin 0\nset rmargin 0\n", pen->to);
    (void)fputs("set title font ',15' offset 0,-1.1\n", pen->to);
    pen_set(pen, "title", pen->width == PEN_WIDE ? pen->figure->title : "");
    pen_series_names(pen->figure, &names);
    (void)fprintf(pen->to,
                  "set key center center horizontal Left reverse maxcols %zu width -%zu samplen 3\n"
                  "plot [0:1][0:1] -1 notitle",
                  key_columns(pen, &names), key_excess(&names));
    for (size_t i = 0; names.count > 1 && i < names.count; i++) {
        const struct pen_style style = pen_style(pen->figure, names.items[i]);
        if (pen->figure->kind == FIGURE_LINES) {
            (void)fprintf(pen->to, ", -1 with linespoints lw 2 pt %d ps 1.1 dt %s", style.point,
                          style.dash);
        } else {
            (void)fputs(", -1 with boxes", pen->to);
        }
        (void)fprintf(pen->to, " lc rgb '#%06x' title ", style.color);
        pen_quoted(pen->to, names.items[i], (size_t)pen->width / 9);
    }
    (void)fputs("\nunset key\nset lmargin -1\nset rmargin 2\nset title font ',13' offset 0,-0.7\n"
                "set border 3 lw 0.8\nset xtics nomirror out scale 0.4 offset 0,0.3 font ',11'\n"
                "set ytics nomirror out scale 0.4 font ',11'\nset xlabel offset 0,0.7\n",
                pen->to);
    texts_free(&names);
}

char *draw_script(const struct figure *figure, enum draw_form form)
{
    char *script = NULL;
    size_t length = 0;
    struct pen pen = {.figure = figure, .width = form == DRAW_SVG_NARROW ? PEN_NARROW : PEN_WIDE};
    pen.head = head_height(&pen);
    pen.height = pen.head + kinds[figure->kind].height(&pen);
    pen.to = memory_open(&script, &length);
    put_terminal(&pen, form);
    (void)fputs("set style fill solid 1 noborder\nset errorbars 0\nset multiplot\n", pen.to);
    put_head(&pen);
    kinds[figure->kind].draw(&pen);
    (void)fputs("unset multiplot\n", pen.to);
    memory_close(pen.to);
    return script;
}

/* gnuplot escapes no '>', which XML wants in this one place. Nothing that gnuplot writes has a section that ends so. */
static char *escape_section_ends(const char *drawn)
{
    static const char wrong[] = "]]>";
    char *text = NULL;
    size_t size = 0;
    FILE *const to = memory_open(&text, &size);
    for (const char *at; (at = strstr(drawn, wrong)) != NULL; drawn = at + strlen(wrong)) {
        (void)fwrite(drawn, 1, (size_t)(at - drawn), to);
        (void)fputs("]]&gt;", to);
    }
    (void)fputs(drawn, to);
    memory_close(to);
    return text;
}

char *draw_for_both(const char *drawn)
{
    static const char before[] = "</desc>";
    const char *const at = strstr(drawn, before);
    if (at == NULL || strstr(at, "</svg>") == NULL) {
        return NULL;
    }
    const char *const rest = at + strlen(before);
    char *const safe = escape_section_ends(rest);
    char *const both =
        format_text("%.*s\n<style>:root { color: #1f2328 }\n"
                    "@media (prefers-color-scheme: dark) { :root { color: #e6edf3 } }\n"
                    "[color=black] { color: inherit } [stroke=black] { stroke: currentColor }\n"
                    "[fill=black] { fill: currentColor }\n"
                    ".gridline { stroke: currentColor; stroke-opacity: .16 }\n"
                    "#gnuplot_canvas { pointer-events: none }</style>%s", /* no tooltips */
                    (int)(rest - drawn), drawn, safe);
    free(safe);
    return both;
}
