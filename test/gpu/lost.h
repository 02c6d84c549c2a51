/* SPDX-License-Identifier: MIT */
/* Errors after which nothing more is launched: the device is gone, or the process has lost it. */
#ifndef PDL_TEST_LOST_H
#define PDL_TEST_LOST_H

#include <cuda_runtime.h>

static inline bool device_is_lost(cudaError_t error)
{
    switch (error) {
    case cudaErrorNoDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

#endif /* PDL_TEST_LOST_H */
