/* SPDX-License-Identifier: MIT */
/* Without a device: several devices have each number of the decoder's matrices and cache once, and each
 * device those of its heads and of its part of the feed-forward width. */
#include "../../tools/bench/decode_model.cuh"

static const decoder_shape whole = {"test", 1, 64, 16, 8, 32, 128, 256};

/* Where the matrix of all devices has what a rank has at that row and column: by heads and widths. */
static size_t expected(linear_kind kind, int rank, int ranks, int row, int col)
{
    const int heads = whole.heads / ranks, kv_heads = whole.kv_heads / ranks;
    const int width = whole.feed_forward / ranks, head = row / whole.head_size;
    int cols = whole.hidden;
    if (kind == QKV) {
        const int of_all = head < heads ? rank * heads + head
                           : head < heads + kv_heads
                               ? 16 + rank * kv_heads + head - heads
                               : 24 + rank * kv_heads + head - heads - kv_heads;
        row = of_all * whole.head_size + row % whole.head_size;
    } else if (kind == GATE_UP) {
        row = row / width * whole.feed_forward + rank * width + row % width;
    } else {
        cols = kind == OUT ? whole.attention_size() : whole.feed_forward;
        col += rank * cols / ranks;
    }
    return static_cast<size_t>(row) * cols + col;
}

static size_t wrong_places(linear_kind kind, int ranks)
{
    size_t wrong = 0;
    std::vector<int> had;
    for (int rank = 0; rank < ranks; rank++) {
        const decoder_config config = {whole, 100, rank, ranks};
        const decoder_shape own = config.own();
        const int rows = kind == QKV       ? own.qkv_size()
                         : kind == GATE_UP ? 2 * own.feed_forward
                                           : own.hidden;
        const int cols = kind == OUT    ? own.attention_size()
                         : kind == DOWN ? own.feed_forward
                                        : own.hidden;
        had.resize(static_cast<size_t>(rows) * cols * ranks);
        for (int i = 0; i < rows * cols; i++) {
            const size_t at = whole_place(config, own, kind, i / cols, i % cols);
            wrong += at != expected(kind, rank, ranks, i / cols, i % cols);
            wrong += at >= had.size() || had[at]++ != 0;
        }
    }
    return wrong;
}

static size_t wrong_cache(int ranks)
{
    size_t wrong = 0;
    for (int head = 0; head < whole.kv_heads; head++) {
        const int own_heads = whole.kv_heads / ranks;
        const decoder_config config = {whole, 100, head / own_heads, ranks};
        for (int i = 0; i < 128 * whole.head_size; i++) { /* 100 tokens are four groups */
            wrong += cache_place(config, config.own(), head % own_heads, i / whole.head_size,
                                 i % whole.head_size) !=
                     static_cast<size_t>(head * 128 * whole.head_size + i);
        }
    }
    return wrong;
}

int main()
{
    size_t wrong = 0;
    for (const int ranks : {1, 2, 4, 8}) {
        for (const linear_kind kind : {QKV, OUT, GATE_UP, DOWN}) {
            wrong += wrong_places(kind, ranks);
        }
        wrong += wrong_cache(ranks);
    }
    std::printf("%zu numbers are not where they should be\n", wrong);
    return verdict(wrong == 0);
}
