/* SPDX-License-Identifier: MIT */
/* What the search found, as JSON. */
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>

#include "bench/gpu.h"
#include "common/json.h"

/* null where there is no number. */
static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *choice_object(const struct tune_kind *kind, size_t index)
{
    const struct tune_choice *const choice = &kind->items[index];
    json_t *object = json_new_object();
    json_set(object, "trigger", json_number(choice->trigger));
    if (choice->serial) {
        json_set(object, "overlap", json_boolean(false));
    }
    return object;
}

static void add_measured(json_t *object, const struct tune_point *point)
{
    static const char *const names[] = {"right", "refused", "wrong", "race"};
    const bool any = point->count > 0;
    json_set(object, "state", json_text(names[point->state]));
    json_set(object, "why", json_text(point->why));
    json_set(object, "us", any ? real_or_null(point->us) : json_null());
    json_set(object, "ratio", any ? real_or_null(point->ratio) : json_null());
    json_set(object, "ratio_low", any ? real_or_null(point->low) : json_null());
    json_set(object, "ratio_high", any ? real_or_null(point->high) : json_null());
}

static json_t *curve_object(const struct tune_chain *chain, const struct tune_curve *curve)
{
    const struct tune_kind *const kind = &chain->kinds[curve->kind];
    json_t *object = json_new_object();
    json_t *points = json_new_array();
    for (size_t i = 0; i < curve->count; i++) {
        json_t *point = choice_object(kind, curve->items[i].choice);
        add_measured(point, &curve->items[i]);
        json_add(points, point);
    }
    json_set(object, "sweep", json_number((int64_t)curve->sweep + 1));
    json_set(object, "kind", json_text(kind->name));
    json_set(object, "points", points);
    json_set(object, "taken", choice_object(kind, curve->taken));
    return object;
}

static json_t *kinds_array(const struct tune_chain *chain, const struct tune_result *result)
{
    json_t *array = json_new_array();
    for (size_t i = 0; i < chain->kind_count; i++) {
        const struct tune_kind *const kind = &chain->kinds[i];
        json_t *object = json_new_object();
        json_set(object, "name", json_text(kind->name));
        json_set(object, "start", choice_object(kind, kind->start));
        json_set(object, "chosen",
                 result->chosen != NULL ? choice_object(kind, result->chosen[i]) : json_null());
        json_add(array, object);
    }
    return array;
}

static json_t *finals_object(const struct tune_result *result)
{
    static const char *const keys[TUNE_FINALS] = {"no_overlap", "start", "chosen"};
    json_t *object = json_new_object();
    for (size_t i = 0; i < TUNE_FINALS; i++) {
        const struct tune_point *const point = &result->finals[i];
        json_t *final = json_null();
        if (point->count > 0 || point->why != NULL) {
            final = json_new_object();
            add_measured(final, point);
        }
        json_set(object, keys[i], final);
    }
    return object;
}

bool tune_print_json(const struct tune_chain *chain, const struct tune_result *result)
{
    char *excluded = tune_excluded(chain, result);
    json_t *root = json_new_object();
    json_t *curves = json_new_array();
    for (size_t i = 0; i < result->count; i++) {
        json_add(curves, curve_object(chain, &result->items[i]));
    }
    json_set(root, "version", json_number(2));
    json_set(root, "tool", json_text("pdltool tune"));
    json_set(root, "chain", json_text(chain->name));
    json_set(root, "gpu", json_text(gpu.name));
    json_set(root, "kinds", kinds_array(chain, result));
    json_set(root, "better", json_boolean(result->better));
    json_set(root, "last_comparison", finals_object(result));
    json_set(root, "exclude", json_text(excluded));
    json_set(root, "ended_early", json_text(result->ended_early));
    json_set(root, "failed", json_text(result->failed));
    json_set(root, "curves", curves);
    free(excluded);
    return json_print(root);
}
