/* SPDX-License-Identifier: MIT */
/* Every step of the decoder in float64 on the host, each from what the device gave it. */
#ifndef PDL_BENCH_DECODE_REFERENCE_CUH
#define PDL_BENCH_DECODE_REFERENCE_CUH

#include <cstring>
#include <thread>

#include "decode_model.cuh"

typedef std::vector<double> numbers;

inline double number(bf16 value)
{
    return static_cast<double>(__bfloat162float(value));
}

inline numbers to_numbers(const bf16 *from, size_t count)
{
    numbers to(count);
    std::transform(from, from + count, to.begin(), number);
    return to;
}

template <typename T> std::vector<T> copy_from(const T *device, size_t count)
{
    std::vector<T> host(count);
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
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

/* A copy of a matrix, one row after the other. */
class host_matrix
{
  public:
    host_matrix(const decoder_model &m, int layer, linear_kind kind)
        : rows(m.rows(kind)), cols(m.cols(kind))
    {
        if (kind == HEAD || !m.config.fp8_weights) {
            const void *const from =
                kind == HEAD ? static_cast<const void *>(m.table.get()) : m.matrix(layer, kind);
            arrange(copy_from(static_cast<const bf16 *>(from), size()), kind == GATE_UP, nullptr);
        } else {
            const std::vector<float> scales =
                copy_from(m.row_scales(layer, kind), static_cast<size_t>(rows));
            arrange(copy_from(reinterpret_cast<const fp8 *>(m.matrix(layer, kind)), size()),
                    kind == GATE_UP, scales.data());
        }
    }

    const float *row(int number) const
    {
        return values_.data() + static_cast<size_t>(number) * static_cast<size_t>(cols);
    }

    const int rows, cols;

  private:
    size_t size() const
    {
        return static_cast<size_t>(rows) * static_cast<size_t>(cols);
    }

    /* A product of an e4m3 and a scale of 24 bits is rounded, by less than the kernels' sums are. */
    template <typename Weight>
    void arrange(const std::vector<Weight> &from, bool gate_up, const float *scales)
    {
        values_.resize(size());
        in_parallel(rows, [&](int r) {
            float *const to = values_.data() + static_cast<size_t>(r) * static_cast<size_t>(cols);
            for (int c = 0; c < cols; c++) {
                const size_t at = weight_place<Weight>(gate_up, rows, cols, r, c);
                to[c] = static_cast<float>(from[at]) * (scales == nullptr ? 1 : scales[r]);
            }
        });
    }

    std::vector<float> values_;
};

/* The matrix times x, of each sequence. */
inline numbers product(const host_matrix &w, const numbers &x)
{
    const size_t rows = static_cast<size_t>(w.rows), cols = static_cast<size_t>(w.cols);
    numbers y(x.size() / cols * rows);
    in_parallel(w.rows, [&](int r) {
        const float *const row = w.row(r);
        for (size_t b = 0; b < x.size() / cols; b++) {
            double sums[8] = {};
            for (size_t c = 0; c < cols; c++) {
                sums[c % 8] += static_cast<double>(row[c]) * x[b * cols + c];
            }
            for (const double sum : sums) {
                y[b * rows + static_cast<size_t>(r)] += sum;
            }
        }
    });
    return y;
}

/* Each sequence's x, of so many values. */
inline numbers normalized(numbers x, const std::vector<bf16> &gamma)
{
    const size_t width = gamma.size();
    for (size_t at = 0; at < x.size(); at += width) {
        double squares = 0;
        for (size_t i = 0; i < width; i++) {
            squares += x[at + i] * x[at + i];
        }
        const double rms =
            std::sqrt(squares / static_cast<double>(width) + static_cast<double>(norm_epsilon));
        for (size_t i = 0; i < width; i++) {
            x[at + i] = number(__double2bfloat16(x[at + i] * number(gamma[i]))) / rms;
        }
    }
    return x;
}

inline void rotate_head(const decoder_config &config, double *x)
{
    const int half = config.shape.head_size / 2;
    for (int i = 0; i < half; i++) {
        const double angle =
            (config.context - 1) * std::pow(10000.0, -2.0 * i / config.shape.head_size);
        const double a = x[i], b = x[i + half];
        x[i] = a * std::cos(angle) - b * std::sin(angle);
        x[i + half] = b * std::cos(angle) + a * std::sin(angle);
    }
}

/* What a step adds to the cache, as results() has it: a key and a value for each sequence and head. */
inline numbers new_entries(const decoder_config &config, const numbers &qkv)
{
    const decoder_shape &shape = config.shape;
    const size_t head = static_cast<size_t>(shape.head_size);
    numbers all;
    for (int b = 0; b < config.batch; b++) {
        for (int kv = 0; kv < shape.kv_heads; kv++) {
            const double *const key =
                &qkv[static_cast<size_t>(b * shape.qkv_size()) + (shape.heads + kv) * head];
            all.insert(all.end(), key, key + head);
            rotate_head(config, &all[all.size() - head]);
            const double *const value = key + shape.kv_heads * head;
            all.insert(all.end(), value, value + head);
        }
    }
    return all;
}

/* A query head's attention. The cache's last token is not read: it is the new key and value. */
inline void attended_head(const decoder_config &config, const double *query, const bf16 *keys,
                          const bf16 *values, const double *new_key, const double *new_value,
                          double *to)
{
    const int width = config.shape.head_size, last = config.context - 1;
    numbers weight(static_cast<size_t>(config.context));
    double total = 0, most = -INFINITY;
    auto group = [&](const bf16 *cache, int token) {
        return cache + static_cast<size_t>(token / group_tokens) * group_tokens * width;
    };
    for (int t = 0; t <= last; t++) {
        double score = 0;
        for (int i = 0; i < width; i++) {
            score += query[i] *
                     (t == last ? number(__double2bfloat16(new_key[i]))
                                : number(group(keys, t)[key_place(width, t % group_tokens, i)]));
        }
        weight[static_cast<size_t>(t)] = score / std::sqrt(width);
        most = std::max(most, score / std::sqrt(width));
    }
    for (double &w : weight) {
        w = std::exp(w - most);
        total += w;
    }
    for (int i = 0; i < width; i++) {
        double sum = 0;
        for (int t = 0; t <= last; t++) {
            sum += weight[static_cast<size_t>(t)] *
                   (t == last ? new_value[i]
                              : number(group(values, t)[value_place(t % group_tokens, i)]));
        }
        to[i] = sum / total;
    }
}

inline numbers attended(const decoder_model &m, int layer, const numbers &qkv)
{
    const decoder_shape &shape = m.shape;
    const size_t cache = static_cast<size_t>(layer) * m.layer_cache();
    const std::vector<bf16> keys = copy_from(m.keys.get() + cache, m.layer_cache());
    const std::vector<bf16> values = copy_from(m.values.get() + cache, m.layer_cache());
    const numbers entries = new_entries(m.config, qkv);
    const size_t head = static_cast<size_t>(shape.head_size);
    numbers y(m.sequences() * static_cast<size_t>(shape.attention_size()));
    in_parallel(m.batch * shape.heads, [&](int i) {
        const int b = i / shape.heads, h = i % shape.heads;
        const size_t pair =
            static_cast<size_t>(b * shape.kv_heads + h / (shape.heads / shape.kv_heads));
        const double *const from =
            &qkv[static_cast<size_t>(b * shape.qkv_size()) + static_cast<size_t>(h) * head];
        numbers query(from, from + head);
        rotate_head(m.config, query.data());
        attended_head(m.config, query.data(), &keys[pair * m.head_cache()],
                      &values[pair * m.head_cache()], &entries[pair * 2 * head],
                      &entries[pair * 2 * head + head], &y[static_cast<size_t>(i) * head]);
    });
    return y;
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
        const double error =
            std::fabs(number(got[i]) - expected[i]) / std::max(rms, std::fabs(expected[i]));
        largest = std::isnan(error) || std::isnan(largest) ? NAN : std::max(largest, error);
    }
    return largest;
}

