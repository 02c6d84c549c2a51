/* SPDX-License-Identifier: MIT */
/* What a timeline comes to: spans, unions and overlaps of its blocks' times. */
#include "trace/timeline_summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/sized.h"

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
            last->end_ns = last->end_ns > intervals[i].end_ns ? last->end_ns : intervals[i].end_ns;
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

/* How long one interval lasts at least, and two at once. `times` has room for their starts and ends. */
static void add_times(const struct interval *intervals, size_t count, int64_t *times,
                      pdl_timeline_summary *summary)
{
    int64_t *const starts = times;
    int64_t *const ends = times + count;
    int64_t before = 0;
    int64_t running = 0;
    for (size_t i = 0; i < count; i++) {
        starts[i] = intervals[i].start_ns;
        ends[i] = intervals[i].end_ns;
    }
    qsort(starts, count, sizeof(*starts), compare_times);
    qsort(ends, count, sizeof(*ends), compare_times);
    for (size_t started = 0, ended = 0; ended < count;) {
        const bool start = started < count && starts[started] < ends[ended];
        const int64_t now = start ? starts[started] : ends[ended];
        if (running > 0) {
            summary->busy_ns = pdl_timeline_sum(summary->busy_ns, now - before);
        }
        if (running > 1) {
            summary->overlap_ns = pdl_timeline_sum(summary->overlap_ns, now - before);
        }
        before = now;
        running += start ? 1 : -1; /* of no length: ends first, and starts at the same time */
        started += start;
        ended += !start;
    }
}

enum intervals_of { LAUNCHES, BLOCKS_BY_LAUNCH, BLOCKS_BY_SM };

/* The times of a track, united in their groups. A launch's own time is from the first start to the last end. */
static size_t collect(const struct pdl_timeline *timeline, uint32_t track, enum intervals_of of,
                      struct interval *intervals)
{
    size_t count = 0;
    PDL_TIMELINE_EACH(timeline, track, launch)
    {
        const struct pdl_timeline_launch *const own = &timeline->launches[launch];
        if (of == LAUNCHES && own->blocks > 0) {
            intervals[count++] = (struct interval){0, own->start_ns, own->end_ns};
        }
        for (uint32_t i = own->first_block; of != LAUNCHES && i != PDL_TIMELINE_END;
             i = timeline->next_blocks[i]) {
            const pdl_timeline_block *const block = &timeline->blocks[i];
            intervals[count++] = (struct interval){of == BLOCKS_BY_SM ? block->sm : launch,
                                                   block->start_ns, block->end_ns};
        }
    }
    return unite(intervals, count);
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

static pdl_status measure(const struct pdl_timeline *timeline, uint32_t track,
                          pdl_timeline_summary *summary)
{
    pdl_timeline_summary measured = {.size = (uint32_t)sizeof(measured), .lost = timeline->lost};
    add_launches(timeline, track, &measured);
    const size_t most = (size_t)measured.blocks + 1; /* a launch that counts has one at least */
    struct interval *intervals = calloc(most, sizeof(*intervals));
    int64_t *times = calloc(2 * most, sizeof(*times));
    int64_t start = 0;
    int64_t end = 0;
    size_t count;
    pdl_status status = PDL_SUCCESS;
    if (intervals == NULL || times == NULL) {
        status = PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to sum up %zu blocks", most);
        goto done;
    }
    if (pdl_timeline_span(timeline, track, &start, &end)) {
        measured.span_ns = end - start;
    }
    count = collect(timeline, track, LAUNCHES, intervals);
    measured.gap_ns = measured.span_ns - sum_of(intervals, count);
    count = collect(timeline, track, BLOCKS_BY_LAUNCH, intervals);
    add_times(intervals, count, times, &measured);
    if (measured.span_ns > 0) {
        count = collect(timeline, track, BLOCKS_BY_SM, intervals);
        measured.overlap_share = (double)measured.overlap_ns / (double)measured.span_ns;
        measured.sm_share =
            (double)sum_of(intervals, count) / (double)measured.span_ns / timeline->sm_count;
    }
    *summary = measured;

done:
    free(times);
    free(intervals);
    return status;
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
        status = measure(timeline, index, &measured);
    }
    if (status == PDL_SUCCESS) {
        pdl_sized_copy(summary, &measured, sizeof(measured));
    }
    return status;
}

