/* SPDX-License-Identifier: MIT */
/* The curves that `pdltool tune` measured, as maps: a panel a kind of link, by trigger and grid. */
#include "report/tuned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

bool tuned_is(const json_t *root)
{
    return json_is_string(json_object_get(root, "chain")) &&
           json_is_array(json_object_get(root, "kinds")) &&
           json_is_array(json_object_get(root, "curves"));
}

static double number_at(const json_t *object, const char *key)
{
    const json_t *const value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* `132`, `132 × 2`. */
static char *grid_text(const json_t *choice)
{
    const json_t *const grid = json_object_get(choice, "grid");
    size_t last = 0;
    char *text = copy_text("");
    for (size_t i = 0; i < json_array_size(grid); i++) {
        last = json_integer_value(json_array_get(grid, i)) > 1 ? i : last;
    }
    for (size_t i = 0; i < json_array_size(grid) && i <= last; i++) {
        char *longer = format_text("%s%s%lld", text, i > 0 ? " \u00d7 " : "",
                                   (long long)json_integer_value(json_array_get(grid, i)));
        free(text);
        text = longer;
    }
    return text;
}

static char *trigger_text(const json_t *choice)
{
    const long long trigger = (long long)json_integer_value(json_object_get(choice, "trigger"));
    return trigger < 0 ? copy_text("none") : format_text("%lld", trigger);
}

static char *choice_text(const json_t *choice)
{
    if (!json_is_object(choice)) {
        return copy_text("\u2013");
    }
    char *trigger = trigger_text(choice);
    char *grid = grid_text(choice);
    char *text = format_text("trigger %s, grid %s", trigger, grid);
    free(grid);
    free(trigger);
    return text;
}

static bool read_kinds(const json_t *root, struct report_tuned *tuned)
{
    const json_t *const kinds = json_object_get(root, "kinds");
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const json_t *const kind = json_array_get(kinds, i);
        const char *const name = json_string_value(json_object_get(kind, "name"));
        if (name == NULL) {
            return false;
        }
        texts_add(&tuned->choices, name);
        texts_take(&tuned->choices, choice_text(json_object_get(kind, "start")));
        texts_take(&tuned->choices, choice_text(json_object_get(kind, "chosen")));
    }
    return true;
}

/* The last curve of a kind is the one around what was chosen. */
static const json_t *last_curve(const json_t *root, const char *kind)
{
    const json_t *const curves = json_object_get(root, "curves");
    const json_t *last = NULL;
    for (size_t i = 0; i < json_array_size(curves); i++) {
        const json_t *const curve = json_array_get(curves, i);
        const char *const name = json_string_value(json_object_get(curve, "kind"));
        last = name != NULL && strcmp(name, kind) == 0 ? curve : last;
    }
    return last;
}

static size_t add_curve(struct figure *figure, const json_t *curve, const char *kind)
{
    const json_t *const points = json_object_get(curve, "points");
    size_t wrong = 0;
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *const point = json_array_get(points, i);
        const char *const state = json_string_value(json_object_get(point, "state"));
        const double ratio = number_at(point, "ratio");
        if (state == NULL || strcmp(state, "right") != 0) {
            wrong++;
        } else if (ratio > 0) {
            char *trigger = trigger_text(point);
            char *grid = grid_text(point);
            const size_t column = texts_place(&figure->categories, trigger);
            const size_t row = texts_place(&figure->rows, grid);
            series_add(figure_series(figure, kind, ""), (double)column, 1 / ratio, (double)row,
                       NAN);
            free(grid);
            free(trigger);
        }
    }
    return wrong;
}

static void say_result(struct figure *figure, const json_t *root)
{
    const json_t *const finals = json_object_get(root, "last_comparison");
    const json_t *const chosen = json_object_get(finals, "chosen");
    const char *const failed = json_string_value(json_object_get(root, "failed"));
    const double us = number_at(chosen, "us");
    const double start = number_at(json_object_get(finals, "start"), "us");
    const double without = number_at(json_object_get(finals, "no_overlap"), "us");
    if (failed != NULL) {
        figure_say(figure, "Nothing was chosen: %s.", failed);
    } else if (isfinite(us)) {
        figure_say(figure, "Chosen: %s; before: %s; without overlap: %s.", unit_text(us, "us").text,
                   unit_text(start, "us").text, unit_text(without, "us").text);
        if (isfinite(number_at(chosen, "ratio"))) {
            figure_say(figure,
                       "What was chosen takes %.3f times what it was (95 %%: %.3f to %.3f).",
                       number_at(chosen, "ratio"), number_at(chosen, "ratio_low"),
                       number_at(chosen, "ratio_high"));
        }
    }
}

static void make_map(const json_t *root, const char *name, struct report_tuned *tuned)
{
    size_t wrong = 0;
    struct figure *const figure =
        figure_new(&tuned->figures, FIGURE_HEAT, file_name("tune", name, "", ""));
    for (size_t i = 0; i + 2 < tuned->choices.count; i += 3) {
        const json_t *const curve = last_curve(root, tuned->choices.items[i]);
        wrong += curve != NULL ? add_curve(figure, curve, tuned->choices.items[i]) : 0;
    }
    char *title = format_text("%s: how many times as fast as what it was", tuned->chain);
    figure_title(figure, title);
    free(title);
    figure_axes(figure, "trigger", "blocks");
    say_result(figure, root);
    if (wrong > 0) {
        figure_say(figure, "%zu of the last curves' points %s wrong or refused, and left out.",
                   wrong, wrong == 1 ? "was" : "were");
    }
    if (figure_is_empty(figure)) {
        figures_drop_last(&tuned->figures);
    }
}

bool tuned_read(const json_t *root, const char *name, struct report_tuned *tuned)
{
    const char *const gpu = json_string_value(json_object_get(root, "gpu"));
    const char *const ended = json_string_value(json_object_get(root, "ended_early"));
    tuned->name = copy_text(name);
    tuned->chain = copy_text(json_string_value(json_object_get(root, "chain")));
    tuned->ended = ended != NULL ? copy_text(ended) : NULL;
    tuned->where = format_text(
        "%s%s%lld configurations in %s", gpu != NULL ? gpu : "", gpu != NULL ? ", " : "",
        (long long)json_integer_value(json_object_get(root, "configurations")),
        unit_text(number_at(root, "seconds"), "s").text);
    if (!read_kinds(root, tuned)) {
        tuned_free(tuned);
        return false;
    }
    make_map(root, name, tuned);
    return true;
}

void tuned_free(struct report_tuned *tuned)
{
    free(tuned->name);
    free(tuned->chain);
    free(tuned->where);
    free(tuned->ended);
    texts_free(&tuned->choices);
    figures_free(&tuned->figures);
}
