/* SPDX-License-Identifier: MIT */
/* What machine code does before it waits, and what that says of its PTX. */
#include "inspect_support.h"

static pdl_inspection *inspection;

/* For what is read next. */
static pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;

static void read_bytes(struct bytes bytes)
{
    inspection = inspect_with(&bytes, "made", &options);
    options = (pdl_inspect_options)PDL_INSPECT_OPTIONS_INIT;
}

/* The one finding of a rule, or NULL. */
static const pdl_lint_finding *find_finding(pdl_lint_rule rule)
{
    const pdl_lint_finding *found = NULL;
    for (size_t i = 0; i < pdl_inspection_finding_count(inspection); i++) {
        const pdl_lint_finding *finding = pdl_inspection_finding(inspection, i);
        if (finding->rule == (int32_t)rule) {
            assert_null(found);
            found = finding;
        }
    }
    return found;
}

/* Loads before the wait of a made cubin. */
static unsigned early_loads(const struct made_cubin *cubin)
{
    read_bytes(make_cubin(cubin));
    const pdl_lint_finding *finding = find_finding(PDL_LINT_READ_BEFORE_WAIT);
    if (finding != NULL) {
        assert_int_equal(finding->level, PDL_LINT_NOTE);
        assert_int_equal(finding->parameter, -1);
    }
    return finding != NULL ? finding->count : 0;
}

/* The same of one function. */
#define EARLY_LOADS(...)                                                                           \
    early_loads(&(const struct made_cubin){                                                        \
        .target = 90, .functions = {{.name = "fc1", .code = {__VA_ARGS__, OP_EXIT}}}})

static const char *unchecked(void)
{
    return pdl_inspection_kernel(inspection, 0)->unchecked;
}

static void assert_in(const char *text, const char *words)
{
    assert_non_null(text);
    if (strstr(text, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, text);
    }
}

/* ---- one function --------------------------------------------------------------------------- */

TEST(what_comes_before_the_wait_is_found)
{
    assert_int_equal(EARLY_LOADS(OP_LOAD, OP_WAIT, OP_LOAD), 1);
    assert_in(find_finding(PDL_LINT_READ_BEFORE_WAIT)->machine, "at 0x0 of the code for sm_90");
    assert_int_equal(EARLY_LOADS(OP_OTHER, OP_LOAD, OP_LOAD_CONSTANT, OP_WAIT), 2);
    assert_in(find_finding(PDL_LINT_READ_BEFORE_WAIT)->machine, "at 0x10 of the code for sm_90");
    assert_int_equal(EARLY_LOADS(OP_WAIT, OP_LOAD), 0);
    assert_int_equal(EARLY_LOADS(OP_LOAD_SHARED, OP_LOAD_NEVER, OP_WAIT), 0);
    assert_int_equal(EARLY_LOADS(OP_EXIT, OP_LOAD, OP_WAIT), 0);
}

TEST(stores_and_generic_accesses_are_findings_of_their_own)
{
    assert_int_equal(EARLY_LOADS(OP_STORE, OP_LOAD_GENERIC, OP_WAIT), 1);
    assert_in(find_finding(PDL_LINT_READ_BEFORE_WAIT)->message, "may be global");
    assert_non_null(find_finding(PDL_LINT_WRITE_BEFORE_WAIT));
}

TEST(branches_are_followed)
{
    /* Around the wait, over it to one of its own, and back. */
    assert_int_equal(EARLY_LOADS(MADE_OVER(OP_BRANCH_IF, 1), OP_WAIT, OP_LOAD), 1);
    assert_int_equal(
        EARLY_LOADS(MADE_OVER(OP_BRANCH_IF, 2), OP_WAIT, MADE_OVER(OP_BRANCH, 1), OP_WAIT, OP_LOAD),
        0);
    assert_int_equal(EARLY_LOADS(MADE_OVER(OP_BRANCH, 2), OP_LOAD, MADE_OVER(OP_BRANCH, 1),
                                 MADE_OVER(OP_BRANCH, -3), OP_WAIT, OP_LOAD),
                     1);
    assert_int_equal(EARLY_LOADS(OP_WAIT_IF, OP_LOAD), 1);
    assert_int_equal(EARLY_LOADS(MADE_OVER(OP_BRANCH, -1), OP_LOAD, OP_WAIT), 0);
}

