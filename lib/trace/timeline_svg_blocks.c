/* SPDX-License-Identifier: MIT */
/* The picture of a timeline: blocks in rows of SMs. */
#include "trace/timeline_svg_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* Of a dense picture: in each cell what lasted longest. */
#define CELL  2
#define CELLS (PLOT / CELL)

/* A block's slot with its launch. */
struct place {
    uint32_t launch, slot;
};

static uint32_t row_of_sm(const struct svg *svg, uint32_t sm)
{
    uint32_t from = 0;
    uint32_t to = svg->sm_count;
    while (from + 1 < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (svg->sms[middle] <= sm) {
            from = middle;
        } else {
            to = middle;
        }
    }
    return (uint32_t)((uint64_t)from * svg->rows / svg->sm_count);
}

static double y_of(const struct svg *svg, const struct pdl_timeline_slot *slot, double y)
{
    return y + row_of_sm(svg, slot->sm) * svg->row_height +
           slot->lane * svg->row_filled / svg->lanes;
}

static void put_phase(const struct svg *svg, enum pdl_timeline_phase phase,
                      const struct place *places, size_t count, double y)
{
    bool open = false;
    for (size_t i = 0; i < count; i++) {
        const struct pdl_timeline_slot *slot = &svg->blocks[places[i].slot];
        struct pdl_timeline_piece pieces[PDL_TIMELINE_PHASES];
        const unsigned parts = pdl_timeline_pieces(&svg->timeline->blocks[slot->index], pieces);
        for (unsigned part = 0; part < parts; part++) {
            if (pieces[part].phase != phase) {
                continue;
            }
            if (!open) {
                pdl_timeline_svg_open(svg, places[i].launch, phase);
                open = true;
            }
            const double x = pdl_timeline_svg_x(svg, pieces[part].start_ns);
            pdl_timeline_svg_box(svg, x, y_of(svg, slot, y),
                                 pdl_timeline_svg_x(svg, pieces[part].end_ns) - x,
                                 svg->row_filled / svg->lanes);
        }
    }
    if (open) {
        pdl_timeline_svg_close(svg);
    }
}

/* A launch's blocks in their lanes: a path for each phase, and the marks of the triggers. */
static void put_launch_blocks(const struct svg *svg, const struct place *places, size_t count,
                              double y)
{
    for (unsigned phase = 0; phase < PDL_TIMELINE_PHASES; phase++) {
        put_phase(svg, (enum pdl_timeline_phase)phase, places, count, y);
    }
    if (svg->timeline->launches[places[0].launch].triggers == 0) {
        return;
    }
    (void)fputs("<path class=\"tick\" d=\"", svg->out);
    for (size_t i = 0; i < count; i++) {
        const struct pdl_timeline_slot *slot = &svg->blocks[places[i].slot];
        const int64_t triggered = svg->timeline->blocks[slot->index].triggered_ns;
        if (triggered != PDL_TIMELINE_NONE) {
            (void)fputc('M', svg->out);
            pdl_timeline_svg_number(svg, pdl_timeline_svg_x(svg, triggered));
            (void)fputc(' ', svg->out);
            pdl_timeline_svg_number(svg, y_of(svg, slot, y));
            (void)fputc('v', svg->out);
            pdl_timeline_svg_number(svg, svg->row_filled / svg->lanes);
        }
    }
    pdl_timeline_svg_close(svg);
}

/* One row of cells: what lasted longest in each. */
struct cell {
    double time;
    uint32_t launch;
    enum pdl_timeline_phase phase;
};

static void fill_cells(const struct svg *svg, const pdl_timeline_block *block, struct cell *cells)
{
    struct pdl_timeline_piece pieces[PDL_TIMELINE_PHASES];
    const unsigned count = pdl_timeline_pieces(block, pieces);
    for (unsigned i = 0; i < count; i++) {
        const double from = (pdl_timeline_svg_x(svg, pieces[i].start_ns) - LEFT) / CELL;
        const double to = (pdl_timeline_svg_x(svg, pieces[i].end_ns) - LEFT) / CELL;
        for (uint32_t cell = (uint32_t)from; cell < CELLS && cell < to; cell++) {
            const double time = (to < cell + 1.0 ? to : cell + 1.0) - (from > cell ? from : cell);
            if (time > cells[cell].time) {
                cells[cell] = (struct cell){time, block->launch, pieces[i].phase};
            }
        }
    }
}

static bool same_look(const struct svg *svg, const struct cell *a, const struct cell *b)
{
    if (a->time == 0 || b->time == 0) {
        return a->time == b->time;
    }
    const bool triggered = a->phase >= PDL_TIMELINE_RUNNING && b->phase >= PDL_TIMELINE_RUNNING;
    return svg->timeline->launches[a->launch].kernel == svg->timeline->launches[b->launch].kernel &&
           (a->phase == b->phase || triggered);
}

static void put_cells(const struct svg *svg, const struct cell *cells, double y)
{
    for (uint32_t cell = 0; cell < CELLS;) {
        uint32_t end = cell + 1;
        while (end < CELLS && same_look(svg, &cells[cell], &cells[end])) {
            end++;
        }
        if (cells[cell].time > 0) {
            pdl_timeline_svg_open(svg, cells[cell].launch, cells[cell].phase);
            pdl_timeline_svg_box(svg, LEFT + cell * CELL, y, (end - cell) * CELL, svg->row_filled);
            pdl_timeline_svg_close(svg);
        }
        cell = end;
    }
}

/* The slots of a track: from..to. */
static void put_dense_blocks(const struct svg *svg, size_t from, size_t to, struct cell *cells,
                             double y)
{
    memset(cells, 0, CELLS * sizeof(*cells));
    for (size_t i = from; i < to; i++) {
        const uint32_t row = row_of_sm(svg, svg->blocks[i].sm);
        fill_cells(svg, &svg->timeline->blocks[svg->blocks[i].index], cells);
        if (i + 1 == to || row_of_sm(svg, svg->blocks[i + 1].sm) != row) {
            put_cells(svg, cells, y + row * svg->row_height);
            memset(cells, 0, CELLS * sizeof(*cells));
        }
    }
}

static int by_launch(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    return a->launch != b->launch ? (a->launch < b->launch ? -1 : 1)
                                  : (a->slot > b->slot) - (a->slot < b->slot);
}

/* Launch by launch. */
static pdl_status put_sparse_blocks(const struct svg *svg, size_t from, size_t to, double y)
{
    const size_t count = to - from;
    struct place *places = calloc(count + 1, sizeof(*places));
    if (places == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to draw %zu blocks", count);
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t block = svg->blocks[from + i].index;
        places[i] = (struct place){svg->timeline->blocks[block].launch, (uint32_t)(from + i)};
    }
    qsort(places, count, sizeof(*places), by_launch);
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && places[end].launch == places[first].launch) {
            end++;
        }
        put_launch_blocks(svg, places + first, end - first, y);
    }
    free(places);
    return PDL_SUCCESS;
}

pdl_status pdl_timeline_svg_blocks(const struct svg *svg, uint32_t track, double y)
{
    size_t from = 0;
    size_t to = 0;
    pdl_timeline_slots_of(svg->blocks, (size_t)svg->timeline->block_count, track, &from, &to);
    if (!svg->dense) {
        return put_sparse_blocks(svg, from, to, y);
    }
    struct cell *cells = calloc(CELLS, sizeof(*cells));
    if (cells == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to draw %zu blocks", to - from);
    }
    put_dense_blocks(svg, from, to, cells, y);
    free(cells);
    return PDL_SUCCESS;
}
