/* SPDX-License-Identifier: MIT */
/* Ranges that the program named, and which runs count. */
#include <fnmatch.h>
#include <stdlib.h>

#include "common/memory.h"
#include "watch/store.h"

/* ---- ranges ----------------------------------------------------------------------------------- */

static void add_range(struct watch *watch, const struct store_mark *mark, uint32_t thread)
{
    const struct watch_range range = {mark->time_ns, UINT64_MAX, mark->process, thread, mark->text};
    APPEND(&watch->ranges, range);
}

/* Ranges that are pushed are closed by the next pop of their thread that is not another's; those that are started, by
 * their id, on any thread. */
struct marks {
    WATCH_LIST(uint32_t) open; /* of all threads, each linked to the one below */
    WATCH_LIST(uint32_t) below;
    struct ids tops;    /* (thread, process) → 1 more than the index in `open`; 0: none */
    struct ids started; /* (id, process) → ranges, 1 more; 0: ended */
};

static void read_mark(struct watch *watch, struct marks *marks, const struct store_mark *mark)
{
    uint32_t *place = NULL;
    switch (mark->what) {
    case PDL_WATCH_PUSH:
        place = ids_put(&marks->tops, mark->thread, mark->process);
        APPEND(&marks->open, (uint32_t)watch->ranges.count);
        APPEND(&marks->below, *place == WATCH_NONE ? 0 : *place);
        *place = (uint32_t)marks->open.count;
        add_range(watch, mark, mark->thread);
        break;
    case PDL_WATCH_POP:
        place = ids_put(&marks->tops, mark->thread, mark->process);
        *place = *place == WATCH_NONE ? 0 : *place;
        if (*place > 0) {
            watch->ranges.items[marks->open.items[*place - 1]].end_ns = mark->time_ns;
            *place = marks->below.items[*place - 1];
        }
        break;
    case PDL_WATCH_START:
        *ids_put(&marks->started, mark->id, mark->process) = (uint32_t)watch->ranges.count + 1;
        add_range(watch, mark, 0);
        break;
    case PDL_WATCH_END:
        place = ids_put(&marks->started, mark->id, mark->process);
        *place = *place == WATCH_NONE ? 0 : *place;
        if (*place > 0) {
            watch->ranges.items[*place - 1].end_ns = mark->time_ns;
            *place = 0;
        }
        break;
    default:
        break;
    }
}

static uint64_t last_time(const struct watch *watch)
{
    uint64_t last = 0;
    for (size_t i = 0; i < watch->runs.count; i++) {
        last = watch->runs.items[i].end_ns > last ? watch->runs.items[i].end_ns : last;
    }
    for (size_t i = 0; i < watch->store->calls.count; i++) {
        const uint64_t begin_ns = watch->store->calls.items[i].begin_ns;
        last = begin_ns > last ? begin_ns : last;
    }
    return last;
}

void store_read_ranges(struct watch *watch)
{
    const struct watch_store *const store = watch->store;
    const size_t count = store->marks.count;
    struct order *const order = allocate(count, sizeof(*order));
    struct marks marks = {.open = {NULL, 0, 0}};
    const uint64_t last = last_time(watch);
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct order){store->marks.items[i].time_ns, (uint32_t)i};
    }
    order_sort(order, count);
    for (size_t i = 0; i < count; i++) {
        read_mark(watch, &marks, &store->marks.items[order[i].index]);
    }
    for (size_t i = 0; i < watch->ranges.count; i++) { /* that were not closed */
        struct watch_range *const range = &watch->ranges.items[i];
        if (range->end_ns == UINT64_MAX) {
            range->end_ns = last > range->start_ns ? last : range->start_ns;
        }
    }
    free(order);
    free(marks.open.items);
    free(marks.below.items);
    ids_free(&marks.tops);
    ids_free(&marks.started);
}

/* ---- calls within ranges ---------------------------------------------------------------------- */

/* Ranges of one name that are open, by thread; a range of thread 0 is one of all threads. */
struct depths {
    struct ids places; /* (thread, process) → index in `open` */
    WATCH_LIST(uint32_t) open;
};

static uint32_t *depth_of(struct depths *depths, uint32_t thread, uint32_t process)
{
    uint32_t *const place = ids_put(&depths->places, thread, process);
    if (*place == WATCH_NONE) {
        *place = (uint32_t)depths->open.count;
        APPEND(&depths->open, 0);
    }
    return &depths->open.items[*place];
}

static bool is_open(const struct depths *depths, uint32_t thread, uint32_t process)
{
    const uint32_t place = ids_get(&depths->places, thread, process);
    return place != WATCH_NONE && depths->open.items[place] > 0;
}

