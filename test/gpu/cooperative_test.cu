/* SPDX-License-Identifier: MIT */
/* Cooperative launches through the descriptor: the grid synchronizes, in a stream and in a chain,
 * and such a kernel never starts before the one in front of it has ended. */
#include <cooperative_groups.h>

#include <pdl/chain.h>

#include "graph_test.cuh"

static const unsigned threads = 128;

/* Three rounds of: each block writes its cell, the grid synchronizes, each block reads its
 * neighbour's. Counts what was not there yet. */
static __global__ void neighbours(unsigned *cells, unsigned round, unsigned *wrong)
{
    const unsigned grid = gridDim.x;
    PDL_WAIT();
    for (unsigned i = 0; i < 3; i++) {
        if (threadIdx.x == 0) {
            if (blockIdx.x == i) {
                spin(20000); /* somebody is late */
            }
            cells[blockIdx.x] = round + i;
        }
        cooperative_groups::this_grid().sync();
        if (threadIdx.x == 0 && PDL_LOAD(&cells[(blockIdx.x + 1) % grid]) != round + i) {
            atomicAdd(wrong, 1u);
        }
        cooperative_groups::this_grid().sync();
    }
    PDL_LAUNCH_DEPENDENTS();
}

struct fixture {
    cudaStream_t stream;
    pair_record *pair;
    unsigned *cells;
    unsigned *wrong;
    unsigned blocks; /* one an SM */
    pdl_chain *chain;
    pdl_kernel *neighbours;
    pdl_kernel *first;
    pdl_kernel *second;
};

static fixture fix;

static int set_up(void **)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    assert_pdl(pdl_device_get(0, &info));
    fix.blocks = static_cast<unsigned>(info.multiprocessor_count);
    assert_cuda(cudaStreamCreateWithFlags(&fix.stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&fix.pair, sizeof(*fix.pair)));
    assert_cuda(cudaMalloc(&fix.cells, fix.blocks * sizeof(*fix.cells)));
    assert_cuda(cudaMalloc(&fix.wrong, sizeof(*fix.wrong)));
    assert_cuda(cudaMemset(fix.cells, 0, fix.blocks * sizeof(*fix.cells)));
    assert_cuda(cudaMemset(fix.wrong, 0, sizeof(*fix.wrong)));
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_chain_create(nullptr, &fix.chain));
    assert_pdl(pdl_kernel_from_symbol(neighbours, &fix.neighbours));
    assert_pdl(pdl_kernel_from_symbol(pair_produce, &fix.first));
    assert_pdl(pdl_kernel_from_symbol(pair_consume, &fix.second));
    return 0;
}

static int tear_down(void **)
{
    assert_cuda(cudaDeviceSynchronize());
    pdl_chain_destroy(fix.chain);
    for (pdl_kernel *kernel : {fix.second, fix.first, fix.neighbours}) {
        pdl_kernel_destroy(kernel);
    }
    assert_cuda(cudaFree(fix.wrong));
    assert_cuda(cudaFree(fix.cells));
    assert_cuda(cudaFree(fix.pair));
    assert_cuda(cudaStreamDestroy(fix.stream));
    return 0;
}

static pdl_launch_desc cooperative_desc(unsigned blocks, unsigned block, pdl_overlap overlap)
{
    pdl_launch_desc desc = pdl_launch_desc_make(blocks, block, 0, fix.stream, overlap);
    desc.cooperative = 1;
    return desc;
}

/* Every block wrote its last value, and none read too early. */
static void assert_synchronized(unsigned last)
{
    unsigned wrong = ~0u;
    std::vector<unsigned> cells(fix.blocks);
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaMemcpy(&wrong, fix.wrong, sizeof(wrong), cudaMemcpyDeviceToHost));
    assert_cuda(
        cudaMemcpy(cells.data(), fix.cells, fix.blocks * sizeof(unsigned), cudaMemcpyDeviceToHost));
    assert_int_equal(wrong, 0);
    for (unsigned cell : cells) {
        assert_int_equal(cell, last);
    }
}

static void the_grid_synchronizes_in_a_stream(void **)
{
    for (const pdl_overlap overlap : {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO}) {
        const pdl_launch_desc desc = cooperative_desc(fix.blocks, threads, overlap);
        for (unsigned round = 10; round < 100; round += 10) {
            assert_pdl(pdl_launch(fix.neighbours, &desc, PDL_ARGS(fix.cells, round, fix.wrong)));
        }
        assert_synchronized(92);
    }
}

static void the_grid_synchronizes_in_a_chain(void **)
{
    const pdl_launch_desc desc = cooperative_desc(fix.blocks, threads, PDL_OVERLAP_AUTO);
    const unsigned none = 0;
    for (unsigned i = 0; i < 3; i++) {
        assert_pdl(pdl_chain_add(fix.chain, fix.neighbours, &desc,
                                 PDL_ARGS(fix.cells, none, fix.wrong), nullptr, 0, nullptr));
    }
    assert_pdl(pdl_chain_build(fix.chain));
    for (unsigned replay = 1; replay <= 5; replay++) {
        for (unsigned i = 0; i < 3; i++) {
            const unsigned round = 1000 * replay + 10 * i;
            assert_pdl(pdl_chain_set_args(fix.chain, i, PDL_ARGS(fix.cells, round, fix.wrong)));
        }
        assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
        assert_synchronized(1000 * replay + 22);
    }
}

