/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/body.h"

/* Labels and lists of targets by name and scope. */
struct label_table {
    const struct pdl_body *body;
    uint32_t *slots; /* label + 1, or labels + list + 1 */
    uint32_t mask;
};

static void key_of(const struct pdl_body *body, uint32_t entry, uint32_t *name, uint32_t *scope)
{
    if (entry < body->label_count) {
        *name = body->labels[entry].name;
        *scope = body->labels[entry].scope;
    } else {
        *name = body->lists[entry - body->label_count].name;
        *scope = body->lists[entry - body->label_count].scope;
    }
}

static uint32_t *slot_of(const struct label_table *table, uint32_t name, uint32_t scope)
{
    const uint64_t hash = ((uint64_t)scope << 32 | name) * 0x9e3779b97f4a7c15u;
    for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
        uint32_t *slot = &table->slots[i & table->mask];
        uint32_t other_name, other_scope;
        if (*slot == 0) {
            return slot;
        }
        key_of(table->body, *slot - 1, &other_name, &other_scope);
        if (other_name == name && other_scope == scope) {
            return slot;
        }
    }
}

/* The label or list that a name means in a scope, or PDL_NONE. */
static uint32_t find_label(const struct label_table *table, uint32_t name, uint32_t scope)
{
    for (; scope != PDL_NONE; scope = table->body->scopes[scope].parent) {
        const uint32_t found = *slot_of(table, name, scope);
        if (found != 0) {
            return found - 1;
        }
    }
    return PDL_NONE;
}

__attribute__((noreturn, cold)) static void unknown_label(const struct pdl_ptx_module *module,
                                                          const struct pdl_instruction *instruction,
                                                          uint32_t label)
{
    const struct pdl_name *name = &module->names.names[label];
    pdl_fail(PDL_ERROR_INVALID_IMAGE, instruction->line, instruction->column,
             "there is no label %.*s", (int)(name->length < 200 ? name->length : 200), name->text);
}

static void resolve_target(const struct pdl_ptx_module *module, const struct label_table *table,
                           const struct pdl_instruction *instruction, struct pdl_operand *target)
{
    if (target->kind == PDL_OPERAND_TARGET) { /* of a list that two branches share */
        return;
    }
    const uint32_t found = find_label(table, target->symbol, (uint32_t)target->value);
    if (found == PDL_NONE || found >= table->body->label_count) {
        unknown_label(module, instruction, target->symbol);
    }
    target->symbol = table->body->labels[found].instruction;
    target->kind = PDL_OPERAND_TARGET;
}

/* Turns the labels that branches name into instructions. */
static void resolve(const struct pdl_ptx_module *module, struct pdl_body *body,
                    const struct label_table *table)
{
    for (uint32_t i = 0; i < body->instruction_count; i++) {
        struct pdl_instruction *instruction = &body->instructions[i];
        if (instruction->opcode.op != PDL_OP_BRANCH &&
            instruction->opcode.op != PDL_OP_BRANCH_TABLE) {
            continue;
        }
        uint32_t labels = 0;
        for (uint32_t j = 0; j < instruction->operand_count; j++) {
            struct pdl_operand *operand = &body->operands[instruction->first_operand + j];
            if (operand->kind != PDL_OPERAND_LABEL) {
                continue;
            }
            labels++;
            if (instruction->opcode.op == PDL_OP_BRANCH) {
                resolve_target(module, table, instruction, operand);
                continue;
            }
            const uint32_t found = find_label(table, operand->symbol, (uint32_t)operand->value);
            if (found == PDL_NONE || found < body->label_count) {
                unknown_label(module, instruction, operand->symbol);
            }
            const struct pdl_target_list *list = &body->lists[found - body->label_count];
            for (uint32_t k = 0; k < list->count; k++) {
                resolve_target(module, table, instruction, &body->targets[list->first + k]);
            }
            operand->kind = PDL_OPERAND_TARGET;
            operand->symbol = found - body->label_count;
        }
        if (labels != 1) {
            pdl_fail(PDL_ERROR_INVALID_IMAGE, instruction->line, instruction->column,
                     "a branch without a label");
        }
    }
}

void pdl_ptx_labels_resolve(const struct pdl_ptx_module *module, struct pdl_body *body)
{
    const uint32_t count = body->label_count + body->list_count;
    uint32_t size = 16;
    while (size < 2 * (uint64_t)count) {
        size *= 2;
    }
    const struct label_table table = {body, pdl_take(size, sizeof(uint32_t)), size - 1};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name, scope;
        key_of(body, i, &name, &scope);
        uint32_t *slot = slot_of(&table, name, scope);
        if (*slot != 0) {
            const struct pdl_name *text = &module->names.names[name];
            pdl_fail(PDL_ERROR_INVALID_IMAGE, body->function->line, body->function->column,
                     "the label %.*s is there twice",
                     (int)(text->length < 200 ? text->length : 200), text->text);
        }
        *slot = i + 1;
    }
    resolve(module, body, &table);
    pdl_give_back(table.slots);
}
