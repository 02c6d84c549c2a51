/* SPDX-License-Identifier: MIT */
/* What PDL gives: kernels of chosen length, by where the trigger stands. Here the lines of many kernels;
 * pairs with stamps are in suite_overlap_pairs.c. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/kernels/overlap.h"
#include "bench/line.h"
#include "bench/suite_overlap.h"
#include "bench/suites.h"
#include "common/memory.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- what is varied ---------------------------------------------------------------------------- */

enum fill { FILL_HALF, FILL_MOST, FILL_SMS, FILL_TWO, FILL_WAVES };
static const char *const fill_names[] = {"half", "most", "sms", "two", "waves"};

enum shared { SHARED_NONE, SHARED_FITS, SHARED_ALONE };
static const char *const shared_names[] = {"none", "fits", "alone"};

struct line_config {
    enum line_way way;
    bool working;
    bool one_result; /* of one block, else of all */
    unsigned block;  /* threads */
    enum fill fill;
    enum shared shared;
    unsigned prologue, before, after; /* cycles */
    enum overlap_trigger trigger;
};

/* Blocks of a grid; `resident` is how many an SM has room for. */
static unsigned blocks(enum fill fill, unsigned resident)
{
    const unsigned sms = (unsigned)gpu.multiprocessors;
    switch (fill) {
    case FILL_HALF:
        return sms / 2;
    case FILL_MOST:
        return sms * 3 / 4;
    case FILL_SMS:
        return sms;
    case FILL_TWO:
        return 2 * sms - sms / 16;
    default:
        return sms * resident * 7 / 2;
    }
}

/* Shared memory of a block. What the driver takes for itself, 1 KiB a block, is below the margins. */
unsigned overlap_shared_bytes(bool alone)
{
    const unsigned half = (unsigned)gpu.shared_per_multiprocessor / 2;
    return alone ? half + 1024 : half - 2048;
}

CUfunction overlap_function(const char *name)
{
    CUfunction function = gpu_function(IMAGE_OVERLAP, name);
    MUST(cu.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               (int)overlap_shared_bytes(true)));
    /* All of it as shared memory: else the driver guesses how much a kernel needs. */
    MUST(cu.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                               CU_SHAREDMEM_CARVEOUT_MAX_SHARED));
    return function;
}

/* ---- the memory that the kernels work in --------------------------------------------------------- */

void overlap_memory_init(CUdeviceptr memory, unsigned results, struct overlap_args args[2])
{
    const CUdeviceptr second = memory + results * sizeof(struct overlap_result);
    args[0].results = args[1].results = results;
    args[0].in = args[1].out = (void *)(uintptr_t)memory;
    args[0].out = (void *)(uintptr_t)second;
    args[1].in = (const void *)(uintptr_t)second;
    args[0].one = args[1].one = 1;
}

void overlap_memory_clear(CUdeviceptr memory, unsigned results)
{
    const size_t bytes = results * sizeof(struct overlap_result);
    gpu_fill(memory, 0, bytes);
    gpu_fill(memory + bytes, 0xff, bytes);
}

bool overlap_memory_check(struct bench_point *point, CUdeviceptr memory, unsigned results,
                          unsigned count, struct overlap_result *read)
{
    gpu_read(read, memory, results * sizeof(*read));
    for (unsigned i = 0; i < results; i++) {
        if (read[i].count != count) {
            bench_fail(point, "block %u has seen %u kernels, and there were %u", i, read[i].count,
                       count);
            return false;
        }
    }
    return true;
}

/* For kernels that leave so many results. All points with as many share it: where it lies has a say in what
 * a kernel costs, by a few percent, and must be the same for what is compared. */
struct pool {
    unsigned results, count; /* count: how many kernels have run in it */
    CUdeviceptr memory;
    struct overlap_result *read; /* what was read last */
};

/* ---- one point ---------------------------------------------------------------------------------- */

struct state {
    struct line *lines[2];
    struct gpu_launch launches[2];
    struct overlap_args args[2];
    void *pointers[2];
    struct pool *pool;
};

/* A table's state. */
enum { POOLS = 16 };
struct pools {
    struct pool items[POOLS];
    size_t count;
};

