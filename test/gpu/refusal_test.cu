/* SPDX-License-Identifier: MIT */
/* What is wrong is refused, says what is wrong, launches nothing and leaves the context usable. */
#include "../cuda/from_image.h"
#include "gpu_test.cuh"

static unsigned *counter; /* in mapped memory */
static pdl_kernel *count_kernel;
static pdl_kernel *bounded_kernel;

static __global__ void count(unsigned *to)
{
    atomicAdd(to, 1u);
}

static __global__ void __launch_bounds__(128, 1, 2) count_bounded(unsigned *to)
{
    atomicAdd(to, 1u);
}

static int set_up(void **)
{
    counter = shared_value(0u);
    assert_pdl(pdl_kernel_from_symbol(count, &count_kernel));
    assert_pdl(pdl_kernel_from_symbol(count_bounded, &bounded_kernel));
    return 0;
}

static int tear_down(void **)
{
    pdl_kernel_destroy(bounded_kernel);
    pdl_kernel_destroy(count_kernel);
    assert_cuda(cudaFreeHost(counter));
    return 0;
}

#define assert_launch_refused(kernel, desc, status, field)                                         \
    do {                                                                                           \
        *counter = 0;                                                                              \
        assert_refused(pdl_launch(kernel, desc, PDL_ARGS(counter)), status, field);                \
        (void)cudaGetLastError();                                                                  \
        assert_cuda(cudaDeviceSynchronize());                                                      \
        assert_int_equal(*counter, 0);                                                             \
        assert_still_launches(kernel);                                                             \
    } while (0)

static void assert_still_launches(pdl_kernel *kernel)
{
    const pdl_launch_desc desc = pdl_launch_desc_make(2, 32);
    assert_pdl(pdl_launch(kernel, desc, PDL_ARGS(counter)));
    assert_cuda(cudaDeviceSynchronize());
    assert_int_equal(*counter, 64);
}

static void a_grid_of_no_blocks_is_refused(void **)
{
    assert_launch_refused(count_kernel, pdl_launch_desc_make(0, 32), PDL_ERROR_INVALID_GRID,
                          "grid");
}

static void a_grid_over_the_devices_limit_is_refused(void **)
{
    assert_launch_refused(count_kernel, pdl_launch_desc_make(0x80000000u, 32),
                          PDL_ERROR_INVALID_GRID, "grid");
    assert_launch_refused(count_kernel, pdl_launch_desc_make(dim3(1, 65536), 32),
                          PDL_ERROR_INVALID_GRID, "grid");
    assert_launch_refused(count_kernel, pdl_launch_desc_make(dim3(1, 1, 65536), 32),
                          PDL_ERROR_INVALID_GRID, "grid");
}

static void a_block_of_no_threads_is_refused(void **)
{
    assert_launch_refused(count_kernel, pdl_launch_desc_make(1, 0), PDL_ERROR_INVALID_BLOCK,
                          "block");
}

static void a_block_over_the_devices_limit_is_refused(void **)
{
    assert_launch_refused(count_kernel, pdl_launch_desc_make(1, 1025), PDL_ERROR_INVALID_BLOCK,
                          "block");
    assert_launch_refused(count_kernel, pdl_launch_desc_make(1, dim3(1, 1, 65)),
                          PDL_ERROR_INVALID_BLOCK, "block");
}

static void a_block_of_too_many_threads_is_refused(void **)
{
    assert_launch_refused(count_kernel, pdl_launch_desc_make(1, dim3(1024, 2)),
                          PDL_ERROR_BLOCK_TOO_LARGE, "block");
}

static void a_block_over_the_kernels_launch_bounds_is_refused_with_the_numbers(void **)
{
    assert_launch_refused(bounded_kernel, pdl_launch_desc_make(1, 256), PDL_ERROR_BLOCK_TOO_LARGE,
                          "block");
    assert_non_null(strstr(pdl_last_error()->message, "256"));
    assert_non_null(strstr(pdl_last_error()->message, "128"));
}

static void a_cluster_that_does_not_divide_the_grid_is_refused(void **)
{
    pdl_launch_desc desc = pdl_launch_desc_make(9, 32);
    desc.cluster[0] = 2;
    assert_launch_refused(count_kernel, desc, PDL_ERROR_INVALID_CLUSTER, "cluster");
}

static void a_cluster_over_the_kernels_launch_bounds_is_refused_with_the_number(void **)
{
    pdl_launch_desc desc = pdl_launch_desc_make(8, 32);
    desc.cluster[0] = 2;
    assert_pdl(pdl_launch(bounded_kernel, desc, PDL_ARGS(counter)));
    assert_cuda(cudaDeviceSynchronize());
    desc.cluster[0] = 4;
    assert_launch_refused(bounded_kernel, desc, PDL_ERROR_INVALID_CLUSTER, "cluster");
    assert_non_null(strstr(pdl_last_error()->message, "at most 2"));
}

