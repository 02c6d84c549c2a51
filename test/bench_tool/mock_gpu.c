/* SPDX-License-Identifier: MIT */
/* A device that is none: the facts that the environment block is made of. */
#include <stdlib.h>
#include <string.h>

#include "bench/gpu.h"
#include "bench/gpu_state.h"
#include "bench/gpu_time.h"
#include "common/memory.h"

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

double gpu_sm_clock_mhz(void)
{
    return 1979.53;
}

/* Another temperature each time: after the run it is warmer than before. */
bool gpu_state_get(struct gpu_state *state)
{
    static unsigned temperature = 30;
    memset(state, 0, sizeof(*state));
    state->sm_clock_mhz = 1980;
    state->memory_clock_mhz = 3201;
    state->temperature_c = temperature++;
    state->power_w = 75.25;
    strcpy(state->held_back_by, "nothing");
    return true;
}

char *gpu_state_driver(void)
{
    const char *version = getenv("MOCK_DRIVER");
    return copy_text(version != NULL ? version : "580.65.06");
}
