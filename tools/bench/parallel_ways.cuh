/* SPDX-License-Identifier: MIT */
/* A token's steps on one device, with the sums over all devices, and five ways to launch them. */
#ifndef PDL_BENCH_PARALLEL_WAYS_CUH
#define PDL_BENCH_PARALLEL_WAYS_CUH

#include <map>

#include <pdl/chain.h>
#include <pdl/cudart.h>

#include "parallel_nccl.cuh"
#include "parallel_reduce.cuh"
#include "parallel_shard.cuh"

namespace parallel
{

/* What adds up the devices' parts. NO_SUM leaves them as they are: the time without communication. */
enum sum_kind { NO_SUM, SUM_NCCL, SUM_WINDOW, SUM_PEER, SUM_FENCED, SUM_KINDS };
static const char *const sum_names[SUM_KINDS] = {"no sums", "NCCL", "NCCL, registered buffers",
                                                 "peer memory", "peer memory, fenced"};
static const char *const sum_keys[SUM_KINDS] = {"none", "nccl", "nccl_window", "peer",
                                                "peer_fenced"};

enum way { STREAM, STREAM_PDL, GRAPH, GRAPH_PDL, CHAIN, WAYS };
static const char *const way_names[WAYS] = {"<<<>>>", "stream with PDL", "graph",
                                            "graph with PDL, captured", "pdl_chain"};
static const char *const way_keys[WAYS] = {"stream", "stream_pdl", "graph", "graph_pdl", "chain"};

inline bool has_pdl(way how)
{
    return how != STREAM && how != GRAPH;
}

/* Gives the kernels all the shared memory of the current device. */
inline void set_shared_memory()
{
    const void *const linears[] = {reinterpret_cast<const void *>(linear<1>),
                                   reinterpret_cast<const void *>(linear<2>),
                                   reinterpret_cast<const void *>(linear<4>)};
    const void *const others[] = {reinterpret_cast<const void *>(attention),
                                  reinterpret_cast<const void *>(reduce<REDUCE_PAIRED>),
                                  reinterpret_cast<const void *>(reduce<REDUCE_FENCED>)};
    for (const void *kernel : linears) {
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   linear_shared_bytes));
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared));
    }
    for (const void *kernel : others) { /* another carve-out would keep blocks from sharing an SM */
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared));
    }
}

/* What a device's sums need. */
struct sums {
    sum_kind kind = NO_SUM;
    const nccl_team *nccl = nullptr;
    reduce_args peer = {}; /* all but the vectors */
    unsigned *between =
        nullptr; /* cleared in front of a kernel that overlaps without a wait; or NULL */
};

enum step_kind { STEP_LINEAR, STEP_ATTENTION, STEP_SUM };

struct step {
    step_kind kind;
    linear_args linear;
    attention_args attention;
    reduce_args sum;
};

class token
{
  public:
    /* `computed`: where the results go; `stamps`: one for each step, or NULL. */
    token(const shard &m, bf16 *computed, const sums &s, int multiprocessors, kernel_stamps *stamps)
        : sums_(s), multiprocessors_(multiprocessors)
    {
        const bool first = m.rank == 0;
        for (int i = 0; i < layers; i++) {
            bf16 *const y = computed + static_cast<size_t>(i) * m.layer_computed;
            const bf16 *const w = m.layer(i);
            const bf16 *const x =
                i == 0 ? m.input.get() : y - m.layer_computed + last_at(m, m.result_at);
            const bf16 *const middle = y + last_at(m, m.middle_at);
            const size_t cache = static_cast<size_t>(i) * m.layer_cache;
            add({w, m.gamma(i, 0), x, nullptr, y, nullptr, m.qkv, hidden, 0});
            step attend = {};
            attend.kind = STEP_ATTENTION;
            attend.attention = {y,
                                m.keys.get() + cache,
                                m.values.get() + cache,
                                m.rope.get(),
                                y + m.attended_at,
                                nullptr,
                                m.kv_heads};
            list.push_back(attend);
            add({w + m.out_at, nullptr, y + m.attended_at, first ? x : nullptr, y + m.out_part_at,
                 nullptr, hidden, m.attended, 0});
            add_sum(y + m.out_part_at, y + m.middle_at, hidden);
            add({w + m.gate_up_at, m.gamma(i, 1), middle, nullptr, y + m.active_at, nullptr,
                 m.feed_forward, hidden, 1});
            add({w + m.down_at, nullptr, y + m.active_at, first ? middle : nullptr,
                 y + m.down_part_at, nullptr, hidden, m.feed_forward, 0});
            add_sum(y + m.down_part_at, y + m.result_at, hidden);
        }
        for (size_t i = 0; stamps != nullptr && i < list.size(); i++) {
            list[i].linear.stamps = list[i].attention.stamps = list[i].sum.stamps = stamps + i;
        }
    }

    /* Only sums, one after the other, of so many values. */
    token(const bf16 *x, bf16 *y, int values, int times, const sums &s)
        : sums_(s), multiprocessors_(0)
    {
        for (int i = 0; i < times; i++) {
            add_sum(x, y, values);
        }
    }

    ~token()
    {
        for (cudaGraphExec_t graph : graphs_) {
            if (graph != nullptr) {
                cudaGraphExecDestroy(graph);
            }
        }
        pdl_chain_destroy(chain_);
        for (const auto &kernel : kernels_) {
            pdl_kernel_destroy(kernel.second);
        }
    }
    token(const token &) = delete;
    token &operator=(const token &) = delete;

