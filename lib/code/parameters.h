/* SPDX-License-Identifier: MIT */
/* The sizes of a kernel's parameters, as its image lists them: for drivers that do not report them. */
#ifndef PDL_CODE_PARAMETERS_H
#define PDL_CODE_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdl_parameters {
    bool known; /* the image lists them */
    uint32_t count;
    size_t capacity;
    uint32_t *sizes; /* bytes; the owner frees it */
};

/* Reads them from PTX text, a cubin or a fatbin. They stay unknown where the image cannot be read, as
 * compressed ones cannot, and where the entries of a fatbin differ. False: no memory. */
bool pdl_parameters_read(struct pdl_parameters *parameters, const void *image, size_t size,
                         const char *name);

#endif /* PDL_CODE_PARAMETERS_H */
