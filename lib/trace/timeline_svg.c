/* SPDX-License-Identifier: MIT */
/* A timeline as a picture: a band per launch, below it a row per SM where that adds something, tracks
 * below one another on one axis. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "trace/timeline_forms.h"
#include "trace/timeline_svg_blocks.h"

#define GAP         10 /* above a launch's bar, with the mark of its trigger */
#define BAR         12 /* height of a launch's bar */
#define BAND        30 /* the same without rows of SMs */
#define TITLE       32
#define LANES_MOST  12  /* of launches */
#define BARS_MOST   256 /* of launches with their phases; more are plain */
#define BANDS_MOST  24  /* of launches without rows of SMs */
#define ROWS_MOST   400 /* of SMs: more share rows */
#define AREA        560 /* height of a track's SMs, where that makes no row too low */
#define ROW_LEAST   3
#define ROW_MOST    20
#define HEADING     46 /* of a track */
#define BELOW       30
#define BLOCKS_MOST 20000 /* drawn each */
#define LEGEND_NAME 40    /* characters */

/* ---- the frame --------------------------------------------------------------------------------- */

/* Colours that the colour-blind can tell apart (Okabe and Ito), their lightness moved for each
 * background; black for their last, as a grey. */
static const char *const light[COLOURS] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                           "#d55e00", "#56b4e9", "#6b7280"};
static const char *const dark[COLOURS] = {"#3d9fe0", "#f0b429", "#2cc295", "#e39ac4",
                                          "#ee7733", "#8fd0f7", "#a3aab5"};

/* Without CSS variables, which only browsers know. */
static void put_scheme(const struct svg *svg, const char *paper, const char *area, const char *ink,
                       const char *soft, const char *grid, const char *const colours[COLOURS])
{
    (void)fprintf(svg->out, ".bg{fill:%s}.area{fill:%s}.t,.h{fill:%s}.s{fill:%s}\n", paper, area,
                  ink, soft);
    (void)fprintf(svg->out, ".n,.mark{fill:%s;stroke:%s}.grid{stroke:%s}.tick{stroke:%s}\n", ink,
                  paper, grid, ink);
    for (unsigned i = 0; i < COLOURS; i++) {
        (void)fprintf(svg->out, ".k%u{fill:%s}", i, colours[i]);
    }
}

/* A picture of bands is for a page's width, so its letters are larger. */
static void put_style(const struct svg *svg)
{
    FILE *out = svg->out;
    (void)fprintf(out,
                  "<style>\n"
                  "text{font-family:system-ui,sans-serif;font-size:%dpx}\n"
                  ".s,.n{font-size:%dpx}.h{font-size:%dpx}.head{font-size:22px}\n",
                  svg->bands ? 16 : 12, svg->bands ? 15 : 11, svg->bands ? 18 : 15);
    (void)fputs(".h,.n{font-weight:600}\n"
                ".e{text-anchor:end}.m{text-anchor:middle}\n"
                ".n{stroke-width:3px;stroke-linejoin:round;paint-order:stroke}\n"
                ".mark{paint-order:stroke}.tick{fill:none;stroke-width:1}.b{opacity:.5}\n",
                out);
    for (unsigned i = 0; i < COLOURS; i++) {
        (void)fprintf(out, ".w%u{fill:url(#wait%u)}", i, i);
    }
    (void)fputc('\n', out);
    put_scheme(svg, "#fff", "#f3f4f6", "#1b1f24", "#57606a", "#d0d7de", light);
    (void)fputs("\n@media(prefers-color-scheme:dark){\n", out);
    put_scheme(svg, "#0f1318", "#1a2029", "#e6edf3", "#9da7b3", "#343c47", dark);
    (void)fputs("}\n</style>\n<defs>\n", out);
    for (unsigned i = 0; i < COLOURS; i++) {
        (void)fprintf(out,
                      "<pattern id=\"wait%u\" width=\"6\" height=\"6\" "
                      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                      "<rect class=\"k%u\" width=\"6\" height=\"6\" opacity=\".15\"/>"
                      "<rect class=\"k%u\" width=\"2\" height=\"6\"/></pattern>\n",
                      i, i, i);
    }
    (void)fputs("</defs>\n", out);
}

