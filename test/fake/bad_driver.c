/* SPDX-License-Identifier: MIT */
/* Libraries that are called libcuda.so.1 and are no good, for the tests of loading. Compiled once
 * for each defect:
 *   BAD_VERSION=n         cuDriverGetVersion says n (default 13000)
 *   BAD_VERSION_RESULT=n  cuDriverGetVersion returns n
 *   BAD_INIT=n            cuInit returns n
 *   BAD_COUNT=n           cuDeviceGetCount gives n devices (default 1)
 *   BAD_COUNT_RESULT=n    cuDeviceGetCount returns n
 *   BAD_NO_PROC_ADDRESS   there is no cuGetProcAddress_v2
 *   BAD_NO_VERSION        there is no cuDriverGetVersion
 *
 * and while it runs, from the environment:
 *   PDL_BAD_DRIVER_LACKS  cuGetProcAddress does not find this entry
 *   PDL_BAD_DRIVER_IGNORES_VERSIONS
 *                         cuGetProcAddress finds everything, as if it were asked for no version
 *   PDL_BAD_DRIVER_LOG    each load adds a byte to this file, so that a test can count them */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef BAD_VERSION
#define BAD_VERSION 13000
#endif
#ifndef BAD_VERSION_RESULT
#define BAD_VERSION_RESULT 0
#endif
#ifndef BAD_INIT
#define BAD_INIT 0
#endif
#ifndef BAD_COUNT
#define BAD_COUNT 1
#endif
#ifndef BAD_COUNT_RESULT
#define BAD_COUNT_RESULT 0
#endif

#define ENTRY(symbol, ...)                                                                         \
    __attribute__((visibility("default"))) CUresult bad_##symbol(__VA_ARGS__) __asm__(#symbol);    \
    CUresult bad_##symbol(__VA_ARGS__)

__attribute__((constructor)) static void count_the_load(void)
{
    const char *path = getenv("PDL_BAD_DRIVER_LOG");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (file != NULL) {
        (void)fputc('x', file);
        (void)fclose(file);
    }
}

static CUresult get_version(int *version)
{
    *version = BAD_VERSION;
    return (CUresult)BAD_VERSION_RESULT;
}

#ifndef BAD_NO_VERSION
ENTRY(cuDriverGetVersion, int *version)
{
    return get_version(version);
}
#endif

#ifndef BAD_NO_PROC_ADDRESS
static CUresult initialize(unsigned flags)
{
    (void)flags;
    return (CUresult)BAD_INIT;
}

static CUresult get_count(int *count)
{
    *count = BAD_COUNT;
    return (CUresult)BAD_COUNT_RESULT;
}

static CUresult get_error_name(CUresult error, const char **name)
{
    *name = error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : NULL;
    return *name != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* For everything that loading has no reason to call. */
static CUresult unexpected(void)
{
    abort();
}

/* How often an entry was asked for at a version. */
__attribute__((visibility("default"))) int bad_driver_asked(const char *name, int version);

static char asked[1024][64];
static int asked_version[1024];
static int asked_count;

int bad_driver_asked(const char *name, int version)
{
    int times = 0;
    for (int i = 0; i < asked_count; i++) {
        times += strcmp(asked[i], name) == 0 && asked_version[i] == version;
    }
    return times;
}

ENTRY(cuGetProcAddress_v2, const char *name, void **address, int version, cuuint64_t flags,
      CUdriverProcAddressQueryResult *found)
{
    typedef void (*any_function)(void);
    const char *lacks = getenv("PDL_BAD_DRIVER_LACKS");
    any_function function = (any_function)unexpected;
    *address = NULL;
    if (asked_count < 1024) {
        (void)snprintf(asked[asked_count], sizeof(asked[0]), "%s", name);
        asked_version[asked_count++] = version;
    }
    if (flags != 0 ||
        (version > BAD_VERSION && getenv("PDL_BAD_DRIVER_IGNORES_VERSIONS") == NULL) ||
        (lacks != NULL && strcmp(name, lacks) == 0)) {
        if (found != NULL) {
            *found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        }
        return CUDA_ERROR_NOT_FOUND;
    }
    if (strcmp(name, "cuInit") == 0) {
        function = (any_function)initialize;
    } else if (strcmp(name, "cuDeviceGetCount") == 0) {
        function = (any_function)get_count;
    } else if (strcmp(name, "cuDriverGetVersion") == 0) {
        function = (any_function)get_version;
    } else if (strcmp(name, "cuGetErrorName") == 0) {
        function = (any_function)get_error_name;
    }
    memcpy(address, &function, sizeof(function));
    if (found != NULL) {
        *found = CU_GET_PROC_ADDRESS_SUCCESS;
    }
    return CUDA_SUCCESS;
}
#endif
