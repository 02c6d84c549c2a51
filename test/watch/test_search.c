/* SPDX-License-Identifier: MIT */
/* The search for the smallest set that fails, on oracles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bisect/odds.h"
#include "bisect/search.h"

/* Fails where it has all of one of the culprits. */
struct oracle {
    uint32_t culprits[4][4]; /* numbers, from 1; 0: no more */
    double chance;           /* that a run fails that can; 0: always */
    uint32_t runs;           /* that make a pass */
    uint64_t random;
    uint32_t tests;
    uint32_t stop_at; /* 0: never */
    bool (*skips)(const uint32_t *set, uint32_t count);
};

static bool has(const uint32_t *set, uint32_t count, uint32_t item)
{
    for (uint32_t i = 0; i < count; i++) {
        if (set[i] == item) {
            return true;
        }
    }
    return false;
}

static bool can_fail(const struct oracle *oracle, const uint32_t *set, uint32_t count)
{
    for (size_t i = 0; i < 4 && oracle->culprits[i][0] != 0; i++) {
        bool all = true;
        for (size_t j = 0; j < 4 && oracle->culprits[i][j] != 0; j++) {
            all = all && has(set, count, oracle->culprits[i][j] - 1);
        }
        if (all) {
            return true;
        }
    }
    return false;
}

static double next_random(struct oracle *oracle)
{
    oracle->random = oracle->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(oracle->random >> 11) / 9007199254740992.0;
}

static enum search_verdict judge(struct oracle *oracle, const uint32_t *set, uint32_t count)
{
    if (oracle->skips != NULL && oracle->skips(set, count)) {
        return SEARCH_SKIPPED;
    }
    if (!can_fail(oracle, set, count)) {
        return SEARCH_PASSES;
    }
    for (uint32_t i = 0; oracle->chance > 0 && i < oracle->runs; i++) {
        if (next_random(oracle) < oracle->chance) {
            return SEARCH_FAILS;
        }
    }
    return oracle->chance > 0 ? SEARCH_PASSES : SEARCH_FAILS;
}

static enum search_verdict ask(void *context, const uint32_t *set, uint32_t count, uint32_t left)
{
    struct oracle *const oracle = context;
    (void)left;
    for (uint32_t i = 1; i < count; i++) {
        assert_true(set[i - 1] < set[i]);
    }
    oracle->tests++;
    return oracle->tests == oracle->stop_at ? SEARCH_STOPPED : judge(oracle, set, count);
}

static struct search_result find(struct oracle *oracle, uint32_t count, uint32_t likely)
{
    const struct search search = {.count = count, .likely = likely, .test = ask, .context = oracle};
    struct search_result result = {0};
    oracle->tests = 0;
    assert_true(search_smallest(&search, &result));
    assert_true(result.complete);
    return result;
}

static void assert_items(const struct search_result *result, const uint32_t *culprit)
{
    uint32_t count = 0;
    while (count < 4 && culprit[count] != 0) {
        count++;
    }
    assert_int_equal(result->count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(result->items[i], culprit[i] - 1);
        assert_false(result->unresolved[i]);
    }
}

static void one_culprit_is_found_in_log2_tests_and_one(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 200; count++) {
        for (uint32_t i = 1; i <= count; i++) {
            struct oracle oracle = {.culprits = {{i}}};
            struct search_result result = find(&oracle, count, 0);
            assert_items(&result, oracle.culprits[0]);
            assert_true(result.tests <= search_log2(count) + 1);
            assert_int_equal(result.tests, oracle.tests);
            search_result_free(&result);
        }
    }
}

static void a_likely_culprit_is_found_sooner(void **state)
{
    (void)state;
    struct oracle oracle = {.culprits = {{1}}};
    struct search_result result = find(&oracle, 64, 1);
    assert_items(&result, oracle.culprits[0]);
    assert_true(result.tests <= 2);
    search_result_free(&result);
    oracle = (struct oracle){.culprits = {{60}}};
    result = find(&oracle, 64, 2); /* and an unlikely one all the same */
    assert_items(&result, oracle.culprits[0]);
    assert_true(result.tests <= 9);
    search_result_free(&result);
}