/* Which calls are made within a range of the wanted name. */
static bool *calls_in_range(const struct watch *watch, const char *range)
{
    const struct watch_store *const store = watch->store;
    bool *const in = allocate(store->calls.count, sizeof(*in));
    struct order *const order = allocate(watch->ranges.count * 2, sizeof(*order));
    struct depths depths = {.open = {NULL, 0, 0}};
    size_t count = 0;
    size_t next = 0;
    for (size_t i = 0; i < watch->ranges.count; i++) {
        if (fnmatch(range, watch->ranges.items[i].text, 0) == 0) {
            order[count++] = (struct order){watch->ranges.items[i].start_ns, (uint32_t)i * 2};
            order[count++] = (struct order){watch->ranges.items[i].end_ns, (uint32_t)i * 2 + 1};
        }
    }
    order_sort(order, count);
    for (size_t i = 0; i < store->calls.count; i++) {
        const struct store_call *const call = &store->calls.items[i];
        for (; next < count && (order[next].key < call->begin_ns ||
                                (order[next].key == call->begin_ns && order[next].index % 2 == 0));
             next++) {
            const struct watch_range *const at = &watch->ranges.items[order[next].index / 2];
            uint32_t *const depth = depth_of(&depths, at->thread, at->process);
            *depth = order[next].index % 2 == 0 ? *depth + 1 : *depth - (*depth > 0);
        }
        in[i] = is_open(&depths, 0, call->process) ||
                (call->thread != 0 && is_open(&depths, call->thread, call->process));
    }
    ids_free(&depths.places);
    free(depths.open.items);
    free(order);
    return in;
}

/* ---- the window ------------------------------------------------------------------------------- */

/* The part of time that a window leaves, by the calls that launch. */
struct span {
    uint64_t first, last;       /* numbers of the calls */
    uint64_t first_ns, last_ns; /* their times */
};

static bool launches_something(const struct watch *watch, const struct store_call *call)
{
    if (call->captured) {
        return false;
    }
    return call->launch != WATCH_NONE ? watch->launches.items[call->launch].result == 0
                                      : call->what == PDL_WATCH_GRAPH_LAUNCH;
}

static struct span find_span(struct watch *watch, const struct watch_window *window)
{
    struct span span = {window->skip, UINT64_MAX, 0, UINT64_MAX};
    uint64_t number = 0;
    bool found = false;
    if (window->count > 0 && window->count <= UINT64_MAX - window->skip) {
        span.last = window->skip + window->count - 1;
    }
    for (size_t i = 0; i < watch->store->calls.count; i++) {
        struct store_call *const call = &watch->store->calls.items[i];
        if (!launches_something(watch, call)) {
            continue;
        }
        if (number == span.first) {
            span.first_ns = call->begin_ns;
            found = true;
            span.last_ns = window->ns > 0 && window->ns <= UINT64_MAX - call->begin_ns
                               ? call->begin_ns + window->ns - 1
                               : UINT64_MAX;
        }
        if (number > 0 && number - 1 == span.last && call->begin_ns < span.last_ns) {
            span.last_ns = call->begin_ns; /* for what no call is known of */
        }
        call->number = (uint32_t)number++;
    }
    if (!found && window->skip > 0) { /* all is skipped */
        span.first_ns = UINT64_MAX;
    }
    if (!found && window->ns > 0 && window->skip == 0 && watch->runs.count > 0) {
        const uint64_t start_ns = watch->runs.items[0].start_ns;
        span.last_ns = window->ns <= UINT64_MAX - start_ns ? start_ns + window->ns - 1 : UINT64_MAX;
    }
    return span;
}

static bool in_span(const struct watch_store *store, const struct span *span,
                    const struct watch_run *run, uint32_t index)
{
    const struct store_call *const call = index != WATCH_NONE ? &store->calls.items[index] : NULL;
    if (call != NULL && call->number != WATCH_NONE) {
        return call->number >= span->first && call->number <= span->last &&
               call->begin_ns <= span->last_ns;
    }
    const uint64_t time_ns = call != NULL ? call->begin_ns : run->start_ns;
    return time_ns >= span->first_ns && time_ns <= span->last_ns;
}

static bool kernel_matches(const struct watch_kernel *kernel, const struct watch_window *window)
{
    for (size_t i = 0; i < window->kernel_count; i++) {
        if (fnmatch(window->kernels[i], kernel->name, 0) == 0 ||
            fnmatch(window->kernels[i], kernel->shown, 0) == 0) {
            return true;
        }
    }
    return window->kernel_count == 0;
}

void store_apply_window(struct watch *watch, const struct watch_window *window)
{
    static const struct watch_window all = {.skip = 0};
    const struct watch_window *const used = window != NULL ? window : &all;
    const struct span span = find_span(watch, used);
    bool *const in_range = used->range != NULL ? calls_in_range(watch, used->range) : NULL;
    bool *const matches = allocate(watch->kernels.count, sizeof(*matches));
    for (size_t i = 0; i < watch->kernels.count; i++) {
        matches[i] = kernel_matches(&watch->kernels.items[i], used);
    }
    for (size_t i = 0; i < watch->runs.count; i++) {
        struct watch_run *const run = &watch->runs.items[i];
        const uint32_t call = watch->store->runs.items[i].call;
        run->in_window =
            in_span(watch->store, &span, run, call) &&
            (in_range == NULL || (call != WATCH_NONE && in_range[call])) &&
            (run->kernel != WATCH_NONE ? matches[run->kernel] : used->kernel_count == 0);
    }
    free(in_range);
    free(matches);
}
