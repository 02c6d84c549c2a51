/* SPDX-License-Identifier: MIT */
/* Chains: replays, changes between them, and the end of a chain.
 *
 * In a built chain only parameters of nodes change, by cuGraphExecKernelNodeSetParams and cuGraphExecNodeSetParams.
 * cuGraphExecUpdate cannot change attributes: it reported success and left the cluster as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "graph/build.h"
#include "graph/capture.h"

/* ---- replaying ------------------------------------------------------------------------------ */

static pdl_status check_device(const struct pdl_chain *chain, CUstream stream)
{
    int device = -1;
    PDL_RETURN_IF_ERROR(pdl_device_of_stream(chain->driver, stream, &device));
    if (device != chain->device) {
        return PDL_FAIL_FIELD(PDL_ERROR_WRONG_DEVICE, "stream",
                              "the stream is of device %d and the chain was built for device %d",
                              device, chain->device);
    }
    return PDL_SUCCESS;
}

static inline pdl_status submit(const struct pdl_chain *chain, CUstream stream)
{
    const struct pdl_driver *const driver = chain->driver;
    PDL_RETURN_IF_ERROR(pdl_chain_check_built(chain));
    if (stream == NULL) {
        stream = chain->default_stream;
    }
    if (driver->device_count > 1) {
        PDL_RETURN_IF_ERROR(check_device(chain, stream));
    }
    return PDL_CALL(driver, "to launch a chain", cuGraphLaunch, chain->exec, stream);
}

pdl_status pdl_chain_launch(pdl_chain *chain, struct CUstream_st *stream)
{
    return PDL_CHAIN_RUN(chain, submit(chain, stream));
}

/* ---- arguments and descriptors -------------------------------------------------------------- */

static const char changing[] = "to change a link of a chain";

static pdl_status set_args(struct pdl_chain *chain, uint32_t index, void *const *args)
{
    PDL_RETURN_IF_ERROR(pdl_chain_check_kernel(chain, index));
    struct pdl_link *link = &chain->links[index];
    PDL_RETURN_IF_ERROR(pdl_arguments_stage(link->arguments, args));
    if (link->passed_count > 0) {
        pdl_chain_pass(link, link->arguments->spare, false);
    }
    if (chain->root->built) {
        CUDA_KERNEL_NODE_PARAMS *params = &link->built.params;
        pdl_arguments_pass(link->arguments, link->desc.cooperative != 0, params);
        const pdl_status status = PDL_CALL(chain->driver, changing, cuGraphExecKernelNodeSetParams,
                                           chain->root->exec, link->built.node, params);
        if (status != PDL_SUCCESS) {
            params->kernelParams = link->arguments->pointers;
            params->extra = NULL;
            return status;
        }
    }
    pdl_arguments_commit(link->arguments);
    return PDL_SUCCESS;
}

pdl_status pdl_chain_set_args(pdl_chain *chain, uint32_t link, void *const *args)
{
    return PDL_CHAIN_RUN(chain, set_args(chain, link, args));
}

/* A granted overlap is one of the attributes. */
static bool same_attributes(const struct pdl_lowered *was, const struct pdl_lowered *is)
{
    const unsigned count = was->config.numAttrs;
    return count == is->config.numAttrs &&
           (count == 0 ||
            memcmp(was->config.attrs, is->config.attrs, count * sizeof(was->attributes[0])) == 0);
}

static pdl_status reshape_built(const struct pdl_chain *chain, uint32_t index,
                                const pdl_launch_desc *desc, const struct pdl_lowered *new)
{
    struct pdl_link *link = &chain->links[index];
    CUDA_KERNEL_NODE_PARAMS params = link->built.params;
    struct pdl_lowered old;
    PDL_RETURN_IF_ERROR(pdl_node_lower(link->kernel, chain->root->device, &link->desc, &old));
    if (!same_attributes(&old, new) ||
        (desc->overlap == PDL_OVERLAP_REQUIRE && link->built.reason != PDL_REASON_GRANTED)) {
        return PDL_FAIL_FIELD(PDL_ERROR_REBUILD, "desc",
                              "the new descriptor of link %u changes more than grid, block and "
                              "dynamic shared memory: call pdl_chain_reset(), then this, then "
                              "pdl_chain_build()",
                              index);
    }
    pdl_node_reshape(&params, &new->config);
    PDL_RETURN_IF_ERROR(PDL_CALL(chain->driver, changing, cuGraphExecKernelNodeSetParams,
                                 chain->root->exec, link->built.node, &params));
    link->built.params = params;
    return PDL_SUCCESS;
}

