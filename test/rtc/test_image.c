/* SPDX-License-Identifier: MIT */
/* Images: what they say, how kernels are found in them, and kernels made of them. */
#include "rtc/compile/image.h"

#include "rtc_support.h"

static pdl_rtc_image *image;

/* Compiles with the mock, whose code is PTX. */
static void compile(const char *const *names, size_t count)
{
    assert_ok(pdl_rtc_compile(
        "t.cu", "", &PDL_RTC_OPTIONS(.target = "compute_90", .names = names, .name_count = count),
        &image));
}

/* PTX of kernels; `body` of each. */
#define PTX               ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY(name, body) ".visible .entry " name "(.param .u64 p)\n{\n" body "ret;\n}\n"

static int setup(void **state)
{
    const int failed = mock_setup(state) != 0 || rtc_mock_setup(state) != 0;
    image = NULL;
    return failed;
}

static int teardown(void **state)
{
    pdl_rtc_image_destroy(image);
    return rtc_mock_teardown(state) != 0 || mock_teardown(state) != 0;
}

/* ---- what an image says --------------------------------------------------------------------- */

static void an_image_says_what_it_is(void **state)
{
    (void)state;
    size_t size = 0;
    rtc_mock.log = "a warning\n";
    compile(NULL, 0);
    assert_string_equal(pdl_rtc_image_code(image, &size), rtc_mock.code);
    assert_int_equal(size, strlen(rtc_mock.code) + 1);
    assert_ptr_equal(pdl_rtc_image_code(image, NULL), pdl_rtc_image_code(image, &size));
    assert_int_equal(pdl_rtc_image_output(image), PDL_RTC_PTX);
    assert_string_equal(pdl_rtc_image_target(image), "compute_90");
    assert_string_equal(pdl_rtc_image_log(image), "a warning\n");
    assert_int_equal(image->compiler_version, 13000);
    assert_int_equal(pdl_rtc_image_kernel_count(image), 1);
    assert_non_null(pdl_rtc_image_info(image, 0));
    assert_null(pdl_rtc_image_info(image, 1));
}

static void an_image_lives_until_its_last_reference(void **state)
{
    (void)state;
    compile(NULL, 0);
    assert_ptr_equal(pdl_rtc_image_retain(image), image);
    pdl_rtc_image_destroy(image);
    assert_string_equal(pdl_rtc_image_info(image, 0)->name, "k");
    pdl_rtc_image_destroy(NULL);
}

static void facts_are_those_of_the_code(void **state)
{
    (void)state;
    rtc_mock.code =
        PTX ENTRY("k", "griddepcontrol.wait;\n") ENTRY("l", "griddepcontrol.launch_dependents;\n");
    compile(NULL, 0);
    const pdl_kernel_info *k = pdl_rtc_image_find(image, "k");
    const pdl_kernel_info *l = pdl_rtc_image_find(image, "l");
    assert_int_equal(k->waits, PDL_YES);
    assert_int_equal(k->waits_always, PDL_YES);
    assert_int_equal(k->triggers, PDL_NO);
    assert_int_equal(k->device, -1);
    assert_int_equal(l->waits, PDL_NO);
    assert_int_equal(l->triggers, PDL_YES);
    assert_int_equal(k->parameter_count, 1);
    assert_int_equal(k->registers_per_thread, -1);
    assert_int_equal(k->static_shared_memory, -1);
}

static void code_that_cannot_be_read_keeps_its_names_and_knows_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"t<int>"};
    rtc_mock.code = "no code at all";
    rtc_mock.lowered = "_Z1tIiEvv";
    compile(names, 1);
    assert_int_equal(pdl_rtc_image_kernel_count(image), 1);
    const pdl_kernel_info *t = pdl_rtc_image_find(image, "t<int>");
    assert_string_equal(t->name, "_Z1tIiEvv");
    assert_int_equal(t->waits, PDL_UNKNOWN);
    assert_int_equal(t->triggers, PDL_UNKNOWN);
    assert_int_equal(t->registers_per_thread, -1);
    assert_int_equal(t->parameter_count, -1);
    assert_int_equal(t->static_shared_memory, -1);
}

