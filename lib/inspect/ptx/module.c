/* SPDX-License-Identifier: MIT */
#include "inspect/ptx/module.h"

#include <stdlib.h>
#include <string.h>

#include "code/unescape.h"

/* Names that only bodies have, and are kept for the next ones. */
#define NAMES_OF_BODIES 4096u

void pdl_ptx_fail(const struct pdl_lexer *lexer, const char *what)
{
    const struct pdl_token *token = &lexer->token;
    if (token->kind == PDL_TOKEN_ERROR) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, token->line, token->column, "%s", token->text);
    }
    if (token->kind == PDL_TOKEN_END) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, token->line, token->column,
                 "the text ends where %s is expected", what);
    }
    pdl_fail(PDL_ERROR_INVALID_IMAGE, token->line, token->column, "'%.*s%s' where %s is expected",
             (int)(token->length < 60 ? token->length : 60), token->text,
             token->length < 60 ? "" : "…", what);
}

static bool at_mark(const struct pdl_lexer *lexer, char mark)
{
    return lexer->token.mark == mark;
}

/* Skips to behind the next ';' that is in no bracket. */
static void skip_statement(struct pdl_lexer *lexer)
{
    while (!at_mark(lexer, ';')) {
        if (at_mark(lexer, '{') || at_mark(lexer, '(') || at_mark(lexer, '[')) {
            if (!pdl_lexer_skip(lexer)) {
                pdl_ptx_fail(lexer, "a closing bracket");
            }
        } else if (pdl_lexer_at_end(lexer) || at_mark(lexer, '}')) {
            pdl_ptx_fail(lexer, "';'");
        }
        pdl_lexer_next(lexer);
    }
    pdl_lexer_next(lexer);
}

static uint32_t add_name(struct pdl_ptx_module *module, const struct pdl_token *token)
{
    return pdl_names_add(&module->names, token->text, token->length);
}

/* ---- .version, .target, .file ----------------------------------------------------------------- */

static void read_version(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    unsigned major = 0, minor = 0;
    char text[16] = "";
    pdl_lexer_next(lexer);
    if (lexer->token.kind != PDL_TOKEN_NUMBER || lexer->token.length >= sizeof(text)) {
        pdl_ptx_fail(lexer, "a version");
    }
    memcpy(text, lexer->token.text, lexer->token.length);
    char *rest;
    major = (unsigned)strtoul(text, &rest, 10);
    minor = *rest == '.' ? (unsigned)strtoul(rest + 1, &rest, 10) : 0;
    if (*rest != '\0' || major > 99 || minor > 9) {
        pdl_ptx_fail(lexer, "a version");
    }
    module->version = major * 10 + minor;
    pdl_lexer_next(lexer);
}

static void read_target(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    do {
        pdl_lexer_next(lexer);
        const struct pdl_token *token = &lexer->token;
        if (token->kind != PDL_TOKEN_WORD) {
            pdl_ptx_fail(lexer, "a target");
        }
        module->debug = module->debug || PDL_TOKEN_IS(lexer, "debug");
        if (token->length > 3 && token->length < 10 && memcmp(token->text, "sm_", 3) == 0) {
            char text[12] = "";
            char *rest;
            memcpy(text, token->text + 3, token->length - 3);
            module->target = (int)strtol(text, &rest, 10);
            module->target_suffix = *rest;
            if (module->target <= 0 || (*rest != '\0' && rest[1] != '\0')) {
                pdl_ptx_fail(lexer, "a target");
            }
        }
        pdl_lexer_next(lexer);
    } while (at_mark(lexer, ','));
}

