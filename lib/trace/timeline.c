/* SPDX-License-Identifier: MIT */
/* Timelines: launches, their blocks, and what they come to. */
#include "trace/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/sized.h"

/* Of a stamp: so that the difference of any two can be told. The clock of a device counts from 1970
 * and is at 1.8e18. */
#define TIME_LIMIT ((INT64_C(1) << 62) - 1)

/* ------------------------------------------------------------------------------------------------
 * Growing
 * ---------------------------------------------------------------------------------------------- */

/* Room for one element more. */
static pdl_status grow(void **array, uint64_t count, uint64_t *room, size_t element,
                       const char *what)
{
    if (count < *room) {
        return PDL_SUCCESS;
    }
    const uint64_t wanted = *room == 0 ? 16 : *room * 2;
    void *grown = wanted < SIZE_MAX / element ? realloc(*array, (size_t)wanted * element) : NULL;
    if (grown == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %llu %s",
                        (unsigned long long)wanted, what);
    }
    *array = grown;
    *room = wanted;
    return PDL_SUCCESS;
}

static pdl_status grow_short(void **array, uint32_t count, uint32_t *room, size_t element,
                             const char *what)
{
    uint64_t wide = *room;
    const pdl_status status = grow(array, count, &wide, element, what);
    if (status == PDL_SUCCESS) {
        *room = (uint32_t)wide;
    }
    return status;
}

/* The index of a name, added if it is new. The newest are the likeliest. */
static pdl_status name_index(struct pdl_timeline_names *names, const char *name, uint32_t *index)
{
    for (uint32_t i = names->count; i > 0; i--) {
        if (strcmp(names->names[i - 1], name) == 0) {
            *index = i - 1;
            return PDL_SUCCESS;
        }
    }
    void *array = names->names;
    const pdl_status status =
        grow_short(&array, names->count, &names->room, sizeof(*names->names), "names");
    if (status != PDL_SUCCESS) {
        return status;
    }
    names->names = array;
    char *copy = strdup(name);
    if (copy == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a name");
    }
    names->names[names->count] = copy;
    *index = names->count++;
    return PDL_SUCCESS;
}

static void free_names(struct pdl_timeline_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        free(names->names[i]);
    }
    free((void *)names->names);
}

/* ------------------------------------------------------------------------------------------------
 * The object
 * ---------------------------------------------------------------------------------------------- */

pdl_status pdl_timeline_create(pdl_timeline **timeline)
{
    if (timeline == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "timeline", "timeline is NULL");
    }
    pdl_timeline *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a timeline");
    }
    *timeline = made;
    return PDL_SUCCESS;
}

void pdl_timeline_destroy(pdl_timeline *timeline)
{
    if (timeline != NULL) {
        free_names(&timeline->kernels);
        free_names(&timeline->tracks);
        free_names(&timeline->notes);
        free(timeline->launches);
        free(timeline->blocks);
        free(timeline);
    }
}

static pdl_status need_timeline(const pdl_timeline *timeline)
{
    if (timeline == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "timeline", "timeline is NULL");
    }
    return PDL_SUCCESS;
}

pdl_status pdl_timeline_add_launch(pdl_timeline *timeline, const char *kernel, const char *track,
                                   uint32_t *launch)
{
    struct pdl_timeline_launch made = {.waited_ns = PDL_TIMELINE_NONE,
                                       .triggered_ns = PDL_TIMELINE_NONE};
    pdl_status status = need_timeline(timeline);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (kernel == NULL || kernel[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "kernel", "the kernel has no name");
    }
    if (launch == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "launch", "launch is NULL");
    }
    if (timeline->launch_count == INT32_MAX) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no room for more than %d launches", INT32_MAX);
    }
    void *array = timeline->launches;
    status = grow_short(&array, timeline->launch_count, &timeline->launch_room,
                        sizeof(*timeline->launches), "launches");
    if (status != PDL_SUCCESS) {
        return status;
    }
    timeline->launches = array;
    status = name_index(&timeline->kernels, kernel, &made.kernel);
    if (status == PDL_SUCCESS) {
        status = name_index(&timeline->tracks, track != NULL ? track : "", &made.track);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    timeline->launches[timeline->launch_count] = made;
    *launch = timeline->launch_count++;
    return PDL_SUCCESS;
}

