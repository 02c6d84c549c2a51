/* SPDX-License-Identifier: MIT */
/* Launches on several devices from one thread: in one call that makes them cooperate, and one by
 * one. */
#include <stdlib.h>

#include "bench/runtime_launch.h"
#include "bench/suite_overhead.h"
#include "common/memory.h"

enum { DEVICES = 8 }; /* at most; 1, 2, 4 and 8 of them are rows */

/* One launch for all devices, which wait for each other unless `free`, or one for each; of a symbol by the
 * Runtime or of a function; in raw CUDA or by libpdl. */
static const struct way {
    const char *name;
    bool together, free, symbol, libpdl;
} ways[] = {
    {"multi-device", .together = true},      {"multi-device-free", .together = true, .free = true},
    {"cuLaunchKernelEx", .libpdl = false},   {"pdl_launch", .libpdl = true},
    {"cudaLaunchKernelExC", .symbol = true}, {"pdl_launch-symbol", .symbol = true, .libpdl = true},
};
enum { DEVICE_WAYS = sizeof(ways) / sizeof(ways[0]) };

struct config {
    const struct way *way;
    unsigned devices;
};

enum { NULL_KERNEL, WAIT_KERNEL, KERNELS };
static const char *const kernel_names[KERNELS] = {"overhead_null_0", "overhead_wait"};
static const enum overhead_kernel symbols[KERNELS] = {OVERHEAD_NULL_0, OVERHEAD_WAIT};

/* What the launches need on one device. */
struct device {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUstream stream;
    CUfunction functions[KERNELS], take, runtime_take;
    pdl_kernel *kernels[KERNELS];
    CUdeviceptr record;
};

struct devices {
    struct device items[DEVICES];
    unsigned count;
    unsigned grid; /* the same everywhere: the launch in one call wants that */
    pdl_kernel *symbol_kernels[KERNELS];
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
    MUST(cu.cuModuleGetFunction(&device->take, device->module, "overhead_take"));
    MUST_RUNTIME(runtime_function(OVERHEAD_TAKE, &device->runtime_take));
    for (int i = 0; i < KERNELS; i++) {
        MUST(cu.cuModuleGetFunction(&device->functions[i], device->module, kernel_names[i]));
        MUST_PDL(pdl_kernel_from_function(device->functions[i], NULL, &device->kernels[i]));
        MUST_PDL(pdl_kernel_declare(device->kernels[i], PDL_YES, PDL_UNKNOWN));
    }
    MUST(cu.cuMemAlloc(&device->record, sizeof(struct overhead_record)));
}

