/* SPDX-License-Identifier: MIT */
/* Files of the cache: what is written is read, and nothing else is. */
#include "code/info.h"
#include "rtc/cache/entry.h"
#include "rtc_support.h"

static const struct pdl_rtc_key key = {
    .text = {0x1122334455667788, 0x99aabbccddeeff00}, .check = {3, 4}, .compilers = 5};

enum {
    HEADER = 40,
    CHECKSUM_AT = 24,
    SIZE_AT = 16,
    BODY_VERSIONS = HEADER + 40,
    STRINGS = HEADER + 56
};

struct file {
    unsigned char *bytes;
    size_t size;
};

static struct file make_file(void)
{
    struct pdl_rtc_image_kernel kernels[] = {{.expression = (char *)"scale<float, 4>",
                                              .name = (char *)"_Z5scaleIfLi4EEvPT_",
                                              .info = {.ptx_version = 85,
                                                       .binary_version = 90,
                                                       .max_threads_per_block = 1024,
                                                       .registers_per_thread = 32,
                                                       .static_shared_memory = INT32_MAX,
                                                       .local_memory = 16,
                                                       .constant_memory = 528,
                                                       .parameter_count = 3,
                                                       .waits = PDL_YES,
                                                       .waits_always = PDL_NO,
                                                       .triggers = PDL_NO}},
                                             {.name = (char *)"plain"}};
    kernels[1].info = pdl_code_info("plain");
    struct pdl_rtc_image image = {.output = PDL_RTC_PTX,
                                  .target = "sm_90a",
                                  .program = (char *)"text.cu",
                                  .log = (char *)"a warning",
                                  .code = (unsigned char *)".version 8.0",
                                  .code_size = 13,
                                  .kernels = kernels,
                                  .kernel_count = 2,
                                  .compiler_version = 13000};
    struct file file = {0};
    assert_ok(pdl_rtc_entry_write(&image, &key, &file.bytes, &file.size));
    return file;
}

static const char *read_any(const struct file *file)
{
    pdl_rtc_image *image = NULL;
    const char *wrong = pdl_rtc_entry_read(file->bytes, file->size, NULL, &image);
    assert_true((wrong == NULL) == (image != NULL));
    pdl_rtc_image_destroy(image);
    return wrong;
}

static void put(struct file *file, size_t at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        file->bytes[at + i] = (unsigned char)(number >> (8 * i));
    }
}

/* Makes the header right again after a change of the body. */
static void seal(struct file *file)
{
    const struct pdl_rtc_hash sum =
        pdl_rtc_hash_bytes(file->bytes + HEADER, file->size - HEADER, PDL_RTC_SEED_TEXT);
    put(file, SIZE_AT, file->size, 8);
    put(file, CHECKSUM_AT, sum.high, 8);
    put(file, CHECKSUM_AT + 8, sum.low, 8);
}

static void an_image_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct file file = make_file();
    pdl_rtc_image *image = NULL;
    assert_null(pdl_rtc_entry_read(file.bytes, file.size, &key, &image));
    assert_int_equal(image->output, PDL_RTC_PTX);
    assert_string_equal(image->target, "sm_90a");
    assert_string_equal(image->program, "text.cu");
    assert_string_equal(image->log, "a warning");
    assert_int_equal(image->code_size, 13);
    assert_memory_equal(image->code, ".version 8.0", 13);
    assert_int_equal(image->compiler_version, 13000);
    assert_int_equal(image->kernel_count, 2);
    assert_string_equal(image->kernels[0].expression, "scale<float, 4>");
    const pdl_kernel_info *first = &image->kernels[0].info;
    assert_string_equal(first->name, "_Z5scaleIfLi4EEvPT_");
    assert_int_equal(first->size, sizeof(*first));
    assert_int_equal(first->device, -1);
    assert_int_equal(first->ptx_version, 85);
    assert_int_equal(first->static_shared_memory, INT32_MAX);
    assert_int_equal(first->max_dynamic_shared_memory, -1);
    assert_int_equal(first->waits, PDL_YES);
    assert_int_equal(first->triggers, PDL_NO);
    assert_null(image->kernels[1].expression);
    const pdl_kernel_info *second = &image->kernels[1].info;
    const pdl_kernel_info unknown = pdl_code_info(second->name);
    assert_string_equal(second->name, "plain");
    assert_memory_equal(second, &unknown, sizeof(unknown));
    struct file again = {0};
    assert_ok(pdl_rtc_entry_write(image, &key, &again.bytes, &again.size));
    assert_int_equal(again.size, file.size);
    assert_memory_equal(again.bytes, file.bytes, file.size);
    free(again.bytes);
    pdl_rtc_image_destroy(image);
    free(file.bytes);
}

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    struct file file = make_file();
    for (size_t bit = 0; bit < 8 * file.size; bit++) {
        file.bytes[bit / 8] ^= (unsigned char)(1U << (bit % 8));
        assert_non_null(read_any(&file));
        file.bytes[bit / 8] ^= (unsigned char)(1U << (bit % 8));
    }
    assert_null(read_any(&file));
    free(file.bytes);
}

