/* SPDX-License-Identifier: MIT */
/* How images are found in what is given, and what is said where none is. */
#include "inspect_support.h"

#ifdef PDL_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef PDL_HAVE_ZSTD
#include <zstd.h>
#endif

static struct bytes text_of(const char *text)
{
    struct bytes bytes = {0};
    bytes_add(&bytes, text, strlen(text));
    return bytes;
}

static void assert_text_refused(const char *text, pdl_status status, const char *words)
{
    struct bytes bytes = text_of(text);
    assert_not_inspected(&bytes, status, words);
}

/* A fatbin with PTX for sm_90 and cubins for sm_90 and sm_80, each with fc1. */
static struct bytes make_common(void)
{
    struct made_cubin old = plain_cubin;
    old.target = 80;
    struct bytes bytes = {0};
    struct bytes cubin = make_cubin(&plain_cubin);
    struct bytes old_cubin = make_cubin(&old);
    const size_t begin = fatbin_begin(&bytes);
    fatbin_add(&bytes, MADE_CUBIN, 90, 0, cubin.data, cubin.size, 0);
    fatbin_add(&bytes, MADE_PTX, 90, 0, ptx_text, strlen(ptx_text), 0);
    fatbin_add(&bytes, MADE_CUBIN, 80, 0, old_cubin.data, old_cubin.size, 0);
    fatbin_end(&bytes, begin);
    return bytes;
}

static void assert_common(const pdl_inspection *inspection, const char *prefix)
{
    static const char *const ends[] = {"(1.sm_90.cubin)", "(2.compute_90.ptx)", "(3.sm_80.cubin)"};
    assert_int_equal(pdl_inspection_image_count(inspection), 3);
    for (size_t i = 0; i < 3; i++) {
        char origin[64];
        const pdl_inspect_image *image = pdl_inspection_image(inspection, i);
        (void)snprintf(origin, sizeof(origin), "%s%s", prefix, ends[i]);
        assert_string_equal(image->origin, origin);
        assert_int_equal(image->kind, i == 1 ? PDL_INSPECT_PTX : PDL_INSPECT_SASS);
        assert_int_equal(image->target, i == 2 ? 80 : 90);
        assert_int_equal(image->kernel_count, i == 1 ? 2 : 1);
        assert_int_equal(image->compressed, 0);
        assert_null(image->unread);
    }
    assert_int_equal(pdl_inspection_image(inspection, 1)->ptx_version, 85);
    assert_int_equal(pdl_inspection_kernel(inspection, 0)->info->waits, PDL_YES);
    assert_int_equal(pdl_inspection_kernel(inspection, 1)->info->waits, PDL_YES);
    assert_int_equal(pdl_inspection_kernel(inspection, 2)->info->waits, PDL_NO);
    assert_int_equal(pdl_inspection_kernel(inspection, 3)->info->waits, PDL_NO);
    assert_int_equal(pdl_inspection_kernel(inspection, 3)->image, 2);
}

static void assert_inspects_as_common(struct bytes *bytes, const char *prefix)
{
    assert_common(inspect(bytes, "file"), prefix);
}

/* ---- text ----------------------------------------------------------------------------------- */

TEST(ptx_text_is_known_by_its_first_word)
{
    static const char *const before[] = {"", "\n\n\t \r\n", "// .version\n", "/* a\n * comment */",
                                         "/**/ // b\n/* c */ "};
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        struct bytes bytes = text_of(before[i]);
        bytes_add(&bytes, ptx_text, strlen(ptx_text));
        bytes_add(&bytes, NULL, i); /* NULs at the end are not text */
        pdl_inspection *inspection = inspect(&bytes, "fc.ptx");
        assert_int_equal(pdl_inspection_image_count(inspection), 1);
        const pdl_inspect_image *image = pdl_inspection_image(inspection, 0);
        assert_string_equal(image->origin, "fc.ptx");
        assert_int_equal(image->kind, PDL_INSPECT_PTX);
        assert_int_equal(image->target, 90);
        assert_int_equal(image->kernel_count, 2);
    }
}

