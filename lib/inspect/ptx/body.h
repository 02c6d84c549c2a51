/* SPDX-License-Identifier: MIT */
/* One function's body at a time. */
#ifndef PDL_INSPECT_BODY_H
#define PDL_INSPECT_BODY_H

#include "inspect/ptx/module.h"

/* Scopes in a function's body go no deeper than this. */
#define PDL_PTX_DEPTH_MAX 256

enum pdl_symbol_kind {
    PDL_SYMBOL_REGISTER,        /* declared, or not declared at all */
    PDL_SYMBOL_SPECIAL,         /* %tid.x and its like */
    PDL_SYMBOL_PARAMETER,       /* of the function; index is its number */
    PDL_SYMBOL_RESULT,          /* of the function; index is its number */
    PDL_SYMBOL_LOCAL_PARAMETER, /* a .param declared in the body, for a call */
    PDL_SYMBOL_VARIABLE,        /* space is set */
    PDL_SYMBOL_FUNCTION,
    PDL_SYMBOL_PROTOTYPE, /* of an indirect call; index is its number + 1, 0 if there are too many */
    PDL_SYMBOL_TARGETS    /* what an indirect call may call; index is the list's number + 1, or 0 */
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
    bool negated;  /* a symbol behind '!'; a second result behind `_|`; a number that is no
                      integer */
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
    uint32_t callee;      /* of a call: the function's name; PDL_NONE if it is indirect */
    uint32_t target;      /* of a call: the symbol of what is called, or PDL_NONE */
    uint16_t target_slot; /* where that stands, between results and arguments */
    uint8_t called_is;    /* PDL_CALLED_… */
    const struct pdl_summary *called; /* what it does, once that is known; or NULL */
};

/* What is known of the functions that an instruction calls. */
enum {
    PDL_CALLED_HARMLESS = 1,    /* they touch nothing of the program's, and do not wait */
    PDL_CALLED_NEVER_WAITS = 2, /* they do not wait */
    PDL_CALLED_GUESSED = 4      /* all that the module has; there may be others */
};

/* What `.loc` said. */
struct pdl_place {
    uint32_t file, line, column;
    uint32_t function; /* name of a label in .debug_str, or PDL_NONE */
    uint32_t inlined_file, inlined_line, inlined_column; /* line 0: not inlined */
    const pdl_inspect_place *const *chain;               /* once something is reported there */
    const pdl_inspect_place *frame;                      /* this one in chains */
    uint32_t chain_count;
    uint32_t depth;  /* of this place in its chain, from 1; 0: the places are not linked yet */
    uint32_t caller; /* the place that it was inlined to, or PDL_NONE */
    uint32_t outer;  /* the place around it that begins the outer end of long chains */
};

/* `// pdl:…`, or the same in code */
struct pdl_marker {
    const char *text;
    uint32_t length;
    uint32_t line;
    uint32_t place;
    uint32_t symbol; /* of pdl:constant, or PDL_NONE */
    uint32_t rule;   /* in code, of pdl:allow: a hash of its id; else 0 */
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
    uint32_t instruction_count, operand_count, symbol_count, place_count, marker_count;
    uint32_t label_count, list_count, target_count, scope_count, undo_count;
    size_t instruction_capacity, operand_capacity, symbol_capacity, place_capacity;
    size_t marker_capacity, label_capacity, list_capacity, target_capacity, scope_capacity;
    size_t undo_capacity, binding_capacity;
    uint32_t generation;
};

/* Reads a function's body. Its branches name labels, which are resolved later. */
void pdl_ptx_body_read(struct pdl_ptx_module *module, const struct pdl_ptx_function *function,
                       struct pdl_body *body);

/* Turns the labels that the branches of a body name into the instructions behind them (labels.c). */
void pdl_ptx_labels_resolve(const struct pdl_ptx_module *module, struct pdl_body *body);

#endif /* PDL_INSPECT_BODY_H */
