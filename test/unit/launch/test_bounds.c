/* SPDX-License-Identifier: MIT */
/* Clusters that are compiled in: what a launch may have, and that explain says so before. */
#include "support.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

/* What is compiled in: PTX, and the same as the driver has it. */
static const struct compiled {
    const char *directives;
    uint32_t cluster[3];
    bool must_be_set;
    bool counts_clusters;
} compiled[] = {
    {"", {0, 0, 0}, false, false},
    {".maxntid 256, 1, 1\n.minnctapersm 2\n.maxclusterrank 4", {0, 0, 0}, false, false},
    {".explicitcluster", {0, 0, 0}, true, false},
    {".explicitcluster\n.reqnctapercluster 4, 1, 1", {4, 1, 1}, true, false},
    {".explicitcluster\n.reqnctapercluster 2, 2, 1", {2, 2, 1}, true, false},
    {".reqnctapercluster 1, 1, 2", {1, 1, 2}, false, false},
    {".reqnctapercluster 1, 1, 1", {1, 1, 1}, false, false},
    {".blocksareclusters\n.reqntid 128, 1, 1\n.reqnctapercluster 2, 1, 1", {2, 1, 1}, false, true},
};

static const uint32_t grids[][3] = {{134, 0, 0}, {136, 1, 1}, {4, 4, 4},
                                    {134, 3, 2}, {8, 1, 3},   {67, 0, 0}};
static const uint32_t clusters[][3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0},
                                       {4, 1, 1}, {2, 2, 1}, {1, 1, 2}};

enum way { BY_IMAGE, BY_FUNCTION, BY_SYMBOL, WAYS };

static pdl_kernel *make(enum way way, const struct compiled *in)
{
    char text[512];
    int *const attributes = mock.kernels[0].attributes[0];
    attributes[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] = in->must_be_set;
    attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (int)in->cluster[0];
    attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT] = (int)in->cluster[1];
    attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH] = (int)in->cluster[2];
    mock.kernels[0].counts_clusters = in->counts_clusters;
    if (way == BY_IMAGE) {
        (void)snprintf(text, sizeof(text), HEAD ".visible .entry fc1()\n%s\n{ ret; }\n",
                       in->directives);
        return test_image_kernel(text, strlen(text), "fc1");
    }
    return test_kernel(way == BY_FUNCTION ? FROM_FUNCTION : FROM_SYMBOL, 0);
}

static uint32_t or_one(uint32_t number)
{
    return number != 0 ? number : 1;
}

static bool divides(const uint32_t part[3], const uint32_t whole[3])
{
    return or_one(whole[0]) % or_one(part[0]) == 0 && or_one(whole[1]) % or_one(part[1]) == 0 &&
           or_one(whole[2]) % or_one(part[2]) == 0;
}

/* Whether CUDA launches it. */
static bool is_allowed(const struct compiled *in, const uint32_t grid[3], const uint32_t given[3])
{
    const bool sets = given[0] != 0;
    const bool has = in->cluster[0] != 0;
    for (int i = 0; i < 3; i++) {
        if (sets && has && or_one(given[i]) != in->cluster[i]) {
            return false;
        }
    }
    if (!sets && !has) {
        return !in->must_be_set;
    }
    return in->counts_clusters || divides(sets ? given : in->cluster, grid);
}

static void check_launch(pdl_kernel *kernel, enum way way, const struct compiled *in,
                         const uint32_t grid[3], const uint32_t given[3])
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_launch_desc desc = plain_desc();
    desc.block[0] = 128;
    memcpy(desc.grid, grid, sizeof(desc.grid));
    memcpy(desc.cluster, given, sizeof(desc.cluster));
    /* A cluster in the descriptor divides the grid, unless the code is known to count clusters. */
    const bool open = way == BY_FUNCTION && in->counts_clusters;
    const bool allowed =
        is_allowed(in, grid, given) && !(open && given[0] != 0 && !divides(given, grid));
    const unsigned before = mock.calls[MOCK_cuLaunchKernelEx];
    const pdl_status explained = pdl_launch_explain(kernel, &desc, &report);
    const pdl_status launched = pdl_launch(kernel, &desc, NULL);
    const unsigned calls = mock.calls[MOCK_cuLaunchKernelEx] - before;
    if ((launched == PDL_SUCCESS) != allowed) {
        fail_msg("[%s] way %d, grid %u x %u x %u, cluster %u x %u x %u: %s", in->directives,
                 (int)way, grid[0], grid[1], grid[2], given[0], given[1], given[2],
                 launched == PDL_SUCCESS ? "launched" : pdl_last_error()->message);
    }
    if (!allowed) {
        assert_int_equal(launched, PDL_ERROR_INVALID_CLUSTER);
        assert_non_null(strstr(pdl_last_error()->message, "cluster"));
    }
    if (way == BY_IMAGE || !in->counts_clusters) {
        /* Of code that may count clusters, only the driver knows. */
        if (way == BY_FUNCTION && explained == PDL_SUCCESS && !allowed) {
            assert_non_null(strstr(report.message, "unless the code counts clusters"));
        } else {
            assert_int_equal(explained, launched);
            assert_int_equal(calls > 0, allowed);
        }
    }
}

