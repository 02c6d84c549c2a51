/* SPDX-License-Identifier: MIT */
/* What pdltool reads and makes of recordings. The input is a file; and it is made records of a sound file, so that what
 * joins and judges them is reached. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "make_recording.h"
#include "watch/model.h"

enum { MOST_TAIL = 64 };

/* Members of each kind of record, without what follows them. */
static const size_t sizes[] = {
    [PDL_WATCH_NAME] = sizeof(struct pdl_watch_name),
    [PDL_WATCH_DEVICE] = sizeof(struct pdl_watch_device),
    [PDL_WATCH_FUNCTION] = sizeof(struct pdl_watch_function),
    [PDL_WATCH_IMAGE] = sizeof(struct pdl_watch_image),
    [PDL_WATCH_LAUNCH] = sizeof(struct pdl_watch_launch),
    [PDL_WATCH_OPERATION] = sizeof(struct pdl_watch_operation),
    [PDL_WATCH_EXECUTION] = sizeof(struct pdl_watch_execution),
    [PDL_WATCH_TRANSFER] = sizeof(struct pdl_watch_transfer),
    [PDL_WATCH_GRAPH] = sizeof(struct pdl_watch_graph),
    [PDL_WATCH_NODE] = sizeof(struct pdl_watch_node),
    [PDL_WATCH_EDGE] = sizeof(struct pdl_watch_edge),
    [PDL_WATCH_CLONE] = sizeof(struct pdl_watch_clone),
    [PDL_WATCH_NOTE] = sizeof(struct pdl_watch_text),
    [PDL_WATCH_INSTRUMENTED] = sizeof(struct pdl_watch_instrumented),
};

static void expect_index(uint32_t index, size_t count)
{
    fuzz_expect(index == WATCH_NONE || index < count);
}

static size_t look_at_runs(const struct watch *watch)
{
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        expect_index(run->kernel, watch->kernels.count);
        expect_index(run->launch, watch->launches.count);
        expect_index(run->before, watch->runs.count);
        expect_index(run->pair, watch->pairs.count);
        expect_index(run->track, watch->tracks.count);
        expect_index(run->device, watch->devices.count);
        fuzz_expect(run->process < watch->processes.count && run->reason < WATCH_REASON_COUNT);
        fuzz_expect(run->start_ns <= run->end_ns);
        fuzz_expect(i == 0 || watch->runs.items[i - 1].start_ns <= run->start_ns);
    }
    for (size_t i = 0; i < watch->launches.count; i++) {
        const struct watch_launch *const launch = &watch->launches.items[i];
        expect_index(launch->kernel, watch->kernels.count);
        expect_index(launch->run, watch->runs.count);
        fuzz_expect(launch->process < watch->processes.count);
    }
    return watch->runs.count + watch->launches.count;
}

static size_t look_at_texts(const struct watch *watch)
{
    size_t length = 0;
    for (size_t i = 0; i < watch->kernels.count; i++) {
        const struct watch_kernel *const kernel = &watch->kernels.items[i];
        length += fuzz_read(kernel->name) + fuzz_read(kernel->shown) + fuzz_read(kernel->finding);
        length += fuzz_read(kernel->why_unknown);
        length +=
            fuzz_read(watch_race_text(kernel->race)) + fuzz_read(watch_race_word(kernel->race));
        fuzz_expect(kernel->overlapped <= kernel->launches);
    }
    for (size_t i = 0; i < watch->pairs.count; i++) {
        const struct watch_pair *const pair = &watch->pairs.items[i];
        expect_index(pair->first, watch->kernels.count);
        expect_index(pair->second, watch->kernels.count);
        expect_index(pair->example, watch->runs.count);
        fuzz_expect(pair->reason < WATCH_REASON_COUNT && pair->overlapped <= pair->count);
        length += fuzz_read(pair->detail) + fuzz_read(watch_reason_text(pair->reason)) +
                  fuzz_read(watch_reason_word(pair->reason));
    }
    for (size_t i = 0; i < watch->tracks.count; i++) {
        length += fuzz_read(watch->tracks.items[i].name);
    }
    for (size_t i = 0; i < watch->notes.count; i++) {
        length += fuzz_read(watch->notes.items[i]);
    }
    for (size_t i = 0; i < watch->devices.count; i++) {
        length += fuzz_read(watch->devices.items[i].name);
    }
    for (size_t i = 0; i < watch->processes.count; i++) {
        length += fuzz_read(watch->processes.items[i].command);
    }
    return length;
}

static void read_file(const unsigned char *bytes, size_t size, const struct watch_window *window)
{
    struct watch watch;
    char path[32];
    const char *const paths[] = {path};
    const int file = memfd_create("recording", MFD_CLOEXEC);
    fuzz_expect(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    if (watch_read(&watch, paths, 1)) {
        watch_join(&watch, window);
        watch_look_at_code(&watch);
        watch_judge_pairs(&watch);
        fuzz_expect(look_at_runs(&watch) + look_at_texts(&watch) < SIZE_MAX);
        fuzz_expect(watch.sums.overlapped <= watch.sums.launches);
    }
    watch_free(&watch);
    (void)close(file);
}

/* Records, each a byte for its kind, one for the length of what follows it, and its members. */
static void read_records(const uint8_t *data, size_t size)
{
    struct recording recording;
    unsigned char room[sizeof(struct pdl_watch_launch) + sizeof(struct pdl_watch_device)];
    size_t at = 1;
    recording_begin(&recording);
    while (at + 2 <= size) {
        const unsigned kind = data[at] % (sizeof(sizes) / sizeof(sizes[0]));
        const size_t head = sizes[kind] > 0 ? sizes[kind] - sizeof(struct pdl_watch_record) : 0;
        const size_t tail = data[at + 1] % MOST_TAIL;
        at += 2;
        if (sizes[kind] == 0 || head + tail > size - at) {
            continue;
        }
        memset(room, 0, sizeof(room));
        memcpy(room + sizeof(struct pdl_watch_record), data + at, head);
        (void)recording_add(&recording, (enum pdl_watch_kind)kind, room, sizes[kind],
                            data + at + head, tail);
        at += head + tail;
    }
    static const char *const globs[] = {"f*"};
    const struct watch_window window = {.kernels = globs, .kernel_count = data[0] & 1};
    read_file(recording.bytes, recording.size, &window);
    recording_free(&recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct watch_window all;
    read_file(data, size, &all);
    if (size > 0) {
        read_records(data, size);
    }
    return 0;
}
