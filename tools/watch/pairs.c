/* SPDX-License-Identifier: MIT */
/* Why neighbours do not overlap, what they would save if they did, and what it all adds up to. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "core/hash.h"
#include "watch/store.h"

enum {
    FIRST_CAPABILITY = 90, /* that overlaps */
    LAUNCH_NS = 1000, /* a launch is on the device this long after its call began, at the least */
    FEW_GAPS = 8,     /* too few to tell what is usual */
    STREAM_GAP_NS = 1500, /* what is usual then; on an H200 */
    GRAPH_GAP_NS = 1000,
    STREAM_GAP_LEAST_NS = 900, /* that two kernels without overlap were seen to have; on an H200 */
    GRAPH_GAP_LEAST_NS = 200,
    RAMP_NS =
        1600, /* that overlap was seen to hide beyond the gap: blocks start, and reach their wait */
    MOST_ROOMS = 20000 /* launches of different sizes for which the room on an SM is worked out */
};

static const struct store_run *more_of(const struct watch *watch, const struct watch_run *run)
{
    return &watch->store->runs.items[(size_t)(run - watch->runs.items)];
}

bool store_is_wanted(const struct watch *watch, const struct watch_run *run)
{
    return (run->flags & (PDL_WATCH_ASKED | PDL_WATCH_OVERLAP)) != 0 ||
           (more_of(watch, run)->between & BETWEEN_EAGER) != 0;
}

/* Whether the recording has what tells if overlap was asked for. */
static bool is_told(const struct watch *watch, const struct watch_run *run)
{
    const struct store_run *const more = more_of(watch, run);
    return run->in_graph ? more->graph_node != WATCH_NONE : run->launch != WATCH_NONE;
}

/* How long after a kernel's last instruction CUPTI has it end, for want of which neighbours would seem to overlap that
 * only follow each other closely: on an H200 at most, where the start is right to 50 ns. docs/results has the figures. */
enum { STREAM_END_NS = 750, GRAPH_END_NS = 500 };

/* The times of two runs that were not meant to overlap may by what the clocks are off. */
uint64_t store_overlap_ns(const struct watch *watch, const struct watch_run *run)
{
    if (run->before == WATCH_NONE || (is_told(watch, run) && !store_is_wanted(watch, run))) {
        return 0;
    }
    const struct watch_run *const before = &watch->runs.items[run->before];
    const uint64_t late_ns = run->in_graph ? GRAPH_END_NS : STREAM_END_NS;
    const uint64_t whole_ns = before->end_ns < run->end_ns ? before->end_ns : run->end_ns;
    const uint64_t end_ns = whole_ns > late_ns ? whole_ns - late_ns : 0;
    return before->kernel != WATCH_NONE && run->kernel != WATCH_NONE &&
                   before->start_ns <= run->start_ns && end_ns > run->start_ns
               ? end_ns - run->start_ns
               : 0;
}

/* The call may be long, and hand the launch over at its end. */
bool store_host_late(const struct watch *watch, const struct watch_run *run)
{
    const struct store_run *const more = more_of(watch, run);
    if (run->before == WATCH_NONE || more->call == WATCH_NONE ||
        (more->between & BETWEEN_NO_TIMES) != 0) {
        return false;
    }
    const struct watch_run *const before = &watch->runs.items[run->before];
    const struct store_call *const call = &watch->store->calls.items[more->call];
    const uint64_t length_ns = call->end_ns - call->begin_ns;
    const uint64_t needed_ns =
        length_ns > LAUNCH_NS && length_ns < UINT32_MAX ? length_ns : LAUNCH_NS;
    return call->begin_ns >= before->end_ns || before->end_ns - call->begin_ns <= needed_ns;
}

static uint64_t gap_of(const struct watch *watch, const struct watch_run *run)
{
    const uint64_t end_ns = watch->runs.items[run->before].end_ns;
    return run->start_ns > end_ns ? run->start_ns - end_ns : 0;
}

/* ---- what is usual ---------------------------------------------------------------------------- */

