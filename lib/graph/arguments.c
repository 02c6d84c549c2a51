/* SPDX-License-Identifier: MIT */
/* Copies of kernel arguments. */
#include "graph/arguments.h"

#include <stdlib.h>

static size_t aligned(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

/* Room for two sets of values at these places; NULL if there is no memory. */
static struct pdl_arguments *make_room(const struct pdl_place *places, size_t count)
{
    const size_t end = count > 0 ? places[count - 1].offset + places[count - 1].size : 0;
    const size_t bytes = aligned(end); /* of one set */
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
    for (size_t i = 0; i < count; i++) {
        made->sizes[i] = places[i].size;
        made->pointers[i] = block + head + tables + places[i].offset;
        made->spare[i] = (char *)made->pointers[i] + bytes;
    }
    made->bytes = end;
    made->extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    made->extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    made->extra[3] = &made->bytes;
    made->extra[4] = CU_LAUNCH_PARAM_END;
    return made;
}

pdl_status pdl_arguments_copy(pdl_kernel *kernel, void *const *args, const size_t *sizes,
                              size_t count, struct pdl_arguments **arguments)
{
    struct pdl_place *asked = NULL;
    struct pdl_arguments *copy = NULL;
    size_t asked_count = 0;
    pdl_status status = pdl_kernel_parameters(kernel, &asked, &asked_count);
    if (status == PDL_SUCCESS && sizes != NULL) {
        status = pdl_kernel_compare_sizes(kernel, sizes, count, asked, asked_count);
    }
    if (status == PDL_SUCCESS) {
        copy = make_room(asked, asked_count);
        status = copy != NULL ? pdl_arguments_stage(copy, args)
                              : PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %zu arguments",
                                         asked_count);
    }
    free(asked);
    if (status != PDL_SUCCESS) {
        free(copy);
        return status;
    }
    pdl_arguments_commit(copy);
    *arguments = copy;
    return PDL_SUCCESS;
}

pdl_status pdl_arguments_missing(const struct pdl_arguments *arguments, size_t index)
{
    return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "args", "argument %zu of %zu is NULL", index,
                          arguments->count);
}