/* Of text at the style's size, roughly. */
static double text_width(const struct svg *svg, const char *string, uint32_t most)
{
    uint32_t length = 0;
    while (pdl_text_next(&string) != 0 && length < most) {
        length++;
    }
    return (svg->bands ? 9 : 6.8) * length;
}

/* A colour a kernel, then the phases. Returns the y below it; draws only if asked to. */
static double put_legend(const struct svg *svg, double y, bool draw)
{
    static const struct {
        const char *class;
        const char *name;
    } phases[] = {{"k6 b", "before the wait"}, {"w6", "waiting"}, {"k6", "running"}};
    const struct pdl_names *kernels = &svg->timeline->kernels;
    double x = LEFT;
    for (uint32_t i = 0; i < kernels->count && i < 24; i++) {
        const double width = 26 + text_width(svg, kernels->names[i], LEGEND_NAME) + 18;
        if (x > LEFT && x + width > RIGHT) {
            x = LEFT;
            y += 20;
        }
        if (draw) {
            char class[8];
            (void)snprintf(class, sizeof(class), "k%u", (unsigned)(i % COLOURS));
            pdl_timeline_svg_rectangle(svg, class, x, y, 18, 12);
            pdl_timeline_svg_open_text(svg, x + 24, y + 10, "t");
            pdl_text_put_xml(svg->out, kernels->names[i], LEGEND_NAME);
            (void)fputs("</text>\n", svg->out);
        }
        x += width;
    }
    y += 20;
    x = LEFT;
    for (size_t i = 0; draw && i < sizeof(phases) / sizeof(phases[0]); i++) {
        pdl_timeline_svg_rectangle(svg, phases[i].class, x, y, 18, 12);
        pdl_timeline_svg_open_text(svg, x + 24, y + 10, "s");
        (void)fprintf(svg->out, "%s</text>\n", phases[i].name);
        x += 26 + text_width(svg, phases[i].name, LEGEND_NAME) + 14;
    }
    if (draw) {
        (void)fputs("<path class=\"mark\" d=\"M", svg->out);
        pdl_timeline_svg_number(svg, x + 3);
        (void)fputc(' ', svg->out);
        pdl_timeline_svg_number(svg, y + 1);
        (void)fputs("h10l-5 9z\"/>\n", svg->out);
        pdl_timeline_svg_open_text(svg, x + 20, y + 10, "s");
        (void)fprintf(
            svg->out,
            "the last trigger of a launch%s: from then on the next one may start</text>\n",
            svg->dense || svg->bands ? "" : ", thin lines those of blocks");
    }
    return y + 26;
}

static void put_axis(const struct svg *svg, double top, double bottom)
{
    char us[PDL_TIMELINE_NUMBER];
    const int64_t step = pdl_timeline_step(svg->end_ns - svg->start_ns, 14);
    const int64_t zero = pdl_timeline_zero(svg->start_ns);
    const int64_t first = pdl_timeline_first_tick(svg->start_ns - zero, step);
    const int64_t last = (svg->end_ns - zero - first) / step;
    for (int64_t i = 0; i <= last; i++) {
        const int64_t tick = first + i * step;
        const double x = pdl_timeline_svg_x(svg, zero + tick);
        (void)fputs("<path class=\"grid\" d=\"M", svg->out);
        pdl_timeline_svg_number(svg, x);
        (void)fputc(' ', svg->out);
        pdl_timeline_svg_number(svg, top);
        (void)fputc('V', svg->out);
        pdl_timeline_svg_number(svg, bottom);
        (void)fputs("\"/>\n", svg->out);
        for (unsigned end = 0; end < 2; end++) {
            pdl_timeline_svg_open_text(svg, x, end == 0 ? top - 6 : bottom + 14, "s m");
            (void)fprintf(svg->out, "%s%s</text>\n", pdl_timeline_us(tick, -1, us),
                          i == 0 ? " µs" : "");
        }
    }
}

/* ---- tracks ------------------------------------------------------------------------------------ */

