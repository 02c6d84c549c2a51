/* SPDX-License-Identifier: MIT */
/* Compiling: what NVRTC is given, what comes of it, and what its failures become. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rtc/compile/compile.h"
#include "rtc/compile/log.h"
#include "rtc/request/embedded.h"
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

/* ---- by the real NVRTC ---------------------------------------------------------------------- */

static void a_kernel_becomes_machine_code(void **state)
{
    (void)state;
    size_t size = 0;
    assert_ok(
        compile("extern \"C\" __global__ void k(int *p) { *p = 1; }", &PDL_RTC_OPTIONS(SM90)));
    assert_memory_equal(pdl_rtc_image_code(compiled, &size), "\177ELF", 4);
    assert_true(size > 1000);
    assert_int_equal(pdl_rtc_image_output(compiled), PDL_RTC_CUBIN);
    assert_string_equal(pdl_rtc_image_target(compiled), "sm_90");
    assert_string_equal(pdl_rtc_image_log(compiled), "");
    assert_string_equal(pdl_rtc_log(), "");
    done();
}

static void a_virtual_target_becomes_ptx_that_ends_in_a_nul(void **state)
{
    (void)state;
    size_t size = 0;
    assert_ok(
        compile("extern \"C\" __global__ void k() {}", &PDL_RTC_OPTIONS(.target = "compute_90")));
    const char *ptx = pdl_rtc_image_code(compiled, &size);
    assert_int_equal(pdl_rtc_image_output(compiled), PDL_RTC_PTX);
    assert_int_equal(ptx[size - 1], '\0');
    assert_int_equal(strlen(ptx), size - 1);
    assert_non_null(strstr(ptx, ".target sm_90"));
    assert_non_null(strstr(ptx, ".entry k"));
    done();
}

static void names_become_lowered_names_with_facts(void **state)
{
    (void)state;
    static const char text[] =
        "#include <pdl/device.cuh>\n"
        "template <class T, int N> __global__ void t(T *p) { __shared__ T s[8]; s[threadIdx.x] = "
        "*p; __syncthreads(); PDL_WAIT(); *p = "
        "s[N]; }\n"
        "namespace a { __global__ void z(int, int) { PDL_LAUNCH_DEPENDENTS(); } }\n"
        "extern \"C\" __global__ void plain() {}\n";
    assert_ok(compile(
        text, &PDL_RTC_OPTIONS(SM90, NAMES("t<float, 3>", "a::z", "plain", "t<double,1>"))));
    assert_int_equal(pdl_rtc_image_kernel_count(compiled), 4);
    const pdl_kernel_info *t = pdl_rtc_image_find(compiled, "t<float, 3>");
    assert_non_null(t);
    assert_string_equal(t->name, "_Z1tIfLi3EEvPT_");
    assert_int_equal(t->waits, PDL_YES);
    assert_int_equal(t->triggers, PDL_NO);
    assert_int_equal(t->parameter_count, 1);
    assert_int_equal(t->static_shared_memory, 32);
    assert_true(t->registers_per_thread > 0);
    const pdl_kernel_info *z = pdl_rtc_image_find(compiled, "a::z");
    assert_non_null(z);
    assert_int_equal(z->waits, PDL_NO);
    assert_int_equal(z->triggers, PDL_YES);
    assert_int_equal(z->parameter_count, 2);
    const pdl_kernel_info *plain = pdl_rtc_image_find(compiled, "plain");
    assert_non_null(plain);
    assert_string_equal(plain->name, "plain");
    done();
}

static void a_kernel_that_nobody_named_is_there_without_an_expression(void **state)
{
    (void)state;
    assert_ok(compile("extern \"C\" __global__ void k() {}\n__global__ void other(int) {}",
                      &PDL_RTC_OPTIONS(SM90)));
    assert_int_equal(pdl_rtc_image_kernel_count(compiled), 2);
    assert_null(pdl_rtc_image_expression(compiled, 0));
    assert_non_null(pdl_rtc_image_find(compiled, "k"));
    assert_string_equal(pdl_rtc_image_find(compiled, "_Z5otheri")->name, "_Z5otheri");
    done();
}

static void compiles(const char *source, const pdl_rtc_options *options)
{
    assert_ok(compile(source, options));
    done();
}

