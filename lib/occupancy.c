/* SPDX-License-Identifier: MIT */
/* The model of an SM's resources. */
#include "occupancy.h"

#include <stddef.h>

enum {
    PARTITIONS = 4,       /* of an SM: each has its own registers and schedules its own warps */
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
    case 103:
        return 64;
    case 86:
    case 87:
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

/* Warps for which the registers suffice, beside `taken` warps of another kernel that are spread
 * evenly over the partitions. */
static uint32_t warps_by_registers(const struct pdl_sm *sm, uint32_t taken, uint32_t taken_each,
                                   uint32_t each)
{
    uint32_t warps = 0;
    if (each == 0) {
        return PDL_UNLIMITED;
    }
    for (uint32_t i = 0; i < PARTITIONS; i++) {
        const uint32_t held = (taken / PARTITIONS + (i < taken % PARTITIONS)) * taken_each;
        const uint32_t all = sm->registers / PARTITIONS;
        warps += held < all ? (all - held) / each : 0;
    }
    return warps;
}

static uint32_t left_of(uint32_t all, uint32_t count, uint32_t each)
{
    const uint64_t held = (uint64_t)count * each;
    return held < all ? all - (uint32_t)held : 0;
}

static uint32_t least(const uint32_t each[PDL_RESOURCE_COUNT])
{
    return each[pdl_occupancy_limiter(each)];
}

uint32_t pdl_occupancy_beside(const struct pdl_sm *sm, const struct pdl_block *other,
                              uint32_t count, const struct pdl_block *block, uint32_t shared_size,
                              uint32_t each[PDL_RESOURCE_COUNT])
{
    const uint32_t warps = pdl_block_warps(sm, block);
    const uint32_t other_warps = count * pdl_block_warps(sm, other);
    const uint32_t by_registers = warps_by_registers(sm, other_warps, pdl_warp_registers(sm, other),
                                                     pdl_warp_registers(sm, block));
    each[PDL_RESOURCE_WARPS] =
        share(left_of(sm->threads / sm->warp_size, count, pdl_block_warps(sm, other)), warps);
    each[PDL_RESOURCE_REGISTERS] =
        by_registers == PDL_UNLIMITED ? PDL_UNLIMITED : share(by_registers, warps);
    each[PDL_RESOURCE_SHARED_MEMORY] = share(
        left_of(shared_size, count, pdl_block_shared(sm, other)), pdl_block_shared(sm, block));
    each[PDL_RESOURCE_BLOCKS] = left_of(sm->blocks, count, 1);
    each[PDL_RESOURCE_BARRIERS] =
        sm->barriers > 0 ? share(left_of(sm->barriers, count, other->barriers), block->barriers)
                         : PDL_UNLIMITED;
    return pdl_block_fits(sm, block) ? least(each) : 0;
}

uint32_t pdl_occupancy_alone(const struct pdl_sm *sm, const struct pdl_block *block,
                             uint32_t each[PDL_RESOURCE_COUNT])
{
    const struct pdl_block nothing = {.threads = 0};
    return pdl_occupancy_beside(sm, &nothing, 0, block, pdl_sm_shared_for(sm, block), each);
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