static struct pool *find_pool(struct pools *pools, unsigned results)
{
    size_t i = 0;
    while (i < pools->count && pools->items[i].results != results) {
        i++;
    }
    if (i == POOLS) {
        abort(); /* more sizes than were foreseen */
    }
    if (i == pools->count) {
        pools->items[pools->count++] = (struct pool){
            .results = results,
            .memory = gpu_alloc(2 * sizeof(struct overlap_result) * results),
            .read = allocate(results, sizeof(struct overlap_result)),
        };
    }
    return &pools->items[i];
}

static const size_t line_lengths[2] = {LINE_SHORT, LINE_LONG};

bool overlap_lines_make(struct bench_point *point, enum line_way way,
                        const struct gpu_launch launches[2], struct line *lines[2])
{
    for (int i = 0; i < 2; i++) {
        CUresult error = CUDA_SUCCESS;
        lines[i] = line_make(way, launches, 2, line_lengths[i] / 2, &error);
        if (lines[i] == NULL) {
            bench_fail(point, "a graph of %zu kernels: %s", line_lengths[i], gpu_error_name(error));
            return false;
        }
    }
    return true;
}

void overlap_lines_free(struct line *lines[2])
{
    line_free(lines[0]);
    line_free(lines[1]);
}

/* Cycles that a block alone on its SM takes for a round of work: an SM issues four warps' instructions a
 * cycle. */
static unsigned cycles_a_round(unsigned block)
{
    return OVERLAP_WORK * block / 32 / 4;
}

static void open_point(struct bench_point *point)
{
    const struct line_config *const config = point->config;
    struct state *const state = point->state;
    CUfunction function = overlap_function(config->working ? "overlap_work" : "overlap_spin");
    const unsigned shared =
        config->shared == SHARED_NONE ? 0 : overlap_shared_bytes(config->shared == SHARED_ALONE);
    int resident = 0;
    MUST(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, (int)config->block,
                                                        shared));
    if (config->shared != SHARED_NONE && resident != (config->shared == SHARED_FITS ? 2 : 1)) {
        bench_waive(point, "%d blocks with %u bytes of shared memory have room on an SM", resident,
                    shared);
        return;
    }
    const unsigned grid = blocks(config->fill, (unsigned)resident);
    const unsigned cycles = config->working ? cycles_a_round(config->block) : 1;
    state->pool = find_pool(point->table->state, config->one_result ? 1 : grid);
    overlap_memory_init(state->pool->memory, state->pool->results, state->args);
    for (int i = 0; i < 2; i++) {
        struct overlap_args *const args = &state->args[i];
        args->prologue = config->prologue;
        args->before = config->before / cycles;
        args->after = config->after / cycles;
        args->trigger = config->trigger;
        args->silent_block = ~0u;
        state->pointers[i] = args;
        state->launches[i] = (struct gpu_launch){.function = function,
                                                 .grid = grid,
                                                 .block = config->block,
                                                 .shared_bytes = shared,
                                                 .args = &state->pointers[i]};
    }
    if (overlap_lines_make(point, config->way, state->launches, state->lines) &&
        line_check_edges(point, state->lines[0])) {
        (void)line_check_edges(point, state->lines[1]);
    }
}

static void begin(struct bench_table *table)
{
    table->state = allocate(1, sizeof(struct pools));
}

static void close_point(struct bench_point *point)
{
    overlap_lines_free(((struct state *)point->state)->lines);
}

static void end(struct bench_table *table)
{
    struct pools *const pools = table->state;
    for (size_t i = 0; i < pools->count; i++) {
        gpu_free(pools->items[i].memory);
        free(pools->items[i].read);
    }
    free(pools);
}

static void clear(struct pool *pool)
{
    overlap_memory_clear(pool->memory, pool->results);
    pool->count = 0;
}

/* After so many more kernels. What is wrong is not left to the next point. */
static bool check_results(struct bench_point *point, struct pool *pool, unsigned kernels)
{
    pool->count += kernels;
    const bool right =
        overlap_memory_check(point, pool->memory, pool->results, pool->count, pool->read);
    if (!right) {
        clear(pool);
    }
    return right;
}

static void check(struct bench_point *point)
{
    const struct state *const state = point->state;
    clear(state->pool);
    line_run(state->lines[0]);
    if (check_results(point, state->pool, LINE_SHORT)) {
        line_run(state->lines[1]);
        (void)check_results(point, state->pool, LINE_LONG);
    }
}