/* Refuses a stamp that is not in from .. to. */
static pdl_status check_stamp(const pdl_timeline_block *block, const char *name, int64_t stamp,
                              int64_t from, int64_t to)
{
    if (stamp >= from && stamp <= to) {
        return PDL_SUCCESS;
    }
    return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, name,
                          "%s of block %u of launch %u is %lld, not in %lld..%lld", name,
                          (unsigned)block->block, (unsigned)block->launch, (long long)stamp,
                          (long long)from, (long long)to);
}

static pdl_status check_block(const pdl_timeline *timeline, const pdl_timeline_block *block)
{
    if (block == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "block", "block is NULL");
    }
    if (block->launch >= timeline->launch_count) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "launch",
                              "launch is %u and the timeline has %u launches",
                              (unsigned)block->launch, (unsigned)timeline->launch_count);
    }
    if (block->reserved != 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "reserved", "reserved is %u, not 0",
                              (unsigned)block->reserved);
    }
    if ((block->wait_ns == PDL_TIMELINE_NONE) != (block->waited_ns == PDL_TIMELINE_NONE)) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "waited_ns",
                              "block %u of launch %u has one of wait_ns and waited_ns",
                              (unsigned)block->block, (unsigned)block->launch);
    }
    pdl_status status = check_stamp(block, "start_ns", block->start_ns, -TIME_LIMIT, TIME_LIMIT);
    if (status == PDL_SUCCESS) {
        status = check_stamp(block, "end_ns", block->end_ns, block->start_ns, TIME_LIMIT);
    }
    if (status == PDL_SUCCESS && block->wait_ns != PDL_TIMELINE_NONE) {
        status = check_stamp(block, "wait_ns", block->wait_ns, block->start_ns, block->end_ns);
    }
    if (status == PDL_SUCCESS && block->wait_ns != PDL_TIMELINE_NONE) {
        status = check_stamp(block, "waited_ns", block->waited_ns, block->wait_ns, block->end_ns);
    }
    if (status == PDL_SUCCESS && block->triggered_ns != PDL_TIMELINE_NONE) {
        status =
            check_stamp(block, "triggered_ns", block->triggered_ns, block->start_ns, block->end_ns);
    }
    return status;
}

/* PDL_TIMELINE_NONE is below every stamp. */
static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_to_launch(struct pdl_timeline_launch *launch, const pdl_timeline_block *block)
{
    if (launch->blocks == 0 || block->start_ns < launch->start_ns) {
        launch->start_ns = block->start_ns;
    }
    if (launch->blocks == 0 || block->end_ns > launch->end_ns) {
        launch->end_ns = block->end_ns;
    }
    launch->blocks++;
    if (block->wait_ns != PDL_TIMELINE_NONE) {
        launch->waits++;
        launch->blocked_ns =
            pdl_timeline_sum(launch->blocked_ns, block->waited_ns - block->wait_ns);
    }
    launch->triggers += block->triggered_ns != PDL_TIMELINE_NONE;
    launch->waited_ns = later(launch->waited_ns, block->waited_ns);
    launch->triggered_ns = later(launch->triggered_ns, block->triggered_ns);
}

pdl_status pdl_timeline_add_block(pdl_timeline *timeline, const pdl_timeline_block *block)
{
    pdl_status status = need_timeline(timeline);
    if (status == PDL_SUCCESS) {
        status = check_block(timeline, block);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (timeline->block_count == UINT32_MAX) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no room for more than %u blocks",
                        (unsigned)UINT32_MAX);
    }
    void *array = timeline->blocks;
    status = grow(&array, timeline->block_count, &timeline->block_room, sizeof(*block), "blocks");
    if (status != PDL_SUCCESS) {
        return status;
    }
    timeline->blocks = array;
    timeline->blocks[timeline->block_count++] = *block;
    add_to_launch(&timeline->launches[block->launch], block);
    return PDL_SUCCESS;
}

