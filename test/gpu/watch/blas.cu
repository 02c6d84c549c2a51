/* SPDX-License-Identifier: MIT */
/* blas: loops of matrix products by cuBLAS, large and small, bf16, in a stream and in a graph. */
#include <cublas_v2.h>

#include "programs.cuh"

#define CHECK_BLAS(call)                                                                           \
    do {                                                                                           \
        const cublasStatus_t status = (call);                                                      \
        if (status != CUBLAS_STATUS_SUCCESS) {                                                     \
            fprintf(stderr, "%s: %s\n", #call, cublasGetStatusString(status));                     \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

static cublasHandle_t blas;
static uint16_t *matrices[3];

static void multiply(int rows, int columns, int depth)
{
    const float one = 1, zero = 0;
    CHECK_BLAS(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, rows, columns, depth, &one, matrices[0],
                            CUDA_R_16BF, depth, matrices[1], CUDA_R_16BF, depth, &zero, matrices[2],
                            CUDA_R_16BF, rows, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

static void multiply_all()
{
    for (int i = 0; i < 20; i++) {
        multiply(4096, 4096, 4096);
        multiply(4096, 1, 4096);  /* a matrix and a vector */
        multiply(256, 256, 8192); /* small, and deep: its sums are split */
        multiply(1024, 16, 4096);
    }
}

int main()
{
    need_device();
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_BLAS(cublasCreate(&blas));
    CHECK_BLAS(cublasSetStream(blas, stream));
    void *workspace = nullptr;
    const size_t workspace_size = 32 << 20;
    CHECK(cudaMalloc(&workspace, workspace_size));
    CHECK_BLAS(cublasSetWorkspace(blas, workspace, workspace_size));
    for (uint16_t *&matrix : matrices) {
        CHECK(cudaMalloc(&matrix, 4096 * 4096 * sizeof(*matrix)));
        CHECK(cudaMemset(matrix, 0x3c, 4096 * 4096 * sizeof(*matrix)));
    }
    multiply_all();
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    multiply_all();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 5; i++) {
        CHECK(cudaGraphLaunch(executable, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK_BLAS(cublasDestroy(blas));
    return 0;
}
