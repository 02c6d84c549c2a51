/* SPDX-License-Identifier: MIT */
/* Which kernels are shown to wait on every path before they touch memory, and in which of several codes. With files
 * as arguments: what is shown of their kernels, a line for each, for machine.py. */
#include "ptx_support.h"

#define WAIT       "griddepcontrol.wait;\n"
#define READ       "ld.global.u32 r, [ga];\n"
#define SAY(known) ((const char *const[]){"unknown", "no", "yes"}[known])

static void assert_shown(const char *title, const struct bytes *bytes, uint32_t flags,
                         int32_t capability, const char *expected)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    pdl_known always = PDL_YES;
    char found[64];
    options.flags = flags;
    pdl_inspection *inspection = inspect_with(bytes, "t", &options);
    const pdl_known shown = pdl_inspection_shown(inspection, "k", capability, &always);
    assert_int_equal(pdl_inspection_shown(inspection, "k", capability, NULL), shown);
    assert_int_equal(pdl_inspection_shown(inspection, "other", capability, NULL), PDL_UNKNOWN);
    assert_int_equal(pdl_inspection_shown(inspection, NULL, capability, NULL), PDL_UNKNOWN);
    (void)snprintf(found, sizeof(found), "%s %s", SAY(shown), SAY(always));
    if (strcmp(found, expected) != 0) {
        fail_msg("%s: %s, and should be %s", title, found, expected);
    }
}

/* What is shown, and whether the kernel always waits. */
static const struct ptx_case texts[] = {
    {"first of all", PTX_KERNEL(WAIT READ), "yes yes"},
    {"in both branches",
     PTX_KERNEL("setp.eq.u32 p, n, 7; @p bra A;\n" WAIT "bra B; A:\n" WAIT "B:\n" READ), "yes yes"},
    {"in a function that is called",
     PTX_HEADER ".func f()\n{\n" WAIT "ret;\n}\n" PTX_KERNEL_BEGIN "call f;\n" READ PTX_KERNEL_END,
     "yes yes"},
    {"not by threads that leave at once",
     PTX_KERNEL("setp.eq.u32 p, t, 0; @p bra A;\n" WAIT READ "A:\n"), "yes no"},
    {"behind work on shared memory", PTX_KERNEL("st.shared.u32 [s], 1; bar.sync 0;\n" WAIT READ),
     "yes yes"},
    {"behind a read of what is constant", PTX_KERNEL("// pdl:constant ga\n" READ WAIT), "yes yes"},
    {"behind a read that is allowed",
     PTX_KERNEL("// pdl:allow read-before-wait: a table\n" READ WAIT), "yes yes"},
    {"with notes of other rules",
     PTX_KERNEL("griddepcontrol.launch_dependents;\nbar.sync 0;\n" WAIT WAIT READ), "yes yes"},
    {"nowhere", PTX_KERNEL(READ), "no no"},
    {"nowhere, and nothing is touched", PTX_KERNEL(""), "no no"},
    {"behind a read", PTX_KERNEL(READ WAIT READ), "no yes"},
    {"behind a write", PTX_KERNEL("st.global.u32 [ga], 1;\n" WAIT), "no yes"},
    {"behind a read that another rule allows", PTX_KERNEL("// pdl:allow no-wait: why\n" READ WAIT),
     "no yes"},
    {"in a branch of all threads, and then a read",
     PTX_KERNEL("setp.eq.u32 p, n, 7; @p bra A;\n" WAIT "A:\n" READ), "no no"},
    {"in a branch of all threads, and nothing else",
     PTX_KERNEL("setp.gt.u32 p, n, 7; @p bra A;\n" WAIT READ "A:\n"), "no no"},
    {"in a branch of some threads", PTX_KERNEL("setp.eq.u32 p, t, 0; @p bra A;\n" WAIT "A:\n" READ),
     "no no"},
    {"in a branch of some threads, before a barrier",
     PTX_KERNEL("setp.eq.u32 p, t, 0; @p bra A;\n" WAIT "A: bar.sync 0;\n" READ), "no no"},
    {"behind a call of what is not there",
     PTX_HEADER ".extern .func f();\n" PTX_KERNEL_BEGIN "call f;\n" WAIT PTX_KERNEL_END, "no yes"},
    {"perhaps in a call of what is not there",
     PTX_HEADER ".extern .func f();\n" PTX_KERNEL_BEGIN "call f;\n" PTX_KERNEL_END, "no unknown"},
    {"before a non-coherent read", PTX_KERNEL(WAIT "ld.global.nc.u32 r, [ga];\n"), "no yes"},
    {"in code for an older device", ".version 8.7 .target sm_80\n.entry k() { ret; }\n", "no no"},
    {"in code for a newer device", ".version 8.7 .target sm_100\n.entry k() { " WAIT " }\n",
     "unknown unknown"},
};

