/* SPDX-License-Identifier: MIT */
/* Timing on the device: batches queued behind a gate, and stamps of when a kernel's blocks ran. */
#ifndef PDL_BENCH_TIMING_CUH
#define PDL_BENCH_TIMING_CUH

#include <pdl/device.cuh>

#include "common.cuh"

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
        float milliseconds = 0;
        *static_cast<volatile int *>(open_) = 0;
        gate_kernel<<<1, 1, 0, stream>>>(open_);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(begin_, stream));
        work();
        CHECK(cudaEventRecord(end_, stream));
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

#endif /* PDL_BENCH_TIMING_CUH */
