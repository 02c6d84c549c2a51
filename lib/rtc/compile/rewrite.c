/* SPDX-License-Identifier: MIT */
/* Instrumenting the PTX of a compilation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/inspect.h>

#include "core/error.h"
#include "rtc/compile/job.h"
#include "rtc/compile/log.h"

/* "t.cu: warning: WHAT is not instrumented: WHY", in the thread's log. */
static void warn(const struct pdl_rtc_job *job, const char *what, const char *why)
{
    char *line = NULL;
    if (asprintf(&line, "%s: warning: %s not instrumented: %s\n", job->request->program, what,
                 why) >= 0) {
        pdl_rtc_log_add(line);
        free(line);
    }
}

static void warn_of_kernels(const struct pdl_rtc_job *job, const pdl_instrumentation *result)
{
    for (size_t i = 0; i < pdl_instrumentation_kernel_count(result); i++) {
        const pdl_instrument_kernel *kernel = pdl_instrumentation_kernel(result, i);
        char *what = NULL;
        if (kernel->action == PDL_INSTRUMENT_REFUSED &&
            asprintf(&what, "%s is", kernel->name) >= 0) {
            warn(job, what, kernel->message != NULL ? kernel->message : "for no known reason");
            free(what);
        }
    }
}

/* Kernels of PTX that cannot be read stay as they are, like those that are refused. */
static pdl_status fail(const struct pdl_rtc_job *job, pdl_status status)
{
    const pdl_inspect_error *error = pdl_inspect_last_error();
    if (status == PDL_ERROR_INVALID_IMAGE) {
        warn(job, "the kernels are", error->message);
        return PDL_SUCCESS;
    }
    return status == PDL_ERROR_OUT_OF_MEMORY
               ? PDL_NO_MEMORY()
               : PDL_FAIL_FIELD(status, "instrument", "instrument: %.200s", error->message);
}

pdl_status pdl_rtc_job_instrument(struct pdl_rtc_job *job)
{
    const struct pdl_rtc_request *request = job->request;
    pdl_instrumentation *result = NULL;
    size_t size = strnlen((const char *)job->code, job->code_size);
    const pdl_status status = pdl_instrument((const char *)job->code, size, request->program,
                                             &request->instrument, &result);
    if (status != PDL_SUCCESS) {
        return fail(job, status);
    }
    const char *text = pdl_instrumentation_text(result, &size);
    unsigned char *code = malloc(size + 1);
    if (code != NULL) {
        warn_of_kernels(job, result);
        memcpy(code, text, size + 1);
        free(job->code);
        job->code = code;
        job->code_size = size + 1;
    }
    pdl_instrumentation_destroy(result);
    return code != NULL ? PDL_SUCCESS : PDL_NO_MEMORY();
}
