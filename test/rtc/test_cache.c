/* SPDX-License-Identifier: MIT */
/* The cache: which tier answers, what is compiled how often, and what happens where something is in the way. */
#include "cache_case.h"
#include "rtc/cache/files.h"
#include "rtc/cache/memory.h"
#include "rtc/compile/log.h"

#include <time.h>

/* ---- tiers --------------------------------------------------------------------------------------- */

static void the_second_call_is_answered_from_memory(void **state)
{
    (void)state;
    pdl_kernel *first = kernel_of("text", "k");
    assert_ptr_equal(kernel_of("text", "k"), first);
    image_of("other", NULL);
    image_of("other", NULL);
    const pdl_rtc_stats now = stats();
    assert_int_equal(compilations(), 2);
    assert_int_equal(now.misses, 2);
    assert_int_equal(now.memory_hits, 2);
    assert_int_equal(now.stored, 2);
    assert_int_equal(now.kernels, 1);
    assert_int_equal(now.disk_hits + now.waits + now.failures + now.damaged, 0);
    assert_true(now.memory_hit_ns > 0 && now.compile_ns > 0);
    assert_string_equal(now.problem, "");
    assert_non_null(strstr(now.directory, "cache"));
}

static void another_process_finds_it_in_the_folder(void **state)
{
    (void)state;
    (void)kernel_of("text", "k");
    open_cache(0);
    (void)kernel_of("text", "k");
    image_of("other", NULL);
    const pdl_rtc_stats now = stats();
    assert_int_equal(compilations(), 2);
    assert_int_equal(now.disk_hits, 1);
    assert_int_equal(now.misses, 1);
    assert_true(now.disk_hit_ns > 0);
}

static void each_part_of_a_question_makes_another_kernel(void **state)
{
    (void)state;
    const char *arguments[] = {"-DN=4"};
    const char *names[] = {"f<int>"};
    const pdl_rtc_header headers[] = {{"x.h", "int x;"}};
    const pdl_rtc_header others[] = {{"x.h", "int y;"}};
    pdl_kernel *kernels[9];
    kernels[0] = kernel_of("text", "k");
    kernels[1] = kernel_of("text ", "k");
    kernels[2] = kernel_of("text", "l");
    options.arguments = arguments;
    options.argument_count = 1;
    kernels[3] = kernel_of("text", "k");
    options.argument_count = 0;
    options.names = names;
    options.name_count = 1;
    kernels[4] = kernel_of("text", "k");
    options.name_count = 0;
    options.headers = headers;
    options.header_count = 1;
    kernels[5] = kernel_of("text", "k");
    options.headers = others;
    kernels[6] = kernel_of("text", "k");
    options.header_count = 0;
    options.target = "compute_100";
    kernels[7] = kernel_of("text", "k");
    options.target = "compute_90";
    options.flags = PDL_RTC_NO_CACHE;
    kernels[8] = kernel_of("text", "k");
    options.flags = 0;
    for (int i = 0; i < 9; i++) {
        for (int j = 0; j < i; j++) {
            assert_ptr_not_equal(kernels[i], kernels[j]);
        }
    }
    assert_int_equal(compilations(), 9);
    assert_ptr_equal(kernel_of("text", "k"), kernels[0]);
    options.headers = headers;
    options.header_count = 1;
    assert_ptr_equal(kernel_of("text", "k"), kernels[5]);
    assert_int_equal(compilations(), 9);
}

static void kernels_of_one_text_are_compiled_together(void **state)
{
    (void)state;
    const char *names[] = {"f<int>", "f<float>", "g"};
    options.names = names;
    options.name_count = 3;
    pdl_kernel *kernels[3];
    for (int i = 0; i < 3; i++) {
        kernels[i] = kernel_of("text", names[i]);
    }
    assert_ptr_not_equal(kernels[0], kernels[1]);
    assert_int_equal(compilations(), 1);
    assert_int_equal(stats().kernels, 3);
}