TEST(what_is_not_known_is_said_as_it_begins)
{
    assert_text_refused("#include <stdio.h>\n", PDL_ERROR_INVALID_IMAGE, "the text #include <st");
    assert_text_refused("\x01\x02\xff noise", PDL_ERROR_INVALID_IMAGE, "the bytes 01 02 ff");
    assert_text_refused("", PDL_ERROR_INVALID_IMAGE, "empty");
    assert_text_refused("// nothing\n /* here */\n", PDL_ERROR_INVALID_IMAGE, "nothing but blanks");
    assert_text_refused("/* never closed .version 8.0", PDL_ERROR_INVALID_IMAGE, "nothing but");
    assert_text_refused("!<thin>\nmember", PDL_ERROR_INVALID_IMAGE, "thin archive");
}

TEST(malformed_ptx_has_a_line_and_a_column)
{
    assert_text_refused("\n\n.version 8.5\n.target sm_90\n.visible .entry fc1(\n",
                        PDL_ERROR_INVALID_IMAGE, "");
    assert_true(pdl_inspect_last_error()->line > 0);
    assert_true(pdl_inspect_last_error()->column > 0);
}

TEST(text_longer_than_asked_for_is_refused)
{
    pdl_inspection *inspection = NULL;
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    struct bytes bytes = text_of(ptx_text);
    options.max_text = bytes.size;
    (void)inspect_with(&bytes, "long", &options);
    options.max_text = bytes.size - 1;
    assert_int_equal(inspect_memory(bytes.data, bytes.size, "long", &options, &inspection),
                     PDL_ERROR_INVALID_IMAGE);
    assert_null(inspection);
    assert_non_null(strstr(pdl_inspect_last_error()->message, "more than"));
}

/* ---- fatbins -------------------------------------------------------------------------------- */

TEST(every_entry_of_a_fatbin_is_an_image)
{
    struct bytes bytes = make_common();
    assert_inspects_as_common(&bytes, "file");
}

TEST(fatbins_may_follow_each_other_with_room_between)
{
    struct bytes bytes = make_fatbin(MADE_PTX, 90, ptx_text, strlen(ptx_text));
    bytes_add(&bytes, NULL, 4096 - 24);
    for (unsigned i = 0; i < 2; i++) {
        const size_t begin = fatbin_begin(&bytes);
        fatbin_add(&bytes, MADE_PTX, 100 + i, 0, ptx_text, strlen(ptx_text), 0);
        fatbin_end(&bytes, begin);
    }
    pdl_inspection *inspection = inspect(&bytes, "file");
    assert_int_equal(pdl_inspection_image_count(inspection), 3);
    assert_string_equal(pdl_inspection_image(inspection, 2)->origin, "file(3.compute_101.ptx)");
}

TEST(the_suffix_of_an_entry_is_its_images)
{
    struct bytes bytes = {0};
    struct bytes cubin = make_cubin(&plain_cubin); /* says nothing of it itself */
    const size_t begin = fatbin_begin(&bytes);
    fatbin_add(&bytes, MADE_CUBIN, 90, MADE_A, cubin.data, cubin.size, 0);
    fatbin_add(&bytes, MADE_LTO, 100, MADE_F, "code", 4, 0);
    fatbin_end(&bytes, begin);
    pdl_inspection *inspection = inspect(&bytes, "file");
    assert_int_equal(find_image(inspection, "(1.sm_90a.cubin)")->target_suffix, 'a');
    const pdl_inspect_image *image = find_image(inspection, "(2.sm_100f.lto)");
    assert_int_equal(image->kind, PDL_INSPECT_LTO);
    assert_non_null(strstr(image->unread, "link-time optimization"));
}

