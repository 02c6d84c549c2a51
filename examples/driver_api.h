/* SPDX-License-Identifier: MIT */
/* The few CUDA Driver API functions that the C examples call, taken from libcuda.so.1 at run time:
 * a program that links libcuda does not start on a machine without it. */
#ifndef PDL_EXAMPLES_DRIVER_API_H
#define PDL_EXAMPLES_DRIVER_API_H

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define DRIVER_FUNCTIONS(X)                                                                        \
    X(cuInit)                                                                                      \
    X(cuGetErrorName)                                                                              \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease)                                                                   \
    X(cuCtxSetCurrent)                                                                             \
    X(cuMemAlloc)                                                                                  \
    X(cuMemFree)                                                                                   \
    X(cuMemcpyHtoD)                                                                                \
    X(cuMemcpyDtoH)                                                                                \
    X(cuMemsetD8)                                                                                  \
    X(cuStreamCreate)                                                                              \
    X(cuStreamSynchronize)                                                                         \
    X(cuStreamDestroy)

/* cuda.h defines some of the names as macros for their newest version: a pointer's type and the
 * looked-up name follow it. */
struct driver_api {
#define DRIVER_MEMBER(name) __typeof__(&name) name;
    DRIVER_FUNCTIONS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

#define DRIVER_STRING(name)  DRIVER_STRING_(name)
#define DRIVER_STRING_(name) #name

/* 0 on success; prints what is missing and returns -1 otherwise. */
static inline int driver_api_load(struct driver_api *api)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    void *address;
#define DRIVER_LOOK_UP(name)                                                                       \
    address = dlsym(library, DRIVER_STRING(name));                                                 \
    if (address == NULL) {                                                                         \
        fprintf(stderr, "libcuda.so.1 has no %s\n", DRIVER_STRING(name));                          \
        return -1;                                                                                 \
    }                                                                                              \
    memcpy(&api->name, &address, sizeof(address));
    DRIVER_FUNCTIONS(DRIVER_LOOK_UP)
#undef DRIVER_LOOK_UP
    return 0;
}

#endif /* PDL_EXAMPLES_DRIVER_API_H */
