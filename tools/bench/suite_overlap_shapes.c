/* SPDX-License-Identifier: MIT */
/* Lines of kernels of any shape: fixed ones, of which a calibration is made, and random ones, which the model
 * is compared with. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/line.h"
#include "bench/suite_overlap.h"
#include "common/memory.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { BLOCKS_MOST = 1500, SHARED_MOST = 200, RANDOM = 120 };
enum {
    SHAPE_WAYS = 1U << WAY_STREAM | 1U << WAY_STREAM_PDL | 1U << WAY_GRAPH | 1U << WAY_GRAPH_PDL
};

struct shape {
    unsigned blocks, threads, shared; /* KiB */
    unsigned prologue, before, after; /* cycles */
    bool silent;                      /* its blocks do not count, and so write nothing */
};

struct shape_config {
    enum line_way way;
    bool two; /* different kernels in turn */
    struct shape shapes[2];
};

/* ---- random shapes ------------------------------------------------------------------------------ */

/* The generator splitmix64: the same configurations for a seed everywhere. */
static uint64_t draw(uint64_t *state)
{
    uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* From `least` to `most`: each as likely as any other, or each order of magnitude. */
static unsigned between(uint64_t *state, unsigned least, unsigned most, bool logarithmic)
{
    const double share = (double)(draw(state) >> 11) * 0x1p-53;
    return (unsigned)(logarithmic ? least * pow((most + 1.0) / least, share)
                                  : least + share * (most + 1.0 - least));
}

static struct shape draw_shape(uint64_t *state)
{
    struct shape shape = {.silent = false};
    const bool few = draw(state) % 2 == 0;
    shape.blocks = between(state, 1, BLOCKS_MOST, few);
    const bool power = draw(state) % 2 == 0;
    shape.threads = 32 * (power ? 1U << draw(state) % 6 : between(state, 1, 32, false));
    const bool none = draw(state) % 3 == 0;
    shape.shared = none ? 0 : between(state, 0, SHARED_MOST, false);
    const bool brief = draw(state) % 2 == 0;
    shape.prologue = between(state, 100, 6000, brief);
    shape.before = between(state, 100, 6000, brief);
    shape.after = between(state, 100, 6000, brief);
    return shape;
}

/* ---- one point ---------------------------------------------------------------------------------- */

struct state {
    struct line *lines[2];
    struct gpu_launch launches[2];
    struct overlap_shape_args args[2];
    void *pointers[2];
};

/* A table's state. */
struct counts {
    CUdeviceptr counts; /* how often each block of each kernel has run */
    unsigned *read;
};

static CUfunction shape_function(const char *name)
{
    CUfunction function = gpu_function(IMAGE_OVERLAP, name);
    MUST(cu.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               SHARED_MOST * 1024));
    MUST(cu.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                               CU_SHAREDMEM_CARVEOUT_MAX_SHARED));
    return function;
}

static void open_point(struct bench_point *point)
{
    const struct shape_config *const config = point->config;
    const struct counts *const counts = point->table->state;
    struct state *const state = point->state;
    const size_t bytes = sizeof(*counts->read) * BLOCKS_MOST;
    if ((unsigned)gpu.shared_per_block < SHARED_MOST * 1024) {
        bench_waive(point, "a block has at most %d bytes of shared memory", gpu.shared_per_block);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const struct shape *const shape = &config->shapes[i];
        const bool second = config->two && i == 1;
        state->args[i] = (struct overlap_shape_args){
            .counts = shape->silent ? NULL : (void *)(uintptr_t)(counts->counts + i * bytes),
            .prologue = shape->prologue,
            .before = shape->before,
            .after = shape->after,
        };
        state->pointers[i] = &state->args[i];
        state->launches[i] = (struct gpu_launch){
            .function = shape_function(second ? "overlap_shape_second" : "overlap_shape_first"),
            .grid = shape->blocks,
            .block = shape->threads,
            .shared_bytes = shape->shared * 1024,
            .args = &state->pointers[i]};
    }
    (void)overlap_lines_make(point, config->way, state->launches, state->lines);
}

static void begin(struct bench_table *table)
{
    struct counts *const counts = allocate(1, sizeof(*counts));
    counts->read = allocate(2 * (size_t)BLOCKS_MOST, sizeof(*counts->read));
    counts->counts = gpu_alloc(2 * sizeof(*counts->read) * BLOCKS_MOST);
    table->state = counts;
}

static void close_point(struct bench_point *point)
{
    overlap_lines_free(((struct state *)point->state)->lines);
}

static void end(struct bench_table *table)
{
    struct counts *const counts = table->state;
    gpu_free(counts->counts);
    free(counts->read);
    free(counts);
}

