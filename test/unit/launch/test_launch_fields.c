/* SPDX-License-Identifier: MIT */
/* What the driver gets for each field of the descriptor: alone, in every combination, and from each
 * kind of kernel. */
#include "support.h"

static pdl_kernel *kernels[KERNEL_SOURCES];

static int setup(void **state)
{
    (void)mock_setup(state);
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        kernels[source] = test_kernel((enum kernel_source)source, (unsigned)source);
    }
    return 0;
}

#define FIELD_TEST(name) TEST_WITH(name, setup, mock_teardown)

/* Launches, and asserts what arrived and that explaining says the same. */
static void check(enum kernel_source source, const pdl_launch_desc *desc,
                  const struct expected *expected)
{
    assert_ok(pdl_launch(kernels[source], desc, NULL));
    assert_attributes(mock_last_launch(), expected);
    assert_explained(kernels[source], desc, mock_last_launch());
}

/* All of them: whatever is asked for together, each attribute is there once, in the order of
 * the ids, with its own value. */
FIELD_TEST(every_combination_of_fields_becomes_their_attributes_in_order)
{
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
            set_field(field, &desc);
            cooperative = cooperative || field->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            cluster = cluster || field->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            if (field->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION && cooperative) {
                continue; /* a cooperative launch is never overlapped */
            }
            if (field->id == ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION && !cluster) {
                launchable = false;
            }
            expect_field(&expected, field);
        }
        if (launchable) {
            check((enum kernel_source)((mask ^ mask >> 4) % KERNEL_SOURCES), &desc, &expected);
            checked++;
        }
    }
    assert_int_equal(checked, (3u << field_case_count) / 4);
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
    assert_int_equal(config->sharedMemBytes, desc->dynamic_shared_memory);
}

FIELD_TEST(grid_and_block_arrive_as_they_are_and_zero_means_one)
{
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
            desc.dynamic_shared_memory = 1000 + mask;
            check_config((enum kernel_source)source, &desc, grid, block);
        }
    }
}

FIELD_TEST(a_cluster_arrives_as_it_is_and_zero_means_one)
{
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

FIELD_TEST(each_kernel_is_launched_by_its_own_handle_with_the_arguments)
{
    const pdl_launch_desc desc = plain_desc();
    int a = 1;
    double b = 2;
    void *args[] = {&a, &b};
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        assert_ok(pdl_launch(kernels[source], &desc, args));
        const struct mock_launch *const launch = mock_last_launch();
        assert_int_equal(launch->by_runtime, source == FROM_SYMBOL);
        assert_ptr_equal(launch->symbol, source == FROM_SYMBOL ? &mock.kernels[source] : NULL);
        assert_ptr_equal(launch->function, source == FROM_FUNCTION ? mock_function(source, 0)
                                           : source == FROM_CU_KERNEL
                                               ? (void *)mock_cu_kernel(source)
                                               : NULL);
        assert_ptr_equal(launch->arguments, args);
        assert_null(launch->extra);
        assert_ok(pdl_launch(kernels[source], &desc, NULL));
        assert_null(mock_last_launch()->arguments);
    }
}

