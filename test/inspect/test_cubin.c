/* SPDX-License-Identifier: MIT */
/* What is read of cubins. */
#include "inspect_support.h"

#include "code/scan.h"

static pdl_inspection *inspection;

/* The cubin's kernel of that name, in `inspection`. */
static const pdl_inspect_kernel *read_kernel(const struct made_cubin *cubin, const char *name)
{
    struct bytes bytes = make_cubin(cubin);
    inspection = inspect(&bytes, "made.cubin");
    return find_kernel(inspection, name);
}

static void assert_target(const struct made_cubin *cubin, int32_t target, char suffix)
{
    assert_non_null(read_kernel(cubin, "fc1"));
    const pdl_inspect_image *image = pdl_inspection_image(inspection, 0);
    assert_int_equal(image->kind, PDL_INSPECT_SASS);
    assert_int_equal(image->target, target);
    assert_int_equal(image->target_suffix, suffix);
    assert_int_equal(image->compressed, 0);
    assert_int_equal(image->ptx_version, 0);
    assert_string_equal(image->origin, "made.cubin");
}

/* ---- what it is for ------------------------------------------------------------------------- */

TEST(the_target_is_read_from_both_layouts_of_the_flags)
{
    static const unsigned targets[] = {75, 80, 89, 90, 100, 103, 107, 110, 120, 121};
    struct made_cubin cubin = plain_cubin;
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        cubin.target = targets[i];
        cubin.old_layout = false;
        assert_target(&cubin, (int32_t)targets[i], '\0');
        cubin.old_layout = true;
        assert_target(&cubin, (int32_t)targets[i], '\0');
        assert_null(pdl_inspection_image(inspection, 0)->unread);
    }
}

TEST(the_suffix_is_read_from_the_note_or_the_flags)
{
    struct made_cubin cubin = plain_cubin;
    cubin.suffix = 'a';
    assert_target(&cubin, 90, 'a');
    cubin.target = 100;
    cubin.suffix = 'f';
    cubin.accelerated = true;
    assert_target(&cubin, 100, 'f');
    cubin.suffix = '\0';
    assert_target(&cubin, 100, 'a');
    cubin.target = 90;
    cubin.old_layout = true;
    assert_target(&cubin, 90, 'a');
}

TEST(a_cubin_of_an_unknown_architecture_keeps_its_kernels)
{
    struct made_cubin cubin = plain_cubin;
    cubin.target = 200;
    const pdl_inspect_kernel *kernel = read_kernel(&cubin, "fc1");
    assert_int_equal(kernel->info->waits, PDL_UNKNOWN);
    assert_int_equal(kernel->info->triggers, PDL_UNKNOWN);
    assert_int_equal(kernel->info->registers_per_thread, 12);
    const pdl_inspect_image *image = pdl_inspection_image(inspection, 0);
    assert_int_equal(image->target, 200);
    assert_non_null(image->unread);
    assert_non_null(strstr(image->unread, "200"));
}

/* Made for an architecture that nobody knows, in the form that code has for known ones. */
static const struct made_cubin unknown_cubin = {
    .target = 200,
    .functions = {
        {.name = "fc1",
         .code = {OP_OTHER, OP_WAIT, OP_TRIGGER, OP_EXIT, MADE_OVER(OP_BRANCH, -1), OP_OTHER,
                  OP_OTHER}},
        {.name = "fc2", .code = {OP_LOAD, OP_EXIT_IF, OP_EXIT, MADE_OVER(OP_BRANCH, -1)}}}};

TEST(an_unknown_architecture_that_looks_like_the_newest_is_read_as_it)
{
    assert_kernel(read_kernel(&unknown_cubin, "fc1"), PDL_YES, PDL_YES, 1, 1);
    assert_kernel(find_kernel(inspection, "fc2"), PDL_NO, PDL_NO, 0, 0);
    const pdl_inspect_image *image = pdl_inspection_image(inspection, 0);
    assert_int_equal(image->target, 200);
    assert_int_equal(image->read_as, 121);
    assert_null(image->unread);
    struct made_cubin cubin = unknown_cubin;
    static const unsigned known[] = {90, 100, 107, 121};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        cubin.target = known[i];
        (void)read_kernel(&cubin, "fc1");
        assert_int_equal(pdl_inspection_image(inspection, 0)->read_as, 0);
    }
}