    /* Makes what a way needs. */
    void prepare(way how, cudaStream_t stream)
    {
        census[how] = PDL_CENSUS_INIT;
        census[how].full_dependencies = lost[how];
        census[how].full_capacity = most_lost;
        if (how == GRAPH || how == GRAPH_PDL) {
            cudaGraph_t graph;
            CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            launch(how == GRAPH_PDL, stream);
            CHECK(cudaStreamEndCapture(stream, &graph));
            CHECK(pdl_graph_census(graph, &census[how]));
            CHECK(cudaGraphInstantiate(&graphs_[how == GRAPH_PDL], graph, 0));
            CHECK(cudaGraphDestroy(graph));
        } else if (how == CHAIN) {
            record(stream);
        }
    }

    void run(way how, cudaStream_t stream) const
    {
        if (how == CHAIN) {
            CHECK(pdl_chain_launch(chain_, stream));
        } else if (how == GRAPH || how == GRAPH_PDL) {
            CHECK(cudaGraphLaunch(graphs_[how == GRAPH_PDL], stream));
        } else {
            launch(how == STREAM_PDL, stream);
        }
    }

    static constexpr uint32_t most_lost = 8 * layers;
    std::vector<step> list;
    pdl_census census[WAYS] = {};
    pdl_full_dependency lost[WAYS][most_lost] = {};

  private:
    /* Where the sum of that name is: with NO_SUM it is the part. */
    size_t last_at(const shard &m, size_t at) const
    {
        return sums_.kind != NO_SUM ? at : at == m.middle_at ? m.out_part_at : m.down_part_at;
    }

    void add(const linear_args &args)
    {
        if (!linear_fits(args, multiprocessors_)) {
            die("%d multiprocessors are too few for this model", multiprocessors_);
        }
        step s = {};
        s.kind = STEP_LINEAR;
        s.linear = args;
        list.push_back(s);
    }

    void add_sum(const bf16 *x, bf16 *y, int values)
    {
        if (sums_.kind == NO_SUM) {
            return;
        }
        step s = {};
        s.kind = STEP_SUM;
        s.sum = sums_.peer;
        s.sum.x = x;
        s.sum.y = y;
        s.sum.words = values / 2;
        list.push_back(s);
    }

    /* Calls `use` with the kernel, its grid and block, its shared memory and its arguments. */
    template <typename Use> void with_kernel(const step &s, Use &&use) const
    {
        if (s.kind == STEP_LINEAR) {
            const int rows = rows_in_part(s.linear.cols);
            use(rows == 1   ? linear<1>
                : rows == 2 ? linear<2>
                            : linear<4>,
                linear_blocks(s.linear, multiprocessors_), linear_threads, linear_shared_bytes,
                s.linear);
        } else if (s.kind == STEP_ATTENTION) {
            use(attention, s.attention.kv_heads * attention_cluster, attention_threads, 0,
                s.attention);
        } else {
            use(sums_.kind == SUM_PEER ? reduce<REDUCE_PAIRED> : reduce<REDUCE_FENCED>,
                (s.sum.words + reduce_threads - 1) / reduce_threads, reduce_threads, 0, s.sum);
        }
    }

    bool is_nccl(const step &s) const
    {
        return s.kind == STEP_SUM && (sums_.kind == SUM_NCCL || sums_.kind == SUM_WINDOW);
    }

    void launch_nccl(const step &s, cudaStream_t stream) const
    {
        if (sums_.kind == SUM_WINDOW && sums_.between != nullptr) {
            CHECK(cudaMemsetAsync(sums_.between, 0, sizeof(*sums_.between), stream));
        }
        sums_.nccl->sum(s.sum.x, s.sum.y, 2 * s.sum.words, stream);
    }

    void launch(bool pdl, cudaStream_t stream) const
    {
        for (const step &s : list) {
            if (is_nccl(s)) {
                launch_nccl(s, stream);
                continue;
            }
            with_kernel(s, [&](auto kernel, unsigned blocks, unsigned threads, unsigned shared,
                               const auto &args) {
                if (pdl) {
                    CHECK(pdl_launch_kernel(
                        pdl_launch_desc_make(blocks, threads, shared, stream, PDL_OVERLAP_AUTO),
                        kernel, args));
                } else {
                    kernel<<<blocks, threads, shared, stream>>>(args);
                }
            });
        }
        CHECK(cudaGetLastError());
    }

    void record(cudaStream_t stream)
    {
        CHECK(pdl_chain_create(nullptr, &chain_));
        for (const step &s : list) {
            if (is_nccl(s)) {
                CHECK(pdl_chain_capture_begin(chain_, stream));
                launch_nccl(s, stream);
                CHECK(pdl_chain_capture_end(chain_, nullptr));
                continue;
            }
            with_kernel(s, [&](auto kernel, unsigned blocks, unsigned threads, unsigned shared,
                               const auto &args) {
                const pdl_launch_desc desc =
                    pdl_launch_desc_make(blocks, threads, shared, nullptr, PDL_OVERLAP_AUTO);
                pdl_kernel *&made = kernels_[reinterpret_cast<const void *>(kernel)];
                if (made == nullptr) {
                    CHECK(pdl_kernel_from_symbol(kernel, &made));
                }
                CHECK(pdl_chain_add(chain_, made, &desc, PDL_ARGS(args), nullptr, 0, nullptr));
            });
        }
        CHECK(pdl_chain_build(chain_));
        cudaGraph_t built;
        CHECK(pdl_chain_graph(chain_, &built));
        CHECK(pdl_graph_census(built, &census[CHAIN]));
    }

    const sums sums_;
    const int multiprocessors_;
    cudaGraphExec_t graphs_[2] = {};
    pdl_chain *chain_ = nullptr;
    std::map<const void *, pdl_kernel *> kernels_;
};

} // namespace parallel

#endif /* PDL_BENCH_PARALLEL_WAYS_CUH */