TEST(an_image_that_cannot_be_read_leaves_the_others)
{
    static const char broken[] = ".version 8.5\n.target sm_90\n.address_size 64\n"
                                 ".visible .entry whole() { ret; }\n"
                                 ".visible .entry half() { bra nowhere; }\n";
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    fatbin_add(&bytes, MADE_PTX, 90, 0, broken, strlen(broken), 0);
    fatbin_add(&bytes, MADE_CUBIN, 90, 0, "no cubin", 8, 0);
    fatbin_add(&bytes, MADE_PTX, 90, 0, ptx_text, strlen(ptx_text), 0);
    fatbin_add(&bytes, 77, 90, 0, "what", 4, 0);
    fatbin_end(&bytes, begin);
    pdl_inspection *inspection = inspect(&bytes, "file");
    assert_int_equal(pdl_inspection_image_count(inspection), 4);
    assert_non_null(strstr(pdl_inspection_image(inspection, 0)->unread, "line "));
    assert_non_null(strstr(pdl_inspection_image(inspection, 1)->unread, "damaged or cut short"));
    assert_null(pdl_inspection_image(inspection, 2)->unread);
    assert_non_null(strstr(pdl_inspection_image(inspection, 3)->unread, "unknown"));
    assert_int_equal(pdl_inspection_kernel_count(inspection), 2); /* none of what was begun */
    assert_int_equal(pdl_inspection_image(inspection, 0)->kernel_count, 0);
}

TEST(an_input_of_which_nothing_can_be_read_is_refused)
{
    struct bytes bytes = make_fatbin(MADE_LTO, 90, "code", 4);
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "link-time optimization");
    bytes = make_fatbin(MADE_CUBIN, 90, "no cubin", 8);
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "damaged");
}

TEST(a_fatbin_without_entries_holds_no_code)
{
    struct bytes bytes = {0};
    fatbin_end(&bytes, fatbin_begin(&bytes));
    assert_not_inspected(&bytes, PDL_ERROR_NO_KERNEL_IMAGE, "no device code");
}

/* ---- compression ---------------------------------------------------------------------------- */

/* A fatbin with the text, compressed, claiming to become `claim` bytes. */
static struct bytes make_compressed(uint64_t flag, const void *data, size_t size, uint64_t claim)
{
    struct bytes bytes = {0};
    const size_t begin = fatbin_begin(&bytes);
    fatbin_add(&bytes, MADE_PTX, 90, flag, data, size, claim);
    fatbin_end(&bytes, begin);
    return bytes;
}

#if defined(PDL_HAVE_LZ4) || defined(PDL_HAVE_ZSTD)
/* Each way of compression, whole and damaged. */
static void check_compression(uint64_t flag, const unsigned char *data, size_t size)
{
    const size_t full = strlen(ptx_text);
    struct bytes bytes = make_compressed(flag, data, size, full);
    pdl_inspection *inspection = inspect(&bytes, "file");
    const pdl_inspect_image *image = pdl_inspection_image(inspection, 0);
    assert_int_equal(image->compressed, 1);
    assert_null(image->unread);
    assert_int_equal(image->kernel_count, 2);
    assert_int_equal(pdl_inspection_kernel(inspection, 0)->info->waits, PDL_YES);
    inspection = NULL;
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.max_text = full - 1;
    assert_int_equal(inspect_memory(bytes.data, bytes.size, "file", &options, &inspection),
                     PDL_ERROR_INVALID_IMAGE);
    assert_non_null(strstr(pdl_inspect_last_error()->message, "larger"));
    for (size_t cut = 1; cut < size; cut++) {
        bytes = make_compressed(flag, data, cut, full);
        assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "");
    }
    /* What is claimed is not allocated. */
    bytes = make_compressed(flag, data, size, 1ull << 40);
    inspect_whatever(&bytes);
    bytes = make_compressed(flag, data, size, full);
    for (size_t at = 80; at < bytes.size; at++) {
        bytes.data[at] ^= 0xff;
        inspect_whatever(&bytes);
        bytes.data[at] ^= 0xff;
    }
}
#endif

