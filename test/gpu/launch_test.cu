/* SPDX-License-Identifier: MIT */
/* Cooperative launches, clusters and dynamic shared memory do what they are for. */
#include <cooperative_groups.h>

#include "gpu_test.cuh"

namespace cg = cooperative_groups;

/* Each block publishes its number and, after all have, reads the one of the block after it. */
static __global__ void exchange_in_grid(unsigned *published, unsigned *wrong)
{
    const unsigned next = (blockIdx.x + 1) % gridDim.x;
    if (threadIdx.x == 0) {
        if (blockIdx.x == gridDim.x - 1) {
            spin(200000); /* the others would read too early without the barrier */
        }
        published[blockIdx.x] = blockIdx.x + 1;
    }
    cg::this_grid().sync();
    if (threadIdx.x == 0 && PDL_LOAD(&published[next]) != next + 1) {
        atomicAdd(wrong, 1u);
    }
}

/* Each block reads a number from the shared memory of the other block of its cluster. */
static __global__ void exchange_in_cluster(unsigned *from_other, unsigned *cluster_blocks)
{
    __shared__ unsigned own;
    const cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        own = blockIdx.x;
    }
    cluster.sync();
    if (threadIdx.x == 0) {
        const unsigned other = (cluster.block_rank() + 1) % cluster.num_blocks();
        from_other[blockIdx.x] = *cluster.map_shared_rank(&own, other);
        *cluster_blocks = cluster.num_blocks();
    }
    cluster.sync(); /* the other block reads this one's memory until here */
}

/* Fills all the dynamic shared memory, then adds it up backwards. */
static __global__ void fill_shared_memory(unsigned words, unsigned long long *sum)
{
    extern __shared__ unsigned memory[];
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
        memory[i] = i;
    }
    __syncthreads();
    unsigned long long own = 0;
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
        own += memory[words - 1 - i];
    }
    atomicAdd(sum, own);
}

/* Never launched with more than it may have; a kernel of its own, because the limit belongs to the
 * kernel. */
static __global__ void small_shared_memory(unsigned *sink)
{
    extern __shared__ unsigned memory[];
    memory[threadIdx.x] = threadIdx.x;
    *sink = memory[0];
}

static __global__ void allowed_by_runtime(unsigned *last)
{
    extern __shared__ unsigned memory[];
    memory[100 * 1024 / 4 - 1] = 7;
    *last = memory[100 * 1024 / 4 - 1];
}

