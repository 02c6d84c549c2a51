/* SPDX-License-Identifier: MIT */
/* Tables of images: several images in one payload, as nvcc --concat makes them. */
#include "inspect_support.h"

#include <stdbool.h>

/* Reads the field of a header, or record, in the bytes. */
#define FIELD_AT         4u /* of a record: the image's place */
#define FIELD_SIZE       8u
#define FIELD_COMPRESSED 16u
#define FIELD_OPTIONS    20u
#define FIELD_NAME_SIZE  36u
#define FIELD_FLAGS      40u
#define FIELD_FULL_SIZE  56u

static void put32(struct bytes *bytes, size_t at, uint32_t value)
{
    assert_true(at + sizeof(value) <= bytes->size);
    memcpy(bytes->data + at, &value, sizeof(value));
}

static void put64(struct bytes *bytes, size_t at, uint64_t value)
{
    assert_true(at + sizeof(value) <= bytes->size);
    memcpy(bytes->data + at, &value, sizeof(value));
}

/* A table in a fatbin, between two other entries. */
struct made {
    struct bytes bytes;
    size_t table;     /* where its header begins */
    size_t second;    /* where the record of the second image does */
    size_t text_size; /* padded */
};

static struct made make(uint64_t flag)
{
    struct made made = {.text_size = (strlen(ptx_text) + 7) / 8 * 8};
    struct bytes cubin = make_cubin(&plain_cubin);
    const struct made_image images[] = {
        {MADE_PTX, 90, ptx_text, strlen(ptx_text), "a.cu", "-O3"},
        {MADE_CUBIN, 90, cubin.data, cubin.size, NULL, NULL},
        {MADE_PTX, 100, ptx_text, strlen(ptx_text), NULL, ""},
    };
    const size_t begin = fatbin_begin(&made.bytes);
    fatbin_add(&made.bytes, MADE_PTX, 90, 0, ptx_text, strlen(ptx_text), 0);
    made.table = fatbin_add_table(&made.bytes, flag, images, COUNT_OF(images));
    made.second = made.table + TABLE_RECORDS + 64 + 8 + 8 + 8;
    fatbin_add(&made.bytes, MADE_CUBIN, 90, 0, cubin.data, cubin.size, 0);
    fatbin_end(&made.bytes, begin);
    return made;
}

static void check_whole(uint64_t flag)
{
    static const char *const ends[] = {"(1.compute_90.ptx)", "(2.compute_90.ptx)",
                                       "(3.sm_90.cubin)", "(4.compute_100.ptx)", "(5.sm_90.cubin)"};
    struct made made = make(flag);
    pdl_inspection *inspection = inspect(&made.bytes, "file");
    assert_int_equal(pdl_inspection_image_count(inspection), COUNT_OF(ends));
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        const pdl_inspect_image *image = pdl_inspection_image(inspection, i);
        const bool text = i != 2 && i != 4;
        assert_non_null(strstr(image->origin, ends[i]));
        assert_null(image->unread);
        assert_int_equal(image->kind, text ? PDL_INSPECT_PTX : PDL_INSPECT_SASS);
        assert_int_equal(image->ptx_version, text ? 85 : 0);
        assert_int_equal(image->compressed, flag != 0 && i > 0 && i < 4);
        assert_int_equal(image->kernel_count, text ? 2 : 1);
    }
    assert_kernel(find_kernel(inspection, "fc1"), PDL_YES, PDL_NO, 1, 0);
    /* Together they are no more than what the payload becomes. */
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    uint64_t full = 0;
    memcpy(&full, made.bytes.data + made.table + FIELD_FULL_SIZE, sizeof(full));
    options.max_unpacked = full;
    inspection = inspect_with(&made.bytes, "file", &options);
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        assert_null(pdl_inspection_image(inspection, i)->unread);
    }
    if (flag != 0) {
        options.max_unpacked = full - 1;
        inspection = inspect_with(&made.bytes, "file", &options);
        for (size_t i = 1; i < 4; i++) {
            assert_int_equal(pdl_inspection_image(inspection, i)->left_out, 1);
        }
        assert_null(pdl_inspection_image(inspection, 0)->unread);
        assert_null(pdl_inspection_image(inspection, 4)->unread);
    }
    for (size_t at = made.table; at < made.bytes.size; at++) {
        made.bytes.data[at] ^= 0xff;
        inspect_whatever(&made.bytes);
        made.bytes.data[at] ^= 0xff;
    }
}

