/* SPDX-License-Identifier: MIT */
/* What the programs in CUDA share: checks, the exit on a machine without a GPU, and statistics. */
#ifndef PDL_BENCH_COMMON_CUH
#define PDL_BENCH_COMMON_CUH

#include <algorithm>
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

/* Exits with 77, "skipped", and one line that says why, where there is no driver, no device or none
 * that runs code for compute capability 9.0. */
inline void require_device(const char *program)
{
    int count = 0;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    const pdl_status status = pdl_device_count(&count);
    const char *reason = pdl_status_string(status);
    if (status == PDL_SUCCESS) {
        CHECK(pdl_device_get(0, &info));
        if (info.compute_capability_major >= 9) {
            return;
        }
        reason = pdl_reason_string(PDL_REASON_DEVICE);
    }
    std::printf("%s: skipped: %s\n", program, reason);
    std::exit(77);
}

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

#endif /* PDL_BENCH_COMMON_CUH */
