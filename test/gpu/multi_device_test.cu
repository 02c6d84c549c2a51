/* SPDX-License-Identifier: MIT */
/* Chains, copies and events with several devices in one process. Needs two; with one the tests are
 * skipped one by one. */
#include "../cuda/from_image.h"
#include "graph_test.cuh"

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

/* Called by each test: a failed assertion or skip() in what runs before it would be an error. */
static void make_sides(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2) {
        skip();
    }
    undo_later([] { (void)cudaSetDevice(0); });
    for (int device = 0; device < 2; device++) {
        assert_cuda(cudaSetDevice(device));
        sides[device].stream = new_stream();
        sides[device].memory = device_memory<unsigned>(n);
        undo_later([device] { (void)cudaStreamSynchronize(sides[device].stream); });
    }
    assert_cuda(cudaSetDevice(0));
}

static uint32_t add_kernel(pdl_chain *to, pdl_kernel *kernel, int device, unsigned value)
{
    uint32_t link = ~0u;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, n, 0, nullptr, PDL_OVERLAP_AUTO);
    assert_pdl(pdl_chain_add(to, kernel, &desc, PDL_ARGS(sides[device].memory, value, n), nullptr,
                             0, &link));
    return link;
}

static void assert_memory(const unsigned *memory, unsigned value)
{
    const std::vector<unsigned> host = contents(memory, n);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(host[i], value + i);
    }
}

static void assert_holds(int device, unsigned value)
{
    assert_cuda(cudaSetDevice(device));
    assert_memory(sides[device].memory, value);
}

/* A chain a device of the same two kernels, the first one `kernel`; launched, changed while the
 * other device is current, and launched again. */
static void assert_a_chain_a_device(pdl_kernel *kernel)
{
    pdl_chain *const chains[2] = {new_chain(), new_chain()};
    pdl_kernel *const add = kernel_of(add_symbol);
    for (int device = 0; device < 2; device++) {
        assert_cuda(cudaSetDevice(device));
        add_kernel(chains[device], kernel, device, 100u * static_cast<unsigned>(device + 1));
        add_kernel(chains[device], add, device, 7);
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
}

TEST(one_symbol_serves_a_chain_on_each_device)
{
    make_sides();
    assert_a_chain_a_device(kernel_of(set_symbol));
}

TEST(one_image_serves_a_chain_on_each_device)
{
    pdl_kernel *kernel = nullptr;
    make_sides();
    assert_pdl(kernel_from_file(PDL_TEST_FATBIN, "set_all", &kernel));
    assert_a_chain_a_device(keep(kernel));
}

TEST(a_chain_is_refused_by_a_stream_of_another_device)
{
    make_sides();
    pdl_kernel *const kernel = kernel_of(set_symbol);
    pdl_chain *const chain = new_chain();
    add_kernel(chain, kernel, 0, 5);
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
}

TEST(a_chain_may_be_built_again_on_another_device)
{
    make_sides();
    const unsigned value = 6;
    pdl_kernel *const kernel = kernel_of(set_symbol);
    pdl_chain *const chain = new_chain();
    const uint32_t link = add_kernel(chain, kernel, 0, 5);
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
}

TEST(a_function_of_one_device_is_refused_in_a_chain_of_another)
{
    make_sides();
    pdl_chain *const chain = new_chain();
    add_kernel(chain, function_kernel_of(set_symbol), 0, 5);
    assert_cuda(cudaSetDevice(1));
    assert_refused(pdl_chain_build(chain), PDL_ERROR_WRONG_DEVICE, "kernel");
    assert_refused(pdl_chain_launch(chain, sides[1].stream), PDL_ERROR_NOT_BUILT, nullptr);
    assert_cuda(cudaSetDevice(0));
    assert_pdl(pdl_chain_build(chain));
    assert_pdl(pdl_chain_launch(chain, sides[0].stream));
    assert_holds(0, 5);
}

enum event_kind { RECORDED, TRIGGER, LAUNCH };

/* What the second kernel may see where the event says only that the first one has triggered or started is shown, and not
 * promised. */
static const struct {
    const char *name;
    event_kind kind;
} events[] = {{"an event orders the kernels of two devices", RECORDED},
              {"a trigger event may be waited for on another device", TRIGGER},
              {"a launch event may be waited for on another device", LAUNCH}};

/* Both kernels write to memory of the host that both devices see. */
TEST_ROWS(an_event_between_devices, events)
{
    make_sides();
    struct CUevent_st *const event = new_event();
    unsigned *const shared = shared_memory<unsigned>(2);
    for (unsigned value = 1; value <= 5; value++) {
        volatile unsigned *first = shared;
        const volatile unsigned *from = shared;
        volatile unsigned *to = shared + 1;
        pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 0, sides[0].stream);
        desc.trigger_event = row.kind == TRIGGER ? event : nullptr;
        desc.launch_event = row.kind == LAUNCH ? event : nullptr;
        *to = ~0u;
        *first = 0;
        assert_cuda(cudaSetDevice(0));
        assert_pdl(pdl_launch_kernel(desc, write_late, first, value));
        if (row.kind == RECORDED) {
            assert_cuda(cudaEventRecord(event, sides[0].stream));
        }
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
        assert_true(seen == value || (row.kind != RECORDED && seen == 0));
    }
}

