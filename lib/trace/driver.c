/* SPDX-License-Identifier: MIT */
/* The driver table of libpdl-trace. */
#include "trace/driver.h"

#include "core/once.h"
#include "os/library.h"

pdl_status pdl_trace_driver_load(const char *soname, struct pdl_trace_driver *driver)
{
    struct pdl_trace_driver loaded = {0};
    void *library;
    int version;
#define PDL_TRACE_DRIVER_ENTRY_(name, version_)                                                    \
    {#name, version_, true, offsetof(struct pdl_trace_driver, name)},
    static const struct pdl_libcuda_entry entries[] = {
        PDL_TRACE_DRIVER_ENTRIES(PDL_TRACE_DRIVER_ENTRY_)};
#undef PDL_TRACE_DRIVER_ENTRY_
    const pdl_status status = pdl_libcuda_load(
        soname, entries, sizeof(entries) / sizeof(entries[0]), &loaded, &library, &version);
    if (status == PDL_SUCCESS) {
        *driver = loaded; /* It stays loaded: it cannot be unloaded safely. */
    }
    return status;
}

static struct pdl_trace_driver loaded_driver;
static struct pdl_once once;

static pdl_status load(void *room)
{
    return pdl_trace_driver_load(PDL_LIBRARY_CUDA, room);
}

pdl_status pdl_trace_driver_get(const struct pdl_trace_driver **driver)
{
    struct pdl_trace_driver fresh;
    const void *table;
    const pdl_status status =
        pdl_once_get(&once, load, &fresh, &loaded_driver, sizeof(fresh), &table);
    if (status == PDL_SUCCESS) {
        *driver = table;
    }
    return status;
}

void pdl_trace_driver_override(const struct pdl_trace_driver *driver)
{
    pdl_once_override(&once, driver);
}