void pdl_timeline_add_lost(pdl_timeline *timeline, uint64_t blocks)
{
    if (timeline != NULL) {
        const uint64_t lost = timeline->lost + blocks;
        timeline->lost = lost < blocks ? UINT64_MAX : lost;
    }
}

pdl_status pdl_timeline_add_note(pdl_timeline *timeline, const char *note)
{
    uint32_t index;
    const pdl_status status = need_timeline(timeline);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (note == NULL || note[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "note", "there is no note");
    }
    return name_index(&timeline->notes, note, &index);
}

/* ------------------------------------------------------------------------------------------------
 * What it comes to
 * ---------------------------------------------------------------------------------------------- */

int64_t pdl_timeline_blocked(const struct pdl_timeline_launch *launch)
{
    return launch->blocks == 0 ? 0 : launch->blocked_ns / (int64_t)launch->blocks;
}

bool pdl_timeline_span(const struct pdl_timeline *timeline, uint32_t track, int64_t *start_ns,
                       int64_t *end_ns)
{
    bool found = false;
    for (uint32_t i = 0; i < timeline->launch_count; i++) {
        const struct pdl_timeline_launch *launch = &timeline->launches[i];
        if (launch->blocks == 0 || (track != PDL_TIMELINE_ALL && launch->track != track)) {
            continue;
        }
        *start_ns = found && *start_ns < launch->start_ns ? *start_ns : launch->start_ns;
        *end_ns = found && *end_ns > launch->end_ns ? *end_ns : launch->end_ns;
        found = true;
    }
    return found;
}

/* Times of one group: all, a launch or an SM. */
struct interval {
    uint32_t group;
    int64_t start_ns;
    int64_t end_ns;
};

static int compare_intervals(const void *left, const void *right)
{
    const struct interval *a = left;
    const struct interval *b = right;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Makes them the unions of the groups' times: apart from each other, in order. Returns how many. */
static size_t unite(struct interval *intervals, size_t count)
{
    size_t kept = 0;
    qsort(intervals, count, sizeof(*intervals), compare_intervals);
    for (size_t i = 0; i < count; i++) {
        struct interval *last = kept > 0 ? &intervals[kept - 1] : NULL;
        if (last != NULL && last->group == intervals[i].group &&
            intervals[i].start_ns <= last->end_ns) {
            last->end_ns = later(last->end_ns, intervals[i].end_ns);
        } else {
            intervals[kept++] = intervals[i];
        }
    }
    return kept;
}

static int64_t sum_of(const struct interval *intervals, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum = pdl_timeline_sum(sum, intervals[i].end_ns - intervals[i].start_ns);
    }
    return sum;
}

