/* SPDX-License-Identifier: MIT */
/* Linking LTO-IR and PTX with nvJitLink. */
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
    JITLINK_INPUT_LTOIR = 3,
    JITLINK_UNRECOGNIZED_OPTION = 1,
    JITLINK_INCOMPATIBLE_OPTIONS = 11,
    JITLINK_OUTDATED_LIBRARY = 14,
    JITLINK_UNRECOGNIZED_ARCH = 16,
    JITLINK_UNSUPPORTED_ARCH = 17
};

/* What nvJitLink calls those options of NVRTC that are about making machine code, which it does here. */
static const struct {
    const char *nvrtc;
    const char *jitlink[4];
    bool lto; /* it is about making PTX, which is made of LTO-IR alone */
} link_options[] = {
    {"--ftz=true", {"-ftz=1"}, true},
    {"--ftz=false", {"-ftz=0"}, true},
    {"--prec-sqrt=true", {"-prec-sqrt=1"}, true},
    {"--prec-sqrt=false", {"-prec-sqrt=0"}, true},
    {"--prec-div=true", {"-prec-div=1"}, true},
    {"--prec-div=false", {"-prec-div=0"}, true},
    {"--fmad=true", {"-fma=1"}, true},
    {"--fmad=false", {"-fma=0"}, true},
    {"--use_fast_math", {"-ftz=1", "-prec-sqrt=0", "-prec-div=0", "-fma=1"}, true},
    {"-use_fast_math", {"-ftz=1", "-prec-sqrt=0", "-prec-div=0", "-fma=1"}, true},
    {"--generate-line-info", {"-lineinfo"}, false},
    {"-lineinfo", {"-lineinfo"}, false},
    {"--device-debug", {"-g"}, false},
    {"-G", {"-g"}, false},
};
enum { LINK_OPTIONS = sizeof(link_options) / sizeof(link_options[0]) };

/* Puts an option of NVRTC's into nvJitLink's; `made` has those that were allocated. */
static bool translate(const char *argument, bool lto, const char **options, size_t *count,
                      char **made, size_t *made_count)
{
    static const char registers[] = "--maxrregcount=";
    static const char ptxas[] = "--ptxas-options=";
    for (size_t i = 0; i < LINK_OPTIONS; i++) {
        if (strcmp(argument, link_options[i].nvrtc) == 0 && (lto || !link_options[i].lto)) {
            for (size_t j = 0; j < 4 && link_options[i].jitlink[j] != NULL; j++) {
                options[(*count)++] = link_options[i].jitlink[j];
            }
        }
    }
    if (strncmp(argument, registers, sizeof(registers) - 1) == 0) {
        options[(*count)++] = argument + 1; /* -maxrregcount=N */
    } else if (strncmp(argument, ptxas, sizeof(ptxas) - 1) == 0) {
        char *option = NULL;
        if (asprintf(&option, "-Xptxas=%s", argument + sizeof(ptxas) - 1) < 0) {
            return false;
        }
        made[(*made_count)++] = option;
        options[(*count)++] = option;
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
static pdl_status link_with(struct pdl_rtc_job *job, pdl_rtc_output from, pdl_rtc_output to,
                            const char **options, size_t count)
{
    const struct pdl_rtc_linker *linker = job->linker;
    const bool ptx = to == PDL_RTC_PTX;
    nvJitLinkHandle handle = NULL;
    unsigned char *code = NULL;
    size_t size = 0;
    const char *call = "nvJitLinkCreate";
    pdl_status status = PDL_SUCCESS;
    nvJitLinkResult result = linker->create(&handle, (uint32_t)count, options);
    if (result == 0) {
        call = "nvJitLinkAddData";
        result =
            linker->add_data(handle, from == PDL_RTC_LTO ? JITLINK_INPUT_LTOIR : JITLINK_INPUT_PTX,
                             job->code, job->code_size, job->request->program);
    }
    if (result == 0) {
        call = "nvJitLinkComplete";
        result = linker->complete(handle);
    }
    if (result == 0) {
        call = ptx ? "nvJitLinkGetLinkedPtxSize" : "nvJitLinkGetLinkedCubinSize";
        result = ptx ? linker->ptx_size(handle, &size) : linker->cubin_size(handle, &size);
    }
    if (result == 0) {
        code = malloc(size + 1);
        call = ptx ? "nvJitLinkGetLinkedPtx" : "nvJitLinkGetLinkedCubin";
        if (code != NULL) {
            result = ptx ? linker->ptx(handle, (char *)code) : linker->cubin(handle, code);
        }
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

pdl_status pdl_rtc_job_link(struct pdl_rtc_job *job, pdl_rtc_output from, pdl_rtc_output to)
{
    const bool lto = from == PDL_RTC_LTO;
    const struct pdl_rtc_request *request = job->request;
    char architecture[PDL_RTC_TARGET_SIZE + 8];
    size_t count = 0;
    size_t made_count = 0;
    pdl_status status = PDL_SUCCESS;
    const char **options = malloc((4 * request->arguments.count + 3) * sizeof(*options));
    char **made = malloc((request->arguments.count + 1) * sizeof(*made));
    if (options == NULL || made == NULL) {
        status = PDL_NO_MEMORY();
        goto end;
    }
    (void)snprintf(architecture, sizeof(architecture), "-arch=%s", request->target);
    options[count++] = architecture;
    if (lto) {
        options[count++] = "-lto";
    }
    if (to == PDL_RTC_PTX) {
        options[count++] = "-ptx";
    }
    for (size_t i = 0; i < request->arguments.count; i++) {
        if (!translate(request->arguments.items[i], lto, options, &count, made, &made_count)) {
            status = PDL_NO_MEMORY();
            goto end;
        }
    }
    status = link_with(job, from, to, options, count);
end:
    for (size_t i = 0; i < made_count; i++) {
        free(made[i]);
    }
    free(made);
    free((void *)options);
    return status;
}
