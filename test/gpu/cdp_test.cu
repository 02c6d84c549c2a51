/* SPDX-License-Identifier: MIT */
/* pdl/cdp.cuh: what is launched from the device runs where and when it says, and what does not run is
 * reported. */
#include <pdl/cdp.cuh>

#include "gpu_test.cuh"

/* What a test's kernels write, in memory that host and device share. */
struct board {
    pdl_cdp_log log;
    unsigned ran;
    unsigned seen; /* what a kernel found */
    unsigned order[16];
    int open;
};

static board *b; /* each test's */

static void set_up(void)
{
    b = shared_memory<board>(1);
}

/* All of them ran and no launch failed. */
static void assert_ran(unsigned count)
{
    assert_cuda(cudaGetLastError());
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_cdp_log_check(&b->log, nullptr));
    assert_int_equal(b->ran, count);
}

static __global__ void count(board *b)
{
    atomicAdd(&b->ran, 1u);
}

static __global__ void count_after_wait(board *b)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(&b->ran, 1u);
}

static __global__ void count_slowly(board *b)
{
    spin(50000);
    atomicAdd(&b->ran, 1u);
}

static __global__ void look(board *b)
{
    b->seen = *const_cast<volatile unsigned *>(&b->ran);
}

static __global__ void put(board *b, unsigned value)
{
    b->order[atomicAdd(&b->ran, 1u)] = value;
}

/* ---- kernels ------------------------------------------------------------------------------------ */

static __global__ void fire_many(board *b, unsigned each)
{
    for (unsigned i = 0; i < each; i++) {
        pdl_cdp_fire_and_forget(&b->log, count, 1, 1, 0, b);
    }
}

TEST(every_thread_fires_and_all_children_run)
{
    fire_many<<<4, 32>>>(b, 8);
    assert_ran(4 * 32 * 8);
}

static __global__ void fire_waiting(board *b)
{
    pdl_cdp_fire_and_forget(&b->log, count_after_wait, 1, 1, 0, b);
}

TEST(a_wait_in_a_child_returns)
{
    fire_waiting<<<1, 1>>>(b);
    assert_ran(1);
}

struct shape {
    unsigned grid[3], block[3], shared;
};

static __global__ void describe(shape *out, short value, const board *b)
{
    extern __shared__ unsigned room[];
    unsigned bytes = 0;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    room[bytes / sizeof(unsigned) - 1] = static_cast<unsigned>(value);
    *out = {{gridDim.x, gridDim.y, gridDim.z},
            {blockDim.x, blockDim.y, blockDim.z},
            room[bytes / sizeof(unsigned) - 1] + bytes + (b != nullptr)};
}

static __global__ void fire_described(board *b, shape *out)
{
    pdl_cdp_fire_and_forget(&b->log, describe, dim3(1, 1, 1), dim3(1, 1, 1), 256, out, 7, b);
}

TEST(shape_shared_memory_and_converted_arguments_arrive)
{
    shape *out = shared_value(shape());
    fire_described<<<1, 1>>>(b, out);
    assert_ran(0);
    assert_int_equal(out->grid[0] * out->grid[1] * out->grid[2], 1);
    assert_int_equal(out->block[0] * out->block[1] * out->block[2], 1);
    assert_int_equal(out->shared, 7 + 256 + 1);
}

/* The tail is launched first of all, by one block of many that take their time. */
static __global__ void launch_tail(board *b)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        pdl_cdp_tail(&b->log, look, 1, 1, 0, b);
        pdl_cdp_fire_and_forget(&b->log, count_slowly, 1, 1, 0, b);
    }
    spin(20000);
    atomicAdd(&b->ran, 1u);
}

TEST(a_tail_launch_sees_the_whole_grid_and_what_it_fired)
{
    launch_tail<<<200, 32>>>(b);
    assert_ran(200 * 32 + 1);
    assert_int_equal(b->seen, 200 * 32 + 1);
}

