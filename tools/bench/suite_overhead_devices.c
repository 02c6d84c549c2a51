/* SPDX-License-Identifier: MIT */
/* Launches on several devices from one thread: in one call that makes them cooperate, and one by
 * one. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/gpu_images.h"
#include "bench/runtime_launch.h"
#include "bench/suite_overhead.h"
#include "common/memory.h"

enum {
    DEVICES = 8, /* at most; 1, 2, 4 and 8 of them are rows */
    COUNTS = 4,
};

enum way {
    TOGETHER,       /* cuLaunchCooperativeKernelMultiDevice: all devices wait for each other */
    TOGETHER_FREE,  /* the same without waiting before and after */
    EACH,           /* cuLaunchKernelEx for each device */
    EACH_BY_LIBPDL, /* pdl_launch for each device */
    EACH_SYMBOL,    /* cudaLaunchKernelExC for each device */
    EACH_SYMBOL_BY_LIBPDL,
    DEVICE_WAYS,
};
static const char *const way_names[DEVICE_WAYS] = {"multi-device",        "multi-device-free",
                                                   "cuLaunchKernelEx",    "pdl_launch",
                                                   "cudaLaunchKernelExC", "pdl_launch-symbol"};

struct config {
    enum way way;
    unsigned devices;
};
static struct config configs[DEVICE_WAYS * COUNTS];

/* What the launches need on one device. */
struct device {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUstream stream;
    CUfunction null_kernel, wait, take, runtime_take;
    pdl_kernel *pdl_null, *pdl_wait;
    CUdeviceptr record;
};

struct devices {
    struct device items[DEVICES];
    unsigned count;
    unsigned grid; /* the same everywhere: the launch in one call wants that */
    pdl_kernel *symbol_null, *symbol_wait;
};

/* A kernel on each of some devices, `count` times. */
struct launches {
    struct devices *on;
    enum way way;
    unsigned devices;
    unsigned units; /* 0: a null kernel */
    unsigned block;
    size_t count;
};

/* ---- devices --------------------------------------------------------------------------------- */

static int attribute_of(CUdevice_attribute which, CUdevice device)
{
    int value = 0;
    MUST(cu.cuDeviceGetAttribute(&value, which, device));
    return value;
}

static void open_device(struct device *device, int ordinal)
{
    MUST(cu.cuDeviceGet(&device->device, ordinal));
    MUST(cu.cuDevicePrimaryCtxRetain(&device->context, device->device));
    MUST(cu.cuCtxSetCurrent(device->context));
    MUST(cu.cuStreamCreate(&device->stream, CU_STREAM_NON_BLOCKING));
    MUST(cu.cuModuleLoadData(&device->module, gpu_images[IMAGE_OVERHEAD].begin));
    MUST(cu.cuModuleGetFunction(&device->null_kernel, device->module, "overhead_null_0"));
    MUST(cu.cuModuleGetFunction(&device->wait, device->module, "overhead_wait"));
    MUST(cu.cuModuleGetFunction(&device->take, device->module, "overhead_take"));
    MUST(runtime_function(OVERHEAD_TAKE, &device->runtime_take));
    MUST_PDL(pdl_kernel_from_function(device->null_kernel, NULL, &device->pdl_null));
    MUST_PDL(pdl_kernel_from_function(device->wait, NULL, &device->pdl_wait));
    MUST_PDL(pdl_kernel_declare(device->pdl_null, PDL_YES, PDL_UNKNOWN));
    MUST_PDL(pdl_kernel_declare(device->pdl_wait, PDL_YES, PDL_UNKNOWN));
    MUST(cu.cuMemAlloc(&device->record, sizeof(struct overhead_record)));
}

static void close_device(struct device *device)
{
    MUST(cu.cuCtxSetCurrent(device->context));
    pdl_kernel_destroy(device->pdl_wait);
    pdl_kernel_destroy(device->pdl_null);
    gpu_free(device->record);
    MUST(cu.cuModuleUnload(device->module));
    MUST(cu.cuStreamDestroy(device->stream));
    MUST(cu.cuDevicePrimaryCtxRelease(device->device));
}

