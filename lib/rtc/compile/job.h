/* SPDX-License-Identifier: MIT */
/* One compilation under way, between compile.c and failure.c. */
#ifndef PDL_RTC_JOB_H
#define PDL_RTC_JOB_H

#include "rtc/compiler.h"
#include "rtc/request/request.h"

/* Of nvrtc.h. */
enum {
    NVRTC_OUT_OF_MEMORY = 1,
    NVRTC_INVALID_INPUT = 3,
    NVRTC_INVALID_OPTION = 5,
    NVRTC_COMPILATION = 6,
    NVRTC_BUILTIN_OPERATION_FAILURE = 7,
    NVRTC_NAME_EXPRESSION_NOT_VALID = 10
};

struct pdl_rtc_job {
    const struct pdl_rtc_compiler *compiler;
    const struct pdl_rtc_request *request;
    nvrtcProgram program;
    unsigned char *code;
    size_t code_size;
};

/* The status of an NVRTC compilation's result, with the thread's log read for what it means. */
pdl_status pdl_rtc_job_judge(struct pdl_rtc_job *job, nvrtcResult result);

/* Records what another call of NVRTC's failed with. */
pdl_status pdl_rtc_job_fail_call(const struct pdl_rtc_job *job, const char *call, int result);

/* Records PDL_ERROR_COMPILE: "FIRST ERROR OF THE LOG; all of it in FILE", and writes that file. */
pdl_status pdl_rtc_job_fail(const struct pdl_rtc_job *job, const char *call, int result);

#endif /* PDL_RTC_JOB_H */