TEST(the_images_of_a_table_are_read)
{
    check_whole(0);
#ifdef PDL_HAVE_ZSTD
    check_whole(MADE_ZSTD);
#endif
#ifdef PDL_HAVE_LZ4
    check_whole(MADE_LZ4);
#endif
}

/* A fatbin alone that is damaged is refused; in the data of a program, what can be read is, and the rest is
 * reported. */
static void check_damaged(struct made *made, size_t images)
{
    assert_not_inspected(&made->bytes, PDL_ERROR_INVALID_IMAGE, "damaged or cut short");
    const struct made_section section = {".rodata", &made->bytes, 0};
    struct bytes elf = make_elf(PDL_ET_DYN, &section, 1, false);
    pdl_inspection *inspection = inspect(&elf, "file");
    /* Before the table, of it, the table itself, and behind it. */
    assert_int_equal(pdl_inspection_image_count(inspection), 3 + images);
    const pdl_inspect_image *table = pdl_inspection_image(inspection, 1 + images);
    assert_int_equal(table->kind, PDL_INSPECT_UNKNOWN);
    assert_string_equal(table->unread, "its table of images is damaged");
    assert_null(pdl_inspection_image(inspection, 2 + images)->unread);
    /* Whether a kernel waits is no longer shown: a driver may run what is in the table. */
    assert_int_equal(pdl_inspection_shown(inspection, "fc1", 90, NULL), PDL_UNKNOWN);
}

TEST(damaged_tables_are_reported)
{
    static const struct {
        bool second; /* of the second image's record, else of the table's header */
        size_t field;
        uint64_t value;
        bool wide;
        size_t images; /* that can be read */
    } changes[] = {
        {false, TABLE_COUNT, 0, false, 0},          /* no images */
        {false, TABLE_COUNT, 2, false, 1},          /* fewer than the table is long */
        {false, TABLE_COUNT, 4, false, 3},          /* more */
        {false, TABLE_COUNT, UINT32_MAX, false, 3}, /* far more */
        {false, TABLE_SIZE, 7, false, 0},           /* too short for its own size */
        {false, TABLE_SIZE, 64, false, 0},          /* for the first record */
        {false, TABLE_SIZE, UINT32_MAX, false, 0},  /* longer than the header */
        {true, FIELD_AT, 0, false, 1},              /* the second image lies over the first */
        {true, FIELD_AT, UINT32_MAX, false, 1},     /* outside of the payload */
        {true, FIELD_SIZE, UINT64_MAX, true, 1},    /* place and size overflow */
        {true, FIELD_SIZE, 0, true, 1},             /* nothing */
        {true, FIELD_SIZE, 1u << 30, true, 1},      /* more than the payload */
        {true, FIELD_OPTIONS, UINT32_MAX, false, 1},
        {true, FIELD_OPTIONS, 64, false, 1}, /* what lies there is no string */
        {true, 2, 0x999, false, 1},          /* another version, and size 0 of the name */
    };
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        struct made made = make(0);
        const size_t at = (changes[i].second ? made.second : made.table) + changes[i].field;
        if (changes[i].wide) {
            put64(&made.bytes, at, changes[i].value);
        } else {
            put32(&made.bytes, at, (uint32_t)changes[i].value);
        }
        check_damaged(&made, changes[i].images);
    }
}

