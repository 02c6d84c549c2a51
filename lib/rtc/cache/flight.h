/* SPDX-License-Identifier: MIT */
/* What a cache has by key, and who is at making it: one thread at a time for each key. */
#ifndef PDL_RTC_FLIGHT_H
#define PDL_RTC_FLIGHT_H

#include "rtc/cache/key.h"
#include "rtc/compile/image.h"

struct pdl_rtc_flights;

struct pdl_rtc_flights *pdl_rtc_flights_make(void);
/* Destroys the kernels, too. */
void pdl_rtc_flights_free(struct pdl_rtc_flights *flights);
/* How many kernels it has. */
uint32_t pdl_rtc_flights_kernels(struct pdl_rtc_flights *flights);

/* What a thread wants, and what it got. */
struct pdl_rtc_flight {
    const struct pdl_rtc_key *key;
    const char *name;     /* the kernel that is wanted; NULL: the image */
    pdl_rtc_image *image; /* a reference of the caller's; with `name` only what is there already */
    pdl_kernel *kernel;
    bool waited; /* for another thread that made it */
};

enum pdl_rtc_flight_state {
    PDL_RTC_FLIGHT_FOUND, /* it is in the flight */
    PDL_RTC_FLIGHT_MAKE,  /* the caller must make it, and land */
    PDL_RTC_FLIGHT_FAILED /* no memory */
};

/* Waits for a thread that is making it. Where that fails, one of those who wait is the next to try. */
enum pdl_rtc_flight_state pdl_rtc_flight_start(struct pdl_rtc_flights *flights,
                                               struct pdl_rtc_flight *flight);

/* Ends what start() returned MAKE for, and wakes those who wait. `image` and `kernel` (which becomes the
 * flights') are NULL where they are not to be found again. False if there was no memory to keep the kernel, which
 * is the caller's still. */
bool pdl_rtc_flight_land(struct pdl_rtc_flights *flights, const struct pdl_rtc_flight *flight,
                         pdl_rtc_image *image, pdl_kernel *kernel);

/* Keeps a kernel that nobody shall find. False without memory. */
bool pdl_rtc_flights_keep(struct pdl_rtc_flights *flights, pdl_kernel *kernel);

#endif /* PDL_RTC_FLIGHT_H */
