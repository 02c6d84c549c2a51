/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/names.h"

#include <string.h>

#include "inspect/memory.h"

static uint64_t read_8(const char *text)
{
    uint64_t part;
    memcpy(&part, text, sizeof(part));
    return part;
}

static uint64_t read_4(const char *text)
{
    uint32_t part;
    memcpy(&part, text, sizeof(part));
    return part;
}

static uint64_t mixed(uint64_t hash, uint64_t part)
{
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* The first and last characters of a name, all of them up to a length of 16. */
static struct pdl_recent_name ends_of(const char *text, uint32_t length)
{
    struct pdl_recent_name ends = {.length = length};
    if (length >= 8) {
        ends.begin = read_8(text);
        ends.end = read_8(text + length - 8);
    } else if (length >= 4) {
        ends.begin = read_4(text);
        ends.end = read_4(text + length - 4);
    } else {
        memcpy(&ends.begin, text, length);
    }
    return ends;
}

static uint32_t hash_of(const char *text, const struct pdl_recent_name *ends)
{
    uint64_t hash = mixed(mixed(0xcbf29ce484222325u ^ ends->length, ends->begin), ends->end);
    for (uint32_t i = 8; ends->length > 16 && i < ends->length - 8; i += 8) {
        hash = mixed(hash, read_8(text + i));
    }
    return (uint32_t)(hash * 0x9e3779b97f4a7c15u >> 32);
}

/* The slot where the name is, or would go. */
static uint32_t *slot_of(const struct pdl_names *names, const char *text, uint32_t length,
                         uint32_t hash)
{
    const uint32_t mask = names->slot_count - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        if (names->slots[i] == 0) {
            return &names->slots[i];
        }
        const struct pdl_name *name = &names->names[names->slots[i] - 1];
        if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0) {
            return &names->slots[i];
        }
    }
}

static void grow(struct pdl_names *names)
{
    const uint32_t count = names->slot_count == 0 ? 1024 : names->slot_count * 2;
    if (count == 0) {
        pdl_fail_memory();
    }
    pdl_give_back(names->slots);
    names->slots = NULL;
    names->slots = pdl_take(count, sizeof(*names->slots));
    names->slot_count = count;
    for (uint32_t i = 0; i < names->count; i++) {
        const struct pdl_name *name = &names->names[i];
        *slot_of(names, name->text, name->length, name->hash) = i + 1;
    }
}

uint32_t pdl_names_add(struct pdl_names *names, const char *text, uint32_t length)
{
    struct pdl_recent_name ends = ends_of(text, length);
    const uint32_t hash = hash_of(text, &ends);
    struct pdl_recent_name *recent = &names->recent[hash % PDL_NAMES_RECENT];
    if (length <= 16 && recent->length == length && recent->begin == ends.begin &&
        recent->end == ends.end && length > 0) {
        return recent->number;
    }
    if (names->count >= names->slot_count / 2) {
        grow(names);
    }
    uint32_t *slot = slot_of(names, text, length, hash);
    if (*slot == 0) {
        PDL_ADD(names->names, names->count, names->capacity, (struct pdl_name){text, length, hash});
        *slot = names->count;
    }
    ends.number = *slot - 1;
    *recent = ends;
    return ends.number;
}

uint32_t pdl_names_find(const struct pdl_names *names, const char *text, uint32_t length)
{
    if (names->slot_count == 0) {
        return PDL_NONE;
    }
    const struct pdl_recent_name ends = ends_of(text, length);
    const uint32_t found = *slot_of(names, text, length, hash_of(text, &ends));
    return found == 0 ? PDL_NONE : found - 1;
}

void pdl_names_cut(struct pdl_names *names, uint32_t count)
{
    /* Backwards: what came last is in nobody's way. */
    while (names->count > count) {
        const struct pdl_name *last = &names->names[--names->count];
        *slot_of(names, last->text, last->length, last->hash) = 0;
    }
    memset(names->recent, 0, sizeof(names->recent));
}
