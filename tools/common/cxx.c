/* SPDX-License-Identifier: MIT */
#include "common/demangle.h"

#include <stdlib.h>

/* The C++ library's own; its header, cxxabi.h, is not for C. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

char *demangle_cxx(const char *name)
{
    int status = 0;
    return __cxa_demangle(name, NULL, NULL, &status);
}