static void two_expressions_of_one_kernel_are_both_there(void **state)
{
    (void)state;
    static const char *const names[] = {"t<int>", "t< int >"};
    rtc_mock.code = PTX ENTRY("_Z1tIiEvv", "") ENTRY("other", "");
    rtc_mock.lowered = "_Z1tIiEvv";
    compile(names, 2);
    assert_int_equal(pdl_rtc_image_kernel_count(image), 3);
    assert_string_equal(pdl_rtc_image_find(image, "t<int>")->name, "_Z1tIiEvv");
    assert_string_equal(pdl_rtc_image_find(image, "t< int >")->name, "_Z1tIiEvv");
    assert_string_equal(pdl_rtc_image_expression(image, 0), "t< int >");
    assert_string_equal(pdl_rtc_image_expression(image, 1), "t<int>");
    assert_string_equal(pdl_rtc_image_info(image, 2)->name, "other");
    assert_null(pdl_rtc_image_expression(image, 2));
    assert_null(pdl_rtc_image_expression(image, 3));
}

/* ---- finding -------------------------------------------------------------------------------- */

static void a_kernel_is_found_by_expression_and_lowered_name(void **state)
{
    (void)state;
    static const char *const names[] = {"t<int>"};
    rtc_mock.code =
        PTX ENTRY("_Z1tIiEvv", "") ENTRY("_Z4pairi", "") ENTRY("_Z4pairf", "") ENTRY("plain", "");
    rtc_mock.lowered = "_Z1tIiEvv";
    compile(names, 1);
    static const struct {
        const char *name, *lowered;
    } cases[] = {
        {"t<int>", "_Z1tIiEvv"}, {" t<int>\t", "_Z1tIiEvv"}, {"_Z1tIiEvv", "_Z1tIiEvv"},
        {"plain", "plain"},      {"_Z4pairf", "_Z4pairf"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const pdl_kernel_info *found = pdl_rtc_image_find(image, cases[i].name);
        assert_non_null(found);
        assert_string_equal(found->name, cases[i].lowered);
    }
}

static void what_is_not_there_is_not_found(void **state)
{
    (void)state;
    static const char *const names[] = {"", "t", "t<int>", "scale", "_Z5scale", "_Z5scalePff"};
    rtc_mock.code = PTX ENTRY("_Z1tIiEvv", "") ENTRY("_Z5scalePf", "");
    compile(NULL, 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (pdl_rtc_image_find(image, names[i]) != NULL) {
            fail_msg("\"%s\" was found", names[i]);
        }
    }
    assert_null(pdl_rtc_image_find(image, NULL));
}

/* ---- kernels -------------------------------------------------------------------------------- */

static pdl_kernel_info info_of(pdl_kernel *kernel)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_ok(pdl_kernel_get(kernel, 0, &info));
    return info;
}

static void a_kernel_is_loaded_by_its_lowered_name(void **state)
{
    (void)state;
    static const char *const names[] = {"t<int>"};
    pdl_kernel *kernel = NULL;
    rtc_mock.code = PTX ENTRY("fc1", "griddepcontrol.wait;\n");
    rtc_mock.lowered = "fc1";
    compile(names, 1);
    assert_ok(pdl_rtc_image_kernel(image, "t<int>", &kernel));
    pdl_rtc_image_destroy(image); /* the kernel stays */
    image = NULL;
    assert_int_equal(mock.live_libraries, 1);
    assert_int_equal(info_of(kernel).waits, PDL_YES);
    assert_int_equal(info_of(kernel).triggers, PDL_NO);
    pdl_kernel_destroy(kernel);
}

