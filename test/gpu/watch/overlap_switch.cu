/* SPDX-License-Identifier: MIT */
/* overlap_switch stream|graph plain|attribute: a chain of kernels that wait and trigger, launched by <<<>>> or with the
 * attribute of programmatic dependent launch. Prints as JSON the time per kernel, the median of batches, and a hash of the
 * results. Compiled with -DWITHOUT_PDL the kernels neither wait nor trigger, and nothing has the attribute. */
#include <algorithm>
#include <vector>

#include "programs.cuh"

static const unsigned threads = 128;
static const unsigned batch =
    200; /* kernels; what the queue of a stream holds without holding up the host */
static const unsigned batches = 41;

/* Phases in cycles: a prologue that needs nothing of the kernel in front, and the work. */
static const long long prologue_cycles = 4000, before_trigger_cycles = 200,
                       after_trigger_cycles = 4800;

static __global__ void stage(const unsigned *from, unsigned *to, unsigned cells)
{
    spin_cycles(prologue_cycles);
#ifndef WITHOUT_PDL
    cudaGridDependencySynchronize();
#endif
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned value = from[(own + cells / 2 + 1) % cells]; /* of another block */
    spin_cycles(before_trigger_cycles);
#ifndef WITHOUT_PDL
    cudaTriggerProgrammaticLaunchCompletion();
#endif
    spin_cycles(after_trigger_cycles);
    to[own] = value * 1664525u + own;
}

static unsigned *buffers[2];
static unsigned blocks;
static bool attribute;

static void launch_batch(cudaStream_t stream)
{
    const unsigned cells = blocks * threads;
    for (unsigned i = 0; i < batch; i++) {
        const unsigned *from = buffers[i % 2];
        unsigned *to = buffers[(i + 1) % 2];
        if (attribute) {
            launch(stage, blocks, threads, 0, stream, true, from, to, cells);
        } else {
            stage<<<blocks, threads, 0, stream>>>(from, to, cells);
        }
    }
    CHECK(cudaGetLastError());
}

static uint64_t hash_results()
{
    std::vector<unsigned> cells(blocks * threads);
    CHECK(cudaMemcpy(cells.data(), buffers[0], cells.size() * sizeof(cells[0]),
                     cudaMemcpyDeviceToHost));
    uint64_t hash = 14695981039346656037ull; /* FNV-1a */
    for (const unsigned cell : cells) {
        hash = (hash ^ cell) * 1099511628211ull;
    }
    return hash;
}

int main(int argc, char **argv)
{
    const bool in_graph = argc == 3 && strcmp(argv[1], "graph") == 0;
    attribute = argc == 3 && strcmp(argv[2], "attribute") == 0;
    if (argc != 3 || (!in_graph && strcmp(argv[1], "stream") != 0) ||
        (!attribute && strcmp(argv[2], "plain") != 0)) {
        fprintf(stderr, "usage: %s stream|graph plain|attribute\n", argv[0]);
        return 2;
    }
#ifdef WITHOUT_PDL
    if (attribute) {
        fprintf(stderr, "built without programmatic dependent launch\n");
        return 2;
    }
#endif
    need_device();
    blocks = static_cast<unsigned>(sm_count());
    for (unsigned *&buffer : buffers) {
        CHECK(cudaMalloc(&buffer, blocks * threads * sizeof(*buffer)));
        CHECK(cudaMemset(buffer, 0, blocks * threads * sizeof(*buffer)));
    }
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    cudaGraphExec_t executable = nullptr;
    if (in_graph) {
        cudaGraph_t graph = nullptr;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        launch_batch(stream);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&executable, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    } else {
        launch_batch(stream); /* loads the kernel */
    }
    CHECK(cudaDeviceSynchronize());
    gate doors;
    std::vector<float> times;
    for (unsigned i = 0; i < batches; i++) {
        doors.close(stream);
        CHECK(cudaEventRecord(begin, stream));
        if (in_graph) {
            CHECK(cudaGraphLaunch(executable, stream));
        } else {
            launch_batch(stream);
        }
        CHECK(cudaEventRecord(end, stream));
        doors.open();
        CHECK(cudaStreamSynchronize(stream));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times.push_back(ms * 1000 / batch);
    }
    std::sort(times.begin(), times.end());
    printf("{\"program\": \"%s\", \"way\": \"%s %s\", \"kernels\": %u, \"us_per_kernel\": %.3f,"
           " \"p25\": %.3f, \"p75\": %.3f, \"results\": \"%016llx\"}\n",
#ifdef WITHOUT_PDL
           "overlap_switch_without_pdl",
#else
           "overlap_switch",
#endif
           argv[1], argv[2], batch * batches, times[batches / 2], times[batches / 4],
           times[3 * batches / 4], static_cast<unsigned long long>(hash_results()));
    return 0;
}
