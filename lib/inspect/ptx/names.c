/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/names.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"

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

/* Most names are short: the last bytes are read again where that saves looking at each. */
static uint32_t hash_of(const char *text, uint32_t length)
{
    uint64_t hash = 0xcbf29ce484222325u ^ length;
    const char *const last = text + length;
    if (length >= 8) {
        for (; last - text > 8; text += 8) {
            hash = mixed(hash, read_8(text));
        }
        hash = mixed(hash, read_8(last - 8));
    } else if (length >= 4) {
        hash = mixed(hash, read_4(text) << 32 | read_4(last - 4));
    } else if (length > 0) {
        hash = mixed(hash, (uint64_t)(unsigned char)text[0] << 16 |
                               (uint64_t)(unsigned char)text[length / 2] << 8 |
                               (unsigned char)last[-1]);
    }
    return (uint32_t)(hash * 0x9e3779b97f4a7c15u >> 32);
}

static bool same_text(const char *a, const char *b, uint32_t length)
{
    if (length >= 8) {
        return read_8(a) == read_8(b) && read_8(a + length - 8) == read_8(b + length - 8) &&
               (length <= 16 || memcmp(a + 8, b + 8, length - 8) == 0);
    }
    if (length >= 4) {
        return read_4(a) == read_4(b) && read_4(a + length - 4) == read_4(b + length - 4);
    }
    return memcmp(a, b, length) == 0;
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
        if (name->hash == hash && name->length == length && same_text(name->text, text, length)) {
            return &names->slots[i];
        }
    }
}

static bool grow(struct pdl_names *names)
{
    const uint32_t count = names->slot_count == 0 ? 1024 : names->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof(*slots));
    if (slots == NULL || count == 0) {
        free(slots);
        return false;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    for (uint32_t i = 0; i < names->count; i++) {
        const struct pdl_name *name = &names->names[i];
        *slot_of(names, name->text, name->length, name->hash) = i + 1;
    }
    return true;
}

uint32_t pdl_names_add(struct pdl_names *names, const char *text, uint32_t length)
{
    const uint32_t hash = hash_of(text, length);
    if (names->count >= names->slot_count / 2 && !grow(names)) {
        return PDL_NONE;
    }
    uint32_t *slot = slot_of(names, text, length, hash);
    if (*slot == 0) {
        if (!PDL_ARRAY_ROOM(names->names, names->count, names->capacity)) {
            return PDL_NONE;
        }
        names->names[names->count] = (struct pdl_name){text, length, hash};
        names->count++;
        *slot = names->count;
    }
    return *slot - 1;
}

uint32_t pdl_names_find(const struct pdl_names *names, const char *text, uint32_t length)
{
    if (names->slot_count == 0) {
        return PDL_NONE;
    }
    const uint32_t found = *slot_of(names, text, length, hash_of(text, length));
    return found == 0 ? PDL_NONE : found - 1;
}

void pdl_names_cut(struct pdl_names *names, uint32_t count)
{
    /* Backwards: what came last is in nobody's way. */
    while (names->count > count) {
        const struct pdl_name *last = &names->names[--names->count];
        *slot_of(names, last->text, last->length, last->hash) = 0;
    }
}

void pdl_names_free(struct pdl_names *names)
{
    free(names->names);
    free(names->slots);
    *names = (struct pdl_names){0};
}
