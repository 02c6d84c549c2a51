/* SPDX-License-Identifier: MIT */
#include "inspect/inspection.h"

#include <string.h>

/* More is not a size but a field that was never set. */
#define SIZE_MAX_GIVEN 16384u

void pdl_given_resize(void *copy, size_t known, const void *options, size_t smallest,
                      const char *initializer)
{
    uint32_t size = 0;
    memset(copy, 0, known);
    if (options == NULL) {
        return;
    }
    memcpy(&size, options, sizeof(size));
    if (size < smallest || size > SIZE_MAX_GIVEN) {
        pdl_fail(PDL_ERROR_DESC_SIZE, 0, 0, "options->size is %u: start from %s", (unsigned)size,
                 initializer);
    }
    for (size_t i = known; i < size; i++) {
        if (((const unsigned char *)options)[i] != 0) {
            pdl_fail(PDL_ERROR_DESC_TOO_NEW, 0, 0,
                     "options->size is %u, and byte %zu is set: this library "
                     "knows %zu",
                     (unsigned)size, i, known);
        }
    }
    memcpy(copy, options, size < known ? size : known);
}

void pdl_given_check_list(const char *const *list, uint64_t count, const char *name)
{
    if (count > 0 && list == NULL) {
        pdl_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "%s is NULL", name);
    }
    for (uint64_t i = 0; i < count; i++) {
        if (list[i] == NULL) {
            pdl_fail(PDL_ERROR_INVALID_ARGUMENT, 0, 0, "%s[%llu] is NULL", name,
                     (unsigned long long)i);
        }
    }
}
