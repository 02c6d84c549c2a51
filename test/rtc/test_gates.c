/* SPDX-License-Identifier: MIT */
/* What libpdl-rtc takes to depend on the version of NVRTC, against the real one. PDL_NVRTC chooses it. PDL_TEST_NVRTC,
 * such as 12.3, says what it has to be: then nothing is skipped. */
#include <stdio.h>

#include "rtc_support.h"

static const char kernel[] = "extern \"C\" __global__ void k(int *p) { *p = 1; }";

static const struct pdl_rtc_compiler *compiler;

static pdl_rtc_image *compiled;

static pdl_status compile(const char *source, const pdl_rtc_options *options)
{
    pdl_rtc_image_destroy(compiled);
    compiled = NULL;
    return pdl_rtc_compile("t.cu", source, options, &compiled);
}

static void the_compiler_is_the_one_that_was_asked_for(void **state)
{
    (void)state;
    int major = 0;
    int minor = 0;
    const char *expected = getenv("PDL_TEST_NVRTC");
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    assert_ok(pdl_rtc_compiler_get(&info));
    print_message("NVRTC %d\n", (int)info.version);
    if (expected != NULL) {
        assert_int_equal(sscanf(expected, "%d.%d", &major, &minor), 2);
        assert_int_equal(info.version, 1000 * major + 10 * minor);
    }
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

static int teardown(void **state)
{
    (void)state;
    pdl_rtc_image_destroy(compiled);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_compiler_is_the_one_that_was_asked_for),
        cmocka_unit_test(an_option_that_nvrtc_lacks_is_refused_by_its_name),
        cmocka_unit_test(each_listed_architecture_compiles_to_code_that_is_read),
    };
    if (pdl_rtc_compiler_open(&compiler) != PDL_SUCCESS) {
        print_message("%s\n", pdl_last_error()->message);
        return getenv("PDL_TEST_NVRTC") != NULL ? 1 : 77;
    }
    return cmocka_run_group_tests(tests, NULL, teardown);
}
