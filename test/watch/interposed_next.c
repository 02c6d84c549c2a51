/* SPDX-License-Identifier: MIT */
/* Libraries of other people, for interposed_scopes.c, interposed.py and test_images.c: -D WHICH=1 has a symbol, and asks for the next one; 2 has
 * the next one; 3 wraps cuLaunchKernel and calls what comes behind it; 4 wraps it and asks libcuda itself. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define SHOWN __attribute__((visibility("default")))

#if WHICH <= 2
SHOWN extern unsigned char cutest_room[8192];
SHOWN int cutest_which(void);
SHOWN int cutest_next(void *handle);

/* For test_images.c: where code may lie in an object that is unloaded. */
__attribute__((aligned(8))) unsigned char cutest_room[8192] = {1};

int cutest_which(void)
{
    return WHICH;
}

/* What that is as this library sees it. */
int cutest_next(void *handle)
{
    int (*found)(void) = NULL;
    *(void **)&found = dlsym(handle, "cutest_which");
    return found != NULL ? found() : 0;
}
#else
#include <cuda.h>

SHOWN CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                              unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared, CUstream stream, void **parameters, void **extra)
{
    static __thread int depth;
    __typeof__(cuLaunchKernel) *next = NULL;
    void *const from = WHICH == 3 ? RTLD_NEXT : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&next = dlsym(from, "cuLaunchKernel");
    if (next == NULL || depth > 0) {
        (void)fprintf(stderr, "the wrapper is called by itself\n");
        abort();
    }
    (void)fprintf(stderr, "wrapped\n");
    depth++;
    const CUresult result = next(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                 shared, stream, parameters, extra);
    depth--;
    return result;
}
#endif