TEST_ROWS(a_wait_on_every_path_before_memory_is_shown, texts)
{
    struct bytes bytes = {0};
    bytes_add(&bytes, row->text, strlen(row->text) + 1);
    assert_shown(row->title, &bytes, 0, 90, row->expected);
    assert_shown(row->title, &bytes, PDL_INSPECT_FACTS_ONLY, 90, "unknown unknown");
    assert_int_equal(pdl_inspection_shown(NULL, "k", 90, NULL), PDL_UNKNOWN);
}

/* ---- several codes of one kernel ------------------------------------------------------------ */

/* A code in a fatbin: PTX that waits ('y') or does not ('n'), a cubin that waits first ('c') or
 * whose wait comes behind what is unknown ('u'), code for linking ('l'). */
struct code {
    char kind;
    unsigned target;
    uint64_t flags;
};

static struct bytes fatbin_of(const struct code *codes)
{
    struct bytes bytes = {0};
    struct made_cubin made = plain_cubin;
    made.functions[0].name = "k";
    const size_t begin = fatbin_begin(&bytes);
    for (const struct code *code = codes; code->kind != '\0'; code++) {
        char text[128];
        struct bytes payload = {0};
        unsigned kind = MADE_PTX;
        if (code->kind == 'c' || code->kind == 'u') {
            made.target = code->target;
            made.functions[0].code[0] = code->kind == 'c' ? OP_OTHER : OP_STRANGE;
            payload = make_cubin(&made);
            kind = MADE_CUBIN;
        } else {
            (void)snprintf(text, sizeof(text), ".version 8.7 .target sm_%u%s\n.entry k() { %s }\n",
                           code->target, code->flags == MADE_A ? "a" : "",
                           code->kind == 'y' ? WAIT : "ret;");
            bytes_add(&payload, text, strlen(text));
            kind = code->kind == 'l' ? MADE_LTO : MADE_PTX;
        }
        fatbin_add(&bytes, kind, code->target, code->flags, payload.data, payload.size, 0);
    }
    fatbin_end(&bytes, begin);
    return bytes;
}

static const struct {
    const char *title;
    struct code codes[5];
    int32_t capability;
    const char *expected;
} codes_of_devices[] = {
    {"PTX alone", {{'y', 90, 0}}, 90, "yes yes"},
    {"PTX alone, on a newer device", {{'y', 90, 0}}, 120, "yes yes"},
    {"the newest PTX", {{'y', 90, 0}, {'n', 100, 0}}, 103, "no no"},
    {"the newest PTX, which comes first", {{'n', 100, 0}, {'y', 90, 0}}, 103, "no no"},
    {"the newest PTX that it can run", {{'n', 100, 0}, {'y', 90, 0}}, 90, "yes yes"},
    {"machine code with its PTX", {{'u', 90, 0}, {'y', 90, 0}}, 90, "yes yes"},
    {"machine code with its PTX behind another's",
     {{'n', 80, 0}, {'u', 80, 0}, {'y', 90, 0}, {'u', 90, 0}},
     90,
     "yes yes"},
    {"machine code alone", {{'u', 90, 0}}, 90, "unknown unknown"},
    {"machine code with PTX for a newer device",
     {{'u', 90, 0}, {'y', 100, 0}},
     90,
     "unknown unknown"},
    {"machine code with PTX for an older device",
     {{'y', 90, 0}, {'u', 100, 0}},
     100,
     "unknown unknown"},
    {"machine code of another generation", {{'u', 90, 0}, {'y', 90, 0}}, 100, "yes yes"},
    {"PTX for the device alone, on it", {{'y', 90, MADE_A}}, 90, "yes yes"},
    {"PTX for another device alone", {{'y', 90, MADE_A}}, 100, "unknown unknown"},
    {"machine code of which either may be run",
     {{'u', 90, 0}, {'y', 90, 0}, {'u', 90, MADE_A}, {'n', 90, MADE_A}},
     90,
     "no no"},
    {"the same, of which one has no PTX",
     {{'u', 90, 0}, {'y', 90, 0}, {'u', 90, MADE_A}},
     90,
     "unknown unknown"},
    {"machine code that shows it", {{'c', 90, 0}}, 90, "yes yes"},
    {"the same, on another device", {{'c', 90, 0}}, 100, "unknown unknown"},
    {"the same, beside PTX that is not run", {{'c', 90, 0}, {'n', 90, 0}}, 90, "yes yes"},
    {"the same, of which either may be run",
     {{'c', 90, 0}, {'u', 90, MADE_A}},
     90,
     "unknown unknown"},
    {"the same, one of which has PTX",
     {{'c', 90, 0}, {'u', 90, MADE_A}, {'y', 90, MADE_A}},
     90,
     "yes yes"},
    {"code for linking beside it", {{'l', 90, 0}, {'y', 90, 0}}, 90, "yes yes"},
    {"nothing for the device", {{'y', 100, 0}}, 90, "unknown unknown"},
};

