/* SPDX-License-Identifier: MIT */
/* What the suite `device` and its kernels share. */
#ifndef PDL_TOOLS_BENCH_KERNELS_DEVICE_H
#define PDL_TOOLS_BENCH_KERNELS_DEVICE_H

enum { DEVICE_STAMPS = 512 };

/* How a kernel launches others. */
enum device_launch {
    LAUNCH_UNCHECKED, /* fire-and-forget, `<<<>>>` and nothing else */
    LAUNCH_BY_HAND,   /* the same, with cudaGetLastError() */
    LAUNCH_FIRE,      /* fire-and-forget by pdl/cdp.cuh, as all that follow */
    LAUNCH_HELD,      /* fire-and-forget of kernels that stay until the parent has launched all */
    LAUNCH_TAIL,
    LAUNCH_STREAM, /* into a stream that the parent made */
    LAUNCH_GRAPH_FIRE,
    LAUNCH_GRAPH_TAIL,
    LAUNCH_GRAPH_SIBLING,
};

/* In device memory, zeroed before each run. Times are %globaltimer's, ns. */
struct device_state {
    unsigned ran;    /* kernels that were launched from the device and ran */
    int first_error; /* these two are a pdl_cdp_log */
    unsigned failed;
    unsigned open;                /* the kernels that are held may end */
    unsigned long long launch_ns; /* spent in launching, summed over the threads */
    unsigned long long parent_end;
    /* Of number i of a row of kernels: just before a kernel launched it, and just after; its first
     * instruction, its trigger, and its last instruction. */
    unsigned long long call[DEVICE_STAMPS], returned[DEVICE_STAMPS];
    unsigned long long start[DEVICE_STAMPS], trigger[DEVICE_STAMPS], end[DEVICE_STAMPS];
};

#endif /* PDL_TOOLS_BENCH_KERNELS_DEVICE_H */
