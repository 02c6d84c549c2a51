/* SPDX-License-Identifier: MIT */
#include "rtc/request/set.h"

#include <stdlib.h>

static bool is_free(const struct pdl_rtc_set_slot *slot)
{
    return slot->key.high == 0 && slot->key.low == 0;
}

static struct pdl_rtc_set_slot *slot_of(const struct pdl_rtc_set *set, struct pdl_rtc_hash key)
{
    size_t at = (size_t)key.low & (set->capacity - 1);
    while (!is_free(&set->slots[at]) && !pdl_rtc_hash_equal(set->slots[at].key, key)) {
        at = (at + 1) & (set->capacity - 1);
    }
    return &set->slots[at];
}

static bool grow(struct pdl_rtc_set *set)
{
    struct pdl_rtc_set grown = {.capacity = set->capacity == 0 ? 64 : set->capacity * 2,
                                .count = set->count};
    grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
    if (grown.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->capacity; i++) {
        if (!is_free(&set->slots[i])) {
            *slot_of(&grown, set->slots[i].key) = set->slots[i];
        }
    }
    free(set->slots);
    *set = grown;
    return true;
}

bool pdl_rtc_set_add(struct pdl_rtc_set *set, struct pdl_rtc_hash key, size_t value)
{
    if (set->count * 2 >= set->capacity && !grow(set)) {
        set->no_memory = true;
        return false;
    }
    struct pdl_rtc_set_slot *slot = slot_of(set, key);
    if (!is_free(slot)) {
        return false;
    }
    *slot = (struct pdl_rtc_set_slot){key, value};
    set->count++;
    return true;
}

const size_t *pdl_rtc_set_find(const struct pdl_rtc_set *set, struct pdl_rtc_hash key)
{
    const struct pdl_rtc_set_slot *slot = set->capacity > 0 ? slot_of(set, key) : NULL;
    return slot != NULL && !is_free(slot) ? &slot->value : NULL;
}

void pdl_rtc_set_free(struct pdl_rtc_set *set)
{
    free(set->slots);
    *set = (struct pdl_rtc_set){0};
}
