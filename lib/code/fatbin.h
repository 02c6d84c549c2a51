/* SPDX-License-Identifier: MIT */
/* Walks fatbins: what nvcc and NVRTC put PTX and cubins for several architectures into. Nothing is
 * decompressed here. Shared by libpdl and libpdl-inspect.
 *
 * The format is not documented; this is what fatbins of CUDA 11 to 13 look like. A fatbin is a
 * header and a body; the body is entries, each a header and a payload:
 *
 *     header: u32 magic 0xba55ed50, u16 version 1, u16 size of the header 16, u64 size of the body
 *     entry:  u16 kind (1 PTX, 2 cubin, 8 intermediate code for link-time optimization)
 *             u16 version 0x101, u32 size of the entry's header (64 and what its strings take)
 *             u64 size of the payload, padded to 8
 *             u32 size of the payload if it is compressed, else 0; u32 place of its options
 *             u16 minor, u16 major (of PTX: its ISA), u32 architecture (sm_90: 90)
 *             u32 place of the name, u32 its length
 *             u64 flags: 0x2000 LZ4 (a block), 0x8000 Zstandard; 0x100000 sm_90a, 0x200000 sm_100f
 *             u64, u64 size when decompressed, 0 if it is not compressed
 *
 * Several fatbins may follow each other with padding between (a linker joins them so). */
#ifndef PDL_INSPECT_FATBIN_H
#define PDL_INSPECT_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PDL_FATBIN_MAGIC  0xba55ed50u
#define PDL_FATBIN_HEADER 16

enum pdl_fatbin_kind { PDL_FATBIN_PTX = 1, PDL_FATBIN_CUBIN = 2, PDL_FATBIN_LTO = 8 };

enum pdl_fatbin_compression { PDL_FATBIN_PLAIN, PDL_FATBIN_LZ4, PDL_FATBIN_ZSTD, PDL_FATBIN_OTHER };

struct pdl_fatbin {
    const unsigned char *bytes;
    size_t size;   /* of the whole memory */
    size_t at;     /* the next entry, or fatbin */
    size_t end;    /* of the body that `at` is in */
    bool damaged;  /* an entry does not fit its fatbin, or a fatbin the memory */
    uint32_t read; /* fatbins so far */
};

struct pdl_fatbin_entry {
    uint16_t kind;        /* a pdl_fatbin_kind, or another number */
    uint16_t ptx_version; /* 85 of PTX ISA 8.5; only of PTX */
    uint32_t target;      /* 90 of sm_90 */
    char suffix;          /* 'a', 'f' or NUL */
    enum pdl_fatbin_compression compression;
    const unsigned char *payload;
    size_t size;        /* of the payload, without its padding if it is compressed */
    uint64_t full_size; /* as claimed, of what it decompresses to; 0 if it is not compressed */
    const unsigned char *header; /* where the entry begins */
    size_t header_size;
    size_t padded_size; /* of the payload */
};

/* How an entry begins. */
struct pdl_fatbin_entry_header {
    uint16_t kind;
    uint16_t version;
    uint32_t header_size;
    uint64_t payload_size;
    uint32_t compressed_size;
    uint32_t options;
    uint16_t minor;
    uint16_t major;
    uint32_t target;
    uint32_t name;
    uint32_t name_size;
    uint64_t flags;
    uint64_t zero;
    uint64_t full_size;
};

_Static_assert(sizeof(struct pdl_fatbin_entry_header) == 64,
               "the header of an entry has no padding");

/* In `flags`: how the payload is compressed. */
#define PDL_FATBIN_FLAG_LZ4  0x2000u
#define PDL_FATBIN_FLAG_ZSTD 0x8000u

/* Whether a whole fatbin's header stands at the beginning of memory. */
bool pdl_fatbin_is(const unsigned char *bytes, size_t size);

/* The size of the first fatbin in memory, of whatever version; 0 if it does not lie within it. */
size_t pdl_fatbin_size(const unsigned char *bytes, size_t size);

/* Begins to walk the fatbins in memory. */
void pdl_fatbin_open(struct pdl_fatbin *fatbin, const unsigned char *bytes, size_t size);

/* The next entry; false at the end. What is damaged is skipped, and said in `damaged`. */
bool pdl_fatbin_next(struct pdl_fatbin *fatbin, struct pdl_fatbin_entry *entry);

#endif /* PDL_INSPECT_FATBIN_H */
