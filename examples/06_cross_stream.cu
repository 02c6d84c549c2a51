/* SPDX-License-Identifier: MIT */
/* Two kernels in two streams, joined by an event: when does the second one start, and what does its
 * wait cover?
 *
 * The event is recorded after the first kernel (cudaEventRecord), by its trigger (trigger_event,
 * also at block start) or by its launch (launch_event); directly and captured into a graph; with
 * the second launch ordinary and with overlap. The first kernel triggers at once and writes 200 us
 * later. */
#include <pdl/cudart.h>
#include <pdl/device.cuh>
#include <pdl/graph.h>

#include "buffer.cuh"
#include "timing.cuh"

static const unsigned blocks = 64;
static const int repeats = 5;

enum event_kind { AFTER, TRIGGER, TRIGGER_AT_START, LAUNCH, EVENT_KINDS };
static const char *const event_names[EVENT_KINDS] = {
    "cudaEventRecord", "trigger_event", "trigger_event at block start", "launch_event"};

/* What the kernels saw of each other, by %globaltimer. */
struct observation {
    kernel_stamps first;
    kernel_stamps second;
    unsigned long long wait_returned; /* in the first block of the second kernel to get there */
    unsigned stale;                   /* blocks that read old data after their wait */
};

__global__ void first_kernel(unsigned *data, unsigned value, observation *seen)
{
    stamp_start(&seen->first);
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    const unsigned long long begin = device_clock();
    while (device_clock() - begin < 200000) {
    }
    if (threadIdx.x == 0) {
        data[blockIdx.x] = value;
    }
    stamp_end(&seen->first);
}

__global__ void second_kernel(const unsigned *data, unsigned value, observation *seen)
{
    stamp_start(&seen->second);
    PDL_WAIT();
    if (threadIdx.x == 0) {
        atomicMin(&seen->wait_returned, device_clock());
        if (PDL_LOAD(&data[blockIdx.x]) != value) {
            atomicAdd(&seen->stale, 1u);
        }
    }
    stamp_end(&seen->second);
}

struct setting {
    event_kind kind;
    bool captured;
    pdl_overlap overlap; /* of the second launch */
};

static void launch_both(const setting &how, cudaStream_t one, cudaStream_t two, cudaEvent_t event,
                        unsigned *data, unsigned value, observation *seen)
{
    pdl_launch_desc desc = pdl_launch_desc_make(blocks, 64, 0, one);
    desc.trigger_event = how.kind == TRIGGER || how.kind == TRIGGER_AT_START ? event : nullptr;
    desc.trigger_at_block_start = how.kind == TRIGGER_AT_START;
    desc.launch_event = how.kind == LAUNCH ? event : nullptr;
    CHECK(pdl_launch_kernel(desc, first_kernel, data, value, seen));
    if (how.kind == AFTER) {
        CHECK(cudaEventRecord(event, one));
    }
    CHECK(cudaStreamWaitEvent(two, event, 0));
    CHECK(pdl_launch_kernel(pdl_launch_desc_make(blocks, 64, 0, two, how.overlap), second_kernel,
                            data, value, seen));
}

/* The kind of the one edge between the two kernels. */
static const char *edge_name(cudaGraph_t graph)
{
    pdl_census census = PDL_CENSUS_INIT;
    CHECK(pdl_graph_census(graph, &census));
    return census.edges != 1                    ? "not one edge"
           : census.full                        ? "full"
           : census.programmatic                ? "programmatic"
           : census.programmatic_at_block_start ? "programmatic at block start"
           : census.launch_completion           ? "launch completion"
                                                : "unknown";
}

static observation run(const setting &how, cudaStream_t one, cudaStream_t two, const char **edge)
{
    static unsigned value = 0;
    const device_buffer<unsigned> data(blocks);
    const device_buffer<observation> seen(1);
    cudaEvent_t event = nullptr, joined = nullptr;
    seen.set({observation{{~0ull, 0}, {~0ull, 0}, ~0ull, 0}});
    value++;
    CHECK(pdl_event_create(&event)); /* without timing, which is what a launch can record */
    CHECK(pdl_event_create(&joined));
    if (how.captured) {
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
        launch_both(how, one, two, event, data.get(), value, seen.get());
        CHECK(cudaEventRecord(joined, two)); /* a capture ends in the stream where it began */
        CHECK(cudaStreamWaitEvent(one, joined, 0));
        CHECK(cudaStreamEndCapture(one, &graph));
        *edge = edge_name(graph);
        CHECK(cudaGraphInstantiate(&executable, graph, 0));
        CHECK(cudaGraphLaunch(executable, one));
        CHECK(cudaStreamSynchronize(one));
        CHECK(cudaGraphExecDestroy(executable));
        CHECK(cudaGraphDestroy(graph));
    } else {
        launch_both(how, one, two, event, data.get(), value, seen.get());
        CHECK(cudaStreamSynchronize(two));
        CHECK(cudaStreamSynchronize(one));
    }
    pdl_event_destroy(joined);
    pdl_event_destroy(event);
    return seen.host()[0];
}

/* Runs one setting a few times; false if a guarantee was broken. */
static bool observe(const setting &how, cudaStream_t one, cudaStream_t two)
{
    const char *edge = "";
    int early = 0, covered = 0;
    unsigned stale = 0;
    std::vector<double> ahead;
    for (int i = 0; i < repeats; i++) {
        const observation seen = run(how, one, two, &edge);
        early += seen.second.first_start < seen.first.last_end;
        covered += seen.wait_returned >= seen.first.last_end;
        stale += seen.stale;
        ahead.push_back(1e-3 * static_cast<double>(static_cast<long long>(
                                   seen.first.last_end - seen.second.first_start)));
    }
    std::printf(
        "  %-29s %-9s %-8s started early %d of %d (%+7.1f us), wait covered the end %d of %d,"
        " stale %3u of %u%s%s\n",
        event_names[how.kind], how.captured ? "captured" : "direct",
        how.overlap == PDL_OVERLAP_AUTO ? "overlap" : "ordinary", early, repeats, median(ahead),
        covered, repeats, stale, repeats * blocks, how.captured ? "; edge: " : "", edge);
    if (how.kind == AFTER && how.overlap == PDL_OVERLAP_NONE) {
        return early == 0 && stale == 0; /* plain CUDA */
    }
    /* A launch-completion event promises nothing: whatever was seen there is an observation. */
    return how.kind == LAUNCH || how.overlap == PDL_OVERLAP_NONE || stale == 0;
}

int main()
{
    require_device("06_cross_stream");
    cudaStream_t one, two;
    const char *edge;
    bool good = true;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    run({AFTER, false, PDL_OVERLAP_NONE}, one, two, &edge); /* loads the kernels */
    std::printf(
        "Stamps of %%globaltimer, which steps by %llu ns; the second kernel, in another stream:\n",
        device_clock_resolution());
    for (const pdl_overlap overlap : {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO}) {
        for (int kind = 0; kind < EVENT_KINDS; kind++) {
            for (const bool captured : {false, true}) {
                good =
                    observe({static_cast<event_kind>(kind), captured, overlap}, one, two) && good;
            }
        }
    }
    std::printf(
        "The rule: behind a trigger_event, launch with overlap and wait in the kernel: the data is"
        " there after the wait,\nwhether the start was early or not. A launch_event orders starts"
        " alone: its wait waits for nothing, never rely on data.\n");
    CHECK(cudaStreamDestroy(two));
    CHECK(cudaStreamDestroy(one));
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
