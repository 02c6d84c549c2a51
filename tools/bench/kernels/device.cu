/* SPDX-License-Identifier: MIT */
/* Kernels that launch kernels and graphs, and what they launch. Linked with cudadevrt into one image. */
#include <pdl/cdp.cuh>
#include <pdl/device.cuh>

#include "bench/kernels/device.h"
#include "bench/kernels/timer.cuh"

typedef unsigned long long nanoseconds;

__device__ static pdl_cdp_log *log_of(device_state *state)
{
    static_assert(sizeof(state->first_error) + sizeof(state->failed) == sizeof(pdl_cdp_log) &&
                      offsetof(device_state, failed) - offsetof(device_state, first_error) ==
                          offsetof(pdl_cdp_log, failed),
                  "the state holds a pdl_cdp_log");
    return reinterpret_cast<pdl_cdp_log *>(&state->first_error);
}

/* ---- what is launched ------------------------------------------------------------------------- */

/* Also one of a line that the host launches. */
extern "C" __global__ void counted(device_state *state)
{
    PDL_LAUNCH_DEPENDENTS();
    PDL_WAIT();
    atomicAdd(&state->ran, 1u);
}

/* Stays until its parent says so; 2 s are a defect. */
__global__ void held(device_state *state)
{
    const nanoseconds begin = global_timer();
    while (*const_cast<volatile unsigned *>(&state->open) == 0) {
        if (!in_time(begin)) {
            return;
        }
    }
    atomicAdd(&state->ran, 1u);
}

/* Number `index` of a row: in a line of the host's it lets the next one start once its own predecessor
 * has ended, and takes `ns` then, so that the next one's start has nothing else to wait for. */
extern "C" __global__ void stamped(device_state *state, unsigned index, unsigned ns)
{
    state->start[index] = global_timer();
    PDL_WAIT();
    state->trigger[index] = global_timer();
    PDL_LAUNCH_DEPENDENTS();
    atomicAdd(&state->ran, 1u);
    const nanoseconds begin = global_timer();
    while (in_time(begin, ns)) {
    }
    state->end[index] = global_timer();
}

/* ---- parents ------------------------------------------------------------------------------------ */

/* Divides the launches among all threads of the grid. */
template <typename Launch>
__device__ static void share(device_state *state, unsigned children, Launch launch)
{
    const unsigned threads = gridDim.x * blockDim.x;
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned own = children / threads + (thread < children % threads);
    const nanoseconds begin = global_timer();
    for (unsigned i = 0; i < own; i++) {
        launch();
    }
    atomicAdd(&state->launch_ns, global_timer() - begin);
}

extern "C" __global__ void launch_many(device_state *state, unsigned children, int how)
{
    pdl_cdp_log *const log = log_of(state);
    if (how == LAUNCH_UNCHECKED) {
        share(state, children, [=] { counted<<<1, 1, 0, cudaStreamFireAndForget>>>(state); });
    } else if (how == LAUNCH_BY_HAND) {
        share(state, children, [=] {
            counted<<<1, 1, 0, cudaStreamFireAndForget>>>(state);
            const cudaError_t error = cudaGetLastError();
            if (error != cudaSuccess) {
                atomicCAS(&state->first_error, 0, static_cast<int>(error));
                atomicAdd(&state->failed, 1u);
            }
        });
    } else if (how == LAUNCH_FIRE) {
        share(state, children, [=] { pdl_cdp_fire_and_forget(log, counted, 1, 1, 0, state); });
    } else if (how == LAUNCH_HELD) { /* of one block */
        share(state, children, [=] { pdl_cdp_fire_and_forget(log, held, 1, 1, 0, state); });
        __syncthreads();
        *const_cast<volatile unsigned *>(&state->open) = 1;
    } else if (how == LAUNCH_TAIL) {
        share(state, children, [=] { pdl_cdp_tail(log, counted, 1, 1, 0, state); });
    } else { /* into a stream of each thread's own */
        cudaStream_t stream = cudaStreamFireAndForget;
        pdl_cdp_note(log, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        share(state, children, [=] { pdl_cdp_launch(log, stream, counted, 1, 1, 0, state); });
        pdl_cdp_note(log, cudaStreamDestroy(stream));
    }
}

/* Until number `index` has started; a millisecond is a defect, which the count of those that ran shows. */
__device__ static void wait_for_start(device_state *state, unsigned index)
{
    const volatile nanoseconds *const start = &state->start[index];
    const nanoseconds begin = global_timer();
    while (*start == 0 && in_time(begin, 1000000)) {
    }
}

/* Launches a row of kernels, one after the other has started where they can start before the end. */
template <typename Launch>
__device__ static void row(device_state *state, unsigned count, bool waits, Launch launch)
{
    for (unsigned i = 0; i < count; i++) {
        state->call[i] = global_timer();
        launch(i);
        state->returned[i] = global_timer();
        if (waits) {
            wait_for_start(state, i);
        }
    }
    state->parent_end = global_timer();
}

extern "C" __global__ void launch_row(device_state *state, unsigned count, int how)
{
    pdl_cdp_log *const log = log_of(state);
    cudaStream_t stream = cudaStreamFireAndForget;
    if (how == LAUNCH_TAIL) {
        stream = cudaStreamTailLaunch;
    } else if (how == LAUNCH_STREAM) {
        pdl_cdp_note(log, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    row(state, count, how != LAUNCH_TAIL,
        [=](unsigned i) { pdl_cdp_launch(log, stream, stamped, 1, 1, 0, state, i, 0u); });
    if (how == LAUNCH_STREAM) {
        pdl_cdp_note(log, cudaStreamDestroy(stream));
    }
}

/* Of a graph: number i launches graphs[i]. */
extern "C" __global__ void launch_graphs(device_state *state, const cudaGraphExec_t *graphs,
                                         unsigned count, int how, int waits)
{
    pdl_cdp_log *const log = log_of(state);
    row(state, count, waits != 0, [=](unsigned i) {
        if (how == LAUNCH_GRAPH_FIRE) {
            pdl_cdp_graph_fire_and_forget(log, graphs[i]);
        } else if (how == LAUNCH_GRAPH_TAIL) {
            pdl_cdp_graph_tail(log, graphs[i]);
        } else {
            pdl_cdp_graph_sibling(log, graphs[i]);
        }
    });
}

/* Of a graph that launches itself until it has run `count` times. */
extern "C" __global__ void launch_self(device_state *state, unsigned count)
{
    const unsigned index = state->ran;
    if (index < DEVICE_STAMPS) {
        state->start[index] = global_timer();
    }
    state->ran = index + 1;
    if (index + 1 < count) {
        pdl_cdp_graph_tail(log_of(state), cudaGetCurrentGraphExec());
    }
}

/* Launches itself down to `depth`. */
extern "C" __global__ void recurse(device_state *state, unsigned level, unsigned depth, int how)
{
    state->start[level] = global_timer();
    atomicAdd(&state->ran, 1u);
    if (level < depth) {
        pdl_cdp_launch(log_of(state),
                       how == LAUNCH_TAIL ? cudaStreamTailLaunch : cudaStreamFireAndForget, recurse,
                       1, 1, 0, state, level + 1, depth, how);
    }
}
