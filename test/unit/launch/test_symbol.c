/* SPDX-License-Identifier: MIT */
/* Launches of a symbol by the driver: where it does the same as the Runtime, and where the Runtime launches.
 * What the driver itself does is tested on a device (test/gpu/symbol_driver_test.cu). */
#include <pdl/chain.h>

#include "support.h"

/* A kernel that the Runtime has launched in the current context. */
static pdl_kernel *make_bound(unsigned symbol)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, symbol);
    assert_ok(pdl_launch(kernel, &desc, NULL));
    assert_true(mock_last_launch()->by_runtime);
    return kernel;
}

static void assert_by_runtime(pdl_kernel *kernel, const pdl_launch_desc *desc, bool by_runtime)
{
    const unsigned launches = mock.launch_count;
    assert_ok(pdl_launch(kernel, desc, NULL));
    assert_int_equal(mock.launch_count, launches + 1);
    assert_int_equal(mock_last_launch()->by_runtime, by_runtime);
}

TEST(the_runtime_makes_the_first_launch_and_the_driver_the_others)
{
    int value = 7;
    void *args[] = {&value, NULL};
    pdl_launch_desc desc = DESC(.overlap = PDL_OVERLAP_REQUIRE, .stream = mock_stream(0, 0),
                                .dynamic_shared_memory = 1024);
    pdl_kernel *kernel = make_bound(3);
    assert_ok(pdl_launch(kernel, &desc, args));
    const struct mock_launch *launch = mock_last_launch();
    assert_false(launch->by_runtime);
    assert_ptr_equal(launch->function, mock_function(3, 0));
    assert_ptr_equal(launch->arguments, args);
    assert_null(launch->extra);
    assert_int_equal(launch->config.gridDimX, 132);
    assert_int_equal(launch->config.blockDimX, 256);
    assert_int_equal(launch->config.sharedMemBytes, 1024);
    assert_ptr_equal(launch->config.hStream, desc.stream);
    assert_int_equal(launch->attribute_count, 1);
    assert_int_equal(launch->attributes[0].id,
                     CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
}

/* A query of the context and the launch, however many devices there are. */
TEST(a_launch_is_two_driver_calls)
{
    const pdl_launch_desc desc = plain_desc();
    for (int devices = 1; devices <= 3; devices++) {
        mock.table.device_count = devices;
        mock_apply();
        pdl_kernel *kernel = make_bound(0);
        const unsigned calls = mock_total_calls();
        assert_by_runtime(kernel, &desc, false);
        assert_int_equal(mock_total_calls() - calls, 2);
        drop_kernel(kernel); /* which has room for that many devices */
    }
}

/* What a NULL stream means is the descriptor's, whatever the unit that made the kernel says, if it says so at all:
 * neither the Runtime nor the driver gets one. */
TEST(a_stream_means_the_same_by_either_way)
{
    enum ops { OLD, LEGACY, PER_THREAD, KINDS_OF_OPS };
    const CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, mock_stream(1, 0)};
    for (unsigned i = 0; i < KINDS_OF_OPS * COUNT_OF(streams) * 2; i++) {
        pdl_launch_desc desc = plain_desc();
        const unsigned ops = i % KINDS_OF_OPS;
        mock_runtime_ops.size = ops == OLD ? (uint32_t)offsetof(pdl_runtime_ops, default_stream)
                                           : (uint32_t)sizeof(mock_runtime_ops);
        mock_runtime_ops.default_stream =
            ops == PER_THREAD ? PDL_DEFAULT_STREAM_PER_THREAD : PDL_DEFAULT_STREAM_LEGACY;
        desc.stream = streams[i / KINDS_OF_OPS % COUNT_OF(streams)];
        desc.default_stream = i < KINDS_OF_OPS * COUNT_OF(streams) ? PDL_DEFAULT_STREAM_LEGACY
                                                                   : PDL_DEFAULT_STREAM_PER_THREAD;
        const CUstream expected = desc.stream != NULL ? desc.stream
                                  : desc.default_stream == PDL_DEFAULT_STREAM_PER_THREAD
                                      ? CU_STREAM_PER_THREAD
                                      : CU_STREAM_LEGACY;
        pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
        for (int launch = 0; launch < 3; launch++) {
            assert_by_runtime(kernel, &desc, launch == 0);
            assert_ptr_equal(mock_last_launch()->config.hStream, expected);
        }
        desc.priority = -1;
        assert_by_runtime(kernel, &desc, true);
        assert_ptr_equal(mock_last_launch()->config.hStream, expected);
    }
}

TEST(what_the_runtime_may_not_know_is_launched_by_it)
{
    CUlaunchAttribute extra;
    memset(&extra, 0, sizeof(extra));
    extra.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    pdl_kernel *kernel = make_bound(0);
    for (size_t i = 0; i < field_case_count; i++) {
        pdl_launch_desc desc = plain_desc();
        desc.cluster[0] = field_cases[i].id == ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION ? 2 : 0;
        set_field(&field_cases[i], &desc);
        assert_by_runtime(kernel, &desc,
                          field_cases[i].id !=
                              CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    }
    pdl_launch_desc desc = DESC(.extra_attributes = &extra, .extra_attribute_count = 1);
    assert_by_runtime(kernel, &desc, true);
}

TEST(each_device_has_its_own_function)
{
    const pdl_launch_desc desc = plain_desc();
    mock.table.device_count = 3;
    mock_apply();
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 2);
    for (int turn = 0; turn < 3; turn++) {
        for (int device = 0; device < 3; device++) {
            mock_set_current(device);
            assert_by_runtime(kernel, &desc, turn == 0);
            assert_int_equal(mock_last_launch()->device, device);
            if (turn > 0) {
                assert_ptr_equal(mock_last_launch()->function, mock_function(2, device));
            }
        }
    }
}