/* Blocks of the last kernel on the SM that had most of them. */
static double busiest(const struct pool *pool)
{
    enum { SMS = 4096 };
    unsigned counts[SMS] = {0};
    unsigned most = 0;
    for (unsigned i = 0; i < pool->results; i++) {
        const unsigned now = ++counts[pool->read[i].sm % SMS];
        most = now > most ? now : most;
    }
    return most;
}

static void measure(struct bench_point *point, double *values)
{
    const struct state *const state = point->state;
    const double few = gpu_time(line_run, state->lines[0]).device_us;
    const double many = gpu_time(line_run, state->lines[1]).device_us;
    if (check_results(point, state->pool, LINE_SHORT + LINE_LONG)) {
        values[0] = (many - few) / (LINE_LONG - LINE_SHORT);
        values[1] = busiest(state->pool); /* table trigger */
    }
}

/* ---- the tables ---------------------------------------------------------------------------------- */

unsigned overlap_all_ways(void)
{
    unsigned all = 0;
    for (int way = 0; way < WAYS; way++) {
        all |= line_ways[way].name != NULL ? 1U << way : 0;
    }
    return all;
}

void overlap_add_rows(struct bench_table *table, struct bench_point *points[WAYS], unsigned which,
                      const char *shape, void *config)
{
    for (enum line_way way = 0; way < WAYS; way++) {
        if ((which >> way & 1) != 0) {
            const enum line_way against = line_ways[way].against;
            *(enum line_way *)config = way;
            points[way] = bench_row(table, against == way ? NULL : points[against], config, "%s%s",
                                    shape, line_ways[way].name);
        }
    }
}

/* A plain stream is up to 4 % faster or slower in another process; all else agrees better. */
#define COMMON                                                                                     \
    .config_size = sizeof(struct line_config), .state_size = sizeof(struct state), .begin = begin, \
    .open = open_point, .check = check, .measure = measure, .close = close_point, .end = end
#define DEVICE_TIME                                                                                \
    {                                                                                              \
        .name = "device", .unit = "us", .tolerance = 0.06                                          \
    }

/* The trigger late, in the middle and early, and short and long prologues. */
static void declare_phases(struct bench *bench)
{
    static const unsigned phases[][3] = {
        {2000, 4000, 0}, {2000, 2000, 2000}, {2000, 200, 3800}, {200, 4000, 0}, {4000, 4000, 4000}};
    static const struct bench_spec spec = {
        .name = "phases",
        .title = "A kernel of a line, by what comes before the wait, the trigger and the end",
        .note = "Cycles of the SM's clock before the wait (prologue), from there to the "
                "trigger (before) and from there to the end (after); a block of 128 "
                "threads on each SM. results: with one, one block reads what the kernel "
                "before left and writes as much at its end, and the rest of the kernel "
                "touches no memory; with all, every block does. Device time a kernel: the "
                "difference of lines of 72 and of 8 kernels behind a gate.",
        .axes = {"results", "prologue", "before", "after", "way"},
        .metrics = {DEVICE_TIME},
        .rounds = 20,
        COMMON,
    };
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < 2 * COUNT(phases); i++) {
        const unsigned *const lengths = phases[i % COUNT(phases)];
        struct line_config config = {.one_result = i < COUNT(phases),
                                     .block = 128,
                                     .fill = FILL_SMS,
                                     .shared = SHARED_NONE,
                                     .prologue = lengths[0],
                                     .before = lengths[1],
                                     .after = lengths[2],
                                     .trigger = OVERLAP_TRIGGER_MAIN};
        struct bench_point *points[WAYS];
        char shape[64];
        (void)snprintf(shape, sizeof(shape), "%s/%u/%u/%u/", config.one_result ? "one" : "all",
                       lengths[0], lengths[1], lengths[2]);
        overlap_add_rows(table, points, overlap_all_ways(), shape, &config);
    }
}

/* Where the trigger stands in the sweep. */
static const struct place {
    const char *name;
    enum overlap_trigger trigger;
    unsigned quarters; /* of the main part before it */
} places[] = {
    {"start", OVERLAP_TRIGGER_START, 0}, {"0", OVERLAP_TRIGGER_MAIN, 0},
    {"0.25", OVERLAP_TRIGGER_MAIN, 1},   {"0.5", OVERLAP_TRIGGER_MAIN, 2},
    {"0.75", OVERLAP_TRIGGER_MAIN, 3},   {"1", OVERLAP_TRIGGER_MAIN, 4},
    {"never", OVERLAP_TRIGGER_NEVER, 4},
};

