/* SPDX-License-Identifier: MIT */
/* Work that the suite `overhead` launches in each way, and the check that a way launches what it is said to. */
#ifndef PDL_TOOLS_BENCH_SUITE_OVERHEAD_H
#define PDL_TOOLS_BENCH_SUITE_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "bench/kernels/overhead.h"
#include "bench/line.h"

/* The numbers that the formulas are worked out with. */
enum {
    OVERHEAD_FEW = 64, /* formula 1's j and i */
    OVERHEAD_MANY = 128,
    OVERHEAD_FUSED = 16, /* formula 2's i; its j is 1 */
    OVERHEAD_LARGE = 5,  /* wait units of a large kernel */
};

/* Host times differ between runs by more than most device times do: clocks, and where memory comes
 * to lie. The boundary between two plain launches in a stream takes from 1.37 to 1.75 µs on one H200: the
 * same in all of a process's rounds, another in the next process. The call of a graph's launch has
 * such levels too, and its share of a kernel is a few ns. */
#define OVERHEAD_HOST     .tolerance = 0.15
#define OVERHEAD_LEVELLED .tolerance = 0.25

/* Arguments, memory and the Runtime: a table's begin and end. */
void overhead_begin(struct bench_table *table);
void overhead_end(struct bench_table *table);

/* Kernels one after another in gpu.stream, one block on each multiprocessor. */
struct overhead_work {
    enum overhead_kernel kernel;
    size_t count;   /* kernels */
    unsigned units; /* of OVERHEAD_WAIT: 1 us each */
    bool asleep;    /* of OVERHEAD_WAIT: by nanosleep, not by the SM's clock, which is exact */
};

/* The work in one of the ways. */
struct overhead_job {
    struct gpu_launch launch;
    unsigned wait[3]; /* the arguments of OVERHEAD_WAIT */
    void *args[3];
    struct line *line;
};
/* The job must stay where it is until line_free(). Fails the point where a graph could not be made. */
bool overhead_job_make(struct bench_point *point, struct overhead_job *job, enum line_way way,
                       const struct overhead_work *work, unsigned block);
/* The values of OVERHEAD_WAIT's parameters. */
void overhead_wait_fill(unsigned wait[3], void *args[3], unsigned units, bool asleep);

/* Launches its kernel untimed, so that its code is in the caches whatever was measured before.
 * Streams get another number of launches each time: a launch's cost depends on its place in the
 * driver's queue, and else a row of a table would always meet the same place. */
void overhead_job_warm(struct overhead_job *job);
/* From the call until the host sees what the kernel OVERHEAD_SIGNAL wrote, ns. */
double overhead_signal_ns(struct overhead_job *job);

/* Runs the work with kernels that count, and checks what they counted and the edges between them.
 * Fails the point, or waives it where the environment turns overlap off. */
void overhead_check(struct bench_point *point, enum line_way way, const struct overhead_work *work);
/* Reads and clears a record with the function of OVERHEAD_TAKE of its image, in the current
 * context; waits for it. */
struct overhead_record overhead_record_take(CUfunction take, CUstream stream, CUdeviceptr memory);

/* The table of several devices. */
void overhead_declare_devices(struct bench *bench);

#endif /* PDL_TOOLS_BENCH_SUITE_OVERHEAD_H */
