/* SPDX-License-Identifier: MIT */
/* Chains changed between replays: arguments, descriptors, what needs a rebuild, and what is
 * refused. */
#include <pdl/chain.h>

#include "graph_test.cuh"

/* What a launch of `report` saw of its own shape. */
struct seen_shape {
    unsigned threads; /* all of the grid's */
    unsigned grid;
    unsigned block;
    unsigned dynamic_shared_memory;
    unsigned cluster;
    unsigned tag; /* its argument */
};

static __global__ void report(seen_shape *to, unsigned tag)
{
    unsigned shared = 0;
    unsigned cluster = 0;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared));
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(cluster));
    atomicAdd(&to->threads, 1u);
    to->grid = gridDim.x;
    to->block = blockDim.x;
    to->dynamic_shared_memory = shared;
    to->cluster = cluster;
    to->tag = tag;
}

/* Always in clusters of two blocks, whatever the descriptor says. */
static __global__ void __cluster_dims__(2, 1, 1) report_in_pairs(seen_shape *to, unsigned tag)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(&to->threads, 1u);
    to->grid = gridDim.x;
    to->tag = tag;
}

static __global__ void hold(unsigned long long ns)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    spin(ns);
}

struct fixture {
    cudaStream_t stream;
    pdl_chain *chain;
    seen_shape *shapes;
    pair_record *pair;
    char *window;
    pdl_kernel *report;
    pdl_kernel *report_in_pairs;
    pdl_kernel *hold;
    pdl_kernel *first;
    pdl_kernel *second;
};

static fixture fix;
static const size_t window_bytes = 1 << 16;
static const int shape_count = 4;

static int set_up(void **)
{
    assert_cuda(cudaStreamCreateWithFlags(&fix.stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&fix.shapes, shape_count * sizeof(*fix.shapes)));
    assert_cuda(cudaMalloc(&fix.pair, sizeof(*fix.pair)));
    assert_cuda(cudaMalloc(&fix.window, window_bytes));
    assert_pdl(pdl_chain_create(nullptr, &fix.chain));
    assert_pdl(pdl_kernel_from_symbol(report, &fix.report));
    assert_pdl(pdl_kernel_from_symbol(report_in_pairs, &fix.report_in_pairs));
    assert_pdl(pdl_kernel_from_symbol(hold, &fix.hold));
    assert_pdl(pdl_kernel_from_symbol(pair_produce, &fix.first));
    assert_pdl(pdl_kernel_from_symbol(pair_consume, &fix.second));
    return 0;
}

static int tear_down(void **)
{
    assert_cuda(cudaDeviceSynchronize());
    pdl_chain_destroy(fix.chain);
    for (pdl_kernel *kernel : {fix.second, fix.first, fix.hold, fix.report_in_pairs, fix.report}) {
        pdl_kernel_destroy(kernel);
    }
    assert_cuda(cudaFree(fix.window));
    assert_cuda(cudaFree(fix.pair));
    assert_cuda(cudaFree(fix.shapes));
    assert_cuda(cudaStreamDestroy(fix.stream));
    return 0;
}

static pdl_launch_desc shape_desc(unsigned grid, unsigned block, unsigned shared = 0)
{
    return pdl_launch_desc_make(grid, block, shared, nullptr, PDL_OVERLAP_AUTO);
}

static uint32_t add_report(pdl_kernel *kernel, const pdl_launch_desc &desc, unsigned tag)
{
    uint32_t link = ~0u;
    assert_pdl(
        pdl_chain_add(fix.chain, kernel, &desc, PDL_ARGS(fix.shapes, tag), nullptr, 0, &link));
    return link;
}

static void clear_shapes(void)
{
    assert_cuda(cudaMemsetAsync(fix.shapes, 0, shape_count * sizeof(*fix.shapes), fix.stream));
    assert_cuda(cudaStreamSynchronize(fix.stream));
}

