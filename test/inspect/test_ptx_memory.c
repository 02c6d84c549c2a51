/* SPDX-License-Identifier: MIT */
/* Every allocation fails once while a rich PTX text is read: that is said, and nothing is lost. */
#include <stdbool.h>

#include "ptx_support.h"

/* The linker brings the library's calls here. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static struct {
    bool counts;
    unsigned calls;
    unsigned failing; /* from 1; 0: none */
} allocations;

static bool fails(void)
{
    return allocations.counts && ++allocations.calls == allocations.failing;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

static const char text[] = PTX_HEADER
    ".file 1 \"a.cu\", 5, 6\n.file 2 \"b.cuh\"\n.global .align 4 .b8 v[4] = {1, 2};\n"
    ".extern .func (.param .b32 o) unknown(.param .b64 x);\n"
    ".func (.param .b64 o) next(.param .b64 x)\n{\nld.param.u64 %rd1, [x];\nld.u64 %rd2, [%rd1];\n"
    "st.param.b64 [o], %rd2;\nret;\n}\n"
    ".func even(.param .b64 x);\n"
    ".func odd(.param .b64 x)\n{\n.loc 2 4 1\nld.param.u64 %rd1, [x];\n@%p ret;\n"
    "{ .param .b64 q; st.param.b64 [q], %rd1; call.uni even, (q); }\nret;\n}\n"
    ".func even(.param .b64 x)\n{\n.loc 2 9 1\nld.param.u64 %rd1, [x];\nst.u32 [%rd1], 1;\n@%p "
    "griddepcontrol.wait;\n{ .param .b64 q; st.param.b64 [q], %rd1; call.uni odd, (q); "
    "}\nret;\n}\n" PTX_KERNEL_BEGIN
    ".reg .b32 %r<9>;\n.loc 1 5 1, function_name L, inlined_at 1 30 9\n"
    "// pdl:allow read-before-wait: it is right\n// pdl:constant gb\nld.global.u32 r, [ga];\n"
    ".loc 1 7 1\n{ .reg .b32 %r<4>; mov.u32 %r1, 0; }\nld.global.nc.u32 r, [ga];\n"
    ".param .b64 q, w; st.param.b64 [q], ga;\ncall (w), next, (q);\ncall odd, (q);\n"
    "p0: .callprototype _ (.param .b64 _);\ncall ga, (q), p0;\ncall (w), unknown, (q);\n"
    "ts: .branchtargets A, B;\nbrx.idx t, ts;\nA:\ngriddepcontrol.wait;\nB:\n.loc 1 9 1\n"
    "setp.eq.u32 p, t, 0;\n@p bra A;\nst.global.u32 [v], 1;\ngriddepcontrol.launch_dependents;\n"
    "ld.global.nc.u32 r, [ga];\n" PTX_KERNEL_END
    ".entry k2()\n{\nret;\n}\n.section .debug_str {\nL: .b8 102, 0\n}\n";

static const char *const patterns[] = {"k2"};
static const char *const constants[] = {"*:b"};
static const char *const launched[] = {"_ZN12_GLOBAL__N_12k4Ev", "k3"};

static pdl_status read_text(pdl_inspection **inspection)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.overlapped = patterns;
    options.overlapped_count = COUNT_OF(patterns);
    options.constant_params = constants;
    options.constant_param_count = COUNT_OF(constants);
    options.launched_overlapped = launched;
    options.launched_overlapped_count = COUNT_OF(launched);
    options.launched_plain = launched;
    options.launched_plain_count = 1;
    return pdl_inspect_memory(text, sizeof(text) - 1, "rich", &options, inspection);
}

static void an_inspection_survives_the_kth_allocation_that_fails(void **state)
{
    (void)state;
    pdl_inspection *inspection = NULL;
    allocations.failing = 0;
    allocations.calls = 0;
    allocations.counts = true;
    const pdl_status status = read_text(&inspection);
    allocations.counts = false;
    if (status != PDL_SUCCESS) {
        fail_msg("%u: %s", (unsigned)pdl_inspect_last_error()->line,
                 pdl_inspect_last_error()->message);
    }
    char *expected = describe_inspection(inspection, SHOW_FACTS | SHOW_PLACES | SHOW_MESSAGES);
    pdl_inspection_destroy(inspection);
    assert_true(strlen(expected) > 500); /* it is rich */
    const unsigned count = allocations.calls;
    assert_true(count > 50);
    for (unsigned k = 1; k <= count; k++) {
        inspection = NULL;
        allocations.failing = k;
        allocations.calls = 0;
        allocations.counts = true;
        const pdl_status failed = read_text(&inspection);
        allocations.counts = false;
        if (failed != PDL_ERROR_OUT_OF_MEMORY || inspection != NULL) {
            fail_msg("allocation %u of %u failed, and that gave %d", k, count, (int)failed);
        }
        assert_int_equal(pdl_inspect_last_error()->status, PDL_ERROR_OUT_OF_MEMORY);
        assert_true(strlen(pdl_inspect_last_error()->message) > 0);
    }
    /* And nothing of it stays. */
    assert_int_equal(read_text(&inspection), PDL_SUCCESS);
    char *found = describe_inspection(inspection, SHOW_FACTS | SHOW_PLACES | SHOW_MESSAGES);
    assert_string_equal(found, expected);
    free(found);
    free(expected);
    pdl_inspection_destroy(inspection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inspection_survives_the_kth_allocation_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
