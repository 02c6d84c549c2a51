/* SPDX-License-Identifier: MIT */
/* sync: what it costs to order the whole device, a cluster or a block, and whether it is ordered. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu.h"
#include "bench/line.h"
#include "bench/suites.h"
#include "common/memory.h"

enum {
    LATE_CYCLES = 4000, /* about 2 us: in a check one block a round comes so late */
    LATE_ROUNDS = 64,
};

/* A slope is taken between two lengths. */
enum { SHORT, LONG, LENGTHS };
static const unsigned line_rounds[LENGTHS] = {32, 480};
static const unsigned grid_rounds[LENGTHS] = {64, 1088};
static const unsigned local_rounds[LENGTHS] = {1024, 9216};

static double slope_ns(const double *device_us, const unsigned *rounds)
{
    return 1e3 * (device_us[LONG] - device_us[SHORT]) / (rounds[LONG] - rounds[SHORT]);
}

/* ---- the exchange ----------------------------------------------------------------------------- */

/* Where `parts` that are ordered exchange their words, and where they count what was wrong. */
struct exchange {
    CUdeviceptr slots; /* two rows of words */
    CUdeviceptr wrong;
    unsigned parts;
};
/* What arguments point to. */
static const CUdeviceptr no_slots; /* nothing but the ordering */
static const unsigned not_late;
static const unsigned late = LATE_CYCLES;

static void exchange_open(struct exchange *exchange, unsigned parts)
{
    exchange->parts = parts;
    exchange->slots = gpu_alloc(2 * sizeof(unsigned) * parts);
    exchange->wrong = gpu_alloc(sizeof(unsigned));
}

static void exchange_close(const struct exchange *exchange)
{
    gpu_free(exchange->slots);
    gpu_free(exchange->wrong);
}

static void exchange_poison(const struct exchange *exchange)
{
    gpu_fill(exchange->slots, 0xff, 2 * sizeof(unsigned) * exchange->parts);
}

/* How many reads were wrong since it was asked last. */
static unsigned exchange_wrong(const struct exchange *exchange)
{
    unsigned wrong = 0;
    gpu_read(&wrong, exchange->wrong, sizeof(wrong));
    gpu_fill(exchange->wrong, 0, sizeof(wrong));
    return wrong;
}

static void check_wrong(struct bench_point *point, const struct exchange *exchange,
                        const char *when)
{
    const unsigned wrong = exchange_wrong(exchange);
    if (wrong > 0) {
        bench_fail(point, "not in order: %u reads %s did not find what was stored before", wrong,
                   when);
    }
}

/* The slots hold what the last two rounds stored. */
static void check_slots(struct bench_point *point, const struct exchange *exchange, unsigned last)
{
    const size_t parts = exchange->parts;
    unsigned *const rows = allocate(2 * parts, sizeof(*rows));
    size_t missing = 0;
    gpu_read(rows, exchange->slots, 2 * parts * sizeof(*rows));
    for (size_t i = 0; i < parts; i++) {
        missing += rows[(last & 1) * parts + i] != last;
        missing += rows[((last - 1) & 1) * parts + i] != last - 1;
    }
    free(rows);
    if (missing > 0) {
        bench_fail(point, "%zu of %zu words are not of the last two rounds", missing, 2 * parts);
    }
}

/* ---- a kernel a round ------------------------------------------------------------------------- */

struct step_line {
    struct gpu_launch *launches;
    unsigned *rounds; /* from 1 */
    void **args;
    struct line *line;
};

static void steps_free(struct step_line *steps)
{
    line_free(steps->line);
    free(steps->args);
    free(steps->rounds);
    free(steps->launches);
    memset(steps, 0, sizeof(*steps));
}

