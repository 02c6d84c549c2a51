/* SPDX-License-Identifier: MIT */
#include "common/suggest.h"

#include <string.h>

enum { LONGEST = 48 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that make one word of the other. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST + 1]; /* the two rows before the current one are needed for swaps */
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t *const now = rows[i % 3];
        const size_t *const last = rows[(i + 2) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]), least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = least(now[j], rows[(i + 1) % 3][j - 2] + 1);
            }
        }
    }
    return rows[a_length % 3][b_length];
}

const char *suggest(const char *typed, const char *const *words, size_t count)
{
    const size_t length = strlen(typed);
    const char *best = NULL;
    size_t best_distance = 0;
    if (length == 0 || length > LONGEST) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t word_length = strlen(words[i]);
        if (word_length > LONGEST) {
            continue;
        }
        /* A third of the letters may be wrong; a word that was cut short or written on is close. */
        const size_t common = least(length, word_length);
        const size_t apart = common >= 3 && strncmp(typed, words[i], common) == 0
                                 ? 1
                                 : distance(typed, length, words[i], word_length);
        if (apart <= (word_length + 1) / 3 && apart < length &&
            (best == NULL || apart < best_distance)) {
            best = words[i];
            best_distance = apart;
        }
    }
    return best;
}
