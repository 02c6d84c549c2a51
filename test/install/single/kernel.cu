/* SPDX-License-Identifier: MIT */
/* CUDA that has libpdl from pdl.h alone, as a package that is compiled where its user is. Takes the name of the
 * status that loading the driver comes to. */
#define PDL_IMPLEMENTATION
#include "pdl.h"

#include <stdio.h>
#include <string.h>

__global__ void kernel(int *out)
{
    PDL_WAIT();
    PDL_LAUNCH_DEPENDENTS();
    *out = 1;
}

int main(int argc, char **argv)
{
    int *nowhere = NULL;
    const pdl_launch_desc desc = pdl_launch_desc_make(1, 1, 0, NULL, PDL_OVERLAP_AUTO);
    const char *name = pdl_status_name(pdl_launch_kernel(desc, kernel, nowhere));
    printf("%s: %s\n", name, pdl_last_error()->message);
    return argc == 2 && strcmp(argv[1], name) == 0 ? 0 : 1;
}
