/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/module.h"

#include <stdlib.h>

/* Where objects point into the table of their class: behind two words that are no functions. */
#define TABLE_START 16u

/* How the address of a function is taken. */
enum { TAKEN_VIRTUAL = 1, TAKEN_FREE = 2 };

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
    PDL_ADD(pointers->taken, pointers->taken_count, pointers->taken_capacity, symbol);
}

/* Notes that an initializer holds an address. */
static void put(struct pdl_ptx_pointers *pointers, uint32_t variable, uint64_t offset,
                uint32_t symbol)
{
    const struct pdl_pointer_slot slot = {variable, symbol,
                                          offset < UINT32_MAX ? (uint32_t)offset : UINT32_MAX};
    if (pointers->slot_count > 0) {
        const struct pdl_pointer_slot *last = &pointers->slots[pointers->slot_count - 1];
        if (last->variable == variable && last->symbol == symbol && last->offset == slot.offset) {
            return; /* another byte of it */
        }
    }
    PDL_ADD(pointers->slots, pointers->slot_count, pointers->slot_capacity, slot);
}

void pdl_pointers_read(struct pdl_ptx_module *module, struct pdl_lexer *lexer, uint32_t variable,
                       uint32_t size)
{
    uint64_t offset = 0;
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
        } else if (token->mark == ',') {
            offset += size;
        } else if (token->kind == PDL_TOKEN_WORD && !PDL_TOKEN_IS(lexer, "generic")) {
            /* An address in bytes, one after the other, is one. */
            put(&module->pointers, variable, offset & ~UINT64_C(7),
                pdl_names_add(&module->names, token->text, token->length));
        }
        pdl_lexer_next(lexer);
    }
}

/* ---- once everything was read --------------------------------------------------------------------- */

static int compare_slots(const void *left, const void *right)
{
    const struct pdl_pointer_slot *a = left;
    const struct pdl_pointer_slot *b = right;
    if (a->variable != b->variable) {
        return a->variable < b->variable ? -1 : 1;
    }
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int compare_virtuals(const void *left, const void *right)
{
    const struct pdl_virtual_slot *a = left;
    const struct pdl_virtual_slot *b = right;
    if (a->offset != b->offset) {
        return a->offset < b->offset ? -1 : 1;
    }
    return a->function < b->function ? -1 : a->function > b->function;
}

static bool is_class_table(const struct pdl_ptx_module *module, uint32_t variable)
{
    return pdl_name_begins(&module->names.names[variable], "_ZTV");
}

static void add_virtual(struct pdl_ptx_pointers *pointers, uint32_t offset, uint32_t function)
{
    PDL_ADD(pointers->virtuals, pointers->virtual_count, pointers->virtual_capacity,
            (struct pdl_virtual_slot){offset, function});
}

/* The index of a device function of a name, or PDL_NONE. */
static uint32_t device_function(const struct pdl_ptx_module *module, uint32_t name)
{
    const struct pdl_ptx_function *function = pdl_ptx_function_find(module, name);
    return function != NULL && !function->is_entry ? (uint32_t)(function - module->functions)
                                                   : PDL_NONE;
}

/* The virtual functions by their offset. A class of several bases has several tables in one variable:
 * what comes behind two words that are no functions is counted from there too. */
static void find_virtuals(struct pdl_ptx_module *module)
{
    struct pdl_ptx_pointers *pointers = &module->pointers;
    uint32_t start = TABLE_START;
    for (uint32_t i = 0; i < pointers->slot_count; i++) {
        const struct pdl_pointer_slot *slot = &pointers->slots[i];
        const struct pdl_pointer_slot *before = i > 0 ? slot - 1 : NULL;
        if (!is_class_table(module, slot->variable)) {
            continue;
        }
        if (before == NULL || before->variable != slot->variable) {
            start = TABLE_START;
        } else if (slot->offset - before->offset >= TABLE_START + 8) {
            start = slot->offset;
        }
        const uint32_t function = device_function(module, slot->symbol);
        if (function == PDL_NONE || slot->offset < TABLE_START) {
            continue;
        }
        add_virtual(pointers, slot->offset - TABLE_START, function);
        if (start > TABLE_START) {
            add_virtual(pointers, slot->offset - start, function);
        }
    }
    if (pointers->virtual_count > 0) {
        qsort(pointers->virtuals, pointers->virtual_count, sizeof(*pointers->virtuals),
              compare_virtuals);
    }
}

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

/* The functions of each prototype, those first whose address is not only in tables of classes. */
static void list_functions(struct pdl_ptx_module *module, const uint8_t *taken)
{
    struct pdl_ptx_pointers *pointers = &module->pointers;
    uint32_t count = 0;
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (taken[i] != 0) {
            set_prototype(module, &module->functions[i]);
            pointers->prototypes[module->functions[i].prototype].count++;
            count++;
        }
    }
    pointers->by_prototype = pdl_take((size_t)count + 1, sizeof(*pointers->by_prototype));
    uint32_t first = 0;
    for (uint32_t i = 0; i < pointers->prototype_count; i++) {
        pointers->prototypes[i].first = first;
        first += pointers->prototypes[i].count;
        pointers->prototypes[i].count = 0;
    }
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < module->function_count; i++) {
            const bool is_free = (taken[i] & TAKEN_FREE) != 0;
            if (taken[i] != 0 && is_free == (pass == 0)) {
                struct pdl_prototype *prototype =
                    &pointers->prototypes[module->functions[i].prototype];
                pointers->by_prototype[prototype->first + prototype->count++] = i;
                prototype->free_count += is_free ? 1u : 0u;
            }
        }
    }
}

