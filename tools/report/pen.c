/* SPDX-License-Identifier: MIT */
#include "report/pen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

enum { LEGEND_SWATCH = 34, LEGEND_GAP = 18, LEFT_EDGE = 10 };

/* Told apart by those who see no red or no green, and at least 3:1 against both a white and a nearly black
 * page: Okabe and Ito's palette with its light colours darkened. */
static const unsigned palette[] = {
    0x0072b2, 0xd55e00, 0x009e73, 0xb8609a, 0x808080,
    0x3a9bd9, 0xb07d00, 0x7a64c8, 0x8f6a4a, 0x4f9a3a,
};
enum { PALETTE = sizeof(palette) / sizeof(palette[0]) };

/* gnuplot's dashes. */
#define SOLID  "1"
#define BROKEN "(5,3)"
#define DOTTED "(1.5,2.5)"

/* The ways to launch. libpdl's are broken lines with open circles on what is raw CUDA's, so that both are
 * seen where they are the same. */
static const struct known_style {
    const char *name;
    struct pen_style style;
} known_styles[] = {
    {"stream", {0x808080, 7, SOLID}},
    {"stream-pdl", {0x3a9bd9, 5, SOLID}},
    {"libpdl", {0x0072b2, 6, BROKEN}},
    {"graph", {0xb8609a, 9, SOLID}},
    {"graph-pdl", {0xc98a1b, 11, SOLID}},
    {"chain", {0xd55e00, 6, BROKEN}},
    {"<<<>>>", {0x808080, 7, SOLID}},
    {"cudaLaunchKernel", {0x8f6a4a, 13, SOLID}},
    {"cudaLaunchKernelExC", {0xb07d00, 9, SOLID}},
    {"pdl_launch-symbol", {0xb07d00, 6, BROKEN}},
    {"cudaLaunchKernelEx", {0x009e73, 11, SOLID}},
    {"pdl_launch_kernel", {0x009e73, 6, BROKEN}},
    {"cuLaunchKernelEx", {0x0072b2, 5, SOLID}},
    {"pdl_launch", {0x0072b2, 6, BROKEN}},
    {"cooperative", {0x7a64c8, 7, SOLID}},
    {"pdl_launch-cooperative", {0x7a64c8, 6, BROKEN}},
    {"cudaLaunchKernelExC-pdl", {0xb07d00, 8, DOTTED}},
    {"cuLaunchKernelEx-pdl", {0x3a9bd9, 5, SOLID}},
    {"pdl_launch-auto", {0x3a9bd9, 6, BROKEN}},
};

static const struct pen_style *known_style(const char *name)
{
    for (size_t i = 0; i < sizeof(known_styles) / sizeof(known_styles[0]); i++) {
        if (strcmp(known_styles[i].name, name) == 0) {
            return &known_styles[i].style;
        }
    }
    return NULL;
}

unsigned pen_category_color(const char *name)
{
    const struct pen_style *const style = known_style(name);
    return style != NULL ? style->color : palette[0];
}

static void legend_names(const struct figure *figure, struct texts *names)
{
    for (size_t i = 0; i < figure->panels.count; i++) {
        const struct figure_panel *const panel = &figure->panels.items[i];
        for (size_t j = 0; j < panel->count; j++) {
            if (panel->items[j].count > 0 && *panel->items[j].name != '\0') {
                (void)texts_place(names, panel->items[j].name);
            }
        }
    }
}

/* Whether one of the names that have a colour of their own has this one. */
static bool is_taken(const struct texts *names, size_t turn)
{
    bool taken = false;
    for (size_t i = 0; i < names->count && turn < PALETTE; i++) {
        const struct pen_style *const known = known_style(names->items[i]);
        taken = taken || (known != NULL && known->color == palette[turn]);
    }
    return taken;
}

struct pen_style pen_style(const struct figure *figure, const char *series)
{
    static const int points[] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};
    static const char *const dashes[] = {SOLID, BROKEN, DOTTED};
    enum { DASHES = sizeof(dashes) / sizeof(dashes[0]) };
    struct texts names = {NULL, 0, 0};
    const struct pen_style *const known = known_style(series);
    if (known != NULL) {
        return *known;
    }
    legend_names(figure, &names);
    (void)texts_place(&names, series);
    size_t turn = 0; /* of those that are in use */
    while (is_taken(&names, turn)) {
        turn++;
    }
    for (size_t i = 0; i < names.count && strcmp(names.items[i], series) != 0; i++) {
        if (known_style(names.items[i]) == NULL) {
            do {
                turn++;
            } while (is_taken(&names, turn));
        }
    }
    texts_free(&names);
    const struct pen_style style = {palette[turn % PALETTE], points[turn % PALETTE],
                                    dashes[turn / PALETTE % DASHES]};
    return style;
}

