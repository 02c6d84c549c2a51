/* SPDX-License-Identifier: MIT */
/* Finding and opening NVRTC. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rtc/library.h"
#include "rtc_support.h"

/* Opens again whatever was opened, without the environment of the machine. */
static int fresh(void **state)
{
    (void)state;
    rtc_library_name(NULL);
    pdl_rtc_compiler_override(NULL);
    return 0;
}

/* The same with it. */
static int restored(void **state)
{
    (void)fresh(state);
    rtc_library_name_restore();
    return 0;
}

#define RTC_TEST(function) cmocka_unit_test_setup_teardown(function, fresh, restored)

/* The path of a library that stands in for one of the toolkit: stand_in.c. */
static char *stand_in(const char *name)
{
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", PDL_TEST_STAND_INS, name) > 0);
    return path;
}

static void the_file_of_the_environment_is_the_only_one_tried(void **state)
{
    (void)state;
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    rtc_library_name("/nowhere/libnvrtc.so.13");
    assert_refused(pdl_rtc_compiler_get(&info), PDL_ERROR_NO_COMPILER, NULL, "PDL_NVRTC",
                   "/nowhere/libnvrtc.so.13", "No such file");
    assert_string_equal(pdl_last_error()->call, "dlopen");
}

static void a_failure_is_kept_and_told_again(void **state)
{
    (void)state;
    const struct pdl_rtc_compiler *compiler;
    rtc_library_name("/nowhere/first.so");
    assert_refused(pdl_rtc_compiler_open(&compiler), PDL_ERROR_NO_COMPILER, NULL, "first.so");
    rtc_library_name("/nowhere/second.so");
    assert_refused(pdl_device_get(0, NULL), PDL_ERROR_INVALID_ARGUMENT, NULL, "");
    assert_refused(pdl_rtc_compiler_open(&compiler), PDL_ERROR_NO_COMPILER, NULL, "first.so");
}

static void what_is_no_nvrtc_or_an_old_one_is_named(void **state)
{
    static const struct {
        const char *name; /* of a stand-in, or a path */
        pdl_status status;
        const char *words[2];
    } cases[] = {{"/etc/passwd", PDL_ERROR_NO_COMPILER, {"ELF", ""}},
                 {"libnothing.so", PDL_ERROR_NO_COMPILER, {"nvrtcVersion", ""}},
                 {"libpartial.so", PDL_ERROR_NO_COMPILER, {"nvrtcCreateProgram", ""}},
                 {"libold.so", PDL_ERROR_COMPILER_TOO_OLD, {"11.8", "12.0"}}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct pdl_rtc_compiler *compiler;
        char *path = cases[i].name[0] == '/' ? strdup(cases[i].name) : stand_in(cases[i].name);
        assert_int_equal(fresh(state), 0);
        rtc_library_name(path);
        assert_refused(pdl_rtc_compiler_open(&compiler), cases[i].status, NULL, cases[i].name,
                       cases[i].words[0], cases[i].words[1]);
        free(path);
    }
}

/* That a compiler which is opened as PATH finds its builtins by their name. */
static void assert_builtins_are_found(const char *path)
{
    const struct pdl_rtc_compiler *compiler;
    rtc_library_name(path);
    assert_ok(pdl_rtc_compiler_open(&compiler));
    void *builtins = dlopen("libnvrtc-builtins.so.12.77", RTLD_NOW);
    assert_non_null(builtins);
    assert_int_equal(dlclose(builtins), 0);
}

/* In a process of its own: what was opened for good stays open. */
static void in_a_child(void (*check)(const char *path), const char *path)
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        check(path);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void an_nvrtc_finds_the_builtins_beside_it(void **state)
{
    (void)state;
    char *path = stand_in("libwhole.so");
    assert_null(dlopen("libnvrtc-builtins.so.12.77", RTLD_NOW));
    in_a_child(assert_builtins_are_found, path);
    free(path);
}

