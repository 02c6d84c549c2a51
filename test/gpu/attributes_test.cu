/* SPDX-License-Identifier: MIT */
/* The driver takes every launch attribute, alone and all together, and the kernel runs. Each test
 * runs with a kernel from a symbol (cudaLaunchKernelExC) and with one from a CUfunction
 * (cuLaunchKernelEx). */
#include "gpu_test.cuh"

static const unsigned blocks = 8;

/* Counts threads. */
static __global__ void count(unsigned *counter)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(counter, 1u);
}

struct fixture {
    cudaStream_t stream;
    unsigned *counter;
    pdl_kernel *kernels[2];
    struct CUevent_st *trigger;
    struct CUevent_st *launched;
    char *window;
};

static fixture fix;
static const size_t window_bytes = 1 << 16;

static int set_up(void **)
{
    cudaFunction_t function = nullptr;
    assert_cuda(cudaStreamCreateWithFlags(&fix.stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc(&fix.counter, sizeof(*fix.counter)));
    assert_cuda(cudaMalloc(&fix.window, window_bytes));
    assert_cuda(cudaEventCreateWithFlags(&fix.trigger, cudaEventDisableTiming));
    assert_cuda(cudaEventCreateWithFlags(&fix.launched, cudaEventDisableTiming));
    assert_pdl(pdl_kernel_from_symbol(count, &fix.kernels[0]));
    assert_cuda(cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(count)));
    assert_pdl(pdl_kernel_from_function(function, NULL, &fix.kernels[1]));
    assert_pdl(pdl_kernel_declare(fix.kernels[1], PDL_YES, PDL_YES));
    return 0;
}

static int tear_down(void **)
{
    pdl_kernel_destroy(fix.kernels[1]);
    pdl_kernel_destroy(fix.kernels[0]);
    (void)cudaEventDestroy(fix.launched);
    (void)cudaEventDestroy(fix.trigger);
    assert_cuda(cudaFree(fix.window));
    assert_cuda(cudaFree(fix.counter));
    assert_cuda(cudaStreamDestroy(fix.stream));
    return 0;
}

static pdl_launch_desc basic_desc(void)
{
    return pdl_launch_desc_make(blocks, 32, 0, fix.stream);
}

/* Launches with both kernels and checks that all threads of both ran. */
static void launches(const pdl_launch_desc &desc)
{
    for (pdl_kernel *kernel : fix.kernels) {
        unsigned counted = 0;
        assert_cuda(cudaMemset(fix.counter, 0, sizeof(*fix.counter)));
        assert_cuda(cudaDeviceSynchronize());
        assert_pdl(pdl_launch(kernel, desc, PDL_ARGS(fix.counter)));
        assert_cuda(cudaStreamSynchronize(fix.stream));
        assert_cuda(cudaMemcpy(&counted, fix.counter, sizeof(counted), cudaMemcpyDeviceToHost));
        assert_int_equal(counted, blocks * 32);
    }
}

/* Checks that the launch would carry exactly the one attribute. */
static void carries(const pdl_launch_desc &desc, cudaLaunchAttributeID id)
{
    for (pdl_kernel *kernel : fix.kernels) {
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        assert_pdl(pdl_launch_explain(kernel, &desc, &report));
        assert_int_equal(report.attribute_count, 1);
        assert_int_equal(report.attributes[0], id);
    }
}

static void set_access_policy(pdl_launch_desc &desc)
{
    desc.access_policy.base = fix.window;
    desc.access_policy.bytes = window_bytes;
    desc.access_policy.hit_ratio = 0.5f;
    desc.access_policy.hit_property = PDL_ACCESS_PERSISTING;
    desc.access_policy.miss_property = PDL_ACCESS_STREAMING;
}

static void set_cluster(pdl_launch_desc &desc)
{
    desc.cluster[0] = 2;
}

static void set_cluster_scheduling(pdl_launch_desc &desc)
{
    desc.cluster_scheduling = PDL_CLUSTER_SCHEDULING_SPREAD;
}

static void set_priority(pdl_launch_desc &desc)
{
    int least = 0;
    int greatest = 0;
    assert_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    desc.priority = greatest;
    desc.flags |= PDL_LAUNCH_SET_PRIORITY;
}

static void set_mem_sync_domain(pdl_launch_desc &desc)
{
    desc.mem_sync_domain = 1;
    desc.flags |= PDL_LAUNCH_SET_MEM_SYNC_DOMAIN;
}

static void set_mem_sync_domain_map(pdl_launch_desc &desc)
{
    desc.mem_sync_domain_map[0] = 0;
    desc.mem_sync_domain_map[1] = 1;
    desc.flags |= PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP;
}

static void set_carveout(pdl_launch_desc &desc)
{
    desc.shared_memory_carveout = 50;
    desc.flags |= PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT;
}

