/* SPDX-License-Identifier: MIT */
/* What is told of a device. */
#include "support.h"

TEST(each_device_can_be_asked_about_and_the_next_is_refused)
{
    for (int devices = 1; devices <= MOCK_DEVICES; devices++) {
        pdl_device_info info = PDL_DEVICE_INFO_INIT;
        mock.table.device_count = devices;
        mock_apply();
        assert_ok(pdl_device_get(devices - 1, &info));
        assert_int_equal(info.ordinal, devices - 1);
        assert_refused(pdl_device_get(devices, &info), PDL_ERROR_INVALID_DEVICE, "device", "");
    }
}

/* Each number comes from its own attribute: changing one changes one field. */
TEST(every_fact_comes_from_its_own_attribute)
{
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
        FACT(COOPERATIVE_LAUNCH, cooperative_launch),
        FACT(CLUSTER_LAUNCH, cluster_launch),
        {(CUdevice_attribute)150, offsetof(pdl_device_info, oversized_shared_memory_per_block)},
    };
#undef FACT
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        const int value = mock.devices[0].attributes[facts[i].attribute];
        const int other = value == 1     ? 0
                          : value > 1000 ? value - 11
                                         : value + 11; /* 9.0 stays above it */
        int32_t got;
        pdl_device_info before = device_info(0);
        mock.devices[0].attributes[facts[i].attribute] = other;
        mock_apply();
        pdl_device_info after = device_info(0);
        memcpy(&got, (const char *)&after + facts[i].offset, sizeof(got));
        assert_int_equal(got, other);
        memcpy((char *)&after + facts[i].offset, &value, sizeof(value));
        assert_memory_equal(&after, &before, sizeof(after));
        mock.devices[0].attributes[facts[i].attribute] = value;
        mock_apply();
    }
}

TEST(an_older_driver_is_not_asked_what_it_does_not_know)
{
    mock.devices[0].attributes[150] = 262144;
    mock_set_driver_version(13030);
    pdl_device_info info = device_info(0);
    assert_int_equal(info.oversized_shared_memory_per_block, 0);
    mock_set_driver_version(13040);
    assert_ok(pdl_device_get(0, &info));
    assert_int_equal(info.oversized_shared_memory_per_block, 262144);
}

TEST(no_context_is_needed)
{
    mock_set_current(-1);
    (void)device_info(0);
}

TEST(a_device_is_asked_once)
{
    pdl_device_info info = device_info(0);
    const unsigned calls = mock_total_calls();
    for (int i = 0; i < 10; i++) {
        assert_ok(pdl_device_get(0, &info));
    }
    assert_int_equal(mock_total_calls(), calls);
}

TEST(an_ordinal_that_is_none_is_refused_and_nothing_written)
{
    const int ordinals[] = {-2, 1, 63, 64, 1000, INT32_MIN, INT32_MAX};
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

TEST(missing_outputs_are_invalid_arguments)
{
    assert_invalid(pdl_device_get(0, NULL), "info", "NULL");
}

TEST(the_current_device_is_that_of_the_threads_context)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    mock.table.device_count = 3;
    mock_apply();
    mock_set_current(2);
    assert_ok(pdl_device_get(-1, &info));
    assert_int_equal(info.ordinal, 2);
    mock_set_current(-1);
    assert_refused(pdl_device_get(-1, &info), PDL_ERROR_NO_CONTEXT, NULL, "cuCtxGetDevice");
    assert_int_equal(info.ordinal, 2);
}

TEST(a_current_device_beyond_those_known_is_refused)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    mock_set_current(1); /* and the driver shows one device */
    assert_refused(pdl_device_get(-1, &info), PDL_ERROR_INVALID_DEVICE, NULL, "1");
}
