/* SPDX-License-Identifier: MIT */
/* The descriptor's size field: programs compiled against older and newer headers. */
#include "support.h"

static pdl_kernel *kernel;

static int setup(void **state)
{
    (void)mock_setup(state);
    kernel = test_kernel(FROM_FUNCTION, 0);
    return 0;
}

#define SIZE_TEST(name) TEST_WITH(name, setup, mock_teardown)

/* A copy of the descriptor's first bytes in memory of exactly that size, so that the sanitizers and
 * valgrind see whoever reads on. What `size` has over the struct is filled with the byte. */
static pdl_launch_desc *resized(const pdl_launch_desc *from, size_t size, unsigned char tail)
{
    unsigned char *bytes = malloc(size);
    const uint32_t size_field = (uint32_t)size;
    assert_non_null(bytes);
    memset(bytes, tail, size);
    memcpy(bytes, from, size < sizeof(*from) ? size : sizeof(*from));
    memcpy(bytes, &size_field, size < sizeof(size_field) ? size : sizeof(size_field));
    return (pdl_launch_desc *)(void *)bytes;
}

static pdl_launch_desc full_desc(void)
{
    pdl_launch_desc desc = plain_desc();
    for (size_t i = 0; i < field_case_count; i++) {
        set_field(&field_cases[i], &desc);
    }
    desc.cooperative = 0; /* so that the overlap is there too */
    desc.dynamic_shared_memory = 1024;
    return desc;
}

SIZE_TEST(a_descriptor_without_its_block_is_too_small)
{
    const pdl_launch_desc desc = full_desc();
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    for (size_t size = sizeof(uint32_t); size < offsetof(pdl_launch_desc, cluster); size++) {
        char number[32];
        pdl_launch_desc *small = resized(&desc, size, 0);
        (void)snprintf(number, sizeof(number), "%zu", size);
        assert_refused(pdl_launch(kernel, small, NULL), PDL_ERROR_DESC_SIZE, "size", number);
        assert_refused(pdl_launch_explain(kernel, small, &report), PDL_ERROR_DESC_SIZE, "size",
                       number);
        free(small);
    }
    assert_int_equal(mock.calls[MOCK_cuLaunchKernelEx], 0);
}

/* A descriptor that ends after any field is one of the full size in which what follows is zero. */
SIZE_TEST(what_an_older_descriptor_lacks_is_default)
{
#define END(member) offsetof(pdl_launch_desc, member) + sizeof(((pdl_launch_desc *)0)->member)
    static const size_t others[] = {END(block), END(dynamic_shared_memory), END(stream),
                                    END(trigger_at_block_start), END(reserved)};
#undef END
    static char stream;
    pdl_launch_desc desc = full_desc();
    desc.stream = (CUstream)(void *)&stream;
    unsigned most = 0;
    for (size_t i = 0; i < COUNT_OF(others) + field_case_count; i++) {
        const size_t end = i < COUNT_OF(others) ? others[i] : field_cases[i - COUNT_OF(others)].end;
        pdl_launch_desc *older = resized(&desc, end, 0);
        pdl_launch_desc same;
        memset(&same, 0, sizeof(same));
        memcpy(&same, older, end);
        same.size = (uint32_t)sizeof(same);
        assert_ok(pdl_launch(kernel, &same, NULL));
        const struct mock_launch want = *mock_last_launch();
        assert_ok(pdl_launch(kernel, older, NULL));
        const struct mock_launch *got = mock_last_launch();
        struct expected expected = {.count = want.attribute_count};
        memcpy(expected.attributes, want.attributes, sizeof(expected.attributes));
        assert_attributes(got, &expected);
        assert_explained(kernel, older, got);
        assert_int_equal(got->config.gridDimX, 132);
        assert_int_equal(got->config.blockDimX, 256);
        assert_int_equal(got->config.sharedMemBytes, want.config.sharedMemBytes);
        assert_ptr_equal(got->config.hStream, want.config.hStream);
        most = got->attribute_count > most ? got->attribute_count : most;
        free(older);
    }
    assert_int_equal(most, field_case_count - 1);
}

SIZE_TEST(an_older_descriptor_is_still_checked)
{
    pdl_launch_desc desc = plain_desc();
    desc.grid[0] = 0;
    pdl_launch_desc *older = resized(&desc, offsetof(pdl_launch_desc, cluster), 0);
    assert_refused(pdl_launch(kernel, older, NULL), PDL_ERROR_INVALID_GRID, "grid", "");
    free(older);
}

/* Nothing may be read at a size that is no size: the descriptor ends where it ends. */
SIZE_TEST(a_descriptor_whose_size_is_garbage_is_refused)
{
    pdl_launch_desc desc = full_desc();
    static const uint32_t sizes[] = {0, 16385, 0x10000, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        desc.size = sizes[i];
        assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_DESC_SIZE, "size", "16384");
    }
    assert_int_equal(mock.calls[MOCK_cuLaunchKernelEx], 0);
}
