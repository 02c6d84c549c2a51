/* SPDX-License-Identifier: MIT */
#include "code/fatbin.h"

#include <string.h>

#define FLAG_ARCHITECTURE 0x100000u
#define FLAG_FAMILY       0x200000u
#define IMAGE_VERSION     0x101u /* of a record in a table */

bool pdl_fatbin_is(const unsigned char *bytes, size_t size)
{
    static const unsigned char begin[] = {0x50, 0xed, 0x55, 0xba, 1, 0};
    return size >= PDL_FATBIN_HEADER && memcmp(bytes, begin, sizeof(begin)) == 0;
}

void pdl_fatbin_open(struct pdl_fatbin *fatbin, const unsigned char *bytes, size_t size)
{
    *fatbin = (struct pdl_fatbin){.bytes = bytes, .size = size};
}

/* The size of a fatbin's header, and of its body as it says; 0 if the header is not whole. */
static size_t read_header(const unsigned char *bytes, size_t size, uint64_t *body_size)
{
    uint16_t header_size = 0;
    if (size < PDL_FATBIN_HEADER) {
        return 0;
    }
    memcpy(&header_size, bytes + 6, sizeof(header_size));
    memcpy(body_size, bytes + 8, sizeof(*body_size));
    return header_size >= PDL_FATBIN_HEADER && header_size <= size ? header_size : 0;
}

size_t pdl_fatbin_size(const unsigned char *bytes, size_t size)
{
    uint64_t body_size = 0;
    const size_t header_size = read_header(bytes, size, &body_size);
    return header_size > 0 && body_size <= size - header_size ? header_size + (size_t)body_size : 0;
}

/* Finds the next fatbin from `at` on, 8 bytes at a time: that is how they are aligned. */
static bool next_fatbin(struct pdl_fatbin *fatbin)
{
    size_t at = (fatbin->at + 7) / 8 * 8;
    for (; at < fatbin->size && fatbin->size - at >= PDL_FATBIN_HEADER; at += 8) {
        uint64_t body_size = 0;
        if (!pdl_fatbin_is(fatbin->bytes + at, fatbin->size - at)) {
            continue;
        }
        const size_t header_size = read_header(fatbin->bytes + at, fatbin->size - at, &body_size);
        if (header_size == 0) {
            fatbin->damaged = true;
            continue;
        }
        const size_t left = fatbin->size - at - header_size;
        if (body_size > left) {
            fatbin->damaged = true; /* the entries that are there can still be read */
            body_size = left;
        }
        fatbin->at = at + header_size;
        fatbin->end = fatbin->at + (size_t)body_size;
        fatbin->read++;
        return true;
    }
    fatbin->at = fatbin->end = fatbin->size;
    return false;
}

static enum pdl_fatbin_compression compression(const struct pdl_fatbin_entry_header *header)
{
    const uint64_t how = header->flags & (PDL_FATBIN_FLAG_LZ4 | PDL_FATBIN_FLAG_ZSTD);
    if (how == PDL_FATBIN_FLAG_LZ4) {
        return PDL_FATBIN_LZ4;
    }
    if (how == PDL_FATBIN_FLAG_ZSTD) {
        return PDL_FATBIN_ZSTD;
    }
    return how == 0 && header->compressed_size == 0 ? PDL_FATBIN_PLAIN : PDL_FATBIN_OTHER;
}

/* What a header says of an image, wherever that lies. */
static struct pdl_fatbin_entry describe(const struct pdl_fatbin_entry_header *header)
{
    struct pdl_fatbin_entry entry = {.kind = header->kind, .target = header->target};
    if (header->kind == PDL_FATBIN_LINKED_PTX) {
        entry.kind = PDL_FATBIN_PTX;
    }
    if (entry.kind == PDL_FATBIN_PTX && header->major < 1000 && header->minor < 10) {
        entry.ptx_version = (uint16_t)(header->major * 10 + header->minor);
    }
    if ((header->flags & FLAG_ARCHITECTURE) != 0) {
        entry.suffix = 'a';
    } else if ((header->flags & FLAG_FAMILY) != 0) {
        entry.suffix = 'f';
    }
    return entry;
}

/* Reads the entry at `at`; false if it is not whole. */
static bool read_entry(struct pdl_fatbin *fatbin, struct pdl_fatbin_entry *entry)
{
    struct pdl_fatbin_entry_header header;
    const size_t left = fatbin->end - fatbin->at;
    if (left < sizeof(header)) {
        return false;
    }
    memcpy(&header, fatbin->bytes + fatbin->at, sizeof(header));
    if (header.header_size < sizeof(header) || header.header_size > left ||
        header.payload_size > left - header.header_size) {
        return false;
    }
    const enum pdl_fatbin_compression how = compression(&header);
    size_t size = (size_t)header.payload_size;
    if (how != PDL_FATBIN_PLAIN && header.compressed_size > 0) {
        if (header.compressed_size > size) {
            return false;
        }
        size = header.compressed_size;
    }
    *entry = describe(&header);
    entry->compression = how;
    entry->payload = fatbin->bytes + fatbin->at + header.header_size;
    entry->size = size;
    entry->full_size = header.full_size;
    entry->header = fatbin->bytes + fatbin->at;
    entry->header_size = header.header_size;
    entry->padded_size = (size_t)header.payload_size;
    fatbin->at += header.header_size + (size_t)header.payload_size;
    return true;
}

