/* SPDX-License-Identifier: MIT */
/* Every step of a device's share in float64 on the host, each from what the device gave it. The numbers
 * of the model come from their places in the whole, not from the device. */
#ifndef PDL_BENCH_PARALLEL_REFERENCE_CUH
#define PDL_BENCH_PARALLEL_REFERENCE_CUH

#include <thread>

#include "parallel_shard.cuh"

namespace parallel
{

typedef std::vector<double> doubles;

enum checked_step {
    CHECK_QKV,
    CHECK_ATTENTION,
    CHECK_PARTS,
    CHECK_SUMS,
    CHECK_ACTIVE,
    CHECK_CACHE,
    CHECKED
};
static const char *const checked_names[CHECKED] = {"qkv",  "attention",   "parts",
                                                   "sums", "gate and up", "new cache entries"};

/* Half a unit in the last place of bf16 is 2^-8 of the value at most; the rest is for fp32. NCCL rounds
 * after each addition. */
static const double error_limit = 1.25 / 256;

inline double to_double(bf16 value)
{
    return static_cast<double>(__bfloat162float(value));
}

class reference
{
  public:
    double errors[CHECKED] = {}; /* the largest; not-a-number if a result is */

    /* `computed` and `parts`: what this device computed, and the parts of all devices: of each
     * [layer][two sums][hidden]. `new_keys` and `new_values`: [layer][kv head][64]. */
    reference(const shard &m, const std::vector<bf16> &computed, const std::vector<bf16> &parts,
              const std::vector<bf16> &new_keys, const std::vector<bf16> &new_values,
              unsigned threads, team &ranks)
        : m_(m), threads_(std::max(1u, threads))
    {
        for (int layer = 0; layer < layers; layer++) {
            const bf16 *const y = &computed[static_cast<size_t>(layer) * m.layer_computed];
            doubles x(hidden);
            for (int i = 0; i < hidden; i++) {
                x[at(i)] = to_double(layer == 0 ? m.of(INPUT, 0).at(0, i)
                                                : y[m.result_at - m.layer_computed + at(i)]);
            }
            const numbers_of in = m.of(W_QKV, layer), out = m.of(W_OUT, layer);
            const numbers_of up = m.of(W_GATE_UP, layer), down = m.of(W_DOWN, layer);
            const doubles normal = normalized(x, m.of(GAMMA_1, layer));
            note(CHECK_QKV, y, product(m.qkv, normal, [&](int row, int col) {
                     return in.at(whole_row(row), col);
                 }));
            const size_t entries = static_cast<size_t>(layer) * at(m.kv_heads * head_size);
            attend(layer, y, &new_keys[entries], &new_values[entries]);
            check_part(y + m.attended_at, m.attended, m.rank == 0 ? x : doubles(hidden),
                       y + m.out_part_at,
                       [&](int row, int col) { return out.at(row, m.rank * m.attended + col); });
            check_sum(parts, 2 * layer, y + m.middle_at);
            const doubles middle = to_doubles(y + m.middle_at, hidden);
            const doubles both =
                product(2 * m.feed_forward, normalized(middle, m.of(GAMMA_2, layer)),
                        [&](int row, int col) {
                            const int half = row / m.feed_forward;
                            return up.at(half * all_feed_forward + m.rank * m.feed_forward +
                                             row % m.feed_forward,
                                         col);
                        });
            doubles active(at(m.feed_forward));
            for (size_t i = 0; i < active.size(); i++) {
                active[i] = both[i] / (1 + std::exp(-both[i])) * both[i + active.size()];
            }
            note(CHECK_ACTIVE, y + m.active_at, active);
            check_part(y + m.active_at, m.feed_forward, m.rank == 0 ? middle : doubles(hidden),
                       y + m.down_part_at, [&](int row, int col) {
                           return down.at(row, m.rank * m.feed_forward + col);
                       });
            check_sum(parts, 2 * layer + 1, y + m.result_at);
            ranks.progress();
        }
    }

  private:
    static size_t at(int i)
    {
        return static_cast<size_t>(i);
    }

    /* Of a row of this device's queries, keys and values: its row in the whole matrix. */
    int whole_row(int row) const
    {
        const int own = m_.kv_heads * head_size; /* of keys, and of values */
        if (row < group * own) {
            return m_.rank * group * own + row;
        }
        const int which = group + (row - group * own) / own;
        return which * all_kv_heads * head_size + m_.rank * own + row % own;
    }

    static doubles to_doubles(const bf16 *from, int count)
    {
        doubles to(at(count));
        std::transform(from, from + count, to.begin(), to_double);
        return to;
    }