TEST(lz4_is_read)
{
#ifdef PDL_HAVE_LZ4
    char data[1024];
    const int size = LZ4_compress_default(ptx_text, data, (int)strlen(ptx_text), (int)sizeof(data));
    assert_true(size > 0);
    check_compression(MADE_LZ4, (const unsigned char *)data, (size_t)size);
#else
    struct bytes bytes = make_compressed(MADE_LZ4, "data", 4, 100);
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "");
#endif
}

TEST(zstandard_is_read)
{
#ifdef PDL_HAVE_ZSTD
    unsigned char data[1024];
    const size_t size = ZSTD_compress(data, sizeof(data), ptx_text, strlen(ptx_text), 3);
    assert_false(ZSTD_isError(size));
    check_compression(MADE_ZSTD, data, size);
#else
    struct bytes bytes = make_compressed(MADE_ZSTD, "data", 4, 100);
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "");
#endif
}

#ifdef PDL_HAVE_ZSTD
/* A fatbin with texts of `size` bytes, compressed; the first one is cut short by some bytes. */
static struct bytes make_compressed_texts(unsigned count, size_t size, size_t cut)
{
    struct bytes bytes = {0};
    const size_t room = ZSTD_compressBound(size);
    char *text = malloc(size);
    unsigned char *data = malloc(room);
    assert_non_null(text);
    assert_non_null(data);
    memset(text, ' ', size);
    memcpy(text, ptx_text, strlen(ptx_text));
    const size_t length = ZSTD_compress(data, room, text, size, 1);
    assert_false(ZSTD_isError(length));
    const size_t begin = fatbin_begin(&bytes);
    for (unsigned i = 0; i < count; i++) {
        fatbin_add(&bytes, MADE_PTX, 90, MADE_ZSTD, data, length - (i == 0 ? cut : 0), size);
    }
    fatbin_end(&bytes, begin);
    free(text);
    free(data);
    return bytes;
}

/* Which of the images of the bytes are left out, as digits, and with a '-' those unread otherwise. */
static void assert_left_out(const struct bytes *bytes, uint64_t max_unpacked, const char *expected)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    char seen[16] = "";
    options.max_unpacked = max_unpacked;
    pdl_inspection *inspection = inspect_with(bytes, "file", &options);
    for (size_t i = 0; i < pdl_inspection_image_count(inspection); i++) {
        const pdl_inspect_image *image = pdl_inspection_image(inspection, i);
        seen[i] = image->left_out ? '1' : image->unread != NULL ? '-' : '0';
        assert_int_equal(image->kernel_count, seen[i] == '0' ? 2 : 0);
    }
    assert_string_equal(seen, expected);
}

TEST(images_that_are_too_much_together_are_left_out)
{
    struct bytes bytes = make_compressed_texts(3, 100000, 0);
    assert_left_out(&bytes, 0, "000");
    assert_left_out(&bytes, 300000, "000");
    assert_left_out(&bytes, 299999, "001");
    assert_left_out(&bytes, 100000, "011");
    assert_left_out(&bytes, 99999, "111");
}

TEST(no_more_than_64_mebibytes_are_unpacked_of_a_small_input)
{
    struct bytes bytes = make_compressed_texts(2, (size_t)40 << 20, 0);
    assert_left_out(&bytes, 0, "01");
    assert_left_out(&bytes, (uint64_t)80 << 20, "00");
}

TEST(what_was_unpacked_in_vain_counts)
{
    struct bytes bytes = make_compressed_texts(3, (size_t)1 << 20, 2);
    assert_left_out(&bytes, (uint64_t)3 << 20, "-00");
    assert_left_out(&bytes, (uint64_t)2 << 20, "-01");
}
#endif

TEST(another_compression_is_said_to_be_unknown)
{
    struct bytes bytes = make_compressed(0, "data", 4, 100);
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "an unknown format");
}

