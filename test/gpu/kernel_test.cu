/* SPDX-License-Identifier: MIT */
/* Kernels from everywhere that a kernel can come from launch and give the right result, and what is
 * told of kernels and devices is what the Runtime says. */
#include <vector>

#include "../cuda/from_image.h"
#include "driver_entry.h"
#include "gpu_test.cuh"

static const unsigned n = 10000;
static unsigned *memory;

static __global__ void set_all_symbol(unsigned *to, unsigned value, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    if (i < count) {
        to[i] = value + i;
    }
}

static int set_up(void **)
{
    assert_cuda(cudaMalloc(&memory, n * sizeof(*memory))); /* makes the context current */
    return 0;
}

static int tear_down(void **)
{
    assert_cuda(cudaFree(memory));
    return 0;
}

static std::vector<char> read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    std::vector<char> bytes;
    char part[4096];
    size_t got;
    while ((got = fread(part, 1, sizeof(part), file)) > 0) {
        bytes.insert(bytes.end(), part, part + got);
    }
    fclose(file);
    return bytes;
}

/* Launches without and with overlap and checks every value; destroys the kernel. */
static void assert_works(pdl_kernel *kernel)
{
    static unsigned value = 0;
    std::vector<unsigned> host(n);
    for (const pdl_overlap overlap : {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO, PDL_OVERLAP_REQUIRE}) {
        const pdl_launch_desc desc =
            pdl_launch_desc_make((n + 255) / 256, 256, 0, nullptr, overlap);
        value += 1000000;
        assert_pdl(pdl_launch(kernel, desc, PDL_ARGS(memory, value, n)));
        assert_cuda(cudaMemcpy(host.data(), memory, n * sizeof(*memory), cudaMemcpyDeviceToHost));
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(host[i], value + i);
        }
    }
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_get(kernel, -1, &info));
    assert_int_equal(info.device, 0);
    assert_int_equal(info.ptx_version, 90);
    assert_true(info.registers_per_thread > 0);
    assert_true(info.max_threads_per_block >= 256);
    pdl_kernel_destroy(kernel);
}

static void a_kernel_from_a_symbol_works(void **)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(pdl_kernel_from_symbol(set_all_symbol, &kernel));
    assert_works(kernel);
}

static void a_kernel_from_an_untyped_symbol_works(void **)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(pdl_kernel_from_symbol(reinterpret_cast<const void *>(set_all_symbol), &kernel));
    assert_works(kernel);
}

/* Without its image nobody knows whether it waits. */
static void assert_not_overlapped(CUfunction function)
{
    pdl_kernel *kernel = nullptr;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_from_function(function, NULL, &kernel));
    assert_pdl(pdl_kernel_get(kernel, -1, &info));
    assert_int_equal(info.overlap_reason, PDL_REASON_WAITS_UNKNOWN);
    assert_non_null(info.unknown_why);
    pdl_kernel_destroy(kernel);
}

static void a_kernel_from_a_modules_function_works(void **)
{
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    pdl_kernel *kernel = nullptr;
    const std::vector<char> image = read_file(PDL_TEST_FATBIN);
    assert_int_equal(DRIVER_ENTRY(cuModuleLoadData)(&module, image.data()), CUDA_SUCCESS);
    assert_int_equal(DRIVER_ENTRY(cuModuleGetFunction)(&function, module, "set_all"), CUDA_SUCCESS);
    assert_not_overlapped(function);
    assert_pdl(kernel_from_function_image(function, image.data(), image.size(), &kernel));
    assert_works(kernel);
    assert_int_equal(DRIVER_ENTRY(cuModuleUnload)(module), CUDA_SUCCESS);
}

static void a_kernel_from_a_librarys_kernel_works(void **)
{
    CUlibrary library = nullptr;
    CUkernel handle = nullptr;
    pdl_kernel *kernel = nullptr;
    const std::vector<char> image = read_file(PDL_TEST_FATBIN);
    assert_int_equal(DRIVER_ENTRY(cuLibraryLoadData)(&library, image.data(), nullptr, nullptr, 0,
                                                     nullptr, nullptr, 0),
                     CUDA_SUCCESS);
    assert_int_equal(DRIVER_ENTRY(cuLibraryGetKernel)(&handle, library, "set_all"), CUDA_SUCCESS);
    assert_pdl(kernel_from_kernel_image(handle, image.data(), image.size(), &kernel));
    assert_works(kernel);
    assert_int_equal(DRIVER_ENTRY(cuLibraryUnload)(library), CUDA_SUCCESS);
}

static void a_kernel_from_a_fatbin_works_after_the_bytes_are_gone(void **)
{
    pdl_kernel *kernel = nullptr;
    {
        std::vector<char> image = read_file(PDL_TEST_FATBIN);
        assert_pdl(kernel_from_image(image.data(), image.size(), "set_all", &kernel));
        memset(image.data(), 0, image.size());
    }
    assert_works(kernel);
}

static void a_kernel_from_ptx_text_without_a_nul_works(void **)
{
    pdl_kernel *kernel = nullptr;
    const std::vector<char> text = read_file(PDL_TEST_PTX);
    assert_int_not_equal(text.back(), '\0');
    assert_pdl(kernel_from_image(text.data(), text.size(), "set_all", &kernel));
    assert_works(kernel);
}

