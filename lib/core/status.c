/* SPDX-License-Identifier: MIT */
/* Statuses, their names, and the detail of the last error on a thread. */
#include <stddef.h>
#include <string.h>

#include "core/error.h"
#include "core/sized.h"

static _Thread_local pdl_error last_error = PDL_ERROR_INIT;

const char *pdl_status_name(pdl_status status)
{
    switch (status) {
#define PDL_STATUS_NAME_(name, value, message)                                                     \
    case name:                                                                                     \
        return strncmp(#name, "PDL_ERROR_", 10) == 0 ? &#name[10] : &#name[4];
        PDL_STATUS_LIST(PDL_STATUS_NAME_)
#undef PDL_STATUS_NAME_
    default:
        return "UNKNOWN";
    }
}

const char *pdl_status_string(pdl_status status)
{
    switch (status) {
#define PDL_STATUS_MESSAGE_(name, value, message)                                                  \
    case name:                                                                                     \
        return message;
        PDL_STATUS_LIST(PDL_STATUS_MESSAGE_)
#undef PDL_STATUS_MESSAGE_
    default:
        return "not a status of this library";
    }
}

const pdl_error *pdl_last_error(void)
{
    return &last_error;
}

uint32_t pdl_version(void)
{
    return PDL_VERSION;
}

pdl_status pdl_error_record(const pdl_error *error)
{
    pdl_error known;
    if (error == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "error", "error is NULL");
    }
    const pdl_status status =
        pdl_sized_resize(&known, sizeof(known), error, offsetof(pdl_error, message) + 1, "error");
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (known.status == PDL_SUCCESS) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "status",
                              "error->status is PDL_SUCCESS, which is not an error");
    }
    known.size = (uint32_t)sizeof(known);
    known.message[sizeof(known.message) - 1] = '\0';
    last_error = known;
    return (pdl_status)known.status;
}
