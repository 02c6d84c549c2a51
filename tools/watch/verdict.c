/* SPDX-License-Identifier: MIT */
/* What a recording adds up to, and what to do about it. */
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"
#include "watch/brief.h"
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

/* ---- what to do ------------------------------------------------------------------------------- */

/* Launches that one piece of advice is about. */
struct group {
    enum watch_reason reason;
    uint32_t kernel; /* that has to change */
    bool in_graph;
    uint64_t count, saving_ns;
    uint32_t pair; /* with most to save */
};

struct groups {
    WATCH_LIST(struct group) list;
    struct ids places;
};

/* Those of which something can be said. */
static bool has_advice(enum watch_reason reason)
{
    switch (reason) {
    case WATCH_OVERLAPPED:
    case WATCH_FIRST:
    case WATCH_COOPERATIVE:
    case WATCH_OLD_DEVICE:
    case WATCH_HOST_LATE:
    case WATCH_UNKNOWN:
        return false;
    default:
        return true;
    }
}

static void add_run(struct watch *watch, struct groups *groups, const struct watch_run *run)
{
    const enum watch_reason reason = (enum watch_reason)run->reason;
    const uint64_t saving_ns = store_saving_ns(watch, run);
    const bool is_first =
        reason == WATCH_TRIGGERS_AT_END || reason == WATCH_NO_ROOM || reason == WATCH_WAVES;
    const uint32_t kernel = is_first ? watch->runs.items[run->before].kernel : run->kernel;
    const uint64_t key = (uint64_t)reason << 40 | (uint64_t)run->in_graph << 32 | kernel;
    uint32_t *const place =
        ids_put(&groups->places, key, reason == WATCH_NO_ROOM ? run->pair : WATCH_NONE);
    if (*place == WATCH_NONE) {
        *place = (uint32_t)groups->list.count;
        const struct group group = {reason, kernel, run->in_graph, 0, 0, run->pair};
        APPEND(&groups->list, group);
    }
    struct group *const group = &groups->list.items[*place];
    group->count++;
    group->saving_ns += saving_ns;
    if (run->pair < group->pair) { /* pairs are ordered by what they save */
        group->pair = run->pair;
    }
}

/* A kernel's name as a sentence has room for it. */
static const char *name_of(const struct watch *watch, uint32_t kernel)
{
    enum { COLUMNS = 72 };
    return store_text(watch->store, brief_name(watch->kernels.items[kernel].shown, COLUMNS));
}

static char *not_asked_text(const struct watch_kernel *kernel, const char *name, bool in_graph)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = memory_open(&text, &size);
    if (kernel->ptx_version >= 0 && kernel->ptx_version < 90) {
        (void)fprintf(out, "compile %s for compute_90 or later, where it can wait, then ", name);
    } else if (kernel->waits == PDL_NO) {
        (void)fprintf(out, "have %s wait before it touches what the kernels in front write, then ",
                      name);
    } else if (kernel->waits == PDL_UNKNOWN) {
        (void)fprintf(out, "find out whether %s waits (%s), then ", name,
                      kernel->why_unknown != NULL ? kernel->why_unknown : "it is unknown");
    } else if (kernel->shown_to_wait == PDL_NO) {
        (void)fprintf(out, "have %s wait on every path before it touches memory, then ", name);
    }
    char *const start =
        format_text(in_graph ? "capture the launch of %s with the attribute, or give its node "
                               "a programmatic edge"
                             : "launch %s with the attribute of programmatic stream "
                               "serialization",
                    name);
    (void)fputs(start, out);
    free(start);
    if (kernel->waits == PDL_YES && kernel->shown_to_wait == PDL_YES) {
        (void)fputs(": it is shown to wait before it touches memory, and `pdltool watch "
                    "--overlap on` tries it without a change to the program",
                    out);
    } else if (kernel->waits == PDL_YES && kernel->shown_to_wait != PDL_NO) {
        (void)fputs(": it waits already", out);
    }
    memory_close(out);
    return text;
}