TEST(a_table_in_a_table_is_of_an_unknown_kind)
{
    struct made inner = make(0);
    const struct made_image images[] = {
        {MADE_TABLE, 90, inner.bytes.data, inner.bytes.size, NULL, NULL},
        {MADE_PTX, 90, ptx_text, strlen(ptx_text), NULL, NULL},
    };
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    (void)fatbin_add_table(&bytes, 0, images, COUNT_OF(images));
    fatbin_end(&bytes, begin);
    pdl_inspection *inspection = inspect(&bytes, "file");
    assert_int_equal(pdl_inspection_image_count(inspection), 2);
    assert_int_equal(pdl_inspection_image(inspection, 0)->kind, PDL_INSPECT_UNKNOWN);
    assert_null(pdl_inspection_image(inspection, 1)->unread);
}

TEST(images_that_are_compressed_once_more_are_not_read)
{
    struct made made = make(0);
    put64(&made.bytes, made.second + FIELD_FLAGS, 0x11 | MADE_ZSTD);
    pdl_inspection *inspection = inspect(&made.bytes, "file");
    assert_non_null(strstr(pdl_inspection_image(inspection, 2)->unread, "unknown format"));
    assert_null(pdl_inspection_image(inspection, 3)->unread);
}

#ifdef PDL_HAVE_ZSTD
TEST(a_payload_that_ends_early_is_said_to_be_damaged)
{
    struct made made = make(MADE_ZSTD);
    uint64_t full = 0;
    /* The table claims a longer payload, and its last image more of that. */
    const size_t third = made.second + 64;
    memcpy(&full, made.bytes.data + made.table + FIELD_FULL_SIZE, sizeof(full));
    put64(&made.bytes, made.table + FIELD_FULL_SIZE, full + 64);
    put64(&made.bytes, third + FIELD_SIZE, made.text_size + 64);
    pdl_inspection *inspection = inspect(&made.bytes, "file");
    assert_null(pdl_inspection_image(inspection, 1)->unread);
    assert_null(pdl_inspection_image(inspection, 2)->unread);
    assert_non_null(strstr(pdl_inspection_image(inspection, 3)->unread, "damaged"));
}

TEST(a_table_becomes_no_larger_than_the_limit)
{
    enum { SIZE = 80 << 20 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, ' ', SIZE);
    const struct made_image images[] = {
        {MADE_PTX, 90, text, SIZE, NULL, NULL},
        {MADE_PTX, 100, ptx_text, strlen(ptx_text), NULL, NULL},
    };
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    (void)fatbin_add_table(&bytes, MADE_ZSTD, images, COUNT_OF(images));
    fatbin_add(&bytes, MADE_PTX, 90, 0, ptx_text, strlen(ptx_text), 0);
    fatbin_end(&bytes, begin);
    free(text);
    assert_true(bytes.size < 1 << 20);
    pdl_inspection *inspection = inspect(&bytes, "file");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pdl_inspection_image(inspection, i)->left_out, 1);
    }
    assert_null(pdl_inspection_image(inspection, 2)->unread);
}
#endif

TEST(other_kinds_are_told_apart)
{
    static const struct {
        unsigned kind;
        int32_t shown;
        const char *end;
        const char *unread;
    } kinds[] = {
        {MADE_LINKED, PDL_INSPECT_PTX, "(1.compute_90.ptx)", NULL},
        {MADE_LTO, PDL_INSPECT_LTO, "(2.sm_90.lto)", "link-time"},
        {MADE_TILE, PDL_INSPECT_TILE, "(3.sm_90.tile)", "Tile IR"},
        {0x4000, PDL_INSPECT_UNKNOWN, "(4.sm_90.unknown)", "unknown kind, 0x4000"},
    };
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        fatbin_add(&bytes, kinds[i].kind, 90, 0, ptx_text, strlen(ptx_text), 0);
    }
    fatbin_end(&bytes, begin);
    pdl_inspection *inspection = inspect(&bytes, "file");
    assert_int_equal(pdl_inspection_image_count(inspection), COUNT_OF(kinds));
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const pdl_inspect_image *image = pdl_inspection_image(inspection, i);
        assert_int_equal(image->kind, kinds[i].shown);
        assert_non_null(strstr(image->origin, kinds[i].end));
        if (kinds[i].unread == NULL) {
            assert_null(image->unread);
        } else {
            assert_non_null(strstr(image->unread, kinds[i].unread));
        }
    }
}
