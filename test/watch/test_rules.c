/* SPDX-License-Identifier: MIT */
/* The rules of `pdltool watch` and `pdltool bisect`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "watch/change.h"

static struct pdl_watch_rules *read_rules(const char *text)
{
    size_t line = 999;
    struct pdl_watch_rules *const rules = pdl_watch_rules_read(text, strlen(text), &line);
    if (rules == NULL) {
        fail_msg("line %zu is wrong of:\n%s", line, text);
    }
    return rules;
}

static void expect(const char *text, const char *name, enum pdl_watch_change change, bool delay)
{
    bool found = !delay;
    struct pdl_watch_rules *const rules = read_rules(text);
    assert_int_equal(pdl_watch_rules_find(rules, name, &found), change);
    assert_int_equal(found, delay);
    pdl_watch_rules_free(rules);
}

static void without_a_rule_a_launch_stays(void **state)
{
    (void)state;
    expect("", "k", PDL_WATCH_KEEP, false);
    expect("# off *\n\n \t\r\n", "k", PDL_WATCH_KEEP, false);
    expect("off other", "k", PDL_WATCH_KEEP, false);
}

static void the_last_rule_that_matches_counts(void **state)
{
    (void)state;
    expect("off *\non k", "k", PDL_WATCH_ON, false);
    expect("on k\noff *", "k", PDL_WATCH_OFF, false);
    expect("off *\nkeep k*\n", "k1", PDL_WATCH_KEEP, false);
}

static void delays_are_apart_from_the_others(void **state)
{
    (void)state;
    expect("delay k\noff *", "k", PDL_WATCH_OFF, true);
    expect("delay *", "k", PDL_WATCH_KEEP, true);
}

static void patterns_are_globs_and_names(void **state)
{
    (void)state;
    expect("off _Z*sort?", "_Z3sort1", PDL_WATCH_OFF, false);
    expect("off _Z[45]*", "_Z3sort1", PDL_WATCH_KEEP, false);
    expect("off =a*", "ab", PDL_WATCH_KEEP, false);
    expect("off =a*", "a*", PDL_WATCH_OFF, false);
    expect("  off\t =a  \r\n", "a", PDL_WATCH_OFF, false);
    expect("off =a b", "a b", PDL_WATCH_OFF, false);
    expect("off =a@b", "a@b", PDL_WATCH_OFF, false);
}

static void the_first_line_that_is_wrong_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t line;
    } wrong[] = {{"of *", 1},   {"off", 1},
                 {"off \n", 1}, {"off *\n\n# x\non", 4},
                 {"off =", 1},  {"off *\ndelays *", 2},
                 {"Off *", 1}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        size_t line = 0;
        struct pdl_watch_rules *const rules =
            pdl_watch_rules_read(wrong[i].text, strlen(wrong[i].text), &line);
        if (rules != NULL || line != wrong[i].line) {
            fail_msg("%s: line %zu", wrong[i].text, line);
        }
    }
    size_t line = 0;
    assert_null(pdl_watch_rules_read("off *\noff a\0b\n", 14, &line));
    assert_int_equal(line, 2);
}

static void what_kinds_of_rules_there_are_is_known(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "off *", "on *", "delay *", "keep *\ndelay k\non k"};
    for (size_t i = 0; i < 5; i++) {
        struct pdl_watch_rules *const rules = read_rules(texts[i]);
        assert_int_equal(pdl_watch_rules_add(rules), strstr(texts[i], "on ") != NULL);
        assert_int_equal(pdl_watch_rules_delay(rules), strstr(texts[i], "delay") != NULL);
        pdl_watch_rules_free(rules);
    }
}

static void many_rules_are_read(void **state)
{
    (void)state;
    static char text[1 << 20];
    size_t size = 0;
    for (int i = 0; i < 20000; i++) {
        size += (size_t)snprintf(text + size, sizeof(text) - size, "off =kernel%d\n", i);
    }
    struct pdl_watch_rules *const rules = read_rules(text);
    bool delay = false;
    assert_int_equal(pdl_watch_rules_find(rules, "kernel19999", &delay), PDL_WATCH_OFF);
    assert_int_equal(pdl_watch_rules_find(rules, "kernel20000", &delay), PDL_WATCH_KEEP);
    pdl_watch_rules_free(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_rule_a_launch_stays),
        cmocka_unit_test(the_last_rule_that_matches_counts),
        cmocka_unit_test(delays_are_apart_from_the_others),
        cmocka_unit_test(patterns_are_globs_and_names),
        cmocka_unit_test(the_first_line_that_is_wrong_is_told),
        cmocka_unit_test(what_kinds_of_rules_there_are_is_known),
        cmocka_unit_test(many_rules_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
