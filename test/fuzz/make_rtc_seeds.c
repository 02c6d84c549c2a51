/* SPDX-License-Identifier: MIT */
/* make_rtc_seeds DIRECTORY: writes files of a cache there for the fuzz target to start from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rtc/cache/entry.h"

static void write_seed(const char *directory, const char *name, const pdl_rtc_image *image)
{
    static const struct pdl_rtc_key key = {.text = {1, 2}, .check = {3, 4}, .compilers = 5};
    char path[512];
    unsigned char *bytes = NULL;
    size_t size = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || pdl_rtc_entry_write(image, &key, &bytes, &size) != PDL_SUCCESS ||
        fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    free(bytes);
}

int main(int count, char **arguments)
{
    struct pdl_rtc_image_kernel kernels[] = {
        {.expression = (char *)"f<int>",
         .name = (char *)"_Z1fIiEvv",
         .info = {.waits = PDL_YES, .waits_always = PDL_YES, .triggers = PDL_NO}},
        {.name = (char *)"g", .info = {.registers_per_thread = -1, .parameter_count = -1}}};
    struct pdl_rtc_image image = {.output = PDL_RTC_PTX,
                                  .target = "sm_90a",
                                  .program = (char *)"text.cu",
                                  .log = (char *)"a warning",
                                  .code = (unsigned char *)".version 8.0\n",
                                  .code_size = 14,
                                  .kernels = kernels,
                                  .kernel_count = 2,
                                  .compiler_version = 13000};
    if (count != 2) {
        return 2;
    }
    write_seed(arguments[1], "ptx", &image);
    image.output = PDL_RTC_CUBIN;
    image.kernel_count = 0;
    write_seed(arguments[1], "cubin", &image);
    return 0;
}
