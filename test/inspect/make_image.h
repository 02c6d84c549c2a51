/* SPDX-License-Identifier: MIT */
/* Makes cubins, fatbins, ELF files and archives of them, as small as they can be. What they look like
 * is what nvcc 13.0 writes; toolkit.py has what it does write read. Everything is malloc'd, of
 * exactly its size, so that the sanitizers and valgrind see who reads past it. */
#ifndef PDL_TEST_INSPECT_MAKE_IMAGE_H
#define PDL_TEST_INSPECT_MAKE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../lib/code/elf_format.h"

struct bytes {
    unsigned char *data;
    size_t size;
};

/* Frees, and makes it empty; and frees all that there are. */
void bytes_free(struct bytes *bytes);
void bytes_free_all(void);

/* Appends to it. */
void bytes_add(struct bytes *bytes, const void *data, size_t size);

/* ---- cubins --------------------------------------------------------------------------------- */

/* What functions are made of, each an instruction. */
enum {
    OP_OTHER = 0x7918, /* reads a special register */
    OP_EXIT = 0x794d,
    OP_WAIT = 0x782e,
    OP_TRIGGER = 0x782d,
    OP_CALL = 0x7943,              /* to an absolute address */
    OP_CALL_NEAR = 0x7944,         /* to a relative one */
    OP_CALL_POINTER = 0x7343,      /* to the absolute address in a register */
    OP_CALL_POINTER_NEAR = 0x7344, /* to the relative one in a register */
    OP_RETURN = 0x7950,
    OP_BRANCH = 0x7947,
    OP_BRANCH_IF = 0x0947, /* @P0 */
    OP_BRANCH_TABLE = 0x7949,
    OP_JUMP = 0x794a,
    OP_WAIT_IF = 0x082e,
    OP_LOAD = 0x7981,
    OP_LOAD_NEVER = 0xf981, /* @!PT */
    OP_LOAD_GENERIC = 0x7980,
    OP_LOAD_SHARED = 0x7984,
    OP_STORE = 0x7986,
    OP_ATOMIC_DOUBLE = 0x79a2,
    OP_STORE_SURFACE = 0x7f9b, /* SUST.P */
    OP_DISCARD = 0x798f,       /* CCTL.RML2 */
    OP_FETCH_MAP = 0x79b9,     /* UTMACCTL.PF */
    OP_EXIT_IF = 0x094d,
    OP_STRANGE = 0x71ff, /* of no known number */
    OP_REGION = 0x7945,  /* BSSY: names where threads meet */
    OP_REGION_END = 0x7941,
    OP_TOGETHER = 0x7348 /* WARPSYNC.COLLECTIVE: also names where threads go on */
};

/* A load without coherence. */
#define OP_LOAD_CONSTANT (OP_LOAD | MADE_CONSTANT)
#define MADE_CONSTANT    (UINT64_C(1) << 63) /* not in the code: it makes the second word */

/* A branch, or a relative call, over so many instructions; -1 is itself. */
#define MADE_OVER(op, n)                                                                           \
    ((op) | ((uint64_t)(int64_t)((n)*4) & 0xff) << 16 | (uint64_t)(int64_t)((n)*4) >> 8 << 34)

/* A region that ends so many instructions behind it. */
#define MADE_REGION(n) (OP_REGION | (uint64_t)(uint32_t)((n)*16) << 32)

/* What depends on the thread: R0 = threadIdx.x, R1 = R0 + R2, P0 = R1 < R2, P0 = R2 < R2. */
#define OP_THREAD         (UINT64_C(0x0000000000007919) | MADE_SPECIAL)
#define OP_ADD            UINT64_C(0x0000000200017210)
#define OP_COMPARE_THREAD UINT64_C(0x000000020100720c)
#define OP_COMPARE_OTHER  UINT64_C(0x000000020200720c)
#define OP_COMPARE_LOST   (OP_COMPARE_THREAD | MADE_OTHER) /* PT, P0 = R1 < R2 */
#define MADE_SPECIAL      (UINT64_C(1) << 62) /* not in the code: it makes the second word */
#define MADE_OTHER        (UINT64_C(1) << 61) /* likewise */

