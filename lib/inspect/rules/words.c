/* SPDX-License-Identifier: MIT */
/* How findings name parameters and variables, and what they advise about them. */
#include <stdio.h>
#include <string.h>

#include "inspect/rules/report.h"

static const char *ordinal_suffix(uint32_t number)
{
    if (number % 100 >= 11 && number % 100 <= 13) {
        return "th";
    }
    return number % 10 == 1 ? "st" : number % 10 == 2 ? "nd" : number % 10 == 3 ? "rd" : "th";
}

/* The size of the kernel's parameter that a source is in, in bytes. */
static uint32_t parameter_size(const struct pdl_report *report, const struct pdl_source *source)
{
    const struct pdl_ptx_function *function = report->flow->body->function;
    return report->module->parameters[function->first_parameter + source->index].size;
}

/* "parameter 'w' (1st)", "the 1st parameter", with where in it if it is a struct. */
static const char *parameter_text(const struct pdl_report *report, const struct pdl_source *source)
{
    const char *name = report->names != NULL ? report->names[source->index] : NULL;
    const uint32_t number = source->index + 1;
    const uint32_t size = parameter_size(report, source);
    char within[64] = "";
    if (source->kind == PDL_SOURCE_ADDRESS || size <= 8) {
        /* the parameter itself: a tensor map */
    } else if (source->offset != PDL_OFFSET_UNKNOWN) {
        (void)snprintf(within, sizeof(within),
                       source->indexed ? "a pointer in the array at byte %d of "
                                       : "the pointer at byte %d of ",
                       source->offset);
    } else {
        (void)snprintf(within, sizeof(within), "a pointer in ");
    }
    return name != NULL ? pdl_report_text(report, "%sparameter '%s' (%u%s)", within, name, number,
                                          ordinal_suffix(number))
                        : pdl_report_text(report, "%sthe %u%s parameter", within, number,
                                          ordinal_suffix(number));
}

/* The byte of the pointer in the parameter; -1 if it is not known, or is not one. */
static int32_t offset_of(const struct pdl_value *address)
{
    const struct pdl_source *source = &address->sources[0];
    return address->count == 1 && source->kind != PDL_SOURCE_ADDRESS &&
                   source->offset != PDL_OFFSET_UNKNOWN
               ? source->offset
               : -1;
}

/* " through parameter 'w' (1st)", " in the variable x", or "". Also sets the finding's parameter. */
const char *pdl_report_address(const struct pdl_report *report, const struct pdl_value *address,
                               pdl_lint_finding *finding)
{
    const struct pdl_name *names = report->module->names.names;
    const struct pdl_source *source = &address->sources[0];
    finding->parameter = -1;
    finding->parameter_offset = -1;
    if (address->count == 0) {
        return "";
    }
    if (source->kind == PDL_SOURCE_VARIABLE) {
        const struct pdl_name *name = &names[source->index];
        return pdl_report_text(report, " in or through the variable '%.*s'",
                               (int)(name->length < 200 ? name->length : 200), name->text);
    }
    if (source->index >= report->flow->body->function->parameter_count) {
        return "";
    }
    const char *parameter = parameter_text(report, source);
    if (address->count == 1 || address->sources[1].index == source->index) {
        finding->parameter = (int32_t)source->index;
        finding->parameter_name = report->names != NULL ? report->names[source->index] : NULL;
        finding->parameter_offset = offset_of(address);
    }
    return pdl_report_text(report, " through %s%s%s",
                           source->kind == PDL_SOURCE_POINTEE ? "a pointer loaded through " : "",
                           parameter, address->count > 1 || address->untraced ? " or another" : "");
}

/* Whether an address may be any pointer of a parameter. */
static bool may_be_any(const struct pdl_value *address, uint32_t parameter)
{
    bool any = false;
    for (unsigned i = 0; i < address->count; i++) {
        any = any || (address->sources[i].index == parameter &&
                      address->sources[i].offset == PDL_OFFSET_UNKNOWN);
    }
    return any;
}

/* "--constant-param t+8" for each pointer. `all` is set if one means a whole struct. */
static const char *options_of(const struct pdl_report *report, const struct pdl_value *address,
                              bool *all)
{
    const char *said[PDL_VALUE_SOURCES];
    const char *text = "";
    unsigned count = 0;
    for (unsigned i = 0; i < address->count; i++) {
        const struct pdl_source *source = &address->sources[i];
        const char *name = report->names != NULL ? report->names[source->index] : NULL;
        char number[16], part[16] = "";
        unsigned same = 0;
        (void)snprintf(number, sizeof(number), "%u", source->index + 1);
        if (parameter_size(report, source) > 8) {
            if (may_be_any(address, source->index)) {
                *all = true;
            } else {
                (void)snprintf(part, sizeof(part), "+%d", source->offset);
            }
        }
        said[count] =
            pdl_report_text(report, "--constant-param %s%s", name != NULL ? name : number, part);
        while (strcmp(said[same], said[count]) != 0) {
            same++;
        }
        if (same < count) {
            continue;
        }
        text = said[count] == NULL
                   ? NULL
                   : pdl_report_text(report, "%s%s%s", text, count > 0 ? " " : "", said[count]);
        count++;
    }
    return text;
}

/* ", or, if …, say so: …", where the pointer is one that can be named. */
const char *pdl_report_constant_advice(const struct pdl_report *report,
                                       const pdl_lint_finding *finding,
                                       const struct pdl_value *address)
{
    static const char before[] = ", or, if no kernel in flight writes that memory, say so: ";
    unsigned passed = 0, loaded = 0;
    for (unsigned i = 0; i < address->count; i++) {
        const struct pdl_source *source = &address->sources[i];
        loaded += source->kind == PDL_SOURCE_POINTEE && source->offset != PDL_OFFSET_UNKNOWN;
        passed += (source->kind == PDL_SOURCE_PARAMETER || source->kind == PDL_SOURCE_ADDRESS) &&
                  source->index < report->flow->body->function->parameter_count;
    }
    if (address->count == 0 || address->untraced) {
        return ""; /* nothing that could be said covers it */
    }
    if (loaded == address->count) {
        return pdl_report_text(report,
                               "%sPDL_CONSTANT_PARAM() with the pointer, which holds for all "
                               "pointers loaded through the same one",
                               before);
    }
    if (passed != address->count) {
        return "";
    }
    bool all = false;
    const char *options = options_of(report, address, &all);
    const char *marker = "";
    if (!all) {
        const bool one = address->count == 1 && finding->parameter_name != NULL &&
                         parameter_size(report, &address->sources[0]) <= 8;
        marker = one ? pdl_report_text(report, "PDL_CONSTANT_PARAM(%s), ", finding->parameter_name)
                     : "PDL_CONSTANT_PARAM() with the pointer, ";
    }
    return pdl_report_text(report, "%s%s%s%s", before, marker, options,
                           all ? ", which holds for all pointers in it" : "");
}
