/* SPDX-License-Identifier: MIT */
/* The search itself, which knows nothing of devices. */
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stats.h"
#include "common/memory.h"

enum { LEAST_ROUNDS = 3, MOST_SWEEPS = 20 };

/* The least gain that counts: 0.2 %. */
static const double LEAST_GAIN = 0.002;

/* A configuration that was found to be wrong after it had been taken. */
struct banned {
    size_t *choices;
    char *why;
};

struct search {
    const struct tune_chain *chain;
    const struct tune_backend *backend;
    const struct tune_options *options;
    struct tune_result *result;
    double begin;
    struct banned *items;
    size_t count, capacity;
};

/* A point while it is measured. */
struct runner {
    struct tune_point *point;
    const size_t *choices;
    void *opened;
};

static size_t *copy_choices(const struct tune_chain *chain, const size_t *choices)
{
    size_t *copy = allocate(chain->kind_count, sizeof(*copy));
    memcpy(copy, choices, chain->kind_count * sizeof(*copy));
    return copy;
}

/* Whether the search must come to its end, and why. */
static bool is_over(struct search *search)
{
    struct tune_result *const result = search->result;
    if (result->ended_early == NULL && search->backend->interrupted(search->backend->self)) {
        result->ended_early = copy_text("interrupted");
    }
    if (result->ended_early == NULL &&
        search->backend->seconds(search->backend->self) - search->begin > search->options->budget) {
        result->ended_early = format_text("the budget of %g s is used up", search->options->budget);
    }
    return result->ended_early != NULL;
}

static bool is_interrupted(const struct search *search)
{
    return search->backend->interrupted(search->backend->self);
}

static void free_point(struct tune_point *point)
{
    free(point->why);
    free(point->items);
}

/* ---- measuring points against each other ------------------------------------------------------ */

static void close_runner(struct search *search, struct runner *runner)
{
    if (runner->opened != NULL) {
        search->backend->close(search->backend->self, runner->opened);
        runner->opened = NULL;
    }
}

static void take_sample(struct search *search, struct runner *runner, bool keep)
{
    struct tune_point *const point = runner->point;
    double us = NAN;
    point->state = search->backend->sample(search->backend->self, runner->opened, runner->choices,
                                           &us, &point->why);
    if (point->state != TUNE_RIGHT) {
        close_runner(search, runner);
    } else if (keep) {
        APPEND(point, us);
    }
}

/* A round is one sample of each that is still right, beginning with another one each time. Returns
 * whether it was finished. */
static bool run_round(struct search *search, struct runner *runners, size_t count, size_t round,
                      bool keep)
{
    for (size_t i = 0; i < count; i++) {
        struct runner *const runner = &runners[(i + round) % count];
        if (is_interrupted(search)) {
            return false;
        }
        if (runner->opened != NULL) {
            take_sample(search, runner, keep);
        }
    }
    return true;
}

static void summarize(struct tune_point *point, const struct tune_point *base)
{
    const size_t both = point->count < base->count ? point->count : base->count;
    const struct stats_ratio ratio = stats_ratio_of(point->items, base->items, both);
    point->us = stats_median(point->items, point->count);
    point->ratio = ratio.median;
    point->low = ratio.low;
    point->high = ratio.high;
}

/* Measures all of them in turns, and closes them. `base` is what they are compared with. */
static void measure_points(struct search *search, struct runner *runners, size_t count,
                           const struct tune_point *base, int rounds)
{
    (void)run_round(search, runners, count, 0, false); /* warms up */
    for (int round = 0; round < rounds && base->state == TUNE_RIGHT; round++) {
        if (round >= LEAST_ROUNDS && is_over(search)) {
            break;
        }
        if (!run_round(search, runners, count, (size_t)round, true)) {
            for (size_t i = 0; i < count; i++) { /* the same rounds of all */
                struct tune_point *const point = runners[i].point;
                point->count = point->count > (size_t)round ? (size_t)round : point->count;
            }
            break;
        }
    }
    for (size_t i = 0; i < count; i++) {
        summarize(runners[i].point, base);
        search->result->tried += runners[i].point->count > 0;
        close_runner(search, &runners[i]);
    }
}