TEST_ROWS(the_code_that_a_device_runs_decides, codes_of_devices)
{
    struct bytes bytes = fatbin_of(row->codes);
    assert_shown(row->title, &bytes, 0, row->capability, row->expected);
}

/* ---- machine code alone ----------------------------------------------------------------------- */

static void assert_cubin_shown(const char *title, const struct made_cubin *cubin,
                               const char *expected)
{
    struct bytes bytes = make_cubin(cubin);
    assert_shown(title, &bytes, 0, (int32_t)cubin->target, expected);
    assert_shown(title, &bytes, PDL_INSPECT_FACTS_ONLY, (int32_t)cubin->target, "unknown unknown");
}

static const struct {
    const char *title;
    uint64_t code[MADE_CODE];
    const char *expected;
} machine_codes[] = {
    {"first of all", {OP_WAIT, OP_LOAD, OP_EXIT}, "yes yes"},
    {"behind computation and shared memory",
     {OP_OTHER, OP_LOAD_SHARED, OP_TRIGGER, OP_WAIT, OP_LOAD, OP_EXIT},
     "yes yes"},
    {"behind a load that is never executed", {OP_LOAD_NEVER, OP_WAIT, OP_EXIT}, "yes yes"},
    {"in both branches",
     {MADE_OVER(OP_BRANCH_IF, 2), OP_WAIT, MADE_OVER(OP_BRANCH, 1), OP_WAIT, OP_LOAD, OP_EXIT},
     "yes yes"},
    {"behind a loop",
     {OP_OTHER, MADE_OVER(OP_BRANCH_IF, -2), OP_WAIT, OP_LOAD, OP_EXIT},
     "yes yes"},
    {"behind a place where threads meet",
     {MADE_REGION(3), MADE_OVER(OP_BRANCH_IF, 1), OP_OTHER, OP_REGION_END, OP_WAIT, OP_LOAD,
      OP_EXIT},
     "yes yes"},
    {"before other threads are met",
     {MADE_REGION(3), OP_WAIT, OP_OTHER, OP_REGION_END, OP_LOAD, OP_EXIT},
     "yes yes"},
    {"before a non-coherent load", {OP_WAIT, OP_LOAD_CONSTANT, OP_EXIT}, "unknown yes"},
    {"before a surface is written", {OP_WAIT, OP_STORE_SURFACE, OP_EXIT}, "unknown yes"},
    {"not at all", {OP_OTHER, OP_EXIT}, "no no"},
    {"behind a load", {OP_LOAD, OP_WAIT, OP_EXIT}, "no yes"},
    {"behind a store", {OP_STORE, OP_WAIT, OP_EXIT}, "no yes"},
    {"behind a non-coherent load", {OP_LOAD_CONSTANT, OP_WAIT, OP_EXIT}, "no yes"},
    {"behind memory that is given up", {OP_DISCARD, OP_WAIT, OP_EXIT}, "no yes"},
    {"behind a tensor map that is fetched, of the kernel's or not",
     {OP_FETCH_MAP, OP_WAIT, OP_EXIT},
     "unknown unknown"},
    {"behind an atomic addition", {OP_ATOMIC_DOUBLE, OP_WAIT, OP_EXIT}, "no yes"},
    {"behind a generic load", {OP_LOAD_GENERIC, OP_WAIT, OP_EXIT}, "no yes"},
    {"never", {OP_WAIT & 0xfff, OP_LOAD, OP_EXIT}, "no unknown"},
    {"only if a predicate says so", {OP_WAIT_IF, OP_LOAD, OP_EXIT}, "no unknown"},
    {"on one path", {MADE_OVER(OP_BRANCH_IF, 1), OP_WAIT, OP_LOAD, OP_EXIT}, "no unknown"},
    {"behind an exit", {OP_EXIT_IF, OP_WAIT, OP_LOAD, OP_EXIT}, "unknown unknown"},
    {"not by threads that leave by their index",
     {OP_THREAD, OP_ADD, OP_COMPARE_THREAD, OP_EXIT_IF, OP_WAIT, OP_LOAD, OP_EXIT},
     "yes no"},
    {"not by threads that leave by an index before",
     {OP_THREAD, OP_ADD, OP_COMPARE_THREAD, OP_COMPARE_OTHER, OP_EXIT_IF, OP_WAIT, OP_LOAD,
      OP_EXIT},
     "unknown unknown"},
    {"behind the exit of all threads",
     {OP_THREAD, OP_ADD, OP_COMPARE_LOST, OP_EXIT, OP_WAIT, OP_LOAD, OP_EXIT},
     "unknown unknown"},
    {"behind a return from the middle of a function",
     {MADE_OVER(OP_CALL_NEAR, 3), MADE_OVER(OP_BRANCH, 3), OP_WAIT, OP_EXIT, OP_OTHER, OP_OTHER,
      OP_RETURN},
     "unknown unknown"},
    {"in a function that a second predicate decides to call",
     {MADE_OVER(OP_CALL_NEAR_IF, 2), OP_LOAD, OP_EXIT, OP_WAIT, OP_RETURN},
     "no unknown"},
    {"behind a return that a second predicate decides about",
     {MADE_OVER(OP_CALL_NEAR, 2), OP_WAIT, OP_EXIT, OP_RETURN_IF, OP_LOAD, OP_RETURN},
     "no yes"},
    {"behind a branch of diverged threads",
     {MADE_OVER(OP_BRANCH_DIVERGED, 1), OP_LOAD, OP_WAIT, OP_EXIT},
     "no yes"},
    {"not by threads that leave, which another index decides",
     {OP_OTHER, OP_ADD, OP_COMPARE_THREAD, OP_EXIT_IF, OP_WAIT, OP_LOAD, OP_EXIT},
     "unknown unknown"},
    {"not by threads that leave by their index behind an unknown instruction",
     {OP_THREAD, OP_ADD, OP_COMPARE_THREAD, OP_STRANGE, OP_EXIT_IF, OP_WAIT, OP_LOAD, OP_EXIT},
     "unknown unknown"},
    {"not by threads that leave by their index behind a load",
     {OP_THREAD, OP_ADD, OP_COMPARE_THREAD, OP_LOAD, OP_EXIT_IF, OP_WAIT, OP_EXIT},
     "no unknown"},
    {"not by threads that leave by their index, and perhaps not by others",
     {OP_THREAD, OP_ADD, OP_COMPARE_THREAD, OP_EXIT_IF, OP_WAIT_IF, OP_EXIT},
     "unknown unknown"},
    {"on one path, and nothing is touched", {OP_WAIT_IF, OP_EXIT}, "unknown unknown"},
    {"behind an unknown instruction", {OP_STRANGE, OP_WAIT, OP_EXIT}, "unknown unknown"},
    {"behind an indirect branch", {OP_BRANCH_TABLE, OP_WAIT, OP_EXIT}, "unknown unknown"},
    {"behind an indirect branch with no targets",
     {OP_OTHER, OP_BRANCH_TABLE, OP_WAIT, OP_EXIT},
     "unknown unknown"},
    {"behind a jump", {OP_JUMP, OP_WAIT, OP_EXIT}, "unknown unknown"},
    {"behind a call through a pointer",
     {OP_CALL_POINTER_NEAR, OP_WAIT, OP_EXIT},
     "unknown unknown"},
    {"behind what may be a call of the system",
     {OP_CALL_POINTER, OP_WAIT, OP_EXIT},
     "unknown unknown"},
    {"behind a return", {OP_RETURN, OP_WAIT, OP_EXIT}, "unknown unknown"},
    {"and on a way out of the code",
     {MADE_OVER(OP_BRANCH_IF, 2), OP_WAIT, OP_EXIT, OP_OTHER},
     "unknown unknown"},
    {"not by threads that meet elsewhere",
     {MADE_REGION(4), MADE_OVER(OP_BRANCH_IF, 1), OP_REGION_END, OP_WAIT, OP_EXIT, OP_LOAD,
      OP_EXIT},
     "no unknown"},
    {"not by threads that did something together",
     {MADE_OVER(OP_TOGETHER, 2), OP_WAIT, OP_EXIT, OP_LOAD, OP_EXIT},
     "no unknown"},
    {"not by threads that meet before it is known where",
     {OP_REGION_END, MADE_REGION(3), MADE_OVER(OP_BRANCH_IF, -3), OP_WAIT, OP_EXIT, OP_LOAD,
      OP_EXIT},
     "no unknown"},
};