/* ---- in words --------------------------------------------------------------------------------- */

int pdl_timeline_digits(int64_t span_ns)
{
    return span_ns < INT64_C(10000000) ? 2 : 0;
}

pdl_status pdl_timeline_describe(const struct pdl_timeline *timeline, uint32_t track,
                                 char text[PDL_TIMELINE_SENTENCE])
{
    pdl_timeline_summary summary;
    int64_t start = 0;
    int64_t end = 0;
    const pdl_status status = measure(timeline, track, &summary);
    if (status == PDL_SUCCESS) {
        char us[3][PDL_MICROSECONDS];
        (void)pdl_timeline_span(timeline, PDL_TIMELINE_ALL, &start, &end);
        const int digits = pdl_timeline_digits(end - start);
        const unsigned overlap = (unsigned)(summary.overlap_share * 1000 + 0.5);
        const unsigned sms = (unsigned)(summary.sm_share * 1000 + 0.5);
        (void)snprintf(text, PDL_TIMELINE_SENTENCE,
                       "%s µs, overlap %s µs (%u.%u %%), gaps %s µs, SMs busy %u.%u %%",
                       pdl_microseconds(summary.span_ns, digits, us[0]),
                       pdl_microseconds(summary.overlap_ns, digits, us[1]), overlap / 10,
                       overlap % 10, pdl_microseconds(summary.gap_ns, digits, us[2]), sms / 10,
                       sms % 10);
    }
    return status;
}

void pdl_timeline_describe_lost(const struct pdl_timeline *timeline,
                                char text[PDL_TIMELINE_SENTENCE])
{
    (void)snprintf(text, PDL_TIMELINE_SENTENCE, "The stamps of %llu %s were lost.",
                   (unsigned long long)timeline->lost, timeline->lost == 1 ? "block" : "blocks");
}

bool pdl_timeline_compare(const struct pdl_timeline *timeline, char text[PDL_TIMELINE_SENTENCE])
{
    static const char with[] = "with ";
    int64_t start;
    int64_t end;
    int64_t spans[2];
    if (timeline->tracks.count != 2) {
        return false;
    }
    for (uint32_t track = 0; track < 2; track++) {
        if (!pdl_timeline_span(timeline, track, &start, &end) || end <= start) {
            return false;
        }
        spans[track] = end - start;
    }
    uint32_t first = pdl_timeline_first(timeline, 0);
    uint32_t second = pdl_timeline_first(timeline, 1);
    while (first != PDL_TIMELINE_END && second != PDL_TIMELINE_END &&
           timeline->launches[first].kernel == timeline->launches[second].kernel) {
        first = pdl_timeline_next(timeline, 0, first);
        second = pdl_timeline_next(timeline, 1, second);
    }
    if (first != second) { /* not both at their end */
        return false;
    }
    const bool faster = spans[1] <= spans[0];
    const double ratio = (double)spans[faster ? 0 : 1] / (double)spans[faster ? 1 : 0];
    const int digits = spans[0] < 10000 ? 2 : spans[0] < 1000000 ? 1 : 0;
    const unsigned long long hundredths = (unsigned long long)(ratio * 100 + 0.5);
    char change[64] = "no difference";
    char us[2][PDL_MICROSECONDS];
    const char *name = timeline->tracks.names[1];
    name += strncmp(name, with, sizeof(with) - 1) == 0 ? sizeof(with) - 1 : 0;
    if (hundredths != 100) { /* not with %.2f, which may have a comma */
        (void)snprintf(change, sizeof(change), "%llu.%02llu× %s", hundredths / 100,
                       hundredths % 100, faster ? "faster" : "slower");
    }
    (void)snprintf(text, PDL_TIMELINE_SENTENCE, "%.100s: %s → %s µs, %s", name,
                   pdl_microseconds(spans[0], digits, us[0]),
                   pdl_microseconds(spans[1], digits, us[1]), change);
    return true;
}
