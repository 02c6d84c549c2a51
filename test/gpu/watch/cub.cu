/* SPDX-License-Identifier: MIT */
/* cub: sorts, scans and sums by the toolkit's CUB, in three sizes, and checks the results. */
#include <algorithm>
#include <numeric>
#include <vector>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "programs.cuh"

template <typename Algorithm> static void run(Algorithm algorithm)
{
    void *storage = nullptr;
    size_t bytes = 0;
    CHECK(algorithm(storage, bytes)); /* asks for the size */
    CHECK(cudaMalloc(&storage, bytes));
    for (int i = 0; i < 20; i++) {
        CHECK(algorithm(storage, bytes));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(storage));
}

static bool check_size(int count, cudaStream_t stream)
{
    std::vector<unsigned> host(count), result(count);
    unsigned state = 1;
    for (unsigned &value : host) {
        state = state * 1664525u + 1013904223u;
        value = state >> 4;
    }
    unsigned *in, *out, *sum;
    const size_t bytes = count * sizeof(unsigned);
    CHECK(cudaMalloc(&in, bytes));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMalloc(&sum, sizeof(*sum)));
    CHECK(cudaMemcpy(in, host.data(), bytes, cudaMemcpyHostToDevice));
    bool right = true;
    const auto compare = [&](const char *what, const std::vector<unsigned> &expected,
                             const unsigned *device) {
        CHECK(cudaMemcpy(result.data(), device, expected.size() * sizeof(unsigned),
                         cudaMemcpyDeviceToHost));
        if (!std::equal(expected.begin(), expected.end(), result.begin())) {
            fprintf(stderr, "%s of %d: wrong\n", what, count);
            right = false;
        }
    };
    run([&](void *storage, size_t &size) {
        return cub::DeviceReduce::Sum(storage, size, in, sum, count, stream);
    });
    compare("sum", {std::accumulate(host.begin(), host.end(), 0u)}, sum);
    run([&](void *storage, size_t &size) {
        return cub::DeviceScan::InclusiveSum(storage, size, in, out, count, stream);
    });
    std::vector<unsigned> expected(count);
    std::partial_sum(host.begin(), host.end(), expected.begin());
    compare("scan", expected, out);
    run([&](void *storage, size_t &size) {
        return cub::DeviceRadixSort::SortKeys(storage, size, in, out, count, 0, 32, stream);
    });
    expected = host;
    std::sort(expected.begin(), expected.end());
    compare("sort", expected, out);
    for (unsigned *each : {in, out, sum}) {
        CHECK(cudaFree(each));
    }
    return right;
}

int main()
{
    need_device();
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    bool right = true;
    for (const int count : {10000, 300000, 10000000}) {
        right = check_size(count, stream) && right;
    }
    return right ? 0 : 1;
}
