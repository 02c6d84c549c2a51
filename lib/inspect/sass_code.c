/* SPDX-License-Identifier: MIT */
#include "inspect/sass_code.h"

#include <stdlib.h>
#include <string.h>

#include "code/sass.h"
#include "inspect/memory.h"

/* Indirect branches and where they may lead: offset, two unknown halves, count, targets. */
#define INFO_BRANCH_TARGETS 0x34

static int by_instruction(const void *a, const void *b)
{
    uint32_t x;
    uint32_t y;
    memcpy(&x, a, sizeof(x)); /* the first member of either */
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

uint32_t pdl_sass_code_of(const struct pdl_sass_code *code, uint32_t section)
{
    return section < code->elf.section_count ? code->code_of[section] : PDL_SASS_NONE;
}

uint32_t pdl_sass_number_of(const struct pdl_sass_code *code, uint32_t which, uint64_t at)
{
    return at % PDL_SASS_SIZE == 0 && at / PDL_SASS_SIZE < pdl_sass_count(code, which)
               ? code->first[which] + (uint32_t)(at / PDL_SASS_SIZE)
               : PDL_SASS_NONE;
}

static void add_relocations(struct pdl_sass_code *code, const struct pdl_elf_section *section)
{
    const uint32_t which = pdl_sass_code_of(code, section->info);
    const bool addend = section->type == PDL_SHT_RELA;
    const size_t each = addend ? sizeof(struct pdl_elf64_rela) : sizeof(struct pdl_elf64_rel);
    for (size_t at = 0; section->size - at >= each; at += each) {
        struct pdl_elf64_rela entry = {.r_addend = 0};
        memcpy(&entry, section->data + at, each);
        const uint32_t number =
            pdl_sass_number_of(code, which, entry.r_offset - entry.r_offset % PDL_SASS_SIZE);
        if (number == PDL_SASS_NONE) {
            continue;
        }
        PDL_ADD(code->relocations, code->relocation_count, code->relocation_capacity,
                (struct pdl_sass_relocation){
                    number, addend ? (uint32_t)PDL_ELF64_R_SYM(entry.r_info) : PDL_SASS_NONE,
                    entry.r_addend});
    }
}

static void add_tables(struct pdl_sass_code *code, const struct pdl_elf_section *section)
{
    struct pdl_info_record record;
    for (size_t at = 0; pdl_info_next(section, &at, &record);) {
        for (size_t in = 0; record.attribute == INFO_BRANCH_TARGETS && record.size - in >= 12;) {
            uint32_t branch = 0;
            uint32_t count = 0;
            memcpy(&branch, record.value + in, sizeof(branch));
            memcpy(&count, record.value + in + 8, sizeof(count));
            in += 12;
            const uint32_t number =
                pdl_sass_number_of(code, pdl_sass_code_of(code, section->info), branch);
            if (count > (record.size - in) / 4) {
                break;
            }
            if (number != PDL_SASS_NONE && count > 0) {
                PDL_ADD(code->tables, code->table_count, code->table_capacity,
                        (struct pdl_sass_table){number, count, record.value + in});
            }
            in += (size_t)count * 4;
        }
    }
}

static void read_sections(struct pdl_sass_code *code)
{
    const struct pdl_cubin *cubin = code->cubin;
    uint64_t instructions = 0;
    for (uint32_t i = 0; i < code->elf.section_count; i++) {
        code->code_of[i] = PDL_SASS_NONE;
    }
    for (uint32_t i = 0; i < cubin->count; i++) {
        struct pdl_elf_section section;
        (void)pdl_elf_section(&code->elf, cubin->codes[i].section, &section);
        code->code_of[cubin->codes[i].section] = i;
        code->data[i] = section.data;
        code->first[i] = (uint32_t)instructions;
        instructions += section.size / PDL_SASS_SIZE;
        if (instructions >= PDL_SASS_NONE) {
            pdl_fail_memory();
        }
    }
    code->first[cubin->count] = (uint32_t)instructions;
    for (uint32_t i = 0; i < code->elf.section_count; i++) {
        struct pdl_elf_section section;
        (void)pdl_elf_section(&code->elf, i, &section);
        if (pdl_sass_code_of(code, section.info) == PDL_SASS_NONE) {
            continue;
        }
        if (section.type == PDL_SHT_RELA || section.type == PDL_SHT_REL) {
            add_relocations(code, &section);
        }
        if (pdl_elf_after(section.name, ".nv.info.") != NULL) {
            add_tables(code, &section);
        }
    }
    if (code->relocation_count > 0) {
        qsort(code->relocations, code->relocation_count, sizeof(*code->relocations),
              by_instruction);
    }
    if (code->table_count > 0) {
        qsort(code->tables, code->table_count, sizeof(*code->tables), by_instruction);
    }
}

uint32_t pdl_sass_code_at(const struct pdl_sass_code *code, uint32_t number)
{
    uint32_t low = 0;
    uint32_t high = code->cubin->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (code->first[middle] <= number) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct pdl_sass_relocation *pdl_sass_relocation_of(const struct pdl_sass_code *code,
                                                         uint32_t number)
{
    return code->relocation_count > 0 ? bsearch(&number, code->relocations, code->relocation_count,
                                                sizeof(*code->relocations), by_instruction)
                                      : NULL;
}

const struct pdl_sass_table *pdl_sass_table_of(const struct pdl_sass_code *code, uint32_t number)
{
    return code->table_count > 0 ? bsearch(&number, code->tables, code->table_count,
                                           sizeof(*code->tables), by_instruction)
                                 : NULL;
}

void pdl_sass_code_open(struct pdl_sass_code *code, const struct pdl_cubin *cubin,
                        const unsigned char *bytes, size_t size)
{
    *code = (struct pdl_sass_code){.cubin = cubin};
    (void)pdl_elf_open(&code->elf, bytes, size); /* it was scanned: these succeed */
    (void)pdl_elf_symbols(&code->elf, &code->symbols);
    code->code_of = pdl_take((size_t)code->elf.section_count + 1, sizeof(*code->code_of));
    code->data = pdl_take((size_t)cubin->count + 1, sizeof(*code->data));
    code->first = pdl_take((size_t)cubin->count + 2, sizeof(*code->first));
    read_sections(code);
}
