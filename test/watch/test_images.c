/* SPDX-License-Identifier: MIT */
/* The registry of the code that a program gives to the driver. What is recorded lands here. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef PDL_HAVE_ZSTD
#include <zstd.h>
#endif

#include "../inspect/make_image.h"
#include "core/hash.h"
#include "watch/images.h"
#include "watch/watch.h"

#define PTX(name, more)                                                                            \
    ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry " name "()\n{ ret; }\n" more

/* ---- what the registry calls ------------------------------------------------------------------------ */

static struct pdl_watch_settings settings = {.record = "recording", .code = true};

enum { HEAD = offsetof(struct pdl_watch_image, bytes), MOST = 8192 };
struct recorded {
    uint64_t place[(HEAD + MOST) / 8]; /* a struct pdl_watch_image with its bytes */
    size_t size;
};
static struct recorded recorded[32];
static unsigned recorded_count;

static struct pdl_watch_image *image_of(struct recorded *one)
{
    return (struct pdl_watch_image *)one->place;
}

static const struct pdl_watch_image *last_image(void)
{
    return image_of(&recorded[recorded_count - 1]);
}

const struct pdl_watch_settings *pdl_watch_settings(void)
{
    return &settings;
}

bool pdl_watch_recording_open(void)
{
    return settings.record != NULL;
}

void *pdl_watch_reserve_text(enum pdl_watch_kind kind, size_t head, const void *text, size_t length)
{
    assert_int_equal(kind, PDL_WATCH_IMAGE);
    assert_int_equal(head, HEAD);
    assert_true(recorded_count < 32 && length <= MOST);
    struct recorded *const one = &recorded[recorded_count];
    memset(one, 0, sizeof(*one));
    memcpy(image_of(one)->bytes, text, length);
    one->size = length;
    return image_of(one);
}

void pdl_watch_commit(void *record)
{
    struct recorded *const one = &recorded[recorded_count];
    const struct pdl_watch_image *const image = image_of(one);
    assert_ptr_equal(record, image);
    assert_true(image->hash == pdl_hash(PDL_HASH_START, image->bytes, one->size));
    recorded_count++;
}

/* ---- questions ------------------------------------------------------------------------------------------ */

static struct pdl_watch_loaded function;
static struct pdl_watch_kernel kernel;

static struct pdl_watch_loaded *function_of(const char *name, int ptx_version)
{
    kernel.text = name;
    function.kernel = &kernel;
    function.ptx_version = ptx_version;
    function.binary_version = 90;
    function.capability = 90;
    return &function;
}

/* What was looked at, such as "c1 t1 t2": cubins and texts, with the numbers of their images from 1. */
struct looked {
    char text[256];
    uint32_t images[8];
    unsigned count;
    enum pdl_watch_looked answer; /* to a cubin */
};

static enum pdl_watch_looked look(void *context, const struct pdl_watch_code *code)
{
    struct looked *const looked = context;
    uint32_t image = 0;
    while (looked->images[image] != code->image && looked->images[image] != 0) {
        image++;
    }
    looked->images[image] = code->image;
    assert_true(code->target == 0 || code->target == 90 || code->target == 80);
    if (code->machine) {
        assert_true(code->size > 64 && memcmp(code->bytes, "\177ELF", 4) == 0);
    } else {
        assert_true(code->size > 10 && memcmp(code->bytes, ".version", 8) == 0 &&
                    memchr(code->bytes, '\0', code->size) == NULL);
    }
    const size_t length = strlen(looked->text);
    (void)snprintf(looked->text + length, sizeof(looked->text) - length, "%s%c%u",
                   length > 0 ? " " : "", code->machine ? 'c' : 't', image + 1);
    looked->count++;
    return code->machine ? looked->answer : PDL_WATCH_LOOK_ON;
}

static unsigned codes_of(const char *name, int ptx_version)
{
    struct looked looked = {.count = 0};
    pdl_watch_images_each(function_of(name, ptx_version), false, look, &looked);
    return looked.count;
}

static void assert_codes(const char *name, enum pdl_watch_looked answer, const char *expected)
{
    struct looked looked = {.answer = answer};
    pdl_watch_images_each(function_of(name, 90), true, look, &looked);
    assert_string_equal(looked.text, expected);
}

/* How many more were recorded. */
static unsigned recorded_of(const char *name, int ptx_version)
{
    const unsigned before = recorded_count;
    pdl_watch_image_of(function_of(name, ptx_version));
    return recorded_count - before;
}

