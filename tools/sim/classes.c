/* SPDX-License-Identifier: MIT */
#include "sim/classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

/* Times that differ by less are the same: a thousandth of a cycle. */
static const double EPSILON = 1e-3;

void sim_classes_init(struct sim_classes *classes, const struct sim_device *device)
{
    classes->device = device;
    classes->items = allocate(device->sms, sizeof(*classes->items));
    for (unsigned i = 0; i < device->sms; i++) {
        classes->items[i].sms = allocate(device->sms, sizeof(*classes->items[i].sms));
    }
    for (unsigned i = 0; i < device->sms; i++) {
        classes->items[0].sms[i] = (uint16_t)i;
    }
    classes->items[0].count = device->sms;
    classes->items[0].rate = 1;
    classes->count = 1;
}

void sim_classes_free(struct sim_classes *classes)
{
    for (unsigned i = 0; i < classes->device->sms; i++) {
        free(classes->items[i].sms);
        free(classes->items[i].groups);
    }
    free(classes->items);
}

/* A partition's registers, for which warps were dealt out one after the other. */
static void deal_warps(uint32_t left[PDL_SM_PARTITIONS], uint32_t *dealt, uint32_t warps,
                       uint32_t registers)
{
    for (uint32_t i = 0; i < PDL_SM_PARTITIONS; i++) {
        const uint32_t taken = (warps + PDL_SM_PARTITIONS - 1 - i) / PDL_SM_PARTITIONS * registers;
        uint32_t *const here = &left[(*dealt + i) % PDL_SM_PARTITIONS];
        *here = *here > taken ? *here - taken : 0;
    }
    *dealt += warps;
}

/* By registers, as if all blocks on the SM had come one after the other. */
static unsigned partitions_room(const struct sim_class *class, const struct sim_needs *needs)
{
    uint32_t room[PDL_SM_PARTITIONS];
    uint32_t dealt = 0;
    for (int i = 0; i < PDL_SM_PARTITIONS; i++) {
        room[i] = needs->all[PDL_RESOURCE_REGISTERS] / PDL_SM_PARTITIONS;
    }
    for (size_t i = 0; i < class->groups_count; i++) {
        const struct sim_group *const group = &class->groups[i];
        deal_warps(room, &dealt, group->count * group->needs->each[PDL_RESOURCE_WARPS],
                   group->needs->warp_registers);
    }
    const uint32_t warps = needs->each[PDL_RESOURCE_WARPS];
    deal_warps(room, &dealt, class->placing * warps, needs->warp_registers);
    for (int i = 0; i < PDL_SM_PARTITIONS; i++) {
        room[i] /= needs->warp_registers;
    }
    return pdl_packed_blocks(room, warps);
}

unsigned sim_class_room(const struct sim_class *class, const struct sim_needs *needs)
{
    unsigned room = ~0u;
    for (int i = 0; i < PDL_RESOURCE_COUNT; i++) {
        if (needs->each[i] > 0) {
            const uint32_t fit = (needs->all[i] - class->used[i]) / needs->each[i];
            room = fit < room ? fit : room;
        }
    }
    if (room > 0 && needs->warp_registers > 0) {
        const unsigned fit = partitions_room(class, needs);
        room = fit < room ? fit : room;
    }
    return room;
}

void sim_class_advance(struct sim_class *class, double time)
{
    const double passed = time - class->at;
    class->at = time;
    for (size_t i = 0; i < class->groups_count; i++) {
        struct sim_group *const group = &class->groups[i];
        group->remaining -= passed * (group->stretched ? class->rate : 1);
        if (group->remaining < EPSILON) {
            group->remaining = 0;
        }
    }
}

double sim_class_next(struct sim_class *class)
{
    double taken = 0;
    for (size_t i = 0; i < class->groups_count; i++) {
        taken += class->groups[i].weight * class->groups[i].count;
    }
    class->rate = taken > 1 ? 1 / taken : 1;
    double next = INFINITY;
    for (size_t i = 0; i < class->groups_count; i++) {
        const struct sim_group *const group = &class->groups[i];
        const double left = group->remaining / (group->stretched ? class->rate : 1);
        next = left < next ? left : next;
    }
    return class->at + next;
}

