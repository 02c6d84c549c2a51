/* SPDX-License-Identifier: MIT */
/* Chains, copies and events with several devices in one process. Needs two; with one the tests are
 * skipped one by one. */
#include <pdl/chain.h>

#include "../cuda/from_image.h"
#include "gpu_test.cuh"

static const unsigned n = 64;

static __global__ void set_symbol(unsigned *to, unsigned value, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    if (i < count) {
        to[i] = value + i;
    }
}

/* Adds to what the kernel before it wrote. */
static __global__ void add_symbol(unsigned *to, unsigned value, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    if (i < count) {
        to[i] = PDL_LOAD(&to[i]) + value;
    }
}

static __global__ void write_late(volatile unsigned *to, unsigned value)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    spin(2000000);
    *to = value;
    __threadfence_system();
}

static __global__ void copy_volatile(const volatile unsigned *from, volatile unsigned *to)
{
    PDL_WAIT();
    *to = *from;
}

/* What a test has on each of two devices. */
struct side {
    cudaStream_t stream;
    unsigned *memory;
};

static side sides[2];

static bool two_devices(void)
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count >= 2;
}

static int set_up(void **)
{
    for (int device = 0; device < 2 && two_devices(); device++) {
        assert_cuda(cudaSetDevice(device));
        assert_cuda(cudaStreamCreateWithFlags(&sides[device].stream, cudaStreamNonBlocking));
        assert_cuda(cudaMalloc(&sides[device].memory, n * sizeof(unsigned)));
        assert_cuda(cudaMemset(sides[device].memory, 0, n * sizeof(unsigned)));
        assert_cuda(cudaDeviceSynchronize());
    }
    return 0;
}

static int tear_down(void **)
{
    for (int device = 0; device < 2 && two_devices(); device++) {
        assert_cuda(cudaSetDevice(device));
        assert_cuda(cudaDeviceSynchronize());
        assert_cuda(cudaFree(sides[device].memory));
        assert_cuda(cudaStreamDestroy(sides[device].stream));
    }
    if (two_devices()) {
        assert_cuda(cudaSetDevice(0));
    }
    return 0;
}

static void skip_without_two_devices(void)
{
    if (!two_devices()) {
        skip();
    }
}

static uint32_t add_link(pdl_chain *chain, pdl_kernel *kernel, int device, unsigned value)
{
    uint32_t link = ~0u;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, n, 0, nullptr, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_chain_add(chain, kernel, &desc, PDL_ARGS(sides[device].memory, value, n),
                             nullptr, 0, &link));
    return link;
}

static void assert_holds(int device, unsigned value)
{
    unsigned host[n];
    assert_cuda(cudaSetDevice(device));
    assert_cuda(cudaStreamSynchronize(sides[device].stream));
    assert_cuda(cudaMemcpy(host, sides[device].memory, sizeof(host), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(host[i], value + i);
    }
}

/* A chain a device of the same two kernels, the first one `kernel`; launched, changed while the
 * other device is current, and launched again. */
static void assert_a_chain_a_device(pdl_kernel *kernel)
{
    pdl_chain *chains[2];
    pdl_kernel *add = nullptr;
    assert_pdl(pdl_kernel_from_symbol(add_symbol, &add));
    for (int device = 0; device < 2; device++) {
        assert_cuda(cudaSetDevice(device));
        assert_pdl(pdl_chain_create(nullptr, &chains[device]));
        add_link(chains[device], kernel, device, 100u * static_cast<unsigned>(device + 1));
        add_link(chains[device], add, device, 7);
        assert_pdl(pdl_chain_build(chains[device]));
    }
    for (int replay = 0; replay < 3; replay++) {
        for (int device = 0; device < 2; device++) {
            assert_cuda(cudaSetDevice(device));
            assert_pdl(pdl_chain_launch(chains[device], sides[device].stream));
        }
    }
    assert_holds(0, 107);
    assert_holds(1, 207);
    for (int device = 0; device < 2; device++) {
        const unsigned value = 1000u * static_cast<unsigned>(device + 1);
        assert_cuda(cudaSetDevice(1 - device));
        assert_pdl(pdl_chain_set_args(chains[device], 0, PDL_ARGS(sides[device].memory, value, n)));
        assert_pdl(pdl_chain_launch(chains[device], sides[device].stream));
    }
    assert_holds(0, 1007);
    assert_holds(1, 2007);
    for (pdl_chain *chain : chains) {
        pdl_chain_destroy(chain);
    }
    pdl_kernel_destroy(add);
    pdl_kernel_destroy(kernel);
}

static void one_symbol_serves_a_chain_on_each_device(void **)
{
    pdl_kernel *kernel = nullptr;
    skip_without_two_devices();
    assert_pdl(pdl_kernel_from_symbol(set_symbol, &kernel));
    assert_a_chain_a_device(kernel);
}

static void one_image_serves_a_chain_on_each_device(void **)
{
    pdl_kernel *kernel = nullptr;
    skip_without_two_devices();
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &kernel));
    assert_a_chain_a_device(kernel);
}

