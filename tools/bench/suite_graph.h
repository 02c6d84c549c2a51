/* SPDX-License-Identifier: MIT */
/* What the two halves of the suite `graph` share: its ways, and kernels that take turns. */
#ifndef PDL_TOOLS_BENCH_SUITE_GRAPH_H
#define PDL_TOOLS_BENCH_SUITE_GRAPH_H

#include "bench/bench.h"
#include "bench/gpu.h"
#include "bench/line.h"

enum {
    GRAPH_THREADS = 128,
    GRAPH_LONGEST = 4096, /* of the lines that are timed */
};

/* Those that make a graph come last. */
enum { GRAPH_WAYS = 5, GRAPH_FIRST_MADE = 2 };
extern const enum line_way graph_ways[GRAPH_WAYS];

/* The driver refused: the point is waived where it has no memory for it, which is an answer and no fault,
 * and else it fails. */
void graph_refused(struct bench_point *point, size_t kernels, CUresult error);

/* A line of kernels that count: each adds to a block's word only if it is its turn, and the last one adds
 * up to a multiple of TURN_ROUND, where the turns begin anew. */
enum { TURN_ROUND = 0x2000, TURN_PARAMETERS = 3 };
struct turns {
    size_t kernels;
    struct gpu_launch *launches;
    CUdeviceptr words; /* a word a block */
    struct turn_args {
        unsigned turn, step;
        void *args[TURN_PARAMETERS];
    } * args;
};
/* The struct must stay where it is until turns_close(). */
void turns_open(struct turns *turns, size_t kernels, unsigned blocks, CUdeviceptr words);
void turns_close(struct turns *turns);

/* The tables of the other half: making and changing. */
void graph_declare_build(struct bench *bench);

#endif /* PDL_TOOLS_BENCH_SUITE_GRAPH_H */
