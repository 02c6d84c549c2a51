/* SPDX-License-Identifier: MIT */
#include "code/fatbin.h"

#include <string.h>

#define FLAG_ARCHITECTURE 0x100000u
#define FLAG_FAMILY       0x200000u

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
    *entry = (struct pdl_fatbin_entry){
        .kind = header.kind,
        .ptx_version = header.kind == PDL_FATBIN_PTX && header.major < 1000 && header.minor < 10
                           ? (uint16_t)(header.major * 10 + header.minor)
                           : 0,
        .target = header.target,
        .suffix = '\0',
        .compression = how,
        .payload = fatbin->bytes + fatbin->at + header.header_size,
        .size = size,
        .full_size = header.full_size,
        .header = fatbin->bytes + fatbin->at,
        .header_size = header.header_size,
        .padded_size = (size_t)header.payload_size,
    };
    if ((header.flags & FLAG_ARCHITECTURE) != 0) {
        entry->suffix = 'a';
    } else if ((header.flags & FLAG_FAMILY) != 0) {
        entry->suffix = 'f';
    }
    fatbin->at += header.header_size + (size_t)header.payload_size;
    return true;
}

bool pdl_fatbin_next(struct pdl_fatbin *fatbin, struct pdl_fatbin_entry *entry)
{
    for (;;) {
        if (fatbin->at < fatbin->end) {
            if (read_entry(fatbin, entry)) {
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
