/* SPDX-License-Identifier: MIT */
/* What is read of the code of an image when a kernel is made from it: whether it waits and triggers,
 * and what that means for launches. */
#include "../../inspect/make_image.h"
#include "support.h"

#define HEAD ".version 8.5\n.target sm_90\n.address_size 64\n"

/* What is known of fc1 in an image. */
static void check_image(const void *image, size_t size, pdl_known waits, pdl_known triggers,
                        const char *what)
{
    pdl_kernel *kernel = test_image_kernel(image, size, "fc1");
    const pdl_kernel_info info = kernel_info(kernel, 0);
    if (info.waits != (uint32_t)waits || info.triggers != (uint32_t)triggers) {
        fail_msg("waits %u, triggers %u, not %u and %u: %s", info.waits, info.triggers,
                 (unsigned)waits, (unsigned)triggers, what);
    }
}

static void check_bytes(const struct bytes *bytes, pdl_known waits, pdl_known triggers)
{
    check_image(bytes->data, bytes->size, waits, triggers, "an image");
}

/* ---- PTX ------------------------------------------------------------------------------------ */

static const struct text_row {
    const char *name, *text;
    pdl_known waits, triggers;
} text_rows[] = {
    {"a wait", ".visible .entry fc1() { griddepcontrol.wait; ret; }", PDL_YES, PDL_NO},
    {"neither", ".entry fc1(.param .u64 a)\n.maxntid 32, 1, 1\n{\n\tret;\n}\n", PDL_NO, PDL_NO},
    {"both, in blocks and behind a predicate",
     ".visible .entry fc1()\n{\n@%p1 griddepcontrol.wait;{{\n"
     "griddepcontrol.launch_dependents;}}ret;}",
     PDL_YES, PDL_YES},
    {"what stands in another kernel is not in this",
     ".visible .entry fc2() { griddepcontrol.wait; ret; }\n.visible .entry fc1() { ret; }\n"
     ".visible .entry fc11() { griddepcontrol.launch_dependents; ret; }",
     PDL_NO, PDL_NO},
    {"comments and strings are not code",
     ".file 1 \"} griddepcontrol.wait;\"\n.visible .entry fc1() {\n"
     "// griddepcontrol.wait; }\n/* griddepcontrol.wait; } */ .pragma \"a}b\";\n"
     "my_griddepcontrol.wait: griddepcontrol.launch_dependents;\nret; }",
     PDL_NO, PDL_YES},
#define FUNCTIONS                                                                                  \
    ".func (.param .b32 r) middle(.param .b64 a);\n"                                               \
    ".func deep() { griddepcontrol.wait; ret; }\n"                                                 \
    ".func (.param .b32 r) middle(.param .b64 a)\n{ call.uni deep, (); call deep; ret; }\n"        \
    ".func round() { call round; ret; }\n"                                                         \
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    {"calls are followed", FUNCTIONS ".entry fc1() { call.uni (r0), middle, (a0); ret; }", PDL_YES,
     PDL_NO},
    {"also in a circle", FUNCTIONS ".entry fc1() { call round; ret; }", PDL_NO, PDL_NO},
    {"vprintf() is known", FUNCTIONS ".entry fc1() { call.uni (r0), vprintf, (a0, a1); ret; }",
     PDL_NO, PDL_NO},
    {"another function that is elsewhere is not",
     ".extern .func far();\n.entry fc1() { call far; ret; }", PDL_UNKNOWN, PDL_UNKNOWN},
    {"nor is what a pointer means", ".entry fc1() { call (r0), %rd1, (a0), prototype_0; ret; }",
     PDL_UNKNOWN, PDL_UNKNOWN},
    {"but a wait beside it is",
     ".entry fc1() { call %rd1, prototype_0; griddepcontrol.wait; ret; }", PDL_YES, PDL_UNKNOWN},
    {"no such kernel", ".entry fc2() { ret; }", PDL_UNKNOWN, PDL_UNKNOWN},
    {"no body", ".entry fc1();", PDL_UNKNOWN, PDL_UNKNOWN},
    {"a body that is cut short", ".entry fc1() { ret;", PDL_UNKNOWN, PDL_UNKNOWN},
};

