/* SPDX-License-Identifier: MIT */
/* What is asked for, checked and in one form: options, targets, names, headers. */
#include "rtc/request/request.h"

#include "mock.h"
#include "rtc/request/includes.h"
#include "rtc_support.h"

static struct pdl_rtc_request request;

static pdl_status make(const pdl_rtc_options *options)
{
    return pdl_rtc_request_make(&request, NULL, "", options, NULL);
}

/* Arguments in a literal. */
#define WITH(...)                                                                                  \
    .target = "sm_90", .arguments = (const char *const[]){__VA_ARGS__},                            \
    .argument_count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

/* ---- options of NVRTC ----------------------------------------------------------------------- */

static void every_spelling_of_an_option_becomes_one(void **state)
{
    (void)state;
    static const struct {
        const char *given[2];
        const char *canonical;
    } cases[] = {
        {{"-DN=4"}, "-DN=4"},
        {{"-D", "N=4"}, "-DN=4"},
        {{"-D N=4"}, "-DN=4"},
        {{"-D=N=4"}, "-DN=4"},
        {{" -DN=4 "}, "-DN=4"},
        {{"--define-macro=N=4"}, "-DN=4"},
        {{"--define-macro", "N=4"}, "-DN=4"},
        {{"-UN"}, "-UN"},
        {{"--undefine-macro", "N"}, "-UN"},
        {{"-Idir"}, "-Idir"},
        {{"-I dir"}, "-Idir"},
        {{"-I", "dir"}, "-Idir"},
        {{"--include-path=dir"}, "-Idir"},
        {{"-std=c++17"}, "--std=c++17"},
        {{"--std", "c++17"}, "--std=c++17"},
        {{"-include", "a.h"}, "--pre-include=a.h"},
        {{"--pre-include=a.h"}, "--pre-include=a.h"},
        {{"-maxrregcount=32"}, "--maxrregcount=32"},
        {{"-Xptxas", "-O1"}, "--ptxas-options=-O1"},
        {{"-ftz=true"}, "--ftz=true"},
        {{"--ftz", "true"}, "--ftz=true"},
        {{"--something-new=3"}, "--something-new=3"},
        {{"-G"}, "-G"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_ok(make(&PDL_RTC_OPTIONS(.target = "sm_90", .arguments = cases[i].given,
                                        .argument_count = cases[i].given[1] != NULL ? 2 : 1)));
        assert_int_equal(request.arguments.count, 1);
        assert_string_equal(request.arguments.items[0], cases[i].canonical);
        pdl_rtc_request_free(&request);
    }
}

static void the_order_of_options_stays(void **state)
{
    (void)state;
    assert_ok(make(&PDL_RTC_OPTIONS(WITH("-DA", "-I", "x", "-DB", "-UA"))));
    assert_int_equal(request.arguments.count, 4);
    assert_string_equal(request.arguments.items[0], "-DA");
    assert_string_equal(request.arguments.items[1], "-Ix");
    assert_string_equal(request.arguments.items[2], "-DB");
    assert_string_equal(request.arguments.items[3], "-UA");
    pdl_rtc_request_free(&request);
}

static void include_directories_and_pre_includes_are_listed_in_order(void **state)
{
    (void)state;
    assert_ok(
        make(&PDL_RTC_OPTIONS(WITH("-Ib", "--pre-include=p", "-I", "a", "-DX", "-include", "q"))));
    assert_int_equal(request.arguments.directory_count, 2);
    assert_string_equal(request.arguments.directories[0], "b");
    assert_string_equal(request.arguments.directories[1], "a");
    assert_int_equal(request.arguments.pre_include_count, 2);
    assert_string_equal(request.arguments.pre_includes[0], "p");
    assert_string_equal(request.arguments.pre_includes[1], "q");
    pdl_rtc_request_free(&request);
}

static void an_option_that_lacks_its_value_is_left_to_the_compiler(void **state)
{
    (void)state;
    assert_ok(make(&PDL_RTC_OPTIONS(WITH("--ftz", "-I"))));
    assert_int_equal(request.arguments.count, 2);
    assert_string_equal(request.arguments.items[0], "--ftz");
    assert_string_equal(request.arguments.items[1], "-I");
    assert_int_equal(request.arguments.directory_count, 0);
    pdl_rtc_request_free(&request);
}

/* A hit would not write the file that such an option asks for. */
static void an_option_that_is_not_known_goes_through_and_is_noted(void **state)
{
    (void)state;
    static const char *const known[] = {
        "-DA",       "--std=c++17", "-lineinfo", "-use_fast_math",      "-Xptxas=-v", "-Ia",
        "-rdc=true", "--ftz=false", "-w",        "--ptxas-options=-O1", "-fmad=true", "--minimal"};
    static const char *const unknown[] = {"--time=x",
                                          "--time",
                                          "--fdevice-time-trace=x",
                                          "-arch=sm_80",
                                          "-dlto",
                                          "-Xnvvm=-O1",
                                          "--use-pch=x",
                                          "-rdc",
                                          "--ftz",
                                          "-Xptxas=-o x",
                                          "-Xptxas=--output-file=x",
                                          "-Xptxas=-v,-o",
                                          "-Xptxas=-arch=sm_80",
                                          "file.cu",
                                          "",
                                          "@file",
                                          "-I",
                                          "--pre-include="};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        assert_ok(make(&PDL_RTC_OPTIONS(WITH(known[i]))));
        if (request.arguments.unknown) {
            fail_msg("%s is not known", known[i]);
        }
        pdl_rtc_request_free(&request);
    }
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        struct pdl_rtc_dependencies found;
        assert_ok(make(&PDL_RTC_OPTIONS(WITH("-DA", unknown[i]))));
        assert_int_equal(request.arguments.count, 2);
        if (!request.arguments.unknown || strncmp(unknown[i], "-X", 2) != 0) {
            assert_string_equal(request.arguments.items[1], unknown[i]);
        }
        assert_true(request.arguments.unknown);
        assert_ok(pdl_rtc_includes_find(&request, &found));
        assert_non_null(found.unknown);
        pdl_rtc_includes_free(&found);
        pdl_rtc_request_free(&request);
    }
    assert_refused(make(&PDL_RTC_OPTIONS(WITH("-DA", NULL, "-DB"))), PDL_ERROR_INVALID_ARGUMENT,
                   "arguments", "arguments[1]", "3");
}