struct layer_errors {
    double qkv, attention, out, gate_up, down, cache;
};

inline numbers sum_of(numbers a, const numbers &b)
{
    std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::plus<double>());
    return a;
}

/* The errors of a layer's five steps in what the device computed, and of the cache's new entries.
 * Without attention the output projection takes the queries. */
inline layer_errors check_layer(const decoder_model &m, const std::vector<bf16> &computed,
                                int layer, bool with_attention)
{
    const decoder_shape &shape = m.shape;
    const size_t n = m.sequences();
    const size_t hidden = n * static_cast<size_t>(shape.hidden);
    layer_errors errors = {};
    const bf16 *const steps = computed.data() + static_cast<size_t>(layer) * m.layer_activations();
    const std::vector<bf16> in = copy_from(m.input.get(), hidden);
    auto gamma = [&](int which) {
        return copy_from(m.gamma(layer, which), static_cast<size_t>(shape.hidden));
    };
    const numbers x =
        to_numbers(layer == 0 ? in.data() : steps - m.layer_activations() + m.result_at(), hidden);
    errors.qkv = step_error(steps, product({m, layer, QKV}, normalized(x, gamma(0))));
    const numbers qkv = to_numbers(steps, n * static_cast<size_t>(shape.qkv_size()));
    numbers mixed(n * static_cast<size_t>(shape.attention_size()));
    if (with_attention) {
        errors.attention = step_error(steps + m.attention_at(), attended(m, layer, qkv));
        const numbers entries = new_entries(m.config, qkv);
        errors.cache = step_error(
            &computed[shape.layers * m.layer_activations() + layer * entries.size()], entries);
        mixed = to_numbers(steps + m.attention_at(), mixed.size());
    } else {
        for (size_t i = 0; i < mixed.size(); i++) {
            const size_t width = static_cast<size_t>(shape.attention_size());
            mixed[i] = qkv[i / width * static_cast<size_t>(shape.qkv_size()) + i % width];
        }
    }
    errors.out = step_error(steps + m.middle_at(), sum_of(product({m, layer, OUT}, mixed), x));
    const numbers middle = to_numbers(steps + m.middle_at(), hidden);
    const numbers both = product({m, layer, GATE_UP}, normalized(middle, gamma(1)));
    const size_t width = static_cast<size_t>(shape.feed_forward);
    numbers y(n * width);
    for (size_t i = 0; i < y.size(); i++) {
        const double *const gate = &both[i / width * 2 * width + i % width];
        y[i] = gate[0] / (1 + std::exp(-gate[0])) * gate[width];
    }
    errors.gate_up = step_error(steps + m.active_at(), y);
    y = product({m, layer, DOWN}, to_numbers(steps + m.active_at(), n * width));
    errors.down = step_error(steps + m.result_at(), sum_of(y, middle));
    return errors;
}

