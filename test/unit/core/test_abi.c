/* SPDX-License-Identifier: MIT */
/* What of the API abidiff does not compare: values of enumerators, and the two ways to make a
 * descriptor. The layout of structs is compared with test/abi. */
#include <pdl/chain.h>
#include <pdl/timeline.h>

#include "support.h"

/* A field that somebody appends must be added above: the sizes would not change if it filled
 * padding. */
PLAIN_TEST(the_descriptor_has_no_padding_but_before_the_stream)
{
    pdl_launch_desc desc;
    size_t named = 0;
#define ADD(member) named += sizeof(desc.member)
    ADD(size);
    ADD(default_stream);
    ADD(flags);
    ADD(grid);
    ADD(block);
    ADD(cluster);
    ADD(preferred_cluster);
    ADD(cluster_scheduling);
    ADD(dynamic_shared_memory);
    ADD(stream);
    ADD(overlap);
    ADD(cooperative);
    ADD(trigger_event);
    ADD(launch_event);
    ADD(trigger_at_block_start);
    ADD(priority);
    ADD(mem_sync_domain);
    ADD(mem_sync_domain_map);
    ADD(reserved);
    ADD(shared_memory_carveout);
    ADD(nvlink_centric_scheduling);
    ADD(portable_cluster_size);
    ADD(shared_memory_mode);
    ADD(access_policy);
    ADD(device_node);
    ADD(extra_attributes);
    ADD(extra_attribute_count);
    ADD(reserved_end);
#undef ADD
    assert_int_equal(named + 4, sizeof(desc));
}

PLAIN_TEST(enumerators_keep_their_values)
{
    assert_int_equal(PDL_OVERLAP_NONE, 0);
    assert_int_equal(PDL_OVERLAP_AUTO, 1);
    assert_int_equal(PDL_OVERLAP_REQUIRE, 2);
    assert_int_equal(PDL_REASON_GRANTED, 16);
    assert_int_equal(PDL_REASON_NOT_REQUESTED, 17);
    assert_int_equal(PDL_REASON_DISABLED, 18);
    assert_int_equal(PDL_REASON_DEVICE, 19);
    assert_int_equal(PDL_REASON_CODE, 20);
    assert_int_equal(PDL_REASON_NO_WAIT, 21);
    assert_int_equal(PDL_REASON_COOPERATIVE, 22);
    assert_int_equal(PDL_EDGE_FULL, 0);
    assert_int_equal(PDL_EDGE_PROGRAMMATIC, 1);
    assert_int_equal(PDL_EDGE_LAUNCH_COMPLETION, 2);
    assert_int_equal(PDL_EDGE_PROGRAMMATIC_AT_BLOCK_START, 3);
    assert_int_equal(PDL_FULL_SERIAL, 0);
    assert_int_equal(PDL_FULL_COOPERATIVE, 1);
    assert_int_equal(PDL_FULL_CODE, 2);
    assert_int_equal(PDL_FULL_MEMSET, 3);
    assert_int_equal(PDL_FULL_MEMCPY, 4);
    assert_int_equal(PDL_FULL_HOST, 5);
    assert_int_equal(PDL_FULL_OTHER_NODE, 6);
    assert_int_equal(PDL_CHAIN_START, 0xffffffffu);
    assert_int_equal(PDL_TIMELINE_TEXT, 1);
    assert_int_equal(PDL_TIMELINE_SVG, 2);
    assert_int_equal(PDL_TIMELINE_TRACE, 3);
    assert_true(PDL_TIMELINE_NONE == INT64_MIN);
    assert_int_equal(PDL_UNKNOWN, 0);
    assert_int_equal(PDL_NO, 1);
    assert_int_equal(PDL_YES, 2);
    assert_int_equal(PDL_CLUSTER_SCHEDULING_DEFAULT, CU_CLUSTER_SCHEDULING_POLICY_DEFAULT);
    assert_int_equal(PDL_CLUSTER_SCHEDULING_SPREAD, CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
    assert_int_equal(PDL_CLUSTER_SCHEDULING_LOAD_BALANCING,
                     CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
    assert_int_equal(PDL_ACCESS_NORMAL, CU_ACCESS_PROPERTY_NORMAL);
    assert_int_equal(PDL_ACCESS_STREAMING, CU_ACCESS_PROPERTY_STREAMING);
    assert_int_equal(PDL_ACCESS_PERSISTING, CU_ACCESS_PROPERTY_PERSISTING);
    assert_int_equal(PDL_DEFAULT_STREAM_LEGACY, 0);
    assert_int_equal(PDL_DEFAULT_STREAM_PER_THREAD, 1);
    assert_int_equal(PDL_LAUNCH_SET_PRIORITY, 0x1);
    assert_int_equal(PDL_LAUNCH_SET_MEM_SYNC_DOMAIN, 0x2);
    assert_int_equal(PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP, 0x4);
    assert_int_equal(PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT, 0x8);
    assert_int_equal(PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING, 0x10);
}

PLAIN_TEST(the_two_ways_to_make_a_descriptor_agree)
{
    pdl_launch_desc by_function;
    memset(&by_function, 0xa5, sizeof(by_function));
    pdl_launch_desc_init(&by_function);
    const pdl_launch_desc by_macro = PDL_LAUNCH_DESC(.flags = 0);
    assert_int_equal(by_function.size, sizeof(pdl_launch_desc));
    assert_int_equal(by_function.default_stream, PDL_DEFAULT_STREAM_LEGACY);
    assert_memory_equal(&by_function, &by_macro, sizeof(by_function));
}

PLAIN_TEST(the_library_is_of_the_headers_version)
{
    assert_int_equal(pdl_version(), PDL_VERSION);
    assert_int_equal(PDL_VERSION,
                     PDL_VERSION_MAJOR * 10000 + PDL_VERSION_MINOR * 100 + PDL_VERSION_PATCH);
}
