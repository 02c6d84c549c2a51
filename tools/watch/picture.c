/* SPDX-License-Identifier: MIT */
/* A window of the runs as a picture, in the style of libpdl-trace's timelines: a track a stream, a colour a kernel. What
 * is drawn there of blocks and SMs, no recording has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"
#include "trace/text.h"
#include "watch/brief.h"
#include "watch/lanes.h"
#include "watch/model.h"

enum {
    RUNS_MOST = 200,
    WIDTH = 1200,
    LEFT = 120,
    RIGHT = 1180,
    LANE = 22,
    BAR = 14,
    HEADING = 26,
    LINE = 18,
    COLOURS = 7,
    LEGEND_MOST = 24,
    LEGEND_NAME = 60, /* characters */
    TICKS_MOST = 12
};

struct picture {
    FILE *out;
    const struct watch *watch;
    size_t runs[RUNS_MOST]; /* indices of those that are drawn */
    size_t count;
    size_t all; /* runs in the window */
    uint64_t start_ns, end_ns;
    struct lanes lanes;
    struct {
        uint32_t *items; /* kernels, in the order of their colours */
        size_t count, capacity;
    } kernels;
};

/* ---- the pen ---------------------------------------------------------------------------------- */

/* With two digits after the point. printf's own may have a comma. */
static void put_number(const struct picture *picture, double value)
{
    const long long hundredths = (long long)(value * 100 + 0.5);
    (void)fprintf(picture->out, "%lld.%02lld", hundredths / 100, hundredths % 100);
}

static double x_of(const struct picture *picture, uint64_t time_ns)
{
    const double span = (double)(picture->end_ns - picture->start_ns);
    return LEFT + (RIGHT - LEFT) * (double)(time_ns - picture->start_ns) / span;
}

static void put_box(const struct picture *picture, const char *class, double x, double y,
                    double width, double height)
{
    (void)fprintf(picture->out, "<rect class=\"%s\" x=\"", class);
    put_number(picture, x);
    (void)fputs("\" y=\"", picture->out);
    put_number(picture, y);
    (void)fputs("\" width=\"", picture->out);
    put_number(picture, width);
    (void)fputs("\" height=\"", picture->out);
    put_number(picture, height);
    (void)fputs("\"", picture->out);
}

static void open_text(const struct picture *picture, const char *class, double x, double y)
{
    (void)fputs("<text x=\"", picture->out);
    put_number(picture, x);
    (void)fputs("\" y=\"", picture->out);
    put_number(picture, y);
    (void)fprintf(picture->out, "\" class=\"%s\">", class);
}

static void put_text(const struct picture *picture, const char *class, double x, double y,
                     const char *text, size_t most)
{
    open_text(picture, class, x, y);
    pdl_text_put_xml(picture->out, text, most);
    (void)fputs("</text>\n", picture->out);
}

/* As timelines have them: colours that the colour-blind can tell apart, for a light and a dark background. */
static void put_scheme(const struct picture *picture, const char *paper, const char *area,
                       const char *ink, const char *soft, const char *grid,
                       const char *const colours[COLOURS])
{
    (void)fprintf(picture->out, ".bg{fill:%s}.area{fill:%s}.t,.h{fill:%s}.s{fill:%s}\n", paper,
                  area, ink, soft);
    (void)fprintf(picture->out, ".n{fill:%s;stroke:%s}.grid{stroke:%s}\n", ink, paper, grid);
    for (unsigned i = 0; i < COLOURS; i++) {
        (void)fprintf(picture->out, ".k%u{fill:%s}", i, colours[i]);
    }
}

static void put_style(const struct picture *picture)
{
    static const char *const light[COLOURS] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                               "#d55e00", "#56b4e9", "#6b7280"};
    static const char *const dark[COLOURS] = {"#3d9fe0", "#f0b429", "#2cc295", "#e39ac4",
                                              "#ee7733", "#8fd0f7", "#a3aab5"};
    (void)fputs("<style>\ntext{font-family:system-ui,sans-serif;font-size:12px}\n"
                ".s,.n{font-size:11px}.h{font-size:15px}.h,.n{font-weight:600}\n"
                ".e{text-anchor:end}.m{text-anchor:middle}\n"
                ".n{stroke-width:3px;stroke-linejoin:round;paint-order:stroke}.grid{opacity:.6}\n",
                picture->out);
    put_scheme(picture, "#fff", "#f3f4f6", "#1b1f24", "#57606a", "#d0d7de", light);
    (void)fputs("\n@media(prefers-color-scheme:dark){\n", picture->out);
    put_scheme(picture, "#0f1318", "#1a2029", "#e6edf3", "#9da7b3", "#343c47", dark);
    (void)fputs("}\n</style>\n", picture->out);
}

/* ---- what is drawn ---------------------------------------------------------------------------- */

