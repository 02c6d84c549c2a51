/* SPDX-License-Identifier: MIT */
/* Chains as descriptions for `pdltool sim`. */
#include <stdlib.h>
#include <unistd.h>

#include <pdl/timeline.h>

#include "graph_support.h"

enum { TEXT = 4096 };
static char path[] = "/tmp/pdl-describe-XXXXXX";

/* What was written, without the comment above it. */
static const char *written(void)
{
    static char text[TEXT];
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, TEXT - 1, file)] = '\0';
    (void)fclose(file);
    assert_int_equal(text[0], '#');
    return strchr(text, '\n') + 1;
}

static void links_are_kernels_with_their_sizes_and_edges(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_chain();
    char expected[TEXT];
    char line[3][512];
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 0);
    (void)add_link(chain, kernel, PDL_OVERLAP_AUTO, 1);
    (void)add_link(chain, kernel, PDL_OVERLAP_NONE, 2);
    assert_ok(pdl_chain_describe(chain, path));
    const pdl_launch_desc desc = overlap_desc(PDL_OVERLAP_AUTO);
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    assert_ok(pdl_kernel_get(kernel, 0, &info));
    const char *const name = mock.kernels[0].name;
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(line[i], sizeof(line[i]),
                       "kernel %s.%u blocks=%u threads=%u registers=%d shared=%u prologue=1us "
                       "before=1us after=1us\n",
                       name, i, desc.grid[0], desc.block[0], info.registers_per_thread,
                       (unsigned)info.static_shared_memory + desc.dynamic_shared_memory);
    }
    (void)snprintf(expected, sizeof(expected),
                   "%s%s%sgate\ngraph\n    node 0 %s.0\n    node 1 %s.1\n    node 2 %s.2\n"
                   "    edge 0 1 overlap\n    edge 1 2\nend\n",
                   line[0], line[1], line[2], name, name, name);
    assert_string_equal(written(), expected);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void the_whole_grid_and_all_shared_memory_count(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_chain();
    struct values values = values_of(0);
    void *args[] = {&values.pointer, &values.number};
    const pdl_launch_desc desc =
        PDL_LAUNCH_DESC(.grid = {2, 3, 5}, .block = {8, 4, 2}, .dynamic_shared_memory = 1000);
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    char expected[64];
    assert_ok(pdl_chain_add(chain, kernel, &desc, args, NULL, 0, NULL));
    assert_ok(pdl_chain_describe(chain, path));
    assert_ok(pdl_kernel_get(kernel, 0, &info));
    (void)snprintf(expected, sizeof(expected), " blocks=30 threads=64 registers=%d shared=%d ",
                   info.registers_per_thread, info.static_shared_memory + 1000);
    assert_non_null(strstr(written(), expected));
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void clusters_that_are_compiled_in_are_told(void **state)
{
    (void)state;
    static const char text[] =
        ".version 9.0\n.target sm_90\n.entry fc1(.param .u64 a, .param .u32 b) "
        "%s.reqnctapercluster 2, 1, 1 { griddepcontrol.wait; ret; }\n";
    for (int counts = 0; counts < 2; counts++) {
        char image[256];
        pdl_kernel *kernel = NULL;
        (void)snprintf(image, sizeof(image), text, counts ? ".blocksareclusters " : "");
        mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = 2;
        mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT] = 1;
        mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH] = 1;
        assert_ok(pdl_kernel_from_image(image, strlen(image), "fc1", &kernel));
        pdl_chain *chain = make_chain();
        struct values values = values_of(0);
        void *args[] = {&values.pointer, &values.number};
        const pdl_launch_desc desc = PDL_LAUNCH_DESC(.grid = {30}, .block = {64});
        assert_ok(pdl_chain_add(chain, kernel, &desc, args, NULL, 0, NULL));
        assert_ok(pdl_chain_describe(chain, path));
        const char *const line = written();
        assert_non_null(strstr(line, counts ? " blocks=60 " : " blocks=30 "));
        assert_non_null(strstr(line, " after=1us trigger=never cluster=2\n"));
        pdl_chain_destroy(chain);
        pdl_kernel_destroy(kernel);
    }
}

