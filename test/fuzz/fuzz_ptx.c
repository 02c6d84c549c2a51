/* SPDX-License-Identifier: MIT */
/* The reader of PTX, and the analysis. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_inspect(data, size);
    return 0;
}
