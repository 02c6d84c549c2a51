/* SPDX-License-Identifier: MIT */
/* Reads .debug_line (the source) and .nv_debug_line_sass (the PTX), which have the form of DWARF 2 to 4, 32 bits. One
 * extended opcode is NVIDIA's: the row of the sequence that the next rows are inlined to, and the name of the
 * function that they are from. */
#include "inspect/lines.h"

#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX    8u
#define LONGEST_PATH 4096u
/* Of one sequence, which is a function; one with more has no lines. */
#define MOST_ROWS (1u << 21)
/* Sequences that lie over each other must not take time out of proportion. */
#define LEAST_USES (UINT64_C(1) << 20)
#define NAME_CACHE 64u

#define STANDARD_COPY      1
#define STANDARD_PC        2
#define STANDARD_LINE      3
#define STANDARD_FILE      4
#define STANDARD_COLUMN    5
#define STANDARD_STATEMENT 6
#define STANDARD_BLOCK     7
#define STANDARD_CONST_PC  8
#define STANDARD_FIXED_PC  9
#define EXTENDED_END       1
#define EXTENDED_ADDRESS   2
#define EXTENDED_INLINED   0x90

struct reader {
    const unsigned char *at;
    const unsigned char *end;
    bool bad; /* it read past the end */
};

struct row {
    uint64_t at;
    uint32_t file, line;
    uint32_t context;  /* from 1; 0: not inlined */
    uint32_t function; /* in .debug_str */
};

/* A file of a unit, by the table of its names. */
struct file {
    const char *name;
    size_t length;
    uint32_t directory;
    const char *path; /* once it was asked for */
};

struct directory {
    const char *name;
    size_t length;
};

struct relocation {
    uint64_t at;
    uint32_t symbol;
    int64_t addend;
};

struct name {
    uint32_t at;
    const char *text;
};

struct lines {
    struct pdl_arena *arena;
    uint64_t uses_left;
    uint64_t names_left;           /* bytes: names may lie over each other, too */
    struct name names[NAME_CACHE]; /* of functions, by where they stand */
    struct pdl_elf elf;
    struct pdl_elf_symbols symbols;
    struct pdl_elf_section strings;
    struct pdl_machine_access *const *accesses; /* by section and address */
    uint32_t access_count;
    bool of_ptx;
    struct relocation *relocations;
    struct directory *directories;
    struct file *files;
    struct row *rows;
    uint32_t relocation_count, directory_count, file_count, row_count;
    size_t relocation_capacity, directory_capacity, file_capacity, row_capacity;
};

/* ---- bytes -------------------------------------------------------------------------------------- */

static uint64_t read_number(struct reader *reader, size_t size)
{
    uint64_t number = 0; /* little endian */
    if ((size_t)(reader->end - reader->at) < size) {
        reader->at = reader->end;
        reader->bad = true;
        return 0;
    }
    memcpy(&number, reader->at, size);
    reader->at += size;
    return number;
}

static uint64_t read_unsigned(struct reader *reader)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint64_t byte = read_number(reader, 1);
        if (shift < 64) {
            number |= (byte & 127) << shift;
        }
        if (!(byte & 128)) {
            return number;
        }
    }
}

static int64_t read_signed(struct reader *reader)
{
    uint64_t number = 0;
    unsigned shift = 0;
    uint64_t byte;
    do {
        byte = read_number(reader, 1);
        if (shift < 64) {
            number |= (byte & 127) << shift;
        }
        shift += 7;
    } while (byte & 128);
    if (shift < 64 && (byte & 64)) {
        number |= ~UINT64_C(0) << shift;
    }
    return (int64_t)number;
}

/* A text up to its NUL. */
static const char *read_text(struct reader *reader, size_t *length)
{
    const unsigned char *text = reader->at;
    const unsigned char *end = memchr(text, 0, (size_t)(reader->end - text));
    if (end == NULL) {
        reader->at = reader->end;
        reader->bad = true;
        *length = 0;
        return "";
    }
    *length = (size_t)(end - text);
    reader->at = end + 1;
    return (const char *)text;
}

/* ---- what is asked ------------------------------------------------------------------------------ */

