/* SPDX-License-Identifier: MIT */
/* Events in the order of their times. */
#ifndef PDL_TOOLS_SIM_HEAP_H
#define PDL_TOOLS_SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_event_kind {
    SIM_EVENT_GROUP,    /* something on the SMs of a class comes to an end */
    SIM_EVENT_COMPLETE, /* a launch has completed */
    SIM_EVENT_RELEASE,  /* its waits return */
    SIM_EVENT_LAUNCH,   /* its blocks may be placed */
};

struct sim_event {
    double time;
    enum sim_event_kind kind;
    uint32_t index;      /* of the class or the launch */
    uint32_t generation; /* of the class: an event of an earlier one is void */
    uint64_t order;      /* of events at one time */
};

struct sim_heap {
    struct sim_event *items;
    size_t count, capacity;
    uint64_t pushed;
};

void sim_heap_push(struct sim_heap *heap, double time, enum sim_event_kind kind, uint32_t index,
                   uint32_t generation);
/* The earliest, and of these the one that was pushed first. False where there is none. */
bool sim_heap_pop(struct sim_heap *heap, struct sim_event *event);
const struct sim_event *sim_heap_first(const struct sim_heap *heap);

#endif /* PDL_TOOLS_SIM_HEAP_H */
