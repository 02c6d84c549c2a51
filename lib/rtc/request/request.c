/* SPDX-License-Identifier: MIT */
/* Checking what is to be compiled, and bringing it into one form. */
#include "rtc/request/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/sized.h"
#include "rtc/compiler.h"

/* ---- target --------------------------------------------------------------------------------- */

bool pdl_rtc_target_parse(const char *target, struct pdl_rtc_target *parts)
{
    const bool real = strncmp(target, "sm_", 3) == 0;
    if (!real && strncmp(target, "compute_", 8) != 0) {
        return false;
    }
    const char *at = target + (real ? 3 : 8);
    int number = 0;
    size_t digits = 0;
    while (at[digits] >= '0' && at[digits] <= '9' && digits < 4) {
        number = 10 * number + (at[digits] - '0');
        digits++;
    }
    at += digits;
    char suffix = '\0';
    if (*at == 'a' || *at == 'f') {
        suffix = *at++;
    }
    if (*at != '\0' || digits < 2 || digits > 3 || target[real ? 3 : 8] == '0') {
        return false;
    }
    *parts = (struct pdl_rtc_target){.real = real, .number = number, .suffix = suffix};
    return true;
}

static void write_target(struct pdl_rtc_request *request, struct pdl_rtc_target parts)
{
    const char suffix[2] = {parts.suffix, '\0'};
    (void)snprintf(request->target, sizeof(request->target), "%s_%d%s",
                   parts.real ? "sm" : "compute", parts.number % 10000, suffix);
}

static pdl_status given_target(struct pdl_rtc_request *request, const char *target)
{
    struct pdl_rtc_target parts;
    if (!pdl_rtc_target_parse(target, &parts)) {
        return PDL_FAIL_FIELD(
            PDL_ERROR_INVALID_ARGUMENT, "target",
            "\"%.40s\" is not a target; examples are sm_90, sm_90a and compute_90", target);
    }
    if (request->output == PDL_RTC_DEFAULT) {
        request->output = parts.real ? PDL_RTC_CUBIN : PDL_RTC_PTX;
    }
    if (!parts.real && request->output != PDL_RTC_PTX) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "target",
                              "%s is a virtual architecture, and machine code is for a real one: "
                              "sm_%d",
                              target, parts.number);
    }
    parts.real = request->output != PDL_RTC_PTX; /* of both spellings the same PTX comes */
    write_target(request, parts);
    return PDL_SUCCESS;
}

static pdl_status current_architecture(int *number)
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    const pdl_error before = *pdl_last_error();
    pdl_status status = pdl_device_get(-1, &info);
    if (status == PDL_ERROR_NO_CONTEXT) {
        (void)pdl_error_record(&before);
        status = pdl_device_get(0, &info);
    }
    *number = 10 * info.compute_capability_major + info.compute_capability_minor;
    return status;
}

/* The newest architecture that a compiler knows and a device of `number` runs PTX of; 0 if none is. */
static int best_known(const struct pdl_rtc_compiler *compiler, int number)
{
    int best = 0;
    for (size_t i = 0; i < compiler->known_count; i++) {
        if (compiler->known[i] <= number && compiler->known[i] > best) {
            best = compiler->known[i];
        }
    }
    return best;
}

/* The current device's, where its compiler knows it. Without a compiler it is what one would be asked for:
 * a cache may have it. */
static pdl_status current_target(struct pdl_rtc_request *request)
{
    struct pdl_rtc_target parts = {.real = true};
    const struct pdl_rtc_compiler *compiler = NULL;
    const pdl_status status = current_architecture(&parts.number);
    if (status != PDL_SUCCESS) {
        return status;
    }
    const int number = parts.number;
    const pdl_error before = *pdl_last_error();
    if (pdl_rtc_compiler_open(&compiler) == PDL_SUCCESS) {
        parts.number = best_known(compiler, number);
    } else {
        (void)pdl_error_record(&before);
    }
    if (parts.number == 0) {
        return PDL_FAIL(PDL_ERROR_NOT_SUPPORTED, "NVRTC %d.%d no longer compiles for sm_%d",
                        compiler->number / 1000, compiler->number % 1000 / 10, number);
    }
    if (parts.number != number && request->output == PDL_RTC_CUBIN) {
        return PDL_FAIL(
            PDL_ERROR_COMPILER_TOO_OLD,
            "the device is sm_%d, and NVRTC %d.%d supports up to sm_%d: PTX for that would work",
            number, compiler->number / 1000, compiler->number % 1000 / 10, parts.number);
    }
    if (request->output == PDL_RTC_DEFAULT) {
        request->output = parts.number == number ? PDL_RTC_CUBIN : PDL_RTC_PTX;
    }
    parts.real = request->output != PDL_RTC_PTX;
    write_target(request, parts);
    return PDL_SUCCESS;
}