static void a_value_is_not_taken_for_an_option(void **state)
{
    (void)state;
    assert_ok(make(&PDL_RTC_OPTIONS(WITH("-D", "--time", "-I", "-arch=sm_80"))));
    assert_int_equal(request.arguments.count, 2);
    assert_false(request.arguments.unknown);
    pdl_rtc_request_free(&request);
}

/* ---- targets -------------------------------------------------------------------------------- */

static void a_target_says_what_comes_out(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        uint32_t output;
        const char *becomes;
        uint32_t makes;
    } cases[] = {
        {"sm_90", PDL_RTC_DEFAULT, "sm_90", PDL_RTC_CUBIN},
        {"sm_90a", PDL_RTC_DEFAULT, "sm_90a", PDL_RTC_CUBIN},
        {"sm_100f", PDL_RTC_CUBIN, "sm_100f", PDL_RTC_CUBIN},
        {"compute_90", PDL_RTC_DEFAULT, "compute_90", PDL_RTC_PTX},
        {"compute_90a", PDL_RTC_PTX, "compute_90a", PDL_RTC_PTX},
        {"sm_90", PDL_RTC_PTX, "compute_90", PDL_RTC_PTX},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_ok(make(&PDL_RTC_OPTIONS(.target = cases[i].target, .output = cases[i].output)));
        assert_string_equal(request.target, cases[i].becomes);
        assert_int_equal(request.output, cases[i].makes);
        pdl_rtc_request_free(&request);
    }
}

