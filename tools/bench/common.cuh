/* SPDX-License-Identifier: MIT */
/* What the programs in CUDA share, beside what the examples do: statistics, memory, stamps of when a
 * kernel's blocks ran, and timing on the device. */
#ifndef PDL_BENCH_COMMON_CUH
#define PDL_BENCH_COMMON_CUH

#include <pdl/device.cuh>

#include "../../examples/common.cuh"

/* The value below which that share (0 to 1) of the samples lies. */
inline double quantile(std::vector<double> samples, double share)
{
    std::sort(samples.begin(), samples.end());
    const double at = share * static_cast<double>(samples.size() - 1);
    const size_t below = static_cast<size_t>(at);
    const size_t above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (samples[above] - samples[below]) * (at - static_cast<double>(below));
}

inline double median(const std::vector<double> &samples)
{
    return quantile(samples, 0.5);
}

/* Device memory that frees itself, filled and read back with the device idle before and after. */
template <typename T> class device_buffer
{
  public:
    explicit device_buffer(size_t count) : data_(allocate<T>(count)), count_(count)
    {
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
        return to_host(data_, count_);
    }

  private:
    T *const data_;
    const size_t count_;
};

/* When a kernel's first block started and its last one ended. */
struct kernel_stamps {
    unsigned long long first_start;
    unsigned long long last_end;
};

/* Called by the whole block as the first thing it does. */
__device__ inline void stamp_start(kernel_stamps *stamps)
{
    if (stamps != nullptr && threadIdx.x == 0) {
        PDL_LINT_ALLOW("write-before-wait", "a kernel's stamps are its own");
        atomicMin(&stamps->first_start, device_clock());
    }
}

/* Called by the whole block as the last thing it does. */
__device__ inline void stamp_end(kernel_stamps *stamps)
{
    if (stamps != nullptr) {
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicMax(&stamps->last_end, device_clock());
        }
    }
}

/* Runs batches of work so that the device never waits for the host: all of a batch is queued while
 * a kernel in front of it spins on a flag in host memory. A batch must fit in the launch queue
 * (about a thousand launches), and its kernels must have run before, because loading one waits for
 * the device. */
class gated_stream
{
  public:
    gated_stream()
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&begin_));
        CHECK(cudaEventCreate(&end_));
        CHECK(cudaHostAlloc(&open_, sizeof(*open_), cudaHostAllocMapped));
        run([] {}); /* loads the gate itself */
    }
    ~gated_stream()
    {
        cudaFreeHost(open_);
        cudaEventDestroy(end_);
        cudaEventDestroy(begin_);
        cudaStreamDestroy(stream);
    }
    gated_stream(const gated_stream &) = delete;
    gated_stream &operator=(const gated_stream &) = delete;

    /* Queues `work`, lets it run and returns how long it took on the device, in microseconds. */
    template <typename Work> double run(Work &&work)
    {
        return run(
            work, [] {}, [] {});
    }

    /* `align` queues what is in front of it and does not count; `queued` is called before the gate opens. */
    template <typename Work, typename Align, typename Queued>
    double run(Work &&work, Align &&align, Queued &&queued)
    {
        float milliseconds = 0;
        *static_cast<volatile int *>(open_) = 0;
        gate_kernel<<<1, 1, 0, stream>>>(open_);
        CHECK(cudaGetLastError());
        align();
        CHECK(cudaEventRecord(begin_, stream));
        work();
        CHECK(cudaEventRecord(end_, stream));
        queued();
        *static_cast<volatile int *>(open_) = 1;
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
        return 1e3 * static_cast<double>(milliseconds);
    }

    cudaStream_t stream = nullptr;

  private:
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
    int *open_ = nullptr;
};

#endif /* PDL_BENCH_COMMON_CUH */
