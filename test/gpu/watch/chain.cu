/* SPDX-License-Identifier: MIT */
/* chain stream|graph plain|attribute: a chain of kernels that wait and trigger, launched by <<<>>> or with the attribute of
 * programmatic dependent launch. Prints as JSON the time per kernel and a hash of the results. */
#include "programs.cuh"

static const unsigned threads = 128;

/* A prologue that needs nothing of the kernel in front, and the work, in cycles. */
static __global__ void stage(const unsigned *from, unsigned *to, unsigned cells)
{
    spin_cycles(4000);
    cudaGridDependencySynchronize();
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned value = from[(own + cells / 2 + 1) % cells]; /* of another block */
    spin_cycles(200);
    cudaTriggerProgrammaticLaunchCompletion();
    spin_cycles(4800);
    to[own] = value * 1664525u + own;
}

int main(int argc, char **argv)
{
    const bool in_graph = argc == 3 && strcmp(argv[1], "graph") == 0;
    const bool attribute = argc == 3 && strcmp(argv[2], "attribute") == 0;
    if (argc != 3 || (!in_graph && strcmp(argv[1], "stream") != 0) ||
        (!attribute && strcmp(argv[2], "plain") != 0)) {
        fprintf(stderr, "usage: %s stream|graph plain|attribute\n", argv[0]);
        return 2;
    }
    need_device();
    const unsigned blocks = static_cast<unsigned>(sm_count()), cells = blocks * threads;
    unsigned *buffers[2];
    cudaStream_t stream;
    for (unsigned *&buffer : buffers) {
        CHECK(cudaMalloc(&buffer, cells * sizeof(*buffer)));
        CHECK(cudaMemset(buffer, 0, cells * sizeof(*buffer)));
    }
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    const double us = us_per_kernel(stream, in_graph, [&] {
        for (unsigned i = 0; i < batch; i++) {
            unsigned *const from = buffers[i % 2], *const to = buffers[(i + 1) % 2];
            if (attribute) {
                launch(stage, blocks, threads, 0, stream, true, from, to, cells);
            } else {
                stage<<<blocks, threads, 0, stream>>>(from, to, cells);
            }
        }
        CHECK(cudaGetLastError());
    });
    printf("{\"program\": \"chain\", \"us_per_kernel\": %.3f, \"results\": \"%016llx\"}\n", us,
           hash_of(buffers[0], cells));
    return 0;
}
