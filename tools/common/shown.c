/* SPDX-License-Identifier: MIT */
#include "common/shown.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "common/memory.h"

char *shown(const char *text)
{
    enum { TAIL = 4 + 16 };
    const size_t length = strlen(text);
    if (length <= LONGEST_SHOWN) {
        return copy_text(text);
    }
    uint64_t hash = UINT64_C(0xcbf29ce484222325) + length; /* FNV-1a */
    for (const char *at = text + length - LONGEST_SHOWN; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    int kept = LONGEST_SHOWN - TAIL;
    while (kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80) {
        kept--; /* no character of UTF-8 is cut in two */
    }
    return format_text("%.*s...#%016" PRIx64, kept, text, hash);
}
