/* SPDX-License-Identifier: MIT */
/* The parts of the interface that read nothing: rules, options, arguments, errors, files. */
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect_support.h"

/* ---- rules ---------------------------------------------------------------------------------- */

TEST(every_rule_has_an_id_a_level_and_a_summary)
{
    for (int32_t i = 1; i < PDL_LINT_RULE_COUNT_; i++) {
        const pdl_lint_rule rule = (pdl_lint_rule)i;
        if (i == 8 || i == 9 || i == 11) { /* rules of 0.2 */
            assert_string_equal(pdl_lint_rule_id(rule), "unknown");
            continue;
        }
        assert_true(strlen(pdl_lint_rule_id(rule)) > 0);
        assert_true(strlen(pdl_lint_rule_summary(rule)) > 0);
        assert_int_equal(pdl_lint_rule_find(pdl_lint_rule_id(rule)), i);
    }
    assert_string_equal(pdl_lint_rule_id(PDL_LINT_READ_BEFORE_WAIT), "read-before-wait");
    assert_int_equal(pdl_lint_rule_level(PDL_LINT_READ_BEFORE_WAIT), PDL_LINT_WARNING);
    assert_int_equal(pdl_lint_rule_level(PDL_LINT_NO_TRIGGER), PDL_LINT_NOTE);
}

TEST(what_is_no_rule_and_no_level_is_unknown)
{
    static const int numbers[] = {0, -1, PDL_LINT_RULE_COUNT_, 1000};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        assert_string_equal(pdl_lint_rule_id((pdl_lint_rule)numbers[i]), "unknown");
        assert_true(strlen(pdl_lint_rule_summary((pdl_lint_rule)numbers[i])) > 0);
        assert_string_equal(pdl_lint_level_name((pdl_lint_level)(numbers[i] * 10)), "unknown");
    }
    assert_int_equal(pdl_lint_rule_find("no-such-rule"), 0);
    assert_int_equal(pdl_lint_rule_find("unknown"), 0);
    assert_int_equal(pdl_lint_rule_find(""), 0);
    assert_int_equal(pdl_lint_rule_find(NULL), 0);
    assert_string_equal(pdl_lint_level_name(PDL_LINT_NOTE), "note");
    assert_string_equal(pdl_lint_level_name(PDL_LINT_WARNING), "warning");
    assert_string_equal(pdl_lint_level_name(PDL_LINT_ERROR), "error");
}

/* ---- arguments ------------------------------------------------------------------------------ */