TEST(an_unknown_architecture_that_looks_otherwise_is_not_read)
{
    static const uint64_t codes[][MADE_CODE] = {
        {OP_WAIT, OP_EXIT},                                                  /* no end */
        {OP_WAIT, MADE_OVER(OP_BRANCH, -1), OP_OTHER},                       /* no exit */
        {OP_WAIT, OP_EXIT, MADE_OVER(OP_BRANCH, -2), OP_OTHER},              /* goes elsewhere */
        {OP_WAIT, OP_EXIT, MADE_OVER(OP_BRANCH, -1), OP_LOAD},               /* no padding */
        {OP_WAIT, OP_EXIT, OP_OTHER, OP_OTHER},                              /* only padding */
        {OP_WAIT, OP_EXIT, MADE_OVER(OP_BRANCH_IF, -1), OP_OTHER, OP_OTHER}, /* conditional */
    };
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct made_cubin cubin = unknown_cubin;
        memcpy(cubin.functions[1].code, codes[i], sizeof(codes[i]));
        /* The other kernel's form does not help. */
        assert_kernel(read_kernel(&cubin, "fc1"), PDL_UNKNOWN, PDL_UNKNOWN, 0, 0);
        const pdl_inspect_image *image = pdl_inspection_image(inspection, 0);
        assert_int_equal(image->read_as, 0);
        assert_non_null(strstr(image->unread, "do not look like those of 121"));
    }
}

/* ---- what a kernel needs -------------------------------------------------------------------- */

TEST(registers_parameters_and_shared_memory_are_read)
{
    struct made_cubin cubin = plain_cubin;
    const pdl_inspect_kernel *kernel = read_kernel(&cubin, "fc1");
    assert_int_equal(kernel->info->registers_per_thread, 12);
    assert_int_equal(kernel->info->parameter_count, 3);
    assert_int_equal(kernel->info->static_shared_memory, 0);
    assert_int_equal(kernel->line, 0);
    assert_null(kernel->place);
    cubin.functions[0].shared_memory = 1024 + 656; /* what the system takes is no kernel's */
    assert_int_equal(read_kernel(&cubin, "fc1")->info->static_shared_memory, 656);
    cubin.target = 80;
    cubin.functions[0].shared_memory = 1680;
    assert_int_equal(read_kernel(&cubin, "fc1")->info->static_shared_memory, 1680);
}

TEST(bounds_of_launches_are_read)
{
#define NUMBER(n)       (n) & 0xff, (n) >> 8 & 0xff, 0, 0
#define EXTENT(x, y, z) 12, 0, NUMBER(x), NUMBER(y), NUMBER(z)
#define BOUNDS          .max_threads_per_block = -1, .min_blocks_per_multiprocessor = -1
    static const struct {
        unsigned char records[32];
        unsigned size;
        pdl_kernel_info bounds;
    } cases[] = {
        {{0}, 0, {BOUNDS}},
        {{4, 0x3f, 4, 0, NUMBER(16)}, 8, {BOUNDS, .max_cluster_blocks = 16}},
        {{1, 0x3e, 0, 0}, 4, {BOUNDS, .cluster_must_be_set = 1}},
        {{1, 0x3e, 0, 0, 4, 0x3d, EXTENT(4, 2, 1)},
         20,
         {BOUNDS, .required_cluster = {4, 2, 1}, .cluster_must_be_set = 1}},
        {{1, 0x5b, 0, 0, 4, 0x3d, EXTENT(2, 1, 1)},
         20,
         {BOUNDS, .required_cluster = {2, 1, 1}, .blocks_are_clusters = PDL_YES}},
        {{4, 0x3d, 8, 0, NUMBER(4), NUMBER(1)}, 12, {BOUNDS}}, /* of another size */
        {{3, 0x3f, 4, 0}, 4, {BOUNDS}},
    };
    static const unsigned char most[16] = {4, 0x05, EXTENT(32, 4, 2)};
    static const unsigned char exact[16] = {4, 0x10, EXTENT(128, 2, 1)};
    static const unsigned char absurd[16] = {4,    0x05, 12,   0,    0xff, 0xff, 0xff, 0xff,
                                             0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
#undef BOUNDS
#undef EXTENT
#undef NUMBER
    struct made_cubin cubin = plain_cubin;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        cubin.functions[0].info = cases[i].records;
        cubin.functions[0].info_size = cases[i].size;
        const pdl_kernel_info *const info = read_kernel(&cubin, "fc1")->info;
        assert_bounds(info, &cases[i].bounds);
        assert_int_equal(info->parameter_count, 3);
    }
    pdl_kernel_info wanted = {.max_threads_per_block = 256, .min_blocks_per_multiprocessor = -1};
    cubin.functions[0].info_size = 16;
    cubin.functions[0].info = most;
    assert_bounds(read_kernel(&cubin, "fc1")->info, &wanted);
    wanted.required_block[0] = 128;
    wanted.required_block[1] = 2;
    wanted.required_block[2] = 1;
    cubin.functions[0].info = exact;
    assert_bounds(read_kernel(&cubin, "fc1")->info, &wanted);
    cubin.functions[0].info = absurd;
    assert_int_equal(read_kernel(&cubin, "fc1")->info->max_threads_per_block, INT32_MAX);
}