/* What is pointed to must outlive the line. */
static CUresult steps_make(struct step_line *steps, const char *kernel, enum line_way way,
                           unsigned threads, const struct exchange *exchange,
                           const CUdeviceptr *slots, const unsigned *late_by, unsigned count)
{
    enum { PARAMETERS = 4 };
    CUfunction function = gpu_function(IMAGE_SYNC, kernel);
    CUresult error = CUDA_SUCCESS;
    steps->launches = allocate(count, sizeof(*steps->launches));
    steps->rounds = allocate(count, sizeof(*steps->rounds));
    steps->args = allocate((size_t)count * PARAMETERS, sizeof(void *));
    for (unsigned i = 0; i < count; i++) {
        void **const args = &steps->args[(size_t)i * PARAMETERS];
        steps->rounds[i] = i + 1;
        args[0] = &steps->rounds[i];
        args[1] = (void *)slots;
        args[2] = (void *)&exchange->wrong;
        args[3] = (void *)late_by;
        steps->launches[i] = (struct gpu_launch){function, exchange->parts, threads, 0, args};
    }
    steps->line = line_make(way, steps->launches, count, 1, &error);
    return error;
}

/* ---- a kernel that stays ---------------------------------------------------------------------- */

/* Runs many rounds with a barrier in each. Rounds count on from launch to launch, as does the memory of
 * the barrier. */
struct resident {
    CUfunction function;
    unsigned grid, block;
    unsigned cluster;  /* blocks; 0: no clusters */
    bool cooperative;  /* all blocks are on the device at once, or the launch is refused */
    CUdeviceptr state; /* the barrier's */
    const struct exchange *exchange;
    unsigned base; /* rounds until now */
};

static CUresult resident_try(struct resident *resident, unsigned rounds, bool exchanging,
                             unsigned late_by)
{
    CUdeviceptr slots = exchanging ? resident->exchange->slots : no_slots;
    CUdeviceptr wrong = resident->exchange->wrong;
    void *args[] = {&resident->base, &rounds, &resident->state, &slots, &wrong, &late_by};
    CUlaunchAttribute attributes[2];
    unsigned count = 0;
    memset(attributes, 0, sizeof(attributes));
    if (resident->cooperative) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[count++].value.cooperative = 1;
    }
    if (resident->cluster > 0) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim.x = resident->cluster;
        attributes[count].value.clusterDim.y = 1;
        attributes[count++].value.clusterDim.z = 1;
    }
    const CUlaunchConfig config = {
        .gridDimX = resident->grid,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = resident->block,
        .blockDimY = 1,
        .blockDimZ = 1,
        .hStream = gpu.stream,
        .attrs = attributes,
        .numAttrs = count,
    };
    const CUresult result = cu.cuLaunchKernelEx(&config, resident->function, args, NULL);
    resident->base += result == CUDA_SUCCESS ? rounds : 0;
    return result;
}

struct resident_work {
    struct resident *resident;
    unsigned rounds;
    bool exchanging;
};

static void resident_run(void *context)
{
    const struct resident_work *const work = context;
    MUST(resident_try(work->resident, work->rounds, work->exchanging, 0));
}

static double resident_slope(struct resident *resident, const unsigned *rounds, bool exchanging)
{
    double device_us[LENGTHS];
    for (int i = 0; i < LENGTHS; i++) {
        struct resident_work work = {resident, rounds[i], exchanging};
        device_us[i] = gpu_time(resident_run, &work).device_us;
    }
    return slope_ns(device_us, rounds);
}

/* Runs it with late blocks. False where the driver refuses the launch: the point is then waived. */
static bool resident_run_late(struct bench_point *point, struct resident *resident)
{
    const CUresult result = resident_try(resident, LATE_ROUNDS, true, LATE_CYCLES);
    if (result != CUDA_SUCCESS) {
        bench_waive(point, "the driver refuses the launch: %s", gpu_error_name(result));
        return false;
    }
    gpu_wait();
    return true;
}

/* ---- the whole device ------------------------------------------------------------------------- */

/* How a grid is ordered: by a kernel a round, or by a barrier in a kernel that stays. */
struct grid_way {
    const char *name;
    const char *barrier; /* the kernel's name, or NULL */
    enum line_way line;  /* without a barrier */
    int against;         /* index of one in front of it, or -1 */
    bool clustered;      /* the barrier */
};
static const struct grid_way grid_ways[] = {
    {"grid-sync", "grid_cooperative", WAYS, -1, false},
    {"stream", NULL, WAY_STREAM, 0, false},
    {"stream-pdl", NULL, WAY_STREAM_PDL, 0, false},
    {"graph", NULL, WAY_GRAPH, 0, false},
    {"graph-pdl", NULL, WAY_GRAPH_PDL, 0, false},
    {"chain", NULL, WAY_CHAIN, 4, false},
    {"counter", "grid_counter", WAYS, 0, false},
    {"sense", "grid_sense", WAYS, 0, false},
    {"tree", "grid_tree", WAYS, 0, false},
    {"cluster", "grid_clustered", WAYS, 0, true},
};
static const struct {
    const char *blocks; /* an SM */
    const char *threads;
} grid_shapes[] = {{"1", "128"}, {"4", "128"}, {"16", "128"}, {"1", "1024"}, {"2", "1024"}};

