/* SPDX-License-Identifier: MIT */
#include "watch/driver.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "os/lock.h"
#include "watch/watch.h"

static struct pdl_watch_driver table;
static _Atomic(const struct pdl_watch_driver *) known;
static struct pdl_lock lock;

static const struct {
    const char *symbol;
    size_t place;
} entries[] = {
#define PDL_WATCH_ENTRY(member, symbol, version)                                                   \
    {#symbol, offsetof(struct pdl_watch_driver, member)},
    PDL_WATCH_DRIVER_ENTRIES(PDL_WATCH_ENTRY)
#undef PDL_WATCH_ENTRY
};

const struct pdl_watch_driver *pdl_watch_driver(void)
{
    const struct pdl_watch_driver *driver = atomic_load_explicit(&known, memory_order_acquire);
    if (driver != NULL) {
        return driver;
    }
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) {
        return NULL;
    }
    pdl_lock_take(&lock);
    if (atomic_load_explicit(&known, memory_order_relaxed) == NULL) {
        for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
            *(void **)((char *)&table + entries[i].place) =
                pdl_watch_symbol(library, entries[i].symbol);
        }
        atomic_store_explicit(&known, &table, memory_order_release);
    }
    pdl_lock_release(&lock);
    return &table; /* and libcuda stays open */
}

uint32_t pdl_watch_capability(CUdevice device)
{
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    int major = 0;
    int minor = 0;
    return driver != NULL && driver->cuDeviceGetAttribute != NULL &&
                   driver->cuDeviceGetAttribute(&major,
                                                CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                                device) == CUDA_SUCCESS &&
                   driver->cuDeviceGetAttribute(
                       &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) == CUDA_SUCCESS
               ? (uint32_t)(10 * major + minor)
               : 0;
}

void pdl_watch_capabilities(uint32_t *least, uint32_t *highest)
{
    const struct pdl_watch_driver *const driver = pdl_watch_driver();
    int count = 0;
    if (driver == NULL || driver->cuDeviceGetCount == NULL ||
        driver->cuDeviceGetCount(&count) != CUDA_SUCCESS) {
        count = 0;
    }
    *least = *highest = count > 0 ? pdl_watch_capability(0) : 0;
    for (int device = 1; device < count; device++) {
        const uint32_t one = pdl_watch_capability(device);
        *least = one < *least ? one : *least;
        *highest = one > *highest ? one : *highest;
    }
}
