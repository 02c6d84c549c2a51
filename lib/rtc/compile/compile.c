/* SPDX-License-Identifier: MIT */
#include "rtc/compile/compile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/sized.h"
#include "rtc/compile/job.h"
#include "rtc/compile/log.h"
#include "rtc/request/embedded.h"

/* ---- what NVRTC is given -------------------------------------------------------------------- */

static pdl_status check_target(const struct pdl_rtc_job *job)
{
    const struct pdl_rtc_compiler *compiler = job->compiler;
    const char *target = job->request->target;
    struct pdl_rtc_target parts;
    if (!pdl_rtc_target_parse(target, &parts)) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "target", "%s is no target", target);
    }
    for (size_t i = 0; i < compiler->known_count; i++) {
        if (compiler->known[i] == parts.number) {
            return PDL_SUCCESS;
        }
    }
    if (parts.number > compiler->newest) {
        return PDL_FAIL_FIELD(PDL_ERROR_COMPILER_TOO_OLD, "target",
                              "NVRTC %d.%d compiles for up to sm_%d, and %s is asked for",
                              compiler->number / 1000, compiler->number % 1000 / 10,
                              compiler->newest, target);
    }
    return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "target",
                          "NVRTC %d.%d does not compile for %s", compiler->number / 1000,
                          compiler->number % 1000 / 10, target);
}

