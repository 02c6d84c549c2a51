/* SPDX-License-Identifier: MIT */
/* Kernels that every suite may use. */
#include <pdl/device.cuh>

#include "bench/kernels/timer.cuh"

/* Holds a stream until the host opens the gate; gives up after 2 s, so that nothing hangs. */
extern "C" __global__ void gate(const volatile int *open, int *gave_up)
{
    const unsigned long long begin = global_timer();
    while (*open == 0) {
        if (!in_time(begin)) {
            *gave_up = 1;
            return;
        }
    }
}

/* The smallest step that the timer was seen to make. */
extern "C" __global__ void timer_step(unsigned long long *step)
{
    unsigned long long smallest = ~0ull;
    unsigned long long last = global_timer();
    for (int i = 0; i < 20000; i++) {
        const unsigned long long now = global_timer();
        if (now != last && now - last < smallest) {
            smallest = now - last;
        }
        last = now;
    }
    *step = smallest;
}

/* Cycles of the SM's clock in `ns` by the timer: the clock that the SM runs at. */
extern "C" __global__ void sm_clock(unsigned long long ns, unsigned long long *result)
{
    const unsigned long long begin = global_timer();
    const long long first = clock64();
    while (in_time(begin, ns)) {
    }
    result[0] = static_cast<unsigned long long>(clock64() - first);
    result[1] = global_timer() - begin;
}

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
