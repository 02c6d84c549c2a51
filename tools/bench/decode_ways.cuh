/* SPDX-License-Identifier: MIT */
/* Six ways to launch the decoder's steps: raw CUDA, but for two of libpdl. */
#ifndef PDL_BENCH_DECODE_WAYS_CUH
#define PDL_BENCH_DECODE_WAYS_CUH

#include <map>

#include <pdl/chain.h>
#include <pdl/cudart.h>
#include <pdl/graph.h>

#include "decode_steps.cuh"
#include "parallel_nccl.cuh"

enum way { PLAIN, STREAM_PDL, LIBPDL, PLAIN_GRAPH, RAW_GRAPH, CHAIN, DECODE_WAYS };
static const char *const way_names[DECODE_WAYS] = {
    "<<<>>>",   "stream with PDL", "pdl_launch", "graph", "programmatic graph, captured",
    "pdl_chain"};
static const char *const way_keys[DECODE_WAYS] = {"stream", "stream-pdl", "libpdl",
                                                  "graph",  "graph-pdl",  "chain"};
inline bool way_overlaps(way how)
{
    return how != PLAIN && how != PLAIN_GRAPH;
}

/* The ways to run a token's steps. Refers to the steps. */
class decoder_runs
{
  public:
    explicit decoder_runs(const decoder_steps &steps) : steps_(steps)
    {
        for (const step &s : steps.list) {
            if (kernels_[s.symbol] != nullptr) {
                continue;
            }
            CHECK(pdl_kernel_from_symbol(s.symbol, &kernels_[s.symbol]));
            /* All the shared memory that there is: another carve-out would keep blocks from sharing an SM. */
            CHECK(cudaFuncSetAttribute(s.symbol, cudaFuncAttributePreferredSharedMemoryCarveout,
                                       cudaSharedmemCarveoutMaxShared));
            if (s.shared_bytes > 0) {
                CHECK(cudaFuncSetAttribute(s.symbol, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(most_shared)));
            }
        }
    }
    ~decoder_runs()
    {
        for (const cudaGraphExec_t graph : graphs_) {
            if (graph != nullptr) {
                cudaGraphExecDestroy(graph);
            }
        }
        pdl_chain_destroy(chain_);
        for (const auto &kernel : kernels_) {
            pdl_kernel_destroy(kernel.second);
        }
    }
    decoder_runs(const decoder_runs &) = delete;
    decoder_runs &operator=(const decoder_runs &) = delete;

    /* Makes what a way needs. */
    void prepare(way how, cudaStream_t stream)
    {
        census[how] = PDL_CENSUS_INIT;
        if (how == PLAIN_GRAPH || how == RAW_GRAPH) {
            cudaGraph_t graph;
            CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            launch(how, stream);
            CHECK(cudaStreamEndCapture(stream, &graph));
            CHECK(pdl_graph_census(graph, &census[how]));
            CHECK(cudaGraphInstantiate(&graphs_[how == RAW_GRAPH], graph, 0));
            CHECK(cudaGraphDestroy(graph));
        } else if (how == CHAIN) {
            record(stream);
        }
    }
    void prepare(cudaStream_t stream)
    {
        for (int how = 0; how < DECODE_WAYS; how++) {
            prepare(static_cast<way>(how), stream);
        }
    }

    void run(way how, cudaStream_t stream) const
    {
        if (how == CHAIN) {
            CHECK(pdl_chain_launch(chain_, stream));
        } else if (how == PLAIN_GRAPH || how == RAW_GRAPH) {
            CHECK(cudaGraphLaunch(graphs_[how == RAW_GRAPH], stream));
        } else {
            launch(how, stream);
        }
    }

    size_t granted = 0; /* links of the chain that overlap what is before them */
    pdl_reason refused = PDL_REASON_GRANTED; /* why one does not, if one does not */
    pdl_census census[DECODE_WAYS] = {};     /* of graphs and chain */

  private:
    bool is_nccl(const step &s) const
    {
        return s.kind == STEP_SUM && steps_.sum.by_nccl();
    }

    void launch_nccl(const step &s, cudaStream_t stream) const
    {
        const sums &sum = steps_.sum;
        if (sum.kind == SUM_WINDOW && sum.between != nullptr) {
            CHECK(cudaMemsetAsync(sum.between, 0, sizeof(*sum.between), stream));
        }
        sum.nccl->sum(s.sum.x, s.sum.y, 2 * s.sum.words, stream);
    }

