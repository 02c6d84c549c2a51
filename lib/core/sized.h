/* SPDX-License-Identifier: MIT */
/* Structs that begin with the size that the caller was compiled with, so that they may grow. */
#ifndef PDL_LIB_SIZED_H
#define PDL_LIB_SIZED_H

#include <stdint.h>
#include <string.h>

#include "core/error.h"

enum { PDL_SIZED_MAX = 16384 }; /* more is no size but a field that nobody has set */

/* Refuses NULL, and a size outside of `smallest` to PDL_SIZED_MAX. */
static inline pdl_status pdl_sized_within(const void *given, size_t smallest, const char *name)
{
    uint32_t size = 0;
    if (given == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, name, "%s is NULL", name);
    }
    memcpy(&size, given, sizeof(size));
    if (size < smallest || size > PDL_SIZED_MAX) {
        return PDL_FAIL_FIELD(PDL_ERROR_DESC_SIZE, "size",
                              "%s->size is %u, which is not in %zu to %d: make it with its type's "
                              "initializer, such as PDL_LAUNCH_DESC()",
                              name, (unsigned)size, smallest, PDL_SIZED_MAX);
    }
    return PDL_SUCCESS;
}

/* For outputs, before anything is written: a size that was never set would have the library write
 * behind the struct. */
static inline pdl_status pdl_sized_check(const void *output, const char *name)
{
    return pdl_sized_within(output, sizeof(uint32_t), name);
}

/* For outputs: copies what both sides know and zeroes what only the caller knows; the caller's size
 * stays. */
static inline void pdl_sized_copy(void *output, const void *from, size_t known)
{
    uint32_t size = 0;
    memcpy(&size, output, sizeof(size));
    const size_t common = size < known ? size : known;
    memcpy((char *)output + sizeof(size), (const char *)from + sizeof(size), common - sizeof(size));
    memset((char *)output + common, 0, size - common);
}

/* For inputs: makes `copy` (of `known` bytes) of what the caller gave, which is at least `smallest`
 * bytes. What is missing is zero, and what this library does not know must be. */
static inline pdl_status pdl_sized_resize(void *copy, size_t known, const void *given,
                                          size_t smallest, const char *name)
{
    const unsigned char *bytes = given;
    uint32_t size = 0;
    const pdl_status status = pdl_sized_within(given, smallest, name);
    if (status != PDL_SUCCESS) {
        return status;
    }
    memcpy(&size, given, sizeof(size));
    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0) {
            return PDL_FAIL_FIELD(
                PDL_ERROR_DESC_TOO_NEW, "size",
                "%s has %u bytes, this library (%d.%d.%d) knows %zu, and byte %zu "
                "is set",
                name, (unsigned)size, PDL_VERSION_MAJOR, PDL_VERSION_MINOR, PDL_VERSION_PATCH,
                known, i);
        }
    }
    memset(copy, 0, known);
    memcpy(copy, given, size < known ? size : known);
    return PDL_SUCCESS;
}

#endif /* PDL_LIB_SIZED_H */
