/* SPDX-License-Identifier: MIT */
/* Kernels from everywhere that a kernel can come from launch and give the right result, on every device; what is told of
 * kernels and devices is what the Runtime says; and what the driver refuses launches nothing. */
#include "../cuda/from_image.h"
#include "driver_entry.h"
#include "gpu_test.cuh"

static const unsigned n = 10000;

static __global__ void set_all_symbol(unsigned *to, unsigned value, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    if (i < count) {
        to[i] = value + i;
    }
}

/* ---- where a kernel comes from -------------------------------------------------------------- */

/* Launches without and with overlap and checks every value. */
static void assert_works(pdl_kernel *kernel, int device = 0)
{
    static unsigned value = 0;
    unsigned *memory = device_memory<unsigned>(n);
    for (const pdl_overlap overlap : {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO, PDL_OVERLAP_REQUIRE}) {
        const pdl_launch_desc desc =
            pdl_launch_desc_make((n + 255) / 256, 256, 0, nullptr, overlap);
        value += 1000000;
        assert_pdl(pdl_launch(kernel, desc, PDL_ARGS(memory, value, n)));
        const std::vector<unsigned> host = contents(memory, n);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(host[i], value + i);
        }
    }
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_pdl(pdl_kernel_get(kernel, -1, &info));
    assert_int_equal(info.device, device);
    assert_int_equal(info.ptx_version, 90);
    assert_true(info.registers_per_thread > 0);
    assert_true(info.max_threads_per_block >= 256);
}

/* With its image. Without, nobody knows whether it waits. */
static pdl_kernel *from_function(void)
{
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    pdl_kernel *kernel = nullptr;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    const std::vector<char> image = read_file(PDL_TEST_FATBIN);
    assert_int_equal(DRIVER_ENTRY(cuModuleLoadData)(&module, image.data()), CUDA_SUCCESS);
    undo_last([module] { (void)DRIVER_ENTRY(cuModuleUnload)(module); });
    assert_int_equal(DRIVER_ENTRY(cuModuleGetFunction)(&function, module, "set_all"), CUDA_SUCCESS);
    assert_pdl(pdl_kernel_from_function(function, nullptr, &kernel));
    assert_pdl(pdl_kernel_get(kernel, -1, &info));
    assert_int_equal(info.overlap_reason, PDL_REASON_WAITS_UNKNOWN);
    assert_non_null(info.unknown_why);
    pdl_kernel_destroy(kernel);
    assert_pdl(kernel_from_function_image(function, image.data(), image.size(), &kernel));
    return kernel;
}

static pdl_kernel *from_library(void)
{
    CUlibrary library = nullptr;
    CUkernel handle = nullptr;
    pdl_kernel *kernel = nullptr;
    const std::vector<char> image = read_file(PDL_TEST_FATBIN);
    assert_int_equal(DRIVER_ENTRY(cuLibraryLoadData)(&library, image.data(), nullptr, nullptr, 0,
                                                     nullptr, nullptr, 0),
                     CUDA_SUCCESS);
    undo_last([library] { (void)DRIVER_ENTRY(cuLibraryUnload)(library); });
    assert_int_equal(DRIVER_ENTRY(cuLibraryGetKernel)(&handle, library, "set_all"), CUDA_SUCCESS);
    assert_pdl(kernel_from_kernel_image(handle, image.data(), image.size(), &kernel));
    return kernel;
}

/* The bytes are gone when it is launched. */
static pdl_kernel *from_fatbin(void)
{
    pdl_kernel *kernel = nullptr;
    std::vector<char> image = read_file(PDL_TEST_FATBIN);
    assert_pdl(kernel_from_image(image.data(), image.size(), "set_all", &kernel));
    memset(image.data(), 0, image.size());
    return kernel;
}

static pdl_kernel *from_text(void)
{
    pdl_kernel *kernel = nullptr;
    const std::vector<char> text = read_file(PDL_TEST_PTX);
    assert_int_not_equal(text.back(), '\0');
    assert_pdl(kernel_from_image(text.data(), text.size(), "set_all", &kernel));
    return kernel;
}

static pdl_kernel *from_file(void)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &kernel));
    return kernel;
}

