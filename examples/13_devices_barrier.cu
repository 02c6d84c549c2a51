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

#include "common.cuh"

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
    cooperative_groups::this_grid().sync();
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
    cooperative_groups::this_grid().sync();
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
        const unsigned half = round % 2 * count; /* the neighbour may still read the other */
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

/* The devices, from 0 on, that can run the code and reach each other's memory. */
static int count_team()
{
    int count = 0, size = 0, reach = 1;
    pdl_device_info first = PDL_DEVICE_INFO_INIT, info = PDL_DEVICE_INFO_INIT;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(pdl_device_get(0, &first));
    while (size < std::min(count, max_devices) && reach) {
        CHECK(pdl_device_get(size, &info));
        reach = info.cooperative_launch && info.compute_capability_major >= 9 &&
                info.multiprocessor_count == first.multiprocessor_count;
        for (int other = 0; other < size && reach; other++) {
            int back = 0;
            CHECK(cudaDeviceCanAccessPeer(&reach, size, other));
            CHECK(cudaDeviceCanAccessPeer(&back, other, size));
            reach = reach && back;
        }
        size += reach;
    }
    return size;
}

int main()
{
    const pdl_device_info info = require_device("13_devices_barrier");
    const unsigned blocks = static_cast<unsigned>(info.multiprocessor_count);
    team t = {};
    t.size = count_team();
    cudaStream_t streams[max_devices] = {};
    for (int device = 0; device < t.size; device++) {
        CHECK(cudaSetDevice(device));
        for (int i = 1; i < t.size; i++) {
            CHECK(cudaDeviceEnablePeerAccess((device + i) % t.size, 0));
        }
        t.data[device] = allocate<unsigned>(size_t{2} * blocks * threads);
        t.mail[device] = allocate<mailbox>(1);
        CHECK(cudaStreamCreateWithFlags(&streams[device], cudaStreamNonBlocking));
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
        CHECK(cudaSetDevice(device));
        const mailbox mail = to_host(t.mail[device], 1)[0];
        std::printf("device %d: %u rounds, %u blocks of %d: %.2f us per round, %u wrong%s\n",
                    device, rounds, blocks, threads,
                    1e-3 * static_cast<double>(mail.ns) / (rounds - 1), mail.wrong,
                    mail.failed ? "; another device did not come in time" : "");
        good = good && mail.wrong == 0 && mail.failed == 0 && mail.arrived[device] == rounds;
    }
    return verdict(good);
}
