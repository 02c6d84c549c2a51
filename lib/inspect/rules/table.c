/* SPDX-License-Identifier: MIT */
/* The rules' ids, levels and summaries, from the list in the header. */
#include <string.h>

#include <pdl/inspect.h>

struct rule {
    const char *id;
    const char *summary;
    pdl_lint_level level;
};

static const struct rule rules[PDL_LINT_RULE_COUNT_] = {
#define PDL_LINT_ROW_(name, value, id_, level_, summary_)                                          \
    [value] = {.id = (id_), .summary = (summary_), .level = (level_)},
    PDL_LINT_RULE_LIST(PDL_LINT_ROW_)
#undef PDL_LINT_ROW_
};

static const struct rule *rule_of(pdl_lint_rule rule)
{
    static const struct rule none = {
        .id = "unknown", .summary = "not a rule of this library", .level = PDL_LINT_WARNING};
    const unsigned index = (unsigned)rule;
    return index < PDL_LINT_RULE_COUNT_ && rules[index].id != NULL ? &rules[index] : &none;
}

const char *pdl_lint_rule_id(pdl_lint_rule rule)
{
    return rule_of(rule)->id;
}

const char *pdl_lint_rule_summary(pdl_lint_rule rule)
{
    return rule_of(rule)->summary;
}

pdl_lint_level pdl_lint_rule_level(pdl_lint_rule rule)
{
    return rule_of(rule)->level;
}

int32_t pdl_lint_rule_find(const char *id)
{
    for (int32_t i = 1; id != NULL && i < PDL_LINT_RULE_COUNT_; i++) {
        if (rules[i].id != NULL && strcmp(rules[i].id, id) == 0) {
            return i;
        }
    }
    return 0;
}

const char *pdl_lint_level_name(pdl_lint_level level)
{
    switch (level) {
    case PDL_LINT_NOTE:
        return "note";
    case PDL_LINT_WARNING:
        return "warning";
    case PDL_LINT_ERROR:
        return "error";
    default:
        return "unknown";
    }
}