static seen_shape read_shape(int index)
{
    seen_shape shape;
    assert_cuda(cudaStreamSynchronize(fix.stream));
    assert_cuda(cudaMemcpy(&shape, fix.shapes + index, sizeof(shape), cudaMemcpyDeviceToHost));
    return shape;
}

/* Replays once and returns what the last `report` into the first place saw. */
static seen_shape replay(void)
{
    clear_shapes();
    assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
    return read_shape(0);
}

static void assert_shape(const seen_shape &shape, unsigned grid, unsigned block, unsigned shared,
                         unsigned tag)
{
    assert_int_equal(shape.grid, grid);
    assert_int_equal(shape.block, block);
    assert_int_equal(shape.threads, grid * block);
    assert_int_equal(shape.dynamic_shared_memory, shared);
    assert_int_equal(shape.tag, tag);
}

static unsigned programmatic_edges(void)
{
    pdl_census census = PDL_CENSUS_INIT;
    cudaGraph_t graph = nullptr;
    assert_pdl(pdl_chain_graph(fix.chain, &graph));
    assert_pdl(pdl_graph_census(graph, &census));
    return census.programmatic;
}

/* ---- arguments ------------------------------------------------------------------------------ */

static void new_arguments_hold_from_the_next_replay_on(void **)
{
    const uint32_t link = add_report(fix.report, shape_desc(2, 32), 1);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), 2, 32, 0, 1);
    for (unsigned tag = 2; tag < 6; tag++) {
        assert_pdl(pdl_chain_set_args(fix.chain, link, PDL_ARGS(fix.shapes, tag)));
        assert_shape(replay(), 2, 32, 0, tag);
        assert_shape(replay(), 2, 32, 0, tag); /* and stay */
    }
}

template <unsigned Size, unsigned Align> struct alignas(Align) filled {
    unsigned char bytes[Size];
};

/* Adds up all bytes of its arguments. */
template <typename First, typename Last>
static __global__ void add_up(First first, unsigned *to, Last last)
{
    unsigned sum = 0;
    PDL_WAIT();
    for (unsigned char byte : first.bytes) {
        sum += byte;
    }
    for (unsigned char byte : last.bytes) {
        sum += 1000u * byte;
    }
    *to = sum;
}

template <typename First, typename Last> static void assert_adds_up(void)
{
    pdl_kernel *kernel = nullptr;
    pdl_chain *chain = nullptr;
    unsigned *to = &fix.shapes->tag;
    First first;
    Last last;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 0, nullptr, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_kernel_from_symbol(add_up<First, Last>, &kernel));
    assert_pdl(pdl_chain_create(nullptr, &chain));
    for (unsigned turn = 0; turn < 4; turn++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < sizeof(first); i++) {
            first.bytes[i] = static_cast<unsigned char>(7 * i + turn + 1);
            sum += first.bytes[i];
        }
        for (unsigned i = 0; i < sizeof(last); i++) {
            last.bytes[i] = static_cast<unsigned char>(5 * i + turn + 3);
            sum += 1000u * last.bytes[i];
        }
        if (turn == 0) {
            assert_pdl(pdl_chain_add(chain, kernel, &desc, PDL_ARGS(first, to, last), nullptr, 0,
                                     nullptr));
            assert_pdl(pdl_chain_build(chain));
        } else {
            assert_pdl(pdl_chain_set_args(chain, 0, PDL_ARGS(first, to, last)));
        }
        assert_pdl(pdl_chain_launch(chain, fix.stream));
        assert_int_equal(read_shape(0).tag, sum);
    }
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void arguments_of_every_size_and_alignment_are_changed(void **)
{
    assert_adds_up<filled<1, 1>, filled<1, 1>>();
    assert_adds_up<filled<8, 8>, filled<4, 4>>();
    assert_adds_up<filled<3, 1>, filled<2, 2>>();
    assert_adds_up<filled<2, 2>, filled<3, 1>>();
    assert_adds_up<filled<65, 1>, filled<7, 1>>();
    assert_adds_up<filled<1, 1>, filled<16, 16>>();
    assert_adds_up<filled<32, 16>, filled<1, 1>>();
    assert_adds_up<filled<5, 1>, filled<3000, 8>>();
}

