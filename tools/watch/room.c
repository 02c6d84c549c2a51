/* SPDX-License-Identifier: MIT */
/* Whether blocks of two kernels fit on an SM together, by what they had in fact. */
#include "common/memory.h"
#include "overlap/occupancy.h"
#include "watch/store.h"

static struct pdl_sm sm_of(const struct watch_device *device)
{
    return (struct pdl_sm){
        .compute_capability = (int32_t)device->capability,
        .threads = device->threads,
        .threads_per_block = device->threads_per_block,
        .warp_size = 32,
        .blocks = device->blocks,
        .registers = device->registers,
        .shared_memory = device->shared_memory,
        .shared_memory_per_block = device->shared_memory_per_block,
        .reserved_shared_memory = device->reserved_shared_memory,
    };
}

static bool is_sound(const struct watch_device *device)
{
    return device->capability > 0 && device->capability < 10000 && device->sms > 0 &&
           device->sms < 1u << 20 && device->threads <= 1u << 16 && device->blocks <= 1024 &&
           device->registers <= 1u << 24 && device->shared_memory <= 1u << 30 &&
           device->reserved_shared_memory <= 1u << 20 && device->threads_per_block <= 1u << 16;
}

/* False if what it takes is not known or cannot be. */
static bool block_of(const struct watch_device *device, const struct watch_run *run,
                     struct pdl_block *block)
{
    const uint64_t threads = (uint64_t)run->block[0] * run->block[1] * run->block[2];
    const uint64_t shared = (uint64_t)run->static_shared + run->dynamic_shared;
    if (threads == 0 || threads > device->threads_per_block || run->registers == 0 ||
        run->registers > 255 || shared > device->shared_memory_per_block) {
        return false;
    }
    *block = (struct pdl_block){.threads = (uint32_t)threads,
                                .registers = run->registers,
                                .shared_memory = (uint32_t)shared,
                                .carveout = -1};
    return true;
}

static uint64_t blocks_of(const struct watch_run *run)
{
    const uint64_t plane = (uint64_t)run->grid[0] * run->grid[1];
    return run->grid[2] > 0 && plane > UINT64_MAX / run->grid[2] ? UINT64_MAX
                                                                 : plane * run->grid[2];
}

/* How many blocks the device holds at the same time. */
static uint64_t wave_of(const struct watch_device *device, const struct pdl_block *block)
{
    const struct pdl_sm sm = sm_of(device);
    uint32_t each[PDL_RESOURCE_COUNT];
    return (uint64_t)device->sms * pdl_occupancy_alone(&sm, block, each);
}

uint64_t room_wave(const struct watch *watch, const struct watch_run *run, uint64_t *blocks)
{
    struct pdl_block block;
    *blocks = blocks_of(run);
    if (run->device == WATCH_NONE || run->kernel == WATCH_NONE ||
        !is_sound(&watch->devices.items[run->device]) ||
        !block_of(&watch->devices.items[run->device], run, &block)) {
        return 0;
    }
    return wave_of(&watch->devices.items[run->device], &block);
}

char *room_missing(const struct watch *watch, const struct watch_run *first,
                   const struct watch_run *second)
{
    static const char *const names[PDL_RESOURCE_COUNT] = {"threads", "registers", "shared memory",
                                                          "places for blocks"};
    struct pdl_block ahead;
    struct pdl_block behind;
    if (second->device == WATCH_NONE || first->kernel == WATCH_NONE ||
        !is_sound(&watch->devices.items[second->device])) {
        return NULL;
    }
    const struct watch_device *const device = &watch->devices.items[second->device];
    const struct pdl_sm sm = sm_of(device);
    if (!block_of(device, first, &ahead) || !block_of(device, second, &behind) ||
        !pdl_block_fits(&sm, &ahead) || !pdl_block_fits(&sm, &behind)) {
        return NULL;
    }
    const uint64_t wave = wave_of(device, &ahead);
    const uint64_t blocks = blocks_of(first);
    if (wave == 0 || blocks == 0) {
        return NULL;
    }
    /* What the last wave leaves on the SMs that have fewest of it, if all blocks take equally long. */
    const uint64_t last = (blocks - 1) % wave + 1;
    const uint32_t fewest = (uint32_t)(last / device->sms);
    if (fewest == 0) {
        return NULL;
    }
    const struct pdl_beside beside = {&ahead, fewest, blocks <= wave};
    const bool told = first->shared_size >= fewest * pdl_block_shared(&sm, &ahead) &&
                      first->shared_size <= sm.shared_memory;
    const uint32_t shared =
        told && first->shared_size > 0 ? first->shared_size : pdl_sm_shared_for(&sm, &ahead);
    struct pdl_room room;
    pdl_occupancy_beside(&sm, &beside, &behind, shared, &room);
    if (room.all_may > 0) {
        return NULL;
    }
    return format_text("an SM has room for 0 blocks of %.200s beside %u of %.200s: %s",
                       watch->kernels.items[second->kernel].shown, fewest,
                       watch->kernels.items[first->kernel].shown,
                       names[pdl_occupancy_limiter(room.may)]);
}
