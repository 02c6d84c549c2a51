/* SPDX-License-Identifier: MIT */
/* A stream of launches captured into a graph, and what the graph's edges are.
 *
 * Three kernels in a line; the second adds into a sum that must be zero. Cleared by a memset in
 * front of the line, every edge between the kernels is programmatic. With the same memset right
 * before the kernel that needs it, one overlap is lost without a word from CUDA: the census names
 * it. */
#include <cstdio>
#include <cstdlib>

#include <pdl/cudart.h>
#include <pdl/device.cuh>
#include <pdl/graph.h>

static const int count = 1 << 16;
static const int threads = 256;
static const int replays = 20;

/* In memory that host and device share. */
struct progress {
    unsigned replay; /* set by the host, so that no two replays give the same sum */
    unsigned long long sum, result;
};

extern "C" __global__ void square(const progress *at, unsigned long long *y)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    const unsigned long long value = i + PDL_LOAD(&at->replay);
    y[i] = value * value;
}

extern "C" __global__ void add_up(const unsigned long long *PDL_RESTRICT y, progress *at)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(&at->sum, y[i]);
}

extern "C" __global__ void store(progress *at)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    at->result = at->sum;
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

static void launch_all(progress *at, unsigned long long *y, cudaStream_t stream, bool in_front)
{
    const pdl_launch_desc wide =
        pdl_launch_desc_make(count / threads, threads, 0, stream, PDL_OVERLAP_AUTO);
    const pdl_launch_desc one = pdl_launch_desc_make(1, 1, 0, stream, PDL_OVERLAP_AUTO);
    if (in_front) {
        check(cudaMemsetAsync(&at->sum, 0, sizeof(at->sum), stream));
    }
    check(pdl_launch_kernel(wide, square, at, y));
    if (!in_front) {
        check(cudaMemsetAsync(&at->sum, 0, sizeof(at->sum), stream));
    }
    check(pdl_launch_kernel(wide, add_up, y, at));
    check(pdl_launch_kernel(one, store, at));
}

static bool capture(progress *at, unsigned long long *y, cudaStream_t stream, bool in_front,
                    bool granted)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch_all(at, y, stream, in_front);
    check(cudaStreamEndCapture(stream, &graph));

    pdl_full_dependency lost[8];
    pdl_census census = PDL_CENSUS_INIT;
    census.full_dependencies = lost;
    census.full_capacity = 8;
    check(pdl_graph_census(graph, &census));
    std::printf("memset %s: %u kernels, %u programmatic edges, %u full ones; without overlap: %u\n",
                in_front ? "in front of the line" : "in the middle", census.kernels,
                census.programmatic, census.full, census.full_count);
    for (unsigned i = 0; i < census.full_count && i < census.full_capacity; i++) {
        std::printf("  %s -> %s: %s\n", lost[i].producer_name, lost[i].consumer_name, lost[i].why);
    }
    const unsigned expected_lost = !granted ? 2 : in_front ? 0 : 1;
    const bool edges_are_right = census.kernels == 3 && census.full_count == expected_lost &&
                                 census.programmatic == 2 - expected_lost;

    check(cudaGraphInstantiate(&executable, graph, 0));
    int right = 0;
    for (int replay = 0; replay < replays; replay++) {
        unsigned long long sum = 0;
        for (int i = 0; i < count; i++) {
            const unsigned long long value = i + replay;
            sum += value * value;
        }
        at->replay = replay;
        check(cudaGraphLaunch(executable, stream));
        check(cudaStreamSynchronize(stream));
        right += at->result == sum;
    }
    std::printf("  %d of %d results are right\n", right, replays);
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
    return edges_are_right && right == replays;
}

int main()
{
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    if (pdl_device_get(0, &device) != PDL_SUCCESS || device.compute_capability_major < 9) {
        std::printf("04_capture: skipped: it needs a device of compute capability 9.0. %s\n",
                    pdl_last_error()->message);
        return 77;
    }
    const bool granted = device.can_overlap != 0; /* 0 with PDL_OVERLAP=0 in the environment */
    progress *at;
    unsigned long long *y;
    cudaStream_t stream;
    check(cudaMallocManaged(&at, sizeof(*at)));
    check(cudaMalloc(&y, count * sizeof(*y)));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    /* Once without a graph: kernels are loaded on their first launch, better not in a capture. */
    launch_all(at, y, stream, true);
    check(cudaStreamSynchronize(stream));
    bool good = capture(at, y, stream, true, granted);
    good = capture(at, y, stream, false, granted) && good;
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
