/* SPDX-License-Identifier: MIT */
/* What was found as JSON. docs/bisect.md documents the keys. */
#include <stdlib.h>

#include "bisect/bisect.h"
#include "common/json.h"
#include "common/memory.h"

enum { MOST_BEFORE = 16 };

static const char *outcome_word(enum bisect_outcome outcome)
{
    static const char *const words[] = {
        [BISECT_FOUND] = "found",
        [BISECT_NEVER_FAILS] = "never_fails",
        [BISECT_NO_OVERLAP] = "no_overlap",
        [BISECT_NOT_OVERLAP] = "not_overlap",
        [BISECT_NOT_JUDGED] = "not_judged",
        [BISECT_NOT_REPEATED] = "not_repeated",
        [BISECT_ABORTED] = "aborted",
        [BISECT_INTERRUPTED] = "interrupted",
        [BISECT_NOT_OBSERVED] = "not_observed",
    };
    return words[outcome];
}

static json_t *before_json(const struct bisect *bisect, uint32_t kernel)
{
    struct suspect_before before[MOST_BEFORE];
    const size_t count = suspects_before(bisect, kernel, before, MOST_BEFORE);
    json_t *array = json_new_array();
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_new_object();
        json_set(object, "kernel", json_shown(before[i].shown));
        json_set(object, "launches", json_number((int64_t)before[i].count));
        json_add(array, object);
    }
    return array;
}

static json_t *kernel_json(const struct bisect *bisect, const struct culprit *culprit,
                           uint32_t index)
{
    const uint32_t number = culprit->kernels[index];
    const struct watch_kernel *const kernel = suspects_kernel(bisect, number);
    char *const shown = suspects_shown(bisect, number);
    const struct suspect *const suspect = &bisect->suspects.items[number];
    char *const pattern = format_text("=%s", suspect->name);
    json_t *object = json_new_object();
    json_set(object, "name", json_shown(suspect->name));
    json_set(object, "shown", json_shown(shown));
    json_set(object, "unresolved", json_boolean(culprit->unresolved[index]));
    json_set(object, "launches_with_overlap", json_number((int64_t)suspect->launches));
    json_set(object, "behind", before_json(bisect, number));
    json_set(object, "waits", json_text(kernel != NULL ? known_name(kernel->waits) : NULL));
    json_set(object, "triggers", json_text(kernel != NULL ? known_name(kernel->triggers) : NULL));
    json_set(object, "race", json_text(kernel != NULL ? watch_race_word(kernel->race) : NULL));
    json_set(object, "finding", json_shown(kernel != NULL ? kernel->finding : NULL));
    json_set(object, "pattern", json_shown(pattern));
    free(shown);
    free(pattern);
    return object;
}

static json_t *culprits_json(const struct bisect *bisect)
{
    json_t *array = json_new_array();
    for (size_t i = 0; i < bisect->culprits.count; i++) {
        const struct culprit *const culprit = &bisect->culprits.items[i];
        json_t *object = json_new_object();
        json_t *kernels = json_new_array();
        for (uint32_t j = 0; j < culprit->count; j++) {
            json_add(kernels, kernel_json(bisect, culprit, j));
        }
        json_set(object, "kernels", kernels);
        json_set(object, "smallest", json_boolean(culprit->complete));
        json_add(array, object);
    }
    return array;
}

bool report_json(const struct bisect *bisect)
{
    json_t *root = json_new_object();
    json_set(root, "version", json_number(1));
    json_set(root, "outcome", json_text(outcome_word(bisect->outcome)));
    json_set(root, "suspects", json_number((int64_t)bisect->suspects.count));
    json_set(root, "steps", json_number((int64_t)bisect->steps.count));
    json_set(root, "runs", json_number(bisect->runs));
    json_set(root, "failure_chance", json_real(odds_of_failure(&bisect->odds)));
    json_set(root, "false_pass_chance", json_real(bisect->false_pass));
    json_set(root, "culprits", culprits_json(bisect));
    return json_print(root);
}
