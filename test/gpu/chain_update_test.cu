/* SPDX-License-Identifier: MIT */
/* Chains changed between replays: arguments, descriptors, and what needs a rebuild. */
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
static __global__ void __cluster_dims__(2, 1, 1) count_in_pairs(seen_shape *to, unsigned)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(&to->threads, 1u);
}

static __global__ void hold(unsigned long long ns)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    spin(ns);
}

static const unsigned shape_count = 4;
static seen_shape *shapes;
static pdl_kernel *reports;

static void set_up_shapes(void)
{
    set_up();
    shapes = device_memory<seen_shape>(shape_count);
    reports = kernel_of(report);
}

static pdl_launch_desc shape_desc(unsigned grid, unsigned block, unsigned shared = 0)
{
    return pdl_launch_desc_make(grid, block, shared, nullptr, PDL_OVERLAP_AUTO);
}

static uint32_t add_report(const pdl_launch_desc &desc, unsigned tag, pdl_kernel *kernel = reports)
{
    uint32_t link = ~0u;
    assert_pdl(pdl_chain_add(chain, kernel, &desc, PDL_ARGS(shapes, tag), nullptr, 0, &link));
    return link;
}

/* Replays once and returns what was seen. */
static std::vector<seen_shape> replay_shapes(void)
{
    assert_cuda(cudaMemset(shapes, 0, shape_count * sizeof(*shapes)));
    assert_cuda(cudaDeviceSynchronize());
    replay();
    return contents(shapes, shape_count);
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

/* ---- arguments ------------------------------------------------------------------------------ */

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
    pdl_chain *const own = new_chain();
    First first;
    Last last;
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
            add_link(own, kernel_of(add_up<First, Last>), PDL_OVERLAP_AUTO,
                     PDL_ARGS(first, cells, last));
            assert_pdl(pdl_chain_build(own));
        } else {
            assert_pdl(pdl_chain_set_args(own, 0, PDL_ARGS(first, cells, last)));
        }
        assert_pdl(pdl_chain_launch(own, stream));
        assert_int_equal(content(cells), sum);
    }
}

TEST(arguments_of_every_size_and_alignment_are_changed)
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

/* The first replay is held while the arguments change and more replays are queued behind it. */
TEST(a_replay_that_is_running_keeps_the_arguments_it_was_launched_with)
{
    const unsigned long long ns = 50000000;
    add_link(chain, kernel_of(hold), PDL_OVERLAP_AUTO, PDL_ARGS(ns));
    const uint32_t link = add_report(shape_desc(1, 1), 1);
    assert_pdl(pdl_chain_build(chain));
    assert_pdl(pdl_chain_launch(chain, stream));
    for (unsigned i = 1; i < shape_count; i++) {
        seen_shape *to = shapes + i;
        const unsigned tag = i + 1;
        assert_pdl(pdl_chain_set_args(chain, link, PDL_ARGS(to, tag)));
        assert_pdl(pdl_chain_launch(chain, stream));
    }
    assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
    for (unsigned i = 0; i < shape_count; i++) {
        const seen_shape shape = content(shapes + i);
        assert_int_equal(shape.threads, 1);
        assert_int_equal(shape.tag, i + 1);
    }
}

/* ---- descriptors ---------------------------------------------------------------------------- */

TEST(grid_block_shared_memory_and_arguments_do_not_undo_each_other)
{
    const uint32_t link = add_report(shape_desc(2, 32), 0);
    const unsigned changes[][3] = {{7, 32, 0}, {7, 64, 0}, {7, 64, 4096}, {1, 96, 128}, {2, 32, 0}};
    unsigned tag = 0;
    assert_pdl(pdl_chain_build(chain));
    assert_shape(replay_shapes()[0], 2, 32, 0, 0);
    for (const auto &to : changes) {
        const pdl_launch_desc desc = shape_desc(to[0], to[1], to[2]);
        assert_pdl(pdl_chain_set_desc(chain, link, &desc));
        assert_shape(replay_shapes()[0], to[0], to[1], to[2], tag);
        tag++;
        assert_pdl(pdl_chain_set_args(chain, link, PDL_ARGS(shapes, tag)));
        assert_shape(replay_shapes()[0], to[0], to[1], to[2], tag);
        assert_shape(replay_shapes()[0], to[0], to[1], to[2], tag); /* and stays */
    }
}