/* In memory of just that size, so that the sanitizer sees a byte too many. */
static void every_shorter_file_is_noticed(void **state)
{
    (void)state;
    struct file file = make_file();
    for (size_t size = 0; size < file.size; size++) {
        struct file cut = {malloc(size + (size == 0)), size};
        memcpy(cut.bytes, file.bytes, size);
        assert_non_null(read_any(&cut));
        if (size > HEADER) {
            seal(&cut);
            assert_non_null(read_any(&cut)); /* even with lengths that agree */
        }
        free(cut.bytes);
    }
    free(file.bytes);
}

static void bytes_behind_the_end_are_noticed(void **state)
{
    (void)state;
    struct file file = make_file();
    file.bytes = realloc(file.bytes, file.size + 1);
    file.bytes[file.size++] = 0;
    assert_string_equal(read_any(&file), "it is cut short or too long");
    seal(&file);
    assert_string_equal(read_any(&file), "there is data after its end");
    free(file.bytes);
}

static void a_file_of_another_text_is_not_taken(void **state)
{
    (void)state;
    struct file file = make_file();
    pdl_rtc_image *image = NULL;
    struct pdl_rtc_key others[] = {key, key, key, key, key};
    others[0].text.high ^= 1;
    others[1].text.low ^= 1;
    others[2].check.high ^= 1;
    others[3].check.low ^= 1;
    others[4].compilers ^= 1;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_string_equal(pdl_rtc_entry_read(file.bytes, file.size, &others[i], &image),
                            "it is of another text");
        assert_null(image);
    }
    free(file.bytes);
}

static void a_key_without_compilers_takes_a_file_of_any(void **state)
{
    (void)state;
    struct file file = make_file();
    struct pdl_rtc_key any = key;
    pdl_rtc_image *image = NULL;
    any.compilers = 0;
    assert_null(pdl_rtc_entry_read(file.bytes, file.size, &any, &image));
    pdl_rtc_image_destroy(image);
    free(file.bytes);
}

/* What no checksum protects from: a writer that has lost its mind. */
static void nonsense_with_a_right_checksum_is_noticed(void **state)
{
    (void)state;
    static const struct {
        size_t at, size;
        uint64_t number;
    } changes[] = {
        {8, 4, 1},                             /* the schema */
        {12, 4, 1},                            /* what is not used yet */
        {BODY_VERSIONS + 8, 4, 3},             /* there is no such output */
        {BODY_VERSIONS + 8, 4, 0},             /* nor is none */
        {BODY_VERSIONS + 12, 4, 3},            /* a kernel more */
        {BODY_VERSIONS + 12, 4, 1},            /* one less */
        {BODY_VERSIONS + 12, 4, ~0U},          /* many */
        {STRINGS, 8, ~(uint64_t)0},            /* a target of all memory */
        {STRINGS, 8, 0},                       /* none, and all behind it moved */
        {STRINGS + 8, 1, 0},                   /* a NUL in it */
        {STRINGS + 14 + 8, 1, 0},              /* in the name of the program */
        {STRINGS + 14 + 15 + 17 + 20, 1, 'x'}, /* PTX that does not end */
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        struct file file = make_file();
        put(&file, changes[i].at, changes[i].number, changes[i].size);
        seal(&file);
        if (read_any(&file) == NULL) {
            fail_msg("change %zu was taken", i);
        }
        free(file.bytes);
    }
}

static void answers_that_are_none_are_noticed(void **state)
{
    (void)state;
    struct file file = make_file();
    const char lowered[] = "_Z5scaleIfLi4EEvPT_";
    unsigned char *at = memmem(file.bytes, file.size, lowered, strlen(lowered));
    assert_non_null(at);
    at += strlen(lowered) + (size_t)8 * 4; /* numbers, and then waits, waits_always, triggers */
    for (size_t i = 0; i < 3; i++) {
        at[4 * i] = 3;
        seal(&file);
        assert_string_equal(read_any(&file), "its facts about a kernel are invalid");
        at[4 * i] = PDL_YES;
        seal(&file);
        assert_null(read_any(&file));
    }
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_is_read_as_it_was_written),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        cmocka_unit_test(every_shorter_file_is_noticed),
        cmocka_unit_test(bytes_behind_the_end_are_noticed),
        cmocka_unit_test(a_file_of_another_text_is_not_taken),
        cmocka_unit_test(a_key_without_compilers_takes_a_file_of_any),
        cmocka_unit_test(nonsense_with_a_right_checksum_is_noticed),
        cmocka_unit_test(answers_that_are_none_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
