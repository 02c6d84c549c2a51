/* SPDX-License-Identifier: MIT */
/* The libraries that decompress are opened when the first entry needs them, so that nothing links
 * them. What is declared here of them has not changed since their version 1.0. */
#include "code/unpack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "os/library.h"
#include "os/lock.h"

/* No block of LZ4 is larger. */
#define LZ4_LARGEST 0x7e000000u

struct zstd_in {
    const void *bytes;
    size_t size;
    size_t at;
};

struct zstd_out {
    void *bytes;
    size_t size;
    size_t at;
};

struct codecs {
    int (*lz4_decompress)(const char *in, char *out, int in_size, int out_size);
    void *(*zstd_create)(void);
    size_t (*zstd_decompress)(void *context, struct zstd_out *out, struct zstd_in *in);
    unsigned (*zstd_is_error)(size_t result);
    size_t (*zstd_free)(void *context);
};

/* What there is of them: a call that is not there is NULL. They stay open. */
static struct codecs open_codecs(void)
{
    struct codecs codecs = {.lz4_decompress = NULL};
    void *const lz4 = pdl_library_open(PDL_LIBRARY_LZ4);
    void *const zstd = pdl_library_open(PDL_LIBRARY_ZSTD);
    if (lz4 != NULL) {
        *(void **)&codecs.lz4_decompress = pdl_library_symbol(lz4, "LZ4_decompress_safe");
    }
    if (zstd != NULL) {
        *(void **)&codecs.zstd_create = pdl_library_symbol(zstd, "ZSTD_createDCtx");
        *(void **)&codecs.zstd_decompress = pdl_library_symbol(zstd, "ZSTD_decompressStream");
        *(void **)&codecs.zstd_is_error = pdl_library_symbol(zstd, "ZSTD_isError");
        *(void **)&codecs.zstd_free = pdl_library_symbol(zstd, "ZSTD_freeDCtx");
    }
    return codecs;
}

static const struct codecs *codecs_get(void)
{
    static struct pdl_first first;
    static struct codecs codecs;
    if (!pdl_first_is_done(&first)) {
        const struct codecs mine = open_codecs();
        pdl_first_publish(&first, &codecs, &mine, sizeof(mine));
    }
    return &codecs;
}

/* A block of LZ4 says nothing of its size, but cannot grow more than 255-fold. */
static enum pdl_unpack_result unpack_lz4(const struct pdl_fatbin_entry *entry, size_t max,
                                         unsigned char **bytes, size_t *size)
{
    if (entry->size > LZ4_LARGEST || entry->full_size == 0 ||
        entry->full_size > (uint64_t)entry->size * 255 + 64) {
        return PDL_UNPACK_DAMAGED;
    }
    if (entry->full_size > max || entry->full_size > INT_MAX) {
        return PDL_UNPACK_TOO_LARGE;
    }
    const struct codecs *const calls = codecs_get();
    if (calls->lz4_decompress == NULL) {
        return PDL_UNPACK_NO_LIBRARY;
    }
    const size_t full_size = (size_t)entry->full_size;
    unsigned char *made = malloc(full_size);
    if (made == NULL) {
        return PDL_UNPACK_NO_MEMORY;
    }
    *size = full_size;
    const int length = calls->lz4_decompress((const char *)entry->payload, (char *)made,
                                             (int)entry->size, (int)full_size);
    if (length < 0 || (size_t)length != full_size) {
        free(made);
        return PDL_UNPACK_DAMAGED;
    }
    *bytes = made;
    return PDL_UNPACKED;
}

static enum pdl_unpack_result unpack_zstd(const struct pdl_fatbin_entry *entry, size_t max,
                                          unsigned char **bytes, size_t *size)
{
    enum pdl_unpack_result result = PDL_UNPACK_NO_MEMORY;
    const size_t step = (size_t)1 << 16;
    unsigned char *made = NULL;
    size_t capacity = 0;
    struct zstd_in in = {.bytes = entry->payload, .size = entry->size};
    struct zstd_out out = {.size = 0};
    const struct codecs *const calls = codecs_get();
    if (calls->zstd_create == NULL || calls->zstd_decompress == NULL ||
        calls->zstd_is_error == NULL || calls->zstd_free == NULL) {
        return PDL_UNPACK_NO_LIBRARY;
    }
    void *context = calls->zstd_create();
    if (context == NULL) {
        return PDL_UNPACK_NO_MEMORY;
    }
    for (size_t left = 1; left != 0;) {
        if (out.at == out.size) {
            if (out.size == max) {
                result = PDL_UNPACK_TOO_LARGE;
                goto free;
            }
            if (!PDL_ARRAY_RESERVE(made, out.size + step, capacity)) {
                goto free;
            }
            out.bytes = made;
            out.size = capacity < max ? capacity : max;
        }
        const size_t in_before = in.at;
        const size_t out_before = out.at;
        left = calls->zstd_decompress(context, &out, &in);
        if (calls->zstd_is_error(left) ||
            (left != 0 && in.at == in_before && out.at == out_before && out.at < out.size)) {
            result = PDL_UNPACK_DAMAGED; /* or cut short */
            goto free;
        }
    }
    *bytes = made;
    made = NULL;
    result = PDL_UNPACKED;
free:
    *size = out.at;
    free(made);
    (void)calls->zstd_free(context);
    return result;
}

enum pdl_unpack_result pdl_unpack_payload(const struct pdl_fatbin_entry *entry, size_t max,
                                          unsigned char **bytes, size_t *size)
{
    *size = 0;
    switch (entry->compression) {
    case PDL_FATBIN_LZ4:
        return unpack_lz4(entry, max, bytes, size);
    case PDL_FATBIN_ZSTD:
        return unpack_zstd(entry, max, bytes, size);
    default:
        return PDL_UNPACK_UNKNOWN;
    }
}

const unsigned char *pdl_unpack_image(const struct pdl_fatbin_entry *entry,
                                      const unsigned char *payload, size_t *size)
{
    if (entry->part_size == 0) {
        return payload;
    }
    if (entry->part_at > *size || entry->part_size > *size - entry->part_at) {
        return NULL;
    }
    *size = (size_t)entry->part_size;
    return payload + entry->part_at;
}

enum pdl_unpack_result pdl_unpack(const struct pdl_fatbin_entry *entry, size_t max,
                                  unsigned char **bytes, size_t *size)
{
    unsigned char *payload = NULL;
    const enum pdl_unpack_result result = pdl_unpack_payload(entry, max, &payload, size);
    if (result != PDL_UNPACKED) {
        return result;
    }
    const unsigned char *const image = pdl_unpack_image(entry, payload, size);
    if (image == NULL) {
        free(payload);
        return PDL_UNPACK_DAMAGED;
    }
    memmove(payload, image, *size);
    *bytes = payload;
    return PDL_UNPACKED;
}
