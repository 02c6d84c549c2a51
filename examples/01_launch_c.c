/* SPDX-License-Identifier: MIT */
/* A C program over the CUDA Driver API: kernels from a file, launched through one descriptor, first
 * one after the other and then overlapped. Compile the kernels with
 * `nvcc -fatbin -arch=sm_90 01_launch_c_kernels.cu`, and this with `cc 01_launch_c.c -lpdl -ldl`.
 *
 * With --dry-run it makes the same calls and checks no results, for a driver that runs no kernels.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/pdl.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#define OPEN_CUDA()   LoadLibraryExA("nvcuda.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32)
#define LOOK_UP(name) ((void *)(size_t)GetProcAddress(library, (name)))
typedef HMODULE cuda_library;
#else
#include <dlfcn.h>
#define OPEN_CUDA()   dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)
#define LOOK_UP(name) dlsym(library, (name))
typedef void *cuda_library;
#endif

#ifndef PDL_EXAMPLE_IMAGE
#define PDL_EXAMPLE_IMAGE "01_launch_c_kernels.fatbin"
#endif
#define N 65536u

/* The driver's functions that the program calls itself. They are looked up when it runs, because a
 * program that links libcuda does not start on a machine without a driver. */
static struct {
    __typeof__(&cuInit) init;
    __typeof__(&cuDevicePrimaryCtxRetain) retain;
    __typeof__(&cuCtxSetCurrent) set_current;
    __typeof__(&cuStreamSynchronize) synchronize;
    __typeof__(&cuMemAlloc) allocate;
    __typeof__(&cuMemcpyHtoD) to_device;
    __typeof__(&cuMemcpyDtoH) to_host;
} cuda;

static void look_up(cuda_library library, const char *name, void *function)
{
    void *address = LOOK_UP(name);
    if (address == NULL) {
        fprintf(stderr, "the CUDA driver has no %s\n", name);
        exit(1);
    }
    memcpy(function, &address, sizeof(address));
}

static void check_cuda(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", call, (int)result);
        exit(1);
    }
}

static void check_pdl(pdl_status status, const char *call)
{
    if (status != PDL_SUCCESS) {
        fprintf(stderr, "%s: %s: %s\n", call, pdl_status_name(status), pdl_last_error()->message);
        exit(1);
    }
}

#define CU(call)  check_cuda(cuda.call, #call)
#define PDL(call) check_pdl(call, #call)

int main(int argc, char **argv)
{
    const int dry_run = argc > 1 && strcmp(argv[1], "--dry-run") == 0;
    static const pdl_overlap modes[] = {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO};
    static float host_x[N], host_z[N];
    const float factor = 3.0f, what = 0.5f;
    const unsigned n = N;
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    unsigned wrong = 0;

    if (pdl_device_get(0, &device) != PDL_SUCCESS) {
        printf("01_launch_c: skipped: %s\n", pdl_last_error()->message);
        return 77;
    }
    const cuda_library library = OPEN_CUDA();
    look_up(library, "cuInit", &cuda.init);
    look_up(library, "cuDevicePrimaryCtxRetain", &cuda.retain);
    look_up(library, "cuCtxSetCurrent", &cuda.set_current);
    look_up(library, "cuStreamSynchronize", &cuda.synchronize);
    look_up(library, "cuMemAlloc_v2", &cuda.allocate); /* cuda.h names the newest version so */
    look_up(library, "cuMemcpyHtoD_v2", &cuda.to_device);
    look_up(library, "cuMemcpyDtoH_v2", &cuda.to_host);

    CUcontext context;
    CUdeviceptr x, y, z;
    CU(init(0));
    CU(retain(&context, 0));
    CU(set_current(context));
    CU(allocate(&x, sizeof(host_x)));
    CU(allocate(&y, sizeof(host_x)));
    CU(allocate(&z, sizeof(host_z)));
    for (unsigned i = 0; i < N; i++) {
        host_x[i] = 0.25f * (float)i;
    }
    CU(to_device(x, host_x, sizeof(host_x)));

    /* Kernels from a file belong to libpdl and need no CUmodule. They keep the image. */
    pdl_image *image;
    pdl_kernel *scale, *add;
    PDL(pdl_image_load_file(PDL_EXAMPLE_IMAGE, &image));
    PDL(pdl_image_kernel(image, "scale", &scale));
    PDL(pdl_image_kernel(image, "add", &add));
    pdl_image_free(image);

    /* y = 3 x, then z = y + 0.5. Both kernels wait before they touch memory, so both may overlap. */
    pdl_launch_desc desc = PDL_LAUNCH_DESC(.grid = {N / 256}, .block = {256});
    for (size_t mode = 0; mode < sizeof(modes) / sizeof(modes[0]); mode++) {
        desc.overlap = modes[mode];
        memset(host_z, 0xff, sizeof(host_z)); /* not-a-number */
        CU(to_device(y, host_z, sizeof(host_z)));
        CU(to_device(z, host_z, sizeof(host_z)));
        PDL(pdl_launch(scale, &desc, PDL_ARGS(x, y, factor, n)));
        PDL(pdl_launch(add, &desc, PDL_ARGS(y, z, what, n)));
        CU(synchronize(NULL));
        CU(to_host(host_z, z, sizeof(host_z)));
        for (unsigned i = 0; i < N; i++) {
            wrong += host_z[i] != factor * host_x[i] + what;
        }
    }

    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    PDL(pdl_launch_explain(add, &desc, &report));
    printf("%s\n", report.message);
    pdl_kernel_destroy(add);
    pdl_kernel_destroy(scale); /* the end of the process frees memory and context */
    if (dry_run) {
        printf("dry run: every call was made, results are not checked\n");
        return 0;
    }
    printf("%s: %u of %u values are right, serial and overlapped\n", wrong == 0 ? "PASS" : "FAIL",
           2 * N - wrong, 2 * N);
    return wrong == 0 ? 0 : 1;
}
