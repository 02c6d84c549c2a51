/* SPDX-License-Identifier: MIT */
#include "inspect/sass_access.h"

#include <stdlib.h>

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
    SASS_CCTL = 0x18f,
    SASS_SURFACES = 0x198, /* up to SURED */
    SASS_SULD = 0x199,
    SASS_SUST = 0x19d,
    SASS_SURED = 0x19f,
    SASS_ATOM_FLOAT = 0x1a2,
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
    SASS_TEXTURES = 0x160, /* up to LDG_256 */
    SASS_LDG_256 = 0x17e,
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

/* In the second word of an operation on a cache. */
#define CACHE_OPERATION(high)   ((high) >> 23 & 15)
#define CACHE_OPERATION_DISCARD 11u /* what was written is lost */

/* Operands that name no register. */
#define BASE_NONE 0xffu

/* Other instructions that access no global memory, in ascending order. The numbers are those that nvdisasm gives
 * these names for sm_90, sm_100 and sm_120, in what ptxas makes of the kernels of test/lint and of public projects.
 * A number that is not here may be anything. The allocation of tensor memory (UTCATOMSWS) is not among them: a block
 * that waits with it could hold up the kernel before. */
static const uint16_t harmless[] = {
    0x002, /* MOV */
    0x003, /* P2R */
    0x004, /* R2P */
    0x005, /* CS2R */
    0x006, /* VOTE */
    0x007, /* SEL */
    0x008, /* FSEL */
    0x009, /* FMNMX */
    0x00a, /* FSET */
    0x00b, /* FSETP */
    0x00c, /* ISETP */
    0x00f, /* VIMNMX3 */
    0x010, /* IADD3 */
    0x011, /* LEA */
    0x012, /* LOP3 */
    0x013, /* IABS */
    0x014, /* VABSDIFF */
    0x016, /* PRMT */
    0x017, /* IMNMX */
    0x019, /* SHF */
    0x01a, /* SGXT */
    0x01b, /* BMSK */
    0x01c, /* PLOP3 */
    0x020, /* FMUL */
    0x021, /* FADD */
    0x023, /* FFMA */
    0x024, /* IMAD */
    0x025, /* IMAD */
    0x027, /* IMAD */
    0x028, /* DMUL */
    0x029, /* DADD */
    0x02a, /* DSETP */
    0x02b, /* DFMA */
    0x02d, /* PREEXIT */
    0x02f, /* ELECT */
    0x030, /* HADD2 */
    0x031, /* HFMA2 */
    0x032, /* HMUL2 */
    0x034, /* HSETP2 */
    0x035, /* HFMA2/IADD */
    0x036, /* VIADD */
    0x03b, /* LDSM */
    0x03c, /* HMMA */
    0x03e, /* F2FP */
    0x040, /* HMNMX2 */
    0x044, /* STSM */
    0x045, /* I2FP */
    0x046, /* VIADDMNMX */
    0x047, /* VHMNMX */
    0x048, /* VIMNMX */
    0x049, /* FFMA2 */
    0x04a, /* FMUL2/UVIMNMX */
    0x04b, /* FADD2 */
    0x05e, /* UI2FP */
    0x076, /* FMNMX3 */
    0x082, /* UMOV */
    0x083, /* UP2UR */
    0x085, /* UIMNMX */
    0x086, /* VOTEU */
    0x087, /* USEL */
    0x08c, /* UISETP */
    0x090, /* UIADD3 */
    0x091, /* ULEA */
    0x092, /* ULOP3 */
    0x096, /* UPRMT */
    0x097, /* UIADD3 */
    0x099, /* USHF */
    0x09a, /* USGXT */
    0x09b, /* UBMSK */
    0x09c, /* UPLOP3 */
    0x0a4, /* UIMAD */
    0x0a5, /* UIMAD */
    0x0b9, /* ULDC */
    0x0bb, /* ULDC */
    0x0bd, /* UFLO */
    0x0be, /* UBREV */
    0x0bf, /* UPOPC */
    0x0ca, /* R2UR */
    0x0cb, /* CS2UR */
    0x0cc, /* CREDUX */
    0x100, /* FLO */
    0x101, /* BREV */
    0x102, /* FCHK */
    0x104, /* F2F */
    0x105, /* F2I */
    0x106, /* I2F */
    0x107, /* FRND */
    0x108, /* MUFU */
    0x109, /* POPC */
    0x110, /* F2F */
    0x111, /* F2I */
    0x112, /* I2F */
    0x113, /* FRND */
    0x118, /* NOP */
    0x119, /* S2R */
    0x11a, /* DEPBAR */
    0x11b, /* ENDCOLLECTIVE */
    0x11c, /* B2R */
    0x11d, /* BAR */
    0x140, /* CCTL */
    0x142, /* BREAK */
    0x146, /* YIELD */
    0x14e, /* LEPC */
    0x15c, /* BPT */
    0x15d, /* NANOSLEEP */
    0x182, /* LDC */
    0x183, /* LDL */
    0x184, /* LDS */
    0x187, /* STL */
    0x188, /* STS */
    0x189, /* SHFL */
    0x18c, /* ATOMS */
    0x18d, /* ATOMS */
    0x192, /* MEMBAR */
    0x1a1, /* MATCH */
    0x1a7, /* SYNCS */
    0x1aa, /* QSPC */
    0x1ab, /* CGAERRBAR/ERRBAR */
    0x1ac, /* LDCU */
    0x1af, /* LDGDEPBAR */
    0x1b0, /* ARRIVES */
    0x1b1, /* SYNCS */
    0x1b2, /* SYNCS */
    0x1b7, /* UTMACMDFLUSH */
    0x1bc, /* UBLKPF */
    0x1c3, /* S2UR */
    0x1c4, /* REDUX */
    0x1c5, /* WARPGROUP */
    0x1c6, /* FENCE */
    0x1c7, /* UCGABAR_ARV/UCGABAR_WAIT */
    0x1e9, /* UTCBAR */
    0x1ea, /* UTCHMMA */
    0x1ed, /* STTM */
    0x1ee, /* LDTM */
    0x1f0, /* HGMMA */
    0x1f3, /* QGMMA */
};

