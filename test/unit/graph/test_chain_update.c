/* SPDX-License-Identifier: MIT */
/* Chains: arguments and descriptors that change between replays. */
#include "graph_support.h"

static pdl_kernel *kernel;
static pdl_chain *chain;

static int setup(void **state)
{
    (void)graph_setup(state);
    kernel = test_kernel(FROM_CU_KERNEL, 0);
    chain = make_line(kernel, 4);
    return 0;
}

#define UPDATE_TEST(name) TEST_WITH(name, setup, mock_teardown)

static void set_number(uint32_t link, uint32_t number)
{
    struct values values = values_of(number);
    assert_ok(pdl_chain_set_args(chain, link, VALUES(values)));
}

/* Replays, and asserts which values the four links ran with. */
#define assert_replay(...)                                                                         \
    do {                                                                                           \
        const uint32_t numbers_[4] = {__VA_ARGS__};                                                \
        assert_ok(pdl_chain_launch(chain, NULL));                                                  \
        assert_ran_count(4);                                                                       \
        for (unsigned n_ = 0; n_ < 4; n_++) {                                                      \
            assert_ran(n_, numbers_[n_]);                                                          \
        }                                                                                          \
    } while (0)

UPDATE_TEST(values_may_be_set_before_the_build)
{
    assert_ok(pdl_chain_reset(chain));
    const unsigned calls = mock_total_calls();
    set_number(1, 11);
    assert_int_equal(mock_total_calls() - calls, 0);
    assert_ok(pdl_chain_build(chain));
    assert_replay(0, 11, 2, 3);
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 4); /* built before, and changed since */
    set_number(3, 33);
    assert_ok(pdl_chain_build(chain));
    assert_ok(pdl_chain_launch(chain, NULL));
    assert_ran_count(5);
    assert_ran(1, 11);
    assert_ran(3, 33);
}

UPDATE_TEST(a_descriptor_that_a_launch_would_be_refused_for_changes_nothing)
{
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    desc.block[0] = 4096;
    for (int built = 1; built >= 0; built--) {
        assert_refused(pdl_chain_set_desc(chain, 1, &desc), PDL_ERROR_INVALID_BLOCK, "block",
                       "4096");
        assert_ok(pdl_chain_reset(chain));
    }
    desc = overlap_desc(PDL_OVERLAP_AUTO);
    set_field(field_case_of(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT), &desc);
    assert_refused(pdl_chain_set_desc(chain, 1, &desc), PDL_ERROR_NOT_SUPPORTED, "trigger_event",
                   "trigger_event");
    assert_ok(pdl_chain_build(chain));
    assert_replay(0, 1, 2, 3);
    assert_int_equal(mock_ran(1)->params.block[0], 256);
}

/* A chain whose link 1 has the attributes of a descriptor. */
static void start_with(const pdl_launch_desc *desc)
{
    assert_ok(pdl_chain_reset(chain));
    assert_ok(pdl_chain_set_desc(chain, 1, desc));
    assert_ok(pdl_chain_build(chain));
}

static void assert_needs_rebuild(const pdl_launch_desc *desc)
{
    const unsigned calls = mock.calls[MOCK_cuGraphExecKernelNodeSetParams];
    const unsigned sets = node_of(chain, 1)->sets;
    const struct mock_node_params before = node_of(chain, 1)->params;
    assert_refused(pdl_chain_set_desc(chain, 1, desc), PDL_ERROR_REBUILD, "desc", "1",
                   "pdl_chain_reset");
    assert_int_equal(mock.calls[MOCK_cuGraphExecKernelNodeSetParams], calls);
    assert_int_equal(node_of(chain, 1)->sets, sets);
    assert_memory_equal(&node_of(chain, 1)->params, &before, sizeof(before));
    assert_replay(0, 1, 2, 3); /* still built */
    assert_memory_equal(&mock_ran(1)->params, &before, sizeof(before));
    assert_ok(pdl_chain_build(chain)); /* and a rebuild is not of the refused one */
    assert_replay(0, 1, 2, 3);
    assert_memory_equal(&mock_ran(1)->params, &before, sizeof(before));
}