TEST(launches_with_clusters_are_what_the_code_allows)
{
    for (int way = 0; way < BY_SYMBOL; way++) {
        for (size_t i = 0; i < COUNT_OF(compiled); i++) {
            pdl_kernel *kernel = make((enum way)way, &compiled[i]);
            for (size_t g = 0; g < COUNT_OF(grids); g++) {
                for (size_t c = 0; c < COUNT_OF(clusters); c++) {
                    check_launch(kernel, (enum way)way, &compiled[i], grids[g], clusters[c]);
                }
            }
        }
    }
}

TEST(refusals_have_the_numbers)
{
    pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make(BY_IMAGE, &compiled[3]);
    desc.grid[0] = 134;
    assert_refused(pdl_launch_explain(kernel, &desc, &report), PDL_ERROR_INVALID_CLUSTER, "grid",
                   "134 x 1 x 1", "4 x 1 x 1", "fc1");
    assert_non_null(strstr(report.message, "not launched: grid is 134 x 1 x 1"));
    desc.grid[0] = 136;
    desc.cluster[0] = 2;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_CLUSTER, "cluster",
                   "2 x 1 x 1", "4 x 1 x 1", "fc1");
    desc.cluster[0] = 4;
    assert_ok(pdl_launch(kernel, &desc, NULL));
    kernel = make(BY_IMAGE, &compiled[2]);
    desc.cluster[0] = 0;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_CLUSTER, "cluster", "fc1",
                   "not set");
    desc.grid[0] = 0;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_GRID, "grid", "grid.x", "0");
    kernel = make(BY_FUNCTION, &compiled[3]);
    desc.grid[0] = 134;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_CLUSTER, "grid",
                   "134 x 1 x 1", "4 x 1 x 1", "CUDA_ERROR_INVALID_VALUE");
}

