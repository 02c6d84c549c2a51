/* SPDX-License-Identifier: MIT */
/* Sizes as people write them. */
#ifndef PDL_LIB_SIZE_TEXT_H
#define PDL_LIB_SIZE_TEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A number of bytes from 0 to `most`, or of K, M or G (of 1024), which iB may follow: "64K", "1GiB". False,
 * and `size` stays as it is, where the text is none. */
static inline bool pdl_size_parse(const char *text, uint64_t most, uint64_t *size)
{
    static const char units[] = "KkMmGg";
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9') { /* strtoull() takes blanks and signs */
        return false;
    }
    errno = 0;
    const unsigned long long digits = strtoull(text, &end, 10);
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    const unsigned shift = unit != NULL ? 10 * ((unsigned)(unit - units) / 2 + 1) : 0;
    end += unit != NULL ? (strcmp(end + 1, "iB") == 0 ? 3 : 1) : 0;
    if (errno != 0 || *end != '\0' || digits > most >> shift) {
        return false;
    }
    *size = digits << shift;
    return true;
}

#endif /* PDL_LIB_SIZE_TEXT_H */
