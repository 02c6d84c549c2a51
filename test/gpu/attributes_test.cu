/* SPDX-License-Identifier: MIT */
/* The driver takes every launch attribute, alone and all together, and the kernel runs: with a kernel from a symbol
 * (cudaLaunchKernelExC) and with one from a CUfunction (cuLaunchKernelEx). */
#include "gpu_test.cuh"

static const unsigned blocks = 8;
static const size_t window_bytes = 1 << 16;

/* Counts threads. */
static __global__ void count(unsigned *counter)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(counter, 1u);
}

static cudaStream_t stream;
static unsigned *counter;
static pdl_kernel *kernels[2];
static struct CUevent_st *trigger, *launched;
static char *window;

static void set_up(void)
{
    stream = new_stream();
    counter = device_memory<unsigned>(1);
    window = device_memory<char>(window_bytes);
    trigger = new_event();
    launched = new_event();
    kernels[0] = kernel_of(count);
    kernels[1] = function_kernel_of(count);
}

static pdl_launch_desc basic_desc(void)
{
    return pdl_launch_desc_make(blocks, 32, 0, stream);
}

/* All threads run. */
static void launches(pdl_kernel *kernel, const pdl_launch_desc &desc)
{
    assert_cuda(cudaMemset(counter, 0, sizeof(*counter)));
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_launch(kernel, desc, PDL_ARGS(counter)));
    assert_int_equal(content(counter), blocks * 32);
}

static void set_access_policy(pdl_launch_desc *desc)
{
    desc->access_policy.base = window;
    desc->access_policy.bytes = window_bytes;
    desc->access_policy.hit_ratio = 0.5f;
    desc->access_policy.hit_property = PDL_ACCESS_PERSISTING;
    desc->access_policy.miss_property = PDL_ACCESS_STREAMING;
}

static void set_priority(pdl_launch_desc *desc)
{
    int least = 0;
    int greatest = 0;
    assert_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    desc->priority = greatest;
    desc->flags |= PDL_LAUNCH_SET_PRIORITY;
}

static void set_mem_sync_domain_map(pdl_launch_desc *desc)
{
    desc->mem_sync_domain_map[0] = 0;
    desc->mem_sync_domain_map[1] = 1;
    desc->flags |= PDL_LAUNCH_SET_MEM_SYNC_DOMAIN_MAP;
}

/* A new attribute gets its row here. */
static const struct attribute {
    const char *name;
    int id;
    bool with_all; /* in the launch that has all of them */
    bool optional; /* the driver or the device may lack it, and libpdl says so then */
    void (*set)(pdl_launch_desc *desc);
} attributes[] = {
    {"access_policy", cudaLaunchAttributeAccessPolicyWindow, true, false, set_access_policy},
    {"cooperative", cudaLaunchAttributeCooperative, false, false,
     [](pdl_launch_desc *desc) { desc->cooperative = 1; }},
    {"cluster", cudaLaunchAttributeClusterDimension, true, false,
     [](pdl_launch_desc *desc) { desc->cluster[0] = 2; }},
    {"cluster_scheduling", cudaLaunchAttributeClusterSchedulingPolicyPreference, true, false,
     [](pdl_launch_desc *desc) { desc->cluster_scheduling = PDL_CLUSTER_SCHEDULING_SPREAD; }},
    {"overlap", cudaLaunchAttributeProgrammaticStreamSerialization, false, false,
     [](pdl_launch_desc *desc) { desc->overlap = PDL_OVERLAP_REQUIRE; }},
    {"trigger_event", cudaLaunchAttributeProgrammaticEvent, true, false,
     [](pdl_launch_desc *desc) { desc->trigger_event = trigger; }},
    {"trigger_at_block_start", cudaLaunchAttributeProgrammaticEvent, false, false,
     [](pdl_launch_desc *desc) {
         desc->trigger_event = trigger;
         desc->trigger_at_block_start = 1;
     }},
    {"launch_event", cudaLaunchAttributeLaunchCompletionEvent, true, false,
     [](pdl_launch_desc *desc) { desc->launch_event = launched; }},
    {"priority", cudaLaunchAttributePriority, true, false, set_priority},
    {"mem_sync_domain", cudaLaunchAttributeMemSyncDomain, true, false,
     [](pdl_launch_desc *desc) {
         desc->mem_sync_domain = 1;
         desc->flags |= PDL_LAUNCH_SET_MEM_SYNC_DOMAIN;
     }},
    {"mem_sync_domain_map", cudaLaunchAttributeMemSyncDomainMap, true, false,
     set_mem_sync_domain_map},
    {"shared_memory_carveout", cudaLaunchAttributePreferredSharedMemoryCarveout, true, false,
     [](pdl_launch_desc *desc) {
         desc->shared_memory_carveout = 50;
         desc->flags |= PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT;
     }},
    /* Devices before compute capability 10.0 have no second cluster size. */
    {"preferred_cluster", 11, false, true,
     [](pdl_launch_desc *desc) {
         desc->cluster[0] = 2;
         desc->preferred_cluster[0] = 4;
     }},
    /* Came with CUDA 13.0. */
    {"nvlink_centric_scheduling", 16, false, true,
     [](pdl_launch_desc *desc) {
         desc->nvlink_centric_scheduling = 1;
         desc->flags |= PDL_LAUNCH_SET_NVLINK_CENTRIC_SCHEDULING;
     }},
};

