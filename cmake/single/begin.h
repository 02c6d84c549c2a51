/* SPDX-License-Identifier: MIT */
/* ================================================================================================
 * The implementation. What begins with PDL_SINGLE_ is of this form of libpdl only.
 * ============================================================================================== */

#if defined(PDL_IMPLEMENTATION) && !defined(PDL_SINGLE_IMPLEMENTED_) && !defined(__CUDACC_RTC__)
#define PDL_SINGLE_IMPLEMENTED_

#ifndef __GNUC__
#error "the implementation of libpdl needs gcc or clang"
#endif
#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error "the implementation of libpdl needs C11 or C++11"
#endif
#pragma GCC system_header /* its warnings are libpdl's matter: they are errors in its own build */

@INCLUDES@

#ifndef __USE_GNU
#error "the implementation of libpdl needs _GNU_SOURCE: include pdl.h first, or compile with -D_GNU_SOURCE"
#endif
#if CUDA_VERSION < 12030
#error "the implementation of libpdl needs the headers of CUDA 12.3 or newer"
#endif

/* What sources share has internal linkage; C++ has no tentative definitions. */
#ifndef __cplusplus
#include <stdatomic.h>
#define PDL_SINGLE_EXTERN_ static
#define PDL_SINGLE_BEGIN_  static
#define PDL_SINGLE_END_
#define PDL_SINGLE_ADDRESS_(...) (&(__VA_ARGS__))
#else
#define PDL_SINGLE_EXTERN_ namespace { extern
#define PDL_SINGLE_BEGIN_  namespace {
#define PDL_SINGLE_END_    }

/* C11 in C++: a void pointer becomes any other, and atomics, on GCC's own calls. */
namespace {
struct pdl_single_pointer_ {
    void *pointer;
    pdl_single_pointer_(const void *from) : pointer(const_cast<void *>(from)) {}
    template <typename Type> operator Type *() const
    {
        return static_cast<Type *>(pointer);
    }
    bool operator==(const void *other) const
    {
        return pointer == other;
    }
    bool operator!=(const void *other) const
    {
        return pointer != other;
    }
};
template <typename Type> static inline Type *pdl_single_address_(const Type &value)
{
    return const_cast<Type *>(&value);
}
#define PDL_SINGLE_ADDRESS_(...) pdl_single_address_(__VA_ARGS__)
template <typename Type> struct pdl_single_atomic_ {
    Type value;
    pdl_single_atomic_() = default;
    constexpr pdl_single_atomic_(Type from) : value(from) {}
    operator Type() const
    {
        return __atomic_load_n(&value, __ATOMIC_SEQ_CST);
    }
    Type operator=(Type from)
    {
        __atomic_store_n(&value, from, __ATOMIC_SEQ_CST);
        return from;
    }
};
} // namespace

@PUSH@
#define _Static_assert static_assert
#define _Thread_local  thread_local

#define calloc(...)      pdl_single_pointer_(calloc(__VA_ARGS__))
#define malloc(...)      pdl_single_pointer_(malloc(__VA_ARGS__))
#define realloc(...)     pdl_single_pointer_(realloc(__VA_ARGS__))
#define bsearch(...)     pdl_single_pointer_(bsearch(__VA_ARGS__))
#define memchr(...)      pdl_single_pointer_(memchr(__VA_ARGS__))
#define memmem(...)      pdl_single_pointer_(memmem(__VA_ARGS__))
#define memrchr(...)     pdl_single_pointer_(memrchr(__VA_ARGS__))
#define mmap(...)        pdl_single_pointer_(mmap(__VA_ARGS__))

#define _Atomic(type)    pdl_single_atomic_<type>
#define atomic_bool      pdl_single_atomic_<bool>
#define atomic_flag      pdl_single_atomic_<bool>
#define atomic_int       pdl_single_atomic_<int>
#define atomic_uint      pdl_single_atomic_<unsigned>
#define atomic_size_t    pdl_single_atomic_<size_t>
#define atomic_uintptr_t pdl_single_atomic_<uintptr_t>

#define memory_order_relaxed __ATOMIC_RELAXED
#define memory_order_acquire __ATOMIC_ACQUIRE
#define memory_order_release __ATOMIC_RELEASE
#define memory_order_acq_rel __ATOMIC_ACQ_REL
#define memory_order_seq_cst __ATOMIC_SEQ_CST

#define atomic_init(at, new_) ((void)((at)->value = (new_)))
#define atomic_load(at)       __atomic_load_n(&(at)->value, __ATOMIC_SEQ_CST)
#define atomic_store(at, new_) __atomic_store_n(&(at)->value, (new_), __ATOMIC_SEQ_CST)
#define atomic_exchange(at, new_) __atomic_exchange_n(&(at)->value, (new_), __ATOMIC_SEQ_CST)
#define atomic_fetch_add(at, by) __atomic_fetch_add(&(at)->value, (by), __ATOMIC_SEQ_CST)
#define atomic_fetch_and(at, by) __atomic_fetch_and(&(at)->value, (by), __ATOMIC_SEQ_CST)
#define atomic_fetch_or(at, by) __atomic_fetch_or(&(at)->value, (by), __ATOMIC_SEQ_CST)
#define atomic_compare_exchange_strong(at, old, new_)                                              \
    __atomic_compare_exchange_n(&(at)->value, (old), (new_), false, __ATOMIC_SEQ_CST,              \
                                __ATOMIC_SEQ_CST)
#define atomic_flag_test_and_set(at) __atomic_test_and_set(&(at)->value, __ATOMIC_SEQ_CST)
#define atomic_flag_clear(at) __atomic_clear(&(at)->value, __ATOMIC_SEQ_CST)

#define atomic_load_explicit(at, order) __atomic_load_n(&(at)->value, (order))
#define atomic_store_explicit(at, new_, order) __atomic_store_n(&(at)->value, (new_), (order))
#define atomic_exchange_explicit(at, new_, order) __atomic_exchange_n(&(at)->value, (new_), (order))
#define atomic_fetch_add_explicit(at, by, order) __atomic_fetch_add(&(at)->value, (by), (order))
#define atomic_fetch_and_explicit(at, by, order) __atomic_fetch_and(&(at)->value, (by), (order))
#define atomic_fetch_or_explicit(at, by, order) __atomic_fetch_or(&(at)->value, (by), (order))
#define atomic_compare_exchange_strong_explicit(at, old, new_, order, failed)                      \
    __atomic_compare_exchange_n(&(at)->value, (old), (new_), false, (order), (failed))
#define atomic_compare_exchange_weak_explicit(at, old, new_, order, failed)                        \
    __atomic_compare_exchange_n(&(at)->value, (old), (new_), true, (order), (failed))
#define atomic_flag_test_and_set_explicit(at, order) __atomic_test_and_set(&(at)->value, (order))
#define atomic_flag_clear_explicit(at, order) __atomic_clear(&(at)->value, (order))
#endif /* __cplusplus */

