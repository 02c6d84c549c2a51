/* SPDX-License-Identifier: MIT */
/* The model of an SM's resources. */
#include "overlap/occupancy.h"

#include <stddef.h>

enum {
    PARTITIONS = PDL_SM_PARTITIONS,
    REGISTERS_UNIT = 256, /* registers of a warp are taken in multiples of this */
    REGISTERS_OF_THREAD = 256,
    SHARED_MEMORY_UNIT = 128, /* bytes */
    KIB = 1024
};

static uint32_t round_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint32_t share(uint32_t available, uint32_t each)
{
    return each > 0 ? available / each : PDL_UNLIMITED;
}

uint32_t pdl_sm_barriers(int32_t compute_capability)
{
    switch (compute_capability) {
    case 80:
    case 90:
    case 100:
        return 64;
    case 103: /* CUDA 13.5; the header of 13.0 says 64 */
        return 32;
    case 86:
    case 87:
    case 88:
    case 107:
        return 16;
    case 89:
    case 101:
    case 110:
    case 120:
    case 121:
        return 24;
    default:
        return 0;
    }
}

uint32_t pdl_block_warps(const struct pdl_sm *sm, const struct pdl_block *block)
{
    return (block->threads + sm->warp_size - 1) / sm->warp_size;
}

uint32_t pdl_block_shared(const struct pdl_sm *sm, const struct pdl_block *block)
{
    return round_up(block->shared_memory + sm->reserved_shared_memory, SHARED_MEMORY_UNIT);
}

uint32_t pdl_warp_registers(const struct pdl_sm *sm, const struct pdl_block *block)
{
    return round_up(block->registers * sm->warp_size, REGISTERS_UNIT);
}

uint32_t pdl_block_registers(const struct pdl_sm *sm, const struct pdl_block *block)
{
    return pdl_warp_registers(sm, block) * pdl_block_warps(sm, block);
}

uint32_t pdl_sm_shared_size(const struct pdl_sm *sm, uint32_t bytes)
{
    static const uint32_t sizes[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}; /* KiB */
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const uint32_t size = sizes[i] * KIB;
        if (size < sm->shared_memory && bytes <= size) {
            return size;
        }
    }
    return bytes <= sm->shared_memory ? sm->shared_memory : 0;
}

uint32_t pdl_sm_shared_for(const struct pdl_sm *sm, const struct pdl_block *block)
{
    const uint32_t needed = pdl_block_shared(sm, block);
    if (block->carveout < 0) {
        return sm->shared_memory;
    }
    const uint64_t wanted = (uint64_t)sm->shared_memory * (uint32_t)block->carveout / 100;
    const uint32_t preferred = pdl_sm_shared_size(sm, (uint32_t)wanted);
    return preferred >= needed ? preferred : pdl_sm_shared_size(sm, needed);
}

bool pdl_block_fits(const struct pdl_sm *sm, const struct pdl_block *block)
{
    /* The hardware's check takes a block's registers in all partitions alike. */
    const uint32_t assumed =
        pdl_warp_registers(sm, block) * round_up(pdl_block_warps(sm, block), PARTITIONS);
    return block->threads > 0 && block->threads <= sm->threads_per_block &&
           block->registers <= REGISTERS_OF_THREAD && assumed <= sm->registers &&
           block->shared_memory <= sm->shared_memory_per_block;
}

static uint32_t left_of(uint32_t all, uint32_t count, uint32_t each)
{
    const uint64_t held = (uint64_t)count * each;
    return held < all ? all - (uint32_t)held : 0;
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t most_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t least(const uint32_t each[PDL_RESOURCE_COUNT])
{
    return each[pdl_occupancy_limiter(each)];
}

/* ---- registers ------------------------------------------------------------------------------ */

/* Whether one more block fits whose warps are dealt out in turn from partition `next` on; takes
 * them. */
static bool deal(uint32_t room[PARTITIONS], uint32_t warps, uint32_t next)
{
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        const uint32_t needed = (warps + PARTITIONS - 1 - i) / PARTITIONS;
        uint32_t *left = &room[(next + i) % PARTITIONS];
        if (*left < needed) {
            return false;
        }
        *left -= needed;
    }
    return true;
}

/* Blocks one after the other, each from where the one before it ended. */
static uint32_t dealt_blocks(const uint32_t room[PARTITIONS], uint32_t warps, uint32_t first)
{
    uint32_t left[PARTITIONS] = {room[0], room[1], room[2], room[3]};
    uint32_t count = 0;
    while (deal(left, warps, first + count * warps)) {
        count++;
    }
    return count;
}

/* Whether so many blocks fit if the warps that are one more than in other partitions lie best. */
static bool can_hold(const uint32_t room[PARTITIONS], uint32_t warps, uint32_t count)
{
    uint32_t places = 0;
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        const uint32_t even = count * (warps / PARTITIONS);
        if (room[i] < even) {
            return false;
        }
        places += least_of(room[i] - even, count);
    }
    return places >= count * (warps % PARTITIONS);
}

uint32_t pdl_packed_blocks(const uint32_t room[PARTITIONS], uint32_t warps)
{
    uint32_t count = 0;
    while (can_hold(room, warps, count + 1)) {
        count++;
    }
    return count;
}

/* Two kernels in the partitions' registers. */
struct partitions {
    uint32_t registers;  /* of one */
    uint32_t other_each; /* registers of a warp */
    uint32_t other_warps;
    uint32_t other_blocks;
    uint32_t each;
    uint32_t warps;
    uint32_t sure, may; /* found so far */
};

/* Warps for which each partition has room, with so many of the other kernel in it beyond what is
 * even. */