static void put_heading(const struct svg *svg, uint32_t track, const pdl_timeline_summary *summary,
                        double y)
{
    char us[PDL_TIMELINE_NUMBER];
    const int64_t span = svg->end_ns - svg->start_ns;
    const int digits = span < INT64_C(10000000) ? 2 : 0;
    pdl_timeline_svg_open_text(svg, LEFT, y + 18, "h");
    pdl_text_put_xml(svg->out, svg->timeline->tracks.names[track], 100);
    (void)fputs("</text>\n", svg->out);
    pdl_timeline_svg_open_text(svg, LEFT, y + 36, "s");
    (void)fprintf(svg->out, "%s µs", pdl_timeline_us(summary->span_ns, digits, us));
    (void)fprintf(svg->out, " · launches overlap %s µs (%u %%)",
                  pdl_timeline_us(summary->overlap_ns, digits, us),
                  (unsigned)(summary->overlap_share * 100 + 0.5));
    (void)fprintf(svg->out, " · gaps %s µs", pdl_timeline_us(summary->gap_ns, digits, us));
    (void)fprintf(svg->out, " · blocked in waits %s µs",
                  pdl_timeline_us(summary->blocked_ns, digits, us));
    (void)fprintf(svg->out, " · SMs busy %u %%</text>\n",
                  (unsigned)(summary->sm_share * 100 + 0.5));
}

static double bar_height(const struct svg *svg)
{
    return svg->bands ? BAND : BAR;
}

static double lane_height(const struct svg *svg)
{
    return GAP + bar_height(svg);
}

/* Which runs of cells a launch has in one phase. */
static void put_bar_phases(const struct svg *svg, const struct pdl_timeline_cells *cells,
                           uint32_t row, uint32_t launch, double y)
{
    for (uint32_t cell = 0; cell < cells->cells;) {
        const enum pdl_timeline_phase phase = pdl_timeline_cell_phase(cells, row, cell);
        uint32_t end = cell + 1;
        while (end < cells->cells && pdl_timeline_cell_phase(cells, row, end) == phase) {
            end++;
        }
        if (phase != PDL_TIMELINE_PHASES) {
            pdl_timeline_svg_open(svg, launch, phase);
            pdl_timeline_svg_box(svg, LEFT + cell, y, end - cell, bar_height(svg));
            pdl_timeline_svg_close(svg);
        }
        cell = end;
    }
}

static void put_bar(const struct svg *svg, const struct pdl_timeline_cells *cells, uint32_t row,
                    const struct pdl_timeline_slot *slot, double y)
{
    const struct pdl_timeline_launch *launch = &svg->timeline->launches[slot->index];
    const char *name = svg->timeline->kernels.names[launch->kernel];
    const double x = pdl_timeline_svg_x(svg, slot->start_ns);
    const double width = pdl_timeline_svg_x(svg, slot->end_ns) - x;
    if (cells != NULL) {
        put_bar_phases(svg, cells, row, slot->index, y);
    } else {
        pdl_timeline_svg_open(svg, slot->index, PDL_TIMELINE_RUNNING);
        pdl_timeline_svg_box(svg, x, y, width, bar_height(svg));
        pdl_timeline_svg_close(svg);
    }
    if (cells != NULL && width > 24) {
        pdl_timeline_svg_open_text(svg, x + 4, y + bar_height(svg) / 2 + (svg->bands ? 5 : 4), "n");
        pdl_text_put_xml(svg->out, name, (uint32_t)(width / (svg->bands ? 9 : 7)));
        (void)fputs("</text>\n", svg->out);
    }
    if (cells != NULL && launch->triggers > 0) {
        (void)fputs("<path class=\"mark\" d=\"M", svg->out);
        pdl_timeline_svg_number(svg, pdl_timeline_svg_x(svg, launch->triggered_ns) - 5);
        (void)fputc(' ', svg->out);
        pdl_timeline_svg_number(svg, y - 6);
        (void)fputs("h10l-5 9z\"/>\n", svg->out);
    }
}

/* The launches of a track as bars. */
static pdl_status put_bars(const struct svg *svg, uint32_t track, double y)
{
    struct pdl_timeline_cells cells = {
        .start_ns = svg->start_ns, .end_ns = svg->end_ns, .cells = PLOT};
    const bool phases = svg->launch_count <= BARS_MOST;
    size_t from = 0;
    size_t to = 0;
    pdl_timeline_slots_of(svg->launches, svg->launch_count, track, &from, &to);
    if (phases) {
        cells.times = calloc((to - from) * PLOT * PDL_TIMELINE_PHASES + 1, sizeof(*cells.times));
        if (cells.times == NULL) {
            return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to draw %zu launches", to - from);
        }
    }
    for (size_t i = from; i < to; i++) {
        const struct pdl_timeline_slot *slot = &svg->launches[i];
        const uint32_t row = (uint32_t)(i - from);
        if (slot->lane < LANES_MOST) {
            if (phases) {
                pdl_timeline_fill(svg->timeline, slot->index, &cells, row);
            }
            put_bar(svg, phases ? &cells : NULL, row, slot,
                    y + slot->lane * lane_height(svg) + GAP);
        }
    }
    free(cells.times);
    return PDL_SUCCESS;
}