const char *pen_ink(const struct pen *pen, enum pen_ink ink)
{
    static const char *const inks[][2] = {
        [INK_TEXT] = {"black", "#1f2328"},   [INK_FAINT] = {"#808083", "#59636e"},
        [INK_GRID] = {"#808081", "#e4e7ea"}, [INK_MARK] = {"#808082", "#59636e"},
        [INK_AXIS] = {"#808082", "#8c959f"},
    };
    return inks[ink][pen->form != DRAW_SVG];
}

double pen_text_width(const char *text)
{
    double width = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (((unsigned char)*at & 0xc0) != 0x80) {
            width += strchr("il.,:;|'()[]/ fjtI", *at) != NULL     ? 4.6
                     : strchr("mwMW%@", *at) != NULL || *at == '<' ? 10.5
                                                                   : 7.5;
        }
    }
    return width;
}

char *pen_shortened(const char *text, double width)
{
    if (pen_text_width(text) <= width) {
        return copy_text(text);
    }
    char *part = copy_text(text);
    size_t length = strlen(part);
    while (length > 0 && pen_text_width(part) + 8 > width) {
        do { /* whole characters */
            length--;
        } while (length > 0 && ((unsigned char)part[length] & 0xc0) == 0x80);
        part[length] = '\0';
    }
    char *shortened = format_text("%s\u2026", part);
    free(part);
    return shortened;
}

/* Between single quotes gnuplot takes everything as it is but the quote. It has a way to write one there,
 * which fails at the beginning of a text: an apostrophe is as good. */
static void put_quoted(FILE *to, const char *text, bool format)
{
    (void)putc('\'', to);
    for (const char *at = text; *at != '\0'; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c == '\'') {
            (void)fputs("\u2019", to);
        } else if (c == '%' && format) {
            (void)fputs("%%", to);
        } else {
            (void)putc(c < 0x20 || c == 0x7f ? ' ' : c, to);
        }
    }
    (void)putc('\'', to);
}

void pen_quoted(FILE *to, const char *text)
{
    put_quoted(to, text, false);
}

void pen_quoted_tick(FILE *to, const char *text)
{
    put_quoted(to, text, true);
}

static double screen_x(double x)
{
    return x / PEN_WIDTH;
}

static double screen_y(const struct pen *pen, double y)
{
    return 1 - y / pen->height;
}

static void put_text(struct pen *pen, double x, double y, const char *align, const char *ink,
                     const char *font, const char *text)
{
    (void)fprintf(pen->to, "set label %d ", ++pen->labels);
    pen_quoted(pen->to, text);
    (void)fprintf(pen->to, " at screen %.5f,%.5f %s tc rgb '%s' %s\n", screen_x(x),
                  screen_y(pen, y), align, ink, font);
}

void pen_text(struct pen *pen, double x, double y, const char *align, enum pen_ink ink,
              const char *text)
{
    if (*text != '\0') {
        put_text(pen, x, y, align, pen_ink(pen, ink), "", text);
    }
}

void pen_panel_title(struct pen *pen, double x, double y, const char *text)
{
    if (*text != '\0') {
        put_text(pen, x, y, "left", pen_ink(pen, INK_TEXT), "", text);
    }
}

void pen_grid(const struct pen *pen, const char *axes)
{
    (void)fprintf(pen->to, "set grid %s lt 1 lw 1 lc rgb '%s', lt 1 lw 1 lc rgb '%s'\n", axes,
                  pen_ink(pen, INK_GRID), pen_ink(pen, INK_GRID));
}

void pen_area(const struct pen *pen, const struct pen_area *area)
{
    (void)fprintf(pen->to,
                  "set lmargin at screen %.5f\nset rmargin at screen %.5f\n"
                  "set tmargin at screen %.5f\nset bmargin at screen %.5f\n",
                  screen_x(area->left), screen_x(area->right), screen_y(pen, area->top),
                  screen_y(pen, area->bottom));
}

/* ---- the legend ------------------------------------------------------------------------------- */

