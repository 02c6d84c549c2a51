/* SPDX-License-Identifier: MIT */
#include "sim/place.h"

#include <string.h>

/* SMs with the most room for a block, and how much that is. */
static unsigned most_room(const struct sim_placer *placer, const struct sim_needs *needs,
                          unsigned *room)
{
    unsigned sms = 0;
    *room = 1; /* none at all is not wanted */
    for (unsigned i = 0; i < placer->classes->count; i++) {
        const struct sim_class *const class = &placer->classes->items[i];
        const unsigned here = sim_class_room(class, needs);
        if (here > *room) {
            *room = here;
            sms = 0;
        }
        sms += here == *room ? class->count : 0;
    }
    return sms;
}

/* Gives each SM of a class so many blocks. */
static void give(struct sim_placer *placer, struct sim_unplaced *unplaced, struct sim_class *class,
                 unsigned blocks)
{
    if (blocks == 0) {
        return;
    }
    for (int i = 0; i < PDL_RESOURCE_COUNT; i++) {
        class->used[i] += unplaced->needs.each[i] * blocks;
    }
    class->placing += blocks;
    class->round = placer->round;
    class->changed = true;
    unplaced->blocks -= class->count * blocks;
}

/* A number below `below`, the same in every run. */
static unsigned any(struct sim_placer *placer, unsigned below)
{
    placer->random = placer->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((placer->random >> 33) % below);
}

/* Gives the SMs of a class what was dealt. */
static void give_dealt(struct sim_placer *placer, struct sim_unplaced *unplaced, unsigned index,
                       const uint16_t dealt[SIM_SMS_MOST])
{
    for (bool whole = false; !whole;) {
        const struct sim_class *const class = &placer->classes->items[index];
        const uint16_t blocks = dealt[class->sms[0]];
        whole = true;
        for (unsigned i = 1; i < class->count && whole; i++) {
            whole = dealt[class->sms[i]] == blocks;
        }
        const unsigned part =
            whole ? index : sim_class_choose(placer->classes, index, dealt, blocks);
        give(placer, unplaced, &placer->classes->items[part], blocks);
    }
}

/* SMs that are alike for a block: with as much room, and given blocks in the same round before. */
struct alike {
    uint16_t sms[SIM_SMS_MOST];
    unsigned count;
};

/* Those with that much room whose turn is the longest ago, after the round `after`; returns theirs. */
static uint64_t find_alike(const struct sim_placer *placer, const struct sim_unplaced *unplaced,
                           unsigned room, uint64_t after, struct alike *alike)
{
    uint64_t round = UINT64_MAX;
    alike->count = 0;
    for (unsigned i = 0; i < placer->classes->count; i++) {
        const struct sim_class *const class = &placer->classes->items[i];
        const bool fits = sim_class_room(class, &unplaced->needs) == room;
        if (!fits || class->round < after || class->round > round) {
            continue;
        }
        if (class->round < round) {
            round = class->round;
            alike->count = 0;
        }
        memcpy(alike->sms + alike->count, class->sms, class->count * sizeof(*class->sms));
        alike->count += class->count;
    }
    return round;
}

/* One block each for as many SMs as there are blocks: first those whose turn is the longest ago, and any of
 * those that are alike. */
static void deal_round(struct sim_placer *placer, const struct sim_unplaced *unplaced,
                       unsigned room, uint16_t dealt[SIM_SMS_MOST])
{
    struct alike alike;
    uint64_t round = 0;
    memset(dealt, 0, SIM_SMS_MOST * sizeof(*dealt));
    for (unsigned left = unplaced->blocks; left > 0; round++) {
        round = find_alike(placer, unplaced, room, round, &alike);
        for (; alike.count > 0 && left > 0; left--) {
            const unsigned at = any(placer, alike.count);
            dealt[alike.sms[at]] = 1;
            alike.sms[at] = alike.sms[--alike.count];
        }
    }
}

/* Gives one block to each SM with that much room, of which there are `sms`, or to as many as there are
 * blocks. */
static void place_round(struct sim_placer *placer, struct sim_unplaced *unplaced, unsigned room,
                        unsigned sms)
{
    const unsigned count = placer->classes->count;
    const bool all = sms <= unplaced->blocks;
    uint16_t dealt[SIM_SMS_MOST];
    if (!all) {
        deal_round(placer, unplaced, room, dealt);
    }
    placer->round++;
    for (unsigned i = 0; i < count; i++) {
        struct sim_class *const class = &placer->classes->items[i];
        if (!all) {
            give_dealt(placer, unplaced, i, dealt);
        } else if (sim_class_room(class, &unplaced->needs) == room) {
            give(placer, unplaced, class, 1);
        }
    }
}

/* How many blocks each SM gets if the SMs come in any order, and each gets as many as it has room for. */
static void deal(struct sim_placer *placer, const struct sim_unplaced *unplaced,
                 uint16_t dealt[SIM_SMS_MOST])
{
    uint16_t sms[SIM_SMS_MOST];
    unsigned count = 0;
    for (unsigned i = 0; i < placer->classes->count; i++) {
        const struct sim_class *const class = &placer->classes->items[i];
        const unsigned room = sim_class_room(class, &unplaced->needs);
        for (unsigned j = 0; j < class->count; j++) {
            sms[count++] = class->sms[j];
            dealt[class->sms[j]] = (uint16_t)room;
        }
    }
    unsigned left = unplaced->blocks;
    for (; count > 0; count--) {
        const unsigned at = any(placer, count);
        const uint16_t sm = sms[at];
        sms[at] = sms[count - 1];
        dealt[sm] = (uint16_t)(dealt[sm] < left ? dealt[sm] : left);
        left -= dealt[sm];
    }
}

/* Blocks that have waited for room: in truth no two blocks end at the same time, and an SM that has room is
 * filled before the next one has. */
static void place_waiting(struct sim_placer *placer, struct sim_unplaced *unplaced)
{
    unsigned room = 0;
    for (unsigned i = 0; i < placer->classes->count; i++) {
        const struct sim_class *const class = &placer->classes->items[i];
        room += class->count * sim_class_room(class, &unplaced->needs);
    }
    if (room == 0) {
        return;
    }
    placer->round++;
    if (room <= unplaced->blocks) {
        for (unsigned i = 0; i < placer->classes->count; i++) {
            struct sim_class *const class = &placer->classes->items[i];
            give(placer, unplaced, class, sim_class_room(class, &unplaced->needs));
        }
        return;
    }
    uint16_t dealt[SIM_SMS_MOST];
    const unsigned count = placer->classes->count;
    deal(placer, unplaced, dealt);
    for (unsigned i = 0; i < count; i++) {
        give_dealt(placer, unplaced, i, dealt);
    }
}

unsigned sim_place(struct sim_placer *placer, struct sim_unplaced *unplaced)
{
    const unsigned before = unplaced->blocks;
    unsigned room = 0;
    unsigned sms = 0;
    if (unplaced->waited) {
        place_waiting(placer, unplaced);
    }
    while (!unplaced->waited && unplaced->blocks > 0 &&
           (sms = most_room(placer, &unplaced->needs, &room)) > 0) {
        place_round(placer, unplaced, room, sms);
    }
    unplaced->waited = true;
    return before - unplaced->blocks;
}