    static pdl_launch_desc desc(const step &s, cudaStream_t stream)
    {
        pdl_launch_desc made =
            pdl_launch_desc_make(s.blocks, s.threads, s.shared_bytes, stream, PDL_OVERLAP_AUTO);
        made.cluster[0] = s.cluster > 1 ? s.cluster : 0;
        return made;
    }

    void launch(way how, cudaStream_t stream) const
    {
        for (const step &s : steps_.list) {
            if (is_nccl(s)) {
                launch_nccl(s, stream);
            } else if (how == LIBPDL) {
                const pdl_launch_desc link = desc(s, stream);
                void *const args[] = {s.arguments()};
                CHECK(pdl_launch(kernels_.at(s.symbol), &link, args));
            } else {
                launch_raw(how, s, stream);
            }
        }
        CHECK(cudaGetLastError());
    }

    static void launch_raw(way how, const step &s, cudaStream_t stream)
    {
        cudaLaunchAttribute attributes[2] = {};
        cudaLaunchConfig_t config = {};
        config.gridDim = s.blocks;
        config.blockDim = s.threads;
        config.dynamicSmemBytes = s.shared_bytes;
        config.stream = stream;
        config.attrs = attributes;
        if (s.cluster > 1) {
            attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
            attributes[config.numAttrs++].val.clusterDim = {s.cluster, 1, 1};
        }
        if (way_overlaps(how)) {
            attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
        }
        void *args[] = {s.arguments()};
        CHECK(cudaLaunchKernelExC(&config, s.symbol, args));
    }

    void record(cudaStream_t stream)
    {
        CHECK(pdl_chain_create(nullptr, &chain_));
        for (const step &s : steps_.list) {
            if (is_nccl(s)) {
                CHECK(pdl_chain_capture_begin(chain_, stream));
                launch_nccl(s, stream);
                CHECK(pdl_chain_capture_end(chain_, nullptr));
                continue;
            }
            const pdl_launch_desc link = desc(s, nullptr);
            void *const args[] = {s.arguments()};
            CHECK(pdl_chain_add(chain_, kernels_.at(s.symbol), &link, args, nullptr, 0, nullptr));
        }
        CHECK(pdl_chain_build(chain_));
        cudaGraph_t built;
        CHECK(pdl_chain_graph(chain_, &built));
        CHECK(pdl_graph_census(built, &census[CHAIN]));
        pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
        for (uint32_t i = 0; i < steps_.list.size() && !steps_.sum.by_nccl(); i++) {
            CHECK(pdl_chain_explain(chain_, i, &report));
            granted += report.overlap != 0;
            if (i > 0 && report.overlap == 0) {
                refused = static_cast<pdl_reason>(report.overlap_reason);
            }
        }
    }

    const decoder_steps &steps_;
    std::map<const void *, pdl_kernel *> kernels_;
    pdl_chain *chain_ = nullptr;
    cudaGraphExec_t graphs_[2] = {};
};

/* Steps with stamps and the ways to run them, to see whether a kernel starts before the one before has
 * ended. */
class overlap_counter
{
    device_buffer<kernel_stamps> stamps_;
    decoder_steps steps_;

  public:
    decoder_runs runs;

    overlap_counter(const decoder_model &m, token_part part, int multiprocessors, bf16 *computed,
                    const sums &adding = sums())
        : stamps_(size_t{7} * m.shape.layers + 2),
          steps_(m, part, multiprocessors, computed, stamps_.get(), adding), runs(steps_)
    {
    }

    /* How many do, of all and of those next to a sum: `run` runs `runs` with the host out of it. NCCL's
     * kernels have no stamps. */
    template <typename Run> size_t count(Run &&run, size_t *at_sums = nullptr) const
    {
        stamps_.set(std::vector<kernel_stamps>(steps_.list.size(), kernel_stamps{~0ull, 0}));
        run();
        const std::vector<kernel_stamps> ran = stamps_.host();
        size_t counts[2] = {};
        for (size_t i = 1; i < steps_.list.size(); i++) {
            const bool sum = steps_.list[i].kind == STEP_SUM || steps_.list[i - 1].kind == STEP_SUM;
            counts[sum] += ran[i].first_start < ran[i - 1].last_end;
        }
        if (at_sums != nullptr) {
            *at_sums = counts[1];
        }
        return counts[0] + (at_sums == nullptr ? counts[1] : 0);
    }

    /* Whether that is as granted: with the host out of it, that happens nearly every time. */
    bool as_granted(way how, size_t overlapped) const
    {
        return way_overlaps(how) ? overlapped >= runs.granted * 9 / 10 : overlapped == 0;
    }
};

#endif /* PDL_BENCH_DECODE_WAYS_CUH */
