/* SPDX-License-Identifier: MIT */
/* Finding a condition or a resource in the report of an overlap query: the test fails without it. */
#ifndef PDL_TEST_OVERLAP_SUPPORT_H
#define PDL_TEST_OVERLAP_SUPPORT_H

#include <pdl/overlap.h>

#include "support.h"

static inline const pdl_condition_report *condition_of(const pdl_overlap_report *report,
                                                       pdl_condition condition)
{
    for (uint32_t i = 0; i < report->condition_count; i++) {
        if (report->conditions[i].condition == (uint32_t)condition) {
            return &report->conditions[i];
        }
    }
    fail_msg("there is no condition %s", pdl_condition_name(condition));
    return NULL;
}

static inline const pdl_resource_report *resource_of(const pdl_overlap_report *report,
                                                     pdl_condition condition)
{
    for (uint32_t i = 0; i < report->resource_count; i++) {
        if (report->resources[i].condition == (uint32_t)condition) {
            return &report->resources[i];
        }
    }
    fail_msg("there is no resource %s", pdl_condition_name(condition));
    return NULL;
}

#endif /* PDL_TEST_OVERLAP_SUPPORT_H */
