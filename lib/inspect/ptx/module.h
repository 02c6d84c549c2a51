/* SPDX-License-Identifier: MIT */
/* A PTX text while it is read: everything but the bodies of its functions. */
#ifndef PDL_INSPECT_MODULE_H
#define PDL_INSPECT_MODULE_H

#include "code/bounds.h"
#include "code/lexer.h"
#include "inspect/inspection.h"
#include "inspect/ptx/names.h"
#include "inspect/ptx/opcode.h"

/* Parameters of one function. */
#define PDL_PTX_PARAMETERS_MAX 4096
/* Bytes of a file's name that are kept: no file that can be opened has a longer one. */
#define PDL_PTX_FILE_MAX 4096u

/* In space_of: a variable of this module alone with an initializer. */
#define PDL_PTX_TABLE 0x80u

/* Parameters are many, and their names are looked up in few bodies. */
struct pdl_ptx_parameter {
    uint32_t text;            /* its name: where it stands in the module's text */
    uint32_t length : 31;     /* 0: it has none */
    uint32_t in_register : 1; /* .reg, as functions may have */
    uint32_t size;            /* bytes; 0 if not known */
};

/* Opcodes whose class is known, by the last bits of their names' numbers. */
#define PDL_PTX_OPCODES 512

struct pdl_known_opcode {
    uint32_t name; /* + 1; or 0 */
    struct pdl_opcode opcode;
};

/* In the module's callees: an indirect call of a prototype, and not a name. */
#define PDL_PTX_INDIRECT 0x80000000u

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

/* A .entry or .func. */
struct pdl_ptx_function {
    uint32_t name;
    uint32_t line; /* of its name */
    uint32_t column;
    bool is_entry;
    bool has_body;
    bool no_return;
    bool in_group;                             /* its summary is not final yet */
    uint32_t first_result, result_count;       /* in the module's parameters */
    uint32_t first_parameter, parameter_count; /* in the module's parameters */
    uint32_t body, body_end;                   /* offsets of what is between the braces */
    uint32_t body_line, body_column;           /* of `body` */
    uint32_t first_callee, callee_count;       /* in the module's callees */
    uint32_t prototype;                        /* if its address is taken; else PDL_NONE */
    struct pdl_summary *summary;               /* of a function with a body, once it is known */
    struct pdl_special *specials;              /* the same for constant arguments */
    struct pdl_bounds bounds;                  /* of a kernel */
};

struct pdl_ptx_module {
    pdl_inspection *inspection;
    const char *text;
    const char *end;
    struct pdl_names names;
    uint32_t *function_of; /* by name: function + 1, or 0 */
    uint8_t *space_of;     /* by name: pdl_space + 1 of a variable of the module, or 0 */
    size_t by_name_capacity, by_name_space_capacity;
    struct pdl_ptx_function *functions;
    struct pdl_ptx_parameter *parameters;
    uint32_t *callees;
    struct pdl_ptx_pointers pointers;
    struct pdl_ptx_file *files;
    struct pdl_ptx_string *strings; /* labels in .debug_str */
    uint32_t function_count, parameter_count, callee_count, file_count, string_count;
    size_t function_capacity, parameter_capacity, callee_capacity, file_capacity;
    size_t string_capacity;
    bool strings_sorted;
    struct pdl_known_opcode opcodes[PDL_PTX_OPCODES];
    int target;
    char target_suffix;
    bool debug; /* compiled with -G: values are in local memory, and not traced through it */
    unsigned version;
    bool shared_name; /* what comes next is known to other modules */
    uint32_t image;
    uint32_t inner_registers; /* declared by the number in inner scopes so far */
    uint64_t kept_effects;    /* in all summaries so far */
    struct pdl_arena arena;   /* summaries */
};

/* `.file 1 "a.cu"`; the number is that of .loc. */
struct pdl_ptx_file {
    uint64_t number;
    const char *name; /* in the inspection's arena */
};

/* A label in .debug_str, and where its bytes are in the text. */
struct pdl_ptx_string {
    uint32_t name;
    uint32_t offset;
    const char *text; /* once it was asked for, in the inspection's arena */
};

/* Reads everything but the bodies of functions. */
void pdl_ptx_module_read(struct pdl_ptx_module *module);

/* Forgets the names behind the first ones, once there are many; between bodies. */
void pdl_ptx_forget_names(struct pdl_ptx_module *module, uint32_t count);

/* Reads `(…) _ (…)` behind .callprototype: its number. */
uint32_t pdl_ptx_prototype_read(struct pdl_ptx_module *module, struct pdl_lexer *lexer);

/* Fails at the lexer's current token. */
__attribute__((noreturn, cold)) void pdl_ptx_fail(const struct pdl_lexer *lexer, const char *what);

/* The function of a name, or NULL. */
struct pdl_ptx_function *pdl_ptx_function_find(const struct pdl_ptx_module *module, uint32_t name);

/* ---- functions whose address is taken (pointers.c) ------------------------------------------------ */

uint64_t pdl_prototype_key(uint64_t key, uint32_t size);

/* The number of a prototype. */
uint32_t pdl_prototype_add(struct pdl_ptx_pointers *pointers, uint64_t key);

/* Notes that code names a symbol. */
void pdl_pointers_take(struct pdl_ptx_pointers *pointers, uint32_t symbol);

/* Reads the initializer of a variable, of elements of `size` bytes, from its '=': notes whose addresses
 * it holds, as in `{0, name, generic(name)+16, 0xFF(name)}`. The current token becomes the one behind. */
void pdl_pointers_read(struct pdl_ptx_module *module, struct pdl_lexer *lexer, uint32_t variable,
                       uint32_t size);

/* Sorts everything, once all functions are known. */
void pdl_pointers_sort(struct pdl_ptx_module *module);

/* The slots of a variable: *count of them from the one that is returned. */
const struct pdl_pointer_slot *pdl_pointers_of(const struct pdl_ptx_pointers *pointers,
                                               uint32_t variable, uint32_t *count);

/* The virtual functions at an offset. */
const struct pdl_virtual_slot *pdl_virtuals_at(const struct pdl_ptx_pointers *pointers,
                                               uint32_t offset, uint32_t *count);

#endif /* PDL_INSPECT_MODULE_H */
