/* SPDX-License-Identifier: MIT */
/* What a timeline comes to: spans, unions and overlaps of its blocks' times. */
#include "trace/timeline_summary.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/sized.h"

static int compare_intervals(const void *left, const void *right)
{
    const struct pdl_timeline_interval *a = left;
    const struct pdl_timeline_interval *b = right;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Makes them the unions of the groups' times: apart from each other, in order. Returns how many. */
static size_t unite(struct pdl_timeline_interval *intervals, size_t count)
{
    size_t kept = 0;
    qsort(intervals, count, sizeof(*intervals), compare_intervals);
    for (size_t i = 0; i < count; i++) {
        struct pdl_timeline_interval *last = kept > 0 ? &intervals[kept - 1] : NULL;
        if (last != NULL && last->group == intervals[i].group &&
            intervals[i].start_ns <= last->end_ns) {
            last->end_ns = last->end_ns > intervals[i].end_ns ? last->end_ns : intervals[i].end_ns;
        } else {
            intervals[kept++] = intervals[i];
        }
    }
    return kept;
}

static int64_t sum_of(const struct pdl_timeline_interval *intervals, size_t count)
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

static int64_t shared_by(const struct pdl_timeline_interval *intervals, size_t count,
                         int64_t *times)
{
    for (size_t i = 0; i < count; i++) {
        times[i] = intervals[i].start_ns;
        times[count + i] = intervals[i].end_ns;
    }
    return shared_time(times, times + count, count);
}

enum group_by { BY_NOTHING, BY_LAUNCH, BY_SM };

static size_t collect(const struct pdl_timeline *timeline, uint32_t track, enum group_by by,
                      struct pdl_timeline_interval *intervals)
{
    size_t count = 0;
    PDL_TIMELINE_EACH(timeline, track, launch)
    {
        for (uint32_t i = timeline->launches[launch].first_block; i != PDL_TIMELINE_END;
             i = timeline->next_blocks[i]) {
            const pdl_timeline_block *block = &timeline->blocks[i];
            const uint32_t group = by == BY_NOTHING ? 0 : by == BY_LAUNCH ? launch : block->sm;
            intervals[count++] =
                (struct pdl_timeline_interval){group, block->start_ns, block->end_ns};
        }
    }
    return count;
}

/* The launches' own times, from the first start to the last end. */
static size_t collect_launches(const struct pdl_timeline *timeline, uint32_t track,
                               struct pdl_timeline_interval *intervals)
{
    size_t count = 0;
    PDL_TIMELINE_EACH(timeline, track, i)
    {
        const struct pdl_timeline_launch *launch = &timeline->launches[i];
        if (launch->blocks > 0) {
            intervals[count++] =
                (struct pdl_timeline_interval){0, launch->start_ns, launch->end_ns};
        }
    }
    return count;
}

static size_t blocks_in(const struct pdl_timeline *timeline, uint32_t track)
{
    size_t blocks = 0;
    PDL_TIMELINE_EACH(timeline, track, i)
    {
        blocks += (size_t)timeline->launches[i].blocks;
    }
    return blocks;
}

static int compare_sms(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

pdl_status pdl_timeline_sms(const struct pdl_timeline *timeline, uint32_t **sms, uint32_t *count)
{
    const size_t found = timeline->sms.count;
    uint32_t *sorted = calloc(found + 1, sizeof(*sorted));
    if (sorted == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %zu SMs", found);
    }
    if (found > 0) {
        memcpy(sorted, timeline->sms.items, found * sizeof(*sorted));
        qsort(sorted, found, sizeof(*sorted), compare_sms);
    }
    *sms = sorted;
    *count = (uint32_t)found;
    return PDL_SUCCESS;
}

/* What the launches know by themselves. */
static void add_launches(const struct pdl_timeline *timeline, uint32_t track,
                         pdl_timeline_summary *summary)
{
    PDL_TIMELINE_EACH(timeline, track, i)
    {
        const struct pdl_timeline_launch *launch = &timeline->launches[i];
        if (launch->blocks == 0) {
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
    const size_t most = blocks_in(timeline, track) + 1; /* a launch that counts has one at least */
    struct pdl_timeline_interval *intervals = calloc(most, sizeof(*intervals));
    int64_t *times = calloc(2 * most, sizeof(*times));
    int64_t start = 0;
    int64_t end = 0;
    size_t count;
    pdl_status status = PDL_SUCCESS;
    if (intervals == NULL || times == NULL) {
        status = PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to sum up %zu blocks", most);
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
        measured.sm_share =
            (double)sum_of(intervals, count) / (double)measured.span_ns / timeline->sms.count;
    }
    *summary = measured;

done:
    free(times);
    free(intervals);
    return status;
}

pdl_status pdl_timeline_sm_times(const struct pdl_timeline *timeline, uint32_t track,
                                 struct pdl_timeline_interval **intervals, size_t *count)
{
    const size_t blocks = blocks_in(timeline, track);
    struct pdl_timeline_interval *made = calloc(blocks + 1, sizeof(*made));
    if (made == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the SMs of %zu blocks", blocks);
    }
    *count = unite(made, collect(timeline, track, BY_SM, made));
    *intervals = made;
    return PDL_SUCCESS;
}

static pdl_status find_track(const pdl_timeline *timeline, const char *track, uint32_t *index)
{
    if (pdl_names_find(&timeline->tracks, track, index)) {
        return PDL_SUCCESS;
    }
    return PDL_FAIL_FIELD(PDL_ERROR_NOT_FOUND, "track", "the timeline has no track \"%.100s\"",
                          track);
}

pdl_status pdl_timeline_summarize(const pdl_timeline *timeline, const char *track,
                                  pdl_timeline_summary *summary)
{
    pdl_timeline_summary measured;
    uint32_t index = PDL_TIMELINE_ALL;
    pdl_status status = pdl_timeline_need(timeline);
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
