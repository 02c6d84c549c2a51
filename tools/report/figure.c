/* SPDX-License-Identifier: MIT */
#include "report/figure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

static void replace(char **text, const char *with)
{
    char *copy = copy_text(with); /* which may be the text itself */
    free(*text);
    *text = copy;
}

struct figure *figure_new(struct figures *figures, enum figure_kind kind, char *name)
{
    struct figure *figure = allocate(1, sizeof(*figure));
    figure->kind = kind;
    figure->name = name;
    figure->title = copy_text("");
    figure->say = copy_text("");
    figure->x_label = copy_text("");
    figure->y_label = copy_text("");
    APPEND(figures, figure);
    return figure;
}

void figure_title(struct figure *figure, const char *title)
{
    replace(&figure->title, title);
}

void figure_axes(struct figure *figure, const char *x_label, const char *y_label)
{
    replace(&figure->x_label, x_label);
    replace(&figure->y_label, y_label);
}

static struct figure_panel *find_panel(struct figure *figure, const char *title)
{
    for (size_t i = 0; i < figure->panels.count; i++) {
        if (strcmp(figure->panels.items[i].title, title) == 0) {
            return &figure->panels.items[i];
        }
    }
    const struct figure_panel panel = {.title = copy_text(title)};
    APPEND(&figure->panels, panel);
    return &figure->panels.items[figure->panels.count - 1];
}

struct figure_series *figure_series(struct figure *figure, const char *panel, const char *name)
{
    struct figure_panel *const in = find_panel(figure, panel);
    for (size_t i = 0; i < in->count; i++) {
        if (strcmp(in->items[i].name, name) == 0) {
            return &in->items[i];
        }
    }
    const struct figure_series series = {.name = copy_text(name)};
    APPEND(in, series);
    return &in->items[in->count - 1];
}

void series_add(struct figure_series *series, double x, double y, double low, double high)
{
    const struct figure_value value = {x, y, low, high};
    if (isfinite(x) && isfinite(y)) {
        APPEND(series, value);
    }
}

void figure_mark(struct figure *figure, double at, const char *label)
{
    const struct figure_mark mark = {at, copy_text(label)};
    APPEND(&figure->marks, mark);
}

void figure_say(struct figure *figure, const char *format, ...)
{
    char *more = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&more, format, arguments);
    va_end(arguments);
    if (length >= 0) {
        char *longer = format_text("%s%s%s", figure->say, *figure->say != '\0' ? " " : "", more);
        free(more);
        free(figure->say);
        figure->say = longer;
    }
}

bool figure_is_empty(const struct figure *figure)
{
    for (size_t i = 0; i < figure->panels.count; i++) {
        for (size_t j = 0; j < figure->panels.items[i].count; j++) {
            if (figure->panels.items[i].items[j].count > 0) {
                return false;
            }
        }
    }
    return true;
}

static void free_panel(struct figure_panel *panel)
{
    for (size_t i = 0; i < panel->count; i++) {
        free(panel->items[i].name);
        free(panel->items[i].items);
    }
    free(panel->items);
    free(panel->title);
}

static void figure_free(struct figure *figure)
{
    for (size_t i = 0; i < figure->panels.count; i++) {
        free_panel(&figure->panels.items[i]);
    }
    for (size_t i = 0; i < figure->marks.count; i++) {
        free(figure->marks.items[i].label);
    }
    free(figure->panels.items);
    free(figure->marks.items);
    texts_free(&figure->categories);
    texts_free(&figure->rows);
    free(figure->name);
    free(figure->title);
    free(figure->say);
    free(figure->x_label);
    free(figure->y_label);
    free(figure->svg);
    free(figure->narrow);
    free(figure->failure);
    free(figure);
}

void figures_drop_last(struct figures *figures)
{
    figure_free(figures->items[--figures->count]);
}

void figures_free(struct figures *figures)
{
    while (figures->count > 0) {
        figures_drop_last(figures);
    }
    free(figures->items);
    memset(figures, 0, sizeof(*figures));
}
