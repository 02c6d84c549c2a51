/* SPDX-License-Identifier: MIT */
#include "inspect/flow/conditions.h"

#include <stdlib.h>
#include <string.h>

/* Bodies of more blocks do without. */
#define BLOCKS_MAX 50000u

pdl_status pdl_conditions_start(struct pdl_conditions *conditions,
                                const struct pdl_ptx_module *module, const struct pdl_body *body,
                                const struct pdl_cfg *cfg)
{
    conditions->module = module;
    conditions->body = body;
    conditions->cfg = cfg;
    conditions->count = 0;
    if (!PDL_ARRAY_RESERVE(conditions->tracked, (size_t)body->symbol_count + 1,
                           conditions->tracked_capacity)) {
        return pdl_ptx_no_memory();
    }
    memset(conditions->tracked, 0, (size_t)body->symbol_count + 1);
    return PDL_SUCCESS;
}

void pdl_conditions_free(struct pdl_conditions *conditions)
{
    free(conditions->tracked);
    free(conditions->points);
}

static const struct pdl_name *name_of(const struct pdl_conditions *conditions,
                                      const struct pdl_instruction *instruction)
{
    return &conditions->module->names.names[instruction->name];
}

void pdl_conditions_track(struct pdl_conditions *conditions, const struct pdl_values *values,
                          uint32_t symbol)
{
    const uint32_t first = conditions->count;
    if (conditions->cfg->block_count > BLOCKS_MAX || conditions->count == PDL_TRACKED_MAX ||
        conditions->tracked[symbol] != 0) {
        return;
    }
    conditions->symbols[conditions->count++] = symbol;
    conditions->tracked[symbol] = (uint8_t)conditions->count;
    /* Then what those that were added are made of. */
    for (uint32_t i = first; i < conditions->count; i++) {
        const uint32_t of = conditions->symbols[i];
        const uint32_t end = values->first_definition[of + 1];
        for (uint32_t j = values->first_definition[of]; j < end; j++) {
            const struct pdl_instruction *instruction =
                &conditions->body->instructions[values->definitions[j]];
            if (instruction->opcode.op != PDL_OP_CARRY && instruction->opcode.op != PDL_OP_SCALE) {
                continue;
            }
            for (uint32_t k = 0; k < instruction->operand_count; k++) {
                const struct pdl_operand *operand =
                    &conditions->body->operands[instruction->first_operand + k];
                if (operand->kind == PDL_OPERAND_SYMBOL && operand->slot > 0 &&
                    conditions->body->symbols[operand->symbol].kind == PDL_SYMBOL_REGISTER &&
                    conditions->tracked[operand->symbol] == 0 &&
                    conditions->count < PDL_TRACKED_MAX) {
                    conditions->symbols[conditions->count++] = operand->symbol;
                    conditions->tracked[operand->symbol] = (uint8_t)conditions->count;
                }
            }
        }
    }
}

pdl_status pdl_conditions_ready(struct pdl_conditions *conditions)
{
    const size_t count = conditions->cfg->block_count;
    if (conditions->count == 0) {
        return PDL_SUCCESS;
    }
    if (!PDL_ARRAY_RESERVE(conditions->points, count, conditions->point_capacity)) {
        return pdl_ptx_no_memory();
    }
    memset(conditions->points, 0, count * sizeof(*conditions->points));
    return PDL_SUCCESS;
}

bool pdl_conditions_value(const struct pdl_conditions *conditions, const struct pdl_tracked *known,
                          uint32_t symbol, int64_t *value)
{
    const uint32_t number = conditions->tracked[symbol];
    if (number == 0 || !(known->known & UINT64_C(1) << (number - 1))) {
        return false;
    }
    *value = known->values[number - 1];
    return true;
}

/* ---- one instruction ---------------------------------------------------------------------------- */

static bool operand_value(const struct pdl_conditions *conditions, const struct pdl_tracked *known,
                          const struct pdl_operand *operand, int64_t *value)
{
    if (operand->memory) {
        return false;
    }
    if (operand->kind == PDL_OPERAND_NUMBER) {
        *value = operand->value;
        return true;
    }
    return operand->kind == PDL_OPERAND_SYMBOL && operand->value == 0 &&
           pdl_conditions_value(conditions, known, operand->symbol, value);
}

/* `setp.RELATION.…`: of numbers that are small enough to be the same with and without a sign. */
static bool compare(const char *relation, int64_t a, int64_t b, int64_t *value)
{
    static const char *const names[] = {"eq.", "ne.", "lt.", "le.", "gt.", "ge."};
    const bool results[] = {a == b, a != b, (a < b), (a <= b), (a > b), (a >= b)};
    const int64_t limit = 1 << 15;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (memcmp(relation, names[i], 3) == 0) {
            *value = results[i];
            return i < 2 || (a >= 0 && b >= 0 && a < limit && b < limit);
        }
    }
    return false;
}

