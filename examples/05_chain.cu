/* SPDX-License-Identifier: MIT */
/* A chain from C++: 200 launches recorded once and replayed as one graph launch with programmatic
 * edges. A line of 197 links, then a fork and a join. Between replays an argument and the grid of
 * one link change, without building again; every replay is checked. */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <pdl/chain.h>
#include <pdl/cudart.h>
#include <pdl/device.cuh>

static const unsigned n = 4096, threads = 256;
static const unsigned line = 197, left = line, right = line + 1, last = line + 2, links = line + 3;
static const unsigned changed = 100; /* the link whose argument and grid change */
static const int replays = 20;

__global__ void step(const unsigned *PDL_RESTRICT in, unsigned *PDL_RESTRICT out, unsigned add)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = 3 * in[i] + add;
    }
}

__global__ void join(const unsigned *PDL_RESTRICT a, const unsigned *PDL_RESTRICT b,
                     unsigned *PDL_RESTRICT out)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = a[i] ^ (5 * b[i]);
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

/* The output of each link; the line goes back and forth between two buffers. */
static unsigned *output(unsigned *memory, unsigned link)
{
    return memory + n * (link < line ? 1 + link % 2 : 3 + link - line);
}

static const unsigned *input(unsigned *memory, unsigned link)
{
    return link == 0 ? memory : output(memory, (link < line ? link : line) - 1);
}

/* Whether the join's output is that of a line in which link number `changed` added `added`. */
static bool is_right(unsigned *memory, unsigned added)
{
    std::vector<unsigned> out(n);
    check(cudaDeviceSynchronize());
    check(
        cudaMemcpy(out.data(), output(memory, last), n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n; i++) {
        unsigned value = 2654435761u * i;
        for (unsigned link = 0; link < line; link++) {
            value = 3 * value + (link == changed ? added : link);
        }
        if (out[i] != ((3 * value + left) ^ (5 * (3 * value + right)))) {
            return false;
        }
    }
    return true;
}

int main()
{
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    if (pdl_device_get(0, &device) != PDL_SUCCESS || device.compute_capability_major < 9) {
        std::printf("05_chain: skipped: it needs a device of compute capability 9.0. %s\n",
                    pdl_last_error()->message);
        return 77;
    }
    unsigned *memory; /* the input and the outputs */
    pdl_kernel *steps, *joins;
    pdl_chain *chain;
    std::vector<unsigned> x(n);
    for (unsigned i = 0; i < n; i++) {
        x[i] = 2654435761u * i;
    }
    check(cudaMalloc(&memory, 6 * n * sizeof(unsigned)));
    check(cudaMemcpy(memory, x.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    check(pdl_kernel_from_symbol(step, &steps));
    check(pdl_kernel_from_symbol(join, &joins));
    check(pdl_chain_create(nullptr, &chain));
    std::printf("%u links:\n", links);

    pdl_launch_desc desc = pdl_launch_desc_make(n / threads, threads, 0, nullptr, PDL_OVERLAP_AUTO);
    for (unsigned link = 0; link < last; link++) {
        check(pdl_chain_add(chain, steps, &desc,
                            PDL_ARGS(input(memory, link), output(memory, link), link), nullptr, 0,
                            nullptr));
    }
    check(pdl_chain_add(chain, joins, &desc,
                        PDL_ARGS(output(memory, left), output(memory, right), output(memory, last)),
                        nullptr, 0, nullptr));
    /* A link depends on the one before it unless told otherwise: that is right for all but two. */
    check(pdl_chain_add_dependency(chain, right, line - 1));
    check(pdl_chain_add_dependency(chain, last, left));
    check(pdl_chain_add_dependency(chain, last, right));
    check(pdl_chain_build(chain));
    for (const unsigned link : {0u, 1u, left, right, last}) {
        pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
        check(pdl_chain_explain(chain, link, &report));
        std::printf("  %s\n", report.message);
    }

    int good = 0;
    for (unsigned i = 0; i < replays; i++) {
        const unsigned add = 1000 + i;
        desc.grid[0] = 1 + i;
        check(pdl_chain_set_args(chain, changed,
                                 PDL_ARGS(input(memory, changed), output(memory, changed), add)));
        check(pdl_chain_set_desc(chain, changed, &desc));
        check(pdl_chain_launch(chain, nullptr));
        good += is_right(memory, add);
    }
    std::printf("%d of %d replays with changed arguments and grid are right\n", good, replays);

    /* What would change the edges needs another build, and says so. */
    desc.overlap = PDL_OVERLAP_NONE;
    const pdl_status refused = pdl_chain_set_desc(chain, changed, &desc);
    std::printf("without overlap: %s: %s\n", pdl_status_name(refused), pdl_last_error()->message);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(joins);
    pdl_kernel_destroy(steps);
    const bool right_refusal = refused == (device.can_overlap ? PDL_ERROR_REBUILD : PDL_SUCCESS);
    std::printf("%s\n", good == replays && right_refusal ? "PASS" : "FAIL");
    return good == replays && right_refusal ? 0 : 1;
}
