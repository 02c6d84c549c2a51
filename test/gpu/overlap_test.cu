/* SPDX-License-Identifier: MIT */
/* Whether launches overlap, by the clock of the device. */
#include "overlap_kernels.cuh"

static const int repeats = 10;

/* Triggers at once and runs for a millisecond more. */
static __global__ void first(pair_times *times)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    spin(1000000);
    times->first_end = device_clock();
}

static __global__ void second(pair_times *times)
{
    PDL_LINT_ALLOW("write-before-wait", "the host alone reads this time");
    times->second_start = device_clock();
    PDL_WAIT();
    times->second_after_wait = device_clock();
}

struct fixture {
    cudaStream_t stream;
    pair_times *times;
    pdl_kernel *first;
    pdl_kernel *second;
    pdl_kernel *second_old;
};

static fixture fix;

static int set_up(void **)
{
    assert_cuda(cudaStreamCreateWithFlags(&fix.stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&fix.times, sizeof(*fix.times)));
    assert_pdl(pdl_kernel_from_symbol(first, &fix.first));
    assert_pdl(pdl_kernel_from_symbol(second, &fix.second));
    assert_pdl(pdl_kernel_from_symbol(second_for_80(), &fix.second_old));
    return 0;
}

static int tear_down(void **)
{
    pdl_kernel_destroy(fix.second_old);
    pdl_kernel_destroy(fix.second);
    pdl_kernel_destroy(fix.first);
    assert_cuda(cudaFree(fix.times));
    assert_cuda(cudaStreamDestroy(fix.stream));
    return 0;
}

static pdl_launch_desc desc_with(pdl_overlap overlap)
{
    return pdl_launch_desc_make(1, 1, 0, fix.stream, overlap);
}

static pair_times run_pair(pdl_kernel *secondary, pdl_overlap overlap)
{
    pair_times times;
    const pdl_launch_desc plain = desc_with(PDL_OVERLAP_NONE);
    const pdl_launch_desc desc = desc_with(overlap);
    assert_pdl(pdl_launch(fix.first, &plain, PDL_ARGS(fix.times)));
    assert_pdl(pdl_launch(secondary, &desc, PDL_ARGS(fix.times)));
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaMemcpy(&times, fix.times, sizeof(times), cudaMemcpyDeviceToHost));
    return times;
}

/* How many of `repeats` pairs overlapped; asserts that the wait always waited if it is compiled in.
 */
static int count_overlaps(pdl_kernel *secondary, pdl_overlap overlap)
{
    int overlapped = 0;
    run_pair(secondary, overlap); /* loads the kernels */
    for (int i = 0; i < repeats; i++) {
        const pair_times times = run_pair(secondary, overlap);
        overlapped += times.second_start < times.first_end;
        assert_true(times.second_after_wait >= times.first_end);
    }
    return overlapped;
}

static void auto_starts_the_second_kernel_before_the_first_has_ended(void **)
{
    const int overlaps = count_overlaps(fix.second, PDL_OVERLAP_AUTO);
    assert_if_concurrent(overlaps == repeats);
}

static void require_starts_the_second_kernel_before_the_first_has_ended(void **)
{
    const int overlaps = count_overlaps(fix.second, PDL_OVERLAP_REQUIRE);
    assert_if_concurrent(overlaps == repeats);
}

static void none_starts_the_second_kernel_after_the_first_has_ended(void **)
{
    assert_int_equal(count_overlaps(fix.second, PDL_OVERLAP_NONE), 0);
}

static void a_kernel_declared_not_to_wait_is_not_overlapped(void **)
{
    pdl_kernel *declared = nullptr;
    assert_pdl(pdl_kernel_from_symbol(second, &declared));
    assert_pdl(pdl_kernel_declare(declared, PDL_NO, PDL_UNKNOWN));
    assert_int_equal(count_overlaps(declared, PDL_OVERLAP_AUTO), 0);
    pdl_kernel_destroy(declared);
}

static void code_for_9_0_is_reported_as_such(void **)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_get(fix.second, -1, &info));
    assert_int_equal(info.ptx_version, 90);
    assert_int_equal(info.can_overlap, 1);
    assert_int_equal(info.overlap_reason, PDL_REASON_GRANTED);
}

static void code_for_8_0_is_reported_as_such(void **)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_get(fix.second_old, -1, &info));
    assert_int_equal(info.ptx_version, 80);
    assert_true(info.binary_version >= 90);
    assert_int_equal(info.can_overlap, 0);
    assert_int_equal(info.overlap_reason, PDL_REASON_CODE);
}

static void auto_does_not_overlap_code_for_8_0(void **)
{
    assert_int_equal(count_overlaps(fix.second_old, PDL_OVERLAP_AUTO), 0);
}

static void explain_says_why_code_for_8_0_does_not_overlap(void **)
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_AUTO);
    assert_pdl(pdl_launch_explain(fix.second_old, &desc, &report));
    assert_int_equal(report.overlap, 0);
    assert_int_equal(report.overlap_reason, PDL_REASON_CODE);
    assert_int_equal(report.attribute_count, 0);
}

static void require_refuses_code_for_8_0(void **)
{
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_REQUIRE);
    assert_refused(pdl_launch(fix.second_old, &desc, PDL_ARGS(fix.times)), PDL_ERROR_OVERLAP,
                   "overlap");
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_starts_the_second_kernel_before_the_first_has_ended),
        cmocka_unit_test(require_starts_the_second_kernel_before_the_first_has_ended),
        cmocka_unit_test(none_starts_the_second_kernel_after_the_first_has_ended),
        cmocka_unit_test(a_kernel_declared_not_to_wait_is_not_overlapped),
        cmocka_unit_test(code_for_9_0_is_reported_as_such),
        cmocka_unit_test(code_for_8_0_is_reported_as_such),
        cmocka_unit_test(auto_does_not_overlap_code_for_8_0),
        cmocka_unit_test(explain_says_why_code_for_8_0_does_not_overlap),
        cmocka_unit_test(require_refuses_code_for_8_0),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, set_up, tear_down);
}
