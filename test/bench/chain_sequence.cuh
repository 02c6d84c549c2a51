/* SPDX-License-Identifier: MIT */
/* A sequence of kernels that is launched in several ways, and that can show whether all of it ran
 * in order. */
#ifndef PDL_TEST_CHAIN_SEQUENCE_CUH
#define PDL_TEST_CHAIN_SEQUENCE_CUH

#include <pdl/chain.h>
#include <pdl/cudart.h>
#include <pdl/device.cuh>

#include "common.cuh"

/* ---- kernels -------------------------------------------------------------------------------- */

/* Shows on the device whether all kernels of a sequence ran in order. */
struct order {
    unsigned next;   /* the number of the kernel that is due */
    unsigned wrong;  /* kernels that were not */
    unsigned passes; /* how often the last kernel ran */
};

__device__ static void busy(unsigned cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < static_cast<long long>(cycles)) {
    }
}

/* One kernel of a sequence: a prologue, then after the wait the main part, the trigger, and the
 * rest, in cycles of the SM's clock. Without phases it is empty and triggers first. If it is
 * checked, one thread looks whether it is this kernel's turn: the load is issued before the main
 * part and its value is needed after it. */
template <bool Phases, bool Checked>
static __global__ void work(order *turn, unsigned number, unsigned after_it, unsigned prologue,
                            unsigned main_part, unsigned rest)
{
    const bool checks = Checked && blockIdx.x == 0 && threadIdx.x == 0;
    unsigned due = number;
    if (Phases) {
        busy(prologue);
    } else {
        PDL_LAUNCH_DEPENDENTS();
    }
    PDL_WAIT();
    if (checks) {
        due = PDL_LOAD(&turn->next);
    }
    if (Phases) {
        busy(main_part);
        PDL_LAUNCH_DEPENDENTS();
        busy(rest);
    }
    if (checks) {
        if (due != number) {
            atomicAdd(&turn->wrong, 1u);
        }
        if (after_it == 0) {
            atomicAdd(&turn->passes, 1u);
        }
        turn->next = after_it;
    }
}

typedef void (*work_function)(order *, unsigned, unsigned, unsigned, unsigned, unsigned);

/* ---- sequences ------------------------------------------------------------------------------ */

struct configuration {
    const char *key;
    const char *name;
    unsigned grid;
    unsigned block;
    bool phases;
    unsigned prologue, main_part, rest; /* cycles */
};

static const configuration configurations[] = {
    {"empty_1", "empty, 1 block", 1, 128, false, 0, 0, 0},
    {"empty_132", "empty, 132 blocks", 132, 128, false, 0, 0, 0},
    {"phases_2_4_0", "2 / 4 / 0 thousand cycles", 132, 128, true, 2000, 4000, 0},
    {"phases_2_2_2", "2 / 2 / 2", 132, 128, true, 2000, 2000, 2000},
    {"phases_2_02_38", "2 / 0.2 / 3.8", 132, 128, true, 2000, 200, 3800},
    {"phases_02_4_0", "0.2 / 4 / 0", 132, 128, true, 200, 4000, 0},
    {"phases_4_4_4", "4 / 4 / 4", 132, 128, true, 4000, 4000, 4000},
};
static const int configuration_count = sizeof(configurations) / sizeof(configurations[0]);

enum method { PLAIN, STREAM_PDL, GRAPH, GRAPH_PDL, CHAIN, METHOD_COUNT };

static const struct {
    const char *key;
    const char *name;
} methods[METHOD_COUNT] = {
    {"plain", "<<<>>>"},         {"stream_pdl", "cudaLaunchKernelExC, PDL attribute"},
    {"graph", "captured graph"}, {"graph_pdl", "captured graph, programmatic edges"},
    {"chain", "pdl_chain"},
};

/* The same kernels with the same arguments, ready to be launched in each way. */
class sequence
{
  public:
    sequence(const configuration &config, bool checked, unsigned kernels, cudaStream_t stream)
        : config_(config), kernels_(kernels), stream_(stream), symbol_(choose(config, checked))
    {
        CHECK(cudaMalloc(&turn_, sizeof(*turn_)));
        launch_plain(); /* loads the kernel */
        forget_order();
        CHECK(pdl_kernel_from_symbol(symbol_, &kernel_));
        capture(PLAIN, &graphs_[0], &execs_[0]);
        capture(STREAM_PDL, &graphs_[1], &execs_[1]);
        CHECK(pdl_chain_create(nullptr, &chain_));
        add_links(chain_);
        CHECK(pdl_chain_build(chain_));
    }
    ~sequence()
    {
        pdl_chain_destroy(chain_);
        for (int i = 0; i < 2; i++) {
            cudaGraphExecDestroy(execs_[i]);
            cudaGraphDestroy(graphs_[i]);
        }
        pdl_kernel_destroy(kernel_);
        cudaFree(turn_);
    }
    sequence(const sequence &) = delete;
    sequence &operator=(const sequence &) = delete;

    /* Launches all kernels once, without waiting for them. */
    void launch(method how)
    {
        switch (how) {
        case PLAIN:
            launch_plain();
            break;
        case STREAM_PDL:
            launch_pdl();
            break;
        case GRAPH:
            CHECK(cudaGraphLaunch(execs_[0], stream_));
            break;
        case GRAPH_PDL:
            CHECK(cudaGraphLaunch(execs_[1], stream_));
            break;
        default:
            CHECK(pdl_chain_launch(chain_, stream_));
            break;
        }
        passes_++;
    }

