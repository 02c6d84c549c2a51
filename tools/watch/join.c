/* SPDX-License-Identifier: MIT */
/* Which call launched what ran, and what is in front of it.
 *
 * What a stream does, it does in the order of the calls. A call names the stream by a handle, which another stream may have
 * had before, and CUPTI names it by an id, which no other has. So the calls are put into queues: one for each id of
 * CUPTI's, found by the runs that calls of one handle led to. */
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "common/print.h"
#include "watch/store.h"

/* ---- orders ----------------------------------------------------------------------------------- */

/* Calls and, of those, launches by time. */
static void sort_calls(struct watch *watch)
{
    struct watch_store *const store = watch->store;
    const size_t count = store->calls.count;
    struct order *const order = allocate(count, sizeof(*order));
    struct store_call *const calls = allocate(count, sizeof(*calls));
    struct watch_launch *const launches = allocate(watch->launches.count, sizeof(*launches));
    size_t launch = 0;
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct order){store->calls.items[i].begin_ns, (uint32_t)i};
    }
    order_sort(order, count);
    for (size_t i = 0; i < count; i++) {
        calls[i] = store->calls.items[order[i].index];
        if (calls[i].launch != WATCH_NONE) {
            launches[launch] = watch->launches.items[calls[i].launch];
            calls[i].launch = (uint32_t)launch++;
        }
    }
    free(order);
    free(store->calls.items);
    free(watch->launches.items);
    store->calls.items = calls;
    store->calls.capacity = count;
    watch->launches.items = launches;
    watch->launches.capacity = watch->launches.count;
}

/* Runs by start. */
static void sort_runs(struct watch *watch)
{
    struct watch_store *const store = watch->store;
    const size_t count = watch->runs.count;
    struct order *const order = allocate(count, sizeof(*order));
    struct watch_run *const runs = allocate(count, sizeof(*runs));
    struct store_run *const more = allocate(count, sizeof(*more));
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct order){watch->runs.items[i].start_ns, (uint32_t)i};
    }
    order_sort(order, count);
    for (size_t i = 0; i < count; i++) {
        runs[i] = watch->runs.items[order[i].index];
        more[i] = store->runs.items[order[i].index];
    }
    free(order);
    free(watch->runs.items);
    free(store->runs.items);
    watch->runs.items = runs;
    watch->runs.capacity = count;
    store->runs.items = more;
    store->runs.capacity = count;
}

/* ---- from ids to indices ---------------------------------------------------------------------- */

static uint32_t kernel_of_name(struct watch *watch, uint32_t id, uint32_t process)
{
    const uint32_t index = ids_get(&watch->store->by_name, id, process);
    if (index == WATCH_NONE) {
        return store_kernel(watch, "(unnamed)");
    }
    struct store_name *const name = &watch->store->names.items[index];
    if (name->kernel == WATCH_NONE) {
        name->kernel = store_kernel(watch, name->text[0] != '\0' ? name->text : "(unnamed)");
    }
    return name->kernel;
}

/* The lowest of what the kernels of a name were compiled for: a race of one is a race. */
static int32_t lower_version(int32_t known, int32_t version)
{
    return version >= 0 && (known < 0 || version < known) ? version : known;
}

/* Looks a function up, and tells its kernel what it is like. */
static uint32_t find_function(struct watch *watch, uint32_t id, uint32_t process)
{
    const uint32_t index = ids_get(&watch->store->by_function, id, process);
    if (index == WATCH_NONE) {
        return WATCH_NONE;
    }
    struct store_function *const function = &watch->store->functions.items[index];
    if (function->kernel == WATCH_NONE) {
        function->kernel = kernel_of_name(watch, function->name, process);
        struct watch_kernel *const kernel = &watch->kernels.items[function->kernel];
        kernel->registers =
            kernel->registers > function->registers ? kernel->registers : function->registers;
        kernel->static_shared = kernel->static_shared > function->static_shared
                                    ? kernel->static_shared
                                    : function->static_shared;
        kernel->ptx_version = lower_version(kernel->ptx_version, function->ptx_version);
        kernel->binary_version = lower_version(kernel->binary_version, function->binary_version);
    }
    return index;
}