static void read_file(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    struct pdl_ptx_file file = {0};
    pdl_lexer_next(lexer);
    if (!pdl_token_integer(&lexer->token, &file.number)) {
        pdl_ptx_fail(lexer, "a file's number");
    }
    pdl_lexer_next(lexer);
    if (lexer->token.kind != PDL_TOKEN_STRING) {
        pdl_ptx_fail(lexer, "a file's name");
    }
    const uint32_t length = lexer->token.length;
    char *name = pdl_arena_copy(&module->inspection->arena, lexer->token.text,
                                length < PDL_PTX_FILE_MAX ? length : PDL_PTX_FILE_MAX);
    name[pdl_unescape(name, name, strlen(name))] = '\0'; /* compilers write UTF-8 so */
    file.name = name;
    PDL_ADD(module->files, module->file_count, module->file_capacity, file);
    pdl_lexer_next(lexer);
    while (at_mark(lexer, ',')) { /* a time and a size */
        pdl_lexer_next(lexer);
        pdl_lexer_next(lexer);
    }
}

/* A section of debug information; of .debug_str the labels are kept, which .loc names. */
static void read_section(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    pdl_lexer_next(lexer);
    const bool strings = PDL_TOKEN_IS(lexer, ".debug_str");
    pdl_lexer_next(lexer);
    if (!at_mark(lexer, '{')) {
        pdl_ptx_fail(lexer, "'{'");
    }
    if (!strings) {
        if (!pdl_lexer_skip(lexer)) {
            pdl_ptx_fail(lexer, "'}'");
        }
        pdl_lexer_next(lexer);
        return;
    }
    while (!at_mark(lexer, '}')) {
        if (pdl_lexer_at_end(lexer)) {
            pdl_ptx_fail(lexer, "'}'");
        }
        const struct pdl_token before = lexer->token;
        pdl_lexer_next(lexer);
        if (before.kind == PDL_TOKEN_WORD && at_mark(lexer, ':')) {
            const struct pdl_ptx_string string = {
                .name = add_name(module, &before),
                .offset = (uint32_t)(lexer->at - module->text),
            };
            PDL_ADD(module->strings, module->string_count, module->string_capacity, string);
        }
    }
    pdl_lexer_next(lexer);
}

/* ---- functions --------------------------------------------------------------------------------- */

static uint32_t type_size(const struct pdl_token *token)
{
    uint32_t bits = 0;
    for (uint32_t i = 2; i < token->length && token->text[i] >= '0' && token->text[i] <= '9'; i++) {
        bits = bits * 10 + (uint32_t)(token->text[i] - '0');
        if (bits > 1024) {
            return 0;
        }
    }
    return bits / 8;
}

/* One of `(.param .align 8 .b8 name[16], .reg .b32 name2)`. Prototypes may leave the name out. */
static struct pdl_ptx_parameter read_parameter(struct pdl_ptx_module *module,
                                               struct pdl_lexer *lexer, bool *there)
{
    uint64_t elements = 1;
    struct pdl_ptx_parameter parameter = {0};
    *there = false;
    while (!at_mark(lexer, ',') && !at_mark(lexer, ')')) {
        if (pdl_lexer_at_end(lexer) || at_mark(lexer, ';') || at_mark(lexer, '{')) {
            pdl_ptx_fail(lexer, "a parameter");
        }
        const struct pdl_token *token = &lexer->token;
        *there = true;
        parameter.in_register |= PDL_TOKEN_IS(lexer, ".reg");
        if (token->kind == PDL_TOKEN_WORD && token->text[0] == '.' && token->length > 2 &&
            token->text[2] >= '0' && token->text[2] <= '9') {
            parameter.size = type_size(token);
        } else if (token->kind == PDL_TOKEN_WORD && token->text[0] != '.') {
            parameter.text = (uint32_t)(token->text - module->text);
            parameter.length = token->length;
        } else if (at_mark(lexer, '[')) {
            pdl_lexer_next(lexer);
            if (pdl_token_integer(&lexer->token, &elements)) {
                pdl_lexer_next(lexer);
            } else {
                elements = 0;
            }
            if (!at_mark(lexer, ']')) {
                pdl_ptx_fail(lexer, "']'");
            }
        }
        pdl_lexer_next(lexer);
    }
    parameter.size *= elements <= UINT16_MAX ? (uint32_t)elements : 0;
    return parameter;
}

