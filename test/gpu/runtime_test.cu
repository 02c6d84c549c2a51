/* SPDX-License-Identifier: MIT */
/* Built twice, with the static and with the shared CUDA Runtime: the shared libpdl, which links
 * neither, launches a program's own kernels through the program's own Runtime. */
#include <dlfcn.h>

#include "gpu_test.cuh"

static __global__ void add(const int *a, const int *b, int *sum)
{
    PDL_WAIT();
    sum[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

struct vectors {
    int a[32];
    int b[32];
    int sum[32];
};

static void assert_adds(pdl_status (*launch)(const pdl_launch_desc &desc, vectors *v))
{
    vectors *v = nullptr; /* freed here: a test resets the device */
    assert_cuda(cudaHostAlloc(&v, sizeof(*v), cudaHostAllocMapped));
    for (int i = 0; i < 32; i++) {
        v->a[i] = i;
        v->b[i] = 100 * i;
        v->sum[i] = -1;
    }
    assert_pdl(launch(pdl_launch_desc_make(1, 32, 0, nullptr, PDL_OVERLAP_REQUIRE), v));
    assert_cuda(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) {
        assert_int_equal(v->sum[i], 101 * i);
    }
    assert_cuda(cudaFreeHost(v));
}

/* PDL_TEST_SHARED_CUDART says how the build meant it. */
TEST(the_runtime_is_linked_as_this_test_is_named)
{
    void *loaded = dlopen(PDL_TEST_CUDART_SONAME, RTLD_NOW | RTLD_NOLOAD);
    assert_int_equal(loaded != nullptr, PDL_TEST_SHARED_CUDART);
}

TEST(a_kernel_from_a_symbol_works)
{
    assert_adds([](const pdl_launch_desc &desc, vectors *v) {
        pdl_kernel *kernel = nullptr;
        pdl_status status = pdl_kernel_from_symbol(add, &kernel);
        if (status == PDL_SUCCESS) {
            const int *a = v->a;
            const int *b = v->b;
            int *sum = v->sum;
            status = pdl_launch(kernel, desc, PDL_ARGS(a, b, sum));
            pdl_kernel_destroy(kernel);
        }
        return status;
    });
}

TEST(a_typed_launch_works)
{
    assert_adds([](const pdl_launch_desc &desc, vectors *v) {
        return pdl_launch_kernel(desc, add, v->a, v->b, v->sum);
    });
}

/* The Runtime makes another context, another module and another function. */
TEST(a_kernel_is_used_on_after_its_device_was_reset)
{
    static pdl_kernel *kernel;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_kernel_info later = PDL_KERNEL_INFO_INIT;
    pdl_occupancy occupancy = PDL_OCCUPANCY_INIT;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 32);
    pdl_launch_desc large = desc;
    const auto launch = [](const pdl_launch_desc &like, vectors *v) {
        const int *a = v->a;
        const int *b = v->b;
        int *sum = v->sum;
        return pdl_launch(kernel, like, PDL_ARGS(a, b, sum));
    };
    large.dynamic_shared_memory = 100000; /* more than it may have yet */
    assert_pdl(pdl_kernel_from_symbol(add, &kernel));
    assert_adds(launch);
    assert_pdl(pdl_kernel_get(kernel, 0, &info));
    for (int i = 0; i < 2; i++) {
        assert_cuda(cudaDeviceReset());
        assert_pdl(pdl_kernel_get(kernel, 0, &later));
        assert_string_equal(later.name, info.name);
        assert_cuda(cudaDeviceReset());
        assert_refused(pdl_launch(kernel, &large, nullptr), PDL_ERROR_SHARED_MEMORY,
                       "dynamic_shared_memory");
        assert_cuda(cudaDeviceReset());
        assert_pdl(pdl_launch_occupancy(kernel, &desc, &occupancy));
        assert_cuda(cudaDeviceReset());
        assert_adds(launch);
        assert_cuda(cudaDeviceReset());
        assert_adds([](const pdl_launch_desc &like, vectors *v) {
            return pdl_launch_kernel(like, add, v->a, v->b, v->sum);
        });
    }
    pdl_kernel_destroy(kernel);
}

int main()
{
    return run_gpu_tests();
}
