/* SPDX-License-Identifier: MIT */
/* The search, on a device that is a function: what it finds, what it throws out, and how it ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/memory.h"
#include "tune/tune.h"

enum { KINDS = 3, CHOICES = 5 };

/* The chain and the device: kinds with five choices each, and what becomes of a configuration. */
static struct {
    size_t kinds;
    size_t counts[KINDS];
    double (*us)(const size_t *choices);
    enum tune_state (*opens)(const size_t *choices);
    enum tune_state (*samples)(const size_t *choices, bool overlap);
    double noise;       /* a share */
    int interrupted_at; /* the how manieth sample, from 1; 0: never */

    double now; /* s */
    int opened, taken, most_opened;
    uint64_t random;
    bool finals;     /* something was opened without overlap: that is the last comparison */
    int last_starts; /* samples of the start in it */
    char order[256];
    int curves;
} device;

/* A configuration that is open. */
struct opened {
    size_t choices[KINDS];
    bool overlap;
};

static double random_unit(void)
{
    device.random = device.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(device.random >> 11) * 0x1p-53;
}

static void *open_one(void *self, const size_t *choices, bool overlap, enum tune_state *state,
                      char **why)
{
    assert_ptr_equal(self, &device);
    *state = device.opens != NULL ? device.opens(choices) : TUNE_RIGHT;
    device.finals = device.finals || !overlap;
    if (*state != TUNE_RIGHT) {
        *why = copy_text("cannot be opened");
        return NULL;
    }
    struct opened *const opened = allocate(1, sizeof(*opened));
    memcpy(opened->choices, choices, device.kinds * sizeof(*choices));
    opened->overlap = overlap;
    device.opened++;
    device.most_opened = device.opened > device.most_opened ? device.opened : device.most_opened;
    return opened;
}

static enum tune_state sample_one(void *self, void *of, const size_t *choices, double *us,
                                  char **why)
{
    const struct opened *const opened = of;
    assert_ptr_equal(self, &device);
    assert_memory_equal(opened->choices, choices, device.kinds * sizeof(*choices));
    device.taken++;
    *us = device.us(choices) * (opened->overlap ? 1 : 1.5) *
          (1 + device.noise * (random_unit() - 0.5));
    device.now += 1e-6 * *us;
    const size_t used = strlen(device.order);
    if (used + 1 < sizeof(device.order)) {
        device.order[used] = (char)('0' + choices[0]);
        device.order[used + 1] = '\0';
    }
    const enum tune_state state =
        device.samples != NULL ? device.samples(choices, opened->overlap) : TUNE_RIGHT;
    if (state != TUNE_RIGHT) {
        *why = copy_text("computes something else");
    }
    return state;
}

static void close_one(void *self, void *opened)
{
    assert_ptr_equal(self, &device);
    assert_non_null(opened);
    device.opened--;
    free(opened);
}

static double seconds(void *self)
{
    (void)self;
    return device.now;
}

static bool interrupted(void *self)
{
    (void)self;
    return device.interrupted_at > 0 && device.taken >= device.interrupted_at;
}

static void report(const struct tune_chain *chain, const struct tune_curve *curve)
{
    assert_int_equal(chain->kind_count, device.kinds);
    assert_non_null(curve);
    device.curves++;
}

static int set_up(void **state)
{
    (void)state;
    memset(&device, 0, sizeof(device));
    device.kinds = KINDS;
    for (size_t i = 0; i < KINDS; i++) {
        device.counts[i] = CHOICES;
    }
    device.random = 1;
    return 0;
}

static const struct tune_options plain = {.rounds = 15, .budget = 1e9, .report = report};

/* Searches from the first choices; the caller frees the result. What holds of every search is checked. */
static struct tune_result search(const struct tune_options *options)
{
    static struct tune_choice choices[CHOICES];
    static char names[KINDS][2] = {"a", "b", "c"};
    struct tune_kind kinds[KINDS];
    for (size_t i = 0; i < device.kinds; i++) {
        kinds[i] =
            (struct tune_kind){.name = names[i], .items = choices, .count = device.counts[i]};
    }
    const struct tune_chain chain = {.kinds = kinds, .kind_count = device.kinds};
    const struct tune_backend backend = {
        .self = &device,
        .open = open_one,
        .sample = sample_one,
        .close = close_one,
        .seconds = seconds,
        .interrupted = interrupted,
    };
    struct tune_result result = {0};
    tune_search(&chain, &backend, options, &result);
    assert_int_equal(device.opened, 0);
    assert_int_equal(device.curves, result.count);
    assert_true(fabs(result.seconds - device.now) < 1e-12);
    return result;
}

