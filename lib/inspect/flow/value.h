/* SPDX-License-Identifier: MIT */
/* Where a value comes from: which parameter an address goes through, in which space it is, and
 * whether it differs between threads. */
#ifndef PDL_INSPECT_VALUE_H
#define PDL_INSPECT_VALUE_H

#include "inspect/ptx/opcode.h"
#include "inspect/ptx/registers.h"

enum pdl_source_kind {
    PDL_SOURCE_PARAMETER, /* a value in parameter `index`, at byte `offset` */
    PDL_SOURCE_ADDRESS,   /* the address of that byte of the parameter */
    PDL_SOURCE_POINTEE,   /* what was loaded through the pointer there */
    PDL_SOURCE_VARIABLE   /* the variable of the module whose name is `index` */
};

#define PDL_OFFSET_UNKNOWN INT32_MIN

struct pdl_source {
    uint32_t index;
    int32_t offset; /* PDL_OFFSET_UNKNOWN if it is not known */
    uint16_t kind;
    uint16_t indexed; /* 1: at a computed index of an array that begins at `offset` */
};

/* How likely it is a pointer, from not at all. */
enum pdl_strength {
    PDL_STRENGTH_NONE,
    PDL_STRENGTH_NUMBER, /* computed: a product, a shift, a comparison */
    PDL_STRENGTH_VALUE,  /* as it was passed or loaded */
    PDL_STRENGTH_POINTER /* an address, from a cvta or a variable */
};

#define PDL_VALUE_SOURCES 6

struct pdl_value {
    uint8_t strength; /* pdl_strength */
    uint8_t spaces;   /* 1 << pdl_space for each it is known to be in */
    uint8_t depends;
    uint8_t count; /* of sources */
    bool untraced; /* it may also come from elsewhere */
    bool defined;  /* something that was seen so far gives it a value */
    struct pdl_source sources[PDL_VALUE_SOURCES];
};

#endif /* PDL_INSPECT_VALUE_H */
