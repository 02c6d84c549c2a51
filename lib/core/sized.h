/* SPDX-License-Identifier: MIT */
/* Output structs that begin with the size the caller was compiled with. */
#ifndef PDL_LIB_SIZED_H
#define PDL_LIB_SIZED_H

#include <stdint.h>
#include <string.h>

#include "core/error.h"

/* Refuses NULL and a size that cannot hold the size itself. */
static inline pdl_status pdl_sized_check(const void *output, const char *name)
{
    uint32_t size = 0;
    if (output == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, name, "%s is NULL", name);
    }
    memcpy(&size, output, sizeof(size));
    if (size < sizeof(size)) {
        return PDL_FAIL_FIELD(PDL_ERROR_DESC_SIZE, "size",
                              "%s->size is %u: start from the type's initializer", name,
                              (unsigned)size);
    }
    return PDL_SUCCESS;
}

/* Copies what both sides know and zeroes what only the caller knows; the caller's size stays. */
static inline void pdl_sized_copy(void *output, const void *from, size_t known)
{
    uint32_t size = 0;
    memcpy(&size, output, sizeof(size));
    const size_t common = size < known ? size : known;
    memcpy((char *)output + sizeof(size), (const char *)from + sizeof(size), common - sizeof(size));
    memset((char *)output + common, 0, size - common);
}

#endif /* PDL_LIB_SIZED_H */