static void directories_and_headers_in_memory_reach_the_text(void **state)
{
    (void)state;
    char *folder = rtc_folder_make();
    char *path = NULL;
    assert_true(asprintf(&path, "%s/n.h", folder) > 0);
    rtc_file_write(path, "#define N 4\n");
    compiles("#include \"n.h\"\nstatic_assert(N == 4 && M == 5, \"\");",
             &PDL_RTC_OPTIONS(SM90, ARGUMENTS("-I", folder, "-DM=5")));
    free(path);
    rtc_folder_remove(folder);
    compiles("#include \"a/b.h\"\n#include <c.h>\nstatic_assert(B == 1 && C == 2, \"\");",
             &PDL_RTC_OPTIONS(SM90, HEADERS({"a/b.h", "#define B 1\n"}, {"c.h", "#define C 2\n"})));
    for (size_t i = 0; i < PDL_RTC_EMBEDDED; i++) { /* the library's */
        char text[128];
        (void)snprintf(text, sizeof(text), "#include <%s>\nextern \"C\" __global__ void k() {}\n",
                       pdl_rtc_embedded[i].name);
        compiles(text, &PDL_RTC_OPTIONS(SM90));
    }
    compiles(
        "#include <pdl/device.cuh>\nstatic_assert(MINE == 1, \"\");", /* the caller's comes first */
        &PDL_RTC_OPTIONS(SM90, HEADERS({"pdl/device.cuh", "#define MINE 1\n"})));
}

static void lines_of_the_log_are_those_of_the_text(void **state)
{
    (void)state;
    assert_refused(compile("\n\nint f() { return x; }\n__device__ int g() { return undefined; }",
                           &PDL_RTC_OPTIONS(SM90, NAMES("k"))),
                   PDL_ERROR_COMPILE, NULL, "error", "all of it in", rtc_dumps);
    assert_non_null(strstr(pdl_rtc_log(), "t.cu(4): error: identifier \"undefined\" is undefined"));
    assert_string_equal(pdl_last_error()->call, "nvrtcCompileProgram");
    assert_int_equal(pdl_last_error()->cuda_result, 6);
}

static void a_warning_is_in_the_images_log(void **state)
{
    (void)state;
    assert_ok(compile("__global__ void k() { int unused; }", &PDL_RTC_OPTIONS(SM90)));
    assert_non_null(strstr(pdl_rtc_image_log(compiled), "t.cu(1): warning"));
    assert_string_equal(pdl_rtc_image_log(compiled), pdl_rtc_log());
    pdl_rtc_image *first = compiled;
    assert_ok(compile("extern \"C\" __global__ void k() {}", &PDL_RTC_OPTIONS(SM90)));
    assert_string_equal(pdl_rtc_log(), ""); /* nothing of the one before */
    assert_non_null(strstr(pdl_rtc_image_log(first), "warning"));
    pdl_rtc_image_destroy(first);
    done();
}

static void a_name_that_the_text_does_not_have_is_not_found(void **state)
{
    (void)state;
    static const char text[] = "extern \"C\" __global__ void k() {}\n"
                               "template <class T> __global__ void t(T) {}";
    static const char *const names[] = {"nope", "t<nope>", "t<int", "t<int, 4>", "k nope", "t"};
    const size_t before = rtc_folder_count(rtc_dumps, "");
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    assert_ok(pdl_rtc_compiler_get(&info));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        /* Before 12.3, NVRTC puts blanks around each word of the name that it repeats. */
        assert_refused(compile(text, &PDL_RTC_OPTIONS(SM90, NAMES("k", names[i]))),
                       PDL_ERROR_NOT_FOUND, "name", "t.cu has no ",
                       info.version >= 12030 ? names[i] : "");
    }
    assert_int_equal(rtc_folder_count(rtc_dumps, ""), before);
}

static void a_name_in_a_text_that_is_wrong_too_is_an_error_of_the_text(void **state)
{
    (void)state;
    assert_refused(compile("#error no such thing", &PDL_RTC_OPTIONS(SM90, NAMES("k"))),
                   PDL_ERROR_COMPILE, NULL, "t.cu(1)", "no such thing");
}

static void options_that_nvrtc_refuses_are_named(void **state)
{
    (void)state;
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, ARGUMENTS("--bogus"))), PDL_ERROR_OPTION,
                   NULL, "--bogus", "NVRTC");
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, ARGUMENTS("--std=c++7"))), PDL_ERROR_OPTION,
                   NULL, "std");
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, ARGUMENTS("--ftz=maybe"))), PDL_ERROR_OPTION,
                   NULL, "--ftz");
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, ARGUMENTS("-Xptxas=--bogus"))),
                   PDL_ERROR_COMPILE, NULL, "ptxas fatal", "bogus");
}

