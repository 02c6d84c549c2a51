/* SPDX-License-Identifier: MIT */
#include "inspect/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/elf64.h"
#include "code/fatbin.h"
#include "code/lexer.h"
#include "code/unpack.h"

#define MAX_CUBIN ((size_t)1 << 30)

/* What is unpacked unless the options say more: a compressed text is rarely a tenth of itself. */
#define LEAST_UNPACKED  ((uint64_t)64 << 20)
#define UNPACKED_TO_ONE 16u

/* While one input is walked. */
struct reader {
    pdl_inspection *inspection;
    const char *name;         /* of the file, or of the archive and its member */
    bool linked;              /* a program or library that holds device code linked for it */
    bool is_relocatable_part; /* the fatbins walked now are what it was linked from */
    uint32_t readable;        /* images whose code was read, or tells why not image by image */
    const char *first_unread; /* of the first image that was not read */
    uint64_t max_unpacked;
    uint64_t left; /* of that; 0: no image is unpacked any more */
    bool left_out; /* one was not because of that */
    /* The payload that a table's images share, decompressed: */
    const unsigned char *payload; /* of the entry; NULL: none yet */
    enum pdl_unpack_result result;
    size_t unpacked_size; /* of the inspection's `unpacked` */
};

/* ---- images --------------------------------------------------------------------------------- */

/* What an image was before its code was read, to go back to. */
struct mark {
    uint32_t kernels;
    uint32_t findings;
    uint32_t markers;
    uint32_t machines;
    uint32_t noted;
};

static struct mark mark_of(const pdl_inspection *inspection)
{
    return (struct mark){.kernels = inspection->kernel_count,
                         .findings = inspection->finding_count,
                         .markers = inspection->marker_count,
                         .machines = inspection->machine_count,
                         .noted = inspection->noted_count};
}

/* Says why the last image was not read. */
static void leave_unread(struct reader *reader, uint32_t image, struct mark mark, const char *why)
{
    pdl_inspection *inspection = reader->inspection;
    pdl_inspect_image *about = &inspection->images[image];
    inspection->kernel_count = mark.kernels;
    inspection->finding_count = mark.findings;
    inspection->marker_count = mark.markers;
    inspection->machine_count = mark.machines;
    inspection->noted_count = mark.noted;
    about->kernel_count = 0;
    about->function_count = 0;
    about->unread = pdl_arena_copy(&inspection->arena, why, strlen(why));
    if (reader->first_unread == NULL) {
        reader->first_unread = about->unread;
    }
}

/* Its number. */
static uint32_t add_image(struct reader *reader, const char *origin, int32_t kind)
{
    const pdl_inspect_image image = {.origin = origin, .kind = kind};
    pdl_inspection_add_image(reader->inspection, &image);
    return reader->inspection->image_count - 1;
}

/* The code of an image. */
struct code {
    pdl_inspection *inspection;
    const unsigned char *bytes;
    size_t size;
    uint32_t image;
};

static void read_code(void *context)
{
    const struct code *code = context;
    pdl_inspection *inspection = code->inspection;
    const uint64_t max = inspection->options->max_text;
    size_t size = code->size;
    if (inspection->images[code->image].kind != PDL_INSPECT_PTX) {
        pdl_cubin_read(inspection, code->bytes, size, code->image);
        return;
    }
    while (size > 0 && code->bytes[size - 1] == '\0') {
        size--; /* how texts are padded, and end in C */
    }
    if (size > max) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                 "the PTX has %zu bytes, more than the %llu that are read", size,
                 (unsigned long long)max);
    }
    pdl_ptx_read(inspection, (const char *)code->bytes, size, code->image);
}

/* A PTX text or a cubin that is the whole input. */
static void read_bare(struct reader *reader, const unsigned char *bytes, size_t size, int32_t kind)
{
    pdl_inspection *inspection = reader->inspection;
    const char *origin = pdl_arena_copy(&inspection->arena, reader->name, strlen(reader->name));
    struct code code = {inspection, bytes, size, add_image(reader, origin, kind)};
    reader->readable++;
    read_code(&code);
}

/* ---- fatbins -------------------------------------------------------------------------------- */