TEST_ROWS(machine_code_that_waits_first_is_shown, machine_codes)
{
    struct made_cubin cubin = {.target = 90, .functions = {{.name = "k"}}};
    memcpy(cubin.functions[0].code, row->code, sizeof(row->code));
    cubin.functions[0].table.at = 1; /* an empty one */
    assert_cubin_shown(row->title, &cubin, row->expected);
}

TEST(calls_in_machine_code_are_followed)
{
    struct made_cubin cubin = {
        .target = 100,
        .functions = {{.name = "k", .code = {MADE_OVER(OP_CALL_NEAR, 2), OP_LOAD, OP_EXIT}},
                      {.name = "waits",
                       .copy_in = "k",
                       .is_device = true,
                       .code = {OP_OTHER, OP_WAIT, OP_RETURN}}}};
    assert_cubin_shown("in a copy", &cubin, "yes yes");
    cubin.functions[1].code[1] = OP_WAIT_IF;
    assert_cubin_shown("perhaps in a copy", &cubin, "no unknown");
    cubin = (struct made_cubin){
        .target = 90,
        .functions = {{.name = "k", .code = {OP_CALL, OP_WAIT, OP_LOAD, OP_EXIT}},
                      {.name = "helper", .is_device = true, .code = {OP_OTHER, OP_RETURN}}},
        .calls = {{"k", "helper", 1}}};
    assert_cubin_shown("behind a call", &cubin, "yes yes");
    cubin.functions[1].code[1] = OP_WAIT;
    cubin.functions[1].code[2] = OP_LOAD_CONSTANT;
    assert_cubin_shown("before a non-coherent load in a function", &cubin, "unknown yes");
    cubin.functions[1].code[1] = OP_RETURN;
    cubin.functions[1].code[2] = 0;
    cubin.relocatable = true;
    assert_cubin_shown("behind a call that may be linked to another function", &cubin,
                       "unknown unknown");
    cubin.relocatable = false;
    cubin.calls[0].callee = "elsewhere";
    assert_cubin_shown("behind a call of other code", &cubin, "unknown unknown");
    cubin.calls[0].callee = "vprintf";
    assert_cubin_shown("behind a call of the system", &cubin, "yes yes");
    cubin.calls[0].callee = "__cuda_syscall_tex_grad_3d_v4_f32_f32";
    assert_cubin_shown("beside a texture that the driver reads", &cubin, "unknown yes");
    cubin.calls[0].callee = "vprintf";
    cubin.functions[0].code[0] = OP_CALL_POINTER;
    cubin.calls[0].by_relocation = 0;
    assert_cubin_shown("behind a call through a register, perhaps of the system", &cubin,
                       "unknown unknown");
    cubin.calls[0].by_relocation = 1;
    cubin.functions[0].code[0] = OP_OTHER;
    assert_cubin_shown("behind an instruction that is replaced", &cubin, "unknown unknown");
    cubin.functions[0].code[0] = OP_WAIT;
    assert_cubin_shown("by an instruction that is replaced", &cubin, "unknown unknown");
    cubin.functions[0].code[0] = OP_OTHER;
    cubin.calls[0].caller = NULL;
    assert_cubin_shown("behind computation", &cubin, "yes yes");
    cubin.target = 89;
    assert_cubin_shown("in code for an architecture without waits", &cubin, "no no");
    cubin.target = 200;
    assert_cubin_shown("in code of another architecture", &cubin, "unknown unknown");
}

