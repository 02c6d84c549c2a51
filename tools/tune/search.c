/* SPDX-License-Identifier: MIT */
/* The search itself, which knows nothing of devices. */
#include "tune/tune.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stats.h"
#include "common/memory.h"

const char *const tune_state_names[] = {"right", "refused", "wrong", "race"};
const char *const tune_final_names[TUNE_FINALS] = {"no overlap", "start", "chosen"};

enum { LEAST_ROUNDS = 3, MOST_SWEEPS = 20 };

/* A configuration that was found to be wrong after it had been taken. */
struct banned {
    size_t *choices;
    char *why;
};

struct search {
    const struct tune_job *job;
    const struct tune_backend *backend;
    const struct tune_options *options;
    struct tune_result *result;
    double begin;
    struct banned *items;
    size_t count, capacity;
    uint64_t random; /* state */
};

/* A point while it is measured. */
struct runner {
    struct tune_point *point;
    const size_t *choices;
    void *opened;
};

static size_t *copy_choices(const struct tune_job *job, const size_t *choices)
{
    size_t *copy = allocate(job->kind_count, sizeof(*copy));
    memcpy(copy, choices, job->kind_count * sizeof(*copy));
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
    const struct stats stats = stats_of(point->items, point->count);
    const size_t both = point->count < base->count ? point->count : base->count;
    const struct stats_ratio ratio = stats_ratio_of(point->items, base->items, both);
    point->us = stats.median;
    point->p25 = stats.p25;
    point->p75 = stats.p75;
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
        if (memcmp(search->items[i].choices, choices, search->job->kind_count * sizeof(*choices)) ==
            0) {
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
static size_t best_choice(const struct search *search, const struct tune_curve *curve)
{
    size_t best = curve->at[curve->kind];
    double least = 1 - search->options->gain;
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
    const struct tune_kind *const kind = &search->job->kinds[curve->kind];
    struct runner *const runners = allocate(kind->count, sizeof(*runners));
    size_t **const choices = allocate(kind->count, sizeof(size_t *));
    curve->count = kind->count;
    curve->items = allocate(kind->count, sizeof(*curve->items));
    for (size_t i = 0; i < kind->count; i++) {
        choices[i] = copy_choices(search->job, curve->at);
        choices[i][curve->kind] = i;
        curve->items[i].choice = i;
        runners[i] = (struct runner){&curve->items[i], choices[i], NULL};
        open_runner(search, &runners[i], true);
    }
    measure_points(search, runners, kind->count, &curve->items[curve->at[curve->kind]],
                   search->options->rounds);
    curve->taken = best_choice(search, curve);
    for (size_t i = 0; i < kind->count; i++) {
        free(choices[i]);
    }
    free((void *)choices);
    free(runners);
}

/* ---- all kinds --------------------------------------------------------------------------------- */

static void set_start(const struct tune_job *job, size_t *choices)
{
    for (size_t i = 0; i < job->kind_count; i++) {
        choices[i] = job->kinds[i].start;
    }
}

static bool is_start(const struct tune_job *job, const size_t *choices)
{
    for (size_t i = 0; i < job->kind_count; i++) {
        if (choices[i] != job->kinds[i].start) {
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
    if (is_start(search->job, result->chosen)) {
        result->failed = copy_text(base->why);
        return false;
    }
    const struct banned banned = {copy_choices(search->job, result->chosen), copy_text(base->why)};
    APPEND(search, banned);
    set_start(search->job, result->chosen);
    return true;
}

static void descend(struct search *search)
{
    struct tune_result *const result = search->result;
    const size_t kinds = search->job->kind_count;
    const size_t first_sweep = result->sweeps;
    size_t settled = 0; /* kinds in a row for which nothing better was found */
    for (size_t i = 0; settled < kinds && i / kinds < MOST_SWEEPS; i++) {
        const size_t kind = i % kinds;
        if (search->job->kinds[kind].count < 2 && kinds > 1) {
            settled++;
            continue;
        }
        if (is_over(search)) {
            return;
        }
        struct tune_curve curve = {.kind = kind,
                                   .sweep = first_sweep + i / kinds,
                                   .at = copy_choices(search->job, result->chosen)};
        measure_curve(search, &curve);
        result->sweeps = curve.sweep + 1;
        const struct tune_point *const base = &curve.items[result->chosen[kind]];
        const bool right = base->state == TUNE_RIGHT;
        settled = right && curve.taken == result->chosen[kind] ? settled + 1 : right ? 1 : 0;
        APPEND(result, curve);
        if (search->options->report != NULL) {
            search->options->report(search->job, result, &curve);
        }
        if (right) {
            result->chosen[kind] = curve.taken;
        } else if (!ban(search, base)) {
            return;
        }
    }
}

/* ---- restarts ---------------------------------------------------------------------------------- */

/* xorshift64*: the same disturbances in every run. */
static size_t random_below(struct search *search, size_t count)
{
    search->random ^= search->random >> 12;
    search->random ^= search->random << 25;
    search->random ^= search->random >> 27;
    return count == 0 ? 0
                      : (size_t)((search->random * UINT64_C(2685821657736338717)) >> 33) % count;
}

static const struct tune_curve *last_curve(const struct tune_result *result, size_t kind)
{
    for (size_t i = result->count; i-- > 0;) {
        if (result->items[i].kind == kind) {
            return &result->items[i];
        }
    }
    return NULL;
}

/* Another choice for a kind, one of the better half of those that were right. */
static void disturb_kind(struct search *search, size_t kind)
{
    struct tune_result *const result = search->result;
    const struct tune_curve *const curve = last_curve(result, kind);
    if (curve == NULL) {
        return;
    }
    double *const ratios = allocate(curve->count, sizeof(*ratios));
    for (size_t i = 0; i < curve->count; i++) {
        const struct tune_point *const point = &curve->items[i];
        ratios[i] = point->state == TUNE_RIGHT && point->count > 0 ? point->ratio : NAN;
    }
    const double middle = stats_median(ratios, curve->count);
    const size_t first = random_below(search, curve->count);
    for (size_t i = 0; i < curve->count; i++) {
        const size_t at = (first + i) % curve->count;
        if (ratios[at] <= middle && at != result->chosen[kind]) {
            result->chosen[kind] = at;
            break;
        }
    }
    free(ratios);
}

/* Keeps what was best before unless what was found now is faster. */
static void compare_with(struct search *search, const size_t *before)
{
    struct tune_result *const result = search->result;
    struct tune_point points[2] = {{0}, {0}};
    struct runner runners[2] = {{&points[0], before, NULL}, {&points[1], result->chosen, NULL}};
    for (size_t i = 0; i < 2; i++) {
        open_runner(search, &runners[i], true);
    }
    measure_points(search, runners, 2, &points[0], search->options->rounds);
    const bool better = points[1].state == TUNE_RIGHT && points[1].count > 0 &&
                        points[1].high < 1 && points[1].ratio < 1 - search->options->gain;
    if (!better && points[0].state == TUNE_RIGHT) {
        memcpy(result->chosen, before, search->job->kind_count * sizeof(*before));
    }
    for (size_t i = 0; i < 2; i++) {
        free_point(&points[i]);
    }
}

/* A descent may end where only a change of two kinds at once gets any further. */
static void restart(struct search *search)
{
    struct tune_result *const result = search->result;
    const size_t kinds = search->job->kind_count;
    for (int i = 0; i < search->options->restarts && result->failed == NULL && !is_over(search);
         i++) {
        size_t *const before = copy_choices(search->job, result->chosen);
        const size_t first = random_below(search, kinds);
        disturb_kind(search, first);
        if (kinds > 1) {
            disturb_kind(search, (first + 1 + random_below(search, kinds - 1)) % kinds);
        }
        descend(search);
        if (result->failed == NULL && !is_interrupted(search)) {
            compare_with(search, before);
        } else {
            memcpy(result->chosen, before, kinds * sizeof(*before));
        }
        free(before);
    }
}

/* What was found beside what it began with, and without overlap. */
static void compare_finals(struct search *search)
{
    struct tune_result *const result = search->result;
    struct runner runners[TUNE_FINALS];
    size_t *const start = allocate(search->job->kind_count, sizeof(*start));
    const bool same = is_start(search->job, result->chosen);
    const size_t count = same ? TUNE_CHOSEN : TUNE_FINALS;
    set_start(search->job, start);
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
        tune_take_back(search->job, result);
    }
    free(start);
}

void tune_take_back(const struct tune_job *job, struct tune_result *result)
{
    set_start(job, result->chosen);
    result->better = false;
}

void tune_search(const struct tune_job *job, const struct tune_backend *backend,
                 const struct tune_options *options, struct tune_result *result)
{
    struct search search = {.job = job, .backend = backend, .options = options, .result = result};
    search.begin = backend->seconds(backend->self);
    search.random = UINT64_C(88172645463325252);
    result->chosen = allocate(job->kind_count, sizeof(*result->chosen));
    for (size_t i = 0; i < TUNE_FINALS; i++) {
        result->finals[i].us = result->finals[i].ratio = NAN;
    }
    set_start(job, result->chosen);
    descend(&search);
    restart(&search);
    if (result->failed == NULL && !is_interrupted(&search)) {
        compare_finals(&search);
    }
    result->seconds = backend->seconds(backend->self) - search.begin;
    if (options->report != NULL) {
        options->report(job, result, NULL);
    }
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

void tune_job_free(struct tune_job *job)
{
    if (job->destroy != NULL) {
        job->destroy(job->self);
    }
    for (size_t i = 0; i < job->kind_count; i++) {
        free(job->kinds[i].name);
        free(job->kinds[i].kernel);
        free(job->kinds[i].items);
    }
    free(job->kinds);
    free(job->name);
    memset(job, 0, sizeof(*job));
}
