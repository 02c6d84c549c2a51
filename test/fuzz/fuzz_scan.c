/* SPDX-License-Identifier: MIT */
/* What libpdl itself reads of images: the tokens of PTX, and the opcodes of cubins in fatbins. */
#include "code/scan.h"
#include "fuzz.h"

static bool expect(void *unused, const char *name, size_t length,
                   const struct pdl_scan_answer *answer)
{
    (void)unused;
    fuzz_expect(length == 0 || name != NULL);
    fuzz_expect((unsigned)answer->waits <= PDL_YES && (unsigned)answer->triggers <= PDL_YES);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t capabilities[] = {90, 103, 120};
    (void)pdl_scan_ptx_each((const char *)data, size, 0, expect, NULL);
    (void)pdl_scan_cubin_each(data, size, expect, NULL);
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
        (void)pdl_scan_fatbin_each(data, size, capabilities[i], false, expect, NULL);
    }
    return 0;
}
