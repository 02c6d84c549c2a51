/* SPDX-License-Identifier: MIT */
/* Malformed PTX text: an error with the line, the column and what is wrong. */
#include "ptx_support.h"

#define H ".version 8.7\n.target sm_90\n"
#define K H ".entry k(.param .u64 a)\n{\n" /* the body begins on line 5 */

struct error_case {
    const char *text;
    const char *words;
    uint32_t line;
    uint32_t column;
};

static const struct error_case cases[] = {
    /* Outside of functions. */
    {".versio 8.7\n", "neither PTX", 0, 0},
    {".version\n", "a version", 2, 1},
    {".version x.y\n", "'x.y' where a version", 1, 10},
    {".version 8.x\n.target sm_90\n", "a version", 1, 10},
    {".version 8.77\n.target sm_90\n", "a version", 1, 10},
    {".version 123456789012345678\n", "a version", 1, 10},
    {".version 8.7\n", "no .target", 1, 1},
    {".version 8.7\n.target\n", "the text ends where a target", 3, 1},
    {".version 8.7\n.target 90\n", "'90' where a target", 2, 9},
    {".version 8.7\n.target sm_\n", "no .target sm_NN", 1, 1},
    {".version 8.7\n.target sm_90ab\n", "a target", 2, 9},
    {".version 8.7\n.target sm_x\n", "a target", 2, 9},
    {".version 8.7\n.target sm_90,\n", "a target", 3, 1},
    {".version 8.7\n.target sm_90, 5\n", "'5' where a target", 2, 16},
    {H "hello\n", "'hello' where a directive", 3, 1},
    {H "  ;\n", "';' where a directive", 3, 3},
    {H "}\n", "'}' where a directive", 3, 1},
    {H ".file x \"a\"\n", "'x' where a file's number", 3, 7},
    {H ".file 1 a\n", "'a' where a file's name", 3, 9},
    {H ".file 1 \"a\n\"\n", "a string is not closed", 3, 9},
    {H "/* a\n b", "a comment is not closed", 4, 3},
    {H "\x01\n", "a character that is not part of PTX", 3, 1},
    {H ".entry\n", "the text ends where the name of a function", 4, 1},
    {H ".entry 5()\n", "'5' where the name of a function", 3, 8},
    {H ".entry k(.param .u64 a\n{\n}\n", "'{' where a parameter", 4, 1},
    {H ".entry k(.param .u64 a;\n", "';' where a parameter", 3, 23},
    {H ".entry k(.param .b8 a[4)\n{\n}\n", "')' where ']'", 3, 24},
    {H ".entry k()\n", "the text ends where a function's body", 4, 1},
    {H ".entry k()\n}\n", "'}' where a function's body", 4, 1},
    {H ".entry k()\n{\nret;\n", "the text ends where '}'", 6, 1},
    {H ".entry k()\n{\n}\n.entry k()\n{\n}\n", "k is defined twice", 6, 8},
    {H ".func (.param .b32 r f()\n", "the text ends where", 4, 1},
    {H ".func f() .maxntid (1\n", "the text ends where ')'", 4, 1},
    {H ".global .b32 x\n", "the text ends where ';'", 4, 1},
    {H ".global .b8 x[4 = {1};\n", "a closing bracket", 4, 1},
    {H ".global .b32 x\n}\n", "'}' where ';'", 4, 1},
    {H ".section .debug_str 5\n", "'5' where '{'", 3, 21},
    {H ".section .debug_str {\n.b8 1\n", "the text ends where '}'", 5, 1},
    {H ".section .debug_info {\n.b8 1\n", "the text ends where '}'", 5, 1},
    {H ".alias a, b\n", "the text ends where ';'", 4, 1},
    {H ".later a b\n", "';' or '{' after a directive", 4, 1},
    {H ".later { a\n", "the text ends where '}'", 4, 1},
    {H ".pragma \"x\"\n}\n", "'}' where ';'", 4, 1},
    /* In functions. */
    {K "ret\n}\n", "where ';' after an instruction", 6, 1},
    {K "@ ret;\n}\n", "';' where an instruction", 5, 6},
    {K "@; ret;\n}\n", "';' where a predicate", 5, 2},
    {K "@!5 ret;\n}\n", "'5' where a predicate", 5, 3},
    {K "@p .reg .b32 x;\n}\n", "'.reg' where an instruction", 5, 4},
    {K "%r1;\n}\n", "'%r1' where an instruction", 5, 1},
    {K "5;\n}\n", "'5' where a statement", 5, 1},
    {K "\"x\";\n}\n", "'x' where a statement", 5, 2},
    {K "bra;\n}\n", "a branch without a label", 5, 1},
    {K "  bra A;\n}\n", "there is no label A", 5, 3},
    {K "bra A, B;\nA: B:\n}\n", "a branch without a label", 5, 1},
    {K "{ A: }\n@p bra A;\n}\n", "there is no label A", 6, 4},
    {K "bra t;\nt: .branchtargets A;\nA: ret;\n}\n", "there is no label t", 5, 1},
    {K "brx.idx %r, A;\nA: ret;\n}\n", "there is no label A", 5, 1},
    {K "brx.idx %r, t;\nt: .branchtargets B;\nA: ret;\n}\n", "there is no label B", 5, 1},
    {K "t: .branchtargets ;\n}\n", "';' where a label", 5, 19},
    {K "t: .branchtargets A B;\n}\n", "'B' where ';'", 5, 21},
    {K "A: ret;\nA: ret;\n}\n", "the label A is there twice", 3, 8},
    {K "ld.u32 %r, [%a;\n}\n", "a closing bracket", 5, 15},
    {K "ld.u32 %r, %a];\n}\n", "']' where ';'", 5, 14},
    {K "mov.b32 {%a, %b, %c;\n}\n", "the text ends where '}'", 7, 1},
    {K "call (%a;\n}\n", "the text ends where", 7, 1},
    {K "call ;\n}\n", "';' where the name of a function", 5, 6},
    {K "call (x), ;\n}\n", "';' where the name of a function", 5, 11},
    {K ".reg .b32 x\n}\n", "where ';'", 6, 1},
    {K ".reg .b32 x<y>;\n}\n", "'y' where a number of registers", 5, 13},
    {K ".reg .b32 x<4;\n}\n", "';' where '>'", 5, 14},
    {K ".pragma \"x\"\n}\n", "where ';'", 6, 1},
    {K ".loc 1\nret;\n}\n", "'ret' where a file and a line", 6, 1},
    {K ".loc x 1 1\n}\n", "'x' where a file and a line", 5, 6},
    {K ".loc 1 1 1, what 5\n}\n", "'what' where 'function_name' or 'inlined_at'", 5, 13},
    {K ".loc 1 1 1, function_name 5\n}\n", "'5' where a label", 5, 27},
    {K ".loc 1 1 1, inlined_at x\n}\n", "'x' where a file and a line", 5, 24},
    {K "add.u32 %r, \"x\";\n}\n", "'x' where ';' after an instruction", 5, 14},
    {K "ret;\n\tmov.u32 %r, \x80;\n}\n", "a character that is not part of PTX", 6, 14},
    {K "ret;\r\n\r\n  # x\r\n}\r\n", "a character that is not part of PTX", 7, 3},
};

