/* SPDX-License-Identifier: MIT */
/* Words for what was done with a kernel, as JSON has them. */
#ifndef PDL_TOOLS_INSTRUMENTED_H
#define PDL_TOOLS_INSTRUMENTED_H

#include <stdint.h>

const char *instrument_action_name(int32_t action); /* of a pdl_instrument_action */
const char *instrument_reason_name(int32_t reason); /* of a pdl_instrument_reason; NULL: none */

#endif /* PDL_TOOLS_INSTRUMENTED_H */
