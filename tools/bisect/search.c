/* SPDX-License-Identifier: MIT */
/* Among what is left, in its order, the shortest beginning is searched that fails together with what was found before: its
 * last item is found. Then what was before that item is searched in the same way, until what was found fails alone.
 *
 * At all times what was found and what is left have failed together, so that the result is a set that was seen to fail,
 * even if a test passes now and then where it should fail, or if a larger set passes where a smaller one fails. The result
 * may then have items too many, which the last step takes out. */
#include "bisect/search.h"

#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

enum { MOST_SKIPPED = 16 /* splits that are tried between two that are known */ };

struct state {
    const struct search *search;
    uint32_t *left; /* not found yet, the last of them out of the question */
    uint32_t left_count;
    uint32_t *found;
    uint32_t found_count;
    uint32_t *set; /* the one that is tested */
    uint32_t tests;
    bool was_last; /* the item that was found last was the last that was left */
    bool stopped;
};

uint32_t search_log2(uint32_t number)
{
    uint32_t log = 0;
    while (log < 32 && (UINT64_C(1) << log) < number) {
        log++;
    }
    return log;
}

static int compare(const void *a, const void *b)
{
    const uint32_t first = *(const uint32_t *)a;
    const uint32_t second = *(const uint32_t *)b;
    return first < second ? -1 : first > second;
}

static enum search_verdict test(struct state *state, uint32_t count, uint32_t left)
{
    qsort(state->set, count, sizeof(*state->set), compare);
    state->tests++;
    const enum search_verdict verdict =
        state->search->test(state->search->context, state->set, count, left);
    state->stopped = state->stopped || verdict == SEARCH_STOPPED;
    return verdict;
}

/* What was found, together with the first so many of what is left. */
static enum search_verdict test_beginning(struct state *state, uint32_t length, uint32_t gap)
{
    memcpy(state->set, state->found, state->found_count * sizeof(*state->set));
    memcpy(state->set + state->found_count, state->left, length * sizeof(*state->set));
    return test(state, state->found_count + length, search_log2(gap) + 1);
}

/* ---- a beginning ------------------------------------------------------------------------------ */

/* Between a length that does not fail and one that does. */
struct gap {
    uint32_t low, high;
    uint32_t skipped[MOST_SKIPPED]; /* lengths in between that cannot be judged */
    uint32_t skipped_count;
    uint32_t split; /* of those that were tried in this gap */
};

static bool is_skipped(const struct gap *gap, uint32_t length)
{
    for (uint32_t i = 0; i < gap->skipped_count; i++) {
        if (gap->skipped[i] == length) {
            return true;
        }
    }
    return false;
}

/* The next length to try: the middle, the quarters, the eighths. 0: none is left. */
static uint32_t next_length(struct gap *gap)
{
    const uint32_t between = gap->high - gap->low;
    while (between > 1 && gap->skipped_count < MOST_SKIPPED && gap->split < 4 * MOST_SKIPPED) {
        uint32_t part = 1;
        while (part * 2 <= gap->split + 1) {
            part *= 2;
        }
        const uint64_t odd = 2 * (uint64_t)(gap->split + 1 - part) + 1;
        const uint32_t length = gap->low + (uint32_t)(between * odd / (2 * (uint64_t)part));
        gap->split++;
        if (length > gap->low && !is_skipped(gap, length)) {
            return length;
        }
    }
    return 0;
}

static void narrow(struct gap *gap, uint32_t length, enum search_verdict verdict)
{
    if (verdict == SEARCH_SKIPPED) {
        gap->skipped[gap->skipped_count++] = length;
        return;
    }
    *(verdict == SEARCH_FAILS ? &gap->high : &gap->low) = length;
    gap->split = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < gap->skipped_count; i++) {
        if (gap->skipped[i] > gap->low && gap->skipped[i] < gap->high) {
            gap->skipped[kept++] = gap->skipped[i];
        }
    }
    gap->skipped_count = kept;
}

/* A length that is worth being tried before the middle; 0. */
static uint32_t first_length(const struct state *state)
{
    const uint32_t likely = state->search->likely;
    if (state->found_count == 0) {
        return likely < state->left_count ? likely : 0;
    }
    return state->was_last && state->left_count > 2 ? state->left_count - 1
                                                    : 0; /* all are needed? */
}