/* Questions with one of the two hashes are made by hand. */
static void questions_are_compared_by_both_hashes(void **state)
{
    (void)state;
    struct pdl_rtc_memory *memory = pdl_rtc_memory_make();
    struct pdl_rtc_dependencies none = {0};
    const struct pdl_rtc_question one = pdl_rtc_question_make("text 1", "k", &options, 0);
    struct pdl_rtc_question others[] = {pdl_rtc_question_make("text 2", "k", &options, 0), one,
                                        one};
    const struct pdl_rtc_question again = pdl_rtc_question_make("text 1", "k", &options, 0);
    pdl_kernel *kernel = (pdl_kernel *)(void *)&none; /* any address */
    others[1].text.high++;
    others[2].check.low++;
    pdl_rtc_memory_add(memory, &one, &none, kernel);
    assert_ptr_equal(pdl_rtc_memory_find(memory, &again), kernel);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_null(pdl_rtc_memory_find(memory, &others[i]));
    }
    pdl_rtc_memory_free(memory);
}

static void a_shipped_folder_is_read_after_the_own(void **state)
{
    (void)state;
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    image_of("text", NULL);
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
    assert_int_equal(rename("cache", "shipped"), 0);
    desc.directory = "cache";
    desc.shipped = "shipped";
    assert_ok(pdl_rtc_cache_create(&desc, &cache));
    image_of("text", NULL);
    image_of("other", NULL);
    const pdl_rtc_stats now = stats();
    assert_int_equal(now.shipped_hits, 1);
    assert_int_equal(now.misses, 1);
    assert_int_equal(now.stored, 1); /* the other: what is shipped is not copied */
    assert_non_null(strstr(now.shipped, "shipped"));
}

static void a_machine_without_a_compiler_finds_what_is_there(void **state)
{
    (void)state;
    (void)kernel_of("text", "k");
    cache_mock_start(0, NULL);
    open_cache(0);
    pdl_kernel *first = kernel_of("text", "k");
    assert_ptr_equal(kernel_of("text", "k"), first);
    assert_int_equal(compilations(), 1);
    assert_int_equal(stats().disk_hits, 1);
    assert_int_equal(stats().memory_hits, 1);
}

static void another_compiler_compiles_for_itself(void **state)
{
    (void)state;
    image_of("text", NULL);
    cache_mock_start(13000, "two");
    open_cache(0);
    image_of("text", NULL);
    assert_int_equal(compilations(), 2);
    cache_mock_start(13000, "one");
    open_cache(0);
    image_of("text", NULL);
    assert_int_equal(compilations(), 2);
}

static void a_cache_in_memory_makes_no_folder(void **state)
{
    (void)state;
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
    rtc_folder_remove(strdup("cache"));
    open_cache(PDL_RTC_CACHE_MEMORY_ONLY);
    image_of("text", NULL);
    image_of("text", NULL);
    assert_int_equal(compilations(), 1);
    assert_int_equal(access("cache", F_OK), -1);
    assert_string_equal(stats().directory, "");
    assert_int_equal(stats().store_failures, 0);
}

static void a_folder_that_is_only_read_stays_as_it_is(void **state)
{
    (void)state;
    image_of("text", NULL);
    open_cache(PDL_RTC_CACHE_READ_ONLY);
    image_of("text", NULL);
    image_of("other", NULL);
    const pdl_rtc_stats now = stats();
    assert_int_equal(now.disk_hits, 1);
    assert_int_equal(now.misses, 1);
    assert_int_equal(now.stored + now.store_failures, 0);
    open_cache(0);
    image_of("other", NULL);
    assert_int_equal(compilations(), 3);
}

