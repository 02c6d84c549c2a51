/* SPDX-License-Identifier: MIT */
/* The model of an SM against the toolkit's own calculator, cuda_occupancy.h, and two kernels beside
 * one another against what can be counted by hand. */
#include "support.h"

#include "overlap/occupancy.h"

#if defined(__has_include)
#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define HAVE_CALCULATOR
#endif
#endif

/* An SM of an H200, and others as cuda/__device/arch_traits.h of NVIDIA's libcu++ has them. */
static const struct pdl_sm sm_90 = {90, 2048, 1024, 32, 32, 65536, 233472, 232448, 1024, 64};
static const struct pdl_sm sms[] = {
    {80, 2048, 1024, 32, 32, 65536, 167936, 166912, 1024, 64},
    {86, 1536, 1024, 32, 16, 65536, 102400, 101376, 1024, 16},
    {87, 1536, 1024, 32, 16, 65536, 167936, 166912, 1024, 16},
    {88, 1536, 1024, 32, 16, 65536, 102400, 101376, 1024, 16},
    {89, 1536, 1024, 32, 24, 65536, 102400, 101376, 1024, 24},
    {90, 2048, 1024, 32, 32, 65536, 233472, 232448, 1024, 64},
    {100, 2048, 1024, 32, 32, 65536, 233472, 232448, 1024, 64},
    {103, 2048, 1024, 32, 32, 65536, 233472, 232448, 1024, 32},
    {107, 1024, 1024, 32, 16, 65536, 233472, 232448, 1024, 16},
    {110, 1536, 1024, 32, 24, 65536, 233472, 232448, 1024, 24},
    {121, 1536, 1024, 32, 24, 65536, 102400, 101376, 1024, 24},
    {120, 1536, 1024, 32, 24, 65536, 102400, 101376, 1024, 24},
};

/* Calls a function for many blocks: odd and even sizes, at and around what is allocated. */
static unsigned for_blocks(const struct pdl_sm *sm,
                           void (*check)(const struct pdl_sm *sm, const struct pdl_block *block))
{
    static const uint32_t threads[] = {1,   31,  32,  33,  64,  96,  97,  128, 160, 192,
                                       224, 256, 288, 352, 384, 512, 640, 768, 993, 1024};
    static const uint32_t registers[] = {1,  8,  16, 17,  24,  32,  33,  40,  64, 65,
                                         72, 80, 96, 104, 128, 136, 168, 200, 255};
    static const uint32_t shared[] = {0,      1,      127,    128,    1024,   4096,  7168,
                                      7169,   10000,  15360,  31744,  49152,  65536, 100000,
                                      101376, 115712, 115713, 166912, 200000, 232448};
    static const int32_t carveouts[] = {-1, 0, 1, 10, 25, 33, 50, 67, 75, 90, 100};
    unsigned count = 0;
    for (size_t t = 0; t < COUNT_OF(threads); t++) {
        for (size_t r = 0; r < COUNT_OF(registers); r++) {
            for (size_t s = 0; s < COUNT_OF(shared); s++) {
                for (size_t c = 0; c < COUNT_OF(carveouts); c++) {
                    const struct pdl_block block = {threads[t], registers[r], shared[s],
                                                    carveouts[c]};
                    check(sm, &block);
                    count++;
                }
            }
        }
    }
    return count;
}

#ifdef HAVE_CALCULATOR
static void check_with_calculator(const struct pdl_sm *sm, const struct pdl_block *block)
{
    const cudaOccDeviceProp device = {
        .computeMajor = sm->compute_capability / 10,
        .computeMinor = sm->compute_capability % 10,
        .maxThreadsPerBlock = (int)sm->threads_per_block,
        .maxThreadsPerMultiprocessor = (int)sm->threads,
        .regsPerBlock = (int)sm->registers,
        .regsPerMultiprocessor = (int)sm->registers,
        .warpSize = (int)sm->warp_size,
        .sharedMemPerBlock = 49152,
        .sharedMemPerMultiprocessor = sm->shared_memory,
        .numSms = 132,
        .sharedMemPerBlockOptin = sm->shared_memory_per_block,
        .reservedSharedMemPerBlock = sm->reserved_shared_memory,
    };
    const cudaOccFuncAttributes kernel = {
        .maxThreadsPerBlock = 1024,
        .numRegs = (int)block->registers,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = block->shared_memory > 49152 ? block->shared_memory : 49152,
        .numBlockBarriers = 1,
    };
    const cudaOccDeviceState state = {.carveoutConfig = block->carveout};
    cudaOccResult result;
    uint32_t each[PDL_RESOURCE_COUNT];
    const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
        &result, &device, &kernel, &state, (int)block->threads, block->shared_memory);
    if (error == CUDA_OCC_ERROR_UNKNOWN_DEVICE) {
        assert_true(sm->compute_capability >= 100); /* newer than the headers */
        return;
    }
    /* It refuses what is over a block's memory in two ways. */
    const int expected = error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : 0;
    const uint32_t counted = pdl_occupancy_alone(sm, block, each);
    if (counted != (uint32_t)expected) {
        print_error("%d: %u threads, %u registers, %u bytes, carve-out %d: %u, not %d\n",
                    sm->compute_capability, block->threads, block->registers, block->shared_memory,
                    block->carveout, counted, expected);
    }
    assert_int_equal(counted, expected);
}

