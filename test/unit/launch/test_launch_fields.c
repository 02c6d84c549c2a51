/* SPDX-License-Identifier: MIT */
/* What the driver gets for each field of the descriptor: alone, in every combination, and from each
 * kind of kernel. */
#include "support.h"

static pdl_kernel *kernels[KERNEL_SOURCES];

static int setup(void **state)
{
    (void)mock_setup(state);
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        kernels[source] = make_kernel((enum kernel_source)source, (unsigned)source);
    }
    return 0;
}

static int teardown(void **state)
{
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        pdl_kernel_destroy(kernels[source]);
    }
    return mock_teardown(state);
}

#define FIELD_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* Launches, and asserts what arrived and that explaining says the same. */
static void check(enum kernel_source source, const pdl_launch_desc *desc,
                  const struct expected *expected)
{
    assert_ok(pdl_launch(kernels[source], desc, NULL));
    assert_attributes(mock_last_launch(), expected);
    assert_explained(kernels[source], desc, mock_last_launch());
}

static void a_plain_launch_carries_no_attributes(void **state)
{
    (void)state;
    const struct expected none = {0};
    const pdl_launch_desc desc = plain_desc();
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        check((enum kernel_source)source, &desc, &none);
        assert_int_equal(mock_last_launch()->config.numAttrs, 0);
        assert_null(mock_last_launch()->config.attrs);
    }
}

static void each_field_alone_becomes_its_attribute(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        for (size_t i = 0; i < field_case_count; i++) {
            struct expected expected = {0};
            pdl_launch_desc desc = plain_desc();
            if (field_cases[i].id == ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION) {
                continue; /* it needs a cluster; the next test has it */
            }
            field_cases[i].set(&desc);
            field_cases[i].value(expect_attribute(&expected, field_cases[i].id));
            check((enum kernel_source)source, &desc, &expected);
        }
    }
}

/* All of them: whatever is asked for together, each attribute is there once, in the order of
 * the ids, with its own value. */
static void every_combination_of_fields_becomes_their_attributes_in_order(void **state)
{
    (void)state;
    unsigned checked = 0;
    for (unsigned mask = 0; mask < 1u << field_case_count; mask++) {
        struct expected expected = {0};
        pdl_launch_desc desc = plain_desc();
        bool cluster = false;
        bool cooperative = false;
        bool launchable = true;
        for (size_t i = 0; i < field_case_count; i++) {
            if ((mask >> i & 1) == 0) {
                continue;
            }
            const struct field_case *field = &field_cases[i];
            field->set(&desc);
            cooperative = cooperative || field->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            cluster = cluster || field->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            if (field->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION && cooperative) {
                continue; /* a cooperative launch is never overlapped */
            }
            if (field->id == ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION && !cluster) {
                launchable = false;
            }
            field->value(expect_attribute(&expected, field->id));
        }
        if (launchable) {
            check((enum kernel_source)(mask % KERNEL_SOURCES), &desc, &expected);
            checked++;
        }
    }
    assert_int_equal(checked, (3u << field_case_count) / 4);
}