static void a_chain_is_refused_by_a_stream_of_another_device(void **)
{
    pdl_kernel *kernel = nullptr;
    pdl_chain *chain = nullptr;
    skip_without_two_devices();
    assert_pdl(pdl_kernel_from_symbol(set_symbol, &kernel));
    assert_cuda(cudaSetDevice(0));
    assert_pdl(pdl_chain_create(nullptr, &chain));
    add_link(chain, kernel, 0, 5);
    assert_pdl(pdl_chain_build(chain));
    for (int current = 0; current < 2; current++) {
        assert_cuda(cudaSetDevice(current));
        assert_refused(pdl_chain_launch(chain, sides[1].stream), PDL_ERROR_WRONG_DEVICE, "stream");
        assert_pdl(pdl_chain_launch(chain, sides[0].stream));
    }
    /* The default stream is the current device's. */
    assert_refused(pdl_chain_launch(chain, nullptr), PDL_ERROR_WRONG_DEVICE, "stream");
    assert_cuda(cudaSetDevice(0));
    assert_pdl(pdl_chain_launch(chain, nullptr));
    assert_cuda(cudaDeviceSynchronize());
    assert_holds(0, 5);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_chain_may_be_built_again_on_another_device(void **)
{
    pdl_kernel *kernel = nullptr;
    pdl_chain *chain = nullptr;
    skip_without_two_devices();
    const unsigned value = 6;
    assert_pdl(pdl_kernel_from_symbol(set_symbol, &kernel));
    assert_cuda(cudaSetDevice(0));
    assert_pdl(pdl_chain_create(nullptr, &chain));
    const uint32_t link = add_link(chain, kernel, 0, 5);
    assert_pdl(pdl_chain_build(chain));
    assert_pdl(pdl_chain_launch(chain, sides[0].stream));
    assert_holds(0, 5);
    assert_cuda(cudaSetDevice(1));
    assert_pdl(pdl_chain_reset(chain));
    assert_pdl(pdl_chain_set_args(chain, link, PDL_ARGS(sides[1].memory, value, n)));
    assert_pdl(pdl_chain_build(chain));
    assert_refused(pdl_chain_launch(chain, sides[0].stream), PDL_ERROR_WRONG_DEVICE, "stream");
    assert_pdl(pdl_chain_launch(chain, sides[1].stream));
    assert_holds(1, 6);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_function_of_one_device_is_refused_in_a_chain_of_another(void **)
{
    cudaFunction_t function = nullptr;
    pdl_kernel *kernel = nullptr;
    pdl_chain *chain = nullptr;
    skip_without_two_devices();
    assert_cuda(cudaSetDevice(0));
    assert_cuda(cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(set_symbol)));
    assert_pdl(pdl_kernel_from_function(function, NULL, &kernel));
    assert_pdl(pdl_chain_create(nullptr, &chain));
    add_link(chain, kernel, 0, 5);
    assert_cuda(cudaSetDevice(1));
    assert_refused(pdl_chain_build(chain), PDL_ERROR_WRONG_DEVICE, "kernel");
    assert_refused(pdl_chain_launch(chain, sides[1].stream), PDL_ERROR_NOT_BUILT, nullptr);
    assert_cuda(cudaSetDevice(0));
    assert_pdl(pdl_chain_build(chain));
    assert_pdl(pdl_chain_launch(chain, sides[0].stream));
    assert_holds(0, 5);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

/* Both kernels write to memory of the host that both devices see. The second device waits for an
 * event that the first one's stream records after its kernel. */
static void an_event_orders_the_kernels_of_two_devices(void **)
{
    skip_without_two_devices();
    unsigned *shared = nullptr;
    struct CUevent_st *event = nullptr;
    assert_cuda(
        cudaHostAlloc(&shared, 2 * sizeof(*shared), cudaHostAllocMapped | cudaHostAllocPortable));
    for (unsigned value = 1; value <= 5; value++) {
        volatile unsigned *first = shared;
        const volatile unsigned *from = shared;
        volatile unsigned *to = shared + 1;
        *to = 0;
        *first = 0;
        assert_cuda(cudaSetDevice(0));
        if (event == nullptr) {
            assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        }
        assert_pdl(pdl_launch_kernel(pdl_launch_desc_make(1, 1, 0, sides[0].stream), write_late,
                                     first, value));
        assert_cuda(cudaEventRecord(event, sides[0].stream));
        assert_cuda(cudaSetDevice(1));
        assert_cuda(cudaStreamWaitEvent(sides[1].stream, event, 0));
        assert_pdl(pdl_launch_kernel(pdl_launch_desc_make(1, 1, 0, sides[1].stream), copy_volatile,
                                     from, to));
        assert_cuda(cudaStreamSynchronize(sides[1].stream));
        assert_int_equal(*to, value);
    }
    assert_cuda(cudaSetDevice(0));
    assert_cuda(cudaStreamSynchronize(sides[0].stream));
    (void)cudaEventDestroy(event);
    assert_cuda(cudaFreeHost(shared));
}

/* Events that a launch records may be waited for by another device too. What the second kernel sees
 * of the first one's memory is shown and not promised: the event says only that the first one has
 * triggered or started. */
static void an_event_recorded_by_a_launch_may_be_waited_for_on_another_device(void **)
{
    skip_without_two_devices();
    unsigned *shared = nullptr;
    struct CUevent_st *event = nullptr;
    assert_cuda(
        cudaHostAlloc(&shared, 2 * sizeof(*shared), cudaHostAllocMapped | cudaHostAllocPortable));
    assert_cuda(cudaSetDevice(0));
    assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int kind = 0; kind < 2; kind++) {
        const unsigned value = 10u + static_cast<unsigned>(kind);
        volatile unsigned *first = shared;
        const volatile unsigned *from = shared;
        volatile unsigned *to = shared + 1;
        pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 0, sides[0].stream);
        *to = ~0u;
        *first = 0;
        if (kind == 0) {
            desc.trigger_event = event;
        } else {
            desc.launch_event = event;
        }
        assert_cuda(cudaSetDevice(0));
        assert_pdl(pdl_launch_kernel(desc, write_late, first, value));
        assert_cuda(cudaSetDevice(1));
        assert_cuda(cudaStreamWaitEvent(sides[1].stream, event, 0));
        assert_pdl(pdl_launch_kernel(pdl_launch_desc_make(1, 1, 0, sides[1].stream), copy_volatile,
                                     from, to));
        assert_cuda(cudaStreamSynchronize(sides[1].stream));
        const unsigned seen = *to;
        assert_cuda(cudaSetDevice(0));
        assert_cuda(cudaStreamSynchronize(sides[0].stream));
        assert_cuda(cudaEventQuery(event));
        assert_int_equal(*first, value);
        assert_true(seen == 0 || seen == value);
        print_message("%s: the kernel of the other device saw the %s value\n",
                      kind == 0 ? "trigger event" : "launch event", seen == value ? "new" : "old");
    }
    (void)cudaEventDestroy(event);
    assert_cuda(cudaFreeHost(shared));
}

