/* SPDX-License-Identifier: MIT */
/* Driver API functions taken from libcuda.so.1 at run time, so that a test starts without a driver.
 */
#ifndef PDL_TEST_DRIVER_ENTRY_H
#define PDL_TEST_DRIVER_ENTRY_H

#include <cuda.h>
#include <dlfcn.h>

#define DRIVER_STRING(name)  DRIVER_STRING_(name)
#define DRIVER_STRING_(name) #name

/* The function by the name that cuda.h gives its newest version; NULL if the driver lacks it. */
#define DRIVER_ENTRY(name)                                                                         \
    reinterpret_cast<decltype(&name)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), DRIVER_STRING(name)))

#endif /* PDL_TEST_DRIVER_ENTRY_H */
