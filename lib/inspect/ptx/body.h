/* SPDX-License-Identifier: MIT */
/* A PTX text while it is read: the module, and one function's body at a time. */
#ifndef PDL_INSPECT_BODY_H
#define PDL_INSPECT_BODY_H

#include "code/lexer.h"
#include "inspect/inspection.h"
#include "inspect/ptx/names.h"
#include "inspect/ptx/opcode.h"

/* Scopes in a function's body go no deeper than this. */
#define PDL_PTX_DEPTH_MAX 256
/* Parameters of one function. */
#define PDL_PTX_PARAMETERS_MAX 4096

/* In space_of: a variable of this module alone with an initializer. */
#define PDL_PTX_TABLE 0x80u

/* ---- the module ------------------------------------------------------------------------------ */

struct pdl_ptx_parameter {
    uint32_t name;    /* in the module's names */
    bool in_register; /* .reg, as functions may have */
    uint32_t size;    /* bytes; 0 if not known */
};

/* A .entry or .func. */
struct pdl_ptx_function {
    uint32_t name;
    uint32_t line; /* of its name */
    uint32_t column;
    bool is_entry;
    bool has_body;
    bool no_return;
    uint32_t first_result, result_count;       /* in the module's parameters */
    uint32_t first_parameter, parameter_count; /* in the module's parameters */
    uint32_t body, body_end;                   /* offsets of what is between the braces */
    uint32_t body_line, body_column;           /* of `body` */
    uint32_t first_callee, callee_count;       /* names, in the module's callees */
    struct pdl_summary *summary;               /* of a function with a body, once it is known */
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
    struct pdl_ptx_file *files;
    struct pdl_ptx_string *strings; /* labels in .debug_str */
    uint32_t function_count;
    size_t function_capacity;
    uint32_t parameter_count;
    size_t parameter_capacity;
    uint32_t callee_count;
    size_t callee_capacity;
    uint32_t file_count;
    size_t file_capacity;
    uint32_t string_count;
    size_t string_capacity;
    bool strings_sorted;
    struct pdl_opcode *opcodes; /* by name */
    uint8_t *opcode_known;
    size_t opcode_capacity, opcode_known_capacity;
    int target;
    char target_suffix;
    bool debug; /* compiled with -G: values are in local memory, and not traced through it */
    unsigned version;
    bool shared_name; /* what comes next is known to other modules */
    uint32_t image;
    uint32_t inner_registers; /* declared by the number in inner scopes so far */
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
};

/* Reads everything but the bodies of functions. */
pdl_status pdl_ptx_module_read(struct pdl_ptx_module *module);
void pdl_ptx_module_free(struct pdl_ptx_module *module);

/* Records a PTX error at the lexer's current token. */
pdl_status pdl_ptx_fail(const struct pdl_lexer *lexer, const char *what);
pdl_status pdl_ptx_no_memory(void);

/* The function of a name, or NULL. */
struct pdl_ptx_function *pdl_ptx_function_find(const struct pdl_ptx_module *module, uint32_t name);

/* ---- a body ---------------------------------------------------------------------------------- */

enum pdl_symbol_kind {
    PDL_SYMBOL_REGISTER,        /* declared, or not declared at all */
    PDL_SYMBOL_SPECIAL,         /* %tid.x and its like */
    PDL_SYMBOL_PARAMETER,       /* of the function; index is its number */
    PDL_SYMBOL_RESULT,          /* of the function; index is its number */
    PDL_SYMBOL_LOCAL_PARAMETER, /* a .param declared in the body, for a call */
    PDL_SYMBOL_VARIABLE,        /* space is set */
    PDL_SYMBOL_FUNCTION
};

struct pdl_symbol {
    uint32_t name;
    uint8_t kind;
    uint8_t space; /* pdl_space of a variable */
    uint16_t index;
};

enum pdl_operand_kind {
    PDL_OPERAND_SYMBOL,
    PDL_OPERAND_NUMBER,
    PDL_OPERAND_LABEL, /* symbol is its name, value the scope it is named in */
    PDL_OPERAND_TARGET /* a label that was resolved: symbol is the instruction behind it, or of a
                          branch through a table the list of targets */
};

struct pdl_operand {
    uint32_t symbol; /* PDL_NONE for a number */
    uint16_t slot;   /* counted by commas outside of brackets */
    uint8_t kind;
    bool memory;   /* inside [ ] */
    bool address;  /* the first inside [ ]: the base of the address */
    int64_t value; /* a number, or what is added to the symbol */
};

struct pdl_instruction {
    uint32_t name; /* the opcode as written */
    struct pdl_opcode opcode;
    bool guard_negated;
    uint32_t guard; /* a symbol, or PDL_NONE */
    uint32_t line, column;
    uint32_t place; /* in places, or PDL_NONE */
    uint32_t first_operand;
    uint32_t operand_count;
    uint32_t callee; /* of a call: the function's name; PDL_NONE if it is indirect */
};

/* What `.loc` said. */
struct pdl_place {
    uint32_t file, line, column;
    uint32_t function; /* name of a label in .debug_str, or PDL_NONE */
    uint32_t inlined_file, inlined_line, inlined_column; /* line 0: not inlined */
    const pdl_inspect_place *chain;                      /* once something is reported there */
    uint32_t chain_count;
};

/* `// pdl:…` */
struct pdl_marker {
    const char *text;
    uint32_t length;
    uint32_t line;
    uint32_t place;
    uint32_t symbol; /* of pdl:constant, or PDL_NONE */
};

struct pdl_label {
    uint32_t name, scope;
    uint32_t instruction; /* the one behind it */
};

struct pdl_target_list {
    uint32_t name, scope;
    uint32_t first, count; /* in targets */
};

struct pdl_scope {
    uint32_t parent;
    uint32_t first_undo;
};

struct pdl_binding {
    uint32_t symbol;
    uint32_t generation;
    uint32_t depth;
};

struct pdl_undo {
    uint32_t name;
    struct pdl_binding before;
};

/* The arrays are kept from one function to the next; counts start again. */
struct pdl_body {
    const struct pdl_ptx_function *function;
    struct pdl_instruction *instructions;
    struct pdl_operand *operands;
    struct pdl_symbol *symbols;
    struct pdl_place *places;
    struct pdl_marker *markers;
    struct pdl_label *labels;
    struct pdl_target_list *lists;
    struct pdl_operand *targets;
    struct pdl_scope *scopes;
    struct pdl_undo *undos;
    struct pdl_binding *bindings; /* by name */
    uint32_t instruction_count;
    size_t instruction_capacity;
    uint32_t operand_count;
    size_t operand_capacity;
    uint32_t symbol_count;
    size_t symbol_capacity;
    uint32_t place_count;
    size_t place_capacity;
    uint32_t marker_count;
    size_t marker_capacity;
    uint32_t label_count;
    size_t label_capacity;
    uint32_t list_count;
    size_t list_capacity;
    uint32_t target_count;
    size_t target_capacity;
    uint32_t scope_count;
    size_t scope_capacity;
    uint32_t undo_count;
    size_t undo_capacity;
    size_t binding_capacity;
    uint32_t generation;
};

/* Reads a function's body. */
pdl_status pdl_ptx_body_read(struct pdl_ptx_module *module, const struct pdl_ptx_function *function,
                             struct pdl_body *body);
void pdl_ptx_body_free(struct pdl_body *body);

/* Turns the labels that the branches of a body name into the instructions behind them. */
pdl_status pdl_ptx_labels_resolve(const struct pdl_ptx_module *module, struct pdl_body *body);

#endif /* PDL_INSPECT_BODY_H */
