/* SPDX-License-Identifier: MIT */
/* The readers of fatbins, cubins, ELF files and archives. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_inspect(data, size);
    return 0;
}
