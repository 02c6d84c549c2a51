/* SPDX-License-Identifier: MIT */
/* What libpdl itself reads of images: the tokens of PTX, and the opcodes of cubins in fatbins. */
#include "code/scan.h"
#include "fuzz.h"

static void expect_answer(struct pdl_scan_answer answer)
{
    fuzz_expect((unsigned)answer.waits <= PDL_YES && (unsigned)answer.triggers <= PDL_YES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t capabilities[] = {90, 103, 120};
    expect_answer(pdl_scan_ptx((const char *)data, size, "fc1"));
    expect_answer(pdl_scan_cubin_kernel(data, size, "fc1"));
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
        expect_answer(pdl_scan_fatbin(data, size, "fc1", capabilities[i]));
    }
    return 0;
}
