/* SPDX-License-Identifier: MIT */
/* What libpdl reads in a file of pdltool tune: FILE (KERNEL GRID.X BLOCK.X)... A line for each: overlap
 * or serial, the trigger and the gain; nothing where no line of the file is about it. */
#include <stdio.h>
#include <stdlib.h>

#include <pdl/policy.h>

int main(int argc, char **argv)
{
    pdl_policy policy = PDL_POLICY_INIT;
    policy.tuned = argc > 1 ? argv[1] : NULL;
    if (pdl_policy_set(&policy) != PDL_SUCCESS) {
        (void)fprintf(stderr, "%s\n", pdl_last_error()->message);
        return 1;
    }
    for (int i = 2; i + 2 < argc; i += 3) {
        const uint32_t grid[3] = {(uint32_t)strtoul(argv[i + 1], NULL, 10), 1, 1};
        const uint32_t block[3] = {(uint32_t)strtoul(argv[i + 2], NULL, 10), 1, 1};
        pdl_tuned found = PDL_TUNED_INIT;
        if (pdl_tuned_find(argv[i], grid, block, &found) != PDL_SUCCESS) {
            return 1;
        }
        if (found.line == 0) {
            (void)puts("nothing");
        } else {
            (void)printf("%s %d %.3f\n", found.overlap == PDL_YES ? "overlap" : "serial",
                         found.has_trigger != 0 ? (int)found.trigger : -2, found.gain);
        }
    }
    return 0;
}