static bool is_the_callers(const struct pdl_rtc_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcmp(request->headers[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The program with its headers: the caller's, then those of the library. */
static pdl_status create(struct pdl_rtc_job *job)
{
    const struct pdl_rtc_request *request = job->request;
    size_t count = 0;
    const char **texts = malloc(2 * (request->header_count + PDL_RTC_EMBEDDED) * sizeof(*texts));
    if (texts == NULL) {
        return PDL_NO_MEMORY();
    }
    const char **names = texts + request->header_count + PDL_RTC_EMBEDDED;
    for (size_t i = 0; i < request->header_count; i++, count++) {
        texts[count] = request->headers[i].text;
        names[count] = request->headers[i].name;
    }
    for (size_t i = 0; i < PDL_RTC_EMBEDDED; i++) {
        if (!is_the_callers(request, pdl_rtc_embedded[i].name)) {
            texts[count] = pdl_rtc_embedded[i].text;
            names[count] = pdl_rtc_embedded[i].name;
            count++;
        }
    }
    const nvrtcResult result = job->compiler->create(&job->program, request->source,
                                                     request->program, (int)count, texts, names);
    free(texts);
    if (result != 0) {
        job->program = NULL;
        return pdl_rtc_job_fail_call(job, "nvrtcCreateProgram", result);
    }
    for (size_t i = 0; i < request->name_count; i++) {
        const nvrtcResult added = job->compiler->add_name(job->program, request->names[i]);
        if (added != 0) {
            return pdl_rtc_job_fail_call(job, "nvrtcAddNameExpression", added);
        }
    }
    return PDL_SUCCESS;
}

/* Makes NVRTC's log the thread's. */
static pdl_status take_log(const struct pdl_rtc_job *job)
{
    size_t size = 0;
    if (job->compiler->log_size(job->program, &size) != 0 || size <= 1) {
        return PDL_SUCCESS;
    }
    char *log = pdl_rtc_log_room(size);
    if (log == NULL) {
        return PDL_NO_MEMORY();
    }
    if (job->compiler->log(job->program, log) != 0) {
        log[0] = '\0';
    }
    log[size] = '\0';
    return PDL_SUCCESS;
}

static pdl_status call_compile(struct pdl_rtc_job *job, nvrtcResult *result)
{
    const struct pdl_rtc_request *request = job->request;
    char architecture[PDL_RTC_TARGET_SIZE + 32];
    size_t count = 0;
    const char **options = malloc((request->arguments.count + 1) * sizeof(*options));
    if (options == NULL) {
        return PDL_NO_MEMORY();
    }
    const char *target = request->target;
    const bool virtual = request->output == PDL_RTC_PTX && strncmp(target, "sm_", 3) == 0;
    (void)snprintf(architecture, sizeof(architecture), "--gpu-architecture=%s%s",
                   virtual ? "compute_" : "", virtual ? target + 3 : target);
    for (size_t i = 0; i < request->arguments.count; i++) {
        options[count++] = request->arguments.items[i];
    }
    options[count++] =
        architecture; /* NVRTC takes the last one, whatever the caller's options say */
    *result = job->compiler->compile(job->program, (int)count, options);
    free((void *)options);
    return PDL_SUCCESS;
}

static pdl_status compile(struct pdl_rtc_job *job)
{
    nvrtcResult result = 0;
    pdl_status status = create(job);
    if (status == PDL_SUCCESS) {
        status = call_compile(job, &result);
    }
    if (status == PDL_SUCCESS) {
        status = take_log(job);
    }
    return status != PDL_SUCCESS ? status : pdl_rtc_job_judge(job, result);
}

/* ---- what comes of it ----------------------------------------------------------------------- */

static pdl_status take_code(struct pdl_rtc_job *job)
{
    const struct pdl_rtc_compiler *compiler = job->compiler;
    const bool ptx = job->request->output == PDL_RTC_PTX;
    const char *call = ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN";
    nvrtcResult result =
        (ptx ? compiler->ptx_size : compiler->cubin_size)(job->program, &job->code_size);
    if (result != 0 || job->code_size == 0) {
        return pdl_rtc_job_fail_call(job, call, result);
    }
    job->code = malloc(job->code_size);
    if (job->code == NULL) {
        return PDL_NO_MEMORY();
    }
    result = (ptx ? compiler->ptx : compiler->cubin)(job->program, (char *)job->code);
    return result == 0 ? PDL_SUCCESS : pdl_rtc_job_fail_call(job, call, result);
}

/* ---- the image ------------------------------------------------------------------------------ */

static pdl_status find_lowered(const struct pdl_rtc_job *job, const char **lowered)
{
    const struct pdl_rtc_request *request = job->request;
    for (size_t i = 0; i < request->name_count; i++) {
        const nvrtcResult result =
            job->compiler->lowered_name(job->program, request->names[i], &lowered[i]);
        if (result != 0 && result != NVRTC_NAME_EXPRESSION_NOT_VALID) {
            return pdl_rtc_job_fail_call(job, "nvrtcGetLoweredName", result);
        }
        if (result != 0) {
            return PDL_FAIL_CALL(PDL_ERROR_NOT_FOUND, "nvrtcGetLoweredName", result,
                                 "%.100s has no %.200s: %s", request->program, request->names[i],
                                 job->compiler->error_string(result));
        }
    }
    return PDL_SUCCESS;
}

/* Takes over the job's code. */
static pdl_status make_image(struct pdl_rtc_job *job, pdl_rtc_image **image)
{
    const struct pdl_rtc_request *request = job->request;
    pdl_status status = PDL_SUCCESS;
    const char **lowered = calloc(request->name_count + 1, sizeof(*lowered));
    pdl_rtc_image *made = calloc(1, sizeof(*made));
    if (lowered == NULL || made == NULL) {
        free((void *)lowered);
        free(made);
        return PDL_NO_MEMORY();
    }
    atomic_init(&made->references, 1);
    made->output = request->output;
    memcpy(made->target, request->target, sizeof(made->target));
    made->compiler_version = job->compiler->number;
    made->program = strdup(request->program);
    made->log = strdup(pdl_rtc_log());
    made->code = job->code;
    made->code_size = job->code_size;
    job->code = NULL;
    status =
        made->program != NULL && made->log != NULL ? find_lowered(job, lowered) : PDL_NO_MEMORY();
    if (status == PDL_SUCCESS) {
        status = pdl_rtc_image_describe(made, request->names, lowered, request->name_count);
    }
    free((void *)lowered);
    if (status != PDL_SUCCESS) {
        pdl_rtc_image_destroy(made);
        return status;
    }
    *image = made;
    return PDL_SUCCESS;
}

/* Everything between the compiler being there and the image. */
static pdl_status run(struct pdl_rtc_job *job, pdl_rtc_image **image)
{
    pdl_status status = check_target(job);
    if (status == PDL_SUCCESS) {
        status = compile(job);
    }
    if (status == PDL_SUCCESS) {
        status = take_code(job);
    }
    if (status == PDL_SUCCESS) {
        status = make_image(job, image);
    }
    return status;
}

pdl_status pdl_rtc_compile_request(const struct pdl_rtc_request *request, pdl_rtc_image **image)
{
    struct pdl_rtc_job job = {.request = request};
    pdl_rtc_log_set("");
    pdl_status status = pdl_rtc_compiler_open(&job.compiler);
    if (status != PDL_SUCCESS) {
        return status;
    }
    status = run(&job, image);
    if (job.program != NULL) {
        (void)job.compiler->destroy(&job.program);
    }
    free(job.code);
    return status;
}

pdl_status pdl_rtc_compile(const char *program, const char *source, const pdl_rtc_options *options,
                           pdl_rtc_image **image)
{
    struct pdl_rtc_request request;
    if (image == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "image", "image is NULL");
    }
    pdl_rtc_log_set("");
    pdl_status status = pdl_rtc_request_make(&request, program, source, options, NULL);
    if (status == PDL_SUCCESS) {
        status = pdl_rtc_compile_request(&request, image);
        pdl_rtc_request_free(&request);
    }
    return status;
}

/* ---- which compiler there is ------------------------------------------------------------- */

pdl_status pdl_rtc_compiler_get(pdl_rtc_compiler_info *info)
{
    const struct pdl_rtc_compiler *compiler;
    pdl_rtc_compiler_info known = {.size = (uint32_t)sizeof(known)};
    pdl_status status = pdl_sized_check(info, "info");
    if (status == PDL_SUCCESS) {
        status = pdl_rtc_compiler_open(&compiler);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    known.version = compiler->number;
    known.newest_architecture = compiler->newest;
    (void)snprintf(known.path, sizeof(known.path), "%.*s", (int)sizeof(known.path) - 1,
                   compiler->path);
    pdl_sized_copy(info, &known, sizeof(known));
    return PDL_SUCCESS;
}
