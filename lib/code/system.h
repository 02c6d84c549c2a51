/* SPDX-License-Identifier: MIT */
/* The functions that the driver supplies to kernels. None of them waits, triggers or touches the
 * program's memory. Shared by libpdl and libpdl-inspect. */
#ifndef PDL_CODE_SYSTEM_H
#define PDL_CODE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool pdl_code_is_system(const char *name, size_t length)
{
    static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail",
                                        "__nv_aligned_device_malloc"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

#endif /* PDL_CODE_SYSTEM_H */
