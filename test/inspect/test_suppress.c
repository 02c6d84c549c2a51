/* SPDX-License-Identifier: MIT */
/* Suppressions: what is read, what is refused, and what they match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inspect/inspection.h"
#include "inspect_support.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static pdl_lint_suppressions *read_list(const char *text)
{
    pdl_lint_suppressions *list = NULL;
    mark_inspect_error();
    const pdl_status status =
        leaves_inspect_error(pdl_lint_suppressions_read(text, strlen(text), "list", &list));
    if (status != PDL_SUCCESS) {
        const pdl_inspect_error *error = pdl_inspect_last_error();
        fail_msg("%u:%u: %s", (unsigned)error->line, (unsigned)error->column, error->message);
    }
    assert_non_null(list);
    return list;
}

/* ---- reading ----------------------------------------------------------------------------------*/

static void a_line_is_kept_as_it_was_written(void **state)
{
    (void)state;
    pdl_lint_suppressions *list =
        read_list("# a comment\n\n"
                  "  read-before-wait  kernel=*fc*  line=30 :  set up once: by main \t\r\n"
                  "*: everything");
    assert_int_equal(pdl_lint_suppressions_count(list), 2);
    const pdl_lint_suppression *first = pdl_lint_suppressions_get(list, 0);
    assert_string_equal(first->origin, "list:3");
    assert_string_equal(first->text, "read-before-wait  kernel=*fc*  line=30");
    assert_string_equal(first->reason, "set up once: by main");
    assert_int_equal(first->used, 0);
    const pdl_lint_suppression *second = pdl_lint_suppressions_get(list, 1);
    assert_string_equal(second->origin, "list:4");
    assert_string_equal(second->text, "*");
    assert_string_equal(second->reason, "everything");
    assert_null(pdl_lint_suppressions_get(list, 2));
    pdl_lint_suppressions_destroy(list);
}

static void the_colon_may_stand_by_itself_or_at_a_word(void **state)
{
    (void)state;
    static const char *const lines[] = {"no-wait kernel=k : why", "no-wait kernel=k: why",
                                        "no-wait kernel=k :why", "no-wait\tkernel=k\t:\twhy",
                                        "\xef\xbb\xbfno-wait kernel=k : why"};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        pdl_lint_suppressions *list = read_list(lines[i]);
        assert_int_equal(pdl_lint_suppressions_count(list), 1);
        assert_string_equal(pdl_lint_suppressions_get(list, 0)->reason, "why");
        pdl_lint_suppressions_destroy(list);
    }
}

static void an_empty_list_is_one(void **state)
{
    (void)state;
    pdl_lint_suppressions *list = NULL;
    assert_int_equal(pdl_lint_suppressions_read(NULL, 0, NULL, &list), PDL_SUCCESS);
    assert_int_equal(pdl_lint_suppressions_count(list), 0);
    assert_null(pdl_lint_suppressions_get(list, 0));
    pdl_lint_suppressions_destroy(list);
    pdl_lint_suppressions_destroy(NULL);
    assert_int_equal(pdl_lint_suppressions_count(NULL), 0);
}

static void what_is_no_suppression_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
        const char *message;
    } cases[] = {
        {"no-such-rule : x", 1, 1, "'no-such-rule' is not a rule's id"},
        {"\n\n  nope : x", 3, 3, "'nope' is not a rule's id"},
        {": x", 1, 1, "no rule before ':'"},
        {"no-wait", 1, 8, "no reason"},
        {"no-wait :", 1, 10, "no reason"},
        {"no-wait kernel=k:", 1, 18, "no reason"},
        {"no-wait because I say so", 1, 9, "'because' is not KEY=PATTERN"},
        {"no-wait kernel= : x", 1, 9, "nothing after 'kernel='"},
        {"no-wait color=red : x", 1, 9, "'color' is not a key"},
        {"no-wait =red : x", 1, 9, "'' is not a key"},
        {"no-wait kernel=a kernel=b : x", 1, 18, "kernel= is given twice"},
        {"no-wait line=1 line=2 : x", 1, 16, "line= is given twice"},
        {"no-wait line=0 : x", 1, 14, "'0' is not a line number"},
        {"no-wait line=-3 : x", 1, 14, "'-3' is not a line number"},
        {"no-wait line=4294967296 : x", 1, 14, "is not a line number"},
        {"no-wait line=99999999999999999999999999 : x", 1, 14, "is not a line number"},
        {"no-wait : a\x1b[2J", 1, 12, "a control character (0x1b)"},
        {"no-wait : a\rb", 1, 12, "a control character (0x0d)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        pdl_lint_suppressions *list = NULL;
        const size_t size = strlen(cases[i].text);
        assert_int_equal(pdl_lint_suppressions_read(cases[i].text, size, "list", &list),
                         PDL_ERROR_INVALID_ARGUMENT);
        assert_null(list);
        const pdl_inspect_error *error = pdl_inspect_last_error();
        assert_int_equal(error->status, PDL_ERROR_INVALID_ARGUMENT);
        if (error->line != cases[i].line || error->column != cases[i].column ||
            strstr(error->message, cases[i].message) == NULL) {
            fail_msg("of \"%s\": %u:%u: %s", cases[i].text, (unsigned)error->line,
                     (unsigned)error->column, error->message);
        }
    }
}

