/* SPDX-License-Identifier: MIT */
/* reasons NAME: a pair of kernels, primary and secondary, that does not overlap for the reason NAME, twenty times; without
 * an argument it lists the names. reasons.py asks `pdltool watch` for the reason of each. */
#include <cuda.h>

#include "programs.cuh"

static const int rounds = 20;
static const unsigned work_ns = 20000;

void launch_old(cudaStream_t stream, unsigned *out); /* reasons_old.cu */

/* ---- kernels ------------------------------------------------------------------------------------- */

enum trigger_place { NEVER, FIRST, LAST };

template <trigger_place Trigger> __device__ __forceinline__ void produce(unsigned *data)
{
    if (Trigger == FIRST) {
        cudaTriggerProgrammaticLaunchCompletion();
    }
    spin(work_ns);
    data[blockIdx.x] = blockIdx.x;
    if (Trigger == LAST) {
        cudaTriggerProgrammaticLaunchCompletion();
    }
}

static __global__ void primary(unsigned *data)
{
    produce<FIRST>(data);
}

static __global__ void primary_without_trigger(unsigned *data)
{
    produce<NEVER>(data);
}

static __global__ void primary_late_trigger(unsigned *data)
{
    produce<LAST>(data);
}

/* All blocks end at once, whenever they began: at a moment that all of them work out alike. */
static __global__ void primary_ends_at_once(unsigned *data)
{
    cudaTriggerProgrammaticLaunchCompletion();
    const unsigned long long begin = device_clock(), end = ((begin + 32768) >> 16 << 16) + 65536;
    data[blockIdx.x] = blockIdx.x;
    while (in_time(begin, end - begin)) {
    }
}

static __global__ void secondary(const unsigned *data, unsigned *out)
{
    spin(3000);
    cudaGridDependencySynchronize();
    out[blockIdx.x] = data[blockIdx.x];
}

static __global__ void secondary_waits_first(const unsigned *data, unsigned *out)
{
    cudaGridDependencySynchronize();
    spin(3000);
    out[blockIdx.x] = data[blockIdx.x];
}

/* Of another stream. */
static __global__ void bystander(unsigned *out)
{
    spin(2 * work_ns);
    out[blockIdx.x] = 1;
}

/* ---- the cases ----------------------------------------------------------------------------------- */

static unsigned *data, *out, *aside;
static cudaStream_t stream, other;
static gate doors;
static unsigned grid;

static void first()
{
    launch(primary, grid, 128, 0, stream, false, data);
}

static void second(bool overlap = true)
{
    launch(secondary, grid, 128, 0, stream, overlap, data, out);
}

static void overlapped()
{
    first();
    second();
}

static void not_asked()
{
    first();
    second(false);
}

static void cooperative()
{
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(128);
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    first();
    CHECK(cudaLaunchKernelEx(&config, secondary, static_cast<const unsigned *>(data), out));
}

static void old_code()
{
    first();
    launch_old(stream, out);
}

static void copy_between()
{
    first();
    CHECK(cudaMemsetAsync(aside, 0, sizeof(*aside), stream));
    second();
}

static void event_between()
{
    static cudaEvent_t event;
    if (event == nullptr) {
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    first();
    bystander<<<1, 32, 0, other>>>(aside);
    CHECK(cudaEventRecord(event, other));
    CHECK(cudaStreamWaitEvent(stream, event, 0));
    second();
}

static void CUDART_CB do_nothing(void *)
{
}

static void host_between()
{
    first();
    CHECK(cudaLaunchHostFunc(stream, do_nothing, nullptr));
    second();
}

/* A value written to memory in stream order. */
static void other_between()
{
    static CUresult(CUDAAPI * write_value)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = nullptr;
    if (write_value == nullptr) {
        void *entry = nullptr;
        cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
        CHECK(cudaGetDriverEntryPointByVersion("cuStreamWriteValue32", &entry, 12000,
                                               cudaEnableDefault, &found));
        if (found != cudaDriverEntryPointSuccess) {
            fprintf(stderr, "skipped: the driver has no cuStreamWriteValue32\n");
            exit(77);
        }
        write_value = reinterpret_cast<decltype(write_value)>(entry);
    }
    first();
    if (write_value(stream, reinterpret_cast<CUdeviceptr>(aside), 1, 0) != CUDA_SUCCESS) {
        fprintf(stderr, "cuStreamWriteValue32 failed\n");
        exit(3);
    }
    second();
}

/* A trigger in one stream, waited for in another. */
static void event_eager()
{
    static cudaEvent_t event, join;
    if (event == nullptr) {
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    }
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticEvent;
    attribute.val.programmaticEvent.event = event;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(128);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, primary, data));
    CHECK(cudaStreamWaitEvent(other, event, 0));
    launch(secondary, grid, 128, 0, other, true, data, out);
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
}

