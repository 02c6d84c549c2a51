/* SPDX-License-Identifier: MIT */
/* The kernels and launches that overlap in a step. */
#ifndef PDL_TOOLS_BISECT_SUBSET_H
#define PDL_TOOLS_BISECT_SUBSET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A kernel by name, and which of its launches overlap unless they are kept from it. */
struct suspect {
    char *name;     /* mangled */
    uint32_t *nths; /* rising numbers of launches, as in PDL_WATCH_LAUNCH */
    uint32_t count;
};

/* Suspects by index. */
struct subset {
    const struct suspect *suspects;
    uint32_t count;
    bool *whole;  /* of each: all launches overlap */
    bool **parts; /* of each: NULL, or of each of `nths`: it overlaps */
};

/* None of them. */
struct subset subset_make(const struct suspect *suspects, uint32_t count);
void subset_free(struct subset *subset);

/* Names it: `0-31 40 41@5-9,20-`: by index, and by numbers of launches where not all overlap; `none`. The caller frees it. */
char *subset_text(const struct subset *subset);

/* A suspect's part as numbers of launches, `5-9,20-`. Without an end where the last one that is known belongs to it. */
void subset_put_numbers(FILE *to, const struct suspect *suspect, const bool *part);

/* Suspects of which a launch overlaps, and launches. */
uint32_t subset_kernels(const struct subset *subset);
uint64_t subset_launches(const struct subset *subset);

enum subset_base {
    SUBSET_ALL_OFF,      /* what is not in the set does not overlap, suspected or not */
    SUBSET_SUSPECTS_OFF, /* likewise, and what is not suspected stays as the program has it */
    SUBSET_ADDED /* what is in the set gets an overlap, all else stays as the program has it */
};

/* The file of rules, see watch/change.h. */
void subset_put_rules(FILE *to, const struct subset *subset, enum subset_base base, bool delay);

/* Whether rules can name a kernel exactly. */
bool subset_can_name(const char *name);

#endif /* PDL_TOOLS_BISECT_SUBSET_H */
