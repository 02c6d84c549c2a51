/* SPDX-License-Identifier: MIT */
/* What the step of 15_step.cu does: its kernels, the library call, and the result that is expected. The
 * kernels solve 4 x[i] - x[i-1] - x[i+1] = b[i] by sweeps, which take each x[i] from its neighbours. */
#ifndef PDL_EXAMPLES_STEP_PARTS_CUH
#define PDL_EXAMPLES_STEP_PARTS_CUH

#include <cmath>

#ifdef PDL_EXAMPLE_CUBLAS
#include <cublas_v2.h>
#else
#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#endif

#include <pdl/device.cuh>

#include "common.cuh"

static const int n = 1 << 16, most_rounds = 100;

static __global__ void scale(const float *load, float *PDL_RESTRICT out, float factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    const float value = PDL_LOAD(&load[i]);
    PDL_LAUNCH_DEPENDENTS(); /* as in all kernels here: what was read is no longer needed */
    out[i] = factor * value;
}

static __device__ float at(const float *x, int i)
{
    return i >= 0 && i < n ? PDL_LOAD(&x[i]) : 0;
}

static __global__ void smooth(const float *PDL_RESTRICT in, float *PDL_RESTRICT out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    const float sum = at(in, i - 1) + 2 * at(in, i) + at(in, i + 1);
    PDL_LAUNCH_DEPENDENTS();
    out[i] = sum / 4;
}

/* What the memset clears. */
struct solution {
    float x[n];
    int change; /* the largest one of a round: a float, not negative, so that integers order it */
    int rounds;
};

static __global__ void sweep(const float *b, const float *PDL_RESTRICT x, float *PDL_RESTRICT out,
                             int *change)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    const float is = (at(b, i) + at(x, i - 1) + at(x, i + 1)) / 4, was = at(x, i);
    PDL_LAUNCH_DEPENDENTS();
    out[i] = is;
    atomicMax(change, __float_as_int(fabsf(is - was)));
}

static __global__ void decide(cudaGraphConditionalHandle again, solution *of, float limit)
{
    PDL_WAIT();
    const bool goes_on =
        __int_as_float(PDL_LOAD(&of->change)) > limit && ++of->rounds < most_rounds;
    cudaGraphSetConditional(again, goes_on);
    of->change = 0;
}

static __global__ void root(float *value)
{
    PDL_WAIT();
    *value = sqrtf(PDL_LOAD(value));
}

/* For CUB, which takes a function of the index. */
struct product {
    const float *x, *b;
    __device__ float operator()(int i) const
    {
        return x[i] * b[i];
    }
};

/* The first call also allocates, which a capture cannot. */
inline void library_dot(cudaStream_t stream, const float *x, const float *b, float *dot)
{
    static void *scratch = nullptr;
    static size_t bytes = 32 << 20;
#ifdef PDL_EXAMPLE_CUBLAS
    static cublasHandle_t blas = nullptr;
    if (scratch == nullptr) {
        CHECK(cudaMalloc(&scratch, bytes));
        cublasCreate(&blas);
    }
    cublasSetStream(blas, stream);
    cublasSetWorkspace(blas, scratch, bytes); /* or cuBLAS may allocate in the stream */
    cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE); /* or the host waits for the result */
    const cublasStatus_t status = cublasSdot(blas, n, x, 1, b, 1, dot);
    if (status != CUBLAS_STATUS_SUCCESS) {
        std::fprintf(stderr, "cublasSdot: %s\n", cublasGetStatusString(status));
        std::exit(1);
    }
#else
    const thrust::counting_iterator<int> first(0);
    CHECK(scratch == nullptr ? cudaMalloc(&scratch, bytes) : cudaSuccess);
    CHECK(cub::DeviceReduce::TransformReduce(scratch, bytes, first, dot, n, cuda::std::plus<>(),
                                             product{x, b}, 0.0f, stream));
#endif
}

/* The root of the dot product for a factor of 1, by elimination in double precision. */
inline double expected(const float *load)
{
    std::vector<double> b(n), c(n), x(n + 1, 0.0);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        b[i] = ((i > 0 ? load[i - 1] : 0.0) + 2.0 * load[i] + (i + 1 < n ? load[i + 1] : 0.0)) / 4;
        c[i] = 1 / (4 - (i > 0 ? c[i - 1] : 0));
        x[i] = (b[i] + (i > 0 ? x[i - 1] : 0)) * c[i];
    }
    for (int i = n - 1; i >= 0; i--) {
        x[i] += c[i] * x[i + 1];
        sum += x[i] * b[i];
    }
    return std::sqrt(sum);
}

#endif /* PDL_EXAMPLES_STEP_PARTS_CUH */
