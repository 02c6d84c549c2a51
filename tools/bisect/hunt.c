/* SPDX-License-Identifier: MIT */
/* What is tested: the program as it is, without overlap, with the overlaps of all suspects, then ever fewer kernels, then
 * ever fewer of their launches. What is found is taken out and the rest is tested: there may be another culprit. */
#include "bisect/bisect.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/print.h"

enum { MOST_KERNELS = 64, MOST_LAUNCHES = 16, STEPS_OF_CHECKS = 2 };

static uint32_t suspect_count(const struct bisect *bisect)
{
    return (uint32_t)bisect->log.suspect_count;
}

static struct subset make_subset(const struct bisect *bisect)
{
    return subset_make(bisect->log.suspects, suspect_count(bisect));
}

/* Steps for the launches of some kernels. */
static uint32_t launch_steps(const struct bisect *bisect, uint64_t launches)
{
    return bisect->options.launches && launches > 1
               ? search_log2(launches < UINT32_MAX ? (uint32_t)launches : UINT32_MAX) + 2
               : 0;
}

/* And for those of one kernel, whichever it will be. */
static uint32_t later_steps(const struct bisect *bisect)
{
    uint64_t launches = 0;
    for (uint32_t i = 0; i < suspect_count(bisect); i++) {
        launches += bisect->log.suspects[i].count;
    }
    return launch_steps(bisect, suspect_count(bisect) > 0 ? launches / suspect_count(bisect) : 0) +
           STEPS_OF_CHECKS;
}

/* ---- kernels ---------------------------------------------------------------------------------- */

struct among { /* which suspects are searched */
    struct bisect *bisect;
    const uint32_t *kernels;
};

static enum search_verdict test_kernels(void *context, const uint32_t *set, uint32_t count,
                                        uint32_t left)
{
    const struct among *const among = context;
    struct subset subset = make_subset(among->bisect);
    for (uint32_t i = 0; i < count; i++) {
        subset.whole[among->kernels[set[i]]] = true;
    }
    const enum search_verdict verdict =
        steps_test(among->bisect, &subset, NULL, left + later_steps(among->bisect), false);
    subset_free(&subset);
    return verdict;
}

/* ---- launches --------------------------------------------------------------------------------- */

struct place {
    uint32_t kernel, index; /* of `nths` */
};

struct launches {
    struct bisect *bisect;
    const struct culprit *culprit;
    struct place *places;
    uint32_t count;
};

/* Sets those launches, and makes room for those of the culprit's other kernels. */
static struct subset of_launches(const struct launches *launches, const uint32_t *set,
                                 uint32_t count, bool value)
{
    struct subset subset = make_subset(launches->bisect);
    for (uint32_t i = 0; i < launches->culprit->count; i++) {
        const uint32_t kernel = launches->culprit->kernels[i];
        const uint32_t room = subset.suspects[kernel].count;
        subset.parts[kernel] = allocate(room, sizeof(bool));
        memset(subset.parts[kernel], !value, room * sizeof(bool));
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct place *const place = &launches->places[set[i]];
        subset.parts[place->kernel][place->index] = value;
    }
    return subset;
}

static enum search_verdict test_launches(void *context, const uint32_t *set, uint32_t count,
                                         uint32_t left)
{
    const struct launches *const launches = context;
    struct subset subset = of_launches(launches, set, count, true);
    const enum search_verdict verdict =
        steps_test(launches->bisect, &subset, NULL, left + 1, false);
    subset_free(&subset);
    return verdict;
}

/* Whether it passes where all but these launches overlap, and the kernels of no other culprit do. */
static bool check_other_launches(const struct launches *launches, const struct search_result *found,
                                 struct culprit *culprit)
{
    struct bisect *const bisect = launches->bisect;
    struct subset others = of_launches(launches, found->items, found->count, false);
    for (uint32_t i = 0; i < others.count; i++) {
        others.whole[i] = others.parts[i] == NULL;
    }
    for (size_t i = 0; i < bisect->culprits.count; i++) {
        for (uint32_t j = 0; j < bisect->culprits.items[i].count; j++) {
            const uint32_t kernel = bisect->culprits.items[i].kernels[j];
            others.whole[kernel] = false;
        }
    }
    const enum search_verdict verdict =
        steps_test(bisect, &others, "all launches but these overlap", 1, false);
    culprit->only_these = verdict == SEARCH_PASSES;
    subset_free(&others);
    return verdict != SEARCH_STOPPED;
}

static bool narrow_launches(struct bisect *bisect, struct culprit *culprit)
{
    struct launches launches = {.bisect = bisect, .culprit = culprit};
    struct search_result found = {0};
    uint64_t count = 0;
    for (uint32_t i = 0; i < culprit->count; i++) {
        count += bisect->log.suspects[culprit->kernels[i]].count;
    }
    if (!bisect->options.launches || count <= culprit->count ||
        count > UINT32_MAX / sizeof(struct place)) {
        return true;
    }
    launches.places = allocate(count, sizeof(struct place));
    for (uint32_t i = 0; i < culprit->count; i++) {
        for (uint32_t j = 0; j < bisect->log.suspects[culprit->kernels[i]].count; j++) {
            launches.places[launches.count++] =
                (struct place){.kernel = culprit->kernels[i], .index = j};
        }
    }
    const struct search search = {.count = launches.count,
                                  .most = MOST_LAUNCHES,
                                  .test = test_launches,
                                  .context = &launches};
    bool done = search_smallest(&search, &found);
    if (done) {
        subset_free(&culprit->subset);
        culprit->subset = of_launches(&launches, found.items, found.count, true);
        culprit->narrowed = true;
        culprit->narrowed_fully = found.complete;
        done = found.count == launches.count || check_other_launches(&launches, &found, culprit);
    }
    search_result_free(&found);
    free(launches.places);
    return done;
}