/* The one in use is the first; the others follow by their number. */
static int ordinal_of(unsigned index)
{
    const int other = (int)index - 1;
    return index == 0 ? gpu.ordinal : other < gpu.ordinal ? other : other + 1;
}

/* Waives what this machine cannot run; returns how many devices are needed for the rest. */
static unsigned waive_points(const struct bench_table *table)
{
    unsigned needed = 0;
    for (size_t i = 0; i < table->count; i++) {
        struct bench_point *const point = table->items[i];
        const struct config *const config = point->config;
        if (bench_point_active(point) && config->devices > (unsigned)gpu.count) {
            bench_waive(point, "this machine has %d %s", gpu.count,
                        gpu.count == 1 ? "device" : "devices");
        }
        if (bench_point_active(point) && config->devices > needed) {
            needed = config->devices;
        }
    }
    return needed;
}

static bool is_together(enum way way)
{
    return way == TOGETHER || way == TOGETHER_FREE;
}

static void waive_together(const struct bench_table *table, const struct devices *devices)
{
    for (size_t i = 0; i < table->count; i++) {
        struct bench_point *const point = table->items[i];
        const struct config *const config = point->config;
        for (unsigned j = 0; j < config->devices && bench_point_active(point); j++) {
            if (is_together(config->way) &&
                !attribute_of(CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH,
                              devices->items[j].device)) {
                bench_waive(point, "device %d has no cooperative launches on several devices",
                            ordinal_of(j));
            }
        }
    }
}

static void devices_begin(struct bench_table *table)
{
    struct devices *const devices = allocate(1, sizeof(*devices));
    overhead_open();
    devices->grid = (unsigned)gpu.multiprocessors;
    devices->count = waive_points(table);
    for (unsigned i = 0; i < devices->count; i++) {
        struct device *const device = &devices->items[i];
        open_device(device, ordinal_of(i));
        const unsigned blocks =
            (unsigned)attribute_of(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->device);
        devices->grid = blocks < devices->grid ? blocks : devices->grid;
    }
    MUST(cu.cuCtxSetCurrent(gpu.context));
    MUST(runtime_kernel(OVERHEAD_NULL_0, &devices->symbol_null));
    MUST(runtime_kernel(OVERHEAD_WAIT, &devices->symbol_wait));
    waive_together(table, devices);
    table->state = devices;
}

static void devices_end(struct bench_table *table)
{
    struct devices *const devices = table->state;
    for (unsigned i = 0; i < devices->count; i++) {
        close_device(&devices->items[i]);
    }
    MUST(cu.cuCtxSetCurrent(gpu.context));
    pdl_kernel_destroy(devices->symbol_wait);
    pdl_kernel_destroy(devices->symbol_null);
    overhead_close();
    free(devices);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The arguments of OVERHEAD_WAIT. */
struct wait_args {
    unsigned values[3];
    void *args[3];
};

static void **fill_args(struct wait_args *wait, unsigned units)
{
    wait->values[0] = units;
    overhead_unit(true, &wait->values[1], &wait->values[2]);
    for (int i = 0; i < 3; i++) {
        wait->args[i] = &wait->values[i];
    }
    return units > 0 ? wait->args : NULL;
}

static CUresult run_together(const struct launches *launches, void **args)
{
    CUDA_LAUNCH_PARAMS params[DEVICES];
    const unsigned flags = launches->way == TOGETHER_FREE
                               ? CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
                                     CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC
                               : 0;
    for (unsigned i = 0; i < launches->devices; i++) {
        const struct device *const device = &launches->on->items[i];
        params[i] = (CUDA_LAUNCH_PARAMS){
            .function = launches->units > 0 ? device->wait : device->null_kernel,
            .gridDimX = launches->on->grid,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = launches->block,
            .blockDimY = 1,
            .blockDimZ = 1,
            .hStream = device->stream,
            .kernelParams = args,
        };
    }
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < launches->count && result == CUDA_SUCCESS; i++) {
        result = cu.cuLaunchCooperativeKernelMultiDevice(params, launches->devices, flags);
    }
    return result;
}