static void resolve_calls(struct watch *watch)
{
    for (size_t i = 0; i < watch->store->calls.count; i++) {
        struct store_call *const call = &watch->store->calls.items[i];
        if (call->launch != WATCH_NONE) {
            call->function = find_function(watch, call->function, call->process);
            watch->launches.items[call->launch].kernel =
                call->function != WATCH_NONE ? watch->store->functions.items[call->function].kernel
                                             : store_kernel(watch, "(unnamed)");
        }
    }
}

static bool is_launched(const struct watch *watch, const struct store_call *call)
{
    return call->launch != WATCH_NONE && !call->captured &&
           watch->launches.items[call->launch].result == 0;
}

/* Which processes have runs. Where one has none, its calls stand for them, each at one moment. */
static bool *add_calls_as_runs(struct watch *watch)
{
    struct watch_store *const store = watch->store;
    bool *const has_times = allocate(watch->processes.count, sizeof(*has_times));
    for (size_t i = 0; i < watch->runs.count; i++) {
        has_times[watch->runs.items[i].process] = true;
        watch->processes.items[watch->runs.items[i].process].has_times = true;
        watch->has_times = true;
    }
    for (size_t i = 0; i < store->calls.count; i++) {
        const struct store_call *const call = &store->calls.items[i];
        if (!is_launched(watch, call) || has_times[call->process]) {
            continue;
        }
        const struct watch_launch *const launch = &watch->launches.items[call->launch];
        const struct store_function *const function =
            call->function != WATCH_NONE ? &store->functions.items[call->function] : NULL;
        const struct watch_run run = {
            .start_ns = launch->begin_ns,
            .end_ns = launch->begin_ns,
            .kernel = launch->kernel,
            .process = launch->process,
            .track = WATCH_NONE,
            .launch = call->launch,
            .before = WATCH_NONE,
            .pair = WATCH_NONE,
            .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
            .block = {launch->block[0], launch->block[1], launch->block[2]},
            .registers =
                function != NULL && function->registers > 0 ? (uint16_t)function->registers : 0,
            .static_shared = function != NULL && function->static_shared > 0
                                 ? (uint32_t)function->static_shared
                                 : 0,
            .dynamic_shared = launch->dynamic_shared,
            .device = WATCH_NONE,
        };
        const struct store_run more = {
            call->correlation, call->context,    0,         0, call->function, (uint32_t)i,
            WATCH_NONE,        BETWEEN_NO_TIMES, WATCH_NONE};
        APPEND(&watch->runs, run);
        APPEND(&store->runs, more);
    }
    return has_times;
}

static bool is_transfer_call(const struct store_call *call)
{
    return call->what == PDL_WATCH_COPY || call->what == PDL_WATCH_SET ||
           call->what == PDL_WATCH_MANY;
}

/* Finds the call of a run by the correlation, if it is of the run's kind. */
static uint32_t call_of_run(const struct watch *watch, const struct ids *correlations,
                            const struct watch_run *run, const struct store_run *more)
{
    const uint32_t index = more->correlation != 0
                               ? ids_get(correlations, more->correlation, run->process)
                               : WATCH_NONE;
    if (index == WATCH_NONE) {
        return WATCH_NONE;
    }
    const struct store_call *const call = &watch->store->calls.items[index];
    const bool fits = run->in_graph               ? call->what == PDL_WATCH_GRAPH_LAUNCH
                      : run->kernel == WATCH_NONE ? is_transfer_call(call)
                                                  : call->launch != WATCH_NONE;
    return fits && !run->from_device ? index : WATCH_NONE;
}

