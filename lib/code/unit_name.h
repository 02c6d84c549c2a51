/* SPDX-License-Identifier: MIT */
/* Names of what is static, as nvcc mangles them for separate compilation. */
#ifndef PDL_LIB_UNIT_NAME_H
#define PDL_LIB_UNIT_NAME_H

#include <stdlib.h>
#include <string.h>

/* A name without `__nv_static_N_` and the N characters behind it, which name the compilation unit, and the `_` that
 * follows: `_Z1kPf` of `__nv_static_25__e752b89b_4_a_cu_1a84dbe3__Z1kPf`. */
static inline const char *pdl_unit_skip(const char *name)
{
    static const char word[] = "__nv_static_";
    char *end = NULL;
    if (strncmp(name, word, sizeof(word) - 1) != 0) {
        return name;
    }
    const char *const digits = name + sizeof(word) - 1;
    const unsigned long length =
        digits[0] >= '0' && digits[0] <= '9' ? strtoul(digits, &end, 10) : 0;
    if (length == 0 || end[0] != '_' || length >= strlen(end + 1) || end[1 + length] != '_' ||
        end[2 + length] == '\0') {
        return name;
    }
    return end + 2 + length;
}

#endif /* PDL_LIB_UNIT_NAME_H */
