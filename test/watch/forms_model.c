/* SPDX-License-Identifier: MIT */
/* pdltool watch without what reads recordings: the name of the recording says which model the forms get. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/memory.h"
#include "common/print.h"
#include "watch/model.h"

static const char *model;

static struct watch_kernel *add_kernel(struct watch *watch, const char *name, const char *shown)
{
    const struct watch_kernel kernel = {.name = name,
                                        .shown = shown,
                                        .registers = 32,
                                        .static_shared = 1024,
                                        .ptx_version = 90,
                                        .binary_version = 90,
                                        .waits = PDL_YES,
                                        .triggers = PDL_NO,
                                        .shown_to_wait = PDL_YES};
    APPEND(&watch->kernels, kernel);
    return &watch->kernels.items[watch->kernels.count - 1];
}

/* A run of 5 µs that begins `gap` after the one before has ended. */
static void add_run(struct watch *watch, uint32_t kernel, int64_t gap, enum watch_reason reason)
{
    const size_t index = watch->runs.count;
    const uint64_t before = index > 0 ? watch->runs.items[index - 1].end_ns : 1000000;
    const uint64_t start = (uint64_t)((int64_t)before + gap);
    const struct watch_run run = {.start_ns = start,
                                  .end_ns = start + 5000,
                                  .kernel = kernel,
                                  .launch = kernel == WATCH_NONE ? WATCH_NONE
                                                                 : (uint32_t)watch->launches.count,
                                  .before = index > 0 ? (uint32_t)index - 1 : WATCH_NONE,
                                  .pair = WATCH_NONE,
                                  .grid = {132, 1, 1},
                                  .block = {256, 1, 1},
                                  .registers = 32,
                                  .flags = PDL_WATCH_OVERLAP | PDL_WATCH_ASKED,
                                  .reason = (uint8_t)reason,
                                  .in_window = true};
    APPEND(&watch->runs, run);
    if (kernel == WATCH_NONE) {
        return;
    }
    const struct watch_launch launch = {.begin_ns = start - 20000,
                                        .end_ns = start - 18000,
                                        .stream = 7,
                                        .kernel = kernel,
                                        .number = (uint32_t)watch->launches.count + 1,
                                        .nth = 1,
                                        .thread = 4242,
                                        .grid = {132, 1, 1},
                                        .block = {256, 1, 1},
                                        .run = (uint32_t)index};
    APPEND(&watch->launches, launch);
}

static void add_process(struct watch *watch, const char *path, uint32_t id)
{
    const struct watch_process process = {.path = path,
                                          .command = "./program --fast",
                                          .id = id,
                                          .parent = 1,
                                          .cupti_version = 130000,
                                          .driver_version = 13000,
                                          .ended = true};
    APPEND(&watch->processes, process);
}

static void add_track(struct watch *watch, const char *name)
{
    const struct watch_track track = {.name = name, .stream = 7};
    APPEND(&watch->tracks, track);
}

#define ELEMENTWISE                                                                                \
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "           \
    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"

/* Two kernels that alternate 600 times in a stream, of which one overlaps. */
static void make_chain(struct watch *watch)
{
    struct watch_kernel *kernel = add_kernel(watch, "_Z5scalePf", "scale(float*)");
    *kernel = (struct watch_kernel){.name = kernel->name,
                                    .shown = kernel->shown,
                                    .registers = 32,
                                    .static_shared = 1024,
                                    .ptx_version = 90,
                                    .binary_version = 90,
                                    .waits = PDL_YES,
                                    .triggers = PDL_YES,
                                    .launches = 12345,
                                    .asked = 12345,
                                    .granted = 12345,
                                    .overlapped = 12340,
                                    .time_ns = 61725000,
                                    .overlap_ns = 24680000};
    kernel->reasons[WATCH_OVERLAPPED] = 12340;
    kernel->reasons[WATCH_HOST_LATE] = 5;
    kernel = add_kernel(watch, "_ZN2at6nativeE", ELEMENTWISE);
    kernel->launches = 600;
    kernel->time_ns = 3000000;
    kernel->reasons[WATCH_NOT_ASKED] = 599;
    kernel->reasons[WATCH_FIRST] = 1;
    add_track(watch, "stream 7");
    add_track(watch, "stream 8");
    for (uint32_t i = 0; i < 600; i++) {
        add_run(watch, i % 2, i % 2 == 0 ? -2000 : 1000,
                i == 0       ? WATCH_FIRST
                : i % 2 == 0 ? WATCH_OVERLAPPED
                             : WATCH_NOT_ASKED);
    }
    add_run(watch, WATCH_NONE, 500, WATCH_FIRST);
    const struct watch_pair pair = {.first = 0,
                                    .second = 1,
                                    .count = 600,
                                    .gap_ns = 600000,
                                    .saving_ns = 1500000,
                                    .reason = WATCH_NOT_ASKED,
                                    .detail = "it has 132 blocks of 256 threads",
                                    .example = 301};
    APPEND(&watch->pairs, pair);
    const struct watch_pair other = {.first = 1,
                                     .second = WATCH_NONE,
                                     .in_graph = true,
                                     .count = 300,
                                     .overlapped = 300,
                                     .overlap_ns = 600000,
                                     .reason = WATCH_OVERLAPPED,
                                     .example = 2};
    APPEND(&watch->pairs, other);
    const struct watch_device device = {
        .context = 1, .capability = 90, .sms = 132, .name = "NVIDIA H200"};
    APPEND(&watch->devices, device);
    watch->sums.launches = 12945;
    watch->sums.asked = watch->sums.granted = 12345;
    watch->sums.overlapped = 12340;
    watch->sums.graph_runs = 300;
    watch->sums.kernel_ns = 64725000;
    watch->sums.busy_ns = 40045000;
    watch->sums.saved_ns = 24680000;
    watch->sums.saving_ns = 1500000;
    watch->has_times = true;
}

