/* SPDX-License-Identifier: MIT */
/* The decoder's weights, cache and activations on the device, random with a fixed seed. */
#ifndef PDL_BENCH_DECODE_MODEL_CUH
#define PDL_BENCH_DECODE_MODEL_CUH

#include <cmath>

#include "buffer.cuh"
#include "decode_attention.cuh"
#include "decode_linear.cuh"

/* Pseudo-random numbers around `middle`, at most `spread` away. */
template <typename T>
static __global__ void fill_uniform(T *to, size_t count, unsigned long long seed, float middle,
                                    float spread)
{
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x) {
        unsigned long long bits = (seed * 0x2545f4914f6cdd1dull + i + 1) * 0x9e3779b97f4a7c15ull;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
        const float unit = static_cast<float>(bits >> 40) * (1.0f / 8388608.0f) - 1.0f;
        to[i] = static_cast<T>(middle + spread * unit);
    }
}

/* The new token's key and value of a kv head, which are scattered over the last group: a block for each
 * sequence, layer and head, a thread for each dimension. Copies them out, or makes them not-a-number. */
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

class decoder_model
{
  public:
    /* `whole_`: with the embedding and the product that makes the logits. */
    decoder_model(const decoder_config &config_, unsigned long long seed, bool whole_ = false)
        : config(config_), shape(config.shape), batch(config.batch), whole(whole_),
          weights(layer_bytes() * shape.layers),
          scales(config.fp8_weights ? layer_rows() * shape.layers : 1),
          table(whole ? table_weights() : 1), gammas(size_t{2} * shape.layers * shape.hidden),
          keys(shape.layers * layer_cache()), values(shape.layers * layer_cache()),
          input(sequences() * shape.hidden), activations(shape.layers * layer_activations()),
          rope(shape.head_size), last_gamma(shape.hidden),
          logits(whole ? sequences() * shape.vocabulary : 1), tokens(sequences())
    {
        const float hidden_spread =
            std::sqrt(3.0f / shape.hidden); /* each product's terms add up */
        const float other_spread[2] = {std::sqrt(3.0f / shape.attention_size()), /* to 1 */
                                       std::sqrt(3.0f / shape.feed_forward)};
        for (int i = 0; i < shape.layers; i++) {
            const float spreads[] = {hidden_spread, other_spread[0], hidden_spread,
                                     other_spread[1]};
            for (int kind = QKV; kind <= DOWN; kind++) {
                fill_weights(i, static_cast<linear_kind>(kind), seed + 8 * i + kind, spreads[kind]);
            }
        }
        fill(gammas.get(), size_t{2} * shape.layers * shape.hidden, seed + 1000, 1, 0.5f);
        fill(keys.get(), shape.layers * layer_cache(), seed + 1001, 0, 3.5f);
        fill(values.get(), shape.layers * layer_cache(), seed + 1002, 0, 7);
        fill(input.get(), sequences() * shape.hidden, seed + 1003, 0, 1.7f);
        fill(last_gamma.get(), shape.hidden, seed + 1004, 1, 0.5f);
        if (whole) {
            fill(table.get(), table_weights(), seed + 1005, 0, 1.7f);
            std::vector<int> all(sequences());
            for (size_t i = 0; i < all.size(); i++) {
                all[i] = token_number(static_cast<int>(i));
            }
            tokens.set(all);
        }
        const int half = shape.head_size / 2;
        std::vector<float> angles(2 * static_cast<size_t>(half));
        for (int i = 0; i < half; i++) {
            const double angle =
                (config.context - 1) * std::pow(10000.0, -2.0 * i / shape.head_size);
            angles[static_cast<size_t>(i)] = static_cast<float>(std::cos(angle));
            angles[static_cast<size_t>(i + half)] = static_cast<float>(std::sin(angle));
        }
        rope.set(angles);
        CHECK(cudaDeviceSynchronize());
    }

    /* ---- sizes ---- */

    size_t sequences() const
    {
        return static_cast<size_t>(batch);
    }
    size_t weight_size() const
    {
        return config.fp8_weights ? sizeof(fp8) : sizeof(bf16);
    }
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
    size_t matrix_bytes(linear_kind kind) const
    {
        return weight_size() * static_cast<size_t>(rows(kind)) * static_cast<size_t>(cols(kind));
    }
    size_t layer_bytes() const
    {
        return matrix_bytes(QKV) + matrix_bytes(OUT) + matrix_bytes(GATE_UP) + matrix_bytes(DOWN);
    }
    size_t layer_rows() const
    {
        return static_cast<size_t>(rows(QKV) + rows(OUT) + rows(GATE_UP) + rows(DOWN));
    }
    size_t table_weights() const
    {
        return static_cast<size_t>(shape.vocabulary) * static_cast<size_t>(shape.hidden);
    }
    size_t layer_cache() const /* elements of keys, and as many of values */
    {
        return sequences() * static_cast<size_t>(shape.kv_heads) * head_cache();
    }
    size_t head_cache() const
    {
        return size_t{group_tokens} * context_groups(config.context) * shape.head_size;
    }
    /* What a step has to read: the weights, and with attention the cache. */
    double token_bytes(bool with_attention, bool with_table) const
    {
        double bytes = static_cast<double>(layer_bytes()) * shape.layers;
        if (with_attention) {
            bytes += 4.0 * batch * shape.kv_heads * shape.layers * (config.context - 1.0) *
                     shape.head_size;
        }
        return bytes + (with_table ? 2.0 * static_cast<double>(table_weights()) : 0.0);
    }
    /* On the device, and some more. */
    static size_t device_bytes(const decoder_config &config, bool whole = false)
    {
        const decoder_shape &s = config.shape;
        const size_t weight = config.fp8_weights ? 1 : 2;
        const size_t widths =
            static_cast<size_t>(s.qkv_size()) + s.attention_size() + size_t{3} * s.feed_forward;
        const size_t cache = size_t{4} * group_tokens * context_groups(config.context) *
                             s.head_size * s.kv_heads * config.batch;
        return s.layers * (weight * widths * s.hidden + cache) +
               (whole ? size_t{2} * s.vocabulary * s.hidden : 0) + (size_t{512} << 20);
    }

