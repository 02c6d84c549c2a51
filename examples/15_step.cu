/* SPDX-License-Identifier: MIT */
/* A whole step of a program as one chain, which is one graph launch. A load comes from the host, kernels
 * scale it and solve a system of equations with it, a library adds up the solution, and a host function
 * receives the sum:
 *
 *     copy, memset, scale, while (change > limit) { sweep, sweep, decide }, CUB's sum, copy, function
 *
 * The factor of the scale is an argument that changes between replays. */
#include <cub/device/device_reduce.cuh>
#include <pdl/chain.h>
#include <pdl/cudart.h>
#include <pdl/device.cuh>

#include "common.cuh"

static const cudaGraphConditionalHandle no_handle = 0; /* the chain replaces it */
static const int n = 1 << 16, most_rounds = 100, replays = 8;

__global__ void scale(const float *load, float *PDL_RESTRICT b, float factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    const float value = PDL_LOAD(&load[i]);
    PDL_LAUNCH_DEPENDENTS(); /* as in all kernels here: what was read is no longer needed */
    b[i] = factor * value;
}

struct solution { /* what the memset clears */
    float x[n];
    int change; /* the largest one of a round: a float, not negative, so that integers order it */
    int rounds;
};

/* A sweep towards the solution of 4 x[i] - x[i-1] - x[i+1] = b[i] takes each x[i] from its neighbours. */
__global__ void sweep(const float *b, const float *PDL_RESTRICT x, float *PDL_RESTRICT out,
                      int *change)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    const float was = PDL_LOAD(&x[i]);
    const float sides = (i > 0 ? PDL_LOAD(&x[i - 1]) : 0) + (i + 1 < n ? PDL_LOAD(&x[i + 1]) : 0);
    const float is = (PDL_LOAD(&b[i]) + sides) / 4;
    PDL_LAUNCH_DEPENDENTS();
    out[i] = is;
    atomicMax(change, __float_as_int(fabsf(is - was)));
}

__global__ void decide(cudaGraphConditionalHandle again, solution *of, float limit)
{
    PDL_WAIT();
    const float change = __int_as_float(PDL_LOAD(&of->change));
    cudaGraphSetConditional(again, change > limit && ++of->rounds < most_rounds);
    of->change = 0;
}

static float *host; /* pinned: the load, and behind it the result of a replay */
static std::vector<float> received;

static void keep(void *) /* a host function, on a thread of the driver */
{
    received.push_back(host[n]);
}

static uint32_t add(pdl_chain *chain, pdl_node_kind kind, void *destination, const void *source,
                    size_t bytes)
{
    uint32_t link = 0;
    pdl_chain_node node = PDL_CHAIN_NODE_INIT;
    node.kind = kind;
    node.destination = destination;
    node.source = source;
    node.width = bytes;
    node.initial = kind == PDL_NODE_WHILE; /* the condition when a replay begins */
    node.function = kind == PDL_NODE_HOST ? keep : nullptr;
    CHECK(pdl_chain_add_node(chain, &node, &link));
    return link;
}

/* Adds a kernel that may overlap what is before it. */
template <typename... Parameters, typename... Arguments>
static uint32_t add(pdl_chain *chain, void (*function)(Parameters...), int blocks, int threads,
                    const Arguments &...arguments)
{
    uint32_t link = 0;
    pdl_kernel *kernel = nullptr; /* which the chain uses until the program ends */
    const auto desc = pdl_launch_desc_make(blocks, threads, 0, nullptr, PDL_OVERLAP_AUTO);
    CHECK(pdl_kernel_from_symbol(function, &kernel));
    CHECK(pdl_chain_add(chain, kernel, &desc, PDL_ARGS(arguments...), nullptr, 0, &link));
    return link;
}

/* What the load for a factor of 1 is made from. */
static float solution_at(int i)
{
    return i >= 0 && i < n ? static_cast<float>(1 + i % 100) : 0;
}

int main()
{
    const pdl_device_info device = require_device("15_step");
    const float limit = 1e-3f; /* of x, which is up to 400 */
    float *const load = allocate<float>(n), *const b = allocate<float>(n);
    float *const other = allocate<float>(n), *const sum = allocate<float>(1);
    solution *const found = allocate<solution>(1);
    float *const x = found->x;
    double unit = 0; /* the sum for a factor of 1 */
    CHECK(cudaMallocHost(&host, (n + 1) * sizeof(float)));
    for (int i = 0; i < n; i++) {
        host[i] = 4 * solution_at(i) - solution_at(i - 1) - solution_at(i + 1);
        unit += solution_at(i);
    }
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    size_t bytes = 32 << 20; /* for CUB, whose first call loads its kernels: not in a capture */
    void *const scratch = allocate<char>(bytes);
    CHECK(cub::DeviceReduce::Sum(scratch, bytes, x, sum, n, stream));
    pdl_chain *chain, *body; /* the end of the program frees what its nodes use */
    CHECK(pdl_chain_create(nullptr, &chain));
    add(chain, PDL_NODE_COPY, load, host, n * sizeof(float));
    add(chain, PDL_NODE_MEMSET, found, nullptr, sizeof(solution));
    const uint32_t scaling = add(chain, scale, n / 256, 256, load, b, 1.0f);
    const uint32_t rounds = add(chain, PDL_NODE_WHILE, nullptr, nullptr, 0);
    CHECK(pdl_chain_body(chain, rounds, 0, &body));
    add(body, sweep, n / 256, 256, b, x, other, &found->change);
    add(body, sweep, n / 256, 256, b, other, x, &found->change);
    const uint32_t decides = add(body, decide, 1, 1, no_handle, found, limit);
    CHECK(pdl_chain_pass_condition(body, decides, 0, chain, rounds));
    CHECK(pdl_chain_capture_begin(chain, stream));
    CHECK(cub::DeviceReduce::Sum(scratch, bytes, x, sum, n, stream));
    CHECK(pdl_chain_capture_end(chain, nullptr));
    add(chain, PDL_NODE_COPY, host + n, sum, sizeof(float));
    add(chain, PDL_NODE_HOST, nullptr, nullptr, 0);
    CHECK(pdl_chain_build(chain));
    pdl_census census = PDL_CENSUS_INIT;
    cudaGraph_t graph;
    CHECK(pdl_chain_graph(body, &graph));
    CHECK(pdl_graph_census(graph, &census));
    for (int i = 1; i <= replays; i++) { /* a replay has the arguments of its launch */
        const float factor = static_cast<float>(i) / 2;
        CHECK(pdl_chain_set_args(chain, scaling, PDL_ARGS(load, b, factor)));
        CHECK(pdl_chain_launch(chain, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    int right = 0;
    for (size_t i = 0; i < received.size(); i++) {
        right += std::fabs(received[i] / (unit * (i + 1) / 2) - 1) < 3e-4;
    }
    std::printf("%zu replays, %d results right; the last one took %d rounds\n", received.size(),
                right, to_host(found, 1)[0].rounds);
    const bool overlaps = census.programmatic >= 2 || !device.can_overlap;
    return verdict(right == replays && received.size() == replays && overlaps);
}
