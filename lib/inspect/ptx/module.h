/* SPDX-License-Identifier: MIT */
/* A PTX text while it is read: everything but the bodies of its functions. */
#ifndef PDL_INSPECT_MODULE_H
#define PDL_INSPECT_MODULE_H

#include "code/lexer.h"
#include "inspect/inspection.h"
#include "inspect/ptx/names.h"
#include "inspect/ptx/opcode.h"
#include "inspect/ptx/pointers.h"

/* Parameters of one function. */
#define PDL_PTX_PARAMETERS_MAX 4096
/* Bytes of a file's name that are kept: no file that can be opened has a longer one. */
#define PDL_PTX_FILE_MAX 4096u

/* In space_of: a variable of this module alone with an initializer. */
#define PDL_PTX_TABLE 0x80u

struct pdl_ptx_parameter {
    uint32_t name;    /* in the module's names */
    bool in_register; /* .reg, as functions may have */
    uint32_t size;    /* bytes; 0 if not known */
};

/* In the module's callees: an indirect call of a prototype, and not a name. */
#define PDL_PTX_INDIRECT 0x80000000u

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
};

/* What is written at a wait or a trigger in the source. */
struct pdl_said {
    const char *file;
    const char *name;
    uint32_t line;
    bool wait;
};

/* How many of them are kept. */
#define PDL_IDIOMS 8

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
    struct pdl_opcode *opcodes; /* by name */
    uint8_t *opcode_known;
    size_t opcode_capacity, opcode_known_capacity;
    int target;
    char target_suffix;
    bool debug; /* compiled with -G: values are in local memory, and not traced through it */
    unsigned version;
    bool shared_name; /* what comes next is known to other modules */
    uint32_t image;
    uint32_t inner_registers;       /* declared by the number in inner scopes so far */
    uint64_t kept_effects;          /* in all summaries so far */
    struct pdl_arena arena;         /* summaries */
    struct pdl_source_file *source; /* the source that was read last */
    struct pdl_said said[PDL_IDIOMS];
    unsigned next_said;
    const char *wait_name; /* what the text's first wait is written as; NULL: not known yet */
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
pdl_status pdl_ptx_module_read(struct pdl_ptx_module *module);
void pdl_ptx_module_free(struct pdl_ptx_module *module);

/* Reads `(…) _ (…)` behind .callprototype: *prototype is its number. */
pdl_status pdl_ptx_prototype_read(struct pdl_ptx_module *module, struct pdl_lexer *lexer,
                                  uint32_t *prototype);

/* Records a PTX error at the lexer's current token. */
pdl_status pdl_ptx_fail(const struct pdl_lexer *lexer, const char *what);
pdl_status pdl_ptx_no_memory(void);

/* The function of a name, or NULL. */
struct pdl_ptx_function *pdl_ptx_function_find(const struct pdl_ptx_module *module, uint32_t name);

#endif /* PDL_INSPECT_MODULE_H */