    static doubles normalized(doubles x, const numbers_of &gamma)
    {
        double squares = 0;
        for (const double value : x) {
            squares += value * value;
        }
        const double rms =
            std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(norm_epsilon));
        for (size_t i = 0; i < x.size(); i++) {
            x[i] =
                to_double(__double2bfloat16(x[i] * to_double(gamma.at(0, static_cast<int>(i))))) /
                rms;
        }
        return x;
    }

    template <typename Weight> doubles product(int rows, const doubles &x, Weight &&weight) const
    {
        doubles y(at(rows));
        std::vector<std::thread> workers;
        for (unsigned first = 0; first < threads_; first++) {
            workers.emplace_back([&, first] {
                for (size_t r = first; r < y.size(); r += threads_) {
                    double sum = 0;
                    for (size_t c = 0; c < x.size(); c++) {
                        sum += to_double(weight(static_cast<int>(r), static_cast<int>(c))) * x[c];
                    }
                    y[r] = sum;
                }
            });
        }
        for (std::thread &worker : workers) {
            worker.join();
        }
        return y;
    }

    /* The largest error relative to the value, or to the step's root mean square where that is larger. */
    void note(checked_step step, const bf16 *got, const doubles &expected)
    {
        double squares = 0;
        for (const double value : expected) {
            squares += value * value;
        }
        const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
        for (size_t i = 0; i < expected.size(); i++) {
            const double error =
                std::fabs(to_double(got[i]) - expected[i]) / std::max(rms, std::fabs(expected[i]));
            errors[step] =
                std::isnan(error) || std::isnan(errors[step]) ? NAN : std::max(errors[step], error);
        }
    }

    template <typename Weight>
    void check_part(const bf16 *x, int cols, const doubles &residual, const bf16 *got,
                    Weight &&weight)
    {
        doubles y = product(hidden, to_doubles(x, cols), weight);
        std::transform(y.begin(), y.end(), residual.begin(), y.begin(), std::plus<double>());
        note(CHECK_PARTS, got, y);
    }

    void check_sum(const std::vector<bf16> &parts, int number, const bf16 *got)
    {
        doubles sum(hidden);
        const size_t of_rank = parts.size() / at(m_.size);
        for (size_t i = 0; i < sum.size(); i++) {
            for (int rank = 0; rank < m_.size; rank++) {
                sum[i] += to_double(parts[at(rank) * of_rank + at(number) * hidden + i]);
            }
        }
        note(CHECK_SUMS, got, sum);
    }

    static void rotate(double *x)
    {
        for (int i = 0; i < head_size / 2; i++) {
            const double angle = shard::angle(i), a = x[i], b = x[i + head_size / 2];
            x[i] = a * std::cos(angle) - b * std::sin(angle);
            x[i + head_size / 2] = b * std::cos(angle) + a * std::sin(angle);
        }
    }

    void attend(int layer, const bf16 *y, const bf16 *new_keys, const bf16 *new_values)
    {
        const numbers_of keys = m_.of(KEYS, layer), values = m_.of(VALUES, layer);
        doubles qkv = to_doubles(y, m_.qkv), expected(at(m_.attended));
        for (int head = 0; head < (group + 1) * m_.kv_heads; head++) {
            rotate(&qkv[at(head * head_size)]);
        }
        for (int kv = 0; kv < m_.kv_heads; kv++) {
            const double *const key = &qkv[at((group * m_.kv_heads + kv) * head_size)];
            const double *const value = key + m_.kv_heads * head_size;
            note(CHECK_CACHE, new_keys + kv * head_size, doubles(key, key + head_size));
            note(CHECK_CACHE, new_values + kv * head_size, doubles(value, value + head_size));
            const int first = (m_.rank * m_.kv_heads + kv) * context; /* row of the whole cache */
            for (int head = kv * group; head < (kv + 1) * group; head++) {
                const double *const query = &qkv[at(head * head_size)];
                double *const to = &expected[at(head * head_size)];
                double total = 0;
                for (int t = 0; t < context; t++) {
                    const bool last = t == context - 1;
                    double score = 0;
                    for (int i = 0; i < head_size; i++) {
                        score += query[i] * to_double(last ? __double2bfloat16(key[i])
                                                           : keys.at(first + t, i));
                    }
                    const double weight = std::exp(score / 8);
                    total += weight;
                    for (int i = 0; i < head_size; i++) {
                        to[i] += weight * (last ? value[i] : to_double(values.at(first + t, i)));
                    }
                }
                for (int i = 0; i < head_size; i++) {
                    to[i] /= total;
                }
            }
        }
        note(CHECK_ATTENTION, y + m_.attended_at, expected);
    }

    const shard &m_;
    const unsigned threads_;
};

} // namespace parallel

#endif /* PDL_BENCH_PARALLEL_REFERENCE_CUH */