static const char *unpack_message(struct reader *reader, enum pdl_unpack_result result,
                                  enum pdl_fatbin_compression compression)
{
    switch (result) {
    case PDL_UNPACK_NO_LIBRARY:
        return compression == PDL_FATBIN_LZ4
                   ? "it is compressed with LZ4, and liblz4.so.1 cannot be opened"
                   : "it is compressed with Zstandard, and libzstd.so.1 cannot be opened";
    case PDL_UNPACK_UNKNOWN:
        return "it is compressed in an unknown format";
    case PDL_UNPACK_TOO_LARGE:
        if (reader->left > 0) {
            return "it would be larger than the limit when decompressed";
        }
        return pdl_arena_format(&reader->inspection->arena,
                                "with it, more than %llu bytes of the input would be decompressed",
                                (unsigned long long)reader->max_unpacked);
    default:
        return "its compressed data are damaged";
    }
}

static const char *origin_of(struct reader *reader, const struct pdl_fatbin_entry *entry)
{
    const bool text = entry->kind == PDL_FATBIN_PTX;
    const char suffix[] = {entry->suffix, '\0'};
    const char *extension = "cubin";
    if (text) {
        extension = "ptx";
    } else if (entry->kind != PDL_FATBIN_CUBIN) {
        extension = entry->kind == PDL_FATBIN_LTO    ? "lto"
                    : entry->kind == PDL_FATBIN_TILE ? "tile"
                                                     : "unknown";
    }
    return pdl_arena_format(&reader->inspection->arena, "%s(%u.%s_%u%s.%s)", reader->name,
                            reader->inspection->image_count + 1, text ? "compute" : "sm",
                            (unsigned)entry->target, suffix, extension);
}

/* The code of an image among others, which are read whatever comes of it. */
static void try_code(struct reader *reader, struct code code)
{
    char why[sizeof(pdl_inspect_last_error()->message) + 64];
    const struct mark mark = mark_of(reader->inspection);
    const pdl_status status = pdl_attempt(read_code, &code);
    if (status == PDL_SUCCESS) {
        reader->readable++;
        return;
    }
    if (status == PDL_ERROR_OUT_OF_MEMORY || status == PDL_ERROR_CANCELLED) {
        pdl_fail_again(status);
    }
    const pdl_inspect_error *error = pdl_inspect_last_error();
    if (error->line > 0) {
        (void)snprintf(why, sizeof(why), "line %u, column %u: %s", (unsigned)error->line,
                       (unsigned)error->column, error->message);
    } else {
        (void)snprintf(why, sizeof(why), "%s", error->message);
    }
    leave_unread(reader, code.image, mark, why);
}

static bool is_relocatable_cubin(const unsigned char *bytes, size_t size)
{
    struct pdl_elf elf;
    return pdl_elf_open(&elf, bytes, size) && elf.header.e_type == PDL_ET_REL;
}

/* Decompresses an entry of at most `max` bytes, as long as there is some left of what may be of all. */
static enum pdl_unpack_result unpack(struct reader *reader, const struct pdl_fatbin_entry *entry,
                                     size_t max, unsigned char **bytes, size_t *size)
{
    const bool last = reader->left < max;
    if (reader->left == 0) {
        return PDL_UNPACK_TOO_LARGE;
    }
    const enum pdl_unpack_result result =
        pdl_unpack_payload(entry, last ? (size_t)reader->left : max, bytes, size);
    /* An attempt counts too: each could otherwise take the time of all. */
    reader->left -= *size < reader->left ? *size : reader->left;
    if (result == PDL_UNPACK_TOO_LARGE && last) {
        reader->left = 0;
    }
    return result;
}

/* The image of an entry, in memory that stays until the next one is unpacked. Of a table, all images are
 * unpacked together: each by itself would take the time of all before it. */
static enum pdl_unpack_result unpack_image(struct reader *reader,
                                           const struct pdl_fatbin_entry *entry, size_t max,
                                           const unsigned char **bytes, size_t *size)
{
    if (reader->payload != entry->payload) {
        free(reader->inspection->unpacked);
        reader->inspection->unpacked = NULL;
        reader->payload = entry->payload;
        reader->result = unpack(reader, entry, entry->part_size > 0 ? MAX_CUBIN : max,
                                &reader->inspection->unpacked, &reader->unpacked_size);
    }
    if (reader->result != PDL_UNPACKED) {
        return reader->result;
    }
    *size = reader->unpacked_size;
    *bytes = pdl_unpack_image(entry, reader->inspection->unpacked, size);
    return *bytes != NULL ? PDL_UNPACKED : PDL_UNPACK_DAMAGED;
}

