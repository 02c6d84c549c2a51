/* SPDX-License-Identifier: MIT */
/* Compiles a kernel with libpdl-rtc and loads it. Takes the name of the status that the driver's loading must
 * come to. Where there is no compiler, that must be said. C99 and C++11. */
#include <pdl/rtc.h>
#include <stdio.h>
#include <string.h>

static const char source[] = "#include <pdl/device.cuh>\n"
                             "template <typename T> __global__ void twice(T *x)\n"
                             "{\n    PDL_WAIT();\n    *x *= 2;\n}\n";

static int failed(const char *what)
{
    printf("%s: %s\n", what, pdl_last_error()->message);
    return 1;
}

static int check(const pdl_rtc_image *image, const char *expected)
{
    const pdl_kernel_info *entry = pdl_rtc_image_find(image, "twice<float>");
    pdl_kernel *kernel = NULL;
    const char *status = NULL;
    if (entry == NULL || entry->waits != PDL_YES || entry->triggers != PDL_NO) {
        printf("the kernel is not what it should be\n");
        return 1;
    }
    status = pdl_status_name(pdl_rtc_image_kernel(image, "twice<float>", &kernel));
    pdl_kernel_destroy(kernel);
    return strcmp(status, expected) == 0 ? 0 : failed(status);
}

int main(int argc, char **argv)
{
    const char *name = "twice<float>";
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    pdl_rtc_options options = PDL_RTC_OPTIONS_INIT;
    pdl_rtc_cache *cache = NULL;
    pdl_rtc_image *image = NULL;
    int wrong = 1;
    desc.flags = PDL_RTC_CACHE_MEMORY_ONLY;
    options.target = "sm_90";
    options.names = &name;
    options.name_count = 1;
    if (pdl_rtc_cache_create(&desc, &cache) != PDL_SUCCESS) {
        return failed("no cache");
    }
    const pdl_status status = pdl_rtc_cache_compile(cache, "twice.cu", source, &options, &image);
    if (status == PDL_SUCCESS) {
        wrong = argc == 2 ? check(image, argv[1]) : 1;
    } else if (status == PDL_ERROR_NO_COMPILER) {
        wrong = strstr(pdl_last_error()->message, "NVRTC") != NULL ? 0 : failed("what it says");
    } else {
        failed("not compiled");
    }
    pdl_rtc_image_destroy(image);
    pdl_rtc_cache_destroy(cache);
    return wrong;
}
