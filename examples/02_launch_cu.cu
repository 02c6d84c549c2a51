/* SPDX-License-Identifier: MIT */
/* The smallest useful thing: two kernels of a .cu file, the second one starting before the first
 * has ended, with arguments that the compiler checks. */
#include <pdl/cudart.h>
#include <pdl/device.cuh>

#include "common.cuh"

__global__ void square(const float *x, float *y, int n)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS(); /* the next kernel may start */
    if (i < n) {
        y[i] = x[i] * x[i];
    }
}

__global__ void add(const float *PDL_RESTRICT y, float *z, float what, int n)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    PDL_WAIT(); /* what comes before this overlaps; y is there from here on */
    if (i < n) {
        z[i] = y[i] + what;
    }
}

int main()
{
    require_device("02_launch_cu");

    const int n = 1 << 20;
    std::vector<float> host(n);
    for (int i = 0; i < n; i++) {
        host[i] = static_cast<float>(i % 1000);
    }
    float *x, *y, *z;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&y, n * sizeof(float)));
    CHECK(cudaMalloc(&z, n * sizeof(float)));
    CHECK(cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    const pdl_launch_desc desc = pdl_launch_desc_make(n / 256, 256, 0, stream, PDL_OVERLAP_AUTO);
    CHECK(pdl_launch_kernel(desc, square, x, y, n));
    CHECK(pdl_launch_kernel(desc, add, y, z, 0.5f, n));

    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host.data(), z, n * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        const float value = static_cast<float>(i % 1000);
        wrong += host[i] != value * value + 0.5f;
    }
    std::printf("%s: %d of %d values are right\n", wrong == 0 ? "PASS" : "FAIL", n - wrong, n);
    CHECK(cudaFree(z));
    CHECK(cudaFree(y));
    CHECK(cudaFree(x));
    CHECK(cudaStreamDestroy(stream));
    return wrong == 0 ? 0 : 1;
}