/* ---- ELF files and archives ------------------------------------------------------------------ */

TEST(programs_libraries_and_objects_are_read)
{
    static const unsigned types[] = {PDL_ET_EXEC, PDL_ET_DYN, PDL_ET_REL};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct bytes fatbin = make_common();
        const struct made_section sections[] = {{".nv_fatbin", &fatbin, 0}};
        struct bytes bytes = make_elf(types[i], sections, 1, false);
        assert_inspects_as_common(&bytes, "file");
    }
}

TEST(fatbins_are_found_without_section_headers_and_in_other_sections)
{
    for (int stripped = 0; stripped < 2; stripped++) {
        struct bytes other = text_of("of no interest");
        struct bytes fatbin = make_common();
        struct bytes data = text_of("1234"); /* fatbins are aligned to 8, as they are loaded */
        bytes_add(&data, fatbin.data, fatbin.size);
        const struct made_section sections[] = {{".rodata", &other, 0}, {".ldata", &data, 4}};
        struct bytes bytes = make_elf(PDL_ET_DYN, sections, 2, stripped != 0);
        assert_inspects_as_common(&bytes, "file");
    }
}

/* What is linked keeps what it was linked from: PTX only there, and machine code that never runs. */
TEST(what_code_was_linked_from_is_left_out)
{
    struct made_cubin part = plain_cubin;
    part.relocatable = true;
    part.functions[0].name = "part";
    struct bytes linked_cubin = make_cubin(&plain_cubin);
    struct bytes part_cubin = make_cubin(&part);
    struct bytes linked = make_fatbin(MADE_CUBIN, 90, linked_cubin.data, linked_cubin.size);
    struct bytes parts = make_fatbin(MADE_PTX, 90, ptx_text, strlen(ptx_text));
    const size_t begin = fatbin_begin(&parts);
    fatbin_add(&parts, MADE_CUBIN, 90, 0, part_cubin.data, part_cubin.size, 0);
    fatbin_end(&parts, begin);
    const struct made_section sections[] = {{"__nv_relfatbin", &parts, 0},
                                            {".nv_fatbin", &linked, 0}};
    for (unsigned count = 1; count <= 2; count++) {
        struct bytes bytes = make_elf(PDL_ET_EXEC, sections, count, false);
        pdl_inspection *inspection = inspect(&bytes, "file");
        assert_int_equal(pdl_inspection_image_count(inspection), 2);
        assert_int_equal(pdl_inspection_kernel_count(inspection), 3);
        assert_string_equal(pdl_inspection_kernel(inspection, 2)->info->name,
                            count == 1 ? "part" : "fc1");
    }
}

TEST(a_file_without_device_code_is_said_to_have_none)
{
    struct bytes other = text_of("of no interest, and long enough to be searched");
    const struct made_section sections[] = {{".rodata", &other, 0}};
    for (int stripped = 0; stripped < 2; stripped++) {
        struct bytes bytes = make_elf(PDL_ET_DYN, sections, 1, stripped != 0);
        assert_not_inspected(&bytes, PDL_ERROR_NO_KERNEL_IMAGE, "no device code");
    }
    struct bytes archive = make_archive();
    assert_not_inspected(&archive, PDL_ERROR_NO_KERNEL_IMAGE, "no device code");
    archive_add(&archive, "a.txt/", &other);
    assert_not_inspected(&archive, PDL_ERROR_NO_KERNEL_IMAGE, "no device code");
}

TEST(elf_files_of_other_machines_are_refused)
{
    struct bytes bytes = make_elf(PDL_ET_EXEC, NULL, 0, false);
    bytes.data[PDL_EI_CLASS] = PDL_ELFCLASS32;
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "64 bits");
    bytes.data[PDL_EI_CLASS] = PDL_ELFCLASS64;
    bytes.data[PDL_EI_DATA] = PDL_ELFDATA2MSB;
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "little endian");
}

