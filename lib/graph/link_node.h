/* SPDX-License-Identifier: MIT */
/* Links that are not kernels: descriptions of nodes, and the driver's parameters for them. */
#ifndef PDL_LIB_LINK_NODE_H
#define PDL_LIB_LINK_NODE_H

#include <pdl/chain.h>

#include "core/driver.h"

/* Whether a kind has a condition and bodies. */
static inline bool pdl_link_node_is_conditional(uint32_t kind)
{
    return kind >= PDL_NODE_IF && kind <= PDL_NODE_SWITCH;
}

/* What a kind is called in messages, with its article. */
const char *pdl_link_node_name(uint32_t kind);

/* Checks a description, and makes it whole: what has a default gets it. */
pdl_status pdl_link_node_check(const struct pdl_driver *driver, const pdl_chain_node *given,
                               bool in_body, pdl_chain_node *whole);

/* The driver's parameters of a kind without a graph. */
void pdl_link_node_params(const pdl_chain_node *node, CUcontext context, CUgraphNodeParams *params);

#endif /* PDL_LIB_LINK_NODE_H */
