/* SPDX-License-Identifier: MIT */
#include "inspect/flow/origins.h"

#include <string.h>

#include "inspect/flow/effects.h"

/* Where objects point into the table of their class, at least. */
#define TABLE_START 16

static void add_set(struct pdl_origins *origins, uint32_t kind, uint32_t name, uint32_t offset)
{
    const struct pdl_set set = {kind, name, offset,
                                kind == PDL_SET_FUNCTION ? PDL_NONE : origins->prototype};
    for (uint32_t i = 0; i < origins->set_count; i++) {
        if (memcmp(&origins->sets[i], &set, sizeof(set)) == 0) {
            return;
        }
    }
    if (origins->set_count == PDL_ORIGINS_MAX) {
        origins->any = true;
        return;
    }
    origins->sets[origins->set_count++] = set;
}

static void follow(struct pdl_origins *origins, uint32_t symbol)
{
    for (uint32_t i = 0; i < origins->queued; i++) {
        if (origins->queue[i] == symbol) {
            return;
        }
    }
    if (origins->queued == PDL_ORIGIN_STEPS) {
        origins->any = true;
        return;
    }
    origins->queue[origins->queued++] = symbol;
}

/* An address: in a variable, or behind a pointer that was loaded. */
struct address {
    uint32_t variable;                  /* name, or PDL_NONE */
    const struct pdl_instruction *load; /* what loaded it, or NULL */
    int64_t offset;
    bool known; /* the offset */
};

static bool is_register(const struct pdl_origins *origins, const struct pdl_operand *operand)
{
    return operand->kind == PDL_OPERAND_SYMBOL && !operand->memory &&
           origins->body->symbols[operand->symbol].kind == PDL_SYMBOL_REGISTER;
}

/* Goes from an operand to what it is computed from: one step; false at the end of the way. */
static bool step_back(const struct pdl_origins *origins, const struct pdl_instruction *from,
                      struct address *address, uint32_t *symbol)
{
    const struct pdl_operand *operands = &origins->body->operands[from->first_operand];
    const struct pdl_name *name = &origins->module->names.names[from->name];
    const struct pdl_operand *base = NULL;
    for (uint32_t i = 1; i < from->operand_count; i++) {
        const struct pdl_operand *operand = &operands[i];
        if (operand->kind == PDL_OPERAND_NUMBER) {
            address->offset += operand->value;
            continue;
        }
        const bool pointer =
            operand->kind == PDL_OPERAND_SYMBOL &&
            (!is_register(origins, operand) ||
             origins->values->values[operand->symbol].strength >= PDL_STRENGTH_VALUE);
        if (pointer && base == NULL) {
            base = operand;
        } else {
            address->known = false;
        }
    }
    if (base == NULL || (from->opcode.op != PDL_OP_CARRY && from->opcode.op != PDL_OP_CVTA) ||
        (from->operand_count > 2 && !pdl_name_begins(name, "add") &&
         !pdl_name_begins(name, "mad"))) {
        return false;
    }
    address->known = address->known && !pdl_name_begins(name, "mad");
    address->offset += base->value;
    *symbol = base->symbol;
    return true;
}

static struct address address_of(const struct pdl_origins *origins,
                                 const struct pdl_operand *operand)
{
    struct address address = {.variable = PDL_NONE, .offset = operand->value, .known = true};
    uint32_t symbol = operand->symbol;
    for (unsigned steps = 0; steps < PDL_ORIGIN_STEPS; steps++) {
        const struct pdl_symbol *at = &origins->body->symbols[symbol];
        if (at->kind == PDL_SYMBOL_VARIABLE) {
            address.variable = at->name;
            return address;
        }
        const struct pdl_instruction *from =
            at->kind == PDL_SYMBOL_REGISTER
                ? pdl_values_definition(origins->values, origins->body, symbol)
                : NULL;
        if (from == NULL) {
            return address;
        }
        if (from->opcode.op == PDL_OP_LOAD) {
            const struct pdl_operand *loaded = pdl_address_operand(origins->body, from, 1);
            if (loaded != NULL && from->opcode.space != PDL_SPACE_PARAM &&
                pdl_operand_value(origins->values, origins->body, loaded).spaces !=
                    1u << PDL_SPACE_PARAM) {
                address.load = from;
            }
            return address;
        }
        if (!step_back(origins, from, &address, &symbol)) {
            return address;
        }
    }
    return address;
}

/* The register that another is a copy of, in whatever space. */
static uint32_t copied_from(const struct pdl_origins *origins, uint32_t symbol)
{
    for (unsigned steps = 0; steps < PDL_ORIGIN_STEPS; steps++) {
        const struct pdl_instruction *from =
            origins->body->symbols[symbol].kind == PDL_SYMBOL_REGISTER
                ? pdl_values_definition(origins->values, origins->body, symbol)
                : NULL;
        if (from == NULL || from->operand_count != 2 ||
            !(from->opcode.op == PDL_OP_CVTA ||
              pdl_name_begins(&origins->module->names.names[from->name], "mov."))) {
            break;
        }
        const struct pdl_operand *operand = &origins->body->operands[from->first_operand + 1];
        if (!is_register(origins, operand) || operand->value != 0) {
            break;
        }
        symbol = operand->symbol;
    }
    return symbol;
}

