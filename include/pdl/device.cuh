/* SPDX-License-Identifier: MIT */
/** @file
 * The device side of Programmatic Dependent Launch: macros for kernels.
 *
 * For nvcc, clang and NVRTC, C++11 and newer. It includes nothing. Below sm_90 the PDL macros
 * compile to nothing, and such a kernel must be launched without overlap (libpdl ensures this:
 * PDL_OVERLAP_AUTO is not granted to code compiled for less than 9.0).
 *
 * The rules behind the macros are in docs/pdl-rules.md. In short: every thread that touches memory
 * of the kernel before, reading or writing, runs PDL_WAIT() first, on every path.
 */
#ifndef PDL_DEVICE_CUH
#define PDL_DEVICE_CUH

/**
 * 1 where PDL is compiled in (device code for compute capability 9.0 or newer), otherwise 0.
 *
 * It is 0 in the host pass too: use it inside device code only.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define PDL_DEVICE_ENABLED 1
#else
#define PDL_DEVICE_ENABLED 0
#endif

/**
 * Fault injection, for tests: compile with -DPDL_FAULT_INJECT.
 *
 * After its trigger a thread sleeps (PDL_FAULT_INJECT_NS, 100 microseconds), so that a successor
 * that does not wait reads stale data on every run instead of once in thousands. With
 * -DPDL_FAULT_INJECT=2 every PDL_WAIT() triggers and sleeps as well: then a missing wait in the
 * successor also shows if this kernel triggers late or never. Results of correct kernels do not
 * change. -DPDL_FAULT_INJECT=0 has no effect; an empty definition counts as 1.
 */
#if defined(PDL_FAULT_INJECT) && (0 - PDL_FAULT_INJECT - 1) != -1 && PDL_DEVICE_ENABLED
#define PDL_FAULT_LEVEL_ (PDL_FAULT_INJECT + 0)
#ifndef PDL_FAULT_INJECT_NS
#define PDL_FAULT_INJECT_NS 100000ull
#endif
#endif

/**
 * Waits until the kernels that this one depends on have ended and their writes are visible.
 *
 * Per thread: each thread that touches their memory must execute it. A compiler barrier for
 * memory. Returns immediately in a launch without overlap. PTX: griddepcontrol.wait.
 *
 * It covers programmatic dependencies (the kernel before in the stream, a programmatic event).
 * It does not cover a launch-completion event.
 */
#define PDL_WAIT()                                                                                 \
    do {                                                                                           \
        PDL_WAIT_();                                                                               \
        PDL_FAULT_AFTER_WAIT_();                                                                   \
    } while (0)

/**
 * Lets the next kernel be scheduled: it starts once every block of this one has executed this or
 * ended.
 *
 * Does not order memory: the next kernel sees this one's writes, before or after the trigger, only
 * after its own PDL_WAIT(). Once per block is enough; repetitions have no effect. A compiler
 * barrier for memory. PTX: griddepcontrol.launch_dependents.
 */
#define PDL_LAUNCH_DEPENDENTS()                                                                    \
    do {                                                                                           \
        PDL_LAUNCH_DEPENDENTS_();                                                                  \
        PDL_FAULT_AFTER_TRIGGER_();                                                                \
    } while (0)

#ifndef PDL_TRIGGER_SELECT
/** Which PDL_TRIGGER_POINT() is the trigger: given with -DPDL_TRIGGER_SELECT=n; -1 selects none. */
#define PDL_TRIGGER_SELECT 0
#endif

/**
 * One of several candidate trigger positions: executes PDL_LAUNCH_DEPENDENTS() if `n` is the point
 * selected at compile time with -DPDL_TRIGGER_SELECT=n (0 if not given; -1 selects none).
 */
#define PDL_TRIGGER_POINT(n)                                                                       \
    do {                                                                                           \
        if ((n) == (PDL_TRIGGER_SELECT)) {                                                         \
            PDL_LAUNCH_DEPENDENTS();                                                               \
        }                                                                                          \
    } while (0)