static void a_kernel_from_a_file_works(void **)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &kernel));
    assert_works(kernel);
}

static void what_is_told_of_a_kernel_is_what_the_runtime_says(void **)
{
    cudaFuncAttributes expected;
    pdl_kernel *kernel = nullptr;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_cuda(cudaFuncGetAttributes(&expected, set_all_symbol));
    assert_pdl(pdl_kernel_from_symbol(set_all_symbol, &kernel));
    assert_pdl(pdl_kernel_get(kernel, -1, &info));
    assert_int_equal(info.ptx_version, expected.ptxVersion);
    assert_int_equal(info.binary_version, expected.binaryVersion);
    assert_int_equal(info.max_threads_per_block, expected.maxThreadsPerBlock);
    assert_int_equal(info.registers_per_thread, expected.numRegs);
    assert_int_equal(info.static_shared_memory, expected.sharedSizeBytes);
    assert_int_equal(info.max_dynamic_shared_memory, expected.maxDynamicSharedSizeBytes);
    assert_int_equal(info.local_memory, expected.localSizeBytes);
    assert_int_equal(info.constant_memory, expected.constSizeBytes);
    pdl_kernel_destroy(kernel);
}

static int runtime_attribute(cudaDeviceAttr attribute)
{
    int value = -1;
    assert_cuda(cudaDeviceGetAttribute(&value, attribute, 0));
    return value;
}

static void what_is_told_of_a_device_is_what_the_runtime_says(void **)
{
    cudaDeviceProp expected;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    int driver_version = 0;
    assert_cuda(cudaGetDeviceProperties(&expected, 0));
    assert_cuda(cudaDriverGetVersion(&driver_version));
    assert_pdl(pdl_device_get(0, &info));
    assert_int_equal(info.ordinal, 0);
    assert_string_equal(info.name, expected.name);
    assert_int_equal(info.driver_version, driver_version);
    assert_int_equal(info.compute_capability_major, expected.major);
    assert_int_equal(info.compute_capability_minor, expected.minor);
    assert_int_equal(info.multiprocessor_count, expected.multiProcessorCount);
    assert_int_equal(info.warp_size, expected.warpSize);
    assert_int_equal(info.max_threads_per_block, expected.maxThreadsPerBlock);
    assert_int_equal(info.max_threads_per_multiprocessor, expected.maxThreadsPerMultiProcessor);
    assert_int_equal(info.max_blocks_per_multiprocessor, expected.maxBlocksPerMultiProcessor);
    assert_int_equal(info.registers_per_multiprocessor, expected.regsPerMultiprocessor);
    assert_int_equal(info.shared_memory_per_block, expected.sharedMemPerBlock);
    assert_int_equal(info.shared_memory_per_block_optin, expected.sharedMemPerBlockOptin);
    assert_int_equal(info.shared_memory_per_multiprocessor, expected.sharedMemPerMultiprocessor);
    assert_int_equal(info.reserved_shared_memory_per_block, expected.reservedSharedMemPerBlock);
    assert_int_equal(info.l2_cache_size, expected.l2CacheSize);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(info.max_block[i], expected.maxThreadsDim[i]);
        assert_int_equal(info.max_grid[i], expected.maxGridSize[i]);
    }
    assert_int_equal(info.cooperative_launch, runtime_attribute(cudaDevAttrCooperativeLaunch));
    assert_int_equal(info.cluster_launch, runtime_attribute(cudaDevAttrClusterLaunch));
    assert_int_equal(info.can_overlap, 1);
    assert_int_equal(info.overlap_reason, PDL_REASON_GRANTED);
}

static void a_device_that_is_not_there_is_refused(void **)
{
    int count = 0;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    assert_cuda(cudaGetDeviceCount(&count));
    assert_refused(pdl_device_get(count, &info), PDL_ERROR_INVALID_DEVICE, nullptr);
    assert_refused(pdl_device_get(-2, &info), PDL_ERROR_INVALID_DEVICE, nullptr);
    assert_pdl(pdl_device_get(count - 1, &info));
    assert_pdl(pdl_device_get(-1, &info));
    assert_int_equal(info.ordinal, 0);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_from_a_symbol_works),
        cmocka_unit_test(a_kernel_from_an_untyped_symbol_works),
        cmocka_unit_test(a_kernel_from_a_modules_function_works),
        cmocka_unit_test(a_kernel_from_a_librarys_kernel_works),
        cmocka_unit_test(a_kernel_from_a_fatbin_works_after_the_bytes_are_gone),
        cmocka_unit_test(a_kernel_from_ptx_text_without_a_nul_works),
        cmocka_unit_test(a_kernel_from_a_file_works),
        cmocka_unit_test(what_is_told_of_a_kernel_is_what_the_runtime_says),
        cmocka_unit_test(what_is_told_of_a_device_is_what_the_runtime_says),
        cmocka_unit_test(a_device_that_is_not_there_is_refused),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, set_up, tear_down);
}