static double swatch_width(const struct figure *figure)
{
    return figure->kind == FIGURE_LINES ? LEGEND_SWATCH : 22;
}

static double legend_width(const struct figure *figure, const char *name)
{
    return swatch_width(figure) + pen_text_width(name) + LEGEND_GAP;
}

int pen_legend_rows(const struct figure *figure)
{
    struct texts names = {NULL, 0, 0};
    double x = LEFT_EDGE;
    int rows = 1;
    legend_names(figure, &names);
    for (size_t i = 0; i < names.count; i++) {
        const double width = legend_width(figure, names.items[i]);
        if (x > LEFT_EDGE && x + width > PEN_WIDTH) {
            x = LEFT_EDGE;
            rows++;
        }
        x += width;
    }
    rows = names.count > 1 ? rows : 0;
    texts_free(&names);
    return figure->kind == FIGURE_HEAT ? 1 : rows;
}

static void put_swatch(struct pen *pen, double x, double y, const struct pen_style *style)
{
    if (pen->figure->kind != FIGURE_LINES) {
        (void)fprintf(pen->to,
                      "set object %d rectangle from screen %.5f,%.5f to screen %.5f,%.5f "
                      "fc rgb '#%06x' fs solid 1 noborder front\n",
                      ++pen->objects, screen_x(x + 2), screen_y(pen, y + 5), screen_x(x + 16),
                      screen_y(pen, y - 6), style->color);
        return;
    }
    (void)fprintf(pen->to,
                  "set arrow %d from screen %.5f,%.5f to screen %.5f,%.5f nohead lw 2 dt %s "
                  "lc rgb '#%06x' front\n",
                  ++pen->arrows, screen_x(x), screen_y(pen, y), screen_x(x + 28), screen_y(pen, y),
                  style->dash, style->color);
    if (!pen->figure->stepped) {
        (void)fprintf(
            pen->to,
            "set label %d '' at screen %.5f,%.5f point pt %d ps 0.9 lc rgb '#%06x' front\n",
            ++pen->labels, screen_x(x + 14), screen_y(pen, y), style->point, style->color);
    }
}

static void put_legend(struct pen *pen)
{
    struct texts names = {NULL, 0, 0};
    double x = LEFT_EDGE;
    double y = PEN_TITLE + 9;
    legend_names(pen->figure, &names);
    for (size_t i = 0; i < names.count && names.count > 1; i++) {
        const double width = legend_width(pen->figure, names.items[i]);
        const struct pen_style style = pen_style(pen->figure, names.items[i]);
        if (x > LEFT_EDGE && x + width > PEN_WIDTH) {
            x = LEFT_EDGE;
            y += PEN_LEGEND;
        }
        put_swatch(pen, x, y, &style);
        pen_text(pen, x + swatch_width(pen->figure), y, "left", INK_TEXT, names.items[i]);
        x += width;
    }
    texts_free(&names);
}

void pen_begin(struct pen *pen)
{
    (void)fputs("set encoding utf8\n", pen->to);
    if (pen->form == DRAW_SVG) {
        (void)fprintf(pen->to,
                      "set terminal svg noenhanced size %d,%d dynamic font 'sans-serif,13'\n",
                      PEN_WIDTH, pen->height);
    } else if (pen->form == DRAW_PNG) {
        (void)fprintf(pen->to,
                      "set terminal pngcairo noenhanced size %d,%d font 'sans,13' fontscale 1.45 "
                      "linewidth 2 pointscale 2 background '#ffffff'\n",
                      2 * PEN_WIDTH, 2 * pen->height);
    } else {
        (void)fprintf(pen->to, "set terminal png noenhanced truecolor size %d,%d\n", PEN_WIDTH,
                      pen->height);
    }
    (void)fprintf(pen->to,
                  "set border 3 lw 0.8 lc rgb '%s'\nset tics nomirror out scale 0.4\n"
                  "set style fill solid 1 noborder\nset errorbars small\nunset key\n"
                  "unset grid\n",
                  pen_ink(pen, INK_AXIS));
    char *title = pen_shortened(pen->figure->title, (PEN_WIDTH - LEFT_EDGE) * 13.0 / 15);
    put_text(pen, LEFT_EDGE, PEN_TITLE / 2.0, "left", pen_ink(pen, INK_TEXT), "font ',15'", title);
    free(title);
    if (pen->figure->kind != FIGURE_HEAT) {
        put_legend(pen);
    }
}