enum {
    GRID_WAYS = sizeof(grid_ways) / sizeof(grid_ways[0]),
    GRID_SHAPES = sizeof(grid_shapes) / sizeof(grid_shapes[0]),
    GRID_POINTS = GRID_SHAPES * GRID_WAYS,
};

struct grid_config {
    const struct grid_way *way;
    unsigned blocks, threads;
    size_t index;
};
static struct grid_config grid_configs[GRID_POINTS];

/* A point from begin to end. */
struct grid_run {
    struct exchange exchange;
    struct step_line burst;   /* of PDL launches: see grid_time_line() */
    struct resident resident; /* without a function where there is a kernel a round */
};

static struct grid_run *grid_run_of(const struct bench_point *point)
{
    const struct grid_config *const config = point->config;
    return (struct grid_run *)point->table->state + config->index;
}

/* Clusters as large as the grid and the driver allow. */
static void grid_find_cluster(struct bench_point *point, struct resident *resident)
{
    enum { LARGEST = 8 }; /* that every device has to take */
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned size = LARGEST; size > 1 && result != CUDA_SUCCESS; size /= 2) {
        if (resident->grid % size == 0) {
            resident->cluster = size;
            result = resident_try(resident, 0, false, 0);
        }
    }
    if (result != CUDA_SUCCESS) {
        bench_waive(point, "no clusters of %u blocks fit on the device together: %s",
                    resident->grid, gpu_error_name(result));
    }
}

static void grid_open(struct bench_point *point)
{
    enum { STATE_WORDS_A_BLOCK = 64 }; /* more than any barrier uses, see kernels/sync.cu */
    const struct grid_config *const config = point->config;
    struct grid_run *const run = grid_run_of(point);
    const unsigned grid = config->blocks * (unsigned)gpu.multiprocessors;
    exchange_open(&run->exchange, grid);
    if (config->way->barrier == NULL) {
        MUST(steps_make(&run->burst, "step", WAY_STREAM_PDL, config->threads, &run->exchange,
                        &no_slots, &not_late, line_rounds[LONG]));
        return;
    }
    int fit = 0;
    run->resident = (struct resident){
        .function = gpu_function(IMAGE_SYNC, config->way->barrier),
        .grid = grid,
        .block = config->threads,
        .cooperative = true,
        .state = gpu_alloc((size_t)grid * STATE_WORDS_A_BLOCK * sizeof(unsigned)),
        .exchange = &run->exchange,
    };
    MUST(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, run->resident.function,
                                                        (int)config->threads, 0));
    if (fit < (int)config->blocks) {
        bench_waive(point, "of the kernel with %u threads %d blocks fit on an SM, not %u",
                    config->threads, fit, config->blocks);
    } else if (config->way->clustered) {
        grid_find_cluster(point, &run->resident);
    }
}

static void grid_begin(struct bench_table *table)
{
    table->state = allocate(GRID_POINTS, sizeof(struct grid_run));
    for (size_t i = 0; i < table->count; i++) {
        if (bench_point_active(table->items[i])) {
            grid_open(table->items[i]);
        }
    }
}

static void grid_end(struct bench_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct grid_run *const run = grid_run_of(table->items[i]);
        steps_free(&run->burst);
        gpu_free(run->resident.state);
        exchange_close(&run->exchange);
    }
    free(table->state);
}

/* Makes a line of kernels, runs it once, and tells how long it takes then, in us: NAN where that fails. If
 * they exchange words, the result of both runs is checked.
 *
 * What ran on the device before moves a graph by some 180 ns a kernel, and points have their neighbours in
 * every round: so each line is timed right after the same burst of launches. */
