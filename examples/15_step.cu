/* SPDX-License-Identifier: MIT */
/* A whole step of a program as one chain, which is one graph launch. A load comes from the host, kernels
 * scale and smooth it and solve a system of equations with it, a library forms the dot product of
 * load and solution, and a host function receives its root:
 *
 *     copy, memset, scale, smooth, while (change > limit) { sweep, sweep, decide },
 *     what cuBLAS or CUB launches, root, copy, host function
 *
 * The factor of the scale is an argument that changes between replays. Each result is checked. */
#include <pdl/chain.h>
#include <pdl/cudart.h>

#include "buffer.cuh"
#include "step_parts.cuh"

static const int replays = 8;

struct results {
    float *latest; /* pinned: where the copy puts it */
    std::vector<double> all;
};

static void keep(void *data) /* on a thread of the driver */
{
    auto *of = static_cast<results *>(data);
    of->all.push_back(*of->latest);
}

static pdl_chain_node make_node(pdl_node_kind kind, void *destination, const void *source,
                                size_t bytes)
{
    pdl_chain_node node = PDL_CHAIN_NODE_INIT;
    node.kind = kind;
    node.destination = destination;
    node.source = source;
    node.width = bytes;
    return node;
}

static uint32_t add(pdl_chain *chain, const pdl_chain_node &node)
{
    uint32_t link = 0;
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
    const pdl_launch_desc desc =
        pdl_launch_desc_make(blocks, threads, 0, nullptr, PDL_OVERLAP_AUTO);
    CHECK(pdl_kernel_from_symbol(function, &kernel));
    CHECK(pdl_chain_add(chain, kernel, &desc, PDL_ARGS(arguments...), nullptr, 0, &link));
    return link;
}

int main()
{
    require_device("15_step");
    device_buffer<float> load(n), scaled(n), b(n), other(n), dot(1);
    device_buffer<solution> found(1);
    float *const x = found.get()->x;
    int *const change = &found.get()->change;
    float *host = nullptr; /* the load, and the result behind it */
    CHECK(cudaMallocHost(&host, (n + 1) * sizeof(float)));
    for (int i = 0; i < n; i++) {
        host[i] = static_cast<float>(1 + i % 100);
    }
    results got = {host + n, {}};
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    library_dot(stream, x, b.get(), dot.get());
    CHECK(cudaStreamSynchronize(stream));

    const cudaGraphConditionalHandle set_by_the_chain = 0;
    const float limit = 1e-3f; /* of x, which is up to 200 */
    pdl_chain *chain, *body;
    CHECK(pdl_chain_create(nullptr, &chain));
    add(chain, make_node(PDL_NODE_COPY, load.get(), host, n * sizeof(float)));
    add(chain, make_node(PDL_NODE_MEMSET, found.get(), nullptr, sizeof(solution)));
    const uint32_t scaling = add(chain, scale, n / 256, 256, load.get(), scaled.get(), 1.0f);
    add(chain, smooth, n / 256, 256, scaled.get(), b.get());
    pdl_chain_node loop = make_node(PDL_NODE_WHILE, nullptr, nullptr, 0);
    loop.initial = 1; /* the condition when a replay begins */
    const uint32_t rounds = add(chain, loop);
    CHECK(pdl_chain_body(chain, rounds, 0, &body));
    add(body, sweep, n / 256, 256, b.get(), x, other.get(), change);
    add(body, sweep, n / 256, 256, b.get(), other.get(), x, change);
    const uint32_t decides = add(body, decide, 1, 1, set_by_the_chain, found.get(), limit);
    CHECK(pdl_chain_pass_condition(body, decides, 0, chain, rounds));
    uint32_t captured = 0;
    CHECK(pdl_chain_capture_begin(chain, stream));
    library_dot(stream, x, b.get(), dot.get());
    CHECK(pdl_chain_capture_end(chain, &captured));
    add(chain, root, 1, 1, dot.get());
    add(chain, make_node(PDL_NODE_COPY, got.latest, dot.get(), sizeof(float)));
    pdl_chain_node call = make_node(PDL_NODE_HOST, nullptr, nullptr, 0);
    call.function = keep;
    call.data = &got;
    add(chain, call);
    CHECK(pdl_chain_build(chain));

    pdl_census census = PDL_CENSUS_INIT;
    std::vector<pdl_full_dependency> full(32);
    census.full_dependencies = full.data();
    census.full_capacity = 32;
    CHECK(pdl_chain_census(chain, &census));
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    CHECK(pdl_chain_explain(chain, captured, &report));
    std::printf(
        "%u links: %u nodes (%u kernels, %u nodes of the library) and %u edges, %u programmatic\n",
        report.links, census.nodes, census.kernels, report.nodes, census.edges,
        census.programmatic);
    for (unsigned i = 0; i < census.full_count && i < census.full_capacity; i++) {
        std::printf("  %s waits for the end of %s: %s\n", full[i].consumer_name,
                    full[i].producer_name,
                    pdl_full_reason_string(static_cast<pdl_full_reason>(full[i].reason)));
    }

    for (int i = 1; i <= replays; i++) { /* a replay has the arguments of its launch */
        const float factor = static_cast<float>(i) / 2;
        CHECK(pdl_chain_set_args(chain, scaling, PDL_ARGS(load.get(), scaled.get(), factor)));
        CHECK(pdl_chain_launch(chain, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    const double unit = expected(host);
    int good = 0;
    for (size_t i = 0; i < got.all.size(); i++) {
        good += std::fabs(got.all[i] / (unit * (i + 1) / 2) - 1) < 1e-4;
    }
    std::printf("%zu replays, %d results right; the last one took %d rounds\n", got.all.size(),
                good, found.host()[0].rounds);
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &device));
    const bool overlaps = census.programmatic >= 3; /* scale to smooth, and two in the body */
    const bool right =
        good == replays && got.all.size() == replays && (overlaps || !device.can_overlap);
    pdl_chain_destroy(chain); /* before what its nodes use */
    CHECK(cudaFreeHost(host));
    std::printf("%s\n", right ? "PASS" : "FAIL");
    return right ? 0 : 1;
}
