/* SPDX-License-Identifier: MIT */
/* A graph as the driver reports it: its nodes, and the edges into each. */
#ifndef PDL_LIB_SNAPSHOT_H
#define PDL_LIB_SNAPSHOT_H

#include <pdl/graph.h>

#include "core/driver.h"

/* Edge data by pdl_edge_kind. */
#define PDL_EDGE_KINDS 4
extern const CUgraphEdgeData pdl_edge_data[PDL_EDGE_KINDS];

struct pdl_snapshot_node {
    CUgraphNode handle;
    CUgraphNodeType type;
    uint32_t first_edge; /* of those that end here, in `incoming` */
    uint32_t edge_count;
    uint32_t seen_by; /* the walk that was here last */
};

/* Nodes are sorted by handle, edges by the node where they end. */
struct pdl_snapshot {
    const struct pdl_driver *driver;
    CUgraphNode *listed; /* nodes in the order of the driver */
    struct pdl_snapshot_node *nodes;
    size_t node_count;
    CUgraphNode *from;
    CUgraphNode *to;
    CUgraphEdgeData *data;
    size_t edge_count;
    uint32_t *incoming; /* indices of edges */
    uint32_t *stack;    /* room for the index of each node */
};

/* Takes the snapshot of a graph. On failure there is nothing to forget. */
pdl_status pdl_snapshot_take(const struct pdl_driver *driver, CUgraph graph,
                             struct pdl_snapshot *snapshot);
void pdl_snapshot_forget(struct pdl_snapshot *snapshot);

/* A node of the snapshot by its handle, which must be in it. */
struct pdl_snapshot_node *pdl_snapshot_find(const struct pdl_snapshot *snapshot,
                                            CUgraphNode handle);

/* The pdl_edge_kind of edge data, or PDL_EDGE_KINDS if it is unknown. */
uint32_t pdl_snapshot_edge_kind(const CUgraphEdgeData *data);

#endif /* PDL_LIB_SNAPSHOT_H */