static const struct banned *find_banned(const struct search *search, const size_t *choices)
{
    for (size_t i = 0; i < search->count; i++) {
        if (memcmp(search->items[i].choices, choices,
                   search->chain->kind_count * sizeof(*choices)) == 0) {
            return &search->items[i];
        }
    }
    return NULL;
}

static void open_runner(struct search *search, struct runner *runner, bool overlap)
{
    const struct banned *const banned = overlap ? find_banned(search, runner->choices) : NULL;
    if (banned != NULL) {
        runner->point->state = TUNE_RACE;
        runner->point->why = copy_text(banned->why);
        return;
    }
    runner->opened = search->backend->open(search->backend->self, runner->choices, overlap,
                                           &runner->point->state, &runner->point->why);
}

/* ---- one kind's choices ------------------------------------------------------------------------ */

/* The fastest that is right and faster than the base by more than the noise and than what counts; the
 * base if there is none. */
static size_t best_choice(const struct tune_curve *curve)
{
    size_t best = curve->at[curve->kind];
    double least = 1 - LEAST_GAIN;
    for (size_t i = 0; i < curve->count; i++) {
        const struct tune_point *const point = &curve->items[i];
        if (point->state == TUNE_RIGHT && point->count > 0 && point->high < 1 &&
            point->ratio < least) {
            least = point->ratio;
            best = point->choice;
        }
    }
    return best;
}

static void measure_curve(struct search *search, struct tune_curve *curve)
{
    const struct tune_kind *const kind = &search->chain->kinds[curve->kind];
    struct runner *const runners = allocate(kind->count, sizeof(*runners));
    size_t **const choices = allocate(kind->count, sizeof(size_t *));
    curve->count = kind->count;
    curve->items = allocate(kind->count, sizeof(*curve->items));
    for (size_t i = 0; i < kind->count; i++) {
        choices[i] = copy_choices(search->chain, curve->at);
        choices[i][curve->kind] = i;
        curve->items[i].choice = i;
        runners[i] = (struct runner){&curve->items[i], choices[i], NULL};
        open_runner(search, &runners[i], true);
    }
    measure_points(search, runners, kind->count, &curve->items[curve->at[curve->kind]],
                   search->options->rounds);
    curve->taken = best_choice(curve);
    for (size_t i = 0; i < kind->count; i++) {
        free(choices[i]);
    }
    free((void *)choices);
    free(runners);
}

/* ---- all kinds --------------------------------------------------------------------------------- */

static void set_start(const struct tune_chain *chain, size_t *choices)
{
    for (size_t i = 0; i < chain->kind_count; i++) {
        choices[i] = chain->kinds[i].start;
    }
}

static bool is_start(const struct tune_chain *chain, const size_t *choices)
{
    for (size_t i = 0; i < chain->kind_count; i++) {
        if (choices[i] != chain->kinds[i].start) {
            return false;
        }
    }
    return true;
}

/* What was best until now is wrong: it is not to be tried again, and the search starts anew. False
 * where it is what the search starts with. */
static bool ban(struct search *search, const struct tune_point *base)
{
    struct tune_result *const result = search->result;
    if (is_start(search->chain, result->chosen)) {
        result->failed = copy_text(base->why);
        return false;
    }
    const struct banned banned = {copy_choices(search->chain, result->chosen),
                                  copy_text(base->why)};
    APPEND(search, banned);
    set_start(search->chain, result->chosen);
    return true;
}