TEST(what_cannot_be_followed_is_said)
{
    (void)EARLY_LOADS(OP_WAIT, OP_LOAD);
    assert_in(unchecked(), "only the order");
    (void)EARLY_LOADS(OP_OTHER, MADE_OVER(OP_BRANCH, 100), OP_WAIT);
    assert_in(unchecked(), "beyond 0x10: a branch out of the code");
    (void)EARLY_LOADS(MADE_OVER(OP_BRANCH_IF, -100), OP_WAIT);
    assert_in(unchecked(), "beyond 0x0: a branch out of the code");
    assert_int_equal(EARLY_LOADS(OP_LOAD, OP_BRANCH_TABLE, OP_LOAD, OP_WAIT), 1);
    assert_in(unchecked(), "beyond 0x10: an indirect branch");
    (void)EARLY_LOADS(OP_JUMP, OP_WAIT);
    assert_in(unchecked(), "a jump");
    (void)EARLY_LOADS(OP_CALL_POINTER_NEAR, OP_WAIT);
    assert_in(unchecked(), "an indirect call");
    (void)EARLY_LOADS(OP_WAIT, OP_CALL_POINTER_NEAR, OP_JUMP); /* too late to matter */
    assert_in(unchecked(), "only the order");
}

TEST(the_targets_of_a_table_are_followed)
{
    struct made_cubin cubin = {.target = 120,
                               .functions = {{.name = "fc1",
                                              .code = {OP_BRANCH_TABLE, OP_LOAD, OP_WAIT, OP_EXIT,
                                                       OP_LOAD, OP_LOAD, MADE_OVER(OP_BRANCH, -5)},
                                              .table = {.at = 0, .count = 2, .to = {32, 64}}}}};
    assert_int_equal(early_loads(&cubin), 2);
    cubin.functions[0].table.to[1] = 16;
    assert_int_equal(early_loads(&cubin), 1);
    cubin.functions[0].table.to[1] = 8; /* between two instructions */
    assert_int_equal(early_loads(&cubin), 0);
    assert_in(unchecked(), "a branch out of the code");
}

/* ---- calls ---------------------------------------------------------------------------------- */

TEST(a_function_that_waits_protects_what_is_behind_its_call)
{
    struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {MADE_OVER(OP_CALL_NEAR, 2), OP_LOAD, OP_EXIT}},
                      {.name = "waits",
                       .copy_in = "fc1",
                       .is_device = true,
                       .code = {OP_LOAD, OP_WAIT, OP_RETURN}}}};
    assert_int_equal(early_loads(&cubin), 1); /* its own */
    cubin.functions[1].code[1] = OP_WAIT_IF;
    assert_int_equal(early_loads(&cubin), 2); /* and what is behind it */
}

TEST(a_function_that_returns_goes_back_to_its_own_callers_only)
{
    /* Something is divided in between, which returns without a wait. */
    const struct made_cubin cubin = {
        .target = 100,
        .functions = {
            {.name = "fc1",
             .code = {MADE_OVER(OP_CALL_NEAR, 3), MADE_OVER(OP_CALL_NEAR, 3), OP_LOAD, OP_EXIT}},
            {.name = "divides", .copy_in = "fc1", .is_device = true, .code = {OP_RETURN}},
            {.name = "waits", .copy_in = "fc1", .is_device = true, .code = {OP_WAIT, OP_RETURN}}}};
    assert_int_equal(early_loads(&cubin), 0);
}

TEST(a_second_call_of_a_function_that_returned_goes_on)
{
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1",
                       .code = {MADE_OVER(OP_CALL_NEAR, 4), MADE_OVER(OP_CALL_NEAR, 3), OP_LOAD,
                                OP_WAIT, OP_EXIT}},
                      {.name = "helper",
                       .copy_in = "fc1",
                       .is_device = true,
                       .code = {OP_OTHER, OP_RETURN}}}};
    assert_int_equal(early_loads(&cubin), 1);
}

TEST(functions_that_share_code_are_taken_for_one)
{
    /* The second ends in the first's return: what is behind the first call is reached, and so is what is
     * behind the second. */
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {
            {.name = "fc1",
             .code = {MADE_OVER(OP_CALL_NEAR, 4), OP_LOAD, MADE_OVER(OP_CALL_NEAR, 4), OP_LOAD,
                      OP_WAIT, OP_OTHER, OP_RETURN, OP_OTHER, MADE_OVER(OP_BRANCH, -3)}}}};
    assert_int_equal(early_loads(&cubin), 2);
}

