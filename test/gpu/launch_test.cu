/* SPDX-License-Identifier: MIT */
/* Cooperative launches, clusters and dynamic shared memory do what they are for, and a cooperative kernel never starts
 * before the one in front of it has ended. */
#include <cooperative_groups.h>

#include "graph_test.cuh"

namespace cg = cooperative_groups;

/* Three rounds of: each block writes its cell, the grid synchronizes, each block reads its
 * neighbour's. Counts what was not there yet. */
static __global__ void neighbours(unsigned *numbers, unsigned round, unsigned *wrong)
{
    const unsigned next = (blockIdx.x + 1) % gridDim.x;
    PDL_WAIT();
    for (unsigned i = 0; i < 3; i++) {
        if (threadIdx.x == 0) {
            if (blockIdx.x == i) {
                spin(20000); /* somebody is late */
            }
            numbers[blockIdx.x] = round + i;
        }
        cg::this_grid().sync();
        if (threadIdx.x == 0 && PDL_LOAD(&numbers[next]) != round + i) {
            atomicAdd(wrong, 1u);
        }
        cg::this_grid().sync();
    }
    PDL_LAUNCH_DEPENDENTS();
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

/* Of which the Runtime is told what it may have: the limit belongs to the kernel. */
static __global__ void allowed_by_runtime(unsigned *last)
{
    extern __shared__ unsigned memory[];
    memory[100 * 1024 / 4 - 1] = 7;
    *last = memory[100 * 1024 / 4 - 1];
}

/* ---- cooperative launches ------------------------------------------------------------------- */

static pdl_launch_desc cooperative_desc(unsigned blocks, unsigned threads, pdl_overlap overlap)
{
    pdl_launch_desc desc = pdl_launch_desc_make(blocks, threads, 0, stream, overlap);
    desc.cooperative = 1;
    return desc;
}

/* The largest grid that is resident at one time. */
static unsigned largest_grid(int threads)
{
    int sms = 0;
    int each = 0;
    assert_cuda(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, neighbours, threads, 0));
    return static_cast<unsigned>(sms * each);
}

/* Every block wrote its last value, and none read too early. */
static void assert_synchronized(const unsigned *numbers, unsigned blocks, const unsigned *wrong,
                                unsigned last)
{
    assert_int_equal(content(wrong), 0);
    for (const unsigned number : contents(numbers, blocks)) {
        assert_int_equal(number, last);
    }
}