/* Every so many SMs, so that numbers do not touch. */
static void put_sm_labels(const struct svg *svg, double y)
{
    const int64_t every =
        pdl_timeline_step(svg->sm_count, (int64_t)(svg->rows * svg->row_height / 16) + 1);
    for (uint32_t i = 0; i < svg->sm_count; i += (uint32_t)every) {
        const uint32_t row = (uint32_t)((uint64_t)i * svg->rows / svg->sm_count);
        pdl_timeline_svg_open_text(svg, LEFT - 8, y + ((double)row + 0.5) * svg->row_height + 4,
                                   "s e");
        (void)fprintf(svg->out, "SM %u</text>\n", svg->sms[i]);
    }
}

static double lanes_height(const struct svg *svg, uint32_t track)
{
    uint32_t lanes = 1;
    size_t from = 0;
    size_t to = 0;
    pdl_timeline_slots_of(svg->launches, svg->launch_count, track, &from, &to);
    for (size_t i = from; i < to; i++) {
        lanes = svg->launches[i].lane + 1 > lanes ? svg->launches[i].lane + 1 : lanes;
    }
    return (lanes < LANES_MOST ? lanes : LANES_MOST) * lane_height(svg) + 8;
}

static double track_height(const struct svg *svg, uint32_t track)
{
    return HEADING + lanes_height(svg, track) + svg->rows * svg->row_height + BELOW;
}