/* ---- tests ------------------------------------------------------------------------------------------------ */

static void a_text_is_kept_and_recorded_once(void **state)
{
    (void)state;
    char *const text = strdup(PTX("text_one", ".entry text_two() { ret; }\n"));
    const size_t size = strlen(text);
    pdl_watch_image_given(text);
    pdl_watch_image_given(text);
    memset(text, 'x', size);
    free(text);
    assert_int_equal(codes_of("text_one", 90), 1);
    assert_int_equal(codes_of("text_two", 90), 1);
    assert_int_equal(codes_of("text", 90), 0);
    assert_int_equal(recorded_of("text_one", 90), 1);
    assert_int_equal(recorded_of("text_two", 90), 0);
    assert_int_equal(last_image()->form, PDL_WATCH_PTX);
    assert_int_equal(recorded[recorded_count - 1].size, size);
}

static void a_fatbin_in_other_memory_is_copied(void **state)
{
    (void)state;
    struct bytes made = {NULL, 0};
    const size_t begin = fatbin_begin(&made);
    const char one[] = PTX("member_one", "");
    const char old[] = PTX("member_old", "");
    fatbin_add(&made, MADE_PTX, 90, 0, one, sizeof(one), 0);
    fatbin_add(&made, MADE_PTX, 80, 0, old, sizeof(old), 0);
    fatbin_end(&made, begin);
    pdl_watch_image_given(made.data);
    memset(made.data, 0xff, made.size);
    bytes_free(&made);
    assert_int_equal(codes_of("member_one", 90), 1);
    assert_int_equal(codes_of("member_one", 80), 0); /* the driver says that it runs other code */
    assert_int_equal(codes_of("member_old", 90), 0);
    assert_int_equal(codes_of("member_old", 80), 1);
    assert_int_equal(codes_of("member_old", -1), 1); /* it says nothing */
    assert_int_equal(recorded_of("member_old", 80), 1);
    assert_int_equal(last_image()->target, 80);
}

/* Not all zero: that would lie in memory that the file does not fill. */
static unsigned char room[2][8192] __attribute__((aligned(8))) = {{1}, {1}};

static void put(unsigned char *to, const char *text, size_t size)
{
    struct bytes made = make_fatbin(MADE_PTX, 90, text, size);
    assert_true(made.size <= sizeof(room[0]));
    memcpy(to, made.data, made.size);
    bytes_free(&made);
}

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *inputs;
};

static void a_fatbin_of_the_program_is_read_when_it_is_needed(void **state)
{
    (void)state;
    const char early[] = PTX("early", "");
    const char later[] = PTX("later", "");
    const struct wrapper wrapper = {0x466243b1, 1, room[0], NULL};
    put(room[0], early, sizeof(early));
    pdl_watch_image_given(&wrapper);
    pdl_watch_image_given(room[0]);
    put(room[0], later, sizeof(later));
    assert_int_equal(codes_of("early", 90), 0);
    assert_int_equal(codes_of("later", 90), 1);
}

static void a_linked_wrapper_has_inputs(void **state)
{
    (void)state;
    const char input[] = PTX("linked_input", "");
    const void *const inputs[] = {room[1], NULL};
    const struct wrapper wrapper = {0x466243b1, 2, room[0], inputs};
    put(room[1], input, sizeof(input));
    pdl_watch_image_given(&wrapper);
    assert_int_equal(codes_of("linked_input", 90), 1);
}