TEST(calls_by_relocation_are_followed)
{
    struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_OTHER, OP_CALL, OP_LOAD, OP_WAIT, OP_EXIT}},
                      {.name = "helper", .is_device = true, .code = {OP_LOAD, OP_WAIT, OP_RETURN}}},
        .calls = {{"fc1", "helper", 2}}};
    assert_int_equal(early_loads(&cubin), 1);
    cubin.functions[1].code[1] = OP_LOAD;
    assert_int_equal(early_loads(&cubin), 3);
    cubin.calls[0].callee = "vprintf"; /* of the system: it returns, and has not waited */
    assert_int_equal(early_loads(&cubin), 1);
    assert_in(unchecked(), "only the order");
    cubin.calls[0].callee = "elsewhere";
    assert_int_equal(early_loads(&cubin), 0);
    assert_in(unchecked(), "beyond 0x10: a call of external code");
}

TEST(functions_that_call_each_other_come_to_an_end)
{
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_CALL, OP_LOAD, OP_WAIT, OP_EXIT}},
                      {.name = "a", .is_device = true, .code = {OP_CALL, OP_RETURN}},
                      {.name = "b", .is_device = true, .code = {OP_CALL, OP_LOAD, OP_RETURN}}},
        .calls = {{"fc1", "a", 1}, {"a", "b", 1}, {"b", "a", 1}}};
    assert_int_equal(early_loads(&cubin), 0); /* nothing ever returns */
}

/* ---- kernels without PTX -------------------------------------------------------------------- */

TEST(machine_code_that_triggers_and_never_waits_is_a_warning)
{
    const char *name = "fc1";
    (void)EARLY_LOADS(OP_TRIGGER);
    assert_int_equal(find_finding(PDL_LINT_NO_WAIT)->level, PDL_LINT_WARNING);
    options.launched_overlapped = &name;
    options.launched_overlapped_count = 1;
    (void)EARLY_LOADS(OP_LOAD);
    assert_int_equal(find_finding(PDL_LINT_NO_WAIT)->level, PDL_LINT_ERROR);
    options.launched_overlapped = &name;
    options.launched_overlapped_count = 1;
    (void)EARLY_LOADS(OP_WAIT);
    assert_null(find_finding(PDL_LINT_NO_WAIT));
    options.overlapped = &name;
    options.overlapped_count = 1;
    (void)EARLY_LOADS(OP_LOAD);
    assert_int_equal(find_finding(PDL_LINT_NO_WAIT)->level, PDL_LINT_WARNING);
    (void)EARLY_LOADS(OP_LOAD);
    assert_int_equal(pdl_inspection_finding_count(inspection), 0);
    options.launched_plain = &name;
    options.launched_plain_count = 1;
    (void)EARLY_LOADS(OP_LOAD, OP_TRIGGER);
    assert_int_equal(pdl_inspection_finding_count(inspection), 0);
}

TEST(code_for_less_than_sm_90_is_not_checked)
{
    struct made_cubin cubin = plain_cubin;
    cubin.target = 75;
    read_bytes(make_cubin(&cubin));
    assert_in(unchecked(), "sm_75");
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry fc1()\n{\n\tret;\n}\n";
    struct bytes ptx = {0};
    bytes_add(&ptx, text, strlen(text));
    read_bytes(ptx);
    assert_in(unchecked(), "sm_80");
}

TEST(a_kernel_with_ptx_for_sm_90_is_checked)
{
    struct bytes cubin = make_cubin(&plain_cubin);
    struct bytes fatbin = make_fatbin(MADE_CUBIN, 90, cubin.data, cubin.size);
    const size_t at = fatbin_begin(&fatbin);
    fatbin_add(&fatbin, MADE_PTX, 90, 0, ptx_text, strlen(ptx_text), 0);
    fatbin_end(&fatbin, at);
    read_bytes(fatbin);
    for (size_t i = 0; i < pdl_inspection_kernel_count(inspection); i++) {
        assert_null(pdl_inspection_kernel(inspection, i)->unchecked);
    }
    options.flags = PDL_INSPECT_FACTS_ONLY;
    read_bytes(make_cubin(&plain_cubin));
    assert_in(unchecked(), "facts");
}

/* ---- beside PTX ----------------------------------------------------------------------------- */

/* A program of a line table: rows of the source for the instructions of fc1. */
static const unsigned char line_table[] = {
    0,    0,   0,    0,  2,   0,   27,  0,   0,  0, /* DWARF 2, 27 bytes of header behind these */
    1,    1,   0xfb, 14, 10,                        /* lines from -5, 14 of them, opcodes from 10 */
    0,    1,   1,    1,  1,   0,   0,   0,   1,     /* their operands */
    '/',  's', 0,    0,  'a', '.', 'c', 'u', 0,  1, 0, 0, 0, /* /s/a.cu */
    0,    9,   2,    0,  0,   0,   0,   0,   0,  0, 0,       /* an address, at 40 */
    3,    9,   1,                                            /* line 10 at 0x0 */
    0xf0,                                                    /* line 11 at 0x10 */
    0,    3,   0x90, 1,  0,   3,   19,  2,   16, 1, /* line 30 at 0x20, inlined to the first */
    2,    32,  0,    1,  1};                        /* the end is at 0x40 */
