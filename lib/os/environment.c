/* SPDX-License-Identifier: MIT */
#include "os/environment.h"

struct pdl_variable pdl_variables[PDL_VARIABLE_COUNT] = {
#define ROW(name, kind, most, values, unset, unknown, effect)                                      \
    {#name, most, values, unset, unknown, effect, PDL_VARIABLE_##kind, false},
    PDL_VARIABLE_LIST(ROW)
#undef ROW
};