void pdl_pointers_sort(struct pdl_ptx_module *module)
{
    struct pdl_ptx_pointers *pointers = &module->pointers;
    uint8_t *taken = pdl_take((size_t)module->function_count + 1, sizeof(*taken));
    if (pointers->slot_count > 0) {
        qsort(pointers->slots, pointers->slot_count, sizeof(*pointers->slots), compare_slots);
    }
    for (uint32_t i = 0; i < pointers->taken_count; i++) {
        const uint32_t function = device_function(module, pointers->taken[i]);
        if (function != PDL_NONE) {
            taken[function] |= TAKEN_FREE;
        }
    }
    for (uint32_t i = 0; i < pointers->slot_count; i++) {
        const uint32_t function = device_function(module, pointers->slots[i].symbol);
        if (function != PDL_NONE) {
            taken[function] |=
                is_class_table(module, pointers->slots[i].variable) ? TAKEN_VIRTUAL : TAKEN_FREE;
        }
    }
    find_virtuals(module);
    list_functions(module, taken);
}

/* ---- finding -------------------------------------------------------------------------------------- */

/* The first slot of a variable, or of one behind it. */
static uint32_t first_slot(const struct pdl_ptx_pointers *pointers, uint64_t variable)
{
    uint32_t low = 0, high = pointers->slot_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (pointers->slots[middle].variable < variable) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct pdl_pointer_slot *pdl_pointers_of(const struct pdl_ptx_pointers *pointers,
                                               uint32_t variable, uint32_t *count)
{
    const uint32_t first = first_slot(pointers, variable);
    *count = first_slot(pointers, (uint64_t)variable + 1) - first;
    return *count > 0 ? pointers->slots + first : NULL;
}

static uint32_t first_virtual(const struct pdl_ptx_pointers *pointers, uint64_t offset)
{
    uint32_t low = 0, high = pointers->virtual_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (pointers->virtuals[middle].offset < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct pdl_virtual_slot *pdl_virtuals_at(const struct pdl_ptx_pointers *pointers,
                                               uint32_t offset, uint32_t *count)
{
    const uint32_t first = first_virtual(pointers, offset);
    *count = first_virtual(pointers, (uint64_t)offset + 1) - first;
    return *count > 0 ? pointers->virtuals + first : NULL;
}