static void find_next(struct state *state)
{
    struct gap gap = {.low = 0, .high = state->left_count};
    uint32_t length = first_length(state);
    length = length > 0 ? length : next_length(&gap);
    while (length > 0) {
        const enum search_verdict verdict = test_beginning(state, length, gap.high - gap.low);
        if (verdict == SEARCH_STOPPED) {
            return;
        }
        narrow(&gap, length, verdict);
        length = next_length(&gap);
    }
    /* More than one where it cannot be told which. */
    state->was_last = gap.high == state->left_count;
    for (uint32_t i = gap.low; i < gap.high; i++) {
        state->found[state->found_count++] = state->left[i];
    }
    state->left_count = gap.low;
}

/* ---- taking out what is too much -------------------------------------------------------------- */

/* Without some of what was found. */
static enum search_verdict test_without(struct state *state, uint32_t from, uint32_t count)
{
    const uint32_t behind = state->found_count - from - count;
    memcpy(state->set, state->found, from * sizeof(*state->set));
    memcpy(state->set + from, state->found + from + count, behind * sizeof(*state->set));
    return test(state, from + behind, (state->found_count - from) / count);
}

/* Takes out parts of that many items; whether one was. */
static bool take_out(struct state *state, uint32_t part, bool *unresolved)
{
    bool taken = false;
    for (uint32_t from = 0; from < state->found_count && !state->stopped;) {
        const uint32_t rest = state->found_count - from;
        const uint32_t count = part < rest ? part : rest;
        if (count == state->found_count) {
            break; /* without anything it passes */
        }
        const enum search_verdict verdict = test_without(state, from, count);
        if (verdict == SEARCH_FAILS) {
            memmove(state->found + from, state->found + from + count,
                    (rest - count) * sizeof(*state->found));
            state->found_count -= count;
            taken = true;
            continue;
        }
        for (uint32_t i = 0; i < count; i++) {
            unresolved[from + i] = verdict == SEARCH_SKIPPED;
        }
        from += count;
    }
    return taken;
}

static void reduce(struct state *state, bool *unresolved)
{
    uint32_t part = state->found_count > 8 ? state->found_count / 2 : 1;
    bool again = true;
    qsort(state->found, state->found_count, sizeof(*state->found), compare);
    while (again && !state->stopped && state->found_count > 1) {
        again = take_out(state, part, unresolved) || part > 1;
        part = part > 1 ? part / 2 : 1;
    }
    if (state->found_count == 1) {
        unresolved[0] = false;
    }
}

/* ---- all of it -------------------------------------------------------------------------------- */

bool search_smallest(const struct search *search, struct search_result *result)
{
    const size_t room = search->count > 0 ? search->count : 1;
    struct state state = {.search = search,
                          .left = allocate(room, sizeof(uint32_t)),
                          .left_count = search->count,
                          .found = allocate(room, sizeof(uint32_t)),
                          .set = allocate(room, sizeof(uint32_t))};
    bool *unresolved = allocate(room, sizeof(bool));
    memset(unresolved, 0, room * sizeof(bool));
    for (uint32_t i = 0; i < search->count; i++) {
        state.left[i] = i;
    }
    bool complete = true;
    while (state.left_count > 0 && !state.stopped && complete) {
        if (state.found_count > 0 && test_beginning(&state, 0, state.left_count) == SEARCH_FAILS) {
            break;
        }
        if (!state.stopped) {
            find_next(&state);
        }
        complete = search->most == 0 || state.found_count < search->most;
    }
    if (!complete) { /* what is left belongs to what has failed */
        for (uint32_t i = 0; i < state.left_count; i++) {
            state.found[state.found_count++] = state.left[i];
        }
        qsort(state.found, state.found_count, sizeof(*state.found), compare);
    } else if (!state.stopped) {
        reduce(&state, unresolved);
    }
    free(state.left);
    free(state.set);
    *result = (struct search_result){.items = state.found,
                                     .unresolved = unresolved,
                                     .count = state.found_count,
                                     .tests = state.tests,
                                     .complete = complete};
    return !state.stopped;
}

void search_result_free(struct search_result *result)
{
    free(result->items);
    free(result->unresolved);
    *result = (struct search_result){0};
}
