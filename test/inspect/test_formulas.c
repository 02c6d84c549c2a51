/* SPDX-License-Identifier: MIT */
/* What instructions give for numbers, and for registers of which nothing is known. */
#include "inspect/flow/formulas.h"
#include "inspect/inspection.h"
#include "ptx_support.h"

#define INT_RANGE INT32_MIN, INT32_MAX

struct formula_case {
    const char *instruction; /* r is its result, x a number and p a predicate, both unknown */
    int64_t low, high;
};

static struct pdl_range result_of(const char *instruction)
{
    pdl_inspection *inspection = NULL;
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    struct pdl_ptx_module module = {0};
    struct pdl_body body = {0};
    struct pdl_range terms[PDL_FORMULA_TERMS];
    char text[256];
    const int length = snprintf(text, sizeof(text), "%s.func f() { %s }", PTX_HEADER, instruction);
    assert_int_equal(inspect_memory(text, (size_t)length, "t", &options, &inspection), 0);
    module.inspection = inspection;
    module.text = text;
    module.end = text + length;
    assert_int_equal(pdl_ptx_module_read(&module), PDL_SUCCESS);
    assert_int_equal(module.function_count, 1);
    assert_int_equal(pdl_ptx_body_read(&module, &module.functions[0], &body), PDL_SUCCESS);
    assert_int_equal(body.instruction_count, 1);
    const struct pdl_formula formula = pdl_formula_read(&module, &body, &body.instructions[0], 0);
    for (unsigned i = 0; i < formula.count; i++) {
        terms[i] = formula.terms[i].symbol == PDL_NONE
                       ? pdl_formula_number(&formula, i, formula.terms[i].value)
                       : pdl_formula_type(pdl_formula_term_bits(&formula, i));
    }
    const struct pdl_range result = pdl_formula_result(&formula, terms, false);
    pdl_ptx_body_free(&body);
    pdl_ptx_module_free(&module);
    pdl_inspection_destroy(inspection);
    return result;
}

static void check(const struct formula_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct pdl_range result = result_of(cases[i].instruction);
        if (result.low != cases[i].low || result.high != cases[i].high) {
            fail_msg("%s gives %lld to %lld, and should give %lld to %lld", cases[i].instruction,
                     (long long)result.low, (long long)result.high, (long long)cases[i].low,
                     (long long)cases[i].high);
        }
    }
}

#define CHECK(cases) check(cases, COUNT_OF(cases))

static void numbers_give_numbers(void **state)
{
    (void)state;
    static const struct formula_case cases[] = {
        {"mov.u32 r, 0xffffffff;", -1, -1},
        {"not.b32 r, 5;", -6, -6},
        {"not.pred r, 1;", 0, 0},
        {"neg.s16 r, -32768;", -32768, -32768},
        {"add.s32 r, 0x7fffffff, 1;", INT32_MIN, INT32_MIN},
        {"mul.lo.s32 r, 0x10000, 0x10000;", 0, 0},
        {"mul.hi.u32 r, 0xaaaaaaab, 100;", 66, 66},
        {"mul.hi.s32 r, -2, 3;", -1, -1},
        {"mul.hi.u16 r, 0xffff, 0xffff;", -2, -2},
        {"mul.wide.u32 r, 0xffffffff, 2;", 0x1fffffffe, 0x1fffffffe},
        {"mul.wide.s32 r, 0xffffffff, 2;", -2, -2},
        {"mad.lo.s32 r, 3, 4, -5;", 7, 7},
        {"div.s32 r, -7, 2;", -3, -3},
        {"rem.s32 r, -7, 2;", -1, -1},
        {"div.u32 r, -7, 2;", 0x7ffffffc, 0x7ffffffc},
        {"rem.u32 r, 7, 0xffffffff;", 7, 7},
        {"shl.b32 r, 1, 32;", 0, 0},
        {"shr.u32 r, -8, 1;", 0x7ffffffc, 0x7ffffffc},
        {"shr.s32 r, -8, 40;", -1, -1},
        {"min.u32 r, -1, 7;", 7, 7},
        {"max.s32 r, -1, 7;", 7, 7},
        {"cvt.u64.u32 r, -1;", UINT32_MAX, UINT32_MAX},
        {"cvt.s64.s32 r, 0xffffffff;", -1, -1},
        {"setp.hi.u32 r, -1, 1;", 1, 1},
        {"setp.gt.s32 r, -1, 1;", 0, 0},
    };
    CHECK(cases);
}

