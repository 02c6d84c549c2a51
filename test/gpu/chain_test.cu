/* SPDX-License-Identifier: MIT */
/* Chains: their shapes, what overlaps in them, what they are told to do wrong, and kernels of every
 * kind. Changes between replays are in chain_update_test.cu. */
#include <atomic>
#include <thread>

#include <pdl/chain.h>

#include "../cuda/from_image.h"
#include "driver_entry.h"
#include "graph_test.cuh"

static const unsigned cell_count = 32;

/* Cell `to` becomes three times cell `a` plus cell `b` plus `add`, some time after the trigger: a
 * link that reads too early computes something else. */
static __global__ void combine(unsigned *cells, unsigned to, unsigned a, unsigned b, unsigned add)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    const unsigned sum = 3 * PDL_LOAD(&cells[a]) + PDL_LOAD(&cells[b]) + add;
    spin(20000);
    cells[to] = sum;
}

static __global__ void count(unsigned *counter)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(counter, 1u);
}

static __global__ void set_all_symbol(unsigned *to, unsigned value, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    if (i < n) {
        to[i] = value + i;
    }
}

struct fixture {
    cudaStream_t stream;
    pdl_chain *chain;
    pair_record *pair;
    unsigned *cells;
    pdl_kernel *combine;
    pdl_kernel *count;
    pdl_kernel *first;
    pdl_kernel *second;
};

static fixture fix;

static int set_up(void **)
{
    assert_cuda(cudaStreamCreateWithFlags(&fix.stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&fix.pair, sizeof(*fix.pair)));
    assert_cuda(cudaMalloc(&fix.cells, cell_count * sizeof(*fix.cells)));
    assert_pdl(pdl_chain_create(nullptr, &fix.chain));
    assert_pdl(pdl_kernel_from_symbol(combine, &fix.combine));
    assert_pdl(pdl_kernel_from_symbol(count, &fix.count));
    assert_pdl(pdl_kernel_from_symbol(pair_produce, &fix.first));
    assert_pdl(pdl_kernel_from_symbol(pair_consume, &fix.second));
    return 0;
}

static int tear_down(void **)
{
    assert_cuda(cudaDeviceSynchronize());
    pdl_chain_destroy(fix.chain);
    for (pdl_kernel *kernel : {fix.second, fix.first, fix.count, fix.combine}) {
        pdl_kernel_destroy(kernel);
    }
    assert_cuda(cudaFree(fix.cells));
    assert_cuda(cudaFree(fix.pair));
    assert_cuda(cudaStreamDestroy(fix.stream));
    return 0;
}

static pdl_launch_desc desc_with(pdl_overlap overlap)
{
    return pdl_launch_desc_make(1, 1, 0, nullptr, overlap);
}

/* ---- shapes --------------------------------------------------------------------------------- */

/* One link of `combine`, and what it does to the host's copy of the cells. */
struct step {
    unsigned to, a, b, add;
};

static uint32_t add_step(const step &s, pdl_overlap overlap)
{
    uint32_t link = ~0u;
    const pdl_launch_desc desc = desc_with(overlap);
    assert_pdl(pdl_chain_add(fix.chain, fix.combine, &desc,
                             PDL_ARGS(fix.cells, s.to, s.a, s.b, s.add), nullptr, 0, &link));
    return link;
}

/* Replays the chain from the same first cells a few times; each time they end as the steps, in that
 * order of execution, say. */
static void assert_computes(const std::vector<step> &steps)
{
    unsigned seed[cell_count];
    unsigned expected[cell_count];
    unsigned found[cell_count];
    for (unsigned i = 0; i < cell_count; i++) {
        seed[i] = expected[i] = i == 0 ? 7 : 0;
    }
    for (const step &s : steps) {
        expected[s.to] = 3 * expected[s.a] + expected[s.b] + s.add;
    }
    for (int replay = 0; replay < 5; replay++) {
        assert_cuda(
            cudaMemcpyAsync(fix.cells, seed, sizeof(seed), cudaMemcpyHostToDevice, fix.stream));
        assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
        assert_cuda(
            cudaMemcpyAsync(found, fix.cells, sizeof(found), cudaMemcpyDeviceToHost, fix.stream));
        assert_cuda(cudaStreamSynchronize(fix.stream));
        assert_memory_equal(found, expected, sizeof(expected));
    }
}

