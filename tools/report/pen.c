/* SPDX-License-Identifier: MIT */
#include "report/pen.h"

#include <math.h>
#include <string.h>

#include "trace/text.h"

/* At least 3:1 against both a white and a nearly black page. */
#define GREY       0x808080
#define BLUE       0x0072b2
#define ORANGE     0xd55e00
#define GREEN      0x009e73
#define PINK       0xb8609a
#define LIGHT_BLUE 0x3a9bd9
#define GOLD       0xb07d00
#define VIOLET     0x7a64c8
#define BROWN      0x8f6a4a
#define RED        0xc0392b

#define SOLID  "solid"
#define BROKEN "(9,4)"

/* The ways to launch. raw CUDA's are solid lines with filled points; libpdl's counterpart is a broken line
 * with the same point, open, in another colour. */
static const struct known_style {
    const char *name;
    struct pen_style style;
} known_styles[] = {
    {"stream", {GREY, 7, SOLID}},
    {"stream-pdl", {BLUE, 5, SOLID}},
    {"libpdl", {ORANGE, 4, BROKEN}},
    {"graph", {BROWN, 13, SOLID}},
    {"graph-pdl", {GREEN, 11, SOLID}},
    {"chain", {PINK, 10, BROKEN}},
    {"<<<>>>", {GREY, 7, SOLID}},
    {"cudaLaunchKernel", {BROWN, 13, SOLID}},
    {"cudaLaunchKernelExC", {LIGHT_BLUE, 9, SOLID}},
    {"pdl_launch-symbol", {GOLD, 8, BROKEN}},
    {"cudaLaunchKernelEx", {GREEN, 11, SOLID}},
    {"pdl_launch_kernel", {PINK, 10, BROKEN}},
    {"cuLaunchKernelEx", {BLUE, 5, SOLID}},
    {"pdl_launch", {ORANGE, 4, BROKEN}},
    {"cooperative", {VIOLET, 15, SOLID}},
    {"pdl_launch-cooperative", {RED, 14, BROKEN}},
    {"cudaLaunchKernelExC-pdl", {GREEN, 9, SOLID}},
    {"cuLaunchKernelEx-pdl", {LIGHT_BLUE, 9, SOLID}},
    {"pdl_launch-auto", {GOLD, 8, BROKEN}},
};

static const struct pen_style *known_style(const char *name)
{
    const char *const kind = strstr(name, ": "); /* "raw: cuLaunchKernelEx" */
    name = kind != NULL ? kind + 2 : name;
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
    return style != NULL ? style->color : BLUE;
}

void pen_series_names(const struct figure *figure, struct texts *names)
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

/* Names that have no style of their own take the others' as well, so that no two are alike. */
struct pen_style pen_style(const struct figure *figure, const char *series)
{
    static const unsigned colors[] = {BLUE,       ORANGE, GREEN,  PINK,  GREY,
                                      LIGHT_BLUE, GOLD,   VIOLET, BROWN, RED};
    static const int points[] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};
    static const char *const dashes[] = {SOLID, BROKEN, "(2,3)"};
    enum { COLORS = sizeof(colors) / sizeof(colors[0]) };
    struct texts names = {.items = NULL};
    bool all_known = true;
    pen_series_names(figure, &names);
    for (size_t i = 0; i < names.count; i++) {
        all_known = all_known && known_style(names.items[i]) != NULL;
    }
    const struct pen_style *const known = known_style(series);
    const size_t place = texts_place(&names, series);
    texts_free(&names);
    if (all_known && known != NULL) {
        return *known;
    }
    return (struct pen_style){colors[place % COLORS], points[place % COLORS],
                              dashes[place / COLORS % (sizeof(dashes) / sizeof(dashes[0]))]};
}

static bool is_begin(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80; /* of a character of UTF-8 */
}

size_t pen_longest(const struct texts *texts)
{
    size_t longest = 0;
    for (size_t i = 0; i < texts->count; i++) {
        size_t length = 0;
        for (const char *at = texts->items[i]; *at != '\0'; at++) {
            length += is_begin(*at);
        }
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Between single quotes gnuplot takes everything as it is but the quote. It has a way to write one there,
 * which fails at the beginning of a text: an apostrophe is as good. */
static void put_quoted(FILE *to, const char *text, size_t most, bool format)
{
    size_t length = 0;
    (void)putc('\'', to);
    for (uint32_t c = pdl_text_next(&text); c != 0; c = pdl_text_next(&text)) {
        if (++length > most) {
            (void)fputs("\u2026", to);
            break;
        }
        if (c == '\'') {
            (void)fputs("\u2019", to);
        } else if (c == '%' && format) {
            (void)fputs("%%", to);
        } else {
            pdl_text_put(to, pdl_text_drawn(c));
        }
    }
    (void)putc('\'', to);
}

void pen_quoted(FILE *to, const char *text, size_t most)
{
    put_quoted(to, text, most, false);
}

void pen_set(const struct pen *pen, const char *command, const char *text)
{
    enum { LONGEST = 100 };
    (void)fprintf(pen->to, "set %s ", command);
    put_quoted(pen->to, text, LONGEST, false);
    (void)putc('\n', pen->to);
}

void pen_named_tics(const struct pen *pen, char axis, const struct texts *names,
                    const double *places)
{
    const size_t longest = pen->width == PEN_WIDE ? 42 : 24;
    const char *between = "";
    (void)fprintf(pen->to, "set %ctics (", axis);
    for (size_t i = 0; i < names->count; i++) {
        const double place = places != NULL ? places[i] : (double)i;
        if (isfinite(place)) {
            (void)fputs(between, pen->to);
            put_quoted(pen->to, names->items[i], longest, true); /* tics are formats */
            (void)fprintf(pen->to, " %.4g", place);
            between = ", ";
        }
    }
    (void)fputs(") scale 0 font ',13'\n", pen->to);
}

void pen_axis(const struct pen *pen, char axis, double from, double to)
{
    (void)fprintf(pen->to, "set %crange [%.7g:%.7g]\nset format %c '%s'\n", axis, from, to, axis,
                  to >= 1e6 && to < 1e15 ? "%.1s%c" : "%g");
}

void pen_area(const struct pen *pen, struct pen_area area)
{
    const double bottom = area.top + area.height;
    (void)fprintf(pen->to,
                  "set origin %.5f,%.5f\nset size %.5f,%.5f\n"
                  "set tmargin at screen %.5f\nset bmargin at screen %.5f\n",
                  area.left / pen->width, 1 - bottom / pen->height, area.width / pen->width,
                  area.height / pen->height, 1 - (area.top + area.above) / pen->height,
                  1 - (bottom - area.below) / pen->height);
}