/* ---- tables of images ------------------------------------------------------------------------ */

/* Begins to walk a table; false if what it says of itself is wrong. */
static bool open_table(struct pdl_fatbin *fatbin, const struct pdl_fatbin_entry *table)
{
    const size_t begin = sizeof(struct pdl_fatbin_entry_header);
    uint32_t about[2]; /* images, size */
    if (table->header_size < begin + sizeof(about)) {
        return false;
    }
    memcpy(about, table->header + begin, sizeof(about));
    if (about[0] == 0 || about[1] < sizeof(about) || about[1] > table->header_size - begin) {
        return false;
    }
    fatbin->table = *table;
    fatbin->images_left = about[0];
    fatbin->record = table->header + begin + sizeof(about);
    fatbin->records_end = table->header + begin + about[1];
    fatbin->parts_end = 0;
    return true;
}

static uint64_t string_end(uint64_t at, uint32_t length)
{
    return at + ((uint64_t)length + 8) / 8 * 8;
}

/* How long a record is with its strings; 0 if they are not whole. */
static size_t record_size(const struct pdl_fatbin_entry_header *header, const unsigned char *record,
                          size_t left)
{
    uint64_t size = sizeof(*header);
    if (header->name != 0 && string_end(header->name, header->name_size) > size) {
        size = string_end(header->name, header->name_size);
    }
    if (header->options != 0) {
        uint32_t options[2]; /* place, length */
        if (left < sizeof(options) || header->options > left - sizeof(options)) {
            return 0;
        }
        memcpy(options, record + header->options, sizeof(options));
        if (string_end(options[0], options[1]) > size) {
            size = string_end(options[0], options[1]);
        }
    }
    return size <= left ? (size_t)size : 0;
}

/* Reads the next image of the table. Images neither lie over each other nor go back, so that they are not
 * more than the payload is. */
static bool read_image(struct pdl_fatbin *fatbin, struct pdl_fatbin_entry *entry)
{
    struct pdl_fatbin_entry_header header;
    const struct pdl_fatbin_entry *const table = &fatbin->table;
    const bool plain = table->compression == PDL_FATBIN_PLAIN;
    const uint64_t full_size = plain ? table->size : table->full_size;
    const size_t left = (size_t)(fatbin->records_end - fatbin->record);
    if (left < sizeof(header)) {
        return false;
    }
    memcpy(&header, fatbin->record, sizeof(header));
    const uint64_t at = header.header_size;
    const size_t size = record_size(&header, fatbin->record, left);
    if (size == 0 || header.version != IMAGE_VERSION || header.payload_size == 0 ||
        at < fatbin->parts_end || at > full_size || header.payload_size > full_size - at ||
        (fatbin->images_left == 1 && size != left)) {
        return false;
    }
    *entry = describe(&header);
    entry->header = fatbin->record;
    entry->header_size = size;
    entry->in_table = true;
    entry->compression =
        compression(&header) == PDL_FATBIN_PLAIN ? table->compression : PDL_FATBIN_OTHER;
    entry->payload = plain ? table->payload + at : table->payload;
    entry->size = plain ? (size_t)header.payload_size : table->size;
    entry->full_size = table->full_size;
    entry->part_at = plain ? 0 : at;
    entry->part_size = plain ? 0 : header.payload_size;
    fatbin->parts_end = at + header.payload_size;
    fatbin->record += size;
    fatbin->images_left--;
    return true;
}

/* The next image of a table, or the table itself if it is damaged. */
static void next_image(struct pdl_fatbin *fatbin, struct pdl_fatbin_entry *entry)
{
    if (!read_image(fatbin, entry)) {
        fatbin->damaged = true;
        fatbin->images_left = 0;
        *entry = fatbin->table;
    }
}

bool pdl_fatbin_next(struct pdl_fatbin *fatbin, struct pdl_fatbin_entry *entry)
{
    for (;;) {
        if (fatbin->images_left > 0) {
            next_image(fatbin, entry);
            return true;
        }
        if (fatbin->at < fatbin->end) {
            if (read_entry(fatbin, entry)) {
                if (entry->kind == PDL_FATBIN_TABLE && open_table(fatbin, entry)) {
                    continue;
                }
                fatbin->damaged = fatbin->damaged || entry->kind == PDL_FATBIN_TABLE;
                return true;
            }
            /* Where the next entry would be is not known; where the next fatbin is, is. */
            fatbin->damaged = true;
            fatbin->at = fatbin->end;
        }
        if (!next_fatbin(fatbin)) {
            return false;
        }
    }
}
