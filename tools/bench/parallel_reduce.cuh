/* SPDX-License-Identifier: MIT */
/* The sum over all devices of a vector of bf16, in one kernel over peer memory.
 *
 * Each device writes its part to an inbox in the memory of every other one, waits for theirs in its
 * own, and adds them up in the order of the ranks: all devices get the same bits. The inboxes have two
 * halves that rounds use in turn. A device starts round k + 2 only after it has had every part of round
 * k + 1, which the others send when their round k has ended: so no half is overwritten before it is
 * read.
 *
 * Two ways to say that a part has come. REDUCE_PAIRED stores each pair of values with the number of the
 * round beside it in one word of 64 bits, which arrives as a whole: no fence. REDUCE_FENCED stores the
 * values, then a flag for each block with release at system scope; the reader loads it with acquire. */
#ifndef PDL_BENCH_PARALLEL_REDUCE_CUH
#define PDL_BENCH_PARALLEL_REDUCE_CUH

#include <cuda/atomic>

#include "decode_device.cuh"

static const int max_ranks = 8;
static const int reduce_threads = 256; /* each adds up a word: two values */
static const int most_words = 16384;   /* of a sum: 64 KiB */
static const int most_blocks = most_words / reduce_threads;

/* Of one device, in its memory; the others write it. */
struct inbox {
    unsigned long long
        *words;      /* [half][from][word]: two values, and the round with REDUCE_PAIRED */
    unsigned *flags; /* [from][block]: the last round whose part is here */
};

struct reduce_args {
    const bf16 *x; /* this device's part */
    bf16 *y;
    inbox boxes[max_ranks];
    unsigned *rounds; /* of this device, one for each block: the last that it has ended */
    unsigned *failed; /* set to 1 if a part does not come in time */
    kernel_stamps *stamps;
    int rank, size, words;
};

enum reduce_protocol { REDUCE_PAIRED, REDUCE_FENCED };

/* Calls `come` until it is true; gives up after 2 s, and soon after an earlier one has, so that nothing
 * holds the device. */
template <typename Come> __device__ inline void await(const reduce_args &args, Come &&come)
{
    const unsigned long long begin = device_clock();
    for (unsigned tries = 1; !come(); tries++) { /* the clock is slow to read */
        if (tries % 1024 == 0 &&
            (*static_cast<volatile unsigned *>(args.failed) != 0 || !in_time(begin))) {
            atomicExch(args.failed, 1u);
            return;
        }
    }
}

template <reduce_protocol Protocol>
static __global__ void __launch_bounds__(reduce_threads) reduce(const reduce_args args)
{
    typedef cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> word_ref;
    typedef cuda::atomic_ref<unsigned, cuda::thread_scope_system> flag_ref;
    stamp_start(args.stamps);
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();

    const int thread = static_cast<int>(threadIdx.x);
    const int block = static_cast<int>(blockIdx.x);
    const int word = block * reduce_threads + thread;
    const bool has_word = word < args.words;
    const unsigned round = args.rounds[block] + 1;
    const int half = static_cast<int>(round % 2) * args.size;
    const unsigned mine = has_word ? reinterpret_cast<const unsigned *>(args.x)[word] : 0;
    const unsigned long long sent =
        Protocol == REDUCE_PAIRED ? mine | static_cast<unsigned long long>(round) << 32 : mine;
    for (int i = 1; i < args.size && has_word; i++) { /* each begins with another one */
        const int to = (args.rank + i) % args.size;
        word_ref(args.boxes[to].words[(half + args.rank) * most_words + word])
            .store(sent, cuda::memory_order_relaxed);
    }
    if (Protocol == REDUCE_FENCED) {
        __syncthreads(); /* the flag's release covers what the whole block has stored */
        if (thread < args.size && thread != args.rank) {
            flag_ref(args.boxes[thread].flags[args.rank * most_blocks + block])
                .store(round, cuda::memory_order_release);
            flag_ref here(args.boxes[args.rank].flags[thread * most_blocks + block]);
            await(args,
                  [&] { /* numbers wrap around */
                        return static_cast<int>(here.load(cuda::memory_order_acquire) - round) >= 0;
                  });
        }
        __syncthreads();
    }
    float low = 0, high = 0;
    for (int from = 0; from < args.size && has_word; from++) {
        unsigned long long got = mine;
        if (from != args.rank) {
            word_ref here(args.boxes[args.rank].words[(half + from) * most_words + word]);
            got = here.load(cuda::memory_order_relaxed);
            if (Protocol == REDUCE_PAIRED && got >> 32 != round) {
                await(args, [&] {
                    got = here.load(cuda::memory_order_relaxed);
                    return got >> 32 == round;
                });
            }
        }
        low += low_half(static_cast<unsigned>(got));
        high += high_half(static_cast<unsigned>(got));
    }
    if (has_word) {
        reinterpret_cast<unsigned *>(args.y)[word] = pack(low, high);
    }
    __syncthreads(); /* all threads have read the round */
    if (thread == 0) {
        args.rounds[block] = round;
    }
    stamp_end(args.stamps);
}

#endif /* PDL_BENCH_PARALLEL_REDUCE_CUH */
