/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share. */
#ifndef PDL_TEST_FUZZ_H
#define PDL_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/inspect.h>

/* What libFuzzer calls with each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads a string, so that the sanitizers see one that is none. */
static inline size_t fuzz_read(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

static inline void fuzz_expect(int truth)
{
    if (!truth) {
        abort();
    }
}

static inline size_t fuzz_read_place(const pdl_inspect_place *place)
{
    return place != NULL ? fuzz_read(place->file) + fuzz_read(place->inlined) : 0;
}

/* Inspects an input, and looks at all that came of it. */
static inline void fuzz_inspect(const uint8_t *data, size_t size)
{
    static const char *const patterns[] = {"*"};
    pdl_inspection *inspection = NULL;
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.flags = PDL_INSPECT_NO_SOURCES; /* names in an input are no files to open */
    options.overlapped = patterns;
    options.overlapped_count = 1;
    options.max_text = 1 << 24;
    const pdl_status status = pdl_inspect_memory(data, size, "input", &options, &inspection);
    if (status != PDL_SUCCESS) {
        fuzz_expect(inspection == NULL && fuzz_read(pdl_inspect_last_error()->message) > 0);
        return;
    }
    size_t kernels = 0;
    size_t findings = 0;
    size_t length = 0;
    for (size_t i = 0; i < pdl_inspection_image_count(inspection); i++) {
        const pdl_inspect_image *image = pdl_inspection_image(inspection, i);
        length += fuzz_read(image->origin) + fuzz_read(image->unread);
        fuzz_expect(image->first_kernel == kernels);
        kernels += image->kernel_count;
    }
    fuzz_expect(kernels == pdl_inspection_kernel_count(inspection));
    for (size_t i = 0; i < kernels; i++) {
        const pdl_inspect_kernel *kernel = pdl_inspection_kernel(inspection, i);
        length += fuzz_read(kernel->info->name) + fuzz_read_place(kernel->place);
        fuzz_expect(kernel->first_finding == findings);
        findings += kernel->finding_count;
    }
    fuzz_expect(findings == pdl_inspection_finding_count(inspection));
    for (size_t i = 0; i < findings; i++) {
        const pdl_lint_finding *finding = pdl_inspection_finding(inspection, i);
        length += fuzz_read(finding->message) + fuzz_read(finding->advice);
        length += fuzz_read(finding->suppressed) + fuzz_read(finding->parameter_name);
        fuzz_expect(finding->kernel < kernels && finding->count > 0);
        for (uint32_t p = 0; p < finding->place_count; p++) {
            length += fuzz_read_place(finding->places[p]);
        }
    }
    for (size_t i = 0; i < pdl_inspection_marker_count(inspection); i++) {
        const pdl_lint_suppression *marker = pdl_inspection_marker(inspection, i);
        length += fuzz_read(marker->origin) + fuzz_read(marker->text) + fuzz_read(marker->reason);
    }
    fuzz_expect(length > 0);
    pdl_inspection_destroy(inspection);
}

#endif /* PDL_TEST_FUZZ_H */
