/* SPDX-License-Identifier: MIT */
/* What is read of the device code in a program: here this test's own, which lays fatbins and wrappers
 * where nvcc does. test/object looks at what nvcc does. */
#include <pthread.h>

#include "../../inspect/make_image.h"
#include "code/object.h"
#include "support.h"

#define HEAD ".version 8.5\n.target sm_90\n.address_size 64\n"
#define WAITS(name)                                                                                \
    ".visible .entry " name "() { griddepcontrol.wait; griddepcontrol.launch_dependents; ret; }\n"
#define NEVER(name) ".visible .entry " name "() { ret; }\n"

#define MAGIC 0x466243b1u

/* As in fatbinary_section.h. */
struct wrapper {
    uint32_t magic;
    uint32_t version;
    const void *data;
    const void *more;
};

/* In memory that the loader fills from the file. */
static struct wrapper wrappers[4] = {{.magic = 1}, {.magic = 1}, {.magic = 1}, {.magic = 1}};
static _Alignas(8) unsigned char rooms[4][1 << 16] = {{1}, {1}, {1}, {1}};

static const struct pdl_object_code device = {
    .capability = 90, .ptx_version = 90, .binary_version = 90};

/* Puts a fatbin with a PTX text into a room, and a wrapper for it. */
static void lay(unsigned which, const char *text)
{
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    fatbin_add(&bytes, MADE_PTX, 90, 0, text, strlen(text) + 1, 0);
    fatbin_end(&bytes, begin);
    assert_true(bytes.size <= sizeof(rooms[which]));
    memset(rooms[which], 0, sizeof(rooms[which]));
    memcpy(rooms[which], bytes.data, bytes.size);
    bytes_free(&bytes);
    wrappers[which] = (struct wrapper){.magic = MAGIC, .version = 1, .data = rooms[which]};
}

static void check(const char *name, pdl_known waits, enum pdl_why why)
{
    const struct pdl_scan_answer answer = pdl_object_scan(&wrappers, name, &device);
    if (answer.waits != waits || answer.why != why) {
        fail_msg("%s: waits %d because %s, not %d because %s", name, (int)answer.waits,
                 pdl_why_string(answer.why), (int)waits, pdl_why_string(why));
    }
}

static int clear(void **state)
{
    (void)state;
    memset(wrappers, 0, sizeof(wrappers));
    pdl_object_forget();
    return 0;
}
#define OBJECT_TEST(name) TEST_WITH(name, clear, clear)

OBJECT_TEST(the_kernels_of_all_fatbins_are_found)
{
    lay(0, HEAD WAITS("fc1") NEVER("fc2"));
    lay(1, HEAD NEVER("fc3"));
    check("fc1", PDL_YES, PDL_WHY_NOTHING);
    check("fc2", PDL_NO, PDL_WHY_NOTHING);
    check("fc3", PDL_NO, PDL_WHY_NOTHING);
    check("fc", PDL_UNKNOWN, PDL_WHY_NOT_FOUND);
    check("fc11", PDL_UNKNOWN, PDL_WHY_NOT_FOUND);
}

OBJECT_TEST(an_object_is_read_once)
{
    lay(0, HEAD WAITS("fc1"));
    check("fc1", PDL_YES, PDL_WHY_NOTHING);
    lay(0, HEAD NEVER("fc1"));
    check("fc1", PDL_YES, PDL_WHY_NOTHING);
    pdl_object_forget();
    check("fc1", PDL_NO, PDL_WHY_NOTHING);
}

OBJECT_TEST(codes_of_one_name_have_to_agree)
{
    lay(0, HEAD WAITS("fc1") WAITS("fc2"));
    lay(1, HEAD WAITS("fc1") NEVER("fc2"));
    check("fc1", PDL_YES, PDL_WHY_NOTHING);
    check("fc2", PDL_UNKNOWN, PDL_WHY_DIFFERENT);
}

OBJECT_TEST(what_the_driver_runs_has_to_be_what_was_read)
{
    const struct pdl_object_code other = {
        .capability = 90, .ptx_version = 80, .binary_version = 90};
    lay(0, HEAD WAITS("fc1"));
    const struct pdl_scan_answer answer = pdl_object_scan(&wrappers, "fc1", &other);
    assert_int_equal(answer.waits, PDL_UNKNOWN);
    assert_int_equal(answer.why, PDL_WHY_VERSION);
}

OBJECT_TEST(what_cannot_be_read_makes_all_unknown)
{
    lay(0, HEAD WAITS("fc1"));
    lay(1, HEAD NEVER("fc2"));
    rooms[1][20] = 0xff; /* the size of an entry's header */
    rooms[1][21] = 0xff;
    check("fc1", PDL_UNKNOWN, PDL_WHY_DAMAGED);
    check("fc2", PDL_UNKNOWN, PDL_WHY_DAMAGED);
}

OBJECT_TEST(what_was_linked_stands_for_its_inputs)
{
    static const void *inputs[] = {rooms[1], NULL};
    lay(0, HEAD WAITS("fc1"));
    lay(1, HEAD NEVER("fc1") NEVER("fc2"));
    wrappers[0].version = 2;
    wrappers[0].more = inputs;
    check("fc1", PDL_YES, PDL_WHY_NOTHING);
    check("fc2", PDL_UNKNOWN, PDL_WHY_NOT_FOUND);
}

OBJECT_TEST(what_only_looks_like_a_wrapper_is_none)
{
    lay(0, HEAD WAITS("fc1"));
    wrappers[1] = (struct wrapper){.magic = MAGIC, .version = 1, .data = (const void *)1};
    wrappers[2] = (struct wrapper){.magic = MAGIC, .version = 7, .data = rooms[0]};
    wrappers[3] = (struct wrapper){.magic = MAGIC, .version = 1, .data = &wrappers};
    check("fc1", PDL_YES, PDL_WHY_NOTHING);
    static const void *nowhere = (const void *)16;
    wrappers[1] = (struct wrapper){.magic = MAGIC, .version = 2, .data = rooms[0], .more = nowhere};
    pdl_object_forget();
    check("fc1", PDL_YES, PDL_WHY_NOTHING);
}

OBJECT_TEST(an_address_in_no_object_is_not_found)
{
    int on_the_stack = 0;
    lay(0, HEAD WAITS("fc1"));
    assert_int_equal(pdl_object_scan(&on_the_stack, "fc1", &device).why, PDL_WHY_NOT_FOUND);
    assert_int_equal(pdl_object_scan(NULL, "fc1", &device).why, PDL_WHY_NOT_FOUND);
}

static void *ask(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++) {
        check("fc1", PDL_YES, PDL_WHY_NOTHING);
        check("fc2", PDL_NO, PDL_WHY_NOTHING);
        if (i % 10 == 9) {
            pdl_object_forget();
        }
    }
    return NULL;
}

OBJECT_TEST(threads_may_ask_at_the_same_time)
{
    pthread_t threads[4];
    lay(0, HEAD WAITS("fc1") NEVER("fc2"));
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}