/* Why nothing is known of what is in an entry of such a kind, and what its image is. */
static const char *unread_kind(uint16_t entry_kind, int32_t *kind)
{
    switch (entry_kind) {
    case PDL_FATBIN_LTO:
        *kind = PDL_INSPECT_LTO;
        return "it is intermediate code for link-time optimization";
    case PDL_FATBIN_TILE:
        *kind = PDL_INSPECT_TILE;
        return "it is Tile IR, which the driver compiles";
    case PDL_FATBIN_TABLE:
        *kind = PDL_INSPECT_UNKNOWN;
        return "its table of images is damaged";
    default:
        *kind = PDL_INSPECT_UNKNOWN;
        return NULL;
    }
}

static void read_entry(struct reader *reader, const struct pdl_fatbin_entry *entry)
{
    reader->inspection->in_container = true;
    const unsigned char *bytes = entry->payload;
    size_t size = entry->size;
    pdl_inspection *inspection = reader->inspection;
    enum pdl_unpack_result result = PDL_UNPACKED;
    const bool text = entry->kind == PDL_FATBIN_PTX;
    const bool machine = entry->kind == PDL_FATBIN_CUBIN;
    if ((text || machine) && entry->compression != PDL_FATBIN_PLAIN) {
        const uint64_t max_text = inspection->options->max_text;
        const size_t max = text && max_text < SIZE_MAX ? (size_t)max_text : MAX_CUBIN;
        result = unpack_image(reader, entry, max, &bytes, &size);
        if (result == PDL_UNPACK_NO_MEMORY) {
            pdl_fail_memory();
        }
    }
    if (machine && reader->is_relocatable_part && result == PDL_UNPACKED &&
        is_relocatable_cubin(bytes, size)) {
        return; /* what runs is what it was linked to, which is read too */
    }
    int32_t kind = text ? PDL_INSPECT_PTX : PDL_INSPECT_SASS;
    const char *unread = text || machine ? NULL : unread_kind(entry->kind, &kind);
    if (kind == PDL_INSPECT_UNKNOWN && unread == NULL) {
        unread = pdl_arena_format(&inspection->arena, "it is of an unknown kind, %#x",
                                  (unsigned)entry->kind);
    }
    const uint32_t image = add_image(reader, origin_of(reader, entry), kind);
    pdl_inspect_image *about = &inspection->images[image];
    about->target = entry->target <= INT32_MAX ? (int32_t)entry->target : 0;
    about->target_suffix = entry->suffix;
    about->compressed = entry->compression != PDL_FATBIN_PLAIN;
    about->ptx_version = entry->ptx_version;
    if (!text && !machine) {
        leave_unread(reader, image, mark_of(inspection), unread);
    } else if (result != PDL_UNPACKED) {
        about->left_out = result == PDL_UNPACK_TOO_LARGE;
        reader->left_out = reader->left_out || (about->left_out && reader->left == 0);
        leave_unread(reader, image, mark_of(inspection),
                     unpack_message(reader, result, entry->compression));
    } else {
        try_code(reader, (struct code){inspection, bytes, size, image});
        if (machine && about->target_suffix == '\0') {
            about->target_suffix = entry->suffix; /* where the cubin does not say it */
        }
    }
}

/* Reads all fatbins in memory. What is damaged is an error, unless it was only searched for. */
static void read_fatbins(struct reader *reader, const unsigned char *bytes, size_t size,
                         bool searched)
{
    struct pdl_fatbin fatbin;
    struct pdl_fatbin_entry entry;
    pdl_fatbin_open(&fatbin, bytes, size);
    while (pdl_fatbin_next(&fatbin, &entry)) {
        read_entry(reader, &entry);
    }
    if (fatbin.damaged && !searched) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                 "the fatbin is damaged or cut short: its headers do not fit its "
                 "%zu bytes",
                 size);
    }
}

/* ---- ELF files of the host ------------------------------------------------------------------ */

enum part { PART_NONE, PART_FATBINS, PART_RELOCATABLE, PART_DATA };

/* Where fatbins are: nvcc and clang put them into sections of their own. Libraries that register
 * their code themselves have them among their data. */
static enum part part_of(const struct pdl_elf_section *section)
{
    const uint64_t flags = section->flags & (PDL_SHF_ALLOC | PDL_SHF_EXECINSTR);
    if (section->size == 0) {
        return PART_NONE;
    }
    if (strcmp(section->name, ".nv_fatbin") == 0) {
        return PART_FATBINS;
    }
    if (strcmp(section->name, "__nv_relfatbin") == 0) {
        return PART_RELOCATABLE;
    }
    return section->type == PDL_SHT_PROGBITS && flags == PDL_SHF_ALLOC ? PART_DATA : PART_NONE;
}