static void make_races(struct watch *watch)
{
    static const enum watch_race races[] = {WATCH_RACE_NO_WAIT, WATCH_RACE_SOME_PATHS,
                                            WATCH_RACE_UNKNOWN};
    static const char *const names[] = {"broken(float*)", "hasty(float*)", "opaque(float*)"};
    for (size_t i = 0; i < 3; i++) {
        struct watch_kernel *const kernel = add_kernel(watch, names[i], names[i]);
        kernel->race = races[i];
        kernel->launches = kernel->asked = kernel->granted = 40;
        kernel->overlapped = 39;
        kernel->finding = i == 1 ? "kernel.cu:12: a store before the wait" : NULL;
        kernel->why_unknown = i == 2 ? "it calls through a pointer" : NULL;
    }
    watch->sums.launches = watch->sums.asked = watch->sums.granted = 120;
    watch->sums.overlapped = 117;
    watch->sums.races = 2;
    watch->sums.added = 40;
    watch->sums.removed = 1;
    watch->sums.not_proved = 1000;
    watch->has_times = true;
}

/* Kernels that were instrumented, and launches that were given overlap. */
static void make_gains(struct watch *watch)
{
    static const char *const names[] = {"first(float*)", "second(float*)", "third(float*)",
                                        "fourth(float*)"};
    static const uint32_t instrumented[] = {PDL_WATCH_INSTRUMENTED_DONE,
                                            PDL_WATCH_INSTRUMENTED_REFUSED, 0,
                                            PDL_WATCH_INSTRUMENTED_WAITS};
    for (size_t i = 0; i < 4; i++) {
        struct watch_kernel *const kernel = add_kernel(watch, names[i], names[i]);
        kernel->launches = 5000;
        kernel->instrumented = instrumented[i];
    }
    watch->kernels.items[0].added = 12288;
    watch->kernels.items[0].added_overlapped = 12100;
    watch->kernels.items[1].why_not_instrumented = "it uses the barrier of the grid";
    watch->sums.launches = 20000;
    watch->sums.overlapped = watch->sums.added_overlapped = 12100;
    watch->sums.added = watch->sums.granted = 12288;
    watch->sums.saved_ns = 5400000;
    watch->sums.added_close = 100;
    watch->sums.added_saved_ns = 12400000;
    watch->sums.busy_ns = 24500000;
    watch->sums.not_proved = 1000;
    watch->sums.no_trigger = 1204;
    watch->sums.late = 5000;
    watch->sums.late_interval_ns = 15200;
    watch->sums.late_kernel_ns = 3100;
    watch->sums.instrumented = 1;
    watch->instruments = watch->has_times = true;
}

static void make_unknown(struct watch *watch)
{
    make_races(watch);
    watch->sums.races = 0;
    watch->sums.overlapped = 0;
    watch->kernels.items[0].race = watch->kernels.items[1].race = WATCH_RACE_NONE;
}

static void make_without_times(struct watch *watch)
{
    const char *const note = "libcupti.so was not found";
    add_kernel(watch, "_Z5scalePf", "scale(float*)")->launches = 3;
    watch->sums.launches = 3;
    watch->sums.asked = 1;
    APPEND(&watch->notes, note);
    watch->processes.items[0].ended = false;
    watch->processes.items[0].damaged = true;
    watch->processes.items[0].lost = 1234;
    watch->processes.items[0].lost_device = 1;
}

