/* SPDX-License-Identifier: MIT */
/* Configurations measured on the device: chains behind a gate, each sample's result compared. */
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "common/memory.h"

struct bench_side {
    const struct tune_job *job;
    int batch;
    unsigned char *wanted; /* what `batch` replays come to without overlap */
    unsigned char *once;   /* what one comes to */
    unsigned char *got;
};

/* Replays of a chain. */
struct replays {
    pdl_chain *chain;
    int count;
};

static void replay(void *context)
{
    const struct replays *const replays = context;
    for (int i = 0; i < replays->count; i++) {
        MUST_PDL(pdl_chain_launch(replays->chain, gpu.stream));
    }
}

/* us a replay; what was computed is in `to`. */
static double run(const struct tune_job *job, pdl_chain *chain, int count, unsigned char *to)
{
    struct replays replays = {chain, count};
    job->reset(job->self);
    const double us = gpu_time(replay, &replays).device_us / count;
    job->results(job->self, to);
    return us;
}

static bool differs(const struct bench_side *side, const unsigned char *wanted)
{
    return memcmp(side->got, wanted, side->job->result_bytes) != 0;
}

static void close_chain(void *self, void *opened)
{
    (void)self;
    gpu_wait();
    pdl_chain_destroy(opened);
}

/* Whether it computes the same without overlap: then it was the overlap. */
static enum tune_state find_cause(const struct bench_side *side, const size_t *choices,
                                  const char *race, char **why)
{
    const struct tune_job *const job = side->job;
    pdl_chain *const chain = job->build(job->self, choices, PDL_OVERLAP_NONE, why);
    if (chain == NULL) {
        return TUNE_REFUSED;
    }
    (void)run(job, chain, side->batch, side->got);
    pdl_chain_destroy(chain);
    if (differs(side, side->wanted)) {
        *why = copy_text("its result is wrong, also without overlap");
        return TUNE_WRONG;
    }
    *why = copy_text(race);
    return TUNE_RACE;
}

/* One replay with faults injected: kernels that keep the rules compute what they compute without. */
static enum tune_state try_faults(const struct bench_side *side, const size_t *choices, char **why)
{
    const struct tune_job *const job = side->job;
    if (job->build_faulty == NULL) {
        return TUNE_RIGHT;
    }
    pdl_chain *const chain = job->build_faulty(job->self, choices, why);
    if (chain == NULL) {
        return TUNE_REFUSED;
    }
    (void)run(job, chain, 1, side->got);
    pdl_chain_destroy(chain);
    return differs(side, side->once)
               ? find_cause(side, choices, "with injected faults its result is wrong: a race", why)
               : TUNE_RIGHT;
}

static void *open_chain(void *self, const size_t *choices, bool overlap, enum tune_state *state,
                        char **why)
{
    const struct bench_side *const side = self;
    *state = overlap ? try_faults(side, choices, why) : TUNE_RIGHT;
    if (*state != TUNE_RIGHT) {
        return NULL;
    }
    pdl_chain *const chain = side->job->build(side->job->self, choices,
                                              overlap ? PDL_OVERLAP_AUTO : PDL_OVERLAP_NONE, why);
    *state = chain != NULL ? TUNE_RIGHT : TUNE_REFUSED;
    return chain;
}

static enum tune_state sample_chain(void *self, void *opened, const size_t *choices, double *us,
                                    char **why)
{
    const struct bench_side *const side = self;
    *us = run(side->job, opened, side->batch, side->got);
    if (!differs(side, side->wanted)) {
        return TUNE_RIGHT;
    }
    return find_cause(side, choices, "with overlap its result is wrong: a race", why);
}

static double seconds(void *self)
{
    (void)self;
    return 1e-9 * host_ns();
}

static bool interrupted(void *self)
{
    (void)self;
    return bench_interrupted != 0;
}

/* What every configuration must come to: the result without overlap, twice the same. False with the
 * reason. */
static bool find_wanted(struct bench_side *side, char **why)
{
    enum { MICROSECONDS = 2000, MOST_REPLAYS = 200 };
    const struct tune_job *const job = side->job;
    size_t *const start = allocate(job->kind_count, sizeof(*start));
    for (size_t i = 0; i < job->kind_count; i++) {
        start[i] = job->kinds[i].start;
    }
    pdl_chain *const chain = job->build(job->self, start, PDL_OVERLAP_NONE, why);
    free(start);
    if (chain == NULL) {
        return false;
    }
    (void)run(job, chain, 1, side->once); /* loads the kernels */
    const double us = run(job, chain, 1, side->once);
    if (side->batch == 0) {
        const double fit = ceil(MICROSECONDS / us);
        side->batch = fit < 1 ? 1 : fit > MOST_REPLAYS ? MOST_REPLAYS : (int)fit;
    }
    (void)run(job, chain, side->batch, side->wanted);
    (void)run(job, chain, side->batch, side->got);
    pdl_chain_destroy(chain);
    if (differs(side, side->wanted)) {
        *why =
            copy_text("without any overlap the chain computes something else from run to run, and "
                      "nothing can be checked against it");
        return false;
    }
    return true;
}

void tune_measure(const struct tune_job *job, const struct tune_options *options, int batch,
                  struct tune_result *result)
{
    struct bench_side side = {.job = job,
                              .batch = batch,
                              .wanted = allocate(job->result_bytes, 1),
                              .once = allocate(job->result_bytes, 1),
                              .got = allocate(job->result_bytes, 1)};
    const struct tune_backend backend = {
        .self = &side,
        .open = open_chain,
        .sample = sample_chain,
        .close = close_chain,
        .seconds = seconds,
        .interrupted = interrupted,
    };
    if (find_wanted(&side, &result->failed)) {
        result->batch = side.batch;
        tune_search(job, &backend, options, result);
    }
    if (job->finish != NULL && result->failed == NULL) {
        result->failed = job->finish(job->self);
        if (result->failed != NULL) {
            tune_take_back(job, result);
        }
    }
    free(side.wanted);
    free(side.once);
    free(side.got);
}