/* The error of the logits, and not-a-number if the first layer's input is not the tokens' rows. */
inline double check_logits(const decoder_model &m, const std::vector<bf16> &computed)
{
    const size_t hidden = static_cast<size_t>(m.shape.hidden);
    const host_matrix table(m, 0, HEAD);
    const std::vector<bf16> in = copy_from(m.input.get(), m.sequences() * hidden);
    for (size_t i = 0; i < in.size(); i++) {
        const int token = m.token_number(static_cast<int>(i / hidden));
        if (__bfloat162float(in[i]) != table.row(token)[i % hidden]) {
            return NAN;
        }
    }
    const bf16 *const last =
        computed.data() + m.shape.layers * m.layer_activations() - m.sequences() * hidden;
    const numbers x =
        normalized(to_numbers(last, m.sequences() * hidden), copy_from(m.last_gamma.get(), hidden));
    return step_error(&computed[computed.size() - m.sequences() * m.shape.vocabulary],
                      product(table, x));
}

/* Half a unit in the last place of bf16 is 2^-8 of the value at most; the rest is for the sums. */
static const double error_limit = 1.25 / 256;
static const int checked_steps = 6;
static const char *const checked_names[checked_steps] = {
    "qkv", "attention", "output projection", "gate and up", "down", "new cache entries"};

/* The largest errors of all layers in what a step computed. `wrong` is called for each that is over
 * the limit, with the layer and the step. Checks each `stride`-th layer. */
template <typename Wrong>
inline std::vector<double> check_token(const decoder_model &m, const std::vector<bf16> &computed,
                                       bool with_attention, Wrong &&wrong, int stride = 1)
{
    std::vector<double> largest(checked_steps);
    for (int layer = 0; layer < m.shape.layers; layer += std::max(1, stride)) {
        const layer_errors e = check_layer(m, computed, layer, with_attention);
        const double all[checked_steps] = {e.qkv, e.attention, e.out, e.gate_up, e.down, e.cache};
        for (size_t i = 0; i < checked_steps; i++) {
            largest[i] =
                std::isnan(all[i]) || std::isnan(largest[i]) ? NAN : std::max(largest[i], all[i]);
            if (!(all[i] <= error_limit)) {
                wrong(layer, checked_names[i], all[i]);
            }
        }
    }
    return largest;
}

#endif /* PDL_BENCH_DECODE_REFERENCE_CUH */
