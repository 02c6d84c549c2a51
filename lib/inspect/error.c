/* SPDX-License-Identifier: MIT */
#include "inspect/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local pdl_inspect_error last_error = {.size = (uint32_t)sizeof(last_error)};

const pdl_inspect_error *pdl_inspect_last_error(void)
{
    return &last_error;
}

void pdl_inspect_error_restore(const pdl_inspect_error *error)
{
    last_error = *error;
}

pdl_status(pdl_inspect_fail)(pdl_status status, uint32_t line, uint32_t column, const char *format,
                             ...)
{
    va_list arguments;
    char message[sizeof(last_error.message)] = ""; /* the last one may be an argument */
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    last_error.status = status;
    last_error.line = line;
    last_error.column = column;
    memcpy(last_error.message, message, sizeof(message));
    return status;
}
