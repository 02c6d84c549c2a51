/* SPDX-License-Identifier: MIT */
/* The device in use: opening it, its kernels, its memory, and time. */
#include "bench/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "common/memory.h"
#include "common/optional.h"

struct gpu_driver cu;
struct gpu gpu;

/* Each is defined by what pdl_embed() makes of kernels/NAME.cu, where there is nvcc. */
#define EMBEDDED(name)                                                                             \
    TOOL_OPTIONAL extern const unsigned char pdl_bench_##name[];                                   \
    TOOL_OPTIONAL extern const unsigned char pdl_bench_##name##_end[];
EMBEDDED(common)
EMBEDDED(overhead)
EMBEDDED(overlap)
EMBEDDED(device)

#define BYTES(name)                                                                                \
    {                                                                                              \
        pdl_bench_##name, pdl_bench_##name##_end                                                   \
    }
const struct gpu_image_bytes gpu_images[IMAGES] = {
    [IMAGE_COMMON] = BYTES(common),
    [IMAGE_OVERHEAD] = BYTES(overhead),
    [IMAGE_OVERLAP] = BYTES(overlap),
    [IMAGE_DEVICE] = BYTES(device),
};

/* What was loaded from an image, and the kernels that were made of it. */
struct loaded {
    char *name;
    enum gpu_image image;
    CUfunction function;
    pdl_kernel *kernel; /* NULL until it is asked for */
};
static struct {
    struct loaded *items;
    size_t count, capacity;
} kernels;
static CUlibrary libraries[IMAGES];

const char *gpu_error_name(CUresult result)
{
    const char *name = NULL;
    if (cu.cuGetErrorName == NULL || cu.cuGetErrorName(result, &name) != CUDA_SUCCESS) {
        return "an unknown error";
    }
    return name;
}

void gpu_must(CUresult result, const char *call, const char *file, int line)
{
    if (result != CUDA_SUCCESS) {
        const char *base = strrchr(file, '/');
        bench_abort("%s:%d: %s: %s", base != NULL ? base + 1 : file, line, call,
                    gpu_error_name(result));
    }
}

void gpu_must_pdl(pdl_status status, const char *call, const char *file, int line)
{
    if (status != PDL_SUCCESS) {
        const char *base = strrchr(file, '/');
        bench_abort("%s:%d: %s: %s", base != NULL ? base + 1 : file, line, call,
                    pdl_last_error()->message);
    }
}