/* The median gap of those that nothing but their order kept apart, in streams or in graphs. */
static uint64_t usual_gap(const struct watch *watch, bool in_graph)
{
    const uint32_t others = ~(uint32_t)(BETWEEN_FULL | BETWEEN_EDGE);
    struct order *const gaps = allocate(watch->runs.count, sizeof(*gaps));
    size_t count = 0;
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        if (run->in_graph == in_graph && run->before != WATCH_NONE && run->kernel != WATCH_NONE &&
            watch->runs.items[run->before].kernel != WATCH_NONE &&
            (watch->store->runs.items[i].between & others) == 0 && gap_of(watch, run) > 0 &&
            !store_host_late(watch, run)) {
            gaps[count++] = (struct order){gap_of(watch, run), (uint32_t)i};
        }
    }
    order_sort(gaps, count);
    const uint64_t usual = count >= FEW_GAPS ? gaps[count / 2].key
                           : in_graph        ? GRAPH_GAP_NS
                                             : STREAM_GAP_NS;
    free(gaps);
    return usual;
}

/* Overlap hides the gap behind the run in front, as far as that is the device's and not the host's, and the time that the
 * blocks take to start and to reach their wait. What of the kernels themselves runs at the same time beyond that depends on
 * where they wait and trigger, and is not counted. */
uint64_t store_saving_ns(const struct watch *watch, const struct watch_run *run)
{
    const struct watch_run *const before = &watch->runs.items[run->before];
    const uint64_t usual_ns = watch->store->usual_gap_ns[run->in_graph];
    const uint64_t gap_ns = gap_of(watch, run);
    uint64_t ramp_ns = RAMP_NS;
    const uint32_t between = more_of(watch, run)->between;
    if ((between & BETWEEN_NO_TIMES) != 0 || store_host_late(watch, run) ||
        (!store_is_wanted(watch, run) && (between & BETWEEN_ANY) != 0)) {
        return 0; /* what is between would have to go as well */
    }
    ramp_ns =
        before->end_ns - before->start_ns < ramp_ns ? before->end_ns - before->start_ns : ramp_ns;
    ramp_ns = run->end_ns - run->start_ns < ramp_ns ? run->end_ns - run->start_ns : ramp_ns;
    return (gap_ns < usual_ns ? gap_ns : usual_ns) + ramp_ns;
}

/* ---- the reason ------------------------------------------------------------------------------- */

struct judging {
    struct watch *watch;
    struct ids rooms; /* by sizes: 1: there is room, 2: there is not */
    struct ids pairs;
};

static bool has_no_room(struct judging *judging, const struct watch_run *first,
                        const struct watch_run *second)
{
    const uint32_t sizes[] = {
        first->kernel,      second->kernel,        second->device,         first->grid[0],
        first->grid[1],     first->grid[2],        first->block[0],        first->block[1],
        first->block[2],    first->registers,      first->static_shared,   first->dynamic_shared,
        first->shared_size, second->block[0],      second->block[1],       second->block[2],
        second->registers,  second->static_shared, second->dynamic_shared,
    };
    uint64_t hash = PDL_HASH_START;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        hash = (hash ^ sizes[i]) * UINT64_C(0x100000001b3);
    }
    uint32_t *const place = ids_put(&judging->rooms, hash, 0);
    if (*place == WATCH_NONE) {
        char *const missing =
            judging->rooms.count <= MOST_ROOMS ? room_missing(judging->watch, first, second) : NULL;
        *place = missing != NULL ? 2 : 1;
        free(missing);
    }
    return *place == 2;
}

static int32_t version_of(const struct watch *watch, const struct watch_run *run)
{
    const uint32_t function = more_of(watch, run)->function;
    return function != WATCH_NONE ? watch->store->functions.items[function].ptx_version
                                  : watch->kernels.items[run->kernel].ptx_version;
}