static pdl_chain_node copy_of(void *destination, const void *source)
{
    pdl_chain_node copy = of_kind(PDL_NODE_COPY);
    copy.destination = destination;
    copy.source = source;
    copy.width = n * sizeof(unsigned);
    return copy;
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

/* A kernel writes on one device, a copy takes that to the other one and another copy brings it back for
 * a kernel to add to. Rows go over as well. */
static void copy_there_and_back(int home)
{
    const int away = 1 - home;
    const unsigned more = 100;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, n, 0, nullptr, PDL_OVERLAP_AUTO);
    pdl_chain *const chain = new_chain();
    assert_cuda(cudaSetDevice(away));
    unsigned *const other = device_memory<unsigned>(n);
    unsigned *const rows = device_memory<unsigned>(4 * n);
    assert_cuda(cudaSetDevice(home));
    unsigned *back = device_memory<unsigned>(n);
    const uint32_t first = add_kernel(chain, kernel_of(set_symbol), home, 1000);
    const uint32_t there = add(chain, copy_of(sides[away].memory, sides[home].memory));
    add(chain, copy_of(back, sides[away].memory));
    assert_pdl(pdl_chain_add(chain, kernel_of(add_symbol), &desc, PDL_ARGS(back, more, n), nullptr,
                             0, nullptr));
    pdl_chain_node copy = copy_of(rows + 1, back);
    copy.width = 8 * sizeof(unsigned);
    copy.height = n / 8;
    copy.destination_pitch = 16 * sizeof(unsigned);
    add(chain, copy);
    assert_pdl(pdl_chain_build(chain));
    for (unsigned turn = 0; turn < 20; turn++) {
        const unsigned value = 1000 * turn;
        assert_pdl(pdl_chain_set_args(chain, first, PDL_ARGS(sides[home].memory, value, n)));
        assert_pdl(pdl_chain_launch(chain, sides[home].stream));
        assert_cuda(cudaStreamSynchronize(sides[home].stream));
        assert_memory(sides[away].memory, value);
        assert_memory(back, value + more);
        const std::vector<unsigned> seen = contents(rows, 2 * n);
        for (unsigned i = 0; i < 2 * n; i++) {
            const bool in = i % 16 >= 1 && i % 16 < 9;
            assert_int_equal(seen[i], in ? value + more + i / 16 * 8 + i % 16 - 1 : 0);
        }
    }
    assert_int_equal(census_of(chain).nodes, 5);
    assert_int_equal(census_of(chain).full, 4);
    copy = copy_of(other, sides[home].memory);
    change_copy(chain, there, &copy);
    assert_pdl(pdl_chain_launch(chain, sides[home].stream));
    assert_cuda(cudaStreamSynchronize(sides[home].stream));
    assert_memory(other, 19000);
}

TEST(a_chain_copies_between_devices_without_peer_access)
{
    make_sides();
    copy_there_and_back(0);
    copy_there_and_back(1);
}

TEST(a_chain_copies_between_devices_with_peer_access)
{
    make_sides();
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

int main()
{
    return run_gpu_tests();
}
