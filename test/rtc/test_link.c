/* SPDX-License-Identifier: MIT */
/* What nvJitLink is given, and what its results mean: it makes machine code of instrumented PTX. */
#include "rtc_support.h"

#define INSTRUMENTED SM90, .instrument = &PDL_INSTRUMENT_OPTIONS(.wait = PDL_INSTRUMENT_ENTRY)

static pdl_rtc_image *compiled; /* of the last success; each test frees it */

static pdl_status compile(const char *source, const pdl_rtc_options *options)
{
    return pdl_rtc_compile("t.cu", source, options, &compiled);
}

static void done(void)
{
    pdl_rtc_image_destroy(compiled);
    compiled = NULL;
}

/* nvJitLink loses what it has made of a text that it then refuses. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libnvJitLink\n";
}

static void only_what_is_whole_is_linked(void **state)
{
    (void)state;
    const struct pdl_rtc_linker *linker;
    if (pdl_rtc_linker_open(&linker) != PDL_SUCCESS) {
        skip();
    }
    assert_refused(compile("extern __device__ int elsewhere(int);\n"
                           "extern \"C\" __global__ void k(int *p) { *p = elsewhere(*p); }",
                           &PDL_RTC_OPTIONS(INSTRUMENTED, ARGUMENTS("-rdc=true"))),
                   PDL_ERROR_COMPILE, NULL, "elsewhere", "all of it in");
    assert_string_equal(pdl_last_error()->call, "nvJitLinkComplete");
    assert_non_null(strstr(pdl_rtc_log(), "elsewhere"));
}

static nvJitLinkResult link_result = 4;

static nvJitLinkResult link_create(nvJitLinkHandle *handle, uint32_t count, const char **options)
{
    (void)handle;
    rtc_mock.option_count = (int)count;
    for (uint32_t i = 0; i < count && i < COUNT_OF(rtc_mock.options); i++) {
        (void)snprintf(rtc_mock.options[i], sizeof(rtc_mock.options[i]), "%s", options[i]);
    }
    return link_result; /* nothing more is wanted */
}

static void the_linker_gets_the_options_that_are_about_machine_code(void **state)
{
    (void)state;
    static const struct pdl_rtc_linker linker = {.create = link_create, .number = 13000};
    static const struct {
        const char *nvrtc;
        const char *jitlink;
    } cases[] = {
        {"-DN", NULL},
        {"-ftz=true", NULL},
        {"-use_fast_math", NULL},
        {"-lineinfo", "-lineinfo"},
        {"--generate-line-info", "-lineinfo"},
        {"-G", "-g"},
        {"--device-debug", "-g"},
        {"-maxrregcount=32", "-maxrregcount=32"},
        {"-Xptxas=-v", "-Xptxas=-v"},
    };
    pdl_rtc_linker_override(&linker);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_refused(compile("", &PDL_RTC_OPTIONS(INSTRUMENTED, ARGUMENTS(cases[i].nvrtc))),
                       PDL_ERROR_COMPILE, NULL, "nvJitLinkCreate", "4");
        assert_true(rtc_mock_had("-arch=sm_90"));
        assert_true(cases[i].jitlink == NULL || rtc_mock_had(cases[i].jitlink));
        assert_int_equal(rtc_mock.option_count, cases[i].jitlink == NULL ? 1 : 2);
    }
}

static void each_result_of_nvjitlink_becomes_a_status(void **state)
{
    (void)state;
    static const struct pdl_rtc_linker linker = {.create = link_create, .number = 12030};
    static const struct {
        nvJitLinkResult result;
        pdl_status status;
    } cases[] = {{1, PDL_ERROR_OPTION},
                 {11, PDL_ERROR_OPTION},
                 {14, PDL_ERROR_COMPILER_TOO_OLD},
                 {16, PDL_ERROR_COMPILER_TOO_OLD},
                 {17, PDL_ERROR_COMPILER_TOO_OLD},
                 {3, PDL_ERROR_COMPILE},
                 {6, PDL_ERROR_COMPILE},
                 {99, PDL_ERROR_COMPILE}};
    pdl_rtc_linker_override(&linker);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        link_result = cases[i].result;
        assert_refused(compile("", &PDL_RTC_OPTIONS(INSTRUMENTED)), cases[i].status, NULL,
                       cases[i].status == PDL_ERROR_COMPILE ? "nvJitLink" : "12.3");
        assert_int_equal(pdl_last_error()->cuda_result, cases[i].result);
    }
    link_result = 4;
}

static void the_linker_is_opened_for_machine_code_of_instrumented_kernels_alone(void **state)
{
    (void)state;
    pdl_rtc_linker_override(NULL);
    rtc_library_name("PDL_NVJITLINK", "/nowhere/libnvJitLink.so");
    assert_ok(compile("", &PDL_RTC_OPTIONS(SM90)));
    done();
    assert_refused(compile("", &PDL_RTC_OPTIONS(INSTRUMENTED)), PDL_ERROR_NO_COMPILER, NULL,
                   "nvJitLink", "/nowhere/libnvJitLink.so");
    assert_int_equal(rtc_mock.compilations, 1); /* nothing is compiled for nothing */
    rtc_library_names_restore();
}

int main(void)
{
    const struct CMUnitTest real[] = {
        cmocka_unit_test(only_what_is_whole_is_linked),
    };
    const struct CMUnitTest mocked[] = {
        RTC_MOCK_TEST(the_linker_gets_the_options_that_are_about_machine_code),
        RTC_MOCK_TEST(each_result_of_nvjitlink_becomes_a_status),
        RTC_MOCK_TEST(the_linker_is_opened_for_machine_code_of_instrumented_kernels_alone),
    };
    return rtc_run(mocked, real);
}
