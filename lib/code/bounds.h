/* SPDX-License-Identifier: MIT */
/* What the code of a kernel says of its launches: __launch_bounds__, __cluster_dims__, __block_size__. */
#ifndef PDL_CODE_BOUNDS_H
#define PDL_CODE_BOUNDS_H

#include <pdl/pdl.h>

#include "code/lexer.h"
#include "code/sass.h"

/* 0: the code does not say it. */
struct pdl_bounds {
    uint32_t max_threads; /* of a block: the product of .maxntid or .reqntid */
    uint32_t block[3];    /* .reqntid */
    uint32_t cluster[3];  /* .reqnctapercluster */
    uint32_t max_cluster; /* .maxclusterrank */
    uint32_t min_blocks;  /* .minnctapersm; machine code does not keep it */
    bool explicit_cluster;
    bool blocks_are_clusters; /* a grid counts clusters */
};

/* Of these, what a driver does not tell of a kernel. */
struct pdl_untold_bounds {
    uint16_t block[3];
    uint16_t max_cluster;
    uint8_t counts_clusters; /* a pdl_known: blocks_are_clusters */
};

struct pdl_untold_bounds pdl_bounds_untold(const struct pdl_bounds *bounds);

/* Reads the directive that the lexer is at, and its numbers. False, without a step, where it is another one. */
bool pdl_bounds_directive(struct pdl_bounds *bounds, struct pdl_lexer *lexer);

/* The same of a record of .nv.info.NAME. */
void pdl_bounds_record(struct pdl_bounds *bounds, const struct pdl_info_record *record);

#endif /* PDL_CODE_BOUNDS_H */