/* ---- waits and triggers --------------------------------------------------------------------- */

TEST(waits_and_triggers_are_counted)
{
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "both", .code = {OP_WAIT, OP_TRIGGER, OP_TRIGGER, OP_EXIT}},
                      {.name = "wait", .code = {OP_OTHER, OP_WAIT, OP_EXIT}},
                      {.name = "trigger", .code = {OP_TRIGGER, OP_EXIT}},
                      {.name = "none", .code = {OP_OTHER, OP_EXIT}}}};
    assert_kernel(read_kernel(&cubin, "both"), PDL_YES, PDL_YES, 1, 2);
    assert_kernel(find_kernel(inspection, "wait"), PDL_YES, PDL_NO, 1, 0);
    assert_kernel(find_kernel(inspection, "trigger"), PDL_NO, PDL_YES, 0, 1);
    assert_kernel(find_kernel(inspection, "none"), PDL_NO, PDL_NO, 0, 0);
    assert_int_equal(pdl_inspection_kernel_count(inspection), 4);
    assert_int_equal(pdl_inspection_finding_count(inspection), 1); /* it triggers and never waits */
}

TEST(code_for_less_than_sm_90_does_not_wait_whatever_its_opcodes_are)
{
    struct made_cubin cubin = plain_cubin;
    cubin.target = 80;
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_NO, PDL_NO, 0, 0);
}

TEST(device_functions_are_no_kernels)
{
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_EXIT}},
                      {.name = "helper", .is_device = true, .code = {OP_WAIT, OP_EXIT}}}};
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_NO, PDL_NO, 0, 0);
    assert_int_equal(pdl_inspection_kernel_count(inspection), 1);
    assert_int_equal(pdl_inspection_image(inspection, 0)->function_count, 1);
}

TEST(a_copy_of_a_function_in_the_kernels_section_is_code_of_it)
{
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {
            {.name = "fc1", .code = {OP_CALL_NEAR, OP_TRIGGER, OP_EXIT}},
            {.name = "helper", .copy_in = "fc1", .is_device = true, .code = {OP_WAIT, OP_OTHER}}}};
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_YES, PDL_YES, 0, 1);
    assert_int_equal(pdl_inspection_kernel_count(inspection), 1);
    assert_int_equal(pdl_inspection_image(inspection, 0)->function_count, 1);
}

TEST(calls_are_followed_over_several_functions)
{
    struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "deep", .is_device = true, .code = {OP_WAIT, OP_EXIT}},
                      {.name = "middle", .is_device = true, .code = {OP_CALL, OP_EXIT}},
                      {.name = "fc1", .code = {OP_CALL, OP_EXIT}},
                      {.name = "fc2", .code = {OP_EXIT}}},
        .calls = {{"fc1", "middle", false}, {"middle", "deep", false}, {"deep", "middle", false}}};
    for (int by_relocation = 0; by_relocation < 2; by_relocation++) {
        for (unsigned i = 0; i < 3; i++) {
            cubin.calls[i].by_relocation = by_relocation != 0;
        }
        assert_kernel(read_kernel(&cubin, "fc1"), PDL_YES, PDL_NO, 0, 0);
        assert_kernel(find_kernel(inspection, "fc2"), PDL_NO, PDL_NO, 0, 0);
    }
    cubin.functions[0].code[0] = OP_OTHER;
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_NO, PDL_NO, 0, 0);
}

