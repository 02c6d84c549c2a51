/* SPDX-License-Identifier: MIT */
/* The runs in the Trace Event Format, as Perfetto and chrome://tracing read it: for each process its threads with the
 * calls that launch, and a device with a track a stream. Runs that overlap are on lanes of their track, since the
 * format nests what is on one.
 *
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/memory.h"
#include "common/print.h"
#include "trace/text.h"
#include "watch/lanes.h"
#include "watch/model.h"

struct trace {
    const struct watch *watch;
    FILE *out;
    bool first;
    uint64_t zero_ns;
    struct lanes lanes;
};

/* Microseconds; three digits after the point keep the nanoseconds. */
static void put_ns(const struct trace *trace, const char *key, uint64_t ns)
{
    (void)fprintf(trace->out, ",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000),
                  (unsigned)(ns % 1000));
}

static void put_time(const struct trace *trace, uint64_t time_ns)
{
    put_ns(trace, "ts", time_ns > trace->zero_ns ? time_ns - trace->zero_ns : 0);
}

static void put_span(const struct trace *trace, uint64_t start_ns, uint64_t end_ns)
{
    put_time(trace, start_ns);
    put_ns(trace, "dur", end_ns > start_ns ? end_ns - start_ns : 0);
}

/* Processes of the trace: a process's host side and its devices. */
static uint32_t host_of(uint32_t process)
{
    return 2 * process + 1;
}

static uint32_t device_of(uint32_t process)
{
    return 2 * process + 2;
}

static uint64_t thread_of(const struct trace *trace, size_t run)
{
    return 1 + (uint64_t)trace->watch->runs.items[run].track * LANES_MOST +
           trace->lanes.lane_of_run[run];
}

static void open_event(struct trace *trace, const char *phase, uint32_t process, uint64_t thread)
{
    (void)fprintf(trace->out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%llu", trace->first ? "" : ",\n",
                  phase, (unsigned)process, (unsigned long long)thread);
    trace->first = false;
}

static void put_name(const struct trace *trace, const char *name)
{
    (void)fputs(",\"name\":", trace->out);
    pdl_text_put_json(trace->out, name);
}

/* ---- names ------------------------------------------------------------------------------------ */

static void put_label(struct trace *trace, const char *what, uint32_t process, uint64_t thread,
                      const char *label)
{
    open_event(trace, "M", process, thread);
    put_name(trace, what);
    (void)fputs(",\"args\":{\"name\":", trace->out);
    pdl_text_put_json(trace->out, label);
    (void)fputs("}}", trace->out);
}

static void put_processes(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->watch->processes.count; i++) {
        const struct watch_process *const process = &trace->watch->processes.items[i];
        char *const host = format_text("process %u: %s", process->id, process->command);
        char *const device = format_text("device, process %u", process->id);
        put_label(trace, "process_name", host_of(i), 0, host);
        put_label(trace, "process_name", device_of(i), 0, device);
        free(device);
        free(host);
    }
}

static void put_tracks(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->watch->tracks.count; i++) {
        const struct watch_track *const track = &trace->watch->tracks.items[i];
        for (uint32_t lane = 0; lane < trace->lanes.lanes_of_track[i]; lane++) {
            const uint64_t thread = 1 + (uint64_t)i * LANES_MOST + lane;
            char *const name =
                lane == 0 ? copy_text(track->name) : format_text("%s, overlapping", track->name);
            put_label(trace, "thread_name", device_of(track->process), thread, name);
            open_event(trace, "M", device_of(track->process), thread);
            (void)fprintf(trace->out,
                          ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%llu}}",
                          (unsigned long long)thread);
            free(name);
        }
    }
}

/* ---- slices ----------------------------------------------------------------------------------- */

static const char *run_name(const struct trace *trace, const struct watch_run *run)
{
    return run->kernel < trace->watch->kernels.count
               ? trace->watch->kernels.items[run->kernel].shown
           : run->is_set ? "memset"
                         : "copy";
}

static void put_sizes(const struct trace *trace, const uint32_t grid[3], const uint16_t block[3],
                      uint32_t dynamic_shared)
{
    (void)fprintf(trace->out, "\"grid\":\"%ux%ux%u\",\"block\":\"%ux%ux%u\"", (unsigned)grid[0],
                  (unsigned)grid[1], (unsigned)grid[2], block[0], block[1], block[2]);
    (void)fprintf(trace->out, ",\"dynamic_shared_memory\":%u", (unsigned)dynamic_shared);
}

static void put_run(struct trace *trace, size_t index)
{
    const struct watch_run *const run = &trace->watch->runs.items[index];
    open_event(trace, "X", device_of(run->process), thread_of(trace, index));
    (void)fprintf(trace->out, ",\"cat\":\"%s\"", run->kernel == WATCH_NONE ? "transfer" : "kernel");
    put_name(trace, run_name(trace, run));
    put_span(trace, run->start_ns, run->end_ns);
    if (run->kernel == WATCH_NONE) {
        (void)fputc('}', trace->out);
        return;
    }
    (void)fputs(",\"args\":{", trace->out);
    put_sizes(trace, run->grid, run->block, run->dynamic_shared);
    (void)fprintf(trace->out,
                  ",\"registers\":%u,\"static_shared_memory\":%u,\"asked_for_overlap\":%s",
                  run->registers, (unsigned)run->static_shared,
                  (run->flags & PDL_WATCH_OVERLAP) != 0 ? "true" : "false");
    (void)fprintf(trace->out, ",\"in_graph\":%s,\"overlap\":\"%s\"}}",
                  run->in_graph ? "true" : "false",
                  watch_reason_word((enum watch_reason)run->reason));
}

