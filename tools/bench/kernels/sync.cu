/* SPDX-License-Identifier: MIT */
/* Kernels that show whether they ran in order: lines of them, and barriers of every scope.
 *
 * The exchange. Slots are two rows of a word for each block. In round r a block stores r into its word
 * of row r % 2; after the ordering it reads the word of the block half the grid away, and counts it if it
 * is not r. Two rows are enough: what is read in round r is stored to again in round r + 2, and an
 * ordering lies between. The last thread of a block stores and reads, the first one runs the barriers,
 * and all accesses are weak: only an ordering of the whole block and of the whole grid gets it right.
 * `slots` NULL leaves only the ordering. `late` makes one block in each round, another one each time,
 * come so many cycles late. */
#include <cooperative_groups.h>

#include <pdl/device.cuh>

#include "bench/kernels/timer.cuh"

/* ---- lines ------------------------------------------------------------------------------------ */

/* What turn it is stands in the low bits of a word, and how often the line was run in the others. */
static constexpr unsigned turn_mask = 0x1fff;

/* Adds `step` to a word whose turn is `turn`, and leaves others as they are. A block's word is that of
 * another block in the next kernel. `words` NULL: nothing but what PDL asks of a kernel. */
extern "C" __global__ void line_turn(unsigned *words, unsigned turn, unsigned step)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    if (words != nullptr && threadIdx.x == 0) {
        unsigned *const word = words + (blockIdx.x + turn) % gridDim.x;
        const unsigned value = PDL_LOAD(word);
        if ((value & turn_mask) == turn) {
            *word = value + step;
        }
    }
}

/* ---- the exchange ----------------------------------------------------------------------------- */