static void what_is_known_of_waits_and_triggers_is_told(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_chain();
    assert_ok(pdl_kernel_declare(kernel, PDL_NO, PDL_NO));
    (void)add_link(chain, kernel, PDL_OVERLAP_NONE, 0);
    assert_ok(pdl_chain_describe(chain, path));
    assert_non_null(strstr(written(), " after=1us nowait trigger=never\n"));
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void edges_come_after_the_nodes_of_links_that_were_added_later(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 2);
    assert_ok(pdl_chain_add_dependency(chain, 1, PDL_CHAIN_START));
    assert_ok(pdl_chain_add_dependency(chain, 0, 1));
    assert_ok(pdl_chain_describe(chain, path));
    const char *const edge = strstr(written(), "    edge 1 0 overlap\n");
    assert_non_null(edge);
    assert_null(strstr(edge, "node"));
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_link_that_waits_for_several_has_an_edge_from_each(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_ok(pdl_chain_add_dependency(chain, 3, i));
    }
    assert_ok(pdl_chain_describe(chain, path));
    assert_non_null(strstr(written(), "    edge 0 3 overlap\n    edge 1 3 overlap\n"
                                      "    edge 2 3 overlap\nend\n"));
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_chain_is_described_for_the_device_that_it_was_built_for(void **state)
{
    (void)state;
    mock.table.device_count = 2;
    mock.kernels[0].attributes[1][CU_FUNC_ATTRIBUTE_NUM_REGS] = 77;
    mock_apply();
    pdl_kernel *kernel = make_kernel(FROM_CU_KERNEL, 0);
    mock_set_current(1);
    pdl_chain *chain = make_line(kernel, 1);
    mock_set_current(0);
    assert_ok(pdl_chain_describe(chain, path));
    assert_non_null(strstr(written(), " registers=77 "));
    assert_ok(pdl_chain_reset(chain));
    assert_ok(pdl_chain_describe(chain, path));
    assert_non_null(strstr(written(), " registers=32 "));
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_chain_without_links_is_refused_and_no_file_touched(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 1);
    assert_ok(pdl_chain_describe(chain, path));
    pdl_chain *empty = make_chain();
    assert_refused(pdl_chain_describe(empty, path), PDL_ERROR_INVALID_ARGUMENT, "link", "0");
    assert_non_null(strstr(written(), "node 0 "));
    pdl_chain_destroy(empty);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

static void a_file_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    pdl_kernel *kernel = make_kernel(FROM_FUNCTION, 0);
    pdl_chain *chain = make_line(kernel, 1);
    assert_int_equal(pdl_chain_describe(chain, "/nowhere/at/all"), PDL_ERROR_FILE);
    assert_int_equal(pdl_chain_describe(chain, NULL), PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pdl_chain_describe(chain, ""), PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pdl_chain_describe(NULL, path), PDL_ERROR_INVALID_ARGUMENT);
    pdl_chain_destroy(chain);
    pdl_kernel_destroy(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(links_are_kernels_with_their_sizes_and_edges),
        GRAPH_TEST(the_whole_grid_and_all_shared_memory_count),
        GRAPH_TEST(clusters_that_are_compiled_in_are_told),
        GRAPH_TEST(what_is_known_of_waits_and_triggers_is_told),
        GRAPH_TEST(edges_come_after_the_nodes_of_links_that_were_added_later),
        GRAPH_TEST(a_link_that_waits_for_several_has_an_edge_from_each),
        GRAPH_TEST(a_chain_is_described_for_the_device_that_it_was_built_for),
        GRAPH_TEST(a_chain_without_links_is_refused_and_no_file_touched),
        GRAPH_TEST(a_file_that_cannot_be_written_is_told),
    };
    const int file = mkstemp(path);
    if (file < 0) {
        return 1;
    }
    (void)close(file);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