/* Whether the first argument of the call is the object whose table was loaded, or that is the thread's
 * own. */
static bool passes_object(const struct pdl_origins *origins, const struct pdl_instruction *load)
{
    const struct pdl_body *body = origins->body;
    const struct pdl_operand *object = pdl_address_operand(body, load, 1);
    if (load->opcode.space == PDL_SPACE_LOCAL) {
        return true;
    }
    const uint32_t itself = object != NULL && object->kind == PDL_OPERAND_SYMBOL
                                ? copied_from(origins, object->symbol)
                                : PDL_NONE;
    for (uint32_t i = 0; i < origins->call->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[origins->call->first_operand + i];
        if (operand->slot != origins->call->target_slot + 1u || object == NULL ||
            operand->kind != PDL_OPERAND_SYMBOL) {
            continue;
        }
        if (operand->symbol == object->symbol) {
            return true;
        }
        const struct pdl_instruction *store =
            pdl_values_definition(origins->values, body, operand->symbol);
        for (uint32_t j = 0; store != NULL && j < store->operand_count; j++) {
            const struct pdl_operand *stored = &body->operands[store->first_operand + j];
            if (stored->slot == 1 && stored->kind == PDL_OPERAND_SYMBOL &&
                copied_from(origins, stored->symbol) == itself) {
                return true;
            }
        }
        return false;
    }
    return false;
}

/* Whether an object is the thread's or its block's: the code that made it is near. */
static bool is_own(const struct pdl_origins *origins, const struct pdl_instruction *load)
{
    const unsigned own = 1u << PDL_SPACE_LOCAL | 1u << PDL_SPACE_SHARED;
    const struct pdl_operand *object = pdl_address_operand(origins->body, load, 1);
    if (object == NULL || object->kind != PDL_OPERAND_SYMBOL) {
        return false;
    }
    const unsigned spaces = pdl_operand_value(origins->values, origins->body, object).spaces;
    return load->opcode.space == PDL_SPACE_LOCAL || load->opcode.space == PDL_SPACE_SHARED ||
           (spaces != 0 && (spaces & ~own) == 0);
}

/* Where `ADDRESS + NUMBER` points into the table of a class: its operand, or NULL. */
static const struct pdl_operand *table_base(const struct pdl_origins *origins,
                                            const struct pdl_instruction *from, int64_t *offset)
{
    const struct pdl_operand *operands = &origins->body->operands[from->first_operand];
    const struct pdl_name *name = &origins->module->names.names[from->name];
    const bool adds = from->operand_count == 3 && operands[2].kind == PDL_OPERAND_NUMBER &&
                      operands[2].value >= TABLE_START && pdl_name_begins(name, "add.");
    const bool moves = from->operand_count == 2 && operands[1].value >= TABLE_START;
    if ((!adds && !moves) || operands[1].kind != PDL_OPERAND_SYMBOL || operands[1].memory) {
        return NULL;
    }
    *offset = adds ? operands[2].value : 0;
    return &operands[1];
}

/* Adds the functions at an offset in the tables that the body names, as it does where it makes objects;
 * false if there are none. */
static bool add_named_tables(struct pdl_origins *origins, int64_t offset)
{
    bool some = false;
    *origins->steps += origins->body->instruction_count;
    if (*origins->steps > PDL_STEPS_OF_TABLES) {
        return false;
    }
    for (uint32_t i = 0; i < origins->body->instruction_count; i++) {
        int64_t start = 0;
        uint32_t count = 0;
        const struct pdl_operand *base =
            table_base(origins, &origins->body->instructions[i], &start);
        if (base == NULL) {
            continue;
        }
        const struct address address = address_of(origins, base);
        start += address.offset + offset;
        if (address.variable == PDL_NONE || !address.known || start < 0 || start >= UINT32_MAX ||
            !pdl_name_begins(&origins->module->names.names[address.variable], "_ZTV")) {
            continue;
        }
        const struct pdl_pointer_slot *slots =
            pdl_pointers_of(&origins->module->pointers, address.variable, &count);
        *origins->steps += count;
        for (uint32_t j = 0; j < count; j++) {
            const struct pdl_ptx_function *function =
                slots[j].offset == start ? pdl_ptx_function_find(origins->module, slots[j].symbol)
                                         : NULL;
            if (function != NULL && function->prototype == origins->prototype) {
                add_set(origins, PDL_SET_SLOT, address.variable, (uint32_t)start);
                some = true;
            }
        }
    }
    return some;
}