static void what_is_not_to_be_cached_is_compiled_each_time(void **state)
{
    (void)state;
    options.flags = PDL_RTC_NO_CACHE;
    pdl_kernel *first = kernel_of("text", "k");
    assert_ptr_not_equal(kernel_of("text", "k"), first);
    image_of("text", NULL);
    assert_int_equal(compilations(), 3);
    assert_int_equal(stats().stored, 0);
    assert_int_equal(stats().kernels, 2);
    options.flags = 0;
    image_of("text", NULL);
    assert_int_equal(compilations(), 4);
}

/* ---- files that change --------------------------------------------------------------------------- */

static void a_changed_header_is_compiled_anew(void **state)
{
    (void)state;
    static const char text[] = "#include \"x.h\"";
    rtc_file_write("x.h", "one");
    image_of(text, "one");
    pdl_kernel *first = kernel_of(text, "k");
    rtc_file_write("x.h", "two"); /* of the same size, in the same tick perhaps */
    image_of(text, "two");
    assert_ptr_not_equal(kernel_of(text, "k"), first);
    rtc_file_write("x.h", "one");
    image_of(text, "one");
    assert_ptr_equal(kernel_of(text, "k"), first);
}

/* As if the header had been written long ago. st_ctim cannot be set: the time passes. */
static void a_header_is_watched_when_it_has_settled(void **state)
{
    (void)state;
    static const char text[] = "#include \"x.h\"";
    const struct timespec settled = {.tv_sec = 2, .tv_nsec = 100000000};
    rtc_file_write("x.h", "one");
    (void)nanosleep(&settled, NULL);
    pdl_kernel *first = kernel_of(text, "k");
    assert_ptr_equal(kernel_of(text, "k"), first);
    rtc_file_write("x.h", "two");
    pdl_kernel *second = kernel_of(text, "k");
    assert_ptr_not_equal(second, first);
    assert_ptr_equal(kernel_of(text, "k"), second);
    assert_int_equal(unlink("x.h"), 0);
    assert_ptr_not_equal(kernel_of(text, "k"), second);
    assert_int_equal(compilations(), 3);
}

static void change_header(void)
{
    rtc_file_write("x.h", "two");
}

static void a_header_that_changes_meanwhile_is_not_kept(void **state)
{
    (void)state;
    static const char text[] = "#include \"x.h\"";
    rtc_file_write("x.h", "one");
    cache_mock.while_compiling = change_header;
    image_of(text, "two"); /* under the key of "one" */
    assert_int_equal(stats().stored, 0);
    cache_mock.while_compiling = NULL;
    rtc_file_write("x.h", "one");
    image_of(text, "one");
}

static void a_computed_include_is_compiled_each_time(void **state)
{
    (void)state;
    image_of("#include NAME", NULL);
    pdl_kernel *first = kernel_of("#include NAME", "k");
    assert_ptr_not_equal(kernel_of("#include NAME", "k"), first);
    assert_int_equal(compilations(), 3);
    assert_int_equal(stats().stored, 0);
}

/* ---- failures ------------------------------------------------------------------------------------ */

static void a_failure_is_told_and_not_kept(void **state)
{
    (void)state;
    pdl_rtc_image *image = NULL;
    pdl_kernel *kernel = NULL;
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(pdl_rtc_cache_compile(cache, NULL, "FAIL", &options, &image),
                         PDL_ERROR_COMPILE);
        assert_null(image);
    }
    assert_int_equal(pdl_rtc_kernel(cache, "FAIL", "k", &options, &kernel), PDL_ERROR_COMPILE);
    assert_null(kernel);
    assert_string_equal(pdl_last_error()->message, "compilation 3 failed");
    assert_string_equal(pdl_rtc_log(), "log of compilation 3");
    assert_int_equal(stats().failures, 3);
    assert_int_equal(stats().misses, 0);
}

static void a_kernel_that_cannot_be_loaded_is_an_error(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pdl_rtc_kernel(cache, "NO_KERNEL", "k", &options, &kernel),
                         PDL_ERROR_NOT_FOUND);
        assert_null(kernel);
    }
    assert_int_equal(compilations(), 1);
    assert_int_equal(stats().kernels, 0);
}