TEST_ROWS(ptx_is_read, text_rows, mock_setup, mock_teardown)
{
    char text[1024];
    const size_t length = (size_t)snprintf(text, sizeof(text), HEAD "%s", row->text);
    for (size_t size = length; size <= length + 1; size++) { /* without its NUL, and with it */
        void *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, text, size);
        check_image(copy, size, row->waits, row->triggers, row->text);
        free(copy);
    }
}

TEST(no_text_does_harm)
{
    static const char text[] =
        HEAD ".func (.param .b32 r) f(.param .b64 a) { ret; }\n/* c */ .file 1 \"a\"\n"
             ".entry fc1(.param .u64 p) { call.uni (r0), f, (p); griddepcontrol.wait; ret; }";
    const size_t head = strlen(HEAD);
    for (size_t size = head; size <= strlen(text); size++) {
        for (size_t skip = 0; skip < 2; skip++) {
            char *part = malloc(size);
            assert_non_null(part);
            memcpy(part, text, size);
            part[size - 1] = skip != 0 ? '(' : part[size - 1];
            pdl_kernel *kernel = test_image_kernel(part, size, "fc1");
            drop_kernel(kernel);
            free(part);
        }
    }
}

/* ---- cubins --------------------------------------------------------------------------------- */

TEST(the_opcodes_of_a_cubin_are_looked_for)
{
    struct made_cubin cubin = plain_cubin;
    struct bytes bytes = make_cubin(&cubin);
    check_bytes(&bytes, PDL_YES, PDL_YES);
    bytes_free(&bytes);
    cubin.functions[0].code[1] = OP_OTHER;
    bytes = make_cubin(&cubin);
    check_bytes(&bytes, PDL_NO, PDL_YES);
    bytes_free(&bytes);
    cubin.calls[0] = (struct made_call){"fc1", "elsewhere", false};
    bytes = make_cubin(&cubin);
    check_bytes(&bytes, PDL_UNKNOWN, PDL_YES);
    bytes_free(&bytes);
    cubin.target = 200;
    bytes = make_cubin(&cubin);
    check_bytes(&bytes, PDL_UNKNOWN, PDL_UNKNOWN);
    bytes_free(&bytes);
}

TEST(code_that_looks_like_the_newest_overlaps_and_says_so)
{
    const struct made_cubin cubin = {
        .target = 130,
        .functions = {{.name = "fc1", .code = {OP_WAIT, OP_EXIT, MADE_OVER(OP_BRANCH, -1)}}}};
    struct bytes bytes = make_cubin(&cubin);
    const pdl_launch_desc desc =
        PDL_LAUNCH_DESC(.grid = {1}, .block = {32}, .overlap = PDL_OVERLAP_AUTO);
    mock.code = 130;
    pdl_kernel *kernel = test_image_kernel(bytes.data, bytes.size, "fc1");
    const pdl_kernel_info info = kernel_info(kernel, 0);
    assert_int_equal(info.waits, PDL_YES);
    assert_non_null(strstr(info.unknown_why, "sm_121"));
    const pdl_launch_report report = explained(kernel, &desc);
    assert_int_equal(report.overlap_reason, PDL_REASON_GRANTED);
    assert_non_null(strstr(report.message, info.unknown_why));
    drop_kernel(kernel);
    bytes_free(&bytes);
}

/* ---- fatbins -------------------------------------------------------------------------------- */

struct entry {
    unsigned kind;
    unsigned target;
    uint64_t flags;
    bool waits;
    bool compressed;
};

