/* SPDX-License-Identifier: MIT */
/* The host half of pdl/cdp.cuh, each function called: for compilers of C and C++. */
#include <pdl/cdp.cuh>

pdl_status uses_all(cudaGraph_t graph, const pdl_cdp_log *log);

pdl_status uses_all(cudaGraph_t graph, const pdl_cdp_log *log)
{
    pdl_error error;
    cudaGraphExec_t exec;
    size_t launches = 0;
    pdl_status status = pdl_cdp_get_pending_limit(&launches, &error);
    if (status == PDL_SUCCESS) {
        status = pdl_cdp_set_pending_limit(launches + 1, &error);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_cdp_graph_instantiate(graph, NULL, &exec, NULL);
    }
    return status == PDL_SUCCESS ? pdl_cdp_log_check(log, NULL) : status;
}
