/* SPDX-License-Identifier: MIT */
/* A program from a trace that pdl_timeline_write() has written: each launch with the phases that its blocks had,
 * the median of each. Resources are in no trace: but for how many blocks of a launch shared an SM, where there
 * were more of them than had room. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/print.h"
#include "common/quantile.h"
#include "sim/output.h"

enum { LAUNCHES_MOST = 1000000 };

#define NONE    INT64_MIN
#define NS_MOST (INT64_C(1) << 62) /* of a stamp, so that the difference of any two is one, too */

/* Stamps are whole nanoseconds: a double does not tell those of a clock that counts from 1970. */
struct block {
    uint32_t launch, sm;
    int64_t start, wait, waited, triggered, end; /* NONE: no such stamp */
};

struct launch {
    const char *kernel;  /* NULL: none was read */
    uint32_t process;    /* its track */
    int64_t first, last; /* start and end */
};

struct process {
    const char *name; /* NULL: it has none */
    long last;        /* the launch that was added last; -1: none */
};

struct trace {
    const char *file;
    size_t event;                  /* that is being read */
    struct pdl_names process_keys; /* the traces' `pid` */
    struct {
        struct process *items;
        size_t count, capacity;
    } processes;
    struct {
        struct block *items;
        size_t count, capacity;
    } blocks;
    struct {
        struct launch *items;
        size_t count, capacity;
    } launches;
};

/* ---- numbers --------------------------------------------------------------------------------------- */

