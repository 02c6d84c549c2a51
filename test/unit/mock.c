/* SPDX-License-Identifier: MIT */
/* The mocked driver's model and bookkeeping: see mock.h. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/device.h"
#include "h200.h"
#include "mock_entry.h"

struct mock mock;
pdl_runtime_ops mock_runtime_ops;
int32_t mock_runtime_launch_result;
int32_t mock_runtime_function_result;
unsigned mock_runtime_function_calls;

_Thread_local int mock_current_device;
struct mock_pool mock_events = {.what = "event", .live = &mock.live_events};
struct mock_pool mock_libraries = {.what = "library", .live = &mock.live_libraries};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char function_handles[MOCK_KERNELS][MOCK_DEVICES];
static char kernel_handles[MOCK_KERNELS];

/* ------------------------------------------------------------------------------------------------
 * What entries call
 * ---------------------------------------------------------------------------------------------- */

void mock_lock(void)
{
    (void)pthread_mutex_lock(&lock);
}

CUresult mock_enter(enum mock_entry entry)
{
    if (mock.on_entry != NULL) {
        mock.on_entry(entry);
    }
    mock_lock();
    mock.calls[entry]++;
    if (mock.fail_always[entry]) {
        return mock.fail_with[entry];
    }
    if (mock.fail_at[entry] != 0 && --mock.fail_at[entry] == 0) {
        return mock.fail_with[entry];
    }
    return CUDA_SUCCESS;
}

CUresult mock_leave(CUresult result)
{
    (void)pthread_mutex_unlock(&lock);
    return result;
}

