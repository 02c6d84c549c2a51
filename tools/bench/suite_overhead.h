/* SPDX-License-Identifier: MIT */
/* The forms of launches that the suite `overhead` compares, and jobs in each of them. */
#ifndef PDL_TOOLS_BENCH_SUITE_OVERHEAD_H
#define PDL_TOOLS_BENCH_SUITE_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/bench.h"
#include "bench/gpu.h"
#include "bench/kernels/overhead.h"

/* In what form kernels are launched. The order is that of the rows. */
enum overhead_way {
    OVERHEAD_CHEVRON,
    OVERHEAD_CUDA_LAUNCH,
    OVERHEAD_CUDA_EX,
    OVERHEAD_CUDA_EX_AGAIN, /* so that a ratio of equals is known */
    OVERHEAD_SYMBOL,
    OVERHEAD_CUDA_EX_TYPED,
    OVERHEAD_TYPED,
    OVERHEAD_CU_EX,
    OVERHEAD_CU_EX_AGAIN,
    OVERHEAD_FUNCTION,
    OVERHEAD_COOPERATIVE,
    OVERHEAD_FUNCTION_COOPERATIVE,
    OVERHEAD_CUDA_EX_PDL,
    OVERHEAD_CUDA_EX_PDL_AGAIN,
    OVERHEAD_SYMBOL_AUTO,
    OVERHEAD_CUDA_EX_TYPED_PDL,
    OVERHEAD_TYPED_AUTO,
    OVERHEAD_CU_EX_PDL,
    OVERHEAD_CU_EX_PDL_AGAIN,
    OVERHEAD_FUNCTION_AUTO,
    OVERHEAD_GRAPH,
    OVERHEAD_GRAPH_PDL,
    OVERHEAD_CHAIN,
    OVERHEAD_WAYS,
};
/* One word, for an axis: the call, and "-pdl" or "-auto" where it asks for overlap. */
extern const char *const overhead_way_names[OVERHEAD_WAYS];
/* What a way of libpdl, and a raw one that is measured again, is compared with; itself for the others. */
enum overhead_way overhead_way_raw(enum overhead_way way);

/* The numbers that the formulas are worked out with. */
enum {
    OVERHEAD_FEW = 64, /* formula 1's j and i */
    OVERHEAD_MANY = 128,
    OVERHEAD_FUSED = 16, /* formula 2's i; its j is 1 */
    OVERHEAD_LARGE = 5,  /* wait units of a large kernel */
};

/* Arguments, memory and the Runtime: between a table's begin and end. */
void overhead_open(void);
void overhead_close(void);

/* Kernels one after another in gpu.stream, one block on each multiprocessor. */
struct overhead_work {
    enum overhead_kernel kernel;
    unsigned units; /* of OVERHEAD_WAIT: 1 us each */
    bool spin;      /* of OVERHEAD_WAIT: by the SM's clock, not asleep */
    size_t count;   /* kernels */
};

/* Work in one of the forms, with everything made that a program would make once. */
struct overhead_job;
/* NULL with the driver's error where a graph could not be made. */
struct overhead_job *overhead_job_make(enum overhead_way way, const struct overhead_work *work,
                                       CUresult *error);
void overhead_job_free(struct overhead_job *job); /* NULL is allowed */
/* For gpu_time() too, with the job as the context. */
void overhead_job_run(void *job);
/* Sleeps or spins of a unit as the kernel OVERHEAD_WAIT takes them. */
void overhead_unit(bool spin, unsigned *sleep_ns, unsigned *cycles);

/* By the host's clock, ns: nothing is queued before. */
struct overhead_lapse {
    double calls; /* that the calls took */
    double total; /* from the first call until the host knows that all has ended */
};
struct overhead_lapse overhead_job_time(struct overhead_job *job);
/* Launches its kernel untimed, so that its code is in the caches whatever was measured before.
 * Streams get another number of launches each time: a launch's cost depends on its place in the
 * driver's queue, and else a row of a table would always meet the same place. */
void overhead_job_warm(struct overhead_job *job);

/* From the call until the host sees what the kernel OVERHEAD_SIGNAL wrote, ns. */
double overhead_signal_ns(struct overhead_job *job);

/* Runs the work with kernels that count, and checks what they counted and the edges between them.
 * Fails the point, or waives it where the environment turns overlap off. */
void overhead_check(struct bench_point *point, enum overhead_way way,
                    const struct overhead_work *work);
/* Reads and clears a record with the function of OVERHEAD_TAKE of its image, in the current
 * context; waits for it. */
struct overhead_record overhead_record_take(CUfunction take, CUstream stream, CUdeviceptr memory);

/* The table of several devices. */
void overhead_declare_devices(struct bench *bench);

#endif /* PDL_TOOLS_BENCH_SUITE_OVERHEAD_H */
