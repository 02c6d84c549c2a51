/* SPDX-License-Identifier: MIT */
/* What tests of decisions about kernels share: a check that goes on after a failure, and a kernel from a symbol without
 * nvcc: what that leaves in a program, a fatbin and a struct that points to it, and a Runtime that finds one function. */
#ifndef PDL_TEST_FAKE_SYMBOL_H
#define PDL_TEST_FAKE_SYMBOL_H

#include <pdl/detail/runtime.h>

#include "driver_calls.h"

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: %s is wrong; last error: %s\n", __FILE__, __LINE__, #condition,         \
                   pdl_last_error()->message);                                                     \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static unsigned char device_code[16384] = {1};
static struct {
    uint32_t magic;
    uint32_t version;
    const void *data;
    void *unused;
} wrapper = {0x466243b1, 1, device_code, NULL};

static CUfunction symbol_function;

static int32_t get_function(const void *symbol, struct CUfunc_st **function)
{
    (void)symbol;
    *function = symbol_function;
    return 0;
}

static int32_t launch_symbol(const void *symbol, const pdl_runtime_launch *launch, void **arguments)
{
    (void)symbol;
    (void)launch;
    (void)arguments;
    return 0;
}

static const pdl_runtime_ops symbol_ops = {.size = sizeof(symbol_ops),
                                           .runtime_version = 13000,
                                           .launch = launch_symbol,
                                           .get_function = get_function};

/* The kernel of that name in a module, whose code is in device_code. */
static pdl_status kernel_from_symbol(CUmodule module, const char *name, pdl_kernel **kernel)
{
    DRIVER_CALL(cuModuleGetFunction, (CUfunction *, CUmodule, const char *), &symbol_function,
                module, name);
    return pdl_kernel_from_runtime(&wrapper, &symbol_ops, kernel);
}

#endif /* PDL_TEST_FAKE_SYMBOL_H */