static void join_run(struct watch *watch, const struct ids *correlations, uint32_t index)
{
    struct watch_run *const run = &watch->runs.items[index];
    struct store_run *const more = &watch->store->runs.items[index];
    if (run->launch == WATCH_NONE) { /* else the call stands for it */
        more->call = call_of_run(watch, correlations, run, more);
        if (run->kernel != WATCH_NONE) {
            run->kernel = kernel_of_name(watch, run->kernel, run->process);
        }
    }
    run->device = ids_get(&watch->store->by_context, more->context, run->process);
    if (more->call == WATCH_NONE || run->in_graph) {
        return;
    }
    struct store_call *const call = &watch->store->calls.items[more->call];
    if (call->run == WATCH_NONE) {
        call->run = index;
    }
    if (call->launch != WATCH_NONE) {
        struct watch_launch *const launch = &watch->launches.items[call->launch];
        launch->run = launch->run == WATCH_NONE ? index : launch->run;
        run->launch = call->launch;
        run->flags = launch->flags;
        more->function = call->function;
    }
}

static void join_runs(struct watch *watch)
{
    struct ids correlations = {.slots = NULL};
    const struct watch_store *const store = watch->store;
    for (size_t i = 0; i < store->calls.count; i++) {
        const struct store_call *const call = &store->calls.items[i];
        if (call->correlation != 0 && !call->captured) {
            *ids_put(&correlations, call->correlation, call->process) = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < watch->runs.count; i++) {
        join_run(watch, &correlations, (uint32_t)i);
    }
    ids_free(&correlations);
}

/* The first device of a process, for contexts that no record tells of. */
static void find_devices(struct watch *watch)
{
    uint32_t *const first = allocate(watch->processes.count, sizeof(*first));
    memset(first, 0xff, watch->processes.count * sizeof(*first));
    for (size_t i = watch->devices.count; i > 0; i--) {
        first[watch->devices.items[i - 1].process] = (uint32_t)(i - 1);
    }
    for (size_t i = 0; i < watch->runs.count; i++) {
        struct watch_run *const run = &watch->runs.items[i];
        run->device = run->device == WATCH_NONE ? first[run->process] : run->device;
    }
    free(first);
}

/* ---- tracks ----------------------------------------------------------------------------------- */

static const char *track_name(struct watch *watch, const struct watch_run *run,
                              const struct store_run *more, uint32_t branch)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = memory_open(&text, &size);
    if (run->in_graph) {
        (void)fprintf(out, "graph %u", more->graph);
        if (branch > 0) {
            (void)fprintf(out, ", branch %u", branch + 1);
        }
    } else {
        (void)fprintf(out, "stream %u", more->stream);
    }
    if (watch->devices.count > watch->processes.count && run->device != WATCH_NONE) {
        (void)fprintf(out, ", device %u", watch->devices.items[run->device].device);
    }
    if (watch->processes.count > 1) {
        (void)fprintf(out, ", process %u", watch->processes.items[run->process].id);
    }
    memory_close(out);
    return store_text(watch->store, text);
}

uint32_t store_track(struct watch *watch, struct ids *tracks, const struct watch_run *run,
                     uint32_t branch)
{
    const struct store_run *const more =
        &watch->store->runs.items[(size_t)(run - watch->runs.items)];
    const uint64_t key = run->in_graph ? (uint64_t)more->graph << 32 | branch
                                       : (uint64_t)more->context << 32 | more->stream;
    uint32_t *const place = ids_put(tracks, key, run->process);
    if (*place == WATCH_NONE) {
        *place = (uint32_t)watch->tracks.count;
        const struct watch_track track = {track_name(watch, run, more, branch), run->process,
                                          more->context, more->stream, more->graph};
        APPEND(&watch->tracks, track);
    }
    return *place;
}

static void put_on_tracks(struct watch *watch)
{
    struct ids tracks = {.slots = NULL};
    for (size_t i = 0; i < watch->runs.count; i++) {
        struct watch_run *const run = &watch->runs.items[i];
        if (!run->in_graph) {
            run->track = store_track(watch, &tracks, run, 0);
        }
    }
    ids_free(&tracks);
    store_branch_graphs(watch);
}

