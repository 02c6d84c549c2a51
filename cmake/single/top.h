/* SPDX-License-Identifier: MIT */
/* libpdl @VERSION@ in one file, made of its sources: copy pdl.h and pdl.c into your project.
 *
 *     #include "pdl.h"                    wherever libpdl is used: C99, C++11 and newer, CUDA
 *
 * and the implementation once per program or shared object, in one of two ways:
 *
 *     cc -c pdl.c                         a C11 compiler, or
 *
 *     #define PDL_IMPLEMENTATION          in one C11, C++11 or CUDA source (header-only mode),
 *     #include "pdl.h"                    best as its first include
 *
 * The implementation needs gcc or clang, Linux, the headers of CUDA 12.3 or newer, and -ldl -pthread. It opens
 * libcuda.so.1 on first use. The rest of this file needs no header of CUDA.
 *
 * What is in it, and what it takes the place of:
 *
 *     pdl/pdl.h, chain.h, graph.h, overlap.h, policy.h    always
 *     pdl/device.cuh                                      in CUDA sources; all that NVRTC sees
 *     pdl/cuda_error.h: statuses as errors of CUDA        in CUDA sources, and behind <cuda.h> or
 *                                                         <cuda_runtime_api.h>
 *     pdl/cudart.h: kernels from symbols, typed launch    in CUDA sources, behind <cuda_runtime_api.h>, and with
 *                                                         PDL_CUDART
 *
 * Macros, to be the same in the whole program:
 *
 *     PDL_API         what stands in front of each function. By default they are hidden, so that a shared object
 *                     does not export them: two of them with a copy each, of different versions too, do not meet.
 *                     -DPDL_API=static hides them from other sources as well; what exports them is
 *                     -D'PDL_API=__attribute__((visibility("default")))'.
 *     PDL_CUDART      asks for the part for the CUDA Runtime.
 *
 * Each copy has its own pdl_last_error(), log and policy. Kernels, chains and events belong to the
 * copy that made them.
 *
@LICENSE@
 */

#if defined(PDL_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#ifndef PDL_API
#ifdef __GNUC__
#define PDL_API __attribute__((visibility("hidden")))
#else
#define PDL_API
#endif
#endif

/* Which parts there are. Each has a guard of its own, so that a later include may add one. */
#undef PDL_SINGLE_CUDA_
#undef PDL_SINGLE_CUDART_
#undef PDL_SINGLE_DEVICE_
#if defined(PDL_CUDART) && !defined(__CUDACC_RTC__)
#include <cuda_runtime_api.h>
#endif
#if defined(CUDA_VERSION) || defined(CUDART_VERSION)
#define PDL_SINGLE_CUDA_ 1
#else
#define PDL_SINGLE_CUDA_ 0
#endif
#ifdef PDL_CUDART
#define PDL_SINGLE_CUDART_ 1
#elif defined(CUDART_VERSION)
#define PDL_SINGLE_CUDART_ (CUDART_VERSION >= 12030)
#else
#define PDL_SINGLE_CUDART_ 0
#endif
#if defined(__CUDACC__) || defined(__CUDA__)
#define PDL_SINGLE_DEVICE_ 1
#else
#define PDL_SINGLE_DEVICE_ 0
#endif