void mock_misused(const char *format, ...)
{
    if (mock.misuse[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(mock.misuse, sizeof(mock.misuse), format, arguments);
        va_end(arguments);
    }
}

bool mock_is_device(CUdevice device)
{
    return device >= 0 && device < mock.table.device_count;
}

/* The position of a handle in an array of them; -1 if it is not from there. */
static ptrdiff_t handle_index(const void *handle, const char *handles, size_t count)
{
    const uintptr_t at = (uintptr_t)handle;
    const uintptr_t first = (uintptr_t)handles;
    return at >= first && at < first + count ? (ptrdiff_t)(at - first) : -1;
}

void *mock_pool_take(struct mock_pool *pool)
{
    for (size_t i = 0; i < MOCK_POOL; i++) {
        if (!pool->used[i]) {
            pool->used[i] = true;
            (*pool->live)++;
            return &pool->handles[i];
        }
    }
    return NULL;
}

bool mock_pool_has(const struct mock_pool *pool, const void *handle, const char *call)
{
    const ptrdiff_t i = handle_index(handle, pool->handles, sizeof(pool->handles));
    if (i < 0 || !pool->used[i]) {
        mock_misused("%s was called with %p, which is not a live %s", call, handle, pool->what);
        return false;
    }
    return true;
}

bool mock_pool_give(struct mock_pool *pool, const void *handle, const char *call)
{
    if (!mock_pool_has(pool, handle, call)) {
        return false;
    }
    pool->used[handle_index(handle, pool->handles, sizeof(pool->handles))] = false;
    (*pool->live)--;
    return true;
}

struct mock_kernel *mock_kernel_of_function(CUfunction function, int *device)
{
    const ptrdiff_t i = handle_index(function, &function_handles[0][0], sizeof(function_handles));
    if (i < 0) {
        return NULL;
    }
    *device = (int)(i % MOCK_DEVICES);
    return &mock.kernels[i / MOCK_DEVICES];
}

struct mock_kernel *mock_kernel_of_cu_kernel(CUkernel kernel)
{
    const ptrdiff_t i = handle_index(kernel, kernel_handles, sizeof(kernel_handles));
    return i < 0 ? NULL : &mock.kernels[i];
}

struct mock_kernel *mock_kernel_of_either(CUfunction function, int *device)
{
    struct mock_kernel *kernel = mock_kernel_of_function(function, device);
    if (kernel == NULL) {
        kernel = mock_kernel_of_cu_kernel((CUkernel)(void *)function);
        *device = mock_current_device;
    }
    return kernel;
}

/* ------------------------------------------------------------------------------------------------
 * What tests call
 * ---------------------------------------------------------------------------------------------- */

void mock_apply(void)
{
    pdl_device_override(&mock.table);
}

CUkernel mock_cu_kernel(unsigned kernel)
{
    return (CUkernel)(void *)&kernel_handles[kernel];
}

CUfunction mock_function(unsigned kernel, int device)
{
    return (CUfunction)(void *)&function_handles[kernel][device];
}

void mock_set_current(int device)
{
    mock_current_device = device;
}

void mock_fail(enum mock_entry entry, unsigned nth, CUresult result)
{
    mock.fail_at[entry] = nth;
    mock.fail_with[entry] = result;
    mock.fail_always[entry] = nth == 0;
}

void mock_fail_none(void)
{
    memset(mock.fail_at, 0, sizeof(mock.fail_at));
    memset(mock.fail_always, 0, sizeof(mock.fail_always));
}

static void fill_table(void)
{
#define MOCK_MEMBER_(name_, version_) mock.table.name_ = mock_##name_;
    PDL_DRIVER_ENTRIES(MOCK_MEMBER_, MOCK_MEMBER_)
#undef MOCK_MEMBER_
#define MOCK_TRACE_MEMBER_(name_, version_) mock.trace_table.name_ = mock_##name_;
    PDL_TRACE_DRIVER_ENTRIES(MOCK_TRACE_MEMBER_)
#undef MOCK_TRACE_MEMBER_
}

void mock_set_driver_version(int version)
{
    fill_table();
    mock.table.version = version;
#define MOCK_REQUIRED_(name_, version_)
#define MOCK_OPTIONAL_(name_, version_)                                                            \
    if (version < (version_)) {                                                                    \
        mock.table.name_ = NULL;                                                                   \
    }
    PDL_DRIVER_ENTRIES(MOCK_REQUIRED_, MOCK_OPTIONAL_)
#undef MOCK_REQUIRED_
#undef MOCK_OPTIONAL_
    mock_apply();
}

void mock_set_parameters(unsigned kernel, const size_t *sizes)
{
    unsigned count = 0;
    while (count < MOCK_PARAMETERS && sizes[count] != 0) {
        assert_true(sizes[count] <= MOCK_ARGUMENT);
        mock.kernels[kernel].parameter_sizes[count] = sizes[count];
        count++;
    }
    mock.kernels[kernel].parameter_count = count;
}

unsigned mock_total_calls(void)
{
    unsigned total = 0;
    for (int i = 0; i < MOCK_ENTRY_COUNT; i++) {
        total += mock.calls[i];
    }
    return total;
}

const struct mock_launch *mock_last_launch(void)
{
    assert_int_not_equal(mock.launch_count, 0);
    return &mock.launches[(mock.launch_count - 1) % MOCK_LAUNCHES];
}

unsigned mock_ran_count(void)
{
    unsigned count = 0;
    assert_int_not_equal(mock.replay_count, 0);
    while (count < mock.run_count && count < MOCK_RUNS &&
           mock.runs[(mock.run_count - 1 - count) % MOCK_RUNS].replay == mock.replay_count) {
        count++;
    }
    return count;
}

const struct mock_run *mock_ran(unsigned n)
{
    const unsigned count = mock_ran_count();
    assert_true(n < count);
    return &mock.runs[(mock.run_count - count + n) % MOCK_RUNS];
}

int mock_setup(void **state)
{
    static const char *const names[MOCK_KERNELS] = {"fc1", "fc2", "fc3", "fc4",
                                                    "fc5", "fc6", "fc7", "fc8"};
    (void)state;
    memset(&mock, 0, sizeof(mock));
    memset(mock_events.used, 0, sizeof(mock_events.used));
    memset(mock_libraries.used, 0, sizeof(mock_libraries.used));
    fill_table();
    mock.table.version = MOCK_VERSION;
    mock.table.device_count = 1;
    for (int d = 0; d < MOCK_DEVICES; d++) {
        (void)snprintf(mock.devices[d].name, sizeof(mock.devices[d].name), "mocked H200 number %d",
                       d);
#define MOCK_ATTRIBUTE_(attribute, value)                                                          \
    mock.devices[d].attributes[CU_DEVICE_ATTRIBUTE_##attribute] = value;
        H200_ATTRIBUTES(MOCK_ATTRIBUTE_)
#undef MOCK_ATTRIBUTE_
    }
    for (int k = 0; k < MOCK_KERNELS; k++) {
        mock.kernels[k].name = names[k];
        mock.kernels[k].in_image = true;
        mock.kernels[k].occupancy = 2;
        for (int d = 0; d < MOCK_DEVICES; d++) {
            int *attributes = mock.kernels[k].attributes[d];
            attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
            attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32;
            attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] = 90;
            attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90;
            attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152;
        }
    }
    mock_runtime_ops = (pdl_runtime_ops){.size = (uint32_t)sizeof(pdl_runtime_ops),
                                         .runtime_version = MOCK_VERSION,
                                         .launch = mock_runtime_launch,
                                         .get_function = mock_runtime_get_function};
    mock_runtime_launch_result = 0;
    mock_runtime_function_result = 0;
    mock_runtime_function_calls = 0;
    mock_set_current(0);
    mock_apply();
    return 0;
}

int mock_teardown(void **state)
{
    (void)state;
    const int live = mock.live_libraries + mock.live_events + mock.live_graphs + mock.live_nodes +
                     mock.live_execs + mock.live_allocations;
    const bool good = mock.misuse[0] == '\0' && live == 0 && mock_context_depth == 0;
    if (!good) {
        print_error("misuse: %s; still live: %d libraries, %d events, %d graphs with %d nodes, %d "
                    "executable graphs, %d allocations; %d contexts were not popped\n",
                    mock.misuse[0] != '\0' ? mock.misuse : "none", mock.live_libraries,
                    mock.live_events, mock.live_graphs, mock.live_nodes, mock.live_execs,
                    mock.live_allocations, mock_context_depth);
    }
    mock_forget_memory();
    mock_forget_execs();
    mock_forget_graphs();
    mock_context_depth = 0;
    mock_set_current(0);
    return good ? 0 : -1;
}