/* All ways for one kernel and grid: the plain ones once, since the trigger does nothing there. */
static void declare_cell(struct bench_table *table, struct line_config config)
{
    enum { MAIN = 4000 };
    const unsigned plain = 1U << WAY_STREAM | 1U << WAY_GRAPH;
    const struct place any = {"any", OVERLAP_TRIGGER_MAIN, 0};
    struct bench_point *points[WAYS];
    for (size_t i = 0; i <= COUNT(places); i++) {
        const struct place *const place = i == 0 ? &any : &places[i - 1];
        char shape[96];
        config.trigger = place->trigger;
        config.before = MAIN / 4 * place->quarters;
        config.after = MAIN - config.before;
        (void)snprintf(shape, sizeof(shape), "%s/%s/%u/%s/%s/", config.working ? "work" : "spin",
                       place->name, config.prologue, fill_names[config.fill],
                       shared_names[config.shared]);
        overlap_add_rows(table, points, i == 0 ? plain : overlap_all_ways() & ~plain, shape,
                         &config);
    }
}

/* The grids of the sweep. With spin every prologue. With work, where neighbours matter, those whose blocks
 * can come to lie on the same SM, and others to compare. */
static const struct cell {
    bool working;
    enum fill fill;
    enum shared shared;
    unsigned prologues[3]; /* as many as are not 0 */
} cells[] = {
    {false, FILL_HALF, SHARED_FITS, {200, 2000, 4000}},
    {false, FILL_HALF, SHARED_ALONE, {200, 2000, 4000}},
    {false, FILL_SMS, SHARED_FITS, {200, 2000, 4000}},
    {false, FILL_SMS, SHARED_ALONE, {200, 2000, 4000}},
    {false, FILL_WAVES, SHARED_FITS, {200, 2000, 4000}},
    {false, FILL_WAVES, SHARED_ALONE, {200, 2000, 4000}},
    {true, FILL_HALF, SHARED_FITS, {2000}},
    {true, FILL_MOST, SHARED_NONE, {200, 2000}},
    {true, FILL_MOST, SHARED_FITS, {200, 2000}},
    {true, FILL_MOST, SHARED_ALONE, {200, 2000}},
    {true, FILL_SMS, SHARED_NONE, {2000}},
    {true, FILL_SMS, SHARED_FITS, {2000}},
    {true, FILL_TWO, SHARED_NONE, {200, 2000}},
    {true, FILL_TWO, SHARED_FITS, {200, 2000}},
    {true, FILL_WAVES, SHARED_FITS, {2000}},
};

static void declare_trigger(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "trigger",
        .title = "A kernel in a series, by trigger position",
        .note = "A prologue of so many cycles, the wait, and a main part that takes 4000 "
                "on an SM of its own; 256 threads per block. main: spin counts cycles, "
                "whatever else the SM does; work is a number of additions, for which "
                "blocks on the same SM compete. trigger: the share of main before it; "
                "start, before the prologue; never, by ending; any, without overlap, where "
                "it does nothing. fill: half or most (three quarters) of the SMs have a "
                "block, each has one (sms) or about two, or three and a half waves. "
                "shared: with fits a second block has room on an SM, with alone it has "
                "not, with none eight blocks have. busiest: blocks of a kernel on the SM "
                "with most of them: blocks that come early go where room is left, which "
                "may be beside each other, and there PDL loses. Device time a kernel, from "
                "lines of 72 and of 8 kernels behind a gate.",
        .axes = {"main", "trigger", "prologue", "fill", "shared", "way"},
        /* The second is a reason, not a result: any is the same. */
        .metrics = {DEVICE_TIME, {.name = "busiest", .unit = "blocks", .tolerance = 16}},
        .rounds = 5,
        COMMON,
    };
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < COUNT(cells); i++) {
        for (size_t j = 0; j < COUNT(cells[i].prologues) && cells[i].prologues[j] != 0; j++) {
            declare_cell(table, (struct line_config){.working = cells[i].working,
                                                     .block = 256,
                                                     .fill = cells[i].fill,
                                                     .shared = cells[i].shared,
                                                     .prologue = cells[i].prologues[j]});
        }
    }
}

void suite_overlap(struct bench *bench)
{
    declare_phases(bench);
    declare_trigger(bench);
    overlap_declare_conditions(bench);
    overlap_declare_shapes(bench);
}
