/* SPDX-License-Identifier: MIT */
/* Chains: whether their links overlap, and why. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/sized.h"
#include "graph/decide.h"

/* ---- overlap -------------------------------------------------------------------------------- */

/* Why a kernel may not overlap a link: the least of what there is against the nodes at its end. */
static pdl_status after(const struct pdl_link *link, pdl_reason *reason)
{
    const struct pdl_subgraph *subgraph = link->node != NULL ? link->node->subgraph : NULL;
    pdl_status status = PDL_SUCCESS;
    *reason = link->kernel != NULL ? PDL_REASON_GRANTED : PDL_REASON_NODE;
    for (uint32_t i = 0; subgraph != NULL && i < subgraph->exit_count && status == PDL_SUCCESS &&
                         *reason != PDL_REASON_GRANTED;
         i++) {
        pdl_reason exit = PDL_REASON_NODE;
        status = pdl_subgraph_exit(subgraph, i, &exit);
        *reason = exit != PDL_REASON_NODE ? exit : *reason;
    }
    return status;
}

/* The same for all links that a link depends on: the least of what there is against one of them. */
static pdl_status after_all(const struct pdl_chain *chain, uint32_t link, pdl_reason *reason)
{
    uint32_t count = 0;
    const uint32_t *on = pdl_chain_dependencies(chain, link, &count);
    pdl_status status = PDL_SUCCESS;
    *reason = PDL_REASON_NODE;
    for (uint32_t i = 0; i < count && status == PDL_SUCCESS && *reason != PDL_REASON_GRANTED; i++) {
        pdl_reason one = PDL_REASON_NODE;
        status = after(&chain->links[on[i]], &one);
        *reason = one != PDL_REASON_NODE ? one : *reason;
    }
    return status;
}

pdl_status pdl_chain_decide(const struct pdl_chain *chain, uint32_t link, pdl_reason *reason)
{
    const struct pdl_link *of = &chain->links[link];
    const struct pdl_subgraph *subgraph = of->node != NULL ? of->node->subgraph : NULL;
    uint32_t count = 0;
    (void)pdl_chain_dependencies(chain, link, &count);
    if (of->kernel == NULL) {
        const bool in_place = subgraph != NULL && subgraph->in_place;
        *reason = in_place ? PDL_REASON_NOT_REQUESTED : PDL_REASON_NODE;
        return in_place && subgraph->overlaps ? after_all(chain, link, reason) : PDL_SUCCESS;
    }
    if (*reason != PDL_REASON_GRANTED || count == 0) {
        return PDL_SUCCESS;
    }
    const pdl_status status = after_all(chain, link, reason);
    if (status == PDL_SUCCESS && *reason != PDL_REASON_GRANTED &&
        of->desc.overlap == PDL_OVERLAP_REQUIRE) {
        return PDL_FAIL_FIELD(PDL_ERROR_OVERLAP, "overlap",
                              "link %u (kernel %s) cannot overlap as required: %s", link,
                              pdl_kernel_name(of->kernel), pdl_reason_string(*reason));
    }
    return status;
}

/* ---- explain -------------------------------------------------------------------------------- */

static const char *how(bool granted, uint32_t dependencies)
{
    if (dependencies == 0) {
        return "starts with the replay";
    }
    return granted ? "overlaps what it depends on" : "waits for the end of what it depends on";
}

/* What a build would make of a link now, and where. */
static pdl_status look_ahead(const struct pdl_chain *chain, uint32_t index, struct pdl_built *is,
                             int32_t *device)
{
    const struct pdl_link *link = &chain->links[index];
    struct pdl_lowered lowered;
    pdl_status status = link->kernel != NULL
                            ? pdl_chain_lower(chain, link->kernel, &link->desc, &lowered)
                            : pdl_device_of_stream(chain->driver, NULL, device);
    if (status == PDL_SUCCESS && link->kernel != NULL) {
        *device = lowered.facts->device->ordinal;
        is->reason = lowered.reason;
        pdl_node_reshape(&is->params, &lowered.config);
    }
    return status == PDL_SUCCESS ? pdl_chain_decide(chain, index, &is->reason) : status;
}

static pdl_status explain(struct pdl_chain *chain, uint32_t index, pdl_chain_report *report)
{
    pdl_chain_report known = {
        .dependency_capacity = report->dependency_capacity,
        .dependency_links = report->dependency_links,
        .links = chain->count,
        .built = chain->root->built,
        .device = chain->root->device,
    };
    char name[160];
    char links[64] = "";
    size_t written = 0;
    pdl_status status = pdl_chain_check_link(chain, index, "link");
    if (status != PDL_SUCCESS) {
        return status;
    }
    const struct pdl_link *link = &chain->links[index];
    const struct pdl_subgraph *subgraph = link->node != NULL ? link->node->subgraph : NULL;
    const uint32_t *on = pdl_chain_dependencies(chain, index, &known.dependencies);
    struct pdl_built is = link->built;
    status = known.built ? PDL_SUCCESS : look_ahead(chain, index, &is, &known.device);
    if (status != PDL_SUCCESS) {
        return status;
    }
    known.overlap = is.reason == PDL_REASON_GRANTED && known.dependencies > 0;
    known.overlap_reason = (uint32_t)is.reason;
    known.kernel = link->kernel;
    known.kind = link->node != NULL ? link->node->desc.kind : known.kind;
    known.nodes = subgraph != NULL && subgraph->in_place
                      ? (uint32_t)subgraph->snapshot.node_count - (subgraph->anchor != NULL)
                      : 1;
    if (link->kernel != NULL) {
        const uint32_t grid[] = {is.params.gridDimX, is.params.gridDimY, is.params.gridDimZ};
        const uint32_t block[] = {is.params.blockDimX, is.params.blockDimY, is.params.blockDimZ};
        memcpy(known.grid, grid, sizeof(known.grid));
        memcpy(known.block, block, sizeof(known.block));
        known.dynamic_shared_memory = is.params.sharedMemBytes;
    }
    for (uint32_t i = 0; i < known.dependencies; i++) {
        if (written > sizeof(links) - 20) { /* room for one more and the dots */
            (void)snprintf(links + written, sizeof(links) - written, ", ...");
            break;
        }
        written += (size_t)snprintf(links + written, sizeof(links) - written, "%s%u",
                                    i > 0 ? ", " : " ", on[i]);
    }
    for (uint32_t i = 0;
         known.dependency_links != NULL && i < known.dependency_capacity && i < known.dependencies;
         i++) {
        known.dependency_links[i] = on[i];
    }
    if (link->kernel != NULL) {
        (void)snprintf(name, sizeof(name), "kernel %s", pdl_kernel_name(link->kernel));
    } else {
        (void)snprintf(name, sizeof(name), "%s", pdl_chain_kind_name(link));
    }
    const bool why = link->kernel != NULL && !known.overlap && known.dependencies > 0;
    (void)snprintf(known.message, sizeof(known.message), "link %u (%s) %s%s%s%s%s", index, name,
                   how(known.overlap, known.dependencies), known.dependencies > 0 ? ", link" : "",
                   links, why ? ": " : "", why ? pdl_reason_string(is.reason) : "");
    pdl_sized_copy(report, &known, sizeof(known));
    return PDL_SUCCESS;
}

pdl_status pdl_chain_explain(pdl_chain *chain, uint32_t link, pdl_chain_report *report)
{
    const pdl_status status =
        pdl_sized_within(report, offsetof(pdl_chain_report, dependencies), "report");
    return status == PDL_SUCCESS ? PDL_CHAIN_RUN(chain, explain(chain, link, report)) : status;
}
