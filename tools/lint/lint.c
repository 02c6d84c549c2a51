/* SPDX-License-Identifier: MIT */
/* pdltool lint: the command. */
#include "lint/lint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/memory.h"
#include "common/print.h"
#include "lint/baseline.h"
#include "lint/options.h"
#include "lint/setup.h"
#include "lint/sources.h"
#include "lint/statements.h"

static int exit_code(const struct lint_report *report, int fail_on)
{
    if (report->inputs.incomplete) {
        return EXIT_USAGE;
    }
    if (report->require_checked && !lint_is_all_checked(report)) {
        return EXIT_FINDING;
    }
    for (size_t i = 0; i < report->entry_count; i++) {
        const pdl_lint_finding *finding = report->entries[i].finding;
        if (finding->suppressed == NULL && finding->level >= fail_on) {
            return EXIT_FINDING;
        }
    }
    for (size_t i = 0; i < report->allowance_count && fail_on == PDL_LINT_NOTE; i++) {
        if (lint_is_unused(report, &report->allowances[i])) {
            return EXIT_FINDING;
        }
    }
    return report->unchecked.none && report->entry_count == 0 ? EXIT_USAGE : EXIT_DONE;
}

/* ---- the command ------------------------------------------------------------------------------*/

/* What decides which findings count; NULL: nothing does but the code. */
struct judges {
    const struct lint_options *options;
    struct lint_setups *setups;
    struct lint_baseline baseline;
};

/* With the baselines of the options. False where one cannot be written. */
static bool compare(struct judges *judges, const struct lint_report *report, int fail_on)
{
    const struct lint_options *const options = judges->options;
    const int level = fail_on < (int)report->level ? fail_on : (int)report->level;
    if (options->baseline != NULL) {
        lint_baseline_apply(&judges->baseline, report, options->baseline);
    }
    return options->write_baseline == NULL ||
           lint_baseline_write(report, options->write_baseline, level);
}

/* All that the reports need of what was read. False where that cannot be written. */
static bool judge(struct lint_report *report, struct judges *judges, int fail_on)
{
    bool done = true;
    report->judged = !report->inputs.incomplete;
    if (judges != NULL) {
        lint_setups_apply(&report->inputs);
    }
    lint_gather_unchecked(report);
    lint_gather_findings(report);
    lint_gather_allowances(report);
    if (judges != NULL) {
        report->unchecked.launched = lint_setups_count(judges->setups, &report->inputs);
        lint_setups_tell(judges->setups, report);
        done = compare(judges, report, fail_on);
    }
    report->exit_code = exit_code(report, fail_on);
    return done;
}

static int print(const struct lint_report *report, bool (*form)(const struct lint_report *report))
{
    if (!form(report) || fflush(stdout) != 0) {
        print_error("cannot write the report: %s", strerror(errno));
        return EXIT_USAGE;
    }
    return report->exit_code;
}

static void free_report(struct lint_report *report)
{
    inputs_free(&report->inputs);
    lint_source_text_free(report->sources);
    free(report->entries);
    free(report->items);
    free(report->allowances);
}

static int run(struct lint_report *report, struct judges *judges, struct lint_options *options)
{
    options->inspect.flags = options->no_source ? PDL_INSPECT_NO_SOURCES : 0;
    report->level = options->level;
    report->with_fingerprints = options->baseline != NULL || options->write_baseline != NULL ||
                                options->print != lint_print_text;
    report->sources = options->no_source ? NULL : lint_source_text_new();
    if (!lint_setups_begin(&judges->setups, options, &report->inputs) ||
        (options->baseline != NULL && !lint_baseline_read(&judges->baseline, options->baseline))) {
        return EXIT_USAGE;
    }
    lint_read_files(options, &report->inputs);
    if (lint_setups_failed(judges->setups)) {
        return EXIT_USAGE;
    }
    report->require_checked = options->require_checked;
    if (!judge(report, judges, options->fail_on)) {
        return EXIT_USAGE;
    }
    if (options->write_baseline != NULL) {
        return report->exit_code == EXIT_USAGE ? EXIT_USAGE : EXIT_DONE;
    }
    return print(report, options->print);
}

int lint_ptx(const char *name, const char *ptx, size_t size, const char *const *constant_params,
             size_t constant_param_count)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    options.constant_params = constant_params;
    options.constant_param_count = constant_param_count;
    struct lint_report report = {.inputs = {.options = &options},
                                 .level = PDL_LINT_WARNING,
                                 .sources = lint_source_text_new(),
                                 .by_rtc = true};
    inputs_read_memory(&report.inputs, name, ptx, size);
    (void)judge(&report, NULL, PDL_LINT_WARNING);
    const int code = print(&report, lint_print_text);
    free_report(&report);
    return code;
}

int command_lint(int argc, char **argv)
{
    struct lint_options options = {.fail_on = PDL_LINT_WARNING,
                                   .level = PDL_LINT_WARNING,
                                   .print = lint_print_text,
                                   .inspect = PDL_INSPECT_OPTIONS_INIT};
    struct lint_report report = {0};
    struct judges judges = {.options = &options};
    int code = EXIT_USAGE;
    if (lint_read_options(&options, argc, argv)) {
        code = options.done ? EXIT_DONE : run(&report, &judges, &options);
    }
    free_report(&report); /* before the suppressions of project files */
    lint_baseline_free(&judges.baseline);
    lint_setups_free(judges.setups);
    lint_free_options(&options);
    return code;
}
