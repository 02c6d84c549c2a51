/* SPDX-License-Identifier: MIT */
/* PDL_RTC_LTO: LTO-IR and what nvJitLink makes of it. */
#include "rtc_support.h"

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

static void lto_ends_in_machine_code_with_its_kernels(void **state)
{
    (void)state;
    const struct pdl_rtc_linker *linker;
    if (pdl_rtc_linker_open(&linker) != PDL_SUCCESS) {
        skip();
    }
    assert_ok(compile("#include <pdl/device.cuh>\n"
                      "template <class T> __global__ void t(T *p) { PDL_WAIT(); *p = *p / 3; }\n"
                      "extern \"C\" __global__ void k(int *p) { *p = N; }",
                      &PDL_RTC_OPTIONS(SM90, .output = PDL_RTC_LTO, NAMES("t<float>"),
                                       ARGUMENTS("-DN=4", "--use_fast_math", "-maxrregcount=32",
                                                 "-lineinfo", "-Xptxas", "-O1"))));
    assert_memory_equal(pdl_rtc_image_code(compiled, NULL), "\177ELF", 4);
    assert_int_equal(pdl_rtc_image_output(compiled), PDL_RTC_CUBIN);
    assert_int_equal(pdl_rtc_image_kernel_count(compiled), 2);
    assert_int_equal(pdl_rtc_image_find(compiled, "t<float>")->waits, PDL_YES);
    assert_non_null(pdl_rtc_image_find(compiled, "k"));
    done();
}

static void lto_links_only_what_is_whole(void **state)
{
    (void)state;
    const struct pdl_rtc_linker *linker;
    if (pdl_rtc_linker_open(&linker) != PDL_SUCCESS) {
        skip();
    }
    assert_refused(compile("extern __device__ int elsewhere(int);\n"
                           "extern \"C\" __global__ void k(int *p) { *p = elsewhere(*p); }",
                           &PDL_RTC_OPTIONS(SM90, .output = PDL_RTC_LTO, ARGUMENTS("-rdc=true"))),
                   PDL_ERROR_COMPILE, NULL, "elsewhere", "all of it in");
    assert_string_equal(pdl_last_error()->call, "nvJitLinkComplete");
    assert_non_null(strstr(pdl_rtc_log(), "elsewhere"));
}

static void fast_math_reaches_the_linker(void **state)
{
    (void)state;
    const struct pdl_rtc_linker *linker;
    if (pdl_rtc_linker_open(&linker) != PDL_SUCCESS) {
        skip();
    }
    static const char text[] = "extern \"C\" __global__ void k(float *p) { *p = *p / p[1]; }";
    size_t exact = 0;
    size_t fast = 0;
    assert_ok(compile(text, &PDL_RTC_OPTIONS(SM90, .output = PDL_RTC_LTO)));
    (void)pdl_rtc_image_code(compiled, &exact);
    done();
    assert_ok(compile(text, &PDL_RTC_OPTIONS(SM90, .output = PDL_RTC_LTO,
                                             ARGUMENTS("--ftz=true", "--prec-div=false"))));
    (void)pdl_rtc_image_code(compiled, &fast);
    done();
    assert_true(fast < exact); /* an exact division is a function of its own */
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
        const char *jitlink[4];
    } cases[] = {
        {"-DN", {NULL}},
        {"-ftz=true", {"-ftz=1"}},
        {"--ftz=false", {"-ftz=0"}},
        {"--prec-sqrt=true", {"-prec-sqrt=1"}},
        {"-prec-sqrt=false", {"-prec-sqrt=0"}},
        {"--prec-div=true", {"-prec-div=1"}},
        {"--prec-div=false", {"-prec-div=0"}},
        {"--fmad=true", {"-fma=1"}},
        {"-fmad=false", {"-fma=0"}},
        {"-use_fast_math", {"-ftz=1", "-prec-sqrt=0", "-prec-div=0", "-fma=1"}},
        {"--use_fast_math", {"-ftz=1", "-prec-sqrt=0", "-prec-div=0", "-fma=1"}},
        {"-lineinfo", {"-lineinfo"}},
        {"--generate-line-info", {"-lineinfo"}},
        {"-G", {"-g"}},
        {"--device-debug", {"-g"}},
        {"-maxrregcount=32", {"-maxrregcount=32"}},
        {"-Xptxas=-v", {"-Xptxas=-v"}},
    };
    pdl_rtc_linker_override(&linker);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int count = 2;
        assert_refused(
            compile("", &PDL_RTC_OPTIONS(SM90, .output = PDL_RTC_LTO, ARGUMENTS(cases[i].nvrtc))),
            PDL_ERROR_COMPILE, NULL, "nvJitLinkCreate", "4");
        assert_true(rtc_mock_had("-arch=sm_90") && rtc_mock_had("-lto"));
        for (; count < 6 && cases[i].jitlink[count - 2] != NULL; count++) {
            assert_true(rtc_mock_had(cases[i].jitlink[count - 2]));
        }
        assert_int_equal(rtc_mock.option_count, count);
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
        assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, .output = PDL_RTC_LTO)), cases[i].status,
                       NULL, cases[i].status == PDL_ERROR_COMPILE ? "nvJitLink" : "12.3");
        assert_int_equal(pdl_last_error()->cuda_result, cases[i].result);
    }
    link_result = 4;
}

static void the_linker_is_opened_for_lto_alone(void **state)
{
    (void)state;
    pdl_rtc_linker_override(NULL);
    rtc_library_name("PDL_NVJITLINK", "/nowhere/libnvJitLink.so");
    assert_ok(compile("", &PDL_RTC_OPTIONS(SM90)));
    done();
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, .output = PDL_RTC_LTO)),
                   PDL_ERROR_NO_COMPILER, NULL, "nvJitLink", "/nowhere/libnvJitLink.so");
    assert_int_equal(rtc_mock.compilations, 1); /* nothing is compiled for nothing */
    rtc_library_names_restore();
}

int main(void)
{
    const struct CMUnitTest real[] = {
        cmocka_unit_test(lto_ends_in_machine_code_with_its_kernels),
        cmocka_unit_test(lto_links_only_what_is_whole),
        cmocka_unit_test(fast_math_reaches_the_linker),
    };
    const struct CMUnitTest mocked[] = {
        RTC_MOCK_TEST(the_linker_gets_the_options_that_are_about_machine_code),
        RTC_MOCK_TEST(each_result_of_nvjitlink_becomes_a_status),
        RTC_MOCK_TEST(the_linker_is_opened_for_lto_alone),
    };
    return rtc_run(mocked, real);
}