static enum watch_reason between_reason(uint32_t between)
{
    return (between & BETWEEN_COPY) != 0    ? WATCH_COPY_BETWEEN
           : (between & BETWEEN_EVENT) != 0 ? WATCH_EVENT_BETWEEN
           : (between & BETWEEN_HOST) != 0  ? WATCH_HOST_BETWEEN
           : (between & BETWEEN_OTHER) != 0 ? WATCH_OTHER_BETWEEN
           : (between & BETWEEN_EAGER) != 0 ? WATCH_EVENT_EAGER
           : (between & BETWEEN_FULL) != 0  ? WATCH_FULL_EDGE
                                            : WATCH_UNKNOWN;
}

/* What has to do with the launch itself. */
static enum watch_reason launch_reason(const struct watch *watch, const struct watch_run *run)
{
    const int32_t version = version_of(watch, run);
    if (!is_told(watch, run)) {
        return WATCH_UNKNOWN;
    }
    if ((run->flags & PDL_WATCH_REMOVED) != 0) {
        return WATCH_TAKEN_OUT;
    }
    if (!store_is_wanted(watch, run)) {
        return (run->flags & PDL_WATCH_NOT_PROVED) != 0 ? WATCH_NOT_PROVED : WATCH_NOT_ASKED;
    }
    if ((run->flags & PDL_WATCH_COOPERATIVE) != 0) {
        return WATCH_COOPERATIVE;
    }
    if (version >= 0 && version < FIRST_CAPABILITY) {
        return WATCH_OLD_CODE;
    }
    return run->device != WATCH_NONE &&
                   watch->devices.items[run->device].capability < FIRST_CAPABILITY
               ? WATCH_OLD_DEVICE
               : WATCH_OVERLAPPED;
}

static enum watch_reason judge(struct judging *judging, const struct watch_run *run)
{
    const struct watch *const watch = judging->watch;
    const uint32_t between = more_of(watch, run)->between;
    if (store_overlap_ns(watch, run) > 0) {
        return WATCH_OVERLAPPED;
    }
    if (run->before == WATCH_NONE) {
        return (between & (BETWEEN_LOST | BETWEEN_EDGE | BETWEEN_FULL)) != 0 || run->from_device
                   ? WATCH_UNKNOWN
                   : WATCH_FIRST;
    }
    enum watch_reason reason = launch_reason(watch, run);
    if (reason != WATCH_OVERLAPPED) {
        return reason;
    }
    reason = between_reason(between);
    if (reason != WATCH_UNKNOWN) {
        return reason;
    }
    const struct watch_run *const before = &watch->runs.items[run->before];
    if (before->kernel == WATCH_NONE) {
        return WATCH_COPY_BETWEEN;
    }
    const struct watch_kernel *const kernel = &watch->kernels.items[run->kernel];
    if (has_no_room(judging, before, run)) {
        return WATCH_NO_ROOM;
    }
    if (store_host_late(watch, run)) {
        return WATCH_HOST_LATE;
    }
    if ((between & BETWEEN_NO_TIMES) != 0) {
        return WATCH_UNKNOWN;
    }
    if (watch->kernels.items[before->kernel].triggers == PDL_NO) {
        return WATCH_TRIGGERS_AT_END;
    }
    if (room_is_resized(before, run)) {
        return WATCH_NO_ROOM;
    }
    uint64_t blocks;
    const uint64_t wave = room_wave(watch, before, &blocks);
    if (watch->kernels.items[before->kernel].triggers == PDL_YES && wave > 0 && blocks > wave) {
        return WATCH_WAVES;
    }
    return kernel->touches_before_wait_known && !kernel->work_before_wait ? WATCH_WAITS_FIRST
                                                                          : WATCH_UNKNOWN;
}

/* ---- pairs ------------------------------------------------------------------------------------ */

static struct watch_pair *pair_of(struct judging *judging, struct watch_run *run)
{
    struct watch *const watch = judging->watch;
    const uint32_t first = watch->runs.items[run->before].kernel;
    uint32_t *const place =
        ids_put(&judging->pairs, (uint64_t)first << 32 | run->kernel, run->in_graph);
    if (*place == WATCH_NONE) {
        *place = (uint32_t)watch->pairs.count;
        const struct watch_pair pair = {.first = first,
                                        .second = run->kernel,
                                        .in_graph = run->in_graph,
                                        .example = WATCH_NONE};
        APPEND(&watch->pairs, pair);
    }
    run->pair = *place;
    return &watch->pairs.items[*place];
}