/**
 * `__restrict__` for pointers to memory that kernels in flight write, this one included: empty
 * where PDL is compiled in.
 *
 * A `const T *__restrict__` parameter promises that the memory is not written while the kernel
 * runs. The compiler then uses the non-coherent path (ld.global.nc) and keeps values read before
 * the wait: the wait's barrier does not prevent this. Without const it keeps them too, and a
 * `__restrict__` output makes nvcc load other inputs through the non-coherent path: use
 * PDL_RESTRICT for both. Pointers to memory that no kernel in flight writes may keep
 * `__restrict__`.
 */
#if PDL_DEVICE_ENABLED
#define PDL_RESTRICT
#else
#define PDL_RESTRICT __restrict__
#endif

/**
 * Loads `*(pointer)` so that it stays on its side of PDL_WAIT(): never non-coherent, never moved
 * across the wait, never a value that was read before it, whatever the pointer was declared as.
 * (The assembler may still make one load of two that have no barrier and no store between them.)
 *
 * For types of 1, 2, 4, 8 and 16 bytes, aligned to their size (16-byte types aligned to 8 take two
 * loads). PTX: ld (generic), volatile to the compiler.
 */
#define PDL_LOAD(pointer) (::pdl_load_(pointer))

/**
 * Prefetches the cache line at `pointer` into L2. Global memory only.
 *
 * Before the wait, only for data that no kernel in flight writes. PTX: prefetch.global.L2.
 */
#define PDL_PREFETCH_L2(pointer) PDL_PREFETCH_L2_(pointer)

/**
 * Prefetches a range of global memory into L2. One thread is enough for the whole range.
 *
 * The instruction needs 16-byte alignment and size: the range is widened to whole 16-byte units,
 * which never leaves the pages it touches. `bytes` 0 has no effect. Before the wait, only for data
 * that no kernel in flight writes. PTX: cp.async.bulk.prefetch.L2.global.
 */
#define PDL_PREFETCH_L2_RANGE(pointer, bytes) PDL_PREFETCH_L2_RANGE_(pointer, bytes)

/**
 * Prefetches a tensor map (CUtensorMap, in parameter, constant or global memory). One thread is
 * enough. Before the wait, only a map that no kernel in flight writes.
 *
 * PTX: prefetch.tensormap (generic).
 */
#define PDL_PREFETCH_TENSORMAP(pointer) PDL_PREFETCH_TENSORMAP_(pointer)

/**
 * States for `pdltool lint` that no kernel in flight writes the memory at `pointer`, so that it
 * may be read before the wait and through the non-coherent path: weights, for example.
 *
 * `pointer` is a parameter of the kernel or a pointer in one that is a struct. A statement,
 * anywhere in the kernel's body. The statement is not verified. It adds no instruction, only a move
 * in the PTX to a register that nothing reads, which PDL_OVERLAP_AUTO sees in a program, too. But
 * the pointer goes into an asm statement, so the compiler then loads through it with ld.global even
 * where it would have used ld.global.nc; the option `--constant-param` does not change the code.
 */
#define PDL_CONSTANT_PARAM(pointer) PDL_CONSTANT_PARAM_(pointer)

/**
 * States for `pdltool lint` that findings of `rule` are known and right: those on this source line
 * and the next, or in the whole kernel if the code has no line information. "no-trigger" is
 * covered from anywhere in the kernel.
 *
 * Both are string literals: a rule's id, such as "read-before-wait", and the reason, which is
 * shown with the finding. A marker that suppresses nothing is reported. It adds no instruction,
 * only a comment and such a move. A program's PTX has no comments: there it has no reason.
 */
#define PDL_LINT_ALLOW(rule, reason) PDL_LINT_ALLOW_(rule, reason)