TEST_ROWS(malformed_text_is_named, cases)
{
    const struct bytes bytes = {(unsigned char *)(uintptr_t)row->text, strlen(row->text)};
    assert_not_inspected(&bytes, PDL_ERROR_INVALID_IMAGE, row->words);
    assert_int_equal(pdl_inspect_last_error()->line, row->line);
    assert_int_equal(pdl_inspect_last_error()->column, row->column);
}

/* A text of `count` times a word. */
static struct bytes repeat(const char *before, const char *word, size_t count, const char *after)
{
    const size_t length = strlen(word);
    struct bytes text = {0};
    bytes_add(&text, NULL, strlen(before) + count * length + strlen(after) + 1);
    char *at = (char *)text.data;
    at += sprintf(at, "%s", before);
    for (size_t i = 0; i < count; i++, at += length) {
        memcpy(at, word, length);
    }
    (void)sprintf(at, "%s", after);
    text.size--;
    return text;
}

TEST(what_is_too_much_is_named)
{
    struct bytes text = repeat(K "mov.u32 ", "a", (1u << 20) + 1, ", 1;\n}\n");
    assert_not_inspected(&text, PDL_ERROR_INVALID_IMAGE, "a word of more than 1 MiB");
    assert_int_equal(pdl_inspect_last_error()->line, 5);
    assert_int_equal(pdl_inspect_last_error()->column, 9);
    text = repeat(K "mov.u32 ", "a", 1u << 20, ", 1;\n}\n");
    inspect_whatever(&text);
    text = repeat(K, "{", 256, "\n}\n");
    assert_not_inspected(&text, PDL_ERROR_INVALID_IMAGE, "the text ends where '}'");
    text = repeat(H ".entry k(.param .u64 a", ", .param .u64 a", 4096, ")\n{\n}\n");
    assert_not_inspected(&text, PDL_ERROR_INVALID_IMAGE, "4096 parameters");
}

