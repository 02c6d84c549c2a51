/* SPDX-License-Identifier: MIT */
/* Kernels by what pdl_rtc_kernel() was asked, byte for byte: found without a lock, and without making a
 * request of it. */
#ifndef PDL_RTC_MEMORY_H
#define PDL_RTC_MEMORY_H

#include "rtc/request/includes.h"

/* What was asked, with a hash of it. It points to what the caller has. */
struct pdl_rtc_question {
    const char *source, *name;
    const pdl_rtc_options *options;
    int device;
    size_t size; /* of the bytes in which different questions differ */
    uint64_t hash;
};

/* `device` stands for a target that is not named: its ordinal, -1 without a context. False where there is
 * a NULL or a count that the slow way will refuse. */
bool pdl_rtc_question_make(struct pdl_rtc_question *question, const char *source, const char *name,
                           const pdl_rtc_options *options, int device);

struct pdl_rtc_memory;

struct pdl_rtc_memory *pdl_rtc_memory_make(void);
void pdl_rtc_memory_free(struct pdl_rtc_memory *memory);

/* The kernel, if it is known and no file that it is made of has changed; else NULL. */
pdl_kernel *pdl_rtc_memory_find(struct pdl_rtc_memory *memory,
                                const struct pdl_rtc_question *question);

/* Remembers a kernel, copies the question and takes the dependencies over. Does nothing without memory. */
void pdl_rtc_memory_add(struct pdl_rtc_memory *memory, const struct pdl_rtc_question *question,
                        struct pdl_rtc_dependencies *dependencies, pdl_kernel *kernel);

#endif /* PDL_RTC_MEMORY_H */
