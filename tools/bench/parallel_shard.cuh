/* SPDX-License-Identifier: MIT */
/* One device's share of a decoder of the 1B class: some of the heads with their rows of qkv and columns
 * of the output projection, and a part of the feed-forward layer. All numbers come from their place in
 * the whole model, so that every split is of the same one. */
#ifndef PDL_BENCH_PARALLEL_SHARD_CUH
#define PDL_BENCH_PARALLEL_SHARD_CUH

#include <cmath>

#include "buffer.cuh"
#include "parallel_kernels.cuh"

namespace parallel
{

static const int layers = 16;
static const int hidden = 2048;
static const int all_kv_heads = 8;
static const int all_feed_forward = 8192;
static const int all_qkv = (group + 2) * all_kv_heads * head_size;

enum number_kind {
    W_QKV,
    W_OUT,
    W_GATE_UP,
    W_DOWN,
    GAMMA_1,
    GAMMA_2,
    KEYS,
    VALUES,
    INPUT,
    NUMBER_KINDS
};

/* The number at that place of one of the model's matrices. */
struct numbers_of {
    unsigned long long seed;
    float middle, spread;
    int cols;

    numbers_of(number_kind kind, int layer, unsigned long long run_seed)
        : seed((run_seed * 1000 + static_cast<unsigned long long>(layer)) * NUMBER_KINDS +
               static_cast<unsigned long long>(kind)),
          middle(kind == GAMMA_1 || kind == GAMMA_2 ? 1 : 0),
          spread(kind == W_DOWN      ? std::sqrt(3.0f / all_feed_forward)
                 : kind <= W_GATE_UP ? std::sqrt(3.0f / hidden)
                 : kind == KEYS      ? 3.5f
                 : kind == VALUES    ? 7
                 : kind == INPUT     ? 1.7f
                                     : 0.5f),
          cols(kind == W_DOWN                   ? all_feed_forward
               : kind == KEYS || kind == VALUES ? head_size
                                                : hidden)
    {
    }

    __host__ __device__ bf16 at(int row, int col) const
    {
        const unsigned long long i =
            static_cast<unsigned long long>(row) * static_cast<unsigned>(cols) +
            static_cast<unsigned>(col);
        unsigned long long bits = (seed * 0x2545f4914f6cdd1dull + i + 1) * 0x9e3779b97f4a7c15ull;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
        const float unit = static_cast<float>(bits >> 40) * (1.0f / 8388608.0f) - 1.0f;
        return __float2bfloat16(middle + spread * unit);
    }
};

/* A block of that matrix, from (row, col) on. */
static __global__ void fill(bf16 *to, int rows, int cols, numbers_of from, int row, int col)
{
    const size_t count = size_t{1} * static_cast<size_t>(rows) * static_cast<size_t>(cols);
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x) {
        const int r = static_cast<int>(i / static_cast<size_t>(cols));
        to[i] = from.at(row + r, col + static_cast<int>(i % static_cast<size_t>(cols)));
    }
}

class shard
{
  public:
    /* Where a layer's matrices, and what it computes, begin, in elements. Without
     * `sums` the parts are the sums. */
    const int rank, size, kv_heads, qkv, attended, feed_forward;
    const size_t out_at, gate_up_at, down_at, layer_weights;
    const size_t attended_at, out_part_at, middle_at, active_at, down_part_at, result_at,
        layer_computed;
    const size_t layer_cache;

