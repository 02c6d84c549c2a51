/* SPDX-License-Identifier: MIT */
/* What is told of a device. */
#include "support.h"

static void the_devices_are_counted(void **state)
{
    (void)state;
    for (int devices = 1; devices <= MOCK_DEVICES; devices++) {
        int count = -1;
        mock.table.device_count = devices;
        mock_apply();
        assert_ok(pdl_device_count(&count));
        assert_int_equal(count, devices);
    }
}

static void every_fact_is_the_drivers(void **state)
{
    (void)state;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    assert_ok(pdl_device_get(0, &info));
    assert_int_equal(info.size, sizeof(info));
    assert_int_equal(info.ordinal, 0);
    assert_int_equal(info.compute_capability_major, 9);
    assert_int_equal(info.compute_capability_minor, 0);
    assert_int_equal(info.driver_version, MOCK_VERSION);
    assert_int_equal(info.multiprocessor_count, 132);
    assert_int_equal(info.warp_size, 32);
    assert_int_equal(info.max_threads_per_block, 1024);
    assert_int_equal(info.max_threads_per_multiprocessor, 2048);
    assert_int_equal(info.max_blocks_per_multiprocessor, 32);
    assert_int_equal(info.registers_per_multiprocessor, 65536);
    assert_int_equal(info.shared_memory_per_block, 49152);
    assert_int_equal(info.shared_memory_per_block_optin, 232448);
    assert_int_equal(info.shared_memory_per_multiprocessor, 233472);
    assert_int_equal(info.reserved_shared_memory_per_block, 1024);
    assert_int_equal(info.l2_cache_size, 62914560);
    assert_int_equal(info.max_block[0], 1024);
    assert_int_equal(info.max_block[1], 1024);
    assert_int_equal(info.max_block[2], 64);
    assert_int_equal(info.max_grid[0], 2147483647);
    assert_int_equal(info.max_grid[1], 65535);
    assert_int_equal(info.max_grid[2], 65535);
    assert_int_equal(info.cooperative_launch, 1);
    assert_int_equal(info.cluster_launch, 1);
    assert_int_equal(info.can_overlap, 1);
    assert_int_equal(info.overlap_reason, PDL_REASON_GRANTED);
    assert_string_equal(info.name, "mocked H200 number 0");
}

/* Each number comes from its own attribute: changing one changes one field. */
static void every_fact_comes_from_its_own_attribute(void **state)
{
    (void)state;
#define FACT(attribute, member)                                                                    \
    {                                                                                              \
        CU_DEVICE_ATTRIBUTE_##attribute, offsetof(pdl_device_info, member)                         \
    }
    static const struct {
        CUdevice_attribute attribute;
        size_t offset;
    } facts[] = {
        FACT(COMPUTE_CAPABILITY_MAJOR, compute_capability_major),
        FACT(COMPUTE_CAPABILITY_MINOR, compute_capability_minor),
        FACT(MULTIPROCESSOR_COUNT, multiprocessor_count),
        FACT(WARP_SIZE, warp_size),
        FACT(MAX_THREADS_PER_BLOCK, max_threads_per_block),
        FACT(MAX_THREADS_PER_MULTIPROCESSOR, max_threads_per_multiprocessor),
        FACT(MAX_BLOCKS_PER_MULTIPROCESSOR, max_blocks_per_multiprocessor),
        FACT(MAX_REGISTERS_PER_MULTIPROCESSOR, registers_per_multiprocessor),
        FACT(MAX_SHARED_MEMORY_PER_BLOCK, shared_memory_per_block),
        FACT(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_memory_per_block_optin),
        FACT(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, shared_memory_per_multiprocessor),
        FACT(RESERVED_SHARED_MEMORY_PER_BLOCK, reserved_shared_memory_per_block),
        FACT(L2_CACHE_SIZE, l2_cache_size),
        FACT(MAX_BLOCK_DIM_X, max_block[0]),
        FACT(MAX_BLOCK_DIM_Y, max_block[1]),
        FACT(MAX_BLOCK_DIM_Z, max_block[2]),
        FACT(MAX_GRID_DIM_X, max_grid[0]),
        FACT(MAX_GRID_DIM_Y, max_grid[1]),
        FACT(MAX_GRID_DIM_Z, max_grid[2]),
        {(CUdevice_attribute)150, offsetof(pdl_device_info, oversized_shared_memory_per_block)},
    };
#undef FACT
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        pdl_device_info before = PDL_DEVICE_INFO_INIT;
        pdl_device_info after = PDL_DEVICE_INFO_INIT;
        const int value = mock.devices[0].attributes[facts[i].attribute];
        const int other = value > 1000 ? value - 11 : value + 11; /* 9.0 stays above it */
        int32_t got;
        assert_ok(pdl_device_get(0, &before));
        mock.devices[0].attributes[facts[i].attribute] = other;
        mock_apply();
        assert_ok(pdl_device_get(0, &after));
        memcpy(&got, (const char *)&after + facts[i].offset, sizeof(got));
        assert_int_equal(got, other);
        memcpy((char *)&after + facts[i].offset, &value, sizeof(value));
        assert_memory_equal(&after, &before, sizeof(after));
        mock.devices[0].attributes[facts[i].attribute] = value;
        mock_apply();
    }
}