static void no_compiler_and_no_kernel_is_an_error(void **state)
{
    (void)state;
    pdl_rtc_image *image = NULL;
    cache_mock_start(0, NULL);
    assert_int_equal(pdl_rtc_cache_compile(cache, NULL, "text", &options, &image),
                     PDL_ERROR_NO_COMPILER);
    assert_int_equal(stats().failures, 0);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    pdl_kernel *kernel = NULL;
    pdl_rtc_cache *made = NULL;
    const char *arguments[] = {NULL};
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    pdl_rtc_stats small = {.size = 2};
    assert_refused(pdl_rtc_kernel(cache, NULL, "k", &options, &kernel), PDL_ERROR_INVALID_ARGUMENT,
                   "source", "NULL");
    assert_refused(pdl_rtc_kernel(cache, "text", NULL, &options, &kernel),
                   PDL_ERROR_INVALID_ARGUMENT, "name", "NULL");
    assert_refused(pdl_rtc_kernel(cache, "text", "k", &options, NULL), PDL_ERROR_INVALID_ARGUMENT,
                   "kernel", "NULL");
    assert_refused(pdl_rtc_cache_compile(cache, NULL, "text", &options, NULL),
                   PDL_ERROR_INVALID_ARGUMENT, "image", "NULL");
    options.arguments = arguments;
    options.argument_count = 1;
    assert_int_equal(pdl_rtc_kernel(cache, "text", "k", &options, &kernel),
                     PDL_ERROR_INVALID_ARGUMENT);
    options.size = 3;
    assert_int_equal(pdl_rtc_kernel(cache, "text", "k", &options, &kernel), PDL_ERROR_DESC_SIZE);
    desc.flags = 8;
    assert_refused(pdl_rtc_cache_create(&desc, &made), PDL_ERROR_INVALID_ARGUMENT, "flags", "0x8");
    desc = (pdl_rtc_cache_desc)PDL_RTC_CACHE_DESC_INIT;
    desc.directory = "/dev/null/x";
    assert_refused(pdl_rtc_cache_create(&desc, &made), PDL_ERROR_CACHE, "directory", "/dev/null/x");
    desc.directory = "cache";
    desc.shipped = "none";
    assert_refused(pdl_rtc_cache_create(&desc, &made), PDL_ERROR_CACHE, "shipped", "none");
    assert_refused(pdl_rtc_cache_stats(cache, NULL), PDL_ERROR_INVALID_ARGUMENT, "stats", "NULL");
    assert_int_equal(pdl_rtc_cache_stats(cache, &small), PDL_ERROR_DESC_SIZE);
    assert_null(made);
    pdl_rtc_cache_destroy(NULL);
}

static void a_folder_that_cannot_be_written_is_a_problem_and_no_failure(void **state)
{
    (void)state;
    rtc_folder_remove(strdup("cache"));
    image_of("other", NULL);
    const pdl_rtc_stats now = stats();
    assert_int_equal(now.misses, 1);
    assert_int_equal(now.store_failures, 1);
    assert_non_null(strstr(now.problem, "No such file"));
}

static void damaged_files_are_compiled_anew(void **state)
{
    (void)state;
    image_of("text", NULL);
    assert_int_equal(system("for f in cache/" PDL_RTC_FILES_BASE "/*/*; do : > $f; done"), 0);
    open_cache(0);
    image_of("text", NULL);
    assert_int_equal(compilations(), 2);
    assert_int_equal(stats().damaged, 1);
    open_cache(0);
    image_of("text", NULL);
    assert_int_equal(compilations(), 2);
}

