/* SPDX-License-Identifier: MIT */
/* Chains: changes between replays.
 *
 * Only what cuGraphExecKernelNodeSetParams changes is changed in a built chain. cuGraphExecUpdate
 * is no way to change attributes: it was seen to report success and to leave the cluster as it was.
 */
#include <string.h>

#include "core/error.h"
#include "graph/chain.h"

PDL_COLD static pdl_status refused(const struct pdl_chain *chain, CUresult result)
{
    return pdl_error_from_cuda(chain->driver, "cuGraphExecKernelNodeSetParams", (int32_t)result,
                               "to change a link of a chain");
}

static pdl_status set_args(struct pdl_chain *chain, uint32_t index, void *const *args)
{
    pdl_status status = pdl_chain_check_link(chain, index, "link");
    if (status != PDL_SUCCESS) {
        return status;
    }
    struct pdl_link *link = &chain->links[index];
    status = pdl_arguments_stage(link->arguments, args);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (chain->built) {
        link->params.kernelParams = link->arguments->spare;
        const CUresult result =
            chain->driver->cuGraphExecKernelNodeSetParams(chain->exec, link->node, &link->params);
        if (result != CUDA_SUCCESS) {
            link->params.kernelParams = link->arguments->pointers;
            return refused(chain, result);
        }
    }
    pdl_arguments_commit(link->arguments);
    return PDL_SUCCESS;
}

pdl_status pdl_chain_set_args(pdl_chain *chain, uint32_t link, void *const *args)
{
    const pdl_status status = pdl_chain_enter(chain);
    return status == PDL_SUCCESS ? pdl_chain_leave(chain, set_args(chain, link, args)) : status;
}

/* A granted overlap is one of the attributes. */
static bool same_attributes(const struct pdl_lowered *was, const struct pdl_lowered *is)
{
    const unsigned count = was->config.numAttrs;
    return count == is->config.numAttrs &&
           memcmp(was->attributes, is->attributes, count * sizeof(was->attributes[0])) == 0;
}

static pdl_status set_desc(struct pdl_chain *chain, uint32_t index, const pdl_launch_desc *desc)
{
    struct pdl_lowered old;
    struct pdl_lowered new;
    pdl_launch_desc whole;
    pdl_status status = pdl_chain_check_link(chain, index, "link");
    if (status != PDL_SUCCESS) {
        return status;
    }
    struct pdl_link *link = &chain->links[index];
    status = pdl_chain_check_launch(chain, link->kernel, desc, &whole, &new);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (chain->built) {
        CUDA_KERNEL_NODE_PARAMS params = link->params;
        status = pdl_node_lower(link->kernel, chain->device, &link->desc, &old);
        if (status != PDL_SUCCESS) {
            return status;
        }
        if (!same_attributes(&old, &new)) {
            return PDL_FAIL_FIELD(PDL_ERROR_REBUILD, "desc",
                                  "the new descriptor of link %u changes more than grid, block and "
                                  "dynamic shared memory: call pdl_chain_reset(), then this, then "
                                  "pdl_chain_build()",
                                  index);
        }
        pdl_node_reshape(&params, &new.config);
        const CUresult result =
            chain->driver->cuGraphExecKernelNodeSetParams(chain->exec, link->node, &params);
        if (result != CUDA_SUCCESS) {
            return refused(chain, result);
        }
        link->params = params;
    }
    link->desc = whole;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_set_desc(pdl_chain *chain, uint32_t link, const pdl_launch_desc *desc)
{
    const pdl_status status = pdl_chain_enter(chain);
    return status == PDL_SUCCESS ? pdl_chain_leave(chain, set_desc(chain, link, desc)) : status;
}