/* A pointer that was loaded. */
static void trace_load(struct pdl_origins *origins, struct pdl_instruction *load, uint32_t symbol)
{
    const struct pdl_operand *operand = pdl_address_operand(origins->body, load, 1);
    uint32_t count = 0;
    if (operand == NULL || operand->kind != PDL_OPERAND_SYMBOL) {
        origins->any = true;
        return;
    }
    struct address address = address_of(origins, operand);
    for (uint32_t i = 0; i < load->operand_count && i < 16; i++) { /* of a vector */
        const struct pdl_operand *result = &origins->body->operands[load->first_operand + i];
        if (result->slot == 0 && result->symbol == symbol) {
            address.offset += 8 * (int64_t)i;
            break;
        }
    }
    const bool known = address.known && address.offset >= 0 && address.offset < UINT32_MAX;
    if (address.variable != PDL_NONE) {
        (void)pdl_pointers_of(&origins->module->pointers, address.variable, &count);
        if (count == 0) { /* the host may fill it */
            origins->any = true;
        } else {
            add_set(origins, known ? PDL_SET_SLOT : PDL_SET_TABLE, address.variable,
                    known ? (uint32_t)address.offset : 0);
            load->opcode.reads = false; /* what it holds is what the module says */
        }
        return;
    }
    if (known && address.load != NULL && is_own(origins, address.load) &&
        add_named_tables(origins, address.offset)) {
        load->opcode.reads = false;
        return;
    }
    if (address.load != NULL && known) {
        (void)pdl_virtuals_at(&origins->module->pointers, (uint32_t)address.offset, &count);
    }
    if (count == 0) {
        origins->any = true;
        return;
    }
    add_set(origins, PDL_SET_VIRTUAL, PDL_NONE, (uint32_t)address.offset);
    if (passes_object(origins, address.load)) {
        load->opcode.reads = false; /* the table of a class, which nobody writes */
    } else {
        origins->any = true;
    }
}

static void trace_symbol(struct pdl_origins *origins, uint32_t symbol)
{
    const struct pdl_constant constant = origins->folding->constants[symbol];
    if (constant.kind == PDL_CONSTANT_FUNCTION) {
        add_set(origins, PDL_SET_FUNCTION, (uint32_t)constant.value, 0);
        return;
    }
    const uint32_t first = origins->values->first_definition[symbol];
    const uint32_t end = origins->values->first_definition[symbol + 1];
    if (first == end || end - first > PDL_ORIGIN_STEPS) {
        origins->any = true;
        return;
    }
    for (uint32_t i = first; i < end; i++) {
        struct pdl_instruction *from =
            &origins->body->instructions[origins->values->definitions[i]];
        const struct pdl_name *name = &origins->module->names.names[from->name];
        if (from->opcode.op == PDL_OP_LOAD) {
            trace_load(origins, from, symbol);
            continue;
        }
        const bool selects = pdl_name_begins(name, "selp.");
        if (!selects && !(pdl_name_begins(name, "mov.") && from->operand_count == 2)) {
            origins->any = true;
            continue;
        }
        for (uint32_t j = 1; j < from->operand_count && j < 3; j++) {
            const struct pdl_operand *operand = &origins->body->operands[from->first_operand + j];
            const struct pdl_constant value =
                pdl_folding_operand(origins->folding, origins->body, operand);
            if (value.kind == PDL_CONSTANT_FUNCTION) {
                add_set(origins, PDL_SET_FUNCTION, (uint32_t)value.value, 0);
            } else if (is_register(origins, operand)) {
                follow(origins, operand->symbol);
            } else if (value.kind != PDL_CONSTANT_NUMBER) { /* NULL is not called */
                origins->any = true;
            }
        }
    }
}

/* ---- the call ------------------------------------------------------------------------------------- */

/* The prototype that a call names, and the functions, if it names them. */
static void read_operands(struct pdl_origins *origins)
{
    const struct pdl_body *body = origins->body;
    for (uint32_t i = 0; i < origins->call->operand_count; i++) {
        const struct pdl_operand *operand = &body->operands[origins->call->first_operand + i];
        if (operand->kind != PDL_OPERAND_SYMBOL) {
            continue;
        }
        const struct pdl_symbol *symbol = &body->symbols[operand->symbol];
        if (symbol->kind == PDL_SYMBOL_PROTOTYPE && symbol->index > 0) {
            origins->prototype = symbol->index - 1u;
        } else if (symbol->kind == PDL_SYMBOL_TARGETS && symbol->index > 0) {
            const struct pdl_target_list *list = &body->lists[symbol->index - 1u];
            for (uint32_t j = 0; j < list->count; j++) {
                add_set(origins, PDL_SET_FUNCTION, body->targets[list->first + j].symbol, 0);
            }
        }
    }
}

void pdl_origins_find(struct pdl_origins *origins)
{
    read_operands(origins);
    if (origins->set_count == 0 && origins->call->target != PDL_NONE &&
        origins->body->symbols[origins->call->target].kind == PDL_SYMBOL_REGISTER) {
        origins->queue[origins->queued++] = origins->call->target;
        for (uint32_t i = 0; i < origins->queued; i++) {
            trace_symbol(origins, origins->queue[i]);
        }
    }
}
