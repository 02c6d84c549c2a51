/* SPDX-License-Identifier: MIT */
#include "make_image.h"

#ifdef PDL_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef PDL_HAVE_ZSTD
#include <zstd.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS 64

enum { MOST_LIVE = 10000 };

static unsigned char *live[MOST_LIVE];
static size_t live_count;

/* Where memory is listed; a new place for NULL. */
static unsigned char **slot_of(const unsigned char *data)
{
    for (size_t i = live_count; data != NULL && i > 0; i--) {
        if (live[i - 1] == data) {
            return &live[i - 1];
        }
    }
    if (data != NULL || live_count == MOST_LIVE) {
        abort();
    }
    return &live[live_count++];
}

void bytes_free(struct bytes *bytes)
{
    if (bytes->data != NULL) {
        unsigned char **slot = slot_of(bytes->data);
        free(*slot);
        *slot = live[--live_count];
    }
    *bytes = (struct bytes){0};
}

void bytes_free_all(void)
{
    while (live_count > 0) {
        free(live[--live_count]);
    }
}

void bytes_add(struct bytes *bytes, const void *data, size_t size)
{
    unsigned char **slot = slot_of(bytes->data);
    unsigned char *grown = realloc(bytes->data, bytes->size + size + (size == 0));
    if (grown == NULL) {
        abort();
    }
    *slot = grown;
    if (data != NULL) {
        memcpy(grown + bytes->size, data, size);
    } else {
        memset(grown + bytes->size, 0, size);
    }
    bytes->data = grown;
    bytes->size += size;
}

static void align(struct bytes *bytes, size_t to)
{
    bytes_add(bytes, NULL, (to - bytes->size % to) % to);
}

/* ---- ELF ------------------------------------------------------------------------------------ */

struct elf {
    struct bytes file;
    struct bytes section_names;
    struct bytes names;
    struct bytes symbols;
    struct pdl_elf64_shdr sections[SECTIONS];
    unsigned section_count;
};

static uint32_t add_name(struct bytes *names, const char *name)
{
    const uint32_t at = (uint32_t)names->size;
    bytes_add(names, name, strlen(name) + 1);
    return at;
}

static void elf_begin(struct elf *elf)
{
    memset(elf, 0, sizeof(*elf));
    bytes_add(&elf->file, NULL, sizeof(struct pdl_elf64_ehdr));
    (void)add_name(&elf->section_names, "");
    (void)add_name(&elf->names, "");
    bytes_add(&elf->symbols, NULL, sizeof(struct pdl_elf64_sym));
    elf->section_count = 1;
}

static unsigned elf_add(struct elf *elf, const char *name, uint32_t type, uint32_t info,
                        const void *data, size_t size)
{
    if (elf->section_count == SECTIONS) {
        abort();
    }
    struct pdl_elf64_shdr *section = &elf->sections[elf->section_count];
    align(&elf->file, 16);
    *section = (struct pdl_elf64_shdr){
        .sh_name = add_name(&elf->section_names, name),
        .sh_type = type,
        .sh_offset = elf->file.size,
        .sh_size = size,
        .sh_info = info,
    };
    if (type != PDL_SHT_NOBITS) {
        bytes_add(&elf->file, data, size);
    }
    return elf->section_count++;
}

static uint32_t elf_add_symbol(struct elf *elf, const char *name, unsigned type, unsigned other,
                               unsigned section, uint64_t value)
{
    const struct pdl_elf64_sym symbol = {
        .st_name = add_name(&elf->names, name),
        .st_info = PDL_ELF64_ST_INFO(PDL_STB_GLOBAL, type),
        .st_other = (unsigned char)other,
        .st_shndx = (uint16_t)section,
        .st_value = value,
    };
    bytes_add(&elf->symbols, &symbol, sizeof(symbol));
    return (uint32_t)(elf->symbols.size / sizeof(symbol)) - 1;
}

