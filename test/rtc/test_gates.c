/* SPDX-License-Identifier: MIT */
/* What libpdl-rtc takes to depend on the versions of NVRTC and nvJitLink, against the real ones. PDL_NVRTC and
 * PDL_NVJITLINK choose them. PDL_TEST_NVRTC and PDL_TEST_NVJITLINK, such as 12.3, say what they have to be: then
 * nothing is skipped. */
#include <stdio.h>

#include "rtc_support.h"

static const char kernel[] = "extern \"C\" __global__ void k(int *p) { *p = 1; }";

static const struct pdl_rtc_compiler *compiler;
static const struct pdl_rtc_linker *linker; /* NULL: there is none */

static pdl_rtc_image *compiled;

static pdl_status compile(const char *source, const pdl_rtc_options *options)
{
    pdl_rtc_image_destroy(compiled);
    compiled = NULL;
    return pdl_rtc_compile("t.cu", source, options, &compiled);
}

/* 12030 for "12.3". */
static int expected(const char *variable)
{
    int major = 0;
    int minor = 0;
    const char *value = getenv(variable);
    if (value == NULL) {
        return 0;
    }
    assert_int_equal(sscanf(value, "%d.%d", &major, &minor), 2);
    return 1000 * major + 10 * minor;
}

static void the_compilers_are_those_that_were_asked_for(void **state)
{
    (void)state;
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    const int nvrtc = expected("PDL_TEST_NVRTC");
    const int nvjitlink = expected("PDL_TEST_NVJITLINK");
    assert_ok(pdl_rtc_compiler_get(&info));
    print_message("NVRTC %d, nvJitLink %d\n", (int)info.version, (int)info.linker_version);
    assert_true(nvrtc == 0 || info.version == nvrtc);
    assert_true(nvjitlink == 0 || info.linker_version == nvjitlink);
}

/* Whether NVRTC itself takes an option. */
static bool takes(const char *option)
{
    nvrtcProgram program = NULL;
    const char *const options[] = {"--gpu-architecture=compute_90", option};
    assert_int_equal(compiler->create(&program, kernel, "t.cu", 0, NULL, NULL), 0);
    const nvrtcResult result = compiler->compile(program, COUNT_OF(options), options);
    assert_int_equal(compiler->destroy(&program), 0);
    return result == 0;
}

/* Options that came after 12.0, or that a version may drop: what NVRTC says decides, and is passed on. */
static void an_option_that_nvrtc_lacks_is_refused_by_its_name(void **state)
{
    (void)state;
    static const char *const options[] = {
        "--std=c++20",
        "--minimal",
        "--split-compile=2",
        "--jump-table-density=50",
        "--device-stack-protector=true",
        "--Ofast-compile=mid",
        "--frandom-seed=3",
        "--no-such-option",
    };
    int taken = 0;
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(options[i], "="), options[i]);
        if (takes(options[i])) {
            taken++;
            assert_ok(compile(kernel, &PDL_RTC_OPTIONS(SM90, ARGUMENTS(options[i]))));
        } else {
            print_message("refused: %s\n", options[i]);
            assert_refused(compile(kernel, &PDL_RTC_OPTIONS(SM90, ARGUMENTS(options[i]))),
                           PDL_ERROR_OPTION, NULL, name + 2, "NVRTC");
        }
    }
    assert_true(taken >= 1 && taken < (int)COUNT_OF(options));
}

/* The machine code of an architecture that is newer than these may be unknown, but is never read wrong. */
static bool is_known(int architecture)
{
    static const int known[] = {90, 100, 101, 103, 107, 110, 120, 121};
    bool found = architecture < 90;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        found = found || known[i] == architecture;
    }
    return found;
}

static void each_listed_architecture_compiles_to_code_that_is_read(void **state)
{
    (void)state;
    static const char waiting[] = "#include <pdl/device.cuh>\n"
                                  "extern \"C\" __global__ void k(int *p)\n"
                                  "{ PDL_WAIT(); *p = 1; PDL_LAUNCH_DEPENDENTS(); }";
    char target[32];
    for (size_t i = 0; i < compiler->known_count; i++) {
        const int architecture = compiler->known[i];
        const int32_t waits = architecture >= 90 ? PDL_YES : PDL_NO;
        (void)snprintf(target, sizeof(target), "compute_%d", architecture);
        assert_ok(compile(waiting, &PDL_RTC_OPTIONS(.target = target)));
        assert_int_equal(pdl_rtc_image_find(compiled, "k")->waits, waits);
        (void)snprintf(target, sizeof(target), "sm_%d", architecture);
        assert_ok(compile(waiting, &PDL_RTC_OPTIONS(.target = target)));
        assert_memory_equal(pdl_rtc_image_code(compiled, NULL), "\177ELF", 4);
        const int32_t read = pdl_rtc_image_find(compiled, "k")->waits;
        assert_true(read == waits || (!is_known(architecture) && read == PDL_UNKNOWN));
    }
}

/* PTX of NVRTC's version or an older one links. An nvJitLink that is older may refuse it, and then that is said. */
static void an_nvjitlink_that_is_too_old_is_no_fault_of_the_text(void **state)
{
    (void)state;
    if (linker == NULL) {
        skip();
    }
    const pdl_instrument_options instrument = PDL_INSTRUMENT_OPTIONS_INIT;
    const pdl_status status = compile(kernel, &PDL_RTC_OPTIONS(SM90, .instrument = &instrument));
    if (linker->number >= compiler->number || status == PDL_SUCCESS) {
        assert_ok(status);
        assert_memory_equal(pdl_rtc_image_code(compiled, NULL), "\177ELF", 4);
    } else {
        print_message("%s\n", pdl_last_error()->message);
        assert_refused(status, PDL_ERROR_COMPILER_TOO_OLD, NULL, "nvJitLink", "NVRTC");
    }
}

static int teardown(void **state)
{
    (void)state;
    pdl_rtc_image_destroy(compiled);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_compilers_are_those_that_were_asked_for),
        cmocka_unit_test(an_option_that_nvrtc_lacks_is_refused_by_its_name),
        cmocka_unit_test(each_listed_architecture_compiles_to_code_that_is_read),
        cmocka_unit_test(an_nvjitlink_that_is_too_old_is_no_fault_of_the_text),
    };
    if (pdl_rtc_compiler_open(&compiler) != PDL_SUCCESS) {
        print_message("%s\n", pdl_last_error()->message);
        return getenv("PDL_TEST_NVRTC") != NULL ? 1 : 77;
    }
    if (pdl_rtc_linker_open(&linker) != PDL_SUCCESS) {
        print_message("%s\n", pdl_last_error()->message);
        linker = NULL;
        if (getenv("PDL_TEST_NVJITLINK") != NULL) {
            return 1;
        }
    }
    return cmocka_run_group_tests(tests, NULL, teardown);
}