static void make_without_code(struct watch *watch)
{
    make_races(watch);
    watch->sums.races = 0;
    watch->kernels.items[0].race = watch->kernels.items[1].race = WATCH_RACE_NONE;
    watch->kernels.items[2].no_code = true;
}

static void make_race_and_lost(struct watch *watch)
{
    make_races(watch);
    watch->processes.items[0].lost = 1;
}

/* A launch of a kernel that is not chosen. */
static void make_outside(struct watch *watch)
{
    add_kernel(watch, "_Z5scalePf", "scale(float*)");
    add_run(watch, 0, 0, WATCH_FIRST);
    watch->runs.items[0].in_window = false;
    watch->has_times = true;
}

/* As --no-cupti leaves it. */
static void make_without_cupti(struct watch *watch)
{
    watch->processes.items[0].cupti_version = 0;
}

static void make_missing_cupti(struct watch *watch)
{
    const char *const note = "libcupti.so was not found";
    make_without_cupti(watch);
    APPEND(&watch->notes, note);
}

/* What would steer a terminal, break XML or JSON, or a table. */
static void make_hostile(struct watch *watch)
{
    static const char text[] = "\033[2J</text><script>\"\\\n\xff\xe2\x80\xae";
    make_chain(watch);
    for (size_t i = 0; i < watch->kernels.count; i++) {
        watch->kernels.items[i].name = watch->kernels.items[i].shown = text;
        watch->kernels.items[i].finding = text;
        watch->kernels.items[i].race = WATCH_RACE_NO_WAIT;
    }
    const char *const note = text;
    APPEND(&watch->notes, note);
    watch->tracks.items[0].name = watch->pairs.items[0].detail = text;
    watch->processes.items[0].command = watch->devices.items[0].name = text;
    watch->runs.items[3].end_ns = 0; /* ends before it starts */
    watch->runs.items[5].track = 77; /* of no track */
    watch->runs.items[7].launch = 4000000;
}

static void make_many(struct watch *watch)
{
    static char names[40][24];
    for (unsigned i = 0; i < 40; i++) {
        char *const name = names[i];
        (void)snprintf(name, sizeof(names[i]), "kernel%u(int)", i);
        struct watch_kernel *const kernel = add_kernel(watch, name, name);
        kernel->launches = 1000 - i;
        kernel->time_ns = 1000000 - i;
        const struct watch_pair pair = {
            .first = i, .second = i, .count = 1, .reason = WATCH_UNKNOWN};
        APPEND(&watch->pairs, pair);
    }
    watch->sums.launches = 40;
    watch->has_times = true;
}

static const struct {
    const char *name;
    void (*make)(struct watch *watch);
} models[] = {{"chain", make_chain},
              {"races", make_races},
              {"unknown", make_unknown},
              {"no-times", make_without_times},
              {"hostile", make_hostile},
              {"many", make_many},
              {"gains", make_gains},
              {"no-code", make_without_code},
              {"outside", make_outside},
              {"race-and-lost", make_race_and_lost},
              {"without-cupti", make_without_cupti},
              {"no-cupti", make_missing_cupti}};

bool watch_read(struct watch *watch, const char *const *paths, size_t count)
{
    const char *const wanted = getenv("FORMS_MODEL"); /* of a program that ran */
    for (size_t i = 0; i < count; i++) {
        const char *const slash = strrchr(paths[i], '/');
        model = wanted != NULL ? wanted : slash != NULL ? slash + 1 : paths[i];
        if (strcmp(model, "unreadable") == 0) {
            (void)fputs("unreadable: is no recording\n", stderr);
            return false;
        }
        add_process(watch, paths[i], 1000 + (uint32_t)i);
    }
    return true;
}

void watch_join(struct watch *watch, const struct watch_window *window)
{
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        if (strcmp(model, models[i].name) == 0) {
            models[i].make(watch);
        }
    }
    if (getenv("FORMS_WINDOW") != NULL) {
        (void)fprintf(stderr, "kernels %zu\n", window->kernel_count);
    }
}

void watch_look_at_code(struct watch *watch)
{
    (void)watch;
}

void watch_judge_pairs(struct watch *watch)
{
    (void)watch;
}

void watch_free(struct watch *watch)
{
    free(watch->processes.items);
    free(watch->kernels.items);
    free(watch->launches.items);
    free(watch->runs.items);
    free(watch->pairs.items);
    free(watch->devices.items);
    free(watch->tracks.items);
    free((void *)watch->notes.items);
}

int main(int argc, char **argv)
{
    print_as("watch");
    return argc > 1 ? command_watch(argc - 1, argv + 1) : EXIT_USAGE;
}
