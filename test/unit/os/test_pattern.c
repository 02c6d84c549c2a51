/* SPDX-License-Identifier: MIT */
/* Patterns: the same answers wherever this runs, whoever gives them. */
#include "os/file.h"
#include "support.h"

PLAIN_TEST(patterns_match_as_fnmatch_does)
{
    static const struct {
        const char *pattern;
        const char *text;
        bool matches;
    } cases[] = {
        {"", "", true},           {"", "a", false},
        {"a", "", false},         {"fc1", "fc1", true},
        {"fc1", "fc12", false},   {"fc1", "FC1", false},
        {"*", "", true},          {"*", "any", true},
        {"f*", "fc1", true},      {"*1", "fc1", true},
        {"*c*", "fc1", true},     {"f*2", "fc1", false},
        {"*a*b", "xaxbab", true}, {"*a*b", "xaxba", false},
        {"**a", "ba", true},      {"a*", "a/b.c", true},
        {"fc?", "fc1", true},     {"fc?", "fc", false},
        {"[fg]c", "gc", true},    {"[fg]c", "hc", false},
        {"[a-c]x", "bx", true},   {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},  {"[!a-c]x", "bx", false},
        {"[]a]x", "]x", true},    {"[a-]x", "-x", true},
        {"[!]a]x", "bx", true},   {"x[0-9]*y", "x7zy", true},
        {"*[0-9]", "a1b2", true}, {"[ab", "[ab", true},
        {"\\*", "*", true},       {"\\*", "a", false},
        {"\\?x", "?x", true},     {"[\\]]x", "]x", true},
        {"[\\]]x", "\\x", false}, {"a[b]c*", "abcdef", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (pdl_pattern_matches(cases[i].pattern, cases[i].text) != cases[i].matches) {
            fail_msg("%s and %s", cases[i].pattern, cases[i].text);
        }
    }
}
