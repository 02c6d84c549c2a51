/* SPDX-License-Identifier: MIT */
/* A device's share of a decoder: weights, cache and activations, random with a fixed seed. With one device
 * it is the whole; one of several has some of the heads, with their rows of qkv and columns of the output
 * projection, and a part of the feed-forward width. All numbers come from their place in the whole model,
 * so that every split is of the same one, and the reference does not need the device for them. */
#ifndef PDL_BENCH_DECODE_MODEL_CUH
#define PDL_BENCH_DECODE_MODEL_CUH

#include "decode_attention.cuh"
#include "decode_linear.cuh"

/* What a step computes: one new token at position context - 1. */
struct decoder_config {
    decoder_shape shape; /* of the whole */
    int context;
    int rank = 0, ranks = 1; /* of how many devices */

    /* The widths of this device's share. */
    decoder_shape own() const
    {
        decoder_shape s = shape;
        s.heads /= ranks;
        s.kv_heads /= ranks;
        s.feed_forward /= ranks;
        return s;
    }
};

/* ---- the model's numbers --------------------------------------------------------------------- */

/* The matrices of weights, and what else is random. */
enum number_kind { GAMMA_1 = HEAD + 1, GAMMA_2, LAST_GAMMA, KEYS, VALUES, NUMBER_KINDS };

/* Pseudo-random numbers around `middle`, at most `spread` away. A spread around anything but 0 is a power
 * of two, so that host and device round alike. */
struct number_source {
    unsigned long long seed;
    float middle, spread;

    __host__ __device__ bf16 at(size_t i) const
    {
        unsigned long long bits = (seed * 0x2545f4914f6cdd1dull + i + 1) * 0x9e3779b97f4a7c15ull;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
        const float unit = static_cast<float>(bits >> 40) * (1.0f / 8388608.0f) - 1.0f;
        return __float2bfloat16(middle + spread * unit);
    }
};

inline number_source numbers_of(const decoder_shape &shape, int kind, int layer)
{
    const unsigned long long seed =
        (1000 + static_cast<unsigned long long>(layer)) * NUMBER_KINDS + kind;
    switch (kind) { /* each product's terms add up to about 1 */
    case QKV:
    case GATE_UP:
        return {seed, 0, std::sqrt(3.0f / shape.hidden)};
    case OUT:
        return {seed, 0, std::sqrt(3.0f / shape.attention_size())};
    case DOWN:
        return {seed, 0, std::sqrt(3.0f / shape.feed_forward)};
    case GAMMA_1:
    case GAMMA_2:
    case LAST_GAMMA:
        return {seed, 1, 0.5f};
    case KEYS:
        return {seed, 0, 3.5f};
    case VALUES:
        return {seed, 0, 7};
    default: /* the embedding, which is the last product's matrix as well */
        return {seed, 0, 1.7f};
    }
}

/* Of parts that lie one behind the other, each divided among the devices: where a row of this device's is
 * in the whole. */
__host__ __device__ inline int whole_row(const decoder_config &c, int row, int size, int begin)
{
    return c.ranks * begin + c.rank * size + row - begin;
}

/* Which number of the whole matrix is at that row and column of this device's share `own`. */
__host__ __device__ inline size_t whole_place(const decoder_config &c, const decoder_shape &own,
                                              linear_kind kind, int row, int col)
{
    int cols = own.hidden;
    if (kind == QKV) { /* queries, keys, values */
        const int queries = own.attention_size(), keys = own.kv_heads * own.head_size;
        row = row < queries
                  ? whole_row(c, row, queries, 0)
                  : whole_row(c, row, keys, row < queries + keys ? queries : queries + keys);
    } else if (kind == GATE_UP) {
        row = whole_row(c, row, own.feed_forward, row < own.feed_forward ? 0 : own.feed_forward);
    } else if (kind == OUT || kind == DOWN) {
        const int mine = kind == OUT ? own.attention_size() : own.feed_forward;
        cols = mine * c.ranks;
        col += mine * c.rank;
    }
    return static_cast<size_t>(row) * cols + col;
}

/* Of a kv head of this device. Groups of tokens are whole: those behind the context have numbers, too. */
__host__ __device__ inline size_t cache_place(const decoder_config &c, const decoder_shape &own,
                                              int kv_head, int token, int dim)
{
    const int tokens = (c.context + group_tokens - 1) / group_tokens * group_tokens;
    return (static_cast<size_t>(c.rank * own.kv_heads + kv_head) * tokens + token) * own.head_size +
           dim;
}

static __global__ void fill_vector(bf16 *to, size_t count, number_source from, size_t first)
{
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x) {
        to[i] = from.at(first + i);
    }
}

static __global__ void fill_matrix(bf16 *to, decoder_config c, decoder_shape own, linear_kind kind,
                                   int rows, int cols, number_source from)
{
    const size_t count = size_t{1} * rows * cols;
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x) {
        const int row = static_cast<int>(i / cols), col = static_cast<int>(i % cols);
        to[weight_place(kind == GATE_UP, rows, cols, row, col)] =
            from.at(whole_place(c, own, kind, row, col));
    }
}