static void close_device(struct device *device)
{
    MUST(cu.cuCtxSetCurrent(device->context));
    for (int i = 0; i < KERNELS; i++) {
        pdl_kernel_destroy(device->kernels[i]);
    }
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

/* As many as the points need that this machine can run. */
static unsigned count_needed(const struct bench_table *table)
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

static void devices_begin(struct bench_table *table)
{
    struct devices *const devices = allocate(1, sizeof(*devices));
    overhead_begin(table);
    table->state = devices;
    devices->grid = (unsigned)gpu.multiprocessors;
    devices->count = count_needed(table);
    for (unsigned i = 0; i < devices->count; i++) {
        struct device *const device = &devices->items[i];
        open_device(device, ordinal_of(i));
        const unsigned blocks =
            (unsigned)attribute_of(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->device);
        devices->grid = blocks < devices->grid ? blocks : devices->grid;
    }
    MUST(cu.cuCtxSetCurrent(gpu.context));
    for (int i = 0; i < KERNELS; i++) {
        MUST_RUNTIME(runtime_kernel(symbols[i], &devices->symbol_kernels[i]));
    }
}

static void devices_end(struct bench_table *table)
{
    struct devices *const devices = table->state;
    for (unsigned i = 0; i < devices->count; i++) {
        close_device(&devices->items[i]);
    }
    MUST(cu.cuCtxSetCurrent(gpu.context));
    for (int i = 0; i < KERNELS; i++) {
        pdl_kernel_destroy(devices->symbol_kernels[i]);
    }
    overhead_end(table);
    free(devices);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* A kernel on each of some devices, with everything made that a program would make once. */
struct launches {
    const struct way *way;
    struct devices *on;
    unsigned devices;
    int kernel;
    unsigned wait[3];
    void *args[3];
    struct gpu_launch raw[DEVICES];
    CUlaunchAttribute attributes[DEVICES];
    CUlaunchConfig configs[DEVICES];
    CUDA_LAUNCH_PARAMS params[DEVICES]; /* together */
    pdl_launch_desc descs[DEVICES];
    struct runtime_launch runtime[DEVICES];
    int ordinals[DEVICES];
};

/* `units` 0: a null kernel. The launches must stay where they are. */
static void fill_launches(struct launches *launches, const struct bench_point *point,
                          unsigned units, unsigned block)
{
    const struct config *const config = point->config;
    launches->way = config->way;
    launches->on = point->table->state;
    launches->devices = config->devices;
    launches->kernel = units > 0 ? WAIT_KERNEL : NULL_KERNEL;
    overhead_wait_fill(launches->wait, launches->args, units, false);
    void **const args = units > 0 ? launches->args : NULL;
    for (unsigned i = 0; i < config->devices; i++) {
        const struct device *const device = &launches->on->items[i];
        const unsigned grid = launches->on->grid;
        CUfunction function = device->functions[launches->kernel];
        launches->ordinals[i] = ordinal_of(i);
        launches->raw[i] = (struct gpu_launch){function, grid, block, 0, args, OVERHEAD_NULL_0};
        launches->configs[i] =
            gpu_config(&launches->raw[i], device->stream, false, false, &launches->attributes[i]);
        launches->params[i] =
            (CUDA_LAUNCH_PARAMS){function, grid, 1, 1, block, 1, 1, 0, device->stream, args};
        launches->descs[i] =
            PDL_LAUNCH_DESC(.grid = {grid}, .block = {block}, .stream = device->stream);
        launches->runtime[i] = (struct runtime_launch){
            symbols[launches->kernel], grid, block, device->stream, false, args};
    }
}

static CUresult run_launches(struct launches *launches, size_t count)
{
    const struct way *const way = launches->way;
    const struct devices *const on = launches->on;
    const unsigned flags = way->free ? CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
                                           CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC
                                     : 0;
    CUresult result = CUDA_SUCCESS;
    if (way->symbol) { /* whose loop is in C++ */
        return (CUresult)runtime_run_each(
            launches->runtime, launches->ordinals, launches->devices, count,
            way->libpdl ? on->symbol_kernels[launches->kernel] : NULL);
    }
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        if (way->together) {
            result =
                cu.cuLaunchCooperativeKernelMultiDevice(launches->params, launches->devices, flags);
        }
        for (unsigned j = 0; j < launches->devices && !way->together; j++) {
            MUST(cu.cuCtxSetCurrent(on->items[j].context));
            if (way->libpdl) {
                MUST_PDL(pdl_launch(on->items[j].kernels[launches->kernel], &launches->descs[j],
                                    launches->raw[j].args));
            } else {
                MUST(cu.cuLaunchKernelEx(&launches->configs[j], launches->raw[j].function,
                                         launches->raw[j].args, NULL));
            }
        }
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
static struct gpu_lapse time_of(const struct bench_point *point, unsigned units, size_t count)
{
    struct launches launches;
    struct gpu_lapse lapse;
    fill_launches(&launches, point, units, OVERHEAD_TIMED_BLOCK);
    drain(&launches);
    const double begin_ns = host_ns();
    MUST(run_launches(&launches, count));
    lapse.calls_ns = host_ns() - begin_ns;
    drain(&launches);
    lapse.total_ns = host_ns() - begin_ns;
    return lapse;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void waive_together(struct bench_point *point)
{
    const struct config *const config = point->config;
    const struct devices *const devices = point->table->state;
    for (unsigned i = 0; i < config->devices && config->way->together; i++) {
        if (!attribute_of(CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH,
                          devices->items[i].device)) {
            bench_waive(point, "device %d has no cooperative launches on several devices",
                        ordinal_of(i));
        }
    }
}

/* What the kernels of a way wrote on a device. */
static struct overhead_record take_record(const struct device *device, const struct way *way)
{
    MUST(cu.cuCtxSetCurrent(device->context));
    return overhead_record_take(way->symbol ? device->runtime_take : device->take, device->stream,
                                device->record);
}

static void devices_check(struct bench_point *point)
{
    enum { TIMES = 3 };
    const struct devices *const devices = point->table->state;
    const struct config *const config = point->config;
    struct launches launches;
    fill_launches(&launches, point, 1, OVERHEAD_COUNTED_BLOCK);
    for (unsigned i = 0; i < devices->count; i++) {
        (void)take_record(&devices->items[i], config->way);
    }
    const CUresult result = run_launches(&launches, TIMES);
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
    (void)time_of(point, 0, WARM);
    const double one = time_of(point, 0, 1).total_ns;
    const double few = time_of(point, 0, OVERHEAD_FEW).total_ns;
    const struct gpu_lapse many = time_of(point, 0, OVERHEAD_MANY);
    const double split = time_of(point, OVERHEAD_LARGE, OVERHEAD_FUSED).total_ns;
    const double fused = time_of(point, OVERHEAD_LARGE * OVERHEAD_FUSED, 1).total_ns;
    values[0] = many.calls_ns / OVERHEAD_MANY;
    values[1] = (many.total_ns - few) / (OVERHEAD_MANY - OVERHEAD_FEW);
    values[2] = (split - fused) / (OVERHEAD_FUSED - 1);
    values[3] = one;
    MUST(cu.cuCtxSetCurrent(gpu.context));
}

void overhead_declare_devices(struct bench *bench)
{
    static const struct bench_spec spec = {
        .name = "devices",
        .title = "Launches on 1 to 8 devices from one thread",
        .note = "ns for a kernel on each of the devices. `multi-device` is "
                "cuLaunchCooperativeKernelMultiDevice, where each kernel waits for the "
                "earlier ones of all devices; `multi-device-free` is the same call without "
                "that; the others set the context and make a launch for each device, the "
                "last two by cudaSetDevice. `host` is what the calls take, `additional` "
                "what one more round of launches adds (formula 1, 128 less 64: the right "
                "of figure 4 of Zhang et al., 4 µs on one V100 and 184 µs on eight), "
                "`execution` is formula 2's for kernels of 5 µs (the right of figure 5, "
                "1.3 µs and 70 µs), `latency` is that of one empty kernel on each.",
        .axes = {"way", "devices"},
        .metrics = {{"host", "ns", OVERHEAD_HOST},
                    {"additional", "ns", OVERHEAD_HOST},
                    {"execution", "ns", OVERHEAD_LEVELLED},
                    {"latency", "ns", OVERHEAD_HOST}},
        .rounds = 20,
        .config_size = sizeof(struct config),
        .state_size = 1,
        .begin = devices_begin,
        .open = waive_together,
        .check = devices_check,
        .measure = devices_measure,
        .end = devices_end,
    };
    struct bench_table *const table = bench_table_add(bench, &spec);
    for (unsigned devices = 1; devices <= DEVICES; devices *= 2) {
        struct bench_point *before = NULL; /* of libpdl's: the raw call */
        for (int i = 0; i < DEVICE_WAYS; i++) {
            const struct config config = {&ways[i], devices};
            before = bench_row(table, ways[i].libpdl ? before : NULL, &config, "%s/%u",
                               ways[i].name, devices);
        }
    }
}