/* Contexts that the driver API makes have numbers too, and functions of their own. */
static unsigned long long current_id;

static CUresult get_id(CUcontext context, unsigned long long *id)
{
    assert_null(context);
    *id = current_id != 0 ? current_id : 2; /* which must not be looked at */
    return current_id != 0 ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static int32_t get_function_of_context(const void *symbol, CUfunction *function)
{
    (void)symbol;
    *function = mock_function((unsigned)current_id, 0);
    return 0;
}

TEST(each_context_of_a_device_has_its_own_function)
{
    const pdl_launch_desc desc = plain_desc();
    mock.table.cuCtxGetId = get_id;
    mock_runtime_ops.get_function = get_function_of_context;
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
    for (int turn = 0; turn < 3; turn++) {
        for (current_id = 5; current_id > 1; current_id--) {
            assert_by_runtime(kernel, &desc, turn == 0);
            if (turn > 0) {
                assert_ptr_equal(mock_last_launch()->function,
                                 mock_function((unsigned)current_id, 0));
            }
        }
    }
    current_id = 0; /* destroyed, and still current */
    assert_by_runtime(kernel, &desc, true);
    assert_by_runtime(kernel, &desc, true);
}

/* mock_teardown() fails the test if a function from before a reset is used. */
TEST(a_function_is_not_used_after_the_reset_of_its_device)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_bound(2);
    for (int reset = 0; reset < 4; reset++) {
        assert_by_runtime(kernel, &desc, false);
        mock_device_reset();
        assert_by_runtime(kernel, &desc, true);
        assert_by_runtime(kernel, &desc, false);
        assert_ptr_equal(mock_last_launch()->function, mock_function(2, 0));
        mock_device_reset();
        assert_ok(pdl_kernel_get(kernel, -1, &(pdl_kernel_info)PDL_KERNEL_INFO_INIT));
        assert_by_runtime(kernel, &desc, true);
    }
}

TEST(a_thread_without_a_context_gets_the_runtimes)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_bound(0);
    mock_set_current(-1);
    assert_by_runtime(kernel, &desc, true);
    assert_int_equal(mock_last_launch()->device, 0);
    assert_by_runtime(kernel, &desc, false);
}

/* So that cudaGetLastError() returns what it returns after cudaLaunchKernelExC(). */
TEST(what_the_driver_refuses_is_for_the_runtime_to_say)
{
    static const CUresult results[] = {CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE,
                                       CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_LAUNCH_FAILED,
                                       CUDA_ERROR_STREAM_CAPTURE_INVALIDATED};
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make_bound(0);
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        const unsigned launches = mock.launch_count;
        mock_fail(MOCK_cuLaunchKernelEx, 1, results[i]);
        mock_runtime_launch_result = 400; /* another one, to tell them apart */
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_HANDLE, NULL,
                       "cudaLaunchKernelExC", "400");
        assert_int_equal(pdl_last_error()->cuda_result, 400);
        assert_int_equal(mock.launch_count, launches);
        mock_runtime_launch_result = 0;
        mock_fail(MOCK_cuLaunchKernelEx, 1, results[i]); /* and if the Runtime can do it: */
        assert_by_runtime(kernel, &desc, true);
        assert_by_runtime(kernel, &desc, false);
    }
}

TEST(a_launch_that_the_runtime_refused_binds_nothing)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
    mock_runtime_launch_result = 400;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_HANDLE, NULL, "400");
    mock_runtime_launch_result = 0;
    assert_by_runtime(kernel, &desc, true);
    assert_by_runtime(kernel, &desc, false);
}

/* More devices than are counted: the facts are of none of them. */
TEST(on_a_device_that_is_not_counted_the_runtime_goes_on_launching)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
    mock_set_current(1);
    assert_by_runtime(kernel, &desc, true);
    assert_by_runtime(kernel, &desc, true);
}

TEST(without_the_function_the_runtime_goes_on_launching)
{
    const pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = test_kernel(FROM_SYMBOL, 0);
    assert_ok(pdl_launch_explain(kernel, &desc,
                                 &(pdl_launch_report)PDL_LAUNCH_REPORT_INIT)); /* the facts */
    mock_fail(MOCK_cuCtxGetId, 1, CUDA_ERROR_UNKNOWN);
    assert_by_runtime(kernel, &desc, true);
    mock_fail(MOCK_cuCtxGetDevice, 1, CUDA_ERROR_UNKNOWN);
    assert_by_runtime(kernel, &desc, true);
    mock_runtime_function_result = 98;
    assert_by_runtime(kernel, &desc, true);
    mock_runtime_function_result = 0;
    assert_by_runtime(kernel, &desc, true);
    assert_by_runtime(kernel, &desc, false);
    mock_fail(MOCK_cuCtxGetId, 1, CUDA_ERROR_UNKNOWN);
    assert_by_runtime(kernel, &desc, true);
    assert_by_runtime(kernel, &desc, false);
}
