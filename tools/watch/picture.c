/* SPDX-License-Identifier: MIT */
/* A window of the runs as a picture: a track a stream, a colour a kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"
#include "trace/picture.h"
#include "watch/brief.h"
#include "watch/lanes.h"
#include "watch/model.h"

enum { RUNS_MOST = 200, NAME_MOST = 54 /* characters, in the legend */ };

#define TRANSFER "copy or memset"

/* What is drawn. */
struct window {
    const struct watch *watch;
    size_t runs[RUNS_MOST]; /* indices */
    size_t count;
    size_t all; /* runs in the window */
    uint64_t start_ns, end_ns;
    uint32_t kernels[RUNS_MOST]; /* in the order of their colours */
    char *names[RUNS_MOST];
    uint32_t kernel_count;
};

/* A run to begin near: of the pair that could save most, or in the middle. */
static size_t point_of_interest(const struct watch *watch)
{
    return watch->pairs.count > 0 && watch->pairs.items[0].saving_ns > 0 &&
                   watch->pairs.items[0].example < watch->runs.count
               ? watch->pairs.items[0].example
               : watch->runs.count / 2;
}

/* The runs in the window around that one, of its process. */
static void choose_runs(struct window *window)
{
    const struct watch *const watch = window->watch;
    const size_t point = point_of_interest(watch);
    size_t before = 0;
    for (size_t i = 0; i < watch->runs.count; i++) {
        window->all += watch->runs.items[i].in_window;
        before += i < point && watch->runs.items[i].in_window;
    }
    size_t skip = before > RUNS_MOST / 2 ? before - RUNS_MOST / 2 : 0;
    if (window->all > RUNS_MOST && skip > window->all - RUNS_MOST) {
        skip = window->all - RUNS_MOST;
    }
    skip = window->all <= RUNS_MOST ? 0 : skip;
    window->start_ns = UINT64_MAX;
    for (size_t i = 0; i < watch->runs.count && window->count < RUNS_MOST; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        if (!run->in_window || skip > 0) {
            skip -= run->in_window;
            continue;
        }
        window->runs[window->count++] = i;
        window->start_ns = run->start_ns < window->start_ns ? run->start_ns : window->start_ns;
        window->end_ns = run->end_ns > window->end_ns ? run->end_ns : window->end_ns;
    }
    if (window->count == 0) {
        window->start_ns = 0;
    }
    if (window->end_ns <= window->start_ns) {
        window->end_ns = window->start_ns + 1;
    }
}

/* NULL: a copy or memset. */
static const char *name_of(const struct watch *watch, uint32_t kernel)
{
    return kernel < watch->kernels.count ? watch->kernels.items[kernel].shown : NULL;
}

/* The index of a kernel's name and colour. */
static uint32_t kernel_of(struct window *window, uint32_t kernel)
{
    const char *const name = name_of(window->watch, kernel);
    uint32_t i = 0;
    while (i < window->kernel_count && window->kernels[i] != kernel) {
        i++;
    }
    if (i == window->kernel_count) {
        window->kernels[i] = kernel;
        window->names[i] = name != NULL ? brief_name(name, NAME_MOST) : copy_text(TRANSFER);
        window->kernel_count++;
    }
    return i;
}

/* "scale(float*), 5.00 µs: it overlapped" */
static char *describe_run(const struct watch *watch, const struct watch_run *run)
{
    const char *const name = name_of(watch, run->kernel);
    char *const takes = brief_time(run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0);
    char *const title = name == NULL
                            ? format_text("%s, %s", TRANSFER, takes)
                            : format_text("%.300s, %s: %s", name, takes,
                                          watch_reason_text((enum watch_reason)run->reason));
    free(takes);
    return title;
}

