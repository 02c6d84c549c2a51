/* SPDX-License-Identifier: MIT */
/* The decoder's steps in a list, with what each is launched with. */
#ifndef PDL_BENCH_DECODE_STEPS_CUH
#define PDL_BENCH_DECODE_STEPS_CUH

#include "decode_model.cuh"
#include "parallel_reduce.cuh"

/* ---- settings -------------------------------------------------------------------------------- */

/* What a search on a device found to be good for several shapes, as rules. The arguments have the product's
 * rows and columns, and `shape` the widths of the device's share. */
inline linear_setting linear_rule(linear_kind kind, unsigned multiprocessors, linear_args args)
{
    /* A small matrix fits into the rings of one block on each multiprocessor. */
    const size_t bytes = size_t{2} * args.rows * args.cols;
    const bool two = bytes > size_t{multiprocessors} * (kind == OUT ? 192 << 10 : 128 << 10);
    linear_setting setting = {two ? 2 * multiprocessors : multiprocessors, 96 << 10, 32};
    if (kind == HEAD) {
        setting.blocks = 4 * multiprocessors;
    }
    if (kind == QKV && !two) { /* attention behind it needs the room */
        setting.ring_bytes = 64 << 10;
    }
    /* A block half of the shared memory at most, and all sums. */
    while (setting.ring_bytes > 32 << 10 &&
           linear_plan(kind, setting, &args).shared_bytes - 1 >= 113 << 10) {
        setting.ring_bytes -= 8 << 10;
    }
    for (int doubled = 0; doubled < 4 && linear_plan(kind, setting, &args).blocks == 0; doubled++) {
        setting.blocks *= 2;
    }
    return setting;
}

inline attention_setting attention_rule(const decoder_shape &shape, int context,
                                        unsigned multiprocessors)
{
    const int groups = context_groups(context);
    attention_setting setting = {1, 0, 0, 0};
    while (2 * setting.cluster <= 8 && 2 * setting.cluster <= groups &&
           2 * setting.cluster * shape.kv_heads <= static_cast<int>(multiprocessors)) {
        setting.cluster *= 2;
    }
    const int block_groups = (groups + setting.cluster - 1) / setting.cluster;
    setting.warps = std::min(attention_most_warps, block_groups);
    const int warp_groups = (block_groups + setting.warps - 1) / setting.warps;
    setting.stages = std::min(warp_groups, shape.head_size == 64 ? 2 : 1);
    /* No more in L2 than half of what it holds. */
    const int bytes = 4 * group_tokens * shape.head_size;
    setting.prefetch =
        std::min(warp_groups - setting.stages,
                 (24 << 20) / (shape.kv_heads * setting.cluster * setting.warps * bytes));
    return setting;
}

/* ---- steps ----------------------------------------------------------------------------------- */

enum step_kind { STEP_LINEAR, STEP_ATTENTION, STEP_EMBED, STEP_SUM };

struct step {
    step_kind kind;
    const void *symbol;
    unsigned blocks, threads, shared_bytes,
        cluster; /* 0 blocks: the model does not fit the kernel */
    linear_args linear;
    attention_args attention;
    embed_args embed;
    reduce_args sum;

    void *arguments() const
    {
        const void *const args = kind == STEP_ATTENTION ? static_cast<const void *>(&attention)
                                 : kind == STEP_EMBED   ? static_cast<const void *>(&embed)
                                 : kind == STEP_SUM     ? static_cast<const void *>(&sum)
                                                        : &linear;
        return const_cast<void *>(args);
    }
};

/* Without attention the output projection takes the queries; a whole token has the embedding and logits,
 * too. */
enum token_part { LINEAR, ATTENTION, WHOLE, PARTS };

/* What adds up the devices' parts. NO_SUM leaves them as they are: the time without communication. */
enum sum_kind { NO_SUM, SUM_NCCL, SUM_WINDOW, SUM_PEER, SUM_FENCED, SUM_KINDS };

class nccl_team;

/* What a device's sums need. */
struct sums {
    sum_kind kind = NO_SUM;
    const nccl_team *nccl = nullptr;
    reduce_args peer = {}; /* all but the vectors */
    unsigned *between =
        nullptr; /* cleared in front of a kernel that overlaps without a wait; or NULL */

    bool by_nccl() const
    {
        return kind == SUM_NCCL || kind == SUM_WINDOW;
    }
};

/* A token's steps, in order. */
class decoder_steps
{
  public:
    /* `computed`: where the activations go; `stamps`: one for each step, or NULL. */
    decoder_steps(const decoder_model &m, token_part part, int multiprocessors, bf16 *computed,
                  kernel_stamps *stamps = nullptr, const sums &adding = sums())
        : sum(adding), model_(&m), multiprocessors_(static_cast<unsigned>(multiprocessors))
    {
        const bool adds = m.config.rank == 0; /* one of the devices adds what a layer adds to */
        const bf16 *x = m.input.get();
        if (part == WHOLE) {
            step &s = add(STEP_EMBED, reinterpret_cast<const void *>(embed), 1, embed_threads, 0);
            s.embed = {m.table.get(), m.token.get(),      m.input.get(),
                       nullptr,       m.shape.vocabulary, m.shape.hidden};
        }
        for (int i = 0; i < m.shape.layers; i++) {
            bf16 *const y = computed + static_cast<size_t>(i) * m.layer_activations();
            bf16 *const middle = y + m.middle_at(), *const result = y + m.result_at();
            bf16 *const active = y + m.active_at();
            const bf16 *mixed = y;
            add_linear(QKV, i, m.gammas.get() + m.gamma_at(i, 0), x, nullptr, y);
            if (part != LINEAR) {
                add_attention(i, y);
                mixed = y + m.attention_at();
            }
            add_sum(add_linear(OUT, i, nullptr, mixed, adds ? x : nullptr, middle),
                    y + m.out_part_at(), middle, m.shape.hidden);
            add_linear(GATE_UP, i, m.gammas.get() + m.gamma_at(i, 1), middle, nullptr, active);
            add_sum(add_linear(DOWN, i, nullptr, active, adds ? middle : nullptr, result),
                    y + m.down_part_at(), result, m.shape.hidden);
            x = result;
        }
        if (part == WHOLE) {
            add_linear(HEAD, 0, m.last_gamma.get(), x, nullptr, m.logits.get());
        }
        for (size_t i = 0; stamps != nullptr && i < list.size(); i++) {
            step &s = list[i];
            s.linear.stamps = s.attention.stamps = s.embed.stamps = s.sum.stamps = stamps + i;
        }
    }

