/* SPDX-License-Identifier: MIT */
#include "bench/runtime_launch.h"

#include <tuple>
#include <utility>

#include <pdl/cudart.h>

#include "bench/kernels/overhead.cuh"

static const void *const symbols[OVERHEAD_KERNELS] = {
    reinterpret_cast<const void *>(overhead_null_0),
    reinterpret_cast<const void *>(overhead_null_8),
    reinterpret_cast<const void *>(overhead_null_64),
    reinterpret_cast<const void *>(overhead_wait),
    reinterpret_cast<const void *>(overhead_signal),
    reinterpret_cast<const void *>(overhead_take),
};

/* ---- forms that take any kernel -------------------------------------------------------------- */

static int launch(const runtime_launch &of, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const cudaError_t error =
            cudaLaunchKernel(symbols[of.kernel], of.grid, of.block, of.args, 0, of.stream);
        if (error != cudaSuccess) {
            return error;
        }
    }
    return 0;
}

/* A configuration and the attribute that it points to. */
struct launch_config {
    explicit launch_config(const runtime_launch &of)
    {
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.gridDim = of.grid;
        config.blockDim = of.block;
        config.stream = of.stream;
        config.attrs = of.overlap ? &attribute : nullptr;
        config.numAttrs = of.overlap ? 1 : 0;
    }
    launch_config(const launch_config &) = delete;
    launch_config &operator=(const launch_config &) = delete;

    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
};

static int launch_ex(const runtime_launch &of, size_t count)
{
    const launch_config made(of);
    for (size_t i = 0; i < count; i++) {
        const cudaError_t error = cudaLaunchKernelExC(&made.config, symbols[of.kernel], of.args);
        if (error != cudaSuccess) {
            return error;
        }
    }
    return 0;
}

/* ---- forms that take a kernel that the compiler knows ---------------------------------------- */

/* With the arguments as values, as a program would have them. */
template <typename... Params> class typed
{
  public:
    template <void (*Kernel)(Params...)>
    static int run(runtime_form form, const runtime_launch &of, size_t count)
    {
        const std::index_sequence_for<Params...> places;
        switch (form) {
        case RUNTIME_CHEVRON:
            return chevron<Kernel>(of, count, places);
        case RUNTIME_LAUNCH_EX_TYPED:
            return launch_ex_typed<Kernel>(of, count, places);
        default:
            return libpdl<Kernel>(of, count, places);
        }
    }

  private:
    template <void (*Kernel)(Params...), size_t... Index>
    static int chevron(const runtime_launch &of, size_t count, std::index_sequence<Index...>)
    {
        const std::tuple<Params...> values(*static_cast<Params *>(of.args[Index])...);
        (void)values; /* of no parameters */
        for (size_t i = 0; i < count; i++) {
            Kernel<<<of.grid, of.block, 0, of.stream>>>(std::get<Index>(values)...);
            const cudaError_t error = cudaGetLastError();
            if (error != cudaSuccess) {
                return error;
            }
        }
        return 0;
    }

    template <void (*Kernel)(Params...), size_t... Index>
    static int launch_ex_typed(const runtime_launch &of, size_t count,
                               std::index_sequence<Index...>)
    {
        const std::tuple<Params...> values(*static_cast<Params *>(of.args[Index])...);
        const launch_config made(of);
        (void)values;
        for (size_t i = 0; i < count; i++) {
            const cudaError_t error =
                cudaLaunchKernelEx(&made.config, Kernel, std::get<Index>(values)...);
            if (error != cudaSuccess) {
                return error;
            }
        }
        return 0;
    }

    template <void (*Kernel)(Params...), size_t... Index>
    static int libpdl(const runtime_launch &of, size_t count, std::index_sequence<Index...>)
    {
        const std::tuple<Params...> values(*static_cast<Params *>(of.args[Index])...);
        const pdl_launch_desc desc = pdl_launch_desc_make(
            of.grid, of.block, 0, of.stream, of.overlap ? PDL_OVERLAP_AUTO : PDL_OVERLAP_NONE);
        (void)values;
        for (size_t i = 0; i < count; i++) {
            const pdl_status status = pdl_launch_kernel(desc, Kernel, std::get<Index>(values)...);
            if (status != PDL_SUCCESS) {
                return status;
            }
        }
        return 0;
    }
};

template <typename... Params> static typed<Params...> typed_as(void (*)(Params...))
{
    return {};
}

#define RUN_TYPED(kernel) decltype(typed_as(kernel))::run<kernel>(form, of, count)

static int run_typed(runtime_form form, const runtime_launch &of, size_t count)
{
    switch (of.kernel) {
    case OVERHEAD_NULL_0:
        return RUN_TYPED(overhead_null_0);
    case OVERHEAD_NULL_8:
        return RUN_TYPED(overhead_null_8);
    case OVERHEAD_NULL_64:
        return RUN_TYPED(overhead_null_64);
    case OVERHEAD_WAIT:
        return RUN_TYPED(overhead_wait);
    case OVERHEAD_SIGNAL:
        return RUN_TYPED(overhead_signal);
    default:
        return cudaErrorInvalidValue;
    }
}

/* ---- for C ----------------------------------------------------------------------------------- */

int runtime_open(int device)
{
    return cudaSetDevice(device);
}

int runtime_run(runtime_form form, const runtime_launch *of, size_t count)
{
    switch (form) {
    case RUNTIME_LAUNCH:
        return launch(*of, count);
    case RUNTIME_LAUNCH_EX:
        return launch_ex(*of, count);
    default:
        return run_typed(form, *of, count);
    }
}

int runtime_run_each(const runtime_launch *launches, const int *ordinals, size_t devices,
                     size_t count, pdl_kernel *kernel)
{
    enum { MOST = 8 };
    cudaLaunchConfig_t configs[MOST] = {};
    pdl_launch_desc descs[MOST];
    for (size_t j = 0; j < devices && j < MOST; j++) {
        const runtime_launch &of = launches[j];
        configs[j].gridDim = of.grid;
        configs[j].blockDim = of.block;
        configs[j].stream = of.stream;
        descs[j] = pdl_launch_desc_make(of.grid, of.block, 0, of.stream);
    }
    for (size_t i = 0; i < count * devices; i++) {
        const size_t j = i % devices;
        int error = cudaSetDevice(ordinals[j]);
        if (error == cudaSuccess && kernel != nullptr) {
            error = pdl_launch(kernel, &descs[j], launches[j].args);
        } else if (error == cudaSuccess) {
            error = cudaLaunchKernelExC(&configs[j], symbols[launches[j].kernel], launches[j].args);
        }
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

int runtime_kernel(overhead_kernel kernel, pdl_kernel **made)
{
    return pdl_kernel_from_symbol(symbols[kernel], made);
}

int runtime_function(overhead_kernel kernel, CUfunction *function)
{
    return cudaGetFuncBySymbol(function, symbols[kernel]);
}

const char *runtime_error_name(int error)
{
    return error < 0 ? pdl_last_error()->message
                     : cudaGetErrorName(static_cast<cudaError_t>(error));
}
