/* SPDX-License-Identifier: MIT */
/* races: launches the kernels of LINT_PAIR_LIST with overlap, each behind a primary that writes what they read. The program
 * does not look at the results: races.py holds what `pdltool watch` says of the kernels against what they are. */
#ifndef PDL_FAULT_INJECT
#error "compiled with -DPDL_FAULT_INJECT, as the kernels are everywhere"
#endif
#include "../lint_pairs.cuh"
#include "programs.cuh"

struct arrays {
    unsigned *data, *kept, *copy, *out;
};

static arrays used;
static cudaStream_t stream;

/* Which arguments a kernel takes is in its type. */
static void start(void (*kernel)(const unsigned *, unsigned *))
{
    launch(kernel, blocks, threads, 0, stream, true, used.data, used.out);
}

static void start(void (*kernel)(unsigned *, unsigned *))
{
    launch(kernel, blocks, threads, 0, stream, true, used.data, used.out);
}

static void start(void (*kernel)(const unsigned *, const unsigned *, unsigned *))
{
    launch(kernel, blocks, threads, 0, stream, true, used.kept, used.data, used.out);
}

template <typename Kernel> static void run(Kernel kernel, const volatile unsigned *open)
{
    prepare<<<blocks, threads, 0, stream>>>(open, used.data, used.kept, used.copy, used.out);
    produce<<<blocks, threads, 0, stream>>>(used.data, used.kept, used.copy);
    CHECK(cudaGetLastError());
    start(kernel);
    CHECK(cudaStreamSynchronize(stream));
}

int main()
{
    need_device();
    unsigned *open = nullptr;
    CHECK(cudaHostAlloc(&open, sizeof(*open), cudaHostAllocMapped));
    *open = 1;
    for (unsigned **array : {&used.data, &used.kept, &used.copy, &used.out}) {
        CHECK(cudaMalloc(array, cells * sizeof(unsigned)));
    }
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 3; i++) {
#define RUN(pair, mended, rule, array, right, stale, sentence)                                     \
    run(pair##_broken, open);                                                                      \
    run(mended##_mended, open);
        LINT_PAIR_LIST(RUN)
#undef RUN
    }
    return 0;
}
