/* SPDX-License-Identifier: MIT */
/* FNV-1a of 64 bits: for what is compared again, and nobody attacks. */
#ifndef PDL_LIB_HASH_H
#define PDL_LIB_HASH_H

#include <stddef.h>
#include <stdint.h>

/* What a hash begins with. */
#define PDL_HASH_START UINT64_C(0xcbf29ce484222325)

/* Goes on with a hash over bytes. */
static inline uint64_t pdl_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *const from = (const unsigned char *)bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ from[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

#endif /* PDL_LIB_HASH_H */
