/* SPDX-License-Identifier: MIT */
/* Chains: their shapes, what overlaps in them, and kernels of every kind. Changes between replays are in
 * chain_update_test.cu. */
#include <array>

#include "../cuda/from_image.h"
#include "driver_entry.h"
#include "graph_test.cuh"

/* Cell `to` becomes three times cell `a` plus cell `b` plus `add`, some time after the trigger: a
 * link that reads too early computes something else. */
static __global__ void combine(unsigned *of, unsigned to, unsigned a, unsigned b, unsigned add)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    const unsigned sum = 3 * PDL_LOAD(&of[a]) + PDL_LOAD(&of[b]) + add;
    spin(20000);
    of[to] = sum;
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

/* ---- shapes --------------------------------------------------------------------------------- */

struct step {
    unsigned to, a, b, add;
    pdl_overlap overlap;
};

static std::vector<step> line(unsigned links, pdl_overlap even, pdl_overlap odd)
{
    std::vector<step> steps;
    for (unsigned i = 0; i < links; i++) {
        steps.push_back({i + 1, i, i > 0 ? i - 1 : 0, i, i % 2 == 0 ? even : odd});
    }
    return steps;
}

static const pdl_overlap AUTO = PDL_OVERLAP_AUTO;
static const struct {
    const char *name;
    std::vector<step> links;
    std::vector<std::array<uint32_t, 2>> dependencies; /* a link, and the one that it depends on */
    std::vector<unsigned> order;                       /* in which they run, if not as added */
    unsigned full, programmatic;
} shapes[] = {
    {"a line with overlap", line(20, AUTO, AUTO), {}, {}, 0, 19},
    {"a line without overlap", line(8, PDL_OVERLAP_NONE, PDL_OVERLAP_NONE), {}, {}, 7, 0},
    {"each link decides", line(9, PDL_OVERLAP_REQUIRE, PDL_OVERLAP_NONE), {}, {}, 4, 4},
    {"a fork and a join",
     {{1, 0, 0, 1, AUTO}, {2, 1, 0, 2, AUTO}, {3, 1, 0, 3, AUTO}, {4, 2, 3, 4, AUTO}},
     {{{2, 0}}, {{3, 1}}, {{3, 2}}, {{3, 2}}},
     {},
     0,
     4},
    {"links that were added in another order than they run",
     {{3, 2, 1, 5, AUTO}, {2, 1, 0, 6, AUTO}, {1, 0, 0, 7, AUTO}},
     {{{2, PDL_CHAIN_START}}, {{1, 2}}, {{0, 1}}},
     {2, 1, 0},
     0,
     2},
};

TEST_ROWS(a_chain_computes_in_order_with_the_edges_of_its_shape, shapes)
{
    std::vector<unsigned> seed(cell_count), expected;
    pdl_kernel *const kernel = kernel_of(combine);
    cudaGraph_t graph = nullptr;
    for (const step &s : row.links) {
        add_link(chain, kernel, s.overlap, PDL_ARGS(cells, s.to, s.a, s.b, s.add));
    }
    for (const auto &dependency : row.dependencies) {
        assert_pdl(pdl_chain_add_dependency(chain, dependency[0], dependency[1]));
    }
    assert_pdl(pdl_chain_build(chain));
    assert_pdl(pdl_chain_graph(chain, &graph));
    assert_census(graph, {row.full, row.programmatic, 0, 0});
    seed[0] = 7;
    expected = seed;
    for (size_t i = 0; i < row.links.size(); i++) {
        const step &s = row.links[row.order.empty() ? i : row.order[i]];
        expected[s.to] = 3 * expected[s.a] + expected[s.b] + s.add;
    }
    for (int i = 0; i < 5; i++) {
        assert_cuda(
            cudaMemcpy(cells, seed.data(), cell_count * sizeof(unsigned), cudaMemcpyHostToDevice));
        assert_cuda(cudaDeviceSynchronize());
        replay();
        assert_true(contents(cells, cell_count) == expected);
    }
}

/* ---- overlap -------------------------------------------------------------------------------- */

TEST(a_link_with_overlap_starts_before_the_one_before_it_has_ended)
{
    add_first(99);
    add_second(PDL_OVERLAP_AUTO);
    assert_overlapped_and_covered(replay_pairs(), 99);
}

TEST(a_link_without_overlap_starts_after_the_one_before_it_has_ended)
{
    add_first(99);
    add_second(PDL_OVERLAP_NONE);
    assert_serial(replay_pairs(), 99);
}

TEST(a_link_at_the_start_does_not_wait_for_the_one_before_it)
{
    add_first(99);
    assert_pdl(pdl_chain_add_dependency(chain, add_second(PDL_OVERLAP_NONE), PDL_CHAIN_START));
    for (const pair_record &run : replay_pairs()) {
        assert_ran(run, 99);
        assert_if_concurrent(overlapped(run));
    }
    assert_int_equal(census_of(chain).edges, 0);
}

TEST(code_for_8_0_does_not_overlap)
{
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    add_first(99);
    add_link(chain, kernel_of(second_for_80()), PDL_OVERLAP_AUTO, PDL_ARGS(pair_memory));
    for (const pair_record &run : replay_pairs()) {
        assert_ran(run, 99);
        assert_false(overlapped(run));
    }
    assert_int_equal(census_of(chain).full, 1);
    assert_pdl(pdl_chain_explain(chain, 1, &report));
    assert_int_equal(report.overlap, 0);
    assert_int_equal(report.overlap_reason, PDL_REASON_CODE);
}