/* A layer's cache, of `groups` groups of tokens for each kv head. */
static __global__ void fill_cache(bf16 *keys, bf16 *values, decoder_config c, decoder_shape own,
                                  int groups, number_source from_keys, number_source from_values)
{
    const int size = own.head_size;
    const size_t count = size_t{1} * own.kv_heads * groups * group_tokens * size;
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x) {
        const int dim = static_cast<int>(i % size);
        const int token = static_cast<int>(i / size % (groups * group_tokens));
        const int kv_head = static_cast<int>(i / size / (groups * group_tokens));
        const size_t place = cache_place(c, own, kv_head, token, dim);
        const size_t group =
            (size_t{1} * kv_head * groups + token / group_tokens) * group_tokens * size;
        keys[group + key_place(size, token % group_tokens, dim)] = from_keys.at(place);
        values[group + value_place(token % group_tokens, dim)] = from_values.at(place);
    }
}

/* The new token's key and value of a kv head, which are scattered over the last group: a block for each
 * layer and head, a thread for each dimension. Copies them out, or makes them not-a-number. */
static __global__ void copy_entries(bf16 *keys, bf16 *values, size_t head_cache, int token,
                                    bf16 *to)
{
    const int size = static_cast<int>(blockDim.x), dim = static_cast<int>(threadIdx.x);
    const size_t group = (blockIdx.x + 1) * head_cache - size_t{group_tokens} * size;
    bf16 *const key = keys + group + key_place(size, token, dim);
    bf16 *const value = values + group + value_place(token, dim);
    if (to == nullptr) {
        *key = *value = __ushort_as_bfloat16(0xffff);
    } else {
        to[size_t{2} * blockIdx.x * size + dim] = *key;
        to[(size_t{2} * blockIdx.x + 1) * size + dim] = *value;
    }
}

/* ---- on the device --------------------------------------------------------------------------- */

class decoder_model
{
  public:
    /* `whole_`: with the embedding and the product that makes the logits. */
    explicit decoder_model(const decoder_config &config_, bool whole_ = false)
        : config(config_), shape(config.own()), whole(whole_),
          weights(layer_weights() * shape.layers), table(whole ? matrix_size(HEAD) : 1),
          gammas(size_t{2} * shape.layers * shape.hidden), last_gamma(shape.hidden),
          keys(shape.layers * layer_cache()), values(shape.layers * layer_cache()),
          input(shape.hidden), activations(shape.layers * layer_activations()),
          logits(whole ? shape.vocabulary : 1), rope(shape.head_size),
          token(std::vector<int>{token_number})
    {
        for (int i = 0; i < shape.layers; i++) {
            for (const linear_kind kind : {QKV, OUT, GATE_UP, DOWN}) {
                fill(matrix(i, kind), kind, i);
            }
            for (int which = 0; which < 2; which++) {
                fill(gammas.get() + gamma_at(i, which), shape.hidden, GAMMA_1 + which, i);
            }
            fill_cache<<<1024, 256>>>(
                keys.get() + i * layer_cache(), values.get() + i * layer_cache(), config, shape,
                context_groups(config.context), numbers(KEYS, i), numbers(VALUES, i));
            CHECK(cudaGetLastError());
        }
        fill(input.get(), shape.hidden, HEAD, 0, embedding_at());
        fill(last_gamma.get(), shape.hidden, LAST_GAMMA, 0);
        if (whole) {
            fill(table.get(), HEAD, 0);
        }
        std::vector<float> angles(static_cast<size_t>(shape.head_size));
        for (int i = 0; i < shape.head_size / 2; i++) {
            angles[static_cast<size_t>(i)] = static_cast<float>(std::cos(angle(i)));
            angles[static_cast<size_t>(i + shape.head_size / 2)] =
                static_cast<float>(std::sin(angle(i)));
        }
        rope.set(angles);
    }

    number_source numbers(int kind, int layer) const
    {
        return numbers_of(config.shape, kind, layer);
    }
    /* By which a pair of dimensions of the new token is turned. */
    double angle(int i) const
    {
        return (config.context - 1) * std::pow(10000.0, -2.0 * i / shape.head_size);
    }

    /* ---- sizes, in elements ---- */