static int by_number(const void *left, const void *right)
{
    return *(const uint16_t *)left - *(const uint16_t *)right;
}

enum pdl_sass_access pdl_sass_access_of(uint64_t low, uint64_t high, bool *generic)
{
    const uint32_t base = low >> 24 & 255;
    const uint16_t kind = low & PDL_SASS_KIND;
    *generic = false;
    switch (kind) {
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
    case SASS_CCTL:
        return CACHE_OPERATION(high) == CACHE_OPERATION_DISCARD ? PDL_SASS_ACCESS_WRITE
                                                                : PDL_SASS_ACCESS_NONE;
    case SASS_UBLKCP:
        return !(high & COPY_FROM_SHARED) ? PDL_SASS_ACCESS_READ
               : !(high & COPY_TO_SHARED) ? PDL_SASS_ACCESS_WRITE
                                          : PDL_SASS_ACCESS_NONE;
    case SASS_LD: /* without a register as its base: the shared memory of a cluster */
    case SASS_ST:
        *generic = true;
        return base == BASE_NONE ? PDL_SASS_ACCESS_UNKNOWN
               : kind == SASS_LD ? PDL_SASS_ACCESS_READ
                                 : PDL_SASS_ACCESS_WRITE;
    case SASS_ATOM:
    case SASS_ATOM_CAS:
    case SASS_ATOM_FLOAT:
        *generic = true;
        return PDL_SASS_ACCESS_WRITE;
    default:
        return bsearch(&kind, harmless, sizeof(harmless) / sizeof(harmless[0]), sizeof(harmless[0]),
                       by_number) != NULL
                   ? PDL_SASS_ACCESS_NONE
                   : PDL_SASS_ACCESS_UNKNOWN;
    }
}

bool pdl_sass_is_unordered(uint64_t low, uint64_t high)
{
    const uint32_t kind = low & PDL_SASS_KIND;
    if (kind == SASS_LDG || kind == SASS_LDG_256) {
        return LOAD_ORDER(high) == LOAD_ORDER_CONSTANT;
    }
    return (kind >= SASS_TEXTURES && kind < SASS_LDG_256) ||
           (kind >= SASS_SURFACES && kind <= SASS_SURED);
}