/* `(.param .align 8 .b8 name[16], .reg .b32 name2)`: adds them to the module's parameters. */
static void read_parameters(struct pdl_ptx_module *module, struct pdl_lexer *lexer, uint32_t *first,
                            uint32_t *count)
{
    *first = module->parameter_count;
    *count = 0;
    pdl_lexer_next(lexer);
    while (!at_mark(lexer, ')')) {
        bool there;
        const struct pdl_ptx_parameter parameter = read_parameter(module, lexer, &there);
        /* A type alone is a parameter too; `()` has none. */
        if (parameter.length != 0 || !at_mark(lexer, ')') || *count != 0) {
            if (*count == PDL_PTX_PARAMETERS_MAX) {
                pdl_ptx_fail(lexer, "the end of more than 4096 parameters");
            }
            PDL_ADD(module->parameters, module->parameter_count, module->parameter_capacity,
                    parameter);
            ++*count;
        }
        if (at_mark(lexer, ',')) {
            pdl_lexer_next(lexer);
        }
    }
    pdl_lexer_next(lexer);
}

uint32_t pdl_ptx_prototype_read(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    uint64_t key = PDL_PROTOTYPE_KEY;
    bool results = true; /* until the `_` that stands for the function's name */
    while (!at_mark(lexer, ';')) {
        if (pdl_lexer_at_end(lexer) || at_mark(lexer, '}') || at_mark(lexer, '{')) {
            pdl_ptx_fail(lexer, "';'");
        }
        if (results && lexer->token.kind == PDL_TOKEN_WORD && lexer->token.text[0] != '.') {
            results = false;
            key = pdl_prototype_key(key, PDL_PROTOTYPE_RESULTS);
        }
        const bool list = at_mark(lexer, '(');
        pdl_lexer_next(lexer);
        while (list && !at_mark(lexer, ')')) {
            bool there;
            const struct pdl_ptx_parameter parameter = read_parameter(module, lexer, &there);
            key = there ? pdl_prototype_key(key, parameter.size) : key;
            if (at_mark(lexer, ',')) {
                pdl_lexer_next(lexer);
            }
        }
    }
    return pdl_prototype_add(&module->pointers, key);
}

static void add_callee(struct pdl_ptx_module *module, struct pdl_ptx_function *function,
                       uint32_t callee)
{
    PDL_ADD(module->callees, module->callee_count, module->callee_capacity, callee);
    function->callee_count++;
}

/* `call (r), name, (…), prototype;`: the name of what is called, if it is one. */
static void read_callee(struct pdl_ptx_module *module, struct pdl_lexer *lexer,
                        struct pdl_ptx_function *function)
{
    pdl_lexer_callee(lexer);
    if (lexer->token.kind != PDL_TOKEN_WORD) {
        pdl_ptx_fail(lexer, "the name of a function");
    }
    add_callee(module, function, add_name(module, &lexer->token));
}

/* `.callprototype (…) _ (…);`, which an indirect call names. */
static void read_prototype(struct pdl_ptx_module *module, struct pdl_lexer *lexer,
                           struct pdl_ptx_function *function)
{
    pdl_lexer_next(lexer);
    add_callee(module, function, PDL_PTX_INDIRECT | pdl_ptx_prototype_read(module, lexer));
}

/* `mov.u64 %rd1, name;` and `.calltargets name, name;`: names that may be those of functions. */
static void read_address(struct pdl_ptx_module *module, struct pdl_lexer *lexer,
                         struct pdl_ptx_function *function)
{
    const bool targets = PDL_TOKEN_IS(lexer, ".calltargets");
    if (!targets) {
        do { /* over the result */
            pdl_lexer_next(lexer);
        } while (lexer->token.kind == PDL_TOKEN_WORD);
        if (!at_mark(lexer, ',')) {
            return;
        }
    }
    do {
        pdl_lexer_next(lexer);
        if (lexer->token.kind != PDL_TOKEN_WORD || lexer->token.text[0] == '%') {
            return;
        }
        const uint32_t name = add_name(module, &lexer->token);
        if (targets) {
            add_callee(module, function, name);
        }
        pdl_pointers_take(&module->pointers, name);
        pdl_lexer_next(lexer);
    } while (targets && at_mark(lexer, ','));
}

