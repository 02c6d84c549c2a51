/* SPDX-License-Identifier: MIT */
/* What the toolkit's own compiler makes of kernels.cu. */
#include "inspect_support.h"

/* What is in the code of an image for a target. */
static void check_machine_code(const pdl_inspection *inspection, const pdl_inspect_image *image)
{
    const bool has_waits = image->target >= 90;
    const uint32_t yes = has_waits ? PDL_YES : PDL_NO;
    const struct {
        const char *name;
        uint32_t waits, triggers;
        uint32_t wait_count, trigger_count;
        int64_t shared_memory;
        int32_t parameters;
    } expected[] = {
        {"waits_and_triggers", yes, yes, has_waits, has_waits, 256, 2},
        {"waits_in_a_call", yes, PDL_NO, 0, 0, 0, 1},
        {"only_triggers", PDL_NO, yes, 0, has_waits, 0, 1},
        {"prints", PDL_NO, PDL_NO, 0, 0, 0, 1},
        {"calls_through_a_pointer", has_waits ? PDL_UNKNOWN : PDL_NO,
         has_waits ? PDL_UNKNOWN : PDL_NO, 0, 0, 0, 2},
        {"has_large_parameters", PDL_NO, PDL_NO, 0, 0, 0, 3},
    };
    assert_null(image->unread);
    assert_int_equal(image->kernel_count, COUNT_OF(expected));
    assert_true(image->function_count >= 1);
    for (size_t e = 0; e < COUNT_OF(expected); e++) {
        const pdl_inspect_kernel *kernel = NULL;
        for (uint32_t i = 0; i < image->kernel_count; i++) {
            const pdl_inspect_kernel *one =
                pdl_inspection_kernel(inspection, image->first_kernel + i);
            kernel = strcmp(one->info->name, expected[e].name) == 0 ? one : kernel;
        }
        assert_non_null(kernel);
        if (kernel->info->waits != expected[e].waits ||
            kernel->info->triggers != expected[e].triggers) {
            fail_msg("%s: %s waits %u and triggers %u", image->origin, kernel->info->name,
                     kernel->info->waits, kernel->info->triggers);
        }
        assert_int_equal(kernel->wait_count, expected[e].wait_count);
        assert_int_equal(kernel->trigger_count, expected[e].trigger_count);
        assert_int_equal(kernel->info->static_shared_memory, expected[e].shared_memory);
        assert_int_equal(kernel->info->parameter_count, expected[e].parameters);
        assert_in_range(kernel->info->registers_per_thread, 1, 255);
    }
}

static void check_text(const pdl_inspection *inspection, const pdl_inspect_image *image)
{
    assert_null(image->unread);
    assert_int_equal(image->kernel_count, 6);
    for (uint32_t i = 0; i < image->kernel_count; i++) {
        const pdl_inspect_kernel *kernel =
            pdl_inspection_kernel(inspection, image->first_kernel + i);
        if (strcmp(kernel->info->name, "waits_and_triggers") == 0) {
            assert_int_equal(kernel->info->waits, image->target >= 90 ? PDL_YES : PDL_NO);
        }
    }
}

/* Reads a file; it has `texts` PTX texts and `cubins` cubins with the kernels in them. */
static void check_file(const char *path, unsigned texts, unsigned cubins)
{
    pdl_inspection *inspection = NULL;
    unsigned found[3] = {0};
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.flags = PDL_INSPECT_FACTS_ONLY;
    if (pdl_inspect_file(path, &options, &inspection) != PDL_SUCCESS) {
        fail_msg("%s: %s", path, pdl_inspect_last_error()->message);
    }
    for (size_t i = 0; i < pdl_inspection_image_count(inspection); i++) {
        const pdl_inspect_image *image = pdl_inspection_image(inspection, i);
        if (image->kind == PDL_INSPECT_PTX) {
            check_text(inspection, image);
        } else if (image->kernel_count > 0) { /* the linker adds one without kernels */
            check_machine_code(inspection, image);
        } else {
            continue;
        }
        found[image->kind]++;
    }
    if (found[PDL_INSPECT_PTX] != texts || found[PDL_INSPECT_SASS] != cubins) {
        fail_msg("%s: %u texts, %u cubins", path, found[PDL_INSPECT_PTX], found[PDL_INSPECT_SASS]);
    }
    pdl_inspection_destroy(inspection);
}

/* One test a file, named after it: "PATH TEXTS CUBINS". */
static void the_file_is_read(void **state)
{
    char path[512];
    unsigned texts = 0;
    unsigned cubins = 0;
    assert_int_equal(sscanf(*state, "%511s %u %u", path, &texts, &cubins), 3);
    check_file(path, texts, cubins);
}

int main(int count, char **arguments)
{
    struct CMUnitTest *tests = calloc((size_t)count, sizeof(*tests));
    if (tests == NULL || count < 2) {
        return 2;
    }
    for (int i = 1; i < count; i++) {
        tests[i - 1] = (struct CMUnitTest){
            .name = arguments[i], .test_func = the_file_is_read, .initial_state = arguments[i]};
    }
    const int failed = _cmocka_run_group_tests("compiled", tests, (size_t)count - 1, NULL, NULL);
    free(tests);
    return failed;
}
