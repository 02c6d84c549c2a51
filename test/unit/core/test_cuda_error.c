/* SPDX-License-Identifier: MIT */
/* A status as an error of CUDA's own: the list of both, and what CUDA returned where it was asked. */
#include <cuda_runtime_api.h>

#include "support.h"

#include <pdl/cuda_error.h>

static const pdl_status statuses[] = {
#define PDL_TEST_STATUS(name, value, message) name,
    PDL_STATUS_LIST(PDL_TEST_STATUS) PDL_RTC_STATUS_LIST(PDL_TEST_STATUS)};

/* Makes it the thread's last error. */
static pdl_status set_last(pdl_status status, const char *call, int32_t cuda_result)
{
    pdl_error error = PDL_ERROR_INIT;
    error.status = status;
    error.call = call;
    error.cuda_result = cuda_result;
    return pdl_error_record(&error);
}

TEST(every_error_has_one_of_both_and_success_is_success)
{
    static const pdl_status listed[] = {
#define PDL_TEST_LISTED(status, cu_result, cuda_error) status,
        PDL_STATUS_CUDA_LIST(PDL_TEST_LISTED)};
    assert_int_equal(COUNT_OF(listed), COUNT_OF(statuses));
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        const pdl_status status = statuses[i];
        const bool nameless = status == PDL_ERROR_DRIVER || status == PDL_ERROR_CANCELLED;
        assert_int_equal(listed[i], status);
        for (int j = 0; j < 2; j++) { /* the last error is this one, and another */
            (void)set_last(j == 0 && status != PDL_SUCCESS ? status : PDL_ERROR_FILE, NULL, 0);
            assert_int_equal(pdl_cu_result(status) == CUDA_SUCCESS, status == PDL_SUCCESS);
            assert_int_equal(pdl_cuda_error(status) == cudaSuccess, status == PDL_SUCCESS);
            assert_int_equal(pdl_cu_result(status) == CUDA_ERROR_UNKNOWN, nameless);
            assert_int_equal(pdl_cuda_error(status) == cudaErrorUnknown, nameless);
        }
    }
}

TEST(what_is_no_status_is_an_unknown_error)
{
    assert_int_equal(pdl_cu_result((pdl_status)-1000), CUDA_ERROR_UNKNOWN);
    assert_int_equal(pdl_cuda_error((pdl_status)-1000), cudaErrorUnknown);
    assert_int_equal(pdl_cu_result((pdl_status)1), CUDA_ERROR_UNKNOWN);
    assert_int_equal(pdl_cuda_error((pdl_status)1), cudaErrorUnknown);
}

TEST(what_cuda_returned_for_the_status_is_returned_again)
{
    const pdl_status fault = set_last(PDL_ERROR_DEVICE_FAULT, "cuLaunchKernelEx", 700);
    assert_int_equal(pdl_cu_result(fault), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(pdl_cuda_error(fault), cudaErrorIllegalAddress);
    /* Another status is another error, and success is none. */
    assert_int_equal(pdl_cu_result(PDL_ERROR_DRIVER), CUDA_ERROR_UNKNOWN);
    assert_int_equal(pdl_cuda_error(PDL_ERROR_DRIVER), cudaErrorUnknown);
    assert_int_equal(pdl_cu_result(PDL_SUCCESS), CUDA_SUCCESS);
    assert_int_equal(pdl_cuda_error(PDL_SUCCESS), cudaSuccess);
}

TEST(numbers_of_the_runtime_alone_are_no_results_of_the_driver)
{
    static const int32_t own[] = {12, 13, 16, 17, 18, 19, 20, 21, 22, 23,  24,
                                  25, 26, 27, 28, 31, 32, 35, 37, 43, 44,  45,
                                  49, 52, 53, 65, 66, 67, 68, 69, 98, 103, 127};
    static const int32_t shared[] = {1, 2, 3, 4, 34, 36, 46, 100, 201, 400, 720, 801, 912, 999};
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        const pdl_status status = set_last(PDL_ERROR_INVALID_HANDLE, "cudaLaunchKernelExC", own[i]);
        assert_int_equal(pdl_cu_result(status), CUDA_ERROR_INVALID_HANDLE);
        assert_int_equal(pdl_cuda_error(status), own[i]);
    }
    for (size_t i = 0; i < COUNT_OF(shared); i++) {
        const pdl_status status = set_last(PDL_ERROR_DRIVER, "cudaLaunchKernelExC", shared[i]);
        assert_int_equal(pdl_cu_result(status), shared[i]);
        assert_int_equal(pdl_cuda_error(status), shared[i]);
    }
    const pdl_status status = set_last(PDL_ERROR_DRIVER, "cudaLaunchKernelExC", 9);
    assert_int_equal(pdl_cu_result(status), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(pdl_cuda_error(status), cudaErrorInvalidConfiguration);
}

TEST(results_of_other_libraries_are_not_taken_for_cudas)
{
    const pdl_status status = set_last(PDL_ERROR_COMPILE, "nvrtcCompileProgram", 6);
    assert_int_equal(pdl_cu_result(status), CUDA_ERROR_INVALID_SOURCE);
    assert_int_equal(pdl_cuda_error(status), cudaErrorInvalidSource);
}

TEST(a_launch_that_fails_says_what_cuda_said_and_cuda_is_asked_nothing_more)
{
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
    mock_runtime_launch_result = 98; /* cudaErrorInvalidDeviceFunction */
    const pdl_status status = pdl_launch(kernel, &desc, NULL);
    const unsigned calls = mock_total_calls();
    assert_int_equal(pdl_cuda_error(status), cudaErrorInvalidDeviceFunction);
    assert_int_equal(pdl_cu_result(status), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(mock_total_calls(), calls);
    desc.block[0] = 2000; /* which the driver is not asked for */
    const pdl_status block = pdl_launch(kernel, &desc, NULL);
    assert_int_equal(pdl_cuda_error(block), cudaErrorInvalidConfiguration);
    assert_int_equal(pdl_cu_result(block), CUDA_ERROR_INVALID_VALUE);
}
