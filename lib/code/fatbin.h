/* SPDX-License-Identifier: MIT */
/* Walks fatbins: what nvcc and NVRTC put PTX and cubins for several architectures into. Nothing is
 * decompressed here. Shared by libpdl and libpdl-inspect.
 *
 * The format is not documented; this is what fatbins of CUDA 11 to 13.5 look like. A fatbin is a
 * header and a body; the body is entries, each a header and a payload:
 *
 *     header: u32 magic 0xba55ed50, u16 version 1, u16 size of the header 16, u64 size of the body
 *     entry:  u16 kind (1 PTX, 2 cubin, 8 intermediate code for link-time optimization, 0x40 PTX
 *             to be linked, 0x80 Tile IR, 0x100 table of images)
 *             u16 version 0x101, u32 size of the entry's header (64 and what its strings take)
 *             u64 size of the payload, padded to 8
 *             u32 size of the payload if it is compressed, else 0; u32 place of its options
 *             u16 minor, u16 major (of PTX: its ISA), u32 architecture (sm_90: 90)
 *             u32 place of the name, u32 its length
 *             u64 flags: 0x2000 LZ4 (a block), 0x8000 Zstandard; 0x100000 sm_90a, 0x200000 sm_100f
 *             u64, u64 size when decompressed, 0 if it is not compressed
 *     string: u32 place, u32 length, at the place of the options; a string ends in NULs up to a
 *             multiple of 8
 *
 * A table of images (nvcc --concat, since CUDA 13.4) is an entry whose payload is several images
 * behind each other, compressed together. Behind the entry's 64 bytes there are u32 number of
 * images, u32 size of the table with these 8 bytes, and a record per image: an entry's header, in
 * which the image's place in the decompressed payload stands for the size of the header, and its
 * strings.
 *
 * Several fatbins may follow each other with padding between (a linker joins them so). */
#ifndef PDL_INSPECT_FATBIN_H
#define PDL_INSPECT_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PDL_FATBIN_MAGIC  0xba55ed50u
#define PDL_FATBIN_HEADER 16

enum pdl_fatbin_kind {
    PDL_FATBIN_PTX = 1,
    PDL_FATBIN_CUBIN = 2,
    PDL_FATBIN_LTO = 8,
    PDL_FATBIN_LINKED_PTX = 0x40, /* told as PTX: what nvcc -reloc-ptx has a driver link */
    PDL_FATBIN_TILE = 0x80,
    PDL_FATBIN_TABLE = 0x100 /* told only where it is damaged, else its images are */
};

/* Whether what such an entry holds is known: of a kind above, and not a damaged table. */
static inline bool pdl_fatbin_kind_is_known(uint16_t kind)
{
    return kind == PDL_FATBIN_PTX || kind == PDL_FATBIN_CUBIN || kind == PDL_FATBIN_LTO ||
           kind == PDL_FATBIN_TILE;
}

enum pdl_fatbin_compression { PDL_FATBIN_PLAIN, PDL_FATBIN_LZ4, PDL_FATBIN_ZSTD, PDL_FATBIN_OTHER };

struct pdl_fatbin_entry {
    uint16_t kind;        /* a pdl_fatbin_kind, or another number */
    uint16_t ptx_version; /* 85 of PTX ISA 8.5; only of PTX */
    uint32_t target;      /* 90 of sm_90 */
    char suffix;          /* 'a', 'f' or NUL */
    enum pdl_fatbin_compression compression;
    const unsigned char *payload;
    size_t size;        /* of the payload, without its padding if it is compressed */
    uint64_t full_size; /* as claimed, of what it decompresses to; 0 if it is not compressed */
    const unsigned char *header; /* where the entry begins, or the record in a table */
    size_t header_size;
    size_t padded_size; /* of the payload; 0 in a table */
    bool in_table;
    /* The image's place in the decompressed payload, which it shares with others of its table; a
     * size of 0: it is all of it. */
    uint64_t part_at;
    uint64_t part_size;
};

struct pdl_fatbin {
    const unsigned char *bytes;
    size_t size;   /* of the whole memory */
    size_t at;     /* the next entry, or fatbin */
    size_t end;    /* of the body that `at` is in */
    bool damaged;  /* an entry does not fit its fatbin, or a fatbin the memory */
    uint32_t read; /* fatbins so far */
    /* The table that is walked: */
    uint32_t images_left;
    const unsigned char *record;
    const unsigned char *records_end;
    uint64_t parts_end; /* of the images so far */
    struct pdl_fatbin_entry table;
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

/* The next entry, or image of a table; false at the end. What is damaged is skipped, and said in
 * `damaged`; of a damaged table, what could be read comes first and then the table itself. */
bool pdl_fatbin_next(struct pdl_fatbin *fatbin, struct pdl_fatbin_entry *entry);

#endif /* PDL_INSPECT_FATBIN_H */
