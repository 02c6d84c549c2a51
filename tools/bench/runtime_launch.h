/* SPDX-License-Identifier: MIT */
/* Launches in the forms that only the CUDA Runtime has, for C. They share the primary context with
 * the Driver API, and its streams. */
#ifndef PDL_TOOLS_BENCH_RUNTIME_LAUNCH_H
#define PDL_TOOLS_BENCH_RUNTIME_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>
#include <pdl/pdl.h>

#include "bench/bench.h"
#include "bench/kernels/overhead.h"

#ifdef __cplusplus
extern "C" {
#endif

enum runtime_form {
    RUNTIME_CHEVRON,         /* kernel<<<...>>>(...), then cudaGetLastError() */
    RUNTIME_LAUNCH,          /* cudaLaunchKernel */
    RUNTIME_LAUNCH_EX,       /* cudaLaunchKernelExC */
    RUNTIME_LAUNCH_EX_TYPED, /* cudaLaunchKernelEx, the template */
    RUNTIME_LIBPDL_TYPED,    /* pdl_launch_kernel() */
};

struct runtime_launch {
    enum overhead_kernel kernel;
    unsigned grid, block;
    CUstream stream;
    bool overlap; /* the PDL attribute or PDL_OVERLAP_AUTO; not for the first two forms */
    void **args;
};

/* All return 0 or a cudaError_t, or a pdl_status, which is negative. */

/* Once before the others: the device whose primary context is current. */
int runtime_open(int device);
/* Launches it `count` times. */
int runtime_run(enum runtime_form form, const struct runtime_launch *launch, size_t count);
/* Launches one after another, each on its device: by cudaLaunchKernelExC, or of `kernel` by pdl_launch(). `count` times. */
int runtime_run_each(const struct runtime_launch *launches, const int *ordinals, size_t devices,
                     size_t count, pdl_kernel *kernel);
/* The Runtime's kernel for pdl_launch(): the caller's to destroy. */
int runtime_kernel(enum overhead_kernel kernel, pdl_kernel **made);
/* The same for the Driver API. */
int runtime_function(enum overhead_kernel kernel, CUfunction *function);
const char *runtime_error_name(int error);

/* The Runtime's errors have the driver's numbers where both know them, but not all names. */
#define MUST_RUNTIME(call) runtime_must((call), #call)
static inline void runtime_must(int error, const char *call)
{
    if (error != 0) {
        bench_abort("%s: %s", call, runtime_error_name(error));
    }
}

#ifdef __cplusplus
}
#endif

#endif /* PDL_TOOLS_BENCH_RUNTIME_LAUNCH_H */