/* ------------------------------------------------------------------------------------------------
 * What the macros are made of
 * ---------------------------------------------------------------------------------------------- */

#if PDL_DEVICE_ENABLED
#define PDL_WAIT_()              asm volatile("griddepcontrol.wait;" ::: "memory")
#define PDL_LAUNCH_DEPENDENTS_() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#define PDL_PREFETCH_L2_(pointer)                                                                  \
    asm volatile(                                                                                  \
        "{ .reg .u64 a; cvta.to.global.u64 a, %0; prefetch.global.L2 [a]; }" ::"l"(pointer))
#define PDL_PREFETCH_L2_RANGE_(pointer, bytes) (::pdl_prefetch_l2_range_((pointer), (bytes)))
#define PDL_PREFETCH_TENSORMAP_(pointer)                                                           \
    asm volatile("prefetch.tensormap [%0];" ::"l"(pointer) : "memory")
/* Moves to registers that say what they mean, since nvcc takes the comments out of the PTX in a program. */
#define PDL_CONSTANT_PARAM_(pointer)                                                               \
    asm volatile("{ .reg .b64 pdl_constant; mov.b64 pdl_constant, %0; }" ::"l"(pointer))
#define PDL_LINT_ALLOW_(rule, reason)                                                              \
    asm volatile("// pdl:allow " rule ": " reason "\n\t{ " PDL_LINT_MOVE_                          \
                 "%0; }" ::"n"(::pdl_lint_hash_(rule, 0)))
#else
#define PDL_WAIT_()                            ((void)0)
#define PDL_LAUNCH_DEPENDENTS_()               ((void)0)
#define PDL_PREFETCH_L2_(pointer)              ((void)(pointer))
#define PDL_PREFETCH_L2_RANGE_(pointer, bytes) ((void)(pointer), (void)(bytes))
#define PDL_PREFETCH_TENSORMAP_(pointer)       ((void)(pointer))
#define PDL_CONSTANT_PARAM_(pointer)           ((void)(pointer))
#define PDL_LINT_ALLOW_(rule, reason)          ((void)0)
#endif

#ifdef PDL_FAULT_LEVEL_
#define PDL_FAULT_AFTER_TRIGGER_() ::pdl_fault_sleep_()
#else
#define PDL_FAULT_AFTER_TRIGGER_() ((void)0)
#endif

#if defined(PDL_FAULT_LEVEL_) && PDL_FAULT_LEVEL_ >= 2
#define PDL_FAULT_AFTER_WAIT_() PDL_LAUNCH_DEPENDENTS()
#else
#define PDL_FAULT_AFTER_WAIT_() ((void)0)
#endif

#if defined(__CUDACC__) || defined(__CUDA__)

#define PDL_DEVICE_INLINE_ static inline __attribute__((device, always_inline, unused))

/* NVRTC declares memcpy and has no __builtin_memcpy; the others need no declaration for the
 * builtin. */
#ifdef __CUDACC_RTC__
#define PDL_MEMCPY_ memcpy
#else
#define PDL_MEMCPY_ __builtin_memcpy
#endif

#ifdef PDL_FAULT_LEVEL_
PDL_DEVICE_INLINE_ void pdl_fault_sleep_()
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start)::"memory");
    do {
        asm volatile("nanosleep.u32 1000;" ::: "memory");
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    } while (now - start < (unsigned long long)(PDL_FAULT_INJECT_NS));
}
#endif

/** @cond */
/* A rule, as libpdl-inspect finds it in code: a hash of its id. */
#define PDL_LINT_MOVE_ ".reg .b32 pdl_allow; mov.b32 pdl_allow, "
static __attribute__((device, unused)) constexpr unsigned pdl_lint_hash_(const char *rule,
                                                                         unsigned hash)
{
    return *rule == '\0' ? hash
                         : pdl_lint_hash_(rule + 1, 31 * hash + static_cast<unsigned char>(*rule));
}
/** @endcond */

