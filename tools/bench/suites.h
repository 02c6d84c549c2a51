/* SPDX-License-Identifier: MIT */
/* The suites: a file each. */
#ifndef PDL_TOOLS_BENCH_SUITES_H
#define PDL_TOOLS_BENCH_SUITES_H

#include "bench/bench.h"
#include "common/optional.h"

#ifdef __cplusplus
extern "C" {
#endif

TOOL_OPTIONAL void suite_overhead(struct bench *bench); /* what a launch costs */
TOOL_OPTIONAL void suite_overlap(struct bench *bench);  /* what PDL gives, by the trigger's place */
TOOL_OPTIONAL void suite_graph(struct bench *bench);    /* lines of kernels, by length */
TOOL_OPTIONAL void suite_device(struct bench *bench);   /* launches from the device */
TOOL_OPTIONAL void suite_decode(struct bench *bench);   /* one token through a decoder */

#ifdef __cplusplus
}
#endif

#endif /* PDL_TOOLS_BENCH_SUITES_H */