/* Two links, so that rebuilding for one shows whether the other keeps what was changed before. */
TEST(a_change_of_an_attribute_needs_a_rebuild_that_undoes_no_other_change)
{
    pdl_launch_desc desc = shape_desc(8, 32);
    const pdl_launch_desc wider = shape_desc(3, 32);
    const unsigned tag = 9;
    seen_shape *elsewhere = shapes + 1;
    desc.cluster[0] = 2;
    const uint32_t other = add_report(shape_desc(1, 32), 1);
    const uint32_t link = add_report(desc, 2);
    assert_pdl(pdl_chain_build(chain));
    assert_pdl(pdl_chain_set_args(chain, other, PDL_ARGS(elsewhere, tag)));
    assert_pdl(pdl_chain_set_desc(chain, other, &wider));

    desc.cluster[0] = 4;
    desc.grid[0] = 12;
    assert_refused(pdl_chain_set_desc(chain, link, &desc), PDL_ERROR_REBUILD, "desc");
    assert_shape(replay_shapes()[0], 8, 32, 0, 2);
    assert_pdl(pdl_chain_reset(chain));
    assert_pdl(pdl_chain_set_desc(chain, link, &desc));
    assert_pdl(pdl_chain_build(chain));
    const std::vector<seen_shape> seen = replay_shapes();
    assert_shape(seen[0], 12, 32, 0, 2);
    assert_int_equal(seen[0].cluster, 4);
    assert_shape(seen[1], 3, 32, 0, tag);
    assert_int_equal(census_of(chain).programmatic, 1);
}

TEST(a_replay_in_flight_goes_on_when_the_chain_is_reset)
{
    const unsigned long long ns = 5000000;
    add_link(chain, kernel_of(hold), PDL_OVERLAP_AUTO, PDL_ARGS(ns));
    add_report(shape_desc(2, 32), 1);
    assert_pdl(pdl_chain_build(chain));
    assert_pdl(pdl_chain_launch(chain, stream));
    assert_pdl(pdl_chain_reset(chain));
    assert_shape(content(shapes), 2, 32, 0, 1);
}

/* Three blocks are no whole number of the pairs that the kernel was compiled for. */
TEST(a_grid_that_compiled_clusters_refuse_changes_nothing)
{
    const pdl_launch_desc three = shape_desc(3, 32);
    const pdl_launch_desc six = shape_desc(6, 32);
    const uint32_t link = add_report(shape_desc(4, 32), 1, kernel_of(count_in_pairs));
    assert_pdl(pdl_chain_build(chain));
    assert_refused(pdl_chain_set_desc(chain, link, &three), PDL_ERROR_INVALID_CLUSTER, "grid");
    assert_int_equal(replay_shapes()[0].threads, 4 * 32);
    assert_pdl(pdl_chain_set_desc(chain, link, &six));
    assert_int_equal(replay_shapes()[0].threads, 6 * 32);
}

TEST(a_build_that_the_driver_refuses_can_be_repaired_and_repeated)
{
    pdl_launch_desc desc = shape_desc(16, 32);
    desc.cluster[0] = 16;
    add_report(shape_desc(1, 32), 1);
    const uint32_t link = add_report(desc, 2);
    const pdl_status status = pdl_chain_build(chain);
    print_message("a chain with a cluster of 16: %s\n", pdl_status_name(status));
    if (status != PDL_SUCCESS) {
        assert_int_not_equal(pdl_last_error()->cuda_result, 0);
        assert_refused(pdl_chain_launch(chain, stream), PDL_ERROR_NOT_BUILT, nullptr);
    }
    assert_pdl(pdl_chain_reset(chain));
    desc.cluster[0] = 4;
    assert_pdl(pdl_chain_set_desc(chain, link, &desc));
    assert_pdl(pdl_chain_build(chain));
    const seen_shape shape = replay_shapes()[0];
    assert_int_equal(shape.threads, 32 + 16 * 32);
    assert_int_equal(shape.tag, 2);
    assert_int_equal(shape.cluster, 4);
}

int main()
{
    return run_gpu_tests(set_up_shapes);
}
