/* SPDX-License-Identifier: MIT */
/* Every step of a device's share of the decoder in float64 on the host, each from what the device gave it.
 * The numbers of the model come from their places in the whole, not from the device. */
#ifndef PDL_BENCH_DECODE_REFERENCE_CUH
#define PDL_BENCH_DECODE_REFERENCE_CUH

#include <thread>

#include "decode_model.cuh"

typedef std::vector<double> numbers;

inline double number(bf16 value)
{
    return static_cast<double>(__bfloat162float(value));
}

inline numbers to_numbers(const bf16 *from, int count)
{
    numbers to(static_cast<size_t>(count));
    std::transform(from, from + count, to.begin(), number);
    return to;
}

/* Calls it with 0 to count - 1, in all of the host's threads. */
template <typename Call> void in_parallel(int count, Call &&call)
{
    const int most = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::thread> threads;
    for (int first = 0; first < std::min(most, count); first++) {
        threads.emplace_back([&, first] {
            for (int i = first; i < count; i += most) {
                call(i);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

/* This device's part of the matrix times x. */
inline numbers product(const decoder_model &m, linear_kind kind, int layer, const numbers &x)
{
    const number_source from = m.numbers(kind, layer);
    numbers y(static_cast<size_t>(m.rows(kind)));
    in_parallel(m.rows(kind), [&](int row) {
        double sum = 0;
        for (int col = 0; col < m.cols(kind); col++) {
            sum += number(from.at(whole_place(m.config, m.shape, kind, row, col))) *
                   x[static_cast<size_t>(col)];
        }
        y[static_cast<size_t>(row)] = sum;
    });
    return y;
}

inline numbers normalized(numbers x, const number_source &gamma)
{
    double squares = 0;
    for (const double value : x) {
        squares += value * value;
    }
    const double rms =
        std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(norm_epsilon));
    for (size_t i = 0; i < x.size(); i++) {
        x[i] = number(__double2bfloat16(x[i] * number(gamma.at(i)))) / rms;
    }
    return x;
}

inline numbers sum_of(numbers a, const numbers &b)
{
    std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<double>());
    return a;
}

/* Queries and keys after the rotary embedding; values as they are. */
inline numbers rotated(const decoder_model &m, numbers qkv)
{
    const int size = m.shape.head_size;
    for (int head = 0; head < m.shape.heads + m.shape.kv_heads; head++) {
        double *const x = &qkv[static_cast<size_t>(head * size)];
        for (int i = 0; i < size / 2; i++) {
            const double a = x[i], b = x[i + size / 2], angle = m.angle(i);
            x[i] = a * std::cos(angle) - b * std::sin(angle);
            x[i + size / 2] = b * std::cos(angle) + a * std::sin(angle);
        }
    }
    return qkv;
}

/* What a step adds to the cache, as results() has it: a key and a value for each kv head. */
inline numbers new_entries(const decoder_shape &shape, const numbers &turned)
{
    numbers all;
    for (int kv = 0; kv < shape.kv_heads; kv++) {
        const double *const key =
            &turned[static_cast<size_t>((shape.heads + kv) * shape.head_size)];
        const double *const value = key + shape.kv_heads * shape.head_size;
        all.insert(all.end(), key, key + shape.head_size);
        all.insert(all.end(), value, value + shape.head_size);
    }
    return all;
}

/* A query head's attention. The last token is the new one. */
inline void attended_head(const decoder_model &m, int layer, int head, const numbers &turned,
                          double *to)
{
    const decoder_shape &shape = m.shape;
    const number_source keys = m.numbers(KEYS, layer), values = m.numbers(VALUES, layer);
    const int size = shape.head_size, last = m.config.context - 1;
    const int kv = head / (shape.heads / shape.kv_heads);
    const double *const query = &turned[static_cast<size_t>(head * size)];
    const double *const key = &turned[static_cast<size_t>((shape.heads + kv) * size)];
    const double *const value = key + shape.kv_heads * size;
    numbers weights;
    double most = -INFINITY, total = 0;
    for (int t = 0; t <= last; t++) {
        double score = 0;
        for (int i = 0; i < size; i++) {
            score += query[i] * number(t == last ? __double2bfloat16(key[i])
                                                 : keys.at(cache_place(m.config, shape, kv, t, i)));
        }
        weights.push_back(score / std::sqrt(size));
        most = std::max(most, weights.back());
    }
    for (int t = 0; t <= last; t++) {
        const double weight = std::exp(weights[static_cast<size_t>(t)] - most);
        total += weight;
        for (int i = 0; i < size; i++) {
            to[i] +=
                weight *
                (t == last ? value[i] : number(values.at(cache_place(m.config, shape, kv, t, i))));
        }
    }
    for (int i = 0; i < size; i++) {
        to[i] /= total;
    }
}

/* Not-a-number where one is. */
inline double worse(double a, double b)
{
    return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}

/* The largest error relative to the value, or to the step's root mean square where that is larger.
 * Not-a-number if a result is. */
inline double step_error(const bf16 *got, const numbers &expected)
{
    double squares = 0, largest = 0;
    for (const double value : expected) {
        squares += value * value;
    }
    const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
    for (size_t i = 0; i < expected.size(); i++) {
        largest = worse(largest, std::fabs(number(got[i]) - expected[i]) /
                                     std::max(rms, std::fabs(expected[i])));
    }
    return largest;
}

/* Half a unit in the last place of bf16 is 2^-8 of the value at most; the rest is for the sums. */
static const double error_limit = 1.25 / 256;
enum checked_step {
    CHECK_QKV,
    CHECK_ATTENTION,
    CHECK_OUT,
    CHECK_GATE_UP,
    CHECK_DOWN,
    CHECK_CACHE,
    CHECK_SUMS,
    CHECK_LOGITS,
    CHECKED
};
static const char *const checked_names[CHECKED] = {"qkv",         "attention", "output projection",
                                                   "gate and up", "down",      "new cache entries",
                                                   "sums",        "logits"};
typedef std::vector<double> step_errors; /* one for each, 0 for what is not checked */

/* What is checked of a token: the parts that it has, and where several devices share it and add up their
 * parts, those of all devices: [device][layer][two sums][hidden]. */
struct checked_token {
    bool with_attention, with_logits;
    std::vector<bf16> parts = {};
};

/* The largest error of each step of a layer. Without attention the output projection takes the queries. */
inline step_errors check_layer(const decoder_model &m, const std::vector<bf16> &results, int layer,
                               const checked_token &token)
{
    const decoder_shape &shape = m.shape;
    const bf16 *const y = results.data() + static_cast<size_t>(layer) * m.layer_activations();
    step_errors errors(CHECKED);
    numbers x(static_cast<size_t>(shape.hidden));
    for (size_t i = 0; i < x.size(); i++) {
        x[i] = number(layer == 0 ? m.numbers(HEAD, 0).at(m.embedding_at() + i)
                                 : *(y - m.layer_activations() + m.result_at() + i));
    }
    /* One of the devices adds what the layer adds to. */
    auto check_product = [&](checked_step step, linear_kind kind, const numbers &of,
                             const numbers &residual, size_t part_at, size_t sum_at) {
        const numbers part = product(m, kind, layer, of);
        errors[step] = step_error(y + (token.parts.empty() ? sum_at : part_at),
                                  m.config.rank == 0 ? sum_of(part, residual) : part);
        if (!token.parts.empty()) {
            numbers sum(residual.size());
            const size_t at = static_cast<size_t>(2 * layer + (kind == DOWN)) * sum.size();
            for (int rank = 0; rank < m.config.ranks; rank++) {
                const size_t of_rank = token.parts.size() / m.config.ranks * rank;
                sum = sum_of(sum, to_numbers(&token.parts[of_rank + at], shape.hidden));
            }
            errors[CHECK_SUMS] = worse(errors[CHECK_SUMS], step_error(y + sum_at, sum));
        }
    };
    errors[CHECK_QKV] =
        step_error(y, product(m, QKV, layer, normalized(x, m.numbers(GAMMA_1, layer))));
    const numbers qkv = to_numbers(y, shape.qkv_size());
    if (token.with_attention) {
        const numbers turned = rotated(m, qkv), entries = new_entries(shape, turned);
        numbers mixed(static_cast<size_t>(shape.attention_size()));
        in_parallel(shape.heads, [&](int head) {
            attended_head(m, layer, head, turned,
                          &mixed[static_cast<size_t>(head * shape.head_size)]);
        });
        errors[CHECK_ATTENTION] = step_error(y + m.attention_at(), mixed);
        errors[CHECK_CACHE] =
            step_error(&results[m.all_activations() + layer * entries.size()], entries);
    }
    check_product(
        CHECK_OUT, OUT,
        to_numbers(token.with_attention ? y + m.attention_at() : y, shape.attention_size()), x,
        m.out_part_at(), m.middle_at());
    const numbers middle = to_numbers(y + m.middle_at(), shape.hidden);
    const numbers both = product(m, GATE_UP, layer, normalized(middle, m.numbers(GAMMA_2, layer)));
    numbers active(static_cast<size_t>(shape.feed_forward));
    for (size_t i = 0; i < active.size(); i++) {
        active[i] = both[i] / (1 + std::exp(-both[i])) * both[i + active.size()];
    }
    errors[CHECK_GATE_UP] = step_error(y + m.active_at(), active);
    check_product(CHECK_DOWN, DOWN, to_numbers(y + m.active_at(), shape.feed_forward), middle,
                  m.down_part_at(), m.result_at());
    return errors;
}

/* The largest errors of all layers in what a step computed, of each `stride`-th layer. */
inline step_errors check_token(const decoder_model &m, const std::vector<bf16> &results,
                               const checked_token &token, int stride = 1)
{
    step_errors largest(CHECKED);
    for (int layer = 0; layer < m.shape.layers; layer += stride) {
        const step_errors errors = check_layer(m, results, layer, token);
        for (size_t i = 0; i < CHECKED; i++) {
            largest[i] = worse(largest[i], errors[i]);
        }
    }
    if (token.with_logits) {
        const bf16 *const last = &results[m.all_activations() - m.shape.hidden];
        largest[CHECK_LOGITS] = step_error(
            &results[results.size() - m.shape.vocabulary],
            product(m, HEAD, 0,
                    normalized(to_numbers(last, m.shape.hidden), m.numbers(LAST_GAMMA, 0))));
    }
    return largest;
}

#endif /* PDL_BENCH_DECODE_REFERENCE_CUH */
