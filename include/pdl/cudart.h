/* SPDX-License-Identifier: MIT */
/** @file
 * libpdl for programs of the CUDA Runtime: kernels from `__global__` symbols, and a typed launch in
 * C++.
 *
 * It is compiled into the including translation unit, so that the Runtime that registered a kernel
 * launches it, whether the program links cudart statically or shared. `--default-stream
 * per-thread` keeps its meaning. libpdl itself does not link the Runtime.
 */
#ifndef PDL_CUDART_H
#define PDL_CUDART_H

#include <cuda_runtime_api.h>

#include <pdl/chain.h>
#include <pdl/detail/runtime.h>
#include <pdl/pdl.h>

#if CUDART_VERSION < 12030
#error "pdl/cudart.h needs the headers of CUDA 12.3 or newer"
#endif

/* ------------------------------------------------------------------------------------------------
 * What pdl_kernel_from_runtime() calls back
 * ---------------------------------------------------------------------------------------------- */

static inline int32_t pdl_cudart_launch_(const void *symbol, const pdl_runtime_launch *launch,
                                         void **args)
{
    cudaLaunchConfig_t config;
    config.gridDim.x = launch->grid[0];
    config.gridDim.y = launch->grid[1];
    config.gridDim.z = launch->grid[2];
    config.blockDim.x = launch->block[0];
    config.blockDim.y = launch->block[1];
    config.blockDim.z = launch->block[2];
    config.dynamicSmemBytes = launch->dynamic_shared_memory;
    config.stream = launch->stream;
    config.attrs = (cudaLaunchAttribute *)launch->attributes;
    config.numAttrs = launch->attribute_count;
    return (int32_t)cudaLaunchKernelExC(&config, symbol, args);
}

static inline int32_t pdl_cudart_get_function_(const void *symbol, struct CUfunc_st **function)
{
    cudaFunction_t found = NULL;
    const cudaError_t error = cudaGetFuncBySymbol(&found, symbol);
    if (error == cudaSuccess) {
        *function = found;
    }
    return (int32_t)error;
}

static inline const pdl_runtime_ops *pdl_cudart_ops_(void)
{
    static const pdl_runtime_ops ops = {
        (uint32_t)sizeof(pdl_runtime_ops), CUDART_VERSION,     pdl_cudart_launch_,
        pdl_cudart_get_function_,          PDL_DEFAULT_STREAM, 0};
    return &ops;
}

/* ------------------------------------------------------------------------------------------------
 * Kernel
 * ---------------------------------------------------------------------------------------------- */

/**
 * Makes a kernel from a Runtime symbol: the address of a `__global__` function, or in plain C that
 * of an `extern "C" __global__` one declared as an ordinary function.
 *
 * Serves every device. Nothing is looked up before the first launch on a device
 * (cudaGetFuncBySymbol), and the kernel remains usable after cudaDeviceReset(). The first launch
 * in a context goes through this translation unit's cudaLaunchKernelExC, later ones go to the
 * driver (cuLaunchKernelEx). The Runtime also makes launches that set more than grid, block,
 * dynamic_shared_memory, stream and overlap, and repeats those that the driver refuses, so that
 * cudaGetLastError() returns the error. Must be called from the program or shared
 * object that contains the kernel, which must not be unloaded before pdl_kernel_destroy(). Errors:
 * those of pdl_kernel_from_runtime(). Thread-safe.
 */
static inline pdl_status pdl_kernel_from_symbol(const void *symbol, pdl_kernel **kernel)
{
    return pdl_kernel_from_runtime(symbol, pdl_cudart_ops_(), kernel);
}

#ifdef __cplusplus

#include <atomic>
#include <cstdlib>
#include <cstring>

/** As above, from the kernel itself: `pdl_kernel_from_symbol(fc2<float>, &kernel)`. */
template <typename... Params>
static inline pdl_status pdl_kernel_from_symbol(void (*kernel)(Params...), pdl_kernel **out)
{
    return pdl_kernel_from_symbol(reinterpret_cast<const void *>(kernel), out);
}

/**
 * A descriptor from the parameters of `<<<grid, block, dynamic_shared_memory, stream>>>`, and the
 * overlap.
 */
static inline pdl_launch_desc pdl_launch_desc_make(dim3 grid, dim3 block,
                                                   uint32_t dynamic_shared_memory = 0,
                                                   cudaStream_t stream = nullptr,
                                                   pdl_overlap overlap = PDL_OVERLAP_NONE)
{
    pdl_launch_desc desc;
    pdl_launch_desc_init(&desc);
    desc.grid[0] = grid.x;
    desc.grid[1] = grid.y;
    desc.grid[2] = grid.z;
    desc.block[0] = block.x;
    desc.block[1] = block.y;
    desc.block[2] = block.z;
    desc.dynamic_shared_memory = dynamic_shared_memory;
    desc.stream = stream;
    desc.overlap = static_cast<uint32_t>(overlap);
    return desc;
}

