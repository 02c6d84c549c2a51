/* SPDX-License-Identifier: MIT */
/* Decompresses what is stored compressed in fatbins, by libzstd or liblz4 where they are installed. */
#ifndef PDL_LIB_UNPACK_H
#define PDL_LIB_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "code/fatbin.h"

enum pdl_unpack_result {
    PDL_UNPACKED,
    PDL_UNPACK_NO_LIBRARY, /* libzstd or liblz4 cannot be opened */
    PDL_UNPACK_UNKNOWN,    /* no known compression */
    PDL_UNPACK_DAMAGED,
    PDL_UNPACK_TOO_LARGE, /* it would be more than `max` bytes */
    PDL_UNPACK_NO_MEMORY
};

/* Decompresses an entry's image into memory of its own, which the caller frees. What the entry
 * claims about the size is not relied on: no more memory is taken than the data fill. `size` says how much
 * was decompressed, also where that was for nothing. Of a table's image, `max` counts what is before it
 * too. */
enum pdl_unpack_result pdl_unpack(const struct pdl_fatbin_entry *entry, size_t max,
                                  unsigned char **bytes, size_t *size);

/* The same for the whole payload, which a table's images share. */
enum pdl_unpack_result pdl_unpack_payload(const struct pdl_fatbin_entry *entry, size_t max,
                                          unsigned char **bytes, size_t *size);

/* Where an entry's image is in its decompressed payload; NULL if that is too short. */
const unsigned char *pdl_unpack_image(const struct pdl_fatbin_entry *entry,
                                      const unsigned char *payload, size_t *size);

#endif /* PDL_LIB_UNPACK_H */
