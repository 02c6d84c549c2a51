/* SPDX-License-Identifier: MIT */
/* The layout of every struct that crosses the library's boundary, on LP64. A line that no longer
 * compiles is a broken ABI: add fields at the end, never move one. */
#include <pdl/chain.h>
#include <pdl/overlap.h>
#include <pdl/trace.h>

#include "support.h"

#define FIELD(type, member, at)                                                                    \
    _Static_assert(offsetof(type, member) == (at), #type "::" #member " has moved")
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " has another size")

_Static_assert(sizeof(void *) == 8, "these offsets are those of LP64");

FIELD(pdl_error, status, 0);
FIELD(pdl_error, cuda_result, 4);
FIELD(pdl_error, call, 8);
FIELD(pdl_error, field, 16);
FIELD(pdl_error, message, 24);
SIZE(pdl_error, 408);

FIELD(pdl_device_info, size, 0);
FIELD(pdl_device_info, ordinal, 4);
FIELD(pdl_device_info, compute_capability_major, 8);
FIELD(pdl_device_info, compute_capability_minor, 12);
FIELD(pdl_device_info, driver_version, 16);
FIELD(pdl_device_info, multiprocessor_count, 20);
FIELD(pdl_device_info, warp_size, 24);
FIELD(pdl_device_info, max_threads_per_block, 28);
FIELD(pdl_device_info, max_threads_per_multiprocessor, 32);
FIELD(pdl_device_info, max_blocks_per_multiprocessor, 36);
FIELD(pdl_device_info, registers_per_multiprocessor, 40);
FIELD(pdl_device_info, shared_memory_per_block, 44);
FIELD(pdl_device_info, shared_memory_per_block_optin, 48);
FIELD(pdl_device_info, shared_memory_per_multiprocessor, 52);
FIELD(pdl_device_info, reserved_shared_memory_per_block, 56);
FIELD(pdl_device_info, l2_cache_size, 60);
FIELD(pdl_device_info, max_block, 64);
FIELD(pdl_device_info, max_grid, 76);
FIELD(pdl_device_info, cooperative_launch, 88);
FIELD(pdl_device_info, cluster_launch, 92);
FIELD(pdl_device_info, can_overlap, 96);
FIELD(pdl_device_info, overlap_reason, 100);
FIELD(pdl_device_info, name, 104);
SIZE(pdl_device_info, 232);

FIELD(pdl_kernel_info, size, 0);
FIELD(pdl_kernel_info, device, 4);
FIELD(pdl_kernel_info, ptx_version, 8);
FIELD(pdl_kernel_info, binary_version, 12);
FIELD(pdl_kernel_info, max_threads_per_block, 16);
FIELD(pdl_kernel_info, registers_per_thread, 20);
FIELD(pdl_kernel_info, static_shared_memory, 24);
FIELD(pdl_kernel_info, max_dynamic_shared_memory, 28);
FIELD(pdl_kernel_info, local_memory, 32);
FIELD(pdl_kernel_info, constant_memory, 36);
FIELD(pdl_kernel_info, waits, 40);
FIELD(pdl_kernel_info, triggers, 44);
FIELD(pdl_kernel_info, can_overlap, 48);
FIELD(pdl_kernel_info, overlap_reason, 52);
SIZE(pdl_kernel_info, 56);

FIELD(pdl_access_policy, base, 0);
FIELD(pdl_access_policy, bytes, 8);
FIELD(pdl_access_policy, hit_ratio, 16);
FIELD(pdl_access_policy, hit_property, 20);
FIELD(pdl_access_policy, miss_property, 24);
FIELD(pdl_access_policy, reserved, 28);
SIZE(pdl_access_policy, 32);

FIELD(pdl_launch_desc, size, 0);
FIELD(pdl_launch_desc, default_stream, 4);
FIELD(pdl_launch_desc, flags, 8);
FIELD(pdl_launch_desc, grid, 12);
FIELD(pdl_launch_desc, block, 24);
FIELD(pdl_launch_desc, cluster, 36);
FIELD(pdl_launch_desc, preferred_cluster, 48);
FIELD(pdl_launch_desc, cluster_scheduling, 60);
FIELD(pdl_launch_desc, dynamic_shared_memory, 64);
FIELD(pdl_launch_desc, stream, 72);
FIELD(pdl_launch_desc, overlap, 80);
FIELD(pdl_launch_desc, cooperative, 84);
FIELD(pdl_launch_desc, trigger_event, 88);
FIELD(pdl_launch_desc, launch_event, 96);
FIELD(pdl_launch_desc, trigger_at_block_start, 104);
FIELD(pdl_launch_desc, priority, 108);
FIELD(pdl_launch_desc, mem_sync_domain, 112);
FIELD(pdl_launch_desc, mem_sync_domain_map, 116);
FIELD(pdl_launch_desc, reserved, 118);
FIELD(pdl_launch_desc, shared_memory_carveout, 120);
FIELD(pdl_launch_desc, nvlink_centric_scheduling, 124);
FIELD(pdl_launch_desc, access_policy, 128);
FIELD(pdl_launch_desc, device_node, 160);
SIZE(pdl_launch_desc, 168);

