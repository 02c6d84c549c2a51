/* SPDX-License-Identifier: MIT */
/* The census of several graphs as one. */
#ifndef PDL_LIB_CENSUS_H
#define PDL_LIB_CENSUS_H

#include "graph/node.h"

/* Refuses a census that cannot be filled. */
pdl_status pdl_census_check(const pdl_census *census);

/* Adds what a graph contains to a census of this library's size, and what its child graphs do if `children`
 * is set. */
pdl_status pdl_census_add(const struct pdl_driver *driver, CUgraph graph, bool children,
                          pdl_census *census);

#endif /* PDL_LIB_CENSUS_H */