static void all_fields_together_are_in_the_order_of_the_ids(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    for (size_t i = 0; i < field_case_count; i++) {
        field_cases[i].set(&desc);
    }
    assert_ok(pdl_launch(kernels[FROM_FUNCTION], &desc, NULL));
    const struct mock_launch *launch = mock_last_launch();
    assert_int_equal(launch->attribute_count, field_case_count - 1);
    for (size_t i = 0, at = 0; i < field_case_count; i++) {
        if (field_cases[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            assert_int_equal(launch->attributes[at++].id, field_cases[i].id); /* cooperative: not */
        }
    }
    desc.cooperative = 0;
    assert_ok(pdl_launch(kernels[FROM_FUNCTION], &desc, NULL));
    launch = mock_last_launch();
    assert_int_equal(launch->attribute_count, field_case_count - 1);
    assert_int_equal(launch->attributes[1].id, 4);
    assert_int_equal(launch->attributes[3].id, 6);
}

static void check_config(enum kernel_source source, const pdl_launch_desc *desc,
                         const unsigned grid[3], const unsigned block[3])
{
    assert_ok(pdl_launch(kernels[source], desc, NULL));
    const CUlaunchConfig *config = &mock_last_launch()->config;
    assert_int_equal(config->gridDimX, grid[0]);
    assert_int_equal(config->gridDimY, grid[1]);
    assert_int_equal(config->gridDimZ, grid[2]);
    assert_int_equal(config->blockDimX, block[0]);
    assert_int_equal(config->blockDimY, block[1]);
    assert_int_equal(config->blockDimZ, block[2]);
}

static void grid_and_block_arrive_as_they_are_and_zero_means_one(void **state)
{
    (void)state;
    pdl_launch_desc desc;
    pdl_launch_desc_init(&desc);
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        for (unsigned mask = 0; mask < 16; mask++) {
            const unsigned grid[3] = {7, mask & 1 ? 5 : 1, mask & 2 ? 3 : 1};
            const unsigned block[3] = {8, mask & 4 ? 4 : 1, mask & 8 ? 2 : 1};
            desc.grid[0] = 7;
            desc.grid[1] = mask & 1 ? 5 : 0;
            desc.grid[2] = mask & 2 ? 3 : 0;
            desc.block[0] = 8;
            desc.block[1] = mask & 4 ? 4 : 0;
            desc.block[2] = mask & 8 ? 2 : 0;
            check_config((enum kernel_source)source, &desc, grid, block);
        }
    }
}

static void a_cluster_arrives_as_it_is_and_zero_means_one(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    desc.grid[0] = 24;
    desc.grid[1] = 24;
    desc.grid[2] = 24;
    for (unsigned mask = 0; mask < 16; mask++) {
        struct expected expected = {0};
        CUlaunchAttributeValue *value =
            expect_attribute(&expected, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        desc.cluster[0] = value->clusterDim.x = 2;
        desc.cluster[1] = mask & 1 ? 3 : 0;
        value->clusterDim.y = mask & 1 ? 3 : 1;
        desc.cluster[2] = mask & 2 ? 2 : 0;
        value->clusterDim.z = mask & 2 ? 2 : 1;
        value = expect_attribute(&expected, ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
        desc.preferred_cluster[0] = value->clusterDim.x = 4;
        desc.preferred_cluster[1] = desc.cluster[1] * (mask & 4 ? 2 : 1);
        value->clusterDim.y = mask & 1 ? desc.preferred_cluster[1] : 1;
        desc.preferred_cluster[2] = desc.cluster[2];
        value->clusterDim.z = mask & 2 ? 2 : 1;
        check(FROM_FUNCTION, &desc, &expected);
        check(FROM_SYMBOL, &desc, &expected);
    }
}

static void dynamic_shared_memory_arrives(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        desc.dynamic_shared_memory = 1000u + (unsigned)source;
        assert_ok(pdl_launch(kernels[source], &desc, NULL));
        assert_int_equal(mock_last_launch()->config.sharedMemBytes, desc.dynamic_shared_memory);
    }
}

static void each_kind_of_kernel_is_launched_by_its_own_handle(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    assert_ok(pdl_launch(kernels[FROM_FUNCTION], &desc, NULL));
    assert_ptr_equal(mock_last_launch()->function, mock_function(FROM_FUNCTION, 0));
    assert_ok(pdl_launch(kernels[FROM_CU_KERNEL], &desc, NULL));
    assert_ptr_equal(mock_last_launch()->function, mock_cu_kernel(FROM_CU_KERNEL));
    assert_ok(pdl_launch(kernels[FROM_SYMBOL], &desc, NULL));
    assert_true(mock_last_launch()->by_runtime);
    assert_ptr_equal(mock_last_launch()->symbol, &mock.kernels[FROM_SYMBOL]);
    assert_int_equal(mock.launch_count, 3);
}

static void the_arguments_are_handed_on(void **state)
{
    (void)state;
    const pdl_launch_desc desc = plain_desc();
    int a = 1;
    double b = 2;
    void *args[] = {&a, &b};
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        assert_ok(pdl_launch(kernels[source], &desc, args));
        assert_ptr_equal(mock_last_launch()->arguments, args);
        assert_null(mock_last_launch()->extra);
        assert_ok(pdl_launch(kernels[source], &desc, NULL));
        assert_null(mock_last_launch()->arguments);
    }
}