static double grid_time_line(struct bench_point *point, const CUdeviceptr *slots,
                             const unsigned *late_by, unsigned rounds)
{
    const struct grid_config *const config = point->config;
    const struct exchange *const exchange = &grid_run_of(point)->exchange;
    struct step_line steps;
    double device_us = NAN;
    memset(&steps, 0, sizeof(steps));
    const CUresult error = steps_make(&steps, "step", config->way->line, config->threads, exchange,
                                      slots, late_by, rounds);
    if (error != CUDA_SUCCESS) {
        bench_fail(point, "%u kernels: %s", rounds, gpu_error_name(error));
    }
    for (int i = 0; i < 2 && error == CUDA_SUCCESS; i++) {
        exchange_poison(exchange);
        if (i == 0) {
            line_run(steps.line);
        } else {
            line_run(grid_run_of(point)->burst.line);
            gpu_wait();
            device_us = gpu_time(line_run, steps.line).device_us;
        }
        if (slots != &no_slots) {
            check_slots(point, exchange, rounds);
        }
    }
    steps_free(&steps);
    return device_us;
}

static void grid_check(struct bench_point *point)
{
    struct grid_run *const run = grid_run_of(point);
    check_wrong(point, &run->exchange, "while it was timed");
    exchange_poison(&run->exchange);
    if (run->resident.function == NULL) {
        (void)grid_time_line(point, &run->exchange.slots, &late, LATE_ROUNDS);
        check_wrong(point, &run->exchange, "of late blocks");
    } else if (resident_run_late(point, &run->resident)) {
        check_slots(point, &run->exchange, run->resident.base);
        check_wrong(point, &run->exchange, "of late blocks");
    }
}

static double grid_line_slope(struct bench_point *point, const CUdeviceptr *slots)
{
    double device_us[LENGTHS];
    for (int i = 0; i < LENGTHS; i++) {
        device_us[i] = grid_time_line(point, slots, &not_late, line_rounds[i]);
    }
    return slope_ns(device_us, line_rounds);
}

static void grid_measure(struct bench_point *point, double *values)
{
    struct grid_run *const run = grid_run_of(point);
    if (run->resident.function == NULL) {
        values[0] = grid_line_slope(point, &no_slots);
        values[1] = grid_line_slope(point, &run->exchange.slots);
    } else {
        values[0] = resident_slope(&run->resident, grid_rounds, false);
        values[1] = resident_slope(&run->resident, grid_rounds, true);
    }
}

static const struct bench_spec grid_spec = {
    .name = "grid",
    .title = "Ordering the whole device once, by a new kernel and by barriers in one that stays",
    .note =
        "Device time, by the slope between 32 and 480 kernels or 64 and 1,088 barriers, queued "
        "behind "
        "a gate. A series of kernels is made for each sample, run once, and timed after a burst of "
        "480 "
        "PDL launches, so that all find the device in the same state. `barrier` is the ordering "
        "alone, "
        "in `exchange` each block also stores a word before it and reads that of a block half the "
        "grid away after it. `blocks` are those of an SM. Every barrier runs in a cooperative "
        "launch, "
        "so that all blocks are there together: `grid-sync` is that of cooperative groups, "
        "`counter` "
        "one counter that all add to and poll, `sense` a counter and apart from it a sense that "
        "the "
        "last one turns, `tree` the same with counters in two levels, `cluster` barriers of "
        "clusters "
        "of up to 8 and a counter for one block of each. Checked with one block in each round "
        "late.",
    .axes = {"blocks", "threads", "way"},
    .metrics = {{"barrier", "ns", false, 0.1}, {"exchange", "ns", false, 0.1}},
    .rounds = 24,
    .begin = grid_begin,
    .check = grid_check,
    .measure = grid_measure,
    .end = grid_end,
};

