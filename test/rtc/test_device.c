/* SPDX-License-Identifier: MIT */
/* The device headers, by the NVRTC that is here: every macro and function of them,
 * for standards of C++ and for targets with and without PDL. */
#include "rtc_support.h"

#define ANY    "--std=c++11", "--std=c++14", "--std=c++17", "--std=c++20"
#define OLDEST "--std=c++11"

static const struct {
    const char *file, *target, *define, *standards[4];
} cases[] = {
    {"device_macros.cu", "compute_90", "-DPDL_TRIGGER_SELECT=1", {ANY}},
    {"device_macros.cu", "compute_80", "-DN", {OLDEST}},
    {"device_macros.cu", "sm_90", "-DPDL_FAULT_INJECT=1", {"--std=c++17"}},
    {"device_macros.cu", "sm_90", "-DPDL_FAULT_INJECT=2", {"--std=c++17"}},
    {"device_trace.cu", "compute_90", "-DPDL_TRACE=1", {ANY}},
    {"device_trace.cu", "compute_80", "-DPDL_TRACE=0", {OLDEST}},
    {"device_vectors.cu", "compute_90", "-DN", {OLDEST, "--std=c++20"}},
    {"device_vectors.cu", "compute_80", "-DN", {OLDEST}},
};

static void every_macro_type_and_function_compiles_without_a_warning(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/%s", PDL_TEST_SOURCES, cases[i].file);
        char *text = rtc_file_read(path);
        for (size_t s = 0; s < COUNT_OF(cases[i].standards) && cases[i].standards[s] != NULL; s++) {
            pdl_rtc_image *compiled = NULL;
            assert_ok(pdl_rtc_compile(
                cases[i].file, text,
                &PDL_RTC_OPTIONS(.target = cases[i].target,
                                 ARGUMENTS(cases[i].standards[s], cases[i].define,
                                           "-DPDL_FAULT_INJECT_NS=5", "-I" PDL_TEST_HEADERS)),
                &compiled));
            assert_string_equal(pdl_rtc_log(), "");
            pdl_rtc_image_destroy(compiled);
        }
        free(text);
    }
}

/* NVRTC 12.0 has no early clobber: "=&l". */
static void no_constraint_is_one_that_the_oldest_nvrtc_refuses(void **state)
{
    (void)state;
    static const char *const headers[] = {"device", "types", "vector", "trace", "cdp"};
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/pdl/%s.cuh", PDL_TEST_HEADERS, headers[i]);
        char *text = rtc_file_read(path);
        for (const char *at = text; (at = strchr(at, '"')) != NULL; at++) {
            const size_t size = strspn(at + 1, "=+&%");
            const bool constraint = size > 0 && at[1 + size] != '\0' && at[2 + size] == '"';
            assert_null(constraint ? memchr(at + 1, '&', size) : NULL);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest mocked[] = {
        cmocka_unit_test(no_constraint_is_one_that_the_oldest_nvrtc_refuses),
    };
    const struct CMUnitTest real[] = {
        cmocka_unit_test(every_macro_type_and_function_compiles_without_a_warning),
    };
    return rtc_run(mocked, real);
}