static void an_nvrtc_that_is_a_link_finds_the_builtins_beside_its_file(void **state)
{
    (void)state;
    char *path = stand_in("libwhole.so");
    char *folder = rtc_folder_make();
    char *link = NULL;
    assert_true(asprintf(&link, "%s/libnvrtc.so.12", folder) > 0);
    assert_int_equal(symlink(path, link), 0);
    in_a_child(assert_builtins_are_found, link);
    free(link);
    free(path);
    rtc_folder_remove(folder);
}

static void the_toolkits_folders_are_looked_into(void **state)
{
    (void)state;
    static const struct pdl_variable absent = {
        .name = "PDL_TEST_NO_SUCH_VARIABLE", .kind = PDL_VARIABLE_TEXT, .values = "", .unset = ""};
    static const struct pdl_rtc_library_names names = {
        .variable = &absent,
        .sonames = {"libpdl-test-absent.so.9", "libold.so"},
        .marker = "nvrtcVersion",
    };
    char path[4096];
    char why[512] = "";
    char *folder = rtc_folder_make();
    char *lib64 = NULL;
    assert_true(asprintf(&lib64, "%s/lib64", folder) > 0);
    assert_null(pdl_rtc_library_open(&names, path, sizeof(path), why, sizeof(why)));
    assert_non_null(strstr(why, "libpdl-test-absent.so.9"));
    assert_non_null(strstr(why, "/usr/local/cuda/lib64"));
    assert_int_equal(symlink(PDL_TEST_STAND_INS, lib64), 0);
    assert_int_equal(setenv("CUDA_HOME", folder, 1), 0);
    void *library = pdl_rtc_library_open(&names, path, sizeof(path), why, sizeof(why));
    assert_non_null(library);
    assert_non_null(strstr(path, "/lib64/libold.so"));
    assert_int_equal(dlclose(library), 0);
    assert_int_equal(unsetenv("CUDA_HOME"), 0);
    free(lib64);
    rtc_folder_remove(folder);
}

static void two_builds_of_a_library_have_two_identities(void **state)
{
    (void)state;
    struct pdl_rtc_identity one, again, other;
    static const char *const names[] = {"libold.so", "libpartial.so"};
    void *symbols[2];
    for (size_t i = 0; i < 2; i++) {
        char *path = stand_in(names[i]);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(library);
        symbols[i] = dlsym(library, "nvrtcVersion");
        free(path);
    }
    pdl_rtc_library_identify(symbols[0], 1, &one);
    pdl_rtc_library_identify(symbols[0], 1, &again);
    pdl_rtc_library_identify(symbols[1], 1, &other);
    assert_true(one.size >= 16);
    assert_memory_equal(&one, &again, sizeof(one));
    assert_memory_not_equal(&one, &other, sizeof(one));
}

static void a_library_without_a_build_id_is_known_by_its_file(void **state)
{
    (void)state;
    struct pdl_rtc_identity one, other;
    char *path = stand_in("libunnamed.so"); /* linked without one */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *symbol = dlsym(library, "pdl_stand_in");
    pdl_rtc_library_identify(symbol, 12040, &one);
    pdl_rtc_library_identify(symbol, 12050, &other);
    assert_int_equal(one.size, 3 * sizeof(int64_t));
    assert_memory_not_equal(&one, &other, sizeof(one));
    struct stat status;
    int64_t size = 0;
    assert_int_equal(stat(path, &status), 0);
    memcpy(&size, one.bytes + sizeof(size), sizeof(size));
    assert_int_equal(size, status.st_size);
    free(path);
}

static void a_mock_stands_in_for_a_compiler(void **state)
{
    assert_int_equal(rtc_mock_setup(state), 0);
    rtc_mock.table.number = 12030;
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    assert_refused(pdl_device_get(0, NULL), PDL_ERROR_INVALID_ARGUMENT, NULL, "");
    assert_int_equal(pdl_rtc_compiler_get(&info), PDL_SUCCESS);
    assert_int_equal(pdl_last_error()->status, PDL_ERROR_INVALID_ARGUMENT); /* it stays */
    assert_int_equal(info.version, 12030);
    assert_int_equal(info.newest_architecture, 120);
    assert_string_equal(info.path, "/mock/libnvrtc.so.13");
    assert_int_equal(rtc_mock_teardown(state), 0);
}