static pdl_status set_desc(struct pdl_chain *chain, uint32_t index, const pdl_launch_desc *desc)
{
    struct pdl_lowered new;
    pdl_launch_desc whole;
    PDL_RETURN_IF_ERROR(pdl_chain_check_kernel(chain, index));
    PDL_RETURN_IF_ERROR(
        pdl_chain_check_launch(chain, chain->links[index].kernel, desc, &whole, &new));
    const pdl_status status =
        chain->root->built ? reshape_built(chain, index, &whole, &new) : PDL_SUCCESS;
    if (status != PDL_SUCCESS) {
        free((void *)whole.extra_attributes);
        return status;
    }
    free((void *)chain->links[index].desc.extra_attributes);
    chain->links[index].desc = whole;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_set_desc(pdl_chain *chain, uint32_t link, const pdl_launch_desc *desc)
{
    return PDL_CHAIN_RUN(chain, set_desc(chain, link, desc));
}

/* ---- other nodes ---------------------------------------------------------------------------- */

static bool can_change(uint32_t kind)
{
    return kind >= PDL_NODE_MEMSET && kind <= PDL_NODE_EVENT_WAIT;
}

/* Changes the node in what was built, in the context of that: the driver refuses another. */
static pdl_status change_built(const struct pdl_chain *chain, uint32_t index,
                               const pdl_chain_node *node)
{
    const struct pdl_driver *driver = chain->driver;
    const char *const call = "cuGraphExecNodeSetParams";
    CUgraphNodeParams params;
    pdl_link_node_params(node, chain->root->context, &params);
    const CUresult result = driver->cuGraphExecNodeSetParams(
        chain->root->exec, chain->links[index].built.node, &params);
    if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) {
        return pdl_error_set(PDL_ERROR_REBUILD, call, "node", (int32_t)result,
                             "the driver does not change link %u, %s, in this way in a built chain "
                             "(%s): call pdl_chain_reset(), then this, then pdl_chain_build()",
                             index, pdl_link_node_name(node->kind),
                             pdl_driver_result_name(driver, result));
    }
    return result == CUDA_SUCCESS ? PDL_SUCCESS
                                  : pdl_error_from_cuda(driver, call, (int32_t)result, changing);
}

static pdl_status set_node(struct pdl_chain *chain, uint32_t index, const pdl_chain_node *node)
{
    pdl_chain_node whole;
    PDL_RETURN_IF_ERROR(pdl_chain_check_link(chain, index, "link"));
    PDL_RETURN_IF_ERROR(pdl_link_node_check(chain->driver, node, chain->root != chain, &whole));
    const uint32_t kind = chain->links[index].kind;
    if (!can_change(kind) || whole.kind != kind) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "node",
                              can_change(kind)
                                  ? "link %u is %s and cannot become %s"
                                  : "link %u is %s: only memsets, copies, host functions and "
                                    "events can be changed, not into %s",
                              index, pdl_link_node_name(kind), pdl_link_node_name(whole.kind));
    }
    if (chain->root->built) {
        PDL_RETURN_IF_ERROR(change_built(chain, index, &whole));
    }
    chain->links[index].node = whole;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_set_node(pdl_chain *chain, uint32_t link, const pdl_chain_node *node)
{
    return PDL_CHAIN_RUN(chain, set_node(chain, link, node));
}

/* ---- the end -------------------------------------------------------------------------------- */

void pdl_chain_destroy(pdl_chain *chain)
{
    if (chain == NULL || chain->root != chain) {
        return;
    }
    pdl_chain_abandon_capture(chain);
    pdl_chain_discard(chain->driver, chain->graph, chain->exec);
    pdl_chain_free(chain);
}
