/* SPDX-License-Identifier: MIT */
/** @file
 * Traces of kernels, the device side: when each block started, waited, triggered and ended, and on
 * which SM. pdl/trace.h is the host side.
 *
 * Without -DPDL_TRACE=1 the macros have no effect: the kernel has no additional parameter, and its
 * code is identical. For nvcc, clang and NVRTC, C++11 and newer. It includes pdl/device.cuh and
 * nothing else.
 *
 *     __global__ void fc2(const float *w, const float *x, float *y PDL_TRACE_PARAMETER)
 *     {
 *         PDL_TRACE_BEGIN();
 *         prefetch(w);
 *         PDL_TRACE_WAIT();
 *         ...
 *         PDL_TRACE_LAUNCH_DEPENDENTS();
 *         ...
 *         PDL_TRACE_END();
 *     }
 *
 *     pdl_launch_kernel(desc, fc2, w, x, y PDL_TRACE_ARGUMENT(launch));
 *
 * The thread with index 0 of each block takes the stamps and stores each immediately, so that no
 * register holds it. Each block has its own record, so there are no atomics. The stamps describe
 * only that thread. They are values of %globaltimer. Use all macros except PDL_TRACE_ARGUMENT() in
 * the body of the kernel itself, where its parameter is visible.
 *
 * Unlike other headers, it may be included again: the macros then follow the current definition of
 * PDL_TRACE, so that one file can compile a kernel with a trace and without.
 */
#ifndef PDL_TRACE_CUH
#define PDL_TRACE_CUH

#include <pdl/device.cuh>

/* As in pdl/trace.h, and never changed: kernels are compiled with it. */
#if !defined(PDL_TRACE_LAUNCH_) && !defined(PDL_DOXYGEN)
#define PDL_TRACE_LAUNCH_
typedef struct pdl_trace_launch {
    unsigned long long records;
    unsigned first;
    unsigned capacity;
    unsigned blocks;
    unsigned launch;
} pdl_trace_launch;
#endif

#if defined(__CUDACC__) || defined(__CUDA__)

/* The 48 bytes of a block: start, trigger, wait, end of the wait, end, and SM with the launch in
 * the upper half. 0 means no stamp. */
#define PDL_TRACE_RECORD_ 48u

/* The record of this block; 0 for all threads but one, and where there is no room for it. Names no
 * built-in variable, which clang without CUDA's headers lacks. */
PDL_DEVICE_INLINE_ unsigned long long pdl_trace_record_(const pdl_trace_launch &launch)
{
    unsigned tx, ty, tz, bx, by, bz, nx, ny;
    asm("mov.u32 %0, %%tid.x;" : "=r"(tx));
    asm("mov.u32 %0, %%tid.y;" : "=r"(ty));
    asm("mov.u32 %0, %%tid.z;" : "=r"(tz));
    asm("mov.u32 %0, %%ctaid.x;" : "=r"(bx));
    asm("mov.u32 %0, %%ctaid.y;" : "=r"(by));
    asm("mov.u32 %0, %%ctaid.z;" : "=r"(bz));
    asm("mov.u32 %0, %%nctaid.x;" : "=r"(nx));
    asm("mov.u32 %0, %%nctaid.y;" : "=r"(ny));
    const unsigned long long block = ((unsigned long long)bz * ny + by) * nx + bx;
    if ((tx | ty | tz) != 0 || block >= launch.blocks) {
        return 0;
    }
    const unsigned long long slot = launch.first + block;
    return launch.records +
           (slot < launch.capacity ? slot : slot - launch.capacity) * PDL_TRACE_RECORD_;
}

/* The following code is predicated and has no branches: around those, compilers make copies of the
 * code that is traced. Each of these asm statements begins with p: whether there is a record. */
#define PDL_TRACE_IF_ "{ .reg .pred p; .reg .u64 t, z; setp.ne.u64 p, %0, 0; mov.u64 z, 0; "

/* Forgets what an earlier run of the same launch left in the record. */
PDL_DEVICE_INLINE_ void pdl_trace_begin_(const pdl_trace_launch &launch)
{
    const unsigned long long record = pdl_trace_record_(launch);
    asm volatile(PDL_TRACE_IF_ PDL_LINT_MOVE_
                 "%1; @p mov.u64 t, %%globaltimer; "
                 "@p st.global.v2.u64 [%0], {t, z}; "
                 "@p st.global.v2.u64 [%0+16], {z, z}; "
                 "@p st.global.v2.u64 [%0+32], {z, z}; }" ::"l"(record),
                 "n"(::pdl_lint_hash_("write-before-wait", 0)) /* the record is the block's own */
                 : "memory");
}

PDL_DEVICE_INLINE_ unsigned long long pdl_trace_waits_(const pdl_trace_launch &launch)
{
    unsigned long long from;
    asm volatile("{ .reg .pred p; setp.ne.u64 p, %1, 0; mov.u64 %0, 0; "
                 "@p mov.u64 %0, %%globaltimer; }"
                 : "=l"(from)
                 : "l"(pdl_trace_record_(launch))
                 : "memory");
    return from;
}

