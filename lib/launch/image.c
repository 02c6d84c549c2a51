/* SPDX-License-Identifier: MIT */
/* Loading kernel images. The driver is told where an image begins and not how long it is, so that
 * its length is checked here against what its headers say. */
#include "launch/image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "code/elf64.h"
#include "code/fatbin.h"
#include "core/device.h"
#include "core/error.h"
#include "core/gate.h"

enum image_kind { IMAGE_NONE, IMAGE_PTX, IMAGE_CUBIN, IMAGE_FATBIN };

static bool cubin_is_whole(const unsigned char *image, size_t size)
{
    struct pdl_elf elf;
    return pdl_elf_open(&elf, image, size) && pdl_elf_is_whole(&elf);
}

static enum image_kind image_kind(const unsigned char *image, size_t size)
{
    uint32_t magic = 0;
    if (size >= sizeof(magic)) {
        memcpy(&magic, image, sizeof(magic));
    }
    if (magic == PDL_FATBIN_MAGIC) {
        return IMAGE_FATBIN;
    }
    if (pdl_elf_is(image, size)) {
        return IMAGE_CUBIN;
    }
    /* PTX is text and must hold a .version directive; a NUL may only end it. */
    const unsigned char *nul = memchr(image, '\0', size);
    const size_t length = nul != NULL ? (size_t)(nul - image) : size;
    static const char directive[] = ".version";
    for (size_t i = 0; i + sizeof(directive) - 1 <= length; i++) {
        if (memcmp(image + i, directive, sizeof(directive) - 1) == 0) {
            return IMAGE_PTX;
        }
    }
    return IMAGE_NONE;
}

PDL_COLD static pdl_status not_an_image(size_t size)
{
    return PDL_FAIL_FIELD(PDL_ERROR_INVALID_IMAGE, "image",
                          "the %zu bytes are neither PTX text nor a cubin nor a fatbin", size);
}

/* ---- loading -------------------------------------------------------------------------------- */

#define LOG_SIZE 1024

/* What the compiler of PTX said, on one line. */
static void flatten(char *log)
{
    log[LOG_SIZE - 1] = '\0';
    for (char *at = log; *at != '\0'; at++) {
        if (*at == '\n') {
            *at = ' ';
        }
    }
}

/* A failure of the driver to load code, with the compiler's log if there is one. */
static pdl_status refused(const struct pdl_driver *driver, const struct pdl_image *image,
                          const char *call, CUresult result)
{
    const pdl_status status =
        pdl_error_from_cuda(driver, call, (int32_t)result, "to load code from an image");
    if (image->log == NULL || image->log[0] == '\0') {
        return status;
    }
    flatten(image->log);
    return pdl_error_set(status, call, "image", (int32_t)result,
                         "the image cannot be loaded: %s: %s",
                         pdl_driver_result_name(driver, result), image->log);
}

static pdl_status load(const struct pdl_driver *driver, const void *code, struct pdl_image *image)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {image->log, (void *)(uintptr_t)LOG_SIZE};
    const unsigned count = image->log != NULL ? 2 : 0;
    const CUresult result =
        driver->cuLibraryLoadData(&image->library, code, options, values, count, NULL, NULL, 0);
    if (result != CUDA_SUCCESS) {
        image->library = NULL;
        return refused(driver, image, "cuLibraryLoadData", result);
    }
    return PDL_SUCCESS;
}

static pdl_status load_ptx(const struct pdl_driver *driver, const void *text, size_t size,
                           struct pdl_image *image)
{
    char *copy = malloc(size + 1); /* the driver wants a NUL at the end */
    image->log = calloc(1, LOG_SIZE);
    if (copy == NULL || image->log == NULL) {
        free(copy);
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a copy of %zu bytes of PTX", size);
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    const pdl_status status = load(driver, copy, image);
    free(copy);
    return status;
}

pdl_status pdl_image_load(const struct pdl_driver *driver, const void *image, size_t size,
                          struct pdl_image *loaded)
{
    const unsigned char *bytes = image;
    const enum image_kind kind = size > 0 ? image_kind(bytes, size) : IMAGE_NONE;
    struct pdl_image made = {0};
    if (kind == IMAGE_NONE) {
        return not_an_image(size);
    }
    if ((kind == IMAGE_CUBIN && !cubin_is_whole(bytes, size)) ||
        (kind == IMAGE_FATBIN && pdl_fatbin_size(bytes, size) == 0)) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_IMAGE, "image",
                              "the %s is cut short: its headers name more than its %zu bytes",
                              kind == IMAGE_CUBIN ? "cubin" : "fatbin", size);
    }
    const pdl_status status =
        kind == IMAGE_PTX ? load_ptx(driver, image, size, &made) : load(driver, image, &made);
    if (status != PDL_SUCCESS) {
        pdl_image_unload(driver, &made);
        return status;
    }
    *loaded = made;
    return PDL_SUCCESS;
}

