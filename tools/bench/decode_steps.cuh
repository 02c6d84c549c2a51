/* SPDX-License-Identifier: MIT */
/* The decoder's steps in a list, with what each kind of step is launched with. */
#ifndef PDL_BENCH_DECODE_STEPS_CUH
#define PDL_BENCH_DECODE_STEPS_CUH

#include <iterator>

#include <pdl/chain.h>

#include "decode_model.cuh"

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
static const char *const step_names[STEP_KINDS] = {"qkv", "attention", "out", "gate-up", "down"};

inline linear_kind linear_of(step_kind kind)
{
    return kind == STEP_QKV       ? QKV
           : kind == STEP_OUT     ? OUT
           : kind == STEP_GATE_UP ? GATE_UP
           : kind == STEP_DOWN    ? DOWN
                                  : HEAD;
}

/* ---- kernels --------------------------------------------------------------------------------- */

typedef void (*linear_kernel)(linear_args);
typedef void (*attention_kernel)(attention_args);

template <linear_kind Kind, typename Weight> inline linear_kernel linear_for(int batch, int cols)
{
    constexpr int most = most_columns(Kind, sizeof(Weight));
    if (chunk_columns(Kind, sizeof(Weight), batch, cols) > 128) {
        return linear<Kind, Weight, 1, most>;
    }
    const int rows = batch_rows(batch);
    return rows == 1   ? linear<Kind, Weight, 1, 128>
           : rows == 8 ? linear<Kind, Weight, 8, 128>
                       : linear<Kind, Weight, 16, 128>;
}

inline linear_kernel linear_for(linear_kind kind, bool fp8_weights, int batch, int cols)
{
    switch (kind) {
    case QKV:
        return fp8_weights ? linear_for<QKV, fp8>(batch, cols) : linear_for<QKV, bf16>(batch, cols);
    case OUT:
        return fp8_weights ? linear_for<OUT, fp8>(batch, cols) : linear_for<OUT, bf16>(batch, cols);
    case GATE_UP:
        return fp8_weights ? linear_for<GATE_UP, fp8>(batch, cols)
                           : linear_for<GATE_UP, bf16>(batch, cols);
    case DOWN:
        return fp8_weights ? linear_for<DOWN, fp8>(batch, cols)
                           : linear_for<DOWN, bf16>(batch, cols);
    default:
        return linear_for<HEAD, bf16>(batch, cols);
    }
}

inline attention_kernel attention_for(int head_size)
{
    return head_size == 64 ? attention<64> : attention<128>;
}

/* ---- settings -------------------------------------------------------------------------------- */

struct decoder_settings {
    linear_setting linear[HEAD + 1];
    attention_setting attention;
};

