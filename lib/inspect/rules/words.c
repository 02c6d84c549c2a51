/* SPDX-License-Identifier: MIT */
/* How findings name parameters and variables, and what they advise about them. */
#include <stdio.h>

#include "inspect/rules/report.h"

static const char *ordinal_suffix(uint32_t number)
{
    if (number % 100 >= 11 && number % 100 <= 13) {
        return "th";
    }
    return number % 10 == 1 ? "st" : number % 10 == 2 ? "nd" : number % 10 == 3 ? "rd" : "th";
}

/* The size of the kernel's parameter that a source is in, in bytes. */
uint32_t pdl_report_parameter_size(const struct pdl_report *report, const struct pdl_source *source)
{
    const struct pdl_ptx_function *function = report->flow->body->function;
    return report->module->parameters[function->first_parameter + source->index].size;
}

/* "parameter 'w' (1st)", "the 1st parameter", with where in it if it is a struct. */
static const char *parameter_text(const struct pdl_report *report, const struct pdl_source *source)
{
    const char *name = report->names != NULL ? report->names[source->index] : NULL;
    const uint32_t number = source->index + 1;
    const uint32_t size = pdl_report_parameter_size(report, source);
    char within[48] = "";
    if (source->kind == PDL_SOURCE_ADDRESS) {
        /* the parameter itself: a tensor map */
    } else if (size > 8 && source->offset != PDL_OFFSET_UNKNOWN) {
        (void)snprintf(within, sizeof(within), "the pointer at byte %d of ", source->offset);
    } else if (size > 8) {
        (void)snprintf(within, sizeof(within), "a pointer in ");
    }
    return name != NULL ? pdl_arena_format(pdl_report_arena(report), "%sparameter '%s' (%u%s)",
                                           within, name, number, ordinal_suffix(number))
                        : pdl_arena_format(pdl_report_arena(report), "%sthe %u%s parameter", within,
                                           number, ordinal_suffix(number));
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
        return pdl_arena_format(pdl_report_arena(report), " in or through the variable '%.*s'",
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
    if (parameter == NULL) {
        return NULL;
    }
    return pdl_arena_format(pdl_report_arena(report), " through %s%s%s",
                            source->kind == PDL_SOURCE_POINTEE ? "a pointer loaded through " : "",
                            parameter,
                            address->count > 1 || address->untraced ? " or another" : "");
}

/* ", or, if …, say so: …", where the pointer is one that can be named. */
const char *pdl_report_constant_advice(const struct pdl_report *report,
                                       const pdl_lint_finding *finding,
                                       const struct pdl_value *address)
{
    static const char text[] = ", or, if no kernel in flight writes that memory, say so: ";
    if (finding->parameter < 0) {
        return "";
    }
    if (address->sources[0].kind == PDL_SOURCE_POINTEE) {
        return pdl_report_idiom(report)->macros
                   ? pdl_arena_format(pdl_report_arena(report),
                                      "%sPDL_CONSTANT_PARAM() with the pointer", text)
                   : "";
    }
    const struct pdl_source *source = &address->sources[0];
    const uint32_t size = pdl_report_parameter_size(report, source);
    char field[16] = ""; /* a struct's pointers one by one */
    if (size > 8 && source->offset != PDL_OFFSET_UNKNOWN) {
        (void)snprintf(field, sizeof(field), "+%d", source->offset);
    }
    if (finding->parameter_name == NULL) {
        return pdl_arena_format(pdl_report_arena(report), "%s--constant-param %d%s", text,
                                finding->parameter + 1, field);
    }
    if (!pdl_report_idiom(report)->macros) {
        return pdl_arena_format(pdl_report_arena(report), "%s--constant-param %s%s", text,
                                finding->parameter_name, field);
    }
    return pdl_arena_format(
        pdl_report_arena(report), "%sPDL_CONSTANT_PARAM(%s%s), --constant-param %s%s", text,
        finding->parameter_name, field[0] != '\0' ? "…" : "", finding->parameter_name, field);
}
