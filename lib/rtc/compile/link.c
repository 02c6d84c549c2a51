/* SPDX-License-Identifier: MIT */
/* Linking PTX with nvJitLink. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "rtc/compile/job.h"
#include "rtc/compile/log.h"

/* Of nvJitLink.h. */
enum {
    JITLINK_INPUT_PTX = 2,
    JITLINK_UNRECOGNIZED_OPTION = 1,
    JITLINK_INCOMPATIBLE_OPTIONS = 11,
    JITLINK_OUTDATED_LIBRARY = 14,
    JITLINK_UNRECOGNIZED_ARCH = 16,
    JITLINK_UNSUPPORTED_ARCH = 17
};

/* Puts an option of NVRTC's that is about making machine code of PTX into nvJitLink's. `*made` is one that
 * was allocated. False without memory. */
static bool translate(const char *argument, const char **options, size_t *count, char **made)
{
    static const char registers[] = "--maxrregcount=";
    static const char ptxas[] = "--ptxas-options=";
    *made = NULL;
    if (strcmp(argument, "--generate-line-info") == 0 || strcmp(argument, "-lineinfo") == 0) {
        options[(*count)++] = "-lineinfo";
    } else if (strcmp(argument, "--device-debug") == 0 || strcmp(argument, "-G") == 0) {
        options[(*count)++] = "-g";
    } else if (strncmp(argument, registers, sizeof(registers) - 1) == 0) {
        options[(*count)++] = argument + 1; /* -maxrregcount=N */
    } else if (strncmp(argument, ptxas, sizeof(ptxas) - 1) == 0) {
        if (asprintf(made, "-Xptxas=%s", argument + sizeof(ptxas) - 1) < 0) {
            *made = NULL;
            return false;
        }
        options[(*count)++] = *made;
    }
    return true;
}

/* Adds nvJitLink's log to the thread's. */
static void append_link_log(const struct pdl_rtc_job *job, nvJitLinkHandle handle)
{
    size_t size = 0;
    if (handle == NULL || job->linker->error_log_size(handle, &size) != 0 || size <= 1) {
        return;
    }
    char *log = malloc(size + 1);
    if (log != NULL && job->linker->error_log(handle, log) == 0) {
        log[size] = '\0';
        pdl_rtc_log_add(log);
    }
    free(log);
}

/* Before 13.0, code of a newer NVRTC is a fault of the code by its result, and only the log says more. */
static bool is_outdated(const struct pdl_rtc_job *job, int result)
{
    return result == JITLINK_OUTDATED_LIBRARY || result == JITLINK_UNRECOGNIZED_ARCH ||
           result == JITLINK_UNSUPPORTED_ARCH ||
           (job->linker->number < job->compiler->number &&
            strstr(pdl_rtc_log(), "newer version of nvJitLink") != NULL);
}

static pdl_status fail_link(const struct pdl_rtc_job *job, nvJitLinkHandle handle, const char *call,
                            int result)
{
    const int number = job->linker->number;
    append_link_log(job, handle);
    if (result == JITLINK_UNRECOGNIZED_OPTION || result == JITLINK_INCOMPATIBLE_OPTIONS) {
        return PDL_FAIL_CALL(PDL_ERROR_OPTION, call, result,
                             "nvJitLink %d.%d refuses an option: %.200s", number / 1000,
                             number % 1000 / 10, pdl_rtc_log());
    }
    if (is_outdated(job, result)) {
        return PDL_FAIL_CALL(PDL_ERROR_COMPILER_TOO_OLD, call, result,
                             "nvJitLink %d.%d does not link what NVRTC %d.%d makes for %s: %.150s",
                             number / 1000, number % 1000 / 10, job->compiler->number / 1000,
                             job->compiler->number % 1000 / 10, job->request->target,
                             pdl_rtc_log());
    }
    if (pdl_rtc_log()[0] == '\0') {
        char *log = pdl_rtc_log_room(128);
        if (log != NULL) {
            (void)snprintf(log, 128, "%s: error %d of nvJitLink\n", call, result);
        }
    }
    return pdl_rtc_job_fail(job, call, result);
}

/* Replaces the job's code by what it becomes. */
static pdl_status link_with(struct pdl_rtc_job *job, const char **options, size_t count)
{
    const struct pdl_rtc_linker *linker = job->linker;
    nvJitLinkHandle handle = NULL;
    unsigned char *code = NULL;
    size_t size = 0;
    const char *call = "nvJitLinkCreate";
    pdl_status status = PDL_SUCCESS;
    nvJitLinkResult result = linker->create(&handle, (uint32_t)count, options);
    if (result == 0) {
        call = "nvJitLinkAddData";
        result = linker->add_data(handle, JITLINK_INPUT_PTX, job->code, job->code_size,
                                  job->request->program);
    }
    if (result == 0) {
        call = "nvJitLinkComplete";
        result = linker->complete(handle);
    }
    if (result == 0) {
        call = "nvJitLinkGetLinkedCubinSize";
        result = linker->cubin_size(handle, &size);
    }
    if (result == 0) {
        code = malloc(size + 1);
        call = "nvJitLinkGetLinkedCubin";
        result = code != NULL ? linker->cubin(handle, code) : 0;
    }
    if (result != 0) {
        status = fail_link(job, handle, call, result);
        free(code);
    } else if (code == NULL) {
        status = PDL_NO_MEMORY();
    } else {
        append_link_log(job, handle);
        free(job->code);
        job->code = code;
        job->code_size = size;
    }
    if (handle != NULL) {
        (void)linker->destroy(&handle);
    }
    return status;
}

pdl_status pdl_rtc_job_link(struct pdl_rtc_job *job)
{
    const struct pdl_rtc_arguments *arguments = &job->request->arguments;
    char architecture[PDL_RTC_TARGET_SIZE + 8];
    size_t count = 0;
    const char **options = malloc((arguments->count + 1) * sizeof(*options));
    char **made = calloc(arguments->count + 1, sizeof(*made));
    bool whole = options != NULL && made != NULL;
    (void)snprintf(architecture, sizeof(architecture), "-arch=%s", job->request->target);
    if (whole) {
        options[count++] = architecture;
    }
    for (size_t i = 0; whole && i < arguments->count; i++) {
        whole = translate(arguments->items[i], options, &count, &made[i]);
    }
    const pdl_status status = whole ? link_with(job, options, count) : PDL_NO_MEMORY();
    for (size_t i = 0; made != NULL && i < arguments->count; i++) {
        free(made[i]);
    }
    free(made);
    free((void *)options);
    return status;
}
