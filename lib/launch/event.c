/* SPDX-License-Identifier: MIT */
/* Events that a launch can record. */
#include "core/driver.h"
#include "core/error.h"

pdl_status pdl_event_create(struct CUevent_st **event)
{
    const struct pdl_driver *driver;
    CUevent made = NULL;
    if (event == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "event", "event is NULL");
    }
    const pdl_status status = pdl_driver_get(&driver);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const CUresult result = driver->cuEventCreate(&made, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS) {
        return pdl_error_from_cuda(driver, "cuEventCreate", (int32_t)result,
                                   "to make an event that a launch can record");
    }
    *event = made;
    return PDL_SUCCESS;
}

void pdl_event_destroy(struct CUevent_st *event)
{
    const struct pdl_driver *driver;
    if (event != NULL && pdl_driver_get(&driver) == PDL_SUCCESS) {
        (void)driver->cuEventDestroy(event);
    }
}
