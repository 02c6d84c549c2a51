/* SPDX-License-Identifier: MIT */
/* Device memory that frees itself, filled and read back with the device idle before and after. */
#ifndef PDL_BENCH_BUFFER_CUH
#define PDL_BENCH_BUFFER_CUH

#include "common.cuh"

template <typename T> class device_buffer
{
  public:
    explicit device_buffer(size_t count) : count_(count)
    {
        CHECK(cudaMalloc(&data_, count * sizeof(T)));
        fill(0);
    }
    explicit device_buffer(const std::vector<T> &host) : device_buffer(host.size())
    {
        set(host);
    }
    ~device_buffer()
    {
        cudaFree(data_);
    }
    device_buffer(const device_buffer &) = delete;
    device_buffer &operator=(const device_buffer &) = delete;

    T *get() const
    {
        return data_;
    }

    /* Sets every byte. A memset returns before it is done, and a stream that does not wait for the
     * default one would not see it: hence the waits, here and below. */
    void fill(int byte) const
    {
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemset(data_, byte, count_ * sizeof(T)));
        CHECK(cudaDeviceSynchronize());
    }

    void set(const std::vector<T> &host) const
    {
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(data_, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
        CHECK(cudaDeviceSynchronize());
    }

    std::vector<T> host() const
    {
        std::vector<T> copy(count_);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(copy.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return copy;
    }

  private:
    T *data_ = nullptr;
    size_t count_;
};

#endif /* PDL_BENCH_BUFFER_CUH */