/* Looks for fatbins in data that is loaded to an address, where they are aligned. */
static void search(struct reader *reader, const unsigned char *bytes, size_t size, uint64_t address)
{
    const size_t skip = (size_t)(-address & 7);
    if (size > skip) {
        read_fatbins(reader, bytes + skip, size - skip, true);
    }
}

/* What segments have in common: the pages where one ends and the next one begins. */
#define SHARED_MAX ((uint64_t)64 * 65536)

static void read_segments(struct reader *reader, const struct pdl_elf *elf)
{
    struct pdl_elf64_phdr segment;
    uint64_t total = 0;
    for (uint32_t i = 0; pdl_elf_segment(elf, i, &segment); i++) {
        uint64_t size = segment.p_filesz;
        const unsigned char *data =
            segment.p_type == PDL_PT_LOAD ? pdl_elf_range(elf, segment.p_offset, &size) : NULL;
        if (data == NULL) {
            continue;
        }
        total += size;
        if (total > elf->size + SHARED_MAX) {
            pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                     "the ELF file is damaged: its segments overlap");
        }
        search(reader, data, (size_t)size, segment.p_vaddr);
    }
}

static void read_part(struct reader *reader, const struct pdl_elf_section *section)
{
    const enum part part = part_of(section);
    if (part == PART_DATA) {
        search(reader, section->data, section->size, section->address);
    } else if (part != PART_NONE) {
        reader->is_relocatable_part = part == PART_RELOCATABLE && reader->linked;
        read_fatbins(reader, section->data, section->size, false);
        reader->is_relocatable_part = false;
    }
}

static void read_host(struct reader *reader, const struct pdl_elf *elf)
{
    struct pdl_elf_section section;
    uint64_t total = 0;
    bool cut = elf->cut;
    reader->linked = false;
    for (uint32_t i = 0; pdl_elf_section(elf, i, &section); i++) {
        const enum part part = part_of(&section);
        total += part != PART_NONE ? section.size : 0;
        cut = cut || section.cut;
        reader->linked =
            reader->linked || (part == PART_FATBINS && elf->header.e_type != PDL_ET_REL);
    }
    if (cut || total > elf->size) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                 "the ELF file is damaged or cut short: its headers do not fit its "
                 "%zu bytes",
                 elf->size);
    }
    if (elf->section_count == 0) {
        read_segments(reader, elf);
        return;
    }
    for (uint32_t i = 0; pdl_elf_section(elf, i, &section); i++) {
        read_part(reader, &section);
    }
}

static void read_elf(struct reader *reader, const unsigned char *bytes, size_t size)
{
    struct pdl_elf elf;
    if (!pdl_elf_open(&elf, bytes, size)) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                 "the ELF file is cut short, or not of 64 bits and little endian");
    }
    if (elf.header.e_machine == PDL_EM_CUDA) {
        read_bare(reader, bytes, size, PDL_INSPECT_SASS);
    } else {
        read_host(reader, &elf);
    }
}

/* ---- archives ------------------------------------------------------------------------------- */

#define ARCHIVE_MAGIC      "!<arch>\n"
#define ARCHIVE_MAGIC_SIZE 8

struct member_header {
    char name[16];
    char unused[32];
    char size[10];
    char end[2];
};

_Static_assert(sizeof(struct member_header) == 60, "a member's header has no padding");

/* The number in a field of decimal digits; false if it is none. */
static bool field_number(const char *field, size_t width, size_t *number)
{
    size_t at = 0;
    *number = 0;
    for (; at < width && field[at] >= '0' && field[at] <= '9'; at++) {
        *number = *number * 10 + (size_t)(field[at] - '0');
    }
    return at > 0;
}

/* A member's name: in its header up to a slash, or at a place in the table of long names. */
static const char *member_name(struct reader *reader, const struct member_header *header,
                               const unsigned char *names, size_t names_size)
{
    const char *text = header->name;
    size_t room = sizeof(header->name);
    size_t at;
    size_t length = 0;
    if (text[0] == '/' && field_number(text + 1, room - 1, &at) && at < names_size) {
        text = (const char *)names + at;
        room = names_size - at;
    }
    while (length < room && length < 4096 && text[length] != '/' && text[length] != '\n') {
        length++;
    }
    return pdl_arena_format(&reader->inspection->arena, "%s(%.*s)", reader->name, (int)length,
                            text);
}

