/* SPDX-License-Identifier: MIT */
#include "common/shown.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "common/memory.h"
#include "core/hash.h"

char *shown(const char *text)
{
    enum { TAIL = 4 + 16 };
    const size_t length = strlen(text);
    if (length <= LONGEST_SHOWN) {
        return copy_text(text);
    }
    const uint64_t hash =
        pdl_hash(PDL_HASH_START + length, text + length - LONGEST_SHOWN, LONGEST_SHOWN);
    int kept = LONGEST_SHOWN - TAIL;
    while (kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80) {
        kept--; /* no character of UTF-8 is cut in two */
    }
    return format_text("%.*s...#%016" PRIx64, kept, text, hash);
}
