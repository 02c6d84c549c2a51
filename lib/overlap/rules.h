/* SPDX-License-Identifier: MIT */
/* From what is known of two launches to the conditions of their overlap.
 *
 * Like occupancy.h free of the driver: pdl_overlap_query() fills the input from a device, `pdltool
 * overlap` from its command line. */
#ifndef PDL_LIB_OVERLAP_RULES_H
#define PDL_LIB_OVERLAP_RULES_H

#include <pdl/overlap.h>

#include "os/compiler.h"
#include "overlap/occupancy.h"

/* One of the two launches. */
struct pdl_overlap_side {
    const char *name;
    uint64_t blocks;
    struct pdl_block block;
    int32_t code;             /* 10 * major + minor that it was compiled for; -1: not known */
    uint32_t waits;           /* pdl_known */
    uint32_t triggers;        /* pdl_known */
    uint32_t cluster;         /* blocks of a cluster; 0 or 1: none */
    int32_t driver_per_sm;    /* what the driver's calculator says; -1: not asked */
    const char *refused;      /* why its code forbids such a launch, a clause; NULL: it does not */
    pdl_condition refused_by; /* THREADS or CLUSTER */
    pdl_reason reason;        /* what pdl_launch_decide() says; 0: not asked */
    bool cooperative;
    bool block_known; /* registers and shared memory hold */
};

struct pdl_overlap_input {
    struct pdl_sm sm;
    uint32_t sms;
    int32_t device; /* ordinal; -1: none */
    const char *device_name;
    struct pdl_overlap_side primary;
    struct pdl_overlap_side secondary;
    bool disabled;        /* overlap, for the process */
    bool requested;       /* by the secondary's descriptor */
    uint32_t same_stream; /* pdl_known */
    bool by_event;        /* streams differ, and the primary records a trigger_event */
};

/* Fills all of a report but its size. */
PDL_COLD void pdl_overlap_judge(const struct pdl_overlap_input *input, pdl_overlap_report *report);

#endif /* PDL_LIB_OVERLAP_RULES_H */