static void two_that_fail_only_together_are_found(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 64; i++) {
        for (uint32_t j = i + 1; j <= 64; j++) {
            struct oracle oracle = {.culprits = {{i, j}}};
            struct search_result result = find(&oracle, 64, 0);
            assert_items(&result, oracle.culprits[0]);
            assert_true(result.tests <= 4 * 6);
            search_result_free(&result);
        }
    }
}

static void three_that_fail_only_together_are_found(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 30; i++) {
        struct oracle oracle = {.culprits = {{i, i + 1 + i % 5, i + 20 + i % 7}}};
        struct search_result result = find(&oracle, 64, 0);
        assert_items(&result, oracle.culprits[0]);
        assert_true(result.tests <= 6 * 6);
        search_result_free(&result);
    }
}

static void of_several_culprits_one_is_found(void **state)
{
    (void)state;
    struct oracle oracle = {.culprits = {{40, 50}, {7}, {3, 60}}};
    struct search_result result = find(&oracle, 64, 0);
    assert_items(&result, oracle.culprits[1]);
    search_result_free(&result);
}

static void a_launch_of_thousands_is_found(void **state)
{
    (void)state;
    struct oracle oracle = {.culprits = {{1777}}};
    struct search_result result = find(&oracle, 2500, 0);
    assert_items(&result, oracle.culprits[0]);
    assert_true(result.tests <= 13);
    search_result_free(&result);
    oracle = (struct oracle){.culprits = {{1000, 1001}}};
    result = find(&oracle, 2500, 0);
    assert_items(&result, oracle.culprits[0]);
    search_result_free(&result);
}

static enum search_verdict all_needed(void *context, const uint32_t *set, uint32_t count,
                                      uint32_t left)
{
    (void)set;
    (void)left;
    return count == *(const uint32_t *)context ? SEARCH_FAILS : SEARCH_PASSES;
}

static void all_are_found_where_all_are_needed(void **state)
{
    (void)state;
    uint32_t count = 100;
    const struct search search = {.count = count, .test = all_needed, .context = &count};
    struct search_result result;
    assert_true(search_smallest(&search, &result));
    assert_int_equal(result.count, count);
    assert_true(result.tests < 4 * count);
    search_result_free(&result);
}

static void a_search_is_given_up_where_too_many_are_needed(void **state)
{
    (void)state;
    uint32_t count = 1000;
    const struct search search = {.count = count, .most = 8, .test = all_needed, .context = &count};
    struct search_result result;
    assert_true(search_smallest(&search, &result));
    assert_false(result.complete);
    assert_int_equal(result.count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(result.items[i], i);
    }
    assert_true(result.tests < 100);
    search_result_free(&result);
}

/* ---- failures that are not certain ---- */

static void rare_failures_are_found(void **state)
{
    (void)state;
    static const double chances[] = {0.02, 0.05, 0.1, 0.25, 0.5};
    for (size_t i = 0; i < sizeof(chances) / sizeof(chances[0]); i++) {
        const struct odds odds = {.failures = chances[i] * 1e6, .runs = 1e6};
        unsigned right = 0;
        for (uint32_t seed = 0; seed < 200; seed++) {
            struct oracle oracle = {.culprits = {{seed % 64 + 1}},
                                    .chance = chances[i],
                                    .runs = odds_runs(&odds, 0.99, 1000),
                                    .random = seed * 7919 + 1};
            if (seed % 2 == 1) {
                oracle.culprits[0][1] = oracle.culprits[0][0];
                oracle.culprits[0][0] = 1;
            }
            struct search_result result = find(&oracle, 64, 0);
            assert_true(can_fail(&oracle, result.items, result.count)); /* never too little */
            right +=
                result.count == (oracle.culprits[0][1] != 0 && oracle.culprits[0][1] != 1 ? 2 : 1);
            search_result_free(&result);
        }
        assert_true(right >= 180);
    }
}

