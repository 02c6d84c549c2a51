/* SPDX-License-Identifier: MIT */
/* A launch of a symbol by the driver does what cudaLaunchKernelExC() does: the same result, the same
 * cudaGetLastError() and the same work, for every stream and context. Each situation is made twice, once
 * for either. */
#include <thread>

#include "driver_entry.h"
#include "gpu_test.cuh"

static __global__ void add(int *cell, int value)
{
    PDL_WAIT();
    if (cell != nullptr) {
        atomicAdd(cell, value);
    }
}

/* ---- the two ways to launch ----------------------------------------------------------------- */

struct outcome {
    int error; /* a cudaError_t */
    int last;  /* cudaGetLastError() */
    int value; /* what was added; nodes, of a capture */
};

typedef int (*launcher)(cudaStream_t stream, int *cell);

static int launch_raw(cudaStream_t stream, int *cell)
{
    int value = 5;
    void *args[] = {&cell, &value};
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 1;
    config.stream = stream;
    return cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(add), args);
}

static int by_runtime; /* launches of libpdl that the Runtime made */

static int32_t count_launch(const void *symbol, const pdl_runtime_launch *launch, void **args)
{
    by_runtime++;
    return pdl_cudart_ops_()->launch(symbol, launch, args);
}

static pdl_kernel *kernel;

static int launch_libpdl(cudaStream_t stream, int *cell)
{
    const int value = 5;
    const pdl_status status =
        pdl_launch(kernel, pdl_launch_desc_make(1, 1, 0, stream), PDL_ARGS(cell, value));
    return status == PDL_SUCCESS ? 0 : pdl_last_error()->cuda_result;
}

/* ---- situations ----------------------------------------------------------------------------- */

enum situation {
    OWN_STREAM,
    BLOCKING_STREAM,
    NULL_STREAM,
    LEGACY_STREAM,
    PER_THREAD_STREAM,
    PENDING_ERROR,
    OTHER_THREAD,
    CREATED_CONTEXT,
    CREATED_CONTEXT_NULL_STREAM,
    CREATED_CONTEXT_OTHER_STREAM,
    STREAM_OF_CREATED_CONTEXT,
    NO_CONTEXT,
    NO_CONTEXT_WITH_STREAM,
    CAPTURE,
    CAPTURE_INVALIDATED,
    LEGACY_WHILE_CAPTURING,
    SECOND_DEVICE, /* from here on with two devices */
    STREAM_OF_FIRST_DEVICE,
    STREAM_OF_SECOND_DEVICE,
    SITUATIONS
};

static CUcontext primary, created;
static cudaStream_t own, blocking, of_created, of_second;
static int *cell;

static void set_context(CUcontext context)
{
    assert_int_equal(DRIVER_ENTRY(cuCtxSetCurrent)(context), CUDA_SUCCESS);
}

static bool two_devices()
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 1;
}

static void open_all()
{
    assert_cuda(cudaSetDevice(0));
    assert_cuda(cudaHostAlloc(&cell, sizeof(*cell), cudaHostAllocMapped | cudaHostAllocPortable));
    assert_cuda(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    assert_cuda(cudaStreamCreate(&blocking));
    assert_int_equal(DRIVER_ENTRY(cuCtxGetCurrent)(&primary), CUDA_SUCCESS);
    const auto create = DRIVER_ENTRY(cuCtxCreate);
#if CUDA_VERSION >= 13000
    assert_int_equal(create(&created, nullptr, 0, 0), CUDA_SUCCESS);
#else
    assert_int_equal(create(&created, 0, 0), CUDA_SUCCESS);
#endif
    assert_cuda(cudaStreamCreateWithFlags(&of_created, cudaStreamNonBlocking));
    set_context(primary);
    if (two_devices()) {
        assert_cuda(cudaSetDevice(1));
        assert_cuda(cudaStreamCreateWithFlags(&of_second, cudaStreamNonBlocking));
        assert_cuda(cudaSetDevice(0));
    }
}

/* Makes it, and says which stream the launch is for. */
static cudaStream_t enter(situation now)
{
    if (now == CREATED_CONTEXT || now == CREATED_CONTEXT_NULL_STREAM ||
        now == CREATED_CONTEXT_OTHER_STREAM) {
        set_context(created);
    } else if (now == SECOND_DEVICE || now == STREAM_OF_FIRST_DEVICE) {
        assert_cuda(cudaSetDevice(1));
    }
    assert_int_equal(launch_libpdl(nullptr, nullptr),
                     0); /* the driver may launch in this context */
    assert_cuda(cudaDeviceSynchronize());
    switch (now) {
    case BLOCKING_STREAM:
        return blocking;
    case LEGACY_STREAM:
        return cudaStreamLegacy;
    case PER_THREAD_STREAM:
        return cudaStreamPerThread;
    case PENDING_ERROR:
        (void)cudaSetDevice(-1);
        return own;
    case CREATED_CONTEXT:
    case STREAM_OF_CREATED_CONTEXT:
        return of_created;
    case NO_CONTEXT:
        set_context(nullptr);
        return nullptr;
    case NO_CONTEXT_WITH_STREAM:
        set_context(nullptr);
        return own;
    case CAPTURE:
        assert_cuda(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal));
        return own;
    case CAPTURE_INVALIDATED:
        assert_cuda(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal));
        assert_true(cudaStreamSynchronize(own) != cudaSuccess);
        (void)cudaGetLastError();
        return own;
    case LEGACY_WHILE_CAPTURING:
        assert_cuda(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeThreadLocal));
        return cudaStreamLegacy;
    case SECOND_DEVICE:
    case STREAM_OF_SECOND_DEVICE:
        return of_second;
    case NULL_STREAM:
    case CREATED_CONTEXT_NULL_STREAM:
        return nullptr;
    default:
        return own;
    }
}