static void set_nvlink_centric(pdl_launch_desc &desc)
{
    desc.nvlink_centric_scheduling = 1;
    desc.flags |= PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING;
}

static void a_plain_launch_is_accepted(void **)
{
    launches(basic_desc());
}

static void an_access_policy_window_is_accepted(void **)
{
    pdl_launch_desc desc = basic_desc();
    set_access_policy(desc);
    carries(desc, cudaLaunchAttributeAccessPolicyWindow);
    launches(desc);
}

static void cooperative_is_accepted(void **)
{
    pdl_launch_desc desc = basic_desc();
    desc.cooperative = 1;
    carries(desc, cudaLaunchAttributeCooperative);
    launches(desc);
}

static void a_cluster_is_accepted(void **)
{
    pdl_launch_desc desc = basic_desc();
    set_cluster(desc);
    carries(desc, cudaLaunchAttributeClusterDimension);
    launches(desc);
}

static void a_cluster_scheduling_policy_is_accepted(void **)
{
    pdl_launch_desc desc = basic_desc();
    set_cluster_scheduling(desc);
    carries(desc, cudaLaunchAttributeClusterSchedulingPolicyPreference);
    launches(desc);
}

static void an_overlap_is_accepted(void **)
{
    pdl_launch_desc desc = basic_desc();
    desc.overlap = PDL_OVERLAP_REQUIRE;
    carries(desc, cudaLaunchAttributeProgrammaticStreamSerialization);
    launches(desc);
}

static void a_trigger_event_is_accepted_and_recorded(void **)
{
    pdl_launch_desc desc = basic_desc();
    desc.trigger_event = fix.trigger;
    carries(desc, cudaLaunchAttributeProgrammaticEvent);
    launches(desc);
    desc.trigger_at_block_start = 1;
    launches(desc);
    assert_cuda(cudaEventSynchronize(fix.trigger));
    assert_cuda(cudaEventQuery(fix.trigger));
}

static void a_launch_event_is_accepted_and_recorded(void **)
{
    pdl_launch_desc desc = basic_desc();
    desc.launch_event = fix.launched;
    carries(desc, cudaLaunchAttributeLaunchCompletionEvent);
    launches(desc);
    assert_cuda(cudaEventSynchronize(fix.launched));
    assert_cuda(cudaEventQuery(fix.launched));
}

static void a_priority_is_accepted(void **)
{
    pdl_launch_desc desc = basic_desc();
    set_priority(desc);
    carries(desc, cudaLaunchAttributePriority);
    launches(desc);
}

static void a_memory_sync_domain_is_accepted(void **)
{
    pdl_launch_desc desc = basic_desc();
    set_mem_sync_domain(desc);
    carries(desc, cudaLaunchAttributeMemSyncDomain);
    launches(desc);
}

static void a_memory_sync_domain_map_is_accepted(void **)
{
    pdl_launch_desc desc = basic_desc();
    set_mem_sync_domain_map(desc);
    carries(desc, cudaLaunchAttributeMemSyncDomainMap);
    launches(desc);
}

/* Devices before compute capability 10.0 have no second cluster size: there the driver may also say
 * so. */
static void a_preferred_cluster_is_accepted_or_said_not_to_be_supported(void **)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    assert_pdl(pdl_device_get(0, &info));
    pdl_launch_desc desc = basic_desc();
    set_cluster(desc);
    desc.preferred_cluster[0] = 4;
    for (pdl_kernel *kernel : fix.kernels) {
        const pdl_status status = pdl_launch(kernel, desc, PDL_ARGS(fix.counter));
        if (info.compute_capability_major < 10 && status != PDL_SUCCESS) {
            print_message("preferred cluster: %s: %s\n", pdl_status_name(status),
                          pdl_last_error()->message);
            assert_int_equal(status, PDL_ERROR_NOT_SUPPORTED);
            (void)cudaGetLastError();
            continue;
        }
        assert_pdl(status);
    }
    assert_cuda(cudaStreamSynchronize(fix.stream));
}

static void a_shared_memory_carveout_is_accepted(void **)
{
    pdl_launch_desc desc = basic_desc();
    set_carveout(desc);
    carries(desc, cudaLaunchAttributePreferredSharedMemoryCarveout);
    launches(desc);
}

/* The attribute came with CUDA 13.0: id 16. */
static void nvlink_centric_scheduling_is_accepted_or_too_new(void **)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    assert_pdl(pdl_device_get(0, &info));
    pdl_launch_desc desc = basic_desc();
    set_nvlink_centric(desc);
    if (info.driver_version >= 13000 && CUDART_VERSION >= 13000) {
        carries(desc, static_cast<cudaLaunchAttributeID>(16));
        launches(desc);
    } else {
        assert_refused(pdl_launch(fix.kernels[0], desc, PDL_ARGS(fix.counter)),
                       PDL_ERROR_NOT_SUPPORTED, "nvlink_centric_scheduling");
    }
}