static int compare_times(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* How long two of `count` times or more last at once. Sorts their starts and their ends. */
static int64_t shared_time(int64_t *starts, int64_t *ends, size_t count)
{
    int64_t shared = 0;
    int64_t before = 0;
    int64_t running = 0;
    qsort(starts, count, sizeof(*starts), compare_times);
    qsort(ends, count, sizeof(*ends), compare_times);
    for (size_t started = 0, ended = 0; ended < count;) {
        const bool start = started < count && starts[started] < ends[ended];
        const int64_t now = start ? starts[started] : ends[ended];
        if (running > 1) {
            shared = pdl_timeline_sum(shared, now - before);
        }
        before = now;
        running += start ? 1 : -1; /* of no length: ends first, and starts at the same time */
        started += start;
        ended += !start;
    }
    return shared;
}

static int64_t shared_by(const struct interval *intervals, size_t count, int64_t *times)
{
    for (size_t i = 0; i < count; i++) {
        times[i] = intervals[i].start_ns;
        times[count + i] = intervals[i].end_ns;
    }
    return shared_time(times, times + count, count);
}

enum group_by { BY_NOTHING, BY_LAUNCH, BY_SM };

static size_t collect(const struct pdl_timeline *timeline, uint32_t track, enum group_by by,
                      struct interval *intervals)
{
    size_t count = 0;
    for (uint64_t i = 0; i < timeline->block_count; i++) {
        const pdl_timeline_block *block = &timeline->blocks[i];
        if (track == PDL_TIMELINE_ALL || timeline->launches[block->launch].track == track) {
            const uint32_t group = by == BY_NOTHING  ? 0
                                   : by == BY_LAUNCH ? block->launch
                                                     : block->sm;
            intervals[count++] = (struct interval){group, block->start_ns, block->end_ns};
        }
    }
    return count;
}

/* The launches' own times, from the first start to the last end. */
static size_t collect_launches(const struct pdl_timeline *timeline, uint32_t track,
                               struct interval *intervals)
{
    size_t count = 0;
    for (uint32_t i = 0; i < timeline->launch_count; i++) {
        const struct pdl_timeline_launch *launch = &timeline->launches[i];
        if (launch->blocks > 0 && (track == PDL_TIMELINE_ALL || launch->track == track)) {
            intervals[count++] = (struct interval){0, launch->start_ns, launch->end_ns};
        }
    }
    return count;
}

static int compare_sms(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

pdl_status pdl_timeline_sms(const struct pdl_timeline *timeline, uint32_t **sms, uint32_t *count)
{
    uint32_t kept = 0;
    uint32_t *found = calloc((size_t)timeline->block_count + 1, sizeof(*found));
    if (found == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the SMs of %llu blocks",
                        (unsigned long long)timeline->block_count);
    }
    for (uint64_t i = 0; i < timeline->block_count; i++) {
        found[i] = timeline->blocks[i].sm;
    }
    qsort(found, (size_t)timeline->block_count, sizeof(*found), compare_sms);
    for (uint64_t i = 0; i < timeline->block_count; i++) {
        if (kept == 0 || found[kept - 1] != found[i]) {
            found[kept++] = found[i];
        }
    }
    *sms = found;
    *count = kept;
    return PDL_SUCCESS;
}

/* What the launches know by themselves. */
static void add_launches(const struct pdl_timeline *timeline, uint32_t track,
                         pdl_timeline_summary *summary)
{
    for (uint32_t i = 0; i < timeline->launch_count; i++) {
        const struct pdl_timeline_launch *launch = &timeline->launches[i];
        if (launch->blocks == 0 || (track != PDL_TIMELINE_ALL && launch->track != track)) {
            continue;
        }
        summary->launches++;
        summary->blocks += launch->blocks;
        summary->summed_ns =
            pdl_timeline_sum(summary->summed_ns, launch->end_ns - launch->start_ns);
        summary->blocked_ns = pdl_timeline_sum(summary->blocked_ns, pdl_timeline_blocked(launch));
    }
}

pdl_status pdl_timeline_measure(const struct pdl_timeline *timeline, uint32_t track,
                                pdl_timeline_summary *summary)
{
    pdl_timeline_summary measured = {.size = (uint32_t)sizeof(measured), .lost = timeline->lost};
    const size_t most = (size_t)timeline->block_count + timeline->launch_count + 1;
    struct interval *intervals = calloc(most, sizeof(*intervals));
    int64_t *times = calloc(2 * most, sizeof(*times));
    uint32_t *sms = NULL;
    uint32_t sm_count = 0;
    int64_t start = 0;
    int64_t end = 0;
    size_t count;
    pdl_status status = PDL_SUCCESS;
    if (intervals == NULL || times == NULL) {
        status = PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to sum up %llu blocks",
                          (unsigned long long)timeline->block_count);
        goto done;
    }
    status = pdl_timeline_sms(timeline, &sms, &sm_count);
    if (status != PDL_SUCCESS) {
        goto done;
    }
    add_launches(timeline, track, &measured);
    if (pdl_timeline_span(timeline, track, &start, &end)) {
        measured.span_ns = end - start;
    }
    count = unite(intervals, collect_launches(timeline, track, intervals));
    measured.gap_ns = measured.span_ns - sum_of(intervals, count);
    count = unite(intervals, collect(timeline, track, BY_NOTHING, intervals));
    measured.busy_ns = sum_of(intervals, count);
    count = unite(intervals, collect(timeline, track, BY_LAUNCH, intervals));
    measured.overlap_ns = shared_by(intervals, count, times);
    if (measured.span_ns > 0) {
        count = unite(intervals, collect(timeline, track, BY_SM, intervals));
        measured.overlap_share = (double)measured.overlap_ns / (double)measured.span_ns;
        measured.sm_share = (double)sum_of(intervals, count) / (double)measured.span_ns / sm_count;
    }
    *summary = measured;

done:
    free(sms);
    free(times);
    free(intervals);
    return status;
}

