/* SPDX-License-Identifier: MIT */
/* Chains: what other code puts into a stream. */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "graph/capture.h"

PDL_COLD static pdl_status failed(const struct pdl_chain *chain, const char *call, CUresult result)
{
    const char *why;
    switch ((int)result) {
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
        why = "a call in between cannot be captured; that call returned an error";
        break;
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
        why = "the stream is not the one in which the capture began, or it has ended already";
        break;
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
        why = "another stream joined it by an event, and this stream did not wait for that one "
              "again";
        break;
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_CAPTURED_EVENT:
        why = "it was mixed with another capture or with work outside of it";
        break;
    case CUDA_ERROR_ILLEGAL_STATE:
        why = "the stream is capturing already, or does not capture";
        break;
    default:
        return pdl_error_from_cuda(chain->driver, call, (int32_t)result, "to capture into a chain");
    }
    return PDL_FAIL_CALL(PDL_ERROR_CAPTURE, call, result,
                         "the stream cannot be captured: %s (%s, %d)", why,
                         pdl_driver_result_name(chain->driver, result), (int)result);
}

/* ---- beginning ------------------------------------------------------------------------------ */

/* The parameters of a node like one at the end of a link: of a kernel, if there is one, else of an empty node. */
static pdl_status node_at_end(const struct pdl_chain *chain, const struct pdl_link *link,
                              CUDA_KERNEL_NODE_PARAMS *kernel, CUgraphNodeType *type)
{
    const struct pdl_subgraph *const subgraph = link->subgraph;
    const uint32_t exits = subgraph != NULL && subgraph->in_place ? subgraph->exit_count : 0;
    *type = link->kernel != NULL ? CU_GRAPH_NODE_TYPE_KERNEL : CU_GRAPH_NODE_TYPE_EMPTY;
    if (link->kernel != NULL) {
        struct pdl_lowered lowered;
        int device = -1;
        PDL_RETURN_IF_ERROR(pdl_device_of_stream(chain->driver, NULL, &device));
        PDL_RETURN_IF_ERROR(pdl_node_lower(link->kernel, device, &link->desc, &lowered));
        return pdl_node_params(link->kernel, &lowered, link->arguments->pointers, kernel);
    }
    for (uint32_t i = 0; i < exits; i++) {
        const struct pdl_snapshot_node *node = &subgraph->snapshot.nodes[subgraph->exits[i]];
        if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
            const CUresult result = chain->driver->cuGraphKernelNodeGetParams(node->handle, kernel);
            *type = node->type;
            return result == CUDA_SUCCESS ? PDL_SUCCESS
                                          : failed(chain, "cuGraphKernelNodeGetParams", result);
        }
    }
    return PDL_SUCCESS;
}

/* Begins the graph of a capture with a node for the link before it: a kernel like the one there, so that the driver shows
 * by the edges from there which of the captured kernels may overlap that, else an empty node. */
static pdl_status add_anchor(const struct pdl_chain *chain, struct pdl_subgraph *subgraph)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUgraphNodeParams params;
    if (chain->tail == PDL_NO_LINK) {
        return PDL_SUCCESS;
    }
    memset(&kernel, 0, sizeof(kernel));
    memset(&params, 0, sizeof(params));
    PDL_RETURN_IF_ERROR(node_at_end(chain, &chain->links[chain->tail], &kernel, &params.type));
    memcpy(&params.kernel, &kernel, sizeof(kernel));
    return pdl_node_add_any(chain->driver, subgraph->graph, &params, NULL, 0, false,
                            "to begin a capture", &subgraph->anchor);
}

static pdl_status begin(struct pdl_chain *chain, CUstream stream)
{
    const struct pdl_driver *driver = chain->driver;
    struct pdl_subgraph *subgraph = NULL;
    const char *call = "cuGraphCreate";
    pdl_status status = PDL_SUCCESS;
    PDL_RETURN_IF_ERROR(pdl_chain_check_idle(chain));
    if (stream == NULL || stream == CU_STREAM_LEGACY) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "stream",
                              "the legacy default stream cannot capture: pass another stream");
    }
    PDL_RETURN_IF_ERROR(pdl_subgraph_create(driver, &subgraph));
    CUresult result = driver->cuGraphCreate(&subgraph->graph, 0);
    if (result == CUDA_SUCCESS) {
        status = add_anchor(chain, subgraph);
    }
    if (result == CUDA_SUCCESS && status == PDL_SUCCESS) {
        call = "cuStreamBeginCaptureToGraph";
        result = driver->cuStreamBeginCaptureToGraph(stream, subgraph->graph, &subgraph->anchor,
                                                     NULL, subgraph->anchor != NULL ? 1 : 0,
                                                     CU_STREAM_CAPTURE_MODE_RELAXED);
    }
    if (result != CUDA_SUCCESS) {
        status = failed(chain, call, result);
    }
    if (status != PDL_SUCCESS) {
        pdl_subgraph_destroy(subgraph);
        return status;
    }
    chain->root->capture = subgraph;
    chain->root->target = chain;
    chain->root->capturing = stream;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_capture_begin(pdl_chain *chain, struct CUstream_st *stream)
{
    return PDL_CHAIN_RUN(chain, begin(chain, stream));
}

