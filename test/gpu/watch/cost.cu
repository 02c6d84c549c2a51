/* SPDX-License-Identifier: MIT */
/* cost [stream|overlap|graph [BATCHES]]: what a launch costs the host, and a kernel the device: in a stream without and
 * with the attribute of programmatic dependent launch, and as a node of a graph. Prints medians as JSON; cost.py compares
 * runs as they are with runs that are watched.
 *
 * cost million: a million launches, and nothing else. */
#include <algorithm>
#include <vector>

#include "programs.cuh"

static const unsigned batch =
    200; /* kernels; what the queue of a stream holds without holding up the host */

static __global__ void empty(unsigned *)
{
}

static __global__ void chained(unsigned *)
{
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
}

/* Three µs of work. */
template <bool Chained> static __global__ void working(unsigned *out)
{
    if (Chained) {
        cudaGridDependencySynchronize();
        cudaTriggerProgrammaticLaunchCompletion();
    }
    spin_cycles(6000);
    out[blockIdx.x] = blockIdx.x;
}

typedef void (*kernel_pointer)(unsigned *out);

static unsigned *out;
static cudaStream_t stream;
static cudaEvent_t begin, end;
static gate doors;

static void launch_batch(kernel_pointer kernel, unsigned blocks, bool overlap)
{
    if (overlap) {
        for (unsigned i = 0; i < batch; i++) {
            launch(kernel, blocks, 128, 0, stream, true, out);
        }
    } else {
        for (unsigned i = 0; i < batch; i++) {
            kernel<<<blocks, 128, 0, stream>>>(out);
        }
    }
    CHECK(cudaGetLastError());
}

static cudaGraphExec_t record(kernel_pointer kernel, unsigned blocks, bool overlap)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch_batch(kernel, blocks, overlap);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return executable;
}

struct medians {
    double host_ns, device_ns; /* per kernel */
};

static double median(std::vector<double> &values)
{
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

static medians measure(kernel_pointer kernel, unsigned blocks, bool overlap, bool in_graph,
                       unsigned batches)
{
    const cudaGraphExec_t executable = in_graph ? record(kernel, blocks, overlap) : nullptr;
    std::vector<double> host, device;
    for (unsigned i = 0; i < batches + 3; i++) {
        if (i >
            0) { /* a kernel is loaded when it is first launched, which waits for those that run */
            doors.close(stream);
        }
        CHECK(cudaEventRecord(begin, stream));
        const uint64_t before = host_ns();
        if (in_graph) {
            CHECK(cudaGraphLaunch(executable, stream));
        } else {
            launch_batch(kernel, blocks, overlap);
        }
        const uint64_t after = host_ns();
        CHECK(cudaEventRecord(end, stream));
        doors.open();
        CHECK(cudaStreamSynchronize(stream));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (i >= 3) {
            host.push_back(static_cast<double>(after - before) / batch);
            device.push_back(static_cast<double>(ms) * 1e6 / batch);
        }
    }
    if (executable != nullptr) {
        CHECK(cudaGraphExecDestroy(executable));
    }
    return {median(host), median(device)};
}

static void run_million()
{
    for (unsigned i = 0; i < 1000000 / batch; i++) {
        launch_batch(empty, 1, false);
    }
    CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    const unsigned batches = argc > 2 ? strtoul(argv[2], nullptr, 10) : 101;
    const bool in_graph = strcmp(way, "graph") == 0, overlap = strcmp(way, "overlap") == 0;
    const bool million = strcmp(way, "million") == 0;
    if ((!in_graph && !overlap && !million && strcmp(way, "stream") != 0) || batches == 0) {
        fprintf(stderr, "usage: %s stream|overlap|graph [BATCHES] | million\n", argv[0]);
        return 2;
    }
    need_device();
    const unsigned blocks = static_cast<unsigned>(sm_count());
    CHECK(cudaMalloc(&out, blocks * sizeof(*out)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    if (million) {
        run_million();
        return 0;
    }
    const bool asks = overlap || in_graph;
    const medians light = measure(asks ? chained : empty, 1, asks, in_graph, batches);
    const medians heavy =
        measure(asks ? working<true> : working<false>, blocks, asks, in_graph, batches);
    printf("{\"program\": \"cost\", \"way\": \"%s\", \"kernels\": %u, \"host_ns\": %.1f,"
           " \"device_ns_empty\": %.1f, \"device_ns_working\": %.1f}\n",
           way, batch * batches, light.host_ns, light.device_ns, heavy.device_ns);
    return 0;
}
