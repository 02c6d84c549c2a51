/* SPDX-License-Identifier: MIT */
/* Time, on the device and on the host. */
#include "bench/gpu_time.h"

#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "bench/gpu.h"

/* What the gate kernel and the host share: memory of the host that the device sees. */
struct gate {
    int open, gave_up;
};
static volatile struct gate *gate;
static CUdeviceptr gate_address;
static CUevent before, after;

double host_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void find_timer_step(void)
{
    CUdeviceptr step = gpu_alloc(sizeof(gpu.timer_step));
    void *args[] = {&step};
    const struct gpu_launch launch = {gpu_function(IMAGE_COMMON, "timer_step"), 1, 1, 0, args};
    gpu_launch(&launch, gpu.stream, false);
    gpu_read(&gpu.timer_step, step, sizeof(gpu.timer_step));
    gpu_free(step);
}

double gpu_sm_clock_mhz(void)
{
    unsigned long long ns = 2000000;
    unsigned long long result[2] = {0, 1};
    CUdeviceptr memory = gpu_alloc(sizeof(result));
    void *args[] = {&ns, &memory};
    const struct gpu_launch launch = {gpu_function(IMAGE_COMMON, "sm_clock"), 1, 1, 0, args};
    for (int i = 0; i < 20; i++) { /* an idle device clocks down */
        gpu_launch(&launch, gpu.stream, false);
    }
    gpu_read(result, memory, sizeof(result));
    gpu_free(memory);
    return 1e3 * (double)result[0] / (double)result[1];
}

static void nothing(void *context)
{
    (void)context;
}

void gpu_time_open(void)
{
    void *memory = NULL;
    MUST(cu.cuMemHostAlloc(&memory, sizeof(*gate), CU_MEMHOSTALLOC_DEVICEMAP));
    memset(memory, 0, sizeof(*gate));
    gate = memory;
    MUST(cu.cuMemHostGetDevicePointer(&gate_address, memory, 0));
    MUST(cu.cuEventCreate(&before, CU_EVENT_DEFAULT));
    MUST(cu.cuEventCreate(&after, CU_EVENT_DEFAULT));
    find_timer_step();
    (void)gpu_time(nothing, NULL); /* loads the gate */
}

void gpu_time_close(void)
{
    MUST(cu.cuEventDestroy(after));
    MUST(cu.cuEventDestroy(before));
    MUST(cu.cuMemFreeHost((void *)gate));
}

struct gpu_times gpu_time(void (*work)(void *context), void *context)
{
    struct gpu_times times;
    float milliseconds = 0;
    CUdeviceptr open = gate_address;
    CUdeviceptr gave_up = gate_address + offsetof(struct gate, gave_up);
    void *args[] = {&open, &gave_up};
    const struct gpu_launch launch = {gpu_function(IMAGE_COMMON, "gate"), 1, 1, 0, args};
    gate->open = 0;
    gate->gave_up = 0;
    gpu_launch(&launch, gpu.stream, false);
    MUST(cu.cuEventRecord(before, gpu.stream));
    const double begin = host_ns();
    work(context);
    times.host_ns = host_ns() - begin;
    MUST(cu.cuEventRecord(after, gpu.stream));
    gate->open = 1;
    MUST(cu.cuStreamSynchronize(gpu.stream));
    if (gate->gave_up) {
        bench_abort("the work did not fit into the launch queue behind the gate");
    }
    MUST(cu.cuEventElapsedTime(&milliseconds, before, after));
    times.device_us = 1e3 * (double)milliseconds;
    return times;
}

double gpu_wall_ns(void (*work)(void *context), void *context)
{
    MUST(cu.cuStreamSynchronize(gpu.stream));
    const double begin = host_ns();
    work(context);
    MUST(cu.cuStreamSynchronize(gpu.stream));
    return host_ns() - begin;
}