static void add_copy(pdl_chain *chain, void *destination, const void *source, uint32_t *link)
{
    pdl_chain_node copy = PDL_CHAIN_NODE_INIT;
    copy.kind = PDL_NODE_COPY;
    copy.destination = destination;
    copy.source = source;
    copy.width = n * sizeof(unsigned);
    assert_pdl(pdl_chain_add_node(chain, &copy, link));
}

/* Changes a copy, by building again if the driver does not change it in place. */
static void change_copy(pdl_chain *chain, uint32_t link, const pdl_chain_node *copy)
{
    const pdl_status status = pdl_chain_set_node(chain, link, copy);
    print_message("another address of a copy between devices: %s\n", pdl_status_name(status));
    if (status == PDL_ERROR_REBUILD) {
        assert_pdl(pdl_chain_reset(chain));
        assert_pdl(pdl_chain_set_node(chain, link, copy));
        assert_pdl(pdl_chain_build(chain));
    } else {
        assert_pdl(status);
    }
}

static void assert_memory(const unsigned *memory, unsigned value)
{
    unsigned host[n];
    assert_cuda(cudaMemcpy(host, memory, sizeof(host), cudaMemcpyDefault));
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(host[i], value + i);
    }
}

/* A kernel writes on one device, a copy takes that to the other one and another copy brings it back for
 * a kernel to add to. Rows go over as well. */