    shard(int rank_, int size_, unsigned long long seed_, bool sums)
        : rank(rank_), size(size_), kv_heads(all_kv_heads / size),
          qkv((group + 2) * kv_heads * head_size), attended(group * kv_heads * head_size),
          feed_forward(all_feed_forward / size), out_at(elements(qkv, hidden)),
          gate_up_at(out_at + elements(hidden, attended)),
          down_at(gate_up_at + elements(2 * feed_forward, hidden)),
          layer_weights(down_at + elements(hidden, feed_forward)), attended_at(elements(qkv, 1)),
          out_part_at(attended_at + elements(attended, 1)),
          middle_at(sums ? out_part_at + hidden : out_part_at), active_at(middle_at + hidden),
          down_part_at(active_at + elements(feed_forward, 1)),
          result_at(sums ? down_part_at + hidden : down_part_at),
          layer_computed(result_at + hidden), layer_cache(elements(kv_heads, context * head_size)),
          seed(seed_), weights(layers * layer_weights), gammas(size_t{2} * layers * hidden),
          keys(layers * layer_cache), values(layers * layer_cache), input(hidden),
          computed(layers * layer_computed), rope(head_size)
    {
        const int heads = group * kv_heads;
        for (int layer = 0; layer < layers; layer++) {
            bf16 *const w = this->layer(layer);
            const numbers_of in = of(W_QKV, layer), up = of(W_GATE_UP, layer);
            for (int i = 0; i < 3; i++) { /* queries, keys, values */
                const int rows = (i == 0 ? heads : kv_heads) * head_size;
                const int before = i == 0 ? 0 : (group + i - 1) * all_kv_heads * head_size;
                put(w + elements(i == 0 ? 0 : (group + i - 1) * kv_heads * head_size, hidden), rows,
                    hidden, in, before + rank * rows, 0);
            }
            put(w + out_at, hidden, attended, of(W_OUT, layer), 0, rank * attended);
            for (int i = 0; i < 2; i++) { /* gate, up */
                put(w + gate_up_at + elements(i * feed_forward, hidden), feed_forward, hidden, up,
                    i * all_feed_forward + rank * feed_forward, 0);
            }
            put(w + down_at, hidden, feed_forward, of(W_DOWN, layer), 0, rank * feed_forward);
            for (int i = 0; i < 2; i++) {
                put(gammas.get() + elements(2 * layer + i, hidden), 1, hidden,
                    of(i == 0 ? GAMMA_1 : GAMMA_2, layer), 0, 0);
            }
            for (int i = 0; i < 2; i++) {
                put((i == 0 ? keys : values).get() + static_cast<size_t>(layer) * layer_cache,
                    kv_heads * context, head_size, of(i == 0 ? KEYS : VALUES, layer),
                    rank * kv_heads * context, 0);
            }
        }
        put(input.get(), 1, hidden, of(INPUT, 0), 0, 0);
        std::vector<float> angles(head_size);
        for (int i = 0; i < head_size / 2; i++) {
            angles[static_cast<size_t>(i)] = static_cast<float>(std::cos(angle(i)));
            angles[static_cast<size_t>(i + head_size / 2)] = static_cast<float>(std::sin(angle(i)));
        }
        rope.set(angles);
    }

    /* Of the last token. */
    static double angle(int i)
    {
        return (context - 1) * std::pow(10000.0, -2.0 * i / head_size);
    }
    static size_t elements(int rows, int cols)
    {
        return static_cast<size_t>(rows) * static_cast<size_t>(cols);
    }
    numbers_of of(number_kind kind, int layer) const
    {
        return numbers_of(kind, layer, seed);
    }
    bf16 *layer(int number) const
    {
        return weights.get() + static_cast<size_t>(number) * layer_weights;
    }
    const bf16 *gamma(int number, int which) const
    {
        return gammas.get() + elements(2 * number + which, hidden);
    }

    const unsigned long long seed;
    device_buffer<bf16> weights, gammas, keys, values, input, computed;
    device_buffer<float> rope;

  private:
    static void put(bf16 *to, int rows, int cols, const numbers_of &from, int row, int col)
    {
        fill<<<1024, 256>>>(to, rows, cols, from, row, col);
        CHECK(cudaGetLastError());
    }
};

} // namespace parallel

#endif /* PDL_BENCH_PARALLEL_SHARD_CUH */
