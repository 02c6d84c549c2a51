/* SPDX-License-Identifier: MIT */
/* The model of CUDA as a driver table for unit tests: what tests set, and what they ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/device.h"
#include "mock_entry.h"
#include "support.h"

pdl_runtime_ops mock_runtime_ops;
int32_t mock_runtime_launch_result;
int32_t mock_runtime_function_result;
unsigned mock_runtime_function_calls;

void mock_apply(void)
{
    pdl_device_override(&mock.table);
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

static int32_t runtime_launch(const void *symbol, const pdl_runtime_launch *from, void **arguments)
{
    mock_lock("a runtime call");
    const int32_t result = mock_runtime_launch_result;
    if (result == 0 && mock_current_device() < 0) {
        mock_set_current(0); /* the Runtime makes its device's context when it needs one */
    }
    if (result == 0) {
        struct mock_launch *launch = mock_next_launch(from->attributes, from->attribute_count);
        launch->by_runtime = true;
        launch->symbol = symbol;
        launch->config.gridDimX = from->grid[0];
        launch->config.gridDimY = from->grid[1];
        launch->config.gridDimZ = from->grid[2];
        launch->config.blockDimX = from->block[0];
        launch->config.blockDimY = from->block[1];
        launch->config.blockDimZ = from->block[2];
        launch->config.sharedMemBytes = from->dynamic_shared_memory;
        launch->config.hStream = from->stream;
        launch->config.attrs = from->attributes;
        launch->config.numAttrs = from->attribute_count;
        launch->arguments = arguments;
        mock_see_launch(&launch->config, symbol, arguments);
    }
    (void)mock_leave(CUDA_SUCCESS);
    return result;
}

static int32_t runtime_get_function(const void *symbol, CUfunction *function)
{
    mock_lock("a runtime call");
    const int32_t result = mock_runtime_function_result;
    mock_runtime_function_calls++;
    if (result == 0 && mock_current_device() < 0) {
        mock_set_current(0);
    }
    if (result == 0) {
        const ptrdiff_t i = (const struct mock_kernel *)symbol - mock.kernels;
        *function = mock_function((unsigned)i, mock_current_device());
    }
    (void)mock_leave(CUDA_SUCCESS);
    return result;
}

int mock_setup(void **state)
{
    static const char *const names[MOCK_KERNELS] = {"fc1", "fc2", "fc3", "fc4",
                                                    "fc5", "fc6", "fc7", "fc8"};
    (void)state;
    mock_reset();
    fill_table();
    mock.table.version = MOCK_VERSION;
    mock.table.device_count = 1;
    for (int d = 0; d < MOCK_DEVICES; d++) {
        (void)snprintf(mock.devices[d].name, sizeof(mock.devices[d].name), "mocked H200 number %d",
                       d);
    }
    for (int k = 0; k < MOCK_KERNELS; k++) {
        mock_init_kernel(&mock.kernels[k], names[k]);
        mock.kernels[k].occupancy = 2;
    }
    mock_runtime_ops = (pdl_runtime_ops){.size = (uint32_t)sizeof(pdl_runtime_ops),
                                         .runtime_version = MOCK_VERSION,
                                         .launch = runtime_launch,
                                         .get_function = runtime_get_function,
                                         .default_stream = PDL_DEFAULT_STREAM_LEGACY};
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
    drop_all();
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
    mock_forget();
    mock_set_current(0);
    return good ? 0 : -1;
}
