/* SPDX-License-Identifier: MIT */
/* Images: their kernels are read once, and the driver loads them when the first one is asked for. It is told where an
 * image begins and not how long it is, so that its length is checked here against what its headers say. */
#include "launch/image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "code/elf64.h"
#include "code/fatbin.h"
#include "core/device.h"
#include "core/error.h"
#include "core/file.h"
#include "core/gate.h"
#include "core/hash.h"
#include "os/lock.h"

enum image_kind { IMAGE_NONE, IMAGE_PTX, IMAGE_CUBIN, IMAGE_FATBIN };

/* What the code for one kind of device says. */
struct code {
    uint32_t capability; /* 90 for 9.0; 0: for all devices */
    enum pdl_why why;    /* not all of it was read */
    struct pdl_scan_table kernels;
};

struct pdl_image {
    const struct pdl_driver *driver;
    atomic_uint users; /* the caller, and each kernel */
    struct pdl_lock lock;
    CUlibrary library; /* under the lock; NULL: the driver has not loaded it */
    /* The driver's to write to for as long as the library is loaded: PTX may be compiled late, when an entry is asked
     * for or a device is first used. */
    char *log;
    enum image_kind kind;
    struct pdl_proof_image whole; /* a copy, with a NUL behind it */
    uint32_t count;
    struct code codes[]; /* at most one a device */
};

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
static pdl_status refused(const struct pdl_image *image, const char *call, CUresult result)
{
    const pdl_status status =
        pdl_error_from_cuda(image->driver, call, (int32_t)result, "to load code from an image");
    if (image->log == NULL || image->log[0] == '\0') {
        return status;
    }
    flatten(image->log);
    return pdl_error_set(status, call, "image", (int32_t)result,
                         "the image cannot be loaded: %s: %s",
                         pdl_driver_result_name(image->driver, result), image->log);
}

/* Under the lock. */
static pdl_status load(struct pdl_image *image)
{
    const bool ptx = image->kind == IMAGE_PTX;
    if (ptx && image->log == NULL) {
        image->log = calloc(1, LOG_SIZE);
        if (image->log == NULL) {
            return PDL_NO_MEMORY();
        }
    }
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {image->log, (void *)(uintptr_t)LOG_SIZE};
    const CUresult result = image->driver->cuLibraryLoadData(
        &image->library, image->whole.bytes, options, values, ptx ? 2 : 0, NULL, NULL, 0);
    if (result != CUDA_SUCCESS) {
        image->library = NULL;
        return refused(image, "cuLibraryLoadData", result);
    }
    return PDL_SUCCESS;
}