/* ---- all of it -------------------------------------------------------------------------------- */

static void choose_runs(struct watch *watch, const struct watch_window *window)
{
    bool *const chosen = allocate(watch->kernels.count, sizeof(*chosen));
    for (size_t i = 0; i < watch->kernels.count; i++) {
        chosen[i] =
            window->kernel_count == 0 ||
            name_matches(watch->kernels.items[i].name, window->kernels, window->kernel_count);
    }
    for (size_t i = 0; i < watch->runs.count; i++) {
        struct watch_run *const run = &watch->runs.items[i];
        run->in_window =
            run->kernel != WATCH_NONE ? chosen[run->kernel] : window->kernel_count == 0;
    }
    free(chosen);
}

/* Launches whose runs a process that records runs does not have. */
static void note_missing(struct watch *watch, const bool *has_times)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < watch->store->calls.count; i++) {
        const struct store_call *const call = &watch->store->calls.items[i];
        missing += is_launched(watch, call) && has_times[call->process] && call->run == WATCH_NONE;
    }
    if (missing > 0) {
        char *const launches = format_count(missing, "launch", "launches");
        const char *const note = store_text(
            watch->store,
            format_text("%s without times of the device: they are not in the sums", launches));
        free(launches);
        APPEND(&watch->notes, note);
    }
    if (watch->store->impossible > 0) {
        char *const runs = format_count(watch->store->impossible, "execution", "executions");
        const char *const note = store_text(
            watch->store, format_text("%s with times that cannot be: they are left out", runs));
        free(runs);
        APPEND(&watch->notes, note);
    }
}

static bool is_asked(const struct watch_run *run, const struct store_run *more)
{
    return (run->flags & PDL_WATCH_ASKED) != 0 || (more->between & BETWEEN_EAGER) != 0 ||
           ((run->flags & PDL_WATCH_OVERLAP) != 0 && (run->flags & PDL_WATCH_ADDED) == 0);
}

/* What kernels add up to, of the runs that count. */
static void add_up(struct watch *watch)
{
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        const struct store_run *const more = &watch->store->runs.items[i];
        if (run->kernel == WATCH_NONE || !run->in_window) {
            continue;
        }
        struct watch_kernel *const kernel = &watch->kernels.items[run->kernel];
        const bool granted = (run->flags & PDL_WATCH_OVERLAP) != 0;
        kernel->launches++;
        kernel->asked += is_asked(run, more);
        kernel->granted += granted;
        kernel->added += (run->flags & PDL_WATCH_ADDED) != 0;
        kernel->removed += (run->flags & PDL_WATCH_REMOVED) != 0;
        kernel->not_proved += (run->flags & PDL_WATCH_NOT_PROVED) != 0;
        kernel->time_ns += run->end_ns - run->start_ns;
        kernel->registers =
            kernel->registers < 0 && run->registers > 0 ? run->registers : kernel->registers;
        kernel->static_shared =
            kernel->static_shared < 0 && watch->has_times && run->static_shared <= INT32_MAX
                ? (int32_t)run->static_shared
                : kernel->static_shared;
        if (granted && more->function != WATCH_NONE) {
            watch->store->functions.items[more->function].overlapped = true;
        }
        const uint64_t overlap_ns = store_overlap_ns(watch, run);
        kernel->overlapped += overlap_ns > 0;
        kernel->overlap_ns += overlap_ns;
    }
}

void watch_join(struct watch *watch, const struct watch_window *window)
{
    sort_calls(watch);
    resolve_calls(watch);
    bool *const has_times = add_calls_as_runs(watch);
    sort_runs(watch);
    join_runs(watch);
    find_devices(watch);
    store_group_graphs(watch);
    store_link_graphs(watch);
    store_queue_runs(watch, has_times);
    put_on_tracks(watch);
    choose_runs(watch, window);
    add_up(watch);
    note_missing(watch, has_times);
    free(has_times);
}
