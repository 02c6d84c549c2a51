/* SPDX-License-Identifier: MIT */
/* A timeline in the Trace Event Format: a process a track, a thread a lane of an SM.
 *
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "trace/timeline_forms.h"

/* Threads of a process: the lanes of launches, then those of SMs. */
struct trace {
    const struct pdl_timeline *timeline;
    FILE *out;
    bool first;
    struct pdl_timeline_slot *blocks;
    uint32_t lanes; /* of an SM */
    struct pdl_timeline_slot *launches;
    uint32_t launch_count; /* with blocks */
    uint32_t launch_lanes;
};

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Times are microseconds there; three digits after the point keep the nanoseconds. */
static void put_time(FILE *out, const char *key, int64_t time_ns)
{
    char us[PDL_TIMELINE_NUMBER];
    (void)fprintf(out, ",\"%s\":%s", key, pdl_timeline_us(time_ns, 3, us));
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

static uint64_t launch_thread(uint32_t lane)
{
    return (uint64_t)lane + 1;
}

static uint64_t block_thread(const struct trace *trace, const struct pdl_timeline_slot *slot)
{
    return 1 + trace->launch_lanes + (uint64_t)slot->sm * trace->lanes + slot->lane;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void put_process(struct trace *trace, uint32_t track)
{
    const char *name = trace->timeline->tracks.names[track];
    open_event(trace, "M", track, 0);
    (void)fputs(",\"name\":\"process_name\",\"args\":{\"name\":", trace->out);
    pdl_text_put_json(trace->out, name[0] != '\0' ? name : "kernels");
    (void)fputs("}}", trace->out);
    open_event(trace, "M", track, 0);
    (void)fprintf(trace->out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}",
                  (unsigned)track);
}

static void put_thread_order(struct trace *trace, uint32_t track, uint64_t thread)
{
    open_event(trace, "M", track, thread);
    (void)fprintf(trace->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%llu}}",
                  (unsigned long long)thread);
}

static void put_launch_thread(struct trace *trace, uint32_t track, uint32_t lane)
{
    open_event(trace, "M", track, launch_thread(lane));
    (void)fputs(",\"name\":\"thread_name\",\"args\":{\"name\":\"launches\"}}", trace->out);
    put_thread_order(trace, track, launch_thread(lane));
}

static void put_block_thread(struct trace *trace, const struct pdl_timeline_slot *slot)
{
    const uint64_t thread = block_thread(trace, slot);
    open_event(trace, "M", slot->track, thread);
    (void)fprintf(trace->out, ",\"name\":\"thread_name\",\"args\":{\"name\":\"SM %u",
                  (unsigned)slot->sm);
    if (trace->lanes > 1) {
        (void)fprintf(trace->out, ", %u", (unsigned)slot->lane + 1);
    }
    (void)fputs("\"}}", trace->out);
    put_thread_order(trace, slot->track, thread);
}

