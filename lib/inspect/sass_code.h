/* SPDX-License-Identifier: MIT */
/* The machine code of a cubin, its instructions numbered through all sections. */
#ifndef PDL_INSPECT_SASS_CODE_H
#define PDL_INSPECT_SASS_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/elf64.h"
#include "code/scan.h"

#define PDL_SASS_NONE UINT32_MAX

/* A relocation of an instruction. */
struct pdl_sass_relocation {
    uint32_t instruction;
    uint32_t symbol;
    int64_t addend;
};

/* Where an indirect branch may lead. */
struct pdl_sass_table {
    uint32_t instruction;
    uint32_t count;
    const unsigned char *targets; /* of 32 bits, in the section */
};

/* All zero is a closed one. */
struct pdl_sass_code {
    const struct pdl_cubin *cubin;
    struct pdl_elf elf;
    struct pdl_elf_symbols symbols;
    uint32_t *code_of;          /* by section; PDL_SASS_NONE */
    const unsigned char **data; /* by code */
    uint32_t *first; /* by code: the number of its first instruction; of all at the end */
    struct pdl_sass_relocation *relocations;
    struct pdl_sass_table *tables;
    uint32_t relocation_count, table_count;
    size_t relocation_capacity, table_capacity;
};

/* Begins with a cubin that was scanned and that stays. */
void pdl_sass_code_open(struct pdl_sass_code *code, const struct pdl_cubin *cubin,
                        const unsigned char *bytes, size_t size);

/* The code of a section, or PDL_SASS_NONE. */
uint32_t pdl_sass_code_of(const struct pdl_sass_code *code, uint32_t section);

/* The code that an instruction is in. */
uint32_t pdl_sass_code_at(const struct pdl_sass_code *code, uint32_t number);

/* The number of the instruction at a place in a code, or PDL_SASS_NONE. */
uint32_t pdl_sass_number_of(const struct pdl_sass_code *code, uint32_t which, uint64_t at);

/* What there is of an instruction, or NULL. */
const struct pdl_sass_relocation *pdl_sass_relocation_of(const struct pdl_sass_code *code,
                                                         uint32_t number);
const struct pdl_sass_table *pdl_sass_table_of(const struct pdl_sass_code *code, uint32_t number);

/* How many instructions a code has. */
static inline uint32_t pdl_sass_count(const struct pdl_sass_code *code, uint32_t which)
{
    return code->first[which + 1] - code->first[which];
}

#endif /* PDL_INSPECT_SASS_CODE_H */
