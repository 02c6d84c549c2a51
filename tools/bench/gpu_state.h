/* SPDX-License-Identifier: MIT */
/* The device's state, from NVML (libnvidia-ml.so.1), which is loaded if it is there. Reads only. */
#ifndef PDL_TOOLS_BENCH_GPU_STATE_H
#define PDL_TOOLS_BENCH_GPU_STATE_H

#include <stdbool.h>

struct gpu_state {
    unsigned sm_clock_mhz, memory_clock_mhz; /* now */
    unsigned temperature_c;
    double power_w;
    char held_back_by[128]; /* what holds the clocks back now; "nothing" */
};

/* Of gpu.device. False without NVML. */
bool gpu_state_get(struct gpu_state *state);
/* The driver's version, such as "580.65.06"; the caller frees it. NULL if nobody tells. */
char *gpu_state_driver(void);

#endif /* PDL_TOOLS_BENCH_GPU_STATE_H */
