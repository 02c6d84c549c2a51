/* SPDX-License-Identifier: MIT */
/* Statuses, their names, and the detail of the last error on a thread. */
#include <string.h>

#include <pdl/pdl.h>

static _Thread_local pdl_error last_error;

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
    last_error = *error;
    return (pdl_status)error->status;
}
