/* SPDX-License-Identifier: MIT */
/* What programs that measure say of themselves, and their clock. */
#ifndef PDL_TEST_BENCH_CUH
#define PDL_TEST_BENCH_CUH

#include <cstring>
#include <ctime>
#include <string>

#include "common.cuh"

/* CLOCK_MONOTONIC. */
inline double now_ns()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

/* Where and when a program ran. */
struct bench_place {
    std::string date;
    std::string device;
    std::string driver;
    int driver_version = 0;
};

inline bench_place find_bench_place()
{
    bench_place place;
    char line[256] = "";
    char date[32];
    int device = 0;
    cudaDeviceProp properties;
    if (FILE *file = std::fopen("/proc/driver/nvidia/version", "r")) {
        if (std::fgets(line, sizeof(line), file) == nullptr) {
            line[0] = '\0';
        }
        std::fclose(file);
    }
    line[std::strcspn(line, "\n\"\\")] = '\0';
    place.driver = line;
    const time_t now = time(nullptr);
    std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    place.date = date;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&properties, device));
    place.device = properties.name;
    CHECK(cudaDriverGetVersion(&place.driver_version));
    return place;
}

#endif /* PDL_TEST_BENCH_CUH */
