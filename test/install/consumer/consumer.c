/* SPDX-License-Identifier: MIT */
/* Takes the name of the status that the driver's loading must come to. C99, C++11, and CUDA. */
#include <stdio.h>
#include <string.h>

#ifdef __CUDACC__
#include <pdl/cudart.h>
#include <pdl/device.cuh>

__global__ void kernel(int *out)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    *out = 1;
}

/* Without a driver the typed launch fails as everything else does. With one it is only linked. */
static pdl_status launch(void)
{
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    if (pdl_device_get(0, &device) == PDL_SUCCESS) {
        return PDL_SUCCESS;
    }
    int *nowhere = NULL;
    return pdl_launch_kernel(pdl_launch_desc_make(1, 1), kernel, nowhere);
}
#else
#include <pdl/pdl.h>

static pdl_status launch(void)
{
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    return pdl_device_get(0, &device);
}
#endif

int main(int argc, char **argv)
{
    const pdl_status status = launch();
    const char *name = pdl_status_name(status);
    printf("%s: %s\n", name, status == PDL_SUCCESS ? "ok" : pdl_last_error()->message);
    if (pdl_version() != PDL_VERSION) {
        printf("library %u, headers %u\n", (unsigned)pdl_version(), (unsigned)PDL_VERSION);
        return 1;
    }
    return argc == 2 && strcmp(argv[1], name) == 0 ? 0 : 1;
}