enum { LINE_ADDRESS = 40 };

static struct bytes make_lines(void)
{
    struct bytes bytes = {0};
    const uint32_t length = sizeof(line_table) - 4;
    bytes_add(&bytes, line_table, sizeof(line_table));
    memcpy(bytes.data, &length, sizeof(length));
    return bytes;
}

TEST(places_come_from_the_line_table)
{
    struct bytes lines = make_lines();
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_OTHER, OP_LOAD, OP_STORE, OP_WAIT, OP_EXIT}}},
        .lines = {.bytes = &lines, .relocations = {{LINE_ADDRESS, "fc1"}}},
        .strings = "_Z6inlinev"};
    assert_int_equal(early_loads(&cubin), 1);
    const pdl_lint_finding *load = find_finding(PDL_LINT_READ_BEFORE_WAIT);
    const pdl_lint_finding *store = find_finding(PDL_LINT_WRITE_BEFORE_WAIT);
    assert_int_equal(load->place_count, 1);
    assert_string_equal(load->places[0]->file, "/s/a.cu");
    assert_int_equal(load->places[0]->line, 11);
    assert_int_equal(store->place_count, 2);
    assert_int_equal(store->places[0]->line, 30);
    assert_string_equal(store->places[0]->inlined, "_Z6inlinev");
    assert_int_equal(store->places[1]->line, 10);
    assert_int_equal(store->place, 1);
}

TEST(damaged_line_tables_are_survived)
{
    struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_LOAD, OP_LOAD, OP_STORE, OP_WAIT, OP_EXIT}}},
        .lines = {.relocations = {{LINE_ADDRESS, "fc1"}}},
        .ptx_lines = {.relocations = {{LINE_ADDRESS, "fc1"}}},
        .strings = "f"};
    for (size_t at = 0; at < sizeof(line_table); at++) {
        for (unsigned change = 0; change < 3; change++) {
            static const unsigned char values[] = {0x80, 0xff, 0};
            struct bytes lines = make_lines();
            lines.data[at] ^= values[change];
            lines.size = change == 2 ? at : lines.size;
            cubin.lines.bytes = cubin.ptx_lines.bytes = &lines;
            struct bytes bytes = make_cubin(&cubin);
            inspect_whatever(&bytes);
        }
    }
}

static const char loads[] = ".version 8.5\n.target sm_90\n.address_size 64\n"
                            ".file 1 \"/s/a.cu\"\n"
                            ".visible .entry fc1(.param .u64 p)\n{\n"
                            "\t.reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
                            "\t.loc 1 9 1\n"
                            "\tld.param.u64 %rd1, [p];\n"
                            "\tcvta.to.global.u64 %rd2, %rd1;\n"
                            "\tgriddepcontrol.wait;\n"
                            "\t.loc 1 11 5\n"
                            "\tld.global.nc.u32 %r1, [%rd2];\n"
                            "\tst.global.u32 [%rd2+4], %r1;\n"
                            "\tret;\n}\n";

/* A fatbin with the kernel of `loads`, and code for it. */
static struct bytes make_pair(const struct made_cubin *cubin)
{
    struct bytes code = make_cubin(cubin);
    struct bytes fatbin = make_fatbin(MADE_CUBIN, cubin->target, code.data, code.size);
    const size_t at = fatbin_begin(&fatbin);
    fatbin_add(&fatbin, MADE_PTX, 90, 0, loads, strlen(loads), 0);
    fatbin_end(&fatbin, at);
    return fatbin;
}

TEST(a_load_that_was_moved_is_said_with_the_finding_of_its_ptx)
{
    struct bytes lines = make_lines();
    struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_OTHER, OP_LOAD_CONSTANT, OP_WAIT, OP_EXIT}}},
        .lines = {.bytes = &lines, .relocations = {{LINE_ADDRESS, "fc1"}}}};
    read_bytes(make_pair(&cubin));
    const pdl_lint_finding *finding = find_finding(PDL_LINT_NC_AFTER_WAIT);
    assert_in(finding->machine, "ptxas moved it above the wait: at 0x10 of the code for sm_90");
    assert_int_equal(finding->parameter, 0);
    assert_null(find_finding(PDL_LINT_READ_BEFORE_WAIT));
    /* Without lines, the kernel has no other load like it. */
    cubin.lines.bytes = NULL;
    read_bytes(make_pair(&cubin));
    assert_in(find_finding(PDL_LINT_NC_AFTER_WAIT)->machine, "moved it above the wait: at 0x10");
    /* The load of another line. */
    cubin.lines.bytes = &lines;
    cubin.functions[0].code[0] = OP_LOAD_CONSTANT;
    cubin.functions[0].code[1] = OP_OTHER;
    read_bytes(make_pair(&cubin));
    assert_null(find_finding(PDL_LINT_NC_AFTER_WAIT)->machine);
}