/* Finds every function; returns the name of one that is not there, or NULL. */
static const char *find_functions(void *library)
{
#define EXPANDED(name) #name
#define NAME(name)     EXPANDED(name)
#define FIND(name)                                                                                 \
    *(void **)&cu.name = dlsym(library, NAME(name));                                               \
    if (cu.name == NULL) {                                                                         \
        return NAME(name);                                                                         \
    }
    GPU_DRIVER_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

static int attribute(CUdevice_attribute which)
{
    int value = 0;
    MUST(cu.cuDeviceGetAttribute(&value, which, gpu.device));
    return value;
}

CUfunction gpu_function(enum gpu_image image, const char *name)
{
    struct loaded new_one = {.image = image};
    CUkernel kernel = NULL;
    for (size_t i = 0; i < kernels.count; i++) {
        if (kernels.items[i].image == image && strcmp(kernels.items[i].name, name) == 0) {
            return kernels.items[i].function;
        }
    }
    if (libraries[image] == NULL) {
        MUST(cu.cuLibraryLoadData(&libraries[image], gpu_images[image].begin, NULL, NULL, 0, NULL,
                                  NULL, 0));
    }
    const CUresult found = cu.cuLibraryGetKernel(&kernel, libraries[image], name);
    if (found != CUDA_SUCCESS) {
        bench_abort("the kernel %s: %s", name, gpu_error_name(found));
    }
    MUST(cu.cuKernelGetFunction(&new_one.function, kernel));
    new_one.name = copy_text(name);
    APPEND(&kernels, new_one);
    return new_one.function;
}

pdl_kernel *gpu_kernel(CUfunction function)
{
    size_t i = 0;
    while (i < kernels.count && kernels.items[i].function != function) {
        i++;
    }
    if (i == kernels.count) {
        bench_abort("a function that gpu_function() did not return");
    }
    if (kernels.items[i].kernel == NULL) {
        MUST_PDL(pdl_kernel_from_function(function, NULL, &kernels.items[i].kernel));
        /* They wait, or show what comes of it if one does not. */
        MUST_PDL(pdl_kernel_declare(kernels.items[i].kernel, PDL_YES, PDL_UNKNOWN));
    }
    return kernels.items[i].kernel;
}

void gpu_wait(void)
{
    MUST(cu.cuCtxSynchronize());
}

CUdeviceptr gpu_alloc(size_t bytes)
{
    CUdeviceptr memory = 0;
    MUST(cu.cuMemAlloc(&memory, bytes));
    gpu_fill(memory, 0, bytes);
    return memory;
}

void gpu_free(CUdeviceptr memory)
{
    if (memory != 0) {
        MUST(cu.cuMemFree(memory));
    }
}

void gpu_fill(CUdeviceptr to, int byte, size_t bytes)
{
    gpu_wait();
    /* Not in the default stream: once a second stream has run some hundred kernels, launches take longer. */
    MUST(cu.cuMemsetD8Async(to, (unsigned char)byte, bytes, gpu.stream));
    gpu_wait();
}

void gpu_write(CUdeviceptr to, const void *from, size_t bytes)
{
    gpu_wait();
    MUST(cu.cuMemcpyHtoD(to, from, bytes));
    gpu_wait();
}

void gpu_read(void *to, CUdeviceptr from, size_t bytes)
{
    gpu_wait();
    MUST(cu.cuMemcpyDtoH(to, from, bytes));
}

CUlaunchConfig gpu_config(const struct gpu_launch *launch, CUstream stream, bool overlap,
                          bool cooperative, CUlaunchAttribute *attribute)
{
    memset(attribute, 0, sizeof(*attribute));
    if (overlap) {
        attribute->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attribute->value.programmaticStreamSerializationAllowed = 1;
    } else if (cooperative) {
        attribute->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute->value.cooperative = 1;
    }
    return (CUlaunchConfig){
        .gridDimX = launch->grid,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = launch->block,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = launch->shared_bytes,
        .hStream = stream,
        .attrs = overlap || cooperative ? attribute : NULL,
        .numAttrs = overlap || cooperative ? 1 : 0,
    };
}

void gpu_launch(const struct gpu_launch *launch, CUstream stream, bool overlap)
{
    CUlaunchAttribute programmatic;
    const CUlaunchConfig config = gpu_config(launch, stream, overlap, false, &programmatic);
    MUST(cu.cuLaunchKernelEx(&config, launch->function, launch->args, NULL));
}

/* ---- time ------------------------------------------------------------------------------------- */

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
    const struct gpu_launch launch = gpu_single(gpu_function(IMAGE_COMMON, "timer_step"), args);
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
    const struct gpu_launch launch = gpu_single(gpu_function(IMAGE_COMMON, "sm_clock"), args);
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

static void open_time(void)
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

static void close_time(void)
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
    const struct gpu_launch launch = gpu_single(gpu_function(IMAGE_COMMON, "gate"), args);
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

struct gpu_lapse gpu_wall(void (*work)(void *context), void *context)
{
    struct gpu_lapse lapse;
    MUST(cu.cuStreamSynchronize(gpu.stream));
    const double begin = host_ns();
    work(context);
    lapse.calls_ns = host_ns() - begin;
    MUST(cu.cuStreamSynchronize(gpu.stream));
    lapse.total_ns = host_ns() - begin;
    return lapse;
}

/* ---- opening ---------------------------------------------------------------------------------- */

bool gpu_open(int ordinal, char *why, size_t why_size)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    /* libpdl's own message for each of: no driver, a stub, too old, no device, no such device. */
    if (pdl_device_get(ordinal, &info) != PDL_SUCCESS) {
        (void)snprintf(why, why_size, "%s; 'pdltool sim' needs no device",
                       pdl_last_error()->message);
        return false;
    }
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    const char *const missing = library == NULL ? "libcuda.so.1" : find_functions(library);
    if (missing != NULL) {
        (void)snprintf(why, why_size,
                       "the driver has no %s: it is older than the CUDA toolkit "
                       "that pdltool was built with",
                       missing);
        return false;
    }
    if (info.compute_capability_major < 9) {
        (void)snprintf(why, why_size,
                       "device %d, %s, has compute capability %d.%d; measuring needs 9.0 or newer",
                       ordinal, info.name, info.compute_capability_major,
                       info.compute_capability_minor);
        return false;
    }
    if (gpu_images[IMAGE_COMMON].begin == NULL) {
        (void)snprintf(why, why_size, "pdltool was built without nvcc and has no kernels to run");
        return false;
    }
    gpu.ordinal = ordinal;
    gpu.major = info.compute_capability_major;
    gpu.minor = info.compute_capability_minor;
    gpu.multiprocessors = info.multiprocessor_count;
    gpu.driver_version = info.driver_version;
    gpu.shared_per_multiprocessor = info.shared_memory_per_multiprocessor;
    gpu.shared_per_block = info.shared_memory_per_block_optin;
    gpu.l2 = (size_t)info.l2_cache_size;
    (void)snprintf(gpu.name, sizeof(gpu.name), "%s", info.name);
    MUST(cu.cuInit(0));
    MUST(cu.cuDeviceGetCount(&gpu.count));
    MUST(cu.cuDeviceGet(&gpu.device, ordinal));
    MUST(cu.cuDeviceTotalMem(&gpu.memory, gpu.device));
    gpu.clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    gpu.memory_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    MUST(cu.cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
    MUST(cu.cuCtxSetCurrent(gpu.context));
    MUST(cu.cuStreamCreate(&gpu.stream, CU_STREAM_NON_BLOCKING));
    open_time();
    return true;
}

void gpu_close(void)
{
    if (gpu.context == NULL) {
        return;
    }
    gpu_wait();
    close_time();
    for (size_t i = 0; i < kernels.count; i++) {
        pdl_kernel_destroy(kernels.items[i].kernel);
        free(kernels.items[i].name);
    }
    free(kernels.items);
    memset(&kernels, 0, sizeof(kernels));
    for (int i = 0; i < IMAGES; i++) {
        if (libraries[i] != NULL) {
            MUST(cu.cuLibraryUnload(libraries[i]));
            libraries[i] = NULL;
        }
    }
    MUST(cu.cuStreamDestroy(gpu.stream));
    MUST(cu.cuDevicePrimaryCtxRelease(gpu.device));
    gpu.context = NULL;
}
