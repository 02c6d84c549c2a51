/* SPDX-License-Identifier: MIT */
#include "common/instrumented.h"

#include <stddef.h>

#include <pdl/instrument.h>

const char *instrument_action_name(int32_t action)
{
    static const char *const names[] = {"unknown", "instrumented", "waits already", "excluded",
                                        "refused"};
    return action > 0 && action <= PDL_INSTRUMENT_REFUSED ? names[action] : names[0];
}

const char *instrument_reason_name(int32_t reason)
{
    static const char *const names[] = {NULL,       "target",   "cooperative",
                                        "launches", "no-place", "finding"};
    return reason > 0 && reason <= PDL_INSTRUMENT_REASON_FINDING ? names[reason] : NULL;
}