    /* ---- places ---- */

    unsigned char *matrix(int layer, linear_kind kind) const
    {
        unsigned char *at = weights.get() + static_cast<size_t>(layer) * layer_bytes();
        for (int before = QKV; before < kind; before++) {
            at += matrix_bytes(static_cast<linear_kind>(before));
        }
        return at;
    }
    float *row_scales(int layer, linear_kind kind) const /* NULL in bf16 */
    {
        size_t at = static_cast<size_t>(layer) * layer_rows();
        for (int before = QKV; before < kind; before++) {
            at += static_cast<size_t>(rows(static_cast<linear_kind>(before)));
        }
        return config.fp8_weights ? scales.get() + at : nullptr;
    }
    const bf16 *gamma(int layer, int which) const
    {
        return gammas.get() + static_cast<size_t>(2 * layer + which) * shape.hidden;
    }
    /* What a layer computes, kept for the check: [sequence][width] each. */
    size_t attention_at() const
    {
        return sequences() * shape.qkv_size();
    }
    size_t middle_at() const
    {
        return attention_at() + sequences() * shape.attention_size();
    }
    size_t active_at() const
    {
        return middle_at() + sequences() * shape.hidden;
    }
    size_t result_at() const
    {
        return active_at() + sequences() * shape.feed_forward;
    }
    size_t layer_activations() const
    {
        return result_at() + sequences() * shape.hidden;
    }
    bf16 *computed(int layer) const
    {
        return activations.get() + static_cast<size_t>(layer) * layer_activations();
    }
    const bf16 *layer_input(int layer) const
    {
        return layer == 0 ? input.get() : computed(layer - 1) + result_at();
    }
    int token_number(int sequence) const
    {
        return (4711 + 1234 * sequence) % shape.vocabulary;
    }

    /* ---- results ---- */

    /* Makes what is not computed, or computed from old data, show as not-a-number. */
    void poison() const
    {
        activations.fill(0xff);
        logits.fill(0xff);
        entries(nullptr);
        CHECK(cudaDeviceSynchronize());
    }

    /* All that a step computes: each layer's activations, then the new entries of the cache, a key and a
     * value for each layer, sequence and kv head, and the logits. */
    std::vector<bf16> results() const
    {
        std::vector<bf16> all = activations.host();
        device_buffer<bf16> copies(entry_count() * 2 * static_cast<size_t>(shape.head_size));
        entries(copies.get());
        const std::vector<bf16> all_entries = copies.host();
        all.insert(all.end(), all_entries.begin(), all_entries.end());
        const std::vector<bf16> last = logits.host();
        if (whole) {
            all.insert(all.end(), last.begin(), last.end());
        }
        return all;
    }

    const decoder_config config;
    const decoder_shape shape;
    const int batch;
    const bool whole;

    device_buffer<unsigned char> weights; /* in tiles; the layers as a step reads them */
    device_buffer<float> scales;
    device_buffer<bf16> table; /* the embedding, which is the last product's matrix as well; bf16 */
    device_buffer<bf16> gammas, keys, values, input, activations;
    device_buffer<float> rope;
    device_buffer<bf16> last_gamma, logits;
    device_buffer<int> tokens;

  private:
    template <typename T>
    static void fill(T *to, size_t count, unsigned long long seed, float middle, float spread)
    {
        fill_uniform<<<1024, 256>>>(to, count, seed, middle, spread);
        CHECK(cudaGetLastError());
    }

    void fill_weights(int layer, linear_kind kind, unsigned long long seed, float spread)
    {
        const size_t count = matrix_bytes(kind) / weight_size();
        if (config.fp8_weights) { /* 448 is the largest */
            fill(reinterpret_cast<fp8 *>(matrix(layer, kind)), count, seed, 0, 448);
            fill(row_scales(layer, kind), static_cast<size_t>(rows(kind)), seed + 4000,
                 spread / 448, spread / 1792);
        } else {
            fill(reinterpret_cast<bf16 *>(matrix(layer, kind)), count, seed, 0, spread);
        }
    }

    size_t entry_count() const
    {
        return sequences() * static_cast<size_t>(shape.layers * shape.kv_heads);
    }

    void entries(bf16 *to) const
    {
        copy_entries<<<static_cast<unsigned>(entry_count()),
                       static_cast<unsigned>(shape.head_size)>>>(
            keys.get(), values.get(), head_cache(), (config.context - 1) % group_tokens, to);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
    }
};

#endif /* PDL_BENCH_DECODE_MODEL_CUH */
