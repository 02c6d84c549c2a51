/* SPDX-License-Identifier: MIT */
/* Subgraphs: graphs that become part of another one, node by node where that can be done, so that kernels
 * before and behind may overlap theirs. */
#ifndef PDL_LIB_SUBGRAPH_H
#define PDL_LIB_SUBGRAPH_H

#include "core/gate.h"
#include "graph/node.h"
#include "graph/snapshot.h"

/* How deep child graphs, and bodies, may be in each other. */
#define PDL_SUBGRAPH_DEPTH 32

struct pdl_subgraph {
    const struct pdl_driver *driver;
    CUgraph graph;                /* owned */
    struct pdl_snapshot snapshot; /* of it */
    /* A node that stands for what came before a capture: the edges from it show what depends on that, and a
     * kernel node also what may overlap it. NULL: there is none. */
    CUgraphNode anchor;
    size_t end_count;    /* what the stream's next launch would depend on when the capture ended, */
    CUgraphNode *ends;   /* as nodes of the graph; none: not known */
    bool in_place;       /* its nodes can be copied, else it is a child graph */
    CUcontext context;   /* of its kernels, or NULL */
    uint32_t exit_count; /* the ends, else nodes that no other one depends on; without the anchor */
    uint32_t beside_count; /* behind the ends: other nodes that no one depends on */
    uint32_t *exits;       /* both, as indices in the snapshot */
    CUgraphNode *copies;   /* by index in the snapshot; of the build in progress */
    bool overlaps;         /* a kernel of it may overlap what the anchor stands for */
    bool placed;           /* that build copied the nodes */
};

/* An empty graph, and its end. NULL is allowed. */
pdl_status pdl_subgraph_create(const struct pdl_driver *driver, struct pdl_subgraph **subgraph);
void pdl_subgraph_destroy(struct pdl_subgraph *subgraph);

/* Refuses a graph that cannot be part of a chain, or of a body. */
pdl_status pdl_subgraph_check(const struct pdl_driver *driver, CUgraph graph, bool in_body);

/* Makes a subgraph ready after its graph is complete. Refuses what cannot be part of a chain, or of a
 * body. */
pdl_status pdl_subgraph_finish(struct pdl_subgraph *subgraph, bool in_body);

/* Why a kernel may not overlap an exit, or PDL_REASON_GRANTED. */
pdl_status pdl_subgraph_exit(const struct pdl_subgraph *subgraph, uint32_t exit,
                             pdl_reason *reason);

/* Adds a subgraph to a graph, after the nodes at the other end of `edges`. Those edges are programmatic
 * where both the edge and the captured one are. What was put into the graph beside the captured stream comes after what
 * was beside an earlier one, `before`, or NULL. *node is the child graph, or an empty node for an empty
 * graph, unless the subgraph is placed. `doing` is for the error. */
pdl_status pdl_subgraph_place(struct pdl_subgraph *subgraph, CUgraph graph, CUcontext context,
                              const pdl_edge *edges, size_t count,
                              const struct pdl_subgraph *before, const char *doing,
                              CUgraphNode *node);

#endif /* PDL_LIB_SUBGRAPH_H */