static void a_cooperative_grid_synchronizes(void **)
{
    int sms = 0;
    unsigned *published;
    unsigned *wrong = shared_value(0u);
    assert_cuda(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    assert_cuda(cudaMalloc(&published, static_cast<size_t>(sms) * 2 * sizeof(*published)));
    assert_cuda(cudaMemset(published, 0, static_cast<size_t>(sms) * 2 * sizeof(*published)));
    pdl_launch_desc desc = pdl_launch_desc_make(static_cast<unsigned>(sms) * 2, 128);
    desc.cooperative = 1;
    assert_pdl(pdl_launch_kernel(desc, exchange_in_grid, published, wrong));
    assert_cuda(cudaDeviceSynchronize());
    assert_int_equal(*wrong, 0);
    assert_cuda(cudaFree(published));
    assert_cuda(cudaFreeHost(wrong));
}

static void a_cooperative_grid_that_does_not_fit_is_refused_with_the_numbers(void **)
{
    unsigned *wrong = shared_value(0u);
    unsigned *published = nullptr;
    pdl_launch_desc desc = pdl_launch_desc_make(12345678, 128);
    desc.cooperative = 1;
    assert_refused(pdl_launch_kernel(desc, exchange_in_grid, published, wrong),
                   PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative");
    assert_non_null(strstr(pdl_last_error()->message, "12345678"));
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaFreeHost(wrong));
}

static void the_largest_cooperative_grid_fits_and_one_block_more_does_not(void **)
{
    int sms = 0;
    int each = 0;
    unsigned *published;
    unsigned *wrong = shared_value(0u);
    assert_cuda(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, exchange_in_grid, 1024, 0));
    const unsigned largest = static_cast<unsigned>(sms * each);
    assert_cuda(cudaMalloc(&published, largest * sizeof(*published)));
    assert_cuda(cudaMemset(published, 0, largest * sizeof(*published)));
    pdl_launch_desc desc = pdl_launch_desc_make(largest, 1024);
    desc.cooperative = 1;
    assert_pdl(pdl_launch_kernel(desc, exchange_in_grid, published, wrong));
    assert_cuda(cudaDeviceSynchronize());
    assert_int_equal(*wrong, 0);
    desc.grid[0]++;
    assert_refused(pdl_launch_kernel(desc, exchange_in_grid, published, wrong),
                   PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative");
    assert_cuda(cudaFree(published));
    assert_cuda(cudaFreeHost(wrong));
}

static void blocks_of_a_cluster_read_each_others_shared_memory(void **)
{
    const unsigned blocks = 16;
    unsigned other[blocks];
    unsigned *from_other;
    unsigned *cluster_blocks = shared_value(0u);
    assert_cuda(cudaMalloc(&from_other, sizeof(other)));
    pdl_launch_desc desc = pdl_launch_desc_make(blocks, 64);
    desc.cluster[0] = 2;
    assert_pdl(pdl_launch_kernel(desc, exchange_in_cluster, from_other, cluster_blocks));
    assert_cuda(cudaDeviceSynchronize());
    assert_int_equal(*cluster_blocks, 2);
    assert_cuda(cudaMemcpy(other, from_other, sizeof(other), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < blocks; i++) {
        assert_int_equal(other[i], i ^ 1u);
    }
    assert_cuda(cudaFree(from_other));
    assert_cuda(cudaFreeHost(cluster_blocks));
}

static void more_shared_memory_than_the_kernel_may_have_is_refused_with_the_numbers(void **)
{
    unsigned *sink = shared_value(0u);
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 32, 204800);
    assert_refused(pdl_launch_kernel(desc, small_shared_memory, sink), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory");
    assert_non_null(strstr(pdl_last_error()->message, "204800"));
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaFreeHost(sink));
}

static void a_kernel_allowed_200_kib_of_shared_memory_uses_them(void **)
{
    const unsigned bytes = 200 * 1024;
    const unsigned words = bytes / 4;
    pdl_kernel *kernel = nullptr;
    unsigned long long *sum = shared_value(0ull);
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 256, bytes);
    assert_pdl(pdl_kernel_from_symbol(fill_shared_memory, &kernel));
    assert_refused(pdl_launch(kernel, &desc, PDL_ARGS(words, sum)), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory");
    assert_pdl(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, bytes));
    assert_pdl(pdl_launch(kernel, &desc, PDL_ARGS(words, sum)));
    assert_cuda(cudaDeviceSynchronize());
    assert_true(*sum == static_cast<unsigned long long>(words) * (words - 1) / 2);
    pdl_kernel_destroy(kernel);
    assert_cuda(cudaFreeHost(sum));
}

static void shared_memory_allowed_through_the_runtime_is_seen(void **)
{
    unsigned *last = shared_value(0u);
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 100 * 1024);
    assert_refused(pdl_launch_kernel(desc, allowed_by_runtime, last), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory");
    assert_cuda(cudaFuncSetAttribute(allowed_by_runtime,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
    assert_pdl(pdl_launch_kernel(desc, allowed_by_runtime, last));
    assert_cuda(cudaDeviceSynchronize());
    assert_int_equal(*last, 7);
    assert_cuda(cudaFreeHost(last));
}

static void more_shared_memory_than_the_device_has_cannot_be_allowed(void **)
{
    pdl_kernel *kernel = nullptr;
    assert_pdl(pdl_kernel_from_symbol(small_shared_memory, &kernel));
    assert_refused(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 1 << 20),
                   PDL_ERROR_SHARED_MEMORY, nullptr);
    pdl_kernel_destroy(kernel);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cooperative_grid_synchronizes),
        cmocka_unit_test(a_cooperative_grid_that_does_not_fit_is_refused_with_the_numbers),
        cmocka_unit_test(the_largest_cooperative_grid_fits_and_one_block_more_does_not),
        cmocka_unit_test(blocks_of_a_cluster_read_each_others_shared_memory),
        cmocka_unit_test(more_shared_memory_than_the_kernel_may_have_is_refused_with_the_numbers),
        cmocka_unit_test(a_kernel_allowed_200_kib_of_shared_memory_uses_them),
        cmocka_unit_test(shared_memory_allowed_through_the_runtime_is_seen),
        cmocka_unit_test(more_shared_memory_than_the_device_has_cannot_be_allowed),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