    int rows(linear_kind kind) const
    {
        return kind == QKV       ? shape.qkv_size()
               : kind == GATE_UP ? 2 * shape.feed_forward
               : kind == HEAD    ? shape.vocabulary
                                 : shape.hidden;
    }
    int cols(linear_kind kind) const
    {
        return kind == OUT    ? shape.attention_size()
               : kind == DOWN ? shape.feed_forward
                              : shape.hidden;
    }
    size_t matrix_size(linear_kind kind) const
    {
        return static_cast<size_t>(rows(kind)) * static_cast<size_t>(cols(kind));
    }
    size_t layer_weights() const
    {
        return matrix_size(QKV) + matrix_size(OUT) + matrix_size(GATE_UP) + matrix_size(DOWN);
    }
    size_t weight_bytes() const
    {
        return sizeof(bf16) * layer_weights() * shape.layers;
    }
    size_t layer_cache() const /* of keys, and as many of values */
    {
        return static_cast<size_t>(shape.kv_heads) * head_cache();
    }
    size_t head_cache() const
    {
        return size_t{group_tokens} * context_groups(config.context) * shape.head_size;
    }
    /* What a step has to read, in bytes: the weights, and with attention the cache. */
    double token_bytes(bool with_attention, bool with_table) const
    {
        double bytes = static_cast<double>(weight_bytes());
        if (with_attention) {
            bytes += 4.0 * shape.kv_heads * shape.layers * (config.context - 1.0) * shape.head_size;
        }
        return bytes + (with_table ? 2.0 * static_cast<double>(matrix_size(HEAD)) : 0.0);
    }
    /* What a whole model takes on the device, and some more. */
    static size_t device_bytes(const decoder_config &config)
    {
        const decoder_shape &s = config.shape;
        const size_t widths =
            static_cast<size_t>(s.qkv_size()) + s.attention_size() + size_t{3} * s.feed_forward;
        const size_t cache =
            size_t{4} * group_tokens * context_groups(config.context) * s.head_size * s.kv_heads;
        return s.layers * (2 * widths * s.hidden + cache) + size_t{2} * s.vocabulary * s.hidden +
               (size_t{512} << 20);
    }

    /* ---- places ---- */

    bf16 *matrix(int layer, linear_kind kind) const
    {
        bf16 *at = weights.get() + static_cast<size_t>(layer) * layer_weights();
        for (int before = QKV; before < kind; before++) {
            at += matrix_size(static_cast<linear_kind>(before));
        }
        return at;
    }
    size_t gamma_at(int layer, int which) const
    {
        return static_cast<size_t>(2 * layer + which) * shape.hidden;
    }
    /* Where the token's row of the embedding begins, which is the first layer's input. */
    size_t embedding_at() const
    {
        return static_cast<size_t>(token_number) * shape.hidden;
    }
    /* What a layer computes, kept for the check: qkv, attention, the device's part of the output
     * projection, the sum of all parts, gate and up, the part of down, the sum. One device has no parts. */
    size_t attention_at() const
    {
        return static_cast<size_t>(shape.qkv_size());
    }
    size_t out_part_at() const
    {
        return attention_at() + shape.attention_size();
    }
    size_t middle_at() const
    {
        return out_part_at() + shape.hidden;
    }
    size_t active_at() const
    {
        return middle_at() + shape.hidden;
    }
    size_t down_part_at() const
    {
        return active_at() + shape.feed_forward;
    }
    size_t result_at() const
    {
        return down_part_at() + shape.hidden;
    }
    size_t layer_activations() const
    {
        return result_at() + shape.hidden;
    }
    size_t all_activations() const
    {
        return shape.layers * layer_activations();
    }

    /* ---- results; `computed` is where the activations go, those of the model or others ---- */

    /* Makes what is not computed, or computed from old data, show as not-a-number. */
    void poison(bf16 *computed) const
    {
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemset(computed, 0xff, all_activations() * sizeof(bf16)));
        logits.fill(0xff);
        entries(nullptr);
    }

    /* All that a step computes: each layer's activations, then the new entries of the cache, a key and a
     * value for each layer and kv head, and the logits. */
    std::vector<bf16> results(const bf16 *computed) const
    {
        std::vector<bf16> all = to_host(computed, all_activations());
        device_buffer<bf16> copies(size_t{2} * shape.layers * shape.kv_heads * shape.head_size);
        entries(copies.get());
        for (const std::vector<bf16> &more : {copies.host(), logits.host()}) {
            all.insert(all.end(), more.begin(), more.end());
        }
        return all;
    }

    static const int token_number = 4711;
    const decoder_config config;
    const decoder_shape shape; /* of this device */
    const bool whole;

    device_buffer<bf16> weights; /* in tiles; the layers as a step reads them */
    device_buffer<bf16> table;   /* the embedding, which is the last product's matrix as well */
    device_buffer<bf16> gammas, last_gamma, keys, values, input, activations, logits;
    device_buffer<float> rope;
    device_buffer<int> token;

  private:
    void fill(bf16 *to, size_t count, int kind, int layer, size_t first = 0) const
    {
        fill_vector<<<1024, 256>>>(to, count, numbers(kind, layer), first);
        CHECK(cudaGetLastError());
    }
    void fill(bf16 *to, linear_kind kind, int layer) const
    {
        fill_matrix<<<1024, 256>>>(to, config, shape, kind, rows(kind), cols(kind),
                                   numbers(kind, layer));
        CHECK(cudaGetLastError());
    }

    void entries(bf16 *to) const
    {
        copy_entries<<<static_cast<unsigned>(shape.layers * shape.kv_heads),
                       static_cast<unsigned>(shape.head_size)>>>(
            keys.get(), values.get(), head_cache(), (config.context - 1) % group_tokens, to);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
    }
};

#endif /* PDL_BENCH_DECODE_MODEL_CUH */
