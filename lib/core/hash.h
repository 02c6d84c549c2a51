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

/* Of a name: this hash and a polynomial. */
static inline void pdl_hash_name(const char *name, size_t length, uint64_t hash[2])
{
    uint64_t other = length;
    for (size_t i = 0; i < length; i++) {
        other = (other << 5 | other >> 59) * UINT64_C(0x9e3779b97f4a7c15) + (unsigned char)name[i];
    }
    hash[0] = pdl_hash(PDL_HASH_START, name, length);
    hash[1] = other;
}

#endif /* PDL_LIB_HASH_H */
