/* SPDX-License-Identifier: MIT */
/* Copies of kernel arguments. */
#include "graph/arguments.h"

#include <stdlib.h>

#include "core/array.h"

/* Asks for the sizes of all parameters. The caller frees *sizes. */
static pdl_status ask_sizes(const pdl_kernel *kernel, size_t **sizes, size_t *count)
{
    size_t *asked = NULL;
    size_t room = 0;
    size_t known = 0;
    CUfunction handle;
    const pdl_status status = pdl_kernel_handle(kernel, &handle);
    if (status != PDL_SUCCESS) {
        return status;
    }
    for (;;) {
        if (!PDL_ARRAY_ROOM(asked, known, room)) {
            free(asked);
            return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %zu parameter sizes",
                            known + 1);
        }
        const CUresult result = pdl_kernel_parameter_size(kernel, handle, known, &asked[known]);
        if (result == CUDA_ERROR_INVALID_VALUE) { /* past the last one */
            *sizes = asked;
            *count = known;
            return PDL_SUCCESS;
        }
        if (result != CUDA_SUCCESS) {
            free(asked);
            return pdl_kernel_parameters_failed(kernel, result);
        }
        known++;
    }
}

/* Compares what the caller gave with the kernel's parameters. */
static pdl_status compare_sizes(const pdl_kernel *kernel, const size_t *given, size_t given_count,
                                const size_t *asked, size_t asked_count)
{
    if (given_count != asked_count) {
        return PDL_FAIL_FIELD(PDL_ERROR_ARGUMENT_SIZE, "sizes",
                              "%zu argument sizes are given and kernel %s has %zu parameters",
                              given_count, pdl_kernel_name(kernel), asked_count);
    }
    for (size_t i = 0; i < given_count; i++) {
        if (given[i] != asked[i]) {
            return PDL_FAIL_FIELD(PDL_ERROR_ARGUMENT_SIZE, "sizes",
                                  "argument %zu has %zu bytes and kernel %s takes %zu", i, given[i],
                                  pdl_kernel_name(kernel), asked[i]);
        }
    }
    return PDL_SUCCESS;
}

static size_t aligned(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

/* Room for two sets of values of these sizes; NULL if there is no memory. */
static struct pdl_arguments *make_room(const size_t *sizes, size_t count)
{
    size_t bytes = 0; /* of one set */
    for (size_t i = 0; i < count; i++) {
        bytes += aligned(sizes[i]);
    }
    const size_t head = aligned(sizeof(struct pdl_arguments));
    const size_t tables = aligned(count * (2 * sizeof(void *) + sizeof(size_t)));
    struct pdl_arguments *made = calloc(1, head + tables + 2 * bytes);
    if (made == NULL) {
        return NULL;
    }
    char *const block = (char *)made;
    made->count = count;
    made->pointers = (void **)(block + head);
    made->spare = made->pointers + count;
    made->sizes = (size_t *)(made->spare + count);
    size_t at = head + tables;
    for (size_t i = 0; i < count; i++) {
        made->sizes[i] = sizes[i];
        made->pointers[i] = block + at;
        made->spare[i] = block + at + bytes;
        at += aligned(sizes[i]);
    }
    return made;
}

pdl_status pdl_arguments_copy(pdl_kernel *kernel, void *const *args, const size_t *sizes,
                              size_t count, struct pdl_arguments **arguments)
{
    size_t *asked = NULL;
    struct pdl_arguments *copy = NULL;
    pdl_status status = PDL_SUCCESS;
    size_t asked_count = 0;
    if (!pdl_kernel_has_parameter_sizes(kernel)) {
        /* The driver reads as much as the kernel takes, whatever the caller says. */
        return PDL_FAIL(
            PDL_ERROR_NOT_SUPPORTED,
            "the parameters of kernel %s are not known: the driver (%d.%d) reports them "
            "from 12.4 on, and before that they are read from an image that "
            "pdl_kernel_from_image() or pdl_kernel_from_file() loads, if it is not "
            "compressed",
            pdl_kernel_name(kernel), kernel->driver->version / 1000,
            kernel->driver->version % 1000 / 10);
    }
    status = ask_sizes(kernel, &asked, &asked_count);
    if (status == PDL_SUCCESS && sizes != NULL) {
        status = compare_sizes(kernel, sizes, count, asked, asked_count);
    }
    if (status != PDL_SUCCESS) {
        goto done;
    }
    copy = make_room(asked, asked_count);
    if (copy == NULL) {
        status = PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %zu arguments", asked_count);
        goto done;
    }
    status = pdl_arguments_stage(copy, args);
    if (status != PDL_SUCCESS) {
        free(copy);
        goto done;
    }
    pdl_arguments_commit(copy);
    *arguments = copy;

done:
    free(asked);
    return status;
}

pdl_status pdl_arguments_missing(const struct pdl_arguments *arguments, size_t index)
{
    return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "args", "argument %zu of %zu is NULL", index,
                          arguments->count);
}