/* A path of about 4,000 bytes below `from`, whose last part is "end". The caller frees it. */
static char *long_path(const char *from)
{
    char *path = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&path, &size);
    assert_non_null(to);
    (void)fputs(from, to);
    for (int i = 0; i < 40; i++) {
        (void)fprintf(to, "/%098d", i);
    }
    (void)fputs("/end", to);
    assert_int_equal(fclose(to), 0);
    return path;
}

static void a_long_path_leaves_the_reason_in_the_message(void **state)
{
    (void)state;
    pdl_rtc_cache *made = NULL;
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    char *path = long_path("/dev/null");
    desc.directory = path;
    assert_refused(pdl_rtc_cache_create(&desc, &made), PDL_ERROR_CACHE, "directory",
                   "/end cannot be used: /dev/null/");
    assert_non_null(strstr(pdl_last_error()->message, "/end: Not a directory"));
    (void)setenv("PDL_RTC_CACHE_DIR", path, 1);
    assert_ok(pdl_rtc_cache_create(NULL, &made));
    pdl_rtc_stats now = PDL_RTC_STATS_INIT;
    assert_ok(pdl_rtc_cache_stats(made, &now));
    assert_non_null(strstr(now.problem, "/end is not used: "));
    assert_non_null(strstr(now.problem, "Not a directory"));
    pdl_rtc_cache_destroy(made);
    free(path);

    /* One that is there, and then may not be used. */
    char *here = realpath(".", NULL);
    path = long_path(here);
    path[strlen(path) - 200] = '\0';
    desc.directory = path;
    made = NULL;
    assert_ok(pdl_rtc_cache_create(&desc, &made));
    pdl_rtc_cache_destroy(made);
    made = NULL;
    assert_int_equal(chmod(path, 0777), 0);
    assert_refused(pdl_rtc_cache_create(&desc, &made), PDL_ERROR_CACHE, "directory",
                   "may be written by others (mode 777)");
    free(path);
    free(here);
}

/* ---- the environment ----------------------------------------------------------------------------- */

static pdl_rtc_stats stats_of_environment(void)
{
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
    assert_ok(pdl_rtc_cache_create(NULL, &cache));
    return stats();
}

static void the_environment_names_the_folders(void **state)
{
    (void)state;
    assert_int_equal(mkdir("ready", 0700), 0);
    assert_int_equal(mkdir("ready/" PDL_RTC_FILES_BASE, 0700), 0);
    (void)setenv("PDL_RTC_CACHE_DIR", "elsewhere/deep", 1);
    (void)setenv("PDL_RTC_CACHE_SHIPPED", "ready", 1);
    pdl_rtc_stats now = stats_of_environment();
    assert_non_null(strstr(now.directory, "elsewhere/deep"));
    assert_non_null(strstr(now.shipped, "ready"));
    assert_string_equal(now.problem, "");
    static const char *const off[] = {"0", "off", "False", " NO ", "nothing", "of"};
    for (size_t i = 0; i < COUNT_OF(off); i++) {
        (void)setenv("PDL_RTC_CACHE", off[i], 1);
        now = stats_of_environment();
        assert_string_equal(now.directory, "");
        assert_string_equal(now.shipped, "");
    }
    (void)setenv("PDL_RTC_CACHE", "Yes", 1);
    assert_non_null(strstr(stats_of_environment().directory, "elsewhere/deep"));
}

static void what_the_environment_gets_wrong_is_a_problem(void **state)
{
    (void)state;
    (void)setenv("PDL_RTC_CACHE_DIR", "/dev/null/x", 1);
    pdl_rtc_stats now = stats_of_environment();
    assert_string_equal(now.directory, "");
    assert_non_null(strstr(now.problem, "/dev/null/x is not used"));
    image_of("text", NULL);
    (void)setenv("PDL_RTC_CACHE_DIR", "cache", 1);
    (void)setenv("PDL_RTC_CACHE_SHIPPED", "none", 1);
    now = stats_of_environment();
    assert_non_null(strstr(now.problem, "none is not used"));
    (void)setenv("PDL_RTC_CACHE_SHIPPED", "", 1);
    static const char *const wrong[] = {"much", "-5", "0", "5X", "5MB", "99999999999G"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        (void)setenv("PDL_RTC_CACHE_SIZE", wrong[i], 1);
        assert_non_null(strstr(stats_of_environment().problem, "PDL_RTC_CACHE_SIZE"));
    }
    (void)setenv("PDL_RTC_CACHE_SIZE", "2m", 1);
    assert_string_equal(stats_of_environment().problem, "");
}

