/* SPDX-License-Identifier: MIT */
/* What the forms of a timeline share: phases, ticks, lanes and cells. */
#include "trace/timeline_layout.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* ---- all of it ------------------------------------------------------------------------------ */

bool pdl_timeline_compare(const struct pdl_timeline *timeline, char figures[PDL_TIMELINE_FIGURES])
{
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
    char before[PDL_TIMELINE_NUMBER];
    char after[PDL_TIMELINE_NUMBER];
    pdl_timeline_us(spans[0], digits, before);
    pdl_timeline_us(spans[1], digits, after);
    if (hundredths == 100) {
        (void)snprintf(figures, PDL_TIMELINE_FIGURES, "%s → %s µs, no difference", before, after);
    } else {
        (void)snprintf(figures, PDL_TIMELINE_FIGURES, "%s → %s µs, %llu.%02llu× %s", before, after,
                       hundredths / 100, hundredths % 100, faster ? "faster" : "slower");
    }
    return true;
}

const char *pdl_timeline_compared(const struct pdl_timeline *timeline)
{
    static const char with[] = "with ";
    const char *const name = timeline->tracks.names[1];
    return strncmp(name, with, sizeof(with) - 1) == 0 ? name + sizeof(with) - 1 : name;
}

bool pdl_timeline_is_even(const struct pdl_timeline *timeline)
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

/* ---- phases --------------------------------------------------------------------------------- */

unsigned pdl_timeline_pieces(const pdl_timeline_block *block,
                             struct pdl_timeline_piece pieces[PDL_TIMELINE_PHASES])
{
    const bool waits = block->wait_ns != PDL_TIMELINE_NONE;
    const int64_t waiting = waits ? block->wait_ns : block->start_ns;
    const int64_t running = waits ? block->waited_ns : block->start_ns;
    int64_t triggered =
        block->triggered_ns != PDL_TIMELINE_NONE ? block->triggered_ns : block->end_ns;
    triggered = triggered > running ? triggered : running;
    const struct pdl_timeline_piece all[PDL_TIMELINE_PHASES] = {
        {PDL_TIMELINE_BEFORE_WAIT, block->start_ns, waiting},
        {PDL_TIMELINE_WAITING, waiting, running},
        {PDL_TIMELINE_RUNNING, running, triggered},
        {PDL_TIMELINE_TRIGGERED, triggered, block->end_ns},
    };
    unsigned count = 0;
    for (unsigned i = 0; i < PDL_TIMELINE_PHASES; i++) {
        if (all[i].end_ns > all[i].start_ns) {
            pieces[count++] = all[i];
        }
    }
    if (count == 0) {
        pieces[count++] = all[PDL_TIMELINE_RUNNING];
    }
    return count;
}

/* ---- the axis ------------------------------------------------------------------------------- */

int64_t pdl_timeline_step(int64_t span_ns, int64_t most)
{
    for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10) {
        for (int64_t factor = 1; factor <= 5; factor += factor == 1 ? 1 : 3) {
            if (span_ns / most < power * factor) {
                return power * factor;
            }
        }
    }
    return INT64_MAX;
}

int64_t pdl_timeline_zero(int64_t start_ns)
{
    return start_ns > INT64_C(-1000000000) && start_ns < INT64_C(1000000000) ? 0 : start_ns;
}

int64_t pdl_timeline_first_tick(int64_t time_ns, int64_t step_ns)
{
    const int64_t over = time_ns % step_ns;
    return time_ns - over + (over > 0 ? step_ns : 0);
}

bool pdl_timeline_axis(const struct pdl_timeline *timeline, int64_t *start_ns, int64_t *end_ns)
{
    int64_t start;
    int64_t end;
    if (!pdl_timeline_span(timeline, PDL_TIMELINE_ALL, &start, &end)) {
        return false;
    }
    end += end == start;
    const int64_t step = pdl_timeline_step(end - start, 10);
    const int64_t over = start % step + (start % step < 0 ? step : 0);
    *start_ns = over <= (end - start) / 20 ? start - over : start;
    *end_ns = end;
    return true;
}