/* Writes the tables and the headers. */
static struct bytes elf_end(struct elf *elf, struct pdl_elf64_ehdr header)
{
    const unsigned names =
        elf_add(elf, ".strtab", PDL_SHT_STRTAB, 0, elf->names.data, elf->names.size);
    const unsigned symbols =
        elf_add(elf, ".symtab", PDL_SHT_SYMTAB, 1, elf->symbols.data, elf->symbols.size);
    elf->sections[symbols].sh_link = names;
    /* Its own name is in it. */
    const unsigned section_names = elf_add(elf, ".shstrtab", PDL_SHT_STRTAB, 0, NULL, 0);
    elf->sections[section_names].sh_size = elf->section_names.size;
    bytes_add(&elf->file, elf->section_names.data, elf->section_names.size);
    align(&elf->file, 8);
    memcpy(header.e_ident, PDL_ELFMAG, PDL_SELFMAG);
    header.e_ident[PDL_EI_CLASS] = PDL_ELFCLASS64;
    header.e_ident[PDL_EI_DATA] = PDL_ELFDATA2LSB;
    header.e_ident[PDL_EI_VERSION] = PDL_EV_CURRENT;
    header.e_version = PDL_EV_CURRENT;
    header.e_ehsize = sizeof(header);
    header.e_shoff = elf->file.size;
    header.e_shentsize = sizeof(struct pdl_elf64_shdr);
    header.e_shnum = (uint16_t)elf->section_count;
    header.e_shstrndx = (uint16_t)section_names;
    bytes_add(&elf->file, elf->sections, elf->section_count * sizeof(struct pdl_elf64_shdr));
    memcpy(elf->file.data, &header, sizeof(header));
    bytes_free(&elf->section_names);
    bytes_free(&elf->names);
    bytes_free(&elf->symbols);
    return elf->file;
}

/* ---- cubins --------------------------------------------------------------------------------- */

const struct made_cubin plain_cubin = {
    .target = 90,
    .functions = {{.name = "fc1",
                   .code = {OP_OTHER, OP_WAIT, OP_OTHER, OP_TRIGGER, OP_EXIT},
                   .parameters = 3,
                   .registers = 12}},
};

struct placed {
    unsigned section;
    uint32_t symbol;
};

static uint64_t second_word(uint64_t first)
{
    switch (first & 0x1ff) {
    case OP_EXIT & 0x1ff:
    case OP_BRANCH & 0x1ff:
    case OP_BRANCH_TABLE & 0x1ff:
        return 0x000fea0003800000; /* no second predicate */
    case OP_THREAD & 0x1ff:
        return (first & MADE_SPECIAL) != 0 ? 0x000e620000002100 : 0x000fe20000000f00;
    case OP_CALL & 0x1ff:
    case OP_CALL_NEAR & 0x1ff:
    case OP_RETURN & 0x1ff:
        return (first & MADE_OTHER) != 0 ? 0x000fea0003400000 : 0x000fea0003c00000;
    case OP_ADD & 0x1ff:
        return 0x000fca0007ffe0ff;
    case OP_COMPARE_THREAD & 0x1ff:
        return (first & MADE_OTHER) != 0 ? 0x000fda00038e6270 : 0x000fda0003f06270;
    case OP_DISCARD & 0x1ff:
        return 0x000fe20005800100;
    case OP_LOAD & 0x1ff:
        return (first & MADE_CONSTANT) != 0 ? 0x000ea8000c1e9900 : 0x000ea8000c1e1900;
    default:
        return 0x000fe20000000f00;
    }
}

static void add_instructions(struct bytes *code, const uint64_t *instructions)
{
    for (unsigned i = 0; i < MADE_CODE && instructions[i] != 0; i++) {
        const uint32_t op = instructions[i] & 0xfffu;
        const uint64_t made = op == (OP_LOAD & 0xfffu)     ? MADE_CONSTANT
                              : op == (OP_THREAD & 0xfffu) ? MADE_SPECIAL
                              : op == (OP_COMPARE_LOST & 0xfffu) || op == (OP_CALL_NEAR & 0xfffu) ||
                                      op == (OP_RETURN & 0xfffu)
                                  ? MADE_OTHER
                                  : 0;
        const uint64_t words[2] = {instructions[i] & ~made, second_word(instructions[i])};
        bytes_add(code, words, sizeof(words));
    }
}

