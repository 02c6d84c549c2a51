/* SPDX-License-Identifier: MIT */
/* The interposer's parts: how programs get to it (interpose.c), what it does to code (interpose_load.c) and to launches
 * (interpose_launch.c). */
#ifndef PDL_LIB_WATCH_INTERPOSE_H
#define PDL_LIB_WATCH_INTERPOSE_H

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdbool.h>

/* The calls that are replaced. X(id, symbol, name, version, per_thread): the symbol that libcuda exports, the name that
 * cuGetProcAddress() has for it, since which version it has been what it is here, and whether the thread's own default
 * stream is meant. */
#define PDL_WATCH_HOOKS(X)                                                                         \
    X(GET_PROC_ADDRESS, cuGetProcAddress, "cuGetProcAddress", 11030, false)                        \
    X(GET_PROC_ADDRESS_2, cuGetProcAddress_v2, "cuGetProcAddress", 12000, false)                   \
    X(LAUNCH, cuLaunchKernel, "cuLaunchKernel", 4000, false)                                       \
    X(LAUNCH_PTSZ, cuLaunchKernel_ptsz, "cuLaunchKernel", 7000, true)                              \
    X(LAUNCH_EX, cuLaunchKernelEx, "cuLaunchKernelEx", 11060, false)                               \
    X(LAUNCH_EX_PTSZ, cuLaunchKernelEx_ptsz, "cuLaunchKernelEx", 11060, true)                      \
    X(COOPERATIVE, cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000, false)            \
    X(COOPERATIVE_PTSZ, cuLaunchCooperativeKernel_ptsz, "cuLaunchCooperativeKernel", 9000, true)   \
    X(MODULE_FILE, cuModuleLoad, "cuModuleLoad", 2000, false)                                      \
    X(MODULE_DATA, cuModuleLoadData, "cuModuleLoadData", 2000, false)                              \
    X(MODULE_DATA_EX, cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010, false)                       \
    X(MODULE_FATBIN, cuModuleLoadFatBinary, "cuModuleLoadFatBinary", 2000, false)                  \
    X(LIBRARY_DATA, cuLibraryLoadData, "cuLibraryLoadData", 12000, false)                          \
    X(LIBRARY_FILE, cuLibraryLoadFromFile, "cuLibraryLoadFromFile", 12000, false)                  \
    X(LINK_DATA, cuLinkAddData_v2, "cuLinkAddData", 6050, false)                                   \
    X(LINK_FILE, cuLinkAddFile_v2, "cuLinkAddFile", 6050, false)                                   \
    X(MODULE_UNLOAD, cuModuleUnload, "cuModuleUnload", 2000, false)                                \
    X(LIBRARY_UNLOAD, cuLibraryUnload, "cuLibraryUnload", 12000, false)                            \
    X(CONTEXT_DESTROY, cuCtxDestroy_v2, "cuCtxDestroy", 4000, false)                               \
    X(PRIMARY_RESET, cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, false)          \
    X(PRIMARY_RELEASE, cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000, false)

enum pdl_watch_hooks {
#define PDL_WATCH_HOOK_ID(id, symbol, name, version, per_thread) PDL_WATCH_HOOK_##id,
    PDL_WATCH_HOOKS(PDL_WATCH_HOOK_ID)
#undef PDL_WATCH_HOOK_ID
        PDL_WATCH_HOOK_COUNT
};

typedef void (*pdl_watch_function_pointer)(void);

/* What a replaced call calls: as the program found it, or, below another replaced call on the thread, the driver's
 * own. NULL if there is no driver. */
pdl_watch_function_pointer pdl_watch_real(enum pdl_watch_hooks which);

/* Whether the environment asks for anything. Begins the recording, if the driver has not called InitializeInjection(). */
bool pdl_watch_is_wanted(void);

/* Whether the thread is in a replaced call already: another library's wrapper or the driver calls on, and the call
 * was seen. */
extern __thread unsigned pdl_watch_depth;

/* Defines the call that stands for the hook: hidden as pdl_watch_hook_<symbol>, which nothing can come before, and exported
 * under the driver's name. */
#define PDL_WATCH_HOOK(symbol, ...)                                                                \
    CUresult pdl_watch_hook_##symbol(__VA_ARGS__);                                                 \
    extern __typeof__(pdl_watch_hook_##symbol) pdl_watch_export_##symbol __asm__(#symbol)          \
        __attribute__((alias("pdl_watch_hook_" #symbol), visibility("default")));                  \
    CUresult pdl_watch_hook_##symbol(__VA_ARGS__)

#endif /* PDL_LIB_WATCH_INTERPOSE_H */
