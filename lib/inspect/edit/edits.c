/* SPDX-License-Identifier: MIT */
#include "inspect/edit/edits.h"

#include <stdlib.h>
#include <string.h>

static const char wait_statement[] = "griddepcontrol.wait;";
static const char trigger_statement[] = "griddepcontrol.launch_dependents;";

/* ---- where instructions are ---------------------------------------------------------------------- */

void pdl_finder_start(struct pdl_finder *finder, const struct pdl_ptx_module *module,
                      const struct pdl_body *body)
{
    *finder = (struct pdl_finder){.module = module,
                                  .body = body,
                                  .line_start = module->text + body->function->body -
                                                (body->function->body_column - 1),
                                  .line = body->function->body_line};
}

const char *pdl_finder_opcode(struct pdl_finder *finder, uint32_t instruction)
{
    const struct pdl_instruction *at = &finder->body->instructions[instruction];
    const struct pdl_name *name = &finder->module->names.names[at->name];
    const char *end = finder->module->text + finder->body->function->body_end;
    while (finder->line < at->line) {
        const char *stop = memchr(finder->line_start, '\n', (size_t)(end - finder->line_start));
        if (stop == NULL) {
            return NULL;
        }
        finder->line_start = stop + 1;
        finder->line++;
    }
    const size_t left = (size_t)(end - finder->line_start);
    if (finder->line != at->line || at->column == 0 || at->column - 1 > left ||
        name->length > left - (at->column - 1)) {
        return NULL;
    }
    const char *opcode = finder->line_start + (at->column - 1);
    return memcmp(opcode, name->text, name->length) == 0 ? opcode : NULL;
}

static const char *opcode_at(const struct pdl_ptx_module *module, const struct pdl_body *body,
                             uint32_t instruction)
{
    struct pdl_finder finder;
    pdl_finder_start(&finder, module, body);
    return pdl_finder_opcode(&finder, instruction);
}

/* The guard of an instruction, or its opcode where it has none. */
static const char *start_of(const struct pdl_ptx_module *module, const struct pdl_body *body,
                            uint32_t instruction)
{
    const char *opcode = opcode_at(module, body, instruction);
    const char *from = instruction > 0 ? opcode_at(module, body, instruction - 1)
                                       : module->text + body->function->body;
    struct pdl_lexer lexer;
    const char *start = opcode;
    if (opcode == NULL || from == NULL || body->instructions[instruction].guard == PDL_NONE) {
        return opcode;
    }
    pdl_lexer_start(&lexer, from, module->end, 1, 1);
    for (pdl_lexer_next(&lexer); !pdl_lexer_at_end(&lexer) && lexer.token.text < opcode;
         pdl_lexer_next(&lexer)) {
        start = lexer.token.mark == '@' ? lexer.token.text : start;
    }
    return start;
}

/* Behind the semicolon of an instruction; NULL if it is not found. */
static const char *end_of(const struct pdl_ptx_module *module, const struct pdl_body *body,
                          uint32_t instruction)
{
    const char *opcode = opcode_at(module, body, instruction);
    struct pdl_lexer lexer;
    if (opcode == NULL) {
        return NULL;
    }
    pdl_lexer_start(&lexer, opcode, module->end, 1, 1);
    do {
        pdl_lexer_next(&lexer);
    } while (!pdl_lexer_at_end(&lexer) && lexer.token.mark != ';');
    return lexer.token.mark == ';' ? lexer.token.text + 1 : NULL;
}

/* Labels and lists of branch targets alike: what stands before a colon, at the start of a statement or behind the last
 * number of a .loc. Nothing was executed before the first. */
static const char *first_label(const struct pdl_ptx_module *module, const struct pdl_body *body)
{
    struct pdl_lexer lexer;
    const char *word = NULL;
    bool starts = true;
    pdl_lexer_start(&lexer, module->text + body->function->body,
                    module->text + body->function->body_end, 1, 1);
    for (pdl_lexer_next(&lexer); !pdl_lexer_at_end(&lexer) && lexer.token.mark != ':';
         pdl_lexer_next(&lexer)) {
        const char mark = lexer.token.mark;
        word = starts && lexer.token.kind == PDL_TOKEN_WORD ? lexer.token.text : NULL;
        starts = mark == ';' || mark == '{' || mark == '}' || lexer.token.kind == PDL_TOKEN_NUMBER;
    }
    return lexer.token.mark == ':' ? word : NULL;
}