static void no_option_that_is_known_writes_a_file(void **state)
{
    (void)state;
    char *folder = rtc_folder_make();
    char *here = getcwd(NULL, 0);
    static const char *const options[] = {
        "--optimization-info=inline", "--frandom-seed=3", "-lineinfo", "-G",          "-rdc=true",
        "--split-compile=2",          "-Xptxas=-v",       "-ewp",      "-Xptxas=-O1",
    };
    assert_non_null(here);
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (compile("extern \"C\" __global__ void k() {}",
                    &PDL_RTC_OPTIONS(SM90, ARGUMENTS(options[i]))) == PDL_SUCCESS) {
            done();
        }
    }
    assert_int_equal(chdir(here), 0);
    assert_int_equal(rtc_folder_count(folder, ""), 0);
    free(here);
    rtc_folder_remove(folder);
}

static void an_architecture_that_nvrtc_does_not_know_is_refused(void **state)
{
    (void)state;
    assert_refused(compile("", &PDL_RTC_OPTIONS(.target = "sm_999")), PDL_ERROR_COMPILER_TOO_OLD,
                   "target", "sm_999", "NVRTC");
    assert_refused(compile("", &PDL_RTC_OPTIONS(.target = "sm_81")), PDL_ERROR_INVALID_ARGUMENT,
                   "target", "sm_81", "NVRTC");
}

static void minimal_compiles_names_too(void **state)
{
    (void)state;
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    assert_ok(pdl_rtc_compiler_get(&info));
    if (info.version < 12040) {
        skip();
    }
    assert_ok(compile("template <class T> __global__ void t(T *p) { *p = 1; }",
                      &PDL_RTC_OPTIONS(SM90, ARGUMENTS("--minimal"), NAMES("t<int>"))));
    assert_string_equal(pdl_rtc_image_find(compiled, "t<int>")->name, "_Z1tIiEvPT_");
    done();
}

static void *compile_one(void *argument)
{
    const int number = (int)(intptr_t)argument;
    char text[128];
    char name[32];
    pdl_rtc_image *image = NULL;
    bool right = true;
    for (int i = 0; i < 4; i++) {
        const int value = 10 * number + i;
        (void)snprintf(name, sizeof(name), "k%d", value);
        (void)snprintf(text, sizeof(text), "extern \"C\" __global__ void %s() { int u%d; }", name,
                       value);
        char said[32];
        (void)snprintf(said, sizeof(said), "\"u%d\"", value);
        right = right &&
                pdl_rtc_compile(name, text, &PDL_RTC_OPTIONS(SM90), &image) == PDL_SUCCESS &&
                pdl_rtc_image_find(image, name) != NULL && strstr(pdl_rtc_log(), said) != NULL;
        pdl_rtc_image_destroy(image);
        image = NULL;
    }
    return (void *)(intptr_t)right;
}

static void threads_compile_at_once_with_their_own_logs(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, compile_one, (void *)(intptr_t)i), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *right = NULL;
        assert_int_equal(pthread_join(threads[i], &right), 0);
        assert_non_null(right);
    }
}

/* ---- by the mock ---------------------------------------------------------------------------- */

static void nvrtc_gets_the_options_in_order(void **state)
{
    (void)state;
    assert_ok(compile("", &PDL_RTC_OPTIONS(SM90, ARGUMENTS("-DA", "-UA", "--time", "x"))));
    assert_int_equal(rtc_mock.option_count, 5);
    assert_string_equal(rtc_mock.options[0], "-DA");
    assert_string_equal(rtc_mock.options[1], "-UA");
    assert_string_equal(rtc_mock.options[2], "--time");
    assert_string_equal(rtc_mock.options[3], "x");
    assert_string_equal(rtc_mock.options[4], "--gpu-architecture=sm_90"); /* the last one counts */
    done();
}

static void nvrtc_gets_each_header_once_the_callers_first(void **state)
{
    (void)state;
    static const char mine[] = "mine";
    assert_ok(compile("", &PDL_RTC_OPTIONS(SM90, HEADERS({"a.h", ""}, {"pdl/device.cuh", mine}))));
    assert_int_equal(rtc_mock.header_count, 1 + PDL_RTC_EMBEDDED);
    int found = 0;
    for (int i = 0; i < rtc_mock.header_count; i++) {
        if (strcmp(rtc_mock.headers[i], "pdl/device.cuh") == 0) {
            assert_ptr_equal(rtc_mock.header_texts[i], mine);
            found++;
        }
    }
    assert_int_equal(found, 1);
    done();
}

