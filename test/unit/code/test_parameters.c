/* SPDX-License-Identifier: MIT */
/* The sizes of parameters that images list. */
#include "../../inspect/make_image.h"
#include "code/parameters.h"
#include "support.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

/* Asserts that an image lists these sizes for the kernel, up to a 0. */
static void assert_sizes(const void *image, size_t size, const char *name, const uint32_t *sizes)
{
    struct pdl_parameters read;
    uint32_t count = 0;
    assert_true(pdl_parameters_read(&read, image, size, name));
    assert_true(read.known);
    for (; sizes[count] != 0; count++) {
        assert_true(count < read.count);
        assert_int_equal(read.sizes[count], sizes[count]);
    }
    assert_int_equal(read.count, count);
    free(read.sizes);
}

static void assert_unknown(const void *image, size_t size, const char *name)
{
    struct pdl_parameters read;
    assert_true(pdl_parameters_read(&read, image, size, name));
    assert_false(read.known);
    assert_null(read.sizes);
}

#define SIZES(...) ((const uint32_t[]){__VA_ARGS__, 0})

static void ptx_is_read_in_all_its_forms(void **state)
{
    static const struct {
        const char *list;
        uint32_t sizes[6];
    } cases[] = {
        {"", {0}},
        {"()", {0}},
        {"(.param .u64 a)", {8}},
        {"(.param.u32 a,.param.f64 b)", {4, 8}},
        {"(.param .s8 a, .param .b16 b, .param .f32 c, .param .b128 d)", {1, 2, 4, 16}},
        {"(.param .align 8 .b8 a[24], .param .u8 b)", {24, 1}},
        {"(.param .align 4 .b32 a[3])", {12}},
        {"(.param .b8 a[2][0x10])", {32}},
        {"(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr b)", {8, 8}},
        {"(.param .u64 a /* , .param .u8 no */, // )\n .param .u16 b) .maxntid 32", {8, 2}},
        {"(.param .align 1 .b8 a[32764])", {32764}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[512];
        const int length = snprintf(text, sizeof(text),
                                    HEAD ".entry k2(.param .u8 other) { ret; }\n"
                                         ".visible .entry k%s { ret; }\n",
                                    cases[i].list);
        assert_sizes(text, (size_t)length, "k", cases[i].sizes);
        assert_sizes(text, (size_t)length + 1, "k2", SIZES(1)); /* with the NUL */
        assert_unknown(text, (size_t)length, "k3");
    }
}

static void ptx_that_is_not_understood_is_unknown(void **state)
{
    static const char *const lists[] = {
        "(.param .texref a)",
        "(.param .v2 .f32 a)",
        "(.param .u64 a",
        "(.param .b8 a[70000])",
        "(.param .b8 a[4294967296])",
        "(.param .b8 a[0])",
        "(.param a)",
        "(.param .b8 a[40000], .param .b8 b[40000])",
        "(.param .b8 a[65535][65535][65535][65535])",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        char text[512];
        const int length = snprintf(text, sizeof(text), HEAD ".entry k%s { ret; }\n", lists[i]);
        assert_unknown(text, (size_t)length, "k");
    }
}

/* What ptxas 13.0 writes for (.u8 a, .u64 b, .align 4 .b8 c[12], .u16 d). */
static const unsigned char small_info[] = {
    4,    0x17, 12, 0, 0, 0, 0, 0, 3, 0,  28,   0,    0,    0xf0, 0x09, 0,    4,
    0x17, 12,   0,  0, 0, 0, 0, 2, 0, 16, 0,    0,    0xf0, 0x31, 0,    4,    0x17,
    12,   0,    0,  0, 0, 0, 1, 0, 8, 0,  0,    0xf0, 0x21, 0,    4,    0x17, 12,
    0,    0,    0,  0, 0, 0, 0, 0, 0, 0,  0xf0, 0x05, 0,    3,    0x19, 30,   0,
};

/* And for (.u8 a, .align 8 .b8 c[20000]). */
static const unsigned char big_info[] = {
    4,  0x45, 12, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0x20, 0x4e, 0, 0,    4,    0x45,
    12, 0,    0,  0, 0, 0, 0, 0, 0, 0, 1, 0, 0,    0,    3, 0x19, 0x28, 0x4e,
};

static struct bytes cubin_with(const unsigned char *info, size_t size)
{
    struct bytes contents = {0};
    bytes_add(&contents, info, size);
    const struct made_section section = {.name = ".nv.info.k", .contents = &contents};
    struct bytes cubin = make_elf(PDL_ET_EXEC, &section, 1, false);
    bytes_free(&contents);
    return cubin;
}

static void a_cubin_is_read_in_both_its_forms(void **state)
{
    (void)state;
    struct bytes small = cubin_with(small_info, sizeof(small_info));
    struct bytes big = cubin_with(big_info, sizeof(big_info));
    struct bytes none = cubin_with(NULL, 0);
    assert_sizes(small.data, small.size, "k", SIZES(1, 8, 12, 2));
    assert_sizes(big.data, big.size, "k", SIZES(1, 20000));
    assert_sizes(none.data, none.size, "k", (const uint32_t[]){0});
    assert_unknown(small.data, small.size, "k2");
    bytes_free(&small);
    bytes_free(&big);
    bytes_free(&none);
}

static void a_cubin_that_contradicts_itself_is_unknown(void **state)
{
    unsigned char info[sizeof(small_info)];
    (void)state;
    static const struct {
        size_t at;
        unsigned char value;
    } cases[] = {
        {8, 2},              /* one number twice */
        {8, 9},              /* a number that leaves a gap */
        {2, 8},              /* a record of another size */
        {14, 0},             /* a parameter of no bytes, below 16 */
        {66, 31},            /* another end */
        {66, 29}, {1, 0x18}, /* a parameter that is not listed */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        memcpy(info, small_info, sizeof(info));
        info[cases[i].at] = cases[i].value;
        if (cases[i].at == 14) {
            info[13] = 0;
        }
        struct bytes cubin = cubin_with(info, sizeof(info));
        assert_unknown(cubin.data, cubin.size, "k");
        bytes_free(&cubin);
    }
    for (size_t length = 1; length < sizeof(small_info); length++) { /* without the end */
        struct bytes cubin = cubin_with(small_info, length);
        assert_unknown(cubin.data, cubin.size, "k");
        bytes_free(&cubin);
    }
}

static void the_entries_of_a_fatbin_have_to_agree(void **state)
{
    static const char same[] =
        HEAD ".entry k(.param .u8 a, .param .u64 b, .param .align 4 .b8 c[12], "
             ".param .u16 d) { ret; }\n";
    static const char other[] = HEAD ".entry k(.param .u8 a) { ret; }\n";
    static const char absent[] = HEAD ".entry other() { ret; }\n";
    static const struct {
        const char *text;
        uint64_t flags;
        bool known;
    } cases[] = {{same, 0, true}, {other, 0, false}, {absent, 0, true}, {same, MADE_LZ4, false}};
    struct bytes cubin = cubin_with(small_info, sizeof(small_info));
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int first = 0; first < 2; first++) {
            struct bytes fatbin = {0};
            const size_t begin = fatbin_begin(&fatbin);
            if (first) {
                fatbin_add(&fatbin, MADE_CUBIN, 90, 0, cubin.data, cubin.size, 0);
            }
            fatbin_add(&fatbin, MADE_PTX, 90, cases[i].flags, cases[i].text,
                       strlen(cases[i].text) + 1, 0);
            if (!first) {
                fatbin_add(&fatbin, MADE_CUBIN, 90, 0, cubin.data, cubin.size, 0);
            }
            fatbin_end(&fatbin, begin);
            if (cases[i].known) {
                assert_sizes(fatbin.data, fatbin.size, "k", SIZES(1, 8, 12, 2));
            } else {
                assert_unknown(fatbin.data, fatbin.size, "k");
            }
            bytes_free(&fatbin);
        }
    }
    bytes_free(&cubin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_is_read_in_all_its_forms),
        cmocka_unit_test(ptx_that_is_not_understood_is_unknown),
        cmocka_unit_test(a_cubin_is_read_in_both_its_forms),
        cmocka_unit_test(a_cubin_that_contradicts_itself_is_unknown),
        cmocka_unit_test(the_entries_of_a_fatbin_have_to_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