PLAIN_TEST(one_kernel_is_counted_as_the_toolkit_counts_it)
{
    unsigned count = 0;
    for (size_t i = 0; i < COUNT_OF(sms); i++) {
        count += for_blocks(&sms[i], check_with_calculator);
    }
    assert_true(count >= 500);
}
#else
PLAIN_TEST(one_kernel_is_counted_as_the_toolkit_counts_it)
{
    skip();
}
#endif

/* In a later wave its blocks may lie worse than the calculator takes them to, never better. */
static void check_beside_itself(const struct pdl_sm *sm, const struct pdl_block *block)
{
    uint32_t each[PDL_RESOURCE_COUNT];
    struct pdl_room room;
    const uint32_t alone = pdl_occupancy_alone(sm, block, each);
    const uint32_t size = pdl_sm_shared_for(sm, block);
    for (uint32_t count = 0; count <= alone; count += 1 + count) {
        const struct pdl_beside first = {block, count, true};
        const struct pdl_beside later = {block, count, false};
        pdl_occupancy_beside(sm, &first, block, size, &room);
        assert_int_equal(room.all_may, alone - count);
        assert_true(room.all_sure <= room.all_may);
        const uint32_t in_turn = room.all_sure;
        pdl_occupancy_beside(sm, &later, block, size, &room);
        assert_int_equal(room.all_may, alone - count);
        assert_true(room.all_sure <= in_turn);
        if (pdl_block_warps(sm, block) % 4 == 0) {
            assert_int_equal(room.all_sure, alone - count);
        }
    }
}

PLAIN_TEST(a_kernel_beside_itself_has_the_room_that_its_own_blocks_leave)
{
    for_blocks(&sm_90, check_beside_itself);
}

static struct pdl_room beside(struct pdl_block other, uint32_t count, struct pdl_block block,
                              bool in_turn)
{
    const struct pdl_beside held = {&other, count, in_turn};
    struct pdl_room room;
    pdl_occupancy_beside(&sm_90, &held, &block, sm_90.shared_memory, &room);
    return room;
}

PLAIN_TEST(threads_left_are_counted_in_warps)
{
    /* 3 blocks of 19 warps leave 7 of 64; 97 threads are 4 warps. */
    const struct pdl_room room = beside((struct pdl_block){.threads = 600, .registers = 16}, 3,
                                        (struct pdl_block){.threads = 97, .registers = 16}, true);
    assert_int_equal(room.all_sure, 1);
    assert_int_equal(room.sure[PDL_RESOURCE_WARPS], 1);
    assert_int_equal(pdl_occupancy_limiter(room.sure), PDL_RESOURCE_WARPS);
}

static void assert_registers(struct pdl_block other, uint32_t count, struct pdl_block block,
                             uint32_t sure, uint32_t may, uint32_t later_sure, uint32_t later_may)
{
    const struct pdl_room first = beside(other, count, block, true);
    const struct pdl_room later = beside(other, count, block, false);
    assert_int_equal(first.sure[PDL_RESOURCE_REGISTERS], sure);
    assert_int_equal(first.may[PDL_RESOURCE_REGISTERS], may);
    assert_int_equal(later.sure[PDL_RESOURCE_REGISTERS], later_sure);
    assert_int_equal(later.may[PDL_RESOURCE_REGISTERS], later_may);
}

PLAIN_TEST(registers_left_are_counted_in_each_partition)
{
    /* 4 warps of 255 registers, 8192 a warp, leave 8192 in each partition; a warp of 136 takes
     * 4352, so that one fits in each: 4 warps. All that is left, 32768, would be enough for 7. */
    assert_registers((struct pdl_block){.threads = 128, .registers = 255}, 1,
                     (struct pdl_block){.threads = 32, .registers = 136}, 4, 4, 4, 4);
    assert_registers((struct pdl_block){.threads = 128, .registers = 255}, 1,
                     (struct pdl_block){.threads = 160, .registers = 136}, 0, 0, 0, 0);
}