static struct pdl_picture_bar bar_of(struct window *window, const struct lanes *lanes, size_t index)
{
    const struct watch_run *const run = &window->watch->runs.items[index];
    const int64_t start = (int64_t)(run->start_ns - window->start_ns);
    const int64_t end = (int64_t)(run->end_ns - window->start_ns);
    return (struct pdl_picture_bar){
        .track = run->track,
        .kernel = kernel_of(window, run->kernel),
        .lane = lanes->lane_of_run[index],
        .times = {.start_ns = start,
                  .wait_ns = PDL_TIMELINE_NONE,
                  .waited_ns = PDL_TIMELINE_NONE,
                  .triggered_ns = PDL_TIMELINE_NONE,
                  .end_ns = end > start ? end : start},
    };
}

/* ---- its words -------------------------------------------------------------------------------- */

static void describe_track(const struct window *window, uint32_t index,
                           struct pdl_picture_track *track)
{
    size_t runs = 0;
    size_t overlapped = 0;
    for (size_t i = 0; i < window->count; i++) {
        const struct watch_run *const run = &window->watch->runs.items[window->runs[i]];
        runs += run->track == index;
        overlapped +=
            run->track == index && run->kernel != WATCH_NONE && run->reason == WATCH_OVERLAPPED;
    }
    char *const counts = format_count(runs, "run", "runs");
    char *const overlaps = format_count(overlapped, "", "");
    (void)snprintf(track->summary, sizeof(track->summary), "%s, %s overlapped the kernel before",
                   counts, overlaps);
    track->name = window->watch->tracks.items[index].name;
    free(overlaps);
    free(counts);
}

static char *describe_window(const struct window *window)
{
    char *const runs = format_count(window->all, "run", "runs");
    char *const note = window->count == 0
                           ? copy_text("Nothing has run, or there are no device times.")
                       : window->all > window->count
                           ? format_text("%zu of %s, around those whose overlap could save most.",
                                         window->count, runs)
                           : format_text("%s, all that there are.", runs);
    free(runs);
    return note;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static void put_picture(struct window *window, FILE *out)
{
    const struct watch *const watch = window->watch;
    struct lanes lanes;
    char *titles[RUNS_MOST] = {NULL};
    struct pdl_picture_bar *const bars = allocate(window->count, sizeof(*bars));
    struct pdl_picture_track *const tracks = allocate(watch->tracks.count, sizeof(*tracks));
    char *const note = describe_window(window);
    lanes_find(&lanes, watch);
    for (size_t i = 0; i < window->count; i++) {
        bars[i] = bar_of(window, &lanes, window->runs[i]);
        titles[i] = describe_run(watch, &watch->runs.items[window->runs[i]]);
        bars[i].title = titles[i];
    }
    for (uint32_t i = 0; i < watch->tracks.count; i++) {
        describe_track(window, i, &tracks[i]);
    }
    const struct pdl_picture picture = {.notes = (const char *const[]){note},
                                        .note_count = 1,
                                        .kernels = window->names,
                                        .kernel_count = window->kernel_count,
                                        .tracks = tracks,
                                        .track_count = (uint32_t)watch->tracks.count,
                                        .bars = bars,
                                        .bar_count = window->count,
                                        .end_ns = (int64_t)(window->end_ns - window->start_ns)};
    pdl_picture_write(&picture, out);
    for (size_t i = 0; i < RUNS_MOST; i++) {
        free(titles[i]);
    }
    for (uint32_t i = 0; i < window->kernel_count; i++) {
        free(window->names[i]);
    }
    lanes_free(&lanes);
    free(note);
    free(tracks);
    free(bars);
}

bool watch_write_picture(const struct watch *watch, const char *path)
{
    struct window window = {.watch = watch};
    FILE *const out = strcmp(path, "-") == 0 ? stdout : file_stream(path, true);
    if (out == NULL) {
        print_error("--svg %s: %s", path, strerror(errno));
        return false;
    }
    choose_runs(&window);
    put_picture(&window, out);
    bool written = fflush(out) == 0 && ferror(out) == 0;
    if (out != stdout) {
        written = fclose(out) == 0 && written;
    }
    if (!written) {
        print_error("--svg %s: %s", path, strerror(errno));
    }
    return written;
}
