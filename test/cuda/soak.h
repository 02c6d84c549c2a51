/* SPDX-License-Identifier: MIT */
/* What a program asks the model of CUDA that runs for long, with many threads, and checks what it
 * got: failures by chance, what is still there, and what every kernel ran with.
 *
 * A program that links the model calls these. One that loads the fake libcuda.so.1 finds them there
 * under these names (dlsym()); this header needs cuda.h and nothing of libpdl. Every call may be
 * made at any time by any thread. */
#ifndef PDL_TEST_CUDA_SOAK_H
#define PDL_TEST_CUDA_SOAK_H

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#define MOCK_PUBLIC __attribute__((visibility("default")))

/* Makes the share of `per_million` of the calls fail, as `seed` decides; 0: none. Each fails with one
 * of `count` results; with `results` NULL, with one of several. As with the real driver, a call that
 * releases something releases it and returns the failure; any other does nothing. cuGetErrorName
 * does not fail, nor do calls that the model has for programs only (cuStreamCreate, cuModule…).
 * cuFuncGetParamInfo and cuKernelGetParamInfo fail with CUDA_ERROR_UNKNOWN where the choice is
 * CUDA_ERROR_INVALID_VALUE, which is an answer of theirs. */
MOCK_PUBLIC void mock_fail_randomly(uint64_t seed, unsigned per_million, const CUresult *results,
                                    size_t count);

/* How many calls of the calling thread failed by chance or as mock_fail() wanted, and the last of
 * them (NULL and CUDA_SUCCESS: there was none). The arguments may be NULL. */
MOCK_PUBLIC unsigned long mock_failures(const char **call, CUresult *result);

/* What was made and is not destroyed. */
struct mock_live {
    int libraries; /* and modules */
    int graphs;
    int nodes; /* of live graphs */
    int execs;
    int events;
    int streams;
    int allocations;
    int contexts; /* that the calling thread has pushed and not popped */
};
MOCK_PUBLIC void mock_count_live(struct mock_live *live);

/* The first thing that a correct caller would not do, such as to use what was destroyed; "" if there
 * was nothing. `text` is `size` bytes. */
MOCK_PUBLIC void mock_take_misuse(char *text, size_t size);

/* A kernel that runs: by a launch, or as a node of an executable graph that is launched. */
struct mock_seen {
    const char *kernel;
    CUstream stream;
    CUgraphExec exec; /* NULL: a launch */
    unsigned node;    /* of exec: the number of the node in its graph, in the order of adding */
    unsigned grid[3];
    unsigned block[3];
    unsigned shared; /* bytes of dynamic shared memory */
    unsigned attribute_count;
    /* The bytes of all arguments as they are when the kernel runs, one after the other, without
     * padding. Good during the call. */
    const unsigned char *arguments;
    size_t size;
    uint64_t checksum; /* of these bytes, see mock_checksum() */
};

/* Calls `watch` for each kernel that runs from now on, on the thread that launches it. It is called
 * under the lock of the model: it must call neither CUDA nor libpdl. NULL: nobody watches. */
MOCK_PUBLIC void mock_watch(void (*watch)(const struct mock_seen *seen, void *user), void *user);

/* The checksum of arguments, to compare with what was seen. It is never 0. */
MOCK_PUBLIC uint64_t mock_checksum(void *const *arguments, const size_t *sizes, size_t count);

#endif /* PDL_TEST_CUDA_SOAK_H */
