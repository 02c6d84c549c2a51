/* SPDX-License-Identifier: MIT */
/* The decoder's steps in a list, and five ways to launch them. */
#ifndef PDL_EXAMPLES_DECODE_WAYS_CUH
#define PDL_EXAMPLES_DECODE_WAYS_CUH

#include <pdl/chain.h>
#include <pdl/cudart.h>

#include "decode_model.cuh"

enum way { PLAIN, STREAM_PDL, PLAIN_GRAPH, RAW_GRAPH, CHAIN, WAYS };
static const char *const way_names[WAYS] = {"<<<>>>", "stream with PDL", "graph",
                                            "programmatic graph, captured", "pdl_chain"};
static const char *const way_keys[WAYS] = {"plain", "stream_pdl", "graph", "raw_graph", "chain"};

enum step_kind { STEP_QKV, STEP_ATTENTION, STEP_OUT, STEP_GATE_UP, STEP_DOWN, STEP_KINDS };

struct step {
    step_kind kind;
    linear_args linear;
    attention_args attention;
};

/* A token's steps, in order. */
class decoder_steps
{
  public:
    /* `stamps` has one for each step, or is NULL. */
    decoder_steps(const decoder_model &m, bool with_attention, unsigned blocks,
                  kernel_stamps *stamps)
        : blocks_(blocks)
    {
        typedef decoder_model at;
        for (int i = 0; i < layers; i++) {
            const bf16 *const w = m.layer(i);
            const bf16 *const x = m.layer_input(i);
            bf16 *const y = m.computed(i);
            add_linear(STEP_QKV, {w + at::qkv_at, m.gamma(i, 0), x, nullptr, y, nullptr});
            if (with_attention) {
                step s = {};
                s.kind = STEP_ATTENTION;
                s.attention = {y,
                               m.keys.get() + i * at::layer_cache,
                               m.values.get() + i * at::layer_cache,
                               m.rope.get(),
                               y + at::attention_at,
                               nullptr};
                list.push_back(s);
            }
            add_linear(STEP_OUT,
                       {w + at::out_at, nullptr, with_attention ? y + at::attention_at : y, x,
                        y + at::middle_at, nullptr});
            add_linear(STEP_GATE_UP, {w + at::gate_up_at, m.gamma(i, 1), y + at::middle_at, nullptr,
                                      y + at::active_at, nullptr});
            add_linear(STEP_DOWN, {w + at::down_at, nullptr, y + at::active_at, y + at::middle_at,
                                   y + at::result_at, nullptr});
        }
        for (size_t i = 0; stamps != nullptr && i < list.size(); i++) {
            list[i].linear.stamps = list[i].attention.stamps = stamps + i;
        }
    }

    void launch(way how, cudaStream_t stream) const
    {
        for (const step &s : list) {
            switch (s.kind) {
            case STEP_QKV:
                launch_linear(how, linear<QKV>, s, stream);
                break;
            case STEP_OUT:
                launch_linear(how, linear<OUT>, s, stream);
                break;
            case STEP_GATE_UP:
                launch_linear(how, linear<GATE_UP>, s, stream);
                break;
            case STEP_DOWN:
                launch_linear(how, linear<DOWN>, s, stream);
                break;
            default:
                launch_one(how, attention, attention_blocks, attention_threads, 0, s.attention,
                           stream);
            }
        }
        CHECK(cudaGetLastError());
    }

    void record(pdl_chain *chain, pdl_kernel *const *kernels) const
    {
        for (const step &s : list) {
            const bool is_attention = s.kind == STEP_ATTENTION;
            const pdl_launch_desc desc = pdl_launch_desc_make(
                is_attention ? attention_blocks : blocks_,
                is_attention ? attention_threads : linear_threads,
                is_attention ? 0 : linear_shared_bytes, nullptr, PDL_OVERLAP_AUTO);
            CHECK(pdl_chain_add(chain, kernels[s.kind], &desc,
                                is_attention ? PDL_ARGS(s.attention) : PDL_ARGS(s.linear), nullptr,
                                0, nullptr));
        }
    }

