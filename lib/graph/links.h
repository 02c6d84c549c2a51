/* SPDX-License-Identifier: MIT */
/* The chain object. */
#ifndef PDL_LIB_LINKS_H
#define PDL_LIB_LINKS_H

#include <pdl/chain.h>
#include <stdatomic.h>

#include "core/error.h"
#include "graph/arguments.h"
#include "graph/link_node.h"
#include "graph/subgraph.h"

/* Where there is none. */
#define PDL_NO_LINK UINT32_MAX

/* A link's node, as it was built. */
struct pdl_built {
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS params;     /* of a kernel, with the link's own arguments */
    pdl_reason reason;                  /* why it overlaps what it depends on, or does not */
    CUgraphConditionalHandle condition; /* of a conditional */
};

/* A parameter that takes the handle of a condition. */
struct pdl_passed {
    uint32_t parameter;
    uint32_t conditional; /* link of `owner` */
    const struct pdl_chain *owner;
};

/* A body of a conditional. */
struct pdl_body {
    struct pdl_chain *chain; /* owned */
    CUgraph fresh;           /* of a build in progress */
};

struct pdl_link {
    uint32_t kind; /* a pdl_node_kind */
    uint32_t body_count;
    pdl_kernel *kernel; /* NULL: another node */
    union {
        pdl_launch_desc desc; /* of a kernel: whole; its extra_attributes are owned */
        pdl_chain_node node;  /* of another node: whole; `graph` is not used */
    };
    struct pdl_subgraph *subgraph;   /* owned; of GRAPH and CAPTURE */
    struct pdl_body *bodies;         /* owned; of a conditional */
    struct pdl_arguments *arguments; /* owned; of a kernel */
    uint32_t passed_count;
    size_t passed_capacity;
    struct pdl_passed *passed;
    uint32_t implicit;          /* the link that it depends on unless ... */
    bool explicit_dependencies; /* ... others were given */
    uint32_t on_count;
    size_t on_capacity;
    uint32_t *on;           /* links that it depends on, if explicit */
    uint32_t dependents;    /* how many links depend on it */
    uint64_t found_by;      /* the search that was here last, */
    uint32_t step;          /* and what it keeps here */
    struct pdl_built built; /* of the last build */
    struct pdl_built fresh; /* of a build in progress */
};

/* A chain, or the body of a conditional: a body has links only, and the rest is the root's. */
struct pdl_chain {
    struct pdl_chain *root;   /* itself, unless it is a body, */
    struct pdl_chain *parent; /* which is in this one, */
    uint32_t parent_link;     /* there */
    uint32_t depth;           /* how many bodies it is in */
    const struct pdl_driver *driver;
    CUstream default_stream; /* what a NULL stream means */
    atomic_flag busy;
    bool built;
    int device;        /* of what was built, */
    CUcontext context; /* and its context */
    uint32_t count;
    size_t capacity;
    struct pdl_link *links;
    uint32_t tail;     /* what the next link depends on, or PDL_NO_LINK */
    bool goes_back;    /* a link depends on one that was added later */
    uint64_t searches; /* through the dependencies, so far */
    CUgraph graph;     /* what was built last, or NULL; also of a body */
    CUgraphExec exec;
    struct pdl_subgraph *capture; /* in progress, or NULL, */
    struct pdl_chain *target;     /* for this chain, */
    CUstream capturing;           /* in this stream */
};

/* One thread at a time: every public call enters first, and returns through leave. */
PDL_COLD pdl_status pdl_chain_not_entered(const struct pdl_chain *chain);

static inline bool pdl_chain_enter(struct pdl_chain *chain)
{
    return chain != NULL &&
           !atomic_flag_test_and_set_explicit(&chain->root->busy, memory_order_acquire);
}

static inline pdl_status pdl_chain_leave(struct pdl_chain *chain, pdl_status status)
{
    atomic_flag_clear_explicit(&chain->root->busy, memory_order_release);
    return status;
}

#define PDL_CHAIN_RUN(chain, call)                                                                 \
    (pdl_chain_enter(chain) ? pdl_chain_leave((chain), (call)) : pdl_chain_not_entered(chain))

/* Refuses a link that is not there; `name` is the argument's. */
PDL_COLD pdl_status pdl_chain_no_link(const struct pdl_chain *chain, uint32_t link,
                                      const char *name);

static inline pdl_status pdl_chain_check_link(const struct pdl_chain *chain, uint32_t link,
                                              const char *name)
{
    return link < chain->count ? PDL_SUCCESS : pdl_chain_no_link(chain, link, name);
}

/* Refuses to add anything while the chain is capturing. */
static inline pdl_status pdl_chain_check_idle(const struct pdl_chain *chain)
{
    return chain->root->capture == NULL
               ? PDL_SUCCESS
               : PDL_FAIL(PDL_ERROR_CAPTURE,
                          "the chain is capturing a stream: call pdl_chain_capture_end() first");
}

/* Puts a link at the end, which takes what `made` owns; on failure it is freed. */
pdl_status pdl_chain_append(struct pdl_chain *chain, const struct pdl_link *made, uint32_t *link);

/* Frees what a link owns, and a chain or a body with its links. NULL is allowed. */
void pdl_chain_free_link(const struct pdl_link *link);
void pdl_chain_free(struct pdl_chain *chain);

/* Refuses a link that is no kernel. */
pdl_status pdl_chain_check_kernel(const struct pdl_chain *chain, uint32_t link);

/* Refuses a chain that is not built, or a body. */
pdl_status pdl_chain_check_built(const struct pdl_chain *chain);

/* Refuses a body where only a whole chain will do. */
pdl_status pdl_chain_check_root(const struct pdl_chain *chain);

/* Checks a descriptor for a link, makes it whole and lowers it: for the chain's device if the chain
 * is built, else for the one that a launch now would run on. On success the caller frees
 * whole->extra_attributes. */
pdl_status pdl_chain_check_launch(const struct pdl_chain *chain, pdl_kernel *kernel,
                                  const pdl_launch_desc *desc, pdl_launch_desc *whole,
                                  struct pdl_lowered *lowered);

/* Lowers a launch for the chain's device if the chain is built, else for the one that a launch now would
 * run on. */
pdl_status pdl_chain_lower(const struct pdl_chain *chain, pdl_kernel *kernel,
                           const pdl_launch_desc *desc, struct pdl_lowered *lowered);

/* The dependencies of a link, explicit or not. */
const uint32_t *pdl_chain_dependencies(const struct pdl_chain *chain, uint32_t link,
                                       uint32_t *count);

/* The numbers of all links, each after those that it depends on. The caller frees them. NULL: no memory. */
uint32_t *pdl_chain_order(struct pdl_chain *chain);

#endif /* PDL_LIB_LINKS_H */