static void read_archive(struct reader *reader, const unsigned char *bytes, size_t size)
{
    const unsigned char *names = NULL;
    size_t names_size = 0;
    const char *archive = reader->name;
    for (size_t at = ARCHIVE_MAGIC_SIZE; at < size;) {
        struct member_header header;
        size_t length = 0;
        if (size - at < sizeof(header)) {
            pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0, "the archive is cut short");
        }
        memcpy(&header, bytes + at, sizeof(header));
        at += sizeof(header);
        if (memcmp(header.end, "`\n", 2) != 0 ||
            !field_number(header.size, sizeof(header.size), &length) || length > size - at) {
            pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0, "the archive is damaged or cut short");
        }
        const unsigned char *member = bytes + at;
        if (memcmp(header.name, "// ", 3) == 0) {
            names = member;
            names_size = length;
        } else if (pdl_elf_is(member, length)) {
            reader->name = member_name(reader, &header, names, names_size);
            read_elf(reader, member, length);
            reader->name = archive;
        }
        at += length;
        at += length % 2 != 0 && at < size ? 1 : 0;
    }
}

/* ---- what it is ----------------------------------------------------------------------------- */

/* Whether text begins as PTX does: with .version behind blanks and comments. `at` is where the first
 * word stands. */
static bool is_ptx(const unsigned char *bytes, size_t size, size_t *at)
{
    const char *text = (const char *)bytes;
    struct pdl_lexer lexer;
    pdl_lexer_start(&lexer, text, text + size, 1, 2); /* in column 1 a '#' begins a comment */
    pdl_lexer_next(&lexer);
    *at = (size_t)(lexer.line_start - text) + lexer.token.column - 1;
    return PDL_TOKEN_IS(&lexer, ".version");
}

/* What was seen, where nothing was known. */
static void not_known(const unsigned char *bytes, size_t size, size_t at)
{
    char seen[48];
    size_t length = 0;
    bool text = true;
    for (size_t i = at; i < size && i < at + 12; i++) {
        text = text && bytes[i] >= ' ' && bytes[i] <= '~';
    }
    seen[0] = '\0';
    for (size_t i = at; i < size && i < at + 12; i++) {
        length +=
            (size_t)snprintf(seen + length, sizeof(seen) - length, text ? "%c" : "%02x ", bytes[i]);
    }
    if (at >= size) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                 "there is nothing but blanks and comments in its %zu bytes", size);
    }
    pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
             "the %zu bytes are neither PTX text nor a cubin, a fatbin, an archive "
             "or an ELF file: they begin with %s%s",
             size, text ? "the text " : "the bytes ", seen);
}

static void read_any(struct reader *reader, const unsigned char *bytes, size_t size)
{
    size_t at = 0;
    if (size == 0) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0, "it is empty");
    }
    if (pdl_elf_is(bytes, size)) {
        read_elf(reader, bytes, size);
    } else if (pdl_fatbin_is(bytes, size)) {
        read_fatbins(reader, bytes, size, false);
    } else if (size >= ARCHIVE_MAGIC_SIZE &&
               memcmp(bytes, ARCHIVE_MAGIC, ARCHIVE_MAGIC_SIZE) == 0) {
        read_archive(reader, bytes, size);
    } else if (size >= ARCHIVE_MAGIC_SIZE && memcmp(bytes, "!<thin>\n", ARCHIVE_MAGIC_SIZE) == 0) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0, "it is a thin archive, which holds no code itself");
    } else if (is_ptx(bytes, size, &at)) {
        read_bare(reader, bytes, size, PDL_INSPECT_PTX);
    } else {
        not_known(bytes, size, at);
    }
}

void pdl_container_read(pdl_inspection *inspection, const unsigned char *bytes, size_t size,
                        const char *name)
{
    struct reader reader = {
        .inspection = inspection, .name = name, .max_unpacked = inspection->options->max_unpacked};
    if (reader.max_unpacked == 0) {
        reader.max_unpacked = (uint64_t)size > LEAST_UNPACKED / UNPACKED_TO_ONE
                                  ? (uint64_t)size * UNPACKED_TO_ONE
                                  : LEAST_UNPACKED;
    }
    reader.left = reader.max_unpacked;
    read_any(&reader, bytes, size);
    if (inspection->image_count == 0) {
        pdl_fail(PDL_ERROR_NO_KERNEL_IMAGE, 0, 0, "there is no device code in it");
    }
    if (reader.readable == 0 && !reader.left_out) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                 "none of its %u images can be read; of the first, %s", inspection->image_count,
                 reader.first_unread);
    }
}