/* Captured with the attribute; then somebody makes the graph's edges full, as who knows nothing of their data does. */
static void full_edge()
{
    first();
    second();
}

static void make_edges_full(cudaGraph_t graph)
{
    cudaGraphNode_t from[64], to[64];
    cudaGraphEdgeData data[64] = {}, full[64] = {};
    size_t count = 64;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphGetEdges(graph, from, to, data, &count));
    CHECK(cudaGraphRemoveDependencies(graph, from, to, data, count));
    CHECK(cudaGraphAddDependencies(graph, from, to, full, count));
#else
    CHECK(cudaGraphGetEdges_v2(graph, from, to, data, &count));
    CHECK(cudaGraphRemoveDependencies_v2(graph, from, to, data, count));
    CHECK(cudaGraphAddDependencies_v2(graph, from, to, full, count));
#endif
}

/* Behind two kernels, the one of another stream never triggers: both edges are programmatic. */
static void two_in_front()
{
    static cudaEvent_t fork, join;
    if (fork == nullptr) {
        CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    }
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork, 0));
    bystander<<<1, 32, 0, other>>>(aside);
    CHECK(cudaEventRecord(join, other));
    first();
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    second();
}

/* A block of either takes most of an SM's shared memory. */
static void no_room()
{
    const size_t most = 200 << 10;
    CHECK(cudaFuncSetAttribute(primary_ends_at_once, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(most)));
    CHECK(cudaFuncSetAttribute(secondary, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(most)));
    launch(primary_ends_at_once, grid, 128, most, stream, false, data);
    launch(secondary, grid, 128, most, stream, true, data, out);
}

static void host_late()
{
    first();
    host_spin(500000);
    second();
}

static void triggers_at_end()
{
    launch(primary_without_trigger, grid, 128, 0, stream, false, data);
    second();
}

static void waits_first()
{
    launch(primary_late_trigger, grid, 128, 0, stream, false, data);
    launch(secondary_waits_first, grid, 128, 0, stream, true, data, out);
}

struct reason {
    const char *name;
    void (*launch)();
    bool in_stream, in_graph; /* behind a gate; captured */
};

static const reason reasons[] = {
    {"overlapped", overlapped, true, false},
    {"overlapped_graph", overlapped, false, true},
    {"not_asked", not_asked, true, false},
    {"not_asked_graph", not_asked, false, true},
    {"taken_out", overlapped, true, false}, /* with --overlap off */
    {"cooperative", cooperative, true, false},
    {"old_code", old_code, true, false},
    {"copy_between", copy_between, true, false},
    {"copy_between_graph", copy_between, false, true},
    {"event_between", event_between, true, false},
    {"host_between", host_between, true, false},
    {"other_between", other_between, true, false},
    {"event_eager", event_eager, true, false},
    {"full_edge", full_edge, false, true},
    {"triggers_at_end_of_two", two_in_front, false, true},
    {"no_room", no_room, true, false},
    {"no_room_graph", no_room, false, true},
    {"host_late", host_late, false, false},
    {"triggers_at_end", triggers_at_end, true, false},
    {"triggers_at_end_graph", triggers_at_end, false, true},
    {"waits_first", waits_first, true, false},
};

static void run(const reason &reason)
{
    const auto change = [&](cudaGraph_t graph) {
        if (reason.launch == full_edge) {
            make_edges_full(graph);
        }
    };
    const cudaGraphExec_t executable =
        reason.in_graph ? record(stream, reason.launch, change) : nullptr;
    for (int i = 0; i <= rounds; i++) {
        /* A kernel is loaded when it is first launched, which waits for those that run: not behind the gate. */
        if (reason.in_stream && i > 0) {
            doors.close(stream);
        }
        if (reason.in_graph) {
            CHECK(cudaGraphLaunch(executable, stream));
        } else {
            reason.launch();
        }
        doors.open();
        CHECK(cudaDeviceSynchronize());
    }
    if (executable != nullptr) {
        CHECK(cudaGraphExecDestroy(executable));
    }
}

int main(int argc, char **argv)
{
    const reason *chosen = nullptr;
    for (const reason &reason : reasons) {
        if (argc < 2) {
            printf("%s\n", reason.name);
        } else if (strcmp(argv[1], reason.name) == 0) {
            chosen = &reason;
        }
    }
    if (argc < 2) {
        return 0;
    }
    if (chosen == nullptr) {
        fprintf(stderr, "%s: unknown reason\n", argv[1]);
        return 2;
    }
    need_device();
    grid = static_cast<unsigned>(sm_count());
    CHECK(cudaMalloc(&data, grid * sizeof(*data)));
    CHECK(cudaMalloc(&out, grid * sizeof(*out)));
    CHECK(cudaMalloc(&aside, grid * sizeof(*aside)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    run(*chosen);
    return 0;
}
