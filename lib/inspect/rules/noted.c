/* SPDX-License-Identifier: MIT */
/* What is kept of a kernel's PTX to compare its machine code with. */
#include <string.h>

#include "inspect/ptx/places.h"
#include "inspect/rules/machine.h"

/* Whether an instruction accesses global memory. *table: it loads from a table that nobody writes. */
static bool is_access(const struct pdl_flow *flow, const struct pdl_instruction *instruction,
                      bool *table)
{
    const struct pdl_opcode *opcode = &instruction->opcode;
    *table = false;
    if (opcode->reads && opcode->non_coherent) {
        const struct pdl_operand *operand =
            pdl_address_operand(flow->body, instruction, opcode->read_slot);
        if (operand != NULL) {
            const struct pdl_value value = pdl_operand_value(flow->values, flow->body, operand);
            *table = pdl_effects_in_own_table(flow->module, &value);
        }
        return true;
    }
    return (opcode->reads || opcode->writes) &&
           (opcode->space == PDL_SPACE_GENERIC || opcode->space == PDL_SPACE_GLOBAL);
}

/* Whether threads come out of a block without having waited in it. Functions that wait may have paths around it. */
static bool is_open(const struct pdl_flow *flow, const struct pdl_block *block)
{
    return block->count == 0 ||
           flow->body->instructions[block->first + block->count - 1].opcode.op != PDL_OP_WAIT;
}

/* The blocks that can be come to without a wait if every branch may go either way. That is how machine code is read:
 * paths that conditions exclude must not look like loads that were moved. */
static uint8_t *find_open(const struct pdl_flow *flow)
{
    const struct pdl_cfg *cfg = flow->cfg;
    uint8_t *open = pdl_take((size_t)cfg->block_count + 1, 1);
    uint32_t *stack = pdl_take((size_t)cfg->block_count + 1, sizeof(*stack));
    uint32_t stacked = 0;
    if (cfg->block_count > 0) {
        open[0] = 1;
        stack[stacked++] = 0;
    }
    while (stacked > 0) {
        const struct pdl_block *block = &cfg->blocks[stack[--stacked]];
        for (uint32_t i = 0; i < block->successor_count && is_open(flow, block); i++) {
            const uint32_t next = cfg->successors[block->first_successor + i];
            if (!open[next]) {
                open[next] = 1;
                stack[stacked++] = next;
            }
        }
    }
    pdl_give_back(stack);
    return open;
}

static void add(struct pdl_noted *noted, const struct pdl_noted_access *access)
{
    PDL_ADD(noted->accesses, noted->count, noted->capacity, *access);
}

/* The accesses of the body itself: the effects do not have those that are coherent and behind the wait. */
static void add_body(struct pdl_noted *noted, struct pdl_ptx_module *module,
                     const struct pdl_flow *flow)
{
    const struct pdl_body *body = flow->body;
    uint8_t *open = find_open(flow);
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        const struct pdl_instruction *instruction = &body->instructions[i];
        struct pdl_noted_access access = {
            .line = instruction->line,
            .non_coherent = instruction->opcode.reads && instruction->opcode.non_coherent,
            .early = open[flow->cfg->block_of[i]],
        };
        bool table;
        noted->other_early = noted->other_early || instruction->opcode.op == PDL_OP_CALL;
        if (!is_access(flow, instruction, &table)) {
            continue;
        }
        noted->tables = noted->tables || table;
        access.table = table;
        access.places = pdl_places_chain(module, body, instruction->place, &access.place_count);
        add(noted, &access);
    }
    pdl_give_back(open);
}

void pdl_machine_note(struct pdl_ptx_module *module, const struct pdl_flow *flow,
                      const struct pdl_effects *effects)
{
    pdl_inspection *inspection = module->inspection;
    struct pdl_noted noted = {.kernel = inspection->kernel_count - 1, .other_early = effects->cut};
    if (!inspection->in_container || !flow->waits) {
        return;
    }
    for (uint32_t i = 0; i < effects->effect_count; i++) {
        const struct pdl_effect *effect = &effects->effects[i];
        if (effect->kind != PDL_EFFECT_READ && effect->kind != PDL_EFFECT_WRITE) {
            noted.other_early = true;
            continue;
        }
        const struct pdl_noted_access access = {
            .line = effect->line,
            .non_coherent = effect->non_coherent,
            .early = (effect->states & PDL_STATE_NOT_WAITED) != 0,
            .place_count = effect->place_count,
            .places = effect->places,
        };
        add(&noted, &access);
    }
    add_body(&noted, module, flow);
    struct pdl_noted_access *made = noted.accesses;
    const size_t size = noted.count * sizeof(*made);
    noted.accesses = pdl_arena_alloc(&inspection->arena, size);
    if (size > 0) {
        memcpy(noted.accesses, made, size);
    }
    pdl_give_back(made);
    PDL_KEEP(inspection->noted, inspection->noted_count, inspection->noted_capacity, noted);
}