static void what_was_unloaded_is_not_read(void **state)
{
    (void)state;
    const char unloaded[] = PTX("unloaded", "");
    for (int indexed = 0; indexed < 2; indexed++) {
        void *const object = dlopen(PDL_TEST_OBJECT, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(object);
        unsigned char *const place = dlsym(object, "cutest_room");
        assert_non_null(place);
        put(place, unloaded, sizeof(unloaded));
        pdl_watch_image_given(place);
        if (indexed != 0) {
            assert_true(codes_of("unloaded", 90) >= 1);
        }
        assert_int_equal(dlclose(object), 0);
        assert_int_equal(codes_of("unloaded", 90), 0);
    }
}

static void compressed_members_are_read(void **state)
{
    (void)state;
#ifdef PDL_HAVE_ZSTD
    const char text[] = PTX("compressed", "");
    unsigned char packed[1024];
    struct bytes made = {NULL, 0};
    const size_t size = ZSTD_compress(packed, sizeof(packed), text, sizeof(text), 3);
    assert_false(ZSTD_isError(size));
    const size_t begin = fatbin_begin(&made);
    fatbin_add(&made, MADE_PTX, 90, MADE_ZSTD, packed, size, sizeof(text));
    fatbin_end(&made, begin);
    pdl_watch_image_given(made.data);
    bytes_free(&made);
    assert_int_equal(codes_of("compressed", 90), 1);
    assert_int_equal(recorded_of("compressed", 90), 1);
    assert_int_equal(recorded[recorded_count - 1].size, sizeof(text) - 1);
#else
    skip();
#endif
}

static void the_images_of_a_table_are_read(void **state)
{
    (void)state;
#ifdef PDL_HAVE_ZSTD
    static const uint64_t flags[] = {0, MADE_ZSTD};
#else
    static const uint64_t flags[] = {0};
#endif
    static const char one[] = PTX("table_one", "");
    static const char old[] = PTX("table_old", "");
    const struct made_image images[] = {{MADE_PTX, 90, one, sizeof(one), NULL, "-O3"},
                                        {MADE_PTX, 80, old, sizeof(old), "a.cu", NULL}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct bytes made = {NULL, 0};
        const size_t begin = fatbin_begin(&made);
        (void)fatbin_add_table(&made, flags[i], images, 2);
        fatbin_end(&made, begin);
        pdl_watch_image_given(made.data);
        memset(made.data, 0xff, made.size);
        bytes_free(&made);
        assert_int_equal(codes_of("table_one", 90), i + 1);
        assert_int_equal(codes_of("table_one", 80), 0);
        assert_int_equal(codes_of("table_old", 80), i + 1);
    }
}

static void cubins_are_recorded_once_and_whole(void **state)
{
    (void)state;
    struct bytes made = make_cubin(&plain_cubin);
    const unsigned before = recorded_count;
    pdl_watch_image_given(made.data); /* which finds out how long it is */
    pdl_watch_cubin_loaded(made.data, made.size);
    assert_int_equal(recorded_count, before + 1);
    assert_int_equal(last_image()->form, PDL_WATCH_CUBIN);
    assert_int_equal(recorded[before].size, made.size);
    bytes_free(&made);
}

/* A cubin of one kernel. */
static struct bytes cubin_of(const char *name, unsigned target, bool relocatable)
{
    struct made_cubin cubin = plain_cubin;
    cubin.target = target;
    cubin.relocatable = relocatable;
    cubin.functions[0].name = name;
    return make_cubin(&cubin);
}

static void cubins_are_found_before_the_texts_of_their_image(void **state)
{
    (void)state;
    struct bytes alone = cubin_of("machine", 90, false);
    struct bytes other = cubin_of("machine_other", 90, false);
    struct bytes old = cubin_of("machine", 80, false);
    struct bytes part = cubin_of("machine", 90, true);
    struct bytes made = {NULL, 0};
    const char text[] = PTX("machine", "");
    pdl_watch_image_given(alone.data);
    pdl_watch_image_given(alone.data);
    const size_t begin = fatbin_begin(&made);
    fatbin_add(&made, MADE_PTX, 90, 0, text, sizeof(text), 0);
    fatbin_add(&made, MADE_CUBIN, 80, 0, old.data, old.size, 0);
    fatbin_add(&made, MADE_CUBIN, 90, 0, alone.data, alone.size, 0);
    fatbin_add(&made, MADE_CUBIN, 90, 0, other.data, other.size, 0);
    fatbin_add(&made, MADE_CUBIN, 90, 0, part.data, part.size, 0);
    fatbin_add(&made, MADE_CUBIN, 90, MADE_A, alone.data, alone.size, 0);
    fatbin_end(&made, begin);
    pdl_watch_image_bytes(made.data, made.size);
    memset(alone.data, 0xff, alone.size);
    memset(made.data, 0xff, made.size);
    assert_codes("machine", PDL_WATCH_LOOK_ON, "c1 c2 c2 t2");
    assert_codes("machine", PDL_WATCH_LOOK_NEXT, "c1 c2 c2");
    assert_codes("machine", PDL_WATCH_LOOK_ENOUGH, "c1");
    assert_int_equal(codes_of("machine", 90), 1);
    pdl_watch_image_given(text);
    assert_codes("machine", PDL_WATCH_LOOK_NEXT, "c1 c2 c2 t3");
    bytes_free(&alone);
    bytes_free(&other);
    bytes_free(&old);
    bytes_free(&part);
    bytes_free(&made);
}

static void what_is_no_code_does_no_harm(void **state)
{
    (void)state;
    static const unsigned char huge[64] __attribute__((aligned(8))) = {
        0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    const struct wrapper empty = {0x466243b1, 1, NULL, NULL};
    static const char *const texts[] = {
        "", "a", "ab", "abc", ".entry", ".entry ", "no code at all"};
    const unsigned before = recorded_count;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *const copy = strdup(texts[i]); /* so that the sanitizers see who reads past it */
        pdl_watch_image_given(copy);
        pdl_watch_image_bytes(copy, strlen(copy));
        free(copy);
    }
    pdl_watch_image_given(huge);
    pdl_watch_image_bytes(huge, sizeof(huge));
    pdl_watch_image_given(elf);
    pdl_watch_image_given(&empty);
    assert_int_equal(codes_of("nowhere", 90), 0);
    assert_int_equal(recorded_of("nowhere", 90), 0);
    assert_int_equal(recorded_count, before);
}

static void nothing_is_recorded_where_nobody_wants_it(void **state)
{
    (void)state;
    struct bytes made = make_cubin(&(const struct made_cubin){
        .target = 90, .functions = {{.name = "unwanted", .code = {OP_EXIT}}}});
    settings.code = false;
    const unsigned before = recorded_count;
    pdl_watch_image_given(PTX("unwanted", ""));
    pdl_watch_image_given(made.data);
    assert_int_equal(recorded_of("unwanted", 90), 0);
    assert_int_equal(recorded_count, before);
    assert_int_equal(codes_of("unwanted", 90), 1); /* but it is there for rules */
    settings.code = true;
    bytes_free(&made);
}

static void *give_and_ask(void *number)
{
    char text[256];
    char name[32];
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof(name), "of_thread_%d_%d", *(const int *)number, i);
        (void)snprintf(text, sizeof(text), ".version 8.7\n.target sm_90\n.entry %s() { ret; }\n",
                       name);
        pdl_watch_image_given(text);
        struct pdl_watch_kernel own = {.text = name};
        const struct pdl_watch_loaded loaded = {.kernel = &own, .ptx_version = 90};
        struct looked looked = {.count = 0};
        pdl_watch_images_each(&loaded, true, look, &looked);
        if (looked.count != 1) {
            return number;
        }
    }
    return NULL;
}