static edge_counts chain_edges(unsigned full, unsigned programmatic)
{
    return {full, programmatic, 0, 0};
}

static void assert_chain_census(const edge_counts &expected)
{
    cudaGraph_t graph = nullptr;
    assert_pdl(pdl_chain_graph(fix.chain, &graph));
    assert_non_null(graph);
    assert_census(graph, expected);
}

static void a_line_computes_in_order_and_all_its_edges_are_programmatic(void **)
{
    std::vector<step> steps;
    for (unsigned i = 0; i < 20; i++) {
        steps.push_back({i + 1, i, i > 0 ? i - 1 : 0, i});
        assert_int_equal(add_step(steps.back(), PDL_OVERLAP_AUTO), i);
    }
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(0, 19));
    assert_computes(steps);
}

static void a_line_without_overlap_computes_in_order(void **)
{
    std::vector<step> steps;
    for (unsigned i = 0; i < 8; i++) {
        steps.push_back({i + 1, i, 0, i});
        add_step(steps.back(), PDL_OVERLAP_NONE);
    }
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(7, 0));
    assert_computes(steps);
}

static void each_link_decides_its_own_edge(void **)
{
    std::vector<step> steps;
    for (unsigned i = 0; i < 9; i++) {
        steps.push_back({i + 1, i, 0, i});
        add_step(steps.back(), i % 2 == 1 ? PDL_OVERLAP_NONE : PDL_OVERLAP_REQUIRE);
    }
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(4, 4));
    assert_computes(steps);
}

static void a_fork_and_a_join_compute_in_order(void **)
{
    const std::vector<step> steps = {{1, 0, 0, 1}, {2, 1, 0, 2}, {3, 1, 0, 3}, {4, 2, 3, 4}};
    for (const step &s : steps) {
        add_step(s, PDL_OVERLAP_AUTO);
    }
    assert_pdl(pdl_chain_add_dependency(fix.chain, 2, 0)); /* in place of 1 */
    assert_pdl(pdl_chain_add_dependency(fix.chain, 3, 1));
    assert_pdl(pdl_chain_add_dependency(fix.chain, 3, 2));
    assert_pdl(pdl_chain_add_dependency(fix.chain, 3, 2)); /* once more changes nothing */
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(0, 4));
    assert_computes(steps);
}

static void links_may_be_added_in_another_order_than_they_run(void **)
{
    const step last = {3, 2, 1, 5};
    const step middle = {2, 1, 0, 6};
    const step first = {1, 0, 0, 7};
    add_step(last, PDL_OVERLAP_AUTO);
    add_step(middle, PDL_OVERLAP_AUTO);
    add_step(first, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_chain_add_dependency(fix.chain, 2, PDL_CHAIN_START));
    assert_pdl(pdl_chain_add_dependency(fix.chain, 1, 2));
    assert_pdl(pdl_chain_add_dependency(fix.chain, 0, 1));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(0, 2));
    assert_computes({first, middle, last});
}

/* ---- overlap -------------------------------------------------------------------------------- */

static void add_pair(pdl_overlap overlap)
{
    const unsigned value = 99;
    const pdl_launch_desc plain = desc_with(PDL_OVERLAP_NONE);
    const pdl_launch_desc desc = desc_with(overlap);
    assert_pdl(pdl_chain_add(fix.chain, fix.first, &plain, PDL_ARGS(fix.pair, value), nullptr, 0,
                             nullptr));
    assert_pdl(
        pdl_chain_add(fix.chain, fix.second, &desc, PDL_ARGS(fix.pair), nullptr, 0, nullptr));
}

static std::vector<pair_record> run_chain_pairs(void)
{
    return run_pairs(fix.stream, fix.pair, 5,
                     [] { assert_pdl(pdl_chain_launch(fix.chain, fix.stream)); });
}

static void a_link_with_overlap_starts_before_the_one_before_it_has_ended(void **)
{
    add_pair(PDL_OVERLAP_AUTO);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(0, 1));
    assert_overlapped_and_covered(run_chain_pairs(), 99);
}

static void a_link_without_overlap_starts_after_the_one_before_it_has_ended(void **)
{
    add_pair(PDL_OVERLAP_NONE);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(1, 0));
    assert_serial(run_chain_pairs(), 99);
}