/* Overlap saves nothing where the driver never grants it. */
static bool can_save(enum watch_reason reason)
{
    return reason != WATCH_OVERLAPPED && reason != WATCH_FIRST && reason != WATCH_COOPERATIVE &&
           reason != WATCH_OLD_DEVICE && reason != WATCH_HOST_LATE;
}

/* Whether the device waited for the host. */
static bool is_late(const struct watch *watch, const struct watch_run *run)
{
    return run->reason != WATCH_OVERLAPPED && !run->in_graph && store_host_late(watch, run);
}

/* What an overlap that libpdl-watch added has saved: where the run follows closely, the gap as well that it would have
 * had. */
static void add_gain(struct watch *watch, const struct watch_run *run, uint64_t overlap_ns,
                     uint64_t gap_ns)
{
    struct watch_kernel *const kernel = &watch->kernels.items[run->kernel];
    const uint64_t usual_ns = watch->store->usual_gap_ns[run->in_graph];
    const uint64_t least_ns = run->in_graph ? GRAPH_GAP_LEAST_NS : STREAM_GAP_LEAST_NS;
    const uint64_t hidden_ns = usual_ns < least_ns ? usual_ns : least_ns;
    kernel->added_overlapped += overlap_ns > 0;
    kernel->added_close += overlap_ns == 0 && gap_ns == 0;
    kernel->added_saved_ns += overlap_ns + (hidden_ns > gap_ns ? hidden_ns - gap_ns : 0);
}

static void add_to_pair(struct judging *judging, struct watch_run *run)
{
    struct watch *const watch = judging->watch;
    struct watch_pair *const pair = pair_of(judging, run);
    const enum watch_reason reason = (enum watch_reason)run->reason;
    const uint64_t overlap_ns = store_overlap_ns(watch, run);
    pair->count++;
    pair->reasons[reason]++;
    pair->overlapped += reason == WATCH_OVERLAPPED;
    pair->overlap_ns += overlap_ns;
    if ((more_of(watch, run)->between & BETWEEN_NO_TIMES) != 0) {
        return;
    }
    const uint64_t gap_ns = gap_of(watch, run);
    pair->gap_ns += gap_ns;
    if ((run->flags & PDL_WATCH_ADDED) != 0 &&
        watch->runs.items[run->before].kernel != WATCH_NONE) {
        add_gain(watch, run, overlap_ns, gap_ns);
    }
    pair->saving_ns += can_save(reason) ? store_saving_ns(watch, run) : 0;
    if (is_late(watch, run)) {
        watch->sums.late++;
    }
}

static enum watch_reason commonest(const struct watch_pair *pair)
{
    enum watch_reason most = WATCH_OVERLAPPED;
    for (int i = WATCH_OVERLAPPED + 1; i < WATCH_REASON_COUNT; i++) {
        if (pair->reasons[i] > 0 &&
            (most == WATCH_OVERLAPPED || pair->reasons[i] > pair->reasons[most])) {
            most = (enum watch_reason)i;
        }
    }
    return most;
}

/* By what they could save, then by count. */
static int compare_pairs(const void *left, const void *right)
{
    const struct watch_pair *const a = left;
    const struct watch_pair *const b = right;
    if (a->saving_ns != b->saving_ns) {
        return a->saving_ns < b->saving_ns ? 1 : -1;
    }
    if (a->count != b->count) {
        return a->count < b->count ? 1 : -1;
    }
    return a->example < b->example ? -1 : a->example > b->example;
}

/* ---- details ---------------------------------------------------------------------------------- */

static char *late_detail(const struct watch *watch, const struct watch_run *run)
{
    const struct watch_run *const before = &watch->runs.items[run->before];
    const struct store_call *const call = &watch->store->calls.items[more_of(watch, run)->call];
    const double micro = 1e-3;
    return call->begin_ns >= before->end_ns
               ? format_text("the call came %.1f µs after the run in front had ended",
                             (double)(call->begin_ns - before->end_ns) * micro)
               : format_text(
                     "the call came %.1f µs before the run in front ended, and took %.1f µs",
                     (double)(before->end_ns - call->begin_ns) * micro,
                     (double)(call->end_ns - call->begin_ns) * micro);
}

