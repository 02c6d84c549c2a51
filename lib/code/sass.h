/* SPDX-License-Identifier: MIT */
/* Machine code as far as it is read: instructions of sm_90 to sm_121, and records of .nv.info. The formats are
 * not documented; this is what ptxas of CUDA 12 and 13 writes. */
#ifndef PDL_CODE_SASS_H
#define PDL_CODE_SASS_H

#include "code/elf64.h"

#include <string.h>

/* An instruction takes 16 bytes. The low 12 bits of the first word say which it is, and of these the upper three
 * what form its operand has; bits 12 to 14 are the predicate that guards it, bit 15 negates it. */
#define PDL_SASS_SIZE      16u
#define PDL_SASS_WAIT      0x82eu /* ACQBULK */
#define PDL_SASS_TRIGGER   0x82du /* PREEXIT */
#define PDL_SASS_CALL_ABS  0x143u
#define PDL_SASS_CALL_REL  0x144u
#define PDL_SASS_KIND      0x1ffu
#define PDL_SASS_FORM      0xe00u
#define PDL_SASS_IMMEDIATE 0x800u
#define PDL_SASS_NOP       0x918u
#define PDL_SASS_EXIT      0x94du
#define PDL_SASS_RETURN    0x950u
#define PDL_SASS_NEWEST    121 /* the newest architecture whose instructions are known: sm_121 */

/* The first word of a branch to itself, and how many NOPs may follow it at the end of a section. */
#define PDL_SASS_BRANCH_SELF UINT64_C(0xfffffffc00fc7947)
#define PDL_SASS_NOPS_MOST   16u

/* Records of .nv.info: a format, an attribute, 16 bits of value or of the size of what follows. */
#define PDL_INFO_SIZED 4

struct pdl_info_record {
    uint8_t attribute;
    size_t size;
    const unsigned char *value;
};

/* The record at `*at`, which is moved behind it; false at the end. */
static inline bool pdl_info_next(const struct pdl_elf_section *section, size_t *at,
                                 struct pdl_info_record *record)
{
    uint16_t size = 0;
    if (section->size < 4 || *at > section->size - 4) {
        return false;
    }
    const unsigned char *bytes = section->data + *at;
    memcpy(&size, bytes + 2, sizeof(size));
    *at += 4;
    *record = (struct pdl_info_record){.attribute = bytes[1], .size = 0, .value = NULL};
    if (bytes[0] == PDL_INFO_SIZED) {
        if (size > section->size - *at) {
            return false;
        }
        record->value = bytes + 4;
        record->size = size;
        *at += size;
    }
    return true;
}

#endif /* PDL_CODE_SASS_H */
