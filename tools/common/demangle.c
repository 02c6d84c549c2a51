/* SPDX-License-Identifier: MIT */
#include "common/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

#ifdef PDL_HAVE_CXA_DEMANGLE
/* The C++ library's own; its header, cxxabi.h, is not for C. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

/* Longer names than template libraries make. The demangler needs stack for them. */
enum { LONGEST_NAME = 1 << 16 };
#endif

char *demangle(const char *name)
{
#ifdef PDL_HAVE_CXA_DEMANGLE
    /* It takes "f" for the type float: only what begins as an encoding is a function's name. */
    if (strncmp(name, "_Z", 2) == 0 && strlen(name) <= LONGEST_NAME) {
        int status = 0;
        char *demangled = __cxa_demangle(name, NULL, NULL, &status);
        if (demangled != NULL) {
            return demangled;
        }
    }
#endif
    return copy_text(name);
}
