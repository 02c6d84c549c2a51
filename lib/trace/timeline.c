/* SPDX-License-Identifier: MIT */
/* Timelines: launches and their blocks. */
#include "trace/timeline.h"

#include <stdlib.h>

#include "core/array.h"
#include "core/error.h"
#include "trace/layout.h"

/* Of a stamp: so that the difference of any two can be told. The clock of a device counts from 1970
 * and is at 1.8e18. */
#define TIME_LIMIT ((INT64_C(1) << 62) - 1)

static pdl_status name_index(struct pdl_names *names, const char *name, uint32_t *index)
{
    return pdl_names_add(names, name, index)
               ? PDL_SUCCESS
               : PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a name");
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
        pdl_names_free(&timeline->kernels);
        pdl_names_free(&timeline->tracks);
        pdl_names_free(&timeline->notes);
        free(timeline->launches_of);
        free(timeline->launches);
        free(timeline->blocks);
        free(timeline->next_blocks);
        free(timeline);
    }
}

pdl_status pdl_timeline_need(const pdl_timeline *timeline)
{
    if (timeline == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "timeline", "timeline is NULL");
    }
    return PDL_SUCCESS;
}

/* Room for one track more comes first, so that there is never a track without launches_of. */
static pdl_status track_index(pdl_timeline *timeline, const char *name, uint32_t *index)
{
    const uint32_t count = timeline->tracks.count;
    if (!PDL_ARRAY_ROOM(timeline->launches_of, count, timeline->track_room)) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for track %u", (unsigned)count);
    }
    const pdl_status status = name_index(&timeline->tracks, name, index);
    if (status == PDL_SUCCESS && *index == count) {
        timeline->launches_of[count] =
            (struct pdl_timeline_track){PDL_TIMELINE_END, PDL_TIMELINE_END};
    }
    return status;
}

pdl_status pdl_timeline_add_launch(pdl_timeline *timeline, const char *kernel, const char *track,
                                   uint32_t *launch)
{
    struct pdl_timeline_launch made = {.wait_ns = PDL_TIMELINE_NONE,
                                       .waited_ns = PDL_TIMELINE_NONE,
                                       .triggered_ns = PDL_TIMELINE_NONE,
                                       .next = PDL_TIMELINE_END,
                                       .first_block = PDL_TIMELINE_END,
                                       .last_block = PDL_TIMELINE_END};
    pdl_status status = pdl_timeline_need(timeline);
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
    if (!PDL_ARRAY_ROOM(timeline->launches, timeline->launch_count, timeline->launch_room)) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for launch %u",
                        (unsigned)timeline->launch_count);
    }
    status = name_index(&timeline->kernels, kernel, &made.kernel);
    if (status == PDL_SUCCESS) {
        status = track_index(timeline, track != NULL ? track : "", &made.track);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    const uint32_t index = timeline->launch_count++;
    struct pdl_timeline_track *const of = &timeline->launches_of[made.track];
    timeline->launches[index] = made;
    *(of->first == PDL_TIMELINE_END ? &of->first : &timeline->launches[of->last].next) = index;
    of->last = index;
    *launch = index;
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
    if (block->sm >= PDL_TIMELINE_SMS_MOST) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "sm", "sm is %u, not 0 to %u",
                              (unsigned)block->sm, PDL_TIMELINE_SMS_MOST - 1);
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

/* Of a launch and one more block, PDL_TIMELINE_NONE being no time. */
static int64_t earlier(int64_t of_launch, int64_t time_ns)
{
    return of_launch == PDL_TIMELINE_NONE || time_ns < of_launch ? time_ns : of_launch;
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
        launch->wait_ns = earlier(launch->wait_ns, block->wait_ns);
        launch->waited_ns = earlier(launch->waited_ns, block->waited_ns);
        launch->blocked_ns =
            pdl_timeline_sum(launch->blocked_ns, block->waited_ns - block->wait_ns);
    }
    if (block->triggered_ns > launch->triggered_ns) { /* PDL_TIMELINE_NONE is below every time */
        launch->triggered_ns = block->triggered_ns;
    }
}

pdl_status pdl_timeline_add_block(pdl_timeline *timeline, const pdl_timeline_block *block)
{
    pdl_status status = pdl_timeline_need(timeline);
    if (status == PDL_SUCCESS) {
        status = check_block(timeline, block);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (!PDL_ARRAY_ROOM(timeline->blocks, timeline->block_count, timeline->block_room) ||
        !PDL_ARRAY_ROOM(timeline->next_blocks, timeline->block_count, timeline->next_room)) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for block %llu",
                        (unsigned long long)timeline->block_count);
    }
    const uint32_t index = (uint32_t)timeline->block_count++;
    struct pdl_timeline_launch *const launch = &timeline->launches[block->launch];
    timeline->blocks[index] = *block;
    timeline->next_blocks[index] = PDL_TIMELINE_END;
    *(launch->blocks == 0 ? &launch->first_block : &timeline->next_blocks[launch->last_block]) =
        index;
    launch->last_block = index;
    timeline->sm_count += !timeline->sms[block->sm];
    timeline->sms[block->sm] = true;
    add_to_launch(launch, block);
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
    const pdl_status status = pdl_timeline_need(timeline);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (note == NULL || note[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "note", "there is no note");
    }
    return name_index(&timeline->notes, note, &index);
}

