/* SPDX-License-Identifier: MIT */
/* What is built of a chain. */
#ifndef PDL_LIB_BUILD_H
#define PDL_LIB_BUILD_H

#include "graph/links.h"

/* Destroys what was built. */
void pdl_chain_discard(const struct pdl_driver *driver, CUgraph graph, CUgraphExec exec);

/* Puts the handles of conditions into a link's arguments: those of the build in progress if `fresh` is
 * set, else of the last one. */
void pdl_chain_pass(const struct pdl_link *link, void **values, bool fresh);

#endif /* PDL_LIB_BUILD_H */