static void runs_follow_the_odds(void **state)
{
    (void)state;
    struct odds odds = {0};
    assert_int_equal(odds_runs(&odds, 0.99, 100), 100); /* nothing is known */
    odds_add(&odds, 3, 3);
    assert_int_equal(odds_runs(&odds, 0.99, 100), 5); /* 24 / (6 * 7 * 8 * 9) is less than 0.01 */
    for (int i = 0; i < 20; i++) {
        odds_add(&odds, 1, 1);
    }
    assert_in_range(odds_runs(&odds, 0.99, 100), 2, 3);
    odds = (struct odds){0};
    odds_add(&odds, 3, 150);
    assert_in_range(odds_runs(&odds, 0.99, 1000), 310, 340);
    assert_int_equal(odds_runs(&odds, 0.99, 100), 100);
    assert_true(odds_of_false_pass(&odds, 340) < 0.01);
    assert_true(odds_of_false_pass(&odds, 100) > 0.1);
    odds = (struct odds){.failures = 20000, .runs = 1000000};
    assert_int_equal(odds_runs(&odds, 0.99, 1000), 228); /* log(0.01) / log(0.98) */
}

/* ---- tests that cannot tell ---- */

static bool skips_odd_sizes(const uint32_t *set, uint32_t count)
{
    (void)set;
    return count % 2 == 1 && count > 1;
}

static bool skips_without_9(const uint32_t *set, uint32_t count)
{
    return !has(set, count, 9);
}

static bool skips_all_between(const uint32_t *set, uint32_t count)
{
    (void)set;
    return count > 1 && count < 64;
}

static void skipped_splits_are_gone_round(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 64; i++) {
        struct oracle oracle = {.culprits = {{i}}, .skips = skips_odd_sizes};
        struct search_result result = find(&oracle, 64, 0);
        assert_items(&result, oracle.culprits[0]);
        search_result_free(&result);
    }
}

static void what_cannot_be_resolved_is_marked(void **state)
{
    (void)state;
    struct oracle oracle = {.culprits = {{30}}, .skips = skips_without_9};
    struct search_result result = find(&oracle, 64, 0);
    assert_int_equal(result.count, 2);
    assert_int_equal(result.items[0], 9);
    assert_true(result.unresolved[0]);
    assert_int_equal(result.items[1], 29);
    assert_false(result.unresolved[1]);
    search_result_free(&result);
    oracle = (struct oracle){.culprits = {{30}}, .skips = skips_all_between};
    result = find(&oracle, 64, 0);
    assert_true(can_fail(&oracle, result.items, result.count));
    assert_true(result.tests < 200);
    search_result_free(&result);
}

/* ---- interruptions ---- */

static void a_search_can_be_stopped_at_any_test(void **state)
{
    (void)state;
    bool stopped = true;
    for (uint32_t stop = 1; stopped; stop++) {
        struct oracle oracle = {.culprits = {{12, 47, 48}}, .stop_at = stop};
        const struct search search = {.count = 64, .test = ask, .context = &oracle};
        struct search_result result = {0};
        stopped = !search_smallest(&search, &result);
        assert_int_equal(oracle.tests < stop, !stopped);
        search_result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_culprit_is_found_in_log2_tests_and_one),
        cmocka_unit_test(a_likely_culprit_is_found_sooner),
        cmocka_unit_test(two_that_fail_only_together_are_found),
        cmocka_unit_test(three_that_fail_only_together_are_found),
        cmocka_unit_test(of_several_culprits_one_is_found),
        cmocka_unit_test(a_launch_of_thousands_is_found),
        cmocka_unit_test(all_are_found_where_all_are_needed),
        cmocka_unit_test(a_search_is_given_up_where_too_many_are_needed),
        cmocka_unit_test(rare_failures_are_found),
        cmocka_unit_test(runs_follow_the_odds),
        cmocka_unit_test(skipped_splits_are_gone_round),
        cmocka_unit_test(what_cannot_be_resolved_is_marked),
        cmocka_unit_test(a_search_can_be_stopped_at_any_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