static bool is_in_number(char c)
{
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

/* Makes strings of a JSON text's numbers, so that they are read with all their digits. Returns the new size; `to` may
 * be NULL. */
static size_t quote_numbers(const char *text, size_t size, char *to)
{
    size_t used = 0;
    bool in_string = false;
    for (size_t i = 0; i < size;) {
        size_t length = 1;
        const bool number = !in_string && (text[i] == '-' || (text[i] >= '0' && text[i] <= '9'));
        if (number) {
            while (i + length < size && is_in_number(text[i + length])) {
                length++;
            }
        } else if (in_string && text[i] == '\\' && i + 1 < size) {
            length = 2;
        } else if (text[i] == '"') {
            in_string = !in_string;
        }
        if (to != NULL) {
            to[used] = '"';
            memcpy(to + used + number, text + i, length);
            to[used + number + length] =
                '"'; /* the next one overwrites it where this is not a number */
        }
        used += length + (number ? 2 : 0);
        i += length;
    }
    return used;
}

static bool has_text(const json_t *object, const char *key, const char *text)
{
    const char *const value = json_string_value(json_object_get(object, key));
    return value != NULL && strcmp(value, text) == 0;
}

/* A number of an event, times a factor and rounded; false with a line where it is none from `least` to `most`. */
static bool read_number(const struct trace *trace, const json_t *object, const char *key,
                        int factor, int64_t least, int64_t most, int64_t *number)
{
    const char *const text = json_string_value(json_object_get(object, key));
    char *end = NULL;
    const long double value = text != NULL ? strtold(text, &end) * factor : 0;
    if (end == text || *end != '\0' ||
        !(value >= (long double)least && value <= (long double)most)) {
        print_line(stderr, "%s: error: event %zu: %s is %.60s, not a number from %lld to %lld",
                   trace->file, trace->event, key, text != NULL ? text : "missing",
                   (long long)(least / factor), (long long)(most / factor));
        return false;
    }
    *number = llroundl(value);
    return true;
}

static bool read_stamp(const struct trace *trace, const json_t *args, const char *key,
                       const struct block *block, int64_t *stamp)
{
    const json_t *const value = json_object_get(args, key);
    *stamp = NONE;
    return value == NULL || json_is_null(value) ||
           read_number(trace, args, key, 1, block->start, block->end, stamp);
}

/* ---- events ---------------------------------------------------------------------------------------- */

static uint32_t process_of(struct trace *trace, const json_t *event)
{
    const char *const pid = json_string_value(json_object_get(event, "pid"));
    const uint32_t index = name_index(&trace->process_keys, pid != NULL ? pid : "");
    if (index == trace->processes.count) {
        const struct process process = {NULL, -1};
        APPEND(&trace->processes, process);
    }
    return index;
}

/* A block, and its launch where it is the first of it. False with a line where something is wrong. */
static bool add_block(struct trace *trace, const json_t *event)
{
    const json_t *const args = json_object_get(event, "args");
    const char *const name = json_string_value(json_object_get(event, "name"));
    struct block block;
    int64_t index = 0;
    int64_t sm = 0;
    int64_t takes = 0;
    if (name == NULL) {
        print_line(stderr, "%s: error: event %zu: a block without a name", trace->file,
                   trace->event);
        return false;
    }
    if (!read_number(trace, args, "launch", 1, 0, LAUNCHES_MOST - 1, &index) ||
        !read_number(trace, args, "sm", 1, 0, UINT32_MAX, &sm) ||
        !read_number(trace, event, "ts", 1000, -NS_MOST, NS_MOST, &block.start) ||
        !read_number(trace, event, "dur", 1000, 0, (int64_t)SIM_TIME_MOST, &takes)) {
        return false;
    }
    block.launch = (uint32_t)index;
    block.sm = (uint32_t)sm;
    block.end = block.start + takes;
    if (!read_stamp(trace, args, "wait_ns", &block, &block.wait) ||
        !read_stamp(trace, args, "waited_ns", &block, &block.waited) ||
        !read_stamp(trace, args, "triggered_ns", &block, &block.triggered)) {
        return false;
    }
    while (trace->launches.count <= (size_t)index) {
        const struct launch none = {.kernel = NULL};
        APPEND(&trace->launches, none);
    }
    struct launch *const launch = &trace->launches.items[index];
    const bool first = launch->kernel == NULL;
    launch->first = first || block.start < launch->first ? block.start : launch->first;
    launch->last = first || block.end > launch->last ? block.end : launch->last;
    launch->kernel = name;
    launch->process = process_of(trace, event);
    APPEND(&trace->blocks, block);
    return true;
}

/* False with a line. */
static bool read_events(struct trace *trace, const json_t *root)
{
    const json_t *event = NULL;
    json_array_foreach(json_object_get(root, "traceEvents"), trace->event, event)
    {
        const char *const name =
            json_string_value(json_object_get(json_object_get(event, "args"), "name"));
        if (has_text(event, "name", "process_name") && name != NULL) {
            const uint32_t process = process_of(trace, event);
            trace->processes.items[process].name = name;
        } else if (has_text(event, "cat", "block") && has_text(event, "ph", "X") &&
                   !add_block(trace, event)) {
            return false;
        }
    }
    if (trace->blocks.count == 0) {
        print_line(stderr, "%s:1: error: not a trace of a timeline: it has no blocks", trace->file);
    }
    return trace->blocks.count > 0;
}

/* ---- one launch ---------------------------------------------------------------------------------- */

enum phase { PROLOGUE, BEFORE, AFTER, PHASES };

static double phase_of(const struct block *block, enum phase phase)
{
    const int64_t main = block->waited == NONE ? block->start : block->waited;
    const int64_t triggered = block->triggered == NONE ? block->end : block->triggered;
    const int64_t trigger = triggered > main ? triggered : main;
    return (double)(phase == PROLOGUE ? (block->wait == NONE ? 0 : block->wait - block->start)
                    : phase == BEFORE ? trigger - main
                                      : block->end - trigger);
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

static int compare_times(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* Most blocks of one SM at the start of any of them, in the order of which they come; *limited becomes true where one
 * had ended before another started. `ends` has room for their ends. */
static unsigned most_on_sm(const struct block *blocks, size_t count, int64_t *ends, bool *limited)
{
    unsigned most = 0;
    size_t started = 0;
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        ends[i] = blocks[i].end;
    }
    qsort(ends, count, sizeof(*ends), compare_times);
    for (size_t i = 0; i < count; i++) {
        while (started < count && blocks[started].start <= blocks[i].start) {
            started++;
        }
        while (ended < count && ends[ended] <= blocks[i].start) {
            ended++;
        }
        most = started - ended > most ? (unsigned)(started - ended) : most;
    }
    *limited = *limited || ended > 0;
    return most;
}

/* Most blocks of the launch that an SM had at a time, or 0 where each SM had all of its blocks at once: then
 * nobody knows how many it has room for. They come in the order of their SMs. */
static unsigned most_at_once(const struct block *blocks, size_t count)
{
    int64_t *const ends = allocate(count, sizeof(*ends));
    unsigned most = 0;
    bool limited = false;
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && blocks[end].sm == blocks[first].sm) {
            end++;
        }
        const unsigned here = most_on_sm(blocks + first, end - first, ends, &limited);
        most = here > most ? here : most;
    }
    free(ends);
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
    const bool never = one->triggered == NONE;
    const double end = device->block_end;
    enum { WARP = 32 };
    const unsigned warps = device->sm.threads / WARP;
    const double start = device->block_start;
    return (struct sim_kernel){
        .name = copy_text(trace->launches.items[one->launch].kernel),
        .blocks = (unsigned)count,
        .threads = most > 0 && warps / most > 0 ? warps / most * WARP : 1,
        .prologue = fmax(0, median(blocks, count, PROLOGUE) - start),
        .before = fmax(0, until - (never ? end : 0) - (one->wait == NONE ? start : 0)),
        .after = fmax(0, after - (never ? 0 : end)),
        .waits = one->waited != NONE,
        .trigger = never                        ? SIM_TRIGGER_NEVER
                   : one->triggered < one->wait ? SIM_TRIGGER_START
                                                : SIM_TRIGGER_MAIN, /* NONE is before all */
        .writes = true,
    };
}

