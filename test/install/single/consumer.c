/* SPDX-License-Identifier: MIT */
/* A program that has libpdl from its two files: launches kernels that must overlap, in a stream and in a chain, on
 * the fake driver, and looks for the attribute and the edge in the driver's log. C99, C++11 and newer; no header of
 * CUDA. With ALONE there is no second source. */
#include "pdl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C"
#endif
    const char *
    other_message(void);

static const char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                            ".visible .entry fc1() { griddepcontrol.wait; ret; }\n";

static void fail(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, pdl_last_error()->message);
    exit(1);
}

static void check(pdl_status status, const char *what)
{
    if (status != PDL_SUCCESS) {
        fail(what);
    }
}

static void make_context(void)
{
    int (*retain)(void **, int);
    int (*set)(void *);
    void *context = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        fail("no fake driver");
    }
    void *symbol = dlsym(driver, "cuDevicePrimaryCtxRetain");
    memcpy(&retain, &symbol, sizeof(retain));
    symbol = dlsym(driver, "cuCtxSetCurrent");
    memcpy(&set, &symbol, sizeof(set));
    if (retain(&context, 0) != 0 || set(context) != 0) {
        fail("no context");
    }
}

/* Whether the log has a line with both. */
static int logged(const char *call, const char *detail)
{
    char line[2048];
    int found = 0;
    const char *const path = getenv("PDL_FAKE_LOG");
    FILE *log = path != NULL ? fopen(path, "r") : NULL;
    if (log == NULL) {
        fail("no log");
    }
    while (fgets(line, (int)sizeof(line), log) != NULL) {
        found |= strncmp(line, call, strlen(call)) == 0 && strstr(line, detail) != NULL;
    }
    (void)fclose(log);
    return found;
}

int main(void)
{
    pdl_kernel *kernel = NULL;
    pdl_chain *chain = NULL;
    pdl_launch_desc desc;
    pdl_device_info device = PDL_DEVICE_INFO_INIT;
    pdl_image *loaded = NULL;
    check(pdl_device_get(0, &device), "pdl_device_get"); /* loads the driver */
    make_context();
    check(pdl_image_load(image, sizeof(image), &loaded), "pdl_image_load");
    check(pdl_image_kernel(loaded, "fc1", &kernel), "pdl_image_kernel");
    pdl_image_free(loaded);
    pdl_launch_desc_init(&desc);
    desc.grid[0] = 132;
    desc.block[0] = 256;
    desc.overlap = PDL_OVERLAP_REQUIRE;
    check(pdl_launch(kernel, &desc, NULL), "pdl_launch");
    if (!logged("cuLaunchKernelEx f=fc1 grid=132,1,1", "[PROGRAMMATIC_STREAM_SERIALIZATION=1]")) {
        fail("the launch reached the driver without the attribute");
    }
    check(pdl_chain_create(NULL, &chain), "pdl_chain_create");
    for (int i = 0; i < 2; i++) {
        check(pdl_chain_add(chain, kernel, &desc, NULL, NULL, 0, NULL), "pdl_chain_add");
    }
    check(pdl_chain_build(chain), "pdl_chain_build");
    if (!logged("cuGraphAddNode", "after=[0 programmatic]")) {
        fail("the chain has no programmatic edge");
    }
    pdl_chain_destroy(chain);

    desc.block[0] = 1025;
    if (pdl_launch(kernel, &desc, NULL) != PDL_ERROR_INVALID_BLOCK ||
        strstr(pdl_last_error()->message, "1025") == NULL) {
        fail("a block of 1025 threads");
    }
#ifndef ALONE
    if (other_message() != (const char *)pdl_last_error()->message) {
        fail("another source has another libpdl");
    }
#endif
    pdl_kernel_destroy(kernel);
    return pdl_version() == PDL_VERSION ? 0 : 1;
}