static void bits_are_taken_apart(void **state)
{
    (void)state;
    static const struct formula_case cases[] = {
        {"bfe.u32 r, 0xf0, 4, 4;", 15, 15},
        {"bfe.s32 r, 0xf0, 4, 4;", -1, -1},
        {"bfe.s32 r, 0x70, 4, 4;", 7, 7},
        {"bfe.s32 r, 0x10, 4, 1;", -1, -1},
        {"bfe.s32 r, 0x80000000, 28, 8;", -8, -8}, /* the sign is the last bit there is */
        {"bfe.s32 r, x, 3, 2;", -2, 1},
        {"bfe.u32 r, x, 3, 2;", 0, 3},
        {"prmt.b32 r, 0x12f4, 0, 0x7770U;", 0xf4, 0xf4},
        {"prmt.b32 r, 0x12345678, 0xff, 0x5532;", 0x1234, 0x1234},
        {"prmt.b32 r, 0x12f4, 0, 0x8880;", -12, -12},
        {"prmt.b32 r, 0x1234f678, 0, 0x9910;", -2440, -2440},
        {"prmt.b32 r, 0x12345678, x, 0x3210;", 0x12345678, 0x12345678},
        {"prmt.b32 r, x, 0, 0x4443;", 0, 255},
        {"lop3.b32 r, 0xf0, 0xcc, 0xaa, 0xf0;", 0xf0, 0xf0},
        {"lop3.b32 r, 0xf0, 0xcc, 0xaa, 0xe8;", 0xe8, 0xe8},
        {"lop3.b32 r, 0xf0, 0xcc, 0xaa, 0x96;", 0x96, 0x96},
        {"lop3.b32 r, 0, 0, 0, 1;", -1, -1},
    };
    CHECK(cases);
}

static void one_side_can_be_enough(void **state)
{
    (void)state;
    static const struct formula_case cases[] = {
        {"and.b32 r, x, 0;", 0, 0},
        {"or.b32 r, 0xffffffff, x;", -1, -1},
        {"or.b64 r, x, 0xffffffff;", INT64_MIN, INT64_MAX},
        {"xor.b32 r, x, -1;", INT_RANGE},
        {"or.pred r, p, 1;", 1, 1},
        {"and.pred r, p, 1;", 0, 1},
        {"selp.u32 r, 4, 4, p;", 4, 4},
        {"setp.lt.u32 r, x, 0;", 0, 0},
        {"setp.lt.and.s32 r, 3, 2, p;", 0, 0},
    };
    CHECK(cases);
}

static void some_results_are_not_known(void **state)
{
    (void)state;
    static const struct formula_case cases[] = {
        {"div.s32 r, 7, 0;", INT_RANGE},
        {"rem.u32 r, 7, 0;", INT_RANGE},
        {"div.s64 r, 0x8000000000000000, -1;", INT64_MIN, INT64_MAX},
        {"mul.hi.u64 r, -1, -1;", INT64_MIN, INT64_MAX},
        {"mad.hi.u32 r, -1, -1, 0;", INT64_MIN, INT64_MAX},
        {"add.sat.s32 r, 1, 2;", INT64_MIN, INT64_MAX},
        {"add.f32 r, 1, 2;", INT64_MIN, INT64_MAX},
    };
    CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_give_numbers),
        cmocka_unit_test(bits_are_taken_apart),
        cmocka_unit_test(one_side_can_be_enough),
        cmocka_unit_test(some_results_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
