// SPDX-License-Identifier: MIT
// What a warp-specialized kernel on sm_90 is made of: mbarriers, bulk copies, one elected thread of a warp.
#ifndef PDL_TEST_LINT_RING_CUH
#define PDL_TEST_LINT_RING_CUH

static __device__ __forceinline__ unsigned ring_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

static __device__ __forceinline__ bool ring_elect()
{
    unsigned elected;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
                 : "=r"(elected));
    return elected != 0;
}

static __device__ __forceinline__ void ring_init(unsigned long long *barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ring_address(barrier)), "r"(count)
                 : "memory");
}

static __device__ __forceinline__ void ring_await(unsigned long long *barrier, unsigned parity)
{
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;"
                 " @!p bra AGAIN; }" ::"r"(ring_address(barrier)),
                 "r"(parity)
                 : "memory");
}

static __device__ __forceinline__ void ring_arrive(unsigned long long *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ring_address(barrier))
                 : "memory");
}

static __device__ __forceinline__ void ring_copy(void *to, const void *from, unsigned bytes,
                                                 unsigned long long *barrier)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ring_address(barrier)),
        "r"(bytes)
        : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(ring_address(to)),
                 "l"(from), "r"(bytes), "r"(ring_address(barrier))
                 : "memory");
}

#endif
