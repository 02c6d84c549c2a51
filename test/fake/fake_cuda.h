/* SPDX-License-Identifier: MIT */
/* Inside the fake libcuda.so.1: its state and its log.
 *
 * The library stands in for the CUDA driver on machines without a GPU. It takes images and
 * launches, keeps memory on the host so that copies work, runs no kernel, and writes down what it
 * was asked to do. Graphs of kernels can be built and launched; capturing cannot be done.
 *
 * Environment, read when the library is loaded:
 *   PDL_FAKE_CC              compute capability of the devices, such as 8.0 (default 9.0)
 *   PDL_FAKE_DRIVER_VERSION  what cuDriverGetVersion says, such as 12020 (default 13000); what is
 *                            newer is not found
 *   PDL_FAKE_DEVICES         how many devices there are (default 1; 0: cuInit finds none)
 *   PDL_FAKE_PTX_VERSION     what kernels were compiled for, such as 80 (default: as PDL_FAKE_CC)
 *   PDL_FAKE_LOG             a file, or - for standard error: one line a call
 *   PDL_FAKE_COUNT           a file, or - for standard error: "launches=N" when the program ends
 */
#ifndef PDL_TEST_FAKE_FAKE_CUDA_H
#define PDL_TEST_FAKE_FAKE_CUDA_H

#include <cuda.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Defines an entry under the name that the library exports. In C it has another one, because cuda.h
 * declares and renames (cuMemAlloc to cuMemAlloc_v2) in ways that differ between its versions. */
#define FAKE_ENTRY(symbol, ...)                                                                    \
    __attribute__((visibility("default"))) CUresult fake_##symbol(__VA_ARGS__) __asm__(#symbol);   \
    CUresult fake_##symbol(__VA_ARGS__)

/* The same entry for programs compiled with a per-thread default stream. */
#define FAKE_PTSZ(symbol, suffix)                                                                  \
    extern __typeof__(fake_##symbol) fake_##symbol##suffix __asm__(#symbol #suffix)                \
        __attribute__((alias(#symbol), visibility("default")))

struct fake_state {
    int devices;
    int major;
    int minor;
    int driver_version;
    int ptx_version;
    FILE *log; /* NULL: nothing is logged, and launches do next to nothing */
    FILE *count;
    atomic_ulong launches;
};

extern struct fake_state fake;

/* One line of the log, if there is one. */
#define FAKE_LOG(...)                                                                              \
    do {                                                                                           \
        if (__builtin_expect(fake.log != NULL, 0)) {                                               \
            fake_log(__VA_ARGS__);                                                                 \
        }                                                                                          \
    } while (0)
__attribute__((format(printf, 1, 2))) void fake_log(const char *format, ...);

/* The line of a launch, with its attributes by name. */
void fake_log_launch(const char *call, const CUlaunchConfig *config, const char *name);

/* The text of an attribute as it stands in the lines of launches: NAME=value. */
void fake_format_attribute(char *text, size_t size, const CUlaunchAttribute *attribute);

/* The device of the calling thread's context; -1: none is current. */
int fake_current_device(void);
CUcontext fake_current_context(void);
int fake_context_device(CUcontext context);

/* The name of a kernel, handed in as either kind; NULL if it is none. */
const char *fake_function_name(CUfunction function);

/* What the driver tells of a kernel's parameters. They are read from PTX text only: a kernel of a
 * binary image has none here. */
#define FAKE_PARAMETERS 64
CUresult fake_parameter(CUfunction function, size_t index, size_t *offset, size_t *size);

/* Whether a launch or a node may have an attribute. */
CUresult fake_check_attribute(const CUlaunchAttribute *attribute);

/* Whether an event was created in a way that a launch may record it. */
bool fake_event_is_launchable(CUevent event);

#endif /* PDL_TEST_FAKE_FAKE_CUDA_H */