static void each_result_of_nvrtc_becomes_a_status(void **state)
{
    (void)state;
    static const struct {
        nvrtcResult result;
        const char *log;
        pdl_status status;
        const char *words[3];
    } cases[] = {
        {1, "", PDL_ERROR_OUT_OF_MEMORY, {"nvrtcCompileProgram", "memory", ""}},
        {3, "", PDL_ERROR_INVALID_ARGUMENT, {"nvrtcCompileProgram", "t.cu", ""}},
        {5, "nvrtc: error: bad --x\n", PDL_ERROR_OPTION, {"13.0", "bad --x", ""}},
        {6,
         "note\nt.cu(3): error: y\nmore",
         PDL_ERROR_COMPILE,
         {"t.cu(3): error: y", "all of it in", ""}},
        {6, "", PDL_ERROR_COMPILE, {"no reason", "all of it in", ""}},
        {6,
         "t.cu(3): error: identifier \"PDL_WAIT\" is undefined\n",
         PDL_ERROR_COMPILE,
         {"\"PDL_WAIT\" is undefined; #include <pdl/device.cuh>, which is built in;", "", ""}},
        {6,
         "t.cu(3): error: identifier \"cudaGridDependencySynchronize\" is undefined\n",
         PDL_ERROR_COMPILE,
         {"#include <pdl/device.cuh>", "call PDL_WAIT()", "all of it in"}},
        {6,
         "t.cu(1): catastrophic error: cannot open source file \"cuda_fp16.h\"\n",
         PDL_ERROR_COMPILE,
         {"folder of CUDA's headers", "-I", "all of it in"}},
        {6,
         "t.cu(1): catastrophic error: cannot open source file \"cstdint\"\n",
         PDL_ERROR_COMPILE,
         {"<cuda/std/...>", "/include/cccl", "all of it in"}},
        {7,
         "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.\n",
         PDL_ERROR_NO_COMPILER,
         {"/mock/libnvrtc.so.13", "libnvrtc-builtins.so", "failed to open"}},
        {2, "", PDL_ERROR_COMPILE, {"NVRTC_ERROR_OF_THE_MOCK", "2", ""}},
        {4, "", PDL_ERROR_COMPILE, {"NVRTC_ERROR_OF_THE_MOCK", "4", ""}},
        {10, "", PDL_ERROR_NOT_FOUND, {"t.cu", "k", ""}},
        {11, "", PDL_ERROR_COMPILE, {"NVRTC_ERROR_INTERNAL_ERROR", "all of it in", ""}},
        {17, "", PDL_ERROR_COMPILE, {"17", "", ""}},
        {18, "", PDL_ERROR_COMPILE, {"18", "", ""}},
        {99, "", PDL_ERROR_COMPILE, {"99", "", ""}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        rtc_mock.compile_result = cases[i].result;
        rtc_mock.log = cases[i].log;
        assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, NAMES("k"))), cases[i].status, NULL,
                       cases[i].words[0], cases[i].words[1], cases[i].words[2]);
        assert_int_equal(rtc_mock.programs, 0);
        assert_null(compiled);
    }
}

static void every_call_of_nvrtc_may_fail(void **state)
{
    (void)state;
    nvrtcResult *const results[] = {&rtc_mock.create_result, &rtc_mock.add_name_result,
                                    &rtc_mock.lowered_result, &rtc_mock.code_result};
    static const char *const calls[] = {"nvrtcCreateProgram", "nvrtcAddNameExpression",
                                        "nvrtcGetLoweredName", "nvrtcGetCUBIN"};
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        *results[i] = 11;
        assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, NAMES("k"))), PDL_ERROR_COMPILE, NULL,
                       "NVRTC_ERROR_INTERNAL_ERROR");
        assert_string_equal(pdl_last_error()->call, calls[i]);
        assert_int_equal(rtc_mock.programs, 0);
        *results[i] = 1;
        assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, NAMES("k"))), PDL_ERROR_OUT_OF_MEMORY,
                       NULL, calls[i]);
        *results[i] = 0;
    }
    rtc_mock.lowered_result = 10;
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90, NAMES("k"))), PDL_ERROR_NOT_FOUND, NULL, "k");
}

