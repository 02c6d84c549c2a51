/* SPDX-License-Identifier: MIT */
/* Keys: what makes another kernel makes another key, and what does not, does not. */
#include "rtc/cache/key.h"
#include "rtc_support.h"

static pdl_rtc_header headers[] = {{"a.h", "int a;"}, {"b.h", "int b;"}};
static char *arguments[] = {(char *)"-DN=4", (char *)"-DM=5"};
static const char *names[] = {"f<int>", "g"};

static struct pdl_rtc_dependency file = {
    .path = (char *)"inc/x.h", .present = true, .content = {1, 2}, .check = {3, 4}};
static struct pdl_rtc_dependencies files = {.items = &file, .count = 1};

static struct pdl_rtc_request request_of(const char *source)
{
    return (struct pdl_rtc_request){.program = "text.cu",
                                    .source = source,
                                    .source_size = strlen(source),
                                    .target = "sm_90",
                                    .output = PDL_RTC_CUBIN,
                                    .arguments = {.items = arguments, .count = 2},
                                    .names = names,
                                    .name_count = 2,
                                    .headers = headers,
                                    .header_count = 2};
}

static struct pdl_rtc_key key_of(const struct pdl_rtc_request *request,
                                 const struct pdl_rtc_dependencies *dependencies)
{
    struct pdl_rtc_key key;
    pdl_rtc_key_make(request, dependencies, NULL, &key);
    return key;
}

static bool same(struct pdl_rtc_key a, struct pdl_rtc_key b)
{
    const bool text = pdl_rtc_hash_equal(a.text, b.text);
    assert_true(text == pdl_rtc_hash_equal(a.check, b.check));
    return text;
}

static void equal_requests_have_equal_keys(void **state)
{
    (void)state;
    char copy[] = "text";
    const struct pdl_rtc_request a = request_of("text");
    const struct pdl_rtc_request b = request_of(copy);
    assert_true(same(key_of(&a, &files), key_of(&b, &files)));
    assert_false(pdl_rtc_hash_equal(key_of(&a, &files).text, key_of(&a, &files).check));
}

/* Changes of one thing each: where it is, and what it becomes. */
static pdl_rtc_header other_headers[] = {{"a.h", "int a;"}, {"b.h", "int c;"}};
static pdl_rtc_header moved_headers[] = {{"a.h", "int a;b"}, {".h", "int b;"}};
static char *other_arguments[] = {(char *)"-DM=5", (char *)"-DN=4"};
static char *moved_arguments[] = {(char *)"-DN=4-", (char *)"DM=5"};
static const char *other_names[] = {"f<int>", "h"};

#define CHANGE(type, field, of, ...)                                                               \
    {                                                                                              \
        offsetof(type, field), sizeof(of), &(of)                                                   \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define OF_REQUEST(field, of, ...) CHANGE(struct pdl_rtc_request, field, of, __VA_ARGS__)
#define OF_FILE(field, of, ...)    CHANGE(struct pdl_rtc_dependency, field, of, __VA_ARGS__)
typedef char target[7];

static const struct change {
    size_t at, size;
    const void *value;
} request_changes[] = {
    OF_REQUEST(source, const char *, "texT"),
    OF_REQUEST(source_size, size_t, 3),
    OF_REQUEST(program, const char *, "other.cu"),
    OF_REQUEST(target, target, "sm_90a"),
    OF_REQUEST(output, uint32_t, PDL_RTC_PTX),
    OF_REQUEST(flags, uint32_t, 2),
    OF_REQUEST(arguments.items, char **, other_arguments),
    OF_REQUEST(arguments.items, char **, moved_arguments),
    OF_REQUEST(arguments.count, size_t, 1),
    OF_REQUEST(names, const char **, other_names),
    OF_REQUEST(headers, const pdl_rtc_header *, other_headers),
    OF_REQUEST(headers, const pdl_rtc_header *, moved_headers),
    OF_REQUEST(header_count, size_t, 1),
};
static const struct change file_changes[] = {
    OF_FILE(content.low, uint64_t, 7),
    OF_FILE(check.high, uint64_t, 7),
    OF_FILE(path, char *, (char *)"inc/y.h"),
    OF_FILE(present, bool, false),
};

static void whatever_is_compiled_is_in_the_key(void **state)
{
    (void)state;
    enum {
        OF_REQUESTS = COUNT_OF(request_changes),
        CHANGES = OF_REQUESTS + COUNT_OF(file_changes)
    };
    struct pdl_rtc_key keys[CHANGES + 1];
    for (size_t i = 0; i <= CHANGES; i++) {
        struct pdl_rtc_request request = request_of("text");
        struct pdl_rtc_dependency dependency = file;
        const struct pdl_rtc_dependencies dependencies = {.items = &dependency, .count = 1};
        const bool of_request = i < OF_REQUESTS;
        if (i < CHANGES) {
            const struct change *change =
                of_request ? &request_changes[i] : &file_changes[i - OF_REQUESTS];
            memcpy((of_request ? (char *)&request : (char *)&dependency) + change->at,
                   change->value, change->size);
        }
        keys[i] = key_of(&request, &dependencies);
        for (size_t j = 0; j < i; j++) {
            if (same(keys[i], keys[j])) {
                fail_msg("changes %zu and %zu have the same key", i, j);
            }
        }
    }
}

static void times_and_absent_files_are_not_in_the_key(void **state)
{
    (void)state;
    struct pdl_rtc_dependency two[] = {file, {.path = (char *)"x.h"}};
    struct pdl_rtc_dependencies dependencies = {.items = two, .count = 2};
    struct pdl_rtc_request request = request_of("text");
    const struct pdl_rtc_key key = key_of(&request, &files);
    two[0].modified_ns = 7;
    two[0].inode = 8;
    request.flags = PDL_RTC_NO_CACHE;
    assert_true(same(key, key_of(&request, &dependencies)));
}

static void the_text_does_not_depend_on_the_compilers(void **state)
{
    (void)state;
    const struct pdl_rtc_request request = request_of("text");
    static const struct pdl_rtc_compiler compilers[] = {
        {.number = 13000, .identity = {.bytes = "one", .size = 3}},
        {.number = 13000, .identity = {.bytes = "two", .size = 3}},
        {.number = 12080, .identity = {.bytes = "one", .size = 3}}};
    struct pdl_rtc_key keys[3];
    for (size_t i = 0; i < 3; i++) {
        pdl_rtc_key_make(&request, &files, &compilers[i], &keys[i]);
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_true(same(keys[i], keys[0]));
        assert_int_not_equal(keys[i].compilers, 0);
        for (size_t j = 0; j < i; j++) {
            assert_true(keys[i].compilers != keys[j].compilers);
        }
    }
    assert_int_equal(key_of(&request, &files).compilers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_requests_have_equal_keys),
        cmocka_unit_test(whatever_is_compiled_is_in_the_key),
        cmocka_unit_test(times_and_absent_files_are_not_in_the_key),
        cmocka_unit_test(the_text_does_not_depend_on_the_compilers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