static void a_block_other_than_the_code_requires_is_refused_with_the_numbers(void **)
{
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry pairs() .reqntid 64, 2, 1 { ret; }\n";
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_kernel *kernel = nullptr;
    assert_pdl(kernel_from_image(text, sizeof(text) - 1, "pairs", &kernel));
    assert_pdl(pdl_launch(kernel, pdl_launch_desc_make(1, dim3(64, 2)), nullptr));
    for (const dim3 block : {dim3(64), dim3(32, 2), dim3(2, 64)}) {
        const pdl_launch_desc desc = pdl_launch_desc_make(1, block);
        assert_refused(pdl_launch(kernel, desc, nullptr), PDL_ERROR_INVALID_BLOCK, "block");
        assert_non_null(strstr(pdl_last_error()->message, "64 x 2 x 1"));
        assert_refused(pdl_launch_explain(kernel, &desc, &report), PDL_ERROR_INVALID_BLOCK,
                       "block");
    }
    assert_cuda(cudaDeviceSynchronize());
    pdl_kernel_destroy(kernel);
}

static void a_cluster_larger_than_the_device_has_is_refused(void **)
{
    pdl_launch_desc desc = pdl_launch_desc_make(64, 32);
    desc.cluster[0] = 64;
    assert_launch_refused(count_kernel, desc, PDL_ERROR_INVALID_CLUSTER, "cluster");
}

static void a_trigger_event_with_timing_is_refused(void **)
{
    cudaEvent_t timed;
    assert_cuda(cudaEventCreate(&timed));
    pdl_launch_desc desc = pdl_launch_desc_make(1, 32);
    desc.trigger_event = timed;
    assert_launch_refused(count_kernel, desc, PDL_ERROR_EVENT, "trigger_event");
    assert_cuda(cudaEventDestroy(timed));
}

static void bytes_that_are_no_image_are_refused(void **)
{
    static const char text[] =
        "this is no image of any kind, and long enough to be read as one's header";
    pdl_kernel *kernel = nullptr;
    assert_refused(kernel_from_image(text, sizeof(text), "count", &kernel), PDL_ERROR_INVALID_IMAGE,
                   nullptr);
    assert_null(kernel);
}

static void ptx_that_does_not_compile_is_refused_with_the_compilers_log(void **)
{
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry broken() { nonsense.u32; ret; }\n";
    pdl_kernel *kernel = nullptr;
    assert_refused(kernel_from_image(text, sizeof(text) - 1, "broken", &kernel),
                   PDL_ERROR_INVALID_IMAGE, nullptr);
    assert_null(kernel);
    assert_non_null(strstr(pdl_last_error()->message, "nonsense"));
}

static void a_name_that_is_not_in_the_image_is_not_found(void **)
{
    pdl_kernel *kernel = nullptr;
    assert_refused(kernel_from_file(PDL_TEST_FATBIN, "no_such_kernel", &kernel),
                   PDL_ERROR_NOT_FOUND, nullptr);
    assert_null(kernel);
}

static void a_file_that_is_not_there_is_refused(void **)
{
    pdl_kernel *kernel = nullptr;
    assert_refused(kernel_from_file("/no/such/file.fatbin", "count", &kernel), PDL_ERROR_FILE,
                   nullptr);
    assert_null(kernel);
}

static void code_for_another_architecture_alone_is_refused(void **)
{
    pdl_kernel *kernel = nullptr;
    const pdl_status made = kernel_from_file(PDL_TEST_OTHER_CUBIN, "set_all", &kernel);
    if (made == PDL_SUCCESS) { /* the driver may look only at the launch */
        const unsigned value = 1;
        const unsigned n = 1;
        assert_refused(pdl_launch(kernel, pdl_launch_desc_make(1, 32), PDL_ARGS(counter, value, n)),
                       PDL_ERROR_NO_KERNEL_IMAGE, nullptr);
        pdl_kernel_destroy(kernel);
    } else {
        assert_int_equal(made, PDL_ERROR_NO_KERNEL_IMAGE);
        assert_null(kernel);
    }
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_of_no_blocks_is_refused),
        cmocka_unit_test(a_grid_over_the_devices_limit_is_refused),
        cmocka_unit_test(a_block_of_no_threads_is_refused),
        cmocka_unit_test(a_block_over_the_devices_limit_is_refused),
        cmocka_unit_test(a_block_of_too_many_threads_is_refused),
        cmocka_unit_test(a_block_over_the_kernels_launch_bounds_is_refused_with_the_numbers),
        cmocka_unit_test(a_cluster_that_does_not_divide_the_grid_is_refused),
        cmocka_unit_test(a_cluster_over_the_kernels_launch_bounds_is_refused_with_the_number),
        cmocka_unit_test(a_block_other_than_the_code_requires_is_refused_with_the_numbers),
        cmocka_unit_test(a_cluster_larger_than_the_device_has_is_refused),
        cmocka_unit_test(a_trigger_event_with_timing_is_refused),
        cmocka_unit_test(bytes_that_are_no_image_are_refused),
        cmocka_unit_test(ptx_that_does_not_compile_is_refused_with_the_compilers_log),
        cmocka_unit_test(a_name_that_is_not_in_the_image_is_not_found),
        cmocka_unit_test(a_file_that_is_not_there_is_refused),
        cmocka_unit_test(code_for_another_architecture_alone_is_refused),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, set_up, tear_down);
}