/* The first time that a lane is used is where it is as high as those before it on its SM. */
static void put_names(struct trace *trace)
{
    uint32_t used = 0;
    for (uint32_t track = 0; track < trace->timeline->tracks.count; track++) {
        put_process(trace, track);
    }
    for (uint32_t i = 0; i < trace->launch_count; i++) {
        const struct pdl_timeline_slot *slot = &trace->launches[i];
        used = i > 0 && slot->track == slot[-1].track ? used : 0;
        if (slot->lane == used) {
            put_launch_thread(trace, slot->track, used++);
        }
    }
    for (uint64_t i = 0; i < trace->timeline->block_count; i++) {
        const struct pdl_timeline_slot *slot = &trace->blocks[i];
        used = i > 0 && slot->track == slot[-1].track && slot->sm == slot[-1].sm ? used : 0;
        if (slot->lane == used) {
            put_block_thread(trace, slot);
            used++;
        }
    }
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void put_launch(struct trace *trace, const struct pdl_timeline_slot *slot)
{
    const struct pdl_timeline_launch *launch = &trace->timeline->launches[slot->index];
    open_event(trace, "X", slot->track, launch_thread(slot->lane));
    (void)fputs(",\"cat\":\"launch\",\"name\":", trace->out);
    pdl_text_put_json(trace->out, trace->timeline->kernels.names[launch->kernel]);
    put_time(trace->out, "ts", slot->start_ns);
    put_time(trace->out, "dur", slot->end_ns - slot->start_ns);
    (void)fprintf(trace->out, ",\"args\":{\"launch\":%u,\"blocks\":%llu", (unsigned)slot->index,
                  (unsigned long long)launch->blocks);
    put_stamp(trace->out, "triggered_ns", launch->triggered_ns);
    put_stamp(trace->out, "waited_ns", launch->waited_ns);
    (void)fprintf(trace->out, ",\"blocked_ns\":%lld}}", (long long)pdl_timeline_blocked(launch));
}

static void put_part(struct trace *trace, const struct pdl_timeline_slot *slot, const char *name,
                     int64_t start_ns, int64_t end_ns)
{
    open_event(trace, "X", slot->track, block_thread(trace, slot));
    (void)fprintf(trace->out, ",\"cat\":\"phase\",\"name\":\"%s\"", name);
    put_time(trace->out, "ts", start_ns);
    put_time(trace->out, "dur", end_ns - start_ns);
    (void)fputc('}', trace->out);
}

static void put_block(struct trace *trace, const struct pdl_timeline_slot *slot)
{
    const pdl_timeline_block *block = &trace->timeline->blocks[slot->index];
    const uint32_t kernel = trace->timeline->launches[block->launch].kernel;
    open_event(trace, "X", slot->track, block_thread(trace, slot));
    (void)fputs(",\"cat\":\"block\",\"name\":", trace->out);
    pdl_text_put_json(trace->out, trace->timeline->kernels.names[kernel]);
    put_time(trace->out, "ts", block->start_ns);
    put_time(trace->out, "dur", block->end_ns - block->start_ns);
    (void)fprintf(trace->out, ",\"args\":{\"launch\":%u,\"block\":%u,\"sm\":%u",
                  (unsigned)block->launch, (unsigned)block->block, (unsigned)block->sm);
    put_stamp(trace->out, "wait_ns", block->wait_ns);
    put_stamp(trace->out, "waited_ns", block->waited_ns);
    put_stamp(trace->out, "triggered_ns", block->triggered_ns);
    (void)fputs("}}", trace->out);
    if (block->wait_ns != PDL_TIMELINE_NONE) {
        put_part(trace, slot, "before the wait", block->start_ns, block->wait_ns);
        put_part(trace, slot, "wait", block->wait_ns, block->waited_ns);
    }
    if (block->triggered_ns != PDL_TIMELINE_NONE) {
        open_event(trace, "i", slot->track, block_thread(trace, slot));
        (void)fputs(",\"cat\":\"phase\",\"name\":\"trigger\",\"s\":\"t\"", trace->out);
        put_time(trace->out, "ts", block->triggered_ns);
        (void)fputc('}', trace->out);
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
    pdl_status status = pdl_timeline_block_lanes(timeline, &trace.blocks, &trace.lanes);
    if (status == PDL_SUCCESS) {
        status = pdl_timeline_launch_lanes(timeline, &trace.launches, &trace.launch_count,
                                           &trace.launch_lanes);
    }
    if (status == PDL_SUCCESS) {
        (void)fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
        put_names(&trace);
        for (uint32_t i = 0; i < trace.launch_count; i++) {
            put_launch(&trace, &trace.launches[i]);
        }
        for (uint64_t i = 0; i < timeline->block_count; i++) {
            put_block(&trace, &trace.blocks[i]);
        }
        put_other(&trace);
    }
    free(trace.launches);
    free(trace.blocks);
    return status;
}
