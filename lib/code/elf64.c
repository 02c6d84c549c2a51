/* SPDX-License-Identifier: MIT */
#include "code/elf64.h"

#include <string.h>

bool pdl_elf_is(const unsigned char *bytes, size_t size)
{
    return size >= PDL_SELFMAG && memcmp(bytes, PDL_ELFMAG, PDL_SELFMAG) == 0;
}

const unsigned char *pdl_elf_range(const struct pdl_elf *elf, uint64_t offset, uint64_t *size)
{
    if (offset >= elf->size) {
        return NULL;
    }
    if (*size > elf->size - offset) {
        *size = elf->size - offset;
    }
    return elf->bytes + offset;
}

static bool header_at(const struct pdl_elf *elf, uint32_t index, struct pdl_elf64_shdr *header)
{
    const uint64_t offset = elf->header.e_shoff;
    if (elf->header.e_shentsize != sizeof(*header) || offset == 0 || offset > elf->size ||
        index >= (elf->size - offset) / sizeof(*header)) {
        return false;
    }
    memcpy(header, elf->bytes + offset + (uint64_t)index * sizeof(*header), sizeof(*header));
    return true;
}

/* A table of strings, made sure to end in a NUL. */
static void read_names(const struct pdl_elf *elf, uint32_t index, const char **names, size_t *size)
{
    struct pdl_elf64_shdr header;
    *names = NULL;
    *size = 0;
    if (index == PDL_SHN_UNDEF || index >= elf->section_count || !header_at(elf, index, &header) ||
        header.sh_type != PDL_SHT_STRTAB) {
        return;
    }
    uint64_t length = header.sh_size;
    const unsigned char *data = pdl_elf_range(elf, header.sh_offset, &length);
    while (data != NULL && length > 0 && data[length - 1] != '\0') {
        length--;
    }
    if (data != NULL && length > 0) {
        *names = (const char *)data;
        *size = (size_t)length;
    }
}

static const char *name_at(const char *names, size_t size, uint32_t at)
{
    return names != NULL && at < size ? names + at : "";
}

bool pdl_elf_open(struct pdl_elf *elf, const unsigned char *bytes, size_t size)
{
    *elf = (struct pdl_elf){.bytes = bytes, .size = size};
    if (size < sizeof(elf->header) || !pdl_elf_is(bytes, size)) {
        return false;
    }
    memcpy(&elf->header, bytes, sizeof(elf->header));
    if (elf->header.e_ident[PDL_EI_CLASS] != PDL_ELFCLASS64 ||
        elf->header.e_ident[PDL_EI_DATA] != PDL_ELFDATA2LSB) {
        return false;
    }
    /* More than a 16-bit field can count stands in the first section's header. */
    struct pdl_elf64_shdr first;
    uint64_t count = elf->header.e_shnum;
    uint32_t names = elf->header.e_shstrndx;
    if (header_at(elf, 0, &first)) {
        if (count == 0) {
            count = first.sh_size;
        }
        if (names == PDL_SHN_XINDEX) {
            names = first.sh_link;
        }
        const uint64_t room = (size - elf->header.e_shoff) / sizeof(first);
        elf->cut = count > room;
        count = count < room ? count : room;
        elf->section_count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    }
    /* Headers that lie outside of the file altogether are cut off too. */
    elf->cut = elf->cut || (elf->header.e_shoff != 0 && elf->section_count == 0) ||
               elf->header.e_phoff > size ||
               (uint64_t)elf->header.e_phnum * elf->header.e_phentsize > size - elf->header.e_phoff;
    read_names(elf, names, &elf->names, &elf->names_size);
    return true;
}

bool pdl_elf_section(const struct pdl_elf *elf, uint32_t index, struct pdl_elf_section *section)
{
    struct pdl_elf64_shdr header;
    *section = (struct pdl_elf_section){.name = ""};
    if (index >= elf->section_count || !header_at(elf, index, &header)) {
        return false;
    }
    uint64_t size = header.sh_size;
    const bool stored = header.sh_type != PDL_SHT_NOBITS && header.sh_type != PDL_SHT_NULL;
    const unsigned char *data = stored ? pdl_elf_range(elf, header.sh_offset, &size) : NULL;
    *section = (struct pdl_elf_section){
        .name = name_at(elf->names, elf->names_size, header.sh_name),
        .data = data,
        .size = data != NULL ? (size_t)size : 0,
        .memory_size = header.sh_size,
        .address = header.sh_addr,
        .flags = header.sh_flags,
        .type = header.sh_type,
        .link = header.sh_link,
        .info = header.sh_info,
        .cut = stored && header.sh_size > 0 && (data == NULL || size < header.sh_size),
    };
    return true;
}

bool pdl_elf_is_whole(const struct pdl_elf *elf)
{
    bool whole = !elf->cut;
    for (uint32_t i = 0; whole && i < elf->section_count; i++) {
        struct pdl_elf_section section;
        (void)pdl_elf_section(elf, i, &section);
        whole = !section.cut;
    }
    return whole;
}

bool pdl_elf_segment(const struct pdl_elf *elf, uint32_t index, struct pdl_elf64_phdr *segment)
{
    const uint64_t offset = elf->header.e_phoff;
    if (index >= elf->header.e_phnum || elf->header.e_phentsize != sizeof(*segment) ||
        offset > elf->size || index >= (elf->size - offset) / sizeof(*segment)) {
        return false;
    }
    memcpy(segment, elf->bytes + offset + (uint64_t)index * sizeof(*segment), sizeof(*segment));
    return true;
}

bool pdl_elf_symbols(const struct pdl_elf *elf, struct pdl_elf_symbols *symbols)
{
    *symbols = (struct pdl_elf_symbols){.section_count = elf->section_count};
    for (uint32_t i = 0; i < elf->section_count; i++) {
        struct pdl_elf_section section;
        (void)pdl_elf_section(elf, i, &section);
        if (section.type == PDL_SHT_SYMTAB && symbols->entries == NULL && section.data != NULL) {
            const size_t count = section.size / sizeof(struct pdl_elf64_sym);
            symbols->entries = section.data;
            symbols->count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
            read_names(elf, section.link, &symbols->names, &symbols->names_size);
        } else if (section.type == PDL_SHT_SYMTAB_SHNDX && symbols->far_sections == NULL) {
            const size_t count = section.size / sizeof(uint32_t);
            symbols->far_sections = section.data;
            symbols->far_count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        }
    }
    return symbols->entries != NULL;
}

bool pdl_elf_symbol(const struct pdl_elf_symbols *symbols, uint32_t index,
                    struct pdl_elf_symbol *symbol)
{
    struct pdl_elf64_sym entry;
    if (index >= symbols->count) {
        return false;
    }
    memcpy(&entry, symbols->entries + (size_t)index * sizeof(entry), sizeof(entry));
    uint32_t section = entry.st_shndx;
    if (section == PDL_SHN_XINDEX && index < symbols->far_count) {
        memcpy(&section, symbols->far_sections + (size_t)index * sizeof(section), sizeof(section));
    }
    if (section >= symbols->section_count) {
        section = UINT32_MAX;
    }
    *symbol = (struct pdl_elf_symbol){
        .name = name_at(symbols->names, symbols->names_size, entry.st_name),
        .value = entry.st_value,
        .size = entry.st_size,
        .section = section,
        .type = PDL_ELF64_ST_TYPE(entry.st_info),
        .other = entry.st_other,
    };
    return true;
}

const char *pdl_elf_after(const char *name, const char *prefix)
{
    const size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}