/* What is known of fc1 in a fatbin with these entries, on a device. */
static void check_fatbin(const struct entry *entries, size_t count, int capability, pdl_known waits)
{
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        struct made_cubin cubin = plain_cubin;
        cubin.target = entry->target;
        cubin.functions[0].code[1] = entry->waits ? OP_WAIT : OP_OTHER;
        struct bytes code = make_cubin(&cubin);
        if (entry->kind == MADE_PTX) {
            bytes_free(&code);
            const char *text = entry->waits ? HEAD ".entry fc1() { griddepcontrol.wait; ret; }"
                                            : HEAD ".entry fc1() { ret; }";
            bytes_add(&code, text, strlen(text));
        }
        fatbin_add(&bytes, entry->kind, entry->target,
                   entry->flags | (entry->compressed ? MADE_ZSTD : 0), code.data, code.size,
                   entry->compressed ? code.size * 2 : 0);
        bytes_free(&code);
    }
    fatbin_end(&bytes, begin);
    int *attributes = mock.devices[0].attributes;
    attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = capability / 10;
    attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = capability % 10;
    mock_apply();
    pdl_kernel *kernel = test_image_kernel(bytes.data, bytes.size, "fc1");
    const pdl_kernel_info info = kernel_info(kernel, 0);
    if (info.waits != (uint32_t)waits) {
        fail_msg("on %d: waits %u, not %u", capability, info.waits, (unsigned)waits);
    }
    drop_kernel(kernel);
    bytes_free(&bytes);
}

TEST(the_code_that_the_device_runs_decides)
{
    const struct entry entries[] = {
        {MADE_CUBIN, 80, 0, false, false}, {MADE_CUBIN, 90, 0, true, false},
        {MADE_PTX, 80, 0, false, false},   {MADE_PTX, 90, 0, false, false},
        {MADE_CUBIN, 100, 0, true, false}, {MADE_CUBIN, 103, MADE_A, false, false},
        {MADE_PTX, 120, 0, true, false}};
    check_fatbin(entries, COUNT_OF(entries), 90, PDL_YES);  /* sm_90 */
    check_fatbin(entries, COUNT_OF(entries), 100, PDL_YES); /* sm_100 */
    check_fatbin(entries, COUNT_OF(entries), 103, PDL_NO);  /* sm_103a */
    check_fatbin(entries, COUNT_OF(entries), 107, PDL_YES); /* sm_100, not sm_103a */
    check_fatbin(entries, COUNT_OF(entries), 110, PDL_NO);  /* PTX for 9.0 */
    check_fatbin(entries, COUNT_OF(entries), 121, PDL_YES); /* PTX for 12.0 */
}

TEST(code_for_one_architecture_or_family_is_for_no_other)
{
    const struct entry entries[] = {{MADE_PTX, 90, MADE_A, true, false},
                                    {MADE_PTX, 100, MADE_F, true, false},
                                    {MADE_PTX, 80, 0, false, false}};
    check_fatbin(entries, COUNT_OF(entries), 90, PDL_YES);
    check_fatbin(entries, COUNT_OF(entries), 103, PDL_YES);
    check_fatbin(entries, COUNT_OF(entries), 110, PDL_NO);
    check_fatbin(entries, COUNT_OF(entries), 120, PDL_NO);
    check_fatbin(entries, 2, 120, PDL_UNKNOWN); /* none */
}

TEST(what_is_compressed_is_unknown_where_it_is_chosen)
{
    const struct entry entries[] = {{MADE_CUBIN, 90, 0, false, false},
                                    {MADE_PTX, 90, 0, false, true}};
    check_fatbin(entries, COUNT_OF(entries), 90, PDL_NO);
    check_fatbin(entries, COUNT_OF(entries), 100, PDL_UNKNOWN);
}

/* Adds fc1, which waits, in a table of images, and another one for another device. */
static void add_table(struct bytes *bytes)
{
    static const char waits[] = HEAD ".entry fc1() { griddepcontrol.wait; ret; }";
    static const char other[] = HEAD ".entry fc1() { ret; }";
    const struct made_image images[] = {{MADE_PTX, 120, other, sizeof(other), "a.cu", NULL},
                                        {MADE_PTX, 90, waits, sizeof(waits), NULL, "-O3"}};
    (void)fatbin_add_table(bytes, 0, images, 2);
}

