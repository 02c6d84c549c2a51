/* SPDX-License-Identifier: MIT */
/* One kernel serves every device. Needs two; with one the tests are skipped one by one. */
#include "../cuda/from_image.h"
#include "gpu_test.cuh"

static __global__ void set_symbol(unsigned *to, unsigned value, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    if (i < n) {
        to[i] = value + i;
    }
}

static void assert_works_on_both(pdl_kernel *kernel)
{
    const unsigned n = 64;
    for (int device = 0; device < 2; device++) {
        unsigned *memory = nullptr;
        unsigned host[n];
        const unsigned value = 1000u + static_cast<unsigned>(device);
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        const pdl_launch_desc desc = pdl_launch_desc_make(1, n, 0, nullptr, PDL_OVERLAP_AUTO);
        assert_cuda(cudaSetDevice(device));
        assert_cuda(cudaMalloc(&memory, sizeof(host)));
        assert_pdl(pdl_launch_explain(kernel, &desc, &report));
        assert_int_equal(report.device, device);
        assert_pdl(pdl_launch(kernel, desc, PDL_ARGS(memory, value, n)));
        assert_cuda(cudaMemcpy(host, memory, sizeof(host), cudaMemcpyDeviceToHost));
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(host[i], value + i);
        }
        assert_cuda(cudaFree(memory));
    }
    pdl_kernel_destroy(kernel);
    assert_cuda(cudaSetDevice(0));
}

static void skip_without_two_devices(void)
{
    int count = 0;
    assert_cuda(cudaGetDeviceCount(&count));
    if (count < 2) {
        skip();
    }
}

static void a_kernel_from_an_image_is_launched_on_two_devices(void **)
{
    pdl_kernel *kernel = nullptr;
    skip_without_two_devices();
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &kernel));
    assert_works_on_both(kernel);
}

static void a_kernel_from_a_symbol_is_launched_on_two_devices(void **)
{
    pdl_kernel *kernel = nullptr;
    skip_without_two_devices();
    assert_pdl(pdl_kernel_from_symbol(set_symbol, &kernel));
    assert_works_on_both(kernel);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_from_an_image_is_launched_on_two_devices),
        cmocka_unit_test(a_kernel_from_a_symbol_is_launched_on_two_devices),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
