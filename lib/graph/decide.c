/* SPDX-License-Identifier: MIT */
/* Chains: whether their links overlap, and why. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/sized.h"
#include "graph/decide.h"

/* ---- overlap -------------------------------------------------------------------------------- */

/* Why a kernel may not overlap what a link depends on: the least of what there is against one of the nodes there. */
static pdl_status after_all(const struct pdl_chain *chain, uint32_t link, pdl_reason *reason)
{
    uint32_t count = 0;
    const uint32_t *on = pdl_chain_dependencies(chain, link, &count);
    *reason = PDL_REASON_NODE;
    for (uint32_t i = 0; i < count && *reason != PDL_REASON_GRANTED; i++) {
        const struct pdl_link *const before = &chain->links[on[i]];
        const uint32_t exits = before->subgraph != NULL ? before->subgraph->exit_count : 0;
        *reason = before->kernel != NULL ? PDL_REASON_GRANTED : *reason;
        for (uint32_t e = 0; e < exits && *reason != PDL_REASON_GRANTED; e++) {
            pdl_reason exit = PDL_REASON_NODE;
            PDL_RETURN_IF_ERROR(pdl_subgraph_exit(before->subgraph, e, &exit));
            *reason = exit != PDL_REASON_NODE ? exit : *reason;
        }
    }
    return PDL_SUCCESS;
}

pdl_status pdl_chain_decide(const struct pdl_chain *chain, uint32_t link, pdl_reason *reason)
{
    const struct pdl_link *of = &chain->links[link];
    uint32_t count = 0;
    (void)pdl_chain_dependencies(chain, link, &count);
    if (of->kernel == NULL) {
        const bool in_place = of->subgraph != NULL && of->subgraph->in_place;
        *reason = in_place ? PDL_REASON_NOT_REQUESTED : PDL_REASON_NODE;
        return in_place && of->subgraph->overlaps ? after_all(chain, link, reason) : PDL_SUCCESS;
    }
    if (*reason != PDL_REASON_GRANTED || count == 0) {
        return PDL_SUCCESS;
    }
    PDL_RETURN_IF_ERROR(after_all(chain, link, reason));
    if (*reason != PDL_REASON_GRANTED && of->desc.overlap == PDL_OVERLAP_REQUIRE) {
        return PDL_FAIL_FIELD(PDL_ERROR_OVERLAP, "overlap",
                              "link %u (kernel %s) cannot overlap as required: %s", link,
                              pdl_kernel_name(of->kernel), pdl_reason_string(*reason));
    }
    return PDL_SUCCESS;
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
    if (link->kernel != NULL) {
        struct pdl_lowered lowered;
        PDL_RETURN_IF_ERROR(pdl_chain_lower(chain, link->kernel, &link->desc, &lowered));
        *device = lowered.facts->device->ordinal;
        is->reason = lowered.reason;
        pdl_node_reshape(&is->params, &lowered.config);
    } else {
        PDL_RETURN_IF_ERROR(pdl_device_of_stream(chain->driver, NULL, device));
    }
    return pdl_chain_decide(chain, index, &is->reason);
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
    char links[64] = "";
    size_t written = 0;
    PDL_RETURN_IF_ERROR(pdl_chain_check_link(chain, index, "link"));
    const struct pdl_link *link = &chain->links[index];
    const struct pdl_subgraph *const subgraph = link->subgraph;
    const uint32_t *on = pdl_chain_dependencies(chain, index, &known.dependencies);
    struct pdl_built is = link->built;
    if (!known.built) {
        PDL_RETURN_IF_ERROR(look_ahead(chain, index, &is, &known.device));
    }
    known.overlap = is.reason == PDL_REASON_GRANTED && known.dependencies > 0;
    known.overlap_reason = (uint32_t)is.reason;
    known.kernel = link->kernel;
    known.kind = link->kind;
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
    const char *const what =
        link->kernel != NULL ? pdl_kernel_name(link->kernel) : pdl_link_node_name(link->kind);
    const bool why = link->kernel != NULL && !known.overlap && known.dependencies > 0;
    (void)snprintf(known.message, sizeof(known.message), "link %u (%s%.152s) %s%s%s%s%s", index,
                   link->kernel != NULL ? "kernel " : "", what,
                   how(known.overlap, known.dependencies), known.dependencies > 0 ? ", link" : "",
                   links, why ? ": " : "", why ? pdl_reason_string(is.reason) : "");
    pdl_sized_copy(report, &known, sizeof(known));
    return PDL_SUCCESS;
}

pdl_status pdl_chain_explain(pdl_chain *chain, uint32_t link, pdl_chain_report *report)
{
    PDL_RETURN_IF_ERROR(
        pdl_sized_within(report, offsetof(pdl_chain_report, dependencies), "report"));
    return PDL_CHAIN_RUN(chain, explain(chain, link, report));
}
