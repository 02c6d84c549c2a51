/* SPDX-License-Identifier: MIT */
/* What the host and the kernels of the suite overlap share. */
#ifndef PDL_TOOLS_BENCH_KERNELS_OVERLAP_H
#define PDL_TOOLS_BENCH_KERNELS_OVERLAP_H

/* What a block leaves behind. */
struct overlap_result {
    unsigned count; /* how many kernels of the line have run, as this block saw it */
    unsigned sm;    /* where it ran */
};

/* When a block did what, ns of %globaltimer. */
struct overlap_stamps {
    unsigned long long start;
    unsigned long long arrived;   /* at the wait */
    unsigned long long waited;    /* returned from it */
    unsigned long long triggered; /* 0: it did not trigger */
    unsigned long long ended;     /* before its last store */
};

enum overlap_trigger { OVERLAP_TRIGGER_START, OVERLAP_TRIGGER_MAIN, OVERLAP_TRIGGER_NEVER };

/* The one parameter of every kernel: prologue, wait, `before`, trigger, `after`. */
struct overlap_args {
    const struct overlap_result *in; /* what the kernel before left: one a block that does */
    struct overlap_result *out;
    struct overlap_stamps *stamps; /* one a block; only of the stamped kernel */
    unsigned results;              /* how many blocks read and leave a result */
    unsigned prologue;             /* cycles */
    unsigned before, after; /* the main part, around the trigger: cycles, or rounds of work */
    unsigned trigger;       /* enum overlap_trigger */
    unsigned silent_block;  /* which block does not trigger; none has ~0u */
    float one;              /* 1, which the compiler must not know */
};

/* The one parameter of the kernels of the table shapes, of which each block counts how often it has run. */
struct overlap_shape_args {
    unsigned *counts;                 /* NULL: it does not */
    unsigned prologue, before, after; /* cycles */
};

/* Instructions of one round of work of a thread, each independent of the others in the round. */
enum { OVERLAP_WORK = 4 };

#endif /* PDL_TOOLS_BENCH_KERNELS_OVERLAP_H */
