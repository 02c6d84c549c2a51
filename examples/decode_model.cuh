/* SPDX-License-Identifier: MIT */
/* The decoder's weights, cache and activations on the device, random with a fixed seed. */
#ifndef PDL_EXAMPLES_DECODE_MODEL_CUH
#define PDL_EXAMPLES_DECODE_MODEL_CUH

#include <cmath>

#include "buffer.cuh"
#include "decode_attention.cuh"
#include "decode_linear.cuh"

/* Pseudo-random numbers around `middle`, at most `spread` away. */
static __global__ void fill_uniform(bf16 *to, size_t count, unsigned long long seed, float middle,
                                    float spread)
{
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x) {
        unsigned long long bits = (seed * 0x2545f4914f6cdd1dull + i + 1) * 0x9e3779b97f4a7c15ull;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
        const float unit = static_cast<float>(bits >> 40) * (1.0f / 8388608.0f) - 1.0f;
        to[i] = __float2bfloat16(middle + spread * unit);
    }
}

class decoder_model
{
  public:
    /* Where a layer's matrices begin, in elements: one after the other, as a token reads them. */
    static constexpr size_t qkv_at = 0;
    static constexpr size_t out_at = qkv_at + size_t{qkv_size} * hidden;
    static constexpr size_t gate_up_at = out_at + size_t{hidden} * hidden;
    static constexpr size_t down_at = gate_up_at + size_t{2} * feed_forward * hidden;
    static constexpr size_t layer_weights = down_at + size_t{hidden} * feed_forward;
    static constexpr size_t all_weights = layers * layer_weights;
    static constexpr size_t layer_cache = size_t{kv_heads} * tokens * head_size;
    /* What a layer computes, kept for the check. */
    static constexpr size_t attention_at = qkv_size;
    static constexpr size_t middle_at = attention_at + hidden;
    static constexpr size_t active_at = middle_at + hidden;
    static constexpr size_t result_at = active_at + feed_forward;
    static constexpr size_t layer_activations = result_at + hidden;

    /* What it takes on the device, and some more. */
    static constexpr size_t device_bytes = 2 * all_weights + (size_t{256} << 20);

    /* The embedding, which is the last product's matrix as well; behind the layers. */
    static constexpr size_t table_weights = size_t{vocabulary} * hidden;
    static constexpr int token_number = 4711;

    /* `whole`: with the embedding and the product that makes the logits. */
    explicit decoder_model(unsigned long long seed, bool whole_ = false)
        : whole(whole_), weights(all_weights + (whole ? table_weights : 0)),
          gammas(size_t{2} * layers * hidden), keys(layers * layer_cache),
          values(layers * layer_cache), input(hidden), activations(layers * layer_activations),
          rope(head_size), last_gamma(hidden), logits(whole ? vocabulary : 1), token(1)
    {
        for (int layer = 0; layer < layers;
             layer++) { /* so that each product's terms add up to 1 */
            fill(weights.get() + layer * layer_weights, down_at, seed + 8 * layer, 0,
                 std::sqrt(3.0f / hidden));
            fill(weights.get() + layer * layer_weights + down_at, layer_weights - down_at,
                 seed + 8 * layer + 1, 0, std::sqrt(3.0f / feed_forward));
        }
        fill(gammas.get(), size_t{2} * layers * hidden, seed + 1000, 1, 0.5f);
        fill(keys.get(), layers * layer_cache, seed + 1001, 0, 3.5f);
        fill(values.get(), layers * layer_cache, seed + 1002, 0, 7);
        fill(input.get(), hidden, seed + 1003, 0, 1.7f);
        fill(last_gamma.get(), hidden, seed + 1004, 1, 0.5f);
        if (whole) {
            fill(table(), table_weights, seed + 1005, 0, 1.7f);
            token.set({token_number});
        }
        std::vector<float> angles(head_size);
        for (int i = 0; i < head_size / 2; i++) {
            const double angle = (tokens - 1) * std::pow(10000.0, -2.0 * i / head_size);
            angles[static_cast<size_t>(i)] = static_cast<float>(std::cos(angle));
            angles[static_cast<size_t>(i + head_size / 2)] = static_cast<float>(std::sin(angle));
        }
        rope.set(angles);
        CHECK(cudaDeviceSynchronize());
    }

    bf16 *layer(int number) const
    {
        return weights.get() + static_cast<size_t>(number) * layer_weights;
    }
    bf16 *table() const
    {
        return weights.get() + all_weights;
    }
    const bf16 *gamma(int number, int which) const
    {
        return gammas.get() + static_cast<size_t>(2 * number + which) * hidden;
    }
    bf16 *computed(int number) const
    {
        return activations.get() + static_cast<size_t>(number) * layer_activations;
    }
    const bf16 *layer_input(int number) const
    {
        return number == 0 ? input.get() : computed(number - 1) + result_at;
    }

    /* Makes what is not computed, or computed from old data, show as not-a-number. */
    void poison() const
    {
        activations.fill(0xff);
        logits.fill(0xff);
        for (const device_buffer<bf16> *cache : {&keys, &values}) {
            CHECK(cudaMemset2D(cache->get() + (tokens - 1) * head_size, cache_pitch, 0xff,
                               sizeof(bf16) * head_size, layers * kv_heads));
        }
        CHECK(cudaDeviceSynchronize());
    }

    /* All that a token computes: each layer's activations, then the new entries of the cache. */
    std::vector<bf16> results() const
    {
        std::vector<bf16> all = activations.host();
        for (const device_buffer<bf16> *cache : {&keys, &values}) {
            const size_t at = all.size();
            all.resize(at + size_t{layers} * kv_heads * head_size);
            CHECK(cudaMemcpy2D(
                all.data() + at, sizeof(bf16) * head_size, cache->get() + (tokens - 1) * head_size,
                cache_pitch, sizeof(bf16) * head_size, layers * kv_heads, cudaMemcpyDeviceToHost));
        }
        const std::vector<bf16> last = logits.host();
        if (whole) {
            all.insert(all.end(), last.begin(), last.end());
        }
        return all;
    }

    const bool whole;

    device_buffer<bf16> weights, gammas, keys, values, input, activations;
    device_buffer<float> rope;
    device_buffer<bf16> last_gamma, logits;
    device_buffer<int> token;

  private:
    static constexpr size_t cache_pitch = sizeof(bf16) * tokens * head_size;

    static void fill(bf16 *to, size_t count, unsigned long long seed, float middle, float spread)
    {
        fill_uniform<<<1024, 256>>>(to, count, seed, middle, spread);
        CHECK(cudaGetLastError());
    }
};

#endif /* PDL_EXAMPLES_DECODE_MODEL_CUH */
