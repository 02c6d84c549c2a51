/* SPDX-License-Identifier: MIT */
/* Six ways to launch the decoder's steps: raw CUDA, but for two of libpdl. */
#ifndef PDL_BENCH_DECODE_WAYS_CUH
#define PDL_BENCH_DECODE_WAYS_CUH

#include <pdl/cudart.h>

#include "decode_steps.cuh"

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

/* All the shared memory that there is, and clusters of more than eight blocks. */
inline void prepare_kernel(step_kind kind, const void *symbol)
{
    if (kind != STEP_EMBED) {
        CHECK(cudaFuncSetAttribute(symbol, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(most_shared)));
    }
    if (kind == STEP_ATTENTION) {
        CHECK(cudaFuncSetAttribute(symbol, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    }
    CHECK(cudaFuncSetAttribute(symbol, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared));
}

/* The ways to run a token's steps, ready to run. */
class decoder_runs
{
  public:
    decoder_runs(const decoder_steps &steps, cudaStream_t stream) : steps_(steps)
    {
        for (int i = 0; i < ALL_STEP_KINDS; i++) {
            const step_launch &launch = steps.launches[i];
            if (launch.symbol != nullptr) {
                CHECK(pdl_kernel_from_symbol(launch.symbol, &kernels_[i]));
                prepare_kernel(static_cast<step_kind>(i), launch.symbol);
            }
        }
        CHECK(pdl_chain_create(nullptr, &chain_));
        CHECK(steps.record(chain_, kernels_, PDL_OVERLAP_AUTO));
        CHECK(pdl_chain_build(chain_));
        pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
        for (uint32_t i = 0; i < steps.list.size(); i++) {
            CHECK(pdl_chain_explain(chain_, i, &report));
            granted += report.overlap != 0;
            if (i > 0 && report.overlap == 0) {
                refused = static_cast<pdl_reason>(report.overlap_reason);
            }
        }
        graphs_[0] = capture(PLAIN_GRAPH, stream);
        graphs_[1] = capture(RAW_GRAPH, stream);
    }
    ~decoder_runs()
    {
        cudaGraphExecDestroy(graphs_[1]);
        cudaGraphExecDestroy(graphs_[0]);
        pdl_chain_destroy(chain_);
        for (pdl_kernel *kernel : kernels_) {
            pdl_kernel_destroy(kernel);
        }
    }
    decoder_runs(const decoder_runs &) = delete;
    decoder_runs &operator=(const decoder_runs &) = delete;

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

  private:
    void launch(way how, cudaStream_t stream) const
    {
        for (const step &s : steps_.list) {
            if (how == LIBPDL) {
                const step_launch &at = steps_.launches[s.kind];
                pdl_launch_desc desc = pdl_launch_desc_make(at.blocks, at.threads, at.shared_bytes,
                                                            stream, PDL_OVERLAP_AUTO);
                desc.cluster[0] = at.cluster > 1 ? at.cluster : 0;
                void *const args[] = {s.arguments()};
                CHECK(pdl_launch(kernels_[s.kind], &desc, args));
            } else {
                launch_raw(how, s, stream);
            }
        }
        CHECK(cudaGetLastError());
    }

    void launch_raw(way how, const step &s, cudaStream_t stream) const
    {
        const step_launch &at = steps_.launches[s.kind];
        cudaLaunchAttribute attributes[2] = {};
        cudaLaunchConfig_t config = {};
        config.gridDim = at.blocks;
        config.blockDim = at.threads;
        config.dynamicSmemBytes = at.shared_bytes;
        config.stream = stream;
        config.attrs = attributes;
        if (at.cluster > 1) {
            attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
            attributes[config.numAttrs++].val.clusterDim = {at.cluster, 1, 1};
        }
        if (way_overlaps(how)) {
            attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
        }
        void *args[] = {s.arguments()};
        CHECK(cudaLaunchKernelExC(&config, at.symbol, args));
    }

    cudaGraphExec_t capture(way how, cudaStream_t stream) const
    {
        cudaGraph_t graph;
        cudaGraphExec_t made;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        launch(how, stream);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&made, graph, 0));
        CHECK(cudaGraphDestroy(graph));
        return made;
    }

    const decoder_steps &steps_;
    pdl_kernel *kernels_[ALL_STEP_KINDS] = {};
    pdl_chain *chain_ = nullptr;
    cudaGraphExec_t graphs_[2] = {};
};

/* The same steps with stamps, to see whether a kernel starts before the one before has ended. */
class overlap_counter
{
  public:
    overlap_counter(const decoder_model &m, bool with_attention, const decoder_settings &settings,
                    cudaStream_t stream, bool whole = false)
        : stamps_(size_t{5} * m.shape.layers + 2),
          steps_(m, with_attention, settings, stamps_.get(), whole), runs_(steps_, stream)
    {
    }

    /* How many do: `gated` is called with what is to be run with the host out of it. */
    template <typename Gated> size_t count(way how, cudaStream_t stream, Gated &&gated) const
    {
        stamps_.set(std::vector<kernel_stamps>(steps_.list.size(), kernel_stamps{~0ull, 0}));
        gated([&] { runs_.run(how, stream); });
        const std::vector<kernel_stamps> ran = stamps_.host();
        size_t overlapped = 0;
        for (size_t i = 1; i < steps_.list.size(); i++) {
            overlapped += ran[i].first_start < ran[i - 1].last_end;
        }
        return overlapped;
    }

    /* Whether that is as granted: with the host out of it, that happens nearly every time. */
    bool as_granted(way how, size_t overlapped) const
    {
        return way_overlaps(how) ? overlapped >= runs_.granted * 9 / 10 : overlapped == 0;
    }

  private:
    device_buffer<kernel_stamps> stamps_;
    decoder_steps steps_;
    decoder_runs runs_;
};

#endif /* PDL_BENCH_DECODE_WAYS_CUH */