/* Whether the current token is `mov`, with its type. */
static bool at_mov(const struct pdl_lexer *lexer)
{
    return lexer->token.kind == PDL_TOKEN_WORD && lexer->token.length > 4 &&
           memcmp(lexer->token.text, "mov.", 4) == 0;
}

/* From the '{' to behind the '}', noting the calls. */
static void skip_body(struct pdl_ptx_module *module, struct pdl_lexer *lexer,
                      struct pdl_ptx_function *function)
{
    uint32_t depth = 1;
    function->has_body = true;
    function->body = (uint32_t)(lexer->at - module->text);
    function->body_line = lexer->token.line;
    function->body_column = lexer->token.column + 1;
    function->first_callee = module->callee_count;
    pdl_lexer_seek(lexer);
    while (depth > 0) {
        const struct pdl_token *token = &lexer->token;
        if (token->mark == '{') {
            depth++;
        } else if (token->mark == '}') {
            depth--;
            function->body_end = (uint32_t)(token->text - module->text);
        } else if (pdl_lexer_at_end(lexer)) {
            pdl_ptx_fail(lexer, "'}'");
        } else {
            void (*const read)(struct pdl_ptx_module *, struct pdl_lexer *,
                               struct pdl_ptx_function *) =
                pdl_lexer_at_call(lexer)                               ? read_callee
                : at_mov(lexer) || PDL_TOKEN_IS(lexer, ".calltargets") ? read_address
                : PDL_TOKEN_IS(lexer, ".callprototype")                ? read_prototype
                                                                       : NULL;
            if (read != NULL) {
                read(module, lexer, function);
                continue;
            }
        }
        if (depth > 0) {
            pdl_lexer_seek(lexer);
        }
    }
    pdl_lexer_next(lexer);
}

struct pdl_ptx_function *pdl_ptx_function_find(const struct pdl_ptx_module *module, uint32_t name)
{
    if (name >= module->by_name_capacity || module->function_of[name] == 0) {
        return NULL;
    }
    return &module->functions[module->function_of[name] - 1];
}

/* A prototype may come before the function, and more than once; the body counts. */
static void keep_function(struct pdl_ptx_module *module, const struct pdl_ptx_function *function)
{
    PDL_RESERVE(module->function_of, (size_t)function->name + 1, module->by_name_capacity);
    struct pdl_ptx_function *known = pdl_ptx_function_find(module, function->name);
    if (known != NULL) {
        if (known->has_body && function->has_body) {
            const struct pdl_name *name = &module->names.names[function->name];
            pdl_fail(PDL_ERROR_INVALID_IMAGE, function->line, function->column,
                     "%.*s is defined twice", (int)(name->length < 200 ? name->length : 200),
                     name->text);
        }
        if (function->has_body) {
            const bool no_return = known->no_return || function->no_return;
            *known = *function;
            known->no_return = no_return;
        }
        return;
    }
    PDL_ADD(module->functions, module->function_count, module->function_capacity, *function);
    module->function_of[function->name] = module->function_count;
}

