/* SPDX-License-Identifier: MIT */
/* Kernels: where they come from, and their end. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
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

/* Keeps what the code of an image says of a kernel, and the image. */
static pdl_status keep(pdl_kernel *kernel, pdl_image *image, const struct pdl_scan_answer *answer)
{
    kernel->image = pdl_image_retain(image);
    kernel->known = pdl_known_pack(answer);
    kernel->bounds = answer->bounds;
    return pdl_kernel_keep_proof(kernel, &answer->proof)
               ? PDL_SUCCESS
               : PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for what is known of a kernel");
}

/* Reads the code that a caller says a kernel has. */
static pdl_status add_image(pdl_kernel *kernel, pdl_image *image)
{
    const char *const name = pdl_kernel_told_name(kernel);
    struct pdl_scan_answer answer = {.why = PDL_WHY_UNNAMED};
    if (name != NULL) {
        PDL_RETURN_IF_ERROR(pdl_image_ask(image, name, &answer));
    }
    if (answer.why == PDL_WHY_NOT_FOUND) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_FOUND, "image", "the image has no kernel named %s",
                              name);
    }
    kernel->target = answer.target;
    kernel->target_ptx = answer.ptx;
    return keep(kernel, image, &answer);
}

/* Gives a kernel to the caller, or destroys it. */
static pdl_status finish(pdl_status status, pdl_kernel *made, pdl_image *image, pdl_kernel **kernel)
{
    if (status == PDL_SUCCESS && image != NULL) {
        status = add_image(made, image);
    }
    if (status != PDL_SUCCESS) {
        pdl_kernel_destroy(made);
        return status;
    }
    *kernel = made;
    return PDL_SUCCESS;
}

pdl_status pdl_kernel_from_function(struct CUfunc_st *function, pdl_image *image,
                                    pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    pdl_status status = create(function, "function", PDL_KERNEL_FUNCTION, kernel, &made);
    if (status == PDL_SUCCESS) {
        made->function = function;
        status = pdl_device_of_stream(made->driver, NULL, &made->device);
    }
    return finish(status, made, image, kernel);
}

pdl_status pdl_kernel_from_kernel(struct CUkern_st *cu_kernel, pdl_image *image,
                                  pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    const pdl_status status = create(cu_kernel, "cu_kernel", PDL_KERNEL_KERNEL, kernel, &made);
    if (status == PDL_SUCCESS) {
        made->function = (CUfunction)cu_kernel;
    }
    return finish(status, made, image, kernel);
}

pdl_status pdl_image_kernel(pdl_image *image, const char *name, pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    struct pdl_scan_answer answer;
    CUkernel entry = NULL;
    if (name == NULL || name[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "name", "name is NULL or empty");
    }
    pdl_status status = create(image, "image", PDL_KERNEL_KERNEL, kernel, &made);
    if (status == PDL_SUCCESS) {
        made->name = strdup(name);
        status = made->name != NULL
                     ? pdl_image_find(image, name, &entry)
                     : PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a kernel's name");
    }
    if (status == PDL_SUCCESS) {
        made->function = (CUfunction)entry;
        status = pdl_image_ask(image, name, &answer);
    }
    if (status == PDL_SUCCESS) {
        status = keep(made, image, &answer);
    }
    return finish(status, made, NULL, kernel);
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
    pdl_image_free(kernel->image);
    free(kernel->race);
    free(kernel->name);
    free(kernel);
}
