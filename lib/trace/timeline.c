/* SPDX-License-Identifier: MIT */
/* Timelines: launches and their blocks. */
#include "trace/timeline.h"

#include <search.h>
#include <stdlib.h>

#include "core/array.h"
#include "core/error.h"

/* Of a stamp: so that the difference of any two can be told. The clock of a device counts from 1970
 * and is at 1.8e18. */
#define TIME_LIMIT ((INT64_C(1) << 62) - 1)

static pdl_status name_index(struct pdl_names *names, const char *name, uint32_t *index)
{
    return pdl_names_add(names, name, index)
               ? PDL_SUCCESS
               : PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a name");
}

static int compare_sms(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static bool add_sm(struct pdl_timeline_sms *sms, uint32_t sm)
{
    if (tfind(&sm, &sms->tree, compare_sms) != NULL) {
        return true;
    }
    uint32_t *const own =
        PDL_ARRAY_ROOM(sms->items, sms->count, sms->room) ? malloc(sizeof(*own)) : NULL;
    if (own == NULL) {
        return false;
    }
    *own = sm;
    if (tsearch(own, &sms->tree, compare_sms) == NULL) {
        free(own);
        return false;
    }
    sms->items[sms->count++] = sm;
    return true;
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
        free(timeline->sms.items);
        pdl_tree_free(&timeline->sms.tree, compare_sms);
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
    struct pdl_timeline_launch made = {.waited_ns = PDL_TIMELINE_NONE,
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
    pdl_status status = pdl_timeline_need(timeline);
    if (status == PDL_SUCCESS) {
        status = check_block(timeline, block);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (!PDL_ARRAY_ROOM(timeline->blocks, timeline->block_count, timeline->block_room) ||
        !PDL_ARRAY_ROOM(timeline->next_blocks, timeline->block_count, timeline->next_room) ||
        !add_sm(&timeline->sms, block->sm)) {
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
