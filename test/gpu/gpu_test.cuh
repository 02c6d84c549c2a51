/* SPDX-License-Identifier: MIT */
/* What the GPU tests share: the probe for a device, and checks of calls. */
#ifndef PDL_TEST_GPU_TEST_CUH
#define PDL_TEST_GPU_TEST_CUH

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" { /* cmocka 1.1 does not say so itself */
#include <cmocka.h>
}

#include <cuda_runtime.h>
#include <pdl/cudart.h>
#include <pdl/device.cuh>

#include "in_time.cuh"
#include "lost.h"

/* ---- the machine ---------------------------------------------------------------------------- */

/* 0 if there is a device of compute capability 9.0 or newer. Otherwise what main should return: 77,
 * "skipped", or 1 where PDL_TEST_REQUIRE_GPU=1 says that there is one. Says why. */
static inline int no_device(void)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    const pdl_status status = pdl_device_get(0, &info);
    const char *reason = pdl_last_error()->message;
    if (status == PDL_SUCCESS) {
        if (info.compute_capability_major >= 9) {
            return 0;
        }
        reason = "the device is below compute capability 9.0";
    }
    const char *required = getenv("PDL_TEST_REQUIRE_GPU");
    const bool fail = required != nullptr && strcmp(required, "1") == 0;
    fprintf(stderr, "%s: %s\n", fail ? "failed" : "skipped", reason);
    return fail ? 1 : 77;
}

/* ---- checks --------------------------------------------------------------------------------- */

#define assert_cuda(call) expect_cuda((call), cudaSuccess, #call, __FILE__, __LINE__)
#define assert_pdl(call)  expect_pdl((call), PDL_SUCCESS, #call, __FILE__, __LINE__)
#define assert_refused(call, status, field)                                                        \
    expect_refused((call), (status), (field), #call, __FILE__, __LINE__)

/* The other tests of the program would launch on. */
static inline void end_if_lost(bool lost, const char *call, const char *why)
{
    if (lost) {
        fprintf(stderr, "failed: the device is lost: %s: %s\n", call, why);
        exit(1);
    }
}

static inline void expect_cuda(cudaError_t error, cudaError_t expected, const char *call,
                               const char *file, int line)
{
    if (error != expected) {
        end_if_lost(device_is_lost(error), call, cudaGetErrorString(error));
        print_error("%s: %s\n", call, cudaGetErrorString(error));
        _fail(file, line);
    }
}

static inline void expect_pdl(pdl_status status, pdl_status expected, const char *call,
                              const char *file, int line)
{
    if (status != expected) {
        end_if_lost(status == PDL_ERROR_DEVICE_FAULT || status == PDL_ERROR_NO_DEVICE, call,
                    pdl_last_error()->message);
        print_error("%s: %s where %s was expected; the last error is: %s\n", call,
                    pdl_status_name(status), pdl_status_name(expected), pdl_last_error()->message);
        _fail(file, line);
    }
}

/* That status, and that field named in the error; `field` NULL: any. */
static inline void expect_refused(pdl_status status, pdl_status expected, const char *field,
                                  const char *call, const char *file, int line)
{
    expect_pdl(status, expected, call, file, line);
    const pdl_error *error = pdl_last_error();
    if (error->status != expected || error->message[0] == '\0') {
        print_error("%s: the error says %s: %s\n", call,
                    pdl_status_name(static_cast<pdl_status>(error->status)), error->message);
        _fail(file, line);
    }
    if (field != nullptr && (error->field == nullptr || strcmp(error->field, field) != 0)) {
        print_error("%s: the error names the field %s, not %s\n", call,
                    error->field != nullptr ? error->field : "(none)", field);
        _fail(file, line);
    }
}

/* Whether kernels run one at a time, as under compute-sanitizer: PDL_TEST_SERIALIZED=1 says so. Then
 * nothing overlaps and nothing is stale, and the tests check results alone. */
static inline bool kernels_are_serialized(void)
{
    const char *value = getenv("PDL_TEST_SERIALIZED");
    return value != nullptr && strcmp(value, "1") == 0;
}

/* What only kernels that run at once can show. */
#define assert_if_concurrent(condition)                                                            \
    do {                                                                                           \
        if (!kernels_are_serialized()) {                                                           \
            assert_true(condition);                                                                \
        }                                                                                          \
    } while (0)

/* A number in memory that device and host share. */
template <typename T> static inline T *shared_value(T initial)
{
    T *value = nullptr;
    assert_cuda(cudaHostAlloc(&value, sizeof(*value), cudaHostAllocMapped));
    *value = initial;
    return value;
}

#endif /* PDL_TEST_GPU_TEST_CUH */