/* The value that a definition gives, if what it is made of is known. */
static bool definition_value(const struct pdl_conditions *conditions,
                             const struct pdl_tracked *known,
                             const struct pdl_instruction *instruction, int64_t *value)
{
    const struct pdl_name *name = name_of(conditions, instruction);
    const struct pdl_operand *operands = &conditions->body->operands[instruction->first_operand];
    const uint32_t count = instruction->operand_count;
    int64_t in[3] = {0};
    bool has[3] = {false};
    if (count < 2 || count > 4) {
        return false;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (operands[i].slot != i) {
            return false;
        }
        has[i - 1] = operand_value(conditions, known, &operands[i], &in[i - 1]);
    }
    if (count == 3 && pdl_name_begins(name, "and.")) { /* one side that is 0 is enough */
        *value = in[0] & in[1];
        return (has[0] && has[1]) || (has[0] && in[0] == 0) || (has[1] && in[1] == 0);
    }
    if (count == 3 && pdl_name_begins(name, "or.pred")) { /* one that is true */
        *value = in[0] | in[1];
        return (has[0] && has[1]) || (has[0] && in[0] == 1) || (has[1] && in[1] == 1);
    }
    if (!has[0] || (count > 2 && !has[1]) || (count > 3 && !has[2])) {
        return false;
    }
    if (count == 2 && (pdl_name_begins(name, "mov.") || pdl_name_begins(name, "cvt."))) {
        *value = in[0];
        return true;
    }
    if (count == 2 && pdl_name_begins(name, "not.pred")) {
        *value = in[0] == 0;
        return true;
    }
    if (count == 3 && pdl_name_begins(name, "setp.") && name->length > 8) {
        return compare(name->text + 5, in[0], in[1], value);
    }
    if (count == 3 && pdl_name_begins(name, "or.")) {
        *value = in[0] | in[1];
        return true;
    }
    if (count == 3 && pdl_name_begins(name, "xor.")) {
        *value = in[0] ^ in[1];
        return true;
    }
    if (count == 4 && pdl_name_begins(name, "selp.")) {
        *value = in[2] != 0 ? in[0] : in[1];
        return true;
    }
    return false;
}

static void define(const struct pdl_conditions *conditions,
                   const struct pdl_instruction *instruction, struct pdl_tracked *known)
{
    int64_t value = 0;
    int64_t guard = 0;
    bool has = false;
    if (instruction->opcode.no_result || instruction->operand_count == 0) {
        return;
    }
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const struct pdl_operand *operand =
            &conditions->body->operands[instruction->first_operand + i];
        if (operand->slot > 0) {
            break;
        }
        if (operand->kind != PDL_OPERAND_SYMBOL || operand->memory ||
            conditions->tracked[operand->symbol] == 0) {
            continue;
        }
        const uint32_t number = conditions->tracked[operand->symbol] - 1u;
        const uint64_t bit = UINT64_C(1) << number;
        if (instruction->guard != PDL_NONE) {
            const bool sure = pdl_conditions_value(conditions, known, instruction->guard, &guard);
            if (sure && (guard != 0) == instruction->guard_negated) {
                continue; /* not executed */
            }
            if (!sure) {
                known->set |= bit;
                known->known &= ~bit;
                continue;
            }
        }
        has = i == 0 && definition_value(conditions, known, instruction, &value);
        known->set |= bit;
        known->known = has ? known->known | bit : known->known & ~bit;
        known->values[number] = value;
    }
}

/* ---- blocks ------------------------------------------------------------------------------------- */

void pdl_conditions_behind(const struct pdl_conditions *conditions, uint32_t block,
                           struct pdl_tracked *known)
{
    if (conditions->count == 0) {
        known->set = known->known = 0;
        return;
    }
    const struct pdl_block *at = &conditions->cfg->blocks[block];
    *known = conditions->points[block];
    for (uint32_t i = 0; i < at->count; i++) {
        define(conditions, &conditions->body->instructions[at->first + i], known);
    }
}

void pdl_conditions_assume(const struct pdl_conditions *conditions, struct pdl_tracked *known,
                           uint32_t symbol, bool value)
{
    const uint32_t number = conditions->tracked[symbol];
    if (number != 0) {
        const uint64_t bit = UINT64_C(1) << (number - 1);
        known->set |= bit;
        known->known |= bit;
        known->values[number - 1] = value;
    }
}

bool pdl_conditions_join(struct pdl_conditions *conditions, uint32_t block,
                         const struct pdl_tracked *from)
{
    bool changed = false;
    if (conditions->count == 0) {
        return false;
    }
    struct pdl_tracked *to = &conditions->points[block];
    for (uint32_t i = 0; i < conditions->count; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        if (!(from->set & bit)) {
            continue;
        }
        if (!(to->set & bit)) {
            to->set |= bit;
            to->known |= from->known & bit;
            to->values[i] = from->values[i];
            changed = true;
        } else if ((to->known & bit) &&
                   (!(from->known & bit) || from->values[i] != to->values[i])) {
            to->known &= ~bit;
            changed = true;
        }
    }
    return changed;
}