/* The first access in a section at an address or behind it. */
static uint32_t first_access(const struct lines *lines, uint32_t section, uint64_t at)
{
    uint32_t low = 0;
    uint32_t high = lines->access_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct pdl_machine_access *access = lines->accesses[middle];
        if (access->section < section || (access->section == section && access->at < at)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_asked(const struct lines *lines, uint32_t section)
{
    const uint32_t first = first_access(lines, section, 0);
    return first < lines->access_count && lines->accesses[first]->section == section;
}

static const char *path_of(struct lines *lines, uint32_t number)
{
    if (number == 0 || number > lines->file_count) {
        return NULL;
    }
    struct file *file = &lines->files[number - 1];
    if (file->path != NULL) {
        return file->path;
    }
    const bool whole = file->directory == 0 || file->directory > lines->directory_count ||
                       (file->length > 0 && file->name[0] == '/');
    const struct directory *directory = whole ? NULL : &lines->directories[file->directory - 1];
    const size_t length = file->length + (whole ? 0 : directory->length);
    if (length > LONGEST_PATH || length > lines->names_left) {
        return NULL;
    }
    lines->names_left -= length;
    file->path = whole ? pdl_arena_copy(lines->arena, file->name, file->length)
                       : pdl_arena_format(lines->arena, "%.*s/%.*s", (int)directory->length,
                                          directory->name, (int)file->length, file->name);
    return file->path;
}

static const char *function_of(struct lines *lines, const struct row *row)
{
    const struct pdl_elf_section *strings = &lines->strings;
    if (row->context == 0 || row->function >= strings->size) {
        return NULL;
    }
    struct name *cached = &lines->names[row->function % NAME_CACHE];
    if (cached->text != NULL && cached->at == row->function) {
        return cached->text;
    }
    const char *name = (const char *)strings->data + row->function;
    const size_t room = strings->size - row->function;
    const size_t length = strnlen(name, room < LONGEST_PATH ? room : LONGEST_PATH);
    if (length == 0 || length == room || length == LONGEST_PATH || length > lines->names_left) {
        return NULL;
    }
    lines->names_left -= length;
    *cached = (struct name){row->function, pdl_arena_copy(lines->arena, name, length)};
    return cached->text;
}

/* The places of an access at a row, innermost first. */
static void set_places(struct lines *lines, struct pdl_machine_access *access,
                       const struct row *row)
{
    pdl_inspect_place chain[CHAIN_MAX];
    uint32_t length = 0;
    while (row != NULL && length < CHAIN_MAX) {
        const uint32_t own = (uint32_t)(row - lines->rows) + 1;
        chain[length++] = (pdl_inspect_place){.size = (uint32_t)sizeof(chain[0]),
                                              .file = path_of(lines, row->file),
                                              .line = row->line,
                                              .inlined = function_of(lines, row)};
        /* What a function is inlined to comes before it: no circles. */
        row = row->context > 0 && row->context < own ? &lines->rows[row->context - 1] : NULL;
    }
    pdl_inspect_place *places = pdl_arena_alloc(lines->arena, length * sizeof(*places));
    const pdl_inspect_place **list = pdl_arena_alloc(lines->arena, length * sizeof(*list));
    for (uint32_t i = 0; i < length; i++) {
        places[i] = chain[i];
        list[i] = &places[i];
    }
    access->places = list;
    access->place_count = length;
}

/* What a sequence, which ends at an address, says of the accesses in it. */
static void use_sequence(struct lines *lines, uint32_t section, uint64_t end)
{
    uint32_t row = 0;
    const uint32_t count = lines->row_count;
    uint32_t at = count > 0 ? first_access(lines, section, lines->rows[0].at) : UINT32_MAX;
    for (; at < lines->access_count && lines->accesses[at]->section == section &&
           lines->accesses[at]->at < end && lines->uses_left > 0;
         at++, lines->uses_left--) {
        struct pdl_machine_access *access = lines->accesses[at];
        while (row + 1 < count && lines->rows[row + 1].at <= access->at) {
            row++;
        }
        if (lines->of_ptx) {
            access->ptx_line = lines->rows[row].line;
        } else if (access->places == NULL) {
            set_places(lines, access, &lines->rows[row]);
        }
    }
}

/* ---- units -------------------------------------------------------------------------------------- */

struct state {
    uint64_t at;
    uint64_t file;
    int64_t line;
    uint64_t context, function;
    uint32_t section;
    bool asked;   /* there are accesses in the section */
    bool ordered; /* its rows can be used: there are not too many, and addresses grow */
};

static const struct state fresh = {.file = 1, .line = 1, .section = UINT32_MAX, .ordered = true};

static void add_row(struct lines *lines, struct state *state)
{
    if (!state->asked || !state->ordered) {
        return;
    }
    if (lines->row_count == MOST_ROWS ||
        (lines->row_count > 0 && state->at < lines->rows[lines->row_count - 1].at)) {
        state->ordered = false;
        return;
    }
    PDL_ADD(lines->rows, lines->row_count, lines->row_capacity,
            (struct row){
                .at = state->at,
                .file = state->file <= UINT32_MAX ? (uint32_t)state->file : 0,
                .line = state->line > 0 && state->line <= INT32_MAX ? (uint32_t)state->line : 0,
                .context = state->context < UINT32_MAX ? (uint32_t)state->context : 0,
                .function = state->function <= UINT32_MAX ? (uint32_t)state->function : UINT32_MAX,
            });
}

static int by_offset(const void *left, const void *right)
{
    const uint64_t a = ((const struct relocation *)left)->at;
    const uint64_t b = ((const struct relocation *)right)->at;
    return (a > b) - (a < b);
}

/* An address is a symbol's, by a relocation of the field that has it. */
static void set_address(struct lines *lines, struct state *state, uint64_t field)
{
    const struct relocation key = {.at = field};
    const struct relocation *relocation =
        lines->relocation_count > 0
            ? bsearch(&key, lines->relocations, lines->relocation_count, sizeof(key), by_offset)
            : NULL;
    struct pdl_elf_symbol symbol;
    state->asked = false;
    if (relocation != NULL && pdl_elf_symbol(&lines->symbols, relocation->symbol, &symbol)) {
        state->section = symbol.section;
        state->at = symbol.value + (uint64_t)relocation->addend;
        state->asked = is_asked(lines, symbol.section);
    }
}

static void read_extended(struct lines *lines, struct reader *reader, struct state *state,
                          const unsigned char *section)
{
    const uint64_t length = read_unsigned(reader);
    if (length == 0 || length > (uint64_t)(reader->end - reader->at)) {
        reader->bad = true;
        return;
    }
    struct reader operands = {reader->at, reader->at + length, false};
    reader->at += length;
    switch (read_number(&operands, 1)) {
    case EXTENDED_END:
        if (state->asked && state->ordered) {
            use_sequence(lines, state->section, state->at);
        }
        lines->row_count = 0;
        *state = fresh;
        break;
    case EXTENDED_ADDRESS:
        set_address(lines, state, (uint64_t)(operands.at - section));
        break;
    case EXTENDED_INLINED:
        state->context = read_unsigned(&operands);
        state->function = read_unsigned(&operands);
        break;
    default:
        break;
    }
}

struct header {
    uint8_t minimum, line_range, opcode_base;
    int8_t line_base;
    uint8_t operands[256]; /* by standard opcode */
};

static void read_program(struct lines *lines, struct reader *reader, const struct header *header,
                         const unsigned char *section)
{
    struct state state = fresh;
    while (reader->at < reader->end && !reader->bad) {
        const unsigned opcode = (unsigned)read_number(reader, 1);
        if (opcode >= header->opcode_base) {
            const unsigned adjusted = opcode - header->opcode_base;
            state.at += (uint64_t)(adjusted / header->line_range) * header->minimum;
            state.line += header->line_base + (int)(adjusted % header->line_range);
            add_row(lines, &state);
            continue;
        }
        switch (opcode) {
        case 0:
            read_extended(lines, reader, &state, section);
            break;
        case STANDARD_COPY:
            add_row(lines, &state);
            break;
        case STANDARD_PC:
            state.at += read_unsigned(reader) * header->minimum;
            break;
        case STANDARD_LINE:
            state.line = (int64_t)((uint64_t)state.line + (uint64_t)read_signed(reader));
            break;
        case STANDARD_FILE:
            state.file = read_unsigned(reader);
            break;
        case STANDARD_CONST_PC:
            state.at +=
                (uint64_t)((255u - header->opcode_base) / header->line_range) * header->minimum;
            break;
        case STANDARD_FIXED_PC:
            state.at += read_number(reader, 2);
            break;
        case STANDARD_COLUMN:
        case STANDARD_STATEMENT:
        case STANDARD_BLOCK:
        default:
            for (unsigned i = 0; i < header->operands[opcode]; i++) {
                (void)read_unsigned(reader);
            }
            break;
        }
    }
    lines->row_count = 0;
}

static void read_names(struct lines *lines, struct reader *reader)
{
    size_t length;
    lines->directory_count = lines->file_count = 0;
    while (!reader->bad) {
        const char *name = read_text(reader, &length);
        if (length == 0) {
            break;
        }
        PDL_ADD(lines->directories, lines->directory_count, lines->directory_capacity,
                (struct directory){name, length});
    }
    while (!reader->bad) {
        const char *name = read_text(reader, &length);
        if (length == 0) {
            break;
        }
        const uint64_t directory = read_unsigned(reader);
        (void)read_unsigned(reader); /* when it was changed */
        (void)read_unsigned(reader); /* its size */
        PDL_ADD(lines->files, lines->file_count, lines->file_capacity,
                (struct file){
                    .name = name,
                    .length = length,
                    .directory = directory <= UINT32_MAX ? (uint32_t)directory : 0,
                });
    }
}

static void read_unit(struct lines *lines, struct reader *unit, const unsigned char *section)
{
    struct header header = {0};
    const uint64_t version = read_number(unit, 2);
    const uint64_t length = read_number(unit, 4);
    if (unit->bad || version < 2 || version > 4 || length > (uint64_t)(unit->end - unit->at)) {
        return;
    }
    struct reader names = {unit->at, unit->at + length, false};
    unit->at += length;
    header.minimum = (uint8_t)read_number(&names, 1);
    if (version == 4) {
        (void)read_number(&names, 1); /* operations per instruction */
    }
    (void)read_number(&names, 1); /* whether rows are statements at first */
    const uint8_t base = (uint8_t)read_number(&names, 1);
    memcpy(&header.line_base, &base, 1);
    header.line_range = (uint8_t)read_number(&names, 1);
    header.opcode_base = (uint8_t)read_number(&names, 1);
    if (names.bad || header.line_range == 0 || header.opcode_base == 0) {
        return;
    }
    for (unsigned opcode = 1; opcode < header.opcode_base; opcode++) {
        header.operands[opcode] = (uint8_t)read_number(&names, 1);
    }
    read_names(lines, &names);
    read_program(lines, unit, &header, section);
}

static void read_relocations(struct lines *lines, uint32_t index)
{
    struct pdl_elf_section section;
    lines->relocation_count = 0;
    for (uint32_t i = 0; pdl_elf_section(&lines->elf, i, &section); i++) {
        if (section.type != PDL_SHT_RELA || section.info != index) {
            continue;
        }
        for (size_t at = 0; section.size - at >= sizeof(struct pdl_elf64_rela);
             at += sizeof(struct pdl_elf64_rela)) {
            struct pdl_elf64_rela entry;
            memcpy(&entry, section.data + at, sizeof(entry));
            PDL_ADD(lines->relocations, lines->relocation_count, lines->relocation_capacity,
                    (struct relocation){entry.r_offset, (uint32_t)PDL_ELF64_R_SYM(entry.r_info),
                                        entry.r_addend});
        }
        break; /* one section of them for each other */
    }
    if (lines->relocation_count > 0) {
        qsort(lines->relocations, lines->relocation_count, sizeof(*lines->relocations), by_offset);
    }
}

static void read_table(struct lines *lines, const char *name)
{
    struct pdl_elf_section section;
    for (uint32_t i = 0; pdl_elf_section(&lines->elf, i, &section); i++) {
        if (strcmp(section.name, name) != 0 || section.data == NULL) {
            continue;
        }
        read_relocations(lines, i);
        struct reader reader = {section.data, section.data + section.size, false};
        while (reader.end - reader.at > 4) {
            const uint64_t length = read_number(&reader, 4);
            if (length > (uint64_t)(reader.end - reader.at)) {
                break;
            }
            struct reader unit = {reader.at, reader.at + length, false};
            reader.at += length;
            read_unit(lines, &unit, section.data);
        }
        break;
    }
}

void pdl_lines_find(struct pdl_arena *arena, const unsigned char *cubin, size_t size,
                    struct pdl_machine_access *const *accesses, uint32_t count)
{
    struct lines lines = {
        .arena = arena,
        .uses_left = LEAST_USES + (uint64_t)count * 16,
        .names_left = size,
        .accesses = accesses,
        .access_count = count,
    };
    if (count == 0 || !pdl_elf_open(&lines.elf, cubin, size) ||
        !pdl_elf_symbols(&lines.elf, &lines.symbols)) {
        return;
    }
    for (uint32_t i = 0; lines.strings.data == NULL && i < lines.elf.section_count; i++) {
        struct pdl_elf_section section;
        (void)pdl_elf_section(&lines.elf, i, &section);
        if (strcmp(section.name, ".debug_str") == 0) {
            lines.strings = section;
        }
    }
    read_table(&lines, ".debug_line");
    lines.of_ptx = true;
    read_table(&lines, ".nv_debug_line_sass");
}