PDL_DEVICE_INLINE_ void pdl_trace_waited_(const pdl_trace_launch &launch, unsigned long long from)
{
    const unsigned long long record = pdl_trace_record_(launch);
    asm volatile(PDL_TRACE_IF_ "@p mov.u64 t, %%globaltimer; "
                               "@p st.global.v2.u64 [%0+16], {%1, t}; }" ::"l"(record),
                 "l"(from)
                 : "memory");
}

PDL_DEVICE_INLINE_ void pdl_trace_triggers_(const pdl_trace_launch &launch)
{
    const unsigned long long record = pdl_trace_record_(launch);
    asm volatile(PDL_TRACE_IF_ "@p mov.u64 t, %%globaltimer; "
                               "@p st.global.u64 [%0+8], t; }" ::"l"(record)
                 : "memory");
}

PDL_DEVICE_INLINE_ void pdl_trace_end_(const pdl_trace_launch &launch)
{
    const unsigned long long record = pdl_trace_record_(launch);
    asm volatile(PDL_TRACE_IF_ ".reg .u32 sm; mov.u32 sm, %%smid; mov.b64 z, {sm, %1}; "
                               "@p mov.u64 t, %%globaltimer; "
                               "@p st.global.v2.u64 [%0+32], {t, z}; }" ::"l"(record),
                 "r"(launch.launch)
                 : "memory");
}

#endif /* a CUDA compiler */

#endif /* PDL_TRACE_CUH */

/* ------------------------------------------------------------------------------------------------
 * The macros, as PDL_TRACE is now: defined empty counts as 1
 * ---------------------------------------------------------------------------------------------- */

#undef PDL_TRACE_PARAMETER
#undef PDL_TRACE_ONLY_PARAMETER
#undef PDL_TRACE_ARGUMENT
#undef PDL_TRACE_ONLY_ARGUMENT
#undef PDL_TRACE_BEGIN
#undef PDL_TRACE_WAIT
#undef PDL_TRACE_LAUNCH_DEPENDENTS
#undef PDL_TRACE_TRIGGER_POINT
#undef PDL_TRACE_END

#if defined(PDL_TRACE) && (0 - PDL_TRACE - 1) != -1

/** The kernel's last parameter, with the comma before it. */
#define PDL_TRACE_PARAMETER , const pdl_trace_launch pdl_trace_

/** The same for a kernel that has no other parameter: no comma. */
#define PDL_TRACE_ONLY_PARAMETER const pdl_trace_launch pdl_trace_

/**
 * The last argument of a launch, with the comma before it: a pdl_trace_launch that
 * pdl_trace_reserve() wrote, or one of zeros for a launch that is not to be stamped.
 */
#define PDL_TRACE_ARGUMENT(launch) , launch

/** The same for a kernel that has no other parameter: no comma. */
#define PDL_TRACE_ONLY_ARGUMENT(launch) launch

/** The block starts: the first statement of the kernel. */
#define PDL_TRACE_BEGIN() ::pdl_trace_begin_(pdl_trace_)

/** PDL_WAIT(), with a stamp before and one after. The last counts, of a block that waits again. */
#define PDL_TRACE_WAIT()                                                                           \
    do {                                                                                           \
        const unsigned long long pdl_trace_from_ = ::pdl_trace_waits_(pdl_trace_);                 \
        PDL_WAIT();                                                                                \
        ::pdl_trace_waited_(pdl_trace_, pdl_trace_from_);                                          \
    } while (0)

/** PDL_LAUNCH_DEPENDENTS(), with a stamp before it. Every thread may run it. */
#define PDL_TRACE_LAUNCH_DEPENDENTS()                                                              \
    do {                                                                                           \
        ::pdl_trace_triggers_(pdl_trace_);                                                         \
        PDL_LAUNCH_DEPENDENTS();                                                                   \
    } while (0)

/** PDL_TRIGGER_POINT(), with a stamp where it is the trigger. */
#define PDL_TRACE_TRIGGER_POINT(n)                                                                 \
    do {                                                                                           \
        if ((n) == (PDL_TRIGGER_SELECT)) {                                                         \
            PDL_TRACE_LAUNCH_DEPENDENTS();                                                         \
        }                                                                                          \
    } while (0)

/**
 * The block ends: the last statement of the kernel, on the way of thread 0 through it, after the
 * block's last barrier. A block that does not come here counts as lost.
 */
#define PDL_TRACE_END() ::pdl_trace_end_(pdl_trace_)

#else

#define PDL_TRACE_PARAMETER
#define PDL_TRACE_ONLY_PARAMETER
#define PDL_TRACE_ARGUMENT(launch)
#define PDL_TRACE_ONLY_ARGUMENT(launch)
#define PDL_TRACE_BEGIN()             ((void)0)
#define PDL_TRACE_WAIT()              PDL_WAIT()
#define PDL_TRACE_LAUNCH_DEPENDENTS() PDL_LAUNCH_DEPENDENTS()
#define PDL_TRACE_TRIGGER_POINT(n)    PDL_TRIGGER_POINT(n)
#define PDL_TRACE_END()               ((void)0)

#endif
