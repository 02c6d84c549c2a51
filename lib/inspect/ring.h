/* SPDX-License-Identifier: MIT */
/* A queue of numbers, each of which is in it at most once: what has to be looked at again. */
#ifndef PDL_INSPECT_RING_H
#define PDL_INSPECT_RING_H

#include <stdint.h>
#include <string.h>

struct pdl_ring {
    uint32_t *items;
    uint8_t *queued; /* by number; all 0 where the ring is empty */
    uint32_t size;   /* of both; all numbers are less */
    uint32_t head, count;
};

static inline void pdl_ring_add(struct pdl_ring *ring, uint32_t item)
{
    if (!ring->queued[item]) {
        const uint32_t room = ring->size - ring->head;
        ring->queued[item] = 1;
        ring->items[ring->count < room ? ring->head + ring->count : ring->count - room] = item;
        ring->count++;
    }
}

static inline uint32_t pdl_ring_take(struct pdl_ring *ring)
{
    const uint32_t first = ring->items[ring->head];
    ring->head = ring->head + 1 == ring->size ? 0 : ring->head + 1;
    ring->count--;
    ring->queued[first] = 0;
    return first;
}

/* Starts with all numbers in their order. */
static inline void pdl_ring_fill(struct pdl_ring *ring)
{
    ring->head = ring->count = 0;
    memset(ring->queued, 0, ring->size);
    for (uint32_t i = 0; i < ring->size; i++) {
        pdl_ring_add(ring, i);
    }
}

#endif /* PDL_INSPECT_RING_H */