/* ---- all launches -------------------------------------------------------------------------------- */

/* A launch that started before the one before it had ended was launched to overlap. */
static void add_launch(struct sim_program *program, struct trace *trace, size_t index,
                       uint32_t *indices, struct pdl_names *tracks)
{
    const struct launch *const launch = &trace->launches.items[index];
    struct process *const process = &trace->processes.items[launch->process];
    const char *const name = process->name != NULL ? process->name : "trace";
    const long previous = process->last;
    const struct sim_launch item = {
        .kernel = (uint32_t)program->kernels.count - 1,
        .track = name_index(tracks, name),
        .path = SIM_STREAM,
        .dependencies = (uint32_t)program->dependencies.count,
        .dependencies_count = previous >= 0,
    };
    if (item.track == program->tracks.count) {
        APPEND(&program->tracks, copy_text(name));
    }
    process->last = (long)index;
    indices[index] = (uint32_t)program->launches.count;
    APPEND(&program->launches, item);
    if (previous >= 0) {
        const struct sim_dependency dependency = {
            indices[previous], launch->first < trace->launches.items[previous].last};
        APPEND(&program->dependencies, dependency);
    }
}

static void make_program(struct sim_program *program, struct trace *trace)
{
    uint32_t *const indices = allocate(trace->launches.count, sizeof(*indices));
    struct pdl_names tracks = {.names = NULL};
    qsort(trace->blocks.items, trace->blocks.count, sizeof(*trace->blocks.items), by_launch_and_sm);
    for (size_t first = 0, end = 0; first < trace->blocks.count; first = end) {
        const uint32_t index = trace->blocks.items[first].launch;
        while (end < trace->blocks.count && trace->blocks.items[end].launch == index) {
            end++;
        }
        const struct sim_kernel kernel =
            describe(&program->device, trace, &trace->blocks.items[first], end - first);
        APPEND(&program->kernels, kernel);
        add_launch(program, trace, index, indices, &tracks);
    }
    pdl_names_free(&tracks);
    free(indices);
}

bool sim_read_trace(struct sim_program *program, const char *text, size_t size, const char *file)
{
    json_error_t error;
    struct trace trace = {.file = file};
    const size_t quoted_size = quote_numbers(text, size, NULL);
    char *const quoted = allocate(quoted_size + 2, 1); /* it writes a byte beyond */
    (void)quote_numbers(text, size, quoted);
    json_t *const root = json_loadb(quoted, quoted_size, 0, &error);
    free(quoted);
    if (root == NULL) {
        print_line(stderr, "%s:%d: error: %s", file, error.line, error.text);
    }
    const bool read = root != NULL && read_events(&trace, root);
    if (read) {
        make_program(program, &trace);
    }
    pdl_names_free(&trace.process_keys);
    free(trace.processes.items);
    free(trace.blocks.items);
    free(trace.launches.items);
    json_decref(root);
    return read;
}