pdl_status pdl_image_find(struct pdl_image *image, const char *name, CUkernel *kernel)
{
    pdl_lock_take(&image->lock);
    pdl_status status = image->library == NULL ? load(image) : PDL_SUCCESS;
    const CUresult result = status == PDL_SUCCESS
                                ? image->driver->cuLibraryGetKernel(kernel, image->library, name)
                                : CUDA_SUCCESS;
    if (result == CUDA_ERROR_NOT_FOUND) {
        status = pdl_error_set(PDL_ERROR_NOT_FOUND, "cuLibraryGetKernel", "name", (int32_t)result,
                               "the image has no kernel named %s (C++ kernels have mangled names)",
                               name);
    } else if (result != CUDA_SUCCESS) {
        status = refused(image, "cuLibraryGetKernel", result);
    }
    pdl_lock_release(&image->lock);
    return status;
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

/* Reads the code for a kind of device. */
static enum pdl_why read_code(struct pdl_image *image, uint32_t capability,
                              struct pdl_scan_table *kernels)
{
    const unsigned char *const bytes = (const unsigned char *)image->whole.bytes;
    const char *const text = (const char *)image->whole.bytes;
    switch (image->kind) {
    case IMAGE_PTX:
        return pdl_scan_ptx_each(text, strlen(text), 0, pdl_scan_keep, kernels) ? PDL_WHY_NOTHING
                                                                                : PDL_WHY_NO_MEMORY;
    case IMAGE_CUBIN:
        return pdl_scan_cubin_each(bytes, image->whole.size, pdl_scan_keep, kernels);
    default:
        return pdl_scan_fatbin_each(bytes, image->whole.size, capability, pdl_scan_ptx_is_forced(),
                                    pdl_scan_keep, kernels);
    }
}

static const struct code *code_for(const struct pdl_image *image, uint32_t capability)
{
    for (uint32_t i = 0; i < image->count; i++) {
        if (image->codes[i].capability == capability) {
            return &image->codes[i];
        }
    }
    return NULL;
}

static pdl_status scan(struct pdl_image *image)
{
    for (int i = 0; i < image->driver->device_count; i++) {
        uint32_t capability = 0;
        if (image->kind == IMAGE_FATBIN) {
            PDL_RETURN_IF_ERROR(capability_of(image->driver, i, &capability));
        }
        if (code_for(image, capability) == NULL) {
            struct code *const code = &image->codes[image->count++];
            code->capability = capability;
            code->why = read_code(image, capability, &code->kernels);
            if (code->why == PDL_WHY_NO_MEMORY) {
                return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory to look for an image's waits");
            }
            pdl_scan_sort(&code->kernels);
        }
    }
    return PDL_SUCCESS;
}

static struct pdl_scan_answer answer_of(const struct code *code, const char *name)
{
    struct pdl_scan_answer answer = {.why = code->why};
    uint32_t count = 0;
    const struct pdl_scan_row *const rows =
        code->why == PDL_WHY_NOTHING ? pdl_scan_find(&code->kernels, name, &count) : NULL;
    if (code->why == PDL_WHY_NOTHING && count == 0) {
        answer.why = PDL_WHY_NOT_FOUND;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct pdl_scan_answer found = pdl_scan_answer_of(&rows[i]);
        answer = i == 0 ? found : pdl_scan_either(answer, found);
    }
    return answer;
}

/* What is proved of a kernel on the devices that can overlap. */
static pdl_status prove(const struct pdl_image *image, const char *name,
                        struct pdl_scan_answer *answer)
{
    bool looked = false;
    for (int i = 0; !image->driver->overlap_disabled && i < image->driver->device_count; i++) {
        uint32_t capability = 0;
        PDL_RETURN_IF_ERROR(capability_of(image->driver, i, &capability));
        if (capability >= PDL_GATE_CAPABILITY) {
            const struct pdl_proof_answer found =
                pdl_proof_of(&image->whole, name, capability, answer->waits, false);
            answer->proof = looked ? pdl_proof_both(&answer->proof, &found) : found;
            looked = true;
        }
    }
    return PDL_SUCCESS;
}

/* The kernel is one for all devices: they have to agree. Most machines have one kind. */
pdl_status pdl_image_ask(const struct pdl_image *image, const char *name,
                         struct pdl_scan_answer *answer)
{
    for (uint32_t i = 0; i < image->count; i++) {
        const struct pdl_scan_answer found = answer_of(&image->codes[i], name);
        *answer = i == 0 ? found : pdl_scan_either(*answer, found);
    }
    return prove(image, name, answer);
}

struct pdl_proof_answer pdl_image_prove(const struct pdl_image *image, const char *name,
                                        uint32_t capability)
{
    return pdl_proof_look(&image->whole, name, capability, true);
}

/* ---- life ------------------------------------------------------------------------------------ */

pdl_image *pdl_image_retain(pdl_image *image)
{
    (void)atomic_fetch_add(&image->users, 1u);
    return image;
}

void pdl_image_free(pdl_image *image)
{
    if (image == NULL || atomic_fetch_add(&image->users, 0u - 1) != 1) {
        return;
    }
    if (image->library != NULL) {
        /* Nobody could act on a failure here, and the driver keeps none of ours. */
        (void)image->driver->cuLibraryUnload(image->library);
    }
    for (uint32_t i = 0; i < image->count; i++) {
        free(image->codes[i].kernels.rows);
    }
    free((void *)(uintptr_t)image->whole.bytes);
    free(image->log);
    free(image);
}

/* The bytes, which have a NUL behind them, are the image's from now on. */
static pdl_status take(const struct pdl_driver *driver, unsigned char *bytes, size_t size,
                       pdl_image **image)
{
    const size_t devices = (size_t)driver->device_count;
    pdl_image *const made = calloc(1, sizeof(*made) + devices * sizeof(made->codes[0]));
    if (made == NULL) {
        free(bytes);
        return PDL_NO_MEMORY();
    }
    made->driver = driver;
    made->users = 1;
    made->whole = (struct pdl_proof_image){.bytes = bytes, .size = size};
    made->kind = size > 0 ? image_kind(bytes, size) : IMAGE_NONE;
    pdl_status status = PDL_SUCCESS;
    if (made->kind == IMAGE_NONE) {
        status =
            PDL_FAIL_FIELD(PDL_ERROR_INVALID_IMAGE, "image",
                           "the %zu bytes are neither PTX text nor a cubin nor a fatbin", size);
    } else if ((made->kind == IMAGE_CUBIN && !cubin_is_whole(bytes, size)) ||
               (made->kind == IMAGE_FATBIN && pdl_fatbin_size(bytes, size) == 0)) {
        status = PDL_FAIL_FIELD(PDL_ERROR_INVALID_IMAGE, "image",
                                "the %s is cut short: its headers name more than its %zu bytes",
                                made->kind == IMAGE_CUBIN ? "cubin" : "fatbin", size);
    } else {
        made->whole.hash = pdl_proof_is_on() ? pdl_hash(PDL_HASH_START, bytes, size) : 0;
        status = scan(made);
    }
    if (status != PDL_SUCCESS) {
        pdl_image_free(made);
        return status;
    }
    *image = made;
    return PDL_SUCCESS;
}

static pdl_status check(const void *from, const char *name, pdl_image *const *image,
                        const struct pdl_driver **driver)
{
    if (from == NULL || image == NULL) {
        const char *const missing = from == NULL ? name : "loaded";
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, missing, "%s is NULL", missing);
    }
    return pdl_driver_get(driver);
}

pdl_status pdl_image_load(const void *image, size_t size, pdl_image **loaded)
{
    const struct pdl_driver *driver;
    PDL_RETURN_IF_ERROR(check(image, "image", loaded, &driver));
    unsigned char *const copy = malloc(size + 1);
    if (copy == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY,
                        "no memory for a copy of the %zu bytes of an image", size);
    }
    memcpy(copy, image, size);
    copy[size] = '\0';
    return take(driver, copy, size, loaded);
}

pdl_status pdl_image_load_file(const char *path, pdl_image **loaded)
{
    const struct pdl_driver *driver;
    void *bytes = NULL;
    size_t size = 0;
    PDL_RETURN_IF_ERROR(check(path, "path", loaded, &driver));
    PDL_RETURN_IF_ERROR(pdl_file_read(path, (size_t)2 << 30, &bytes, &size));
    return take(driver, (unsigned char *)bytes, size, loaded);
}