static void a_compiler_that_gives_no_code_is_named(void **state)
{
    (void)state;
    rtc_mock.no_code = true;
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90)), PDL_ERROR_COMPILE, NULL, "nvrtcGetCUBIN",
                   "no code");
}

static void a_long_log_is_whole_and_the_message_ends(void **state)
{
    (void)state;
    const size_t size = 1 << 20;
    char *log = malloc(size + 1);
    assert_non_null(log);
    memset(log, 'x', size);
    memcpy(log, "t.cu(1): error: ", 16);
    log[size] = '\0';
    rtc_mock.compile_result = 6;
    rtc_mock.log = log;
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90)), PDL_ERROR_COMPILE, NULL,
                   "t.cu(1): error: ", "all of it in", rtc_dumps, ".txt");
    assert_string_equal(pdl_rtc_log(), log);
    rtc_mock.log = "t.cu(2): error: y";
    assert_refused(compile("", &PDL_RTC_OPTIONS(SM90)), PDL_ERROR_COMPILE, NULL, "t.cu(2)");
    assert_string_equal(pdl_rtc_log(), "t.cu(2): error: y");
    free(log);
}

static void the_log_may_be_set_from_itself(void **state)
{
    (void)state;
    pdl_rtc_log_set("one");
    pdl_rtc_log_set(pdl_rtc_log());
    assert_string_equal(pdl_rtc_log(), "one");
    pdl_rtc_log_set("");
    assert_string_equal(pdl_rtc_log(), "");
}

static void arguments_that_are_missing_are_refused(void **state)
{
    (void)state;
    assert_refused(pdl_rtc_compile(NULL, "", &PDL_RTC_OPTIONS(SM90), NULL),
                   PDL_ERROR_INVALID_ARGUMENT, "image", "NULL");
    assert_refused(compile(NULL, &PDL_RTC_OPTIONS(SM90)), PDL_ERROR_INVALID_ARGUMENT, "source",
                   "NULL");
    assert_int_equal(rtc_mock.compilations, 0);
}

static void a_request_begins_with_an_empty_log(void **state)
{
    (void)state;
    struct pdl_rtc_request request;
    assert_ok(pdl_rtc_request_make(&request, NULL, "", &PDL_RTC_OPTIONS(SM90), NULL));
    pdl_rtc_log_set("of another");
    assert_ok(pdl_rtc_compile_request(&request, &compiled));
    assert_string_equal(pdl_rtc_log(), "");
    pdl_rtc_request_free(&request);
    done();
}

#define REAL(function) cmocka_unit_test(function)

int main(void)
{
    const struct CMUnitTest real[] = {
        REAL(a_kernel_becomes_machine_code),
        REAL(a_virtual_target_becomes_ptx_that_ends_in_a_nul),
        REAL(names_become_lowered_names_with_facts),
        REAL(a_kernel_that_nobody_named_is_there_without_an_expression),
        REAL(directories_and_headers_in_memory_reach_the_text),
        REAL(lines_of_the_log_are_those_of_the_text),
        REAL(a_warning_is_in_the_images_log),
        REAL(a_name_that_the_text_does_not_have_is_not_found),
        REAL(a_name_in_a_text_that_is_wrong_too_is_an_error_of_the_text),
        REAL(options_that_nvrtc_refuses_are_named),
        REAL(no_option_that_is_known_writes_a_file),
        REAL(an_architecture_that_nvrtc_does_not_know_is_refused),
        REAL(minimal_compiles_names_too),
        REAL(threads_compile_at_once_with_their_own_logs),
    };
    const struct CMUnitTest mocked[] = {
        RTC_MOCK_TEST(nvrtc_gets_the_options_in_order),
        RTC_MOCK_TEST(nvrtc_gets_each_header_once_the_callers_first),
        RTC_MOCK_TEST(each_result_of_nvrtc_becomes_a_status),
        RTC_MOCK_TEST(every_call_of_nvrtc_may_fail),
        RTC_MOCK_TEST(a_compiler_that_gives_no_code_is_named),
        RTC_MOCK_TEST(a_long_log_is_whole_and_the_message_ends),
        RTC_MOCK_TEST(the_log_may_be_set_from_itself),
        RTC_MOCK_TEST(arguments_that_are_missing_are_refused),
        RTC_MOCK_TEST(a_request_begins_with_an_empty_log),
    };
    return rtc_run(mocked, real);
}
