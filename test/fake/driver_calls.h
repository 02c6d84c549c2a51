/* SPDX-License-Identifier: MIT */
/* The driver calls of the test programs here, taken from libcuda.so.1 at run time. */
#ifndef PDL_TEST_FAKE_DRIVER_CALLS_H
#define PDL_TEST_FAKE_DRIVER_CALLS_H

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PTX with two kernels without parameters, and one with some, all of which only wait. Only the names
 * and the parameters matter to the fake driver; the library looks for the wait. */
#define TEST_PTX                                                                                   \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry fc1() { griddepcontrol.wait; ret; }\n"                                        \
    ".visible .entry fc2() { griddepcontrol.wait; ret; }\n"                                        \
    ".visible .entry step(\n\t.param .u64 step_param_0,\n\t.param .u32 step_param_1\n)\n"          \
    "{ griddepcontrol.wait; ret; }\n"

/* One symbol of libcuda.so.1; ends the program if it is not there. */
static inline void *driver_symbol(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *symbol = library != NULL ? dlsym(library, name) : NULL;
    if (symbol == NULL) {
        (void)fprintf(stderr, "libcuda.so.1 or its %s is missing: %s\n", name, dlerror());
        exit(2);
    }
    return symbol;
}

/* Calls an entry by its exported name, with the type of the arguments given. */
#define DRIVER_CALL(name, types, ...)                                                              \
    do {                                                                                           \
        CUresult(*call_) types;                                                                    \
        void *symbol_ = driver_symbol(#name);                                                      \
        memcpy(&call_, &symbol_, sizeof(call_));                                                   \
        const CUresult result_ = call_(__VA_ARGS__);                                               \
        if (result_ != CUDA_SUCCESS) {                                                             \
            (void)fprintf(stderr, #name " returned %d\n", (int)result_);                           \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

#endif /* PDL_TEST_FAKE_DRIVER_CALLS_H */