/* ---- kernels from everywhere ---------------------------------------------------------------- */

TEST(kernels_of_every_kind_may_stand_in_one_chain)
{
    const unsigned n = 8;
    const unsigned kinds = 4;
    const std::vector<char> image = read_file(PDL_TEST_FATBIN);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUlibrary library = nullptr;
    CUkernel handle = nullptr;
    pdl_kernel *kernels[kinds] = {kernel_of(set_all_symbol)};
    assert_int_equal(DRIVER_ENTRY(cuModuleLoadData)(&module, image.data()), CUDA_SUCCESS);
    assert_int_equal(DRIVER_ENTRY(cuModuleGetFunction)(&function, module, "set_all"), CUDA_SUCCESS);
    assert_int_equal(DRIVER_ENTRY(cuLibraryLoadData)(&library, image.data(), nullptr, nullptr, 0,
                                                     nullptr, nullptr, 0),
                     CUDA_SUCCESS);
    assert_int_equal(DRIVER_ENTRY(cuLibraryGetKernel)(&handle, library, "set_all"), CUDA_SUCCESS);
    assert_pdl(kernel_from_function_image(function, image.data(), image.size(), &kernels[1]));
    assert_pdl(kernel_from_kernel_image(handle, image.data(), image.size(), &kernels[2]));
    assert_pdl(kernel_from_image(image.data(), image.size(), "set_all", &kernels[3]));
    for (unsigned i = 0; i < kinds; i++) {
        unsigned *to = cells + i * n;
        const unsigned value = 100 * i;
        const pdl_launch_desc desc = pdl_launch_desc_make(1, n, 0, nullptr, PDL_OVERLAP_REQUIRE);
        assert_pdl(
            pdl_chain_add(chain, kernels[i], &desc, PDL_ARGS(to, value, n), nullptr, 0, nullptr));
    }
    assert_pdl(pdl_chain_build(chain));
    assert_int_equal(census_of(chain).programmatic, kinds - 1);
    for (unsigned turn = 0; turn < 3; turn++) {
        replay();
        const std::vector<unsigned> found = contents(cells, kinds * n);
        for (unsigned i = 0; i < kinds * n; i++) {
            assert_int_equal(found[i], 1000 * turn + 100 * (i / n) + i % n);
        }
        for (unsigned i = 0; i < kinds; i++) { /* for the next turn */
            unsigned *to = cells + i * n;
            const unsigned value = 1000 * (turn + 1) + 100 * i;
            assert_pdl(pdl_chain_set_args(chain, i, PDL_ARGS(to, value, n)));
        }
    }
    for (unsigned i = 1; i < kinds; i++) {
        keep(kernels[i]);
    }
    undo_last([=] {
        (void)DRIVER_ENTRY(cuLibraryUnload)(library);
        (void)DRIVER_ENTRY(cuModuleUnload)(module);
    });
}

/* What the driver tells of the parameters of a symbol and of a kernel of an image. */
TEST(sizes_that_are_not_the_kernels_are_refused)
{
    const unsigned zero = 0;
    const pdl_launch_desc desc = desc_with(PDL_OVERLAP_AUTO);
    const auto add_sized = [&](pdl_kernel *kernel, std::vector<size_t> sizes) {
        return pdl_chain_add(chain, kernel, &desc, PDL_ARGS(cells, zero, zero, zero, zero),
                             sizes.data(), sizes.size(), nullptr);
    };
    pdl_kernel *image = nullptr;
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &image));
    keep(image);
    assert_refused(add_sized(kernel_of(combine), {8, 4, 8, 4, 4}), PDL_ERROR_ARGUMENT_SIZE,
                   "sizes");
    assert_refused(add_sized(image, {8, 4}), PDL_ERROR_ARGUMENT_SIZE, "sizes");
    assert_pdl(add_sized(kernel_of(combine), {8, 4, 4, 4, 4}));
    assert_pdl(add_sized(image, {8, 4, 4}));
}

/* ---- life ----------------------------------------------------------------------------------- */

TEST(a_chain_may_be_launched_in_the_default_stream)
{
    add_link(chain, kernel_of(combine), PDL_OVERLAP_NONE, PDL_ARGS(cells, 0u, 1u, 1u, 5u));
    assert_pdl(pdl_chain_build(chain));
    assert_pdl(pdl_chain_launch(chain, nullptr));
    assert_int_equal(content(cells), 5);
}

TEST(a_replay_in_flight_outlives_its_chain)
{
    pdl_chain *other = nullptr;
    assert_pdl(pdl_chain_create(nullptr, &other));
    add_first(99, other);
    add_second(PDL_OVERLAP_AUTO, other);
    assert_pdl(pdl_chain_build(other));
    assert_pdl(pdl_chain_launch(other, stream));
    pdl_chain_destroy(other);
    const pair_record run = content(pair_memory);
    assert_ran(run, 99);
    assert_true(covered(run));
}

int main()
{
    return run_gpu_tests(set_up);
}
