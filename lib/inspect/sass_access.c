/* SPDX-License-Identifier: MIT */
#include "inspect/sass_access.h"

#include "code/sass.h"

/* Instructions by the low 9 bits. */
enum {
    SASS_LD = 0x180,
    SASS_LDG = 0x181,
    SASS_ST = 0x185,
    SASS_STG = 0x186,
    SASS_ATOM = 0x18a,
    SASS_ATOM_CAS = 0x18b,
    SASS_RED = 0x18e,
    SASS_SULD = 0x199,
    SASS_SUST = 0x19d,
    SASS_SURED = 0x19f,
    SASS_ATOMG_FLOAT = 0x1a3,
    SASS_LDGMC = 0x1a5,
    SASS_RED_FLOAT = 0x1a6,
    SASS_ATOMG = 0x1a8,
    SASS_ATOMG_CAS = 0x1a9,
    SASS_LDGSTS = 0x1ae,
    SASS_UTMALDG = 0x1b4,
    SASS_UTMASTG = 0x1b5,
    SASS_UTMAREDG = 0x1b6,
    SASS_UBLKCP = 0x1ba,
    SASS_UBLKRED = 0x1bb,
    SASS_TEX = 0x160,
    SASS_TEX_BINDLESS = 0x161,
    SASS_TLD4 = 0x163,
    SASS_TLD4_BINDLESS = 0x164,
    SASS_TLD = 0x166,
    SASS_TLD_BINDLESS = 0x167,
    SASS_TXD = 0x16c,
    SASS_TXD_BINDLESS = 0x16d
};

/* In the second word of a load: how strong it is. */
#define LOAD_ORDER(high)    ((high) >> 13 & 15)
#define LOAD_ORDER_CONSTANT 4u

/* In the second word of a bulk copy. */
#define COPY_TO_SHARED   0x200u
#define COPY_FROM_SHARED 0x400u

/* Operands that name no register. */
#define BASE_NONE 0xffu

enum pdl_sass_access pdl_sass_access_of(uint64_t low, uint64_t high, bool *generic)
{
    const uint32_t base = low >> 24 & 255;
    *generic = false;
    switch (low & PDL_SASS_KIND) {
    case SASS_LDG:
        return LOAD_ORDER(high) == LOAD_ORDER_CONSTANT ? PDL_SASS_ACCESS_READ_CONSTANT
                                                       : PDL_SASS_ACCESS_READ;
    case SASS_LDGMC:
    case SASS_LDGSTS:
    case SASS_UTMALDG:
    case SASS_SULD:
        return PDL_SASS_ACCESS_READ;
    case SASS_TEX:
    case SASS_TEX_BINDLESS:
    case SASS_TLD4:
    case SASS_TLD4_BINDLESS:
    case SASS_TLD:
    case SASS_TLD_BINDLESS:
    case SASS_TXD:
    case SASS_TXD_BINDLESS:
        return PDL_SASS_ACCESS_READ_CONSTANT;
    case SASS_STG:
    case SASS_ATOMG:
    case SASS_ATOMG_CAS:
    case SASS_ATOMG_FLOAT:
    case SASS_RED:
    case SASS_RED_FLOAT:
    case SASS_SUST:
    case SASS_SURED:
    case SASS_UTMASTG:
    case SASS_UTMAREDG:
    case SASS_UBLKRED:
        return PDL_SASS_ACCESS_WRITE;
    case SASS_UBLKCP:
        return !(high & COPY_FROM_SHARED) ? PDL_SASS_ACCESS_READ
               : !(high & COPY_TO_SHARED) ? PDL_SASS_ACCESS_WRITE
                                          : PDL_SASS_ACCESS_NONE;
    case SASS_LD: /* without a register as its base: the shared memory of a cluster */
    case SASS_ST:
        *generic = true;
        return base == BASE_NONE                  ? PDL_SASS_ACCESS_NONE
               : (low & PDL_SASS_KIND) == SASS_LD ? PDL_SASS_ACCESS_READ
                                                  : PDL_SASS_ACCESS_WRITE;
    case SASS_ATOM:
    case SASS_ATOM_CAS:
        *generic = true;
        return PDL_SASS_ACCESS_WRITE;
    default:
        return PDL_SASS_ACCESS_NONE;
    }
}