static const char *find(const struct pdl_ptx_module *module, const struct pdl_body *body,
                        struct pdl_place_at at)
{
    switch (at.beside) {
    case PDL_BESIDE_BEFORE:
        return at.instruction < body->instruction_count ? start_of(module, body, at.instruction)
                                                        : module->text + body->function->body_end;
    case PDL_BESIDE_BEHIND:
        return end_of(module, body, at.instruction);
    case PDL_BESIDE_FIRST_LABEL:
        return first_label(module, body);
    default:
        return NULL;
    }
}

/* ---- changes -------------------------------------------------------------------------------------- */

static void add(struct pdl_edits *edits, struct pdl_edit edit)
{
    PDL_ADD(edits->edits, edits->count, edits->capacity, edit);
}

/* Inserts up to two statements on lines of their own at a place, indented as its line is. */
static void insert(struct pdl_edits *edits, const struct pdl_ptx_module *module, uint32_t function,
                   const char *at, bool behind, const char *const *statements)
{
    const char *body = module->text + module->functions[function].body;
    const char *line = at;
    while (line > body && line[-1] != '\n') {
        line--;
    }
    size_t indent = 0;
    while (line + indent < at && (line[indent] == ' ' || line[indent] == '\t')) {
        indent++;
    }
    const bool first = line > body && line + indent == at; /* nothing is before it on its line */
    indent = line > body ? indent : 0;
    const bool returns = line > body && line[-2] == '\r';
    const char *newline = returns ? "\r\n" : "\n";
    const char *blanks = indent > 0 || first ? line : "\t";
    const int width = indent > 0 || first ? (int)indent : 1;
    struct pdl_edit edit = {.at = (uint32_t)(at - module->text),
                            .function = function,
                            .waits = statements[0] == wait_statement,
                            .triggers = statements[1] == trigger_statement,
                            .below = !first};
    const char *texts[2] = {"", ""};
    for (unsigned i = 0; i < 2; i++) {
        const char *statement = statements[i];
        if (statement != NULL) {
            /* Behind a statement: in front of it the line ends; else behind it. */
            texts[i] = first ? pdl_arena_format(&edits->arena, "%s%s%.*s", statement, newline,
                                                width, blanks)
                             : pdl_arena_format(&edits->arena, "%s%.*s%s", newline, width, blanks,
                                                statement);
        }
    }
    edit.inserted = first || behind ? pdl_arena_format(&edits->arena, "%s%s", texts[0], texts[1])
                                    : pdl_arena_format(&edits->arena, "%s%s%s%.*s", texts[0],
                                                       texts[1], newline, width, blanks);
    edit.length = (uint32_t)strlen(edit.inserted);
    add(edits, edit);
}

bool pdl_edits_insert(struct pdl_edits *edits, const struct pdl_ptx_module *module,
                      const struct pdl_body *body, uint32_t function,
                      const struct pdl_points *points)
{
    const bool triggers = points->trigger.beside != PDL_BESIDE_NOTHING;
    const char *wait = find(module, body, points->wait);
    const char *trigger = triggers ? find(module, body, points->trigger) : NULL;
    if (wait == NULL || (trigger == NULL && triggers)) {
        return false;
    }
    const char *const first[2] = {wait_statement, trigger == wait ? trigger_statement : NULL};
    const char *const second[2] = {NULL, trigger_statement};
    insert(edits, module, function, wait, points->wait.beside == PDL_BESIDE_BEHIND, first);
    if (trigger != NULL && trigger != wait) {
        insert(edits, module, function, trigger, points->trigger.beside == PDL_BESIDE_BEHIND,
               second);
    }
    return true;
}