/* What a driver does not tell: launches of a block and a cluster, and which is refused. */
TEST(blocks_and_clusters_beyond_the_code_are_refused)
{
    static const struct {
        const char *directives;
        uint32_t own[3], most; /* as the driver has it */
        uint32_t block[3], cluster[3];
        const char *field, *numbers; /* that are refused; NULL: it is launched */
    } cases[] = {
        {".reqntid 128, 2, 1", {128, 2, 1}, 0, {128, 2, 0}, {0}, NULL, NULL},
        {".reqntid 128, 2, 1", {128, 2, 1}, 0, {64, 2, 1}, {0}, "block", "128 x 2 x 1"},
        {".reqntid 128, 2, 1", {128, 2, 1}, 0, {2, 128, 1}, {0}, "block", "128 x 2 x 1"},
        {".reqntid 32", {32, 1, 1}, 0, {16, 0, 0}, {0}, "block", "32 x 1 x 1"},
        {".maxntid 128", {0}, 0, {64, 0, 0}, {0}, NULL, NULL},
        {".maxclusterrank 4", {0}, 4, {64, 0, 0}, {2, 2, 1}, NULL, NULL},
        {".maxclusterrank 4", {0}, 4, {64, 0, 0}, {4, 2, 1}, "cluster", "most 4"},
        {".maxclusterrank 4", {0}, 4, {64, 0, 0}, {0}, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct compiled in = {.directives = cases[i].directives};
        pdl_kernel *const kernel = make(BY_IMAGE, &in);
        pdl_launch_report report = PDL_LAUNCH_REPORT_INIT;
        pdl_launch_desc desc = plain_desc();
        desc.grid[0] = desc.grid[1] = 8;
        memcpy(mock.kernels[0].block, cases[i].own, sizeof(cases[i].own));
        mock.kernels[0].most_cluster = cases[i].most;
        memcpy(desc.block, cases[i].block, sizeof(desc.block));
        memcpy(desc.cluster, cases[i].cluster, sizeof(desc.cluster));
        const pdl_status status =
            cases[i].cluster[0] != 0 ? PDL_ERROR_INVALID_CLUSTER : PDL_ERROR_INVALID_BLOCK;
        if (cases[i].field == NULL) {
            assert_ok(pdl_launch_explain(kernel, &desc, &report));
            assert_ok(pdl_launch(kernel, &desc, NULL));
        } else {
            assert_refused(pdl_launch_explain(kernel, &desc, &report), status, cases[i].field,
                           cases[i].numbers, "fc1");
            assert_non_null(strstr(report.message, "not launched: "));
            assert_refused(pdl_launch(kernel, &desc, NULL), status, cases[i].field,
                           cases[i].numbers, "fc1");
            assert_int_equal(pdl_last_error()->cuda_result, CUDA_ERROR_INVALID_VALUE);
        }
        const pdl_kernel_info info = kernel_info(kernel, 0);
        assert_memory_equal(info.required_block, cases[i].own, sizeof(cases[i].own));
        assert_int_equal(info.max_cluster_blocks, cases[i].most);
    }
}

/* Where nothing is compiled in, anyone may set a cluster for the kernel, and change it. */
TEST(a_cluster_that_was_changed_since_refuses_nothing)
{
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make(BY_FUNCTION, &compiled[3]);
    desc.grid[0] = 136;
    desc.cluster[0] = 2;
    assert_refused(pdl_launch(kernel, &desc, NULL), PDL_ERROR_INVALID_CLUSTER, "cluster", "4");
    mock.kernels[0].attributes[0][CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = 2;
    assert_ok(pdl_launch(kernel, &desc, NULL));
}

TEST(what_is_compiled_in_is_shown)
{
    for (int way = 0; way < WAYS; way++) {
        for (size_t i = 0; i < COUNT_OF(compiled); i++) {
            pdl_kernel *kernel = make((enum way)way, &compiled[i]);
            const pdl_kernel_info info = kernel_info(kernel, 0);
            assert_memory_equal(info.required_cluster, compiled[i].cluster, 12);
            assert_int_equal(info.cluster_must_be_set, compiled[i].must_be_set);
            assert_int_equal(info.min_blocks_per_multiprocessor, -1);
            if (way == BY_IMAGE) {
                assert_int_equal(info.blocks_are_clusters,
                                 compiled[i].counts_clusters ? PDL_YES : PDL_NO);
            }
        }
    }
}

TEST(occupancy_counts_the_clusters_that_are_compiled_in)
{
    pdl_launch_desc desc = plain_desc();
    pdl_kernel *kernel = make(BY_FUNCTION, &compiled[4]);
    desc.grid[0] = desc.grid[1] = 8;
    const pdl_occupancy occupancy = occupancy_of(kernel, &desc);
    assert_int_equal(occupancy.active_clusters, 33);
    assert_int_equal(occupancy.active_blocks, 132);
}

/* The driver is asked when the facts are, and by no launch that it would accept. */
TEST(launches_do_not_ask)
{
    for (size_t i = 0; i < COUNT_OF(compiled); i++) {
        pdl_launch_desc desc = plain_desc();
        pdl_kernel *kernel = make(BY_FUNCTION, &compiled[i]);
        desc.grid[0] = desc.grid[1] = desc.grid[2] = 4;
        memcpy(desc.cluster, compiled[i].cluster, sizeof(desc.cluster));
        desc.cluster[0] = compiled[i].must_be_set ? or_one(desc.cluster[0]) : desc.cluster[0];
        assert_ok(pdl_launch(kernel, &desc, NULL));
        const unsigned before = mock.calls[MOCK_cuFuncGetAttribute];
        assert_ok(pdl_launch(kernel, &desc, NULL));
        assert_int_equal(mock.calls[MOCK_cuFuncGetAttribute], before);
    }
}
