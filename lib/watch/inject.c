/* SPDX-License-Identifier: MIT */
/* The way in: cuInit() loads the library that CUDA_INJECTION64_PATH names, and calls this. */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <pdl/pdl.h>

#include "watch/watch.h"

PDL_API int InitializeInjection(void);

static _Atomic int process; /* that it was called in: a child of a fork calls it again */

static void at_end(void)
{
    if (atomic_load(&process) ==
        (int)getpid()) { /* a child of a fork has nothing of CUPTI but its memory */
        pdl_watch_cupti_flush();
        pdl_watch_recording_end();
    }
}

int InitializeInjection(void)
{
    static atomic_bool registered;
    if (atomic_exchange(&process, (int)getpid()) == (int)getpid()) {
        return 1;
    }
    if (pdl_watch_recording_open()) {
        if (!atomic_exchange(&registered, true)) {
            (void)atexit(at_end);
        }
        if (pdl_watch_settings()->cupti) {
            (void)pdl_watch_cupti_start();
        }
    }
    return 1;
}