pdl_status pdl_timeline_sm_cells(const struct pdl_timeline *timeline, uint32_t track,
                                 int64_t start_ns, int64_t end_ns, uint32_t cells, double *busy,
                                 uint32_t *sms)
{
    uint32_t *found = NULL;
    const double width = (double)(end_ns - start_ns) / cells;
    struct interval *intervals = calloc((size_t)timeline->block_count + 1, sizeof(*intervals));
    if (intervals == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the SMs of %llu blocks",
                        (unsigned long long)timeline->block_count);
    }
    const pdl_status status = pdl_timeline_sms(timeline, &found, sms);
    free(found);
    const size_t count =
        status == PDL_SUCCESS ? unite(intervals, collect(timeline, track, BY_SM, intervals)) : 0;
    for (size_t i = 0; i < count; i++) {
        pdl_timeline_spread(busy, cells, 1, (double)(intervals[i].start_ns - start_ns) / width,
                            (double)(intervals[i].end_ns - start_ns) / width, width);
    }
    free(intervals);
    return status;
}

static pdl_status find_track(const pdl_timeline *timeline, const char *track, uint32_t *index)
{
    for (uint32_t i = 0; i < timeline->tracks.count; i++) {
        if (strcmp(timeline->tracks.names[i], track) == 0) {
            *index = i;
            return PDL_SUCCESS;
        }
    }
    return PDL_FAIL_FIELD(PDL_ERROR_NOT_FOUND, "track", "the timeline has no track \"%.100s\"",
                          track);
}

pdl_status pdl_timeline_summarize(const pdl_timeline *timeline, const char *track,
                                  pdl_timeline_summary *summary)
{
    pdl_timeline_summary measured;
    uint32_t index = PDL_TIMELINE_ALL;
    pdl_status status = need_timeline(timeline);
    if (status == PDL_SUCCESS) {
        status = pdl_sized_check(summary, "summary");
    }
    if (status == PDL_SUCCESS && track != NULL) {
        status = find_track(timeline, track, &index);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_timeline_measure(timeline, index, &measured);
    }
    if (status == PDL_SUCCESS) {
        pdl_sized_copy(summary, &measured, sizeof(measured));
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Writing it
 * ---------------------------------------------------------------------------------------------- */

static pdl_status write_to(const pdl_timeline *timeline, pdl_timeline_format format, FILE *out,
                           uint32_t columns)
{
    switch (format) {
    case PDL_TIMELINE_SVG:
        return pdl_timeline_write_svg(timeline, out);
    case PDL_TIMELINE_TRACE:
        return pdl_timeline_write_trace(timeline, out);
    case PDL_TIMELINE_TEXT:
    default:
        return pdl_timeline_write_text(timeline, out, columns);
    }
}

pdl_status pdl_timeline_write(const pdl_timeline *timeline, pdl_timeline_format format,
                              const char *path, uint32_t columns)
{
    pdl_status status = need_timeline(timeline);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (path == NULL || path[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "path", "there is no path");
    }
    if ((int)format < PDL_TIMELINE_TEXT || (int)format > PDL_TIMELINE_TRACE) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "format", "there is no format %d",
                              (int)format);
    }
    if (columns != 0 && (columns < 40 || columns > 400)) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "columns",
                              "columns is %u, not 40 to 400 or 0 for 80", (unsigned)columns);
    }
    const bool terminal = strcmp(path, "-") == 0;
    FILE *out = terminal ? stdout : fopen(path, "w");
    if (out == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%.200s cannot be written: %s", path,
                              strerror(errno));
    }
    status = write_to(timeline, format, out, columns != 0 ? columns : 80);
    errno = 0;
    bool written = fflush(out) == 0 && !ferror(out);
    if (!terminal) {
        written = fclose(out) == 0 && written;
    }
    if (status == PDL_SUCCESS && !written) {
        status = PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%.200s cannot be written: %s", path,
                                errno != 0 ? strerror(errno) : "the write failed");
    }
    return status;
}