/* What to do, without its numbers. */
static char *action_text(const struct watch *watch, const struct group *group)
{
    const struct watch_pair *const pair = &watch->pairs.items[group->pair];
    const char *const name = name_of(watch, group->kernel);
    switch (group->reason) {
    case WATCH_NOT_PROVED:
        return format_text("have %s wait on every path before it touches memory: overlap was not "
                           "added to it; for what is loaded as PTX --instrument does that",
                           name);
    case WATCH_NOT_ASKED:
        return not_asked_text(&watch->kernels.items[group->kernel], name, group->in_graph);
    case WATCH_TAKEN_OUT:
        return format_text("keep the overlap of %s, which the rules removed", name);
    case WATCH_OLD_CODE:
        return format_text("compile %s for compute_90 or later: in the code that ran its waits do "
                           "nothing, and it has the attribute",
                           name);
    case WATCH_COPY_BETWEEN:
        return format_text("move the copy or memset in front of %s elsewhere, or do its work in a "
                           "kernel",
                           name);
    case WATCH_EVENT_BETWEEN:
        return format_text("let the stream wait for the other stream's event earlier than right in "
                           "front of %s, or put the work into one stream",
                           name);
    case WATCH_HOST_BETWEEN:
        return format_text("move the host function in front of %s elsewhere", name);
    case WATCH_OTHER_BETWEEN:
        return group->in_graph
                   ? format_text("put %s and what runs in front of its graph into one graph", name)
                   : format_text("move what is between %s and the kernel in front of it elsewhere",
                                 name);
    case WATCH_EVENT_EAGER:
        return format_text("capture %s and the launch with the programmatic event into a graph, or "
                           "put both into one stream",
                           name);
    case WATCH_FULL_EDGE:
        return format_text("make every edge to %s programmatic: all of its predecessors have to "
                           "be kernels",
                           name);
    case WATCH_NO_ROOM:
        return format_text("make room on the SMs%s%s: fewer registers, less shared memory or "
                           "smaller blocks in %s or %s",
                           pair->detail != NULL ? ": " : "",
                           pair->detail != NULL ? pair->detail : "", name,
                           name_of(watch, pair->second));
    case WATCH_TRIGGERS_AT_END:
        return format_text("trigger in %s, which never does: griddepcontrol.launch_dependents as "
                           "soon as its blocks are all running",
                           name);
    case WATCH_WAVES:
        return format_text("launch %s with fewer blocks that do more each: it triggers once all "
                           "of its blocks have started, and the device does not hold them all",
                           name);
    default:
        if (watch->kernels.items[group->kernel].instrumented == PDL_WATCH_INSTRUMENTED_DONE) {
            return format_text("nothing is before the wait that was put into %s: try --instrument "
                               "hoist, and --constant-param for memory that no kernel in flight "
                               "writes",
                               name);
        }
        return format_text("nothing is before the wait in %s: move what does not depend on the "
                           "kernels in front, such as loads of weights and set-up, ahead of it",
                           name);
    }
}

/* Ends the sentence with its numbers. */
static const char *advice_text(struct watch *watch, char *action, uint64_t count,
                               uint64_t saving_ns)
{
    char *const launches = format_count(count, "launch", "launches");
    char *const time = brief_time(saving_ns);
    char *const text = watch->has_times ? format_text("%s; %s, at most %s", action, launches, time)
                                        : format_text("%s; %s", action, launches);
    free(action);
    free(launches);
    free(time);
    return store_text(watch->store, text);
}

/* What the host was late for stands for itself: no attribute helps there. */
static void advise_graph(struct watch *watch)
{
    const struct watch_store *const store = watch->store;
    const uint64_t in_streams = watch->sums.launches - watch->sums.graph_runs;
    const uint64_t few = 20; /* one in so many is no matter */
    const uint64_t late = watch->sums.late;
    if (late == 0 || late * few < in_streams) {
        return;
    }
    const double share = 100.0 * (double)late / (double)in_streams;
    char *const interval = brief_time(watch->sums.late_interval_ns);
    char *const length = brief_time(watch->sums.late_kernel_ns);
    char *const action =
        format_text("record a graph, or launch earlier: the host was late for %.0f %% of the "
                    "launches in streams, where overlap cannot help: it launches a kernel every "
                    "%s, and kernels take %s",
                    share, interval, length);
    free(interval);
    free(length);
    const struct watch_advice advice = {store->late_ns, late, WATCH_HOST_LATE, WATCH_NONE,
                                        advice_text(watch, action, late, store->late_ns)};
    APPEND(&watch->advice, advice);
}

static int compare_advice(const void *left, const void *right)
{
    const struct watch_advice *const a = left;
    const struct watch_advice *const b = right;
    if (a->saving_ns != b->saving_ns) {
        return a->saving_ns < b->saving_ns ? 1 : -1;
    }
    if (a->count != b->count) {
        return a->count < b->count ? 1 : -1;
    }
    return strcmp(a->text, b->text);
}

static void advise(struct watch *watch)
{
    struct groups groups = {.list = {NULL, 0, 0}};
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        if (run->pair != WATCH_NONE && has_advice((enum watch_reason)run->reason)) {
            add_run(watch, &groups, run);
        }
    }
    for (size_t i = 0; i < groups.list.count; i++) {
        const struct group *const group = &groups.list.items[i];
        if (group->saving_ns > 0 || !watch->has_times) {
            const struct watch_advice advice = {
                group->saving_ns, group->count, group->reason, group->pair,
                advice_text(watch, action_text(watch, group), group->count, group->saving_ns)};
            APPEND(&watch->advice, advice);
        }
    }
    advise_graph(watch);
    if (watch->advice.count > 1) {
        qsort(watch->advice.items, watch->advice.count, sizeof(*watch->advice.items),
              compare_advice);
    }
    free(groups.list.items);
    ids_free(&groups.places);
}

void watch_conclude(struct watch *watch)
{
    add_kernels(watch);
    add_runs(watch);
    advise(watch);
}