static void the_args_macro_points_at_each_argument(void **state)
{
    (void)state;
    int a = 1;
    float b = 2;
    char c = 3;
    void **args = PDL_ARGS(a, b, c);
    assert_ptr_equal(args[0], &a);
    assert_ptr_equal(args[1], &b);
    assert_ptr_equal(args[2], &c);
    args = PDL_ARGS(a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
                    a, a, a, b, c);
    assert_ptr_equal(args[29], &a);
    assert_ptr_equal(args[30], &b);
    assert_ptr_equal(args[31], &c);
}

static void a_stream_is_handed_on(void **state)
{
    (void)state;
    static char stream;
    pdl_launch_desc desc = plain_desc();
    for (unsigned mode = 0; mode <= 1; mode++) {
        CUstream const streams[] = {(CUstream)(void *)&stream, CU_STREAM_LEGACY,
                                    CU_STREAM_PER_THREAD};
        desc.default_stream = mode;
        for (size_t i = 0; i < COUNT_OF(streams); i++) {
            desc.stream = streams[i];
            for (int source = 0; source < KERNEL_SOURCES; source++) {
                assert_ok(pdl_launch(kernels[source], &desc, NULL));
                assert_ptr_equal(mock_last_launch()->config.hStream, streams[i]);
            }
        }
    }
}

static void no_stream_is_the_default_stream_that_the_descriptor_names(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        desc.default_stream = PDL_DEFAULT_STREAM_LEGACY;
        assert_ok(pdl_launch(kernels[source], &desc, NULL));
        assert_ptr_equal(mock_last_launch()->config.hStream, CU_STREAM_LEGACY);
        desc.default_stream = PDL_DEFAULT_STREAM_PER_THREAD;
        assert_ok(pdl_launch(kernels[source], &desc, NULL));
        assert_ptr_equal(mock_last_launch()->config.hStream, CU_STREAM_PER_THREAD);
    }
}

/* The five fields with a zero that is also a value. */
static const struct {
    uint32_t flag;
    CUlaunchAttributeID id;
} zero_values[] = {
    {PDL_LAUNCH_SET_PRIORITY, CU_LAUNCH_ATTRIBUTE_PRIORITY},
    {PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP},
    {PDL_LAUNCH_SET_MEM_SYNC_DOMAIN, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN},
    {PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT, ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT},
    {PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING, ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING},
};

static void a_zero_is_passed_if_its_flag_is_set(void **state)
{
    (void)state;
    for (unsigned mask = 0; mask < 1u << COUNT_OF(zero_values); mask++) {
        struct expected expected = {0};
        pdl_launch_desc desc = plain_desc();
        for (size_t i = 0; i < COUNT_OF(zero_values); i++) {
            if ((mask >> i & 1) != 0) {
                desc.flags |= zero_values[i].flag;
                (void)expect_attribute(&expected, zero_values[i].id);
            }
        }
        check(FROM_FUNCTION, &desc, &expected);
    }
}

static void a_flag_beside_a_value_passes_the_value_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(zero_values); i++) {
        struct expected expected = {0};
        pdl_launch_desc desc = plain_desc();
        const struct field_case *field = field_case_of(zero_values[i].id);
        desc.flags = zero_values[i].flag;
        field->set(&desc);
        field->value(expect_attribute(&expected, field->id));
        check(FROM_FUNCTION, &desc, &expected);
    }
}