FIELD(pdl_launch_report, size, 0);
FIELD(pdl_launch_report, device, 4);
FIELD(pdl_launch_report, overlap, 8);
FIELD(pdl_launch_report, overlap_reason, 12);
FIELD(pdl_launch_report, attribute_count, 16);
FIELD(pdl_launch_report, attributes, 20);
FIELD(pdl_launch_report, message, 84);
SIZE(pdl_launch_report, 484);

FIELD(pdl_runtime_launch, grid, 0);
FIELD(pdl_runtime_launch, block, 12);
FIELD(pdl_runtime_launch, dynamic_shared_memory, 24);
FIELD(pdl_runtime_launch, reserved, 28);
FIELD(pdl_runtime_launch, stream, 32);
FIELD(pdl_runtime_launch, attributes, 40);
FIELD(pdl_runtime_launch, attribute_count, 48);
FIELD(pdl_runtime_launch, reserved_end, 52);
SIZE(pdl_runtime_launch, 56);

FIELD(pdl_runtime_ops, size, 0);
FIELD(pdl_runtime_ops, runtime_version, 4);
FIELD(pdl_runtime_ops, launch, 8);
FIELD(pdl_runtime_ops, get_function, 16);
SIZE(pdl_runtime_ops, 24);

FIELD(pdl_edge, node, 0);
FIELD(pdl_edge, kind, 8);
FIELD(pdl_edge, reserved, 12);
SIZE(pdl_edge, 16);

FIELD(pdl_full_dependency, producer, 0);
FIELD(pdl_full_dependency, consumer, 8);
FIELD(pdl_full_dependency, between, 16);
FIELD(pdl_full_dependency, producer_name, 24);
FIELD(pdl_full_dependency, consumer_name, 32);
FIELD(pdl_full_dependency, reason, 40);
FIELD(pdl_full_dependency, between_type, 44);
SIZE(pdl_full_dependency, 48);

FIELD(pdl_census, size, 0);
FIELD(pdl_census, full_capacity, 4);
FIELD(pdl_census, full_dependencies, 8);
FIELD(pdl_census, nodes, 16);
FIELD(pdl_census, kernels, 20);
FIELD(pdl_census, edges, 24);
FIELD(pdl_census, full, 28);
FIELD(pdl_census, programmatic, 32);
FIELD(pdl_census, launch_completion, 36);
FIELD(pdl_census, programmatic_at_block_start, 40);
FIELD(pdl_census, other, 44);
FIELD(pdl_census, full_count, 48);
SIZE(pdl_census, 56);

FIELD(pdl_chain_report, size, 0);
FIELD(pdl_chain_report, links, 4);
FIELD(pdl_chain_report, dependencies, 8);
FIELD(pdl_chain_report, overlap, 12);
FIELD(pdl_chain_report, overlap_reason, 16);
FIELD(pdl_chain_report, built, 20);
FIELD(pdl_chain_report, message, 24);
SIZE(pdl_chain_report, 424);

FIELD(pdl_timeline_block, launch, 0);
FIELD(pdl_timeline_block, block, 4);
FIELD(pdl_timeline_block, sm, 8);
FIELD(pdl_timeline_block, reserved, 12);
FIELD(pdl_timeline_block, start_ns, 16);
FIELD(pdl_timeline_block, wait_ns, 24);
FIELD(pdl_timeline_block, waited_ns, 32);
FIELD(pdl_timeline_block, triggered_ns, 40);
FIELD(pdl_timeline_block, end_ns, 48);
SIZE(pdl_timeline_block, 56);

FIELD(pdl_timeline_summary, size, 0);
FIELD(pdl_timeline_summary, launches, 4);
FIELD(pdl_timeline_summary, blocks, 8);
FIELD(pdl_timeline_summary, lost, 16);
FIELD(pdl_timeline_summary, span_ns, 24);
FIELD(pdl_timeline_summary, busy_ns, 32);
FIELD(pdl_timeline_summary, summed_ns, 40);
FIELD(pdl_timeline_summary, overlap_ns, 48);
FIELD(pdl_timeline_summary, gap_ns, 56);
FIELD(pdl_timeline_summary, blocked_ns, 64);
FIELD(pdl_timeline_summary, overlap_share, 72);
FIELD(pdl_timeline_summary, sm_share, 80);
SIZE(pdl_timeline_summary, 88);