FIELD_TEST(the_args_macro_points_at_each_argument)
{
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

FIELD_TEST(a_stream_is_handed_on_and_none_is_the_default_stream_that_the_descriptor_names)
{
    static char stream;
    static const CUstream defaults[] = {[PDL_DEFAULT_STREAM_LEGACY] = CU_STREAM_LEGACY,
                                        [PDL_DEFAULT_STREAM_PER_THREAD] = CU_STREAM_PER_THREAD};
    const CUstream streams[] = {NULL, (CUstream)(void *)&stream, CU_STREAM_LEGACY,
                                CU_STREAM_PER_THREAD};
    for (size_t i = 0; i < 2 * COUNT_OF(streams) * KERNEL_SOURCES; i++) {
        pdl_launch_desc desc = DESC(.stream = streams[i / 2 % COUNT_OF(streams)]);
        desc.default_stream = i % 2;
        assert_ok(pdl_launch(kernels[i / 2 / COUNT_OF(streams)], &desc, NULL));
        assert_ptr_equal(mock_last_launch()->config.hStream,
                         desc.stream != NULL ? desc.stream : defaults[i % 2]);
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

FIELD_TEST(a_zero_is_passed_if_its_flag_is_set)
{
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

FIELD_TEST(a_flag_beside_a_value_passes_the_value_once)
{
    for (size_t i = 0; i < COUNT_OF(zero_values); i++) {
        struct expected expected = {0};
        pdl_launch_desc desc = DESC(.flags = zero_values[i].flag);
        const struct field_case *field = field_case_of(zero_values[i].id);
        set_field(field, &desc);
        expect_field(&expected, field);
        check(FROM_FUNCTION, &desc, &expected);
    }
}

static char object;
static const struct value_row {
    const char *name;
    pdl_launch_desc desc;
    CUlaunchAttributeID id; /* 0: none */
    CUlaunchAttributeValue value;
} value_rows[] = {
    {"one half of the domain map is enough",
     {.mem_sync_domain_map = {1, 0}},
     CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
     .value.memSyncDomainMap = {1, 0}},
    {"so is the other",
     {.mem_sync_domain_map = {0, 1}},
     CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
     .value.memSyncDomainMap = {0, 1}},
    {"the lowest priority",
     {.priority = INT32_MIN},
     CU_LAUNCH_ATTRIBUTE_PRIORITY,
     .value.priority = INT32_MIN},
    {"a negative priority", {.priority = -1}, CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = -1},
    {"the highest priority",
     {.priority = INT32_MAX},
     CU_LAUNCH_ATTRIBUTE_PRIORITY,
     .value.priority = INT32_MAX},
    {"clusters are spread",
     {.cluster_scheduling = 1},
     CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
     .value.clusterSchedulingPolicyPreference = (CUclusterSchedulingPolicy)1},
    {"clusters are balanced",
     {.cluster_scheduling = 2},
     CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
     .value.clusterSchedulingPolicyPreference = (CUclusterSchedulingPolicy)2},
    {"a trigger event counts at the trigger",
     {.trigger_event = (CUevent)(void *)&object},
     CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
     .value.programmaticEvent = {.event = (CUevent)(void *)&object}},
    {"an access policy of no bytes is none",
     {.access_policy = {&object, 0, 0.5f, 2, 0, 0}},
     .id = (CUlaunchAttributeID)0},
    {"nothing hits",
     {.access_policy = {&object, 1, 0, 0, 0, 0}},
     CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
     .value.accessPolicyWindow = {.base_ptr = &object, .num_bytes = 1}},
    {"all hits",
     {.access_policy = {&object, 1, 1, 0, 0, 0}},
     CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
     .value.accessPolicyWindow = {.base_ptr = &object, .num_bytes = 1, .hitRatio = 1}},
    {"all of the carve-out",
     {.shared_memory_carveout = 100},
     ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
     .value.cooperative = 100},
};

TEST_ROWS(values_at_the_limits, value_rows, setup, mock_teardown)
{
    struct expected expected = {0};
    if (row->id != 0) {
        *expect_attribute(&expected, row->id) = row->value;
    }
    pdl_launch_desc desc = row->desc;
    desc.size = (uint32_t)sizeof(desc);
    desc.grid[0] = desc.block[0] = 32;
    check(FROM_FUNCTION, &desc, &expected);
}

FIELD_TEST(the_device_nodes_handle_is_written_after_a_launch_that_succeeds_and_no_other)
{
    static char before, made;
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        struct CUgraphDeviceUpdatableNode_st *node = (void *)&before;
        pdl_launch_desc desc = DESC(.device_node = &node);
        mock.device_node = (void *)&made;
        (void)explained(kernels[source], &desc);
        mock_fail(MOCK_cuLaunchKernelEx, 0, CUDA_ERROR_INVALID_VALUE);
        mock_runtime_launch_result = 1;
        assert_refused(pdl_launch(kernels[source], &desc, NULL), PDL_ERROR_DRIVER, NULL, "");
        assert_ptr_equal(node, &before);
        mock_fail_none();
        mock_runtime_launch_result = 0;
        assert_ok(pdl_launch(kernels[source], &desc, NULL));
        assert_ptr_equal(node, &made);
    }
}

FIELD_TEST(a_launch_is_exactly_one_driver_call)
{
    for (int source = 0; source < KERNEL_SOURCES; source++) {
        for (unsigned overlap = PDL_OVERLAP_NONE; overlap <= PDL_OVERLAP_REQUIRE; overlap++) {
            pdl_launch_desc desc =
                DESC(.overlap = overlap, .cluster = {2}, .dynamic_shared_memory = 49152);
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

/* A copy of the descriptor's first bytes in memory of exactly that size, so that the sanitizers and
 * valgrind see whoever reads on. */
static pdl_launch_desc *resized(const pdl_launch_desc *from, size_t size)
{
    unsigned char *bytes = malloc(size);
    const uint32_t size_field = (uint32_t)size;
    assert_non_null(bytes);
    memcpy(bytes, from, size);
    memcpy(bytes, &size_field, sizeof(size_field));
    return (pdl_launch_desc *)(void *)bytes;
}

/* A descriptor that ends after any field is one of the full size in which what follows is zero. */
FIELD_TEST(what_an_older_descriptor_lacks_is_default)
{
#define END(member) offsetof(pdl_launch_desc, member) + sizeof(((pdl_launch_desc *)0)->member)
    static const size_t others[] = {END(block), END(dynamic_shared_memory), END(stream),
                                    END(trigger_at_block_start), END(reserved)};
#undef END
    static char stream;
    pdl_launch_desc desc = DESC(.dynamic_shared_memory = 1024);
    for (size_t i = 0; i < field_case_count; i++) {
        set_field(&field_cases[i], &desc);
    }
    desc.cooperative = 0; /* so that the overlap is there too */
    desc.stream = (CUstream)(void *)&stream;
    unsigned most = 0;
    for (size_t i = 0; i < COUNT_OF(others) + field_case_count; i++) {
        const size_t end = i < COUNT_OF(others) ? others[i] : field_cases[i - COUNT_OF(others)].end;
        pdl_launch_desc *older = resized(&desc, end);
        pdl_launch_desc same;
        memset(&same, 0, sizeof(same));
        memcpy(&same, older, end);
        same.size = (uint32_t)sizeof(same);
        assert_ok(pdl_launch(kernels[FROM_FUNCTION], &same, NULL));
        const struct mock_launch want = *mock_last_launch();
        assert_ok(pdl_launch(kernels[FROM_FUNCTION], older, NULL));
        const struct mock_launch *got = mock_last_launch();
        struct expected expected = {.count = want.attribute_count};
        memcpy(expected.attributes, want.attributes, sizeof(expected.attributes));
        assert_attributes(got, &expected);
        assert_explained(kernels[FROM_FUNCTION], older, got);
        assert_int_equal(got->config.gridDimX, 132);
        assert_int_equal(got->config.blockDimX, 256);
        assert_int_equal(got->config.sharedMemBytes, want.config.sharedMemBytes);
        assert_ptr_equal(got->config.hStream, want.config.hStream);
        most = got->attribute_count > most ? got->attribute_count : most;
        free(older);
    }
    assert_int_equal(most, field_case_count - 1);
}
