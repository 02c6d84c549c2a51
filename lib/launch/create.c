/* SPDX-License-Identifier: MIT */
/* Kernels: where they come from, and their end. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "launch/kernel.h"

/* Checks what every creation is given, and makes a kernel without code. */
static pdl_status create(const void *source, const char *name, enum pdl_kernel_kind kind,
                         pdl_kernel *const *kernel, pdl_kernel **created)
{
    const struct pdl_scan_answer nothing = {.why = PDL_WHY_NO_IMAGE};
    const struct pdl_driver *driver;
    if (source == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, name, "%s is NULL", name);
    }
    if (kernel == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "kernel",
                              "kernel, where the result goes, is NULL");
    }
    const pdl_status status = pdl_driver_get(&driver);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const size_t devices = (size_t)driver->device_count;
    pdl_kernel *made = calloc(1, sizeof(*made) + devices * sizeof(made->facts[0]));
    if (made == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a kernel object");
    }
    made->driver = driver;
    made->kind = kind;
    made->device = devices == 1 ? 0 : -1;
    made->attribute_version = driver->version;
    made->known = pdl_known_pack(&nothing);
    pdl_policy_start();
    *created = made;
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_from_function(struct CUfunc_st *function, pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    pdl_status status = create(function, "function", PDL_KERNEL_FUNCTION, kernel, &made);
    if (status == PDL_SUCCESS) {
        status = pdl_device_of_stream(made->driver, NULL, &made->device);
    }
    if (status != PDL_SUCCESS) {
        pdl_kernel_destroy(made);
        return status;
    }
    made->function = function;
    *kernel = made;
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_from_kernel(struct CUkern_st *cu_kernel, pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    const pdl_status status = create(cu_kernel, "cu_kernel", PDL_KERNEL_KERNEL, kernel, &made);
    if (status == PDL_SUCCESS) {
        made->function = (CUfunction)cu_kernel;
        *kernel = made;
    }
    return status;
}

pdl_status pdl_kernel_from_runtime(const void *symbol, const pdl_runtime_ops *ops,
                                   pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    if (ops == NULL || ops->size < offsetof(pdl_runtime_ops, default_stream) ||
        ops->launch == NULL || ops->get_function == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "ops", "ops is NULL or not complete");
    }
    const pdl_status status = create(symbol, "symbol", PDL_KERNEL_SYMBOL, kernel, &made);
    if (status != PDL_SUCCESS) {
        return status;
    }
    made->symbol = symbol;
    made->ops = ops;
    if (ops->runtime_version < made->attribute_version) {
        made->attribute_version = ops->runtime_version;
    }
    *kernel = made;
    return PDL_SUCCESS;
}

/* Keeps what the code of an image says. */
static pdl_status keep_answer(pdl_kernel *kernel, const struct pdl_scan_answer *answer)
{
    kernel->known = pdl_known_pack(answer);
    kernel->bounds = answer->bounds;
    kernel->hash = answer->proof.hash;
    kernel->size = answer->proof.size;
    return pdl_kernel_keep_proof(kernel, &answer->proof)
               ? PDL_SUCCESS
               : PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for what is known of a kernel");
}

pdl_status pdl_kernel_from_image(const void *image, size_t size, const char *name,
                                 pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    struct pdl_scan_answer answer;
    CUkernel entry = NULL;
    if (name == NULL || name[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "name", "name is NULL or empty");
    }
    pdl_status status = create(image, "image", PDL_KERNEL_KERNEL, kernel, &made);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const struct pdl_driver *const driver = made->driver;
    made->name = strdup(name);
    if (made->name == NULL) {
        status = PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a kernel's name");
        goto destroy;
    }
    status = pdl_image_load(driver, image, size, &made->image);
    if (status == PDL_SUCCESS) {
        status = pdl_image_find(driver, &made->image, name, &entry);
    }
    if (status != PDL_SUCCESS) {
        goto destroy;
    }
    made->function = (CUfunction)entry;
    status = pdl_image_scan(driver, image, size, name, &answer);
    if (status != PDL_SUCCESS) {
        goto destroy;
    }
    status = keep_answer(made, &answer);
    if (status != PDL_SUCCESS) {
        goto destroy;
    }
    *kernel = made;
    return PDL_SUCCESS;

destroy:
    pdl_kernel_destroy(made);
    return status;
}

/* Reads the code that a caller says a kernel has. */
static pdl_status add_image(pdl_kernel *kernel, const void *image, size_t size)
{
    const char *const name = pdl_kernel_told_name(kernel);
    struct pdl_scan_answer answer = {.why = PDL_WHY_UNNAMED};
    if (image == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "image", "image is NULL");
    }
    if (name != NULL) {
        const pdl_status status = pdl_image_scan(kernel->driver, image, size, name, &answer);
        if (status != PDL_SUCCESS) {
            return status;
        }
    }
    if (answer.why == PDL_WHY_NOT_FOUND) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_FOUND, "image", "the image has no kernel named %s",
                              name);
    }
    kernel->target = answer.target;
    kernel->target_ptx = answer.ptx;
    return keep_answer(kernel, &answer);
}

static pdl_status with_image(pdl_status status, pdl_kernel *made, const void *image, size_t size,
                             pdl_kernel **kernel)
{
    if (status == PDL_SUCCESS) {
        status = add_image(made, image, size);
    }
    if (status != PDL_SUCCESS) {
        pdl_kernel_destroy(made);
        return status;
    }
    *kernel = made;
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_from_function_image(struct CUfunc_st *function, const void *image,
                                          size_t size, pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    const pdl_status status = pdl_kernel_from_function(function, kernel != NULL ? &made : NULL);
    return with_image(status, made, image, size, kernel);
}

pdl_status pdl_kernel_from_kernel_image(struct CUkern_st *cu_kernel, const void *image, size_t size,
                                        pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    const pdl_status status = pdl_kernel_from_kernel(cu_kernel, kernel != NULL ? &made : NULL);
    return with_image(status, made, image, size, kernel);
}

pdl_status pdl_kernel_from_file(const char *path, const char *name, pdl_kernel **kernel)
{
    void *image = NULL;
    size_t size = 0;
    if (path == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "path", "path is NULL");
    }
    pdl_status status = pdl_file_read(path, (size_t)2 << 30, &image, &size);
    if (status == PDL_SUCCESS) {
        status = pdl_kernel_from_image(image, size, name, kernel);
        free(image);
    }
    return status;
}

void pdl_kernel_destroy(pdl_kernel *kernel)
{
    if (kernel == NULL) {
        return;
    }
    for (int i = 0; i < kernel->driver->device_count; i++) {
        struct pdl_kernel_facts *facts =
            atomic_load_explicit(&kernel->facts[i], memory_order_relaxed);
        if (facts != NULL) {
            pdl_neighbour_forget(&facts->neighbour);
            free(facts->name);
        }
        free(facts);
    }
    for (struct pdl_bound *bound = kernel->bound, *next; bound != NULL; bound = next) {
        next = bound->next;
        free(bound);
    }
    pdl_image_unload(kernel->driver, &kernel->image);
    free(kernel->race);
    free(kernel->name);
    free(kernel);
}
