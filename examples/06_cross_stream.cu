/* SPDX-License-Identifier: MIT */
/* Two kernels in two streams, joined by an event: when does the second one start, and does its wait
 * cover the first one's writes? The event is recorded after the first kernel, by its trigger or by
 * its launch; directly and captured into a graph; with the second launch ordinary and with overlap.
 * The first kernel triggers at once and writes 200 us later. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <pdl/cudart.h>
#include <pdl/device.cuh>
#include <pdl/graph.h>

static const unsigned blocks = 64;
enum event_kind { AFTER, TRIGGER, TRIGGER_AT_START, LAUNCH, EVENT_KINDS };
static const char *const event_names[EVENT_KINDS] = {
    "cudaEventRecord", "trigger_event", "trigger_event at block start", "launch_event"};

/* In memory that host and device share: the data, and what the kernels saw, by %globaltimer. */
struct observation {
    unsigned data[blocks];
    unsigned stale;             /* blocks that read old data after their wait */
    long long first_end, start; /* of the first kernel's last block, of the second's first */
};

__device__ static long long device_clock()
{
    long long now;
    asm volatile("mov.s64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

__global__ void first_kernel(observation *seen)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    const long long begin = device_clock();
    while (device_clock() - begin < 200000) {
    }
    seen->data[blockIdx.x] = 1;
    atomicMax(&seen->first_end, device_clock());
}

__global__ void second_kernel(observation *seen)
{
    const long long start = device_clock();
    PDL_WAIT();
    atomicMin(&seen->start, start);
    if (PDL_LOAD(&seen->data[blockIdx.x]) == 0) {
        atomicAdd(&seen->stale, 1u);
    }
}

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

static void check(pdl_status status)
{
    if (status != PDL_SUCCESS) {
        std::fprintf(stderr, "%s\n", pdl_last_error()->message);
        std::exit(1);
    }
}

static void launch_both(event_kind kind, pdl_overlap overlap, const cudaStream_t stream[2],
                        const cudaEvent_t event[2], observation *seen)
{
    pdl_launch_desc desc = pdl_launch_desc_make(blocks, 1, 0, stream[0]);
    desc.trigger_at_block_start = kind == TRIGGER_AT_START;
    desc.trigger_event = kind == TRIGGER || kind == TRIGGER_AT_START ? event[0] : nullptr;
    desc.launch_event = kind == LAUNCH ? event[0] : nullptr;
    check(pdl_launch_kernel(desc, first_kernel, seen));
    if (kind == AFTER) {
        check(cudaEventRecord(event[0], stream[0]));
    }
    check(cudaStreamWaitEvent(stream[1], event[0], 0));
    check(pdl_launch_kernel(pdl_launch_desc_make(blocks, 1, 0, stream[1], overlap), second_kernel,
                            seen));
    check(cudaEventRecord(event[1], stream[1])); /* a capture ends in the stream where it began */
    check(cudaStreamWaitEvent(stream[0], event[1], 0));
}

/* The kind of the one edge between the two kernels. */
static const char *edge_of(cudaGraph_t graph)
{
    pdl_census census = PDL_CENSUS_INIT;
    check(pdl_graph_census(graph, &census));
    return census.programmatic                  ? "programmatic"
           : census.programmatic_at_block_start ? "programmatic at block start"
           : census.launch_completion           ? "launch completion"
                                                : "full";
}

/* Runs one setting; false if a guarantee was broken. */
static bool observe(event_kind kind, bool captured, pdl_overlap overlap,
                    const cudaStream_t stream[2], const cudaEvent_t event[2], observation *seen)
{
    const char *edge = "no graph";
    *seen = observation{{}, 0, 0, INT64_MAX};
    if (captured) {
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        check(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeThreadLocal));
        launch_both(kind, overlap, stream, event, seen);
        check(cudaStreamEndCapture(stream[0], &graph));
        edge = edge_of(graph);
        check(cudaGraphInstantiate(&executable, graph, 0));
        check(cudaGraphLaunch(executable, stream[0]));
    } else {
        launch_both(kind, overlap, stream, event, seen);
    }
    check(cudaDeviceSynchronize());
    std::printf("  %-29s %-8s started %+6.1f us before the end, stale %2u of 64; edge: %s\n",
                event_names[kind], overlap == PDL_OVERLAP_AUTO ? "overlap" : "ordinary",
                1e-3 * static_cast<double>(seen->first_end - seen->start), seen->stale, edge);
    /* A launch-completion event promises nothing: whatever was seen there is an observation. */
    return kind == LAUNCH || (kind != AFTER && overlap == PDL_OVERLAP_NONE) || seen->stale == 0;
}

int main()
{
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    if (pdl_device_get(0, &device) != PDL_SUCCESS || device.compute_capability_major < 9) {
        std::printf("06_cross_stream: skipped: no device of 9.0. %s\n", pdl_last_error()->message);
        return 77;
    }
    cudaStream_t stream[2];
    cudaEvent_t event[2]; /* without timing, as a launch needs them */
    observation *seen;
    bool good = true;
    check(cudaMallocManaged(&seen, sizeof(*seen)));
    for (int i = 0; i < 2; i++) {
        check(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        check(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming));
    }
    for (const pdl_overlap overlap : {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO}) {
        for (int kind = 0; kind < 2 * EVENT_KINDS; kind++) {
            good &= observe(static_cast<event_kind>(kind / 2), kind % 2 != 0, overlap, stream,
                            event, seen);
        }
    }
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
