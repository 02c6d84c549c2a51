/* SPDX-License-Identifier: MIT */
#include "inspect/unpack.h"

#include <stdlib.h>

#include "core/array.h"

#ifdef PDL_HAVE_LZ4
#include <limits.h>
#include <lz4.h>
#endif
#ifdef PDL_HAVE_ZSTD
#include <zstd.h>
#endif

#ifdef PDL_HAVE_LZ4
/* A block of LZ4 says nothing of its size, but cannot grow more than 255-fold. */
static enum pdl_unpack_result unpack_lz4(const struct pdl_fatbin_entry *entry, size_t max,
                                         unsigned char **bytes, size_t *size)
{
    if (entry->size > LZ4_MAX_INPUT_SIZE || entry->full_size == 0 ||
        entry->full_size > (uint64_t)entry->size * 255 + 64) {
        return PDL_UNPACK_DAMAGED;
    }
    if (entry->full_size > max || entry->full_size > INT_MAX) {
        return PDL_UNPACK_TOO_LARGE;
    }
    const size_t full_size = (size_t)entry->full_size;
    unsigned char *made = malloc(full_size);
    if (made == NULL) {
        return PDL_UNPACK_NO_MEMORY;
    }
    *size = full_size;
    const int length = LZ4_decompress_safe((const char *)entry->payload, (char *)made,
                                           (int)entry->size, (int)full_size);
    if (length < 0 || (size_t)length != full_size) {
        free(made);
        return PDL_UNPACK_DAMAGED;
    }
    *bytes = made;
    return PDL_UNPACKED;
}
#endif

#ifdef PDL_HAVE_ZSTD
static enum pdl_unpack_result unpack_zstd(const struct pdl_fatbin_entry *entry, size_t max,
                                          unsigned char **bytes, size_t *size)
{
    enum pdl_unpack_result result = PDL_UNPACK_NO_MEMORY;
    const size_t step = (size_t)1 << 16;
    unsigned char *made = NULL;
    size_t capacity = 0;
    ZSTD_inBuffer in = {.src = entry->payload, .size = entry->size, .pos = 0};
    ZSTD_outBuffer out = {.dst = NULL, .size = 0, .pos = 0};
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (context == NULL) {
        return PDL_UNPACK_NO_MEMORY;
    }
    for (size_t left = 1; left != 0;) {
        if (out.pos == out.size) {
            if (out.size == max) {
                result = PDL_UNPACK_TOO_LARGE;
                goto free;
            }
            if (!PDL_ARRAY_RESERVE(made, out.size + step, capacity)) {
                goto free;
            }
            out.dst = made;
            out.size = capacity < max ? capacity : max;
        }
        const size_t in_before = in.pos;
        const size_t out_before = out.pos;
        left = ZSTD_decompressStream(context, &out, &in);
        if (ZSTD_isError(left) ||
            (left != 0 && in.pos == in_before && out.pos == out_before && out.pos < out.size)) {
            result = PDL_UNPACK_DAMAGED; /* or cut short */
            goto free;
        }
    }
    *bytes = made;
    made = NULL;
    result = PDL_UNPACKED;
free:
    *size = out.pos;
    free(made);
    (void)ZSTD_freeDCtx(context);
    return result;
}
#endif

enum pdl_unpack_result pdl_unpack(const struct pdl_fatbin_entry *entry, size_t max,
                                  unsigned char **bytes, size_t *size)
{
    (void)max;
    (void)bytes;
    *size = 0;
    switch (entry->compression) {
    case PDL_FATBIN_LZ4:
#ifdef PDL_HAVE_LZ4
        return unpack_lz4(entry, max, bytes, size);
#else
        return PDL_UNPACK_NOT_BUILT;
#endif
    case PDL_FATBIN_ZSTD:
#ifdef PDL_HAVE_ZSTD
        return unpack_zstd(entry, max, bytes, size);
#else
        return PDL_UNPACK_NOT_BUILT;
#endif
    default:
        return PDL_UNPACK_UNKNOWN;
    }
}
