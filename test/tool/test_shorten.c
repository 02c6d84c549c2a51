/* SPDX-License-Identifier: MIT */
/* Names as they are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/shorten.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void check(char *made, const char *name, const char *expected)
{
    if (strcmp(made, expected) != 0) {
        fail_msg("%s: %s, not %s", name, made, expected);
    }
    free(made);
}

static void arguments_are_left_out_from_the_inside(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t most;
        const char *expected;
    } cases[] = {
        {"k(float const*)", 20, "k(float const*)"},
        {"k<a<b<some_long_type, some_other_type> >, c>()", 40, "k<a<b<...> >, c>()"},
        {"k<a<b<some_long_type, some_other_type> >, c>()", 12, "k<...>()"},
        {"k<some_long_type, other>(some_long_type, other)", 20, "k<...>(...)"},
        {"k(some_long_type, some_other_type)", 10, "k(...)"},
        {"k<float, 2>(float)", 12, "k<...>(float)"},
        {"k<(some_enumeration)17, ((x)>(0))>()", 20, "k<...>()"},
        {"operator<< <some_long_type, other>(some_long_type)", 30,
         "operator<< <...>(some_long_type)"},
        {"a::operator<(some_long_type, other)", 20, "a::operator<(...)"},
        {"(anonymous namespace)::k<some_long_type, other>()", 30,
         "(anonymous namespace)::k<...>()"},
        {"_INTERNAL_1234abcd_4_a_cu_5678::k(int)", 80, "k(int)"},
        {"void f<_INTERNAL_12::t>(_INTERNAL_12::t)", 80, "void f<t>(t)"},
        {"_INTERNAL_(int)", 80, "_INTERNAL_(int)"},
        {"k<<<<", 2, "k<<<<"},
        {"k>)>)", 2, "k>)>)"},
        {"k(((((aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 2, "k(((((aaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
        {"", 0, ""},
        {"_ZN7cutlass13device_kernelINS_4gemmXtlunknownEEEvT_", 20, "cutlass::device_kernel<...>"},
        {"_Z4longIXtlunknownEEvT_", 20, "long<...>"},
        {"_Z99999999999999999999long", 20, "_Z99999999999999999999long"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check(shorten_name(cases[i].name, cases[i].most), cases[i].name, cases[i].expected);
    }
}

static void depth_costs_no_square_of_it(void **state)
{
    (void)state;
    enum { DEEP = 16000 };
    char *name = malloc(2 * DEEP + 8);
    assert_non_null(name);
    memset(name, '<', DEEP);
    memset(name + DEEP, '>', DEEP);
    name[2 * DEEP] = '\0';
    name[0] = 'k';
    char *made = shorten_name(name, 80);
    assert_true(strlen(made) <= 2 * DEEP);
    free(made);
    free(name);
}

static void a_function_has_one_name_for_all_instances(void **state)
{
    (void)state;
    static const struct {
        const char *name, *expected;
    } cases[] = {
        {"k", "k"},
        {"k(float const*, int)", "k"},
        {"void ns::k<float, a<b> >(float const*)", "ns::k"},
        {"std::enable_if<a<b, c>::v, int>::type ns::k<2>(int)", "ns::k"},
        {"void a<b>::k<c>(d)::{lambda(int)#1}::operator()(int) const", "a::k"},
        {"a::operator()(int)", "a::operator()"},
        {"bool operator< <float>(a, b)", "operator<"},
        {"bool operator<(a, b)", "operator<"},
        {"a::operator bool() const", "a::operator bool"},
        {"void (anonymous namespace)::k<1>(int)", "(anonymous namespace)::k"},
        {"_INTERNAL_12_a_cu::k(int)", "k"},
        {"unsigned int f<(unsigned int)2>()", "f"},
        {"_ZN7cutlass13device_kernelINS_4gemmXtlunknownEEEvT_", "cutlass::device_kernel"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check(template_name(cases[i].name), cases[i].name, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_left_out_from_the_inside),
        cmocka_unit_test(depth_costs_no_square_of_it),
        cmocka_unit_test(a_function_has_one_name_for_all_instances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
