/* SPDX-License-Identifier: MIT */
/* The reader of suppressions. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdl_lint_suppressions *suppressions = NULL;
    size_t length = 0;
    if (pdl_lint_suppressions_read((const char *)data, size, "input", &suppressions) !=
        PDL_SUCCESS) {
        fuzz_expect(suppressions == NULL && fuzz_read(pdl_inspect_last_error()->message) > 0);
        return 0;
    }
    for (size_t i = 0; i < pdl_lint_suppressions_count(suppressions); i++) {
        const pdl_lint_suppression *one = pdl_lint_suppressions_get(suppressions, i);
        length += fuzz_read(one->origin) + fuzz_read(one->text);
        fuzz_expect(fuzz_read(one->reason) > 0);
    }
    fuzz_expect(length > 0 || pdl_lint_suppressions_count(suppressions) == 0);
    pdl_lint_suppressions_destroy(suppressions);
    return 0;
}
