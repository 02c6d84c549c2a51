/* SPDX-License-Identifier: MIT */
/* What the programs share that `pdltool watch` and `pdltool bisect` are tried on: checks of calls, a launch with and
 * without overlap, kernels' clocks, and a gate that holds a stream until the host opens it. They are written as a user
 * writes them, on the CUDA Runtime alone: nothing here is libpdl's. */
#ifndef PDL_TEST_WATCH_PROGRAMS_CUH
#define PDL_TEST_WATCH_PROGRAMS_CUH

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <cuda_runtime.h>

#include "../in_time.cuh"
#include "../lost.h"

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

/* 3: not the 1 of a wrong result. 79: nothing more may be launched, as watched.py knows. */
static inline void check(cudaError_t error, const char *call, const char *file, int line)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
        exit(device_is_lost(error) ? 79 : 3);
    }
}

/* Exits where there is no device of compute capability 9.0 or newer: with 77, "skipped", or with 3 where
 * PDL_TEST_REQUIRE_GPU=1 says that there is one. */
static inline void need_device(void)
{
    int count = 0, major = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count > 0) {
        CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    }
    if (major < 9) {
        const char *required = getenv("PDL_TEST_REQUIRE_GPU");
        const bool fail = required != nullptr && strcmp(required, "1") == 0;
        fprintf(stderr, "%s: no device of compute capability 9.0 (%s)\n",
                fail ? "failed" : "skipped", cudaGetErrorString(error));
        exit(fail ? 3 : 77);
    }
}

static inline int sm_count(void)
{
    int count = 0;
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
}

/* ---- the host ------------------------------------------------------------------------------------ */

static inline uint64_t host_ns(void)
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

static inline void host_spin(uint64_t ns)
{
    const uint64_t begin = host_ns();
    while (host_ns() - begin < ns) {
    }
}

/* ---- the device ---------------------------------------------------------------------------------- */

/* In cycles of the SM, for work that is to scale with its clock as real work does. */
__device__ __forceinline__ void spin_cycles(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

/* ---- launches ------------------------------------------------------------------------------------ */

template <typename... Params, typename... Args>
static inline void launch(void (*kernel)(Params...), unsigned grid, unsigned block, size_t shared,
                          cudaStream_t stream, bool overlap, Args... arguments)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = overlap ? 1 : 0;
    CHECK(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(arguments)...));
}

/* Gives up after two seconds: then the host was kept off. */
static __global__ void gate_kernel(const volatile unsigned *open)
{
    const unsigned long long begin = device_clock();
    while (*open == 0 && in_time(begin)) {
    }
}

/* What is launched behind a closed gate is in the queue as a whole before any of it runs. */
class gate
{
  public:
    void close(cudaStream_t stream)
    {
        if (flag_ == nullptr) {
            CHECK(cudaHostAlloc(&flag_, sizeof(*flag_), cudaHostAllocMapped));
        }
        *const_cast<volatile unsigned *>(flag_) = 0;
        gate_kernel<<<1, 1, 0, stream>>>(flag_);
        CHECK(cudaGetLastError());
    }
    void open()
    {
        if (flag_ != nullptr) {
            *const_cast<volatile unsigned *>(flag_) = 1;
        }
    }

  private:
    unsigned *flag_ = nullptr;
};

/* ---- graphs and batches -------------------------------------------------------------------------- */

/* What `work` launches into the stream, as a graph that `change` may change first. */
template <typename Work, typename Change>
static inline cudaGraphExec_t record(cudaStream_t stream, Work work, Change change)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    work();
    CHECK(cudaStreamEndCapture(stream, &graph));
    change(graph);
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return executable;
}

template <typename Work> static inline cudaGraphExec_t record(cudaStream_t stream, Work work)
{
    return record(stream, work, [](cudaGraph_t) {});
}

static const unsigned batch =
    200; /* kernels that the queue of a stream holds without holding up the host */

/* Lets `work` launch a batch of kernels a number of times, as it is or as a graph, each time behind a gate. Returns the
 * median of the times per kernel, in µs. */
template <typename Work>
static inline double us_per_kernel(cudaStream_t stream, bool in_graph, Work work)
{
    cudaEvent_t begin, end;
    gate doors;
    std::vector<float> times(11);
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    const cudaGraphExec_t executable = in_graph ? record(stream, work) : nullptr;
    if (!in_graph) {
        work(); /* loads the kernel */
    }
    CHECK(cudaDeviceSynchronize());
    for (float &time : times) {
        doors.close(stream);
        CHECK(cudaEventRecord(begin, stream));
        if (in_graph) {
            CHECK(cudaGraphLaunch(executable, stream));
        } else {
            work();
        }
        CHECK(cudaEventRecord(end, stream));
        doors.open();
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaEventElapsedTime(&time, begin, end));
    }
    if (executable != nullptr) {
        CHECK(cudaGraphExecDestroy(executable));
    }
    std::sort(times.begin(), times.end());
    return 1000.0 * times[times.size() / 2] / batch;
}

/* Of memory of the device: FNV-1a. */
static inline unsigned long long hash_of(const unsigned *memory, size_t count)
{
    std::vector<unsigned> cells(count);
    unsigned long long hash = 14695981039346656037ull;
    CHECK(cudaMemcpy(cells.data(), memory, count * sizeof(cells[0]), cudaMemcpyDeviceToHost));
    for (const unsigned cell : cells) {
        hash = (hash ^ cell) * 1099511628211ull;
    }
    return hash;
}

#endif /* PDL_TEST_WATCH_PROGRAMS_CUH */
