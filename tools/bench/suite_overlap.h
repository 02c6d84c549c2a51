/* SPDX-License-Identifier: MIT */
/* What the two files of the suite overlap share. */
#ifndef PDL_TOOLS_BENCH_SUITE_OVERLAP_H
#define PDL_TOOLS_BENCH_SUITE_OVERLAP_H

#include "bench/bench.h"
#include "bench/kernels/overlap.h"
#include "bench/line.h"

/* Two kernels take turns: the first reads the first half of `memory` and writes the second half, the
 * second one the other way round. Each half has so many results, of as many blocks. Sets in, out, results
 * and one of both. */
void overlap_memory_init(CUdeviceptr memory, unsigned results, struct overlap_args args[2]);
/* No kernel has run: 0 in the first half, and what no kernel leaves in the second. */
void overlap_memory_clear(CUdeviceptr memory, unsigned results);
/* Reads the first half into `read`. bench_fail() and false unless each block has seen `count` kernels. */
bool overlap_memory_check(struct bench_point *point, CUdeviceptr memory, unsigned results,
                          unsigned count, struct overlap_result *read);

/* Shared memory of a block with which two have room on an SM, or one. */
unsigned overlap_shared_bytes(bool alone);
/* A kernel of the suite that may have as much. */
CUfunction overlap_function(const char *name);

/* Kernels in each of the two lines of which a sample is made: what one costs is the difference over the
 * difference, without what the first and the last one cost. Even: each line ends in the memory that it
 * began in. */
enum { LINE_SHORT = 8, LINE_LONG = 72 };
/* Makes both lines, of two launches in turn. bench_fail() and false where one could not be made. */
bool overlap_lines_make(struct bench_point *point, enum line_way way,
                        const struct gpu_launch launches[2], struct line *lines[2]);
void overlap_lines_free(struct line *lines[2]);

/* A row for each way whose bit is set in `which`, compared with that of line_ways[].against, which may be one of an
 * earlier call with the same `points`. `config` begins with its way. `shape`: the values of the axes before
 * `way`, a slash after each. */
void overlap_add_rows(struct bench_table *table, struct bench_point *points[WAYS], unsigned which,
                      const char *shape, void *config);
/* The bits of all that have a name. */
unsigned overlap_all_ways(void);

/* suite_overlap_pairs.c */
void overlap_declare_conditions(struct bench *bench);
/* suite_overlap_shapes.c */
void overlap_declare_shapes(struct bench *bench);

#endif /* PDL_TOOLS_BENCH_SUITE_OVERLAP_H */