static void assert_chosen(const struct tune_result *result, size_t a, size_t b, size_t c)
{
    const size_t wanted[KINDS] = {a, b, c};
    for (size_t i = 0; i < device.kinds; i++) {
        assert_int_equal(result->chosen[i], wanted[i]);
    }
}

static double distance(size_t a, size_t b)
{
    return a > b ? (double)(a - b) : (double)(b - a);
}

/* ---- what it finds ------------------------------------------------------------------------------ */

/* Least at (2, 1, 3). */
static double valley(const size_t *choices)
{
    static const size_t bottom[KINDS] = {2, 1, 3};
    static const double slopes[KINDS] = {5, 3, 2};
    double us = 100;
    for (size_t i = 0; i < device.kinds; i++) {
        us += slopes[i] * distance(choices[i], bottom[i]);
    }
    return us;
}

static void the_fastest_is_found(void **state)
{
    (void)state;
    device.us = valley;
    struct tune_result result = search(&plain);
    assert_chosen(&result, 2, 1, 3);
    assert_true(result.better);
    assert_null(result.failed);
    assert_null(result.ended_early);
    assert_int_equal(result.sweeps, 2);
    assert_int_equal(result.count, 5); /* the last kind that changed was the third */
    assert_int_equal(result.finals[TUNE_START].count, 2 * plain.rounds);
    assert_true(fabs(result.finals[TUNE_START].us - 119) < 1e-9);
    assert_true(fabs(result.finals[TUNE_CHOSEN].us - 100) < 1e-9);
    assert_true(fabs(result.finals[TUNE_SERIAL].us - 1.5 * 119) < 1e-9);
    assert_true(fabs(result.finals[TUNE_CHOSEN].ratio - 100.0 / 119) < 1e-9);
    assert_int_equal(device.most_opened, CHOICES);
    tune_result_free(&result);
}

static void noise_does_not_hide_it(void **state)
{
    (void)state;
    device.us = valley;
    device.noise = 0.01;
    struct tune_result result = search(&plain);
    assert_chosen(&result, 2, 1, 3);
    assert_true(result.better);
    assert_true(result.finals[TUNE_CHOSEN].low <= result.finals[TUNE_CHOSEN].ratio);
    assert_true(result.finals[TUNE_CHOSEN].high < 1);
    tune_result_free(&result);
}

static void curves_tell_what_was_compared(void **state)
{
    (void)state;
    device.us = valley;
    struct tune_result result = search(&plain);
    const struct tune_curve *const curve = &result.items[1]; /* after the first kind was moved */
    assert_int_equal(curve->kind, 1);
    assert_int_equal(curve->sweep, 0);
    assert_int_equal(curve->at[0], 2);
    assert_int_equal(curve->at[1], 0);
    assert_int_equal(curve->taken, 1);
    assert_int_equal(curve->count, CHOICES);
    for (size_t i = 0; i < CHOICES; i++) {
        const struct tune_point *const point = &curve->items[i];
        const size_t at[] = {2, i, 0};
        const size_t base[] = {2, 0, 0};
        assert_int_equal(point->choice, i);
        assert_int_equal(point->state, TUNE_RIGHT);
        assert_int_equal(point->count, plain.rounds);
        assert_true(fabs(point->us - valley(at)) < 1e-9);
        assert_true(fabs(point->ratio - valley(at) / valley(base)) < 1e-9);
    }
    tune_result_free(&result);
}

static double second_takes;
static double second_is_better(const size_t *choices)
{
    return choices[0] == 0 ? 100 : second_takes;
}

static void gains_below_a_five_hundredth_do_not_count(void **state)
{
    const struct {
        double us;
        size_t taken;
    } cases[] = {{99.81, 0}, {99.79, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)set_up(state);
        second_takes = cases[i].us;
        device.us = second_is_better;
        device.kinds = 1;
        struct tune_result result = search(&plain);
        assert_int_equal(result.items[0].taken, cases[i].taken);
        assert_int_equal(result.better, cases[i].taken == 1);
        assert_chosen(&result, cases[i].taken, 0, 0);
        tune_result_free(&result);
    }
}