struct sim_group *sim_class_add(struct sim_class *class, const struct sim_group *group)
{
    class->groups = room_for_one(class->groups, class->groups_count, &class->groups_capacity,
                                 sizeof(*class->groups));
    class->groups[class->groups_count] = *group;
    return &class->groups[class->groups_count++];
}

void sim_class_remove(struct sim_class *class, size_t index)
{
    class->groups_count--;
    memmove(&class->groups[index], &class->groups[index + 1],
            (class->groups_count - index) * sizeof(*class->groups));
}

/* A class without SMs where the same happens as in another one. */
static struct sim_class *copy_class(struct sim_classes *classes, struct sim_class *from)
{
    struct sim_class *const to = &classes->items[classes->count++];
    to->groups_count = 0;
    for (size_t i = 0; i < from->groups_count; i++) {
        (void)sim_class_add(to, &from->groups[i]);
    }
    memcpy(to->used, from->used, sizeof(to->used));
    to->count = 0;
    to->round = from->round;
    to->at = from->at;
    to->rate = from->rate;
    to->placing = from->placing;
    to->generation++;
    from->changed = to->changed = true;
    return to;
}

unsigned sim_class_choose(struct sim_classes *classes, unsigned index,
                          const uint16_t chosen[SIM_SMS_MOST], unsigned value)
{
    struct sim_class *const from = &classes->items[index];
    struct sim_class *const to = copy_class(classes, from);
    const unsigned count = from->count;
    from->count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct sim_class *const class = chosen[from->sms[i]] == value ? to : from;
        class->sms[class->count++] = from->sms[i];
    }
    return classes->count - 1;
}

static bool same_time(double a, double b)
{
    return a == b || fabs(a - b) < EPSILON; /* infinities are equal, too */
}

static bool same_group(const struct sim_group *a, const struct sim_group *b)
{
    return a->launch == b->launch && a->count == b->count && a->step == b->step &&
           same_time(a->remaining, b->remaining) && same_time(a->start, b->start) &&
           same_time(a->spread, b->spread);
}

static bool same(const struct sim_class *a, const struct sim_class *b)
{
    if (a->groups_count != b->groups_count || a->at != b->at || a->round != b->round) {
        return false;
    }
    for (size_t i = 0; i < a->groups_count; i++) {
        if (!same_group(&a->groups[i], &b->groups[i])) {
            return false;
        }
    }
    return true;
}

static void remove_class(struct sim_classes *classes, unsigned index)
{
    struct sim_class *const last = &classes->items[--classes->count];
    if (index != classes->count) {
        struct sim_class moved = *last;
        struct sim_class *const gone = &classes->items[index];
        /* The arrays change places; events of either are void. */
        moved.generation =
            (gone->generation > last->generation ? gone->generation : last->generation) + 1;
        moved.changed = true;
        last->sms = gone->sms;
        last->groups = gone->groups;
        last->groups_capacity = gone->groups_capacity;
        *gone = moved;
    }
    last->generation++;
    last->count = 0;
    last->groups_count = 0;
}

static void join(struct sim_class *to, const struct sim_class *from)
{
    memcpy(to->sms + to->count, from->sms, from->count * sizeof(*to->sms));
    to->count += from->count;
    to->changed = true;
}

void sim_classes_join(struct sim_classes *classes)
{
    for (unsigned i = 0; i < classes->count; i++) {
        for (unsigned j = i + 1; classes->items[i].changed && j < classes->count;) {
            if (classes->items[j].changed && same(&classes->items[i], &classes->items[j])) {
                join(&classes->items[i], &classes->items[j]);
                remove_class(classes, j);
            } else {
                j++;
            }
        }
    }
}