static void a_link_at_the_start_does_not_wait_for_the_one_before_it(void **)
{
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    add_pair(PDL_OVERLAP_NONE);
    assert_pdl(pdl_chain_add_dependency(fix.chain, 1, PDL_CHAIN_START));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(0, 0));
    for (const pair_record &run : run_chain_pairs()) {
        assert_ran(run, 99);
        assert_if_concurrent(overlapped(run));
    }
    assert_pdl(pdl_chain_explain(fix.chain, 1, &report));
    assert_int_equal(report.dependencies, 0);
    assert_non_null(strstr(report.message, "starts with the replay"));
}

/* ---- explain -------------------------------------------------------------------------------- */

static void explain_tells_what_a_link_waits_for_and_how(void **)
{
    uint32_t waits_for[2] = {77, 77};
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    report.dependency_links = waits_for;
    report.dependency_capacity = 2;
    add_step({1, 0, 0, 0}, PDL_OVERLAP_AUTO);
    add_step({2, 1, 0, 0}, PDL_OVERLAP_AUTO);
    add_step({3, 2, 0, 0}, PDL_OVERLAP_NONE);
    assert_pdl(pdl_chain_explain(fix.chain, 1, &report));
    assert_int_equal(report.links, 3);
    assert_int_equal(report.built, 0);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_pdl(pdl_chain_explain(fix.chain, 0, &report));
    assert_int_equal(report.built, 1);
    assert_int_equal(report.dependencies, 0);
    assert_int_equal(report.overlap, 0);
    assert_pdl(pdl_chain_explain(fix.chain, 1, &report));
    assert_int_equal(report.dependencies, 1);
    assert_int_equal(report.overlap, 1);
    assert_int_equal(report.overlap_reason, PDL_REASON_GRANTED);
    assert_non_null(strstr(report.message, "link 1 "));
    assert_non_null(strstr(report.message, "combine"));
    assert_non_null(strstr(report.message, "overlaps what it depends on, link 0"));
    assert_pdl(pdl_chain_explain(fix.chain, 2, &report));
    assert_int_equal(report.overlap, 0);
    assert_int_equal(report.overlap_reason, PDL_REASON_NOT_REQUESTED);
    assert_int_equal(waits_for[0], 1);
    assert_int_equal(waits_for[1], 77);
    assert_ptr_equal(report.kernel, fix.combine);
    assert_int_equal(report.grid[0], 1);
    assert_int_equal(report.grid[2], 1);
    assert_non_null(strstr(report.message, "waits for the end of what it depends on, link 1"));
    assert_non_null(strstr(report.message, pdl_reason_string(PDL_REASON_NOT_REQUESTED)));
}