static void one_half_of_the_domain_map_is_enough_to_pass_it(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        struct expected expected = {0};
        pdl_launch_desc desc = plain_desc();
        CUlaunchAttributeValue *value =
            expect_attribute(&expected, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
        desc.mem_sync_domain_map[half] = 1;
        value->memSyncDomainMap.default_ = half == 0;
        value->memSyncDomainMap.remote = half == 1;
        check(FROM_FUNCTION, &desc, &expected);
    }
}

static void priorities_arrive_with_their_sign(void **state)
{
    (void)state;
    static const int32_t priorities[] = {INT32_MIN, -1, 1, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(priorities); i++) {
        struct expected expected = {0};
        pdl_launch_desc desc = plain_desc();
        desc.priority = priorities[i];
        expect_attribute(&expected, CU_LAUNCH_ATTRIBUTE_PRIORITY)->priority = priorities[i];
        check(FROM_FUNCTION, &desc, &expected);
    }
}

static void both_cluster_schedulings_arrive(void **state)
{
    (void)state;
    for (uint32_t scheduling = 1; scheduling <= 2; scheduling++) {
        struct expected expected = {0};
        pdl_launch_desc desc = plain_desc();
        desc.cluster_scheduling = scheduling;
        expect_attribute(&expected, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
            ->clusterSchedulingPolicyPreference = (CUclusterSchedulingPolicy)scheduling;
        check(FROM_FUNCTION, &desc, &expected);
    }
}

static void a_trigger_event_counts_at_the_trigger_unless_told_otherwise(void **state)
{
    (void)state;
    static char event;
    struct expected expected = {0};
    pdl_launch_desc desc = plain_desc();
    desc.trigger_event = (CUevent)(void *)&event;
    expect_attribute(&expected, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)->programmaticEvent.event =
        desc.trigger_event;
    check(FROM_FUNCTION, &desc, &expected);
}

static void an_access_policy_of_no_bytes_is_none(void **state)
{
    (void)state;
    static char window;
    const struct expected none = {0};
    pdl_launch_desc desc = plain_desc();
    desc.access_policy.base = &window;
    desc.access_policy.hit_ratio = 0.5f;
    desc.access_policy.hit_property = PDL_ACCESS_PERSISTING;
    check(FROM_FUNCTION, &desc, &none);
}

static void the_hit_ratio_may_be_its_bounds(void **state)
{
    (void)state;
    static char window;
    for (int ratio = 0; ratio <= 1; ratio++) {
        struct expected expected = {0};
        pdl_launch_desc desc = plain_desc();
        CUlaunchAttributeValue *value =
            expect_attribute(&expected, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
        desc.access_policy.base = value->accessPolicyWindow.base_ptr = &window;
        desc.access_policy.bytes = value->accessPolicyWindow.num_bytes = 1;
        desc.access_policy.hit_ratio = value->accessPolicyWindow.hitRatio = (float)ratio;
        check(FROM_FUNCTION, &desc, &expected);
    }
}

static void the_carveout_may_be_all_of_it(void **state)
{
    (void)state;
    struct expected expected = {0};
    pdl_launch_desc desc = plain_desc();
    desc.shared_memory_carveout = 100;
    expect_attribute(&expected, ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)->cooperative = 100;
    check(FROM_FUNCTION, &desc, &expected);
}

static void the_device_nodes_handle_is_written_after_a_launch_that_succeeds(void **state)
{
    (void)state;
    static char made;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        struct CUgraphDeviceUpdatableNode_st *node = NULL;
        pdl_launch_desc desc = plain_desc();
        desc.device_node = &node;
        mock.device_node = (struct CUgraphDeviceUpdatableNode_st *)(void *)&made;
        assert_ok(pdl_launch(kernels[source], &desc, NULL));
        assert_ptr_equal(node, &made);
    }
}

static void the_device_nodes_handle_is_not_written_if_nothing_was_launched(void **state)
{
    (void)state;
    static char before;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        struct CUgraphDeviceUpdatableNode_st *node =
            (struct CUgraphDeviceUpdatableNode_st *)(void *)&before;
        pdl_launch_desc desc = plain_desc();
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        desc.device_node = &node;
        assert_ok(pdl_launch_explain(kernels[source], &desc, &report));
        assert_ptr_equal(node, &before);
        mock_fail(MOCK_cuLaunchKernelEx, 0, CUDA_ERROR_INVALID_VALUE);
        mock_runtime_launch_result = 1;
        assert_refused(pdl_launch(kernels[source], &desc, NULL), PDL_ERROR_DRIVER, NULL, "");
        assert_ptr_equal(node, &before);
        mock_fail_none();
    }
}

