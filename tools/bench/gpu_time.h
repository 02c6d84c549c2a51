/* SPDX-License-Identifier: MIT */
/* The gate and the events that gpu_time() works with: for gpu_open() and gpu_close(). */
#ifndef PDL_TOOLS_BENCH_GPU_TIME_H
#define PDL_TOOLS_BENCH_GPU_TIME_H

/* Also finds gpu.timer_step. */
void gpu_time_open(void);
void gpu_time_close(void);

/* The clock that an SM runs at under a light load, in MHz, by the timer. */
double gpu_sm_clock_mhz(void);

#endif /* PDL_TOOLS_BENCH_GPU_TIME_H */
