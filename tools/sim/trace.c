/* SPDX-License-Identifier: MIT */
/* A program from a trace that pdl_timeline_write() has written: each launch with the phases that its blocks had,
 * the median of each. Resources are in no trace: but for how many blocks of a launch shared an SM, where there
 * were more of them than had room. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/quantile.h"
#include "sim/output.h"

struct block {
    uint32_t launch, sm;
    double start, wait, waited, triggered, end; /* NAN: no such stamp */
};

struct launch {
    const char *kernel;
    json_int_t track;
    double first, last; /* start and end */
};

struct trace {
    struct {
        struct block *items;
        size_t count, capacity;
    } blocks;
    struct {
        struct launch *items;
        size_t count, capacity;
    } launches;
};

static bool has_text(const json_t *object, const char *key, const char *text)
{
    const char *const value = json_string_value(json_object_get(object, key));
    return value != NULL && strcmp(value, text) == 0;
}

static double stamp(const json_t *args, const char *key)
{
    const json_t *const value = json_object_get(args, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* A block, and its launch where it is the first of it. False where something is missing. */
static bool add_block(struct trace *trace, const json_t *event)
{
    const json_t *const args = json_object_get(event, "args");
    const json_int_t index = json_integer_value(json_object_get(args, "launch"));
    const double start = 1e3 * json_number_value(json_object_get(event, "ts"));
    const double takes = 1e3 * json_number_value(json_object_get(event, "dur"));
    const char *const name = json_string_value(json_object_get(event, "name"));
    if (name == NULL || index < 0 || index > 1000000 || takes < 0) {
        return false;
    }
    while (trace->launches.count <= (size_t)index) {
        const struct launch none = {.kernel = NULL};
        APPEND(&trace->launches, none);
    }
    struct launch *const launch = &trace->launches.items[index];
    const bool first = launch->kernel == NULL;
    launch->first = first || start < launch->first ? start : launch->first;
    launch->last = first || start + takes > launch->last ? start + takes : launch->last;
    launch->kernel = name;
    launch->track = json_integer_value(json_object_get(event, "pid"));
    const struct block block = {
        .launch = (uint32_t)index,
        .sm = (uint32_t)json_integer_value(json_object_get(args, "sm")),
        .start = start,
        .wait = stamp(args, "wait_ns"),
        .waited = stamp(args, "waited_ns"),
        .triggered = stamp(args, "triggered_ns"),
        .end = start + takes,
    };
    APPEND(&trace->blocks, block);
    return true;
}

static bool read_events(struct trace *trace, const json_t *root)
{
    size_t i = 0;
    const json_t *event = NULL;
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        if (has_text(event, "cat", "block") && has_text(event, "ph", "X") &&
            !add_block(trace, event)) {
            return false;
        }
    }
    return trace->blocks.count > 0;
}

/* ---- one launch ---------------------------------------------------------------------------------- */

enum phase { PROLOGUE, BEFORE, AFTER, PHASES };

static double phase_of(const struct block *block, enum phase phase)
{
    const double main = isnan(block->waited) ? block->start : block->waited;
    const double trigger = isnan(block->triggered) ? block->end : fmax(block->triggered, main);
    return phase == PROLOGUE ? (isnan(block->wait) ? 0 : block->wait - block->start)
           : phase == BEFORE ? trigger - main
                             : block->end - trigger;
}

static double median(const struct block *blocks, size_t count, enum phase phase)
{
    double *const values = allocate(count, sizeof(*values));
    for (size_t i = 0; i < count; i++) {
        values[i] = phase_of(&blocks[i], phase);
    }
    sort_rising(values, count);
    const double middle = quantile(values, count, 0.5);
    free(values);
    return fmax(0, middle);
}

/* Most blocks of the launch that an SM had at a time, or 0 where each SM had all of its blocks at once: then
 * nobody knows how many it has room for. They come in the order of their SMs. */
static unsigned most_at_once(const struct block *blocks, size_t count)
{
    unsigned most = 0;
    bool limited = false;
    for (size_t i = 0; i < count; i++) {
        unsigned beside = 0;
        size_t first = i;
        while (first > 0 && blocks[first - 1].sm == blocks[i].sm) {
            first--;
        }
        for (size_t j = first; j < count && blocks[j].sm == blocks[i].sm; j++) {
            beside += blocks[j].start <= blocks[i].start && blocks[j].end > blocks[i].start;
            limited = limited || blocks[j].end <= blocks[i].start;
        }
        most = beside > most ? beside : most;
    }
    return limited ? most : 0;
}

static int by_launch_and_sm(const void *left, const void *right)
{
    const struct block *const a = left;
    const struct block *const b = right;
    return a->launch != b->launch ? (a->launch < b->launch ? -1 : 1)
           : a->sm != b->sm       ? (a->sm < b->sm ? -1 : 1)
                                  : (a->start > b->start) - (a->start < b->start);
}

static struct sim_kernel describe(const struct sim_device *device, const struct trace *trace,
                                  const struct block *blocks, size_t count)
{
    const unsigned most = most_at_once(blocks, count);
    const struct block *const one = &blocks[0];
    const double after = median(blocks, count, AFTER);
    const double until = median(blocks, count, BEFORE);
    const bool never = isnan(one->triggered);
    const double end = device->block_end;
    enum { WARP = 32 };
    return (struct sim_kernel){
        .name = copy_text(trace->launches.items[one->launch].kernel),
        .blocks = (unsigned)count,
        .threads = most > 0 ? device->sm.threads / WARP / most * WARP : 1,
        .prologue = fmax(0, median(blocks, count, PROLOGUE) - device->block_start),
        .before = fmax(0, until - (never ? end : 0)),
        .after = fmax(0, after - (never ? 0 : end)),
        .waits = !isnan(one->waited),
        .trigger = never                                             ? SIM_TRIGGER_NEVER
                   : !isnan(one->wait) && one->triggered < one->wait ? SIM_TRIGGER_START
                                                                     : SIM_TRIGGER_MAIN,
        .writes = true,
    };
}

/* ---- all launches -------------------------------------------------------------------------------- */

/* The launch of the same track before one, in the trace's order; -1 where there is none. */
static long one_before(const struct trace *trace, size_t index)
{
    for (size_t i = index; i > 0; i--) {
        if (trace->launches.items[i - 1].kernel != NULL &&
            trace->launches.items[i - 1].track == trace->launches.items[index].track) {
            return (long)(i - 1);
        }
    }
    return -1;
}

static uint32_t track_of(struct sim_program *program, const json_t *root, json_int_t pid)
{
    const char *name = "trace";
    size_t i = 0;
    const json_t *event = NULL;
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *const text =
            json_string_value(json_object_get(json_object_get(event, "args"), "name"));
        if (has_text(event, "name", "process_name") && text != NULL &&
            json_integer_value(json_object_get(event, "pid")) == pid) {
            name = text;
        }
    }
    for (size_t j = 0; j < program->tracks.count; j++) {
        if (strcmp(program->tracks.items[j], name) == 0) {
            return (uint32_t)j;
        }
    }
    char *const copy = copy_text(name);
    APPEND(&program->tracks, copy);
    return (uint32_t)program->tracks.count - 1;
}

