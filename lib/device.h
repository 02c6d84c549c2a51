/* SPDX-License-Identifier: MIT */
/* What is known of the devices, by ordinal. */
#ifndef PDL_LIB_DEVICE_H
#define PDL_LIB_DEVICE_H

#include "driver.h"

/* Devices beyond this many are not shown. */
#define PDL_DEVICE_MAX 64

/* The facts of a device, asked once. `device` must be in 0 .. device_count - 1. */
pdl_status pdl_device_facts(const struct pdl_driver *driver, int device,
                            const pdl_device_info **facts);

/* The ordinal of the current context's device. */
pdl_status pdl_device_of_context(const struct pdl_driver *driver, int *device);

/* For pdl_driver_override(): drops all facts. */
void pdl_device_forget(void);

#endif /* PDL_LIB_DEVICE_H */
