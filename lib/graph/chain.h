/* SPDX-License-Identifier: MIT */
/* The chain object. */
#ifndef PDL_LIB_CHAIN_H
#define PDL_LIB_CHAIN_H

#include <pdl/chain.h>
#include <stdatomic.h>

#include "core/error.h"
#include "graph/arguments.h"
#include "graph/node.h"

/* Where there is none. */
#define PDL_NO_LINK UINT32_MAX

struct pdl_link {
    pdl_kernel *kernel;
    pdl_launch_desc desc; /* whole */
    struct pdl_arguments *arguments;
    bool explicit_dependencies; /* else it depends on the link added before it */
    uint32_t on_count;
    size_t on_capacity;
    uint32_t *on; /* links that it depends on, if explicit */
    uint32_t by_count;
    size_t by_capacity;
    uint32_t *by;                   /* links that depend on it explicitly */
    uint64_t place;                 /* the order of links, see chain_order.c, */
    uint32_t earlier;               /* as a list */
    uint32_t later;                 /* likewise */
    uint64_t found_by;              /* the search that was here last */
    CUgraphNode node;               /* of what was built */
    CUDA_KERNEL_NODE_PARAMS params; /* likewise, with the link's own arguments */
};

struct pdl_chain {
    const struct pdl_driver *driver;
    CUstream default_stream; /* what a NULL stream means */
    atomic_flag busy;
    bool built;
    int device; /* of what was built */
    uint32_t count;
    size_t capacity;
    struct pdl_link *links;
    uint32_t first; /* of the order of links; or PDL_NO_LINK */
    uint32_t last;
    uint64_t searches; /* that chain_order.c has made */
    CUgraph graph;     /* what was built last, or NULL */
    CUgraphExec exec;
};

/* One thread at a time: every public call enters first, and returns through leave. */
PDL_COLD pdl_status pdl_chain_not_entered(const struct pdl_chain *chain);

static inline pdl_status pdl_chain_enter(struct pdl_chain *chain)
{
    if (chain == NULL || atomic_flag_test_and_set_explicit(&chain->busy, memory_order_acquire)) {
        return pdl_chain_not_entered(chain);
    }
    return PDL_SUCCESS;
}

static inline pdl_status pdl_chain_leave(struct pdl_chain *chain, pdl_status status)
{
    atomic_flag_clear_explicit(&chain->busy, memory_order_release);
    return status;
}

/* Refuses a link that is not there; `name` is the argument's. */
PDL_COLD pdl_status pdl_chain_no_link(const struct pdl_chain *chain, uint32_t link,
                                      const char *name);

static inline pdl_status pdl_chain_check_link(const struct pdl_chain *chain, uint32_t link,
                                              const char *name)
{
    return link < chain->count ? PDL_SUCCESS : pdl_chain_no_link(chain, link, name);
}

/* Checks a descriptor for a link, makes it whole and lowers it: for the chain's device if the chain
 * is built, else for the one that a launch now would run on. */
pdl_status pdl_chain_check_launch(const struct pdl_chain *chain, pdl_kernel *kernel,
                                  const pdl_launch_desc *desc, pdl_launch_desc *whole,
                                  struct pdl_lowered *lowered);

/* Lowers a launch for the chain's device if the chain is built, else for the one that a launch now would
 * run on. */
pdl_status pdl_chain_lower(const struct pdl_chain *chain, pdl_kernel *kernel,
                           const pdl_launch_desc *desc, struct pdl_lowered *lowered);

/* The order of links, which is kept while dependencies are added: each link comes after those that it
 * depends on. Puts a link that was just added last. */
void pdl_chain_put_last(struct pdl_chain *chain, uint32_t link);

/* Makes `link` come after `on`, if it does not. *cycle: it cannot, because `on` depends on it. */
pdl_status pdl_chain_put_after(struct pdl_chain *chain, uint32_t link, uint32_t on, bool *cycle);

/* The dependencies of a link, explicit or not. *before is where the implicit one is put. */
const uint32_t *pdl_chain_dependencies(const struct pdl_chain *chain, uint32_t link,
                                       uint32_t *before, uint32_t *count);

#endif /* PDL_LIB_CHAIN_H */