    /* Only sums, one after the other, of so many values. */
    decoder_steps(const sums &adding, const bf16 *x, bf16 *y, int values, int times) : sum(adding)
    {
        for (int i = 0; i < times; i++) {
            add_sum(x, y, values);
        }
    }

    /* Whether every step can be launched. */
    bool fits() const
    {
        return std::all_of(list.begin(), list.end(), [](const step &s) { return s.blocks > 0; });
    }

    std::vector<step> list;
    const sums sum;

  private:
    step &add(step_kind kind, const void *symbol, unsigned blocks, unsigned threads,
              unsigned shared_bytes, unsigned cluster = 1)
    {
        step s = {};
        s.kind = kind;
        s.symbol = symbol;
        s.blocks = blocks;
        s.threads = threads;
        s.shared_bytes = shared_bytes;
        s.cluster = cluster;
        list.push_back(s);
        return list.back();
    }

    static const void *linear_symbol(linear_kind kind, int cols)
    {
        const bool wide = chunk_columns(kind, cols) > 128;
        switch (kind) {
        case QKV:
            return reinterpret_cast<const void *>(wide ? linear<QKV, 256> : linear<QKV, 128>);
        case OUT:
            return reinterpret_cast<const void *>(wide ? linear<OUT, 256> : linear<OUT, 128>);
        case GATE_UP:
            return reinterpret_cast<const void *>(linear<GATE_UP, 128>);
        case DOWN:
            return reinterpret_cast<const void *>(wide ? linear<DOWN, 256> : linear<DOWN, 128>);
        default:
            return reinterpret_cast<const void *>(wide ? linear<HEAD, 256> : linear<HEAD, 128>);
        }
    }

    linear_args *add_linear(linear_kind kind, int layer, const bf16 *gamma, const bf16 *x,
                            const bf16 *residual, bf16 *y)
    {
        linear_args args = {};
        args.weights = kind == HEAD ? model_->table.get() : model_->matrix(layer, kind);
        args.gamma = gamma;
        args.x = x;
        args.residual = residual;
        args.y = y;
        args.rows = model_->rows(kind);
        args.cols = model_->cols(kind);
        const linear_launch plan =
            linear_plan(kind, linear_rule(kind, multiprocessors_, args), &args);
        step &s = add(STEP_LINEAR, linear_symbol(kind, args.cols), plan.blocks, linear_threads,
                      plan.shared_bytes);
        s.linear = args;
        return &s.linear;
    }

    void add_attention(int layer, bf16 *y)
    {
        const size_t cache = static_cast<size_t>(layer) * model_->layer_cache();
        attention_args args = {};
        args.qkv = y;
        args.keys = model_->keys.get() + cache;
        args.values = model_->values.get() + cache;
        args.rope = model_->rope.get();
        args.y = y + model_->attention_at();
        args.heads = model_->shape.heads;
        args.kv_heads = model_->shape.kv_heads;
        args.context = model_->config.context;
        const attention_launch plan = attention_plan(
            model_->shape, attention_rule(model_->shape, args.context, multiprocessors_), &args);
        step &s =
            add(STEP_ATTENTION,
                model_->shape.head_size == 64 ? reinterpret_cast<const void *>(attention<64>)
                                              : reinterpret_cast<const void *>(attention<128>),
                plan.blocks, plan.threads, plan.shared_bytes, plan.cluster);
        s.attention = args;
    }

    void add_sum(const bf16 *x, bf16 *y, int values)
    {
        const unsigned words = static_cast<unsigned>(values / 2);
        step &s = add(STEP_SUM,
                      sum.kind == SUM_PEER ? reinterpret_cast<const void *>(reduce<REDUCE_PAIRED>)
                                           : reinterpret_cast<const void *>(reduce<REDUCE_FENCED>),
                      (words + reduce_threads - 1) / reduce_threads, reduce_threads, 0);
        s.sum = sum.peer;
        s.sum.x = x;
        s.sum.y = y;
        s.sum.words = values / 2;
    }

    /* With sums the product before computes a part of what they add up. */
    void add_sum(linear_args *before, bf16 *part, bf16 *y, int values)
    {
        if (sum.kind != NO_SUM) {
            before->y = part;
            add_sum(part, y, values);
        }
    }

    const decoder_model *model_ = nullptr;
    const unsigned multiprocessors_ = 0;
};

#endif /* PDL_BENCH_DECODE_STEPS_CUH */