static void threads_may_give_code_at_once(void **state)
{
    (void)state;
    pthread_t threads[4];
    int numbers[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, give_and_ask, &numbers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* A text with many kernels is read for the first of them: what it has become since is of no account. */
static void a_text_is_read_once_to_be_recorded(void **state)
{
    (void)state;
    static unsigned char mapped[8192] __attribute__((aligned(8))) = {1};
    const char text[] = PTX("once_one", ".entry once_two() { ret; }\n// marked\n");
    struct bytes made = make_fatbin(MADE_PTX, 90, text, sizeof(text));
    assert_true(made.size <= sizeof(mapped));
    memcpy(mapped, made.data, made.size);
    pdl_watch_image_given(mapped);
    assert_int_equal(recorded_of("once_one", 90), 1);
    char *const mark = memmem(mapped, made.size, "marked", 6);
    assert_non_null(mark);
    mark[0] = 'M';
    assert_int_equal(recorded_of("once_one", 90), 0); /* its handle was forgotten */
    assert_int_equal(recorded_of("once_two", 90), 0);
    bytes_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_kept_and_recorded_once),
        cmocka_unit_test(a_text_is_read_once_to_be_recorded),
        cmocka_unit_test(a_fatbin_in_other_memory_is_copied),
        cmocka_unit_test(a_fatbin_of_the_program_is_read_when_it_is_needed),
        cmocka_unit_test(a_linked_wrapper_has_inputs),
        cmocka_unit_test(what_was_unloaded_is_not_read),
        cmocka_unit_test(compressed_members_are_read),
        cmocka_unit_test(the_images_of_a_table_are_read),
        cmocka_unit_test(cubins_are_recorded_once_and_whole),
        cmocka_unit_test(cubins_are_found_before_the_texts_of_their_image),
        cmocka_unit_test(what_is_no_code_does_no_harm),
        cmocka_unit_test(nothing_is_recorded_where_nobody_wants_it),
        cmocka_unit_test(threads_may_give_code_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