static char *unknown_detail(const struct watch *watch, const struct watch_run *run)
{
    const struct store_run *const more = more_of(watch, run);
    if ((more->between & BETWEEN_NO_TIMES) != 0) {
        return copy_text("there are no times of the device");
    }
    if (run->in_graph && more->graph_node == WATCH_NONE) {
        return copy_text("the recording has no edges of its graph");
    }
    if (!is_told(watch, run)) {
        return copy_text("the recording has no call that launched it");
    }
    const struct watch_run *const before = &watch->runs.items[run->before];
    if (before->kernel != WATCH_NONE &&
        watch->kernels.items[before->kernel].triggers == PDL_UNKNOWN) {
        return format_text("whether %.200s triggers is not known",
                           watch->kernels.items[before->kernel].shown);
    }
    return copy_text("nothing in the recording explains it");
}

static char *room_text(const struct watch *watch, const struct watch_run *before,
                       const struct watch_run *run)
{
    char *const missing = room_missing(watch, before, run);
    return missing != NULL || !room_is_resized(before, run)
               ? missing
               : format_text("the SMs' shared memory is set to %u KiB for %.200s and to %u KiB for "
                             "%.200s, which an SM does only when it is empty: prefer the same "
                             "carve-out for both",
                             before->shared_size / 1024, watch->kernels.items[before->kernel].shown,
                             run->shared_size / 1024, watch->kernels.items[run->kernel].shown);
}

/* The numbers behind a reason; NULL where it says all. */
static char *detail_of(const struct watch *watch, const struct watch_run *run)
{
    const struct watch_run *const before = &watch->runs.items[run->before];
    const struct store_run *const more = more_of(watch, run);
    const int32_t version = version_of(watch, run);
    switch ((enum watch_reason)run->reason) {
    case WATCH_NOT_ASKED:
        return run->in_graph ? copy_text("an edge of the graph that is not programmatic") : NULL;
    case WATCH_OLD_CODE:
        return format_text("compiled for %d.%d", version / 10, version % 10);
    case WATCH_OLD_DEVICE:
        return format_text("%.100s is of %u.%u", watch->devices.items[run->device].name,
                           watch->devices.items[run->device].capability / 10,
                           watch->devices.items[run->device].capability % 10);
    case WATCH_OTHER_BETWEEN:
        return more->group != WATCH_NONE || before->in_graph ? copy_text("the launch of a graph")
                                                             : NULL;
    case WATCH_EVENT_EAGER:
        return copy_text("captured into a graph it becomes a programmatic edge, which overlaps");
    case WATCH_FULL_EDGE:
        return copy_text((more->between & BETWEEN_EDGE) != 0
                             ? "it has programmatic edges and full ones: one full edge suffices"
                             : "no edge to it is programmatic");
    case WATCH_NO_ROOM:
        return room_text(watch, before, run);
    case WATCH_HOST_LATE:
        return late_detail(watch, run);
    case WATCH_TRIGGERS_AT_END:
        return format_text("%.200s has no griddepcontrol.launch_dependents",
                           watch->kernels.items[before->kernel].shown);
    case WATCH_WAVES: {
        uint64_t blocks;
        const uint64_t wave = room_wave(watch, before, &blocks);
        return format_text("%.200s has %" PRIu64 " blocks, and the device holds %" PRIu64
                           ": it triggers once all have started",
                           watch->kernels.items[before->kernel].shown, blocks, wave);
    }
    case WATCH_UNKNOWN:
        return unknown_detail(watch, run);
    default:
        return NULL;
    }
}

