/* SPDX-License-Identifier: MIT */
/* Standing between a program and the driver. */
#include <dlfcn.h>

#include "watch/watch.h"

void *pdl_watch_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}
