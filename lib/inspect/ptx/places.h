/* SPDX-License-Identifier: MIT */
/* Places in the source: from .loc to what a report shows. */
#ifndef PDL_INSPECT_PLACES_H
#define PDL_INSPECT_PLACES_H

#include "inspect/ptx/body.h"

/* Places in a chain. Of a longer one both ends are kept, and between them one without a file says
 * that some are left out. */
#define PDL_CHAIN_MAX 17u

/* The chain of a place of a body, innermost first, in the inspection's arena. *count is 0 and the
 * result NULL if there is none. */
const pdl_inspect_place *const *pdl_places_chain(struct pdl_ptx_module *module,
                                                 const struct pdl_body *body, uint32_t place,
                                                 uint32_t *count);

/* The outer end of the first chain of a body, or NULL. */
const pdl_inspect_place *pdl_places_first(struct pdl_ptx_module *module,
                                          const struct pdl_body *body);

/* A chain and what is around it as one. */
const pdl_inspect_place *const *pdl_places_join(struct pdl_arena *arena,
                                                const pdl_inspect_place *const *inner,
                                                uint32_t inner_count,
                                                const pdl_inspect_place *const *outer,
                                                uint32_t outer_count, uint32_t *count);

/* Brings the files into the order of their numbers, once all of them are read. */
void pdl_places_sort_files(struct pdl_ptx_module *module);

#endif /* PDL_INSPECT_PLACES_H */
