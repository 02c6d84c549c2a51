/* SPDX-License-Identifier: MIT */
/* Numbers by chance, the same after the same seed. */
#ifndef PDL_TEST_RTC_CHANCE_H
#define PDL_TEST_RTC_CHANCE_H

#include <stdint.h>

static uint64_t chance_state; /* the seed, at first */

static uint64_t chance(uint64_t below)
{
    chance_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = chance_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

#define ONE_OF(array) ((array)[chance(sizeof(array) / sizeof((array)[0]))])

#endif /* PDL_TEST_RTC_CHANCE_H */