FIELD(pdl_trace_launch, records, 0);
FIELD(pdl_trace_launch, first, 8);
FIELD(pdl_trace_launch, capacity, 12);
FIELD(pdl_trace_launch, blocks, 16);
FIELD(pdl_trace_launch, launch, 20);
SIZE(pdl_trace_launch, 24);

FIELD(pdl_trace_report, size, 0);
FIELD(pdl_trace_report, launches, 4);
FIELD(pdl_trace_report, blocks, 8);
FIELD(pdl_trace_report, overwritten, 16);
FIELD(pdl_trace_report, unwritten, 24);
FIELD(pdl_trace_report, timer, 32);
SIZE(pdl_trace_report, 40);

FIELD(pdl_condition_report, condition, 0);
FIELD(pdl_condition_report, met, 4);
FIELD(pdl_condition_report, message, 8);
SIZE(pdl_condition_report, 256);

FIELD(pdl_resource_report, condition, 0);
FIELD(pdl_resource_report, known, 4);
FIELD(pdl_resource_report, capacity, 8);
FIELD(pdl_resource_report, primary_block, 12);
FIELD(pdl_resource_report, secondary_block, 16);
FIELD(pdl_resource_report, left, 20);
FIELD(pdl_resource_report, fit, 24);
FIELD(pdl_resource_report, may_fit, 28);
FIELD(pdl_resource_report, secondary_at_most, 32);
FIELD(pdl_resource_report, primary_at_most, 36);
SIZE(pdl_resource_report, 40);

FIELD(pdl_overlap_report, size, 0);
FIELD(pdl_overlap_report, device, 4);
FIELD(pdl_overlap_report, overlap, 8);
FIELD(pdl_overlap_report, early_launch, 12);
FIELD(pdl_overlap_report, sms, 16);
FIELD(pdl_overlap_report, primary_per_sm, 20);
FIELD(pdl_overlap_report, secondary_per_sm, 24);
FIELD(pdl_overlap_report, primary_waves, 28);
FIELD(pdl_overlap_report, primary_blocks, 32);
FIELD(pdl_overlap_report, secondary_blocks, 40);
FIELD(pdl_overlap_report, last_wave, 48);
FIELD(pdl_overlap_report, most_on_sm, 56);
FIELD(pdl_overlap_report, sms_with_most, 60);
FIELD(pdl_overlap_report, fewest_on_sm, 64);
FIELD(pdl_overlap_report, idle_sms, 68);
FIELD(pdl_overlap_report, fit_beside_most, 72);
FIELD(pdl_overlap_report, fit_beside_fewest, 76);
FIELD(pdl_overlap_report, fit_total, 80);
FIELD(pdl_overlap_report, first_out, 88);
FIELD(pdl_overlap_report, condition_count, 92);
FIELD(pdl_overlap_report, resource_count, 96);
FIELD(pdl_overlap_report, may_fit_beside_most, 100);
FIELD(pdl_overlap_report, may_fit_beside_fewest, 104);
FIELD(pdl_overlap_report, reserved, 108);
FIELD(pdl_overlap_report, conditions, 112);
FIELD(pdl_overlap_report, resources, 6256);
FIELD(pdl_overlap_report, message, 6576);
SIZE(pdl_overlap_report, 6976);

SIZE(pdl_status, 4);

/* A field that somebody appends must be added above: the sizes would not change if it filled
 * padding. */
static void the_descriptor_has_no_padding_but_before_the_stream(void **state)
{
    (void)state;
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
    ADD(access_policy);
    ADD(device_node);
#undef ADD
    assert_int_equal(named + 4, sizeof(desc));
}

static void enumerators_keep_their_values(void **state)
{
    (void)state;
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

static void the_two_ways_to_make_a_descriptor_agree(void **state)
{
    (void)state;
    pdl_launch_desc by_function;
    memset(&by_function, 0xa5, sizeof(by_function));
    pdl_launch_desc_init(&by_function);
    const pdl_launch_desc by_macro = PDL_LAUNCH_DESC(.flags = 0);
    assert_int_equal(by_function.size, sizeof(pdl_launch_desc));
    assert_int_equal(by_function.default_stream, PDL_DEFAULT_STREAM_LEGACY);
    assert_memory_equal(&by_function, &by_macro, sizeof(by_function));
}

static void the_library_is_of_the_headers_version(void **state)
{
    (void)state;
    assert_int_equal(pdl_version(), PDL_VERSION);
    assert_int_equal(PDL_VERSION,
                     PDL_VERSION_MAJOR * 10000 + PDL_VERSION_MINOR * 100 + PDL_VERSION_PATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_descriptor_has_no_padding_but_before_the_stream),
        cmocka_unit_test(enumerators_keep_their_values),
        cmocka_unit_test(the_two_ways_to_make_a_descriptor_agree),
        cmocka_unit_test(the_library_is_of_the_headers_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