static void bytes_behind_the_size_are_not_read(void **state)
{
    (void)state;
    /* Of its own allocation, so that a checker sees a read past the end. */
    static const char text[] = "no-wait : because";
    for (size_t size = 0; size < sizeof(text); size++) {
        char *copy = malloc(size > 0 ? size : 1);
        assert_non_null(copy);
        memcpy(copy, text, size);
        pdl_lint_suppressions *list = NULL;
        const pdl_status status = pdl_lint_suppressions_read(copy, size, "list", &list);
        const bool whole = size == 0 || size > strlen("no-wait : ");
        assert_int_equal(status, whole ? PDL_SUCCESS : PDL_ERROR_INVALID_ARGUMENT);
        pdl_lint_suppressions_destroy(list);
        free(copy);
    }
    pdl_lint_suppressions *list = NULL;
    assert_int_equal(pdl_lint_suppressions_read(text, sizeof(text), "list", &list),
                     PDL_ERROR_INVALID_ARGUMENT); /* a NUL in it */
    assert_int_equal(pdl_lint_suppressions_read(NULL, 1, "list", &list),
                     PDL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pdl_lint_suppressions_read(text, 1, "list", NULL), PDL_ERROR_INVALID_ARGUMENT);
}

static void many_lines_are_read(void **state)
{
    (void)state;
    enum { LINES = 20000 };
    static const char line[] = "no-wait kernel=k : x\n";
    const size_t each = sizeof(line) - 1;
    char *text = malloc(LINES * each);
    assert_non_null(text);
    for (size_t i = 0; i < LINES; i++) {
        memcpy(text + i * each, line, each);
    }
    pdl_lint_suppressions *list = NULL;
    assert_int_equal(pdl_lint_suppressions_read(text, LINES * each, "list", &list), PDL_SUCCESS);
    assert_int_equal(pdl_lint_suppressions_count(list), LINES);
    assert_string_equal(pdl_lint_suppressions_get(list, LINES - 1)->origin, "list:20000");
    pdl_lint_suppressions_destroy(list);
    free(text);
}

/* ---- matching ---------------------------------------------------------------------------------*/

/* Two kernels; the first one's finding is in a function that was inlined. */
struct subject {
    pdl_kernel_info infos[2];
    pdl_inspect_kernel kernels[2];
    pdl_inspect_kernel *kernel_list[2];
    pdl_lint_finding findings[2];
    pdl_inspect_place places[2];
    const pdl_inspect_place *place_list[2];
    struct pdl_inspection inspection;
};

static void set_up(struct subject *subject)
{
    memset(subject, 0, sizeof(*subject));
    subject->infos[0].name = "_Z3fc2PKf";
    subject->infos[1].name = "_Z3fc3PKf";
    for (unsigned i = 0; i < 2; i++) {
        subject->kernels[i].info = &subject->infos[i];
        subject->kernel_list[i] = &subject->kernels[i];
        subject->place_list[i] = &subject->places[i];
    }
    subject->places[0] = (pdl_inspect_place){
        .file = "/home/me/src/load.cuh", .inlined = "_Z4loadPKf", .line = 30, .column = 12};
    subject->places[1] = (pdl_inspect_place){.file = "/home/me/src/fc.cu", .line = 44};
    subject->findings[0] = (pdl_lint_finding){.message = "first",
                                              .rule = PDL_LINT_READ_BEFORE_WAIT,
                                              .level = PDL_LINT_WARNING,
                                              .kernel = 0,
                                              .parameter = 1,
                                              .parameter_name = "weights",
                                              .place_count = 2,
                                              .places = subject->place_list};
    subject->findings[1] = (pdl_lint_finding){.message = "second",
                                              .rule = PDL_LINT_NO_TRIGGER,
                                              .level = PDL_LINT_NOTE,
                                              .kernel = 1,
                                              .parameter = -1};
    subject->inspection.kernels = subject->kernel_list;
    subject->inspection.kernel_count = 2;
    subject->inspection.findings = subject->findings;
    subject->inspection.finding_count = 2;
}