/* A function's section, with the copies in it of what it calls. */
static void place(struct elf *elf, const struct made_cubin *cubin, unsigned index,
                  struct placed *placed)
{
    const struct made_function *function = &cubin->functions[index];
    char name[128];
    struct bytes code = {0};
    const unsigned section = elf->section_count; /* the next one */
    add_instructions(&code, function->code);
    placed[index] =
        (struct placed){section, elf_add_symbol(elf, function->name, PDL_STT_FUNC,
                                                function->is_device ? 0 : 0x10, section, 0)};
    for (unsigned i = 0; i < MADE_FUNCTIONS && cubin->functions[i].name != NULL; i++) {
        const struct made_function *copy = &cubin->functions[i];
        if (copy->copy_in != NULL && strcmp(copy->copy_in, function->name) == 0) {
            (void)snprintf(name, sizeof(name), "$%s$%s", function->name, copy->name);
            placed[i] = (struct placed){
                section, elf_add_symbol(elf, name, PDL_STT_FUNC, 0, section, code.size)};
            add_instructions(&code, copy->code);
        }
    }
    (void)snprintf(name, sizeof(name), ".text.%s", function->name);
    (void)elf_add(elf, name, PDL_SHT_PROGBITS, placed[index].symbol, code.data, code.size);
    bytes_free(&code);
    if (!function->is_device) {
        struct bytes info = {0};
        static const unsigned char other[] = {0x03, 0x1b, 0xff, 0x00};
        bytes_add(&info, other, sizeof(other));
        for (unsigned i = 0; i < function->parameters; i++) {
            static const unsigned char record[16] = {0x04, 0x17, 0x0c, 0x00};
            bytes_add(&info, record, sizeof(record));
        }
        bytes_add(&info, function->info, function->info_size);
        if (function->table.count > 0 || function->table.at > 0) {
            const uint32_t table[3] = {function->table.at * 16, 0, function->table.count};
            const unsigned char head[4] = {
                0x04, 0x34, (unsigned char)(sizeof(table) + 4 * function->table.count), 0};
            bytes_add(&info, head, sizeof(head));
            bytes_add(&info, table, sizeof(table));
            bytes_add(&info, function->table.to, 4 * (size_t)function->table.count);
        }
        (void)snprintf(name, sizeof(name), ".nv.info.%s", function->name);
        (void)elf_add(elf, name, PDL_SHT_LOPROC, section, info.data, info.size);
        bytes_free(&info);
    }
    if (function->shared_memory > 0) {
        (void)snprintf(name, sizeof(name), ".nv.shared.%s", function->name);
        (void)elf_add(elf, name, PDL_SHT_NOBITS, section, NULL, function->shared_memory);
    }
}

static uint32_t symbol_of(struct elf *elf, const struct made_cubin *cubin,
                          const struct placed *placed, const char *name)
{
    for (unsigned i = 0; i < MADE_FUNCTIONS && cubin->functions[i].name != NULL; i++) {
        if (strcmp(cubin->functions[i].name, name) == 0) {
            return placed[i].symbol;
        }
    }
    return elf_add_symbol(elf, name, PDL_STT_FUNC, 0, PDL_SHN_UNDEF, 0);
}

