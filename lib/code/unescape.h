/* SPDX-License-Identifier: MIT */
/* Names in quotation marks, as PTX and git write them. */
#ifndef PDL_LIB_UNESCAPE_H
#define PDL_LIB_UNESCAPE_H

#include <stddef.h>
#include <string.h>

/* Replaces the escapes of C, `\303` or `\"`, by what they stand for; returns the new length. `to` may be `from`. What
 * is not an escape stays as it is, and a byte of 0 is left out. */
static inline size_t pdl_unescape(char *to, const char *from, size_t length)
{
    static const char letters[] = "abtnvfr\"\\";
    static const char meant[] = "\a\b\t\n\v\f\r\"\\";
    size_t made = 0;
    for (size_t i = 0; i < length;) {
        const char *letter = NULL;
        unsigned value = 0;
        size_t digits = 0;
        if (from[i] != '\\') {
            to[made++] = from[i++];
            continue;
        }
        i++;
        if (i < length) {
            letter = (const char *)memchr(letters, from[i], sizeof(letters) - 1);
        }
        if (letter != NULL) {
            to[made++] = meant[letter - letters];
            i++;
            continue;
        }
        for (; digits < 3 && i < length && from[i] >= '0' && from[i] <= '7'; digits++) {
            value = value * 8 + (unsigned)(from[i++] - '0');
        }
        if (digits == 0) {
            to[made++] = '\\';
        } else if ((value & 0xff) != 0) {
            to[made++] = (char)value;
        }
    }
    return made;
}

#endif /* PDL_LIB_UNESCAPE_H */
