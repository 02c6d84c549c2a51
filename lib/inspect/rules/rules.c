/* SPDX-License-Identifier: MIT */
#include "inspect/rules/rules.h"

#include "inspect/rules/report.h"

static void waiting_kernel(struct pdl_report *report)
{
    const struct pdl_effects *effects = report->effects;
    pdl_report_accesses(report);
    pdl_report_ways_around(report);
    pdl_report_add_mention(
        report, PDL_LINT_TRIGGER_BEFORE_WAIT, &effects->trigger_before_wait,
        "the trigger comes before the wait: the next kernel may start before the previous one "
        "has ended",
        "no change is needed if the next kernel waits before it touches what others write: its "
        "wait also covers the stores after a trigger");
    if (effects->trigger.count == 0 && !effects->unknown) {
        pdl_report_add_at(
            report, PDL_LINT_NO_TRIGGER, PDL_LINT_NOTE, NULL, 1,
            "the kernel waits and never triggers: the next one starts when all its "
            "blocks have ended, and only its launch latency is hidden",
            "execute PDL_LAUNCH_DEPENDENTS() or cudaTriggerProgrammaticLaunchCompletion() where "
            "the next kernel should start");
    }
}

void pdl_rules_apply(struct pdl_ptx_module *module, const struct pdl_flow *flow,
                     const struct pdl_effects *effects, const struct pdl_allows *allows,
                     const char *const *names)
{
    struct pdl_report report = {
        .module = module,
        .flow = flow,
        .effects = effects,
        .allows = allows,
        .names = names,
        .kernel = module->inspection->kernels[module->inspection->kernel_count - 1],
    };
    report.launched = pdl_launched_find(module->inspection, report.kernel->info->name);
    if (module->target < 90) {
        pdl_report_too_old(&report);
    } else if (flow->waits) {
        waiting_kernel(&report);
    } else {
        pdl_report_never_waits(&report);
    }
    pdl_report_hand_over(&report);
    pdl_give_back(report.findings);
    pdl_give_back(report.ways.slots);
}
