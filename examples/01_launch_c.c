/* SPDX-License-Identifier: MIT */
/* A C program over the CUDA Driver API: kernels from a file, launched through one descriptor, first
 * one after the other and then overlapped.
 *
 * With --dry-run it makes the same calls and checks no results, for a driver that runs no kernels.
 */
#include <math.h>
#include <stdlib.h>

#include <pdl/pdl.h>

#include "driver_api.h"

#define N 65536u

static struct driver_api cuda;

static void check_cuda(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) {
        const char *name = "an unknown error";
        (void)cuda.cuGetErrorName(result, &name);
        fprintf(stderr, "%s: %s\n", call, name);
        exit(1);
    }
}

static void check_pdl(pdl_status status, const char *call)
{
    if (status != PDL_SUCCESS) {
        fprintf(stderr, "%s: %s: %s\n", call, pdl_status_string(status), pdl_last_error()->message);
        exit(1);
    }
}

#define CU(call)  check_cuda(cuda.call, #call)
#define PDL(call) check_pdl(call, #call)

/* y = 3 x, then z = y + 0.5. Both kernels wait before they touch memory, so both may overlap. */
static void launch_both(pdl_kernel *scale, pdl_kernel *add, CUstream stream, pdl_overlap overlap,
                        CUdeviceptr x, CUdeviceptr y, CUdeviceptr z)
{
    const float factor = 3.0f;
    const float what = 0.5f;
    const unsigned n = N;
    const pdl_launch_desc *desc =
        &PDL_LAUNCH_DESC(.grid = {N / 256}, .block = {256}, .stream = stream, .overlap = overlap);
    PDL(pdl_launch(scale, desc, PDL_ARGS(x, y, factor, n)));
    PDL(pdl_launch(add, desc, PDL_ARGS(y, z, what, n)));
}

static unsigned wrong_values(const float *x, const float *z)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < N; i++) {
        wrong += !(fabsf(z[i] - (3.0f * x[i] + 0.5f)) <= 1e-6f * fabsf(z[i]));
    }
    return wrong;
}

int main(int argc, char **argv)
{
    const int dry_run = argc > 1 && strcmp(argv[1], "--dry-run") == 0;
    static const pdl_overlap modes[] = {PDL_OVERLAP_NONE, PDL_OVERLAP_AUTO};
    static float host_x[N];
    static float host_z[N];
    int devices = 0;
    unsigned wrong = 0;

    const pdl_status status = pdl_device_count(&devices);
    if (status != PDL_SUCCESS) {
        printf("01_launch_c: skipped: %s\n", pdl_status_string(status));
        return 77;
    }
    if (driver_api_load(&cuda) != 0) {
        return 1;
    }

    CUcontext context;
    CUstream stream;
    CUdeviceptr x, y, z;
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc(&x, sizeof(host_x)));
    CU(cuMemAlloc(&y, sizeof(host_x)));
    CU(cuMemAlloc(&z, sizeof(host_z)));
    for (unsigned i = 0; i < N; i++) {
        host_x[i] = 0.25f * (float)i;
    }
    CU(cuMemcpyHtoD(x, host_x, sizeof(host_x)));

    /* A kernel from a file belongs to libpdl and needs no CUmodule. */
    pdl_kernel *scale, *add;
    PDL(pdl_kernel_from_file(PDL_EXAMPLE_IMAGE, "scale", &scale));
    PDL(pdl_kernel_from_file(PDL_EXAMPLE_IMAGE, "add", &add));

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        CU(cuMemsetD8(y, 0xff, sizeof(host_x))); /* not-a-number */
        CU(cuMemsetD8(z, 0xff, sizeof(host_z)));
        CU(cuStreamSynchronize(NULL));
        launch_both(scale, add, stream, modes[i], x, y, z);
        CU(cuStreamSynchronize(stream));
        CU(cuMemcpyDtoH(host_z, z, sizeof(host_z)));
        wrong += dry_run ? 0 : wrong_values(host_x, host_z);
    }

    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    PDL(pdl_launch_explain(add,
                           &PDL_LAUNCH_DESC(.grid = {N / 256}, .block = {256}, .stream = stream,
                                            .overlap = PDL_OVERLAP_AUTO),
                           &report));
    printf("%s\n", report.message);

    pdl_kernel_destroy(add);
    pdl_kernel_destroy(scale);
    CU(cuMemFree(z));
    CU(cuMemFree(y));
    CU(cuMemFree(x));
    CU(cuStreamDestroy(stream));
    CU(cuDevicePrimaryCtxRelease(0));
    if (dry_run) {
        printf("dry run: every call was made, results are not checked\n");
        return 0;
    }
    printf("%s: %u of %u values are right, serial and overlapped\n", wrong == 0 ? "PASS" : "FAIL",
           2 * N - wrong, 2 * N);
    return wrong == 0 ? 0 : 1;
}
