/* SPDX-License-Identifier: MIT */
#include "launch/neighbour.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "os/lock.h"

/* The one that was noted last. A child of a fork finds the list whole: each change is one pointer. */
static struct pdl_neighbour *last_neighbour;
static struct pdl_lock neighbour_lock;

void pdl_neighbour_note(struct pdl_neighbour *neighbour, CUfunction function)
{
    pdl_lock_take(&neighbour_lock);
    if (neighbour->function == NULL) {
        neighbour->before = last_neighbour;
        last_neighbour = neighbour;
    }
    neighbour->function = function;
    pdl_lock_release(&neighbour_lock);
}

void pdl_neighbour_forget(const struct pdl_neighbour *neighbour)
{
    struct pdl_neighbour **at = &last_neighbour;
    if (neighbour->function == NULL) {
        return;
    }
    pdl_lock_take(&neighbour_lock);
    while (*at != neighbour) {
        at = &(*at)->before;
    }
    *at = neighbour->before;
    pdl_lock_release(&neighbour_lock);
}

static bool waits(CUfunction function)
{
    pdl_lock_take(&neighbour_lock);
    const struct pdl_neighbour *at = last_neighbour;
    while (at != NULL && at->function != function) {
        at = at->before;
    }
    pdl_lock_release(&neighbour_lock);
    return at != NULL;
}

pdl_status pdl_neighbour_check(const struct pdl_driver *driver, CUgraphNode node, bool *breaks)
{
    const char *call = "cuGraphKernelNodeGetParams";
    CUDA_KERNEL_NODE_PARAMS params;
    CUgraphNode *nodes = NULL;
    CUgraphEdgeData *data = NULL;
    size_t count = 0;
    *breaks = false;
    memset(&params, 0, sizeof(params));
    CUresult result = driver->cuGraphKernelNodeGetParams(node, &params);
    if (result == CUDA_SUCCESS && !waits(params.func)) {
        call = "cuGraphNodeGetDependencies";
        result = driver->cuGraphNodeGetDependencies(node, NULL, NULL, &count);
    }
    if (result == CUDA_SUCCESS && count > 0) {
        nodes = malloc(count * (sizeof(*nodes) + sizeof(*data)));
        if (nodes == NULL) {
            return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %zu dependencies", count);
        }
        data = (CUgraphEdgeData *)(nodes + count);
        result = driver->cuGraphNodeGetDependencies(node, nodes, data, &count);
    }
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        *breaks = *breaks || data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
    }
    free(nodes);
    return result == CUDA_SUCCESS
               ? PDL_SUCCESS
               : pdl_error_from_cuda(driver, call, (int32_t)result, "to check a dependency");
}
