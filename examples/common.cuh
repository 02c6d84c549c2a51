/* SPDX-License-Identifier: MIT */
/* What the programs share: checks, the exit on a machine without a GPU, memory, a clock, and times on
 * the device. */
#ifndef PDL_EXAMPLES_COMMON_CUH
#define PDL_EXAMPLES_COMMON_CUH

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>
#include <pdl/pdl.h>

/* Ends the program with a message if a CUDA Runtime or libpdl call fails. */
#define CHECK(call) check_call((call), #call, __FILE__, __LINE__)

inline void check_call(cudaError_t error, const char *call, const char *file, int line)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
        std::exit(1);
    }
}

inline void check_call(pdl_status status, const char *call, const char *file, int line)
{
    if (status != PDL_SUCCESS) {
        std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, pdl_last_error()->message);
        std::exit(1);
    }
}

/* Device 0. Exits with 77, "skipped", and one line that says why, where there is no driver, no device
 * or none that runs code for compute capability 9.0. */
inline pdl_device_info require_device(const char *program)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    const pdl_status status = pdl_device_get(0, &info);
    if (status == PDL_SUCCESS && info.compute_capability_major >= 9) {
        return info;
    }
    std::printf("%s: skipped: %s\n", program,
                status != PDL_SUCCESS ? pdl_last_error()->message
                                      : pdl_reason_string(PDL_REASON_DEVICE));
    std::exit(77);
}

/* Says whether the results were right, and returns what main() returns. */
inline int verdict(bool good)
{
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}

/* Memory of the current device, zeros. The end of the program frees it. */
template <typename T> T *allocate(size_t count)
{
    T *memory = nullptr;
    CHECK(cudaMalloc(&memory, count * sizeof(T)));
    CHECK(cudaMemset(memory, 0, count * sizeof(T)));
    CHECK(cudaDeviceSynchronize()); /* streams that do not wait for the default one see it */
    return memory;
}

template <typename T> T *to_device(const std::vector<T> &host)
{
    T *const memory = allocate<T>(host.size());
    CHECK(cudaMemcpy(memory, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    return memory;
}

template <typename T> std::vector<T> to_host(const T *device, size_t count)
{
    std::vector<T> host(count);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

/* Pseudo-random multiples of scale / 128 from -scale on, below scale. */
inline std::vector<float> random_numbers(size_t count, unsigned state, float scale = 1)
{
    std::vector<float> numbers(count);
    for (float &number : numbers) {
        state = state * 1664525u + 1013904223u;
        number = scale * static_cast<float>(static_cast<int>(state >> 24) - 128) / 128;
    }
    return numbers;
}

/* A row of a matrix times x, in double precision. */
template <typename T> double product(const T *row, const std::vector<double> &x)
{
    double sum = 0;
    for (size_t i = 0; i < x.size(); i++) {
        sum += static_cast<double>(static_cast<float>(row[i])) * x[i];
    }
    return sum;
}

/* How many values are off by more than that share of the root mean square of what is expected. */
inline int wrong_values(const std::vector<float> &got, const std::vector<double> &expected,
                        double share)
{
    double squares = 0;
    int wrong = 0;
    for (const double value : expected) {
        squares += value * value;
    }
    const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
    for (size_t i = 0; i < expected.size(); i++) { /* not-a-number is wrong, too */
        wrong += !(std::fabs(got[i] - expected[i]) <= share * rms);
    }
    return wrong;
}

/* Nanoseconds, the same clock on every SM. */
__device__ inline unsigned long long device_clock()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

__device__ inline float sum_of_warp(float sum)
{
    for (int other = 16; other > 0; other /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, other);
    }
    return sum;
}

/* Whether `ns` nanoseconds since `begin` are not over yet. The condition of every loop that waits: no
 * kernel holds the device for more than 2 s, whatever it waits for. */
__device__ inline bool in_time(unsigned long long begin, unsigned long long ns = 2000000000ull)
{
    return device_clock() - begin < (ns < 2000000000ull ? ns : 2000000000ull);
}

/* Holds the stream until the host opens the gate; gives up after 2 s, so that nothing hangs. */
static __global__ void gate_kernel(const volatile int *open)
{
    const unsigned long long begin = device_clock();
    while (*open == 0 && in_time(begin)) {
    }
}

/* Queues `work` behind a kernel that waits until all of it is queued, so that the device never waits for
 * the host, and returns how long it took on the device, in microseconds. It must fit in the launch queue
 * (about a thousand launches), and its kernels must have run before: loading one waits for the device. */
template <typename Work> double device_us(cudaStream_t stream, Work &&work)
{
    cudaEvent_t begin, end;
    int *open = nullptr;
    float milliseconds = 0;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaHostAlloc(&open, sizeof(*open), cudaHostAllocMapped));
    *open = 1;
    gate_kernel<<<1, 1, 0, stream>>>(open); /* loads it */
    CHECK(cudaStreamSynchronize(stream));
    *static_cast<volatile int *>(open) = 0;
    gate_kernel<<<1, 1, 0, stream>>>(open);
    CHECK(cudaEventRecord(begin, stream));
    work();
    CHECK(cudaEventRecord(end, stream));
    *static_cast<volatile int *>(open) = 1;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    CHECK(cudaFreeHost(open));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaEventDestroy(begin));
    return 1e3 * static_cast<double>(milliseconds);
}

/* The median of several runs. */
template <typename Work> double median_us(cudaStream_t stream, Work &&work)
{
    std::vector<double> us;
    for (int i = 0; i < 11; i++) {
        us.push_back(device_us(stream, work));
    }
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
}

#endif /* PDL_EXAMPLES_COMMON_CUH */