/* Leaves it, with its work done. */
static void leave(situation now, outcome *result)
{
    cudaGraph_t graph = nullptr;
    size_t nodes = 0;
    if (now == CAPTURE || now == CAPTURE_INVALIDATED || now == LEGACY_WHILE_CAPTURING) {
        (void)cudaStreamEndCapture(now == LEGACY_WHILE_CAPTURING ? blocking : own, &graph);
        if (graph != nullptr) {
            assert_cuda(cudaGraphGetNodes(graph, nullptr, &nodes));
            assert_cuda(cudaGraphDestroy(graph));
        }
        (void)cudaGetLastError();
    }
    assert_cuda(cudaDeviceSynchronize());
    set_context(created);
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaSetDevice(0));
    set_context(primary);
    assert_cuda(cudaDeviceSynchronize());
    result->value = graph != nullptr ? static_cast<int>(nodes) : *cell;
}

static outcome observe(situation now, launcher launch)
{
    outcome result = {};
    const auto run = [&] {
        const cudaStream_t stream = enter(now);
        by_runtime = 0;
        result.error = launch(stream, cell);
        result.last = cudaGetLastError();
    };
    *cell = 0;
    if (now == OTHER_THREAD) {
        std::thread(run).join();
    } else {
        run();
    }
    leave(now, &result);
    return result;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void set_up(void)
{
    static pdl_runtime_ops ops;
    ops = *pdl_cudart_ops_();
    ops.launch = count_launch;
    open_all();
    assert_pdl(pdl_kernel_from_runtime(reinterpret_cast<const void *>(add), &ops, &kernel));
    undo_later([] { (void)cudaDeviceReset(); }); /* with all that is of it */
    undo_later([] { pdl_kernel_destroy(kernel); });
}

TEST(a_launch_does_what_the_runtimes_does_in_every_situation)
{
    const int count = two_devices() ? SITUATIONS : SECOND_DEVICE;
    int wrong = 0;
    int refused = 0;
    for (int i = 0; i < count; i++) {
        const situation now = static_cast<situation>(i);
        const outcome raw = observe(now, launch_raw);
        const outcome ours = observe(now, launch_libpdl);
        /* By the driver if it works, and the current context is there and the stream's; else by the
         * Runtime, which may know another context. */
        const bool foreign = now == NO_CONTEXT || now == NO_CONTEXT_WITH_STREAM ||
                             now == CREATED_CONTEXT_OTHER_STREAM ||
                             now == STREAM_OF_CREATED_CONTEXT || now == STREAM_OF_FIRST_DEVICE ||
                             now == STREAM_OF_SECOND_DEVICE;
        const bool driver = ours.error == 0 && !foreign;
        const bool good = raw.error == ours.error && raw.last == ours.last &&
                          raw.value == ours.value && by_runtime == (driver ? 0 : 1);
        print_message("situation %2d: cudaLaunchKernelExC %d, last %d, value %d; pdl_launch %d, "
                      "last %d, value %d, %d by the Runtime%s\n",
                      i, raw.error, raw.last, raw.value, ours.error, ours.last, ours.value,
                      by_runtime, good ? "" : ": WRONG");
        wrong += !good;
        refused += raw.error != 0;
    }
    assert_int_equal(wrong, 0);
    assert_true(refused > 1); /* it is not all the same */
}

TEST(threads_and_contexts_do_not_get_in_each_others_way)
{
    std::thread threads[4];
    int failed[4] = {};
    const int value = 5;
    *cell = 0;
    for (int t = 0; t < 4; t++) {
        threads[t] = std::thread([=, &failed] {
            for (int i = 0; i < 2000; i++) {
                const bool other = (i / 10 + t) % 2 != 0;
                set_context(other ? created : primary);
                failed[t] +=
                    pdl_launch(kernel, pdl_launch_desc_make(1, 1, 0, other ? of_created : own),
                               PDL_ARGS(cell, value)) != PDL_SUCCESS;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    assert_cuda(cudaDeviceSynchronize());
    set_context(created);
    assert_cuda(cudaDeviceSynchronize());
    set_context(primary);
    for (const int count : failed) {
        assert_int_equal(count, 0);
    }
    assert_int_equal(*cell, 4 * 2000 * 5);
}

/* The functions of a context that was reset are not used, nor is its number. */
TEST(a_launch_survives_the_reset_of_its_device_at_any_moment)
{
    for (int i = 0; i < 6; i++) {
        assert_int_equal(launch_libpdl(nullptr, nullptr), 0);
        by_runtime = 0;
        assert_int_equal(launch_libpdl(nullptr, nullptr), 0);
        assert_int_equal(by_runtime, 0);
        assert_cuda(cudaDeviceReset());
        if (i % 2 == 1) { /* another context, before the launch */
            assert_cuda(cudaFree(nullptr));
        }
        assert_int_equal(launch_libpdl(nullptr, nullptr), 0);
        assert_int_equal(by_runtime, 1);
        assert_cuda(cudaDeviceSynchronize());
    }
    /* A reset that the Runtime does not know of. */
    device_works_at_end = false;
    assert_int_equal(DRIVER_ENTRY(cuDevicePrimaryCtxReset)(0), CUDA_SUCCESS);
    const int ours = launch_libpdl(nullptr, nullptr);
    const int last = cudaGetLastError();
    assert_int_equal(launch_raw(nullptr, nullptr), ours);
    assert_int_equal(cudaGetLastError(), last);
}

int main()
{
    return run_gpu_tests(set_up);
}
