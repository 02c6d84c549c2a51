/* SPDX-License-Identifier: MIT */
/* A barrier over several devices: one cooperative grid on each, and flags in each other's memory.
 *
 * CUDA 13 has no cooperative launch over devices any more. What it did takes a grid barrier on each
 * device and one flag a pair of devices, stored with release and loaded with acquire at system
 * scope. In every round each device writes its own memory, all meet, and each reads what its
 * neighbour wrote. */
#include <cooperative_groups.h>
#include <cuda/atomic>

#include <pdl/cudart.h>

#include "buffer.cuh"
#include "timing.cuh"

namespace cg = cooperative_groups;

static const int max_devices = 8;
static const int threads = 256;
static const unsigned rounds = 1000;

/* Of one device, in its memory. */
struct mailbox {
    unsigned arrived[max_devices]; /* by device: the last round in which it arrived */
    unsigned failed;               /* 1 if a barrier took longer than 2 s */
    unsigned wrong;                /* values of the neighbour that were not this round's */
    unsigned long long ns;         /* all rounds but the first, on the device */
};

/* Passed by value: every device sees the memory of all of them. */
struct team {
    int size;
    mailbox *mail[max_devices];
    unsigned *data[max_devices]; /* two halves, used in turn, each with a word a thread */
};

/* Returns once every block of every device has called it for this round: true, or false everywhere
 * on this device if another one did not come. */
__device__ static bool meet(const team &t, int self, unsigned round)
{
    mailbox *const own = t.mail[self];
    const int other = static_cast<int>(threadIdx.x);
    __threadfence_system(); /* this thread's writes, for readers on other devices */
    cg::this_grid().sync();
    if (blockIdx.x == 0 && other < t.size) {
        cuda::atomic_ref<unsigned, cuda::thread_scope_system> there(t.mail[other]->arrived[self]);
        cuda::atomic_ref<unsigned, cuda::thread_scope_system> here(own->arrived[other]);
        there.store(round, cuda::memory_order_release);
        const unsigned long long begin = device_clock();
        while (here.load(cuda::memory_order_acquire) < round) {
            if (!in_time(begin)) {
                atomicExch(&own->failed, 1u);
                break;
            }
        }
    }
    cg::this_grid().sync();
    return *static_cast<volatile unsigned *>(&own->failed) == 0;
}

__device__ static unsigned value_of(int device, unsigned round, unsigned i)
{
    return (round * max_devices + static_cast<unsigned>(device)) * 2654435761u + i;
}

__global__ void work_together(team t, int self, unsigned last_round)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x;
    const int neighbour = (self + 1) % t.size;
    unsigned long long begin = 0;
    for (unsigned round = 1; round <= last_round; round++) {
        const unsigned half =
            round % 2 * count; /* the neighbour may still be reading the other half */
        t.data[self][half + i] = value_of(self, round, i);
        if (!meet(t, self, round)) {
            return; /* the whole grid does */
        }
        begin = round == 1 ? device_clock() : begin;
        if (*static_cast<volatile unsigned *>(&t.data[neighbour][half + i]) !=
            value_of(neighbour, round, i)) {
            atomicAdd(&t.mail[self]->wrong, 1u);
        }
    }
    if (i == 0 && last_round > 1) {
        t.mail[self]->ns = device_clock() - begin;
    }
}

/* The devices, from 0 on, that can run the code and reach each other's memory; says what stops
 * more. */
static int count_team()
{
    int count = 0, size = 1;
    CHECK(cudaGetDeviceCount(&count));
    for (; size < std::min(count, max_devices); size++) {
        pdl_device_info first = PDL_DEVICE_INFO_INIT, info = PDL_DEVICE_INFO_INIT;
        CHECK(pdl_device_get(0, &first));
        CHECK(pdl_device_get(size, &info));
        int reach = info.cooperative_launch && info.compute_capability_major >= 9 &&
                    info.multiprocessor_count == first.multiprocessor_count;
        for (int other = 0; other < size && reach; other++) {
            int back = 0;
            CHECK(cudaDeviceCanAccessPeer(&reach, size, other));
            CHECK(cudaDeviceCanAccessPeer(&back, other, size));
            reach = reach && back;
        }
        if (!reach) {
            std::printf("device %d is no peer of the others\n", size);
            break;
        }
    }
    if (size == 1) {
        std::printf("one device to work with of %d: the barrier is over its own grid alone\n",
                    count);
    }
    return size;
}

int main()
{
    require_device("13_devices_barrier");
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    CHECK(pdl_device_get(0, &info));
    const unsigned blocks = static_cast<unsigned>(info.multiprocessor_count);
    team t = {};
    t.size = count_team();
    cudaStream_t streams[max_devices] = {};
    for (int device = 0; device < t.size; device++) {
        CHECK(cudaSetDevice(device));
        for (int other = 0; other < t.size; other++) {
            if (other != device) {
                CHECK(cudaDeviceEnablePeerAccess(other, 0));
            }
        }
        const size_t bytes = 2 * sizeof(unsigned) * blocks * threads;
        CHECK(cudaMalloc(&t.data[device], bytes));
        CHECK(cudaMalloc(&t.mail[device], sizeof(mailbox)));
        CHECK(cudaMemset(t.data[device], 0, bytes));
        CHECK(cudaMemset(t.mail[device], 0, sizeof(mailbox)));
        CHECK(cudaStreamCreateWithFlags(&streams[device], cudaStreamNonBlocking));
        CHECK(cudaDeviceSynchronize());
    }

    /* Round 0 loads the kernel on every device, so that no grid waits for another one's loading. */
    pdl_kernel *kernel;
    CHECK(pdl_kernel_from_symbol(work_together, &kernel)); /* one for every device */
    for (const unsigned last_round : {0u, rounds}) {
        for (int device = 0; device < t.size; device++) {
            CHECK(cudaSetDevice(device));
            pdl_launch_desc desc = pdl_launch_desc_make(blocks, threads, 0, streams[device]);
            desc.cooperative = 1;
            CHECK(pdl_launch(kernel, desc, PDL_ARGS(t, device, last_round)));
        }
        for (int device = 0; device < t.size; device++) {
            CHECK(cudaStreamSynchronize(streams[device]));
        }
    }

    bool good = true;
    for (int device = 0; device < t.size; device++) {
        mailbox mail;
        CHECK(cudaSetDevice(device));
        CHECK(cudaMemcpy(&mail, t.mail[device], sizeof(mail), cudaMemcpyDeviceToHost));
        std::printf(
            "device %d: %u rounds with %d device%s, %u blocks of %d: %.2f us a round, %u wrong%s\n",
            device, rounds, t.size, t.size == 1 ? "" : "s", blocks, threads,
            1e-3 * static_cast<double>(mail.ns) / (rounds - 1), mail.wrong,
            mail.failed ? "; another device did not come in time" : "");
        good = good && mail.wrong == 0 && mail.failed == 0 && mail.arrived[device] == rounds;
        CHECK(cudaFree(t.mail[device]));
        CHECK(cudaFree(t.data[device]));
        CHECK(cudaStreamDestroy(streams[device]));
    }
    pdl_kernel_destroy(kernel);
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