static void *open_compiler(void *argument)
{
    const struct pdl_rtc_compiler *compiler = NULL;
    (void)argument;
    (void)pdl_rtc_compiler_open(&compiler);
    return (void *)(uintptr_t)compiler;
}

static void threads_that_open_at_once_get_one_compiler(void **state)
{
    (void)state;
    if (!rtc_have_nvrtc()) {
        skip();
    }
    pdl_rtc_compiler_override(NULL);
    pthread_t threads[8];
    void *results[8];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, open_compiler, NULL), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &results[i]), 0);
        assert_ptr_equal(results[i], results[0]);
    }
    assert_non_null(results[0]);
}

static void the_real_compilers_say_what_they_are(void **state)
{
    (void)state;
    if (!rtc_have_nvrtc()) {
        skip();
    }
    const struct pdl_rtc_compiler *compiler;
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    assert_ok(pdl_rtc_compiler_open(&compiler));
    assert_ok(pdl_rtc_compiler_get(&info));
    int major = 0;
    int minor = 0;
    assert_int_equal(compiler->version(&major, &minor), 0);
    assert_int_equal(info.version, 1000 * major + 10 * minor);
    assert_true(info.version >= 12000);
    assert_true(info.newest_architecture >= 90);
    assert_true(compiler->known_count > 4);
    assert_int_equal(access(compiler->path, R_OK), 0);
    assert_true(compiler->identity.size >= 16);
}

static void a_long_path_leaves_the_reason_in_the_message(void **state)
{
    (void)state;
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    char path[4000];
    memset(path, 'x', sizeof(path) - 1);
    memcpy(path, "/nowhere/", 9);
    for (size_t at = 100; at < sizeof(path) - 100; at += 100) {
        path[at] = '/';
    }
    memcpy(path + sizeof(path) - 8, "/end.so", 8);
    rtc_library_name(path);
    assert_refused(pdl_rtc_compiler_get(&info), PDL_ERROR_NO_COMPILER, NULL, "/end.so",
                   "No such file or directory");
    rtc_library_name(NULL);
    pdl_rtc_compiler_override(NULL);
    assert_int_equal(setenv("CUDA_PATH", path, 1), 0);
    assert_int_equal(setenv("CUDA_HOME", path, 1), 0);
    const pdl_status status = pdl_rtc_compiler_get(&info);
    const char *message = pdl_last_error()->message;
    assert_int_equal(unsetenv("CUDA_PATH"), 0);
    assert_int_equal(unsetenv("CUDA_HOME"), 0);
    if (status != PDL_SUCCESS) { /* there may be one for the loader */
        assert_non_null(strstr(message, "/end.so/lib64 and in /usr/local/cuda/lib64: "));
        assert_non_null(strstr(message, "No such file or directory"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RTC_TEST(the_file_of_the_environment_is_the_only_one_tried),
        RTC_TEST(a_long_path_leaves_the_reason_in_the_message),
        RTC_TEST(a_failure_is_kept_and_told_again),
        RTC_TEST(what_is_no_nvrtc_or_an_old_one_is_named),
        RTC_TEST(an_nvrtc_finds_the_builtins_beside_it),
        RTC_TEST(an_nvrtc_that_is_a_link_finds_the_builtins_beside_its_file),
        RTC_TEST(the_toolkits_folders_are_looked_into),
        RTC_TEST(two_builds_of_a_library_have_two_identities),
        RTC_TEST(a_library_without_a_build_id_is_known_by_its_file),
        RTC_TEST(a_mock_stands_in_for_a_compiler),
        cmocka_unit_test_setup_teardown(threads_that_open_at_once_get_one_compiler, restored,
                                        restored),
        cmocka_unit_test_setup_teardown(the_real_compilers_say_what_they_are, restored, restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
