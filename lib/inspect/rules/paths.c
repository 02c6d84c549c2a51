/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "inspect/rules/report.h"

/* Whether a branch tests a flag: `setp.eq` or `setp.ne` of something with 0 or 1. */
static bool tests_a_flag(const struct pdl_report *report, const struct pdl_block *block)
{
    const struct pdl_values *values = report->flow->values;
    const struct pdl_body *body = report->flow->body;
    const uint32_t guard =
        block->branch != PDL_NONE ? body->instructions[block->branch].guard : PDL_NONE;
    if (guard == PDL_NONE ||
        values->first_definition[guard + 1] - values->first_definition[guard] != 1) {
        return false;
    }
    const struct pdl_instruction *test =
        &body->instructions[values->definitions[values->first_definition[guard]]];
    const struct pdl_name *name = &report->module->names.names[test->name];
    if (test->operand_count != 3) {
        return false;
    }
    const struct pdl_operand *last = &body->operands[test->first_operand + 2];
    return name->length > 7 &&
           (memcmp(name->text, "setp.eq", 7) == 0 || memcmp(name->text, "setp.ne", 7) == 0) &&
           last->kind == PDL_OPERAND_NUMBER && (last->value == 0 || last->value == 1);
}

/* `if (overlapped) { wait }`: the launch is the other half of it, and not in this code. */
static bool guards_only_the_wait(const struct pdl_report *report,
                                 const struct pdl_decision *decision)
{
    const struct pdl_cfg *cfg = report->flow->cfg;
    const struct pdl_block *block = &cfg->blocks[decision->block];
    if (decision->call || block->successor_count != 2 || decision->edge > 1 ||
        !tests_a_flag(report, block)) {
        return false;
    }
    const uint32_t around = cfg->successors[block->first_successor + decision->edge];
    const uint32_t other = cfg->successors[block->first_successor + 1 - decision->edge];
    uint32_t at = other;
    bool waits = false;
    /* A register may be set on the way, as compilers do where paths meet again. */
    for (unsigned blocks = 0; at != around && blocks < 3; blocks++) {
        const struct pdl_block *way = &cfg->blocks[at];
        for (uint32_t i = 0; i < way->count; i++) {
            const uint8_t op = report->flow->body->instructions[way->first + i].opcode.op;
            waits = waits || op == PDL_OP_WAIT;
            if (op != PDL_OP_WAIT && op != PDL_OP_CARRY && op != PDL_OP_SCALE &&
                op != PDL_OP_BRANCH) {
                return false;
            }
        }
        if (way->successor_count != 1 || way->count > 4) {
            return false;
        }
        at = cfg->successors[way->first_successor];
    }
    return waits && at == around;
}

/* The branches that lead around the wait for good. */
pdl_status pdl_report_ways_around(struct pdl_report *report)
{
    pdl_status status = PDL_SUCCESS;
    const struct pdl_instruction *first_exit = NULL;
    uint32_t exits = 0;
    for (uint32_t i = 0; i < report->flow->decision_count && status == PDL_SUCCESS; i++) {
        const struct pdl_decision *decision = &report->flow->decisions[i];
        const struct pdl_block *block = &report->flow->cfg->blocks[decision->block];
        const bool touched = report->effects->touched[i];
        const struct pdl_instruction *at =
            decision->call              ? pdl_flow_last(report->flow, decision->block)
            : block->branch != PDL_NONE ? &report->flow->body->instructions[block->branch]
                                        : NULL;
        if (!decision->never || !decision->reached || at == NULL) {
            continue;
        }
        if (decision->divergence != PDL_DIVERGENCE_NONE) {
            if (!touched && exits++ == 0) {
                first_exit = at;
            }
            continue;
        }
        /* Around a loop that waits in each turn: there may be no turn, but who would launch that? */
        if (guards_only_the_wait(report, decision)) {
            /* Launches that were seen may well be those that set the flag. */
            const bool always = report->launched == PDL_HOW_SAID_OVERLAPPED;
            status = pdl_report_add_at(
                report, PDL_LINT_NO_WAIT, always ? PDL_LINT_WARNING : PDL_LINT_NOTE, at, 1,
                "the kernel waits only if a condition that is the same for all threads says so",
                "launch it with overlap only where it waits");
            continue;
        }
        const bool no_turn = report->effects->wait_in_loop.count == report->effects->wait.count &&
                             !block->in_loop && !report->module->debug;
        status = pdl_report_add_at(
            report, PDL_LINT_NO_WAIT, touched && !no_turn ? PDL_LINT_WARNING : PDL_LINT_NOTE, at, 1,
            touched ? "all threads may go around the wait here, and then access global memory or "
                      "trigger"
                    : "all threads may go around the wait here: then the next kernel's wait does "
                      "not cover the kernel before this one",
            pdl_arena_format(pdl_report_arena(report), "execute %s on every path%s",
                             pdl_report_idiom(report)->wait,
                             touched ? ", or launch without overlap when this path is taken" : ""));
    }
    if (exits > 0 && status == PDL_SUCCESS) {
        status = pdl_report_add_at(
            report, PDL_LINT_EXIT_BEFORE_WAIT, PDL_LINT_NOTE, first_exit, exits,
            "some threads leave here without the wait",
            "nothing, as long as others of the grid wait, and these touch no memory of "
            "the kernels before");
    }
    return status;
}