/* ---- of a launch, and of several ----------------------------------------------------------------- */

int64_t pdl_timeline_blocked(const struct pdl_timeline_launch *launch)
{
    return launch->blocks == 0 ? 0 : launch->blocked_ns / (int64_t)launch->blocks;
}

bool pdl_timeline_span(const struct pdl_timeline *timeline, uint32_t track, int64_t *start_ns,
                       int64_t *end_ns)
{
    bool found = false;
    PDL_TIMELINE_EACH(timeline, track, i)
    {
        const struct pdl_timeline_launch *launch = &timeline->launches[i];
        if (launch->blocks == 0) {
            continue;
        }
        *start_ns = found && *start_ns < launch->start_ns ? *start_ns : launch->start_ns;
        *end_ns = found && *end_ns > launch->end_ns ? *end_ns : launch->end_ns;
        found = true;
    }
    return found;
}

/* ---- lanes ------------------------------------------------------------------------------------ */

pdl_timeline_block pdl_timeline_whole(const struct pdl_timeline *timeline, uint32_t launch)
{
    const struct pdl_timeline_launch *const of = &timeline->launches[launch];
    return (pdl_timeline_block){.launch = launch,
                                .start_ns = of->start_ns,
                                .wait_ns = of->wait_ns,
                                .waited_ns = of->waited_ns,
                                .triggered_ns = of->triggered_ns,
                                .end_ns = of->end_ns};
}

static int compare_slots(const void *left, const void *right)
{
    const struct pdl_timeline_slot *a = left;
    const struct pdl_timeline_slot *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    if (a->times.sm != b->times.sm) {
        return a->times.sm < b->times.sm ? -1 : 1;
    }
    if (a->times.start_ns != b->times.start_ns) {
        return a->times.start_ns < b->times.start_ns ? -1 : 1;
    }
    if (a->times.launch != b->times.launch) {
        return a->times.launch < b->times.launch ? -1 : 1;
    }
    return (a->times.block > b->times.block) - (a->times.block < b->times.block);
}

static void assign_lanes(struct pdl_timeline_slot *slots, size_t count)
{
    struct pdl_lanes lanes = {.used = 0};
    qsort(slots, count, sizeof(*slots), compare_slots);
    for (size_t i = 0; i < count; i++) {
        const pdl_timeline_block *const times = &slots[i].times;
        if (i > 0 && (slots[i].track != slots[i - 1].track || times->sm != slots[i - 1].times.sm)) {
            lanes.used = 0;
        }
        slots[i].lane = pdl_lanes_take(&lanes, times->start_ns, times->end_ns);
    }
}

static pdl_status make_slots(size_t count, struct pdl_timeline_slot **slots)
{
    *slots = calloc(count + 1, sizeof(**slots));
    return *slots != NULL
               ? PDL_SUCCESS
               : PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for the lanes of %zu blocks", count);
}

pdl_status pdl_timeline_launch_slots(const struct pdl_timeline *timeline,
                                     struct pdl_timeline_slot **slots, size_t *count)
{
    const pdl_status status = make_slots(timeline->launch_count, slots);
    *count = 0;
    for (uint32_t i = 0; status == PDL_SUCCESS && i < timeline->launch_count; i++) {
        if (timeline->launches[i].blocks > 0) {
            (*slots)[(*count)++] = (struct pdl_timeline_slot){
                .track = timeline->launches[i].track, .times = pdl_timeline_whole(timeline, i)};
        }
    }
    if (status == PDL_SUCCESS) {
        assign_lanes(*slots, *count);
    }
    return status;
}

pdl_status pdl_timeline_block_slots(const struct pdl_timeline *timeline,
                                    struct pdl_timeline_slot **slots, size_t *count)
{
    const pdl_status status = make_slots((size_t)timeline->block_count, slots);
    *count = status == PDL_SUCCESS ? (size_t)timeline->block_count : 0;
    for (size_t i = 0; i < *count; i++) {
        const pdl_timeline_block *const block = &timeline->blocks[i];
        (*slots)[i] = (struct pdl_timeline_slot){.track = timeline->launches[block->launch].track,
                                                 .times = *block};
    }
    if (status == PDL_SUCCESS) {
        assign_lanes(*slots, *count);
    }
    return status;
}