static void explain_tells_why_code_for_8_0_does_not_overlap(void **)
{
    pdl_kernel *old_code = nullptr;
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    pair_times *times = &fix.pair->times;
    const unsigned value = 99;
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_AUTO);
    assert_pdl(pdl_kernel_from_symbol(second_for_80(), &old_code));
    assert_pdl(
        pdl_chain_add(fix.chain, fix.first, &desc, PDL_ARGS(fix.pair, value), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_add(fix.chain, old_code, &desc, PDL_ARGS(times), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(1, 0));
    assert_pdl(pdl_chain_explain(fix.chain, 1, &report));
    assert_int_equal(report.overlap, 0);
    assert_int_equal(report.overlap_reason, PDL_REASON_CODE);
    for (const pair_record &run : run_chain_pairs()) {
        assert_ran(run, value);
        assert_false(overlapped(run));
    }
    pdl_kernel_destroy(old_code);
}

/* ---- kernels from everywhere ---------------------------------------------------------------- */

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

static void kernels_of_every_kind_may_stand_in_one_chain(void **)
{
    const unsigned n = 8;
    const unsigned kinds = 4;
    const std::vector<char> image = read_file(PDL_TEST_FATBIN);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUlibrary library = nullptr;
    CUkernel handle = nullptr;
    pdl_kernel *kernels[kinds];
    unsigned found[kinds * n];
    assert_int_equal(DRIVER_ENTRY(cuModuleLoadData)(&module, image.data()), CUDA_SUCCESS);
    assert_int_equal(DRIVER_ENTRY(cuModuleGetFunction)(&function, module, "set_all"), CUDA_SUCCESS);
    assert_int_equal(DRIVER_ENTRY(cuLibraryLoadData)(&library, image.data(), nullptr, nullptr, 0,
                                                     nullptr, nullptr, 0),
                     CUDA_SUCCESS);
    assert_int_equal(DRIVER_ENTRY(cuLibraryGetKernel)(&handle, library, "set_all"), CUDA_SUCCESS);
    assert_pdl(pdl_kernel_from_symbol(set_all_symbol, &kernels[0]));
    assert_pdl(kernel_from_function_image(function, image.data(), image.size(), &kernels[1]));
    assert_pdl(kernel_from_kernel_image(handle, image.data(), image.size(), &kernels[2]));
    assert_pdl(kernel_from_image(image.data(), image.size(), "set_all", &kernels[3]));
    for (unsigned i = 0; i < kinds; i++) {
        unsigned *to = fix.cells + i * n;
        const unsigned value = 100 * i;
        const pdl_launch_desc desc = pdl_launch_desc_make(1, n, 0, nullptr, PDL_OVERLAP_REQUIRE);
        assert_pdl(pdl_chain_add(fix.chain, kernels[i], &desc, PDL_ARGS(to, value, n), nullptr, 0,
                                 nullptr));
    }
    assert_pdl(pdl_chain_build(fix.chain));
    assert_chain_census(chain_edges(0, kinds - 1));
    for (unsigned replay = 0; replay < 3; replay++) {
        assert_cuda(cudaMemsetAsync(fix.cells, 0, sizeof(found), fix.stream));
        assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
        assert_cuda(
            cudaMemcpyAsync(found, fix.cells, sizeof(found), cudaMemcpyDeviceToHost, fix.stream));
        assert_cuda(cudaStreamSynchronize(fix.stream));
        for (unsigned i = 0; i < kinds * n; i++) {
            assert_int_equal(found[i], 1000 * replay + 100 * (i / n) + i % n);
        }
        for (unsigned i = 0; i < kinds; i++) { /* for the next replay */
            unsigned *to = fix.cells + i * n;
            const unsigned value = 1000 * (replay + 1) + 100 * i;
            assert_pdl(pdl_chain_set_args(fix.chain, i, PDL_ARGS(to, value, n)));
        }
    }
    pdl_chain_destroy(fix.chain);
    fix.chain = nullptr;
    for (pdl_kernel *kernel : kernels) {
        pdl_kernel_destroy(kernel);
    }
    assert_int_equal(DRIVER_ENTRY(cuLibraryUnload)(library), CUDA_SUCCESS);
    assert_int_equal(DRIVER_ENTRY(cuModuleUnload)(module), CUDA_SUCCESS);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void a_chain_is_launched_only_as_it_was_built(void **)
{
    std::vector<step> steps = {{1, 0, 0, 1}};
    assert_refused(pdl_chain_build(fix.chain), PDL_ERROR_NOT_BUILT, nullptr);
    assert_refused(pdl_chain_launch(fix.chain, fix.stream), PDL_ERROR_NOT_BUILT, nullptr);
    add_step(steps[0], PDL_OVERLAP_AUTO);
    assert_refused(pdl_chain_launch(fix.chain, fix.stream), PDL_ERROR_NOT_BUILT, nullptr);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_computes(steps);
    steps.push_back({2, 1, 0, 2});
    add_step(steps[1], PDL_OVERLAP_AUTO);
    assert_refused(pdl_chain_launch(fix.chain, fix.stream), PDL_ERROR_NOT_BUILT, nullptr);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_computes(steps);
    assert_pdl(pdl_chain_add_dependency(fix.chain, 1, 0));
    assert_refused(pdl_chain_launch(fix.chain, fix.stream), PDL_ERROR_NOT_BUILT, nullptr);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_computes(steps);
}

static void a_chain_may_be_launched_in_the_default_stream(void **)
{
    unsigned found = 0;
    const pdl_launch_desc desc = pdl_launch_desc_make(2, 32);
    assert_pdl(
        pdl_chain_add(fix.chain, fix.count, &desc, PDL_ARGS(fix.cells), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_cuda(cudaMemset(fix.cells, 0, sizeof(*fix.cells)));
    assert_pdl(pdl_chain_launch(fix.chain, nullptr));
    assert_cuda(cudaMemcpy(&found, fix.cells, sizeof(found), cudaMemcpyDeviceToHost));
    assert_int_equal(found, 64);
}

static void a_replay_in_flight_outlives_its_chain(void **)
{
    pair_record run;
    memset(&run, 0, sizeof(run));
    add_pair(PDL_OVERLAP_AUTO);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_cuda(cudaMemset(fix.pair, 0, sizeof(*fix.pair)));
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
    pdl_chain_destroy(fix.chain);
    fix.chain = nullptr;
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaMemcpy(&run, fix.pair, sizeof(run), cudaMemcpyDeviceToHost));
    assert_ran(run, 99);
    assert_true(covered(run));
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void a_cycle_is_refused_and_the_chain_is_as_before(void **)
{
    const std::vector<step> steps = {{1, 0, 0, 1}, {2, 1, 0, 2}, {3, 2, 0, 3}};
    for (const step &s : steps) {
        add_step(s, PDL_OVERLAP_AUTO);
    }
    assert_pdl(pdl_chain_build(fix.chain));
    assert_refused(pdl_chain_add_dependency(fix.chain, 0, 2), PDL_ERROR_CYCLE, "on");
    assert_refused(pdl_chain_add_dependency(fix.chain, 0, 1), PDL_ERROR_CYCLE, "on");
    assert_refused(pdl_chain_add_dependency(fix.chain, 1, 1), PDL_ERROR_CYCLE, "on");
    assert_computes(steps); /* still built */
}

static void a_link_that_is_not_there_is_refused(void **)
{
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_AUTO);
    add_step({1, 0, 0, 1}, PDL_OVERLAP_AUTO);
    assert_refused(pdl_chain_add_dependency(fix.chain, 1, 0), PDL_ERROR_INVALID_ARGUMENT, "link");
    assert_refused(pdl_chain_add_dependency(fix.chain, 0, 1), PDL_ERROR_INVALID_ARGUMENT, "on");
    assert_refused(pdl_chain_set_args(fix.chain, 1, PDL_ARGS(fix.cells)),
                   PDL_ERROR_INVALID_ARGUMENT, "link");
    assert_refused(pdl_chain_set_desc(fix.chain, 1, &desc), PDL_ERROR_INVALID_ARGUMENT, "link");
    assert_refused(pdl_chain_explain(fix.chain, 1, &report), PDL_ERROR_INVALID_ARGUMENT, "link");
}

static void a_link_that_depends_on_others_cannot_be_at_the_start(void **)
{
    add_step({1, 0, 0, 1}, PDL_OVERLAP_AUTO);
    add_step({2, 1, 0, 1}, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_chain_add_dependency(fix.chain, 1, 0));
    assert_refused(pdl_chain_add_dependency(fix.chain, 1, PDL_CHAIN_START),
                   PDL_ERROR_INVALID_ARGUMENT, "on");
}

static pdl_status add_with_sizes(pdl_kernel *kernel, const std::vector<size_t> &sizes)
{
    const unsigned zero = 0;
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_AUTO);
    return pdl_chain_add(fix.chain, kernel, &desc,
                         PDL_ARGS(fix.cells, zero, zero, zero, zero, zero), sizes.data(),
                         sizes.size(), nullptr);
}

static void sizes_that_are_not_the_kernels_are_refused(void **)
{
    pdl_kernel *image = nullptr;
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &image));
    assert_refused(add_with_sizes(fix.combine, {8, 4, 4, 4}), PDL_ERROR_ARGUMENT_SIZE, "sizes");
    assert_refused(add_with_sizes(fix.combine, {8, 4, 4, 4, 4, 4}), PDL_ERROR_ARGUMENT_SIZE,
                   "sizes");
    assert_refused(add_with_sizes(fix.combine, {8, 4, 8, 4, 4}), PDL_ERROR_ARGUMENT_SIZE, "sizes");
    assert_refused(add_with_sizes(image, {8, 4}), PDL_ERROR_ARGUMENT_SIZE, "sizes");
    assert_refused(add_with_sizes(image, {4, 4, 4}), PDL_ERROR_ARGUMENT_SIZE, "sizes");
    assert_pdl(add_with_sizes(fix.combine, {8, 4, 4, 4, 4}));
    assert_pdl(add_with_sizes(image, {8, 4, 4}));
    pdl_chain_destroy(fix.chain);
    fix.chain = nullptr;
    pdl_kernel_destroy(image);
}