static void declare_grid(struct bench *bench)
{
    struct bench_table *const table = bench_table_add(bench, &grid_spec);
    for (size_t shape = 0; shape < GRID_SHAPES; shape++) {
        struct bench_point *points[GRID_WAYS];
        for (size_t i = 0; i < GRID_WAYS; i++) {
            const struct grid_way *const way = &grid_ways[i];
            const char *const values[] = {grid_shapes[shape].blocks, grid_shapes[shape].threads,
                                          way->name};
            const size_t index = shape * GRID_WAYS + i;
            grid_configs[index] = (struct grid_config){
                .way = way,
                .blocks = (unsigned)strtoul(values[0], NULL, 10),
                .threads = (unsigned)strtoul(values[1], NULL, 10),
                .index = index,
            };
            points[i] = bench_point_add(table, way->against >= 0 ? points[way->against] : NULL,
                                        &grid_configs[index], values);
        }
    }
}

/* ---- less than the device --------------------------------------------------------------------- */

enum { SCOPES = 5, LOCAL_THREADS = 2, LOCAL_POINTS = SCOPES * LOCAL_THREADS };
static const unsigned scopes[SCOPES] = {1, 2, 4, 8, 16}; /* blocks: 1 is __syncthreads() */
static const unsigned local_threads[LOCAL_THREADS] = {128, 1024};

struct local_config {
    unsigned blocks, threads;
    size_t index;
};
static struct local_config local_configs[LOCAL_POINTS];

struct local_run {
    struct exchange exchange;
    struct resident resident;
};

static struct local_run *local_run_of(const struct bench_point *point)
{
    const struct local_config *const config = point->config;
    return (struct local_run *)point->table->state + config->index;
}

static void local_open(struct bench_point *point)
{
    enum { PORTABLE_CLUSTER = 8 };
    const struct local_config *const config = point->config;
    struct local_run *const run = local_run_of(point);
    const bool cluster = config->blocks > 1;
    exchange_open(&run->exchange, config->blocks);
    run->resident = (struct resident){
        .function = gpu_function(IMAGE_SYNC, cluster ? "cluster_ordered" : "block_ordered"),
        .grid = config->blocks,
        .block = config->threads,
        .cluster = cluster ? config->blocks : 0,
        .exchange = &run->exchange,
    };
    if (config->blocks > PORTABLE_CLUSTER) {
        const CUresult result = cu.cuFuncSetAttribute(
            run->resident.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
        if (result != CUDA_SUCCESS) {
            bench_waive(point, "the driver refuses clusters of more than 8 blocks: %s",
                        gpu_error_name(result));
        }
    }
}

static void local_begin(struct bench_table *table)
{
    table->state = allocate(LOCAL_POINTS, sizeof(struct local_run));
    for (size_t i = 0; i < table->count; i++) {
        if (bench_point_active(table->items[i])) {
            local_open(table->items[i]);
        }
    }
}

static void local_end(struct bench_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        exchange_close(&local_run_of(table->items[i])->exchange);
    }
    free(table->state);
}

static void local_check(struct bench_point *point)
{
    struct local_run *const run = local_run_of(point);
    check_wrong(point, &run->exchange, "while it was timed");
    if (resident_run_late(point, &run->resident)) {
        check_wrong(point, &run->exchange, "of late parts");
    }
}

static void local_measure(struct bench_point *point, double *values)
{
    struct resident *const resident = &local_run_of(point)->resident;
    values[0] = resident_slope(resident, local_rounds, false);
    values[1] = resident_slope(resident, local_rounds, true);
}

static const struct bench_spec local_spec = {
    .name = "local",
    .title = "Ordering less than the device: one cluster, one block",
    .note =
        "Device time, by the slope between 1,024 and 9,216 barriers in a kernel of one cluster. "
        "A cluster of one block is __syncthreads(), the others are barrier.cluster with release "
        "and acquire. `exchange` goes through shared memory: each warp of a block, or each block "
        "of a cluster, stores a word and reads that of the one half of them away. Clusters of 16 "
        "are not portable, and waived where the driver refuses them.",
    .axes = {"cluster", "threads"},
    .metrics = {{"barrier", "ns", false, 0.1}, {"exchange", "ns", false, 0.1}},
    .rounds = 40,
    .begin = local_begin,
    .check = local_check,
    .measure = local_measure,
    .end = local_end,
};

