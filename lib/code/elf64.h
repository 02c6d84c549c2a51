/* SPDX-License-Identifier: MIT */
/* Reads ELF files of 64 bits, little endian, from memory that may hold anything: nothing outside of
 * it is ever looked at, and what is cut short is not found. Shared by libpdl and libpdl-inspect. */
#ifndef PDL_INSPECT_ELF64_H
#define PDL_INSPECT_ELF64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/elf_format.h"

struct pdl_elf {
    const unsigned char *bytes;
    size_t size;
    struct pdl_elf64_ehdr header;
    uint32_t section_count; /* as many as lie within the file */
    bool cut;               /* the header names more sections or segments than lie in the file */
    const char *names;      /* of sections; NULL without any */
    size_t names_size;      /* ends in a NUL */
};

struct pdl_elf_section {
    const char *name;          /* "" if it has none */
    const unsigned char *data; /* NULL if it takes no room in the file, or lies outside of it */
    size_t size;               /* of the data in the file; 0 without */
    uint64_t memory_size;      /* as the header says */
    uint64_t address;
    uint64_t flags;
    uint32_t type;
    uint32_t link;
    uint32_t info;
    bool cut; /* more of it is named than lies within the file */
};

struct pdl_elf_symbols {
    const unsigned char *entries;
    uint32_t count;
    uint32_t section_count;
    const char *names; /* ends in a NUL; NULL without any */
    size_t names_size;
    const unsigned char *far_sections; /* section numbers that do not fit the symbols; or NULL */
    uint32_t far_count;
};

struct pdl_elf_symbol {
    const char *name; /* "" if it has none */
    uint64_t value;
    uint64_t size;
    uint32_t section; /* PDL_SHN_UNDEF; UINT32_MAX if it is in none */
    uint8_t type;     /* PDL_STT_FUNC … */
    uint8_t other;
};

/* Whether the memory begins as an ELF file. */
bool pdl_elf_is(const unsigned char *bytes, size_t size);

/* Reads the header. False if it is not whole, or of another kind than said above. */
bool pdl_elf_open(struct pdl_elf *elf, const unsigned char *bytes, size_t size);

/* Whether all that its headers name lies within the file. */
bool pdl_elf_is_whole(const struct pdl_elf *elf);

/* A section; false, and an empty one, if there is none of that index. */
bool pdl_elf_section(const struct pdl_elf *elf, uint32_t index, struct pdl_elf_section *section);

/* A program header; false if there is none of that index. Its data may lie outside of the file. */
bool pdl_elf_segment(const struct pdl_elf *elf, uint32_t index, struct pdl_elf64_phdr *segment);

/* The part of a range that lies within the file; NULL if none does. */
const unsigned char *pdl_elf_range(const struct pdl_elf *elf, uint64_t offset, uint64_t *size);

/* The first symbol table; false if there is none. */
bool pdl_elf_symbols(const struct pdl_elf *elf, struct pdl_elf_symbols *symbols);

/* A symbol; false if there is none of that index. */
bool pdl_elf_symbol(const struct pdl_elf_symbols *symbols, uint32_t index,
                    struct pdl_elf_symbol *symbol);

/* The rest of a name behind a prefix; NULL if it does not begin so. */
const char *pdl_elf_after(const char *name, const char *prefix);

#endif /* PDL_INSPECT_ELF64_H */