static void what_is_no_target_is_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {"",       "90",       "sm90",    "sm_",     "sm_9",
                                          "sm_9x",  "sm_90b",   "sm_90aa", "sm_90 ",  " sm_90",
                                          "SM_90",  "sm_90000", "lto_90",  "compute", "compute_",
                                          "sm_-90", "sm_+90",   "sm_090",  "native"};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_refused(make(&PDL_RTC_OPTIONS(.target = refused[i])), PDL_ERROR_INVALID_ARGUMENT,
                       "target", refused[i]);
    }
}

static void machine_code_for_a_virtual_architecture_is_refused(void **state)
{
    (void)state;
    assert_refused(make(&PDL_RTC_OPTIONS(.target = "compute_90", .output = PDL_RTC_CUBIN)),
                   PDL_ERROR_INVALID_ARGUMENT, "target", "compute_90", "sm_90");
}

static void set_capability(int device, int major, int minor)
{
    mock.devices[device].attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = major;
    mock.devices[device].attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = minor;
    mock_apply();
}

static void without_a_target_it_is_the_current_device(void **state)
{
    (void)state;
    set_capability(0, 8, 0);
    mock.table.device_count = 2;
    set_capability(1, 9, 0);
    mock_set_current(1);
    assert_ok(make(NULL));
    assert_string_equal(request.target, "sm_90");
    assert_int_equal(request.output, PDL_RTC_CUBIN);
    pdl_rtc_request_free(&request);
    assert_ok(make(&PDL_RTC_OPTIONS(.output = PDL_RTC_PTX)));
    assert_string_equal(request.target, "compute_90");
    pdl_rtc_request_free(&request);
}

static void without_a_context_it_is_device_0_and_no_error_stays(void **state)
{
    (void)state;
    assert_refused(make(&PDL_RTC_OPTIONS(.target = "x")), PDL_ERROR_INVALID_ARGUMENT, "target",
                   "x");
    set_capability(0, 8, 0);
    set_capability(1, 9, 0);
    mock_set_current(-1);
    assert_int_equal(make(NULL), PDL_SUCCESS);
    assert_string_equal(request.target, "sm_80");
    assert_int_equal(pdl_last_error()->status, PDL_ERROR_INVALID_ARGUMENT);
    pdl_rtc_request_free(&request);
}

static void a_device_that_the_compiler_does_not_know_gets_ptx(void **state)
{
    (void)state;
    set_capability(0, 13, 0);
    mock_set_current(0);
    assert_ok(make(NULL));
    assert_string_equal(request.target, "compute_120");
    assert_int_equal(request.output, PDL_RTC_PTX);
    pdl_rtc_request_free(&request);
    set_capability(0, 10, 3); /* between two that it knows */
    assert_ok(make(&PDL_RTC_OPTIONS(.output = PDL_RTC_PTX)));
    assert_string_equal(request.target, "compute_100");
    pdl_rtc_request_free(&request);
    assert_refused(make(&PDL_RTC_OPTIONS(.output = PDL_RTC_CUBIN)), PDL_ERROR_COMPILER_TOO_OLD,
                   NULL, "sm_103", "13.0", "sm_100");
    set_capability(0, 7, 0);
    assert_refused(make(NULL), PDL_ERROR_NOT_SUPPORTED, NULL, "sm_70", "13.0");
}

static void without_a_compiler_the_device_is_enough(void **state)
{
    (void)state;
    set_capability(0, 13, 0);
    mock_set_current(0);
    pdl_rtc_compiler_override(NULL);
    rtc_library_name("/nowhere/libnvrtc.so");
    assert_ok(make(NULL));
    rtc_library_name_restore();
    assert_string_equal(request.target, "sm_130");
    assert_int_equal(request.output, PDL_RTC_CUBIN);
    pdl_rtc_request_free(&request);
}

static void without_a_driver_a_target_is_needed(void **state)
{
    (void)state;
    mock_fail(MOCK_cuCtxGetDevice, 1, CUDA_ERROR_UNKNOWN);
    assert_refused(make(NULL), PDL_ERROR_DRIVER, NULL, "cuCtxGetDevice");
}

