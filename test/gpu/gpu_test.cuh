/* SPDX-License-Identifier: MIT */
/* What the GPU tests share: the probe for a device, checks of calls, tests that undo what they made, memory and kernels. */
#ifndef PDL_TEST_GPU_TEST_CUH
#define PDL_TEST_GPU_TEST_CUH

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <vector>

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

/* ---- tests ---------------------------------------------------------------------------------- */

/* What undoes what a test made, whether it passed or not, the last first. */
static std::vector<std::function<void()>> undoings;

static inline void undo_later(std::function<void()> undo)
{
    undoings.push_back(undo);
}

/* After all that was undone later or last so far. */
static inline void undo_last(std::function<void()> undo)
{
    undoings.insert(undoings.begin(), undo);
}

/* Ends what a test that failed may have left of a capture: without that nobody could wait for the device. */
static inline void end_capture(cudaStream_t stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = nullptr;
    if (cudaStreamIsCapturing(stream, &status) == cudaSuccess &&
        status != cudaStreamCaptureStatusNone) {
        (void)cudaStreamEndCapture(stream, &graph);
    }
    (void)cudaGetLastError();
}

static std::vector<cudaStream_t> streams_of_test;
/* Not after a test that takes the context from the Runtime. */
static bool device_works_at_end = true;
static void (*before_each_test)(void);

static inline int begin_test(void **)
{
    if (before_each_test != nullptr) {
        before_each_test();
    }
    return 0;
}

static inline int end_test(void **)
{
    for (const cudaStream_t stream : streams_of_test) {
        end_capture(stream);
    }
    streams_of_test.clear();
    const cudaError_t error = cudaDeviceSynchronize();
    for (; !undoings.empty(); undoings.pop_back()) {
        undoings.back()();
    }
    if (device_works_at_end) {
        expect_cuda(error, cudaSuccess, "cudaDeviceSynchronize() at the end", __FILE__, __LINE__);
    }
    return 0;
}

static inline std::vector<CMUnitTest> &all_tests(void)
{
    static std::vector<CMUnitTest> tests;
    return tests;
}

struct added_test {
    added_test(const char *name, CMUnitTestFunction function)
    {
        all_tests().push_back({name, function, begin_test, end_test, nullptr});
    }
    template <typename Row, size_t Count>
    added_test(const Row (&rows)[Count], CMUnitTestFunction function)
    {
        for (const Row &row : rows) {
            all_tests().push_back(
                {row.name, function, begin_test, end_test, const_cast<Row *>(&row)});
        }
    }
};

/* TEST(a_sentence) { ... }: a test. They run in the order in which they are written. */
#define TEST(function)                                                                             \
    static void function(void);                                                                    \
    static void run_##function(void **)                                                            \
    {                                                                                              \
        function();                                                                                \
    }                                                                                              \
    static const added_test add_##function(#function, run_##function);                             \
    static void function(void)

/* TEST_ROWS(function, rows) { ... }: a test for each row of a table, with its `name`; in the body it is `row`. */
#define TEST_ROWS(function, rows)                                                                  \
    static void function(decltype((rows)[0]) row);                                                 \
    static void run_##function(void **state)                                                       \
    {                                                                                              \
        function(*static_cast<decltype(&(rows)[0])>(*state));                                      \
    }                                                                                              \
    static const added_test add_##function(rows, run_##function);                                  \
    static void function(decltype((rows)[0]) row)

/* What main() returns. */
static inline int run_gpu_tests(void (*before_each)(void) = nullptr)
{
    const int unavailable = no_device();
    before_each_test = before_each;
    return unavailable != 0 ? unavailable
                            : _cmocka_run_group_tests("tests", all_tests().data(),
                                                      all_tests().size(), nullptr, nullptr);
}

static inline std::vector<char> read_file(const char *path)
{
    FILE *const file = fopen(path, "rb");
    std::vector<char> bytes;
    assert_non_null(file);
    for (int byte; (byte = fgetc(file)) != EOF;) {
        bytes.push_back(static_cast<char>(byte));
    }
    fclose(file);
    return bytes;
}

/* ---- what tests make ------------------------------------------------------------------------ */

static inline cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking)
{
    cudaStream_t stream = nullptr;
    assert_cuda(cudaStreamCreateWithFlags(&stream, flags));
    streams_of_test.push_back(stream);
    undo_later([stream] { (void)cudaStreamDestroy(stream); });
    return stream;
}

/* An event, as a launch may record it. */
static inline struct CUevent_st *new_event(unsigned flags = cudaEventDisableTiming)
{
    struct CUevent_st *event = nullptr;
    assert_cuda(cudaEventCreateWithFlags(&event, flags));
    undo_later([event] { (void)cudaEventDestroy(event); });
    return event;
}

/* Memory of the current device, zeros. */
template <typename T> static inline T *device_memory(size_t count)
{
    T *memory = nullptr;
    assert_cuda(cudaMalloc(&memory, count * sizeof(T)));
    undo_later([memory] { (void)cudaFree(memory); });
    assert_cuda(cudaMemset(memory, 0, count * sizeof(T)));
    assert_cuda(cudaDeviceSynchronize()); /* streams that do not wait for the default one see it */
    return memory;
}

/* Memory that all devices and the host share, zeros. */
template <typename T> static inline T *shared_memory(size_t count)
{
    void *memory = nullptr;
    assert_cuda(
        cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocMapped | cudaHostAllocPortable));
    undo_later([memory] { (void)cudaFreeHost(memory); });
    memset(memory, 0, count * sizeof(T));
    return static_cast<T *>(memory);
}

template <typename T> static inline T *shared_value(T initial)
{
    T *const value = shared_memory<T>(1);
    *value = initial;
    return value;
}

/* What is in the device's memory once the device has nothing more to do. */
template <typename T> static inline std::vector<T> contents(const T *memory, size_t count)
{
    std::vector<T> host(count);
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaMemcpy(host.data(), memory, count * sizeof(T), cudaMemcpyDefault));
    return host;
}

template <typename T> static inline T content(const T *memory)
{
    return contents(memory, 1)[0];
}

/* Kernels outlive all that launches them. */
static inline pdl_kernel *keep(pdl_kernel *kernel)
{
    undo_last([kernel] { pdl_kernel_destroy(kernel); });
    return kernel;
}

/* A kernel from a symbol. */
template <typename Symbol> static inline pdl_kernel *kernel_of(Symbol symbol)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(pdl_kernel_from_symbol(symbol, &kernel));
    return keep(kernel);
}

/* The same from a CUfunction, of which libpdl is told that it waits and triggers. */
template <typename Symbol> static inline pdl_kernel *function_kernel_of(Symbol symbol)
{
    cudaFunction_t function = nullptr;
    pdl_kernel *kernel = nullptr;
    assert_cuda(cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(symbol)));
    assert_pdl(pdl_kernel_from_function(function, nullptr, &kernel));
    assert_pdl(pdl_kernel_declare(kernel, PDL_YES, PDL_YES));
    return keep(kernel);
}

#endif /* PDL_TEST_GPU_TEST_CUH */
