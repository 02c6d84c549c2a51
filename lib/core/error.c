/* SPDX-License-Identifier: MIT */
/* Recording an error with its sentence, by libpdl's public call: every library made here uses it. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

pdl_status(pdl_error_set)(pdl_status status, const char *call, const char *field, int32_t result,
                          const char *format, ...)
{
    pdl_error error = {.size = (uint32_t)sizeof(pdl_error),
                       .status = status,
                       .cuda_result = result,
                       .call = call,
                       .field = field};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error.message, sizeof(error.message), format, arguments);
    va_end(arguments);
    return pdl_error_record(&error);
}
