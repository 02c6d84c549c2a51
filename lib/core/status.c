/* SPDX-License-Identifier: MIT */
/* Statuses, their names, and the detail of the last error on a thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <pdl/detail/rtc_status.h>

#include "core/error.h"

static PDL_THREAD_LOCAL pdl_error last_error = PDL_ERROR_INIT;

const char *pdl_status_name(pdl_status status)
{
    switch ((int)status) {
#define PDL_STATUS_NAME_(name, value, message)                                                     \
    case name:                                                                                     \
        return strncmp(#name, "PDL_ERROR_", 10) == 0 ? &#name[10] : &#name[4];
        PDL_STATUS_LIST(PDL_STATUS_NAME_)
        PDL_RTC_STATUS_LIST(PDL_STATUS_NAME_)
#undef PDL_STATUS_NAME_
    default:
        return "UNKNOWN";
    }
}

const pdl_error *pdl_last_error(void)
{
    return &last_error;
}

void pdl_error_restore(const pdl_error *error)
{
    last_error = *error;
}

uint32_t pdl_version(void)
{
    return PDL_VERSION;
}

enum { LARGEST = 16384 }; /* a struct, as PDL_SIZED_MAX says for the others */

/* Whether an error has a size that it can have, and is zero where this library knows nothing. What
 * other structs are checked by records errors by this very call. */
static bool can_be_read(const pdl_error *error)
{
    const unsigned char *bytes = (const unsigned char *)error;
    uint32_t size = error->size;
    if (size <= offsetof(pdl_error, message) || size > LARGEST) {
        return false;
    }
    while (size > sizeof(*error) && bytes[size - 1] == 0) {
        size--;
    }
    return size <= sizeof(*error);
}

pdl_status pdl_error_record(const pdl_error *error)
{
    pdl_error known = PDL_ERROR_INIT;
    if (error == NULL || error->status == PDL_SUCCESS) {
        known.status = PDL_ERROR_INVALID_ARGUMENT;
        known.field = "error";
        (void)snprintf(known.message, sizeof(known.message), "error is %s",
                       error == NULL ? "NULL" : "PDL_SUCCESS, which is not an error");
    } else if (!can_be_read(error)) {
        known.status = error->size > sizeof(known) && error->size <= LARGEST
                           ? PDL_ERROR_DESC_TOO_NEW
                           : PDL_ERROR_DESC_SIZE;
        known.field = "size";
        (void)snprintf(known.message, sizeof(known.message),
                       "error->size is %u and this library knows %zu: start from PDL_ERROR_INIT",
                       error->size, sizeof(known));
    } else {
        memcpy(&known, error, error->size < sizeof(known) ? error->size : sizeof(known));
        known.size = (uint32_t)sizeof(known);
        known.message[sizeof(known.message) - 1] = '\0';
    }
    last_error = known;
    return (pdl_status)known.status;
}