static void arguments_may_be_changed_before_the_chain_is_built(void **)
{
    const unsigned tag = 7;
    const uint32_t link = add_report(fix.report, shape_desc(1, 32), 1);
    assert_pdl(pdl_chain_set_args(fix.chain, link, PDL_ARGS(fix.shapes, tag)));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), 1, 32, 0, tag);
}

static void new_arguments_survive_a_rebuild(void **)
{
    const unsigned tag = 8;
    const uint32_t link = add_report(fix.report, shape_desc(1, 32), 1);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_pdl(pdl_chain_set_args(fix.chain, link, PDL_ARGS(fix.shapes, tag)));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), 1, 32, 0, tag);
}

/* The first replay is held while the arguments change and more replays are queued behind it. */
static void a_replay_that_is_running_keeps_the_arguments_it_was_launched_with(void **)
{
    const unsigned long long ns = 50000000;
    const pdl_launch_desc one = shape_desc(1, 1);
    assert_pdl(pdl_chain_add(fix.chain, fix.hold, &one, PDL_ARGS(ns), nullptr, 0, nullptr));
    const uint32_t link = add_report(fix.report, one, 1);
    assert_pdl(pdl_chain_build(fix.chain));
    clear_shapes();
    assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
    for (unsigned i = 1; i < static_cast<unsigned>(shape_count); i++) {
        seen_shape *to = fix.shapes + i;
        const unsigned tag = i + 1;
        assert_pdl(pdl_chain_set_args(fix.chain, link, PDL_ARGS(to, tag)));
        assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
    }
    assert_int_equal(cudaStreamQuery(fix.stream), cudaErrorNotReady);
    for (int i = 0; i < shape_count; i++) {
        const seen_shape shape = read_shape(i);
        assert_int_equal(shape.threads, 1);
        assert_int_equal(shape.tag, i + 1);
    }
}

static void a_missing_argument_is_refused_and_the_old_ones_stay(void **)
{
    void *args[] = {&fix.shapes, nullptr};
    const uint32_t link = add_report(fix.report, shape_desc(1, 32), 1);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_refused(pdl_chain_set_args(fix.chain, link, args), PDL_ERROR_INVALID_ARGUMENT, "args");
    assert_refused(pdl_chain_set_args(fix.chain, link, nullptr), PDL_ERROR_INVALID_ARGUMENT,
                   "args");
    assert_shape(replay(), 1, 32, 0, 1);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static void grid_block_and_shared_memory_can_be_changed(void **)
{
    const uint32_t link = add_report(fix.report, shape_desc(2, 32), 1);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), 2, 32, 0, 1);
    const unsigned shapes[][3] = {{7, 32, 0}, {7, 64, 0}, {7, 64, 4096}, {1, 96, 128}, {2, 32, 0}};
    for (const auto &s : shapes) {
        const pdl_launch_desc desc = shape_desc(s[0], s[1], s[2]);
        assert_pdl(pdl_chain_set_desc(fix.chain, link, &desc));
        assert_shape(replay(), s[0], s[1], s[2], 1);
    }
}

static void a_new_grid_and_new_arguments_do_not_undo_each_other(void **)
{
    const unsigned second = 2;
    const unsigned third = 3;
    const uint32_t link = add_report(fix.report, shape_desc(2, 32), 1);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_pdl(pdl_chain_set_args(fix.chain, link, PDL_ARGS(fix.shapes, second)));
    const pdl_launch_desc desc = shape_desc(5, 32);
    assert_pdl(pdl_chain_set_desc(fix.chain, link, &desc));
    assert_shape(replay(), 5, 32, 0, second);
    assert_pdl(pdl_chain_set_args(fix.chain, link, PDL_ARGS(fix.shapes, third)));
    assert_shape(replay(), 5, 32, 0, third);
}

