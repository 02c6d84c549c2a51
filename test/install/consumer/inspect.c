/* SPDX-License-Identifier: MIT */
/* Reads a kernel with libpdl-inspect, linked with nothing else of libpdl or, WITH_PDL, with both. */
#include <pdl/inspect.h>
#include <stdio.h>
#include <string.h>

static const char ptx[] = ".version 7.8\n.target sm_90\n.address_size 64\n"
                          ".visible .entry kernel()\n{\n\tgriddepcontrol.wait;\n\tret;\n}\n";

int main(void)
{
    pdl_inspection *inspection = NULL;
    const pdl_inspect_kernel *kernel = NULL;
    int wrong = 0;
    if (pdl_inspect_memory(ptx, strlen(ptx), "kernel.ptx", NULL, &inspection) != PDL_SUCCESS) {
        printf("%s\n", pdl_inspect_last_error()->message);
        return 1;
    }
    kernel = pdl_inspection_kernel(inspection, 0);
    if (kernel == NULL || kernel->info->waits != PDL_YES || kernel->info->triggers != PDL_NO) {
        printf("the kernel is not what it should be\n");
        wrong = 1;
    }
    pdl_inspection_destroy(inspection);
#ifdef WITH_PDL
    {
        /* What both libraries are made of is in this program once or twice. It may lack a driver. */
        pdl_image *loaded = NULL;
        if (pdl_image_load(ptx, sizeof(ptx), &loaded) == PDL_SUCCESS) {
            pdl_image_free(loaded);
        }
    }
#endif
    return wrong;
}