TEST(the_largest_grid_synchronizes_in_a_stream_and_one_block_more_is_refused)
{
    for (const unsigned threads : {128u, 1024u}) {
        const unsigned blocks = largest_grid(static_cast<int>(threads));
        unsigned *numbers = device_memory<unsigned>(blocks);
        unsigned *wrong = device_memory<unsigned>(1);
        pdl_kernel *const kernel = kernel_of(neighbours);
        for (const pdl_overlap overlap : {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO}) {
            for (unsigned round = 10; round < 100; round += 10) {
                assert_pdl(pdl_launch(kernel, cooperative_desc(blocks, threads, overlap),
                                      PDL_ARGS(numbers, round, wrong)));
            }
            assert_synchronized(numbers, blocks, wrong, 92);
        }
        const unsigned round = 0;
        assert_refused(pdl_launch(kernel, cooperative_desc(blocks + 1, threads, PDL_OVERLAP_AUTO),
                                  PDL_ARGS(numbers, round, wrong)),
                       PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative");
    }
}

TEST(the_grid_synchronizes_in_a_chain)
{
    const unsigned blocks = largest_grid(1024);
    const pdl_launch_desc desc = cooperative_desc(blocks, 128, PDL_OVERLAP_AUTO);
    const pdl_launch_desc larger = cooperative_desc(1 << 20, 128, PDL_OVERLAP_AUTO);
    const unsigned none = 0;
    unsigned *numbers = device_memory<unsigned>(blocks);
    unsigned *wrong = device_memory<unsigned>(1);
    pdl_kernel *const kernel = kernel_of(neighbours);
    assert_refused(
        pdl_chain_add(chain, kernel, &larger, PDL_ARGS(numbers, none, wrong), nullptr, 0, nullptr),
        PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative");
    for (unsigned i = 0; i < 3; i++) {
        assert_pdl(pdl_chain_add(chain, kernel, &desc, PDL_ARGS(numbers, none, wrong), nullptr, 0,
                                 nullptr));
    }
    assert_pdl(pdl_chain_build(chain));
    for (unsigned turn = 1; turn <= 5; turn++) {
        for (unsigned i = 0; i < 3; i++) {
            const unsigned round = 1000 * turn + 10 * i;
            assert_pdl(pdl_chain_set_args(chain, i, PDL_ARGS(numbers, round, wrong)));
        }
        replay();
        assert_synchronized(numbers, blocks, wrong, 1000 * turn + 22);
    }
}

TEST(a_cooperative_consumer_in_a_stream_does_not_overlap)
{
    const pdl_launch_desc desc = cooperative_desc(1, 1, PDL_OVERLAP_AUTO);
    assert_serial(run_pairs(10,
                            [&] {
                                launch_first(31);
                                assert_pdl(pdl_launch(consumer, desc, PDL_ARGS(pair_memory)));
                            }),
                  31);
}

TEST(a_cooperative_link_of_a_chain_does_not_overlap)
{
    const pdl_launch_desc desc = cooperative_desc(1, 1, PDL_OVERLAP_AUTO);
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    add_first(32);
    assert_pdl(pdl_chain_add(chain, consumer, &desc, PDL_ARGS(pair_memory), nullptr, 0, nullptr));
    assert_serial(replay_pairs(), 32);
    assert_pdl(pdl_chain_explain(chain, 1, &report));
    assert_int_equal(report.overlap_reason, PDL_REASON_COOPERATIVE);
    assert_int_equal(census_of(chain).full, 1);
}

/* The other way round: what comes after a cooperative kernel may overlap it. */
TEST(a_consumer_of_a_cooperative_link_is_covered_by_its_wait)
{
    const unsigned value = 33;
    const pdl_launch_desc desc = cooperative_desc(1, 1, PDL_OVERLAP_NONE);
    assert_pdl(
        pdl_chain_add(chain, producer, &desc, PDL_ARGS(pair_memory, value), nullptr, 0, nullptr));
    add_second(PDL_OVERLAP_AUTO);
    for (const pair_record &run : replay_pairs()) {
        assert_ran(run, value);
        assert_true(covered(run));
    }
}

/* ---- clusters and shared memory ------------------------------------------------------------- */

TEST(blocks_of_a_cluster_read_each_others_shared_memory)
{
    const unsigned blocks = 16;
    unsigned *const cluster_blocks = cells + blocks;
    pdl_launch_desc desc = pdl_launch_desc_make(blocks, 64);
    desc.cluster[0] = 2;
    assert_pdl(pdl_launch_kernel(desc, exchange_in_cluster, cells, cluster_blocks));
    assert_int_equal(content(cluster_blocks), 2);
    for (unsigned i = 0; i < blocks; i++) {
        assert_int_equal(content(cells + i), i ^ 1u);
    }
}

TEST(a_kernel_allowed_200_kib_of_shared_memory_uses_them)
{
    const unsigned bytes = 200 * 1024;
    const unsigned words = bytes / 4;
    pdl_kernel *const kernel = kernel_of(fill_shared_memory);
    unsigned long long *sum = device_memory<unsigned long long>(1);
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 256, bytes);
    assert_refused(pdl_launch(kernel, &desc, PDL_ARGS(words, sum)), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory");
    assert_non_null(strstr(pdl_last_error()->message, "204800"));
    assert_refused(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, 1 << 20),
                   PDL_ERROR_SHARED_MEMORY, nullptr); /* the device has no more */
    assert_pdl(pdl_kernel_set_attribute(kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY, bytes));
    assert_pdl(pdl_launch(kernel, &desc, PDL_ARGS(words, sum)));
    assert_true(content(sum) == static_cast<unsigned long long>(words) * (words - 1) / 2);
}

TEST(shared_memory_allowed_through_the_runtime_is_seen)
{
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 100 * 1024);
    assert_refused(pdl_launch_kernel(desc, allowed_by_runtime, cells), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory");
    assert_cuda(cudaFuncSetAttribute(allowed_by_runtime,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
    assert_pdl(pdl_launch_kernel(desc, allowed_by_runtime, cells));
    assert_int_equal(content(cells), 7);
}

int main()
{
    return run_gpu_tests(set_up);
}