static void leave_room(const struct partitions *found, const uint32_t extra[PARTITIONS],
                       uint32_t room[PARTITIONS])
{
    const uint32_t even = found->other_blocks * (found->other_warps / PARTITIONS);
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        room[i] = left_of(found->registers, even + extra[i], found->other_each) / found->each;
    }
}

/* All blocks dealt out one after the other, those of the other kernel first. */
static void try_in_turn(struct partitions *found)
{
    const uint32_t total = found->other_blocks * (found->other_warps % PARTITIONS);
    uint32_t extra[PARTITIONS];
    uint32_t room[PARTITIONS];
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        extra[i] = (total + PARTITIONS - 1 - i) / PARTITIONS;
    }
    leave_room(found, extra, room);
    found->sure = dealt_blocks(room, found->warps, total);
    found->may = pdl_packed_blocks(room, found->warps);
}

static void try_extra(struct partitions *found, const uint32_t extra[PARTITIONS])
{
    uint32_t room[PARTITIONS];
    leave_room(found, extra, room);
    /* From the fullest partition on to the emptiest: no other order of them holds fewer. */
    found->sure = least_of(found->sure, dealt_blocks(room, found->warps, 0));
    found->may = most_of(found->may, pdl_packed_blocks(room, found->warps));
}

/* Every way in which the other kernel's blocks can lie: each has at most one extra warp in a
 * partition. Which partition it is does not matter. */
static void try_all(struct partitions *found)
{
    const uint32_t even = found->other_blocks * (found->other_warps / PARTITIONS);
    const uint32_t total = found->other_blocks * (found->other_warps % PARTITIONS);
    const uint32_t holds = share(found->registers, found->other_each);
    const uint32_t most = least_of(found->other_blocks, holds > even ? holds - even : 0);
    uint32_t extra[PARTITIONS];
    for (extra[0] = 0; extra[0] <= most; extra[0]++) {
        for (extra[1] = 0; extra[1] <= extra[0]; extra[1]++) {
            for (extra[2] = 0; extra[2] <= extra[1]; extra[2]++) {
                extra[3] = total - extra[0] - extra[1] - extra[2]; /* wraps where it is less */
                if (extra[3] <= extra[2]) {
                    try_extra(found, extra);
                }
            }
        }
    }
}

static void by_registers(const struct pdl_sm *sm, const struct pdl_beside *other,
                         const struct pdl_block *block, struct pdl_room *room)
{
    struct partitions found = {
        .registers = sm->registers / PARTITIONS,
        .other_each = pdl_warp_registers(sm, other->block),
        .other_warps = pdl_block_warps(sm, other->block),
        .other_blocks = other->count,
        .each = pdl_warp_registers(sm, block),
        .warps = pdl_block_warps(sm, block),
        .sure = PDL_UNLIMITED,
    };
    if (found.each == 0 || found.warps == 0) {
        room->sure[PDL_RESOURCE_REGISTERS] = room->may[PDL_RESOURCE_REGISTERS] = PDL_UNLIMITED;
        return;
    }
    if (other->in_turn) {
        try_in_turn(&found);
    } else {
        try_all(&found);
    }
    room->sure[PDL_RESOURCE_REGISTERS] = least_of(found.sure, found.may);
    room->may[PDL_RESOURCE_REGISTERS] = found.may;
}

/* ---- all resources -------------------------------------------------------------------------- */

/* All but the registers. */
static void by_amounts(const struct pdl_sm *sm, const struct pdl_block *other, uint32_t count,
                       const struct pdl_block *block, uint32_t shared_size,
                       uint32_t each[PDL_RESOURCE_COUNT])
{
    each[PDL_RESOURCE_WARPS] =
        share(left_of(sm->threads / sm->warp_size, count, pdl_block_warps(sm, other)),
              pdl_block_warps(sm, block));
    each[PDL_RESOURCE_SHARED_MEMORY] = share(
        left_of(shared_size, count, pdl_block_shared(sm, other)), pdl_block_shared(sm, block));
    each[PDL_RESOURCE_BLOCKS] = left_of(sm->blocks, count, 1);
}

void pdl_occupancy_beside(const struct pdl_sm *sm, const struct pdl_beside *other,
                          const struct pdl_block *block, uint32_t shared_size,
                          struct pdl_room *room)
{
    by_amounts(sm, other->block, other->count, block, shared_size, room->sure);
    by_amounts(sm, other->block, other->count, block, shared_size, room->may);
    by_registers(sm, other, block, room);
    room->all_sure = pdl_block_fits(sm, block) ? least(room->sure) : 0;
    room->all_may = pdl_block_fits(sm, block) ? least(room->may) : 0;
}

uint32_t pdl_occupancy_alone(const struct pdl_sm *sm, const struct pdl_block *block,
                             uint32_t each[PDL_RESOURCE_COUNT])
{
    const struct pdl_block nothing = {.threads = 0};
    const uint32_t warp = pdl_warp_registers(sm, block);
    const uint32_t warps = share(sm->registers / PARTITIONS, warp);
    by_amounts(sm, &nothing, 0, block, pdl_sm_shared_for(sm, block), each);
    each[PDL_RESOURCE_REGISTERS] =
        warp > 0 ? share(warps * PARTITIONS, pdl_block_warps(sm, block)) : PDL_UNLIMITED;
    return pdl_block_fits(sm, block) ? least(each) : 0;
}

enum pdl_resource pdl_occupancy_limiter(const uint32_t each[PDL_RESOURCE_COUNT])
{
    enum pdl_resource limiter = PDL_RESOURCE_WARPS;
    for (int i = 1; i < PDL_RESOURCE_COUNT; i++) {
        if (each[i] < each[limiter]) {
            limiter = (enum pdl_resource)i;
        }
    }
    return limiter;
}
