/* SPDX-License-Identifier: MIT */
/* What the kernels of the suite `overhead` and the host share. */
#ifndef PDL_TOOLS_BENCH_KERNELS_OVERHEAD_H
#define PDL_TOOLS_BENCH_KERNELS_OVERHEAD_H

enum overhead_kernel {
    OVERHEAD_NULL_0,  /* nothing to do, no parameters */
    OVERHEAD_NULL_8,  /* four pointers and four integers */
    OVERHEAD_NULL_64, /* of 8 bytes each */
    OVERHEAD_WAIT,    /* waits for a number of units */
    OVERHEAD_SIGNAL,  /* writes to a flag that the host sees */
    OVERHEAD_TAKE,    /* reads the record and clears it */
    OVERHEAD_KERNELS,
};

/* A kernel knows from its block whether it is timed or counted, so that both are the same code,
 * launched in the same way with the same arguments. */
enum { OVERHEAD_TIMED_BLOCK = 32, OVERHEAD_COUNTED_BLOCK = 64 };

/* What the kernels with a counted block have done since it was last taken. */
struct overhead_record {
    unsigned long long launches;
    unsigned long long blocks;
    unsigned long long sum; /* of each launch's arguments, each times its place from 1 */
    unsigned long long ns;  /* that the first blocks of OVERHEAD_WAIT ran, by the device's timer */
};

#endif /* PDL_TOOLS_BENCH_KERNELS_OVERHEAD_H */
