/* SPDX-License-Identifier: MIT */
/* Whether a link overlaps what it depends on. */
#ifndef PDL_LIB_DECIDE_H
#define PDL_LIB_DECIDE_H

#include "graph/links.h"

/* Decides whether a link overlaps. In *reason the caller gives what pdl_lower() decided, and gets what holds for the
 * link: PREDECESSOR or NODE, if no link that it depends on ends in a kernel that it may overlap. That is an error where
 * the overlap is required. */
pdl_status pdl_chain_decide(const struct pdl_chain *chain, uint32_t link, pdl_reason *reason);

#endif /* PDL_LIB_DECIDE_H */