static void put_launch(struct trace *trace, const struct watch_launch *launch)
{
    open_event(trace, "X", host_of(launch->process), launch->thread);
    (void)fputs(",\"cat\":\"launch\"", trace->out);
    put_name(trace, launch->kernel < trace->watch->kernels.count
                        ? trace->watch->kernels.items[launch->kernel].shown
                        : "launch");
    put_span(trace, launch->begin_ns, launch->end_ns);
    (void)fputs(",\"args\":{", trace->out);
    put_sizes(trace, launch->grid, launch->block, launch->dynamic_shared);
    (void)fprintf(trace->out, ",\"number\":%u,\"nth\":%u,\"stream\":\"0x%llx\",\"result\":%d}}",
                  (unsigned)launch->number, (unsigned)launch->nth,
                  (unsigned long long)launch->stream, launch->result);
}

/* An arrow from the call to what it ran. */
static void put_arrow(struct trace *trace, size_t run_index)
{
    const struct watch_run *const run = &trace->watch->runs.items[run_index];
    if (run->in_graph || run->launch >= trace->watch->launches.count) {
        return;
    }
    const struct watch_launch *const launch = &trace->watch->launches.items[run->launch];
    open_event(trace, "s", host_of(launch->process), launch->thread);
    (void)fprintf(trace->out, ",\"cat\":\"launch\",\"name\":\"runs\",\"id\":%zu", run_index);
    put_time(trace, launch->begin_ns);
    (void)fputc('}', trace->out);
    open_event(trace, "f", device_of(run->process), thread_of(trace, run_index));
    (void)fprintf(trace->out, ",\"cat\":\"launch\",\"name\":\"runs\",\"bp\":\"e\",\"id\":%zu",
                  run_index);
    put_time(trace, run->start_ns);
    (void)fputc('}', trace->out);
}

/* ---- all of it -------------------------------------------------------------------------------- */

static uint64_t first_time(const struct watch *watch)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < watch->runs.count; i++) {
        const struct watch_run *const run = &watch->runs.items[i];
        first = run->in_window && run->start_ns < first ? run->start_ns : first;
        if (run->in_window && !run->in_graph && run->launch < watch->launches.count) {
            const uint64_t begin = watch->launches.items[run->launch].begin_ns;
            first = begin < first ? begin : first;
        }
    }
    for (size_t i = 0; first == UINT64_MAX && i < watch->launches.count; i++) {
        first = watch->launches.items[i].begin_ns;
    }
    return first != UINT64_MAX ? first : 0;
}

static bool is_launch_shown(const struct watch *watch, const struct watch_launch *launch)
{
    return launch->run >= watch->runs.count || watch->runs.items[launch->run].in_window;
}

static void put_events(struct trace *trace)
{
    const struct watch *const watch = trace->watch;
    put_processes(trace);
    put_tracks(trace);
    for (size_t i = 0; i < watch->launches.count; i++) {
        if (is_launch_shown(watch, &watch->launches.items[i])) {
            put_launch(trace, &watch->launches.items[i]);
        }
    }
    for (size_t i = 0; i < watch->runs.count; i++) {
        if (watch->runs.items[i].in_window) {
            put_run(trace, i);
            put_arrow(trace, i);
        }
    }
}

bool watch_write_trace(const struct watch *watch, const char *path)
{
    struct trace trace = {.watch = watch, .first = true, .zero_ns = first_time(watch)};
    trace.out = strcmp(path, "-") == 0 ? stdout : file_stream(path, true);
    if (trace.out == NULL) {
        print_error("--trace %s: %s", path, strerror(errno));
        return false;
    }
    lanes_find(&trace.lanes, watch);
    (void)fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", trace.out);
    put_events(&trace);
    (void)fprintf(trace.out, "],\n\"otherData\":{\"producer\":\"pdltool watch, libpdl %d.%d.%d\"",
                  PDL_VERSION_MAJOR, PDL_VERSION_MINOR, PDL_VERSION_PATCH);
    for (size_t i = 0; i < watch->notes.count; i++) {
        (void)fprintf(trace.out, ",\"note_%zu\":", i + 1);
        pdl_text_put_json(trace.out, watch->notes.items[i]);
    }
    (void)fputs("}}\n", trace.out);
    lanes_free(&trace.lanes);
    bool written = fflush(trace.out) == 0 && ferror(trace.out) == 0;
    if (trace.out != stdout) {
        written = fclose(trace.out) == 0 && written;
    }
    if (!written) {
        print_error("--trace %s: %s", path, strerror(errno));
    }
    return written;
}