/* A call or a return that a second predicate decides about. */
#define OP_CALL_NEAR_IF    (OP_CALL_NEAR | MADE_OTHER)
#define OP_RETURN_IF       (OP_RETURN | MADE_OTHER)
#define OP_BRANCH_DIVERGED (OP_BRANCH | UINT64_C(1) << 33) /* BRA.DIV: if threads have diverged */

#define MADE_CODE 12

struct made_function {
    const char *name;
    bool is_device;           /* not a kernel */
    const char *copy_in;      /* the kernel whose section it is a copy in, which comes before it */
    uint64_t code[MADE_CODE]; /* first words, up to a 0 */
    struct {
        uint32_t at; /* the instruction that branches */
        uint32_t count;
        uint32_t to[4]; /* bytes */
    } table;
    unsigned parameters;
    unsigned registers;
    const unsigned char *info; /* further records of .nv.info, */
    unsigned info_size;        /* so many bytes */
    unsigned shared_memory;    /* as the section says it: 1 KiB more than the kernel's on sm_90 */
};

/* A call as the call graph, or the relocations of the caller's section, tell it. A callee that is no
 * function of the cubin is an undefined one. */
struct made_call {
    const char *caller;
    const char *callee;     /* NULL: calls through a pointer */
    unsigned by_relocation; /* of the instruction of that number, from 1; 0: by the call graph */
};

/* A table of lines, without relocations but for these. */
struct made_lines {
    const struct bytes *bytes;
    struct {
        size_t at;
        const char *function;
    } relocations[4];
};

#define MADE_FUNCTIONS 8
#define MADE_CALLS     8

struct made_cubin {
    unsigned target;
    char suffix;      /* said in a note */
    bool old_layout;  /* flags as CUDA 12 has them below sm_100 */
    bool accelerated; /* said in the flags */
    bool relocatable;
    struct made_function functions[MADE_FUNCTIONS];
    struct made_call calls[MADE_CALLS];
    struct made_lines lines, ptx_lines;
    const char *strings; /* of .debug_str; one */
};

struct bytes make_cubin(const struct made_cubin *cubin);

/* A kernel with a wait and a trigger, for sm_90. */
extern const struct made_cubin plain_cubin;

/* ---- what images are in ---------------------------------------------------------------------- */

enum {
    MADE_PTX = 1,
    MADE_CUBIN = 2,
    MADE_LTO = 8,
    MADE_LINKED = 0x40,
    MADE_TILE = 0x80,
    MADE_TABLE = 0x100
};
enum { MADE_LZ4 = 0x2000, MADE_ZSTD = 0x8000, MADE_A = 0x100000, MADE_F = 0x200000 };

/* Begins a fatbin at the end of the bytes, and ends it. Returns where it begins. */
size_t fatbin_begin(struct bytes *bytes);
void fatbin_end(struct bytes *bytes, size_t begin);

/* Adds an entry. A payload that is not compressed is padded with NULs. */
void fatbin_add(struct bytes *bytes, unsigned kind, unsigned target, uint64_t flags,
                const void *payload, size_t size, uint64_t full_size);

/* An image of a table. */
struct made_image {
    unsigned kind;
    unsigned target;
    const void *bytes;
    size_t size;
    const char *name;    /* or NULL */
    const char *options; /* or NULL */
};

/* Adds a table of images, whose bytes are compressed by the flag's library, or not for 0. Returns where its
 * header begins. */
enum { TABLE_COUNT = 64, TABLE_SIZE = 68, TABLE_RECORDS = 72 };
size_t fatbin_add_table(struct bytes *bytes, uint64_t flag, const struct made_image *images,
                        unsigned count);

/* A fatbin with one entry. */
struct bytes make_fatbin(unsigned kind, unsigned target, const void *payload, size_t size);

/* An ELF file of the host with sections of these names and contents; without section headers, and
 * what is in them loaded as segments, if they are stripped. */
struct made_section {
    const char *name;
    const struct bytes *contents;
    unsigned skew; /* how far its address is from one that 16 divides */
};
struct bytes make_elf(unsigned type, const struct made_section *sections, unsigned count,
                      bool stripped);

/* Begins an archive, and adds a member. */
struct bytes make_archive(void);
void archive_add(struct bytes *archive, const char *name, const struct bytes *contents);

#endif /* PDL_TEST_INSPECT_MAKE_IMAGE_H */