__device__ static void store_word(unsigned *to, unsigned value)
{
    asm volatile("st.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

__device__ static unsigned load_word(const unsigned *from)
{
    unsigned value;
    asm volatile("ld.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ static void come_late(unsigned cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

/* 7 blocks further each round: that is another one each time where 7 does not divide the grid. */
__device__ static bool is_late(unsigned round, unsigned part, unsigned parts)
{
    return round * 7u % parts == part;
}

/* A word each for `parts` parts that are ordered: the blocks of a grid, the warps of a block. */
__device__ static void speak(unsigned *slots, unsigned part, unsigned parts, unsigned round,
                             unsigned late)
{
    if (late != 0 && is_late(round, part, parts)) {
        come_late(late);
    }
    store_word(slots + (round & 1) * parts + part, round);
}

__device__ static void listen(const unsigned *slots, unsigned part, unsigned parts, unsigned round,
                              unsigned *wrong)
{
    const unsigned far = (part + parts / 2) % parts;
    if (load_word(slots + (round & 1) * parts + far) != round) {
        atomicAdd(wrong, 1);
    }
}

/* ---- a kernel a round ------------------------------------------------------------------------- */

/* Reads what round - 1 stored, and stores; the host reads the last one's. */
extern "C" __global__ void step(unsigned round, unsigned *slots, unsigned *wrong, unsigned late)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    if (slots != nullptr && threadIdx.x == blockDim.x - 1) {
        if (round > 1) {
            listen(slots, blockIdx.x, gridDim.x, round - 1, wrong);
        }
        speak(slots, blockIdx.x, gridDim.x, round, late);
    }
}

/* Without the wait: to see that the exchange finds it. */
extern "C" __global__ void step_no_wait(unsigned round, unsigned *slots, unsigned *wrong,
                                        unsigned late)
{
    PDL_LINT_ALLOW("no-wait", "the race is what is shown");
    PDL_LAUNCH_DEPENDENTS();
    if (threadIdx.x == blockDim.x - 1) {
        if (round > 1) {
            listen(slots, blockIdx.x, gridDim.x, round - 1, wrong);
        }
        speak(slots, blockIdx.x, gridDim.x, round, late);
    }
}

/* ---- barriers of a grid that stays ------------------------------------------------------------ */

/* Rounds count on from one launch to the next (`base`), and so do the words in `state`: nothing is ever
 * set back. Sums wrap; differences tell. */

__device__ static unsigned load_acquire(const unsigned *from)
{
    unsigned value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ static unsigned load_relaxed(const unsigned *from)
{
    unsigned value;
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ static void store_release(unsigned *to, unsigned value)
{
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

__device__ static void add_release(unsigned *to, unsigned value)
{
    asm volatile("red.release.gpu.add.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

__device__ static unsigned add_acq_rel(unsigned *to, unsigned value)
{
    unsigned before;
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(to), "r"(value)
                 : "memory");
    return before;
}

/* Until `*from` is at `target` or past it. Ends the kernel with an error after 2 s: nothing may hang the device. */
template <unsigned load(const unsigned *) = load_acquire>
__device__ static void spin_until(const unsigned *from, unsigned target)
{
    unsigned long long begin = 0;
    for (unsigned polls = 1; static_cast<int>(load(from) - target) < 0; polls++) {
        if (polls % 1024 == 0) { /* the timer is slow to read */
            begin = begin == 0 ? global_timer() : begin;
            if (!in_time(begin)) {
                __trap();
            }
        }
    }
}

struct cluster_barrier {
    static __device__ void wait()
    {
        asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                     "barrier.cluster.wait.acquire.aligned;" ::
                         : "memory");
    }
};

/* Words from one word of `state` to the next: each in its own part of L2. */
static constexpr unsigned apart = 64;

/* No barrier at all. */
struct unordered {
    __device__ explicit unordered(unsigned *)
    {
    }
    __device__ void wait(unsigned)
    {
    }
};

/* Blocks wait for each other, but nothing orders their memory. */
struct relaxed_counter {
    unsigned *state;
    __device__ explicit relaxed_counter(unsigned *words) : state(words)
    {
    }
    __device__ void wait(unsigned round)
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("red.relaxed.gpu.add.u32 [%0], 1;" ::"l"(state) : "memory");
            spin_until<load_relaxed>(state, round * gridDim.x);
        }
        __syncthreads();
    }
};

struct cooperative_groups_sync {
    __device__ explicit cooperative_groups_sync(unsigned *)
    {
    }
    __device__ void wait(unsigned)
    {
        cooperative_groups::this_grid().sync();
    }
};

/* Flat: every block adds to one counter and polls it. */
struct counter {
    unsigned *state;
    __device__ explicit counter(unsigned *words) : state(words)
    {
    }
    __device__ void wait(unsigned round)
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            add_release(state, 1);
            spin_until(state, round * gridDim.x);
        }
        __syncthreads();
    }
};

/* Two levels by hardware: clusters gather first, one block of each adds to a counter and polls it. */
struct clustered {
    unsigned *state;
    unsigned blocks; /* of a cluster */
    bool first;
    __device__ explicit clustered(unsigned *words)
        : state(words), blocks(cooperative_groups::this_cluster().num_blocks()),
          first(cooperative_groups::this_cluster().block_rank() == 0)
    {
    }
    __device__ void wait(unsigned round)
    {
        cluster_barrier::wait();
        if (first && threadIdx.x == 0) {
            add_release(state, 1);
            spin_until(state, round * (gridDim.x / blocks));
        }
        cluster_barrier::wait();
    }
};

/* Sense reversing: the last one to come sets the counter back and turns the sense, which the others poll
 * apart from the counter. The sense here is the round: it says the same, and need not be turned back. */
struct sense {
    unsigned *count, *turned;
    __device__ explicit sense(unsigned *words) : count(words), turned(words + apart)
    {
    }
    __device__ void wait(unsigned round)
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            if (add_acq_rel(count, 1) == gridDim.x - 1) {
                asm volatile("st.relaxed.gpu.u32 [%0], 0;" ::"l"(count) : "memory");
                store_release(turned, round);
            } else {
                spin_until(turned, round);
            }
        }
        __syncthreads();
    }
};

/* Two levels: the last of a group of about the square root of all counts at the root, and the last one
 * there turns the sense. */
struct tree {
    unsigned *root, *turned, *group;
    unsigned members, groups;
    __device__ explicit tree(unsigned *words) : root(words), turned(words + apart)
    {
        unsigned size = 1;
        while (size * size < gridDim.x) {
            size++;
        }
        const unsigned mine = blockIdx.x / size;
        groups = (gridDim.x + size - 1) / size;
        members = mine + 1 < groups ? size : gridDim.x - mine * size;
        group = words + apart * (2 + mine);
    }
    __device__ void wait(unsigned round)
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            if (add_acq_rel(group, 1) + 1 == round * members &&
                add_acq_rel(root, 1) + 1 == round * groups) {
                store_release(turned, round);
            } else {
                spin_until(turned, round);
            }
        }
        __syncthreads();
    }
};

