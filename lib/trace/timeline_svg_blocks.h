/* SPDX-License-Identifier: MIT */
/* The blocks in the picture of a timeline. */
#ifndef PDL_LIB_TIMELINE_SVG_BLOCKS_H
#define PDL_LIB_TIMELINE_SVG_BLOCKS_H

#include "trace/timeline_pen.h"

/* A track's blocks, in rows of SMs below y. */
pdl_status pdl_timeline_svg_blocks(const struct svg *svg, uint32_t track, double y);

#endif /* PDL_LIB_TIMELINE_SVG_BLOCKS_H */