/* ---- names and headers ---------------------------------------------------------------------- */

static void names_are_sorted_trimmed_and_each_once(void **state)
{
    (void)state;
    static const char *const names[] = {" t<int> ", "k", "a", "k ", "t<int>"};
    assert_ok(pdl_rtc_request_make(
        &request, NULL, "",
        &PDL_RTC_OPTIONS(.target = "sm_90", .names = names, .name_count = COUNT_OF(names)), "\tb"));
    assert_int_equal(request.name_count, 4);
    assert_string_equal(request.names[0], "a");
    assert_string_equal(request.names[1], "b");
    assert_string_equal(request.names[2], "k");
    assert_string_equal(request.names[3], "t<int>");
    pdl_rtc_request_free(&request);
}

static void what_is_no_name_is_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {NULL, "", "  ", "a\n#include <x>"};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        const char *const names[] = {"k", refused[i]};
        assert_refused(make(&PDL_RTC_OPTIONS(.target = "sm_90", .names = names, .name_count = 2)),
                       PDL_ERROR_INVALID_ARGUMENT, "names", "");
    }
    assert_refused(
        pdl_rtc_request_make(&request, NULL, "", &PDL_RTC_OPTIONS(.target = "sm_90"), ""),
        PDL_ERROR_INVALID_ARGUMENT, "names", "");
}