/* What the image was told when it was compiled stands above the loader's look at the code, where it is known. */
static void what_the_image_knows_is_declared(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        uint32_t waits, triggers; /* of the image */
        uint32_t waits_then, triggers_then;
    } cases[] = {
        {PTX ENTRY("fc1", ""), PDL_YES, PDL_YES, PDL_YES, PDL_YES},
        {PTX ENTRY("fc1", "griddepcontrol.wait;\n"), PDL_UNKNOWN, PDL_UNKNOWN, PDL_YES, PDL_NO},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_kernel *kernel = NULL;
        rtc_mock.code = cases[i].code;
        compile(NULL, 0);
        image->kernels[0].info.waits = cases[i].waits;
        image->kernels[0].info.triggers = cases[i].triggers;
        assert_ok(pdl_rtc_image_kernel(image, "fc1", &kernel));
        assert_int_equal(info_of(kernel).waits, cases[i].waits_then);
        assert_int_equal(info_of(kernel).triggers, cases[i].triggers_then);
        pdl_kernel_destroy(kernel);
        pdl_rtc_image_destroy(image);
        image = NULL;
    }
}

static void strict_mode_declares_no_kernel_to_wait(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    rtc_mock.code = PTX ENTRY("fc1", "") ENTRY("fc2", "griddepcontrol.wait;\n");
    compile(NULL, 0);
    image->kernels[0].info.waits = PDL_YES;
    image->kernels[1].info.waits = PDL_NO;
    static const char *const strict[] = {"1", "Yes", " on ", "prove"};
    for (size_t i = 0; i < COUNT_OF(strict); i++) {
        assert_int_equal(setenv("PDL_OVERLAP_STRICT", strict[i], 1), 0);
        assert_ok(pdl_rtc_image_kernel(image, "fc1", &kernel));
        assert_int_equal(info_of(kernel).waits, PDL_NO);
        pdl_kernel_destroy(kernel);
    }
    assert_ok(pdl_rtc_image_kernel(image, "fc2", &kernel));
    assert_int_equal(info_of(kernel).waits, PDL_NO);
    pdl_kernel_destroy(kernel);
    assert_int_equal(setenv("PDL_OVERLAP_STRICT", "0", 1), 0);
    assert_ok(pdl_rtc_image_kernel(image, "fc1", &kernel));
    assert_int_equal(info_of(kernel).waits, PDL_YES);
    pdl_kernel_destroy(kernel);
    assert_int_equal(unsetenv("PDL_OVERLAP_STRICT"), 0);
}

static void a_kernel_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    compile(NULL, 0);
    assert_refused(pdl_rtc_image_kernel(image, "nope<int>", &kernel), PDL_ERROR_NOT_FOUND, "name",
                   "t.cu", "nope<int>");
    assert_null(kernel);
}

static void what_the_driver_refuses_is_its_error(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    compile(NULL, 0);
    mock.image_result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    assert_refused(pdl_rtc_image_kernel(image, "k", &kernel), PDL_ERROR_NO_KERNEL_IMAGE, NULL, "");
    assert_null(kernel);
}

static void missing_arguments_are_refused(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    compile(NULL, 0);
    assert_refused(pdl_rtc_image_kernel(NULL, "k", &kernel), PDL_ERROR_INVALID_ARGUMENT, "image",
                   "NULL");
    assert_refused(pdl_rtc_image_kernel(image, NULL, &kernel), PDL_ERROR_INVALID_ARGUMENT, "name",
                   "NULL");
    assert_refused(pdl_rtc_image_kernel(image, "k", NULL), PDL_ERROR_INVALID_ARGUMENT, "kernel",
                   "NULL");
}

#define RTC_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RTC_TEST(an_image_says_what_it_is),
        RTC_TEST(an_image_lives_until_its_last_reference),
        RTC_TEST(facts_are_those_of_the_code),
        RTC_TEST(code_that_cannot_be_read_keeps_its_names_and_knows_nothing),
        RTC_TEST(two_expressions_of_one_kernel_are_both_there),
        RTC_TEST(a_kernel_is_found_by_expression_and_lowered_name),
        RTC_TEST(what_is_not_there_is_not_found),
        RTC_TEST(a_kernel_is_loaded_by_its_lowered_name),
        RTC_TEST(what_the_image_knows_is_declared),
        RTC_TEST(strict_mode_declares_no_kernel_to_wait),
        RTC_TEST(a_kernel_that_is_not_there_is_not_found),
        RTC_TEST(what_the_driver_refuses_is_its_error),
        RTC_TEST(missing_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
