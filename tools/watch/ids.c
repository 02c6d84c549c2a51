/* SPDX-License-Identifier: MIT */
#include "watch/ids.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "common/memory.h"

/* ---- tables ----------------------------------------------------------------------------------- */

/* Drawn once. Without random numbers the time does: then a recording that was made to be slow is. */
static const uint64_t *seeds(void)
{
    static uint64_t drawn[2];
    if (drawn[1] == 0) {
        if (getrandom(drawn, sizeof(drawn), GRND_NONBLOCK) != (ssize_t)sizeof(drawn)) {
            drawn[0] = (uint64_t)time(NULL);
        }
        drawn[1] |= 1;
    }
    return drawn;
}

static uint64_t mix(uint64_t key, uint32_t owner)
{
    const uint64_t *const seed = seeds();
    uint64_t mixed = (key ^ seed[0]) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 31) ^ owner) * seed[1];
    mixed = (mixed ^ (mixed >> 29)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 32);
}

static struct ids_slot *find(const struct ids *ids, uint64_t key, uint32_t owner)
{
    size_t at = (size_t)mix(key, owner) & (ids->room - 1);
    while (ids->slots[at].value != UINT32_MAX &&
           (ids->slots[at].key != key || ids->slots[at].owner != owner)) {
        at = (at + 1) & (ids->room - 1);
    }
    return &ids->slots[at];
}

static void grow(struct ids *ids)
{
    const struct ids old = *ids;
    ids->room = old.room > 0 ? old.room * 2 : 64;
    ids->slots = allocate(ids->room, sizeof(*ids->slots));
    memset(ids->slots, 0xff, ids->room * sizeof(*ids->slots));
    for (size_t i = 0; i < old.room; i++) {
        if (old.slots[i].value != UINT32_MAX) {
            *find(ids, old.slots[i].key, old.slots[i].owner) = old.slots[i];
        }
    }
    free(old.slots);
}

uint32_t *ids_put(struct ids *ids, uint64_t key, uint32_t owner)
{
    if ((ids->count + 1) * 2 > ids->room) {
        grow(ids);
    }
    struct ids_slot *const slot = find(ids, key, owner);
    if (slot->value == UINT32_MAX) {
        ids->count++;
        slot->key = key;
        slot->owner = owner;
    }
    return &slot->value;
}

uint32_t ids_get(const struct ids *ids, uint64_t key, uint32_t owner)
{
    return ids->count > 0 ? find(ids, key, owner)->value : UINT32_MAX;
}

void ids_free(struct ids *ids)
{
    free(ids->slots);
    *ids = (struct ids){.slots = NULL};
}

/* ---- orders ----------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const struct order *const a = left;
    const struct order *const b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

void order_sort(struct order *items, size_t count)
{
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++) {
        sorted = items[i - 1].key <= items[i].key;
    }
    if (!sorted) {
        qsort(items, count, sizeof(*items), compare);
    }
}