static __global__ void launch_in_order(board *b, bool tail)
{
    cudaStream_t stream = cudaStreamTailLaunch;
    if (!tail) {
        pdl_cdp_note(&b->log, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    for (unsigned i = 0; i < 16; i++) {
        pdl_cdp_launch(&b->log, stream, put, 1, 1, 0, b, i);
    }
    if (!tail) {
        pdl_cdp_note(&b->log, cudaStreamDestroy(stream));
    }
}

TEST(launches_into_one_stream_and_tail_launches_run_in_order)
{
    for (const bool tail : {false, true}) {
        set_up();
        launch_in_order<<<1, 1>>>(b, tail);
        assert_ran(16);
        for (unsigned i = 0; i < 16; i++) {
            assert_int_equal(b->order[i], i);
        }
    }
}

static __global__ void recurse(board *b, unsigned levels)
{
    atomicAdd(&b->ran, 1u);
    if (levels > 0) {
        pdl_cdp_fire_and_forget(&b->log, recurse, 1, 1, 0, b, levels - 1);
    }
}

TEST(a_kernel_launches_itself_a_hundred_levels_deep)
{
    recurse<<<1, 1>>>(b, 100);
    assert_ran(101);
}

/* ---- errors ------------------------------------------------------------------------------------- */

static __global__ void tail_many(board *b, unsigned each, pdl_cdp_log *log)
{
    for (unsigned i = 0; i < each; i++) {
        pdl_cdp_tail(log, count, 1, 1, 0, b);
    }
}

static size_t pending_limit()
{
    size_t limit = 0;
    assert_pdl(pdl_cdp_get_pending_limit(&limit, nullptr));
    return limit;
}

/* Tail launches stay pending until the grid ends, so that the count of lost ones is exact. */
TEST(launches_over_the_limit_are_lost_silently_and_the_log_says_so)
{
    pdl_error error = {};
    const size_t before = pending_limit();
    undo_later([before] { (void)pdl_cdp_set_pending_limit(before, nullptr); });
    assert_pdl(pdl_cdp_set_pending_limit(1024, &error));
    assert_int_equal(pending_limit(), 1024);
    tail_many<<<1, 32>>>(b, 40, &b->log);
    assert_cuda(cudaGetLastError());
    assert_cuda(cudaDeviceSynchronize()); /* success, whatever was lost */
    assert_int_equal(b->ran, 1024);
    assert_int_equal(b->log.failed, 32 * 40 - 1024);
    assert_int_equal(b->log.first_error, cudaErrorLaunchPendingCountExceeded);
    assert_int_equal(pdl_cdp_log_check(&b->log, &error), PDL_ERROR_LAUNCH_RESOURCES);
    assert_int_equal(error.status, PDL_ERROR_LAUNCH_RESOURCES);
    assert_int_equal(error.cuda_result, cudaErrorLaunchPendingCountExceeded);
    assert_non_null(strstr(error.message, "256"));
    assert_non_null(strstr(error.message, "1024"));
    assert_int_equal(pdl_cdp_log_check(&b->log, nullptr), PDL_ERROR_LAUNCH_RESOURCES);

    set_up(); /* the same with room for all */
    assert_pdl(pdl_cdp_set_pending_limit(32 * 40, &error));
    tail_many<<<1, 32>>>(b, 40, &b->log);
    assert_ran(32 * 40);
}

TEST(without_a_log_nothing_is_noted)
{
    const size_t before = pending_limit();
    undo_later([before] { (void)pdl_cdp_set_pending_limit(before, nullptr); });
    assert_pdl(pdl_cdp_set_pending_limit(1024, nullptr));
    tail_many<<<1, 32>>>(b, 40, nullptr);
    assert_ran(1024);
}

static __global__ void fire_wrongly(board *b)
{
    if (pdl_cdp_fire_and_forget(&b->log, count, 1, 2048, 0, b) != cudaSuccess) {
        b->seen = 1;
    }
    pdl_cdp_fire_and_forget(&b->log, count, 1, 1, 0, b); /* is not told the error before */
}

TEST(a_launch_that_is_wrong_returns_its_error_and_notes_it)
{
    pdl_error error = {};
    fire_wrongly<<<1, 1>>>(b);
    assert_cuda(cudaDeviceSynchronize());
    assert_int_equal(b->seen, 1);
    assert_int_equal(b->ran, 1);
    assert_int_equal(b->log.failed, 1);
    assert_int_equal(pdl_cdp_log_check(&b->log, &error), PDL_ERROR_DRIVER);
    assert_int_equal(error.cuda_result, b->log.first_error);
    assert_non_null(
        strstr(error.message, cudaGetErrorName(static_cast<cudaError_t>(b->log.first_error))));
}

TEST(a_log_in_device_memory_is_read)
{
    pdl_cdp_log *log = device_memory<pdl_cdp_log>(1);
    pdl_cdp_log wrong = {cudaErrorInvalidValue, 3};
    pdl_error error = {};
    tail_many<<<1, 1>>>(b, 1, log);
    assert_cuda(cudaDeviceSynchronize());
    assert_pdl(pdl_cdp_log_check(log, &error));
    assert_cuda(cudaMemcpy(log, &wrong, sizeof(wrong), cudaMemcpyDefault));
    assert_int_equal(pdl_cdp_log_check(log, &error), PDL_ERROR_DRIVER);
    assert_non_null(strstr(error.message, "3"));
}

TEST(a_limit_that_the_driver_does_not_keep_is_refused_with_both_numbers)
{
    pdl_error error = {};
    char asked[32];
    const size_t before = pending_limit();
    const size_t too_many = static_cast<size_t>(1) << 40;
    snprintf(asked, sizeof(asked), "%zu", too_many);
    assert_int_equal(pdl_cdp_set_pending_limit(too_many, &error), PDL_ERROR_NOT_SUPPORTED);
    assert_int_equal(error.status, PDL_ERROR_NOT_SUPPORTED);
    assert_string_equal(error.call, "cudaDeviceSetLimit");
    assert_non_null(strstr(error.message, asked));
    assert_non_null(strstr(error.message, "keeps"));
    assert_int_equal(pending_limit(), before);
    assert_int_equal(pdl_cdp_set_pending_limit(too_many, nullptr), PDL_ERROR_NOT_SUPPORTED);
    assert_cuda(cudaGetLastError());

    assert_pdl(
        pdl_cdp_set_pending_limit(1, &error)); /* the driver keeps more, and that is enough */
    assert_true(pending_limit() >= 1);
    assert_pdl(pdl_cdp_set_pending_limit(before, &error));
}

/* ---- graphs ------------------------------------------------------------------------------------- */

static cudaGraph_t graph_of(void *kernel, void **args)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaKernelNodeParams params = {};
    params.func = kernel;
    params.gridDim = 1;
    params.blockDim = 1;
    params.kernelParams = args;
    assert_cuda(cudaGraphCreate(&graph, 0));
    undo_later([graph] { (void)cudaGraphDestroy(graph); });
    assert_cuda(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    return graph;
}

static cudaGraphExec_t device_graph(void *kernel, void **args)
{
    cudaGraphExec_t exec = nullptr;
    assert_pdl(pdl_cdp_graph_instantiate(graph_of(kernel, args), nullptr, &exec, nullptr));
    undo_later([exec] { (void)cudaGraphExecDestroy(exec); });
    assert_cuda(cudaDeviceSynchronize());
    return exec;
}

/* Launches a graph whose kernel launches graphs, and waits. */
static void run_in_graph(void *kernel, void **args)
{
    cudaGraphExec_t exec = nullptr;
    assert_cuda(cudaGraphInstantiate(&exec, graph_of(kernel, args), 0));
    undo_later([exec] { (void)cudaGraphExecDestroy(exec); });
    assert_cuda(cudaGraphLaunch(exec, nullptr));
    assert_cuda(cudaDeviceSynchronize());
}

struct graph_set {
    cudaGraphExec_t slow, tail, sibling;
};

static __global__ void launch_graphs(board *b, graph_set set)
{
    pdl_cdp_graph_tail(&b->log, set.tail);
    pdl_cdp_graph_fire_and_forget(&b->log, set.slow);
    spin(20000);
    atomicAdd(&b->ran, 1u);
}

TEST(graphs_are_fired_and_a_tail_graph_sees_them)
{
    void *board_only[] = {&b};
    graph_set set = {device_graph(reinterpret_cast<void *>(count_slowly), board_only),
                     device_graph(reinterpret_cast<void *>(look), board_only), nullptr};
    void *args[] = {&b, &set};
    run_in_graph(reinterpret_cast<void *>(launch_graphs), args);
    assert_ran(2);
    assert_int_equal(b->seen, 2);
}

static __global__ void spin_until_open(board *b)
{
    const unsigned long long begin = device_clock();
    while (*const_cast<volatile int *>(&b->open) == 0 && in_time(begin, 100000000)) {
    }
    atomicAdd(&b->ran, 1u);
}

static __global__ void look_and_open(board *b)
{
    b->seen = *const_cast<volatile unsigned *>(&b->ran);
    *const_cast<volatile int *>(&b->open) = 1;
}

static __global__ void launch_sibling(board *b, graph_set set)
{
    pdl_cdp_graph_sibling(&b->log, set.sibling);
    pdl_cdp_graph_tail(&b->log, set.tail);
}

TEST(a_tail_graph_does_not_wait_for_a_sibling)
{
    void *board_only[] = {&b};
    graph_set set = {nullptr, device_graph(reinterpret_cast<void *>(look_and_open), board_only),
                     device_graph(reinterpret_cast<void *>(spin_until_open), board_only)};
    void *args[] = {&b, &set};
    run_in_graph(reinterpret_cast<void *>(launch_sibling), args);
    assert_ran(1);
    assert_int_equal(b->seen, 0); /* the sibling was still there, and waited for the tail */
    assert_int_equal(b->open, 1);
}

static __global__ void launch_again(board *b, unsigned times)
{
    b->ran++;
    if (b->ran < times) {
        pdl_cdp_graph_tail(&b->log, cudaGetCurrentGraphExec());
    }
}

TEST(a_graph_launches_itself_a_thousand_times)
{
    unsigned times = 1000;
    void *args[] = {&b, &times};
    cudaGraphExec_t exec = device_graph(reinterpret_cast<void *>(launch_again), args);
    assert_cuda(cudaGraphLaunch(exec, nullptr));
    assert_ran(1000);
}

static __global__ void launch_twice(board *b, cudaGraphExec_t graph)
{
    pdl_cdp_graph_fire_and_forget(&b->log, graph);
    pdl_cdp_graph_fire_and_forget(&b->log, graph); /* which runs still */
}

TEST(a_running_graph_is_not_launched_again_and_the_log_says_so)
{
    pdl_error error = {};
    void *board_only[] = {&b};
    cudaGraphExec_t exec = device_graph(reinterpret_cast<void *>(count_slowly), board_only);
    void *args[] = {&b, &exec};
    run_in_graph(reinterpret_cast<void *>(launch_twice), args);
    assert_int_equal(b->ran, 1);
    assert_int_equal(b->log.failed, 1);
    assert_int_equal(pdl_cdp_log_check(&b->log, &error), PDL_ERROR_DRIVER);
    assert_int_equal(error.cuda_result, cudaErrorInvalidValue);
}

TEST(the_host_cannot_launch_a_kernel_that_launches_graphs_outside_a_graph)
{
    launch_twice<<<1, 1>>>(b, nullptr);
    assert_int_equal(cudaGetLastError(), cudaErrorNotSupported);
}

/* Instantiates `graph`, which cannot be. */
static void assert_no_device_graph(cudaGraph_t graph, pdl_status status, const char *says)
{
    cudaGraphExec_t exec = nullptr;
    pdl_error error = {};
    const pdl_status got = pdl_cdp_graph_instantiate(graph, nullptr, &exec, &error);
    if (got != status || strstr(error.message, says) == nullptr) {
        print_error("%s: %s\n", pdl_status_name(got), error.message);
    }
    assert_int_equal(got, status);
    assert_int_equal(error.status, status);
    assert_non_null(strstr(error.message, says));
    assert_null(exec);
    assert_cuda(cudaGetLastError());
    assert_int_equal(pdl_cdp_graph_instantiate(graph, nullptr, &exec, nullptr), status);
}

TEST(a_graph_that_cannot_be_launched_from_the_device_is_refused_with_its_node)
{
    void *board_only[] = {&b};
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaHostNodeParams host = {};
    host.fn = [](void *) {};
    assert_cuda(cudaGraphCreate(&graph, 0));
    undo_later([=] { (void)cudaGraphDestroy(graph); });
    assert_no_device_graph(graph, PDL_ERROR_INVALID_ARGUMENT, "at least one node");

    graph = graph_of(reinterpret_cast<void *>(count), board_only);
    assert_cuda(cudaGraphAddHostNode(&node, graph, nullptr, 0, &host));
    assert_no_device_graph(graph, PDL_ERROR_NOT_SUPPORTED, "host function");

    unsigned each = 1;
    void *args[] = {&b, &each};
    graph = graph_of(reinterpret_cast<void *>(fire_many), args);
    assert_no_device_graph(graph, PDL_ERROR_NOT_SUPPORTED, "launches from the device itself");
}

int main()
{
    return run_gpu_tests(set_up);
}