static pdl_kernel *from_symbol(void)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(pdl_kernel_from_symbol(set_all_symbol, &kernel));
    return kernel;
}

static pdl_kernel *from_untyped_symbol(void)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(pdl_kernel_from_symbol(reinterpret_cast<const void *>(set_all_symbol), &kernel));
    return kernel;
}

static const struct {
    const char *name;
    pdl_kernel *(*make)(void);
    bool on_each_device;
} sources[] = {
    {"a kernel from a symbol works", from_symbol, true},
    {"a kernel from an untyped symbol works", from_untyped_symbol, true},
    {"a kernel from a module's function works", from_function, false},
    {"a kernel from a library's kernel works", from_library, true},
    {"a kernel from a fatbin works after the bytes are gone", from_fatbin, true},
    {"a kernel from PTX text without a NUL works", from_text, true},
    {"a kernel from a file works", from_file, true},
};

TEST_ROWS(a_kernel_works, sources)
{
    int devices = 0;
    assert_cuda(cudaFree(nullptr)); /* makes the context current */
    assert_cuda(cudaGetDeviceCount(&devices));
    pdl_kernel *const kernel = row.make();
    undo_later([kernel] { pdl_kernel_destroy(kernel); });
    for (int device = 0; device < (row.on_each_device ? devices : 1); device++) {
        assert_cuda(cudaSetDevice(device));
        assert_works(kernel, device);
    }
    assert_cuda(cudaSetDevice(0));
}

/* ---- what is told --------------------------------------------------------------------------- */

TEST(what_is_told_of_a_kernel_is_what_the_runtime_says)
{
    cudaFuncAttributes expected;
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_cuda(cudaFuncGetAttributes(&expected, set_all_symbol));
    assert_pdl(pdl_kernel_get(kernel_of(set_all_symbol), -1, &info));
    assert_int_equal(info.ptx_version, expected.ptxVersion);
    assert_int_equal(info.binary_version, expected.binaryVersion);
    assert_int_equal(info.max_threads_per_block, expected.maxThreadsPerBlock);
    assert_int_equal(info.registers_per_thread, expected.numRegs);
    assert_int_equal(info.static_shared_memory, expected.sharedSizeBytes);
    assert_int_equal(info.max_dynamic_shared_memory, expected.maxDynamicSharedSizeBytes);
    assert_int_equal(info.local_memory, expected.localSizeBytes);
    assert_int_equal(info.constant_memory, expected.constSizeBytes);
}

static int runtime_attribute(cudaDeviceAttr attribute)
{
    int value = -1;
    assert_cuda(cudaDeviceGetAttribute(&value, attribute, 0));
    return value;
}

TEST(what_is_told_of_a_device_is_what_the_runtime_says)
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

/* ---- refusals ------------------------------------------------------------------------------- */

static __global__ void count(unsigned *to)
{
    atomicAdd(to, 1u);
}

static __global__ void __launch_bounds__(128, 1, 2) count_bounded(unsigned *to)
{
    atomicAdd(to, 1u);
}

/* Beside what the unit tests refuse by a model's limits: by those of the device and of compiled kernels, and by the
 * driver. */
static const struct {
    const char *name;
    bool bounded;
    unsigned grid, block[3], cluster;
    pdl_status status;
    const char *field, *says;
} refusals[] = {
    {"a grid over the device's limit",
     false,
     0x80000000u,
     {32, 1, 1},
     0,
     PDL_ERROR_INVALID_GRID,
     "grid",
     ""},
    {"a block over the device's limit",
     false,
     1,
     {1025, 1, 1},
     0,
     PDL_ERROR_INVALID_BLOCK,
     "block",
     "1025"},
    {"a block of too many threads",
     false,
     1,
     {1024, 2, 1},
     0,
     PDL_ERROR_BLOCK_TOO_LARGE,
     "block",
     ""},
    {"a block over the kernel's launch bounds",
     true,
     1,
     {256, 1, 1},
     0,
     PDL_ERROR_BLOCK_TOO_LARGE,
     "block",
     "128"},
    {"a cluster that does not divide the grid",
     false,
     9,
     {32, 1, 1},
     2,
     PDL_ERROR_INVALID_CLUSTER,
     "cluster",
     ""},
    {"a cluster over the kernel's launch bounds",
     true,
     8,
     {32, 1, 1},
     4,
     PDL_ERROR_INVALID_CLUSTER,
     "cluster",
     "at most 2"},
    {"a cluster larger than the device has",
     false,
     64,
     {32, 1, 1},
     64,
     PDL_ERROR_INVALID_CLUSTER,
     "cluster",
     ""},
};