static void descend(struct search *search)
{
    struct tune_result *const result = search->result;
    const size_t kinds = search->chain->kind_count;
    size_t settled = 0; /* kinds in a row for which nothing better was found */
    for (size_t i = 0; settled < kinds && i / kinds < MOST_SWEEPS; i++) {
        const size_t kind = i % kinds;
        if (search->chain->kinds[kind].count < 2 && kinds > 1) {
            settled++;
            continue;
        }
        if (is_over(search)) {
            return;
        }
        struct tune_curve curve = {
            .kind = kind, .sweep = i / kinds, .at = copy_choices(search->chain, result->chosen)};
        measure_curve(search, &curve);
        result->sweeps = curve.sweep + 1;
        const struct tune_point *const base = &curve.items[result->chosen[kind]];
        const bool right = base->state == TUNE_RIGHT;
        settled = right && curve.taken == result->chosen[kind] ? settled + 1 : right ? 1 : 0;
        APPEND(result, curve);
        if (search->options->report != NULL) {
            search->options->report(search->chain, &curve);
        }
        if (right) {
            result->chosen[kind] = curve.taken;
        } else if (!ban(search, base)) {
            return;
        }
    }
}

/* ---- the last comparison ------------------------------------------------------------------------ */

/* What was found beside what it began with, and without overlap. */
static void compare_finals(struct search *search)
{
    struct tune_result *const result = search->result;
    struct runner runners[TUNE_FINALS];
    size_t *const start = allocate(search->chain->kind_count, sizeof(*start));
    const bool same = is_start(search->chain, result->chosen);
    const size_t count = same ? TUNE_CHOSEN : TUNE_FINALS;
    set_start(search->chain, start);
    for (size_t i = 0; i < count; i++) {
        runners[i] =
            (struct runner){&result->finals[i], i == TUNE_CHOSEN ? result->chosen : start, NULL};
        open_runner(search, &runners[i], i != TUNE_SERIAL);
    }
    measure_points(search, runners, count, &result->finals[TUNE_START],
                   2 * search->options->rounds);
    const struct tune_point *const chosen = &result->finals[TUNE_CHOSEN];
    if (result->finals[TUNE_START].state != TUNE_RIGHT) {
        result->failed = copy_text(result->finals[TUNE_START].why);
    }
    result->better = !same && chosen->state == TUNE_RIGHT && chosen->high < 1;
    if (!result->better || result->failed != NULL) {
        tune_take_back(search->chain, result);
    }
    free(start);
}

void tune_take_back(const struct tune_chain *chain, struct tune_result *result)
{
    set_start(chain, result->chosen);
    result->better = false;
}

void tune_search(const struct tune_chain *chain, const struct tune_backend *backend,
                 const struct tune_options *options, struct tune_result *result)
{
    struct search search = {
        .chain = chain, .backend = backend, .options = options, .result = result};
    search.begin = backend->seconds(backend->self);
    result->chosen = allocate(chain->kind_count, sizeof(*result->chosen));
    for (size_t i = 0; i < TUNE_FINALS; i++) {
        result->finals[i].us = result->finals[i].ratio = NAN;
    }
    set_start(chain, result->chosen);
    descend(&search);
    if (result->failed == NULL && !is_interrupted(&search)) {
        compare_finals(&search);
    }
    result->seconds = backend->seconds(backend->self) - search.begin;
    for (size_t i = 0; i < search.count; i++) {
        free(search.items[i].choices);
        free(search.items[i].why);
    }
    free(search.items);
}

void tune_result_free(struct tune_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        struct tune_curve *const curve = &result->items[i];
        for (size_t j = 0; j < curve->count; j++) {
            free_point(&curve->items[j]);
        }
        free(curve->items);
        free(curve->at);
    }
    for (size_t i = 0; i < TUNE_FINALS; i++) {
        free_point(&result->finals[i]);
    }
    free(result->items);
    free(result->chosen);
    free(result->ended_early);
    free(result->failed);
    memset(result, 0, sizeof(*result));
}