static double all_the_same(const size_t *choices)
{
    (void)choices;
    return 100;
}

/* The search must not chase noise. */
static void noise_is_no_gain(void **state)
{
    (void)state;
    struct tune_options options = plain;
    options.rounds = 100;
    device.us = all_the_same;
    device.noise = 0.1;
    struct tune_result result = search(&options);
    assert_chosen(&result, 0, 0, 0);
    assert_false(result.better);
    assert_int_equal(result.count, KINDS);
    tune_result_free(&result);
}

/* The second is faster in two of three samples: its median is, and no one knows whether it is. */
static double often_faster(const size_t *choices)
{
    static unsigned samples;
    return choices[0] == 0 ? 100 : samples++ % 3 == 0 ? 120 : 97;
}

static void a_gain_within_the_interval_is_none(void **state)
{
    (void)state;
    device.us = often_faster;
    device.kinds = 1;
    device.counts[0] = 2;
    struct tune_result result = search(&plain);
    assert_true(result.items[0].items[1].ratio < 0.98);
    assert_true(result.items[0].items[1].high > 1);
    assert_int_equal(result.items[0].taken, 0);
    assert_int_equal(result.finals[TUNE_CHOSEN].count, 0);
    tune_result_free(&result);
}

/* The second choice is fast until the last comparison. */
static double gone_in_the_end(const size_t *choices)
{
    return choices[0] == 1 && !device.finals ? 50 : 100;
}

static void what_does_not_show_in_the_end_is_not_taken(void **state)
{
    (void)state;
    device.us = gone_in_the_end;
    device.kinds = 1;
    struct tune_result result = search(&plain);
    assert_int_equal(result.items[0].taken, 1);
    assert_int_equal(result.finals[TUNE_CHOSEN].count, 2 * plain.rounds);
    assert_false(result.better);
    assert_chosen(&result, 0, 0, 0);
    tune_result_free(&result);
}

static void kinds_without_a_choice_are_left_out(void **state)
{
    (void)state;
    device.us = valley;
    device.counts[1] = 1;
    struct tune_result result = search(&plain);
    assert_chosen(&result, 2, 0, 3);
    for (size_t i = 0; i < result.count; i++) {
        assert_int_not_equal(result.items[i].kind, 1);
    }
    tune_result_free(&result);
}

static void every_round_begins_with_another_choice(void **state)
{
    (void)state;
    const struct tune_options options = {.rounds = 4, .budget = 1e9, .report = report};
    device.us = all_the_same;
    device.kinds = 1;
    device.counts[0] = 3;
    struct tune_result result = search(&options);
    assert_memory_equal(device.order,
                        "012" /* warms up */
                        "012120201012",
                        15);
    assert_int_equal(result.items[0].items[2].count, 4);
    tune_result_free(&result);
}

/* ---- what it throws out ------------------------------------------------------------------------- */

static enum tune_state second_is_refused(const size_t *choices)
{
    return choices[0] == 2 ? TUNE_REFUSED : TUNE_RIGHT;
}

static void what_cannot_be_built_is_thrown_out(void **state)
{
    (void)state;
    device.us = valley;
    device.opens = second_is_refused;
    struct tune_result result = search(&plain);
    const struct tune_point *const point = &result.items[0].items[2];
    assert_int_equal(point->state, TUNE_REFUSED);
    assert_string_equal(point->why, "cannot be opened");
    assert_int_equal(point->count, 0);
    assert_true(isnan(point->us));
    assert_true(result.chosen[0] == 1 || result.chosen[0] == 3);
    assert_int_equal(result.chosen[1], 1);
    assert_true(result.better);
    assert_null(result.failed);
    assert_null(strchr(device.order, '2'));
    tune_result_free(&result);
}

/* The fastest is wrong, always. */
static enum tune_state fastest_is_wrong(const size_t *choices, bool overlap)
{
    (void)overlap;
    return choices[0] == 2 ? TUNE_WRONG : TUNE_RIGHT;
}

