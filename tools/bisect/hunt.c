/* SPDX-License-Identifier: MIT */
/* What is tested: the program as it is, without overlap, with the overlaps of all suspects, then ever fewer kernels. What is
 * found is taken out and the rest is tested: there may be another culprit. */
#include "bisect/bisect.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/print.h"

enum { MOST_KERNELS = 64 };

/* Tests those suspects. */
static enum search_verdict test(struct bisect *bisect, const uint32_t *kernels, uint32_t count,
                                const char *what, uint32_t left, bool record)
{
    bool *const set = allocate(bisect->suspects.count + 1, sizeof(*set));
    memset(set, 0, (bisect->suspects.count + 1) * sizeof(*set));
    for (uint32_t i = 0; i < count; i++) {
        set[kernels[i]] = true;
    }
    const enum search_verdict verdict = steps_test(bisect, set, what, left, record);
    free(set);
    return verdict;
}

/* ---- the culprits ----------------------------------------------------------------------------- */

struct among { /* which suspects are searched */
    struct bisect *bisect;
    const uint32_t *kernels;
};

static enum search_verdict test_among(void *context, const uint32_t *set, uint32_t count,
                                      uint32_t left)
{
    const struct among *const among = context;
    uint32_t *const kernels = allocate((size_t)count + 1, sizeof(*kernels));
    for (uint32_t i = 0; i < count; i++) {
        kernels[i] = among->kernels[set[i]];
    }
    const enum search_verdict verdict = test(among->bisect, kernels, count, NULL, left + 1, false);
    free(kernels);
    return verdict;
}

/* Searches among suspects that fail together. */
static bool find_culprit(struct bisect *bisect, const uint32_t *kernels, uint32_t count)
{
    struct among among = {.bisect = bisect, .kernels = kernels};
    struct search_result found = {0};
    const struct search search = {.count = count,
                                  .likely = bisect->culprits.count == 0 ? bisect->likely : 0,
                                  .most = MOST_KERNELS,
                                  .test = test_among,
                                  .context = &among};
    if (!search_smallest(&search, &found)) {
        search_result_free(&found);
        return false;
    }
    const struct culprit culprit = {.kernels = found.items,
                                    .unresolved = found.unresolved,
                                    .count = found.count,
                                    .complete = found.complete};
    for (uint32_t i = 0; i < culprit.count; i++) {
        culprit.kernels[i] = kernels[found.items[i]];
    }
    APPEND(&bisect->culprits, culprit);
    return true;
}

static bool is_culprit(const struct bisect *bisect, uint32_t suspect)
{
    for (size_t i = 0; i < bisect->culprits.count; i++) {
        for (uint32_t j = 0; j < bisect->culprits.items[i].count; j++) {
            if (bisect->culprits.items[i].kernels[j] == suspect) {
                return true;
            }
        }
    }
    return false;
}

/* Those that belong to no culprit; returns how many. */
static uint32_t take_rest(const struct bisect *bisect, uint32_t *kernels)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < bisect->suspects.count; i++) {
        if (!is_culprit(bisect, i)) {
            kernels[count++] = i;
        }
    }
    return count;
}

static enum bisect_outcome find_culprits(struct bisect *bisect)
{
    uint32_t *const kernels = allocate(bisect->suspects.count + 1, sizeof(*kernels));
    uint32_t count = take_rest(bisect, kernels);
    enum search_verdict verdict =
        test(bisect, kernels, count, "all suspects overlap", search_log2(count) + 2, false);
    enum bisect_outcome outcome = BISECT_FOUND;
    if (verdict == SEARCH_PASSES || verdict == SEARCH_SKIPPED) {
        outcome = verdict == SEARCH_PASSES ? BISECT_NOT_REPEATED : BISECT_NOT_JUDGED;
    }
    while (verdict == SEARCH_FAILS) {
        verdict = find_culprit(bisect, kernels, count) ? SEARCH_PASSES : SEARCH_STOPPED;
        if (verdict != SEARCH_STOPPED) {
            count = take_rest(bisect, kernels);
            verdict = count == 0 ? SEARCH_PASSES
                                 : test(bisect, kernels, count,
                                        "all kernels but those that were found overlap", 0, false);
        }
    }
    free(kernels);
    return verdict == SEARCH_STOPPED ? bisect->outcome : outcome;
}

/* ---- before the search ------------------------------------------------------------------------ */

/* The run without overlap shows kernels that a run that failed had not come to. */
static void find_suspects(struct bisect *bisect)
{
    struct watch second = {0};
    const bool is_there = access(bisect->record, F_OK) == 0 && suspects_read(bisect, &second);
    suspects_find(bisect, is_there ? &second : NULL);
    watch_free(&second);
}

/* A run that failed shows something only if the rules that remove overlap were in force. */
static bool was_without(struct bisect *bisect)
{
    struct watch second = {0};
    const bool read = suspects_read(bisect, &second);
    if (!read) {
        print_error("the run without overlap was not observed: it left no readable recording");
    }
    const bool observed = read && suspects_observed(bisect, &second);
    watch_free(&second);
    return observed;
}

/* Without overlap it has to pass. */
static enum bisect_outcome test_without(struct bisect *bisect)
{
    const uint32_t any = suspects_any(bisect);
    const char *what = bisect->options.added ? "no overlap is added" : "nothing overlaps";
    if (any == 0) {
        return BISECT_NO_OVERLAP;
    }
    if (steps_base(bisect) != BISECT_ALL_OFF) {
        what = bisect->options.added ? what : "no suspect overlaps";
        suspects_find(bisect, NULL);
    }
    const bool record = !bisect->has_suspects;
    steps_remove_recordings(bisect);
    switch (test(bisect, NULL, 0, what, search_log2(any) + 3, record)) {
    case SEARCH_PASSES:
        if (record) {
            find_suspects(bisect);
        }
        return BISECT_FOUND;
    case SEARCH_FAILS:
        return record && !was_without(bisect) ? BISECT_NOT_OBSERVED : BISECT_NOT_OVERLAP;
    case SEARCH_SKIPPED:
        return BISECT_NOT_JUDGED;
    default:
        return bisect->outcome;
    }
}

enum bisect_outcome hunt(struct bisect *bisect)
{
    const enum search_verdict as_is = steps_as_is(bisect);
    if (as_is == SEARCH_STOPPED) {
        return bisect->outcome;
    }
    if (as_is != SEARCH_FAILS) {
        return as_is == SEARCH_PASSES ? BISECT_NEVER_FAILS : BISECT_NOT_JUDGED;
    }
    const enum bisect_outcome without = test_without(bisect);
    return without == BISECT_FOUND ? find_culprits(bisect) : without;
}