static void set_access_policy(pdl_launch_desc &desc, float hit_ratio)
{
    desc.access_policy.base = fix.window;
    desc.access_policy.bytes = window_bytes;
    desc.access_policy.hit_ratio = hit_ratio;
    desc.access_policy.hit_property = PDL_ACCESS_PERSISTING;
}

/* Two links, so that rebuilding for one shows whether the other keeps what was changed before. */
static void a_change_of_an_attribute_needs_a_rebuild_that_undoes_no_other_change(void **)
{
    const unsigned tag = 9;
    pdl_launch_desc desc = shape_desc(2, 32);
    set_access_policy(desc, 0.5f);
    const uint32_t other = add_report(fix.report, shape_desc(1, 32), 1);
    const uint32_t link = add_report(fix.report, desc, 2);
    assert_pdl(pdl_chain_build(fix.chain));
    seen_shape *elsewhere = fix.shapes + 1;
    assert_pdl(pdl_chain_set_args(fix.chain, other, PDL_ARGS(elsewhere, tag)));
    const pdl_launch_desc wider = shape_desc(3, 32);
    assert_pdl(pdl_chain_set_desc(fix.chain, other, &wider));

    set_access_policy(desc, 0.25f);
    desc.grid[0] = 4;
    assert_refused(pdl_chain_set_desc(fix.chain, link, &desc), PDL_ERROR_REBUILD, "desc");
    assert_shape(replay(), 2, 32, 0, 2);
    assert_pdl(pdl_chain_reset(fix.chain));
    assert_pdl(pdl_chain_set_desc(fix.chain, link, &desc));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), 4, 32, 0, 2);
    assert_shape(read_shape(1), 3, 32, 0, tag);
    assert_int_equal(programmatic_edges(), 1);
}

static void needs_a_rebuild(const pdl_launch_desc &from, const pdl_launch_desc &to)
{
    const uint32_t link = add_report(fix.report, from, 1);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), from.grid[0], from.block[0], 0, 1);
    assert_refused(pdl_chain_set_desc(fix.chain, link, &to), PDL_ERROR_REBUILD, "desc");
    assert_shape(replay(), from.grid[0], from.block[0], 0, 1);
    assert_pdl(pdl_chain_reset(fix.chain));
    assert_pdl(pdl_chain_set_desc(fix.chain, link, &to));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), to.grid[0], to.block[0], 0, 1);
}

static void another_priority_needs_a_rebuild(void **)
{
    pdl_launch_desc from = shape_desc(2, 32);
    pdl_launch_desc to = shape_desc(3, 32);
    from.priority = -1;
    to.priority = -2;
    needs_a_rebuild(from, to);
}

static void another_memory_sync_domain_needs_a_rebuild(void **)
{
    pdl_launch_desc from = shape_desc(2, 32);
    pdl_launch_desc to = shape_desc(3, 32);
    from.flags = to.flags = PDL_LAUNCH_SET_MEM_SYNC_DOMAIN;
    to.mem_sync_domain = 1;
    needs_a_rebuild(from, to);
}

static void another_cluster_needs_a_rebuild(void **)
{
    pdl_launch_desc from = shape_desc(8, 32);
    pdl_launch_desc to = shape_desc(8, 32);
    from.cluster[0] = 2;
    to.cluster[0] = 4;
    needs_a_rebuild(from, to);
    assert_int_equal(read_shape(0).cluster, 4);
}

/* ---- rebuilding ----------------------------------------------------------------------------- */

static std::vector<pair_record> run_chain_pairs(void)
{
    return run_pairs(fix.stream, fix.pair, 3,
                     [] { assert_pdl(pdl_chain_launch(fix.chain, fix.stream)); });
}