static void arguments_that_are_missing_are_refused(void **)
{
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_AUTO);
    void *args[] = {&fix.cells, nullptr, nullptr, nullptr, nullptr};
    assert_refused(pdl_chain_add(fix.chain, fix.combine, &desc, args, nullptr, 0, nullptr),
                   PDL_ERROR_INVALID_ARGUMENT, "args");
    assert_refused(pdl_chain_add(fix.chain, fix.combine, &desc, nullptr, nullptr, 0, nullptr),
                   PDL_ERROR_INVALID_ARGUMENT, "args");
    assert_refused(pdl_chain_add(fix.chain, fix.combine, &desc, args, nullptr, 5, nullptr),
                   PDL_ERROR_INVALID_ARGUMENT, "sizes");
}

static void events_and_device_nodes_are_refused_in_a_chain(void **)
{
    struct CUevent_st *event = nullptr;
    struct CUgraphDeviceUpdatableNode_st *node = nullptr;
    assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    pdl_launch_desc desc = desc_with(PDL_OVERLAP_AUTO);
    desc.trigger_event = event;
    assert_refused(
        pdl_chain_add(fix.chain, fix.count, &desc, PDL_ARGS(fix.cells), nullptr, 0, nullptr),
        PDL_ERROR_NOT_SUPPORTED, "trigger_event");
    desc.trigger_event = nullptr;
    desc.launch_event = event;
    assert_refused(
        pdl_chain_add(fix.chain, fix.count, &desc, PDL_ARGS(fix.cells), nullptr, 0, nullptr),
        PDL_ERROR_NOT_SUPPORTED, "launch_event");
    desc.launch_event = nullptr;
    desc.device_node = &node;
    assert_refused(
        pdl_chain_add(fix.chain, fix.count, &desc, PDL_ARGS(fix.cells), nullptr, 0, nullptr),
        PDL_ERROR_NOT_SUPPORTED, "device_node");
    (void)cudaEventDestroy(event);
}

