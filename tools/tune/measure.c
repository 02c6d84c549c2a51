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
    const struct tune_chain *chain;
    int batch;
    unsigned char *wanted; /* what `batch` replays come to without overlap */
    unsigned char *got;
};

/* Replays of a chain. */
struct replays {
    pdl_chain *built;
    int count;
};

static void replay(void *context)
{
    const struct replays *const replays = context;
    for (int i = 0; i < replays->count; i++) {
        MUST_PDL(pdl_chain_launch(replays->built, gpu.stream));
    }
}

/* us a replay; what was computed is in `to`. */
static double run(const struct tune_chain *chain, pdl_chain *built, int count, unsigned char *to)
{
    struct replays replays = {built, count};
    tune_reset(chain);
    const double us = gpu_time(replay, &replays).device_us / count;
    tune_results(chain, to);
    return us;
}

static bool differs(const struct bench_side *side, const unsigned char *wanted)
{
    return memcmp(side->got, wanted, side->chain->result_bytes) != 0;
}

static void close_chain(void *self, void *opened)
{
    (void)self;
    gpu_wait();
    pdl_chain_destroy(opened);
}

/* Whether it computes the same without overlap: then it was the overlap. */
static enum tune_state find_cause(const struct bench_side *side, const size_t *choices, char **why)
{
    pdl_chain *const built = tune_build(side->chain, choices, PDL_OVERLAP_NONE, why);
    if (built == NULL) {
        return TUNE_REFUSED;
    }
    (void)run(side->chain, built, side->batch, side->got);
    pdl_chain_destroy(built);
    const bool wrong = differs(side, side->wanted);
    *why = copy_text(wrong ? "its result is wrong, also without overlap"
                           : "with overlap its result is wrong: a race");
    return wrong ? TUNE_WRONG : TUNE_RACE;
}

static void *open_chain(void *self, const size_t *choices, bool overlap, enum tune_state *state,
                        char **why)
{
    const struct bench_side *const side = self;
    pdl_chain *const built =
        tune_build(side->chain, choices, overlap ? PDL_OVERLAP_AUTO : PDL_OVERLAP_NONE, why);
    *state = built != NULL ? TUNE_RIGHT : TUNE_REFUSED;
    return built;
}

static enum tune_state sample_chain(void *self, void *opened, const size_t *choices, double *us,
                                    char **why)
{
    const struct bench_side *const side = self;
    *us = run(side->chain, opened, side->batch, side->got);
    return differs(side, side->wanted) ? find_cause(side, choices, why) : TUNE_RIGHT;
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

/* What every configuration must come to: the result without overlap, twice the same. A sample is as many replays as
 * take about 2 ms. False with the reason. */
static bool find_wanted(struct bench_side *side, char **why)
{
    enum { MICROSECONDS = 2000, MOST_REPLAYS = 200 };
    const struct tune_chain *const chain = side->chain;
    size_t *const start = allocate(chain->kind_count, sizeof(*start));
    for (size_t i = 0; i < chain->kind_count; i++) {
        start[i] = chain->kinds[i].start;
    }
    pdl_chain *const built = tune_build(chain, start, PDL_OVERLAP_NONE, why);
    free(start);
    if (built == NULL) {
        return false;
    }
    (void)run(chain, built, 1, side->got); /* loads the kernels */
    const double fit = ceil(MICROSECONDS / run(chain, built, 1, side->got));
    side->batch = fit < 1 ? 1 : fit > MOST_REPLAYS ? MOST_REPLAYS : (int)fit;
    (void)run(chain, built, side->batch, side->wanted);
    (void)run(chain, built, side->batch, side->got);
    pdl_chain_destroy(built);
    if (differs(side, side->wanted)) {
        *why =
            copy_text("without any overlap the chain computes something else from run to run, and "
                      "nothing can be checked against it");
        return false;
    }
    return true;
}

void tune_measure(const struct tune_chain *chain, const struct tune_options *options,
                  struct tune_result *result)
{
    struct bench_side side = {.chain = chain,
                              .wanted = allocate(chain->result_bytes, 1),
                              .got = allocate(chain->result_bytes, 1)};
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
        tune_search(chain, &backend, options, result);
    }
    if (result->failed == NULL) {
        result->failed = tune_changed_constant(chain);
        if (result->failed != NULL) {
            tune_take_back(chain, result);
        }
    }
    free(side.wanted);
    free(side.got);
}