/* Runs both lines, and counts which blocks have run: false where one is missing. */
static bool run_lines(struct bench_point *point, double us[2])
{
    const struct shape_config *const config = point->config;
    const struct counts *const counts = point->table->state;
    const struct state *const state = point->state;
    const size_t bytes = 2 * sizeof(*counts->read) * BLOCKS_MOST;
    gpu_fill(counts->counts, 0, bytes);
    for (int i = 0; i < 2; i++) { /* once before: its kernels are in the cache then, as in a loop */
        line_run(state->lines[i]);
        us[i] = gpu_time(line_run, state->lines[i]).device_us;
    }
    gpu_read(counts->read, counts->counts, bytes);
    for (unsigned i = 0; i < 2; i++) {
        const unsigned *const ran = counts->read + (size_t)i * BLOCKS_MOST;
        const unsigned blocks = config->shapes[i].silent ? 0 : config->shapes[i].blocks;
        for (unsigned j = 0; j < blocks; j++) {
            if (ran[j] != LINE_SHORT + LINE_LONG) {
                bench_fail(point, "block %u ran %u times, not %d", j, ran[j],
                           LINE_SHORT + LINE_LONG);
                return false;
            }
        }
    }
    return true;
}

static void check(struct bench_point *point)
{
    double us[2];
    (void)run_lines(point, us);
}

static void measure(struct bench_point *point, double *values)
{
    double us[2];
    if (run_lines(point, us)) {
        values[0] = (us[1] - us[0]) / (LINE_LONG - LINE_SHORT);
    }
}

/* ---- the table ---------------------------------------------------------------------------------- */

static char *shape_text(const struct shape *shape)
{
    return format_text("%ux%u+%uK:%u:%u:%u%s", shape->blocks, shape->threads, shape->shared,
                       shape->prologue, shape->before, shape->after, shape->silent ? ":n" : "");
}

static void add_rows(struct bench_table *table, const char *seed, bool two,
                     const struct shape shapes[2])
{
    struct shape_config config = {.two = two, .shapes = {shapes[0], shapes[1]}};
    struct bench_point *points[WAYS];
    char *const first = shape_text(&shapes[0]);
    char *const second = two ? shape_text(&shapes[1]) : copy_text("same");
    char *const shape = format_text("%s/%s/%s/", seed, first, second);
    overlap_add_rows(table, points, SHAPE_WAYS, shape, &config);
    free(shape);
    free(first);
    free(second);
}

/* What a calibration is made of: docs/model.md says which value comes from which. */
static const struct shape fixed[] = {
    {100, 128, 0, 1000, 500, 3000, false},  {100, 128, 0, 100, 500, 3000, false},
    {100, 128, 0, 3000, 3000, 100, false},  {100, 128, 0, 3000, 1000, 500, false},
    {100, 128, 0, 2000, 2000, 1000, false}, {100, 128, 0, 500, 700, 900, false},
    {1, 128, 0, 1000, 500, 3000, false},    {1, 128, 0, 1000, 500, 3000, true},
    {100, 128, 0, 1000, 500, 3000, true},   {300, 128, 0, 0, 0, 0, true},
    {1500, 128, 0, 0, 0, 0, true},          {1000, 128, 150, 1000, 500, 3000, false},
};

void overlap_declare_shapes(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "shapes",
        .title = "A kernel in a series, of any shape",
        .note = "blocks x threads + shared memory : cycles of the prologue, from the wait "
                "to the trigger, and from there to the end, which one warp of each block "
                "counts; n: no block writes. A line runs once before it is timed. seed: "
                "the fixed shapes are those that a calibration is made of; the others are "
                "random, 1 to 1,500 blocks of 32 to 1,024 threads, half of them two "
                "different kernels in turn, and --seed draws others. Device time per "
                "kernel, from lines of 72 and of 8 kernels behind a gate.",
        .axes = {"seed", "first", "second", "way"},
        .metrics = {{.name = "device", .unit = "us", .tolerance = 0.06}},
        .rounds = 5,
        .config_size = sizeof(struct shape_config),
        .state_size = sizeof(struct state),
        .begin = begin,
        .open = open_point,
        .check = check,
        .measure = measure,
        .close = close_point,
        .end = end,
    };
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (size_t i = 0; i < COUNT(fixed); i++) {
        const struct shape shapes[2] = {fixed[i], fixed[i]};
        add_rows(table, "fixed", false, shapes);
    }
    char *const seed = format_text("%d", bench->seed);
    uint64_t state = (uint64_t)bench->seed;
    for (int i = 0; i < RANDOM; i++) {
        const bool two = draw(&state) % 2 == 0;
        struct shape shapes[2];
        shapes[0] = draw_shape(&state);
        shapes[1] = two ? draw_shape(&state) : shapes[0];
        add_rows(table, seed, two, shapes);
    }
    free(seed);
}
