/* SPDX-License-Identifier: MIT */
/* What other code puts into a stream, as a link. */
#ifndef PDL_LIB_CAPTURE_H
#define PDL_LIB_CAPTURE_H

#include "graph/links.h"

/* Ends a capture in progress and forgets what it has. */
void pdl_chain_abandon_capture(struct pdl_chain *chain);

#endif /* PDL_LIB_CAPTURE_H */
