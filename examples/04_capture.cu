/* SPDX-License-Identifier: MIT */
/* A stream of launches captured into a graph, and what the graph's edges are.
 *
 * Four kernels in a line; the third adds into a counter that must be zero. Cleared by a memset in
 * front of the line, every edge between the kernels is programmatic. With the same memset right
 * before the kernel that needs it, one overlap is lost without a word from CUDA: the census names
 * it. */
#include <pdl/cudart.h>
#include <pdl/device.cuh>
#include <pdl/graph.h>

#include "buffer.cuh"
#include "timing.cuh"

static const int count = 1 << 16;
static const int threads = 256;
static const int replays = 20;

/* What a replay works on: its number goes up by one each time, so that no two give the same result.
 * */
struct progress {
    unsigned replay;
    unsigned long long sum;
    unsigned long long results[replays];
};

extern "C" __global__ void shift(const unsigned *x, unsigned *y, const progress *at)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned value = x[i]; /* nobody writes x */
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    y[i] = value + PDL_LOAD(&at->replay);
}

extern "C" __global__ void square(const unsigned *PDL_RESTRICT y, unsigned *PDL_RESTRICT z)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    z[i] = y[i] * y[i];
}

extern "C" __global__ void add_up(const unsigned *PDL_RESTRICT z, progress *at)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(&at->sum, static_cast<unsigned long long>(z[i]));
}

extern "C" __global__ void store(progress *at)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    if (at->replay < replays) {
        at->results[at->replay] = at->sum;
    }
    at->replay++;
}

struct buffers {
    device_buffer<unsigned> x{count}, y{count}, z{count};
    device_buffer<progress> at{1};
};

static void launch_all(const buffers &b, cudaStream_t stream, bool memset_in_front)
{
    const pdl_launch_desc wide =
        pdl_launch_desc_make(count / threads, threads, 0, stream, PDL_OVERLAP_AUTO);
    const pdl_launch_desc one = pdl_launch_desc_make(1, 1, 0, stream, PDL_OVERLAP_AUTO);
    progress *const at = b.at.get();
    if (memset_in_front) {
        CHECK(cudaMemsetAsync(&at->sum, 0, sizeof(at->sum), stream));
    }
    CHECK(pdl_launch_kernel(wide, shift, b.x.get(), b.y.get(), at));
    CHECK(pdl_launch_kernel(wide, square, b.y.get(), b.z.get()));
    if (!memset_in_front) {
        CHECK(cudaMemsetAsync(&at->sum, 0, sizeof(at->sum), stream));
    }
    CHECK(pdl_launch_kernel(wide, add_up, b.z.get(), at));
    CHECK(pdl_launch_kernel(one, store, at));
}

static bool results_are_right(const buffers &b)
{
    const progress at = b.at.host()[0];
    int wrong = 0;
    for (unsigned replay = 0; replay < replays; replay++) {
        unsigned long long sum = 0;
        for (unsigned i = 0; i < count; i++) {
            sum += static_cast<unsigned>((i + replay) * (i + replay));
        }
        wrong += at.results[replay] != sum;
    }
    std::printf("  %d of %d results are right\n", replays - wrong, replays);
    return wrong == 0;
}

static bool capture(const buffers &b, gated_stream &gate, bool memset_in_front, bool granted)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(gate.stream, cudaStreamCaptureModeThreadLocal));
    launch_all(b, gate.stream, memset_in_front);
    CHECK(cudaStreamEndCapture(gate.stream, &graph));

    pdl_full_dependency lost[8];
    pdl_census census = PDL_CENSUS_INIT;
    census.full_dependencies = lost;
    census.full_capacity = 8;
    CHECK(pdl_graph_census(graph, &census));
    std::printf("memset %s: %u kernels, %u programmatic edges, %u full ones; without overlap: %u\n",
                memset_in_front ? "in front of the line" : "in the middle", census.kernels,
                census.programmatic, census.full, census.full_count);
    for (unsigned i = 0; i < census.full_count && i < census.full_capacity; i++) {
        const pdl_full_reason reason = static_cast<pdl_full_reason>(lost[i].reason);
        std::printf("  %s -> %s: %s\n", lost[i].producer_name, lost[i].consumer_name,
                    pdl_full_reason_string(reason));
    }
    const unsigned expected_lost = !granted ? 3 : memset_in_front ? 0 : 1;
    bool good = census.kernels == 4 && census.full_count == expected_lost &&
                census.programmatic == 3 - expected_lost;
    if (granted && !memset_in_front) {
        good = good && lost[0].reason == PDL_FULL_MEMSET;
    }
    if (!good) {
        std::printf("  these are not the edges that were expected\n");
    }

    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    b.at.fill(0);
    for (int i = 0; i < replays; i++) {
        CHECK(cudaGraphLaunch(executable, gate.stream));
    }
    good = results_are_right(b) && good;
    std::vector<double> us;
    for (int round = 0; round < 21; round++) {
        us.push_back(gate.run([&] {
            for (int i = 0; i < replays; i++) {
                CHECK(cudaGraphLaunch(executable, gate.stream));
            }
        }));
    }
    std::printf("  %.2f us a replay\n", median(us) / replays);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    return good;
}

int main()
{
    require_device("04_capture");
    gated_stream gate;
    const buffers b;
    std::vector<unsigned> x(count);
    for (int i = 0; i < count; i++) {
        x[i] = static_cast<unsigned>(i);
    }
    b.x.set(x);

    /* Once without a graph: kernels are loaded on their first launch, better not in a capture. */
    launch_all(b, gate.stream, true);
    CHECK(cudaStreamSynchronize(gate.stream));

    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &device));
    const bool granted = device.can_overlap != 0; /* 0 with PDL_OVERLAP=0 in the environment */
    bool good = capture(b, gate, true, granted);
    good = capture(b, gate, false, granted) && good;
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