static void declare_local(struct bench *bench)
{
    struct bench_table *const table = bench_table_add(bench, &local_spec);
    for (size_t i = 0; i < SCOPES; i++) {
        for (size_t j = 0; j < LOCAL_THREADS; j++) {
            char blocks[16];
            char threads[16];
            const char *const values[] = {blocks, threads};
            const size_t index = i * LOCAL_THREADS + j;
            local_configs[index] = (struct local_config){scopes[i], local_threads[j], index};
            (void)snprintf(blocks, sizeof(blocks), "%u", scopes[i]);
            (void)snprintf(threads, sizeof(threads), "%u", local_threads[j]);
            (void)bench_point_add(table, NULL, &local_configs[index], values);
        }
    }
}

/* ---- no order at all -------------------------------------------------------------------------- */

/* What lacks its ordering, so that the exchange must go wrong. */
struct unordered {
    const char *name;
    const char *kernel;
    bool resident;
    unsigned grid; /* 0: a block an SM */
    unsigned cluster;
    unsigned listeners; /* reads a round; 0: one a block */
};
enum { UNORDERED_THREADS = 128, UNORDERED_WARPS = UNORDERED_THREADS / 32, UNORDERED_ROUNDS = 256 };
static const struct unordered unordered[] = {
    {"pdl-no-wait", "step_no_wait", false, 0, 0, 0},
    {"no-barrier", "grid_unordered", true, 0, 0, 0},
    {"no-fence", "grid_relaxed", true, 0, 0, 0},
    {"no-cluster-barrier", "cluster_unordered", true, 8, 8, 0},
    {"no-syncthreads", "block_unordered", true, 1, 0, UNORDERED_WARPS},
};

/* The share of reads that were wrong, in percent, with a late block in each round. */
static double unordered_stale(const struct unordered *which)
{
    const unsigned grid = which->grid > 0 ? which->grid : (unsigned)gpu.multiprocessors;
    const double listeners = which->listeners > 0 ? which->listeners : grid;
    struct exchange exchange;
    exchange_open(&exchange, grid);
    exchange_poison(&exchange);
    if (which->resident) {
        struct resident resident = {
            .function = gpu_function(IMAGE_SYNC, which->kernel),
            .grid = grid,
            .block = UNORDERED_THREADS,
            .cluster = which->cluster,
            .cooperative = which->cluster == 0,
            .state = gpu_alloc(sizeof(unsigned)),
            .exchange = &exchange,
        };
        MUST(resident_try(&resident, UNORDERED_ROUNDS, true, late));
        gpu_free(resident.state);
    } else {
        struct step_line steps;
        memset(&steps, 0, sizeof(steps));
        MUST(steps_make(&steps, which->kernel, WAY_STREAM_PDL, UNORDERED_THREADS, &exchange,
                        &exchange.slots, &late, UNORDERED_ROUNDS));
        (void)gpu_time(line_run, steps.line); /* behind a gate, so that kernels meet */
        steps_free(&steps);
    }
    const double wrong = exchange_wrong(&exchange);
    exchange_close(&exchange);
    return 1e2 * wrong / (UNORDERED_ROUNDS * listeners);
}

static void unordered_check(struct bench_point *point)
{
    if (unordered_stale(point->config) <= 0) {
        bench_fail(point, "the exchange did not see that an ordering is missing");
    }
}

static void unordered_measure(struct bench_point *point, double *values)
{
    values[0] = unordered_stale(point->config);
}

static const struct bench_spec unordered_spec = {
    .name = "unordered",
    .title = "The exchange without an ordering",
    .note =
        "The checks of this suite on kernels that are wrong on purpose, 256 rounds: the share of "
        "reads that did not find what was stored before. A row with none fails, for the checks "
        "could not be trusted. `no-fence` waits for all blocks with relaxed atomics.",
    .axes = {"missing"},
    .metrics = {{"stale", "%", true, 1}},
    .rounds = 8,
    .check = unordered_check,
    .measure = unordered_measure,
};

static void declare_unordered(struct bench *bench)
{
    struct bench_table *const table = bench_table_add(bench, &unordered_spec);
    for (size_t i = 0; i < sizeof(unordered) / sizeof(unordered[0]); i++) {
        const char *const values[] = {unordered[i].name};
        (void)bench_point_add(table, NULL, &unordered[i], values);
    }
}

void suite_sync(struct bench *bench)
{
    declare_grid(bench);
    declare_local(bench);
    declare_unordered(bench);
}