static pdl_status put_track(const struct svg *svg, uint32_t track, double y)
{
    pdl_timeline_summary summary;
    pdl_status status = pdl_timeline_measure(svg->timeline, track, &summary);
    if (status != PDL_SUCCESS) {
        return status;
    }
    put_heading(svg, track, &summary, y);
    status = put_bars(svg, track, y + HEADING);
    if (status == PDL_SUCCESS && !svg->bands) {
        pdl_timeline_svg_open_text(svg, LEFT - 8, y + HEADING + lane_height(svg) - 2, "s e");
        (void)fputs("launches</text>\n", svg->out);
        put_sm_labels(svg, y + HEADING + lanes_height(svg, track));
        status = pdl_timeline_svg_blocks(svg, track, y + HEADING + lanes_height(svg, track));
    }
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------- */

static void put_comparison(const struct svg *svg)
{
    pdl_text_put_xml(svg->out, pdl_timeline_compared(svg->timeline), 100);
    (void)fprintf(svg->out, ": %s", svg->figures);
}

static double put_notes(const struct svg *svg, double y)
{
    if (svg->figures[0] != '\0') {
        pdl_timeline_svg_open_text(svg, LEFT, y + 4, "h head");
        put_comparison(svg);
        (void)fputs("</text>\n", svg->out);
        y += TITLE;
    }
    const struct pdl_names *notes = &svg->timeline->notes;
    for (uint32_t i = 0; i < notes->count; i++) {
        pdl_timeline_svg_open_text(svg, LEFT, y, "t");
        pdl_text_put_xml(svg->out, notes->names[i], 170);
        (void)fputs("</text>\n", svg->out);
        y += 18;
    }
    if (svg->timeline->lost > 0) {
        pdl_timeline_svg_open_text(svg, LEFT, y, "t");
        (void)fprintf(svg->out, "The stamps of %llu %s were lost.</text>\n",
                      (unsigned long long)svg->timeline->lost,
                      svg->timeline->lost == 1 ? "block" : "blocks");
        y += 18;
    }
    if (svg->dense) {
        pdl_timeline_svg_open_text(svg, LEFT, y, "t");
        (void)fprintf(svg->out,
                      "%llu blocks: in each small step of time a row shows what lasted longest."
                      "</text>\n",
                      (unsigned long long)svg->timeline->block_count);
        y += 18;
    }
    return y;
}

static bool has_blocks(const struct svg *svg, uint32_t track)
{
    int64_t start;
    int64_t end;
    return pdl_timeline_span(svg->timeline, track, &start, &end);
}

static pdl_status put_picture(const struct svg *svg)
{
    const uint32_t tracks = svg->timeline->tracks.count;
    const uint32_t lines =
        svg->timeline->notes.count + (svg->timeline->lost > 0) + (svg->dense ? 1 : 0);
    const int margin = svg->bands ? LEFT - 40 : 0; /* names of SMs would stand there */
    const double titles = svg->figures[0] != '\0' ? TITLE : 0;
    const double top = put_legend(svg, 18 + titles + 18.0 * lines, false) + 18;
    pdl_status status = PDL_SUCCESS;
    double bottom = top;
    for (uint32_t track = 0; track < tracks; track++) {
        bottom += has_blocks(svg, track) ? track_height(svg, track) : 0;
    }
    bottom = bottom > top ? bottom - BELOW + 8 : top + 40;
    (void)fprintf(svg->out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"%d 0 %d %d\" "
                  "width=\"%d\" height=\"%d\" role=\"img\">\n<title>",
                  margin, WIDTH - margin, (int)bottom + 30, WIDTH - margin, (int)bottom + 30);
    if (svg->figures[0] != '\0') {
        put_comparison(svg);
    } else {
        (void)fprintf(svg->out, "Timeline of %u launches", (unsigned)svg->launch_count);
    }
    (void)fputs("</title>\n", svg->out);
    put_style(svg);
    pdl_timeline_svg_rectangle(svg, "bg", 0, 0, WIDTH, bottom + 30);
    (void)put_legend(svg, put_notes(svg, 26) - 8, true);
    if (svg->launch_count == 0) {
        pdl_timeline_svg_open_text(svg, LEFT, top + 18, "t");
        (void)fputs("no blocks</text>\n", svg->out);
    } else {
        double y = top;
        for (uint32_t track = 0; track < tracks; track++) {
            if (has_blocks(svg, track)) {
                pdl_timeline_svg_rectangle(
                    svg, "area", LEFT, y + HEADING + (svg->bands ? 0 : lanes_height(svg, track)),
                    PLOT, svg->bands ? lanes_height(svg, track) : svg->rows * svg->row_height);
                y += track_height(svg, track);
            }
        }
        put_axis(svg, top, bottom);
    }
    double y = top;
    for (uint32_t track = 0; track < tracks && status == PDL_SUCCESS; track++) {
        if (has_blocks(svg, track)) {
            status = put_track(svg, track, y);
            y += track_height(svg, track);
        }
    }
    (void)fputs("</svg>\n", svg->out);
    return status;
}

static double height_of(uint32_t rows)
{
    const double height = AREA / (rows + 0.001);
    return height < ROW_LEAST ? ROW_LEAST : height > ROW_MOST ? ROW_MOST : height;
}

pdl_status pdl_timeline_write_svg(const struct pdl_timeline *timeline, FILE *out)
{
    struct svg svg = {.timeline = timeline, .out = out};
    pdl_status status = pdl_timeline_sms(timeline, &svg.sms, &svg.sm_count);
    if (status == PDL_SUCCESS) {
        status = pdl_timeline_block_lanes(timeline, &svg.blocks, &svg.lanes);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_timeline_launch_lanes(timeline, &svg.launches, &svg.launch_count,
                                           &svg.launch_lanes);
    }
    if (status == PDL_SUCCESS) {
        (void)pdl_timeline_axis(timeline, &svg.start_ns, &svg.end_ns);
        if (!pdl_timeline_compare(timeline, svg.figures)) {
            svg.figures[0] = '\0';
        }
        svg.bands = svg.launch_count <= BANDS_MOST && svg.launch_lanes <= LANES_MOST &&
                    pdl_timeline_is_even(timeline);
        svg.dense = !svg.bands && (timeline->block_count > BLOCKS_MOST || svg.sm_count > ROWS_MOST);
        svg.rows = svg.bands ? 0 : svg.sm_count < ROWS_MOST ? svg.sm_count : ROWS_MOST;
        svg.row_height = height_of(svg.rows);
        svg.row_filled = svg.row_height < 8 ? svg.row_height : svg.row_height - 2;
        status = put_picture(&svg);
    }
    free(svg.launches);
    free(svg.blocks);
    free(svg.sms);
    return status;
}
