/* SPDX-License-Identifier: MIT */
/* A chain from C++: 200 launches recorded once and replayed as one graph launch with programmatic
 * edges.
 *
 * A line of 197 links, then a fork and a join. Between replays an argument and the grid of one link
 * change, without building again; every replay is checked. Timed against the same launches with
 * `<<<>>>`, with the host out of it and with the host in it. */
#include <pdl/chain.h>
#include <pdl/cudart.h>
#include <pdl/device.cuh>

#include "buffer.cuh"
#include "timing.cuh"
#include "wall_clock.cuh"

static const int n = 4096;
static const int threads = 256;
static const unsigned line = 197;
static const unsigned left = line, right = line + 1, last = line + 2, links = line + 3;
static const unsigned changed = 100; /* the link whose argument and grid change */
static const int replays = 20;

/* Any grid will do. Tells which one it was. */
__global__ void step(const unsigned *PDL_RESTRICT in, unsigned *PDL_RESTRICT out, unsigned add,
                     unsigned *PDL_RESTRICT grid)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = 3 * in[i] + add;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *grid = gridDim.x;
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

struct buffers {
    device_buffer<unsigned> in{n}, turns{2 * n}, fork{2 * n}, out{n}, grids{links};

    /* What link number `link` reads and writes: the line goes back and forth between two buffers.
     * */
    const unsigned *input(unsigned link) const
    {
        return link == 0 ? in.get() : turns.get() + (std::min(link, line) + 1) % 2 * n;
    }
    unsigned *output(unsigned link) const
    {
        return link >= line ? fork.get() + (link - line) * n : turns.get() + link % 2 * n;
    }
};

static void record(pdl_chain *chain, const buffers &b, pdl_kernel *steps, pdl_kernel *joins)
{
    const pdl_launch_desc desc =
        pdl_launch_desc_make(n / threads, threads, 0, nullptr, PDL_OVERLAP_AUTO);
    for (unsigned link = 0; link < last; link++) {
        CHECK(pdl_chain_add(chain, steps, &desc,
                            PDL_ARGS(b.input(link), b.output(link), link, b.grids.get() + link),
                            nullptr, 0, nullptr));
    }
    CHECK(pdl_chain_add(chain, joins, &desc, PDL_ARGS(b.output(left), b.output(right), b.out.get()),
                        nullptr, 0, nullptr));
    /* A link depends on the one before it unless told otherwise: that is right for all but two. */
    CHECK(pdl_chain_add_dependency(chain, right, line - 1));
    CHECK(pdl_chain_add_dependency(chain, last, left));
    CHECK(pdl_chain_add_dependency(chain, last, right));
    CHECK(pdl_chain_build(chain));

    for (const unsigned link : {0u, 1u, left, right, last}) {
        pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
        CHECK(pdl_chain_explain(chain, link, &report));
        std::printf("  %s\n", report.message);
    }
}

static void launch_plain(const buffers &b, cudaStream_t stream)
{
    for (unsigned link = 0; link < last; link++) {
        step<<<n / threads, threads, 0, stream>>>(b.input(link), b.output(link), link,
                                                  b.grids.get() + link);
    }
    join<<<n / threads, threads, 0, stream>>>(b.output(left), b.output(right), b.out.get());
    CHECK(cudaGetLastError());
}

static std::vector<unsigned> reference(std::vector<unsigned> x, unsigned added)
{
    for (unsigned &value : x) {
        for (unsigned link = 0; link < line; link++) {
            value = 3 * value + (link == changed ? added : link);
        }
        value = (3 * value + left) ^ (5 * (3 * value + right));
    }
    return x;
}

/* Replays with another argument and another grid each time; returns how many were right. */
static int replay(pdl_chain *chain, const buffers &b, const std::vector<unsigned> &x,
                  cudaStream_t stream)
{
    int good = 0;
    for (int i = 0; i < replays; i++) {
        const unsigned add = 1000u + static_cast<unsigned>(i), grid = 1u + static_cast<unsigned>(i);
        const pdl_launch_desc desc =
            pdl_launch_desc_make(grid, threads, 0, nullptr, PDL_OVERLAP_AUTO);
        CHECK(pdl_chain_set_args(
            chain, changed,
            PDL_ARGS(b.input(changed), b.output(changed), add, b.grids.get() + changed)));
        CHECK(pdl_chain_set_desc(chain, changed, &desc));
        b.out.fill(0);
        CHECK(pdl_chain_launch(chain, stream));
        CHECK(cudaStreamSynchronize(stream));
        good += b.out.host() == reference(x, add) && b.grids.host()[changed] == grid;
    }
    return good;
}

int main()
{
    require_device("05_chain");
    gated_stream gate;
    const buffers b;
    std::vector<unsigned> x(n);
    for (unsigned i = 0; i < n; i++) {
        x[i] = 2654435761u * i;
    }
    b.in.set(x);

    pdl_kernel *steps, *joins;
    pdl_chain *chain;
    CHECK(pdl_kernel_from_symbol(step, &steps));
    CHECK(pdl_kernel_from_symbol(join, &joins));
    CHECK(pdl_chain_create(nullptr, &chain));
    std::printf("%u links:\n", links);
    record(chain, b, steps, joins);
    CHECK(pdl_chain_upload(chain, gate.stream)); /* else the first replay does it */

    const int good = replay(chain, b, x, gate.stream);
    std::printf("%d of %d replays with changed arguments and grid are right\n", good, replays);

    /* What would change the edges needs another build, and says so. */
    const pdl_launch_desc serial = pdl_launch_desc_make(1, threads);
    const pdl_status refused = pdl_chain_set_desc(chain, changed, &serial);
    std::printf("without overlap: %s: %s\n", pdl_status_name(refused), pdl_last_error()->message);

    launch_plain(b, gate.stream);
    CHECK(cudaStreamSynchronize(gate.stream));
    bool plain_good = b.out.host() == reference(x, changed);
    std::vector<double> device[2], wall[2];
    for (int round = 0; round < 41; round++) {
        const auto plain = [&] { launch_plain(b, gate.stream); };
        const auto chained = [&] { CHECK(pdl_chain_launch(chain, gate.stream)); };
        device[0].push_back(gate.run(plain) / links);
        device[1].push_back(gate.run(chained) / links);
        wall[0].push_back(wall_us(gate.stream, plain) / links);
        wall[1].push_back(wall_us(gate.stream, chained) / links);
    }
    std::printf("us a link, median of 41: <<<>>> %.3f on the device, %.3f with the host; "
                "chain %.3f and %.3f (%.1f and %.1f times as fast)\n",
                median(device[0]), median(wall[0]), median(device[1]), median(wall[1]),
                median(device[0]) / median(device[1]), median(wall[0]) / median(wall[1]));
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(joins);
    pdl_kernel_destroy(steps);

    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &info));
    const bool refusal_good = refused == (info.can_overlap ? PDL_ERROR_REBUILD : PDL_SUCCESS);
    const bool all_good = good == replays && refusal_good && plain_good;
    std::printf("%s\n", all_good ? "PASS" : "FAIL");
    return all_good ? 0 : 1;
}