    static constexpr unsigned attention_blocks = kv_heads * cluster_blocks;
    std::vector<step> list;

  private:
    void add_linear(step_kind kind, const linear_args &args)
    {
        step s = {};
        s.kind = kind;
        s.linear = args;
        list.push_back(s);
    }

    void launch_linear(way how, void (*kernel)(linear_args), const step &s,
                       cudaStream_t stream) const
    {
        launch_one(how, kernel, blocks_, linear_threads, linear_shared_bytes, s.linear, stream);
    }

    template <typename Args>
    static void launch_one(way how, void (*kernel)(Args), unsigned blocks, unsigned threads,
                           unsigned shared_bytes, const Args &args, cudaStream_t stream)
    {
        if (how == STREAM_PDL) {
            CHECK(pdl_launch_kernel(
                pdl_launch_desc_make(blocks, threads, shared_bytes, stream, PDL_OVERLAP_AUTO),
                kernel, args));
        } else if (how == RAW_GRAPH) {
            cudaLaunchAttribute attribute = {};
            attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attribute.val.programmaticStreamSerializationAllowed = 1;
            cudaLaunchConfig_t config = {};
            config.gridDim = blocks;
            config.blockDim = threads;
            config.dynamicSmemBytes = shared_bytes;
            config.stream = stream;
            config.attrs = &attribute;
            config.numAttrs = 1;
            CHECK(cudaLaunchKernelEx(&config, kernel, args));
        } else {
            kernel<<<blocks, threads, shared_bytes, stream>>>(args);
        }
    }

    unsigned blocks_;
};

/* The ways to run a token's steps, ready to run. */
class decoder_runs
{
  public:
    decoder_runs(const decoder_steps &steps, cudaStream_t stream) : steps_(steps)
    {
        const void *const symbols[STEP_KINDS] = {reinterpret_cast<const void *>(linear<QKV>),
                                                 reinterpret_cast<const void *>(attention),
                                                 reinterpret_cast<const void *>(linear<OUT>),
                                                 reinterpret_cast<const void *>(linear<GATE_UP>),
                                                 reinterpret_cast<const void *>(linear<DOWN>)};
        for (int i = 0; i < STEP_KINDS; i++) { /* all the shared memory that there is */
            CHECK(pdl_kernel_from_symbol(symbols[i], &kernels_[i]));
            if (i != STEP_ATTENTION) {
                CHECK(cudaFuncSetAttribute(symbols[i], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           linear_shared_bytes));
            }
            CHECK(cudaFuncSetAttribute(symbols[i], cudaFuncAttributePreferredSharedMemoryCarveout,
                                       cudaSharedmemCarveoutMaxShared));
        }
        CHECK(pdl_chain_create(&chain_));
        steps.record(chain_, kernels_);
        CHECK(pdl_chain_build(chain_));
        pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
        for (uint32_t i = 0; i < steps.list.size(); i++) {
            CHECK(pdl_chain_explain(chain_, i, &report));
            granted += report.overlap != 0;
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
            steps_.launch(how, stream);
        }
    }

    size_t granted = 0; /* links of the chain that overlap what is before them */

  private:
    cudaGraphExec_t capture(way how, cudaStream_t stream) const
    {
        cudaGraph_t graph;
        cudaGraphExec_t made;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        steps_.launch(how, stream);
        CHECK(cudaStreamEndCapture(stream, &graph));
        CHECK(cudaGraphInstantiate(&made, graph, 0));
        CHECK(cudaGraphDestroy(graph));
        return made;
    }

    const decoder_steps &steps_;
    pdl_kernel *kernels_[STEP_KINDS] = {};
    pdl_chain *chain_ = nullptr;
    cudaGraphExec_t graphs_[2] = {};
};

#endif /* PDL_EXAMPLES_DECODE_WAYS_CUH */
