/* SPDX-License-Identifier: MIT */
/* A user's source, compiled by libpdl-rtc. */
#include "tune/tune.h"

#include <stdlib.h>

#include <pdl/rtc.h>

#include "common/memory.h"

/* Failures are told here and now: no copy of the source has to be kept. */
static void keep_no_copies(void)
{
    (void)setenv("PDL_RTC_DUMP_DIR", "", 0);
}

struct pdl_rtc_image *tune_compile(const struct tune_source *source, int trigger, bool faulty,
                                   char **why)
{
    enum { OWN = 2 };
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    pdl_rtc_image *image = NULL;
    char *select = format_text("-DPDL_TRIGGER_SELECT=%d", trigger);
    const char **arguments = allocate(OWN + source->count, sizeof(*arguments));
    size_t count = 0;
    arguments[count++] = select;
    if (faulty) { /* every wait triggers and sleeps, too */
        arguments[count++] = "-DPDL_FAULT_INJECT=2";
    }
    for (size_t i = 0; i < source->count; i++) {
        arguments[count++] = source->options[i];
    }
    options.target = source->target;
    options.arguments = arguments;
    options.argument_count = count;
    options.names = source->names;
    options.name_count = source->name_count;
    keep_no_copies();
    const pdl_status status =
        pdl_rtc_cache_compile(NULL, source->path, source->text, &options, &image);
    if (status != PDL_SUCCESS) {
        *why = copy_text(pdl_last_error()->message);
    }
    if (status == PDL_ERROR_COMPILE) {
        (void)fputs(pdl_rtc_log(), stderr);
    }
    free((void *)arguments);
    free(select);
    return image;
}

pdl_status tune_compiled_kernel(const struct pdl_rtc_image *image, const char *name,
                                pdl_kernel **kernel)
{
    return pdl_rtc_image_kernel(image, name, kernel);
}

void tune_compiled_free(struct pdl_rtc_image *image)
{
    pdl_rtc_image_destroy(image);
}