static void bad_headers_are_refused(void **state)
{
    (void)state;
    static const pdl_rtc_header refused[][2] = {
        {{"a.h", ""}, {NULL, ""}},
        {{"a.h", ""}, {"", ""}},
        {{"a.h", ""}, {"b.h", NULL}},
        {{"a.h", "1"}, {"a.h", "2"}},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_refused(
            make(&PDL_RTC_OPTIONS(.target = "sm_90", .headers = refused[i], .header_count = 2)),
            PDL_ERROR_INVALID_ARGUMENT, "headers", "headers[1]");
    }
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void a_text_over_64_mib_is_refused_with_both_numbers(void **state)
{
    (void)state;
    const size_t most = PDL_RTC_SOURCE_MAX;
    char *text = malloc(most + 2);
    assert_non_null(text);
    memset(text, ' ', most + 1);
    text[most + 1] = '\0';
    const pdl_rtc_options options = PDL_RTC_OPTIONS(.target = "sm_90");
    assert_refused(pdl_rtc_request_make(&request, "big.cu", text, &options, NULL),
                   PDL_ERROR_INVALID_ARGUMENT, "source", "big.cu", "67108864", "64 MiB");
    const pdl_rtc_header header = {"big.h", text};
    assert_refused(make(&PDL_RTC_OPTIONS(.target = "sm_90", .headers = &header, .header_count = 1)),
                   PDL_ERROR_INVALID_ARGUMENT, "headers", "big.h");
    text[most] = '\0';
    assert_ok(pdl_rtc_request_make(&request, "big.cu", text, &options, NULL));
    assert_int_equal(request.source_size, most);
    pdl_rtc_request_free(&request);
    free(text);
}

static void null_and_unknown_values_are_refused(void **state)
{
    (void)state;
    assert_refused(pdl_rtc_request_make(&request, NULL, NULL, NULL, NULL),
                   PDL_ERROR_INVALID_ARGUMENT, "source", "NULL");
    assert_refused(make(&PDL_RTC_OPTIONS(.output = 4)), PDL_ERROR_INVALID_ARGUMENT, "output", "4");
    assert_refused(make(&PDL_RTC_OPTIONS(.flags = 8)), PDL_ERROR_INVALID_ARGUMENT, "flags", "0x8");
    assert_refused(make(&PDL_RTC_OPTIONS(.reserved = 1)), PDL_ERROR_INVALID_ARGUMENT, "reserved",
                   "1");
    assert_refused(make(&PDL_RTC_OPTIONS(.argument_count = 2)), PDL_ERROR_INVALID_ARGUMENT,
                   "arguments", "NULL", "2");
    assert_refused(make(&PDL_RTC_OPTIONS(.name_count = 2)), PDL_ERROR_INVALID_ARGUMENT, "names",
                   "NULL");
    assert_refused(make(&PDL_RTC_OPTIONS(.header_count = 2)), PDL_ERROR_INVALID_ARGUMENT, "headers",
                   "NULL");
    const char *const one[] = {"k"};
    assert_refused(make(&PDL_RTC_OPTIONS(.names = one, .name_count = SIZE_MAX)),
                   PDL_ERROR_INVALID_ARGUMENT, "names", "too many");
}

static void options_of_other_sizes_follow_the_rule(void **state)
{
    (void)state;
    struct {
        pdl_rtc_options known;
        unsigned char newer[16];
    } options = {.known = PDL_RTC_OPTIONS(.target = "sm_90", .names = NULL)};
    static const char *const names[] = {"k"};
    options.known.size = 0;
    assert_refused(make(&options.known), PDL_ERROR_DESC_SIZE, "size", "0");
    options.known.size = 16385;
    assert_refused(make(&options.known), PDL_ERROR_DESC_SIZE, "size", "16385");
    options.known.size = sizeof(options);
    assert_ok(make(&options.known));
    pdl_rtc_request_free(&request);
    options.newer[3] = 1;
    assert_refused(make(&options.known), PDL_ERROR_DESC_TOO_NEW, "size", "bytes");
    options.known.names = names; /* behind what an older caller has */
    options.known.name_count = 1;
    options.known.size = offsetof(pdl_rtc_options, names);
    assert_ok(make(&options.known));
    assert_int_equal(request.name_count, 0);
    pdl_rtc_request_free(&request);
}

static void nothing_is_written_on_failure(void **state)
{
    (void)state;
    struct pdl_rtc_request before;
    memset(&request, 0x5a, sizeof(request));
    before = request;
    assert_refused(make(&PDL_RTC_OPTIONS(WITH("-DA", NULL))), PDL_ERROR_INVALID_ARGUMENT,
                   "arguments", "arguments[1]");
    assert_memory_equal(&request, &before, sizeof(request));
}

static int setup(void **state)
{
    return mock_setup(state) != 0 || rtc_mock_setup(state) != 0;
}

static int teardown(void **state)
{
    return rtc_mock_teardown(state) != 0 || mock_teardown(state) != 0;
}

#define RTC_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RTC_TEST(every_spelling_of_an_option_becomes_one),
        RTC_TEST(the_order_of_options_stays),
        RTC_TEST(include_directories_and_pre_includes_are_listed_in_order),
        RTC_TEST(an_option_that_lacks_its_value_is_left_to_the_compiler),
        RTC_TEST(an_option_that_is_not_known_goes_through_and_is_noted),
        RTC_TEST(a_value_is_not_taken_for_an_option),
        RTC_TEST(a_target_says_what_comes_out),
        RTC_TEST(what_is_no_target_is_refused),
        RTC_TEST(machine_code_for_a_virtual_architecture_is_refused),
        RTC_TEST(without_a_target_it_is_the_current_device),
        RTC_TEST(without_a_context_it_is_device_0_and_no_error_stays),
        RTC_TEST(a_device_that_the_compiler_does_not_know_gets_ptx),
        RTC_TEST(without_a_compiler_the_device_is_enough),
        RTC_TEST(without_a_driver_a_target_is_needed),
        RTC_TEST(names_are_sorted_trimmed_and_each_once),
        RTC_TEST(what_is_no_name_is_refused),
        RTC_TEST(bad_headers_are_refused),
        RTC_TEST(a_text_over_64_mib_is_refused_with_both_numbers),
        RTC_TEST(null_and_unknown_values_are_refused),
        RTC_TEST(options_of_other_sizes_follow_the_rule),
        RTC_TEST(nothing_is_written_on_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