PLAIN_TEST(warps_are_dealt_out_to_the_partitions_in_turn)
{
    /* Rooms of 9, 12, 12 and 12 warps hold 15 blocks of 3. Dealt out in turn, 12 take 9 of each,
     * the next takes none of the first and the one after that one of it: 13, as was seen. Where
     * the first of them begins there, 12. */
    assert_registers((struct pdl_block){.threads = 32, .registers = 114}, 1,
                     (struct pdl_block){.threads = 96, .registers = 34}, 13, 15, 12, 15);
    /* 2, 2, 4, 4: seen were 3. */
    assert_registers((struct pdl_block){.threads = 64, .registers = 178}, 1,
                     (struct pdl_block){.threads = 96, .registers = 114}, 3, 4, 2, 4);
}

PLAIN_TEST(a_block_takes_as_many_warps_of_each_partition_or_one_more)
{
    /* 2, 2, 5, 5 are 14 warps; 12 need 3 of each. */
    assert_registers((struct pdl_block){.threads = 192, .registers = 178}, 1,
                     (struct pdl_block){.threads = 384, .registers = 50}, 0, 0, 0, 0);
    /* 0, 0, 2, 2: 3 warps need 1 of three. */
    assert_registers((struct pdl_block){.threads = 192, .registers = 226}, 1,
                     (struct pdl_block){.threads = 96, .registers = 114}, 0, 0, 0, 0);
    /* Two blocks of 3 warps with room for 2 in a partition: 1536 registers are left in two of them
     * at least, and 16 warps need 3072 of each. */
    assert_registers((struct pdl_block){.threads = 96, .registers = 226}, 2,
                     (struct pdl_block){.threads = 512, .registers = 18}, 0, 0, 0, 0);
}

PLAIN_TEST(what_depends_on_where_warps_lie_is_not_certain)
{
    /* 6 warps leave room for none, none, 1 and 1: two warps fit if they begin at the third. */
    assert_registers((struct pdl_block){.threads = 192, .registers = 226}, 1,
                     (struct pdl_block){.threads = 64, .registers = 178}, 1, 1, 0, 1);
    /* Four blocks of 1 warp, in turn one in each partition, else up to 2 in some. */
    assert_registers((struct pdl_block){.threads = 32, .registers = 226}, 4,
                     (struct pdl_block){.threads = 128, .registers = 226}, 1, 1, 0, 1);
}

PLAIN_TEST(shared_memory_left_is_counted_with_what_is_reserved)
{
    const struct pdl_block half = {.threads = 32, .registers = 16, .shared_memory = 115712};
    const struct pdl_block more = {.threads = 32, .registers = 16, .shared_memory = 115713};
    assert_int_equal(beside(half, 1, half, true).all_sure, 1);
    const struct pdl_room room = beside(half, 1, more, true);
    assert_int_equal(room.all_sure, 0);
    assert_int_equal(room.all_may, 0);
    assert_int_equal(pdl_occupancy_limiter(room.sure), PDL_RESOURCE_SHARED_MEMORY);
}

PLAIN_TEST(places_left_are_counted)
{
    const struct pdl_block small = {.threads = 32, .registers = 16};
    const struct pdl_room room = beside(small, 30, small, true);
    assert_int_equal(room.all_sure, 2);
    assert_int_equal(pdl_occupancy_limiter(room.sure), PDL_RESOURCE_BLOCKS);
}

PLAIN_TEST(of_equals_the_first_is_named)
{
    const uint32_t each[PDL_RESOURCE_COUNT] = {5, 2, 2, 3};
    assert_int_equal(pdl_occupancy_limiter(each), PDL_RESOURCE_REGISTERS);
}

PLAIN_TEST(what_can_never_run_is_counted_as_none)
{
    uint32_t each[PDL_RESOURCE_COUNT];
    const struct pdl_block blocks[] = {
        {.threads = 0, .registers = 16},
        {.threads = 1025, .registers = 16},
        {.threads = 1024, .registers = 65},
        {.threads = 32, .registers = 16, .shared_memory = 232449},
        {.threads = 32, .registers = 257},
    };
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        assert_int_equal(pdl_occupancy_alone(&sm_90, &blocks[i], each), 0);
    }
}

PLAIN_TEST(sizes_of_shared_memory_are_those_of_the_compute_capability)
{
    assert_int_equal(pdl_sm_shared_size(&sm_90, 0), 0);
    assert_int_equal(pdl_sm_shared_size(&sm_90, 1), 8 << 10);
    assert_int_equal(pdl_sm_shared_size(&sm_90, 164 << 10), 164 << 10);
    assert_int_equal(pdl_sm_shared_size(&sm_90, (164 << 10) + 1), 196 << 10);
    assert_int_equal(pdl_sm_shared_size(&sm_90, (228 << 10) + 1), 0);
    assert_int_equal(pdl_sm_shared_size(&sms[0], (132 << 10) + 1), 164 << 10);
    assert_int_equal(pdl_sm_shared_size(&sms[COUNT_OF(sms) - 1], (64 << 10) + 1), 100 << 10);
}