TEST(the_images_of_a_table_are_chosen_from)
{
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    add_table(&bytes);
    fatbin_end(&bytes, begin);
    check_bytes(&bytes, PDL_YES, PDL_NO);
    bytes.data[begin + 16 + TABLE_COUNT] = 1; /* the second is behind the end */
    check_bytes(&bytes, PDL_UNKNOWN, PDL_UNKNOWN);
    bytes_free(&bytes);
}

TEST(beside_an_entry_of_an_unknown_kind_nothing_is_known)
{
    static const unsigned kinds[] = {MADE_LTO, MADE_TILE, 4, 0x200};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const bool known = i < 2;
        struct bytes bytes = {0};
        const size_t begin = fatbin_begin(&bytes);
        add_table(&bytes);
        fatbin_add(&bytes, kinds[i], 90, 0, "what", 4, 0);
        fatbin_end(&bytes, begin);
        check_bytes(&bytes, known ? PDL_YES : PDL_UNKNOWN, known ? PDL_NO : PDL_UNKNOWN);
        bytes_free(&bytes);
    }
}

TEST(code_that_is_equally_good_has_to_agree)
{
    struct entry entries[] = {{MADE_CUBIN, 90, 0, true, false},
                              {MADE_CUBIN, 90, MADE_A, false, false}};
    check_fatbin(entries, COUNT_OF(entries), 90, PDL_UNKNOWN);
    entries[1].waits = true;
    check_fatbin(entries, COUNT_OF(entries), 90, PDL_YES);
}

TEST(devices_of_two_kinds_have_to_agree)
{
    struct entry entries[] = {{MADE_CUBIN, 90, 0, true, false}, {MADE_CUBIN, 100, 0, true, false}};
    int *second = mock.devices[1].attributes;
    second[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 10;
    mock.table.device_count = 2;
    check_fatbin(entries, COUNT_OF(entries), 90, PDL_YES);
    entries[1].waits = false;
    check_fatbin(entries, COUNT_OF(entries), 90, PDL_UNKNOWN);
}

TEST(a_damaged_entry_is_unknown)
{
    struct bytes cubin = make_cubin(&plain_cubin);
    struct bytes bytes = make_fatbin(MADE_CUBIN, 90, cubin.data, cubin.size);
    check_bytes(&bytes, PDL_YES, PDL_YES);
    for (size_t at = 16; at < bytes.size; at++) {
        bytes.data[at] ^= 0xff;
        pdl_kernel *kernel = test_image_kernel(bytes.data, bytes.size, "fc1");
        drop_kernel(kernel);
        bytes.data[at] ^= 0xff;
    }
    bytes_free(&cubin);
    bytes_free(&bytes);
}

/* ---- what it is good for -------------------------------------------------------------------- */

TEST(what_is_declared_stands_above_what_was_read)
{
    static const char text[] = HEAD ".entry fc1() { ret; }";
    static const pdl_known declared[] = {PDL_YES, PDL_UNKNOWN};
    pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    for (size_t i = 0; i < COUNT_OF(declared); i++) {
        pdl_kernel *kernel = test_image_kernel(text, sizeof(text), "fc1");
        pdl_kernel_info info = kernel_info(kernel, 0);
        assert_int_equal(info.overlap_reason, PDL_REASON_NO_WAIT);
        assert_ok(pdl_kernel_declare(kernel, declared[i], PDL_UNKNOWN));
        assert_ok(pdl_kernel_get(kernel, 0, &info));
        assert_int_equal(info.waits, declared[i]);
        assert_int_equal(info.overlap_reason,
                         declared[i] == PDL_YES ? PDL_REASON_GRANTED : PDL_REASON_WAITS_UNKNOWN);
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock_last_launch()->attribute_count, declared[i] == PDL_YES);
    }
}
