/* SPDX-License-Identifier: MIT */
/* What a recording adds up to. */
#include "watch/store.h"

/* ---- sums ------------------------------------------------------------------------------------- */

static void add_kernels(struct watch *watch)
{
    for (size_t i = 0; i < watch->kernels.count; i++) {
        const struct watch_kernel *const kernel = &watch->kernels.items[i];
        watch->sums.launches += kernel->launches;
        watch->sums.asked += kernel->asked;
        watch->sums.granted += kernel->granted;
        watch->sums.overlapped += kernel->overlapped;
        watch->sums.kernel_ns += kernel->time_ns;
        watch->sums.saved_ns += kernel->overlap_ns;
        watch->sums.added += kernel->added;
        watch->sums.removed += kernel->removed;
        watch->sums.not_proved += kernel->not_proved;
        watch->sums.added_overlapped += kernel->added_overlapped;
        watch->sums.added_close += kernel->added_close;
        watch->sums.added_saved_ns += kernel->added_saved_ns;
        watch->sums.instrumented += kernel->instrumented == PDL_WATCH_INSTRUMENTED_DONE;
        watch->sums.races += watch_race_is_one(kernel->race);
    }
    for (size_t i = 0; i < watch->pairs.count; i++) {
        watch->sums.saving_ns += watch->pairs.items[i].saving_ns;
    }
}

static void add_runs(struct watch *watch)
{
    uint64_t busy_until = 0;
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        if (run->kernel == WATCH_NONE || !run->in_window) {
            continue;
        }
        watch->sums.graph_runs += run->in_graph;
        if (run->end_ns > busy_until) {
            watch->sums.busy_ns +=
                run->end_ns - (run->start_ns > busy_until ? run->start_ns : busy_until);
            busy_until = run->end_ns;
        }
    }
}

void watch_conclude(struct watch *watch)
{
    add_kernels(watch);
    add_runs(watch);
}