static void read_function(struct pdl_ptx_module *module, struct pdl_lexer *lexer, bool is_entry)
{
    struct pdl_ptx_function function = {.is_entry = is_entry, .prototype = PDL_NONE};
    pdl_lexer_next(lexer);
    while (lexer->token.kind == PDL_TOKEN_WORD && lexer->token.text[0] == '.') {
        pdl_lexer_next(lexer); /* .attribute(…) */
        if (at_mark(lexer, '(')) {
            if (!pdl_lexer_skip(lexer)) {
                pdl_ptx_fail(lexer, "')'");
            }
            pdl_lexer_next(lexer);
        }
    }
    if (at_mark(lexer, '(')) {
        read_parameters(module, lexer, &function.first_result, &function.result_count);
    }
    if (lexer->token.kind != PDL_TOKEN_WORD) {
        pdl_ptx_fail(lexer, "the name of a function");
    }
    function.line = lexer->token.line;
    function.column = lexer->token.column;
    function.name = add_name(module, &lexer->token);
    pdl_lexer_next(lexer);
    if (at_mark(lexer, '(')) {
        read_parameters(module, lexer, &function.first_parameter, &function.parameter_count);
    }
    /* Performance directives, or ';' after a prototype. */
    while (!at_mark(lexer, '{') && !at_mark(lexer, ';')) {
        if (pdl_lexer_at_end(lexer) || at_mark(lexer, '}')) {
            pdl_ptx_fail(lexer, "a function's body");
        }
        if (PDL_TOKEN_IS(lexer, ".noreturn")) {
            function.no_return = true;
        }
        if (PDL_TOKEN_IS(lexer, ".pragma")) {
            skip_statement(lexer);
            continue;
        }
        if (pdl_bounds_directive(&function.bounds, lexer)) {
            continue;
        }
        if (at_mark(lexer, '(') && !pdl_lexer_skip(lexer)) {
            pdl_ptx_fail(lexer, "')'");
        }
        pdl_lexer_next(lexer);
    }
    if (at_mark(lexer, '{')) {
        skip_body(module, lexer, &function);
    } else {
        pdl_lexer_next(lexer);
    }
    keep_function(module, &function);
}

/* `.alias name, function;`: calls of the name are calls of the function, which is known by now. */
static void read_alias(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    uint32_t names[2] = {PDL_NONE, PDL_NONE};
    for (unsigned i = 0; i < 2; i++) {
        pdl_lexer_next(lexer);
        if (lexer->token.kind != PDL_TOKEN_WORD) {
            pdl_ptx_fail(lexer, "the name of a function");
        }
        names[i] = add_name(module, &lexer->token);
        pdl_lexer_next(lexer); /* over the comma */
    }
    const struct pdl_ptx_function *alias = pdl_ptx_function_find(module, names[0]);
    const struct pdl_ptx_function *function = pdl_ptx_function_find(module, names[1]);
    if (alias != NULL && !alias->has_body && function != NULL) {
        module->function_of[names[0]] = module->function_of[names[1]];
    }
    skip_statement(lexer);
}

/* ---- variables --------------------------------------------------------------------------------- */