/* ---- the culprits ----------------------------------------------------------------------------- */

/* Searches among suspects that fail together. */
static bool find_culprit(struct bisect *bisect, const uint32_t *kernels, uint32_t count)
{
    struct among among = {.bisect = bisect, .kernels = kernels};
    struct search_result found = {0};
    const struct search search = {.count = count,
                                  .likely = bisect->culprits.count == 0 ? bisect->likely : 0,
                                  .most = MOST_KERNELS,
                                  .test = test_kernels,
                                  .context = &among};
    if (!search_smallest(&search, &found)) {
        search_result_free(&found);
        return false;
    }
    struct culprit culprit = {.kernels = found.items,
                              .unresolved = found.unresolved,
                              .count = found.count,
                              .complete = found.complete,
                              .subset = make_subset(bisect)};
    for (uint32_t i = 0; i < culprit.count; i++) {
        culprit.kernels[i] = kernels[found.items[i]];
        culprit.subset.whole[culprit.kernels[i]] = true;
    }
    APPEND(&bisect->culprits, culprit);
    return true;
}

/* Those that belong to no culprit; returns how many. */
static uint32_t take_rest(const struct bisect *bisect, uint32_t *kernels)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < suspect_count(bisect); i++) {
        bool taken = false;
        for (size_t j = 0; j < bisect->culprits.count; j++) {
            taken = taken || bisect->culprits.items[j].subset.whole[i];
        }
        if (!taken) {
            kernels[count++] = i;
        }
    }
    return count;
}

static enum search_verdict test_all(struct bisect *bisect, const uint32_t *kernels, uint32_t count,
                                    const char *what, uint32_t left)
{
    struct subset subset = make_subset(bisect);
    for (uint32_t i = 0; i < count; i++) {
        subset.whole[kernels[i]] = true;
    }
    const enum search_verdict verdict = steps_test(bisect, &subset, what, left, false);
    subset_free(&subset);
    return verdict;
}

static enum bisect_outcome find_culprits(struct bisect *bisect)
{
    uint32_t *const kernels = allocate((size_t)suspect_count(bisect) + 1, sizeof(*kernels));
    uint32_t count = take_rest(bisect, kernels);
    enum search_verdict verdict = test_all(bisect, kernels, count, "all suspects overlap",
                                           search_log2(count) + 1 + later_steps(bisect));
    enum bisect_outcome outcome = BISECT_FOUND;
    if (verdict == SEARCH_PASSES || verdict == SEARCH_SKIPPED) {
        outcome = verdict == SEARCH_PASSES ? BISECT_NOT_REPEATED : BISECT_NOT_JUDGED;
    }
    while (verdict == SEARCH_FAILS) {
        verdict = find_culprit(bisect, kernels, count) ? SEARCH_PASSES : SEARCH_STOPPED;
        if (verdict != SEARCH_STOPPED) {
            count = take_rest(bisect, kernels);
            verdict = count == 0 ? SEARCH_PASSES
                                 : test_all(bisect, kernels, count,
                                            "all kernels but those that were found overlap",
                                            later_steps(bisect));
        }
    }
    free(kernels);
    for (size_t i = 0; i < bisect->culprits.count && verdict != SEARCH_STOPPED; i++) {
        if (!narrow_launches(bisect, &bisect->culprits.items[i])) {
            verdict = SEARCH_STOPPED;
        }
    }
    return verdict == SEARCH_STOPPED ? bisect->outcome : outcome;
}

/* ---- before the search ------------------------------------------------------------------------ */

/* The run without overlap shows kernels that a run that failed had not come to, and launches of them. */
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
    const char *what = bisect->options.added ? "no overlap is added" : "nothing overlaps";
    if (steps_base(bisect) != SUBSET_ALL_OFF) {
        what = bisect->options.added ? what : "no suspect overlaps";
        if (!bisect->log.has_suspects) {
            suspects_find(bisect, NULL);
        }
    }
    if (!suspects_any(bisect)) {
        return BISECT_NO_OVERLAP;
    }
    struct subset none = make_subset(bisect);
    const unsigned runs = bisect->runs;
    const bool record = !bisect->log.has_suspects;
    steps_remove_recordings(bisect);
    const enum search_verdict verdict = steps_test(
        bisect, &none, what, search_log2(suspects_any(bisect)) + 2 + later_steps(bisect), record);
    subset_free(&none);
    if (verdict == SEARCH_PASSES && !bisect->log.has_suspects) {
        find_suspects(bisect);
    }
    switch (verdict) {
    case SEARCH_PASSES:
        return BISECT_FOUND;
    case SEARCH_FAILS:
        return record && bisect->runs > runs && !was_without(bisect) ? BISECT_NOT_OBSERVED
                                                                     : BISECT_NOT_OVERLAP;
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
    if (!bisect->has_watch && !steps_record(bisect)) {
        return bisect->outcome;
    }
    if (bisect->log.has_suspects && !suspects_compare(bisect)) {
        return BISECT_ABORTED;
    }
    const enum bisect_outcome without = test_without(bisect);
    return without == BISECT_FOUND ? find_culprits(bisect) : without;
}
