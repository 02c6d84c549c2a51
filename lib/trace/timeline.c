/* SPDX-License-Identifier: MIT */
/* Timelines: launches and their blocks. */
#include "trace/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/error.h"

/* Of a stamp: so that the difference of any two can be told. The clock of a device counts from 1970
 * and is at 1.8e18. */
#define TIME_LIMIT ((INT64_C(1) << 62) - 1)

/* The index of a name, added if it is new. The newest are the likeliest. */
static pdl_status name_index(struct pdl_timeline_names *names, const char *name, uint32_t *index)
{
    for (uint32_t i = names->count; i > 0; i--) {
        if (strcmp(names->names[i - 1], name) == 0) {
            *index = i - 1;
            return PDL_SUCCESS;
        }
    }
    char *copy = PDL_ARRAY_ROOM(names->names, names->count, names->room) ? strdup(name) : NULL;
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

pdl_status pdl_timeline_need(const pdl_timeline *timeline)
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
    pdl_status status = pdl_timeline_need(timeline);
    if (status == PDL_SUCCESS) {
        status = check_block(timeline, block);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (!PDL_ARRAY_ROOM(timeline->blocks, timeline->block_count, timeline->block_room)) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for block %llu",
                        (unsigned long long)timeline->block_count);
    }
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