bool pdl_edits_make_coherent(struct pdl_edits *edits, struct pdl_finder *finder, uint32_t function,
                             uint32_t instruction)
{
    const char *opcode = pdl_finder_opcode(finder, instruction);
    const struct pdl_name *name =
        &finder->module->names.names[finder->body->instructions[instruction].name];
    struct pdl_edit edit = {.function = function, .inserted = ""};
    struct pdl_parts parts;
    if (opcode == NULL) {
        return false;
    }
    pdl_parts_split(&parts, name->text, name->length);
    const unsigned nc = pdl_part_find(&parts, "nc");
    if (pdl_part_is(&parts, 0, "ldu")) {
        edit.at = (uint32_t)(opcode + 2 - finder->module->text);
        edit.removed = 1;
    } else if (nc != 0) { /* with the dot in front of it */
        edit.at = (uint32_t)(opcode + (parts.text[nc] - name->text) - 1 - finder->module->text);
        edit.removed = 1u + parts.length[nc];
    } else {
        return false;
    }
    add(edits, edit);
    return true;
}

void pdl_edits_raise(struct pdl_edits *edits, const struct pdl_ptx_module *module)
{
    struct pdl_lexer lexer;
    pdl_lexer_start(&lexer, module->text, module->end, 1, 1);
    pdl_lexer_next(&lexer);
    for (bool targets = false; !pdl_lexer_at_end(&lexer);) {
        const bool version = PDL_TOKEN_IS(&lexer, ".version");
        targets = targets || PDL_TOKEN_IS(&lexer, ".target");
        const struct pdl_token token = lexer.token;
        if (targets && token.kind == PDL_TOKEN_WORD && token.text[0] == '.' &&
            !PDL_TOKEN_IS(&lexer, ".target")) {
            break;
        }
        struct pdl_edit edit = {.at = (uint32_t)(token.text - module->text),
                                .removed = token.length,
                                .function = PDL_NONE};
        pdl_lexer_next(&lexer);
        if (version && module->version < 78) {
            edit.at = (uint32_t)(lexer.token.text - module->text);
            edit.removed = lexer.token.length;
            edit.inserted = "7.8";
            edit.length = 3;
            add(edits, edit);
        } else if (targets && module->target < 90 && token.length > 3 &&
                   memcmp(token.text, "sm_", 3) == 0) {
            edit.inserted = "sm_90";
            edit.length = 5;
            add(edits, edit);
        }
    }
}

/* ---- the new text --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct pdl_edit *left = a, *right = b;
    return left->at < right->at ? -1 : left->at > right->at;
}

static uint32_t lines_in(const char *text, size_t size)
{
    uint32_t lines = 0;
    const char *end = text + size;
    while ((text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
        lines++;
        text++;
    }
    return lines;
}

char *pdl_edits_apply(struct pdl_edits *edits, const char *text, size_t size, const bool *used,
                      void (*tell)(void *context, struct pdl_edits_line line), void *context,
                      struct pdl_arena *arena, size_t *made_size)
{
    size_t inserted = 0, from = 0, to = 0;
    uint32_t line = 1;
    for (uint32_t i = 0; i < edits->count; i++) {
        inserted += edits->edits[i].length;
    }
    char *out = pdl_arena_alloc(arena, size + inserted + 1);
    if (edits->count > 0) {
        qsort(edits->edits, edits->count, sizeof(*edits->edits), compare);
    }
    for (uint32_t i = 0; i < edits->count; i++) {
        const struct pdl_edit *edit = &edits->edits[i];
        if (edit->at < from || (edit->function != PDL_NONE && !used[edit->function])) {
            continue;
        }
        memcpy(out + to, text + from, edit->at - from);
        line += lines_in(text + from, edit->at - from);
        to += edit->at - from;
        uint32_t at = line + edit->below;
        if (edit->waits) {
            tell(context, (struct pdl_edits_line){edit->function, at++, false});
        }
        if (edit->triggers) {
            tell(context, (struct pdl_edits_line){edit->function, at, true});
        }
        if (edit->length > 0) {
            memcpy(out + to, edit->inserted, edit->length);
        }
        line += lines_in(edit->inserted, edit->length);
        to += edit->length;
        from = (size_t)edit->at + edit->removed;
    }
    memcpy(out + to, text + from, size - from);
    to += size - from;
    out[to] = '\0';
    *made_size = to;
    return out;
}
