/* SPDX-License-Identifier: MIT */
/* The decoder's steps in a list, and six ways to launch them: raw CUDA, but for two of libpdl. */
#ifndef PDL_EXAMPLES_DECODE_WAYS_CUH
#define PDL_EXAMPLES_DECODE_WAYS_CUH

#include <iterator>

#include <pdl/chain.h>
#include <pdl/cudart.h>

#include "decode_model.cuh"

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

/* Those from STEP_KINDS on are once in a token, and only in a whole one. */
enum step_kind {
    STEP_QKV,
    STEP_ATTENTION,
    STEP_OUT,
    STEP_GATE_UP,
    STEP_DOWN,
    STEP_KINDS,
    STEP_EMBED = STEP_KINDS,
    STEP_HEAD,
    ALL_STEP_KINDS
};
static const size_t most_steps = 5 * layers + 2;
static const char *const step_names[STEP_KINDS] = {"qkv", "attention", "out", "gate-up", "down"};

/* What a kind of step is launched with. */
struct step_launch {
    pdl_kernel *kernel;
    unsigned blocks;
};

struct step {
    step_kind kind;
    linear_args linear;
    attention_args attention;
    embed_args embed;
};

/* Whether the products' kernels can be launched with a block for each multiprocessor. */
inline bool decoder_fits(int multiprocessors)
{
    return linear_shape<QKV>::fits(multiprocessors) && linear_shape<OUT>::fits(multiprocessors) &&
           linear_shape<GATE_UP>::fits(multiprocessors) &&
           linear_shape<DOWN>::fits(multiprocessors) &&
           linear_shape<HEAD>::fits(4 * multiprocessors);
}

