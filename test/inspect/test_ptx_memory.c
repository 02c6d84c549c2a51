/* SPDX-License-Identifier: MIT */
/* Every allocation fails once while a rich PTX text is read or instrumented: that is said, and nothing is lost. */
#include <stdbool.h>
#include <unistd.h>

#include <pdl/instrument.h>

#include "ptx_support.h"

/* The linker brings the library's calls here. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *string);
char *__real_strndup(const char *string, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *string);
char *__wrap_strndup(const char *string, size_t size);
void __wrap_free(void *memory);

static struct {
    bool counts;
    unsigned calls;
    unsigned failing; /* from 1; 0: none */
    int held;         /* blocks */
} allocations;

static void count_from(unsigned failing)
{
    allocations.failing = failing;
    allocations.calls = 0;
    allocations.held = 0;
    allocations.counts = true;
}

static bool fails(void)
{
    return allocations.counts && ++allocations.calls == allocations.failing;
}

static void *hold(void *memory)
{
    allocations.held += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : hold(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : hold(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (fails()) {
        return NULL;
    }
    void *moved = __real_realloc(memory, size);
    return memory == NULL ? hold(moved) : moved;
}

char *__wrap_strdup(const char *string)
{
    return fails() ? NULL : hold(__real_strdup(string));
}

char *__wrap_strndup(const char *string, size_t size)
{
    return fails() ? NULL : hold(__real_strndup(string, size));
}

void __wrap_free(void *memory)
{
    allocations.held -= memory != NULL;
    __real_free(memory);
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
    return inspect_memory(text, sizeof(text) - 1, "rich", &options, inspection);
}

TEST(an_inspection_survives_the_kth_allocation_that_fails)
{
    pdl_inspection *inspection = NULL;
    count_from(0);
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
        count_from(k);
        const pdl_status failed = read_text(&inspection);
        allocations.counts = false;
        if (failed != PDL_ERROR_OUT_OF_MEMORY || inspection != NULL || allocations.held != 0) {
            fail_msg("allocation %u of %u failed, that gave %d, and %d blocks are left", k, count,
                     (int)failed, allocations.held);
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

/* ---- instrumenting ------------------------------------------------------------------------------ */

#define OLD_HEADER ".version 7.0\n.target sm_80\n.address_size 64\n"
#define LOOP                                                                                       \
    ".shared .b32 s;\n.func help(.param .b64 x)\n{\nld.param.u64 %rd1, [x];\n"                     \
    "ld.global.nc.u32 %r1, [%rd1];\nret;\n}\n" PTX_KERNEL_BEGIN                                    \
    "st.shared.u32 [s], t;\nbar.sync 0;\nA:\nld.global.nc.u32 r, [ga];\nsetp.lt.u32 p, r, n;\n"    \
    "@p bra A;\nld.global.u32 r, [gb];\n@q bra B;\n.param .b64 q;\nst.param.b64 [q], ga;\n"        \
    "call help, (q);\nB:\nst.global.u32 [ga], r;\n" PTX_KERNEL_END

static const char *const numbers[] = {"1", "k:2"};
static const char *const names[] = {"w"};
static const char *const kernels[] = {"x", "k"};

/* What allocates in other places. */
static const struct instrument_case {
    const char *title, *text;
    pdl_instrument_options options;
    int32_t action;
} instrument_cases[] = {
    {"nothing but a kernel", PTX_KERNEL("st.global.u32 [ga], t;"), {0}, PDL_INSTRUMENT_DONE},
    {"loops and functions",
     PTX_HEADER LOOP,
     {.wait = PDL_INSTRUMENT_HOIST, .trigger = PDL_INSTRUMENT_TRIGGER_LAST_READ},
     PDL_INSTRUMENT_DONE},
    {"a text that is raised",
     OLD_HEADER LOOP,
     {.flags = PDL_INSTRUMENT_RAISE_TARGET, .trigger = PDL_INSTRUMENT_TRIGGER_WAIT},
     PDL_INSTRUMENT_DONE},
    {"constant parameters by number",
     PTX_HEADER LOOP,
     {.wait = PDL_INSTRUMENT_HOIST, .constant_params = numbers, .constant_param_count = 2},
     PDL_INSTRUMENT_DONE},
    {"constant parameters by the source's names",
     PTX_HEADER ".file 1 \"pdl-memory-test.cu\"\n" PTX_KERNEL_BEGIN
                ".loc 1 2 1\nld.global.u32 r, [gb];\nst.global.u32 [ga], r;\n" PTX_KERNEL_END,
     {.wait = PDL_INSTRUMENT_HOIST, .constant_params = names, .constant_param_count = 1},
     PDL_INSTRUMENT_DONE},
    {"chosen kernels",
     PTX_HEADER ".entry other()\n{\nret;\n}\n" LOOP,
     {.kernels = kernels, .kernel_count = 2},
     PDL_INSTRUMENT_EXCLUDED},
    {"what has every part", text, {.wait = PDL_INSTRUMENT_HOIST}, PDL_INSTRUMENT_REFUSED},
    {"what waits already", PTX_KERNEL("griddepcontrol.wait;"), {0}, PDL_INSTRUMENT_WAITS},
    {"a chosen trigger",
     PTX_HEADER LOOP,
     {.wait = PDL_INSTRUMENT_HOIST,
      .trigger = PDL_INSTRUMENT_TRIGGER_POINT + 1,
      .constant_params = numbers,
      .constant_param_count = 2},
     PDL_INSTRUMENT_DONE},
    {"an old target", OLD_HEADER LOOP, {0}, PDL_INSTRUMENT_REFUSED},
    {"an old version",
     ".version 7.0 .target sm_90 .address_size 64\n" LOOP,
     {0},
     PDL_INSTRUMENT_REFUSED},
    {"a finding",
     PTX_KERNEL("tex.1d.v4.f32.s32 {f1, f2, f3, f4}, [gb, {t}];\nst.global.u32 [ga], f1;"),
     {0},
     PDL_INSTRUMENT_REFUSED},
};

static pdl_status instrument(const struct instrument_case *at, pdl_instrumentation **result)
{
    pdl_instrument_options options = at->options;
    options.size = (uint32_t)sizeof(options);
    return pdl_instrument(at->text, strlen(at->text), at->title, &options, result);
}

/* The text and what is said of its kernels; the caller frees it. */
static char *describe(const pdl_instrumentation *result)
{
    char *said = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&said, &size);
    (void)fputs(pdl_instrumentation_text(result, NULL), to);
    for (size_t i = 0; i < pdl_instrumentation_kernel_count(result); i++) {
        const pdl_instrument_kernel *kernel = pdl_instrumentation_kernel(result, i);
        (void)fprintf(to, "%s: %d %d %u %u %u %s\n", kernel->name, (int)kernel->action,
                      (int)kernel->reason, (unsigned)kernel->wait_line,
                      (unsigned)kernel->trigger_line, (unsigned)kernel->loads,
                      kernel->message != NULL ? kernel->message : "");
    }
    (void)fclose(to);
    return said;
}

static void instrument_each(const struct instrument_case *at)
{
    pdl_instrumentation *result = NULL;
    count_from(0);
    const pdl_status status = instrument(at, &result);
    allocations.counts = false;
    if (status != PDL_SUCCESS) {
        fail_msg("%s: %s", at->title, pdl_inspect_last_error()->message);
    }
    const unsigned count = allocations.calls;
    char *expected = describe(result);
    if (pdl_instrumentation_kernel(result, 0)->action != at->action) {
        fail_msg("%s: %s", at->title, expected);
    }
    pdl_instrumentation_destroy(result);
    for (unsigned k = 1; k <= count; k++) {
        result = NULL;
        count_from(k);
        const pdl_status failed = instrument(at, &result);
        allocations.counts = false;
        if (failed != PDL_ERROR_OUT_OF_MEMORY || result != NULL || allocations.held != 0) {
            fail_msg("%s: allocation %u of %u failed, that gave %d, and %d blocks are left",
                     at->title, k, count, (int)failed, allocations.held);
        }
        assert_int_equal(pdl_inspect_last_error()->status, PDL_ERROR_OUT_OF_MEMORY);
        assert_true(strlen(pdl_inspect_last_error()->message) > 0);
    }
    count_from(0);
    assert_int_equal(instrument(at, &result), PDL_SUCCESS);
    char *found = describe(result);
    pdl_instrumentation_destroy(result);
    allocations.counts = false;
    assert_string_equal(found, expected);
    free(found);
    free(expected);
}

#define SOURCE "pdl-memory-test.cu"

TEST(an_instrumentation_survives_the_kth_allocation_that_fails)
{
    FILE *source = fopen(SOURCE, "w");
    assert_non_null(source);
    (void)fputs("__global__ void k(float *a, const float *w, unsigned n)\n{ a[0] = w[0]; }\n",
                source);
    assert_int_equal(fclose(source), 0);
    for (size_t i = 0; i < COUNT_OF(instrument_cases); i++) {
        instrument_each(&instrument_cases[i]);
    }
    assert_int_equal(unlink(SOURCE), 0);
}
