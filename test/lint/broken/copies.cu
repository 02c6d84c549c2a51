// SPDX-License-Identifier: MIT
// Asynchronous copies that are issued before the wait.
#include <pdl/device.cuh>

static __device__ __forceinline__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

// cp.async, as a pipelined matrix product fills its first stage.
__global__ void cp_async_early(const float *x, float *y)
{
    __shared__ alignas(16) float tile[512];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" // EXPECT: read-before-wait
                 ::"r"(shared_address(&tile[4 * threadIdx.x])),
                 "l"(x + 4 * threadIdx.x)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    PDL_WAIT();
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];
}

// A bulk copy into shared memory, completed on an mbarrier.
__global__ void bulk_early(const float *x, float *y)
{
    __shared__ alignas(128) float tile[128];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned at = shared_address(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(at)
                     : "memory");
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" // EXPECT: read-before-wait
            " [%0], [%1], 512, [%2];" ::"r"(shared_address(tile)),
            "l"(x + blockIdx.x * 128), "r"(at)
            : "memory");
    }
    __syncthreads();
    PDL_WAIT();
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
                 " @!p bra AGAIN; }" ::"r"(at)
                 : "memory");
    y[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x];
}

struct alignas(64) Map {
    unsigned char bytes[128];
};

// A tensor copy: the map is a parameter, the memory behind it is not.
__global__ void tensor_early(const __grid_constant__ Map map, float *y)
{
    __shared__ alignas(128) float tile[128];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned at = shared_address(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(at)
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes" // EXPECT: read-before-wait
            " [%0], [%1, {%3}], [%2];" ::"r"(shared_address(tile)),
            "l"(&map), "r"(at), "r"(blockIdx.x * 128)
            : "memory");
    }
    __syncthreads();
    PDL_WAIT();
    y[threadIdx.x] = tile[threadIdx.x];
}

// Maps in memory, which the kernel before may write.
__global__ void maps_early(const Map *maps, float *y)
{
    PDL_PREFETCH_TENSORMAP(maps + blockIdx.x); // EXPECT: read-before-wait
    PDL_WAIT();
    y[blockIdx.x] = 0;
}

// A bulk store: the tile goes out before the wait.
__global__ void bulk_store_early(float *y, float value)
{
    __shared__ alignas(128) float tile[128];
    tile[threadIdx.x] = value;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile(
            "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" // EXPECT: write-before-wait
            ::"l"(y + blockIdx.x * 128),
            "r"(shared_address(tile))
            : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    PDL_WAIT();
    y[blockIdx.x * 128 + threadIdx.x] += value;
}

// A reduction into global memory by the bulk engine.
__global__ void bulk_reduce_early(float *y, float value)
{
    __shared__ alignas(128) float tile[128];
    tile[threadIdx.x] = value;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32" // EXPECT: write-before-wait
            " [%0], [%1], 512;" ::"l"(y),
            "r"(shared_address(tile))
            : "memory");
    }
    PDL_WAIT();
    y[threadIdx.x] += 1;
}

// The producer waits and copies; the consumer fetches its own scale, early.
__global__ void producer_waits_consumer_reads(const float *x, const float *scale, float *y)
{
    __shared__ alignas(128) float tile[128];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned at = shared_address(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128) {
            PDL_WAIT();
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(at)
                         : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                         " [%0], [%1], 512, [%2];" ::"r"(shared_address(tile)),
                         "l"(x + blockIdx.x * 128), "r"(at)
                         : "memory");
        }
    } else {
        const float factor = scale[threadIdx.x]; // EXPECT: partial-wait
        asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
                     " @!p bra AGAIN; }" ::"r"(at)
                     : "memory");
        y[threadIdx.x] = factor * tile[threadIdx.x];
    }
}

// A multicast reduction reads every device's copy.
__global__ void multimem_early(const float *multicast, float *y)
{
    float value;
    asm volatile(
        "multimem.ld_reduce.relaxed.sys.global.add.f32 %0, [%1];" // EXPECT: read-before-wait
        : "=f"(value)
        : "l"(multicast + threadIdx.x)
        : "memory");
    PDL_WAIT();
    y[threadIdx.x] = value;
}