static void the_size_of_the_environment_is_kept_to(void **state)
{
    (void)state;
    (void)setenv("PDL_RTC_CACHE_DIR", "cache", 1);
    (void)setenv("PDL_RTC_CACHE_SIZE", "4K", 1);
    (void)stats_of_environment();
    for (int i = 0; i < 30; i++) {
        char source[32];
        (void)snprintf(source, sizeof(source), "text %d", i);
        image_of(source, NULL);
    }
    const uint64_t bytes = trim_folder(UINT64_MAX);
    assert_true(bytes > 1000 && bytes <= 4096);
    assert_true(stats().evicted > 10);
}

/* The last test: the default cache stays. */
static void the_default_cache_is_made_once(void **state)
{
    (void)state;
    pdl_rtc_stats now = PDL_RTC_STATS_INIT;
    pdl_kernel *first = NULL;
    pdl_kernel *second = NULL;
    (void)setenv("PDL_RTC_CACHE_DIR", "cache", 1);
    assert_ok(pdl_rtc_kernel(NULL, "text", "k", &options, &first));
    (void)setenv("PDL_RTC_CACHE_DIR", "other", 1);
    assert_ok(pdl_rtc_kernel(NULL, "text", "k", &options, &second));
    assert_ptr_equal(first, second);
    assert_ok(pdl_rtc_cache_stats(NULL, &now));
    assert_int_equal(now.memory_hits, 1);
    assert_non_null(strstr(now.directory, "cache"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(the_second_call_is_answered_from_memory),
        CACHE_TEST(another_process_finds_it_in_the_folder),
        CACHE_TEST(each_part_of_a_question_makes_another_kernel),
        CACHE_TEST(kernels_of_one_text_are_compiled_together),
        CACHE_TEST(questions_are_compared_by_both_hashes),
        CACHE_TEST(a_shipped_folder_is_read_after_the_own),
        CACHE_TEST(a_machine_without_a_compiler_finds_what_is_there),
        CACHE_TEST(another_compiler_compiles_for_itself),
        CACHE_TEST(a_cache_in_memory_makes_no_folder),
        CACHE_TEST(a_folder_that_is_only_read_stays_as_it_is),
        CACHE_TEST(what_is_not_to_be_cached_is_compiled_each_time),
        CACHE_TEST(a_changed_header_is_compiled_anew),
        CACHE_TEST(a_header_is_watched_when_it_has_settled),
        CACHE_TEST(a_header_that_changes_meanwhile_is_not_kept),
        CACHE_TEST(a_computed_include_is_compiled_each_time),
        CACHE_TEST(a_failure_is_told_and_not_kept),
        CACHE_TEST(a_kernel_that_cannot_be_loaded_is_an_error),
        CACHE_TEST(no_compiler_and_no_kernel_is_an_error),
        CACHE_TEST(bad_arguments_are_refused),
        CACHE_TEST(a_folder_that_cannot_be_written_is_a_problem_and_no_failure),
        CACHE_TEST(damaged_files_are_compiled_anew),
        CACHE_TEST(a_long_path_leaves_the_reason_in_the_message),
        CACHE_TEST(the_environment_names_the_folders),
        CACHE_TEST(what_the_environment_gets_wrong_is_a_problem),
        CACHE_TEST(the_size_of_the_environment_is_kept_to),
        CACHE_TEST(the_default_cache_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
