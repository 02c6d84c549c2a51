/* SPDX-License-Identifier: MIT */
/* The functions of a PTX text whose address is taken: where it is kept, and their prototypes. */
#ifndef PDL_INSPECT_POINTERS_H
#define PDL_INSPECT_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdl_ptx_module;

/* A variable's initializer holds the address of `symbol` at byte `offset`. */
struct pdl_pointer_slot {
    uint32_t variable, symbol; /* names */
    uint32_t offset;
};

/* A virtual function: its index in the functions, and its offset from where objects point into the
 * table. */
struct pdl_virtual_slot {
    uint32_t offset;
    uint32_t function;
};

/* What functions that an indirect call may mean have in common: the sizes of results and parameters. */
struct pdl_prototype {
    uint64_t key;
    uint32_t first, count; /* in by_prototype: the functions whose address is taken */
    uint32_t free_count;   /* the first of them, whose address is not only in tables of classes */
};

struct pdl_ptx_pointers {
    struct pdl_pointer_slot *slots; /* by variable and offset, once they are sorted */
    struct pdl_virtual_slot *virtuals;
    struct pdl_prototype *prototypes;
    uint32_t *prototype_slots; /* prototype + 1, or 0, by key */
    uint32_t *taken;           /* names that a mov names */
    uint32_t *by_prototype;    /* functions */
    uint32_t slot_count, virtual_count, prototype_count, taken_count, prototype_slot_count;
    size_t slot_capacity, virtual_capacity, prototype_capacity, taken_capacity;
};

/* A prototype's key, from one size to the next: the results, PDL_PROTOTYPE_RESULTS, the parameters. */
#define PDL_PROTOTYPE_KEY     UINT64_C(0x2545f4914f6cdd1d)
#define PDL_PROTOTYPE_RESULTS UINT32_MAX

uint64_t pdl_prototype_key(uint64_t key, uint32_t size);

/* The number of a prototype; PDL_NONE if there is no memory. */
uint32_t pdl_prototype_add(struct pdl_ptx_pointers *pointers, uint64_t key);

/* Notes that code names a symbol; false if there is no memory. */
bool pdl_pointers_take(struct pdl_ptx_pointers *pointers, uint32_t symbol);

/* Notes that an initializer does. */
bool pdl_pointers_put(struct pdl_ptx_pointers *pointers, uint32_t variable, uint64_t offset,
                      uint32_t symbol);

/* Sorts everything, once all functions are known; false if there is no memory. */
bool pdl_pointers_sort(struct pdl_ptx_module *module);

/* The slots of a variable: *count of them from the one that is returned. */
const struct pdl_pointer_slot *pdl_pointers_of(const struct pdl_ptx_pointers *pointers,
                                               uint32_t variable, uint32_t *count);

/* The virtual functions at an offset. */
const struct pdl_virtual_slot *pdl_virtuals_at(const struct pdl_ptx_pointers *pointers,
                                               uint32_t offset, uint32_t *count);

void pdl_pointers_free(struct pdl_ptx_pointers *pointers);

#endif /* PDL_INSPECT_POINTERS_H */