static void another_overlap_needs_a_rebuild(void **)
{
    const unsigned value = 5;
    const pdl_launch_desc serial = pdl_launch_desc_make(1, 1);
    const pdl_launch_desc overlap = shape_desc(1, 1);
    assert_pdl(pdl_chain_add(fix.chain, fix.first, &overlap, PDL_ARGS(fix.pair, value), nullptr, 0,
                             nullptr));
    assert_pdl(
        pdl_chain_add(fix.chain, fix.second, &overlap, PDL_ARGS(fix.pair), nullptr, 0, nullptr));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_refused(pdl_chain_set_desc(fix.chain, 1, &serial), PDL_ERROR_REBUILD, "desc");
    assert_int_equal(programmatic_edges(), 1);
    assert_overlapped_and_covered(run_chain_pairs(), value); /* nothing has changed */

    assert_pdl(pdl_chain_reset(fix.chain));
    assert_pdl(pdl_chain_set_desc(fix.chain, 1, &serial));
    assert_refused(pdl_chain_launch(fix.chain, fix.stream), PDL_ERROR_NOT_BUILT, nullptr);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_int_equal(programmatic_edges(), 0);
    assert_serial(run_chain_pairs(), value);
}

static void another_set_of_attributes_needs_a_rebuild(void **)
{
    const pdl_launch_desc plain = shape_desc(2, 32);
    pdl_launch_desc with_policy = shape_desc(3, 32);
    set_access_policy(with_policy, 0.5f);
    const uint32_t link = add_report(fix.report, plain, 1);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_refused(pdl_chain_set_desc(fix.chain, link, &with_policy), PDL_ERROR_REBUILD, "desc");
    assert_shape(replay(), 2, 32, 0, 1);
    assert_pdl(pdl_chain_reset(fix.chain));
    assert_pdl(pdl_chain_set_desc(fix.chain, link, &with_policy));
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), 3, 32, 0, 1);
    assert_refused(pdl_chain_set_desc(fix.chain, link, &plain), PDL_ERROR_REBUILD, "desc");
    assert_shape(replay(), 3, 32, 0, 1);
}

static void a_chain_that_was_reset_is_built_and_launched_again(void **)
{
    add_report(fix.report, shape_desc(2, 32), 1);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), 2, 32, 0, 1);
    assert_pdl(pdl_chain_reset(fix.chain));
    assert_refused(pdl_chain_launch(fix.chain, fix.stream), PDL_ERROR_NOT_BUILT, nullptr);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_shape(replay(), 2, 32, 0, 1);
}