/* ---- axes ------------------------------------------------------------------------------------- */

void pen_range_take(struct pen_range *range, double value)
{
    if (isfinite(value)) {
        range->from = value < range->from || isnan(range->from) ? value : range->from;
        range->to = value > range->to || isnan(range->to) ? value : range->to;
    }
}

static void add_tick(struct pen_ticks *ticks, double value)
{
    if (ticks->count < (int)(sizeof(ticks->items) / sizeof(ticks->items[0]))) {
        ticks->items[ticks->count++] = value;
    }
}

struct pen_ticks pen_ticks_linear(struct pen_range *range, double room, double least, bool widen)
{
    static const double steps[] = {1, 2, 5, 10};
    struct pen_ticks ticks = {{0}, 0};
    const double span = range->to - range->from;
    const double most = room / least > 2 ? room / least : 2;
    if (!(span > 0) || !isfinite(span)) {
        add_tick(&ticks, range->from);
        return ticks;
    }
    const double power = pow(10, floor(log10(span / most)));
    double step = power * 10;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (span / (power * steps[i]) <= most) {
            step = power * steps[i];
            break;
        }
    }
    const double slack = 1e-9 * step;
    if (widen) {
        range->from = step * floor((range->from + slack) / step);
        range->to = step * ceil((range->to - slack) / step);
    }
    const double first = ceil((range->from - slack) / step);
    const int count = (int)floor((range->to + slack) / step - first) + 1;
    for (int i = 0; i < count; i++) {
        const double n = first + i;
        add_tick(&ticks, n == 0 ? 0 : n * step);
    }
    return ticks;
}

struct pen_ticks pen_ticks_log(const struct pen_range *range, double room, double least)
{
    static const double sparse[] = {1, 2, 5};
    static const double dense[] = {1, 1.5, 2, 3, 4, 5, 6, 8};
    struct pen_ticks ticks = {{0}, 0};
    const double decades = log10(range->to / range->from);
    const double most = room / least;
    const bool close = decades < 0.75;
    const double *const all = close ? dense : sparse;
    const int steps = close ? (int)(sizeof(dense) / sizeof(dense[0]))
                      : decades * 3 <= most || decades < 1.2 ? 3
                                                             : 1;
    const int every = steps == 1 ? (int)ceil(decades / most) : 1;
    const int last = (int)floor(log10(range->to));
    for (int power = (int)floor(log10(range->from)); power <= last; power += every) {
        for (int i = 0; i < steps; i++) {
            const double value = pow(10, power) * all[i];
            if (value >= range->from * 0.999 && value <= range->to * 1.001) {
                add_tick(&ticks, value);
            }
        }
    }
    return ticks;
}

/* In which unit all ticks of an axis are written. */
static double tick_unit(const struct pen_ticks *ticks)
{
    double most = 0;
    for (int i = 0; i < ticks->count; i++) {
        most = fabs(ticks->items[i]) > most ? fabs(ticks->items[i]) : most;
    }
    return most < 1e6 ? 1 : most < 1e9 ? 1e6 : 1e9;
}

char *pen_tick_text(const struct pen_ticks *ticks, double value)
{
    const double unit = tick_unit(ticks);
    if (unit > 1) {
        return format_text("%.4g%s", value / unit, value == 0 ? "" : unit > 1e6 ? "G" : "M");
    }
    return fabs(value) >= 1000 ? value_text(value) : format_text("%.6g", value);
}

double pen_tick_width(const struct pen_ticks *ticks)
{
    double width = 0;
    for (int i = 0; i < ticks->count; i++) {
        char *text = pen_tick_text(ticks, ticks->items[i]);
        const double own = pen_text_width(text);
        width = own > width ? own : width;
        free(text);
    }
    return width;
}

void pen_put_ticks(const struct pen *pen, char axis, const struct pen_ticks *ticks, bool words)
{
    (void)fprintf(pen->to, "set %ctics (", axis);
    for (int i = 0; i < ticks->count; i++) {
        char *text = pen_tick_text(ticks, ticks->items[i]);
        (void)fputs(i > 0 ? ", " : "", pen->to);
        pen_quoted_tick(pen->to, words ? text : "");
        (void)fprintf(pen->to, " %.10g", ticks->items[i]);
        free(text);
    }
    (void)fputs(")\n", pen->to);
}