static void add_calls(struct elf *elf, const struct made_cubin *cubin, const struct placed *placed)
{
    struct bytes direct = {0};
    struct bytes indirect = {0};
    for (unsigned i = 0; i < MADE_CALLS && cubin->calls[i].caller != NULL; i++) {
        const struct made_call *call = &cubin->calls[i];
        uint32_t pair[2] = {symbol_of(elf, cubin, placed, call->caller), 1};
        if (call->callee == NULL) {
            bytes_add(&indirect, pair, sizeof(pair));
            continue;
        }
        pair[1] = symbol_of(elf, cubin, placed, call->callee);
        if (!call->by_relocation) {
            bytes_add(&direct, pair, sizeof(pair));
            continue;
        }
        unsigned section = 0;
        for (unsigned f = 0; cubin->functions[f].name != NULL; f++) {
            section = placed[f].symbol == pair[0] ? placed[f].section : section;
        }
        const struct pdl_elf64_rela relocation = {.r_offset = (call->by_relocation - 1) * 16ul,
                                                  .r_info = PDL_ELF64_R_INFO(pair[1], 0x4bu)};
        (void)elf_add(elf, ".rela.text", PDL_SHT_RELA, section, &relocation, sizeof(relocation));
    }
    struct bytes graph = {0};
    const uint32_t groups[4][2] = {{0, -1u}, {0, -2u}, {0, -3u}, {0, -4u}};
    bytes_add(&graph, groups[0], sizeof(groups[0]));
    bytes_add(&graph, direct.data, direct.size);
    bytes_add(&graph, groups[1], sizeof(groups[1]));
    bytes_add(&graph, groups[2], sizeof(groups[2]));
    bytes_add(&graph, indirect.data, indirect.size);
    bytes_add(&graph, groups[3], sizeof(groups[3]));
    (void)elf_add(elf, ".nv.callgraph", PDL_SHT_LOPROC + 1, 0, graph.data, graph.size);
    bytes_free(&direct);
    bytes_free(&indirect);
    bytes_free(&graph);
}

static void add_lines(struct elf *elf, const struct made_cubin *cubin, const struct placed *placed,
                      const struct made_lines *lines, const char *name)
{
    struct bytes relocations = {0};
    char own_name[64];
    if (lines->bytes == NULL) {
        return;
    }
    const unsigned section =
        elf_add(elf, name, PDL_SHT_PROGBITS, 0, lines->bytes->data, lines->bytes->size);
    for (unsigned i = 0; i < 4 && lines->relocations[i].function != NULL; i++) {
        const uint32_t symbol = symbol_of(elf, cubin, placed, lines->relocations[i].function);
        const struct pdl_elf64_rela relocation = {.r_offset = lines->relocations[i].at,
                                                  .r_info = PDL_ELF64_R_INFO(symbol, 2u)};
        bytes_add(&relocations, &relocation, sizeof(relocation));
    }
    (void)snprintf(own_name, sizeof(own_name), ".rela%s", name);
    (void)elf_add(elf, own_name, PDL_SHT_RELA, section, relocations.data, relocations.size);
    bytes_free(&relocations);
}

struct bytes make_cubin(const struct made_cubin *cubin)
{
    struct elf elf;
    struct placed placed[MADE_FUNCTIONS] = {{0}};
    struct pdl_elf64_ehdr header = {.e_machine = 190};
    struct bytes info = {0};
    elf_begin(&elf);
    if (cubin->suffix != '\0') {
        char note[64];
        const int length = snprintf(note, sizeof(note), "ptxas -arch sm_%u%c -m 64 ", cubin->target,
                                    cubin->suffix);
        (void)elf_add(&elf, ".note.nv.tkinfo", PDL_SHT_NOTE, 0, note, (size_t)length);
    }
    for (unsigned i = 0; i < MADE_FUNCTIONS && cubin->functions[i].name != NULL; i++) {
        if (cubin->functions[i].copy_in == NULL) {
            place(&elf, cubin, i, placed);
        }
        struct {
            uint16_t kind;
            uint16_t size;
            uint32_t values[2];
        } record = {0x2f04, 8, {placed[i].symbol, cubin->functions[i].registers}};
        bytes_add(&info, &record, sizeof(record));
    }
    (void)elf_add(&elf, ".nv.info", PDL_SHT_LOPROC, 0, info.data, info.size);
    bytes_free(&info);
    add_calls(&elf, cubin, placed);
    add_lines(&elf, cubin, placed, &cubin->lines, ".debug_line");
    add_lines(&elf, cubin, placed, &cubin->ptx_lines, ".nv_debug_line_sass");
    if (cubin->strings != NULL) {
        (void)elf_add(&elf, ".debug_str", PDL_SHT_PROGBITS, 0, cubin->strings,
                      strlen(cubin->strings) + 1);
    }
    header.e_type = cubin->relocatable ? PDL_ET_REL : PDL_ET_EXEC;
    if (cubin->old_layout) {
        header.e_ident[PDL_EI_OSABI] = 0x33;
        header.e_ident[PDL_EI_ABIVERSION] = 7;
        header.e_flags = cubin->target << 16 | 0x500u | cubin->target;
        header.e_flags |= cubin->accelerated ? 0x800u : 0;
    } else {
        header.e_ident[PDL_EI_OSABI] = 0x41;
        header.e_ident[PDL_EI_ABIVERSION] = 8;
        header.e_flags = 0x06000002u | cubin->target << 8 | (cubin->accelerated ? 8u : 0);
    }
    return elf_end(&elf, header);
}

