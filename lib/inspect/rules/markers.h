/* SPDX-License-Identifier: MIT */
/* What the device header's markers say: findings that are allowed, memory that nobody writes. */
#ifndef PDL_INSPECT_MARKERS_H
#define PDL_INSPECT_MARKERS_H

#include "inspect/flow/effects.h"

/* The markers PDL_LINT_ALLOW() of the device header, by where they count: "FILE:LINE RULE", or, without
 * line information, "kernel NUMBER RULE" with the number of the kernel's name. */
struct pdl_allows {
    struct pdl_names keys;
    uint32_t *markers; /* in the inspection, by key */
    uint32_t count;
    size_t capacity;
};

/* Notes the markers PDL_LINT_ALLOW() in a body. */
void pdl_allows_note(struct pdl_allows *allows, struct pdl_ptx_module *module,
                     struct pdl_body *body);

/* The marker, in the inspection, that allows a finding of the kernel of a name; or PDL_NONE. */
uint32_t pdl_allows_find(const struct pdl_allows *allows, uint32_t kernel,
                         const pdl_lint_finding *finding);

/* The pointers of a body whose memory nobody writes: what its markers name, and the options. */
struct pdl_constants {
    struct pdl_constant_source {
        struct pdl_source source;
        uint32_t size;  /* the bytes from its offset on, of an option; 0: those of one pointer */
        bool parameter; /* whole, of an option: whatever the offset */
    } * sources;
    uint32_t count;
    size_t capacity;
};

/* Finds them. `names` are the parameters' names or NULL. The arrays are used again. */
void pdl_constants_find(struct pdl_constants *constants, const struct pdl_ptx_module *module,
                        const struct pdl_body *body, const struct pdl_values *values,
                        const char *const *names);
/* Whether an address is of such memory only. */
bool pdl_constants_have(const struct pdl_constants *constants, const struct pdl_value *address);

/* Takes out the reads of memory that a marker PDL_CONSTANT_PARAM() in the body, or an option, says
 * nobody writes. `names` are the parameters' names or NULL. */
void pdl_constants_filter(struct pdl_effects *effects, const struct pdl_ptx_module *module,
                          const struct pdl_flow *flow, const char *const *names);

#endif /* PDL_INSPECT_MARKERS_H */
