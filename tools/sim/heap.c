/* SPDX-License-Identifier: MIT */
#include "sim/heap.h"

#include "common/memory.h"

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

void sim_heap_push(struct sim_heap *heap, double time, enum sim_event_kind kind, uint32_t index,
                   uint32_t generation)
{
    const struct sim_event event = {time, kind, index, generation, heap->pushed++};
    APPEND(heap, event);
    size_t at = heap->count - 1;
    while (at > 0 && before(&event, &heap->items[(at - 1) / 2])) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = event;
}

const struct sim_event *sim_heap_first(const struct sim_heap *heap)
{
    return heap->count > 0 ? &heap->items[0] : NULL;
}

bool sim_heap_pop(struct sim_heap *heap, struct sim_event *event)
{
    if (heap->count == 0) {
        return false;
    }
    *event = heap->items[0];
    const struct sim_event last = heap->items[--heap->count];
    size_t at = 0;
    for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
        child += child + 1 < heap->count && before(&heap->items[child + 1], &heap->items[child]);
        if (!before(&heap->items[child], &last)) {
            break;
        }
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return true;
}