const char *pdl_timeline_us(int64_t time_ns, int digits, char text[PDL_TIMELINE_NUMBER])
{
    static const unsigned units[] = {1000, 100, 10, 1};
    const char *sign = time_ns < 0 ? "-" : "";
    uint64_t size = time_ns < 0 ? 0 - (uint64_t)time_ns : (uint64_t)time_ns;
    if (digits < 0) {
        digits = size % 1000 == 0 ? 0 : size % 100 == 0 ? 1 : size % 10 == 0 ? 2 : 3;
    }
    const unsigned unit = units[digits];
    size = (size + unit / 2) / unit;
    const unsigned thousandths = (unsigned)(size % (1000 / unit)) * unit;
    const int length = snprintf(text, PDL_TIMELINE_NUMBER, "%s%llu.%03u", size == 0 ? "" : sign,
                                (unsigned long long)(size / (1000 / unit)), thousandths);
    text[length - (digits == 0 ? 4 : 3 - digits)] = '\0';
    return text;
}

/* ---- lanes ---------------------------------------------------------------------------------- */

static int compare_slots(const void *left, const void *right)
{
    const struct pdl_timeline_slot *a = left;
    const struct pdl_timeline_slot *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    if (a->sm != b->sm) {
        return a->sm < b->sm ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

/* When each lane of a place is free, and above two of them, the earlier time: the first lane that is free at a
 * time is found in as many steps as the number of lanes has digits. */
struct lanes {
    int64_t *free_at;
    size_t leaves; /* a power of two */
};

static void set_lane(const struct lanes *lanes, uint32_t lane, int64_t free_at)
{
    size_t at = lanes->leaves + lane;
    lanes->free_at[at] = free_at;
    for (at /= 2; at > 0; at /= 2) {
        const int64_t left = lanes->free_at[2 * at];
        const int64_t right = lanes->free_at[2 * at + 1];
        lanes->free_at[at] = left < right ? left : right;
    }
}

static uint32_t free_lane(const struct lanes *lanes, int64_t time_ns)
{
    size_t at = 1;
    while (at < lanes->leaves) {
        at = 2 * at + (lanes->free_at[2 * at] > time_ns);
    }
    return (uint32_t)(at - lanes->leaves);
}

/* Each in the first lane that is free at its start. */
static pdl_status assign_lanes(struct pdl_timeline_slot *slots, size_t count, uint32_t *most)
{
    struct lanes lanes = {.leaves = 1};
    uint32_t used = 0;
    while (lanes.leaves < count) {
        lanes.leaves *= 2;
    }
    lanes.free_at = calloc(2 * lanes.leaves, sizeof(*lanes.free_at));
    if (lanes.free_at == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %zu lanes", count);
    }
    for (size_t i = 0; i < 2 * lanes.leaves; i++) {
        lanes.free_at[i] = INT64_MIN;
    }
    qsort(slots, count, sizeof(*slots), compare_slots);
    *most = 1;
    for (size_t i = 0; i < count; i++) {
        struct pdl_timeline_slot *slot = &slots[i];
        if (i > 0 && (slot->track != slots[i - 1].track || slot->sm != slots[i - 1].sm)) {
            for (; used > 0; used--) {
                set_lane(&lanes, used - 1, INT64_MIN);
            }
        }
        slot->lane = free_lane(&lanes, slot->start_ns);
        set_lane(&lanes, slot->lane, slot->end_ns);
        used = slot->lane == used ? used + 1 : used;
        *most = used > *most ? used : *most;
    }
    free(lanes.free_at);
    return PDL_SUCCESS;
}

static pdl_status make_slots(size_t count, struct pdl_timeline_slot **slots)
{
    *slots = calloc(count + 1, sizeof(**slots));
    if (*slots == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to draw %zu blocks", count);
    }
    return PDL_SUCCESS;
}

pdl_status pdl_timeline_block_lanes(const struct pdl_timeline *timeline,
                                    struct pdl_timeline_slot **slots, uint32_t *lanes)
{
    struct pdl_timeline_slot *made;
    pdl_status status = make_slots((size_t)timeline->block_count, &made);
    if (status != PDL_SUCCESS) {
        return status;
    }
    for (uint64_t i = 0; i < timeline->block_count; i++) {
        const pdl_timeline_block *block = &timeline->blocks[i];
        made[i] = (struct pdl_timeline_slot){.track = timeline->launches[block->launch].track,
                                             .sm = block->sm,
                                             .index = (uint32_t)i,
                                             .start_ns = block->start_ns,
                                             .end_ns = block->end_ns};
    }
    status = assign_lanes(made, (size_t)timeline->block_count, lanes);
    if (status != PDL_SUCCESS) {
        free(made);
        return status;
    }
    *slots = made;
    return PDL_SUCCESS;
}

pdl_status pdl_timeline_launch_lanes(const struct pdl_timeline *timeline,
                                     struct pdl_timeline_slot **slots, uint32_t *count,
                                     uint32_t *lanes)
{
    uint32_t kept = 0;
    struct pdl_timeline_slot *made;
    pdl_status status = make_slots(timeline->launch_count, &made);
    if (status != PDL_SUCCESS) {
        return status;
    }
    for (uint32_t i = 0; i < timeline->launch_count; i++) {
        const struct pdl_timeline_launch *launch = &timeline->launches[i];
        if (launch->blocks > 0) {
            made[kept++] = (struct pdl_timeline_slot){.track = launch->track,
                                                      .index = i,
                                                      .start_ns = launch->start_ns,
                                                      .end_ns = launch->end_ns};
        }
    }
    status = assign_lanes(made, kept, lanes);
    if (status != PDL_SUCCESS) {
        free(made);
        return status;
    }
    *slots = made;
    *count = kept;
    return PDL_SUCCESS;
}

void pdl_timeline_slots_of(const struct pdl_timeline_slot *slots, size_t count, uint32_t track,
                           size_t *from, size_t *to)
{
    const uint64_t ends[2] = {track, (uint64_t)track + 1};
    size_t *const found[2] = {from, to};
    for (unsigned i = 0; i < 2; i++) { /* the first slot whose track is not before that */
        size_t low = 0;
        for (size_t high = count; low < high;) {
            const size_t middle = low + (high - low) / 2;
            if (slots[middle].track < ends[i]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        *found[i] = low;
    }
}

/* ---- cells ---------------------------------------------------------------------------------- */

void pdl_timeline_spread(double *cells, uint32_t count, size_t stride, double from, double to,
                         double width)
{
    for (uint32_t cell = from > 0 ? (uint32_t)from : 0; cell < count && cell < to; cell++) {
        const double left = from > cell ? from : cell;
        const double right = to < cell + 1.0 ? to : cell + 1.0;
        cells[cell * stride] += (right - left) * width;
    }
}

pdl_status pdl_timeline_sm_cells(const struct pdl_timeline *timeline, uint32_t track,
                                 int64_t start_ns, int64_t end_ns, uint32_t cells, double *busy,
                                 uint32_t *sms)
{
    struct pdl_timeline_interval *intervals = NULL;
    size_t count = 0;
    const double width = (double)(end_ns - start_ns) / cells;
    const pdl_status status = pdl_timeline_sm_times(timeline, track, &intervals, &count);
    *sms = timeline->sms.count;
    for (size_t i = 0; i < count; i++) {
        pdl_timeline_spread(busy, cells, 1, (double)(intervals[i].start_ns - start_ns) / width,
                            (double)(intervals[i].end_ns - start_ns) / width, width);
    }
    free(intervals);
    return status;
}

static void fill_block(const pdl_timeline_block *block, const struct pdl_timeline_cells *cells,
                       double *times)
{
    const double width = (double)(cells->end_ns - cells->start_ns) / cells->cells;
    struct pdl_timeline_piece pieces[PDL_TIMELINE_PHASES];
    const unsigned count = pdl_timeline_pieces(block, pieces);
    for (unsigned piece = 0; piece < count; piece++) {
        pdl_timeline_spread(times + pieces[piece].phase, cells->cells, PDL_TIMELINE_PHASES,
                            (double)(pieces[piece].start_ns - cells->start_ns) / width,
                            (double)(pieces[piece].end_ns - cells->start_ns) / width, width);
    }
}

void pdl_timeline_fill(const struct pdl_timeline *timeline, uint32_t launch,
                       const struct pdl_timeline_cells *cells, uint32_t row)
{
    double *times = cells->times + (size_t)row * cells->cells * PDL_TIMELINE_PHASES;
    for (uint32_t i = timeline->launches[launch].first_block; i != PDL_TIMELINE_END;
         i = timeline->next_blocks[i]) {
        fill_block(&timeline->blocks[i], cells, times);
    }
}

enum pdl_timeline_phase pdl_timeline_cell_phase(const struct pdl_timeline_cells *cells,
                                                uint32_t row, uint32_t cell)
{
    const double *times = cells->times + ((size_t)row * cells->cells + cell) * PDL_TIMELINE_PHASES;
    enum pdl_timeline_phase most = PDL_TIMELINE_PHASES;
    for (unsigned phase = 0; phase < PDL_TIMELINE_PHASES; phase++) {
        if (times[phase] > (most == PDL_TIMELINE_PHASES ? 0.0 : times[most])) {
            most = (enum pdl_timeline_phase)phase;
        }
    }
    return most;
}