static void an_older_driver_is_not_asked_what_it_does_not_know(void **state)
{
    (void)state;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    mock.devices[0].attributes[150] = 262144;
    mock_set_driver_version(13030);
    assert_ok(pdl_device_get(0, &info));
    assert_int_equal(info.oversized_shared_memory_per_block, 0);
    mock_set_driver_version(13040);
    assert_ok(pdl_device_get(0, &info));
    assert_int_equal(info.oversized_shared_memory_per_block, 262144);
}

static void a_device_that_cannot_do_it_says_so(void **state)
{
    (void)state;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 0;
    mock_apply();
    assert_ok(pdl_device_get(0, &info));
    assert_int_equal(info.cooperative_launch, 0);
    assert_int_equal(info.cluster_launch, 1);
    mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1;
    mock.devices[0].attributes[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = 0;
    mock_apply();
    assert_ok(pdl_device_get(0, &info));
    assert_int_equal(info.cooperative_launch, 1);
    assert_int_equal(info.cluster_launch, 0);
}

static void no_context_is_needed(void **state)
{
    (void)state;
    int count = 0;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    mock_set_current(-1);
    assert_ok(pdl_device_count(&count));
    assert_ok(pdl_device_get(0, &info));
}

static void a_device_is_asked_once(void **state)
{
    (void)state;
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    assert_ok(pdl_device_get(0, &info));
    const unsigned calls = mock_total_calls();
    for (int i = 0; i < 10; i++) {
        assert_ok(pdl_device_get(0, &info));
    }
    assert_int_equal(mock_total_calls(), calls);
}

static void an_ordinal_that_is_none_is_refused_and_nothing_written(void **state)
{
    (void)state;
    const int ordinals[] = {-1, 1, 63, 64, 1000, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(ordinals); i++) {
        char number[32];
        pdl_device_info info;
        memset(&info, 0x5a, sizeof(info));
        info.size = (uint32_t)sizeof(info);
        const pdl_device_info before = info;
        (void)snprintf(number, sizeof(number), "%d", ordinals[i]);
        assert_refused(pdl_device_get(ordinals[i], &info), PDL_ERROR_INVALID_DEVICE, "device",
                       number, "1");
        assert_memory_equal(&info, &before, sizeof(info));
    }
}

static void missing_outputs_are_invalid_arguments(void **state)
{
    (void)state;
    assert_refused(pdl_device_count(NULL), PDL_ERROR_INVALID_ARGUMENT, "count", "NULL");
    assert_refused(pdl_device_get(0, NULL), PDL_ERROR_INVALID_ARGUMENT, "info", "NULL");
}

static void an_info_whose_size_was_never_set_is_refused(void **state)
{
    (void)state;
    pdl_device_info info;
    memset(&info, 0, sizeof(info));
    assert_refused(pdl_device_get(0, &info), PDL_ERROR_DESC_SIZE, "size", "info", "0");
    info.size = 16385; /* what was on the stack: so much would be written */
    assert_refused(pdl_device_get(0, &info), PDL_ERROR_DESC_SIZE, "size", "info", "16385", "16384");
}

static void an_older_callers_info_is_filled_to_its_end(void **state)
{
    (void)state;
    for (size_t size = sizeof(uint32_t); size < sizeof(pdl_device_info); size++) {
        pdl_device_info full = PDL_DEVICE_INFO_INIT;
        unsigned char *older = malloc(size); /* of that size: a byte too many is seen */
        const uint32_t size_field = (uint32_t)size;
        assert_non_null(older);
        memset(older, 0xff, size);
        memcpy(older, &size_field, sizeof(size_field));
        assert_ok(pdl_device_get(0, &full));
        assert_ok(pdl_device_get(0, (pdl_device_info *)(void *)older));
        assert_memory_equal(older, &size_field, sizeof(size_field));
        assert_memory_equal(older + sizeof(size_field), (const char *)&full + sizeof(size_field),
                            size - sizeof(size_field));
        free(older);
    }
}

static void a_newer_callers_info_has_zeros_in_what_is_not_known(void **state)
{
    (void)state;
    struct {
        pdl_device_info info;
        unsigned char more[40];
    } newer;
    memset(&newer, 0xff, sizeof(newer));
    newer.info.size = (uint32_t)sizeof(newer);
    assert_ok(pdl_device_get(0, &newer.info));
    assert_int_equal(newer.info.size, sizeof(newer));
    for (size_t i = 0; i < sizeof(newer.more); i++) {
        assert_int_equal(newer.more[i], 0);
    }
}

static void a_failing_question_is_an_error_and_is_asked_again(void **state)
{
    (void)state;
    static const enum mock_entry entries[] = {MOCK_cuDeviceGet, MOCK_cuDeviceGetAttribute,
                                              MOCK_cuDeviceGetName};
    static const char *const calls[] = {"cuDeviceGet", "cuDeviceGetAttribute", "cuDeviceGetName"};
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        pdl_device_info info = PDL_DEVICE_INFO_INIT;
        mock_apply();
        mock_fail(entries[i], 1, CUDA_ERROR_UNKNOWN);
        assert_refused(pdl_device_get(0, &info), PDL_ERROR_DRIVER, NULL, calls[i],
                       "CUDA_ERROR_UNKNOWN");
        assert_string_equal(pdl_last_error()->call, calls[i]);
        assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_UNKNOWN);
        assert_int_equal(info.multiprocessor_count, 0);
        assert_ok(pdl_device_get(0, &info));
        assert_int_equal(info.multiprocessor_count, 132);
    }
}