/* `.global .align 4 .b8 name[16] = {…}, name2;` */
static void read_variables(struct pdl_ptx_module *module, struct pdl_lexer *lexer,
                           enum pdl_space space)
{
    bool named = false;
    uint32_t last = PDL_NONE, size = 0;
    pdl_lexer_next(lexer);
    while (!at_mark(lexer, ';')) {
        const struct pdl_token *token = &lexer->token;
        if (pdl_lexer_at_end(lexer) || at_mark(lexer, '}')) {
            pdl_ptx_fail(lexer, "';'");
        }
        if (token->mark == '=' && last != PDL_NONE) {
            if (!module->shared_name) {
                module->space_of[last] |= PDL_PTX_TABLE;
            }
            pdl_pointers_read(module, lexer, last, size);
            continue;
        }
        if (token->mark == '{' || token->mark == '(' || token->mark == '[') {
            if (!pdl_lexer_skip(lexer)) {
                pdl_ptx_fail(lexer, "a closing bracket");
            }
        } else if (token->mark == ',') {
            named = false;
        } else if (token->kind == PDL_TOKEN_WORD && token->text[0] == '.' && token->length > 2 &&
                   token->text[2] >= '0' && token->text[2] <= '9') {
            size = type_size(token);
        } else if (token->kind == PDL_TOKEN_WORD && token->text[0] != '.' && !named) {
            last = add_name(module, token);
            PDL_RESERVE(module->space_of, (size_t)last + 1, module->by_name_space_capacity);
            /* A '$' is in no name of a program's: such a table is the compiler's own. */
            const bool own =
                space == PDL_SPACE_GLOBAL && memchr(token->text, '$', token->length) != NULL;
            module->space_of[last] = (uint8_t)((own ? PDL_SPACE_CONST : space) + 1);
            named = true;
        }
        pdl_lexer_next(lexer);
    }
    pdl_lexer_next(lexer);
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static void read_entry(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    read_function(module, lexer, true);
}

static void read_device_function(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    read_function(module, lexer, false);
}

static void read_pragma(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    (void)module;
    skip_statement(lexer);
}

/* A word alone, or with a number. */
static void read_word(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    (void)module;
    do {
        pdl_lexer_next(lexer);
    } while (lexer->token.kind == PDL_TOKEN_NUMBER);
}

static const struct {
    const char *word;
    void (*read)(struct pdl_ptx_module *module, struct pdl_lexer *lexer); /* NULL: variables */
    enum pdl_space space;
} directives[] = {
    {.word = ".entry", .read = read_entry},
    {.word = ".func", .read = read_device_function},
    {.word = ".target", .read = read_target},
    {.word = ".file", .read = read_file},
    {.word = ".section", .read = read_section},
    {.word = ".version", .read = read_version},
    {.word = ".alias", .read = read_alias},
    {.word = ".pragma", .read = read_pragma},
    {.word = ".address_size", .read = read_word},
    {.word = ".loc", .read = read_word},
    {.word = ".extern", .read = read_word},
    {.word = ".visible", .read = read_word},
    {.word = ".weak", .read = read_word},
    {.word = ".common", .read = read_word},
    {.word = ".global", .space = PDL_SPACE_GLOBAL},
    {.word = ".const", .space = PDL_SPACE_CONST},
    {.word = ".shared", .space = PDL_SPACE_SHARED},
    {.word = ".local", .space = PDL_SPACE_LOCAL},
    {.word = ".tex", .space = PDL_SPACE_GLOBAL},
    {.word = ".texref", .space = PDL_SPACE_GLOBAL},
    {.word = ".samplerref", .space = PDL_SPACE_GLOBAL},
    {.word = ".surfref", .space = PDL_SPACE_GLOBAL},
};

static void read_directive(struct pdl_ptx_module *module, struct pdl_lexer *lexer)
{
    for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
        if (!pdl_token_is(&lexer->token, directives[i].word, strlen(directives[i].word))) {
            continue;
        }
        if (directives[i].read != NULL) {
            directives[i].read(module, lexer);
        } else {
            read_variables(module, lexer, directives[i].space);
        }
        return;
    }
    if (lexer->token.kind != PDL_TOKEN_WORD || lexer->token.text[0] != '.') {
        pdl_ptx_fail(lexer, "a directive");
    }
    /* A directive of a later PTX: to the next ';' or over the next braces. */
    while (!at_mark(lexer, ';') && !at_mark(lexer, '{')) {
        if (pdl_lexer_at_end(lexer) || at_mark(lexer, '}')) {
            pdl_ptx_fail(lexer, "';' or '{' after a directive that is not known");
        }
        pdl_lexer_next(lexer);
    }
    if (at_mark(lexer, '{') && !pdl_lexer_skip(lexer)) {
        pdl_ptx_fail(lexer, "'}'");
    }
    pdl_lexer_next(lexer);
}

void pdl_ptx_module_read(struct pdl_ptx_module *module)
{
    struct pdl_lexer lexer;
    pdl_lexer_start(&lexer, module->text, module->end, 1, 1);
    pdl_lexer_next(&lexer);
    if (!PDL_TOKEN_IS(&lexer, ".version")) {
        pdl_ptx_fail(&lexer, "'.version'");
    }
    while (lexer.token.kind != PDL_TOKEN_END) {
        const bool linkage = PDL_TOKEN_IS(&lexer, ".visible") || PDL_TOKEN_IS(&lexer, ".extern") ||
                             PDL_TOKEN_IS(&lexer, ".weak") || PDL_TOKEN_IS(&lexer, ".common");
        read_directive(module, &lexer);
        module->shared_name = linkage;
    }
    if (module->target == 0) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 1, 1, "there is no .target sm_NN");
    }
    pdl_pointers_sort(module);
}

void pdl_ptx_forget_names(struct pdl_ptx_module *module, uint32_t count)
{
    if (module->names.count - count > NAMES_OF_BODIES) {
        pdl_names_cut(&module->names, count);
        memset(module->opcodes, 0, sizeof(module->opcodes));
    }
}