TEST_ROWS(the_driver_accepts, attributes)
{
    for (pdl_kernel *kernel : kernels) {
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        pdl_launch_desc desc = basic_desc();
        row.set(&desc);
        if (row.optional && pdl_launch(kernel, desc, PDL_ARGS(counter)) != PDL_SUCCESS) {
            print_message("%s\n", pdl_last_error()->message);
            assert_int_equal(pdl_last_error()->status, PDL_ERROR_NOT_SUPPORTED);
            (void)cudaGetLastError();
            continue;
        }
        assert_pdl(pdl_launch_explain(kernel, &desc, &report));
        unsigned carried = 0;
        for (unsigned i = 0; i < report.attribute_count; i++) {
            carried += report.attributes[i] == static_cast<uint32_t>(row.id);
        }
        assert_int_equal(carried, 1);
        assert_true(report.attribute_count == 1 || row.optional);
        launches(kernel, desc);
        for (struct CUevent_st *const event : {desc.trigger_event, desc.launch_event}) {
            if (event != nullptr) {
                assert_cuda(cudaEventSynchronize(event));
                assert_cuda(cudaEventQuery(event));
            }
        }
    }
}

static const struct {
    const char *name;
    bool cooperative;
    pdl_reason reason;
} togethers[] = {{"all together with overlap", false, PDL_REASON_GRANTED},
                 {"all together with cooperative", true, PDL_REASON_COOPERATIVE}};

TEST_ROWS(all_attributes, togethers)
{
    pdl_launch_desc desc = basic_desc();
    for (const attribute &each : attributes) {
        if (each.with_all) {
            each.set(&desc);
        }
    }
    desc.overlap = PDL_OVERLAP_AUTO;
    desc.cooperative = row.cooperative;
    for (pdl_kernel *kernel : kernels) {
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        assert_pdl(pdl_launch_explain(kernel, &desc, &report));
        assert_int_equal(report.overlap_reason, row.reason);
        assert_int_equal(report.attribute_count, 10);
        launches(kernel, desc);
    }
}

TEST(a_launch_gives_its_device_node_in_a_capture_alone)
{
    for (pdl_kernel *kernel : kernels) {
        struct CUgraphDeviceUpdatableNode_st *node = nullptr;
        cudaGraph_t graph = nullptr;
        size_t nodes = 0;
        pdl_launch_desc desc = basic_desc();
        desc.device_node = &node;
        assert_int_not_equal(pdl_launch(kernel, desc, PDL_ARGS(counter)), PDL_SUCCESS);
        assert_null(node);
        (void)cudaGetLastError();
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        assert_pdl(pdl_launch(kernel, desc, PDL_ARGS(counter)));
        assert_cuda(cudaStreamEndCapture(stream, &graph));
        assert_non_null(node);
        assert_cuda(cudaGraphGetNodes(graph, nullptr, &nodes));
        assert_int_equal(nodes, 1);
        assert_cuda(cudaGraphDestroy(graph));
    }
}

int main()
{
    return run_gpu_tests(set_up);
}
