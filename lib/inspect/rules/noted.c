/* SPDX-License-Identifier: MIT */
/* What is kept of a kernel's PTX to compare its machine code with. */
#include <stdlib.h>

#include "inspect/ptx/places.h"
#include "inspect/rules/machine.h"

/* Loads without coherence are in the effects, but for those from tables that nobody writes. */
static bool is_listed(const struct pdl_flow *flow, const struct pdl_instruction *instruction,
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
        return *table;
    }
    return (opcode->reads || opcode->writes) &&
           (opcode->space == PDL_SPACE_GENERIC || opcode->space == PDL_SPACE_GLOBAL);
}

static bool add(struct pdl_noted *noted, size_t *capacity, const struct pdl_noted_access *access)
{
    if (!PDL_ARRAY_ROOM(noted->accesses, noted->count, *capacity)) {
        return false;
    }
    noted->accesses[noted->count++] = *access;
    return true;
}

/* The loads and stores of the body itself: which of them come behind the wait is known by the effects, which
 * have all others. */
static bool add_body(struct pdl_noted *noted, size_t *capacity, struct pdl_ptx_module *module,
                     const struct pdl_flow *flow)
{
    const struct pdl_body *body = flow->body;
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        const struct pdl_instruction *instruction = &body->instructions[i];
        struct pdl_noted_access access = {.line = instruction->line};
        bool table;
        bool ok;
        noted->other_early = noted->other_early || instruction->opcode.op == PDL_OP_CALL;
        if (!is_listed(flow, instruction, &table)) {
            continue;
        }
        noted->tables = noted->tables || table;
        access.table = table;
        access.places =
            pdl_places_chain(module, body, instruction->place, &access.place_count, &ok);
        if (!ok || !add(noted, capacity, &access)) {
            return false;
        }
    }
    return true;
}

pdl_status pdl_machine_note(struct pdl_ptx_module *module, const struct pdl_flow *flow,
                            const struct pdl_effects *effects)
{
    pdl_inspection *inspection = module->inspection;
    struct pdl_noted noted = {.kernel = inspection->kernel_count - 1, .other_early = effects->cut};
    size_t capacity = 0;
    bool ok = true;
    if (!inspection->in_container || !flow->waits) {
        return PDL_SUCCESS;
    }
    for (uint32_t i = 0; i < effects->effect_count && ok; i++) {
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
        ok = add(&noted, &capacity, &access);
    }
    ok = ok && add_body(&noted, &capacity, module, flow) &&
         PDL_ARRAY_ROOM(inspection->noted, inspection->noted_count, inspection->noted_capacity);
    if (!ok) {
        free(noted.accesses);
        return pdl_ptx_no_memory();
    }
    inspection->noted[inspection->noted_count++] = noted;
    return PDL_SUCCESS;
}
