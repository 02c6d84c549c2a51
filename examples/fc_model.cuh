/* SPDX-License-Identifier: MIT */
/* Two fully connected layers with random weights on the device, and their result in float64. */
#ifndef PDL_EXAMPLES_FC_MODEL_CUH
#define PDL_EXAMPLES_FC_MODEL_CUH

#include <cmath>

#include "fc_layer.cuh"

typedef __nv_bfloat16 bf16;

/* Pseudo-random numbers between -1 and 1. */
static __global__ void fill_random(bf16 *to, size_t count, unsigned long long seed)
{
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x) {
        unsigned long long bits = (seed * 0x2545f4914f6cdd1dull + i + 1) * 0x9e3779b97f4a7c15ull;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
        to[i] = __float2bfloat16(static_cast<float>(bits >> 40) * (1.0f / 8388608.0f) - 1.0f);
    }
}

template <typename T> static std::vector<T> to_host(const T *device, size_t count)
{
    std::vector<T> host(count);
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

/* y = W1 x, z = W2 y for a batch: W1 is rows x cols, W2 is cols x rows. There are several sets of
 * weights to use in turn, eight times what the L2 cache holds: one set would stay in it in part,
 * which the weights of a real model do not. */
class fc_model
{
  public:
    fc_model(int rows_, int cols_, int batch_, unsigned long long seed)
        : rows(rows_), cols(cols_), batch(batch_), w_count(static_cast<size_t>(rows_) * cols_)
    {
        int l2_bytes = 0;
        CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0));
        CHECK(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0));
        sets = static_cast<int>(8 * static_cast<size_t>(l2_bytes) / set_bytes()) + 2;
        CHECK(cudaMalloc(&weights_, static_cast<size_t>(sets) * set_bytes()));
        CHECK(cudaMalloc(&x, x_count() * sizeof(*x)));
        CHECK(cudaMalloc(&y, y_count() * sizeof(*y)));
        CHECK(cudaMalloc(&z, x_count() * sizeof(*z)));
        fill_random<<<1024, 256>>>(weights_, static_cast<size_t>(sets) * 2 * w_count, seed);
        fill_random<<<64, 256>>>(x, x_count(), seed + 1);
        CHECK(cudaDeviceSynchronize());
    }
    ~fc_model()
    {
        cudaFree(z);
        cudaFree(y);
        cudaFree(x);
        cudaFree(weights_);
    }
    fc_model(const fc_model &) = delete;
    fc_model &operator=(const fc_model &) = delete;

    size_t x_count() const
    {
        return static_cast<size_t>(batch) * cols; /* also z's */
    }
    size_t y_count() const
    {
        return static_cast<size_t>(batch) * rows;
    }
    size_t set_bytes() const
    {
        return 2 * w_count * sizeof(bf16);
    }
    const bf16 *w1(int use) const
    {
        return weights_ + static_cast<size_t>(use % sets) * 2 * w_count;
    }
    const bf16 *w2(int use) const
    {
        return w1(use) + w_count;
    }
    /* Makes a result that nobody computed show as not-a-number. */
    void poison() const
    {
        CHECK(cudaMemset(y, 0xff, y_count() * sizeof(*y)));
        CHECK(cudaMemset(z, 0xff, x_count() * sizeof(*z)));
        CHECK(cudaDeviceSynchronize());
    }

    std::vector<double> reference(int use) const
    {
        std::vector<double> in(x_count());
        const std::vector<bf16> host_x = to_host(x, x_count());
        std::transform(host_x.begin(), host_x.end(), in.begin(),
                       [](bf16 value) { return __bfloat162float(value); });
        std::vector<double> between = reference_layer(w1(use), in, rows, cols);
        for (double &value : between) { /* y is bf16 */
            value = __bfloat162float(__double2bfloat16(value));
        }
        return reference_layer(w2(use), between, cols, rows);
    }

    const int rows, cols, batch;
    const size_t w_count;
    int sets = 0;
    int sm_count = 0;
    bf16 *x = nullptr;
    bf16 *y = nullptr;
    float *z = nullptr;

  private:
    std::vector<double> reference_layer(const bf16 *device_w, const std::vector<double> &in,
                                        int out_size, int in_size) const
    {
        const std::vector<bf16> w = to_host(device_w, w_count);
        const size_t width = static_cast<size_t>(in_size);
        std::vector<double> out(static_cast<size_t>(batch) * out_size), row(width);
        for (size_t r = 0; r < static_cast<size_t>(out_size); r++) {
            std::transform(&w[r * width], &w[r * width] + width, row.begin(),
                           [](bf16 value) { return __bfloat162float(value); });
            for (size_t n = 0; n < static_cast<size_t>(batch); n++) {
                double sum = 0;
                for (size_t c = 0; c < width; c++) {
                    sum += row[c] * in[n * width + c];
                }
                out[n * out_size + r] = sum;
            }
        }
        return out;
    }

    bf16 *weights_ = nullptr;
};

/* The largest error relative to the value, or to the result's root mean square where that is
 * larger: a sum of terms of both signs can come out next to zero. Not-a-number if a result is. */
inline double largest_relative_error(const std::vector<float> &got,
                                     const std::vector<double> &expected)
{
    double squares = 0;
    double largest = 0;
    for (const double value : expected) {
        squares += value * value;
    }
    const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
    for (size_t i = 0; i < got.size(); i++) {
        const double error =
            std::fabs(got[i] - expected[i]) / std::max(rms, std::fabs(expected[i]));
        largest = std::isnan(error) || std::isnan(largest) ? NAN : std::max(largest, error);
    }
    return largest;
}

#endif /* PDL_EXAMPLES_FC_MODEL_CUH */
