/* SPDX-License-Identifier: MIT */
/* The smallest useful thing: two kernels of a .cu file, the second one starting before the first
 * has ended, with arguments that the compiler checks.
 *
 * nvcc -std=c++17 -arch=sm_90 02_launch_cu.cu -lpdl */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <pdl/cudart.h>
#include <pdl/device.cuh>

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

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

static void check(pdl_status status)
{
    if (status != PDL_SUCCESS) {
        std::fprintf(stderr, "%s\n", pdl_last_error()->message);
        std::exit(1);
    }
}

int main()
{
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    if (pdl_device_get(0, &device) != PDL_SUCCESS || device.compute_capability_major < 9) {
        std::printf("02_launch_cu: skipped: it needs a device of compute capability 9.0. %s\n",
                    pdl_last_error()->message);
        return 77;
    }

    const int n = 1 << 20;
    std::vector<float> host(n);
    for (int i = 0; i < n; i++) {
        host[i] = static_cast<float>(i % 1000);
    }
    float *x, *y, *z;
    cudaStream_t stream;
    check(cudaStreamCreate(&stream));
    check(cudaMalloc(&x, n * sizeof(float)));
    check(cudaMalloc(&y, n * sizeof(float)));
    check(cudaMalloc(&z, n * sizeof(float)));
    check(cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    const pdl_launch_desc desc = pdl_launch_desc_make(n / 256, 256, 0, stream, PDL_OVERLAP_AUTO);
    check(pdl_launch_kernel(desc, square, x, y, n));
    check(pdl_launch_kernel(desc, add, y, z, 0.5f, n));

    check(cudaStreamSynchronize(stream));
    check(cudaMemcpy(host.data(), z, n * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        const float value = static_cast<float>(i % 1000);
        wrong += host[i] != value * value + 0.5f;
    }
    std::printf("%s: %d of %d values are right\n", wrong == 0 ? "PASS" : "FAIL", n - wrong, n);
    check(cudaFree(z));
    check(cudaFree(y));
    check(cudaFree(x));
    check(cudaStreamDestroy(stream));
    return wrong == 0 ? 0 : 1;
}