/* ---- what the code does --------------------------------------------------------------------- */

/* The compute capability of a device, 90 for 9.0. */
static pdl_status capability_of(const struct pdl_driver *driver, int ordinal, uint32_t *capability)
{
    const pdl_device_info *info = NULL;
    const pdl_status status = pdl_device_facts(driver, ordinal, &info);
    if (status == PDL_SUCCESS) {
        *capability =
            (uint32_t)(10 * info->compute_capability_major + info->compute_capability_minor);
    }
    return status;
}

/* The kernel is one for all devices: they have to agree. Most machines have one kind. */
static pdl_status scan_fatbin(const struct pdl_driver *driver, const unsigned char *bytes,
                              size_t size, const char *name, struct pdl_scan_answer *answer)
{
    uint32_t last = 0;
    for (int i = 0; i < driver->device_count; i++) {
        uint32_t capability = 0;
        const pdl_status status = capability_of(driver, i, &capability);
        if (status != PDL_SUCCESS) {
            return status;
        }
        if (i == 0 || capability != last) {
            const struct pdl_scan_answer found = pdl_scan_fatbin(bytes, size, name, capability);
            *answer = i == 0 ? found : pdl_scan_either(*answer, found);
        }
        last = capability;
    }
    return PDL_SUCCESS;
}

/* The same of what is proved of it, on the devices that can overlap. */
static pdl_status prove(const struct pdl_driver *driver, const void *image, size_t size,
                        const char *name, struct pdl_scan_answer *answer)
{
    bool looked = false;
    for (int i = 0; !driver->overlap_disabled && i < driver->device_count; i++) {
        uint32_t capability = 0;
        const pdl_status status = capability_of(driver, i, &capability);
        if (status != PDL_SUCCESS) {
            return status;
        }
        if (capability >= PDL_GATE_CAPABILITY) {
            const struct pdl_proof_answer found =
                pdl_proof_of(image, size, 0, name, capability, answer->waits, false);
            answer->proof = looked ? pdl_proof_both(&answer->proof, &found) : found;
            looked = true;
        }
    }
    return PDL_SUCCESS;
}

pdl_status pdl_image_scan(const struct pdl_driver *driver, const void *image, size_t size,
                          const char *name, struct pdl_scan_answer *answer)
{
    pdl_status status = PDL_SUCCESS;
    const unsigned char *bytes = image;
    const char *text = image;
    const char *nul;
    switch (size > 0 ? image_kind(bytes, size) : IMAGE_NONE) {
    case IMAGE_PTX:
        nul = memchr(text, '\0', size);
        *answer = pdl_scan_ptx(text, nul != NULL ? (size_t)(nul - text) : size, name);
        break;
    case IMAGE_CUBIN:
        *answer = pdl_scan_cubin_kernel(bytes, size, name);
        break;
    case IMAGE_FATBIN:
        status = scan_fatbin(driver, bytes, size, name, answer);
        break;
    case IMAGE_NONE:
        return not_an_image(size);
    }
    if (status == PDL_SUCCESS && answer->why == PDL_WHY_NO_MEMORY) {
        status =
            PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to look for the waits of kernel %s", name);
    }
    return status == PDL_SUCCESS ? prove(driver, image, size, name, answer) : status;
}

void pdl_image_unload(const struct pdl_driver *driver, struct pdl_image *image)
{
    if (image->library != NULL) {
        /* Nobody could act on a failure here, and the driver keeps none of ours. */
        (void)driver->cuLibraryUnload(image->library);
    }
    free(image->log);
}

pdl_status pdl_image_find(const struct pdl_driver *driver, const struct pdl_image *image,
                          const char *name, CUkernel *kernel)
{
    const CUresult result = driver->cuLibraryGetKernel(kernel, image->library, name);
    if (result == CUDA_SUCCESS) {
        return PDL_SUCCESS;
    }
    if (result == CUDA_ERROR_NOT_FOUND) {
        return pdl_error_set(PDL_ERROR_NOT_FOUND, "cuLibraryGetKernel", "name", (int32_t)result,
                             "the image has no kernel named %s (C++ kernels have mangled names)",
                             name);
    }
    return refused(driver, image, "cuLibraryGetKernel", result);
}
