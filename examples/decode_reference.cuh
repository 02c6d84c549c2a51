/* SPDX-License-Identifier: MIT */
/* Every step of the decoder in float64 on the host, each from what the device gave it. */
#ifndef PDL_EXAMPLES_DECODE_REFERENCE_CUH
#define PDL_EXAMPLES_DECODE_REFERENCE_CUH

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

inline std::vector<bf16> copy_from(const bf16 *device, size_t count)
{
    std::vector<bf16> host(count);
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(bf16), cudaMemcpyDeviceToHost));
    return host;
}

/* rows x cols times x, by all of the host's threads. */
inline numbers product(const bf16 *w, const numbers &x, int rows)
{
    numbers y(static_cast<size_t>(rows));
    const size_t cols = x.size();
    const unsigned count = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned first = 0; first < count; first++) {
        threads.emplace_back([&, first] {
            for (size_t r = first; r < y.size(); r += count) {
                double sums[8] = {};
                for (size_t c = 0; c < cols; c++) {
                    sums[c % 8] += number(w[r * cols + c]) * x[c];
                }
                for (const double sum : sums) {
                    y[r] += sum;
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    return y;
}

inline numbers normalized(numbers x, const bf16 *gamma)
{
    double squares = 0;
    for (const double value : x) {
        squares += value * value;
    }
    const double rms =
        std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(norm_epsilon));
    for (size_t i = 0; i < x.size(); i++) {
        x[i] = number(__double2bfloat16(x[i] * number(gamma[i]))) / rms;
    }
    return x;
}

inline void rotate_head(double *x)
{
    for (int i = 0; i < head_size / 2; i++) {
        const double angle = (tokens - 1) * std::pow(10000.0, -2.0 * i / head_size);
        const double a = x[i], b = x[i + head_size / 2];
        x[i] = a * std::cos(angle) - b * std::sin(angle);
        x[i + head_size / 2] = b * std::cos(angle) + a * std::sin(angle);
    }
}

/* The cache's last token is not read: it is this one. */
inline numbers attended(numbers qkv, const bf16 *keys, const bf16 *values)
{
    numbers y(hidden);
    for (int h = 0; h < heads + kv_heads; h++) {
        rotate_head(&qkv[static_cast<size_t>(h * head_size)]);
    }
    for (int h = 0; h < heads; h++) {
        const int kv = h / (heads / kv_heads);
        const double *const q = &qkv[static_cast<size_t>(h * head_size)];
        const double *const new_key = &qkv[static_cast<size_t>((heads + kv) * head_size)];
        const double *const new_value = new_key + kv_heads * head_size;
        numbers weight(tokens);
        double total = 0;
        for (int t = 0; t < tokens; t++) {
            double score = 0;
            for (int i = 0; i < head_size; i++) {
                score += q[i] * (t == tokens - 1 ? number(__double2bfloat16(new_key[i]))
                                                 : number(keys[(kv * tokens + t) * head_size + i]));
            }
            weight[static_cast<size_t>(t)] = std::exp(score / 8);
            total += weight[static_cast<size_t>(t)];
        }
        for (int i = 0; i < head_size; i++) {
            double sum = 0;
            for (int t = 0; t < tokens; t++) {
                sum += weight[static_cast<size_t>(t)] *
                       (t == tokens - 1 ? new_value[i]
                                        : number(values[(kv * tokens + t) * head_size + i]));
            }
            y[static_cast<size_t>(h * head_size + i)] = sum / total;
        }
    }
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

/* The errors of a layer's five steps in what the device computed, and of the cache's new entries.
 * Without attention the output projection takes the queries. */
inline layer_errors check_layer(const decoder_model &m, const std::vector<bf16> &computed,
                                int layer, bool with_attention)
{
    typedef decoder_model at;
    layer_errors errors = {};
    const std::vector<bf16> w = copy_from(m.layer(layer), at::layer_weights);
    const std::vector<bf16> gammas = copy_from(m.gamma(layer, 0), size_t{2} * hidden);
    const std::vector<bf16> in = copy_from(m.input.get(), hidden);
    const bf16 *const steps = computed.data() + static_cast<size_t>(layer) * at::layer_activations;
    const numbers x =
        to_numbers(layer == 0 ? in.data() : steps - at::layer_activations + at::result_at, hidden);
    errors.qkv = step_error(steps, product(&w[at::qkv_at], normalized(x, gammas.data()), qkv_size));
    const numbers qkv = to_numbers(steps, qkv_size);
    if (with_attention) {
        const std::vector<bf16> keys =
            copy_from(m.keys.get() + layer * at::layer_cache, at::layer_cache);
        const std::vector<bf16> values =
            copy_from(m.values.get() + layer * at::layer_cache, at::layer_cache);
        errors.attention =
            step_error(steps + at::attention_at, attended(qkv, keys.data(), values.data()));
        for (int kv = 0; kv < kv_heads; kv++) {
            numbers key(&qkv[static_cast<size_t>((heads + kv) * head_size)],
                        &qkv[static_cast<size_t>((heads + kv) * head_size)] + head_size);
            const numbers value(&qkv[static_cast<size_t>((heads + kv_heads + kv) * head_size)],
                                &qkv[static_cast<size_t>((heads + kv_heads + kv) * head_size)] +
                                    head_size);
            rotate_head(key.data());
            const size_t place = static_cast<size_t>((kv + 1) * tokens - 1) * head_size;
            const double key_error = step_error(&keys[place], key);
            const double value_error = step_error(&values[place], value);
            errors.cache = std::isnan(key_error + value_error)
                               ? NAN
                               : std::max({errors.cache, key_error, value_error});
        }
    }
    numbers y =
        product(&w[at::out_at],
                to_numbers(with_attention ? steps + at::attention_at : steps, hidden), hidden);
    std::transform(y.begin(), y.end(), x.begin(), y.begin(), std::plus<double>());
    errors.out = step_error(steps + at::middle_at, y);
    const numbers middle = to_numbers(steps + at::middle_at, hidden);
    const numbers both =
        product(&w[at::gate_up_at], normalized(middle, &gammas[hidden]), 2 * feed_forward);
    y.resize(feed_forward);
    for (size_t i = 0; i < y.size(); i++) {
        y[i] = both[i] / (1 + std::exp(-both[i])) * both[i + feed_forward];
    }
    errors.gate_up = step_error(steps + at::active_at, y);
    y = product(&w[at::down_at], to_numbers(steps + at::active_at, feed_forward), hidden);
    std::transform(y.begin(), y.end(), middle.begin(), y.begin(), std::plus<double>());
    errors.down = step_error(steps + at::result_at, y);
    return errors;
}

/* The error of the logits, and not-a-number if the first layer's input is not the token's row. */
inline double check_logits(const decoder_model &m, const std::vector<bf16> &computed)
{
    typedef decoder_model at;
    const std::vector<bf16> table = copy_from(m.table(), at::table_weights);
    const std::vector<bf16> gamma = copy_from(m.last_gamma.get(), hidden);
    const std::vector<bf16> in = copy_from(m.input.get(), hidden);
    if (std::memcmp(in.data(), &table[size_t{at::token_number} * hidden], sizeof(bf16) * hidden) !=
        0) {
        return NAN;
    }
    const bf16 *const last =
        computed.data() + size_t{layers - 1} * at::layer_activations + at::result_at;
    const numbers x = normalized(to_numbers(last, hidden), gamma.data());
    return step_error(&computed[computed.size() - vocabulary],
                      product(table.data(), x, vocabulary));
}

/* Half a unit in the last place of bf16 is 2^-8 of the value at most; the rest is for the sums. */
static const double error_limit = 1.25 / 256;
static const int checked_steps = 6;
static const char *const checked_names[checked_steps] = {
    "qkv", "attention", "output projection", "gate and up", "down", "new cache entries"};

/* The largest errors of all layers in what a token computed. `wrong` is called for each that is over
 * the limit, with the layer and the step. */
template <typename Wrong>
inline std::vector<double> check_token(const decoder_model &m, const std::vector<bf16> &computed,
                                       bool with_attention, Wrong &&wrong)
{
    std::vector<double> largest(checked_steps);
    for (int layer = 0; layer < layers; layer++) {
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

#endif /* PDL_EXAMPLES_DECODE_REFERENCE_CUH */