/* What a kernel that calls a function does: by its machine code, and by its PTX as libpdl-inspect and
 * as libpdl read it. All three have to know the same functions. */
static void assert_call(const char *callee, pdl_known expected)
{
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_CALL_POINTER, OP_EXIT}}},
        .calls = {{"fc1", callee, false}}};
    char text[256];
    (void)snprintf(text, sizeof(text),
                   ".version 8.5\n.target sm_90\n.extern .func %s();\n"
                   ".entry fc1() { call %s; ret; }\n",
                   callee, callee);
    struct pdl_scan_table scanned = {.count = 0};
    assert_true(pdl_scan_ptx_each(text, strlen(text), 0, pdl_scan_keep, &scanned));
    assert_int_equal(scanned.count, 1);
    const struct pdl_scan_answer answer = pdl_scan_answer_of(&scanned.rows[0]);
    free(scanned.rows);
    assert_int_equal(answer.waits, expected);
    assert_int_equal(answer.triggers, expected);
    assert_kernel(read_kernel(&cubin, "fc1"), expected, expected, 0, 0);
    inspection = inspect_text(text, NULL);
    assert_int_equal(find_kernel(inspection, "fc1")->info->waits, expected);
    assert_int_equal(find_kernel(inspection, "fc1")->info->triggers, expected);
}

TEST(every_reader_knows_the_functions_of_the_driver)
{
    static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail",
                                        "__nv_aligned_device_malloc"};
    static const char *const others[] = {"printf", "mallo", "freed", "elsewhere"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_call(names[i], PDL_NO);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_call(others[i], PDL_UNKNOWN);
    }
}

TEST(what_cannot_be_followed_is_unknown)
{
    struct made_cubin cubin = {.target = 90,
                               .functions = {{.name = "fc1", .code = {OP_CALL, OP_EXIT}}},
                               .calls = {{"fc1", "elsewhere", false}}};
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_UNKNOWN, PDL_UNKNOWN, 0, 0);
    cubin.calls[0].by_relocation = true;
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_UNKNOWN, PDL_UNKNOWN, 0, 0);
    cubin.calls[0] = (struct made_call){"fc1", NULL, false}; /* through a pointer */
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_UNKNOWN, PDL_UNKNOWN, 0, 0);
    cubin.calls[0].caller = NULL;
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_NO, PDL_NO, 0, 0);
    cubin.functions[0].code[0] = OP_CALL_POINTER;
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_UNKNOWN, PDL_UNKNOWN, 0, 0);
    cubin.functions[0].code[0] = OP_CALL_POINTER_NEAR;
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_UNKNOWN, PDL_UNKNOWN, 0, 0);
    cubin.functions[0].code[1] = OP_WAIT; /* what is seen is known all the same */
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_YES, PDL_UNKNOWN, 1, 0);
    cubin.functions[0].code[0] = OP_CALL_POINTER; /* one is explained, one is not */
    cubin.calls[0] = (struct made_call){"fc1", "vprintf", false};
    cubin.calls[1] = (struct made_call){"fc1", NULL, false};
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_YES, PDL_UNKNOWN, 1, 0);
}

TEST(a_callers_doubt_is_not_its_callees)
{
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_CALL, OP_EXIT}},
                      {.name = "helper", .is_device = true, .code = {OP_EXIT}},
                      {.name = "fc2", .code = {OP_CALL, OP_EXIT}}},
        .calls = {{"fc1", "helper", false}, {"fc1", "elsewhere", false}, {"fc2", "helper", false}}};
    assert_kernel(read_kernel(&cubin, "fc1"), PDL_UNKNOWN, PDL_UNKNOWN, 0, 0);
    assert_kernel(find_kernel(inspection, "fc2"), PDL_NO, PDL_NO, 0, 0);
}

/* ---- bad input ------------------------------------------------------------------------------ */

/* With everything that a cubin may have in it. */
static const struct made_cubin rich_cubin = {
    .target = 90,
    .suffix = 'a',
    .functions = {{.name = "fc1",
                   .code = {OP_WAIT, OP_CALL, OP_EXIT},
                   .parameters = 2,
                   .registers = 32,
                   .shared_memory = 1280},
                  {.name = "copy", .copy_in = "fc1", .is_device = true, .code = {OP_TRIGGER}},
                  {.name = "helper", .is_device = true, .code = {OP_WAIT, OP_EXIT}},
                  {.name = "fc2", .code = {OP_CALL_POINTER, OP_EXIT}}},
    .calls = {{"fc1", "helper", false},
              {"fc2", "vprintf", false},
              {"fc2", "helper", true},
              {"helper", NULL, false}}};