/* What a search on a device found to be good for several shapes, as rules. */
inline decoder_settings decoder_defaults(const decoder_config &config, unsigned multiprocessors)
{
    const decoder_shape &shape = config.shape;
    decoder_settings to = {};
    for (int i = QKV; i <= HEAD; i++) {
        const linear_kind kind = static_cast<linear_kind>(i);
        const size_t weight = config.fp8_weights && kind != HEAD ? 1 : 2;
        linear_args args = {};
        args.rows = kind == QKV       ? shape.qkv_size()
                    : kind == GATE_UP ? 2 * shape.feed_forward
                    : kind == HEAD    ? shape.vocabulary
                                      : shape.hidden;
        args.cols = kind == OUT    ? shape.attention_size()
                    : kind == DOWN ? shape.feed_forward
                                   : shape.hidden;
        args.batch = config.batch;
        /* A small matrix fits into the rings of one block on each multiprocessor. What has to be widened
         * needs the warps of two. */
        const size_t bytes =
            weight * static_cast<size_t>(args.rows) * static_cast<size_t>(args.cols);
        const size_t small = size_t{multiprocessors} * (kind == OUT ? 192 << 10 : 128 << 10);
        const bool two = bytes > small || (weight == 1 && kind != OUT);
        const unsigned most = two ? 2 * multiprocessors : multiprocessors;
        linear_setting &setting = to.linear[i];
        setting = {kind == HEAD ? 4 * multiprocessors : most, 96 << 10, 32};
        if (kind == QKV && !two) { /* attention behind it needs the room */
            setting.ring_bytes = 64 << 10;
        }
        /* A block half of the shared memory at most, and all sums. */
        while (setting.ring_bytes > 32 << 10 &&
               linear_plan(kind, weight, setting, &args).shared_bytes - 1 >= 113 << 10) {
            setting.ring_bytes -= 8 << 10;
        }
        for (int doubled = 0; doubled < 4 && linear_plan(kind, weight, setting, &args).blocks == 0;
             doubled++) {
            setting.blocks *= 2;
        }
    }
    const int groups = context_groups(config.context);
    const int pairs = config.batch * shape.kv_heads;
    attention_setting &attention = to.attention;
    attention.cluster = 1;
    while (2 * attention.cluster <= 8 && 2 * attention.cluster <= groups &&
           2 * attention.cluster * pairs <= static_cast<int>(multiprocessors)) {
        attention.cluster *= 2;
    }
    const int block_groups = (groups + attention.cluster - 1) / attention.cluster;
    attention.warps = std::min(attention_most_warps, block_groups);
    const int warp_groups = (block_groups + attention.warps - 1) / attention.warps;
    attention.stages = std::min(warp_groups, shape.head_size == 64 ? 2 : 1);
    /* No more in L2 than half of what it holds. */
    const int bytes = 4 * group_tokens * shape.head_size;
    attention.prefetch =
        std::min(warp_groups - attention.stages,
                 (24 << 20) / (pairs * attention.cluster * attention.warps * bytes));
    return to;
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct step_launch {
    const void *symbol;
    unsigned blocks, threads, shared_bytes, cluster; /* 0 blocks: the settings do not fit */
};

struct step {
    step_kind kind;
    linear_args linear;
    attention_args attention;
    embed_args embed;

    void *arguments() const
    {
        const void *const args = kind == STEP_ATTENTION ? static_cast<const void *>(&attention)
                                 : kind == STEP_EMBED   ? static_cast<const void *>(&embed)
                                                        : &linear;
        return const_cast<void *>(args);
    }
};

/* A token's steps, in order. */
class decoder_steps
{
  public:
    /* `stamps` has one for each step, or is NULL. `whole`: with embedding and logits. */
    decoder_steps(const decoder_model &m, bool with_attention, const decoder_settings &settings,
                  kernel_stamps *stamps, bool whole = false)
        : model_(m), settings_(settings)
    {
        const decoder_shape &shape = m.shape;
        if (whole) {
            step s = {};
            s.kind = STEP_EMBED;
            s.embed = {m.table.get(), m.tokens.get(),   m.input.get(),
                       nullptr,       shape.vocabulary, shape.hidden};
            add(s, {reinterpret_cast<const void *>(embed), static_cast<unsigned>(m.batch),
                    embed_threads, 0, 1});
        }
        for (int i = 0; i < shape.layers; i++) {
            const bf16 *const x = m.layer_input(i);
            bf16 *const y = m.computed(i);
            bf16 *const middle = y + m.middle_at();
            add_linear(STEP_QKV, i, m.gamma(i, 0), x, shape.hidden, nullptr, y);
            if (with_attention) {
                add_attention(i);
            }
            add_linear(STEP_OUT, i, nullptr, with_attention ? y + m.attention_at() : y,
                       with_attention ? shape.attention_size() : shape.qkv_size(), x, middle);
            add_linear(STEP_GATE_UP, i, m.gamma(i, 1), middle, shape.hidden, nullptr,
                       y + m.active_at());
            add_linear(STEP_DOWN, i, nullptr, y + m.active_at(), shape.feed_forward, middle,
                       y + m.result_at());
        }
        if (whole) {
            add_linear(STEP_HEAD, 0, m.last_gamma.get(), m.layer_input(shape.layers), shape.hidden,
                       nullptr, m.logits.get());
        }
        for (size_t i = 0; stamps != nullptr && i < list.size(); i++) {
            list[i].linear.stamps = list[i].attention.stamps = list[i].embed.stamps = stamps + i;
        }
    }

    /* One kernel for each kind. */
    pdl_status record(pdl_chain *chain, pdl_kernel *const *kernels, pdl_overlap overlap) const
    {
        for (const step &s : list) {
            const step_launch &launch = launches[s.kind];
            pdl_launch_desc desc = pdl_launch_desc_make(launch.blocks, launch.threads,
                                                        launch.shared_bytes, nullptr, overlap);
            desc.cluster[0] = launch.cluster > 1 ? launch.cluster : 0;
            void *const args[] = {s.arguments()};
            const pdl_status status =
                pdl_chain_add(chain, kernels[s.kind], &desc, args, nullptr, 0, nullptr);
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

    /* Whether every step can be launched with these settings. */
    bool fits() const
    {
        return std::all_of(list.begin(), list.end(),
                           [&](const step &s) { return launches[s.kind].blocks > 0; });
    }

    std::vector<step> list;
    step_launch launches[ALL_STEP_KINDS] = {};

  private:
    void add(const step &s, const step_launch &launch)
    {
        list.push_back(s);
        launches[s.kind] = launch;
    }

    void add_linear(step_kind kind, int layer, const bf16 *gamma, const bf16 *x, int x_stride,
                    const bf16 *residual, bf16 *y)
    {
        const linear_kind which = linear_of(kind);
        const bool fp8_weights = model_.config.fp8_weights && which != HEAD;
        step s = {};
        s.kind = kind;
        s.linear.weights = which == HEAD ? static_cast<const void *>(model_.table.get())
                                         : model_.matrix(layer, which);
        s.linear.scales = fp8_weights ? model_.row_scales(layer, which) : nullptr;
        s.linear.gamma = gamma;
        s.linear.x = x;
        s.linear.residual = residual;
        s.linear.y = y;
        s.linear.rows = model_.rows(which);
        s.linear.cols = model_.cols(which);
        s.linear.x_stride = x_stride;
        s.linear.batch = model_.batch;
        const linear_launch plan =
            linear_plan(which, fp8_weights ? 1 : 2, settings_.linear[which], &s.linear);
        add(s, {reinterpret_cast<const void *>(
                    linear_for(which, fp8_weights, model_.batch, s.linear.cols)),
                plan.blocks, linear_threads, plan.shared_bytes, 1});
    }

    void add_attention(int layer)
    {
        const size_t cache = static_cast<size_t>(layer) * model_.layer_cache();
        step s = {};
        s.kind = STEP_ATTENTION;
        s.attention.qkv = model_.computed(layer);
        s.attention.keys = model_.keys.get() + cache;
        s.attention.values = model_.values.get() + cache;
        s.attention.rope = model_.rope.get();
        s.attention.y = model_.computed(layer) + model_.attention_at();
        s.attention.heads = model_.shape.heads;
        s.attention.kv_heads = model_.shape.kv_heads;
        s.attention.context = model_.config.context;
        const attention_launch plan =
            attention_plan(model_.shape, model_.batch, settings_.attention, &s.attention);
        add(s, {reinterpret_cast<const void *>(attention_for(model_.shape.head_size)), plan.blocks,
                plan.threads, plan.shared_bytes, plan.cluster});
    }

    const decoder_model &model_;
    const decoder_settings settings_;
};

#endif /* PDL_BENCH_DECODE_STEPS_CUH */