static void what_computes_something_else_is_thrown_out(void **state)
{
    (void)state;
    device.us = valley;
    device.samples = fastest_is_wrong;
    struct tune_result result = search(&plain);
    const struct tune_point *const point = &result.items[0].items[2];
    assert_int_equal(point->state, TUNE_WRONG);
    assert_int_equal(point->count, 0);
    assert_string_equal(point->why, "computes something else");
    assert_int_not_equal(result.chosen[0], 2);
    assert_true(result.better);
    assert_null(result.failed);
    device.order[CHOICES + 15 * (CHOICES - 1)] = '\0'; /* of the first curve: out at once */
    assert_non_null(strchr(device.order, '2'));
    assert_ptr_equal(strchr(device.order, '2'), strrchr(device.order, '2'));
    tune_result_free(&result);
}

/* The fastest of the first kind goes wrong in the how manieth of its samples. */
static int samples_of_the_fastest;
static enum tune_state fastest_goes_wrong(const size_t *choices, bool overlap)
{
    (void)overlap;
    return choices[0] == 2 && ++samples_of_the_fastest == 10 ? TUNE_RACE : TUNE_RIGHT;
}

static void one_wrong_sample_is_enough(void **state)
{
    (void)state;
    struct tune_options options = plain;
    samples_of_the_fastest = 0;
    device.us = valley;
    device.kinds = 1;
    device.samples = fastest_goes_wrong;
    struct tune_result result = search(&options);
    const struct tune_point *const point = &result.items[0].items[2];
    assert_int_equal(point->state, TUNE_RACE);
    assert_int_equal(point->count, 8); /* one warmed up, and the tenth was wrong */
    assert_int_not_equal(result.items[0].taken, 2);
    assert_int_not_equal(result.chosen[0], 2);
    assert_true(result.better);
    tune_result_free(&result);
}

/* Right while the second kind's choices are compared, wrong after that one was taken. */
static int races;
static enum tune_state wrong_together(const size_t *choices, bool overlap)
{
    const bool wrong =
        overlap && choices[0] == 2 && choices[1] == 1 && choices[2] == 0 && device.curves >= 2;
    races += wrong;
    return wrong ? TUNE_RACE : TUNE_RIGHT;
}

static void what_was_taken_and_races_is_never_tried_again(void **state)
{
    (void)state;
    device.us = valley;
    device.samples = wrong_together;
    races = 0;
    struct tune_result result = search(&plain);
    size_t raced = 0;
    assert_int_equal(result.items[2].items[0].state, TUNE_RACE); /* the base of the third kind */
    for (size_t i = 0; i < result.count; i++) {
        const struct tune_curve *const curve = &result.items[i];
        for (size_t j = 0; j < curve->count; j++) {
            size_t at[KINDS];
            memcpy(at, curve->at, sizeof(at));
            at[curve->kind] = j;
            if (i > 1 && at[0] == 2 && at[1] == 1 && at[2] == 0) {
                assert_int_equal(curve->items[j].state, TUNE_RACE);
                assert_string_equal(curve->items[j].why, "computes something else");
                raced++;
            }
        }
        if (i == 3) { /* from the start again */
            assert_int_equal(curve->at[0] + curve->at[1] + curve->at[2], 0);
        }
    }
    assert_true(raced > 1);
    assert_int_equal(races, 1); /* it was told later, and not run */
    assert_null(result.failed);
    assert_true(result.better);
    assert_false(result.chosen[0] == 2 && result.chosen[1] == 1 && result.chosen[2] == 0);
    tune_result_free(&result);
}

static enum tune_state start_races(const size_t *choices, bool overlap)
{
    return overlap && choices[0] == 0 ? TUNE_RACE : TUNE_RIGHT;
}

static void a_start_that_races_ends_the_search(void **state)
{
    (void)state;
    device.us = valley;
    device.samples = start_races;
    struct tune_result result = search(&plain);
    assert_string_equal(result.failed, "computes something else");
    assert_false(result.better);
    assert_int_equal(result.count, 1);
    assert_int_equal(result.finals[TUNE_START].count, 0);
    assert_chosen(&result, 0, 0, 0);
    tune_result_free(&result);
}

static enum tune_state start_races_in_the_end(const size_t *choices, bool overlap)
{
    return overlap && device.finals && choices[0] == 0 ? TUNE_RACE : TUNE_RIGHT;
}

static void a_start_that_races_in_the_end_is_told(void **state)
{
    (void)state;
    device.us = valley;
    device.samples = start_races_in_the_end;
    struct tune_result result = search(&plain);
    assert_string_equal(result.failed, "computes something else");
    assert_false(result.better);
    tune_result_free(&result);
}