/* ---- names and headers ---------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char *copy_trimmed(const char *text)
{
    size_t size = strlen(text);
    while (size > 0 && is_blank(text[0])) {
        text++;
        size--;
    }
    while (size > 0 && is_blank(text[size - 1])) {
        size--;
    }
    return strndup(text, size);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static pdl_status add_name(struct pdl_rtc_request *request, const char *name)
{
    if (name == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "names", "names[%zu] is NULL",
                              request->name_count);
    }
    char *copy = copy_trimmed(name);
    if (copy == NULL) {
        return PDL_NO_MEMORY();
    }
    if (copy[0] == '\0' || strpbrk(copy, "\n\r") != NULL) {
        free(copy);
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "names",
                              "\"%.100s\" is not a name expression", name);
    }
    request->names[request->name_count++] = copy;
    return PDL_SUCCESS;
}

static pdl_status make_names(struct pdl_rtc_request *request, const pdl_rtc_options *options,
                             const char *name)
{
    const size_t count = options->name_count + (name != NULL);
    pdl_status status = PDL_SUCCESS;
    if (count == 0) {
        return PDL_SUCCESS;
    }
    request->names = calloc(count, sizeof(*request->names));
    if (request->names == NULL) {
        return PDL_NO_MEMORY();
    }
    for (size_t i = 0; status == PDL_SUCCESS && i < options->name_count; i++) {
        status = add_name(request, options->names[i]);
    }
    if (status == PDL_SUCCESS && name != NULL) {
        status = add_name(request, name);
    }
    if (status != PDL_SUCCESS) {
        return status;
    }
    qsort(request->names, request->name_count, sizeof(*request->names), compare_names);
    size_t kept = 0;
    for (size_t i = 0; i < request->name_count; i++) {
        if (kept > 0 && strcmp(request->names[i], request->names[kept - 1]) == 0) {
            free((char *)request->names[i]);
        } else {
            request->names[kept++] = request->names[i];
        }
    }
    request->name_count = kept;
    return PDL_SUCCESS;
}

static pdl_status check_size(const char *text, const char *what, const char *name, size_t *size)
{
    *size = strnlen(text, PDL_RTC_SOURCE_MAX + (size_t)1);
    if (*size > PDL_RTC_SOURCE_MAX) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, what,
                              "%.100s has more than the %d bytes (64 MiB) that a text may have",
                              name, PDL_RTC_SOURCE_MAX);
    }
    return PDL_SUCCESS;
}

static pdl_status check_headers(struct pdl_rtc_request *request, const pdl_rtc_options *options)
{
    for (size_t i = 0; i < options->header_count; i++) {
        const pdl_rtc_header *header = &options->headers[i];
        size_t size = 0;
        if (header->name == NULL || header->name[0] == '\0' || header->text == NULL) {
            return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "headers", "headers[%zu] has no %s",
                                  i, header->text == NULL ? "text" : "name");
        }
        const pdl_status status = check_size(header->text, "headers", header->name, &size);
        if (status != PDL_SUCCESS) {
            return status;
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(header->name, options->headers[j].name) == 0) {
                return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "headers",
                                      "headers[%zu] and headers[%zu] are both \"%.100s\"", j, i,
                                      header->name);
            }
        }
    }
    request->headers = options->headers;
    request->header_count = options->header_count;
    return PDL_SUCCESS;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static pdl_status check_options(const pdl_rtc_options *options)
{
    const uint32_t flags = PDL_RTC_NO_CACHE;
    const struct {
        const char *name;
        const void *array;
        size_t count;
    } arrays[] = {
        {"arguments", (const void *)options->arguments, options->argument_count},
        {"names", (const void *)options->names, options->name_count},
        {"headers", options->headers, options->header_count},
    };
    if (options->output > PDL_RTC_PTX) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "output", "%u is no output",
                              (unsigned)options->output);
    }
    if ((options->flags & ~flags) != 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "flags",
                              "flags is 0x%x, and only 0x%x is valid", (unsigned)options->flags,
                              (unsigned)flags);
    }
    if (options->reserved != 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "reserved",
                              "reserved is %u, and must be 0", (unsigned)options->reserved);
    }
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        const bool missing = arrays[i].array == NULL && arrays[i].count > 0;
        if (missing || arrays[i].count > PDL_RTC_COUNT_MAX) {
            return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, arrays[i].name,
                                  missing ? "%s is NULL, and there are %zu of it"
                                          : "%s: %zu are too many",
                                  arrays[i].name, arrays[i].count);
        }
    }
    return PDL_SUCCESS;
}

static pdl_status make(struct pdl_rtc_request *request, const pdl_rtc_options *options,
                       const char *name)
{
    pdl_status status = check_options(options);
    if (status == PDL_SUCCESS) {
        status = check_size(request->source, "source", request->program, &request->source_size);
    }
    if (status == PDL_SUCCESS) {
        status = check_headers(request, options);
    }
    if (status == PDL_SUCCESS) {
        status = pdl_rtc_arguments_make(&request->arguments, options->arguments,
                                        options->argument_count);
    }
    if (status == PDL_SUCCESS) {
        status = make_names(request, options, name);
    }
    request->output = options->output;
    request->flags = options->flags;
    if (status == PDL_SUCCESS) {
        status = options->target != NULL ? given_target(request, options->target)
                                         : current_target(request);
    }
    return status;
}

pdl_status pdl_rtc_request_make(struct pdl_rtc_request *request, const char *program,
                                const char *source, const pdl_rtc_options *options,
                                const char *name)
{
    pdl_rtc_options known = PDL_RTC_OPTIONS_INIT;
    struct pdl_rtc_request made = {.program = program != NULL ? program : "kernel.cu",
                                   .source = source};
    pdl_status status = PDL_SUCCESS;
    if (source == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "source", "source is NULL");
    }
    if (options != NULL) {
        status = pdl_sized_resize(&known, sizeof(known), options, sizeof(known.size), "options");
    }
    if (status == PDL_SUCCESS) {
        status = make(&made, &known, name);
    }
    if (status != PDL_SUCCESS) {
        pdl_rtc_request_free(&made);
        return status;
    }
    *request = made;
    return PDL_SUCCESS;
}

void pdl_rtc_request_free(struct pdl_rtc_request *request)
{
    pdl_rtc_arguments_free(&request->arguments);
    for (size_t i = 0; i < request->name_count; i++) {
        free((char *)request->names[i]);
    }
    free((void *)request->names);
    memset(request, 0, sizeof(*request));
}
