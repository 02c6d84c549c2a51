/* SPDX-License-Identifier: MIT */
#include "bisect/subset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

struct subset subset_make(const struct suspect *suspects, uint32_t count)
{
    struct subset subset = {.suspects = suspects,
                            .count = count,
                            .whole = allocate((size_t)count + 1, sizeof(bool)),
                            .parts = allocate((size_t)count + 1, sizeof(bool *))};
    for (uint32_t i = 0; i < count; i++) {
        subset.whole[i] = false;
        subset.parts[i] = NULL;
    }
    return subset;
}

void subset_free(struct subset *subset)
{
    for (uint32_t i = 0; i < subset->count; i++) {
        free(subset->parts[i]);
    }
    free(subset->whole);
    free((void *)subset->parts);
    *subset = (struct subset){0};
}

/* How many launches of a suspect overlap. */
static uint32_t overlapping(const struct subset *subset, uint32_t index)
{
    if (subset->whole[index] || subset->parts[index] == NULL) {
        return subset->whole[index] ? subset->suspects[index].count : 0;
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i < subset->suspects[index].count; i++) {
        sum += subset->parts[index][i];
    }
    return sum;
}

static bool is_whole(const struct subset *subset, uint32_t index)
{
    return subset->whole[index] || (subset->parts[index] != NULL &&
                                    overlapping(subset, index) == subset->suspects[index].count);
}

uint32_t subset_kernels(const struct subset *subset)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < subset->count; i++) {
        sum += overlapping(subset, i) > 0;
    }
    return sum;
}

uint64_t subset_launches(const struct subset *subset)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < subset->count; i++) {
        sum += overlapping(subset, i);
    }
    return sum;
}

void subset_put_numbers(FILE *to, const struct suspect *suspect, const bool *part)
{
    const char *comma = "";
    for (uint32_t i = 0; i < suspect->count; i++) {
        if (!part[i]) {
            continue;
        }
        const uint32_t first = i;
        while (i + 1 < suspect->count && part[i + 1]) {
            i++; /* launches in between that are not in the list have no overlap to take out */
        }
        (void)fprintf(to, "%s%" PRIu32, comma, suspect->nths[first]);
        if (i + 1 == suspect->count) {
            (void)putc('-', to); /* another run may launch more */
        } else if (i > first) {
            (void)fprintf(to, "-%" PRIu32, suspect->nths[i]);
        }
        comma = ",";
    }
}

char *subset_text(const struct subset *subset)
{
    char *text = NULL;
    size_t size = 0;
    const char *blank = "";
    FILE *const to = memory_open(&text, &size);
    for (uint32_t i = 0; i < subset->count; i++) {
        if (overlapping(subset, i) == 0) {
            continue;
        }
        (void)fprintf(to, "%s%" PRIu32, blank, i);
        if (is_whole(subset, i)) {
            const uint32_t first = i;
            while (i + 1 < subset->count && is_whole(subset, i + 1)) {
                i++;
            }
            if (i > first) {
                (void)fprintf(to, "-%" PRIu32, i);
            }
        } else {
            (void)putc('@', to);
            subset_put_numbers(to, &subset->suspects[i], subset->parts[i]);
        }
        blank = " ";
    }
    if (*blank == '\0') {
        (void)fputs("none", to);
    }
    memory_close(to);
    return text;
}

static void put_rule(FILE *to, const char *verb, const struct subset *subset, uint32_t index)
{
    (void)fprintf(to, "%s =%s", verb, subset->suspects[index].name);
    if (!is_whole(subset, index)) {
        (void)putc('@', to);
        subset_put_numbers(to, &subset->suspects[index], subset->parts[index]);
    }
    (void)putc('\n', to);
}

void subset_put_rules(FILE *to, const struct subset *subset, enum subset_base base, bool delay)
{
    if (base == SUBSET_ALL_OFF) {
        (void)fputs("off *\n", to);
    }
    for (uint32_t i = 0; i < subset->count; i++) {
        if (base == SUBSET_SUSPECTS_OFF && !is_whole(subset, i)) {
            (void)fprintf(to, "off =%s\n", subset->suspects[i].name);
        }
        if (overlapping(subset, i) > 0) {
            put_rule(to, base == SUBSET_ADDED ? "on" : "keep", subset, i);
            if (delay) {
                put_rule(to, "delay", subset, i);
            }
        }
    }
}

bool subset_can_name(const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        if ((unsigned char)*c <= ' ' || *c == '@' || *c == 0x7f) {
            return false;
        }
    }
    return *name != '\0';
}