TEST(what_is_suppressed_does_not_count)
{
    static const char text[] = PTX_KERNEL(READ WAIT);
    pdl_inspection *inspection = inspect_text(text, NULL);
    assert_int_equal(pdl_inspection_shown(inspection, "k", 90, NULL), PDL_NO);
    for (size_t i = 0; i < pdl_inspection_finding_count(inspection); i++) {
        pdl_lint_suppress_finding(inspection, pdl_inspection_finding(inspection, i), "a table");
    }
    assert_int_equal(pdl_inspection_shown(inspection, "k", 90, NULL), PDL_YES);
    assert_int_equal(pdl_inspection_shown(inspection, "k", 0, NULL), PDL_UNKNOWN);
    assert_int_equal(pdl_inspection_shown(inspection, "k", -90, NULL), PDL_UNKNOWN);
}

static void count_visit(void *context, const pdl_inspect_proof *proof)
{
    assert_int_equal(proof->proof, PDL_PROOF_RACE);
    assert_non_null(strstr(proof->race, "read-before-wait at line "));
    (*(unsigned *)context)++;
}

/* The same text takes the same steps each time, and is analysed from that number on. */
TEST(the_analysis_ends_at_its_budget)
{
    static const char text[] = PTX_KERNEL("ld.global.u32 r, [ga];\n" WAIT);
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    pdl_inspection *inspection = NULL;
    pdl_status status = PDL_ERROR_CANCELLED;
    unsigned visited = 0;
    uint64_t least = 0;
    for (int round = 0; round < 2; round++) {
        for (options.max_steps = round == 0 ? 1 : least - 1; status == PDL_ERROR_CANCELLED;
             options.max_steps++) {
            status = inspect_memory(text, sizeof(text), "t", &options, &inspection);
        }
        assert_int_equal(status, PDL_SUCCESS);
        assert_true(round == 0 || least == options.max_steps - 1);
        least = options.max_steps - 1;
        assert_true(least > 3);
        assert_int_equal(pdl_inspection_proofs(inspection, 90, count_visit, &visited), PDL_SUCCESS);
        assert_int_equal(pdl_inspection_proofs(inspection, 80, count_visit, &visited), PDL_SUCCESS);
        assert_int_equal(pdl_inspection_proofs(inspection, 0, count_visit, &visited),
                         PDL_ERROR_INVALID_ARGUMENT);
        pdl_inspection_destroy(inspection);
        status = PDL_ERROR_CANCELLED;
    }
    assert_int_equal(pdl_inspection_proofs(NULL, 90, count_visit, &visited),
                     PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(visited, 2); /* no code of it is for 8.0 */
    assert_int_equal(pdl_inspect_version(), PDL_VERSION);
}

static int say_shown(const char *path)
{
    pdl_inspection *inspection = NULL;
    if (pdl_inspect_file(path, NULL, &inspection) != PDL_SUCCESS) {
        return 1;
    }
    for (size_t i = 0; i < pdl_inspection_kernel_count(inspection); i++) {
        const pdl_inspect_kernel *const kernel = pdl_inspection_kernel(inspection, i);
        const int32_t target = pdl_inspection_image(inspection, kernel->image)->target;
        const pdl_known shown = pdl_inspection_shown(inspection, kernel->info->name, target, NULL);
        printf("%s %s %s\n", path, kernel->info->name, SAY(shown));
    }
    pdl_inspection_destroy(inspection);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        int failures = 0;
        for (int i = 1; i < argc; i++) {
            failures += say_shown(argv[i]);
        }
        return failures > 0;
    }
    return run_all_tests(NULL, NULL);
}