UPDATE_TEST(attributes_and_overlap_need_a_rebuild)
{
    const pdl_launch_desc plain = overlap_desc(PDL_OVERLAP_AUTO);
    /* An attribute more, and one less. */
    for (size_t i = 0; i < field_case_count; i++) {
        pdl_launch_desc desc = plain;
        switch ((int)field_cases[i].id) {
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        case 11: /* needs a cluster */
        case 13: /* has no place in a chain */
            continue;
        default:
            set_field(&field_cases[i], &desc);
            break;
        }
        start_with(&plain);
        assert_needs_rebuild(&desc);
        start_with(&desc);
        assert_needs_rebuild(&plain);
    }
    /* Another value. */
    pdl_launch_desc desc = plain;
    desc.priority = -1;
    start_with(&desc);
    desc.priority = -2;
    assert_needs_rebuild(&desc);
    /* As many attributes, but others. */
    desc = plain;
    desc.mem_sync_domain = 1;
    assert_needs_rebuild(&desc);
    /* The overlap, both ways. */
    start_with(&plain);
    desc = overlap_desc(PDL_OVERLAP_NONE);
    assert_needs_rebuild(&desc);
    assert_chain(chain, "k k0p k1p k2p");
    start_with(&desc);
    assert_chain(chain, "k k0f k1p k2p");
    assert_needs_rebuild(&plain);
    assert_chain(chain, "k k0f k1p k2p");
}

/* Only a build decides: neither a switch nor a descriptor changes the edges that are there. */
UPDATE_TEST(what_was_built_is_explained_and_is_what_may_be_required)
{
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_REQUIRE);
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    desc.grid[0] = 7;
    for (uint32_t on = 0; on < 2; on++) {
        overlap_enable(on != 0);
        assert_ok(pdl_chain_build(chain));
        for (uint32_t now = 0; now < 2; now++) {
            overlap_enable(now != 0);
            assert_ok(pdl_chain_explain(chain, 1, &report));
            assert_int_equal(report.overlap, on);
            assert_int_equal(report.overlap_reason,
                             on != 0 ? PDL_REASON_GRANTED : PDL_REASON_DISABLED);
            assert_int_equal(chain_census(chain).programmatic, on != 0 ? report.links - 1 : 0);
        }
        if (on == 0) {
            assert_refused(pdl_chain_set_desc(chain, 1, &desc), PDL_ERROR_REBUILD, "desc",
                           "link 1");
        } else {
            assert_ok(pdl_chain_set_desc(chain, 1, &desc));
        }
    }
}