/* A run to begin near: of the pair that could save most, or in the middle. */
static size_t point_of_interest(const struct watch *watch)
{
    return watch->pairs.count > 0 && watch->pairs.items[0].saving_ns > 0 &&
                   watch->pairs.items[0].example < watch->runs.count
               ? watch->pairs.items[0].example
               : watch->runs.count / 2;
}

/* The runs in the window around that one, of its process. */
static void choose_runs(struct picture *picture)
{
    const struct watch *const watch = picture->watch;
    const size_t point = point_of_interest(watch);
    size_t before = 0;
    for (size_t i = 0; i < watch->runs.count; i++) {
        picture->all += watch->runs.items[i].in_window;
        before += i < point && watch->runs.items[i].in_window;
    }
    size_t skip = before > RUNS_MOST / 2 ? before - RUNS_MOST / 2 : 0;
    if (picture->all > RUNS_MOST && skip > picture->all - RUNS_MOST) {
        skip = picture->all - RUNS_MOST;
    }
    skip = picture->all <= RUNS_MOST ? 0 : skip;
    picture->start_ns = UINT64_MAX;
    for (size_t i = 0; i < watch->runs.count && picture->count < RUNS_MOST; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        if (!run->in_window || skip > 0) {
            skip -= run->in_window;
            continue;
        }
        picture->runs[picture->count++] = i;
        picture->start_ns = run->start_ns < picture->start_ns ? run->start_ns : picture->start_ns;
        picture->end_ns = run->end_ns > picture->end_ns ? run->end_ns : picture->end_ns;
    }
    if (picture->count == 0) {
        picture->start_ns = 0;
    }
    if (picture->end_ns <= picture->start_ns) {
        picture->end_ns = picture->start_ns + 1;
    }
}

static unsigned colour_of(struct picture *picture, uint32_t kernel)
{
    size_t i = 0;
    while (i < picture->kernels.count && picture->kernels.items[i] != kernel) {
        i++;
    }
    if (i == picture->kernels.count) {
        APPEND(&picture->kernels, kernel);
    }
    return (unsigned)(i % COLOURS);
}

static const char *kernel_name(const struct watch *watch, uint32_t kernel)
{
    return kernel < watch->kernels.count ? watch->kernels.items[kernel].shown : "copy or memset";
}

/* ---- its parts -------------------------------------------------------------------------------- */

static void put_run(struct picture *picture, size_t index, double y)
{
    const struct watch_run *const run = &picture->watch->runs.items[index];
    const double x = x_of(picture, run->start_ns);
    const double end = x_of(picture, run->end_ns > run->start_ns ? run->end_ns : run->start_ns);
    const double width = end - x < 0.5 ? 0.5 : end - x;
    const char *const full = kernel_name(picture->watch, run->kernel);
    char class[8];
    (void)snprintf(class, sizeof(class), "k%u", colour_of(picture, run->kernel));
    char *const takes = brief_time(run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0);
    put_box(picture, class, x, y, width, BAR);
    (void)fputs("><title>", picture->out);
    pdl_text_put_xml(picture->out, full, 300);
    (void)fprintf(picture->out, ", %s", takes);
    if (run->kernel != WATCH_NONE) {
        (void)fputs(": ", picture->out);
        pdl_text_put_xml(picture->out, watch_reason_text((enum watch_reason)run->reason), 200);
    }
    (void)fputs("</title></rect>\n", picture->out);
    if (width > 40) {
        char *const name = brief_name(full, (size_t)(width / 7.2));
        put_text(picture, "n", x + 4, y + BAR - 3, name, LEGEND_NAME);
        free(name);
    }
    free(takes);
}

/* Returns the y below it. */
static double put_track(struct picture *picture, uint32_t track, double y)
{
    const struct watch *const watch = picture->watch;
    size_t runs = 0;
    size_t overlapped = 0;
    uint8_t lanes = 0;
    for (size_t i = 0; i < picture->count; i++) {
        const struct watch_run *const run = &watch->runs.items[picture->runs[i]];
        if (run->track == track) {
            const uint8_t lane = picture->lanes.lane_of_run[picture->runs[i]];
            runs++;
            overlapped += run->kernel != WATCH_NONE && run->reason == WATCH_OVERLAPPED;
            lanes = lane >= lanes ? (uint8_t)(lane + 1) : lanes;
        }
    }
    if (runs == 0) {
        return y;
    }
    put_text(picture, "h", LEFT, y + HEADING - 8, watch->tracks.items[track].name, 100);
    char *const counts = format_count(runs, "run", "runs");
    char *const overlaps = format_count(overlapped, "", "");
    char *const summary = format_text("%s, %s overlapped the one before", counts, overlaps);
    put_text(picture, "s e", RIGHT, y + HEADING - 8, summary, 100);
    put_box(picture, "area", LEFT, y + HEADING, RIGHT - LEFT, lanes * LANE);
    (void)fputs("/>\n", picture->out);
    for (size_t i = 0; i < picture->count; i++) {
        if (watch->runs.items[picture->runs[i]].track == track) {
            const uint8_t lane = picture->lanes.lane_of_run[picture->runs[i]];
            put_run(picture, picture->runs[i], y + HEADING + lane * LANE + (LANE - BAR) / 2.0);
        }
    }
    free(summary);
    free(overlaps);
    free(counts);
    return y + HEADING + lanes * LANE + 14;
}