/* How often the host launches, and how long kernels take, where it is late. */
static void measure_late(struct watch *watch)
{
    struct order *const intervals = allocate(watch->runs.count, sizeof(*intervals));
    struct order *const lengths = allocate(watch->runs.count, sizeof(*lengths));
    uint32_t count = 0;
    for (size_t i = 0; i < watch->runs.count && watch->sums.late > 0; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        if (run->kernel == WATCH_NONE || !run->in_window || run->before == WATCH_NONE ||
            !is_late(watch, run)) {
            continue;
        }
        const struct watch_run *const before = &watch->runs.items[run->before];
        const uint32_t calls[] = {more_of(watch, before)->call, more_of(watch, run)->call};
        if (before->kernel != WATCH_NONE && calls[0] != WATCH_NONE) {
            const uint64_t first_ns = watch->store->calls.items[calls[0]].begin_ns;
            const uint64_t second_ns = watch->store->calls.items[calls[1]].begin_ns;
            intervals[count] =
                (struct order){second_ns > first_ns ? second_ns - first_ns : 0, count};
            lengths[count] = (struct order){before->end_ns - before->start_ns, count};
            count++;
        }
    }
    if (count > 0) {
        order_sort(intervals, count);
        order_sort(lengths, count);
        watch->sums.late_interval_ns = intervals[count / 2].key;
        watch->sums.late_kernel_ns = lengths[count / 2].key;
    }
    free(intervals);
    free(lengths);
}

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

/* ---- all of it -------------------------------------------------------------------------------- */

/* For each pair a run that did not overlap for the commonest reason. */
static void find_examples(struct watch *watch)
{
    for (size_t i = 0; i < watch->pairs.count; i++) {
        watch->pairs.items[i].reason = commonest(&watch->pairs.items[i]);
    }
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        struct watch_pair *const pair =
            run->pair != WATCH_NONE ? &watch->pairs.items[run->pair] : NULL;
        if (pair != NULL && pair->example == WATCH_NONE && pair->reason == run->reason) {
            pair->example = (uint32_t)i;
        }
    }
}

static void sort_pairs(struct watch *watch)
{
    uint32_t *const place_of = allocate(watch->pairs.count, sizeof(*place_of));
    if (watch->pairs.count > 1) {
        qsort(watch->pairs.items, watch->pairs.count, sizeof(*watch->pairs.items), compare_pairs);
    }
    for (size_t i = 0; i < watch->pairs.count; i++) { /* the example still has the old place */
        place_of[watch->runs.items[watch->pairs.items[i].example].pair] = (uint32_t)i;
    }
    for (size_t i = 0; i < watch->runs.count; i++) {
        struct watch_run *const run = &watch->runs.items[i];
        run->pair = run->pair != WATCH_NONE ? place_of[run->pair] : WATCH_NONE;
    }
    free(place_of);
}

void watch_judge_pairs(struct watch *watch)
{
    struct judging judging = {.watch = watch};
    watch->store->usual_gap_ns[false] = usual_gap(watch, false);
    watch->store->usual_gap_ns[true] = usual_gap(watch, true);
    for (size_t i = 0; i < watch->runs.count; i++) {
        struct watch_run *const run = &watch->runs.items[i];
        if (run->kernel == WATCH_NONE) {
            continue;
        }
        run->reason = (uint8_t)judge(&judging, run);
        if (run->in_window) {
            watch->kernels.items[run->kernel].reasons[run->reason]++;
            if (run->before != WATCH_NONE) {
                add_to_pair(&judging, run);
                const uint32_t first = watch->runs.items[run->before].kernel;
                watch->sums.no_trigger += (run->flags & PDL_WATCH_ADDED) != 0 &&
                                          first != WATCH_NONE &&
                                          watch->kernels.items[first].triggers == PDL_NO;
            }
        }
    }
    measure_late(watch);
    find_examples(watch);
    sort_pairs(watch);
    for (size_t i = 0; i < watch->pairs.count; i++) {
        struct watch_pair *const pair = &watch->pairs.items[i];
        char *const detail = detail_of(watch, &watch->runs.items[pair->example]);
        pair->detail = detail != NULL ? store_text(watch->store, detail) : NULL;
    }
    ids_free(&judging.rooms);
    ids_free(&judging.pairs);
    add_kernels(watch);
    add_runs(watch);
}
