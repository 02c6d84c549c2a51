/* SPDX-License-Identifier: MIT */
/* A timeline as a picture: a bar per launch, below it a row per SM where that adds something, tracks below one another
 * on one axis. */
#include <stdlib.h>

#include "core/error.h"
#include "trace/picture.h"
#include "trace/timeline_forms.h"

/* More are left to traces: rows are too low to be seen, or the file is too large for a viewer. */
#define ROWS_MOST   400
#define BLOCKS_MOST 20000

/* Whether each launch runs in a single wave whose blocks keep step: they start in the first quarter of its time and end
 * in the last one. Then rows of SMs add nothing. */
static bool is_even(const struct pdl_timeline *timeline)
{
    for (uint64_t i = 0; i < timeline->block_count; i++) {
        const pdl_timeline_block *const block = &timeline->blocks[i];
        const struct pdl_timeline_launch *const launch = &timeline->launches[block->launch];
        const int64_t quarter = (launch->end_ns - launch->start_ns) / 4;
        if (block->start_ns - launch->start_ns > quarter ||
            launch->end_ns - block->end_ns > quarter) {
            return false;
        }
    }
    return true;
}

/* Of every SM that has blocks, which follow in ascending order: its row. The launches' is 0. */
static uint32_t number_rows(const struct pdl_timeline *timeline, uint32_t *row_of, uint32_t *sms)
{
    uint32_t rows = 0;
    for (uint32_t sm = 0; sm < PDL_TIMELINE_SMS_MOST && rows < timeline->sm_count; sm++) {
        if (timeline->sms[sm]) {
            sms[rows++] = sm;
            row_of[sm] = rows;
        }
    }
    return rows;
}

/* Those of slots; row_of is NULL for launches. */
static void add_bars(const struct pdl_timeline *timeline, const struct pdl_timeline_slot *slots,
                     size_t count, const uint32_t *row_of, struct pdl_picture_bar *bars)
{
    for (size_t i = 0; i < count; i++) {
        bars[i] = (struct pdl_picture_bar){
            .track = slots[i].track,
            .kernel = timeline->launches[slots[i].times.launch].kernel,
            .row = row_of != NULL ? row_of[slots[i].times.sm] : 0,
            .lane = slots[i].lane,
            .times = slots[i].times,
        };
    }
}

static pdl_status describe_tracks(const struct pdl_timeline *timeline,
                                  struct pdl_picture_track *tracks)
{
    pdl_status status = PDL_SUCCESS;
    for (uint32_t i = 0; i < timeline->tracks.count && status == PDL_SUCCESS; i++) {
        tracks[i].name = timeline->tracks.names[i];
        status = pdl_timeline_describe(timeline, i, tracks[i].summary);
    }
    return status;
}

pdl_status pdl_timeline_write_svg(const struct pdl_timeline *timeline, FILE *out)
{
    char title[PDL_TIMELINE_SENTENCE];
    char lost[PDL_TIMELINE_SENTENCE];
    char left_out[PDL_TIMELINE_SENTENCE];
    struct pdl_picture picture = {.kernels = timeline->kernels.names,
                                  .kernel_count = timeline->kernels.count,
                                  .track_count = timeline->tracks.count,
                                  .end_ns = 1};
    const bool large = timeline->block_count > BLOCKS_MOST || timeline->sm_count > ROWS_MOST;
    const bool even = is_even(timeline);
    const bool rows = !large && !even;
    struct pdl_timeline_slot *launches = NULL;
    struct pdl_timeline_slot *blocks = NULL;
    size_t launch_count = 0;
    size_t block_count = 0;
    uint32_t *const row_of = calloc(PDL_TIMELINE_SMS_MOST + ROWS_MOST, sizeof(*row_of));
    const char **const notes = calloc(timeline->notes.count + 2, sizeof(*notes));
    struct pdl_picture_track *const tracks = calloc(timeline->tracks.count + 1, sizeof(*tracks));
    struct pdl_picture_bar *bars = NULL;
    pdl_status status = pdl_timeline_launch_slots(timeline, &launches, &launch_count);
    if (status == PDL_SUCCESS && rows) {
        status = pdl_timeline_block_slots(timeline, &blocks, &block_count);
    }
    if (status == PDL_SUCCESS) {
        bars = calloc(launch_count + block_count + 1, sizeof(*bars));
        if (row_of == NULL || notes == NULL || tracks == NULL || bars == NULL) {
            status = PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to draw %zu blocks", block_count);
            goto done;
        }
        status = describe_tracks(timeline, tracks);
    }
    if (status != PDL_SUCCESS) {
        goto done;
    }
    for (uint32_t i = 0; i < timeline->notes.count; i++) {
        notes[picture.note_count++] = timeline->notes.names[i];
    }
    if (timeline->lost > 0) {
        pdl_timeline_describe_lost(timeline, lost);
        notes[picture.note_count++] = lost;
    }
    if (launch_count == 0) {
        notes[picture.note_count++] = "no blocks";
    } else if (large && !even) {
        (void)snprintf(left_out, sizeof(left_out),
                       "%llu blocks on %u SMs are too many to be drawn here; a trace has each.",
                       (unsigned long long)timeline->block_count, (unsigned)timeline->sm_count);
        notes[picture.note_count++] = left_out;
    }
    if (rows) {
        picture.rows = number_rows(timeline, row_of, row_of + PDL_TIMELINE_SMS_MOST);
        picture.sms = row_of + PDL_TIMELINE_SMS_MOST;
    }
    add_bars(timeline, launches, launch_count, NULL, bars);
    add_bars(timeline, blocks, block_count, row_of, bars + launch_count);
    if (pdl_timeline_span(timeline, PDL_TIMELINE_ALL, &picture.start_ns, &picture.end_ns)) {
        picture.end_ns += picture.end_ns == picture.start_ns;
        picture.start_ns = pdl_axis_start(picture.start_ns, picture.end_ns);
    }
    picture.title = pdl_timeline_compare(timeline, title) ? title : NULL;
    picture.notes = notes;
    picture.tracks = tracks;
    picture.bars = bars;
    picture.bar_count = launch_count + block_count;
    pdl_picture_write(&picture, out);

done:
    free(bars);
    free(tracks);
    free((void *)notes);
    free(row_of);
    free(blocks);
    free(launches);
    return status;
}