/* Which findings a line suppresses, as bits. */
static unsigned suppressed_by(const char *line)
{
    struct subject subject;
    set_up(&subject);
    pdl_lint_suppressions *list = read_list(line);
    pdl_lint_suppress(list, &subject.inspection);
    unsigned bits = 0;
    uint32_t used = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (subject.findings[i].suppressed != NULL) {
            assert_string_equal(subject.findings[i].suppressed, "x");
            bits |= 1u << i;
            used++;
        }
    }
    assert_int_equal(pdl_lint_suppressions_get(list, 0)->used, used);
    pdl_lint_suppressions_destroy(list);
    return bits;
}

static void every_key_has_to_match(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        unsigned bits;
    } cases[] = {
        {"* : x", 3},
        {"read-before-wait : x", 1},
        {"no-trigger : x", 2},
        {"no-wait : x", 0},
        {"* kernel=_Z3fc3PKf : x", 2},
        {"* kernel=*fc* : x", 3},
        {"* kernel=fc2 : x", 0},
        {"* file=/home/me/src/load.cuh : x", 1},
        {"* file=load.cuh : x", 1},
        {"* file=src/l*.cuh : x", 1},
        {"* file=fc.cu : x", 1}, /* where it was inlined to */
        {"* file=oad.cuh : x", 0},
        {"* file=/load.cuh : x", 0},
        {"* file=* : x", 1}, /* the other one has no place */
        {"* line=30 : x", 1},
        {"* line=31 : x", 0},
        {"* file=fc.cu line=44 : x", 1},
        {"* file=fc.cu line=30 : x", 0}, /* no one place is both */
        {"* function=*load* : x", 1},
        {"* function=*load* line=44 : x", 0},
        {"* parameter=weights : x", 1},
        {"* parameter=2 : x", 1},
        {"* parameter=1 : x", 0},
        {"* parameter=w* kernel=*fc2* file=load.cuh line=30 function=_Z4load* : x", 1},
        {"* parameter=w* kernel=*fc3* : x", 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const unsigned bits = suppressed_by(cases[i].line);
        if (bits != cases[i].bits) {
            fail_msg("%s: %u instead of %u", cases[i].line, bits, cases[i].bits);
        }
    }
}

static void the_first_that_matches_is_used(void **state)
{
    (void)state;
    struct subject subject;
    set_up(&subject);
    pdl_lint_suppressions *list = read_list("read-before-wait : first\n* : second\n");
    pdl_lint_suppress(list, &subject.inspection);
    assert_string_equal(subject.findings[0].suppressed, "first");
    assert_string_equal(subject.findings[1].suppressed, "second");
    assert_int_equal(pdl_lint_suppressions_get(list, 0)->used, 1);
    assert_int_equal(pdl_lint_suppressions_get(list, 1)->used, 1);
    /* The reason is the suppression's own string: that is how a report knows whose it is. */
    assert_ptr_equal(subject.findings[0].suppressed, pdl_lint_suppressions_get(list, 0)->reason);
    pdl_lint_suppressions_destroy(list);
}

static void what_a_marker_suppressed_stays_as_it_is(void **state)
{
    (void)state;
    struct subject subject;
    set_up(&subject);
    subject.findings[0].suppressed = "by a marker";
    pdl_lint_suppressions *list = read_list("read-before-wait : x\n");
    pdl_lint_suppress(list, &subject.inspection);
    assert_string_equal(subject.findings[0].suppressed, "by a marker");
    assert_int_equal(pdl_lint_suppressions_get(list, 0)->used, 0);
    pdl_lint_suppress(list, NULL);
    pdl_lint_suppress(NULL, &subject.inspection);
    pdl_lint_suppressions_destroy(list);
}

static void uses_add_up_over_inspections(void **state)
{
    (void)state;
    struct subject first;
    struct subject second;
    set_up(&first);
    set_up(&second);
    pdl_lint_suppressions *list = read_list("* : x\n");
    pdl_lint_suppress(list, &first.inspection);
    pdl_lint_suppress(list, &second.inspection);
    assert_int_equal(pdl_lint_suppressions_get(list, 0)->used, 4);
    pdl_lint_suppressions_destroy(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_kept_as_it_was_written),
        cmocka_unit_test(the_colon_may_stand_by_itself_or_at_a_word),
        cmocka_unit_test(an_empty_list_is_one),
        cmocka_unit_test(what_is_no_suppression_is_refused_with_its_place),
        cmocka_unit_test(bytes_behind_the_size_are_not_read),
        cmocka_unit_test(many_lines_are_read),
        cmocka_unit_test(every_key_has_to_match),
        cmocka_unit_test(the_first_that_matches_is_used),
        cmocka_unit_test(what_a_marker_suppressed_stays_as_it_is),
        cmocka_unit_test(uses_add_up_over_inspections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