TEST(missing_arguments_are_named)
{
    pdl_inspection *inspection = NULL;
    const pdl_inspect_error *error = pdl_inspect_last_error();
    assert_int_equal(pdl_inspect_memory(NULL, 1, "x", NULL, &inspection),
                     PDL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(error->message, "bytes is NULL");
    assert_int_equal(pdl_inspect_memory("x", 1, NULL, NULL, &inspection),
                     PDL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(error->message, "name is NULL");
    assert_int_equal(pdl_inspect_memory("x", 1, "x", NULL, NULL), PDL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(error->message, "inspection is NULL");
    assert_int_equal(pdl_inspect_file(NULL, NULL, &inspection), PDL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(error->message, "path is NULL");
    assert_int_equal(error->status, PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(error->line, 0);
    assert_null(inspection);
}

TEST(nothing_is_asked_of_no_inspection)
{
    assert_int_equal(pdl_inspection_image_count(NULL), 0);
    assert_int_equal(pdl_inspection_kernel_count(NULL), 0);
    assert_int_equal(pdl_inspection_finding_count(NULL), 0);
    assert_int_equal(pdl_inspection_marker_count(NULL), 0);
    assert_null(pdl_inspection_image(NULL, 0));
    assert_null(pdl_inspection_kernel(NULL, 0));
    assert_null(pdl_inspection_finding(NULL, 0));
    assert_null(pdl_inspection_marker(NULL, 0));
    pdl_inspection_destroy(NULL);
}

TEST(there_is_nothing_behind_the_last)
{
    struct bytes cubin = make_cubin(&plain_cubin);
    pdl_inspection *inspection = inspect(&cubin, "cubin"); /* it is not needed any more */
    assert_non_null(pdl_inspection_image(inspection, 0));
    assert_null(pdl_inspection_image(inspection, 1));
    assert_string_equal(pdl_inspection_kernel(inspection, 0)->info->name, "fc1");
    assert_null(pdl_inspection_kernel(inspection, 1));
    assert_null(pdl_inspection_kernel(inspection, SIZE_MAX));
    assert_null(pdl_inspection_finding(inspection, 0));
    assert_null(pdl_inspection_marker(inspection, 0));
}

/* ---- options -------------------------------------------------------------------------------- */

static pdl_status status_with(const pdl_inspect_options *options)
{
    pdl_inspection *inspection = NULL;
    struct bytes cubin = make_cubin(&plain_cubin);
    const pdl_status status =
        pdl_inspect_memory(cubin.data, cubin.size, "cubin", options, &inspection);
    assert_int_equal(status == PDL_SUCCESS, inspection != NULL);
    pdl_inspection_destroy(inspection);
    return status;
}

TEST(options_of_other_sizes_are_taken_if_what_is_more_is_zero)
{
    struct {
        pdl_inspect_options options;
        unsigned char more[64];
    } longer = {.options = PDL_INSPECT_OPTIONS_INIT};
    const uint32_t size = (uint32_t)sizeof(longer.options);
    assert_int_equal(status_with(&longer.options), PDL_SUCCESS);
    longer.options.size = 8; /* what comes behind is not looked at */
    longer.options.constant_param_count = 1;
    assert_int_equal(status_with(&longer.options), PDL_SUCCESS);
    longer.options.constant_param_count = 0;
    longer.options.size = size + 64;
    assert_int_equal(status_with(&longer.options), PDL_SUCCESS);
    longer.more[63] = 1;
    assert_int_equal(status_with(&longer.options), PDL_ERROR_DESC_TOO_NEW);
    static const uint32_t sizes[] = {0, 4, 7, 16385, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        longer.options.size = sizes[i];
        assert_int_equal(status_with(&longer.options), PDL_ERROR_DESC_SIZE);
    }
}

TEST(options_that_are_none_are_refused)
{
    const char *const names[] = {"w", NULL};
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.flags = PDL_INSPECT_FACTS_ONLY | PDL_INSPECT_NO_SOURCES;
    assert_int_equal(status_with(&options), PDL_SUCCESS);
    options.flags = 4;
    assert_int_equal(status_with(&options), PDL_ERROR_INVALID_ARGUMENT);
    options.flags = 0;
    options.overlapped_count = 1;
    assert_int_equal(status_with(&options), PDL_ERROR_INVALID_ARGUMENT);
    options.overlapped = names;
    assert_int_equal(status_with(&options), PDL_SUCCESS);
    options.overlapped_count = 2;
    assert_int_equal(status_with(&options), PDL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(pdl_inspect_last_error()->message, "overlapped[1] is NULL");
}

/* ---- sizes ---------------------------------------------------------------------------------- */

#define assert_sized(given)                                                                        \
    do {                                                                                           \
        assert_non_null(given);                                                                    \
        assert_int_equal((given)->size, sizeof(*(given)));                                         \
    } while (0)

TEST(everything_that_is_handed_out_says_its_size)
{
    static const char text[] = ".version 8.5\n.target sm_90\n.file 1 \"a.cu\"\n"
                               ".visible .entry k(.param .u64 a)\n{\n.loc 1 12 5\n"
                               "ld.param.u64 r, [a];\n// pdl:allow no-trigger: it is the last\n"
                               "ld.global.u32 x, [r];\ngriddepcontrol.wait;\nret;\n}\n";
    assert_sized(pdl_inspect_last_error());
    pdl_inspection *inspection = inspect_text(text, NULL);
    assert_sized(pdl_inspection_image(inspection, 0));
    const pdl_inspect_kernel *kernel = pdl_inspection_kernel(inspection, 0);
    assert_sized(kernel);
    assert_sized(kernel->info);
    assert_sized(kernel->place);
    assert_int_equal(kernel->info->device, -1);
    assert_int_equal(kernel->info->ptx_version, 90);
    assert_int_equal(kernel->info->binary_version, 0);
    assert_int_equal(kernel->info->registers_per_thread, -1);
    assert_int_equal(kernel->info->max_threads_per_block, -1);
    assert_int_equal(kernel->finding_count, 2);
    for (uint32_t i = 0; i < kernel->finding_count; i++) {
        const pdl_lint_finding *finding =
            pdl_inspection_finding(inspection, (size_t)kernel->first_finding + i);
        assert_sized(finding);
        assert_int_equal(finding->place_count, 1);
        assert_sized(finding->places[0]);
    }
    assert_sized(pdl_inspection_marker(inspection, 0));
}

/* ---- files ---------------------------------------------------------------------------------- */

static char directory[] = "/tmp/pdl_test_inspect_XXXXXX";

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

static void assert_file_refused(const char *path, pdl_status status, const char *words)
{
    pdl_inspection *inspection = NULL;
    assert_int_equal(pdl_inspect_file(path, NULL, &inspection), status);
    assert_null(inspection);
    assert_non_null(strstr(pdl_inspect_last_error()->message, words));
}

TEST(files_are_read_and_closed)
{
    char path[128];
    pdl_inspection *inspection = NULL;
    struct bytes cubin = make_cubin(&plain_cubin);
    (void)snprintf(path, sizeof(path), "%s/file", directory);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(cubin.data, 1, cubin.size, file), cubin.size);
    assert_int_equal(fclose(file), 0);
    const int before = dup(STDERR_FILENO); /* the lowest free number */
    assert_int_equal(close(before), 0);
    assert_int_equal(pdl_inspect_file(path, NULL, &inspection), PDL_SUCCESS);
    assert_string_equal(pdl_inspection_image(inspection, 0)->origin, path);
    assert_int_equal(truncate(path, 0), 0);
    assert_string_equal(pdl_inspection_kernel(inspection, 0)->info->name, "fc1");
    pdl_inspection_destroy(inspection);
    assert_file_refused(path, PDL_ERROR_INVALID_IMAGE, "empty");
    const int after = dup(STDERR_FILENO);
    assert_int_equal(close(after), 0);
    assert_int_equal(after, before);
    assert_int_equal(unlink(path), 0);
}

TEST(what_is_no_regular_file_is_refused)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/pipe", directory);
    assert_file_refused(path, PDL_ERROR_FILE, "No such file or directory");
    assert_file_refused(directory, PDL_ERROR_FILE, "regular file");
    assert_file_refused("/dev/null", PDL_ERROR_FILE, "regular file");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_file_refused(path, PDL_ERROR_FILE, "regular file"); /* and nobody is waited for */
    assert_int_equal(unlink(path), 0);
}

/* ---- errors --------------------------------------------------------------------------------- */

static void *fail_elsewhere(void *seen)
{
    *(int32_t *)seen = pdl_inspect_last_error()->status;
    (void)pdl_inspect_file(NULL, NULL, NULL);
    return NULL;
}

TEST(each_thread_has_its_own_error)
{
    pthread_t thread;
    int32_t seen = -1;
    assert_file_refused(directory, PDL_ERROR_FILE, "regular file");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(seen, PDL_SUCCESS);
    assert_int_equal(pdl_inspect_last_error()->status, PDL_ERROR_FILE);
}

int main(void)
{
    return run_all_tests(make_directory, remove_directory);
}