template <typename Barrier>
__device__ static void grid_rounds(unsigned base, unsigned rounds, unsigned *state, unsigned *slots,
                                   unsigned *wrong, unsigned late)
{
    Barrier barrier(state);
    if (slots == nullptr) {
        for (unsigned round = base + 1; round != base + 1 + rounds; round++) {
            barrier.wait(round);
        }
        return;
    }
    const bool exchanges = threadIdx.x == blockDim.x - 1;
    for (unsigned round = base + 1; round != base + 1 + rounds; round++) {
        if (exchanges) {
            speak(slots, blockIdx.x, gridDim.x, round, late);
        }
        barrier.wait(round);
        if (exchanges) {
            listen(slots, blockIdx.x, gridDim.x, round, wrong);
        }
    }
}

/* Every kernel that stays has the same parameters. */
#define RESIDENT(name, rounds_of, barrier)                                                         \
    extern "C" __global__ void name(unsigned base, unsigned rounds, unsigned *state,               \
                                    unsigned *slots, unsigned *wrong, unsigned late)               \
    {                                                                                              \
        rounds_of<barrier>(base, rounds, state, slots, wrong, late);                               \
    }
RESIDENT(grid_unordered, grid_rounds, unordered)
RESIDENT(grid_relaxed, grid_rounds, relaxed_counter)
RESIDENT(grid_cooperative, grid_rounds, cooperative_groups_sync)
RESIDENT(grid_counter, grid_rounds, counter)
RESIDENT(grid_sense, grid_rounds, sense)
RESIDENT(grid_tree, grid_rounds, tree)
RESIDENT(grid_clustered, grid_rounds, clustered)

/* ---- less than a grid ------------------------------------------------------------------------- */

struct block_barrier {
    static __device__ void wait()
    {
        __syncthreads();
    }
};

struct no_barrier {
    static __device__ void wait()
    {
    }
};

template <typename Barrier> __device__ static void only_wait(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        Barrier::wait();
    }
}

/* Warps exchange through shared memory, and `slots` only tells whether they do. */
template <typename Barrier>
__device__ static void block_rounds(unsigned base, unsigned rounds, unsigned *, unsigned *slots,
                                    unsigned *wrong, unsigned late)
{
    __shared__ unsigned words[2 * 32];
    const unsigned warps = blockDim.x / 32;
    const unsigned warp = threadIdx.x / 32;
    const bool exchanges = threadIdx.x % 32 == 0;
    if (slots == nullptr) {
        only_wait<Barrier>(rounds);
        return;
    }
    if (threadIdx.x < 2 * 32) {
        words[threadIdx.x] = ~0u;
    }
    __syncthreads();
    for (unsigned round = base + 1; round != base + 1 + rounds; round++) {
        if (exchanges) {
            speak(words, warp, warps, round, late);
        }
        Barrier::wait();
        if (exchanges) {
            listen(words, warp, warps, round, wrong);
        }
    }
}

/* As above, with blocks of one cluster, through each other's shared memory. */
template <typename Barrier>
__device__ static void cluster_rounds(unsigned base, unsigned rounds, unsigned *, unsigned *slots,
                                      unsigned *wrong, unsigned late)
{
    namespace cg = cooperative_groups;
    __shared__ unsigned words[2];
    const unsigned rank = cg::this_cluster().block_rank();
    const unsigned blocks = cg::this_cluster().num_blocks();
    const unsigned *const far =
        cg::this_cluster().map_shared_rank(words, (rank + blocks / 2) % blocks);
    const bool exchanges = threadIdx.x == blockDim.x - 1;
    if (slots == nullptr) {
        only_wait<Barrier>(rounds);
        return;
    }
    if (threadIdx.x < 2) {
        words[threadIdx.x] = ~0u;
    }
    cluster_barrier::wait(); /* shared memory is there once its block has started */
    for (unsigned round = base + 1; round != base + 1 + rounds; round++) {
        if (exchanges) {
            if (late != 0 && is_late(round, rank, blocks)) {
                come_late(late);
            }
            store_word(words + (round & 1), round);
        }
        Barrier::wait();
        if (exchanges && load_word(far + (round & 1)) != round) {
            atomicAdd(wrong, 1);
        }
    }
    cluster_barrier::wait(); /* and until it has ended */
}

RESIDENT(block_ordered, block_rounds, block_barrier)
RESIDENT(block_unordered, block_rounds, no_barrier)
RESIDENT(cluster_ordered, cluster_rounds, cluster_barrier)
RESIDENT(cluster_unordered, cluster_rounds, no_barrier)
