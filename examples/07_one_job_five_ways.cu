/* SPDX-License-Identifier: MIT */
/* One job of three dependent stages, run in five ways: three kernels with `<<<>>>`; the same with
 * overlap; these captured into a graph; a chain, whose arguments can change; and one cooperative kernel
 * with a barrier of the grid between stages. Which is fastest, and do they agree to the bit?
 *
 * A value of a stage needs two of the stage before, one of them of another block. */
#include <cstring>

#include <cooperative_groups.h>
#include <pdl/chain.h>
#include <pdl/cudart.h>
#include <pdl/device.cuh>

#include "common.cuh"

static const unsigned blocks = 64, threads = 256, n = blocks * threads;
static const unsigned stages = 3, jobs = 50; /* in a batch: 150 launches */

__host__ __device__ inline unsigned partner(unsigned i, unsigned stage)
{
    return (i + (2 * stage + 1) * threads) % n;
}

/* The weight is loaded before the wait, beside the stage before: nobody writes it. */
__global__ void run_stage(const float *weights, const float *x, float *y, unsigned stage)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_CONSTANT_PARAM(weights);
    const float weight = weights[stage * n + i];
    PDL_LAUNCH_DEPENDENTS(); /* the next stage may load its weights */
    PDL_WAIT();
    y[i] = weight * (PDL_LOAD(&x[i]) + PDL_LOAD(&x[partner(i, stage)]));
}

/* All blocks must be on the device together, which a cooperative launch guarantees. */
__global__ void run_job(const float *weights, float *values)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned stage = 0; stage < stages; stage++) {
        const float *const in = values + stage * n;
        const float weight = weights[stage * n + i];
        if (stage > 0) {
            cooperative_groups::this_grid().sync();
        }
        values[(stage + 1) * n + i] =
            weight * (PDL_LOAD(&in[i]) + PDL_LOAD(&in[partner(i, stage)]));
    }
}

enum way { PLAIN, OVERLAPPED, GRAPH, CHAIN, ONE_KERNEL, WAYS };
static const char *const way_names[WAYS] = {"three kernels, <<<>>>", "three kernels, overlapped",
                                            "a graph of these", "a chain",
                                            "one kernel, grid barriers"};

struct job {
    const float *weights;
    float *values; /* the input, and the output of each stage */
    cudaGraphExec_t graph;
    pdl_chain *chain;

    float *in(unsigned stage) const
    {
        return values + stage * n;
    }

    void run(way how, cudaStream_t stream) const
    {
        pdl_launch_desc desc = pdl_launch_desc_make(blocks, threads, 0, stream, PDL_OVERLAP_AUTO);
        if (how == GRAPH) {
            CHECK(cudaGraphLaunch(graph, stream));
        } else if (how == CHAIN) {
            CHECK(pdl_chain_launch(chain, stream));
        } else if (how == ONE_KERNEL) {
            desc.overlap = PDL_OVERLAP_NONE;
            desc.cooperative = 1;
            CHECK(pdl_launch_kernel(desc, run_job, weights, values));
        }
        for (unsigned i = 0; i < stages && how <= OVERLAPPED; i++) {
            if (how == PLAIN) {
                run_stage<<<blocks, threads, 0, stream>>>(weights, in(i), in(i + 1), i);
            } else {
                CHECK(pdl_launch_kernel(desc, run_stage, weights, in(i), in(i + 1), i));
            }
        }
        CHECK(cudaGetLastError());
    }
};

static std::vector<float> on_host(const std::vector<float> &weights, std::vector<float> x)
{
    for (unsigned stage = 0; stage < stages; stage++) {
        std::vector<float> y;
        for (unsigned i = 0; i < n; i++) {
            y.push_back(weights[stage * n + i] * (x[i] + x[partner(i, stage)]));
        }
        x = y;
    }
    return x;
}

int main()
{
    require_device("07_one_job_five_ways");
    const std::vector<float> weights = random_numbers(stages * n, 1), x = random_numbers(n, 2);
    const std::vector<float> expected = on_host(weights, x);
    job work = {to_device(weights), allocate<float>((stages + 1) * n), nullptr, nullptr};
    CHECK(cudaMemcpy(work.values, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    work.run(OVERLAPPED, stream); /* loads the kernel, better not in a capture */
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    work.run(OVERLAPPED, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&work.graph, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    pdl_kernel *kernel;
    const pdl_launch_desc link =
        pdl_launch_desc_make(blocks, threads, 0, nullptr, PDL_OVERLAP_AUTO);
    CHECK(pdl_kernel_from_symbol(run_stage, &kernel));
    CHECK(pdl_chain_create(nullptr, &work.chain));
    for (unsigned i = 0; i < stages; i++) {
        CHECK(pdl_chain_add(work.chain, kernel, &link,
                            PDL_ARGS(work.weights, work.in(i), work.in(i + 1), i), nullptr, 0,
                            nullptr));
    }
    CHECK(pdl_chain_build(work.chain));

    bool good = true;
    double us[WAYS];
    for (int i = 0; i < WAYS; i++) {
        const way how = static_cast<way>(i);
        CHECK(cudaMemset(work.in(1), 0xff, stages * n * sizeof(float))); /* not-a-number */
        CHECK(cudaDeviceSynchronize());
        work.run(how, stream);
        const std::vector<float> y = to_host(work.in(stages), n);
        const bool same = std::memcmp(y.data(), expected.data(), n * sizeof(float)) == 0;
        us[i] = median_us(stream,
                          [&] {
                              for (unsigned times = 0; times < jobs; times++) {
                                  work.run(how, stream);
                              }
                          }) /
                jobs;
        std::printf("%-26s %6.2f us, %.2fx%s\n", way_names[i], us[i], us[PLAIN] / us[i],
                    same ? "" : ", wrong");
        good = good && same;
    }
    return verdict(good);
}