#if PDL_DEVICE_ENABLED
PDL_DEVICE_INLINE_ void pdl_prefetch_l2_range_(const void *pointer, unsigned long long bytes)
{
    if (bytes == 0) {
        return;
    }
    unsigned long long at = (unsigned long long)pointer;
    const unsigned long long end = (at + bytes + 15) & ~15ull;
    at &= ~15ull;
    while (at < end) { /* the size operand has 32 bits */
        const unsigned long long left = end - at;
        const unsigned size = left < 0x40000000ull ? (unsigned)left : 0x40000000u;
        asm volatile("{ .reg .u64 a; cvta.to.global.u64 a, %0;"
                     " cp.async.bulk.prefetch.L2.global [a], %1; }" ::"l"(at),
                     "r"(size)
                     : "memory");
        at += size;
    }
}
#endif

template <unsigned Size> struct pdl_bits_;

/** @cond */
#define PDL_BITS_(size, type, instruction, constraint)                                             \
    template <> struct pdl_bits_<size> {                                                           \
        type value;                                                                                \
        __attribute__((device, always_inline)) void load(const void *from)                         \
        {                                                                                          \
            asm volatile(instruction " %0, [%1];" : constraint(value) : "l"(from) : "memory");     \
        }                                                                                          \
    };
PDL_BITS_(1, unsigned short, "ld.u8", "=h")
PDL_BITS_(2, unsigned short, "ld.u16", "=h")
PDL_BITS_(4, unsigned, "ld.u32", "=r")
PDL_BITS_(8, unsigned long long, "ld.u64", "=l")
#undef PDL_BITS_
/** @endcond */

template <> struct pdl_bits_<16> {
    unsigned long long value[2];
    __attribute__((device, always_inline)) void load(const void *from)
    {
        asm volatile("ld.v2.u64 {%0, %1}, [%2];"
                     : "=l"(value[0]), "=l"(value[1])
                     : "l"(from)
                     : "memory");
    }
    __attribute__((device, always_inline)) void load_halves(const void *from)
    {
        asm volatile("ld.u64 %0, [%1];" : "=l"(value[0]) : "l"(from) : "memory");
        asm volatile("ld.u64 %0, [%1+8];" : "=l"(value[1]) : "l"(from) : "memory");
    }
};

template <bool Whole> struct pdl_loader_ {
    template <typename Bits>
    static __attribute__((device, always_inline)) void load(Bits &bits, const void *from)
    {
        bits.load(from);
    }
};

template <> struct pdl_loader_<false> {
    template <typename Bits>
    static __attribute__((device, always_inline)) void load(Bits &bits, const void *from)
    {
        bits.load_halves(from);
    }
};

template <typename T> struct pdl_value_ {
    typedef T type;
};
template <typename T> struct pdl_value_<const T> {
    typedef T type;
};
template <typename T> struct pdl_value_<volatile T> {
    typedef T type;
};
template <typename T> struct pdl_value_<const volatile T> {
    typedef T type;
};

template <typename T> PDL_DEVICE_INLINE_ typename pdl_value_<T>::type pdl_load_(T *pointer)
{
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 ||
                      sizeof(T) == 16,
                  "PDL_LOAD takes types of 1, 2, 4, 8 or 16 bytes");
    static_assert(alignof(T) == sizeof(T) || (sizeof(T) == 16 && alignof(T) == 8),
                  "PDL_LOAD takes types aligned to their size, or 16-byte types aligned to 8");
    pdl_bits_<sizeof(T)> bits;
    pdl_loader_<alignof(T) == sizeof(T)>::load(bits, (const void *)pointer);
    typename pdl_value_<T>::type value;
    PDL_MEMCPY_(&value, &bits, sizeof(value));
    return value;
}

#endif /* a CUDA compiler */

#endif /* PDL_DEVICE_CUH */