static void the_current_device_is_that_of_the_threads_context(void **state)
{
    (void)state;
    int device = -1;
    mock.table.device_count = 3;
    mock_apply();
    mock_set_current(2);
    assert_ok(pdl_device_current(&device));
    assert_int_equal(device, 2);
    mock_set_current(-1);
    device = 7;
    assert_refused(pdl_device_current(&device), PDL_ERROR_NO_CONTEXT, NULL, "cuCtxGetDevice");
    assert_int_equal(device, 7);
    assert_refused(pdl_device_current(NULL), PDL_ERROR_INVALID_ARGUMENT, "device", "NULL");
}

static void a_current_device_beyond_those_known_is_refused(void **state)
{
    (void)state;
    int device = 7;
    mock_set_current(1); /* and the driver shows one device */
    assert_refused(pdl_device_current(&device), PDL_ERROR_INVALID_DEVICE, NULL, "1");
    assert_int_equal(device, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOCK_TEST(the_devices_are_counted),
        MOCK_TEST(every_fact_is_the_drivers),
        MOCK_TEST(every_fact_comes_from_its_own_attribute),
        MOCK_TEST(an_older_driver_is_not_asked_what_it_does_not_know),
        MOCK_TEST(a_device_that_cannot_do_it_says_so),
        MOCK_TEST(no_context_is_needed),
        MOCK_TEST(a_device_is_asked_once),
        MOCK_TEST(an_ordinal_that_is_none_is_refused_and_nothing_written),
        MOCK_TEST(missing_outputs_are_invalid_arguments),
        MOCK_TEST(an_info_whose_size_was_never_set_is_refused),
        MOCK_TEST(an_older_callers_info_is_filled_to_its_end),
        MOCK_TEST(a_newer_callers_info_has_zeros_in_what_is_not_known),
        MOCK_TEST(a_failing_question_is_an_error_and_is_asked_again),
        MOCK_TEST(the_current_device_is_that_of_the_threads_context),
        MOCK_TEST(a_current_device_beyond_those_known_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
