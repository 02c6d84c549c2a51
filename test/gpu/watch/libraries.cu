/* SPDX-License-Identifier: MIT */
/* libraries: sorts and scans by the toolkit's CUB, which it checks, and where there is cuBLAS, products of matrices in a
 * stream and in a graph. */
#include <algorithm>
#include <numeric>
#include <vector>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#ifdef WITH_CUBLAS
#include <cublas_v2.h>
#endif

#include "programs.cuh"

/* ---- CUB --------------------------------------------------------------------------------------- */

template <typename Algorithm>
static bool is_right(Algorithm algorithm, const unsigned *out,
                     const std::vector<unsigned> &expected)
{
    void *storage = nullptr;
    size_t bytes = 0;
    std::vector<unsigned> result(expected.size());
    CHECK(algorithm(storage, bytes)); /* asks for the size */
    CHECK(cudaMalloc(&storage, bytes));
    for (int i = 0; i < 20; i++) {
        CHECK(algorithm(storage, bytes));
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(storage));
    CHECK(cudaMemcpy(result.data(), out, result.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    return result == expected;
}

static bool sort_and_scan(int count, cudaStream_t stream)
{
    std::vector<unsigned> host(count), sums(count);
    for (int i = 0; i < count; i++) {
        host[i] = static_cast<unsigned>(i) * 2654435761u >> 4;
    }
    unsigned *in, *out;
    CHECK(cudaMalloc(&in, count * sizeof(*in)));
    CHECK(cudaMalloc(&out, count * sizeof(*out)));
    CHECK(cudaMemcpy(in, host.data(), count * sizeof(*in), cudaMemcpyHostToDevice));
    std::partial_sum(host.begin(), host.end(), sums.begin());
    const auto scan = [&](void *storage, size_t &bytes) {
        return cub::DeviceScan::InclusiveSum(storage, bytes, in, out, count, stream);
    };
    const auto sort = [&](void *storage, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(storage, bytes, in, out, count, 0, 32, stream);
    };
    const bool scanned = is_right(scan, out, sums);
    std::sort(host.begin(), host.end());
    const bool sorted = is_right(sort, out, host);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return scanned && sorted;
}

/* ---- cuBLAS ------------------------------------------------------------------------------------ */

#ifdef WITH_CUBLAS
static void check_blas(cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS) {
        fprintf(stderr, "cuBLAS: %s\n", cublasGetStatusString(status));
        exit(3);
    }
}

static void multiply_all(cudaStream_t stream)
{
    /* Large; a matrix and a vector; small and deep, whose sums are split. */
    static const int shapes[][3] = {{4096, 4096, 4096}, {4096, 1, 4096}, {256, 256, 8192}};
    const size_t bytes = 4096 * 4096 * sizeof(uint16_t), workspace_bytes = 32 << 20;
    const float one = 1, zero = 0;
    cublasHandle_t blas;
    uint16_t *matrices[3];
    void *workspace;
    check_blas(cublasCreate(&blas));
    check_blas(cublasSetStream(blas, stream));
    CHECK(cudaMalloc(&workspace, workspace_bytes));
    check_blas(cublasSetWorkspace(blas, workspace, workspace_bytes));
    for (uint16_t *&matrix : matrices) {
        CHECK(cudaMalloc(&matrix, bytes));
        CHECK(cudaMemset(matrix, 0x3c, bytes));
    }
    const auto multiply = [&] {
        for (const auto &shape : shapes) {
            check_blas(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, shape[0], shape[1], shape[2],
                                    &one, matrices[0], CUDA_R_16BF, shape[2], matrices[1],
                                    CUDA_R_16BF, shape[2], &zero, matrices[2], CUDA_R_16BF,
                                    shape[0], CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
        }
    };
    multiply();
    const cudaGraphExec_t executable = record(stream, multiply);
    for (int i = 0; i < 20; i++) {
        multiply();
        CHECK(cudaGraphLaunch(executable, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(executable));
    check_blas(cublasDestroy(blas));
}
#endif

int main()
{
    need_device();
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    bool right = true;
    for (const int count : {10000, 300000, 10000000}) {
        right = sort_and_scan(count, stream) && right;
    }
#ifdef WITH_CUBLAS
    multiply_all(stream);
#endif
    return right ? 0 : 1;
}
