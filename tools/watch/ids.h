/* SPDX-License-Identifier: MIT */
/* Hash tables and orders for as many items as a recording has. */
#ifndef PDL_TOOLS_WATCH_IDS_H
#define PDL_TOOLS_WATCH_IDS_H

#include <stddef.h>
#include <stdint.h>

/* From a number and its owner to an index; zeroed, it is empty. Numbers come from outside and cannot be made to
 * collide: what they are mixed with is not the same in two runs of the program. */
struct ids {
    struct ids_slot {
        uint64_t key;
        uint32_t owner, value;
    } * slots;
    size_t count, room; /* a power of 2 */
};

/* The place of the value, which is UINT32_MAX where the key is new; until the next call. */
uint32_t *ids_put(struct ids *ids, uint64_t key, uint32_t owner);
/* UINT32_MAX if there is none. */
uint32_t ids_get(const struct ids *ids, uint64_t key, uint32_t owner);
void ids_free(struct ids *ids);

/* An item's place in an order by key. */
struct order {
    uint64_t key;
    uint32_t index;
};

/* Sorts by key, and equal ones by index, in whose order they come. */
void order_sort(struct order *items, size_t count);

#endif /* PDL_TOOLS_WATCH_IDS_H */
