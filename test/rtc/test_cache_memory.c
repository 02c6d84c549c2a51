/* SPDX-License-Identifier: MIT */
/* Every allocation of a call fails once: the call is then out of memory, or does without it, and no file of the
 * folder is the worse for it. */
#include "cache_case.h"
#include "core/error.h"
#include "failing.h"
#include "rtc/cache/entry.h"
#include "rtc/cache/files.h"
#include "rtc/compile/job.h"
#include "rtc/compile/log.h"

/* ---- what is there ------------------------------------------------------------------------------- */

enum { TEXTS = 3 };

static const char *source_of(unsigned number)
{
    static char source[32];
    (void)snprintf(source, sizeof(source), "text %u", number);
    return source;
}

/* A folder with TEXTS files, and a cache that has not read them. */
static void fill(void)
{
    pdl_rtc_cache_destroy(cache);
    cache = NULL;
    rtc_folder_remove(strdup("cache"));
    open_cache(0);
    for (unsigned i = 0; i < TEXTS; i++) {
        image_of(source_of(i), NULL);
    }
    open_cache(0);
    atomic_store(&cache_mock.compilations, 0);
}

/* How many files there are, all of which are whole. */
static unsigned whole_files(void)
{
    struct pdl_rtc_file_list list;
    const int base = open("cache/" PDL_RTC_FILES_BASE, O_RDONLY | O_DIRECTORY);
    assert_int_equal(pdl_rtc_files_list(base, &list), 0);
    for (size_t i = 0; i < list.count; i++) {
        size_t size = 0;
        bool damaged = false;
        pdl_rtc_image *image = NULL;
        unsigned char *bytes = pdl_rtc_files_read(base, list.items[i].name, true, &size, &damaged);
        assert_non_null(bytes);
        assert_null(pdl_rtc_entry_read(bytes, size, NULL, &image));
        pdl_rtc_image_destroy(image);
        free(bytes);
    }
    const unsigned count = (unsigned)list.count;
    pdl_rtc_files_free(&list);
    assert_int_equal(close(base), 0);
    return count;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static pdl_rtc_cache *made;

static pdl_status create(void)
{
    pdl_rtc_cache_desc desc = PDL_RTC_CACHE_DESC_INIT;
    desc.directory = "new/folder";
    desc.shipped = "cache";
    return pdl_rtc_cache_create(&desc, &made);
}

static pdl_status create_default(void)
{
    return pdl_rtc_cache_create(NULL, &made);
}

/* A cache without the folder would be a wrong answer. */
static void check_made(pdl_status status)
{
    pdl_rtc_stats now = PDL_RTC_STATS_INIT;
    assert_true((status == PDL_SUCCESS) == (made != NULL));
    if (made != NULL) {
        assert_ok(pdl_rtc_cache_stats(made, &now));
        assert_non_null(strstr(now.directory, "new/folder"));
        assert_string_equal(now.problem, "");
    }
    pdl_rtc_cache_destroy(made);
    made = NULL;
}

static pdl_rtc_image *image;
static pdl_kernel *kernel;

static pdl_status look_up(void)
{
    return pdl_rtc_cache_compile(cache, "text.cu", source_of(1), &options, &image);
}

static pdl_status load(void)
{
    options.target = "compute_90";
    return pdl_rtc_kernel(cache, source_of(1), "k", &options, &kernel);
}

static pdl_status compile_new(void)
{
    return pdl_rtc_cache_compile(cache, "text.cu", source_of(TEXTS), &options, &image);
}

static void check_image(pdl_status status, const char *source)
{
    assert_true((status == PDL_SUCCESS) == (image != NULL));
    assert_true(image == NULL || cache_mock_made(image, source, NULL));
    pdl_rtc_image_destroy(image);
    image = NULL;
}

/* Whatever happens, what is there is neither compiled again nor counted as damaged. */
static void check_hit(pdl_status status)
{
    check_image(status, source_of(1));
    const pdl_rtc_stats now = stats();
    assert_int_equal(compilations(), 0);
    assert_int_equal(now.damaged + now.misses, 0);
    assert_int_equal(now.disk_hits, status == PDL_SUCCESS);
    assert_int_equal(whole_files(), TEXTS);
}

static void check_new(pdl_status status)
{
    check_image(status, source_of(TEXTS));
    assert_int_equal(stats().damaged, 0);
    assert_true(whole_files() >= TEXTS);
}

static void check_kernel(pdl_status status)
{
    assert_true((status == PDL_SUCCESS) == (kernel != NULL));
    assert_int_equal(stats().damaged, 0);
    assert_true(whole_files() >= TEXTS);
    kernel = NULL;
}

static void fill_without_compiler(void)
{
    cache_mock_start(13000, "one");
    fill();
    cache_mock_start(0, NULL);
}

static struct pdl_rtc_request request;

static void prepare_failure(void)
{
    pdl_rtc_request_free(&request);
    assert_ok(pdl_rtc_request_make(&request, "text.cu", "text", &options, NULL));
    pdl_rtc_log_set("text.cu(1): error: of the text");
}

/* The compilation's failure stays what it is: PDL_SUCCESS here. */
static pdl_status fail_and_dump(void)
{
    const struct pdl_rtc_job job = {.request = &request};
    const pdl_status status = pdl_rtc_job_fail(&job, "call", 1);
    return status == PDL_ERROR_COMPILE ? PDL_SUCCESS : status;
}

static void check_dump(pdl_status status)
{
    const char *message = pdl_last_error()->message;
    const char *path = strstr(message, "all of it in ");
    assert_int_equal(status, PDL_SUCCESS);
    assert_non_null(strstr(message, "of the text"));
    if (path != NULL) {
        assert_int_equal(access(path + strlen("all of it in "), R_OK), 0);
    } else if (strstr(message, "not written: ") == NULL || strstr(message, "memory") == NULL) {
        fail_msg("%s", message);
    }
}

/* ---- each of them -------------------------------------------------------------------------------- */

static void nothing(void)
{
}

static void a_cache_is_created_or_out_of_memory(void **state)
{
    (void)state;
    fill();
    each_fails("create", nothing, create, check_made);
    (void)setenv("PDL_RTC_CACHE_DIR", "new/folder", 1);
    each_fails("create from PDL_RTC_CACHE_DIR", nothing, create_default, check_made);
    (void)unsetenv("PDL_RTC_CACHE_DIR");
    char *home = realpath(".", NULL);
    char *xdg = NULL;
    assert_true(asprintf(&xdg, "%s/new/folder", home) > 0);
    (void)setenv("XDG_CACHE_HOME", xdg, 1);
    each_fails("create from XDG_CACHE_HOME", nothing, create_default, check_made);
    (void)unsetenv("XDG_CACHE_HOME");
    free(home);
    free(xdg);
}

static void a_file_is_found_or_the_call_out_of_memory(void **state)
{
    (void)state;
    each_fails("look up", fill, look_up, check_hit);
    each_fails("look up without a compiler", fill_without_compiler, look_up, check_hit);
}

static void a_text_is_compiled_and_kept_or_the_call_out_of_memory(void **state)
{
    (void)state;
    each_fails("compile", fill, compile_new, check_new);
    each_fails("kernel", fill, load, check_kernel);
}

static void a_failure_is_dumped_or_says_why_not(void **state)
{
    (void)state;
    (void)setenv("PDL_RTC_CACHE_DIR", "cache", 1);
    each_fails("dump", prepare_failure, fail_and_dump, check_dump);
    (void)unsetenv("PDL_RTC_CACHE_DIR");
    pdl_rtc_request_free(&request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(a_cache_is_created_or_out_of_memory),
        CACHE_TEST(a_file_is_found_or_the_call_out_of_memory),
        CACHE_TEST(a_text_is_compiled_and_kept_or_the_call_out_of_memory),
        CACHE_TEST(a_failure_is_dumped_or_says_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
