/* SPDX-License-Identifier: MIT */
/* What the driver's refusals of a launch become. */
#include "support.h"

struct mapping {
    CUresult result;
    pdl_status status;
};

static const struct mapping mappings[] = {
    {CUDA_ERROR_INVALID_VALUE, PDL_ERROR_DRIVER},
    {CUDA_ERROR_OUT_OF_MEMORY, PDL_ERROR_OUT_OF_MEMORY},
    {CUDA_ERROR_STUB_LIBRARY, PDL_ERROR_STUB_DRIVER},
    {CUDA_ERROR_INVALID_CONTEXT, PDL_ERROR_NO_CONTEXT},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, PDL_ERROR_NO_KERNEL_IMAGE},
    {CUDA_ERROR_INVALID_HANDLE, PDL_ERROR_INVALID_HANDLE},
    {CUDA_ERROR_ILLEGAL_ADDRESS, PDL_ERROR_DEVICE_FAULT},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, PDL_ERROR_LAUNCH_RESOURCES},
    {CUDA_ERROR_LAUNCH_TIMEOUT, PDL_ERROR_DEVICE_FAULT},
    {CUDA_ERROR_ASSERT, PDL_ERROR_DEVICE_FAULT},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, PDL_ERROR_DEVICE_FAULT},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, PDL_ERROR_DEVICE_FAULT},
    {CUDA_ERROR_MISALIGNED_ADDRESS, PDL_ERROR_DEVICE_FAULT},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, PDL_ERROR_DEVICE_FAULT},
    {CUDA_ERROR_INVALID_PC, PDL_ERROR_DEVICE_FAULT},
    {CUDA_ERROR_LAUNCH_FAILED, PDL_ERROR_DEVICE_FAULT},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, PDL_ERROR_COOPERATIVE_TOO_LARGE},
    {CUDA_ERROR_NOT_SUPPORTED, PDL_ERROR_NOT_SUPPORTED},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, PDL_ERROR_DRIVER},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, PDL_ERROR_DRIVER},
    {CUDA_ERROR_NOT_PERMITTED, PDL_ERROR_DRIVER},
    {CUDA_ERROR_UNKNOWN, PDL_ERROR_DRIVER},
};

TEST(each_result_of_a_launch_has_its_status)
{
    const pdl_launch_desc desc = plain_desc();
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
        const char *call = source == FROM_SYMBOL ? "cudaLaunchKernelExC" : "cuLaunchKernelEx";
        for (size_t i = 0; i < COUNT_OF(mappings); i++) {
            char number[32];
            const char *name = pdl_driver_result_name(&mock.table, mappings[i].result);
            (void)snprintf(number, sizeof(number), "%d", (int)mappings[i].result);
            mock_fail(MOCK_cuLaunchKernelEx, 1, mappings[i].result);
            mock_runtime_launch_result = (int32_t)mappings[i].result;
            assert_refused(pdl_launch(kernel, &desc, NULL), mappings[i].status, NULL, call, name,
                           number);
            mock_fail_none();
            assert_int_equal(pdl_last_error()->cuda_result, mappings[i].result);
            assert_string_equal(pdl_last_error()->call, call);
        }
        mock_runtime_launch_result = 0;
        assert_int_equal(mock.launch_count, 0);
        assert_ok(pdl_launch(kernel, &desc, NULL)); /* the kernel is none the worse */
        mock.launch_count = 0;
    }
}

/* "the number of a fault" only: 712 and 713 are about registering host memory and do not stay. */
TEST(results_between_the_faults_are_no_faults)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    for (int result = 704; result <= 713; result++) {
        if (result == 709 || result == CUDA_ERROR_ASSERT) {
            continue;
        }
        mock_fail(MOCK_cuLaunchKernelEx, 1, (CUresult)result);
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DRIVER, NULL, "");
    }
}

TEST(a_result_without_a_name_is_told_by_its_number)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 0);
    mock_fail(MOCK_cuLaunchKernelEx, 1, (CUresult)54321);
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DRIVER, NULL, "54321");
    assert_int_equal(pdl_last_error()->cuda_result, 54321);
}

TEST(a_refused_event_says_how_events_must_be_made)
{
    static char event;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel *kernel = test_kernel((enum kernel_source)source, 0);
        pdl_launch_desc desc = plain_desc();
        mock_fail(MOCK_cuLaunchKernelEx, 0, CUDA_ERROR_NOT_SUPPORTED);
        mock_runtime_launch_result = 801;
        desc.trigger_event = (CUevent)(void *)&event;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_EVENT, "trigger_event",
                       "CU_EVENT_DISABLE_TIMING", "interprocess", "CUDA_ERROR_NOT_SUPPORTED");
        desc.trigger_event = NULL;
        desc.launch_event = (CUevent)(void *)&event;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_EVENT, "launch_event",
                       "CU_EVENT_DISABLE_TIMING", "interprocess", "CUDA_ERROR_NOT_SUPPORTED");
        desc.launch_event = NULL;
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_NOT_SUPPORTED, NULL, "");
        mock_fail_none();
        mock_runtime_launch_result = 0;
    }
}

TEST(a_cluster_that_the_driver_refuses_is_named)
{
    pdl_launch_desc desc = DESC(.cluster = {4});
    pdl_kernel *kernel = test_kernel(FROM_FUNCTION, 1);
    mock_fail(MOCK_cuLaunchKernelEx, 1, CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_CLUSTER, "cluster",
                   "CUDA_ERROR_INVALID_CLUSTER_SIZE", "4", "fc2");
    mock_fail(MOCK_cuLaunchKernelEx, 1, CUDA_ERROR_INVALID_VALUE);
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DRIVER, NULL,
                   "CUDA_ERROR_INVALID_VALUE"); /* 8 blocks and less fit everywhere */
    desc.cluster[0] = 12;
    mock_fail(MOCK_cuLaunchKernelEx, 1, CUDA_ERROR_INVALID_VALUE);
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_CLUSTER, "cluster",
                   "CUDA_ERROR_INVALID_VALUE", "12", "fc2");
}
