/* SPDX-License-Identifier: MIT */
/* Which registers depend on an index is followed through integer arithmetic alone. Everything else counts as independent,
 * because only a condition that depends on one may end threads. */
#include "inspect/sass_access.h"

#include <stdint.h>
#include <string.h>

#include "code/sass.h"
#include "inspect/sass_access.h"

/* Instructions by the low 9 bits. Those of the uniform datapath are these with UNIFORM. */
enum {
    SASS_MOV = 0x002,
    SASS_R2P = 0x004,
    SASS_ISETP = 0x00c,
    SASS_IADD3 = 0x010,
    SASS_LEA = 0x011,
    SASS_LOP3 = 0x012,
    SASS_SHF = 0x019,
    SASS_IMAD = 0x024,
    SASS_IMAD_WIDE = 0x025,
    SASS_VIADD = 0x036,
    SASS_ELECT = 0x02f,
    SASS_HMMA = 0x03c,
    SASS_UNIFORM = 0x080,
    SASS_LAST_UNIFORM = 0x100, /* below, with UNIFORM: the results are uniform registers */
    SASS_NOP = 0x118,
    SASS_S2R = 0x119,
    SASS_OTHERS = 0x120, /* below: computation */
    SASS_EXIT = 0x14d,
    SASS_LDC = 0x182,
    SASS_LDCU = 0x1ac,
    SASS_S2UR = 0x1c3
};

/* What the second operand is; the third is a register in all of these, except in those with two. */
enum { FORM_REGISTERS = 1, FORM_UNIFORM = 6 };

#define GUARD(low)                ((low) >> 12 & 15)
#define GUARD_ALWAYS              7u
#define TO(low)                   ((low) >> 16 & 255)
#define FIRST(low)                ((low) >> 24 & 255)
#define SECOND(low)               ((low) >> 32 & 255)
#define THIRD(high)               ((high)&255)
#define TO_PREDICATE(high)        ((high) >> 17 & 7)
#define TO_SECOND_PREDICATE(high) ((high) >> 20 & 7)
#define SPECIAL(high)             ((high) >> 8 & 255)
#define THREAD_FIRST              0x21u /* SR_TID.X, .Y, .Z */
#define THREAD_LAST               0x23u
#define BLOCK_FIRST               0x25u /* SR_CTAID.X, .Y, .Z */
#define BLOCK_LAST                0x27u
#define EXIT_PLAIN                UINT64_C(0x3800000) /* no second predicate */
#define EXIT_PLAIN_MASK           UINT64_C(0xffc0000)
#define NO_REGISTER               255u
#define NO_UNIFORM                63u /* of sm_90 */
#define WIDEST                    4u  /* registers that an instruction writes */

/* Registers that depend on the index of a thread or a block. */
struct varying {
    bool general[256 + WIDEST], uniform[256 + WIDEST];
    bool predicates[8];
};

static bool result_varies(const struct varying *varying, uint64_t low, uint64_t high, bool uniform)
{
    const bool *const own = uniform ? varying->uniform : varying->general;
    const uint32_t form = (low & PDL_SASS_FORM) >> 9;
    const bool first = own[FIRST(low)];
    const bool second = (form == FORM_REGISTERS && own[SECOND(low)]) ||
                        (form == FORM_UNIFORM && varying->uniform[SECOND(low)]);
    switch (low & PDL_SASS_KIND & ~(uint64_t)(uniform ? SASS_UNIFORM : 0)) {
    case SASS_MOV:
        return second;
    case SASS_ISETP:
    case SASS_LEA:
    case SASS_VIADD:
        return first || second;
    case SASS_IADD3:
    case SASS_LOP3:
    case SASS_SHF:
    case SASS_IMAD:
    case SASS_IMAD_WIDE:
        return first || second || own[THIRD(high)];
    default:
        return false;
    }
}

static bool is_index(uint64_t high)
{
    return (SPECIAL(high) >= THREAD_FIRST && SPECIAL(high) <= THREAD_LAST) ||
           (SPECIAL(high) >= BLOCK_FIRST && SPECIAL(high) <= BLOCK_LAST);
}

/* Follows an instruction; false of one whose results are not known. */
static bool compute(struct varying *varying, uint64_t low, uint64_t high)
{
    const uint32_t kind = low & PDL_SASS_KIND;
    const bool special = kind == SASS_S2R || kind == SASS_S2UR;
    const bool computes =
        kind < SASS_OTHERS && kind != SASS_R2P && kind != SASS_HMMA && kind != SASS_ELECT;
    const bool uniform = kind == SASS_LDCU || kind == SASS_S2UR ||
                         (kind < SASS_LAST_UNIFORM && (kind & SASS_UNIFORM) != 0);
    if (kind == SASS_NOP || kind == (PDL_SASS_TRIGGER & PDL_SASS_KIND)) {
        return true;
    }
    if (!computes && kind != SASS_LDC && kind != SASS_LDCU && kind != SASS_S2UR) {
        return false;
    }
    const bool result =
        GUARD(low) == GUARD_ALWAYS &&
        (special ? is_index(high) : computes && result_varies(varying, low, high, uniform));
    varying->predicates[TO_PREDICATE(high)] = result && kind == SASS_ISETP;
    varying->predicates[TO_SECOND_PREDICATE(high)] = false;
    varying->predicates[GUARD_ALWAYS] = false; /* which a result that is not kept is written to */
    if ((kind & ~(uint32_t)SASS_UNIFORM) != SASS_ISETP) { /* which has no other result */
        bool *const to = &(uniform ? varying->uniform : varying->general)[TO(low)];
        memset(to, 0, WIDEST);
        *to = result && TO(low) != NO_REGISTER && !(uniform && TO(low) == NO_UNIFORM);
    }
    return true;
}

bool pdl_sass_comes_straight(const unsigned char *code, size_t count)
{
    struct varying varying;
    memset(&varying, 0, sizeof(varying));
    for (size_t i = 0; i < count; i++) {
        uint64_t low;
        uint64_t high;
        bool generic;
        memcpy(&low, code + i * PDL_SASS_SIZE, sizeof(low));
        memcpy(&high, code + i * PDL_SASS_SIZE + sizeof(low), sizeof(high));
        if ((low & (PDL_SASS_KIND | PDL_SASS_FORM)) == PDL_SASS_WAIT) {
            return GUARD(low) == GUARD_ALWAYS;
        }
        if ((low & PDL_SASS_KIND) == SASS_EXIT) {
            if (!varying.predicates[GUARD(low) & 7] || (high & EXIT_PLAIN_MASK) != EXIT_PLAIN) {
                return false;
            }
        } else if (pdl_sass_access_of(low, high, &generic) != PDL_SASS_ACCESS_NONE ||
                   !compute(&varying, low, high)) {
            return false;
        }
    }
    return false;
}
