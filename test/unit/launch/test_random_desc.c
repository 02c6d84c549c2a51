/* SPDX-License-Identifier: MIT */
/* Descriptors by chance: each is refused with a sentence, or becomes a launch that is well-formed. */
#include "support.h"

#define ROUNDS 100000

static uint64_t state = 1;

static uint32_t chance(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

/* Mostly small or at a limit, at times anything. */
static uint32_t word(void)
{
    static const uint32_t limits[] = {0,     1,      2,          3,          4,         8,
                                      100,   1024,   1025,       65535,      65536,     49152,
                                      49153, 232448, 0x7fffffff, 0x80000000, UINT32_MAX};
    return chance(8) == 0 ? (uint32_t)(state >> 16) : limits[chance(COUNT_OF(limits))];
}

static uint32_t below(uint32_t limit)
{
    return chance(40) == 0 ? word() : chance(limit);
}

static CUlaunchAttribute extra[16];
static struct CUgraphDeviceUpdatableNode_st *device_node;
static char object[64];

static pdl_launch_desc random_desc(void)
{
    pdl_launch_desc desc = plain_desc();
    if (chance(50) == 0) { /* anything at all, with pointers that can be followed */
        for (size_t at = sizeof(desc.size); at < sizeof(desc); at += sizeof(uint32_t)) {
            const uint32_t any = word();
            memcpy((char *)&desc + at, &any, sizeof(any));
        }
    }
    for (int i = 0; i < 3; i++) {
        desc.grid[i] = chance(4) != 0 ? 1 + chance(8) : word();
        desc.block[i] = chance(4) != 0 ? 1 + chance(i == 0 ? 128 : 4) : word();
        desc.cluster[i] = chance(4) != 0 ? 0 : below(4);
        desc.preferred_cluster[i] = chance(6) != 0 ? 0 : below(4);
    }
    desc.flags = chance(2) ? 0 : below(32);
    desc.default_stream = below(2);
    desc.cluster_scheduling = below(4);
    desc.dynamic_shared_memory = chance(2) ? 0 : word();
    desc.overlap = below(3);
    desc.cooperative = below(2);
    desc.stream = chance(2) ? NULL : mock_stream(chance(8), 0);
    desc.trigger_event = chance(4) != 0 ? NULL : (CUevent)(void *)object;
    desc.launch_event = chance(4) != 0 ? NULL : (CUevent)(void *)object;
    desc.trigger_at_block_start = below(2);
    desc.priority = chance(2) ? 0 : (int32_t)word();
    desc.mem_sync_domain = below(2);
    desc.mem_sync_domain_map[0] = (uint8_t)(chance(4) != 0 ? 0 : word());
    desc.mem_sync_domain_map[1] = (uint8_t)(chance(4) != 0 ? 0 : word());
    desc.reserved[0] = (uint8_t)(chance(100) == 0);
    desc.shared_memory_carveout = below(102);
    desc.nvlink_centric_scheduling = below(2);
    desc.portable_cluster_size = below(4);
    desc.shared_memory_mode = below(6);
    desc.access_policy.base = chance(2) ? NULL : object;
    desc.access_policy.bytes = chance(2) ? 0 : word();
    desc.access_policy.hit_ratio = (float)chance(5) / 3.5f;
    desc.access_policy.hit_property = below(3);
    desc.access_policy.miss_property = below(2);
    desc.access_policy.reserved = chance(100) == 0;
    desc.device_node = chance(4) != 0 ? NULL : &device_node;
    desc.extra_attribute_count = chance(3) != 0 ? 0 : below(18);
    desc.extra_attributes = desc.extra_attribute_count > 0 && chance(20) != 0 ? extra : NULL;
    desc.reserved_end = chance(100) == 0;
    for (size_t i = 0; i < COUNT_OF(extra); i++) { /* such as the library has no field for */
        extra[i].id = (CUlaunchAttributeID)(100 + i);
    }
    return desc;
}

static void check_launch(const pdl_launch_desc *desc, const struct mock_launch *launch)
{
    const CUlaunchConfig *config = &launch->config;
    const uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    uint64_t seen[4] = {0};
    bool overlaps = false;
    assert_true(config->gridDimX > 0 && config->gridDimY > 0 && config->gridDimZ > 0);
    assert_true(threads > 0 && threads <= 1024);
    assert_true(config->numAttrs <= MOCK_ATTRIBUTES);
    assert_int_equal(launch->attribute_count, config->numAttrs);
    for (unsigned i = 0; i < launch->attribute_count; i++) {
        const unsigned id = (unsigned)launch->attributes[i].id;
        assert_true(id > 0 && id < 256);
        assert_true((seen[id / 64] >> id % 64 & 1) == 0); /* each once */
        seen[id / 64] |= (uint64_t)1 << id % 64;
        overlaps =
            overlaps || id == (unsigned)CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    }
    assert_true(!overlaps || (desc->overlap != PDL_OVERLAP_NONE && desc->cooperative == 0));
    assert_true(config->sharedMemBytes == desc->dynamic_shared_memory);
}

TEST(what_the_gate_allows_is_well_formed)
{
    pdl_kernel *kernel = test_kernel(FROM_CU_KERNEL, 0);
    unsigned launched = 0;
    unsigned overlapping = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const pdl_launch_desc desc = random_desc();
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        const unsigned before = mock.launch_count;
        const pdl_status explained = pdl_launch_explain(kernel, &desc, &report);
        const pdl_status status = pdl_launch(kernel, &desc, NULL);
        assert_int_equal(status, explained);
        if (status != PDL_SUCCESS) {
            assert_int_equal(pdl_last_error()->status, status);
            assert_true(strlen(pdl_last_error()->message) > 10);
            assert_int_equal(mock.launch_count, before);
            continue;
        }
        const struct mock_launch *launch = mock_last_launch();
        assert_int_equal(mock.launch_count, before + 1);
        check_launch(&desc, launch);
        assert_int_equal(report.attribute_count, launch->attribute_count);
        launched++;
        overlapping += report.overlap;
    }
    assert_true(launched > ROUNDS / 100 && launched < ROUNDS / 2);
    assert_true(overlapping > 0);
}