static struct bytes make_library(void)
{
    struct bytes names = text_of("a_rather_long_name_of_an_object.o/\nb.o/\n");
    struct bytes text = text_of("odd");
    struct bytes cubin = make_cubin(&plain_cubin);
    struct bytes fatbin = make_fatbin(MADE_PTX, 90, ptx_text, strlen(ptx_text));
    const struct made_section sections[] = {{"__nv_relfatbin", &fatbin, 0}};
    struct bytes object = make_elf(PDL_ET_REL, sections, 1, false);
    struct bytes archive = make_archive();
    archive_add(&archive, "/", &text); /* the table of symbols */
    archive_add(&archive, "//", &names);
    archive_add(&archive, "/0", &object);
    archive_add(&archive, "b.cubin/", &cubin);
    return archive;
}

TEST(the_members_of_an_archive_are_read)
{
    struct bytes archive = make_library();
    pdl_inspection *inspection = inspect(&archive, "libfc.a");
    assert_int_equal(pdl_inspection_image_count(inspection), 2);
    assert_string_equal(pdl_inspection_image(inspection, 0)->origin,
                        "libfc.a(a_rather_long_name_of_an_object.o)(1.compute_90.ptx)");
    assert_string_equal(pdl_inspection_image(inspection, 1)->origin, "libfc.a(b.cubin)");
}

/* ---- bad input ------------------------------------------------------------------------------ */

TEST(a_fatbin_cut_anywhere_is_refused)
{
    struct bytes bytes = make_common();
    check_every_prefix(&bytes, true);
}

TEST(a_program_cut_anywhere_is_refused)
{
    struct bytes fatbin = make_common();
    const struct made_section sections[] = {{".nv_fatbin", &fatbin, 0}};
    struct bytes bytes = make_elf(PDL_ET_EXEC, sections, 1, false);
    check_every_prefix(&bytes, true);
    bytes = make_elf(PDL_ET_EXEC, sections, 1, true);
    check_every_prefix(&bytes, false);
}

TEST(no_byte_does_harm)
{
    struct bytes fatbin = make_fatbin(MADE_PTX, 90, ptx_text, strlen(ptx_text));
    check_every_byte(&fatbin);
    const struct made_section sections[] = {{".nv_fatbin", &fatbin, 0}};
    for (int stripped = 0; stripped < 2; stripped++) {
        struct bytes bytes = make_elf(PDL_ET_EXEC, sections, 1, stripped != 0);
        check_every_byte(&bytes);
    }
    struct bytes archive = make_library();
    check_every_byte(&archive);
    check_every_prefix(&archive, false);
}

TEST(sizes_that_do_not_fit_are_refused)
{
    static const uint64_t absurd[] = {UINT64_MAX, UINT64_MAX - 15, UINT64_MAX - 63, UINT64_MAX / 2,
                                      1ull << 40};
    struct bytes bytes = make_fatbin(MADE_PTX, 90, ptx_text, strlen(ptx_text));
    static const size_t fields[] = {8, 16 + 8}; /* of the body, and of the payload */
    for (size_t i = 0; i < COUNT_OF(absurd); i++) {
        for (size_t f = 0; f < COUNT_OF(fields); f++) {
            uint64_t before;
            memcpy(&before, bytes.data + fields[f], sizeof(before));
            memcpy(bytes.data + fields[f], &absurd[i], sizeof(before));
            assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "cut short");
            memcpy(bytes.data + fields[f], &before, sizeof(before));
        }
    }
    const uint32_t compressed_size = UINT32_MAX;
    memcpy(bytes.data + 16 + 16, &compressed_size, sizeof(compressed_size));
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "damaged");
    memset(bytes.data + 16 + 16, 0, sizeof(compressed_size));
    const uint32_t header_size = UINT32_MAX;
    memcpy(bytes.data + 16 + 4, &header_size, sizeof(header_size));
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "damaged");
}