TEST(a_load_that_was_not_moved_is_said_too)
{
    struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_OTHER, OP_WAIT, OP_LOAD_CONSTANT, OP_EXIT}}}};
    read_bytes(make_pair(&cubin));
    assert_in(find_finding(PDL_LINT_NC_AFTER_WAIT)->machine, "after the wait");
    cubin.target = 100; /* another PTX may have been compiled for it */
    read_bytes(make_pair(&cubin));
    assert_null(find_finding(PDL_LINT_NC_AFTER_WAIT)->machine);
    cubin.target = 90;
    cubin.functions[0].code[0] = OP_JUMP; /* not all is known */
    read_bytes(make_pair(&cubin));
    assert_null(find_finding(PDL_LINT_NC_AFTER_WAIT)->machine);
}

TEST(what_the_ptx_has_before_the_wait_is_its_own_finding_alone)
{
    static const char early[] = ".version 8.5\n.target sm_90\n.address_size 64\n"
                                ".file 1 \"/s/a.cu\"\n"
                                ".visible .entry fc1(.param .u64 p)\n{\n"
                                "\t.reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
                                "\t.loc 1 11 5\n"
                                "\tld.param.u64 %rd1, [p];\n"
                                "\tld.global.nc.u32 %r1, [%rd1];\n"
                                "\tgriddepcontrol.wait;\n"
                                "\tld.global.nc.u32 %r1, [%rd1];\n"
                                "\tst.global.u32 [%rd1+4], %r1;\n"
                                "\tret;\n}\n";
    struct bytes lines = make_lines();
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1",
                       .code = {OP_OTHER, OP_LOAD_CONSTANT, OP_WAIT, OP_LOAD_CONSTANT, OP_EXIT}}},
        .lines = {.bytes = &lines, .relocations = {{LINE_ADDRESS, "fc1"}}}};
    struct bytes code = make_cubin(&cubin);
    struct bytes fatbin = make_fatbin(MADE_CUBIN, 90, code.data, code.size);
    const size_t at = fatbin_begin(&fatbin);
    fatbin_add(&fatbin, MADE_PTX, 90, 0, early, strlen(early), 0);
    fatbin_end(&fatbin, at);
    read_bytes(fatbin);
    assert_int_equal(find_finding(PDL_LINT_READ_BEFORE_WAIT)->level, PDL_LINT_WARNING);
    const pdl_lint_finding *behind = find_finding(PDL_LINT_NC_AFTER_WAIT);
    assert_true(behind->machine == NULL || strstr(behind->machine, "moved") == NULL);
}

TEST(a_constant_parameter_covers_what_was_moved)
{
    const char *name = "p";
    struct bytes lines = make_lines();
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_OTHER, OP_LOAD_CONSTANT, OP_WAIT, OP_EXIT}}},
        .lines = {.bytes = &lines, .relocations = {{LINE_ADDRESS, "fc1"}}}};
    options.constant_params = &name;
    options.constant_param_count = 1;
    read_bytes(make_pair(&cubin));
    assert_null(find_finding(PDL_LINT_NC_AFTER_WAIT));
}

TEST(a_coherent_access_that_was_moved_is_a_finding)
{
    struct bytes lines = make_lines();
    const struct made_cubin cubin = {
        .target = 90,
        .functions = {{.name = "fc1", .code = {OP_OTHER, OP_STORE, OP_WAIT, OP_EXIT}}},
        .lines = {.bytes = &lines, .relocations = {{LINE_ADDRESS, "fc1"}}}};
    read_bytes(make_pair(&cubin));
    unsigned found = 0;
    for (size_t i = 0; i < pdl_inspection_finding_count(inspection); i++) {
        const pdl_lint_finding *finding = pdl_inspection_finding(inspection, i);
        if (finding->machine != NULL && strstr(finding->message, "a store") != NULL) {
            assert_int_equal(finding->rule, PDL_LINT_NC_AFTER_WAIT);
            assert_int_equal(finding->level, PDL_LINT_WARNING);
            assert_in(finding->machine, "at 0x10 of the code for sm_90");
            found++;
        }
    }
    assert_int_equal(found, 1);
}
