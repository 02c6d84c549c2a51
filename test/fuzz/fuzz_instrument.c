/* SPDX-License-Identifier: MIT */
/* PTX that is instrumented, in each mode: what comes out can be read, waits, and stays as it is the next time. */
#include <stdbool.h>

#include <pdl/instrument.h>

#include "fuzz.h"

static const char *const patterns[] = {"*"};

static void inspect_result(const char *text, size_t size, const pdl_instrument_options *how,
                           const pdl_instrumentation *result)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    pdl_inspection *inspection = NULL;
    options.flags = PDL_INSPECT_NO_SOURCES;
    options.overlapped = patterns;
    options.overlapped_count = 1;
    options.constant_params = how->constant_params;
    options.constant_param_count = how->constant_param_count;
    fuzz_expect(pdl_inspect_memory(text, size, "result", &options, &inspection) == PDL_SUCCESS);
    fuzz_expect(pdl_inspection_kernel_count(inspection) ==
                pdl_instrumentation_kernel_count(result));
    for (size_t i = 0; i < pdl_inspection_finding_count(inspection); i++) {
        const pdl_lint_finding *finding = pdl_inspection_finding(inspection, i);
        fuzz_expect(pdl_instrumentation_kernel(result, finding->kernel)->action !=
                        PDL_INSTRUMENT_DONE ||
                    finding->level == PDL_LINT_NOTE || finding->suppressed != NULL);
    }
    pdl_inspection_destroy(inspection);
}

/* The bodies of kernels that are refused are not read. */
static bool any_done(const pdl_instrumentation *result)
{
    bool any = false;
    for (size_t i = 0; i < pdl_instrumentation_kernel_count(result); i++) {
        any = any || pdl_instrumentation_kernel(result, i)->action == PDL_INSTRUMENT_DONE;
    }
    return any;
}

static void again(const char *text, size_t size, const pdl_instrument_options *options)
{
    pdl_instrumentation *result = NULL;
    size_t length;
    fuzz_expect(pdl_instrument(text, size, "result", options, &result) == PDL_SUCCESS);
    const char *same = pdl_instrumentation_text(result, &length);
    fuzz_expect(length == size && memcmp(same, text, size) == 0);
    pdl_instrumentation_destroy(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int32_t mode = 0; mode < 8; mode++) {
        pdl_instrument_options options = PDL_INSTRUMENT_OPTIONS_INIT;
        pdl_instrumentation *result = NULL;
        size_t length;
        options.flags = PDL_INSTRUMENT_NO_SOURCES | (mode % 2 ? PDL_INSTRUMENT_RAISE_TARGET : 0);
        options.wait = mode % 2;
        options.trigger = mode < 6 ? mode / 2 : PDL_INSTRUMENT_TRIGGER_POINT + 1;
        if (mode == 7) {
            options.constant_params = patterns;
            options.constant_param_count = 1;
        }
        const pdl_status status =
            pdl_instrument((const char *)data, size, "input", &options, &result);
        if (status != PDL_SUCCESS) {
            fuzz_expect(result == NULL && fuzz_read(pdl_inspect_last_error()->message) > 0);
            return 0;
        }
        const char *text = pdl_instrumentation_text(result, &length);
        fuzz_expect(length >= size || pdl_instrumentation_kernel_count(result) > 0);
        if (any_done(result)) {
            inspect_result(text, length, &options, result);
        }
        again(text, length, &options);
        pdl_instrumentation_destroy(result);
    }
    return 0;
}