static void a_descriptor_that_a_launch_would_refuse_is_refused(void **)
{
    pdl_launch_desc desc = pdl_launch_desc_make(1, dim3(1024, 2));
    assert_refused(
        pdl_chain_add(fix.chain, fix.count, &desc, PDL_ARGS(fix.cells), nullptr, 0, nullptr),
        PDL_ERROR_BLOCK_TOO_LARGE, "block");
    desc = pdl_launch_desc_make(1 << 20, 1024);
    desc.cooperative = 1;
    assert_refused(
        pdl_chain_add(fix.chain, fix.count, &desc, PDL_ARGS(fix.cells), nullptr, 0, nullptr),
        PDL_ERROR_COOPERATIVE_TOO_LARGE, "cooperative");
    desc = pdl_launch_desc_make(1, 1, 0, nullptr, PDL_OVERLAP_REQUIRE);
    desc.cooperative = 1;
    assert_refused(
        pdl_chain_add(fix.chain, fix.count, &desc, PDL_ARGS(fix.cells), nullptr, 0, nullptr),
        PDL_ERROR_COOPERATIVE_OVERLAP, "overlap");
}

/* ---- one thread at a time ------------------------------------------------------------------- */

/* What another thread is told while this one is inside pdl_chain_add(), which asks the Runtime for
 * the kernel's function. */
static pdl_status told[4];

static int32_t get_function_while_inside(const void *symbol, struct CUfunc_st **function)
{
    std::thread other([] {
        pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
        const pdl_launch_desc desc = desc_with(PDL_OVERLAP_AUTO);
        told[0] = pdl_chain_launch(fix.chain, fix.stream);
        told[1] = pdl_chain_build(fix.chain);
        told[2] = pdl_chain_set_desc(fix.chain, 0, &desc);
        told[3] = pdl_chain_explain(fix.chain, 0, &report);
    });
    other.join();
    return pdl_cudart_ops_()->get_function(symbol, function);
}

