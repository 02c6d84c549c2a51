/* SPDX-License-Identifier: MIT */
/* The body of one function as instructions, with its scopes, labels and places. */
#include "inspect/ptx/body.h"

#include <string.h>

#include "code/system.h"
#include "inspect/ptx/registers.h"

/* Registers that are declared by the number in inner scopes, in a whole text. */
#define INNER_REGISTERS_MAX 1000000u

struct reader {
    struct pdl_ptx_module *module;
    struct pdl_body *body;
    struct pdl_lexer lexer;
    uint32_t scope;
    uint32_t depth; /* 1 is the function's own */
    uint32_t place;
    bool unplaced; /* the last `.loc` had line 0 */
};

#define ADD(reader, array, item)                                                                   \
    PDL_ADD((reader)->body->array##s, (reader)->body->array##_count,                               \
            (reader)->body->array##_capacity, item)

static bool at_mark(const struct reader *reader, char mark)
{
    return reader->lexer.token.mark == mark;
}

static void next(struct reader *reader)
{
    pdl_lexer_next(&reader->lexer);
}

__attribute__((noreturn, cold)) static void fail(const struct reader *reader, const char *what)
{
    pdl_ptx_fail(&reader->lexer, what);
}

/* ---- names and symbols ------------------------------------------------------------------------- */

/* A new symbol for a name in the current scope. */
static uint32_t bind(struct reader *reader, uint32_t name, struct pdl_symbol symbol, uint32_t depth)
{
    struct pdl_body *body = reader->body;
    symbol.name = name;
    PDL_RESERVE(body->bindings, (size_t)name + 1, body->binding_capacity);
    ADD(reader, symbol, symbol);
    struct pdl_binding *binding = &body->bindings[name];
    if (depth > 1) {
        const struct pdl_undo undo = {name, *binding};
        ADD(reader, undo, undo);
    }
    *binding = (struct pdl_binding){body->symbol_count - 1, body->generation, depth};
    return body->symbol_count - 1;
}

static uint32_t name_of(struct reader *reader, const struct pdl_token *token)
{
    return pdl_names_add(&reader->module->names, token->text, token->length);
}

/* The symbol of a name. One that is not declared is a variable of the module, a function, a special
 * register or a register of the function: registers may be declared by the number, and are made
 * when they are seen. */
static uint32_t lookup(struct reader *reader, const struct pdl_token *token)
{
    const struct pdl_ptx_module *module = reader->module;
    struct pdl_body *body = reader->body;
    const uint32_t name = name_of(reader, token);
    PDL_RESERVE(body->bindings, (size_t)name + 1, body->binding_capacity);
    if (body->bindings[name].generation == body->generation) {
        return body->bindings[name].symbol;
    }
    struct pdl_symbol symbol = {.kind = PDL_SYMBOL_REGISTER};
    if (name < module->by_name_space_capacity && module->space_of[name] != 0) {
        symbol.kind = PDL_SYMBOL_VARIABLE;
        symbol.space = (uint8_t)((module->space_of[name] & ~PDL_PTX_TABLE) - 1);
    } else if (pdl_ptx_function_find(module, name) != NULL) {
        symbol.kind = PDL_SYMBOL_FUNCTION;
    } else if (pdl_special_register(token->text, token->length, &symbol.index)) {
        symbol.kind = PDL_SYMBOL_SPECIAL;
    }
    return bind(reader, name, symbol, 1);
}

/* `.reg .b32 a, b<4>;` and `.shared .align 4 .b8 c[16];`; the current token is the directive. */
static void read_declaration(struct reader *reader, struct pdl_symbol symbol)
{
    bool named = false;
    next(reader);
    while (!at_mark(reader, ';')) {
        const struct pdl_token token = reader->lexer.token;
        if (pdl_lexer_at_end(&reader->lexer) || at_mark(reader, '}')) {
            fail(reader, "';'");
        }
        if (at_mark(reader, '{') || at_mark(reader, '(') || at_mark(reader, '[')) {
            if (!pdl_lexer_skip(&reader->lexer)) {
                fail(reader, "a closing bracket");
            }
        } else if (at_mark(reader, ',')) {
            named = false;
        } else if (token.kind == PDL_TOKEN_WORD && token.text[0] != '.' && !named) {
            named = true;
            next(reader);
            if (at_mark(reader, '<')) {
                uint64_t count = 0;
                next(reader);
                if (!pdl_token_integer(&reader->lexer.token, &count)) {
                    fail(reader, "a number of registers");
                }
                next(reader);
                if (!at_mark(reader, '>')) {
                    fail(reader, "'>'");
                }
                next(reader);
                /* Those of the function's own scope are made when they are seen. */
                for (uint64_t i = 0; reader->depth > 1 && i < count; i++) {
                    if (reader->module->inner_registers == INNER_REGISTERS_MAX || i == 4096) {
                        break;
                    }
                    reader->module->inner_registers++;
                    const char *text = pdl_arena_format(&reader->module->arena, "%.*s%u",
                                                        (int)token.length, token.text, (unsigned)i);
                    const uint32_t name =
                        pdl_names_add(&reader->module->names, text, (uint32_t)strlen(text));
                    (void)bind(reader, name, symbol, reader->depth);
                }
                continue;
            }
            const uint32_t name = name_of(reader, &token);
            (void)bind(reader, name, symbol, reader->depth);
            continue;
        }
        next(reader);
    }
    next(reader);
}

static void open_scope(struct reader *reader)
{
    const struct pdl_scope scope = {reader->scope, reader->body->undo_count};
    if (reader->depth == PDL_PTX_DEPTH_MAX) {
        pdl_fail(PDL_ERROR_INVALID_IMAGE, reader->lexer.token.line, reader->lexer.token.column,
                 "scopes are nested more than %d deep", PDL_PTX_DEPTH_MAX);
    }
    ADD(reader, scope, scope);
    reader->scope = reader->body->scope_count - 1;
    reader->depth++;
}

static void close_scope(struct reader *reader)
{
    struct pdl_body *body = reader->body;
    const struct pdl_scope *scope = &body->scopes[reader->scope];
    while (body->undo_count > scope->first_undo) {
        const struct pdl_undo *undo = &body->undos[--body->undo_count];
        body->bindings[undo->name] = undo->before;
    }
    reader->scope = scope->parent;
    reader->depth--;
}

/* ---- directives --------------------------------------------------------------------------------- */

static bool read_number(struct reader *reader, uint32_t *number)
{
    uint64_t value;
    if (!pdl_token_integer(&reader->lexer.token, &value)) {
        return false;
    }
    *number = value <= UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    next(reader);
    return true;
}

/* Whether a `.loc` behind one of line 0 returns to the place before that. nvcc 13 then leaves out what the place was
 * inlined to. A function that is called can have an instance of itself inlined: its own lines stay as they are. */
static bool goes_on(const struct reader *reader, const struct pdl_place *place)
{
    const struct pdl_place *places = reader->body->places;
    if (!reader->unplaced || reader->place == PDL_NONE || place->inlined_line != 0) {
        return false;
    }
    const struct pdl_place *last = &places[reader->place];
    return place->file == last->file && place->line == last->line &&
           place->column == last->column &&
           (reader->body->function->is_entry || place->file != places[0].file ||
            place->line < places[0].line);
}

/* `.loc 1 12 5, function_name $L__info_string0, inlined_at 1 30 9`. Line 0 is code of the
 * compiler's own: the place before it holds on. */
static void read_place(struct reader *reader)
{
    struct pdl_place place = {.function = PDL_NONE};
    next(reader);
    if (!read_number(reader, &place.file) || !read_number(reader, &place.line)) {
        fail(reader, "a file and a line");
    }
    (void)read_number(reader, &place.column);
    while (at_mark(reader, ',')) {
        next(reader);
        if (PDL_TOKEN_IS(&reader->lexer, "function_name")) {
            next(reader);
            if (reader->lexer.token.kind != PDL_TOKEN_WORD) {
                fail(reader, "a label");
            }
            place.function = name_of(reader, &reader->lexer.token);
            next(reader);
            if (at_mark(reader, '+')) {
                next(reader);
                next(reader);
            }
        } else if (PDL_TOKEN_IS(&reader->lexer, "inlined_at")) {
            next(reader);
            if (!read_number(reader, &place.inlined_file) ||
                !read_number(reader, &place.inlined_line)) {
                fail(reader, "a file and a line");
            }
            (void)read_number(reader, &place.inlined_column);
        } else {
            fail(reader, "'function_name' or 'inlined_at'");
        }
    }
    if (place.line != 0 && !goes_on(reader, &place)) {
        ADD(reader, place, place);
        reader->place = reader->body->place_count - 1;
    }
    reader->unplaced = place.line == 0;
}

static void skip_statement(struct reader *reader)
{
    while (!at_mark(reader, ';')) {
        if (pdl_lexer_at_end(&reader->lexer) || at_mark(reader, '}')) {
            fail(reader, "';'");
        }
        next(reader);
    }
    next(reader);
}

static void read_directive(struct reader *reader)
{
    static const struct {
        const char *word;
        struct pdl_symbol symbol;
    } declarations[] = {
        {".reg", {.kind = PDL_SYMBOL_REGISTER}},
        {".param", {.kind = PDL_SYMBOL_LOCAL_PARAMETER}},
        {".local", {.kind = PDL_SYMBOL_VARIABLE, .space = PDL_SPACE_LOCAL}},
        {".shared", {.kind = PDL_SYMBOL_VARIABLE, .space = PDL_SPACE_SHARED}},
        {".global", {.kind = PDL_SYMBOL_VARIABLE, .space = PDL_SPACE_GLOBAL}},
        {".const", {.kind = PDL_SYMBOL_VARIABLE, .space = PDL_SPACE_CONST}},
    };
    if (PDL_TOKEN_IS(&reader->lexer, ".loc")) {
        read_place(reader);
        return;
    }
    for (size_t i = 0; i < sizeof(declarations) / sizeof(declarations[0]); i++) {
        if (pdl_token_is(&reader->lexer.token, declarations[i].word,
                         strlen(declarations[i].word))) {
            read_declaration(reader, declarations[i].symbol);
            return;
        }
    }
    skip_statement(reader); /* .pragma, .callprototype … */
}

/* A marker of the device header. */
static void read_marker(struct reader *reader)
{
    const struct pdl_token token = reader->lexer.token;
    struct pdl_marker marker = {token.text, token.length, token.line, reader->place, PDL_NONE, 0};
    static const char constant[] = "constant ";
    const uint32_t length = sizeof(constant) - 1;
    if (token.length > length && memcmp(token.text, constant, length) == 0) {
        struct pdl_lexer inner;
        pdl_lexer_start(&inner, token.text + length, token.text + token.length, token.line, 1);
        pdl_lexer_next(&inner);
        if (inner.token.kind == PDL_TOKEN_WORD) {
            marker.symbol = lookup(reader, &inner.token);
        }
    }
    ADD(reader, marker, marker);
    next(reader);
}

/* ---- instructions --------------------------------------------------------------------------------- */

/* The class of an opcode, kept by its name. */
static struct pdl_opcode opcode_of(struct pdl_ptx_module *module, uint32_t name)
{
    struct pdl_known_opcode *known = &module->opcodes[name % PDL_PTX_OPCODES];
    if (known->name != name + 1) {
        const struct pdl_name *text = &module->names.names[name];
        known->name = name + 1;
        known->opcode = pdl_opcode_class(text->text, text->length);
    }
    return known->opcode;
}

/* Where an operand list stands. */
struct operands {
    uint32_t bracket, group; /* depth of [ ], and of ( ) and { } */
    uint32_t slot;
    bool base;     /* the next symbol is an address */
    bool negative; /* a '-' came before */
    bool offset;   /* a '+' came before */
    bool inverted; /* a '!' came before, or a result that is not wanted */
};

/* A symbol or label in an operand list. */
static void read_symbol(struct reader *reader, struct pdl_instruction *instruction,
                        struct operands *at)
{
    const struct pdl_token *token = &reader->lexer.token;
    struct pdl_operand operand = {.kind = PDL_OPERAND_SYMBOL,
                                  .slot = (uint16_t)(at->slot < UINT16_MAX ? at->slot : UINT16_MAX),
                                  .memory = at->bracket > 0,
                                  .address = at->base,
                                  .negated = at->inverted};
    const bool label = instruction->opcode.op == PDL_OP_BRANCH ||
                       (instruction->opcode.op == PDL_OP_BRANCH_TABLE && at->slot == 1);
    if (token->length == 1 && token->text[0] == '_') {
        at->inverted = true;
        return;
    }
    at->inverted = false;
    if (label) {
        operand.kind = PDL_OPERAND_LABEL;
        operand.symbol = name_of(reader, token);
        operand.value = reader->scope;
    } else {
        operand.symbol = lookup(reader, token);
    }
    ADD(reader, operand, operand);
    if (instruction->opcode.op == PDL_OP_CALL && at->group == 0 &&
        instruction->target == PDL_NONE) {
        instruction->target = operand.symbol;
        instruction->target_slot = operand.slot;
        if (reader->body->symbols[operand.symbol].kind == PDL_SYMBOL_FUNCTION) {
            instruction->callee = reader->body->symbols[operand.symbol].name;
        }
    }
    at->base = false;
}

static void read_literal(struct reader *reader, const struct pdl_instruction *instruction,
                         struct operands *at)
{
    struct pdl_body *body = reader->body;
    uint64_t number = 0;
    const bool integer = pdl_token_integer(&reader->lexer.token, &number);
    const int64_t value = at->negative ? (int64_t)(0 - number) : (int64_t)number;
    struct pdl_operand *last = body->operand_count > instruction->first_operand
                                   ? &body->operands[body->operand_count - 1]
                                   : NULL;
    if (at->offset && last != NULL && last->kind == PDL_OPERAND_LABEL) {
        fail(reader, "';' after a label");
    }
    if (at->offset && last != NULL && last->slot == at->slot) {
        last->value = (int64_t)((uint64_t)last->value + (integer ? (uint64_t)value : 0));
    } else {
        const struct pdl_operand operand = {
            .symbol = PDL_NONE,
            .kind = PDL_OPERAND_NUMBER,
            .slot = (uint16_t)(at->slot < UINT16_MAX ? at->slot : UINT16_MAX),
            .memory = at->bracket > 0,
            .address = at->base,
            .negated = !integer,
            .value = value};
        ADD(reader, operand, operand);
        at->base = false;
    }
    at->offset = false;
    at->negative = false;
}

static void read_operands(struct reader *reader, struct pdl_instruction *instruction)
{
    struct operands at = {0};
    instruction->first_operand = reader->body->operand_count;
    while (!at_mark(reader, ';')) {
        switch (reader->lexer.token.kind) {
        case PDL_TOKEN_WORD:
            read_symbol(reader, instruction, &at);
            break;
        case PDL_TOKEN_NUMBER:
            read_literal(reader, instruction, &at);
            break;
        case PDL_TOKEN_MARK:
        case PDL_TOKEN_MARKER:
            break;
        default:
            fail(reader, "';' after an instruction");
        }
        switch (reader->lexer.token.mark) {
        case '[':
            at.base = true;
            at.bracket++;
            break;
        case '(':
        case '{':
            at.group++;
            break;
        case ']':
            if (at.bracket == 0) {
                fail(reader, "';' after an instruction");
            }
            at.bracket--;
            break;
        case ')':
        case '}':
            if (at.group == 0) {
                fail(reader, "';' after an instruction");
            }
            at.group--;
            break;
        case ',':
            at.slot += at.bracket == 0 && at.group == 0;
            at.inverted = false;
            break;
        case '!':
            at.inverted = true;
            break;
        case '+':
            at.offset = true;
            break;
        case '-':
            at.negative = true;
            break;
        default:
            break;
        }
        next(reader);
    }
    if (at.bracket != 0 || at.group != 0) {
        fail(reader, "a closing bracket");
    }
    instruction->operand_count = reader->body->operand_count - instruction->first_operand;
    next(reader);
}

/* What an instruction that is not understood does to its addresses: a first operand is written, as by a store. */
static void note_addresses(const struct pdl_body *body, struct pdl_instruction *instruction)
{
    struct pdl_opcode *opcode = &instruction->opcode;
    for (uint32_t i = instruction->operand_count; i-- > 0;) {
        const struct pdl_operand *operand = &body->operands[instruction->first_operand + i];
        if (operand->memory && operand->slot == 0) {
            opcode->writes = opcode->no_result = true;
        } else if (operand->memory && operand->slot <= UINT8_MAX) {
            opcode->reads = true;
            opcode->read_slot = (uint8_t)operand->slot;
        }
    }
}

/* Functions of CUDA's device runtime stand for what they do. */
static void know_callee(const struct pdl_ptx_module *module, struct pdl_instruction *call)
{
    const struct pdl_ptx_function *callee = pdl_ptx_function_find(module, call->callee);
    if (callee == NULL || callee->has_body) {
        return;
    }
    const struct pdl_name *name = &module->names.names[call->callee];
    switch (pdl_code_system(name->text, name->length)) {
    case PDL_SYSTEM_WAIT:
        call->opcode = (struct pdl_opcode){.op = PDL_OP_WAIT, .no_result = true};
        break;
    case PDL_SYSTEM_TRIGGER:
        call->opcode = (struct pdl_opcode){.op = PDL_OP_TRIGGER, .no_result = true};
        break;
    case PDL_SYSTEM_BARRIER:
        call->opcode = (struct pdl_opcode){.op = PDL_OP_BARRIER_BLOCK, .no_result = true};
        break;
    case PDL_SYSTEM_HARMLESS:
        call->called_is = PDL_CALLED_HARMLESS | PDL_CALLED_NEVER_WAITS;
        break;
    case PDL_SYSTEM_LAUNCH:
        call->called_is = PDL_CALLED_NEVER_WAITS;
        break;
    default:
        break;
    }
}

/* A marker of the device header as code, a move to a register with its name: nvcc takes the comments out of the PTX that
 * it puts into a program. */
static void read_move(struct reader *reader, const struct pdl_instruction *move, bool constant)
{
    if (move->operand_count != 2) {
        return;
    }
    const struct pdl_operand *const from = &reader->body->operands[move->first_operand + 1];
    const struct pdl_marker marker = {.text = "",
                                      .line = move->line,
                                      .place = move->place,
                                      .symbol = constant ? from->symbol : PDL_NONE,
                                      .rule = constant ? 0 : (uint32_t)from->value};
    ADD(reader, marker, marker);
}

/* `@!%p ld.global.f32 %f1, [%rd1+4];` from its opcode or guard. */
static void read_instruction(struct reader *reader)
{
    struct pdl_instruction instruction = {
        .guard = PDL_NONE, .callee = PDL_NONE, .target = PDL_NONE, .place = reader->place};
    if (at_mark(reader, '@')) {
        next(reader);
        if (at_mark(reader, '!')) {
            instruction.guard_negated = true;
            next(reader);
        }
        if (reader->lexer.token.kind != PDL_TOKEN_WORD) {
            fail(reader, "a predicate");
        }
        instruction.guard = lookup(reader, &reader->lexer.token);
        next(reader);
    }
    const struct pdl_token token = reader->lexer.token;
    if (token.kind != PDL_TOKEN_WORD || token.text[0] == '.' || token.text[0] == '%') {
        fail(reader, "an instruction");
    }
    instruction.line = token.line;
    instruction.column = token.column;
    instruction.name = name_of(reader, &token);
    instruction.opcode = opcode_of(reader->module, instruction.name);
    next(reader);
    const bool constant = PDL_TOKEN_IS(&reader->lexer, "pdl_constant");
    const bool allow = PDL_TOKEN_IS(&reader->lexer, "pdl_allow");
    read_operands(reader, &instruction);
    if (constant || allow) {
        read_move(reader, &instruction, constant);
    }
    if (instruction.opcode.unknown) {
        note_addresses(reader->body, &instruction);
    }
    if (instruction.callee != PDL_NONE) {
        know_callee(reader->module, &instruction);
    }
    ADD(reader, instruction, instruction);
}

/* ---- labels --------------------------------------------------------------------------------------- */

/* The names behind .branchtargets or .calltargets: a list, and its number. */
static uint32_t read_targets(struct reader *reader, uint32_t name)
{
    struct pdl_target_list list = {name, reader->scope, reader->body->target_count, 0};
    do {
        next(reader);
        if (reader->lexer.token.kind != PDL_TOKEN_WORD) {
            fail(reader, "a label");
        }
        const struct pdl_operand target = {.kind = PDL_OPERAND_LABEL,
                                           .symbol = name_of(reader, &reader->lexer.token),
                                           .value = reader->scope};
        ADD(reader, target, target);
        list.count++;
        next(reader);
    } while (at_mark(reader, ','));
    if (!at_mark(reader, ';')) {
        fail(reader, "';'");
    }
    next(reader);
    ADD(reader, list, list);
    return reader->body->list_count - 1;
}

/* `name: .callprototype (…) _ (…);` and `name: .calltargets f, g;`, which indirect calls name. */
static void read_callees(struct reader *reader, uint32_t name, enum pdl_symbol_kind kind)
{
    struct pdl_symbol symbol = {.kind = (uint8_t)kind};
    if (kind == PDL_SYMBOL_PROTOTYPE) {
        next(reader);
    }
    const uint32_t number = kind == PDL_SYMBOL_PROTOTYPE
                                ? pdl_ptx_prototype_read(reader->module, &reader->lexer)
                                : read_targets(reader, name);
    symbol.index = number < UINT16_MAX ? (uint16_t)(number + 1) : 0;
    (void)bind(reader, name, symbol, reader->depth);
}

/* What stands behind `name:`. */
static void read_label(struct reader *reader, const struct pdl_token *token)
{
    const uint32_t name = name_of(reader, token);
    next(reader);
    if (PDL_TOKEN_IS(&reader->lexer, ".branchtargets")) {
        (void)read_targets(reader, name);
    } else if (PDL_TOKEN_IS(&reader->lexer, ".callprototype")) {
        read_callees(reader, name, PDL_SYMBOL_PROTOTYPE);
    } else if (PDL_TOKEN_IS(&reader->lexer, ".calltargets")) {
        read_callees(reader, name, PDL_SYMBOL_TARGETS);
    } else {
        const struct pdl_label label = {name, reader->scope, reader->body->instruction_count};
        ADD(reader, label, label);
    }
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static void read_statements(struct reader *reader)
{
    for (;;) {
        const struct pdl_token token = reader->lexer.token;
        if (token.kind == PDL_TOKEN_END) {
            if (reader->depth > 1) {
                fail(reader, "'}'");
            }
            return;
        }
        if (token.kind == PDL_TOKEN_MARKER) {
            read_marker(reader);
        } else if (token.mark == '{') {
            open_scope(reader);
            next(reader);
        } else if (token.mark == '}') {
            if (reader->depth == 1) {
                fail(reader, "a statement");
            }
            close_scope(reader);
            next(reader);
        } else if (token.mark == ';') {
            next(reader);
        } else if (token.mark == '@') {
            read_instruction(reader);
        } else if (token.kind == PDL_TOKEN_WORD && token.text[0] == '.') {
            read_directive(reader);
        } else if (token.kind == PDL_TOKEN_WORD) {
            const char *behind = reader->lexer.at;
            while (behind < reader->lexer.end && (*behind == ' ' || *behind == '\t')) {
                behind++;
            }
            if (behind < reader->lexer.end && *behind == ':') {
                next(reader);
                read_label(reader, &token);
            } else {
                read_instruction(reader);
            }
        } else {
            fail(reader, "a statement");
        }
    }
}

static void bind_parameters(struct reader *reader, uint32_t first, uint32_t count,
                            enum pdl_symbol_kind kind)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct pdl_ptx_parameter *parameter = &reader->module->parameters[first + i];
        const struct pdl_symbol symbol = {.kind = (uint8_t)kind,
                                          .space = parameter->in_register ? PDL_SPACE_GENERIC
                                                                          : PDL_SPACE_PARAM,
                                          .index = (uint16_t)i};
        const uint32_t name =
            parameter->length > 0
                ? pdl_names_add(&reader->module->names, reader->module->text + parameter->text,
                                parameter->length)
                : pdl_names_add(&reader->module->names, "_", 1);
        (void)bind(reader, name, symbol, 1);
    }
}

void pdl_ptx_body_read(struct pdl_ptx_module *module, const struct pdl_ptx_function *function,
                       struct pdl_body *body)
{
    struct reader reader = {.module = module, .body = body, .depth = 1, .place = PDL_NONE};
    const struct pdl_scope own = {PDL_NONE, 0};
    body->function = function;
    body->instruction_count = body->operand_count = body->symbol_count = body->place_count = 0;
    body->marker_count = body->label_count = body->list_count = body->target_count = 0;
    body->scope_count = body->undo_count = 0;
    body->generation++;
    ADD(&reader, scope, own);
    bind_parameters(&reader, function->first_parameter, function->parameter_count,
                    PDL_SYMBOL_PARAMETER);
    bind_parameters(&reader, function->first_result, function->result_count, PDL_SYMBOL_RESULT);
    pdl_lexer_start(&reader.lexer, module->text + function->body, module->text + function->body_end,
                    function->body_line, function->body_column);
    reader.lexer.markers = true;
    next(&reader);
    read_statements(&reader);
}
