/* SPDX-License-Identifier: MIT */
#include "bench/suites.h"

/* Without nvcc there are no kernels, and the list ends at its first row. */
const struct bench_suite bench_suites[] = {
    {"overhead", "what a launch costs the host and the device, in every form", suite_overhead},
    {"overlap", "what PDL gains, by trigger, prologue, fill and shared memory", suite_overlap},
    {"graph", "1 to 4,096 kernels in a row, in streams, graphs and chains", suite_graph},
    {"device", "launches from the device, beside the host's", suite_device},
    {"decode", "one token through decoders of the 1B, 3B and 8B classes", suite_decode},
    {NULL, NULL, NULL},
};