static void a_second_thread_is_told_that_the_chain_is_busy(void **)
{
    pdl_kernel *kernel = nullptr;
    unsigned found = 0;
    pdl_runtime_ops ops = *pdl_cudart_ops_();
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 32);
    ops.get_function = get_function_while_inside;
    assert_pdl(pdl_kernel_from_runtime(reinterpret_cast<const void *>(count), &ops, &kernel));
    for (pdl_status &status : told) {
        status = PDL_SUCCESS;
    }
    assert_pdl(pdl_chain_add(fix.chain, kernel, &desc, PDL_ARGS(fix.cells), nullptr, 0, nullptr));
    for (const pdl_status status : told) {
        assert_int_equal(status, PDL_ERROR_BUSY);
    }
    assert_pdl(pdl_chain_build(fix.chain));
    assert_cuda(cudaMemset(fix.cells, 0, sizeof(*fix.cells)));
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaMemcpy(&found, fix.cells, sizeof(found), cudaMemcpyDeviceToHost));
    assert_int_equal(found, 32);
    pdl_chain_destroy(fix.chain);
    fix.chain = nullptr;
    pdl_kernel_destroy(kernel);
}

/* Two threads launch one chain as fast as they can: every launch runs once or is refused as
 * busy. */
static void launches_from_two_threads_run_once_or_are_refused_as_busy(void **)
{
    const unsigned links = 3;
    const int attempts = 2000;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 32, 0, nullptr, PDL_OVERLAP_AUTO);
    std::atomic<unsigned> launched(0);
    std::atomic<unsigned> busy(0);
    std::atomic<int> wrong(0);
    std::atomic<int> waiting(2);
    unsigned found = 0;
    for (unsigned i = 0; i < links; i++) {
        assert_pdl(
            pdl_chain_add(fix.chain, fix.count, &desc, PDL_ARGS(fix.cells), nullptr, 0, nullptr));
    }
    assert_pdl(pdl_chain_build(fix.chain));
    assert_cuda(cudaMemset(fix.cells, 0, sizeof(*fix.cells)));
    assert_cuda(cudaDeviceSynchronize());
    const auto hammer = [&] {
        cudaStream_t stream = nullptr;
        if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
            wrong++;
        }
        waiting--;
        while (waiting > 0) {
        }
        for (int i = 0; i < attempts; i++) {
            const pdl_status status = pdl_chain_launch(fix.chain, stream);
            launched += status == PDL_SUCCESS;
            busy += status == PDL_ERROR_BUSY;
            wrong += status != PDL_SUCCESS && status != PDL_ERROR_BUSY;
        }
        wrong += cudaStreamSynchronize(stream) != cudaSuccess;
        wrong += cudaStreamDestroy(stream) != cudaSuccess;
    };
    std::thread one(hammer);
    std::thread two(hammer);
    one.join();
    two.join();
    print_message("%u launches ran, %u were refused as busy\n", launched.load(), busy.load());
    assert_int_equal(wrong.load(), 0);
    assert_int_equal(launched.load() + busy.load(), 2 * attempts);
    assert_true(launched.load() > 0);
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaMemcpy(&found, fix.cells, sizeof(found), cudaMemcpyDeviceToHost));
    assert_int_equal(found, launched.load() * links * 32);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main()
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_computes_in_order_and_all_its_edges_are_programmatic),
        TEST(a_line_without_overlap_computes_in_order),
        TEST(each_link_decides_its_own_edge),
        TEST(a_fork_and_a_join_compute_in_order),
        TEST(links_may_be_added_in_another_order_than_they_run),
        TEST(a_link_with_overlap_starts_before_the_one_before_it_has_ended),
        TEST(a_link_without_overlap_starts_after_the_one_before_it_has_ended),
        TEST(a_link_at_the_start_does_not_wait_for_the_one_before_it),
        TEST(explain_tells_what_a_link_waits_for_and_how),
        TEST(explain_tells_why_code_for_8_0_does_not_overlap),
        TEST(kernels_of_every_kind_may_stand_in_one_chain),
        TEST(a_chain_is_launched_only_as_it_was_built),
        TEST(a_chain_may_be_launched_in_the_default_stream),
        TEST(a_replay_in_flight_outlives_its_chain),
        TEST(a_cycle_is_refused_and_the_chain_is_as_before),
        TEST(a_link_that_is_not_there_is_refused),
        TEST(a_link_that_depends_on_others_cannot_be_at_the_start),
        TEST(sizes_that_are_not_the_kernels_are_refused),
        TEST(arguments_that_are_missing_are_refused),
        TEST(events_and_device_nodes_are_refused_in_a_chain),
        TEST(a_descriptor_that_a_launch_would_refuse_is_refused),
        TEST(a_second_thread_is_told_that_the_chain_is_busy),
        TEST(launches_from_two_threads_run_once_or_are_refused_as_busy),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