/* A descriptor with attributes in memory that is overwritten and freed by forget_extra(). */
static pdl_launch_desc desc_with_extra(int priority)
{
    CUlaunchAttribute *extra = calloc(2, sizeof(*extra));
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    assert_non_null(extra);
    extra[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    extra[0].value.priority = priority;
    extra[1].id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
    extra[1].value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    desc.extra_attributes = extra;
    desc.extra_attribute_count = 2;
    return desc;
}

static void forget_extra(pdl_launch_desc *desc)
{
    void *const extra = (void *)desc->extra_attributes;
    memset(extra, 0xa5, 2 * sizeof(CUlaunchAttribute));
    free(extra);
    memset(desc, 0xa5, sizeof(*desc));
}

static void assert_extra(uint32_t number, int priority)
{
    const struct mock_node_params *const params = &node_of(chain, number)->params;
    assert_int_equal(params->attribute_count, 2);
    assert_int_equal(params->attributes[0].id, CU_LAUNCH_ATTRIBUTE_PRIORITY);
    assert_int_equal(params->attributes[0].value.priority, priority);
    assert_int_equal(params->attributes[1].id, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
    assert_int_equal(params->attributes[1].value.memSyncDomain, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
}

/* Neither a build nor an explanation nor a change reads the caller's memory again. */
UPDATE_TEST(what_a_descriptor_points_to_is_copied)
{
    struct values values = values_of(4);
    uint32_t link = 0;
    pdl_chain_report report = PDL_CHAIN_REPORT_INIT;
    pdl_launch_desc desc = desc_with_extra(-1);
    assert_ok(pdl_chain_add(chain, kernel, &desc, VALUES(values), value_sizes, 2, &link));
    forget_extra(&desc);
    desc = desc_with_extra(-2);
    assert_ok(pdl_chain_set_desc(chain, 1, &desc)); /* which is not built */
    forget_extra(&desc);
    for (int again = 0; again < 2; again++) {
        assert_ok(pdl_chain_build(chain));
        assert_ok(pdl_chain_explain(chain, link, &report));
        assert_extra(4, -1);
        assert_extra(1, -2);
    }
    for (uint32_t blocks = 7; blocks < 9;
         blocks++) { /* built: the same attributes at another place */
        desc = desc_with_extra(-1);
        desc.grid[0] = blocks;
        assert_ok(pdl_chain_set_desc(chain, link, &desc));
        forget_extra(&desc);
    }
    desc = desc_with_extra(-3);
    assert_refused(pdl_chain_set_desc(chain, link, &desc), PDL_ERROR_REBUILD, "desc", "4");
    forget_extra(&desc);
    assert_ok(pdl_chain_build(chain));
    assert_extra(4, -1);
    assert_int_equal(node_of(chain, 4)->params.grid[0], 8);
    desc = overlap_desc(PDL_OVERLAP_AUTO);
    start_with(&desc);
    assert_int_equal(node_of(chain, 1)->params.attribute_count, 0);
}

UPDATE_TEST(after_a_reset_anything_can_be_changed)
{
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_NONE);
    desc.grid[0] = 64;
    desc.cluster[0] = 4;
    desc.priority = -3;
    assert_refused(pdl_chain_set_desc(chain, 2, &desc), PDL_ERROR_REBUILD, "desc", "");
    assert_ok(pdl_chain_reset(chain));
    assert_int_equal(mock.live_execs, 0);
    set_number(2, 29);
    assert_ok(pdl_chain_set_desc(chain, 2, &desc));
    assert_ok(pdl_chain_build(chain));
    assert_replay(0, 1, 29, 3);
    assert_int_equal(mock_ran(2)->params.grid[0], 64);
    assert_int_equal(mock_ran(2)->params.attribute_count, 2);
    assert_chain(chain, "k k0p k1f k2p");
}

/* Each change is one call, holds from the next replay on, and a rebuild does not lose it. What the driver refuses is as if
 * it had not been asked for. */
UPDATE_TEST(many_changes_in_any_order_leave_no_stale_value)
{
    uint32_t numbers[4] = {0, 1, 2, 3};
    pdl_launch_desc shapes[4];
    uint64_t random = 1;
    for (unsigned i = 0; i < 4; i++) {
        shapes[i] = (pdl_launch_desc){.grid = {132, 1, 1}, .block = {256, 1, 1}};
    }
    for (unsigned round = 0; round < 2000; round++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t link = (uint32_t)(random >> 33) % 4;
        const bool refused = (random >> 40) % 3 == 0;
        const pdl_status wanted = refused ? PDL_ERROR_DRIVER : PDL_SUCCESS;
        const unsigned calls = mock.calls[MOCK_cuGraphExecKernelNodeSetParams];
        if (refused) {
            mock_fail(MOCK_cuGraphExecKernelNodeSetParams, 1, CUDA_ERROR_UNKNOWN);
        }
        if ((random >> 45) % 2 == 0) {
            struct values values = values_of(100 + round);
            assert_int_equal(pdl_chain_set_args(chain, link, VALUES(values)), wanted);
            numbers[link] = refused ? numbers[link] : 100 + round;
        } else {
            pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
            const uint32_t grid[3] = {1 + round, 1 + round % 3, 1 + round % 5};
            const uint32_t block[3] = {32 + round % 7, 1 + round % 4, 1 + round % 2};
            memcpy(desc.grid, grid, sizeof(grid));
            memcpy(desc.block, block, sizeof(block));
            desc.dynamic_shared_memory = 16 * (round % 9);
            desc.stream = mock_stream(3, 0); /* is not used */
            assert_int_equal(pdl_chain_set_desc(chain, link, &desc), wanted);
            shapes[link] = refused ? shapes[link] : desc;
        }
        assert_int_equal(mock.calls[MOCK_cuGraphExecKernelNodeSetParams] - calls, 1);
        if (round % 50 == 0) {
            assert_ok(pdl_chain_build(chain));
        }
        assert_replay(numbers[0], numbers[1], numbers[2], numbers[3]);
        for (unsigned i = 0; i < 4; i++) {
            const struct mock_node_params *const params = &mock_ran(i)->params;
            assert_memory_equal(params->grid, shapes[i].grid, sizeof(params->grid));
            assert_memory_equal(params->block, shapes[i].block, sizeof(params->block));
            assert_int_equal(params->shared, shapes[i].dynamic_shared_memory);
        }
    }
}