/* Everything that holds state for one translation unit has internal linkage: two units compiled
 * with different default streams must not share a kernel. */
namespace
{

/* The kernels of one signature that this translation unit has launched: a list that only grows,
 * almost always of one element, so that finding a kernel is comparing a pointer. */
template <typename... Params> struct pdl_typed_kernels_ {
    struct node {
        void (*symbol)(Params...);
        pdl_kernel *kernel;
        node *next;
    };

    static std::atomic<node *> &head()
    {
        static std::atomic<node *> list(nullptr);
        return list;
    }

    static pdl_kernel *find(node *from, void (*symbol)(Params...))
    {
        for (; from != nullptr; from = from->next) {
            if (from->symbol == symbol) {
                return from->kernel;
            }
        }
        return nullptr;
    }

    /* Kernels made here live as long as the program. */
    static pdl_status get(void (*symbol)(Params...), pdl_kernel **kernel)
    {
        node *seen = head().load(std::memory_order_acquire);
        *kernel = find(seen, symbol);
        if (*kernel != nullptr) {
            return PDL_SUCCESS;
        }
        pdl_kernel *made = nullptr;
        const pdl_status status = pdl_kernel_from_symbol(symbol, &made);
        if (status != PDL_SUCCESS) {
            return status;
        }
        node *fresh = static_cast<node *>(std::malloc(sizeof(node)));
        if (fresh == nullptr) {
            pdl_kernel_destroy(made);
            pdl_error error = PDL_ERROR_INIT;
            error.status = PDL_ERROR_OUT_OF_MEMORY;
            std::memcpy(error.message, "no memory for a kernel", sizeof("no memory for a kernel"));
            return pdl_error_record(&error);
        }
        fresh->symbol = symbol;
        fresh->kernel = made;
        fresh->next = seen;
        while (!head().compare_exchange_weak(fresh->next, fresh, std::memory_order_acq_rel,
                                             std::memory_order_acquire)) {
            pdl_kernel *other = find(fresh->next, symbol);
            if (other != nullptr) { /* another thread was first */
                pdl_kernel_destroy(made);
                std::free(fresh);
                *kernel = other;
                return PDL_SUCCESS;
            }
        }
        *kernel = made;
        return PDL_SUCCESS;
    }
};

} // namespace

/* A parameter's type that is not deduced from its argument. */
template <typename Type> struct pdl_exactly_ {
    typedef Type type;
};

/**
 * Launches a `__global__` function with typed arguments: `pdl_launch_kernel(desc, fc2, weights, y,
 * z)`.
 *
 * Takes the arguments of a call `fc2(weights, y, z)` and passes them as that call would: each
 * initializes a parameter of the kernel's type, with the conversions, warnings and errors of a
 * call. The first launch creates the kernel handle, which is kept for later launches. Errors:
 * those of pdl_kernel_from_symbol() and pdl_launch(). Thread-safe.
 */
template <typename... Params>
static inline pdl_status pdl_launch_kernel(const pdl_launch_desc &desc, void (*kernel)(Params...),
                                           typename pdl_exactly_<Params>::type... args)
{
    pdl_kernel *made;
    const pdl_status status = pdl_typed_kernels_<Params...>::get(kernel, &made);
    if (status != PDL_SUCCESS) {
        return status;
    }
    /* What std::addressof() does: <memory> would be a sixth of what compilers read here. */
    void *values[] = {const_cast<char *>(&reinterpret_cast<const volatile char &>(args))...,
                      nullptr};
    return pdl_launch(made, &desc, values);
}

/**
 * Records a launch of a `__global__` function in a chain: pdl_chain_add() with the arguments of
 * pdl_launch_kernel(): `pdl_chain_add_kernel(chain, &link, desc, fc2, weights, y, z)`.
 *
 * @param[out] link the link's index; may be NULL
 */
template <typename... Params>
static inline pdl_status
pdl_chain_add_kernel(pdl_chain *chain, uint32_t *link, const pdl_launch_desc &desc,
                     void (*kernel)(Params...), typename pdl_exactly_<Params>::type... args)
{
    pdl_kernel *made;
    const pdl_status status = pdl_typed_kernels_<Params...>::get(kernel, &made);
    if (status != PDL_SUCCESS) {
        return status;
    }
    void *values[] = {const_cast<char *>(&reinterpret_cast<const volatile char &>(args))...,
                      nullptr};
    return pdl_chain_add(chain, made, &desc, values, nullptr, 0, link);
}

#endif /* __cplusplus */

#endif /* PDL_CUDART_H */
