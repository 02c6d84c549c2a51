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

/* An instruction, and what it gives. */
struct asked {
    const char *instruction;
    struct pdl_range result;
};

static void find_result(void *context)
{
    struct asked *asked = context;
    struct pdl_ptx_module module = {0};
    struct pdl_body body = {0};
    struct pdl_range terms[PDL_FORMULA_TERMS];
    char text[256];
    const int length =
        snprintf(text, sizeof(text), "%s.func f() { %s }", PTX_HEADER, asked->instruction);
    module.inspection = inspect_text(text, NULL);
    module.text = text;
    module.end = text + length;
    pdl_ptx_module_read(&module);
    pdl_ptx_body_read(&module, &module.functions[0], &body);
    const struct pdl_formula formula = pdl_formula_read(&module, &body, &body.instructions[0], 0);
    for (unsigned i = 0; i < formula.count; i++) {
        terms[i] = formula.terms[i].symbol == PDL_NONE
                       ? pdl_formula_number(&formula, i, formula.terms[i].value)
                       : pdl_formula_type(pdl_formula_term_bits(&formula, i));
    }
    asked->result = pdl_formula_result(&formula, terms, false);
}

static const struct formula_case cases[] = {
    /* Numbers give numbers. */
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
    /* Bits are taken apart. */
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
    /* One side can be enough. */
    {"and.b32 r, x, 0;", 0, 0},
    {"or.b32 r, 0xffffffff, x;", -1, -1},
    {"or.b64 r, x, 0xffffffff;", INT64_MIN, INT64_MAX},
    {"xor.b32 r, x, -1;", INT_RANGE},
    {"or.pred r, p, 1;", 1, 1},
    {"and.pred r, p, 1;", 0, 1},
    {"selp.u32 r, 4, 4, p;", 4, 4},
    {"setp.lt.u32 r, x, 0;", 0, 0},
    {"setp.lt.and.s32 r, 3, 2, p;", 0, 0},
    /* Some results are not known. */
    {"div.s32 r, 7, 0;", INT_RANGE},
    {"rem.u32 r, 7, 0;", INT_RANGE},
    {"div.s64 r, 0x8000000000000000, -1;", INT64_MIN, INT64_MAX},
    {"mul.hi.u64 r, -1, -1;", INT64_MIN, INT64_MAX},
    {"mad.hi.u32 r, -1, -1, 0;", INT64_MIN, INT64_MAX},
    {"add.sat.s32 r, 1, 2;", INT64_MIN, INT64_MAX},
    {"add.f32 r, 1, 2;", INT64_MIN, INT64_MAX},
};

TEST_ROWS(results_are_found, cases)
{
    struct asked asked = {.instruction = row->instruction};
    assert_int_equal(pdl_attempt(find_result, &asked), PDL_SUCCESS);
    assert_int_equal(asked.result.low, row->low);
    assert_int_equal(asked.result.high, row->high);
}