static void a_grid_that_does_not_fit_is_refused(void **)
{
    const unsigned round = 0;
    const pdl_launch_desc desc = cooperative_desc(1 << 20, threads, PDL_OVERLAP_AUTO);
    assert_refused(pdl_launch(fix.neighbours, &desc, PDL_ARGS(fix.cells, round, fix.wrong)),
                   PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative");
    assert_refused(pdl_chain_add(fix.chain, fix.neighbours, &desc,
                                 PDL_ARGS(fix.cells, round, fix.wrong), nullptr, 0, nullptr),
                   PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative");
}

static void a_cooperative_consumer_in_a_stream_is_accepted_and_does_not_overlap(void **)
{
    const unsigned value = 31;
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    const pdl_launch_desc plain = pdl_launch_desc_make(1, 1, 0, fix.stream);
    const pdl_launch_desc desc = cooperative_desc(1, 1, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_launch_explain(fix.second, &desc, &report));
    assert_int_equal(report.overlap, 0);
    assert_int_equal(report.overlap_reason, PDL_REASON_COOPERATIVE);
    assert_serial(run_pairs(fix.stream, fix.pair, 10,
                            [&] {
                                assert_pdl(pdl_launch(fix.first, plain, PDL_ARGS(fix.pair, value)));
                                assert_pdl(pdl_launch(fix.second, desc, PDL_ARGS(fix.pair)));
                            }),
                  value);
}

static void a_cooperative_link_of_a_chain_is_accepted_and_does_not_overlap(void **)
{
    const unsigned value = 32;
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    pdl_full_dependency lost;
    pdl_census census = PDL_CENSUS_INIT;
    cudaGraph_t graph = nullptr;
    const pdl_launch_desc plain = pdl_launch_desc_make(1, 1);
    const pdl_launch_desc desc = cooperative_desc(1, 1, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_chain_add(fix.chain, fix.first, &plain, PDL_ARGS(fix.pair, value), nullptr, 0,
                             nullptr));
    assert_pdl(
        pdl_chain_add(fix.chain, fix.second, &desc, PDL_ARGS(fix.pair), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_pdl(pdl_chain_explain(fix.chain, 1, &report));
    assert_int_equal(report.overlap, 0);
    assert_int_equal(report.overlap_reason, PDL_REASON_COOPERATIVE);
    assert_non_null(strstr(report.message, pdl_reason_string(PDL_REASON_COOPERATIVE)));
    assert_pdl(pdl_chain_graph(fix.chain, &graph));
    census.full_dependencies = &lost;
    census.full_capacity = 1;
    assert_pdl(pdl_graph_census(graph, &census));
    assert_int_equal(census.full, 1);
    assert_int_equal(census.full_count, 1);
    assert_int_equal(lost.reason, PDL_FULL_COOPERATIVE);
    assert_serial(run_pairs(fix.stream, fix.pair, 5,
                            [] { assert_pdl(pdl_chain_launch(fix.chain, fix.stream)); }),
                  value);
}

/* The other way round: what comes after a cooperative kernel may overlap it. */
static void a_consumer_of_a_cooperative_link_is_covered_by_its_wait(void **)
{
    const unsigned value = 33;
    const pdl_launch_desc producer = cooperative_desc(1, 1, PDL_OVERLAP_NONE);
    const pdl_launch_desc consumer = pdl_launch_desc_make(1, 1, 0, nullptr, PDL_OVERLAP_AUTO);
    int early = 0;
    assert_pdl(pdl_chain_add(fix.chain, fix.first, &producer, PDL_ARGS(fix.pair, value), nullptr, 0,
                             nullptr));
    assert_pdl(
        pdl_chain_add(fix.chain, fix.second, &consumer, PDL_ARGS(fix.pair), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_build(fix.chain));
    for (const pair_record &run : run_pairs(fix.stream, fix.pair, 5, [] {
             assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
         })) {
        assert_ran(run, value);
        assert_true(covered(run));
        early += overlapped(run);
    }
    print_message("%d of 5 consumers of a cooperative kernel overlapped it\n", early);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main()
{
    const struct CMUnitTest tests[] = {
        TEST(the_grid_synchronizes_in_a_stream),
        TEST(the_grid_synchronizes_in_a_chain),
        TEST(a_grid_that_does_not_fit_is_refused),
        TEST(a_cooperative_consumer_in_a_stream_is_accepted_and_does_not_overlap),
        TEST(a_cooperative_link_of_a_chain_is_accepted_and_does_not_overlap),
        TEST(a_consumer_of_a_cooperative_link_is_covered_by_its_wait),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
