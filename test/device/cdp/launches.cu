// SPDX-License-Identifier: MIT
// One kernel a function of pdl/cdp.cuh. "CALLS kernel: ..." is what it calls, in order, with the stream that a
// launch goes into.
#include <pdl/cdp.cuh>

extern "C" __global__ void child(unsigned *count, double by)
{
    atomicAdd(count, (unsigned)by);
}

// CALLS fire: launch 4, error
extern "C" __global__ void fire(pdl_cdp_log *log, unsigned *count)
{
    pdl_cdp_fire_and_forget(log, child, 1, 32, 0, count, 1.0f);
}

// CALLS tail: launch 3, error
extern "C" __global__ void tail(pdl_cdp_log *log, unsigned *count)
{
    pdl_cdp_tail(log, child, 1, 32, 0, count, 1);
}

// CALLS own_stream: launch register, error
extern "C" __global__ void own_stream(pdl_cdp_log *log, unsigned *count, cudaStream_t stream)
{
    pdl_cdp_launch(log, stream, child, dim3(1, 2, 3), dim3(32), 1024, count, 1.0);
}

// CALLS by_hand: launch 4, error
extern "C" __global__ void by_hand(pdl_cdp_log *log, unsigned *count)
{
    child<<<1, 32, 0, cudaStreamFireAndForget>>>(count, 1);
    pdl_cdp_note(log, cudaGetLastError());
}

// CALLS graph_fire: graph 0x200000000000000
extern "C" __global__ void graph_fire(pdl_cdp_log *log, cudaGraphExec_t graph)
{
    pdl_cdp_graph_fire_and_forget(log, graph);
}

// CALLS graph_tail: graph 0x100000000000000
extern "C" __global__ void graph_tail(pdl_cdp_log *log, cudaGraphExec_t graph)
{
    pdl_cdp_graph_tail(log, graph);
}

// CALLS graph_sibling: graph 0x300000000000000
extern "C" __global__ void graph_sibling(pdl_cdp_log *log, cudaGraphExec_t graph)
{
    pdl_cdp_graph_sibling(log, graph);
}

// CALLS child: nothing