/* The smallest of 1, 2 and 5 times a power of ten that parts the span into few enough. */
static uint64_t step_of(uint64_t span)
{
    uint64_t step = 1;
    for (unsigned i = 0; span / step > TICKS_MOST; i++) {
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    }
    return step;
}

static void put_axis(const struct picture *picture, double top, double bottom)
{
    const uint64_t span = picture->end_ns - picture->start_ns;
    const uint64_t step = step_of(span);
    for (uint64_t tick = 0; tick <= span; tick += step) {
        const double x = x_of(picture, picture->start_ns + tick);
        (void)fputs("<path class=\"grid\" d=\"M", picture->out);
        put_number(picture, x);
        (void)fputc(' ', picture->out);
        put_number(picture, top);
        (void)fputc('V', picture->out);
        put_number(picture, bottom);
        (void)fputs("\"/>\n", picture->out);
        open_text(picture, "s m", x, bottom + 14);
        (void)fprintf(picture->out, "%llu", (unsigned long long)(tick / 1000));
        if (tick % 1000 != 0) {
            (void)fprintf(picture->out, ".%03u", (unsigned)(tick % 1000));
        }
        (void)fprintf(picture->out, "%s</text>\n", tick == 0 ? " µs" : "");
    }
}

/* Returns the y below it. */
static double put_legend(const struct picture *picture, const uint32_t *kernels, size_t count,
                         double y)
{
    const size_t shown = count < LEGEND_MOST ? count : LEGEND_MOST;
    /* cppcheck-suppress knownConditionTrueFalse; colour_of() adds kernels */
    for (size_t i = 0; i < shown; i++) {
        const double x = LEFT + (double)(i % 2) * (RIGHT - LEFT) / 2;
        char *const name = brief_name(kernel_name(picture->watch, kernels[i]), LEGEND_NAME);
        char class[8];
        (void)snprintf(class, sizeof(class), "k%u", (unsigned)(i % COLOURS));
        put_box(picture, class, x, y, 18, 12);
        (void)fputs("/>\n", picture->out);
        put_text(picture, "t", x + 24, y + 10, name, LEGEND_NAME);
        y += i % 2 == 1 ? LINE : 0;
        free(name);
    }
    return y + LINE + 8;
}

static void put_notes(const struct picture *picture, double y)
{
    char *const runs = format_count(picture->all, "run", "runs");
    char *note;
    if (picture->count == 0) {
        note = copy_text("Nothing has run, or there are no device times.");
    } else if (picture->all > picture->count) {
        note = format_text("%zu of %s, around those whose overlap could save most.", picture->count,
                           runs);
    } else {
        note = format_text("%s, all that there are.", runs);
    }
    put_text(picture, "t", LEFT, y, note, 200);
    free(note);
    free(runs);
}

/* The body is written apart, since its height is known afterwards. */
static double put_body(struct picture *picture)
{
    double y = 40;
    const double top = y;
    put_notes(picture, 22);
    for (uint32_t track = 0; track < picture->watch->tracks.count; track++) {
        y = put_track(picture, track, y);
    }
    if (picture->count > 0) {
        put_axis(picture, top, y);
        y += 30;
    }
    return put_legend(picture, picture->kernels.items, picture->kernels.count, y);
}

static void put_picture(struct picture *picture, FILE *out)
{
    char *body = NULL;
    size_t size = 0;
    picture->out = memory_open(&body, &size);
    const double height = put_body(picture) + 8;
    memory_close(picture->out);
    picture->out = out;
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" role=\"img\">\n<title>Timeline of %zu runs</title>\n",
                  WIDTH, (int)height, WIDTH, (int)height, picture->count);
    put_style(picture);
    put_box(picture, "bg", 0, 0, WIDTH, height);
    (void)fputs("/>\n", out);
    (void)fwrite(body, 1, size, out);
    (void)fputs("</svg>\n", out);
    free(body);
}

bool watch_write_picture(const struct watch *watch, const char *path)
{
    struct picture picture = {.watch = watch};
    FILE *const out = strcmp(path, "-") == 0 ? stdout : file_stream(path, true);
    if (out == NULL) {
        print_error("--svg %s: %s", path, strerror(errno));
        return false;
    }
    lanes_find(&picture.lanes, watch);
    choose_runs(&picture);
    put_picture(&picture, out);
    lanes_free(&picture.lanes);
    free(picture.kernels.items);
    bool written = fflush(out) == 0 && ferror(out) == 0;
    if (out != stdout) {
        written = fclose(out) == 0 && written;
    }
    if (!written) {
        print_error("--svg %s: %s", path, strerror(errno));
    }
    return written;
}
