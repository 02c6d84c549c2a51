/* SPDX-License-Identifier: MIT */
/* Changes to a text, and where they are. */
#ifndef PDL_INSPECT_EDITS_H
#define PDL_INSPECT_EDITS_H

#include "inspect/edit/points.h"

struct pdl_edit {
    uint32_t at, removed; /* bytes of the text */
    uint32_t length;
    const char *inserted;
    uint32_t function;    /* that it belongs to; PDL_NONE: the module */
    bool waits, triggers; /* it inserts such a line; both in this order */
    bool below;           /* the first of them is on the next line */
};

struct pdl_edits {
    struct pdl_edit *edits;
    uint32_t count;
    size_t capacity;
    struct pdl_arena arena;
};

/* What has been found of a body: its instructions are found in their order. */
struct pdl_finder {
    const struct pdl_ptx_module *module;
    const struct pdl_body *body;
    const char *line_start;
    uint32_t line;
};

void pdl_finder_start(struct pdl_finder *finder, const struct pdl_ptx_module *module,
                      const struct pdl_body *body);

/* The opcode of an instruction in the text; NULL if it is not there, for one that is before the last one asked
 * for as well. */
const char *pdl_finder_opcode(struct pdl_finder *finder, uint32_t instruction);

/* Each adds a change of a body, which `function` is the number of. False if it is not possible. */
bool pdl_edits_insert(struct pdl_edits *edits, const struct pdl_ptx_module *module,
                      const struct pdl_body *body, uint32_t function,
                      const struct pdl_points *points);
bool pdl_edits_make_coherent(struct pdl_edits *edits, struct pdl_finder *finder, uint32_t function,
                             uint32_t instruction);

/* Raises .version and .target. */
void pdl_edits_raise(struct pdl_edits *edits, const struct pdl_ptx_module *module);

/* The text with the changes of the functions that `used` says, and of the module, in an arena.
 * Calls `tell` for each line that waits or triggers. */
struct pdl_edits_line {
    uint32_t function, line;
    bool triggers;
};
char *pdl_edits_apply(struct pdl_edits *edits, const char *text, size_t size, const bool *used,
                      void (*tell)(void *context, struct pdl_edits_line line), void *context,
                      struct pdl_arena *arena, size_t *made_size);

#endif /* PDL_INSPECT_EDITS_H */