/* A token's steps, in order. */
class decoder_steps
{
  public:
    /* `stamps` has one for each step, or is NULL. `whole`: with embedding and logits. */
    decoder_steps(const decoder_model &m, bool with_attention, unsigned blocks,
                  kernel_stamps *stamps, bool whole = false)
        : blocks_(blocks)
    {
        typedef decoder_model at;
        if (whole) {
            step s = {};
            s.kind = STEP_EMBED;
            s.embed = {m.table(), m.token.get(), m.input.get(), nullptr};
            list.push_back(s);
        }
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
        if (whole) {
            add_linear(STEP_HEAD,
                       {m.table(), m.last_gamma.get(), m.computed(layers - 1) + at::result_at,
                        nullptr, m.logits.get(), nullptr});
        }
        for (size_t i = 0; stamps != nullptr && i < list.size(); i++) {
            list[i].linear.stamps = list[i].attention.stamps = list[i].embed.stamps = stamps + i;
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
            case STEP_HEAD:
                launch_linear(how, linear<HEAD>, s, stream);
                break;
            case STEP_EMBED:
                launch_one(how, embed, 1, embed_threads, 0, s.embed, stream);
                break;
            default:
                launch_one(how, attention, attention_blocks, attention_threads, 0, s.attention,
                           stream);
            }
        }
        CHECK(cudaGetLastError());
    }

    /* One launch for each kind. */
    pdl_status record(pdl_chain *chain, const step_launch *launches, pdl_overlap overlap) const
    {
        for (const step &s : list) {
            const pdl_launch_desc desc = pdl_launch_desc_make(
                launches[s.kind].blocks, threads(s.kind), shared_bytes(s.kind), nullptr, overlap);
            const pdl_status status = pdl_chain_add(chain, launches[s.kind].kernel, &desc,
                                                    s.kind == STEP_ATTENTION ? PDL_ARGS(s.attention)
                                                    : s.kind == STEP_EMBED   ? PDL_ARGS(s.embed)
                                                                             : PDL_ARGS(s.linear),
                                                    nullptr, 0, nullptr);
            if (status != PDL_SUCCESS) {
                return status;
            }
        }
        return PDL_SUCCESS;
    }

    /* Leaves only the steps of one kind, so many times one after the other. */
    void keep(step_kind kind, int times)
    {
        std::vector<step> kept;
        for (int i = 0; i < times; i++) {
            std::copy_if(list.begin(), list.end(), std::back_inserter(kept),
                         [&](const step &s) { return s.kind == kind; });
        }
        list = kept;
    }

    unsigned blocks(step_kind kind) const
    {
        switch (kind) {
        case STEP_QKV:
            return linear_blocks<QKV>(blocks_);
        case STEP_OUT:
            return linear_blocks<OUT>(blocks_);
        case STEP_GATE_UP:
            return linear_blocks<GATE_UP>(blocks_);
        case STEP_DOWN:
            return linear_blocks<DOWN>(blocks_);
        case STEP_HEAD:
            return linear_blocks<HEAD>(blocks_);
        case STEP_EMBED:
            return 1;
        default:
            return attention_blocks;
        }
    }
    static unsigned threads(step_kind kind)
    {
        return kind == STEP_ATTENTION ? attention_threads
               : kind == STEP_EMBED   ? embed_threads
                                      : linear_threads;
    }
    static unsigned shared_bytes(step_kind kind)
    {
        return kind == STEP_ATTENTION || kind == STEP_EMBED ? 0 : linear_shared_bytes;
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
        launch_one(how, kernel, blocks(s.kind), linear_threads, linear_shared_bytes, s.linear,
                   stream);
    }

    template <typename Args>
    static void launch_one(way how, void (*kernel)(Args), unsigned blocks, unsigned threads,
                           unsigned shared_bytes, const Args &args, cudaStream_t stream)
    {
        if (how == LIBPDL) {
            CHECK(pdl_launch_kernel(
                pdl_launch_desc_make(blocks, threads, shared_bytes, stream, PDL_OVERLAP_AUTO),
                kernel, args));
        } else if (way_overlaps(how)) {
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

    unsigned blocks_; /* multiprocessors */
};

/* The ways to run a token's steps, ready to run. */
class decoder_runs
{
  public:
    decoder_runs(const decoder_steps &steps, cudaStream_t stream) : steps_(steps)
    {
        const void *const symbols[ALL_STEP_KINDS] = {
            reinterpret_cast<const void *>(linear<QKV>),
            reinterpret_cast<const void *>(attention),
            reinterpret_cast<const void *>(linear<OUT>),
            reinterpret_cast<const void *>(linear<GATE_UP>),
            reinterpret_cast<const void *>(linear<DOWN>),
            reinterpret_cast<const void *>(embed),
            reinterpret_cast<const void *>(linear<HEAD>)};
        for (int i = 0; i < ALL_STEP_KINDS; i++) { /* all the shared memory that there is */
            CHECK(pdl_kernel_from_symbol(symbols[i], &launches_[i].kernel));
            launches_[i].blocks = steps.blocks(static_cast<step_kind>(i));
            if (decoder_steps::shared_bytes(static_cast<step_kind>(i)) > 0) {
                CHECK(cudaFuncSetAttribute(symbols[i], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           linear_shared_bytes));
            }
            CHECK(cudaFuncSetAttribute(symbols[i], cudaFuncAttributePreferredSharedMemoryCarveout,
                                       cudaSharedmemCarveoutMaxShared));
        }
        CHECK(pdl_chain_create(nullptr, &chain_));
        CHECK(steps.record(chain_, launches_, PDL_OVERLAP_AUTO));
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
        for (const step_launch &launch : launches_) {
            pdl_kernel_destroy(launch.kernel);
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
    pdl_reason refused = PDL_REASON_GRANTED; /* why one does not, if one does not */

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
    step_launch launches_[ALL_STEP_KINDS] = {};
    pdl_chain *chain_ = nullptr;
    cudaGraphExec_t graphs_[2] = {};
};

/* The same steps with stamps, to see whether a kernel starts before the one before has ended. */
class overlap_counter
{
  public:
    overlap_counter(const decoder_model &m, bool with_attention, unsigned blocks,
                    cudaStream_t stream, bool whole = false)
        : stamps_(most_steps), steps_(m, with_attention, blocks, stamps_.get(), whole),
          runs_(steps_, stream)
    {
    }

    /* How many do: `gated` is called with what is to be run with the host out of it. */
    template <typename Gated> size_t count(way how, cudaStream_t stream, Gated &&gated) const
    {
        stamps_.set(std::vector<kernel_stamps>(most_steps, kernel_stamps{~0ull, 0}));
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

#endif /* PDL_EXAMPLES_DECODE_WAYS_CUH */
