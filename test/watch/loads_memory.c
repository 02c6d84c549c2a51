/* SPDX-License-Identifier: MIT */
/* Preloaded before everything else, for loads.py: the k-th allocation of a thread fails, once it was armed. */
#include <stdbool.h>
#include <stdlib.h>

#define SHOWN __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

SHOWN void loads_arm(unsigned number);
SHOWN bool loads_disarm(void);

static __thread unsigned left; /* 0: not armed */
static __thread bool failed;

void loads_arm(unsigned number)
{
    left = number;
    failed = false;
}

/* Whether one has failed. */
bool loads_disarm(void)
{
    left = 0;
    return failed;
}

static bool fails(void)
{
    const bool now = left == 1;
    left -= left > 0;
    failed = failed || now;
    return now;
}

SHOWN void *malloc(size_t size)
{
    if (fails()) {
        return NULL;
    }
    return __libc_malloc(size);
}

SHOWN void *calloc(size_t count, size_t size)
{
    if (fails()) {
        return NULL;
    }
    return __libc_calloc(count, size);
}

SHOWN void *realloc(void *old, size_t size)
{
    if (fails()) {
        return NULL;
    }
    return __libc_realloc(old, size);
}