static void run_one_by_one(const struct launches *launches, void **args)
{
    CUlaunchConfig configured[DEVICES];
    CUfunction functions[DEVICES];
    for (unsigned i = 0; i < launches->devices; i++) {
        const struct device *const device = &launches->on->items[i];
        functions[i] = launches->units > 0 ? device->wait : device->null_kernel;
        configured[i] = (CUlaunchConfig){
            .gridDimX = launches->on->grid,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = launches->block,
            .blockDimY = 1,
            .blockDimZ = 1,
            .hStream = device->stream,
        };
    }
    for (size_t i = 0; i < launches->count; i++) {
        for (unsigned j = 0; j < launches->devices; j++) {
            MUST(cu.cuCtxSetCurrent(launches->on->items[j].context));
            MUST(cu.cuLaunchKernelEx(&configured[j], functions[j], args, NULL));
        }
    }
}

static void run_by_libpdl(const struct launches *launches, void **args)
{
    pdl_launch_desc descs[DEVICES];
    pdl_kernel *kernels[DEVICES];
    for (unsigned i = 0; i < launches->devices; i++) {
        const struct device *const device = &launches->on->items[i];
        kernels[i] = launches->units > 0 ? device->pdl_wait : device->pdl_null;
        descs[i] = PDL_LAUNCH_DESC(.grid = {launches->on->grid}, .block = {launches->block},
                                   .stream = device->stream);
    }
    for (size_t i = 0; i < launches->count; i++) {
        for (unsigned j = 0; j < launches->devices; j++) {
            MUST(cu.cuCtxSetCurrent(launches->on->items[j].context));
            MUST_PDL(pdl_launch(kernels[j], &descs[j], args));
        }
    }
}

static int run_symbols(const struct launches *launches, void **args)
{
    struct runtime_launch each[DEVICES];
    int ordinals[DEVICES];
    pdl_kernel *kernel = NULL;
    for (unsigned i = 0; i < launches->devices; i++) {
        ordinals[i] = ordinal_of(i);
        each[i] = (struct runtime_launch){launches->units > 0 ? OVERHEAD_WAIT : OVERHEAD_NULL_0,
                                          launches->on->grid,
                                          launches->block,
                                          launches->on->items[i].stream,
                                          false,
                                          args};
    }
    if (launches->way == EACH_SYMBOL_BY_LIBPDL) {
        kernel = launches->units > 0 ? launches->on->symbol_wait : launches->on->symbol_null;
    }
    return runtime_run_each(each, ordinals, launches->devices, launches->count, kernel);
}

static CUresult run_launches(const struct launches *launches)
{
    struct wait_args wait;
    void **const args = fill_args(&wait, launches->units);
    CUresult result = CUDA_SUCCESS;
    if (is_together(launches->way)) {
        result = run_together(launches, args);
    } else if (launches->way == EACH) {
        run_one_by_one(launches, args);
    } else if (launches->way == EACH_BY_LIBPDL) {
        run_by_libpdl(launches, args);
    } else {
        result = (CUresult)run_symbols(launches, args);
    }
    return result;
}

static void drain(const struct launches *launches)
{
    for (unsigned i = 0; i < launches->devices; i++) {
        MUST(cu.cuCtxSetCurrent(launches->on->items[i].context));
        MUST(cu.cuStreamSynchronize(launches->on->items[i].stream));
    }
}