/* A launch that started before the one before it had ended was launched to overlap. */
static void add_launch(struct sim_program *program, const struct trace *trace, const json_t *root,
                       size_t index, uint32_t *indices)
{
    const struct launch *const launch = &trace->launches.items[index];
    const long previous = one_before(trace, index);
    const struct sim_launch item = {
        .kernel = (uint32_t)program->kernels.count - 1,
        .track = track_of(program, root, launch->track),
        .path = SIM_STREAM,
        .dependencies = (uint32_t)program->dependencies.count,
        .dependencies_count = previous >= 0,
    };
    indices[index] = (uint32_t)program->launches.count;
    APPEND(&program->launches, item);
    if (previous >= 0) {
        const struct sim_dependency dependency = {
            indices[previous], launch->first < trace->launches.items[previous].last};
        APPEND(&program->dependencies, dependency);
    }
}

static void make_program(struct sim_program *program, struct trace *trace, const json_t *root)
{
    uint32_t *const indices = allocate(trace->launches.count, sizeof(*indices));
    qsort(trace->blocks.items, trace->blocks.count, sizeof(*trace->blocks.items), by_launch_and_sm);
    for (size_t first = 0, end = 0; first < trace->blocks.count; first = end) {
        const uint32_t index = trace->blocks.items[first].launch;
        while (end < trace->blocks.count && trace->blocks.items[end].launch == index) {
            end++;
        }
        const struct sim_kernel kernel =
            describe(&program->device, trace, &trace->blocks.items[first], end - first);
        APPEND(&program->kernels, kernel);
        add_launch(program, trace, root, index, indices);
    }
    free(indices);
}

bool sim_read_trace(struct sim_program *program, const char *text, size_t size, const char *file)
{
    json_error_t error;
    struct trace trace = {.blocks = {NULL, 0, 0}};
    json_t *const root = json_loadb(text, size, 0, &error);
    bool read = false;
    if (root == NULL) {
        (void)fprintf(stderr, "%s:%d: %s\n", file, error.line, error.text);
    } else if (!read_events(&trace, root)) {
        (void)fprintf(stderr, "%s:1: no trace of blocks as a timeline is written\n", file);
    } else {
        make_program(program, &trace, root);
        read = true;
    }
    free(trace.blocks.items);
    free(trace.launches.items);
    json_decref(root);
    return read;
}
