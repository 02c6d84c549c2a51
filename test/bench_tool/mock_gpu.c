/* SPDX-License-Identifier: MIT */
/* A device that is none: the facts that the environment block is made of. */
#include "bench/gpu.h"

struct gpu gpu = {
    .count = 1,
    .name = "Mock \033[2J | GPU",
    .driver_version = 13000,
    .major = 9,
    .multiprocessors = 132,
    .clock_khz = 1980000,
    .memory_clock_khz = 3201000,
    .memory = (size_t)150754820096,
    .l2 = 62914560,
    .timer_step = 32,
};

/* Another clock each time: after the run it is higher than before. */
double gpu_sm_clock_mhz(void)
{
    static double clock = 1979.5;
    return clock += 0.25;
}
