/* SPDX-License-Identifier: MIT */
/* Places in the source: from .loc to what a report shows. */
#ifndef PDL_INSPECT_PLACES_H
#define PDL_INSPECT_PLACES_H

#include "inspect/ptx/body.h"

/* The chain of a place of a body, innermost first, in the inspection's arena. *count is 0 and the
 * result NULL if there is none; *ok is false if there is no memory. */
const pdl_inspect_place *const *pdl_places_chain(struct pdl_ptx_module *module,
                                                 const struct pdl_body *body, uint32_t place,
                                                 uint32_t *count, bool *ok);

/* Brings the files into the order of their numbers, once all of them are read. */
void pdl_places_sort_files(struct pdl_ptx_module *module);

#endif /* PDL_INSPECT_PLACES_H */
