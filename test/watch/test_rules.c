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

/* Both ways to ask have to agree. */
static enum pdl_watch_change find(const struct pdl_watch_rules *rules, const char *name,
                                  uint32_t nth, bool *delay)
{
    bool other = false;
    const enum pdl_watch_change change = pdl_watch_rules_find(rules, name, nth, delay);
    struct pdl_watch_rules_of *const of = pdl_watch_rules_for(rules, name);
    assert_non_null(of);
    assert_int_equal(pdl_watch_rules_at(of, nth, &other), change);
    assert_int_equal(other, *delay);
    pdl_watch_rules_of_free(of);
    return change;
}

static void expect(const char *text, const char *name, uint32_t nth, enum pdl_watch_change change,
                   bool delay)
{
    bool found = !delay;
    struct pdl_watch_rules *const rules = read_rules(text);
    assert_int_equal(find(rules, name, nth, &found), change);
    assert_int_equal(found, delay);
    pdl_watch_rules_free(rules);
}

static void without_a_rule_a_launch_stays(void **state)
{
    (void)state;
    expect("", "k", 1, PDL_WATCH_KEEP, false);
    expect("# off *\n\n \t\r\n", "k", 1, PDL_WATCH_KEEP, false);
    expect("off other", "k", 1, PDL_WATCH_KEEP, false);
}

static void the_last_rule_that_matches_counts(void **state)
{
    (void)state;
    expect("off *\non k", "k", 1, PDL_WATCH_ON, false);
    expect("on k\noff *", "k", 1, PDL_WATCH_OFF, false);
    expect("off *\nkeep k*\n", "k1", 1, PDL_WATCH_KEEP, false);
    expect("off *\nkeep k@3", "k", 2, PDL_WATCH_OFF, false);
    expect("off *\nkeep k@3", "k", 3, PDL_WATCH_KEEP, false);
}

static void delays_are_apart_from_the_others(void **state)
{
    (void)state;
    expect("delay k\noff *", "k", 1, PDL_WATCH_OFF, true);
    expect("on *\ndelay k@2", "k", 2, PDL_WATCH_ON, true);
    expect("on *\ndelay k@2", "k", 1, PDL_WATCH_ON, false);
    expect("delay *", "k", 1, PDL_WATCH_KEEP, true);
}

static void patterns_are_globs_and_names(void **state)
{
    (void)state;
    expect("off _Z*sort?", "_Z3sort1", 1, PDL_WATCH_OFF, false);
    expect("off _Z[45]*", "_Z3sort1", 1, PDL_WATCH_KEEP, false);
    expect("off =a*", "ab", 1, PDL_WATCH_KEEP, false);
    expect("off =a*", "a*", 1, PDL_WATCH_OFF, false);
    expect("  off\t =a  \r\n", "a", 1, PDL_WATCH_OFF, false);
    expect("off =a b", "a b", 1, PDL_WATCH_OFF, false);
    expect("off =a@b", "a@b", 1, PDL_WATCH_OFF, false);
    expect("off =a@b@2", "a@b", 2, PDL_WATCH_OFF, false);
    expect("off =a@b@2", "a@b", 1, PDL_WATCH_KEEP, false);
}

static void numbers_are_lists_of_ranges(void **state)
{
    (void)state;
    static const char *const text = "off =k@1,5-9,20-";
    for (uint32_t nth = 1; nth < 40; nth++) {
        const bool is_in = nth == 1 || (nth >= 5 && nth <= 9) || nth >= 20;
        expect(text, "k", nth, is_in ? PDL_WATCH_OFF : PDL_WATCH_KEEP, false);
    }
    expect(text, "k", UINT32_MAX, PDL_WATCH_OFF, false);
    expect("off *@4294967295", "k", UINT32_MAX, PDL_WATCH_OFF, false);
}

static void the_first_line_that_is_wrong_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t line;
    } wrong[] = {{"of *", 1},
                 {"off", 1},
                 {"off \n", 1},
                 {"off *\n\n# x\non", 4},
                 {"off k@0", 1},
                 {"off k@5-4", 1},
                 {"off k@1,", 1},
                 {"off k@,1", 1},
                 {"off k@-3", 1},
                 {"off k@1--", 1},
                 {"off k@1-2-3", 1},
                 {"off k@4294967296", 1},
                 {"off k@99999999999999999999999", 1},
                 {"off k@", 1},
                 {"off @1", 1},
                 {"off =", 1},
                 {"off =@1", 1},
                 {"off *\ndelays *", 2},
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
        size += (size_t)snprintf(text + size, sizeof(text) - size, "off =kernel%d@%d\n", i, i + 1);
    }
    struct pdl_watch_rules *const rules = read_rules(text);
    bool delay = false;
    assert_int_equal(find(rules, "kernel19999", 20000, &delay), PDL_WATCH_OFF);
    assert_int_equal(find(rules, "kernel19999", 19999, &delay), PDL_WATCH_KEEP);
    pdl_watch_rules_free(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_rule_a_launch_stays),
        cmocka_unit_test(the_last_rule_that_matches_counts),
        cmocka_unit_test(delays_are_apart_from_the_others),
        cmocka_unit_test(patterns_are_globs_and_names),
        cmocka_unit_test(numbers_are_lists_of_ranges),
        cmocka_unit_test(the_first_line_that_is_wrong_is_told),
        cmocka_unit_test(what_kinds_of_rules_there_are_is_known),
        cmocka_unit_test(many_rules_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