static void a_launch_is_exactly_one_driver_call(void **state)
{
    (void)state;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        for (unsigned overlap = PDL_OVERLAP_NONE; overlap <= PDL_OVERLAP_REQUIRE; overlap++) {
            pdl_launch_desc desc = plain_desc();
            desc.overlap = overlap;
            desc.cluster[0] = 2;
            desc.dynamic_shared_memory = 49152;
            assert_ok(pdl_launch(kernels[source], &desc, NULL)); /* fills the caches */
            const unsigned calls = mock_total_calls();
            const unsigned looked_up = mock_runtime_function_calls;
            const unsigned launches = mock.launch_count;
            for (int i = 0; i < 10; i++) {
                assert_ok(pdl_launch(kernels[source], &desc, NULL));
            }
            assert_int_equal(mock_total_calls() - calls, source == FROM_SYMBOL ? 0 : 10);
            assert_int_equal(mock_runtime_function_calls, looked_up);
            assert_int_equal(mock.launch_count - launches, 10);
        }
    }
}

static void the_callers_descriptor_is_not_changed(void **state)
{
    (void)state;
    pdl_launch_desc desc = plain_desc();
    for (size_t i = 0; i < field_case_count; i++) {
        field_cases[i].set(&desc);
    }
    const pdl_launch_desc before = desc;
    assert_ok(pdl_launch(kernels[FROM_FUNCTION], &desc, NULL));
    assert_memory_equal(&desc, &before, sizeof(desc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIELD_TEST(a_plain_launch_carries_no_attributes),
        FIELD_TEST(each_field_alone_becomes_its_attribute),
        FIELD_TEST(every_combination_of_fields_becomes_their_attributes_in_order),
        FIELD_TEST(all_fields_together_are_in_the_order_of_the_ids),
        FIELD_TEST(grid_and_block_arrive_as_they_are_and_zero_means_one),
        FIELD_TEST(a_cluster_arrives_as_it_is_and_zero_means_one),
        FIELD_TEST(dynamic_shared_memory_arrives),
        FIELD_TEST(each_kind_of_kernel_is_launched_by_its_own_handle),
        FIELD_TEST(the_arguments_are_handed_on),
        FIELD_TEST(the_args_macro_points_at_each_argument),
        FIELD_TEST(a_stream_is_handed_on),
        FIELD_TEST(no_stream_is_the_default_stream_that_the_descriptor_names),
        FIELD_TEST(a_zero_is_passed_if_its_flag_is_set),
        FIELD_TEST(a_flag_beside_a_value_passes_the_value_once),
        FIELD_TEST(one_half_of_the_domain_map_is_enough_to_pass_it),
        FIELD_TEST(priorities_arrive_with_their_sign),
        FIELD_TEST(both_cluster_schedulings_arrive),
        FIELD_TEST(a_trigger_event_counts_at_the_trigger_unless_told_otherwise),
        FIELD_TEST(an_access_policy_of_no_bytes_is_none),
        FIELD_TEST(the_hit_ratio_may_be_its_bounds),
        FIELD_TEST(the_carveout_may_be_all_of_it),
        FIELD_TEST(the_device_nodes_handle_is_written_after_a_launch_that_succeeds),
        FIELD_TEST(the_device_nodes_handle_is_not_written_if_nothing_was_launched),
        FIELD_TEST(a_launch_is_exactly_one_driver_call),
        FIELD_TEST(the_callers_descriptor_is_not_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