TEST(a_cubin_cut_anywhere_is_refused)
{
    struct bytes bytes = make_cubin(&rich_cubin);
    check_every_prefix(&bytes, true);
}

TEST(no_byte_of_a_cubin_does_harm)
{
    struct bytes bytes = make_cubin(&rich_cubin);
    check_every_byte(&bytes);
}

TEST(absurd_headers_are_refused)
{
    static const uint64_t absurd[] = {UINT64_MAX, UINT64_MAX - 63, UINT64_MAX / 2, 1ull << 40};
    struct bytes bytes = make_cubin(&rich_cubin);
    struct pdl_elf64_ehdr header;
    memcpy(&header, bytes.data, sizeof(header));
    for (size_t i = 0; i < COUNT_OF(absurd); i++) {
        for (unsigned s = 1; s < header.e_shnum; s++) {
            const size_t at = header.e_shoff + s * sizeof(struct pdl_elf64_shdr);
            static const size_t fields[] = {offsetof(struct pdl_elf64_shdr, sh_offset),
                                            offsetof(struct pdl_elf64_shdr, sh_size)};
            for (size_t f = 0; f < COUNT_OF(fields); f++) {
                uint64_t before;
                memcpy(&before, bytes.data + at + fields[f], sizeof(before));
                memcpy(bytes.data + at + fields[f], &absurd[i], sizeof(before));
                inspect_whatever(&bytes);
                memcpy(bytes.data + at + fields[f], &before, sizeof(before));
            }
        }
        memcpy(bytes.data + offsetof(struct pdl_elf64_ehdr, e_shoff), &absurd[i],
               sizeof(absurd[i]));
        assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "cut short");
        memcpy(bytes.data, &header, sizeof(header));
    }
    header.e_shnum = UINT16_MAX;
    memcpy(bytes.data, &header, sizeof(header));
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "cut short");
}

/* Many sections that are one and the same take no more than one of them would. */
TEST(sections_that_lie_over_each_other_are_refused)
{
    struct bytes bytes = make_cubin(&rich_cubin);
    struct pdl_elf64_ehdr header;
    memcpy(&header, bytes.data, sizeof(header));
    for (unsigned s = 1; s < header.e_shnum; s++) {
        struct pdl_elf64_shdr section;
        unsigned char *at = bytes.data + header.e_shoff + s * sizeof(section);
        memcpy(&section, at, sizeof(section));
        if (section.sh_type == PDL_SHT_PROGBITS) {
            section.sh_offset = 0;
            section.sh_size = bytes.size;
            memcpy(at, &section, sizeof(section));
        }
    }
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, "damaged");
}

TEST(a_name_without_an_end_is_no_name)
{
    struct bytes bytes = make_cubin(&plain_cubin);
    struct pdl_elf64_ehdr header;
    memcpy(&header, bytes.data, sizeof(header));
    for (unsigned s = 1; s < header.e_shnum; s++) {
        struct pdl_elf64_shdr section;
        memcpy(&section, bytes.data + header.e_shoff + s * sizeof(section), sizeof(section));
        if (section.sh_type == PDL_SHT_STRTAB) {
            memset(bytes.data + section.sh_offset, 'x', section.sh_size);
        }
    }
    inspect_whatever(&bytes);
    /* And one that the file ends in, that of every section. */
    static const char end[] = {'.', 't', 'e', 'x', 't', '.', 'x', 'x'};
    bytes_add(&bytes, end, sizeof(end));
    for (unsigned s = 1; s < header.e_shnum; s++) {
        struct pdl_elf64_shdr section;
        unsigned char *at = bytes.data + header.e_shoff + s * sizeof(section);
        memcpy(&section, at, sizeof(section));
        section.sh_name = 0;
        if (section.sh_type == PDL_SHT_STRTAB) {
            section.sh_offset = bytes.size - sizeof(end);
            section.sh_size = sizeof(end);
        }
        memcpy(at, &section, sizeof(section));
    }
    inspect_whatever(&bytes);
}
