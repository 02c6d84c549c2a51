/* SPDX-License-Identifier: MIT */
/* What a streaming multiprocessor (SM) has room for: blocks of one kernel, and of one beside
 * another.
 *
 * Plain arithmetic: no driver and no other part of the library, so that the tools compile it too.
 * The rules for one kernel are those of cuda_occupancy.h, which comes with the toolkit. Beside
 * another kernel it matters how the warps lie in the SM's partitions, of which nothing is
 * documented: what was seen is that a block's warps are dealt out to them in turn, so that each
 * gets as many as the others or one more. */
#ifndef PDL_LIB_OCCUPANCY_H
#define PDL_LIB_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

/* What an SM has, and a block may have of it. Sizes are in bytes. */
struct pdl_sm {
    int32_t compute_capability; /* 10 * major + minor */
    uint32_t threads;
    uint32_t threads_per_block;
    uint32_t warp_size;
    uint32_t blocks;
    uint32_t registers;
    uint32_t shared_memory;
    uint32_t shared_memory_per_block; /* by opting in */
    uint32_t reserved_shared_memory;  /* what CUDA itself takes for each block */
    uint32_t barriers;                /* 0: not known */
};

/* What a block of a kernel takes. */
struct pdl_block {
    uint32_t threads;
    uint32_t registers;     /* a thread */
    uint32_t shared_memory; /* static and dynamic, without what is reserved */
    int32_t carveout; /* the preferred share of shared memory, percent; -1: the driver's choice */
};

enum {
    PDL_SM_PARTITIONS = 4 /* of an SM: each has its own registers and schedules its own warps */
};

enum pdl_resource {
    PDL_RESOURCE_WARPS,
    PDL_RESOURCE_REGISTERS,
    PDL_RESOURCE_SHARED_MEMORY,
    PDL_RESOURCE_BLOCKS,
    PDL_RESOURCE_COUNT
};

/* No limit by a resource of which nothing is taken. */
#define PDL_UNLIMITED UINT32_MAX

/* How many of a compute capability's barriers an SM has; 0 where cuda_occupancy.h does not say. */
uint32_t pdl_sm_barriers(int32_t compute_capability);

/* What a block takes, rounded as it is allocated: warps, bytes with what is reserved. */
uint32_t pdl_block_warps(const struct pdl_sm *sm, const struct pdl_block *block);
uint32_t pdl_block_shared(const struct pdl_sm *sm, const struct pdl_block *block);
/* Registers of a warp, and of all warps of a block. */
uint32_t pdl_warp_registers(const struct pdl_sm *sm, const struct pdl_block *block);
uint32_t pdl_block_registers(const struct pdl_sm *sm, const struct pdl_block *block);

/* The smallest of the sizes that an SM's shared memory can be set to and that holds `bytes`; 0
 * where none does. */
uint32_t pdl_sm_shared_size(const struct pdl_sm *sm, uint32_t bytes);

/* What the shared memory is set to for a kernel, as the driver's calculator takes it: all of it
 * where there is no preference. */
uint32_t pdl_sm_shared_for(const struct pdl_sm *sm, const struct pdl_block *block);

/* Whether a block fits on an empty SM at all. */
bool pdl_block_fits(const struct pdl_sm *sm, const struct pdl_block *block);

/* How many blocks of one kernel an SM holds at a time, by each resource alone and, returned, by
 * all. */
uint32_t pdl_occupancy_alone(const struct pdl_sm *sm, const struct pdl_block *block,
                             uint32_t each[PDL_RESOURCE_COUNT]);

/* Blocks of another kernel on an SM. */
struct pdl_beside {
    const struct pdl_block *block;
    uint32_t count;
    bool in_turn; /* they came onto the empty SM one after the other; else some took places of
                   * others, and their warps lie in some way */
};

/* How many blocks fit: for certain, and if the warps of both kernels lie as well as they can. They
 * are the same where both kernels' warps are multiples of the partitions. */
struct pdl_room {
    uint32_t sure[PDL_RESOURCE_COUNT]; /* by each resource alone */
    uint32_t may[PDL_RESOURCE_COUNT];
    uint32_t all_sure; /* by all of them */
    uint32_t all_may;
};

/* How many blocks of `block` fit beside others, with the shared memory set to `shared_size`. */
void pdl_occupancy_beside(const struct pdl_sm *sm, const struct pdl_beside *other,
                          const struct pdl_block *block, uint32_t shared_size,
                          struct pdl_room *room);

/* How many blocks of so many warps fit where each partition has room for so many warps, if the warps lie as
 * well as they can. */
uint32_t pdl_packed_blocks(const uint32_t room[PDL_SM_PARTITIONS], uint32_t warps);

/* The resource with the lowest number: what runs out first. */
enum pdl_resource pdl_occupancy_limiter(const uint32_t each[PDL_RESOURCE_COUNT]);

#endif /* PDL_LIB_OCCUPANCY_H */
