/* SPDX-License-Identifier: MIT */
/* The analysis of one PTX text while it goes on. */
#ifndef PDL_INSPECT_ANALYSIS_H
#define PDL_INSPECT_ANALYSIS_H

#include "inspect/flow/splice.h"
#include "inspect/flow/targets.h"
#include "inspect/rules/markers.h"
#include "inspect/rules/source.h"

/* A function that is called with constants is analysed for them, and what it calls with constants as
 * well, so deep. */
#define PDL_SPECIAL_DEPTH 6

/* Everything that is used again from one function to the next. */
struct pdl_work {
    struct pdl_body body;
    struct pdl_cfg cfg;
    struct pdl_values values;
    struct pdl_folding folding;
    struct pdl_flow flow;
    struct pdl_effects effects;
};

struct analysis {
    struct pdl_ptx_module module;
    struct pdl_work work[PDL_SPECIAL_DEPTH + 1];
    struct pdl_targets targets;
    struct pdl_splice splice;
    uint64_t special_bytes; /* of code that was analysed for constants */
    struct pdl_allows allows;
    struct pdl_source_file source;
};

/* Starts on a text, whose bytes stay where they are. */
struct analysis *pdl_analysis_open(pdl_inspection *inspection, const char *text, size_t size,
                                   uint32_t image);

/* The names of a kernel's parameters: from its source, or, in PTX that was written by hand, from that. NULL
 * where they are not known. */
const char *const *pdl_parameter_names(struct analysis *analysis,
                                       const struct pdl_ptx_function *function, const char *kernel,
                                       const pdl_inspect_place *place);

/* Analyses one function, called with `arguments` or, where that is NULL, with any: the results are in
 * work[depth]. Those that it calls have their summaries. */
void pdl_function_analyse(struct analysis *analysis, const struct pdl_ptx_function *function,
                          const struct pdl_arguments *arguments, unsigned depth);

/* Makes the summaries of all device functions, from callees to callers. */
void pdl_functions_summarize(struct analysis *analysis);

#endif /* PDL_INSPECT_ANALYSIS_H */
