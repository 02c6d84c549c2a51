/* SPDX-License-Identifier: MIT */
/* A decoder in miniature: the feed-forward half of a few layers, for one token. Two kernels a layer:
 * RMSNorm, gate and up with SiLU; and down with the residual. The time is that of reading weights, which
 * depend on nothing: each kernel has its weights on the way before it waits for its input, while the
 * kernel before still works. A whole decoder is `pdltool bench decode`. */
#include <pdl/chain.h>
#include <pdl/cudart.h>
#include <pdl/device.cuh>

#include "common.cuh"

static const int hidden = 1024, wide = 4096, layers = 6, threads = 256;

__device__ static float dot(float4 a, float4 b, float sum)
{
    return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, fmaf(a.w, b.w, sum))));
}

/* y = SiLU(gate x / rms) * (up x / rms): a warp for each of the `wide` rows of gate and of up. */
__global__ void gate_up(const float4 *weights, const float4 *x, float *y)
{
    const int lane = threadIdx.x % 32, row = (blockIdx.x * threads + threadIdx.x) / 32;
    float4 gate[hidden / 128], up[hidden / 128];
    PDL_CONSTANT_PARAM(weights);
#pragma unroll
    for (int i = 0; i < hidden / 128; i++) {
        gate[i] = weights[row * (hidden / 4) + 32 * i + lane];
        up[i] = weights[(wide + row) * (hidden / 4) + 32 * i + lane];
    }
    PDL_LAUNCH_DEPENDENTS(); /* the next kernel may load its weights */
    PDL_WAIT();
    float squares = 0, a = 0, b = 0;
#pragma unroll
    for (int i = 0; i < hidden / 128; i++) {
        const float4 part = PDL_LOAD(&x[32 * i + lane]);
        squares = dot(part, part, squares);
        a = dot(gate[i], part, a);
        b = dot(up[i], part, b);
    }
    const float scale = rsqrtf(sum_of_warp(squares) / hidden + 1e-5f);
    a = scale * sum_of_warp(a);
    b = scale * sum_of_warp(b);
    if (lane == 0) {
        y[row] = a / (1 + expf(-a)) * b;
    }
}

/* y = x + down h: a block for each of the `hidden` rows. */
__global__ void down(const float4 *weights, const float4 *h, const float *x, float *y)
{
    __shared__ float sums[threads / 32];
    const int row = blockIdx.x;
    float4 part[wide / (4 * threads)];
    PDL_CONSTANT_PARAM(weights);
#pragma unroll
    for (int i = 0; i < wide / (4 * threads); i++) {
        part[i] = weights[row * (wide / 4) + threads * i + threadIdx.x];
    }
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < wide / (4 * threads); i++) {
        sum = dot(part[i], PDL_LOAD(&h[threads * i + threadIdx.x]), sum);
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = PDL_LOAD(&x[row]);
        for (int i = 0; i < threads / 32; i++) {
            all += sums[i];
        }
        y[row] = all;
    }
}

static const size_t layer_weights = size_t{3} * hidden * wide; /* gate, up, down */

/* x behind a layer, in double precision. */
static std::vector<double> layer_on_host(const float *w, std::vector<double> x)
{
    std::vector<double> h;
    double squares = 0;
    for (const double value : x) {
        squares += value * value;
    }
    const double rms = std::sqrt(squares / hidden + 1e-5);
    for (int row = 0; row < wide; row++) {
        const double a = product(w + row * hidden, x) / rms;
        h.push_back(a / (1 + std::exp(-a)) * product(w + (wide + row) * hidden, x) / rms);
    }
    for (int row = 0; row < hidden; row++) {
        x[row] += product(w + 2 * wide * hidden + row * wide, h);
    }
    return x;
}

int main()
{
    require_device("09_decode");
    /* Values stay about as large as they are. */
    const std::vector<float> weights = random_numbers(layers * layer_weights, 1, 1.0f / 32);
    std::vector<float> values = random_numbers(hidden, 2); /* the input, and each layer's result */
    std::vector<double> expected(values.begin(), values.end());
    values.resize((layers + 1) * hidden);
    const float *const w = to_device(weights);
    float *const x = to_device(values), *const h = allocate<float>(wide);
    pdl_kernel *kernels[2];
    CHECK(pdl_kernel_from_symbol(gate_up, &kernels[0]));
    CHECK(pdl_kernel_from_symbol(down, &kernels[1]));
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < layers; i++) {
        expected = layer_on_host(&weights[i * layer_weights], expected);
    }

    bool good = true;
    double first = 0;
    for (const pdl_overlap overlap : {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO}) {
        pdl_chain *chain;
        CHECK(pdl_chain_create(nullptr, &chain));
        pdl_launch_desc desc = pdl_launch_desc_make(1, threads, 0, nullptr, overlap);
        for (int i = 0; i < layers; i++) {
            const float *const mine = w + i * layer_weights, *const last = mine + 2 * wide * hidden;
            float *const from = x + i * hidden, *const to = from + hidden;
            desc.grid[0] = 32 * wide / threads;
            CHECK(pdl_chain_add(chain, kernels[0], &desc, PDL_ARGS(mine, from, h), nullptr, 0,
                                nullptr));
            desc.grid[0] = hidden;
            CHECK(pdl_chain_add(chain, kernels[1], &desc, PDL_ARGS(last, h, from, to), nullptr, 0,
                                nullptr));
        }
        CHECK(pdl_chain_build(chain));
        CHECK(cudaMemset(x + hidden, 0xff, layers * hidden * sizeof(float))); /* not-a-number */
        CHECK(cudaDeviceSynchronize());
        CHECK(pdl_chain_launch(chain, stream)); /* the first loads the kernels */
        const int wrong = wrong_values(to_host(x + layers * hidden, hidden), expected, 1e-4);
        const double us = median_us(stream, [&] { CHECK(pdl_chain_launch(chain, stream)); });
        first = first == 0 ? us : first;
        std::printf("%s overlap: %.2f us a token, %.2f TB/s, %.2fx; %d of %d values are wrong\n",
                    overlap == PDL_OVERLAP_NONE ? "without" : "with", us,
                    4e-6 * static_cast<double>(weights.size()) / us, first / us, wrong, hidden);
        good = good && wrong == 0;
        pdl_chain_destroy(chain);
    }
    return verdict(good);
}
