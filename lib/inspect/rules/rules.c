/* SPDX-License-Identifier: MIT */
#include "inspect/rules/rules.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/ptx/places.h"

/* The findings of one kernel while they are made. */
struct report {
    struct pdl_ptx_module *module;
    const struct pdl_flow *flow;
    const struct pdl_effects *effects;
    const struct pdl_allows *allows;
    const char *const *names;
    pdl_lint_finding *findings;
    uint32_t count;
    size_t capacity;
    const pdl_inspect_kernel *kernel;
};

static struct pdl_arena *arena_of(const struct report *report)
{
    return &report->module->inspection->arena;
}

/* Whether the options say that the kernel is launched with overlap. */
static bool is_overlapped(const struct report *report)
{
    const pdl_inspect_options *options = report->module->inspection->options;
    for (uint64_t i = 0; i < options->overlapped_count; i++) {
        if (fnmatch(options->overlapped[i], report->kernel->info->name, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- words ------------------------------------------------------------------------------------- */

static const char *ordinal_suffix(uint32_t number)
{
    if (number % 100 >= 11 && number % 100 <= 13) {
        return "th";
    }
    return number % 10 == 1 ? "st" : number % 10 == 2 ? "nd" : number % 10 == 3 ? "rd" : "th";
}

/* The size of the kernel's parameter that a source is in, in bytes. */
static uint32_t parameter_size(const struct report *report, const struct pdl_source *source)
{
    const struct pdl_ptx_function *function = report->flow->body->function;
    return report->module->parameters[function->first_parameter + source->index].size;
}

/* "parameter 'w' (1st)", "the 1st parameter", with where in it if it is a struct. */
static const char *parameter_text(const struct report *report, const struct pdl_source *source)
{
    const char *name = report->names != NULL ? report->names[source->index] : NULL;
    const uint32_t number = source->index + 1;
    const uint32_t size = parameter_size(report, source);
    char within[48] = "";
    if (source->kind == PDL_SOURCE_ADDRESS) {
        /* the parameter itself: a tensor map */
    } else if (size > 8 && source->offset != PDL_OFFSET_UNKNOWN) {
        (void)snprintf(within, sizeof(within), "the pointer at byte %d of ", source->offset);
    } else if (size > 8) {
        (void)snprintf(within, sizeof(within), "a pointer in ");
    }
    return name != NULL ? pdl_arena_format(arena_of(report), "%sparameter '%s' (%u%s)", within,
                                           name, number, ordinal_suffix(number))
                        : pdl_arena_format(arena_of(report), "%sthe %u%s parameter", within, number,
                                           ordinal_suffix(number));
}

/* " through parameter 'w' (1st)", " in the variable x", or "". Also sets the finding's parameter. */
static const char *address_text(const struct report *report, const struct pdl_value *address,
                                pdl_lint_finding *finding)
{
    const struct pdl_name *names = report->module->names.names;
    const struct pdl_source *source = &address->sources[0];
    finding->parameter = -1;
    if (address->count == 0) {
        return "";
    }
    if (source->kind == PDL_SOURCE_VARIABLE) {
        const struct pdl_name *name = &names[source->index];
        return pdl_arena_format(arena_of(report), " in or through the variable '%.*s'",
                                (int)(name->length < 200 ? name->length : 200), name->text);
    }
    if (source->index >= report->flow->body->function->parameter_count) {
        return "";
    }
    const char *parameter = parameter_text(report, source);
    if (address->count == 1 || address->sources[1].index == source->index) {
        finding->parameter = (int32_t)source->index;
        finding->parameter_name = report->names != NULL ? report->names[source->index] : NULL;
    }
    if (parameter == NULL) {
        return NULL;
    }
    return pdl_arena_format(arena_of(report), " through %s%s%s",
                            source->kind == PDL_SOURCE_POINTEE ? "a pointer loaded through " : "",
                            parameter,
                            address->count > 1 || address->untraced ? " or another" : "");
}

/* ---- findings ----------------------------------------------------------------------------------- */

static pdl_status add(struct report *report, pdl_lint_finding finding)
{
    if (finding.message == NULL || finding.advice == NULL ||
        !PDL_ARRAY_ROOM(report->findings, report->count, report->capacity)) {
        return pdl_ptx_no_memory();
    }
    finding.kernel = report->module->inspection->kernel_count - 1;
    report->findings[report->count++] = finding;
    return PDL_SUCCESS;
}

/* A finding at an effect, without what it says. */
static pdl_lint_finding finding_of(const struct pdl_effect *effect, pdl_lint_level level)
{
    return (pdl_lint_finding){.level = level,
                              .line = effect->line,
                              .column = effect->column,
                              .place_count = effect->place_count,
                              .places = effect->places,
                              .count = effect->count};
}

/* A finding at an instruction of the kernel's own body; the kernel's beginning if it is NULL. */
static pdl_status add_at(struct report *report, pdl_lint_rule rule, pdl_lint_level level,
                         const struct pdl_instruction *instruction, uint32_t count,
                         const char *message, const char *advice)
{
    bool ok = true;
    pdl_lint_finding finding = {
        .message = message,
        .advice = advice,
        .rule = rule,
        .level = level,
        .parameter = -1,
        .line = report->kernel->line,
        .column = report->flow->body->function->column,
        .place_count = report->kernel->place != NULL ? 1 : 0,
        .places = &report->kernel->place,
        .count = count > 0 ? count : 1,
    };
    if (instruction != NULL) {
        finding.line = instruction->line;
        finding.column = instruction->column;
        finding.places = pdl_places_chain(report->module, report->flow->body, instruction->place,
                                          &finding.place_count, &ok);
    }
    return ok ? add(report, finding) : pdl_ptx_no_memory();
}

static pdl_status mentioned(struct report *report, pdl_lint_rule rule,
                            const struct pdl_mention *mention, const char *message,
                            const char *advice)
{
    if (mention->count == 0) {
        return PDL_SUCCESS;
    }
    return add_at(report, rule, pdl_lint_rule_level(rule), mention->instruction, mention->count,
                  message, advice);
}

/* ---- accesses ------------------------------------------------------------------------------------ */

/* Whether a read stands above the wait in the code and behind it in the source. */
static bool was_moved(const struct report *report, const struct pdl_effect *effect)
{
    uint32_t count;
    bool ok;
    if (!effect->non_coherent || effect->place_count == 0 || !effect->waits_later ||
        report->effects->wait.count != 1) {
        return false;
    }
    const pdl_inspect_place *const *waits = pdl_places_chain(
        report->module, report->flow->body, report->effects->wait.instruction->place, &count, &ok);
    if (!ok || count == 0) {
        return false;
    }
    const pdl_inspect_place *outer = effect->places[effect->place_count - 1];
    const pdl_inspect_place *wait = waits[count - 1];
    return outer->file != NULL && wait->file != NULL && strcmp(outer->file, wait->file) == 0 &&
           outer->line > wait->line;
}

static const char *verb(const struct pdl_effect *effect)
{
    return effect->kind == PDL_EFFECT_WRITE ? "write" : "read";
}

/* ", or, if …, say so: …", where the pointer is one that can be named. */
static const char *constant_advice(const struct report *report, const pdl_lint_finding *finding,
                                   const struct pdl_value *address)
{
    static const char text[] = ", or, if no kernel in flight writes that memory, say so: ";
    if (finding->parameter < 0) {
        return "";
    }
    if (address->sources[0].kind == PDL_SOURCE_POINTEE) {
        return pdl_arena_format(arena_of(report), "%sPDL_CONSTANT_PARAM() with the pointer", text);
    }
    const struct pdl_source *source = &address->sources[0];
    const uint32_t size = parameter_size(report, source);
    char field[16] = ""; /* a struct's pointers one by one */
    if (size > 8 && source->offset != PDL_OFFSET_UNKNOWN) {
        (void)snprintf(field, sizeof(field), "+%d", source->offset);
    }
    if (finding->parameter_name == NULL) {
        return pdl_arena_format(arena_of(report), "%s--constant-param %d%s", text,
                                finding->parameter + 1, field);
    }
    return pdl_arena_format(arena_of(report), "%sPDL_CONSTANT_PARAM(%s%s), --constant-param %s%s",
                            text, finding->parameter_name, field[0] != '\0' ? "…" : "",
                            finding->parameter_name, field);
}

static const char *before_wait_advice(const struct report *report, const pdl_lint_finding *finding,
                                      const struct pdl_effect *effect)
{
    if (effect->kind == PDL_EFFECT_WRITE) {
        return "wait first: the kernels before this one may still read or write that memory";
    }
    const char *constant = constant_advice(report, finding, &effect->address);
    return constant == NULL ? NULL : pdl_arena_format(arena_of(report), "wait first%s", constant);
}

/* Nobody has waited yet, or a branch led around the wait. */
static pdl_status unwaited_access(struct report *report, const struct pdl_effect *effect,
                                  uint32_t decision)
{
    const uint8_t states = effect->states;
    const bool write = effect->kind == PDL_EFFECT_WRITE;
    pdl_lint_finding finding = finding_of(effect, PDL_LINT_WARNING);
    const char *through = address_text(report, &effect->address, &finding);
    if (through == NULL) {
        return pdl_ptx_no_memory();
    }
    if (report->module->debug && effect->address.untraced) {
        finding.level = PDL_LINT_NOTE;
    }
    /* A branch that all threads take alike, and behind which a wait can still come, decided nothing. */
    const bool undecided = (states & PDL_STATE_DECIDED) && decision != 0 &&
                           effect->divergence == PDL_DIVERGENCE_NONE &&
                           !report->flow->decisions[decision - 1].never;
    if ((states & PDL_STATE_UNWAITED) || undecided ||
        ((states & PDL_STATE_DECIDED) && effect->waits_later)) {
        const bool moved = was_moved(report, effect);
        finding.rule = moved   ? PDL_LINT_NC_AFTER_WAIT
                       : write ? PDL_LINT_WRITE_BEFORE_WAIT
                               : PDL_LINT_READ_BEFORE_WAIT;
        finding.message =
            moved ? pdl_arena_format(arena_of(report),
                                     "a non-coherent load%s stands behind the wait in the source, "
                                     "and the compiler moved it above",
                                     through)
                  : pdl_arena_format(arena_of(report), "%ss global memory%s before the wait",
                                     verb(effect), through);
        finding.advice = moved ? "declare the pointer without __restrict__ (PDL_RESTRICT), or load "
                                 "with PDL_LOAD()"
                               : before_wait_advice(report, &finding, effect);
        return add(report, finding);
    }
    finding.rule = PDL_LINT_PARTIAL_WAIT;
    if (states & PDL_STATE_DECIDED) {
        if (effect->divergence == PDL_DIVERGENCE_NONE && decision != 0 &&
            report->flow->decisions[decision - 1].never) {
            return PDL_SUCCESS; /* the branch is reported */
        }
        finding.message = pdl_arena_format(
            arena_of(report), "some %s %s global memory%s without the wait that others execute",
            effect->divergence == PDL_DIVERGENCE_BLOCK ? "blocks" : "threads", verb(effect),
            through);
    } else if (states & PDL_STATE_MBARRIER) {
        finding.level = write ? PDL_LINT_NOTE : finding.level;
        finding.message = pdl_arena_format(
            arena_of(report),
            "some threads %s global memory%s without the wait that others execute, behind an "
            "mbarrier%s",
            verb(effect), through,
            write ? " that may order them behind those"
                  : ", which orders them only if a thread that waited arrives on it");
    } else {
        finding.level = PDL_LINT_NOTE;
        finding.message = pdl_arena_format(
            arena_of(report),
            "some threads %s global memory%s without the wait that others execute, and rely on a "
            "barrier or a call behind it",
            verb(effect), through);
    }
    finding.advice =
        "let every thread that touches memory of the kernels before execute the wait itself";
    return add(report, finding);
}

static pdl_status unknown_call(struct report *report, const struct pdl_effect *effect)
{
    const struct pdl_name *name =
        effect->name != PDL_NONE ? &report->module->names.names[effect->name] : NULL;
    pdl_lint_finding finding = finding_of(effect, PDL_LINT_NOTE);
    finding.rule = PDL_LINT_READ_BEFORE_WAIT;
    finding.parameter = -1;
    finding.advice = "wait before the call, or look at what is called";
    finding.message =
        name == NULL
            ? "calls through a pointer before the wait: what is called may access memory, and it "
              "may wait"
            : pdl_arena_format(arena_of(report), "calls '%.*s' before the wait, %s",
                               (int)(name->length < 200 ? name->length : 200), name->text,
                               effect->kind == PDL_EFFECT_CUT_CALL
                                   ? "which has more accesses to memory than are followed"
                                   : "whose code is not here: it may access memory, and it may "
                                     "wait");
    return add(report, finding);
}

static pdl_status non_coherent(struct report *report, const struct pdl_effect *effect)
{
    pdl_lint_finding finding = finding_of(effect, PDL_LINT_WARNING);
    finding.rule = PDL_LINT_NC_AFTER_WAIT;
    const char *through = address_text(report, &effect->address, &finding);
    finding.message =
        through == NULL
            ? NULL
            : pdl_arena_format(arena_of(report),
                               "a non-coherent load%s after the wait: it may be moved above it, "
                               "and memory that another kernel writes must not be read so",
                               through);
    const char *constant = constant_advice(report, &finding, &effect->address);
    finding.advice = constant == NULL
                         ? NULL
                         : pdl_arena_format(arena_of(report),
                                            "declare the pointer with PDL_RESTRICT or load with "
                                            "PDL_LOAD()%s",
                                            constant);
    return add(report, finding);
}

static pdl_status accesses(struct report *report)
{
    pdl_status status = PDL_SUCCESS;
    for (uint32_t i = 0; i < report->effects->effect_count && status == PDL_SUCCESS; i++) {
        const struct pdl_effect *effect = &report->effects->effects[i];
        if (effect->kind == PDL_EFFECT_UNKNOWN_CALL || effect->kind == PDL_EFFECT_CUT_CALL) {
            status = unknown_call(report, effect);
        } else if (effect->states & PDL_STATE_NOT_WAITED) {
            status = unwaited_access(report, effect, report->effects->decisions[i]);
        } else {
            status = non_coherent(report, effect);
        }
    }
    return status;
}

/* ---- paths --------------------------------------------------------------------------------------- */

/* Whether a branch tests a flag: `setp.eq` or `setp.ne` of something with 0 or 1. */
static bool tests_a_flag(const struct report *report, const struct pdl_block *block)
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
static bool guards_only_the_wait(const struct report *report, const struct pdl_decision *decision)
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
static pdl_status ways_around(struct report *report)
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
            const bool always = is_overlapped(report);
            status = add_at(
                report, PDL_LINT_NO_WAIT, always ? PDL_LINT_WARNING : PDL_LINT_NOTE, at, 1,
                "the kernel waits only if a condition that is the same for all threads says so",
                "launch it with overlap only where it waits");
            continue;
        }
        const bool no_turn = report->effects->wait_in_loop.count == report->effects->wait.count &&
                             !block->in_loop && !report->module->debug;
        status = add_at(
            report, PDL_LINT_NO_WAIT, touched && !no_turn ? PDL_LINT_WARNING : PDL_LINT_NOTE, at, 1,
            touched ? "all threads may go around the wait here, and then access global memory or "
                      "trigger"
                    : "all threads may go around the wait here: then the next kernel's wait does "
                      "not cover the kernel before this one",
            touched ? "wait on every path, or launch without overlap when this path is taken"
                    : "wait on every path");
    }
    if (exits > 0 && status == PDL_SUCCESS) {
        status = add_at(report, PDL_LINT_EXIT_BEFORE_WAIT, PDL_LINT_NOTE, first_exit, exits,
                        "some threads leave here without the wait",
                        "nothing, as long as others of the grid wait, and these touch no memory of "
                        "the kernels before");
    }
    return status;
}

static pdl_status never_waits(struct report *report)
{
    const struct pdl_mention *trigger = &report->effects->trigger;
    /* What cannot be read may wait; what always traps does nothing. */
    if (report->effects->unknown || report->effects->out == 0) {
        return PDL_SUCCESS;
    }
    if (trigger->count > 0) {
        return add_at(report, PDL_LINT_NO_WAIT, PDL_LINT_WARNING, trigger->instruction,
                      trigger->count,
                      "the kernel triggers and never waits: it does not see what the kernels "
                      "before it write, and the next one's wait does not cover them",
                      "execute PDL_WAIT() on every path, or take the trigger out and launch it "
                      "without overlap");
    }
    const bool overlapped = is_overlapped(report);
    return add_at(report, PDL_LINT_NO_WAIT, overlapped ? PDL_LINT_WARNING : PDL_LINT_NOTE, NULL, 1,
                  overlapped ? "the kernel is launched with overlap and never waits"
                             : "the kernel never waits: it is not written for overlap",
                  overlapped ? "execute PDL_WAIT() on every path, or launch it without overlap"
                             : "launch it without overlap");
}

static pdl_status too_old(struct report *report)
{
    const struct pdl_effects *effects = report->effects;
    const struct pdl_mention *mention =
        effects->wait.count > 0 ? &effects->wait : &effects->trigger;
    if (mention->count > 0) {
        return add_at(report, PDL_LINT_COMPILED_OUT, PDL_LINT_ERROR, mention->instruction,
                      mention->count,
                      "griddepcontrol needs sm_90, and this code is for less: it will not assemble",
                      "compile for sm_90 or newer, or guard the instruction with __CUDA_ARCH__");
    }
    if (is_overlapped(report)) {
        return add_at(report, PDL_LINT_COMPILED_OUT, PDL_LINT_WARNING, NULL, 1,
                      "the kernel is launched with overlap, and compiled for less than sm_90: its "
                      "waits are not in the code",
                      "compile it for sm_90 or newer, or launch it without overlap");
    }
    return PDL_SUCCESS;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static pdl_status waiting_kernel(struct report *report)
{
    const struct pdl_effects *effects = report->effects;
    pdl_status status = accesses(report);
    if (status == PDL_SUCCESS) {
        status = ways_around(report);
    }
    if (status == PDL_SUCCESS) {
        status = mentioned(report, PDL_LINT_TRIGGER_BEFORE_WAIT, &effects->trigger_before_wait,
                           "the trigger comes before the wait: the next kernel may start before "
                           "the kernel before this one has ended",
                           "nothing, as long as what the next kernel does before its wait is right "
                           "even then");
    }
    if (status == PDL_SUCCESS) {
        status = mentioned(report, PDL_LINT_REPEATED_TRIGGER, &effects->repeated_trigger,
                           "a thread may trigger more than once here: only the first counts",
                           "trigger once, at the place that counts");
    }
    if (status == PDL_SUCCESS) {
        status = mentioned(report, PDL_LINT_WAIT_IN_LOOP, &effects->wait_in_loop,
                           "the wait is in a loop: it returns at once after the first time, and "
                           "costs an instruction each time",
                           "wait once in front of the loop, if nothing in it can go before");
    }
    if (status == PDL_SUCCESS) {
        status = mentioned(report, PDL_LINT_BARRIER_BEFORE_WAIT, &effects->barrier_before_wait,
                           "a barrier of the block comes before the wait: no warp goes on to the "
                           "wait before all have come here",
                           "nothing, if it is for what is done before the wait");
    }
    if (status == PDL_SUCCESS && effects->trigger.count == 0 && !effects->unknown) {
        status = add_at(report, PDL_LINT_NO_TRIGGER, PDL_LINT_NOTE, NULL, 1,
                        "the kernel waits and never triggers: the next one starts when all its "
                        "blocks have ended, and only its launch latency is hidden",
                        "execute PDL_LAUNCH_DEPENDENTS() where the next kernel should start");
    }
    return status;
}

static int compare_places(const pdl_lint_finding *a, const pdl_lint_finding *b)
{
    if (a->place_count == 0 || b->place_count == 0) {
        return a->line < b->line ? -1 : a->line > b->line;
    }
    for (uint32_t i = 0; i < a->place_count && i < b->place_count; i++) {
        const pdl_inspect_place *left = a->places[i];
        const pdl_inspect_place *right = b->places[i];
        const int files = left->file == right->file ? 0
                          : left->file == NULL      ? -1
                          : right->file == NULL     ? 1
                                                    : strcmp(left->file, right->file);
        if (files != 0) {
            return files;
        }
        if (left->line != right->line) {
            return left->line < right->line ? -1 : 1;
        }
    }
    return a->place_count < b->place_count ? -1 : a->place_count > b->place_count;
}

/* By what makes two findings one, the worse first. */
static int compare_findings(const void *left, const void *right)
{
    const pdl_lint_finding *a = left;
    const pdl_lint_finding *b = right;
    const int places = compare_places(a, b);
    if (places != 0) {
        return places;
    }
    if (a->rule != b->rule) {
        return a->rule < b->rule ? -1 : 1;
    }
    if (a->parameter != b->parameter) {
        return a->parameter < b->parameter ? -1 : 1;
    }
    if (a->level != b->level) {
        return a->level > b->level ? -1 : 1;
    }
    return a->line < b->line ? -1 : a->line > b->line;
}

static bool are_one(const pdl_lint_finding *a, const pdl_lint_finding *b)
{
    return compare_places(a, b) == 0 && a->rule == b->rule && a->parameter == b->parameter;
}

static int compare_lines(const void *left, const void *right)
{
    const pdl_lint_finding *a = left;
    const pdl_lint_finding *b = right;
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return a->rule < b->rule ? -1 : a->rule > b->rule;
}

/* Joins the findings that are one, and adds them to the inspection by line. */
static pdl_status hand_over(struct report *report)
{
    uint32_t kept = 0;
    if (report->count == 0) {
        return PDL_SUCCESS;
    }
    qsort(report->findings, report->count, sizeof(*report->findings), compare_findings);
    for (uint32_t i = 1; i < report->count; i++) {
        if (are_one(&report->findings[kept], &report->findings[i])) {
            report->findings[kept].count += report->findings[i].count;
        } else {
            report->findings[++kept] = report->findings[i];
        }
    }
    kept++;
    qsort(report->findings, kept, sizeof(*report->findings), compare_lines);
    for (uint32_t i = 0; i < kept; i++) {
        pdl_inspection *inspection = report->module->inspection;
        const uint32_t marker = pdl_allows_find(report->allows, report->flow->body->function->name,
                                                &report->findings[i]);
        if (marker != PDL_NONE) {
            inspection->markers[marker].used++;
            report->findings[i].suppressed = inspection->markers[marker].reason;
        }
        if (!pdl_inspection_add_finding(inspection, &report->findings[i])) {
            return pdl_ptx_no_memory();
        }
    }
    return PDL_SUCCESS;
}

pdl_status pdl_rules_apply(struct pdl_ptx_module *module, const struct pdl_flow *flow,
                           const struct pdl_effects *effects, const struct pdl_allows *allows,
                           const char *const *names)
{
    struct report report = {
        .module = module,
        .flow = flow,
        .effects = effects,
        .allows = allows,
        .names = names,
        .kernel = module->inspection->kernels[module->inspection->kernel_count - 1],
    };
    pdl_status status = PDL_SUCCESS;
    if (module->target < 90) {
        status = too_old(&report);
    } else if (flow->waits) {
        status = waiting_kernel(&report);
    } else {
        status = never_waits(&report);
    }
    if (status == PDL_SUCCESS) {
        status = hand_over(&report);
    }
    free(report.findings);
    return status;
}
