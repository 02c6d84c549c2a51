/* SPDX-License-Identifier: MIT */
/* What is known of the devices, by ordinal. */
#ifndef PDL_LIB_DEVICE_H
#define PDL_LIB_DEVICE_H

#include "core/driver.h"

/* The facts of a device, asked once. `device` must be in 0 .. device_count - 1. */
pdl_status pdl_device_facts(const struct pdl_driver *driver, int device,
                            const pdl_device_info **facts);

/* The ordinal of a stream's device: of a default stream, such as NULL, the current context's. */
pdl_status pdl_device_of_stream(const struct pdl_driver *driver, CUstream stream, int *device);

/* Makes a stream's context current until it is left, for what the driver answers for the current one. */
pdl_status pdl_stream_enter(const struct pdl_driver *driver, CUstream stream);
void pdl_stream_leave(const struct pdl_driver *driver, CUstream stream);

/* SMs that work in a stream runs on: those of its context, which may be a green one. The device's
 * where the driver does not tell, and for default streams while another device is current. */
pdl_status pdl_device_sms(const struct pdl_driver *driver, const pdl_device_info *facts,
                          CUstream stream, uint32_t *sms);

/* For tests: makes pdl_driver_get() return this table (NULL: load again on the next call) and
 * drops all facts. No other thread may be in the library. */
void pdl_device_override(const struct pdl_driver *driver);

#endif /* PDL_LIB_DEVICE_H */