TEST_ROWS(a_refused_launch_leaves_the_context_usable, refusals)
{
    unsigned *counter = device_memory<unsigned>(1);
    pdl_kernel *const kernel = row.bounded ? kernel_of(count_bounded) : kernel_of(count);
    pdl_launch_desc desc =
        pdl_launch_desc_make(row.grid, dim3(row.block[0], row.block[1], row.block[2]));
    desc.cluster[0] = row.cluster;
    assert_refused(pdl_launch(kernel, desc, PDL_ARGS(counter)), row.status, row.field);
    assert_non_null(strstr(pdl_last_error()->message, row.says));
    (void)cudaGetLastError();
    assert_pdl(pdl_launch(kernel, pdl_launch_desc_make(2, 32), PDL_ARGS(counter)));
    assert_int_equal(content(counter), 64);
}

TEST(a_block_other_than_the_code_requires_is_refused_with_the_numbers)
{
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry pairs() .reqntid 64, 2, 1 { ret; }\n";
    pdl_kernel *kernel = nullptr;
    assert_pdl(kernel_from_image(text, sizeof(text) - 1, "pairs", &kernel));
    keep(kernel);
    assert_pdl(pdl_launch(kernel, pdl_launch_desc_make(1, dim3(64, 2)), nullptr));
    assert_refused(pdl_launch(kernel, pdl_launch_desc_make(1, dim3(32, 2)), nullptr),
                   PDL_ERROR_INVALID_BLOCK, "block");
    assert_non_null(strstr(pdl_last_error()->message, "64 x 2 x 1"));
}

TEST(a_trigger_event_with_timing_is_refused)
{
    unsigned *counter = device_memory<unsigned>(1);
    pdl_launch_desc desc = pdl_launch_desc_make(1, 32);
    desc.trigger_event = new_event(cudaEventDefault);
    assert_refused(pdl_launch(kernel_of(count), desc, PDL_ARGS(counter)), PDL_ERROR_EVENT,
                   "trigger_event");
    (void)cudaGetLastError();
    assert_int_equal(content(counter), 0);
}

static const struct {
    const char *name, *text;
    const char *says;
} images[] = {
    {"bytes that are no image",
     "this is no image of any kind, and long enough to be read as one's header", ""},
    {"PTX that does not compile, with the compiler's log",
     ".version 8.0\n.target sm_90\n.address_size 64\n"
     ".visible .entry broken() { nonsense.u32; ret; }\n",
     "nonsense"},
};

TEST_ROWS(an_image_is_refused, images)
{
    pdl_kernel *kernel = nullptr;
    assert_refused(kernel_from_image(row.text, strlen(row.text), "broken", &kernel),
                   PDL_ERROR_INVALID_IMAGE, nullptr);
    assert_null(kernel);
    assert_non_null(strstr(pdl_last_error()->message, row.says));
}

TEST(a_name_that_is_not_in_the_image_is_not_found)
{
    pdl_kernel *kernel = nullptr;
    assert_refused(kernel_from_file(PDL_TEST_FATBIN, "no_such_kernel", &kernel),
                   PDL_ERROR_NOT_FOUND, nullptr);
    assert_null(kernel);
}

TEST(code_for_another_architecture_alone_is_refused)
{
    pdl_kernel *kernel = nullptr;
    unsigned *to = device_memory<unsigned>(1);
    const unsigned one = 1;
    pdl_status status = kernel_from_file(PDL_TEST_OTHER_CUBIN, "set_all", &kernel);
    if (status == PDL_SUCCESS) { /* the driver may look only at the launch */
        keep(kernel);
        status = pdl_launch(kernel, pdl_launch_desc_make(1, 32), PDL_ARGS(to, one, one));
    }
    assert_int_equal(status, PDL_ERROR_NO_KERNEL_IMAGE);
}

int main()
{
    return run_gpu_tests();
}
