/* SPDX-License-Identifier: MIT */
/* The driver table, and what starts with it. */
#include "core/driver.h"

#include "core/once.h"
#include "os/environment.h"
#include "os/library.h"

static pdl_status start(struct pdl_driver *driver)
{
    const char *call = "cuInit";
    CUresult result = driver->cuInit(0);
    if (result == CUDA_SUCCESS) {
        call = "cuDeviceGetCount";
        result = driver->cuDeviceGetCount(&driver->device_count);
    }
    if (result == CUDA_SUCCESS && driver->device_count == 0) {
        result = CUDA_ERROR_NO_DEVICE;
    }
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, call, (int32_t)result, "while looking for devices");
    }
    if (driver->device_count > PDL_DEVICE_MAX) {
        driver->device_count = PDL_DEVICE_MAX;
    }
    return PDL_SUCCESS;
}

pdl_status pdl_driver_load(const char *soname, struct pdl_driver *driver)
{
    struct pdl_driver loaded = {0};
    void *library;
#define PDL_DRIVER_REQUIRED_(name, version_)                                                       \
    {#name, version_, true, offsetof(struct pdl_driver, name)},
#define PDL_DRIVER_OPTIONAL_(name, version_)                                                       \
    {#name, version_, false, offsetof(struct pdl_driver, name)},
    static const struct pdl_libcuda_entry entries[] = {
        PDL_DRIVER_ENTRIES(PDL_DRIVER_REQUIRED_, PDL_DRIVER_OPTIONAL_)};
#undef PDL_DRIVER_REQUIRED_
#undef PDL_DRIVER_OPTIONAL_
    pdl_status status = pdl_libcuda_load(soname, entries, sizeof(entries) / sizeof(entries[0]),
                                         &loaded, &library, &loaded.version);
    if (status != PDL_SUCCESS) {
        return status;
    }
    status = start(&loaded);
    if (status != PDL_SUCCESS) {
        pdl_library_close(library);
        return status;
    }
    loaded.overlap_disabled = pdl_variable_read(PDL_VARIABLE(PDL_OVERLAP)).value[0] == 0;
    *driver = loaded;
    return PDL_SUCCESS; /* The driver stays loaded: it cannot be unloaded safely. */
}

static struct pdl_driver loaded_driver;
static struct pdl_once once;

static pdl_status load(void *room)
{
    return pdl_driver_load(PDL_LIBRARY_CUDA, (struct pdl_driver *)room);
}

pdl_status pdl_driver_get(const struct pdl_driver **driver)
{
    struct pdl_driver fresh;
    const void *table;
    const pdl_status status =
        pdl_once_get(&once, load, &fresh, &loaded_driver, sizeof(fresh), &table);
    if (status == PDL_SUCCESS) {
        *driver = (const struct pdl_driver *)table;
    }
    return status;
}

void pdl_driver_override(const struct pdl_driver *driver)
{
    pdl_once_override(&once, driver);
}
