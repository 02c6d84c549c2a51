/* SPDX-License-Identifier: MIT */
/* What the programs in CUDA share: what the examples do, and statistics. */
#ifndef PDL_BENCH_COMMON_CUH
#define PDL_BENCH_COMMON_CUH

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

#endif /* PDL_BENCH_COMMON_CUH */
