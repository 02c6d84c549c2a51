/* SPDX-License-Identifier: MIT */
/* Kernels by what pdl_rtc_kernel() was asked: found without a lock, and without making a request of it. */
#ifndef PDL_RTC_MEMORY_H
#define PDL_RTC_MEMORY_H

#include "rtc/request/includes.h"

/* All that was asked, by its two hashes. */
struct pdl_rtc_question {
    struct pdl_rtc_hash text, check;
};

/* `device` stands for a target that is not named: its ordinal, -1 without a context. A NULL or a count that makes no
 * request makes a question without an answer. */
struct pdl_rtc_question pdl_rtc_question_make(const char *source, const char *name,
                                              const pdl_rtc_options *options, int device);

struct pdl_rtc_memory;

struct pdl_rtc_memory *pdl_rtc_memory_make(void);
void pdl_rtc_memory_free(struct pdl_rtc_memory *memory);

/* The kernel, if it is known and no file that it is made of has changed; else NULL. */
pdl_kernel *pdl_rtc_memory_find(struct pdl_rtc_memory *memory,
                                const struct pdl_rtc_question *question);

/* Remembers a kernel, and takes the dependencies over. Does nothing without memory. */
void pdl_rtc_memory_add(struct pdl_rtc_memory *memory, const struct pdl_rtc_question *question,
                        struct pdl_rtc_dependencies *dependencies, pdl_kernel *kernel);

#endif /* PDL_RTC_MEMORY_H */
