/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/module.h"

uint64_t pdl_prototype_key(uint64_t key, uint32_t size)
{
    key = (key ^ size) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 29;
}

static void grow(struct pdl_ptx_pointers *pointers)
{
    const uint32_t count =
        pointers->prototype_slot_count == 0 ? 64 : pointers->prototype_slot_count * 2;
    uint32_t *slots = pdl_take(count, sizeof(*slots));
    pdl_give_back(pointers->prototype_slots);
    pointers->prototype_slots = slots;
    pointers->prototype_slot_count = count;
    for (uint32_t i = 0; i < pointers->prototype_count; i++) {
        uint64_t at = pointers->prototypes[i].key;
        while (slots[at & (count - 1)] != 0) {
            at++;
        }
        slots[at & (count - 1)] = i + 1;
    }
}

uint32_t pdl_prototype_add(struct pdl_ptx_pointers *pointers, uint64_t key)
{
    if (pointers->prototype_count >= pointers->prototype_slot_count / 2) {
        grow(pointers);
    }
    uint64_t at = key;
    uint32_t *slot;
    while (*(slot = &pointers->prototype_slots[at & (pointers->prototype_slot_count - 1)]) != 0) {
        if (pointers->prototypes[*slot - 1].key == key) {
            return *slot - 1;
        }
        at++;
    }
    PDL_ADD(pointers->prototypes, pointers->prototype_count, pointers->prototype_capacity,
            (struct pdl_prototype){.key = key});
    *slot = pointers->prototype_count;
    return pointers->prototype_count - 1;
}

void pdl_pointers_take(struct pdl_ptx_pointers *pointers, uint32_t symbol)
{
    if (pointers->taken_count > 0 && pointers->taken[pointers->taken_count - 1] == symbol) {
        return; /* another byte of an address in an initializer */
    }
    PDL_ADD(pointers->taken, pointers->taken_count, pointers->taken_capacity, symbol);
}

void pdl_pointers_read(struct pdl_ptx_module *module, struct pdl_lexer *lexer, uint32_t variable)
{
    uint32_t depth = 0;
    pdl_lexer_next(lexer);
    for (;;) {
        const struct pdl_token *token = &lexer->token;
        if (pdl_lexer_at_end(lexer)) {
            pdl_ptx_fail(lexer, "';'");
        }
        if (token->mark == ';' || (token->mark == ',' && depth == 0)) {
            return;
        }
        if (token->mark == '{' || token->mark == '(') {
            depth++;
        } else if (token->mark == '}' || token->mark == ')') {
            if (depth-- == 0) {
                pdl_ptx_fail(lexer, "';'");
            }
        } else if (token->kind == PDL_TOKEN_WORD && !PDL_TOKEN_IS(lexer, "generic")) {
            pdl_pointers_take(&module->pointers,
                              pdl_names_add(&module->names, token->text, token->length));
            module->space_of[variable] |= PDL_PTX_ADDRESSES;
        }
        pdl_lexer_next(lexer);
    }
}

/* ---- once everything was read --------------------------------------------------------------------- */

static void set_prototype(struct pdl_ptx_module *module, struct pdl_ptx_function *function)
{
    uint64_t key = PDL_PROTOTYPE_KEY;
    for (uint32_t i = 0; i < function->result_count; i++) {
        key = pdl_prototype_key(key, module->parameters[function->first_result + i].size);
    }
    key = pdl_prototype_key(key, PDL_PROTOTYPE_RESULTS);
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        key = pdl_prototype_key(key, module->parameters[function->first_parameter + i].size);
    }
    function->prototype = pdl_prototype_add(&module->pointers, key);
}

static void list_functions(struct pdl_ptx_module *module, const bool *taken)
{
    struct pdl_ptx_pointers *pointers = &module->pointers;
    uint32_t count = 0, first = 0;
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (taken[i]) {
            set_prototype(module, &module->functions[i]);
            pointers->prototypes[module->functions[i].prototype].count++;
            count++;
        }
    }
    pointers->by_prototype = pdl_take((size_t)count + 1, sizeof(*pointers->by_prototype));
    for (uint32_t i = 0; i < pointers->prototype_count; i++) {
        pointers->prototypes[i].first = first;
        first += pointers->prototypes[i].count;
        pointers->prototypes[i].count = 0;
    }
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (taken[i]) {
            struct pdl_prototype *prototype = &pointers->prototypes[module->functions[i].prototype];
            pointers->by_prototype[prototype->first + prototype->count++] = i;
        }
    }
}

void pdl_pointers_sort(struct pdl_ptx_module *module)
{
    const struct pdl_ptx_pointers *pointers = &module->pointers;
    bool *taken = pdl_take((size_t)module->function_count + 1, sizeof(*taken));
    for (uint32_t i = 0; i < pointers->taken_count; i++) {
        const struct pdl_ptx_function *function = pdl_ptx_function_find(module, pointers->taken[i]);
        if (function != NULL && !function->is_entry) {
            taken[function - module->functions] = true;
        }
    }
    list_functions(module, taken);
}
