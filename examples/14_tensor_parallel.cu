/* SPDX-License-Identifier: MIT */
/* A vector that two devices multiply by a matrix again and again: each has half of the columns, and
 * after each product they add up their parts, as the devices of a decoder do (docs/parallel.md).
 *
 * The sum is one kernel over peer memory, which waits and triggers like any other: while it exchanges
 * the parts, the next product loads its weights. A part and the number of its round arrive together,
 * because a store of 64 bits is not divided: no fence and no flag are needed. Parts are added in the
 * order of the devices, so that both get the same bits. A part that does not come within 2 s is
 * not-a-number. With one device, it has all columns. */
#include <cuda/atomic>
#include <pdl/cudart.h>
#include <pdl/device.cuh>

#include "common.cuh"

static const int n = 1024, threads = 256, most = 2 /* devices */;
static const unsigned rounds = 50;

/* Passed by value: every device sees the memory of both. */
struct team {
    int size;
    unsigned long long *inbox[most]; /* [round % 2][sender][row] */
};

/* part = W x for this device's columns: a warp for each row. Of x it takes the values from `first` on. */
__global__ void multiply(const float *weights, const float *x, float *part, int columns, int first)
{
    const int lane = threadIdx.x % 32, row = (blockIdx.x * threads + threadIdx.x) / 32;
    float w[n / 32], sum = 0;
    PDL_CONSTANT_PARAM(weights);
#pragma unroll
    for (int i = 0; i < n / 32; i++) {
        w[i] = 32 * i < columns ? weights[row * columns + 32 * i + lane] : 0;
    }
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
#pragma unroll
    for (int i = 0; i < n / 32; i++) {
        sum += 32 * i < columns ? w[i] * PDL_LOAD(&x[first + 32 * i + lane]) : 0;
    }
    sum = sum_of_warp(sum);
    if (lane == 0) {
        part[row] = sum;
    }
}

/* y = the sum of all parts: a thread for each row. A device sends the parts of round k + 2 to where those
 * of round k were: only after it has received those of k + 1, which are sent after k has ended. */
__global__ void add_parts(team t, int self, unsigned round, const float *part, float *y)
{
    typedef cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> word;
    const int row = blockIdx.x * threads + threadIdx.x;
    const size_t at = static_cast<size_t>(round % 2) * most * n + row;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    const unsigned bits = __float_as_uint(PDL_LOAD(&part[row]));
    for (int device = 0; device < t.size; device++) {
        word(t.inbox[device][at + self * n])
            .store(static_cast<unsigned long long>(round) << 32 | bits, cuda::memory_order_relaxed);
    }
    float sum = 0;
    for (int device = 0; device < t.size; device++) {
        const word from(t.inbox[self][at + device * n]);
        const unsigned long long begin = device_clock();
        unsigned long long got = from.load(cuda::memory_order_relaxed);
        while (got >> 32 != round && in_time(begin)) {
            got = from.load(cuda::memory_order_relaxed);
        }
        sum += got >> 32 == round ? __uint_as_float(static_cast<unsigned>(got)) : NAN;
    }
    y[row] = sum;
}

/* Two, if they reach each other's memory. */
static int count_team()
{
    int count = 0, there = 0, back = 0;
    pdl_device_info second = PDL_DEVICE_INFO_INIT;
    CHECK(cudaGetDeviceCount(&count));
    if (count >= 2) {
        CHECK(pdl_device_get(1, &second));
        CHECK(cudaDeviceCanAccessPeer(&there, 0, 1));
        CHECK(cudaDeviceCanAccessPeer(&back, 1, 0));
    }
    return there && back && second.compute_capability_major >= 9 ? 2 : 1;
}

int main()
{
    require_device("14_tensor_parallel");
    team t = {};
    t.size = count_team();
    const int columns = n / t.size;
    /* A product is about as long as its vector. */
    const std::vector<float> weights = random_numbers(n * n, 1, std::sqrt(3.0f / n));
    const std::vector<float> input = random_numbers(n, 2);
    float *mine[most], *part[most], *x[most];
    cudaStream_t streams[most];
    for (int device = 0; device < t.size; device++) {
        std::vector<float> w;
        for (int row = 0; row < n; row++) {
            const float *const from = &weights[static_cast<size_t>(row) * n + device * columns];
            w.insert(w.end(), from, from + columns);
        }
        CHECK(cudaSetDevice(device));
        if (t.size > 1) {
            CHECK(cudaDeviceEnablePeerAccess(1 - device, 0));
        }
        mine[device] = to_device(w);
        part[device] = allocate<float>(n);
        x[device] = to_device(input);
        t.inbox[device] = allocate<unsigned long long>(2 * most * n);
        CHECK(cudaStreamCreateWithFlags(&streams[device], cudaStreamNonBlocking));
    }

    /* Round 0 loads the kernels, so that no device waits for another one's loading: it adds up nothing. */
    for (unsigned round = 0; round <= rounds; round++) {
        team now = t;
        now.size = round == 0 ? 0 : t.size;
        for (int device = 0; device < t.size; device++) {
            CHECK(cudaSetDevice(device));
            pdl_launch_desc desc = pdl_launch_desc_make(32 * n / threads, threads, 0,
                                                        streams[device], PDL_OVERLAP_AUTO);
            CHECK(pdl_launch_kernel(desc, multiply, mine[device], x[device], part[device], columns,
                                    device * columns));
            desc.grid[0] = n / threads;
            CHECK(pdl_launch_kernel(desc, add_parts, now, device, round, part[device],
                                    round == 0 ? part[device] : x[device]));
            CHECK(round == 0 ? cudaDeviceSynchronize() : cudaSuccess);
        }
    }

    std::vector<double> expected(input.begin(), input.end()), next(n);
    for (unsigned round = 0; round < rounds; round++, expected.swap(next)) {
        for (size_t row = 0; row < n; row++) {
            next[row] = product(&weights[row * n], expected);
        }
    }
    std::vector<float> first;
    int wrong = 0;
    for (int device = 0; device < t.size; device++) {
        CHECK(cudaSetDevice(device));
        const std::vector<float> got = to_host(x[device], n);
        first = device == 0 ? got : first;
        wrong += wrong_values(got, expected, 1e-3) + (got != first);
    }
    std::printf("%u products of %d x %d on %d devices, %d values are wrong\n", rounds, n, n, t.size,
                wrong);
    return verdict(wrong == 0);
}