/* ---- fatbins -------------------------------------------------------------------------------- */

size_t fatbin_begin(struct bytes *bytes)
{
    static const unsigned char header[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
    align(bytes, 8);
    bytes_add(bytes, header, sizeof(header));
    return bytes->size - sizeof(header);
}

void fatbin_end(struct bytes *bytes, size_t begin)
{
    const uint64_t size = bytes->size - begin - 16;
    memcpy(bytes->data + begin + 8, &size, sizeof(size));
}

struct entry {
    uint16_t kind, version;
    uint32_t header_size; /* in a table: where the image is */
    uint64_t size;
    uint32_t compressed_size, options;
    uint16_t minor, major;
    uint32_t target, name, name_size;
    uint64_t flags, zero, full_size;
};

static struct entry entry_of(unsigned kind, unsigned target, uint64_t flags)
{
    return (struct entry){.kind = (uint16_t)kind,
                          .version = 0x101,
                          .header_size = sizeof(struct entry),
                          .minor = kind == MADE_PTX ? 5 : 8,
                          .major = kind == MADE_PTX ? 8 : 1,
                          .target = target,
                          .flags = 0x11 | flags};
}

static void add_payload(struct bytes *bytes, struct entry *entry, const void *payload, size_t size,
                        uint64_t full_size, const struct bytes *table)
{
    entry->size = (size + 7) / 8 * 8;
    entry->compressed_size = full_size > 0 ? (uint32_t)size : 0;
    entry->full_size = full_size;
    bytes_add(bytes, entry, sizeof(*entry));
    if (table != NULL) {
        bytes_add(bytes, table->data, table->size);
    }
    bytes_add(bytes, payload, size);
    bytes_add(bytes, NULL, (size_t)entry->size - size);
}

void fatbin_add(struct bytes *bytes, unsigned kind, unsigned target, uint64_t flags,
                const void *payload, size_t size, uint64_t full_size)
{
    struct entry entry = entry_of(kind, target, flags);
    add_payload(bytes, &entry, payload, size, full_size, NULL);
}

/* Compresses; as it is where it cannot be. */
static struct bytes compress(uint64_t flag, const struct bytes *from)
{
    struct bytes made = {0};
#ifdef PDL_HAVE_ZSTD
    if (flag == MADE_ZSTD) {
        bytes_add(&made, NULL, ZSTD_compressBound(from->size));
        made.size = ZSTD_compress(made.data, made.size, from->data, from->size, 3);
        return made;
    }
#endif
#ifdef PDL_HAVE_LZ4
    if (flag == MADE_LZ4) {
        bytes_add(&made, NULL, (size_t)LZ4_compressBound((int)from->size));
        made.size = (size_t)LZ4_compress_default((const char *)from->data, (char *)made.data,
                                                 (int)from->size, (int)made.size);
        return made;
    }
#endif
    (void)flag;
    bytes_add(&made, from->data, from->size);
    return made;
}

static void add_string(struct bytes *record, const char *text)
{
    bytes_add(record, text, strlen(text));
    bytes_add(record, NULL, 8 - record->size % 8);
}

size_t fatbin_add_table(struct bytes *bytes, uint64_t flag, const struct made_image *images,
                        unsigned count)
{
    struct bytes payload = {0};
    struct bytes table = {0};
    uint32_t about[2] = {count, 0};
    const size_t begin = bytes->size;
    bytes_add(&table, about, sizeof(about));
    for (unsigned i = 0; i < count; i++) {
        const struct made_image *image = &images[i];
        struct entry entry = entry_of(image->kind, image->target, 0);
        struct bytes strings = {0};
        align(&payload, 8);
        entry.header_size = (uint32_t)payload.size;
        entry.size = (image->size + 7) / 8 * 8;
        bytes_add(&payload, image->bytes, image->size);
        align(&payload, 8);
        if (image->name != NULL) {
            entry.name = sizeof(entry);
            entry.name_size = (uint32_t)strlen(image->name);
            add_string(&strings, image->name);
        }
        if (image->options != NULL) {
            const uint32_t at = (uint32_t)(sizeof(entry) + strings.size);
            const uint32_t options[2] = {at + 8, (uint32_t)strlen(image->options)};
            entry.options = at;
            bytes_add(&strings, options, sizeof(options));
            add_string(&strings, image->options);
        }
        bytes_add(&table, &entry, sizeof(entry));
        bytes_add(&table, strings.data, strings.size);
        bytes_free(&strings);
    }
    about[1] = (uint32_t)table.size;
    memcpy(table.data, about, sizeof(about));
    struct entry entry = entry_of(MADE_TABLE, 0, flag);
    entry.header_size += (uint32_t)table.size;
    entry.options = sizeof(entry);
    struct bytes packed = compress(flag, &payload);
    add_payload(bytes, &entry, packed.data, packed.size, flag != 0 ? payload.size : 0, &table);
    bytes_free(&packed);
    bytes_free(&payload);
    bytes_free(&table);
    return begin;
}

struct bytes make_fatbin(unsigned kind, unsigned target, const void *payload, size_t size)
{
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    fatbin_add(&bytes, kind, target, 0, payload, size, 0);
    fatbin_end(&bytes, begin);
    return bytes;
}

/* ---- ELF files of the host, and archives ----------------------------------------------------- */

struct bytes make_elf(unsigned type, const struct made_section *sections, unsigned count,
                      bool stripped)
{
    struct elf elf;
    struct pdl_elf64_ehdr header = {.e_type = (uint16_t)type, .e_machine = PDL_EM_X86_64};
    struct bytes segments = {0};
    elf_begin(&elf);
    for (unsigned i = 0; i < count; i++) {
        const unsigned made = elf_add(&elf, sections[i].name, PDL_SHT_PROGBITS, 0,
                                      sections[i].contents->data, sections[i].contents->size);
        struct pdl_elf64_shdr *section = &elf.sections[made];
        section->sh_flags = PDL_SHF_ALLOC;
        section->sh_addr =
            type == PDL_ET_REL ? 0 : 0x400000 + section->sh_offset + sections[i].skew;
        const struct pdl_elf64_phdr segment = {.p_type = PDL_PT_LOAD,
                                               .p_offset = section->sh_offset,
                                               .p_vaddr = section->sh_addr,
                                               .p_filesz = section->sh_size,
                                               .p_memsz = section->sh_size};
        bytes_add(&segments, &segment, sizeof(segment));
    }
    if (stripped) {
        align(&elf.file, 8);
        header.e_phoff = elf.file.size;
        header.e_phentsize = sizeof(struct pdl_elf64_phdr);
        header.e_phnum = (uint16_t)count;
        bytes_add(&elf.file, segments.data, segments.size);
    }
    struct bytes file = elf_end(&elf, header);
    if (stripped) {
        const size_t at = offsetof(struct pdl_elf64_ehdr, e_shoff);
        memset(file.data + at, 0, sizeof(header.e_shoff));
        memset(file.data + offsetof(struct pdl_elf64_ehdr, e_shnum), 0,
               4); /* the index of names too */
    }
    bytes_free(&segments);
    return file;
}

struct bytes make_archive(void)
{
    struct bytes archive = {0};
    bytes_add(&archive, "!<arch>\n", 8);
    return archive;
}

void archive_add(struct bytes *archive, const char *name, const struct bytes *contents)
{
    char header[61];
    (void)snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644u,
                   contents->size);
    align(archive, 2);
    bytes_add(archive, header, 60);
    bytes_add(archive, contents->data, contents->size);
    bytes_add(archive, "\n", contents->size % 2);
}
