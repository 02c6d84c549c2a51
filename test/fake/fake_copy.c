/* SPDX-License-Identifier: MIT */
/* A plugin that libpdl is linked into, as docs/single.md says. */
#include "fake_copies.h"

PDL_API extern const struct copy_functions copy_functions;
const struct copy_functions copy_functions = {
#define FUNCTION(name) .name = name,
    COPY_FUNCTIONS(FUNCTION)
#undef FUNCTION
};