TEST(scopes_are_nested_so_deep_and_no_deeper)
{
    for (size_t depth = 254; depth <= 257; depth++) {
        struct bytes open = repeat(K, "{", depth, "");
        struct bytes text = repeat((const char *)open.data, "}", depth, "\n}\n");
        pdl_inspection *inspection = NULL;
        const pdl_status status = inspect_memory(text.data, text.size, "deep", NULL, &inspection);
        assert_int_equal(status, depth < 256 ? PDL_SUCCESS : PDL_ERROR_INVALID_IMAGE);
        if (status != PDL_SUCCESS) {
            assert_non_null(strstr(pdl_inspect_last_error()->message, "nested more than 256 deep"));
            assert_int_equal(pdl_inspect_last_error()->line, 5);
            assert_int_equal(pdl_inspect_last_error()->column, 256);
        }
        pdl_inspection_destroy(inspection);
    }
}

/* Every beginning of a text is read or refused, and never makes more of it. */
TEST(texts_that_are_cut_short_are_refused_or_read)
{
    static const char text[] =
        H "/* c */.file 1 \"a.cu\" // d\n.global .b8 v[4] = {1, 2};\n"
          ".func (.param .b32 o) f(.param .b64 x) .noreturn;\n"
          ".visible .entry k(.param .align 8 .b8 s[16])\n.maxntid 32, 1, 1\n{\n"
          "\t.reg .b32 %r<5>;\n\t.loc 1 5 1, function_name L+4, inlined_at 1 7 2\n"
          "\t{ .param .b64 q; st.param.b64 [q+0], %rd1; call.uni (o), f, (q); }\n"
          "\t@!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+-8];\nt: .branchtargets A, B;\n"
          "\tbrx.idx %r1, t;\nA: griddepcontrol.wait; B: ret;\n}\n"
          ".section .debug_str {\nL: .b8 65, 0\n}\n";
    size_t read = 0;
    for (size_t size = 0; size < sizeof(text); size++) {
        char *copy =
            malloc(size + 1); /* exactly as long, so that a sanitizer sees what is behind */
        assert_non_null(copy);
        memcpy(copy, text, size);
        pdl_inspection *inspection = NULL;
        if (inspect_memory(copy, size, "cut", NULL, &inspection) == PDL_SUCCESS) {
            read++;
            pdl_inspection_destroy(inspection);
        } else {
            assert_true(strlen(pdl_inspect_last_error()->message) > 0);
        }
        free(copy);
    }
    /* Between two directives, there and in front of blanks and comments, and nowhere else. */
    assert_true(read > 5 && read < 80);
}