/* Until the host knows that all devices are done. */
static struct overhead_lapse time_of(struct launches launches, unsigned units, size_t count)
{
    struct overhead_lapse lapse;
    launches.units = units;
    launches.count = count;
    drain(&launches);
    const double begin_ns = host_ns();
    MUST(run_launches(&launches));
    lapse.calls = host_ns() - begin_ns;
    drain(&launches);
    lapse.total = host_ns() - begin_ns;
    return lapse;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* What the kernels of a way wrote on a device. */
static struct overhead_record take_record(const struct device *device, enum way way)
{
    const bool symbol = way == EACH_SYMBOL || way == EACH_SYMBOL_BY_LIBPDL;
    MUST(cu.cuCtxSetCurrent(device->context));
    return overhead_record_take(symbol ? device->runtime_take : device->take, device->stream,
                                device->record);
}

static void devices_check(struct bench_point *point)
{
    enum { TIMES = 3 };
    struct devices *const devices = point->table->state;
    const struct config *const config = point->config;
    const struct launches launches = {
        devices, config->way, config->devices, 1, OVERHEAD_COUNTED_BLOCK, TIMES};
    for (unsigned i = 0; i < devices->count; i++) {
        (void)take_record(&devices->items[i], config->way);
    }
    const CUresult result = run_launches(&launches);
    if (result != CUDA_SUCCESS) {
        bench_fail(point, "the launch on %u devices: %s", config->devices, gpu_error_name(result));
    }
    drain(&launches);
    for (unsigned i = 0; i < devices->count; i++) {
        const unsigned long long times = i < config->devices ? TIMES : 0;
        const struct overhead_record record = take_record(&devices->items[i], config->way);
        if (record.launches != times || record.blocks != times * devices->grid ||
            record.sum != times) {
            bench_fail(point, "on device %d %llu kernels of %llu blocks ran, not %llu of %llu",
                       ordinal_of(i), record.launches, record.blocks, times, times * devices->grid);
        }
    }
    MUST(cu.cuCtxSetCurrent(gpu.context));
}

static void devices_measure(struct bench_point *point, double *values)
{
    enum { WARM = 5 };
    struct devices *const devices = point->table->state;
    const struct config *const config = point->config;
    const struct launches launches = {.on = devices,
                                      .way = config->way,
                                      .devices = config->devices,
                                      .block = OVERHEAD_TIMED_BLOCK};
    (void)time_of(launches, 0, WARM);
    const double one = time_of(launches, 0, 1).total;
    const double few = time_of(launches, 0, OVERHEAD_FEW).total;
    const struct overhead_lapse many = time_of(launches, 0, OVERHEAD_MANY);
    const double split = time_of(launches, OVERHEAD_LARGE, OVERHEAD_FUSED).total;
    const double fused = time_of(launches, OVERHEAD_LARGE * OVERHEAD_FUSED, 1).total;
    values[0] = many.calls / OVERHEAD_MANY;
    values[1] = (many.total - few) / (OVERHEAD_MANY - OVERHEAD_FEW);
    values[2] = (split - fused) / (OVERHEAD_FUSED - 1);
    values[3] = one;
    MUST(cu.cuCtxSetCurrent(gpu.context));
}

static const struct bench_spec devices_spec = {
    .name = "devices",
    .title = "Launches on 1 to 8 devices from one thread",
    .note = "ns for a kernel on each of the devices. `multi-device` is "
            "cuLaunchCooperativeKernelMultiDevice, where each kernel waits for the earlier ones of "
            "all devices; `multi-device-free` is the same call without that; the others set the "
            "context and make a launch for each device, the last two by cudaSetDevice. `host` is "
            "what the calls take, "
            "`additional` what one more round of launches adds (formula 1, 128 less 64: the right "
            "of figure 4 of Zhang et al., 4 µs on one V100 and 184 µs on eight), `execution` is "
            "formula 2's for kernels of 5 µs (the right of figure 5, 1.3 µs and 70 µs), `latency` "
            "is that of one empty kernel on each.",
    .axes = {"way", "devices"},
    .metrics = {{"host", "ns", false, 0.15},
                {"additional", "ns", false, 0.15},
                {"execution", "ns", false, 0.25},
                {"latency", "ns", false, 0.15}},
    .rounds = 20,
    .begin = devices_begin,
    .check = devices_check,
    .measure = devices_measure,
    .end = devices_end,
};

void overhead_declare_devices(struct bench *bench)
{
    struct bench_table *const table = bench_table_add(bench, &devices_spec);
    struct bench_point *raw = NULL;
    size_t used = 0;
    for (unsigned devices = 1; devices <= DEVICES; devices *= 2) {
        for (enum way way = 0; way < DEVICE_WAYS; way++) {
            char number[16];
            const char *const values[] = {way_names[way], number};
            (void)snprintf(number, sizeof(number), "%u", devices);
            configs[used] = (struct config){way, devices};
            struct bench_point *const point = bench_point_add(
                table, way == EACH_BY_LIBPDL || way == EACH_SYMBOL_BY_LIBPDL ? raw : NULL,
                &configs[used++], values);
            raw = way == EACH || way == EACH_SYMBOL ? point : raw;
        }
    }
}