    void add_links(pdl_chain *chain) const
    {
        const pdl_launch_desc desc =
            pdl_launch_desc_make(config_.grid, config_.block, 0, nullptr, PDL_OVERLAP_AUTO);
        for (unsigned i = 0; i < kernels_; i++) {
            const unsigned after_it = (i + 1) % kernels_;
            CHECK(pdl_chain_add(
                chain, kernel_, &desc,
                PDL_ARGS(turn_, i, after_it, config_.prologue, config_.main_part, config_.rest),
                nullptr, 0, nullptr));
        }
    }

    void capture(method how, cudaGraph_t *graph, cudaGraphExec_t *exec)
    {
        CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
        if (how == PLAIN) {
            launch_plain();
        } else {
            launch_pdl();
        }
        CHECK(cudaStreamEndCapture(stream_, graph));
        if (exec != nullptr) {
            CHECK(cudaGraphInstantiate(exec, *graph, 0));
        }
    }

    /* All graphs have the edges that they are meant to have, or comparing them means nothing. */
    bool edges_are_right() const
    {
        cudaGraph_t chain_graph = nullptr;
        CHECK(pdl_chain_graph(chain_, &chain_graph));
        return has_edges(graphs_[0], kernels_ - 1, 0) && has_edges(graphs_[1], 0, kernels_ - 1) &&
               has_edges(chain_graph, 0, kernels_ - 1);
    }

    void forget_order()
    {
        CHECK(cudaStreamSynchronize(stream_));
        CHECK(cudaMemset(turn_, 0, sizeof(*turn_)));
        CHECK(cudaDeviceSynchronize());
        passes_ = 0;
    }

    order read_order() const
    {
        order found;
        CHECK(cudaStreamSynchronize(stream_));
        CHECK(cudaMemcpy(&found, turn_, sizeof(found), cudaMemcpyDeviceToHost));
        return found;
    }

    /* Every kernel of every pass ran, in its turn. Only for checked sequences. */
    bool ran_in_order() const
    {
        const order found = read_order();
        if (found.wrong == 0 && found.next == 0 && found.passes == passes_) {
            return true;
        }
        std::fprintf(stderr, "%s: %u kernels ran out of turn, %u of %u passes were completed\n",
                     config_.name, found.wrong, found.passes, passes_);
        return false;
    }

    const configuration &config() const
    {
        return config_;
    }
    unsigned kernels() const
    {
        return kernels_;
    }
    order *turn() const
    {
        return turn_;
    }
    work_function symbol() const
    {
        return symbol_;
    }
    pdl_chain *chain() const
    {
        return chain_;
    }
    cudaGraph_t programmatic_graph() const
    {
        return graphs_[1];
    }
    cudaGraphExec_t programmatic_exec() const
    {
        return execs_[1];
    }

  private:
    static work_function choose(const configuration &config, bool checked)
    {
        if (config.phases) {
            return checked ? work<true, true> : work<true, false>;
        }
        return checked ? work<false, true> : work<false, false>;
    }

    static bool has_edges(cudaGraph_t graph, unsigned full, unsigned programmatic)
    {
        pdl_census census = PDL_CENSUS_INIT;
        CHECK(pdl_graph_census(graph, &census));
        if (census.full == full && census.programmatic == programmatic &&
            census.edges == full + programmatic) {
            return true;
        }
        std::fprintf(stderr, "a graph has %u full and %u programmatic edges, not %u and %u\n",
                     census.full, census.programmatic, full, programmatic);
        return false;
    }

    void launch_plain()
    {
        for (unsigned i = 0; i < kernels_; i++) {
            symbol_<<<config_.grid, config_.block, 0, stream_>>>(
                turn_, i, (i + 1) % kernels_, config_.prologue, config_.main_part, config_.rest);
        }
        CHECK(cudaGetLastError());
    }

    void launch_pdl()
    {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t launch = {};
        launch.gridDim = config_.grid;
        launch.blockDim = config_.block;
        launch.stream = stream_;
        launch.attrs = &attribute;
        launch.numAttrs = 1;
        unsigned prologue = config_.prologue;
        unsigned main_part = config_.main_part;
        unsigned rest = config_.rest;
        for (unsigned i = 0; i < kernels_; i++) {
            unsigned after_it = (i + 1) % kernels_;
            void *args[] = {&turn_, &i, &after_it, &prologue, &main_part, &rest};
            CHECK(cudaLaunchKernelExC(&launch, reinterpret_cast<const void *>(symbol_), args));
        }
    }

    const configuration config_;
    const unsigned kernels_;
    const cudaStream_t stream_;
    const work_function symbol_;
    unsigned passes_ = 0;
    order *turn_ = nullptr;
    pdl_kernel *kernel_ = nullptr;
    pdl_chain *chain_ = nullptr;
    cudaGraph_t graphs_[2] = {};
    cudaGraphExec_t execs_[2] = {};
};

#endif /* PDL_TEST_CHAIN_SEQUENCE_CUH */
