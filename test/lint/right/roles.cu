// SPDX-License-Identifier: MIT
// Threads with roles, where everybody waits who has to.
#include <pdl/device.cuh>

static __device__ __forceinline__ unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

static __device__ __forceinline__ void await(unsigned barrier)
{
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;"
                 " @!p bra AGAIN; }" ::"r"(barrier)
                 : "memory");
}

// Every warp waits, each in its own branch.
__global__ void each_role_waits(const float *a, const float *b, float *y)
{
    __shared__ float tile_a[32];
    __shared__ float tile_b[32];
    const int lane = threadIdx.x & 31;
    switch (threadIdx.x >> 5) {
    case 0:
        PDL_WAIT();
        tile_a[lane] = a[lane];
        break;
    case 1:
        PDL_WAIT();
        tile_b[lane] = b[lane];
        break;
    default:
        PDL_WAIT();
        break;
    }
    __syncthreads();
    y[threadIdx.x] = tile_a[lane] * tile_b[lane];
    PDL_LAUNCH_DEPENDENTS();
}

// One elected thread waits and issues the copy, the others see shared memory only, and write after
// the barrier that the copy completes.
__global__ void elected_producer(const float *x, float *y)
{
    __shared__ alignas(128) float tile[128];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned at = shared_address(&barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        PDL_WAIT();
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(at)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1], 512, [%2];" ::"r"(shared_address(tile)),
                     "l"(x + blockIdx.x * 128), "r"(at)
                     : "memory");
    }
    await(at);
    y[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x];
}

// One thread waits, and the barrier of the block holds the others behind it.
__global__ void one_waits_all_synchronize(const float *x, float *y)
{
    if (threadIdx.x == 0) {
        PDL_WAIT();
    }
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
}

// The warp that computes waits too, late, for the sake of what it writes.
__global__ void consumer_waits_before_its_store(const float *x, float *y)
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
        await(at);
        const float value = 2 * tile[threadIdx.x];
        PDL_WAIT();
        y[blockIdx.x * 128 + threadIdx.x] = value;
    }
}

// The blocks beyond the end leave, and touch nothing.
__global__ void idle_blocks_leave(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) { // EXPECT note: exit-before-wait
        return;
    }
    PDL_WAIT();
    y[i] = x[i];
}

// Only some warps have anything to do with memory, and these wait.
__global__ void compute_warps_never_wait(const float *x, float *y)
{
    __shared__ float tile[32];
    const int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        PDL_WAIT();
        tile[lane] = x[lane];
    }
    __syncthreads();
    float value = tile[lane];
    for (int i = 0; i < 16; i++) {
        value = value * value + 1;
    }
    __syncthreads();
    tile[lane] = value;
    __syncthreads();
    if (threadIdx.x < 32) {
        y[lane] = tile[lane];
    }
}

// Shared memory of the neighbour in the cluster is no global memory.
__global__ void __cluster_dims__(2) cluster_shared_memory(const float *x, float *y)
{
    __shared__ float mine[128];
    mine[threadIdx.x] = (float)threadIdx.x;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    unsigned remote;
    float value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;"
                 : "=r"(remote)
                 : "r"(shared_address(&mine[threadIdx.x])));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(remote) : "memory");
    PDL_WAIT();
    y[threadIdx.x] = value + x[threadIdx.x];
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}

// The same through a generic address.
__global__ void __cluster_dims__(2) cluster_generic(const float *x, float *y)
{
    __shared__ float mine[128];
    mine[threadIdx.x] = (float)threadIdx.x;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    unsigned long long remote;
    asm volatile("mapa.u64 %0, %1, 1;" : "=l"(remote) : "l"(&mine[threadIdx.x]));
    const float value = *(const float *)remote;
    PDL_WAIT();
    y[threadIdx.x] = value + x[threadIdx.x];
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}

// One block of the cluster waits, and the barrier of the cluster holds the other behind it.
__global__ void __cluster_dims__(2) one_block_of_the_cluster_waits(const float *x, float *y)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (rank == 0) {
        PDL_WAIT();
    }
    asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
    y[blockIdx.x * 128 + threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
}