static void a_replay_in_flight_goes_on_when_the_chain_is_reset(void **)
{
    const unsigned long long ns = 5000000;
    const pdl_launch_desc one = shape_desc(1, 1);
    assert_pdl(pdl_chain_add(fix.chain, fix.hold, &one, PDL_ARGS(ns), nullptr, 0, nullptr));
    add_report(fix.report, shape_desc(2, 32), 1);
    assert_pdl(pdl_chain_build(fix.chain));
    clear_shapes();
    assert_pdl(pdl_chain_launch(fix.chain, fix.stream));
    assert_pdl(pdl_chain_reset(fix.chain));
    assert_shape(read_shape(0), 2, 32, 0, 1);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void a_descriptor_that_a_launch_would_refuse_changes_nothing(void **)
{
    const uint32_t link = add_report(fix.report, shape_desc(2, 32), 1);
    assert_pdl(pdl_chain_build(fix.chain));
    pdl_launch_desc desc = pdl_launch_desc_make(1, dim3(1024, 2), 0, nullptr, PDL_OVERLAP_AUTO);
    assert_refused(pdl_chain_set_desc(fix.chain, link, &desc), PDL_ERROR_BLOCK_TOO_LARGE, "block");
    desc = shape_desc(0, 32);
    assert_refused(pdl_chain_set_desc(fix.chain, link, &desc), PDL_ERROR_INVALID_GRID, "grid");
    desc = shape_desc(1, 32, 1 << 20);
    assert_refused(pdl_chain_set_desc(fix.chain, link, &desc), PDL_ERROR_SHARED_MEMORY,
                   "dynamic_shared_memory");
    assert_shape(replay(), 2, 32, 0, 1);
}

/* Three blocks are no whole number of the pairs that the kernel was compiled for. */
static void a_grid_that_compiled_clusters_refuse_changes_nothing(void **)
{
    const pdl_launch_desc four = shape_desc(4, 32);
    const pdl_launch_desc three = shape_desc(3, 32);
    const pdl_launch_desc six = shape_desc(6, 32);
    const uint32_t link = add_report(fix.report_in_pairs, four, 1);
    assert_pdl(pdl_chain_build(fix.chain));
    assert_int_equal(replay().threads, 4 * 32);
    assert_refused(pdl_chain_set_desc(fix.chain, link, &three), PDL_ERROR_INVALID_CLUSTER, "grid");
    assert_int_equal(replay().threads, 4 * 32);
    assert_pdl(pdl_chain_set_desc(fix.chain, link, &six));
    assert_int_equal(replay().threads, 6 * 32);
}

static void a_build_that_the_driver_refuses_can_be_repaired_and_repeated(void **)
{
    pdl_launch_desc desc = shape_desc(16, 32);
    add_report(fix.report, shape_desc(1, 32), 1);
    assert_pdl(pdl_chain_build(fix.chain));
    desc.cluster[0] = 16;
    const uint32_t link = add_report(fix.report, desc, 2);
    const pdl_status status = pdl_chain_build(fix.chain);
    if (status == PDL_SUCCESS) {
        print_message("this driver builds a cluster of 16\n");
    } else {
        print_message("a chain with a cluster of 16: %s: %s\n", pdl_status_name(status),
                      pdl_last_error()->message);
        assert_int_not_equal(pdl_last_error()->cuda_result, 0);
        assert_refused(pdl_chain_launch(fix.chain, fix.stream), PDL_ERROR_NOT_BUILT, nullptr);
    }
    assert_pdl(pdl_chain_reset(fix.chain));
    desc.cluster[0] = 4;
    assert_pdl(pdl_chain_set_desc(fix.chain, link, &desc));
    assert_pdl(pdl_chain_build(fix.chain));
    const seen_shape shape = replay();
    assert_int_equal(shape.threads, 32 + 16 * 32);
    assert_int_equal(shape.tag, 2);
    assert_int_equal(shape.cluster, 4);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main()
{
    const struct CMUnitTest tests[] = {
        TEST(new_arguments_hold_from_the_next_replay_on),
        TEST(arguments_of_every_size_and_alignment_are_changed),
        TEST(arguments_may_be_changed_before_the_chain_is_built),
        TEST(new_arguments_survive_a_rebuild),
        TEST(a_replay_that_is_running_keeps_the_arguments_it_was_launched_with),
        TEST(a_missing_argument_is_refused_and_the_old_ones_stay),
        TEST(grid_block_and_shared_memory_can_be_changed),
        TEST(a_new_grid_and_new_arguments_do_not_undo_each_other),
        TEST(a_change_of_an_attribute_needs_a_rebuild_that_undoes_no_other_change),
        TEST(another_priority_needs_a_rebuild),
        TEST(another_memory_sync_domain_needs_a_rebuild),
        TEST(another_cluster_needs_a_rebuild),
        TEST(another_overlap_needs_a_rebuild),
        TEST(another_set_of_attributes_needs_a_rebuild),
        TEST(a_chain_that_was_reset_is_built_and_launched_again),
        TEST(a_replay_in_flight_goes_on_when_the_chain_is_reset),
        TEST(a_descriptor_that_a_launch_would_refuse_changes_nothing),
        TEST(a_grid_that_compiled_clusters_refuse_changes_nothing),
        TEST(a_build_that_the_driver_refuses_can_be_repaired_and_repeated),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