static enum tune_state start_races_late_in_the_end(const size_t *choices, bool overlap)
{
    device.last_starts += overlap && device.finals && choices[0] == 0;
    return device.last_starts < 10 ? TUNE_RIGHT : TUNE_RACE;
}

/* What was chosen has samples then, all of them faster than the start's. */
static void nothing_is_chosen_where_the_start_races_late(void **state)
{
    (void)state;
    device.us = valley;
    device.samples = start_races_late_in_the_end;
    struct tune_result result = search(&plain);
    assert_string_equal(result.failed, "computes something else");
    assert_true(result.finals[TUNE_CHOSEN].high < 1);
    assert_false(result.better);
    assert_chosen(&result, 0, 0, 0);
    tune_result_free(&result);
}

static enum tune_state chosen_races_in_the_end(const size_t *choices, bool overlap)
{
    return overlap && device.finals && choices[0] == 2 ? TUNE_RACE : TUNE_RIGHT;
}

static void what_races_in_the_end_is_not_taken(void **state)
{
    (void)state;
    device.us = valley;
    device.samples = chosen_races_in_the_end;
    struct tune_result result = search(&plain);
    assert_int_equal(result.finals[TUNE_CHOSEN].state, TUNE_RACE);
    assert_null(result.failed);
    assert_false(result.better);
    assert_chosen(&result, 0, 0, 0);
    tune_result_free(&result);
}

/* ---- how it ends early ---------------------------------------------------------------------------- */

/* 15 rounds of 5 choices of about 110 us are 8 ms. */
static void the_budget_ends_the_search(void **state)
{
    (void)state;
    struct tune_options options = plain;
    options.budget = 0.01;
    device.us = valley;
    struct tune_result result = search(&options);
    assert_string_equal(result.ended_early, "the budget of 0.01 s is used up");
    assert_int_equal(result.count, 2);
    assert_int_equal(result.chosen[0], 2);
    assert_true(result.items[1].items[0].count >= 3);
    assert_true(result.items[1].items[0].count < 15);
    assert_true(result.finals[TUNE_CHOSEN].count >=
                3); /* what was found is compared all the same */
    assert_true(result.better);
    tune_result_free(&result);
}

static void an_interrupted_search_keeps_what_it_has(void **state)
{
    (void)state;
    const int first_curve = (15 + 1) * CHOICES;
    device.us = valley;
    device.interrupted_at = first_curve + CHOICES + 2 * CHOICES + 3;
    struct tune_result result = search(&plain);
    assert_string_equal(result.ended_early, "interrupted");
    assert_int_equal(result.count, 2);
    for (size_t i = 0; i < CHOICES; i++) { /* the third round was not finished */
        assert_int_equal(result.items[1].items[i].count, 2);
    }
    assert_int_equal(result.chosen[0], 2);
    assert_int_equal(result.finals[TUNE_START].count, 0);
    assert_true(isnan(result.finals[TUNE_START].us));
    assert_false(result.better);
    assert_null(result.failed);
    assert_int_equal(device.taken, device.interrupted_at);
    tune_result_free(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(the_fastest_is_found),
        TEST(noise_does_not_hide_it),
        TEST(curves_tell_what_was_compared),
        TEST(gains_below_a_five_hundredth_do_not_count),
        TEST(noise_is_no_gain),
        TEST(a_gain_within_the_interval_is_none),
        TEST(what_does_not_show_in_the_end_is_not_taken),
        TEST(kinds_without_a_choice_are_left_out),
        TEST(every_round_begins_with_another_choice),
        TEST(what_cannot_be_built_is_thrown_out),
        TEST(what_computes_something_else_is_thrown_out),
        TEST(one_wrong_sample_is_enough),
        TEST(what_was_taken_and_races_is_never_tried_again),
        TEST(a_start_that_races_ends_the_search),
        TEST(a_start_that_races_in_the_end_is_told),
        TEST(nothing_is_chosen_where_the_start_races_late),
        TEST(what_races_in_the_end_is_not_taken),
        TEST(the_budget_ends_the_search),
        TEST(an_interrupted_search_keeps_what_it_has),
    };
    return cmocka_run_group_tests_name("tune_search", tests, NULL, NULL);
}