pdl_status pdl_report_never_waits(struct pdl_report *report)
{
    const struct pdl_mention *trigger = &report->effects->trigger;
    /* What cannot be read may wait; what always traps does nothing. */
    if (report->effects->unknown || report->effects->out == 0) {
        return PDL_SUCCESS;
    }
    if (trigger->count > 0) {
        return pdl_report_add_at(
            report, PDL_LINT_NO_WAIT,
            report->launched == PDL_HOW_SEEN_OVERLAPPED ? PDL_LINT_ERROR : PDL_LINT_WARNING,
            trigger->instruction, trigger->count,
            "the kernel triggers and never waits: it does not see what the kernels "
            "before it write, and the next one's wait does not cover them",
            pdl_arena_format(pdl_report_arena(report),
                             "execute %s on every path, or take the trigger out and launch it "
                             "without overlap",
                             pdl_report_idiom(report)->wait));
    }
    static const struct {
        pdl_lint_level level;
        const char *message;
    } kinds[] = {
        [PDL_HOW_UNKNOWN] = {PDL_LINT_NOTE,
                             "the kernel never waits: it is not written for overlap"},
        [PDL_HOW_PLAIN] = {PDL_LINT_NOTE, "the kernel never waits: it is not written for overlap"},
        [PDL_HOW_SAID_OVERLAPPED] = {PDL_LINT_WARNING,
                                     "the kernel is launched with overlap and never waits"},
        [PDL_HOW_SEEN_OVERLAPPED] = {PDL_LINT_ERROR,
                                     "the kernel was launched with overlap and never waits"},
    };
    const pdl_lint_level level = kinds[report->launched].level;
    return pdl_report_add_at(
        report, PDL_LINT_NO_WAIT, level, NULL, 1, kinds[report->launched].message,
        level > PDL_LINT_NOTE
            ? pdl_arena_format(pdl_report_arena(report),
                               "execute %s on every path, or launch it without overlap",
                               pdl_report_idiom(report)->wait)
            : "launch it without overlap");
}

pdl_status pdl_report_too_old(struct pdl_report *report)
{
    const struct pdl_effects *effects = report->effects;
    const struct pdl_mention *mention =
        effects->wait.count > 0 ? &effects->wait : &effects->trigger;
    if (mention->count > 0) {
        return pdl_report_add_at(
            report, PDL_LINT_COMPILED_OUT, PDL_LINT_ERROR, mention->instruction, mention->count,
            "griddepcontrol needs sm_90, and this code is for less: it will not assemble",
            "compile for sm_90 or newer, or guard the instruction with __CUDA_ARCH__");
    }
    if (report->launched == PDL_HOW_SAID_OVERLAPPED) {
        return pdl_report_add_at(
            report, PDL_LINT_COMPILED_OUT, PDL_LINT_WARNING, NULL, 1,
            "the kernel is launched with overlap, and compiled for less than sm_90: its "
            "waits are not in the code",
            "compile it for sm_90 or newer, or launch it without overlap");
    }
    return PDL_SUCCESS;
}