static void set_all_but_cooperative(pdl_launch_desc &desc)
{
    set_access_policy(desc);
    set_cluster(desc);
    set_cluster_scheduling(desc);
    desc.overlap = PDL_OVERLAP_AUTO;
    desc.trigger_event = fix.trigger;
    desc.launch_event = fix.launched;
    set_priority(desc);
    set_mem_sync_domain(desc);
    set_mem_sync_domain_map(desc);
    set_carveout(desc);
}

static void all_attributes_together_are_accepted_with_overlap(void **)
{
    pdl_launch_desc desc = basic_desc();
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    set_all_but_cooperative(desc);
    assert_pdl(pdl_launch_explain(fix.kernels[0], &desc, &report));
    assert_int_equal(report.overlap, 1);
    assert_int_equal(report.attribute_count, 10);
    launches(desc);
}

static void all_attributes_together_are_accepted_with_cooperative(void **)
{
    pdl_launch_desc desc = basic_desc();
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    set_all_but_cooperative(desc);
    desc.cooperative = 1;
    assert_pdl(pdl_launch_explain(fix.kernels[0], &desc, &report));
    assert_int_equal(report.overlap, 0);
    assert_int_equal(report.overlap_reason, PDL_REASON_COOPERATIVE);
    assert_int_equal(report.attribute_count, 10);
    launches(desc);
}

static void a_cooperative_launch_cannot_be_required_to_overlap(void **)
{
    pdl_launch_desc desc = basic_desc();
    desc.cooperative = 1;
    desc.overlap = PDL_OVERLAP_REQUIRE;
    assert_refused(pdl_launch(fix.kernels[0], desc, PDL_ARGS(fix.counter)),
                   PDL_ERROR_COOPERATIVE_OVERLAP, "overlap");
}

static void a_captured_launch_gives_its_device_node(void **)
{
    for (pdl_kernel *kernel : fix.kernels) {
        struct CUgraphDeviceUpdatableNode_st *node = nullptr;
        cudaGraph_t graph = nullptr;
        size_t nodes = 0;
        pdl_launch_desc desc = basic_desc();
        desc.device_node = &node;
        assert_cuda(cudaStreamBeginCapture(fix.stream, cudaStreamCaptureModeThreadLocal));
        const pdl_status status = pdl_launch(kernel, desc, PDL_ARGS(fix.counter));
        assert_cuda(cudaStreamEndCapture(fix.stream, &graph));
        assert_pdl(status);
        assert_non_null(node);
        assert_cuda(cudaGraphGetNodes(graph, nullptr, &nodes));
        assert_int_equal(nodes, 1);
        assert_cuda(cudaGraphDestroy(graph));
    }
}

static void a_device_node_outside_a_capture_is_refused_and_not_written(void **)
{
    for (pdl_kernel *kernel : fix.kernels) {
        struct CUgraphDeviceUpdatableNode_st *node = nullptr;
        pdl_launch_desc desc = basic_desc();
        desc.device_node = &node;
        assert_int_not_equal(pdl_launch(kernel, desc, PDL_ARGS(fix.counter)), PDL_SUCCESS);
        assert_null(node);
        (void)cudaGetLastError();
    }
    assert_cuda(cudaStreamSynchronize(fix.stream));
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_launch_is_accepted),
        cmocka_unit_test(an_access_policy_window_is_accepted),
        cmocka_unit_test(cooperative_is_accepted),
        cmocka_unit_test(a_cluster_is_accepted),
        cmocka_unit_test(a_cluster_scheduling_policy_is_accepted),
        cmocka_unit_test(an_overlap_is_accepted),
        cmocka_unit_test(a_trigger_event_is_accepted_and_recorded),
        cmocka_unit_test(a_launch_event_is_accepted_and_recorded),
        cmocka_unit_test(a_priority_is_accepted),
        cmocka_unit_test(a_memory_sync_domain_is_accepted),
        cmocka_unit_test(a_memory_sync_domain_map_is_accepted),
        cmocka_unit_test(a_preferred_cluster_is_accepted_or_said_not_to_be_supported),
        cmocka_unit_test(a_shared_memory_carveout_is_accepted),
        cmocka_unit_test(nvlink_centric_scheduling_is_accepted_or_too_new),
        cmocka_unit_test(all_attributes_together_are_accepted_with_overlap),
        cmocka_unit_test(all_attributes_together_are_accepted_with_cooperative),
        cmocka_unit_test(a_cooperative_launch_cannot_be_required_to_overlap),
        cmocka_unit_test(a_captured_launch_gives_its_device_node),
        cmocka_unit_test(a_device_node_outside_a_capture_is_refused_and_not_written),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, set_up, tear_down);
}
