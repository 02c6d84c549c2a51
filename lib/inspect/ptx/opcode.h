/* SPDX-License-Identifier: MIT */
/* What an instruction does, by its opcode: to control, to memory, to the values of registers. */
#ifndef PDL_INSPECT_OPCODE_H
#define PDL_INSPECT_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum pdl_op {
    PDL_OP_OTHER, /* also every instruction that is not understood */
    /* control */
    PDL_OP_BRANCH,       /* bra */
    PDL_OP_BRANCH_TABLE, /* brx.idx */
    PDL_OP_CALL,
    PDL_OP_RETURN,
    PDL_OP_EXIT,
    PDL_OP_TRAP,
    /* synchronization */
    PDL_OP_WAIT,            /* griddepcontrol.wait */
    PDL_OP_TRIGGER,         /* griddepcontrol.launch_dependents */
    PDL_OP_BARRIER_BLOCK,   /* bar.sync and its like */
    PDL_OP_BARRIER_ARRIVE,  /* bar.arrive: it does not wait */
    PDL_OP_CLUSTER_ARRIVE,  /* barrier.cluster.arrive */
    PDL_OP_BARRIER_CLUSTER, /* barrier.cluster.wait */
    PDL_OP_BARRIER_WARP,    /* bar.warp.sync */
    PDL_OP_BARRIER_MEMORY,  /* mbarrier.try_wait, test_wait */
    PDL_OP_MBARRIER_INIT,
    PDL_OP_MBARRIER_ARRIVE, /* mbarrier.arrive, expect_tx and its like; tcgen05.commit */
    /* memory */
    PDL_OP_LOAD,
    PDL_OP_STORE,
    PDL_OP_ATOMIC,
    PDL_OP_COPY,    /* cp.async and its like: one operand to another */
    PDL_OP_TEXTURE, /* through a texture or surface object */
    /* values */
    PDL_OP_CARRY, /* the result is of the operands: mov, add, selp … */
    PDL_OP_SCALE, /* the result is a number made of them: mul, shl, setp … */
    PDL_OP_CVTA,  /* an address to or from generic */
    PDL_OP_LANE   /* differs between the lanes of a warp: vote, elect, shfl … */
};

enum pdl_space {
    PDL_SPACE_GENERIC,
    PDL_SPACE_GLOBAL,
    PDL_SPACE_SHARED,
    PDL_SPACE_LOCAL,
    PDL_SPACE_PARAM,
    PDL_SPACE_CONST,
    PDL_SPACE_TENSOR /* tensor memory */
};

struct pdl_opcode {
    uint8_t op;
    uint8_t space;     /* of a load, store or atomic; of a cvta */
    bool reads;        /* global or generic memory, at the operand in slot `read_slot` */
    bool writes;       /* the same, at `write_slot` */
    bool non_coherent; /* the read */
    bool no_result;    /* its first operand is none */
    bool relaxed;      /* an arrival or a wait that orders nothing */
    bool completes;    /* transactions on an mbarrier, the last address of its operands */
    bool unknown;      /* not understood: an address among its operands counts as an access */
    uint8_t read_slot; /* operands are counted by commas outside of brackets */
    uint8_t write_slot;
};

/* Classes an opcode with all its suffixes. */
struct pdl_opcode pdl_opcode_class(const char *text, size_t length);

#define PDL_PARTS_MAX 24

/* An opcode as its parts: "ld", "global", "nc", "f32". A part keeps its "::". */
struct pdl_parts {
    const char *text[PDL_PARTS_MAX];
    uint8_t length[PDL_PARTS_MAX];
    unsigned count;
};

void pdl_parts_split(struct pdl_parts *parts, const char *text, size_t length);

static inline bool pdl_part_is(const struct pdl_parts *parts, unsigned i, const char *word)
{
    /* Most differ in the first letter. */
    return i < parts->count && parts->length[i] > 0 && parts->text[i][0] == word[0] &&
           parts->length[i] == strlen(word) && memcmp(parts->text[i], word, parts->length[i]) == 0;
}

/* The index of a part, or of one that begins with "word::"; 0 if it is not there. */
unsigned pdl_part_find(const struct pdl_parts *parts, const char *word);

#endif /* PDL_INSPECT_OPCODE_H */