static void copy_there_and_back(int home)
{
    const int away = 1 - home;
    unsigned *back = nullptr;
    unsigned *other = nullptr;
    unsigned *rows = nullptr;
    pdl_kernel *sets = nullptr;
    pdl_kernel *adds = nullptr;
    pdl_chain *chain = nullptr;
    uint32_t first = 0;
    uint32_t there = 0;
    const unsigned more = 100;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, n, 0, nullptr, PDL_OVERLAP_AUTO);
    assert_cuda(cudaSetDevice(away));
    assert_cuda(cudaMalloc(&other, n * sizeof(unsigned)));
    assert_cuda(cudaMalloc(&rows, 4 * n * sizeof(unsigned)));
    assert_cuda(cudaMemset(rows, 0, 4 * n * sizeof(unsigned)));
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaSetDevice(home));
    assert_cuda(cudaMalloc(&back, n * sizeof(unsigned)));
    assert_pdl(pdl_kernel_from_symbol(set_symbol, &sets));
    assert_pdl(pdl_kernel_from_symbol(add_symbol, &adds));
    assert_pdl(pdl_chain_create(nullptr, &chain));
    first = add_link(chain, sets, home, 1000);
    add_copy(chain, sides[away].memory, sides[home].memory, &there);
    add_copy(chain, back, sides[away].memory, nullptr);
    assert_pdl(pdl_chain_add(chain, adds, &desc, PDL_ARGS(back, more, n), nullptr, 0, nullptr));
    pdl_chain_node copy = PDL_CHAIN_NODE_INIT;
    copy.kind = PDL_NODE_COPY;
    copy.destination = rows + 1;
    copy.source = back;
    copy.width = 8 * sizeof(unsigned);
    copy.height = n / 8;
    copy.destination_pitch = 16 * sizeof(unsigned);
    assert_pdl(pdl_chain_add_node(chain, &copy, nullptr));
    assert_pdl(pdl_chain_build(chain));
    for (unsigned replay = 0; replay < 20; replay++) {
        const unsigned value = 1000 * replay;
        assert_pdl(pdl_chain_set_args(chain, first, PDL_ARGS(sides[home].memory, value, n)));
        assert_pdl(pdl_chain_launch(chain, sides[home].stream));
        assert_cuda(cudaStreamSynchronize(sides[home].stream));
        assert_memory(sides[away].memory, value);
        assert_memory(back, value + more);
        for (unsigned i = 0; i < 2 * n; i++) {
            unsigned cell = 0;
            const bool in = i % 16 >= 1 && i % 16 < 9;
            assert_cuda(cudaMemcpy(&cell, rows + i, sizeof(cell), cudaMemcpyDefault));
            assert_int_equal(cell, in ? value + more + i / 16 * 8 + i % 16 - 1 : 0);
        }
    }
    pdl_census census = PDL_CENSUS_INIT;
    cudaGraph_t graph = nullptr;
    assert_pdl(pdl_chain_graph(chain, &graph));
    assert_pdl(pdl_graph_census(graph, &census));
    assert_int_equal(census.nodes, 5);
    assert_int_equal(census.full, 4);
    copy = PDL_CHAIN_NODE_INIT;
    copy.kind = PDL_NODE_COPY;
    copy.destination = other;
    copy.source = sides[home].memory;
    copy.width = n * sizeof(unsigned);
    change_copy(chain, there, &copy);
    assert_pdl(pdl_chain_launch(chain, sides[home].stream));
    assert_cuda(cudaStreamSynchronize(sides[home].stream));
    assert_memory(other, 19000);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(sets);
    pdl_kernel_destroy(adds);
    assert_cuda(cudaFree(back));
    assert_cuda(cudaFree(other));
    assert_cuda(cudaFree(rows));
}

static void a_chain_copies_between_devices_without_peer_access(void **)
{
    skip_without_two_devices();
    copy_there_and_back(0);
    copy_there_and_back(1);
}

static void a_chain_copies_between_devices_with_peer_access(void **)
{
    skip_without_two_devices();
    int can = 0;
    assert_cuda(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (can == 0) {
        print_message("device 0 cannot access device 1\n");
        skip();
    }
    for (int device = 0; device < 2; device++) {
        assert_cuda(cudaSetDevice(device));
        assert_cuda(cudaDeviceEnablePeerAccess(1 - device, 0));
    }
    copy_there_and_back(0);
    copy_there_and_back(1);
    for (int device = 0; device < 2; device++) {
        assert_cuda(cudaSetDevice(device));
        assert_cuda(cudaDeviceDisablePeerAccess(1 - device));
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main()
{
    const struct CMUnitTest tests[] = {
        TEST(one_symbol_serves_a_chain_on_each_device),
        TEST(one_image_serves_a_chain_on_each_device),
        TEST(a_chain_is_refused_by_a_stream_of_another_device),
        TEST(a_chain_may_be_built_again_on_another_device),
        TEST(a_function_of_one_device_is_refused_in_a_chain_of_another),
        TEST(an_event_orders_the_kernels_of_two_devices),
        TEST(an_event_recorded_by_a_launch_may_be_waited_for_on_another_device),
        TEST(a_chain_copies_between_devices_without_peer_access),
        TEST(a_chain_copies_between_devices_with_peer_access),
    };
    const int unavailable = no_device();
    return unavailable != 0 ? unavailable : cmocka_run_group_tests(tests, NULL, NULL);
}
