/* SPDX-License-Identifier: MIT */
/* A timeline in the Trace Event Format: a process per track, a thread per lane of the launches and of each SM.
 *
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#include <stdlib.h>

#include "trace/timeline_forms.h"

struct trace {
    const struct pdl_timeline *timeline;
    FILE *out;
    bool blocks; /* that are being written, or launches */
    bool first;
};

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Times are microseconds there; three digits after the point keep the nanoseconds. */
static void put_time(FILE *out, const char *key, int64_t time_ns)
{
    char us[PDL_MICROSECONDS];
    (void)fprintf(out, ",\"%s\":%s", key, pdl_microseconds(time_ns, 3, us));
}

static void put_stamp(FILE *out, const char *key, int64_t time_ns)
{
    if (time_ns != PDL_TIMELINE_NONE) {
        (void)fprintf(out, ",\"%s\":%lld", key, (long long)time_ns);
    }
}

static void open_event(struct trace *trace, const char *phase, uint32_t track, uint64_t thread)
{
    (void)fprintf(trace->out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%llu", trace->first ? "" : ",\n",
                  phase, (unsigned)track + 1, (unsigned long long)thread);
    trace->first = false;
}

/* Threads of a process: the lanes of launches, then those of SMs. */
static uint64_t thread_of(const struct trace *trace, const struct pdl_timeline_slot *slot)
{
    const uint64_t place = trace->blocks ? (uint64_t)slot->times.sm + 1 : 0;
    return 1 + place * PDL_LANES_MOST + slot->lane;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void put_process(struct trace *trace, uint32_t track)
{
    const char *name = trace->timeline->tracks.names[track];
    open_event(trace, "M", track, 0);
    (void)fputs(",\"name\":\"process_name\",\"args\":{\"name\":", trace->out);
    pdl_text_put_json(trace->out, name[0] != '\0' ? name : "kernels");
    (void)fputs("}}", trace->out);
}

static void put_thread(struct trace *trace, const struct pdl_timeline_slot *slot)
{
    const uint64_t thread = thread_of(trace, slot);
    char name[64] = "launches";
    if (trace->blocks) {
        (void)snprintf(name, sizeof(name), slot->lane == 0 ? "SM %u" : "SM %u, %u",
                       (unsigned)slot->times.sm, (unsigned)slot->lane + 1);
    }
    open_event(trace, "M", slot->track, thread);
    (void)fprintf(trace->out, ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}", name);
    open_event(trace, "M", slot->track, thread);
    (void)fprintf(trace->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%llu}}",
                  (unsigned long long)thread);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void put_part(struct trace *trace, const struct pdl_timeline_slot *slot, const char *name,
                     int64_t start_ns, int64_t end_ns)
{
    open_event(trace, "X", slot->track, thread_of(trace, slot));
    (void)fprintf(trace->out, ",\"cat\":\"phase\",\"name\":\"%s\"", name);
    put_time(trace->out, "ts", start_ns);
    put_time(trace->out, "dur", end_ns - start_ns);
    (void)fputc('}', trace->out);
}

static void put_parts(struct trace *trace, const struct pdl_timeline_slot *slot)
{
    const pdl_timeline_block *const block = &slot->times;
    if (block->wait_ns != PDL_TIMELINE_NONE) {
        put_part(trace, slot, "before the wait", block->start_ns, block->wait_ns);
        put_part(trace, slot, "wait", block->wait_ns, block->waited_ns);
    }
    if (block->triggered_ns != PDL_TIMELINE_NONE) {
        open_event(trace, "i", slot->track, thread_of(trace, slot));
        (void)fputs(",\"cat\":\"phase\",\"name\":\"trigger\",\"s\":\"t\"", trace->out);
        put_time(trace->out, "ts", block->triggered_ns);
        (void)fputc('}', trace->out);
    }
}

static void put_slice(struct trace *trace, const struct pdl_timeline_slot *slot)
{
    const pdl_timeline_block *const times = &slot->times;
    const struct pdl_timeline_launch *launch = &trace->timeline->launches[times->launch];
    open_event(trace, "X", slot->track, thread_of(trace, slot));
    (void)fprintf(trace->out, ",\"cat\":\"%s\",\"name\":", trace->blocks ? "block" : "launch");
    pdl_text_put_json(trace->out, trace->timeline->kernels.names[launch->kernel]);
    put_time(trace->out, "ts", times->start_ns);
    put_time(trace->out, "dur", times->end_ns - times->start_ns);
    (void)fprintf(trace->out, ",\"args\":{\"launch\":%u", (unsigned)times->launch);
    if (trace->blocks) {
        (void)fprintf(trace->out, ",\"block\":%u,\"sm\":%u", (unsigned)times->block,
                      (unsigned)times->sm);
    } else {
        (void)fprintf(trace->out, ",\"blocks\":%llu,\"blocked_ns\":%lld",
                      (unsigned long long)launch->blocks, (long long)pdl_timeline_blocked(launch));
    }
    put_stamp(trace->out, "wait_ns", times->wait_ns);
    put_stamp(trace->out, "waited_ns", times->waited_ns);
    put_stamp(trace->out, "triggered_ns", times->triggered_ns);
    (void)fputs("}}", trace->out);
    if (trace->blocks) {
        put_parts(trace, slot);
    }
}

/* The first use of a lane is where it is as high as those before it in its place. */
static void put_slots(struct trace *trace, const struct pdl_timeline_slot *slots, size_t count)
{
    uint32_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct pdl_timeline_slot *const slot = &slots[i];
        used = i > 0 && slot->track == slot[-1].track && slot->times.sm == slot[-1].times.sm ? used
                                                                                             : 0;
        if (slot->lane == used) {
            put_thread(trace, slot);
            used++;
        }
        put_slice(trace, slot);
    }
}

/* What is no event: viewers show it as properties of the trace. */
static void put_other(struct trace *trace)
{
    const struct pdl_names *notes = &trace->timeline->notes;
    (void)fprintf(trace->out,
                  "],\n\"otherData\":{\"producer\":\"libpdl %d.%d.%d\",\"lost_blocks\":%llu",
                  PDL_VERSION_MAJOR, PDL_VERSION_MINOR, PDL_VERSION_PATCH,
                  (unsigned long long)trace->timeline->lost);
    for (uint32_t i = 0; i < notes->count; i++) {
        (void)fprintf(trace->out, ",\"note_%u\":", (unsigned)i + 1);
        pdl_text_put_json(trace->out, notes->names[i]);
    }
    (void)fputs("}}\n", trace->out);
}

pdl_status pdl_timeline_write_trace(const struct pdl_timeline *timeline, FILE *out)
{
    struct trace trace = {.timeline = timeline, .out = out, .first = true};
    struct pdl_timeline_slot *launches = NULL;
    struct pdl_timeline_slot *blocks = NULL;
    size_t launch_count = 0;
    size_t block_count = 0;
    pdl_status status = pdl_timeline_launch_slots(timeline, &launches, &launch_count);
    if (status == PDL_SUCCESS) {
        status = pdl_timeline_block_slots(timeline, &blocks, &block_count);
    }
    if (status == PDL_SUCCESS) {
        (void)fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
        for (uint32_t track = 0; track < timeline->tracks.count; track++) {
            put_process(&trace, track);
        }
        put_slots(&trace, launches, launch_count);
        trace.blocks = true;
        put_slots(&trace, blocks, block_count);
        put_other(&trace);
    }
    free(launches);
    free(blocks);
    return status;
}
