/* SPDX-License-Identifier: MIT */
/* The device that is measured, raw: the Driver API by name, embedded kernels, and time. */
#ifndef PDL_TOOLS_BENCH_GPU_H
#define PDL_TOOLS_BENCH_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>
#include <pdl/pdl.h>

#include "bench/kernels/overhead.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of libcuda.so.1 that the suites call, as `cu.cuMemAlloc(...)`: cuda.h's macros turn the
 * name into that of the version whose prototype it declares, here as there. */
/* clang-format off */
#define GPU_DRIVER_FUNCTIONS(entry)                                                               \
    entry(cuCtxGetLimit) entry(cuCtxSetCurrent) entry(cuCtxSetLimit) entry(cuCtxSynchronize)      \
    entry(cuDeviceGet) entry(cuDeviceGetAttribute) entry(cuDeviceGetCount)                         \
    entry(cuDevicePrimaryCtxRelease) entry(cuDevicePrimaryCtxRetain) entry(cuDeviceTotalMem)      \
    entry(cuEventCreate) entry(cuEventDestroy) entry(cuEventElapsedTime) entry(cuEventRecord)     \
    entry(cuFuncSetAttribute) entry(cuGetErrorName) entry(cuGraphAddNode_v2)                      \
    entry(cuGraphCreate) entry(cuGraphDestroy) entry(cuGraphExecDestroy)                          \
    entry(cuGraphExecKernelNodeSetParams) entry(cuGraphExecUpdate) entry(cuGraphGetEdges_v2)      \
    entry(cuGraphInstantiate) entry(cuGraphLaunch) entry(cuGraphUpload) entry(cuInit)             \
    entry(cuKernelGetFunction) entry(cuLaunchCooperativeKernelMultiDevice)                        \
    entry(cuLaunchKernelEx) entry(cuLibraryGetKernel) entry(cuLibraryLoadData)                    \
    entry(cuLibraryUnload) entry(cuMemAlloc) entry(cuMemFree) entry(cuMemFreeHost)                \
    entry(cuMemGetInfo) entry(cuMemHostAlloc) entry(cuMemHostGetDevicePointer)                    \
    entry(cuMemcpyDtoH) entry(cuMemcpyHtoD) entry(cuMemsetD8Async) entry(cuModuleGetFunction)     \
    entry(cuModuleLoadData) entry(cuModuleUnload)                                                 \
    entry(cuOccupancyMaxActiveBlocksPerMultiprocessor) entry(cuStreamBeginCapture)                \
    entry(cuStreamCreate) entry(cuStreamDestroy) entry(cuStreamEndCapture)                        \
    entry(cuStreamSynchronize)
/* clang-format on */

#pragma GCC diagnostic push
/* the cooperative launch on several devices */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct gpu_driver {
#define GPU_DRIVER_ENTRY(name) __typeof__(&name) name;
    GPU_DRIVER_FUNCTIONS(GPU_DRIVER_ENTRY)
#undef GPU_DRIVER_ENTRY
};
#pragma GCC diagnostic pop
extern struct gpu_driver cu;

/* The device in use: its primary context is current, which the Runtime uses too. */
struct gpu {
    int ordinal, count; /* of how many */
    CUdevice device;
    CUcontext context;
    CUstream stream; /* does not wait for the default stream */
    char name[256];
    int driver_version;
    int major, minor; /* compute capability */
    int multiprocessors;
    int clock_khz, memory_clock_khz;                 /* the highest */
    int shared_per_multiprocessor, shared_per_block; /* by opting in */
    size_t memory, l2;                               /* bytes */
    unsigned long long timer_step;                   /* of %globaltimer, ns */
};
extern struct gpu gpu;

/* Opens a device. False with one line in `why` if there is no driver, no such device, or none of compute
 * capability 9.0 or newer. */
bool gpu_open(int ordinal, char *why, size_t why_size);
void gpu_close(void);

/* For calls that must succeed: what fails ends the run, and what was measured so far is written. */
#define MUST(call)     gpu_must((call), #call, __FILE__, __LINE__)
#define MUST_PDL(call) gpu_must_pdl((call), #call, __FILE__, __LINE__)
void gpu_must(CUresult result, const char *call, const char *file, int line);
void gpu_must_pdl(pdl_status status, const char *call, const char *file, int line);
const char *gpu_error_name(CUresult result);

/* ---- kernels and memory ---------------------------------------------------------------------- */

/* The images that are embedded: kernels/NAME.cu. From `begin`, aligned to 16 bytes; NULL in a program that was
 * built without nvcc. */
enum gpu_image {
    IMAGE_COMMON,
    IMAGE_OVERHEAD,
    IMAGE_OVERLAP,
    IMAGE_DEVICE,
    IMAGES,
};
struct gpu_image_bytes {
    const unsigned char *begin, *end;
};
extern const struct gpu_image_bytes gpu_images[IMAGES];

/* A kernel of an image, which is loaded on first use and stays until gpu_close(). Both are of the same
 * code; neither is the caller's to free. */
CUfunction gpu_function(enum gpu_image image, const char *name);
pdl_kernel *gpu_kernel(CUfunction function);

/* Zeroed. */
CUdeviceptr gpu_alloc(size_t bytes);
void gpu_free(CUdeviceptr memory);
/* All of these wait for the device before and after. */
void gpu_fill(CUdeviceptr to, int byte, size_t bytes);
void gpu_write(CUdeviceptr to, const void *from, size_t bytes);
void gpu_read(void *to, CUdeviceptr from, size_t bytes);
void gpu_wait(void);

struct gpu_launch {
    CUfunction function;
    unsigned grid, block, shared_bytes;
    void **args;                 /* one pointer a parameter, or NULL */
    enum overhead_kernel symbol; /* the same kernel for the Runtime: of the suite overhead only */
};
/* One block of one thread. */
static inline struct gpu_launch gpu_single(CUfunction function, void **args)
{
    const struct gpu_launch launch = {function, 1, 1, 0, args, OVERHEAD_NULL_0};
    return launch;
}
/* What cuLaunchKernelEx() takes for it; `attribute` must outlive it. At most one of the two is wanted. */
CUlaunchConfig gpu_config(const struct gpu_launch *launch, CUstream stream, bool overlap,
                          bool cooperative, CUlaunchAttribute *attribute);
/* A launch through cuLaunchKernelEx, with the PDL attribute if wanted. */
void gpu_launch(const struct gpu_launch *launch, CUstream stream, bool overlap);

/* ---- time ------------------------------------------------------------------------------------- */

/* CLOCK_MONOTONIC, ns. */
double host_ns(void);

struct gpu_times {
    double host_ns;   /* that the calls of `work` took */
    double device_us; /* from before the first of its kernels to after the last */
};

/* Queues `work` in gpu.stream behind a gate and opens it when all is queued: the device never waits for
 * the host. At most gpu_queue_limit launches; every kernel must have been run before. */
struct gpu_times gpu_time(void (*work)(void *context), void *context);
enum { gpu_queue_limit = 512 };

struct gpu_lapse {
    double calls_ns; /* that the calls of `work` took */
    double total_ns; /* from the first call until the host knows that gpu.stream is empty */
};

/* By the host's clock; nothing is queued before. */
struct gpu_lapse gpu_wall(void (*work)(void *context), void *context);

/* The clock that an SM runs at under a light load, in MHz, by the timer. */
double gpu_sm_clock_mhz(void);

#ifdef __cplusplus
}
#endif

#endif /* PDL_TOOLS_BENCH_GPU_H */