/* ---- ending --------------------------------------------------------------------------------- */

/* Keeps what the stream's next launch would depend on. */
static pdl_status keep_ends(struct pdl_subgraph *subgraph, const CUgraphNode *ends, size_t count)
{
    subgraph->ends = calloc(count + 1, sizeof(*subgraph->ends));
    if (subgraph->ends == NULL) {
        return PDL_NO_MEMORY();
    }
    for (size_t i = 0; i < count; i++) {
        subgraph->ends[subgraph->end_count++] = ends[i];
    }
    return PDL_SUCCESS;
}

/* Ends the stream's capture if it still is the chain's. */
static pdl_status end_stream(const struct pdl_chain *chain, struct pdl_subgraph *subgraph)
{
    const struct pdl_driver *driver = chain->driver;
    CUstream stream = chain->root->capturing;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = NULL;
    const CUgraphNode *ends = NULL;
    const CUgraphEdgeData *data = NULL;
    size_t count = 0;
    const CUresult asked =
        driver->cuStreamGetCaptureInfo(stream, &capture, NULL, &graph, &ends, &data, &count);
    const bool active = asked == CUDA_SUCCESS && capture == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (asked == CUDA_SUCCESS &&
        (capture == CU_STREAM_CAPTURE_STATUS_NONE || (active && graph != subgraph->graph))) {
        return PDL_FAIL(PDL_ERROR_CAPTURE, "the capture was ended by another call: only "
                                           "pdl_chain_capture_end() may end it");
    }
    const pdl_status kept = active ? keep_ends(subgraph, ends, count) : PDL_SUCCESS;
    const CUresult ended = driver->cuStreamEndCapture(stream, &graph);
    if (asked != CUDA_SUCCESS) {
        return failed(chain, "cuStreamGetCaptureInfo", asked);
    }
    return ended == CUDA_SUCCESS ? kept : failed(chain, "cuStreamEndCapture", ended);
}

static struct pdl_subgraph *take_capture(struct pdl_chain *chain, pdl_status *status)
{
    struct pdl_subgraph *subgraph = chain->root->capture;
    *status = end_stream(chain, subgraph);
    chain->root->capture = NULL;
    chain->root->target = NULL;
    return subgraph;
}

void pdl_chain_abandon_capture(struct pdl_chain *chain)
{
    pdl_status ignored;
    if (chain->capture != NULL) {
        pdl_subgraph_destroy(take_capture(chain, &ignored));
    }
}

static pdl_status end(struct pdl_chain *chain, uint32_t *link)
{
    struct pdl_link made = {.kernel = NULL};
    pdl_status status;
    if (chain->root->capture == NULL || chain->root->target != chain) {
        return PDL_FAIL(PDL_ERROR_CAPTURE, chain->root->capture == NULL
                                               ? "the chain is not capturing: call "
                                                 "pdl_chain_capture_begin() first"
                                               : "the capture in progress is for another body of "
                                                 "the chain");
    }
    struct pdl_subgraph *subgraph = take_capture(chain, &status);
    if (status == PDL_SUCCESS) {
        status = pdl_subgraph_finish(subgraph, chain->root != chain);
    }
    if (status != PDL_SUCCESS) {
        pdl_subgraph_destroy(subgraph);
        return status;
    }
    made.kind = PDL_NODE_CAPTURE;
    made.subgraph = subgraph;
    return pdl_chain_append(chain, &made, link);
}

pdl_status pdl_chain_capture_end(pdl_chain *chain, uint32_t *link)
{
    return PDL_CHAIN_RUN(chain, end(chain, link));
}
