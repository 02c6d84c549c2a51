/* SPDX-License-Identifier: MIT */
/* Whether the kernels in a PTX text wait and trigger, by tokens. No more of the language is read than
 * tells bodies, calls and the two instructions apart. What cannot be followed is unknown. */
#include <stdlib.h>
#include <string.h>

#include "code/calls.h"
#include "code/lexer.h"
#include "code/scan.h"
#include "code/system.h"
#include "core/array.h"

/* These spread from callees to callers. */
#define MARK_WAITS    1u
#define MARK_TRIGGERS 2u
#define MARK_UNKNOWN  4u /* calls what cannot be followed */

struct function {
    struct pdl_token name;
    bool entry;
    bool body; /* without one it is a prototype, or elsewhere */
    struct pdl_bounds bounds;
    uint32_t marks;
    uint32_t first_use;
    uint32_t use_count;
};

struct ptx_scan {
    struct pdl_lexer lexer;
    struct function *functions;
    struct pdl_token *uses; /* the names that functions call */
    struct pdl_call *calls; /* those whose bodies are here */
    uint32_t function_count, use_count, call_count;
    size_t function_capacity, use_capacity, call_capacity;
};

/* ---- functions ------------------------------------------------------------------------------ */

static bool add_use(struct ptx_scan *scan, struct function *function)
{
    const struct pdl_token *token = &scan->lexer.token;
    pdl_lexer_callee(&scan->lexer);
    if (token->kind != PDL_TOKEN_WORD || token->text[0] == '%') {
        function->marks |= MARK_UNKNOWN; /* through a pointer */
        return true;
    }
    if (!PDL_ARRAY_ROOM(scan->uses, scan->use_count, scan->use_capacity)) {
        return false;
    }
    scan->uses[scan->use_count++] = *token;
    function->use_count++;
    return true;
}

/* From the brace that opens it to the one that closes it. */
static bool read_body(struct ptx_scan *scan, struct function *function)
{
    struct pdl_lexer *lexer = &scan->lexer;
    size_t depth = 0;
    function->body = true;
    function->first_use = scan->use_count;
    do {
        depth += lexer->token.mark == '{';
        depth -= lexer->token.mark == '}';
        if (depth == 0) {
            return true;
        }
        if (PDL_TOKEN_IS(lexer, "griddepcontrol.wait")) {
            function->marks |= MARK_WAITS;
        } else if (PDL_TOKEN_IS(lexer, "griddepcontrol.launch_dependents")) {
            function->marks |= MARK_TRIGGERS;
        } else if (pdl_lexer_at_call(lexer)) {
            if (!add_use(scan, function)) {
                return false;
            }
            continue; /* what stands there may be a brace */
        }
        pdl_lexer_next(lexer);
    } while (!pdl_lexer_at_end(lexer));
    function->marks |= MARK_UNKNOWN; /* cut short */
    return true;
}

/* From .entry or .func to its last token. */
static bool read_function(struct ptx_scan *scan)
{
    struct pdl_lexer *lexer = &scan->lexer;
    const bool entry = PDL_TOKEN_IS(lexer, ".entry");
    pdl_lexer_next(lexer);
    if (lexer->token.mark == '(' && pdl_lexer_skip(lexer)) { /* what it returns */
        pdl_lexer_next(lexer);
    }
    if (!PDL_ARRAY_ROOM(scan->functions, scan->function_count, scan->function_capacity)) {
        return false;
    }
    struct function *function = &scan->functions[scan->function_count++];
    *function = (struct function){.name = lexer->token, .entry = entry};
    /* Its parameters, and directives such as .maxntid, stand before the body. */
    while (!pdl_lexer_at_end(lexer) && lexer->token.mark != ';' && lexer->token.mark != '{') {
        if (!pdl_bounds_directive(&function->bounds, lexer)) {
            pdl_lexer_next(lexer);
        }
        if (lexer->token.mark == '(' && pdl_lexer_skip(lexer)) {
            pdl_lexer_next(lexer);
        }
    }
    return lexer->token.mark != '{' || read_body(scan, function);
}

static bool read_text(struct ptx_scan *scan)
{
    for (pdl_lexer_next(&scan->lexer); !pdl_lexer_at_end(&scan->lexer);
         pdl_lexer_next(&scan->lexer)) {
        if ((PDL_TOKEN_IS(&scan->lexer, ".entry") || PDL_TOKEN_IS(&scan->lexer, ".func")) &&
            !read_function(scan)) {
            return false;
        }
    }
    return true;
}

/* ---- following calls ------------------------------------------------------------------------ */

static int compare_texts(const struct pdl_token *a, const struct pdl_token *b)
{
    const int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_functions(const void *a, const void *b)
{
    const struct function *first = a;
    const struct function *second = b;
    const int order = compare_texts(&first->name, &second->name);
    return order != 0 ? order : (int)second->body - (int)first->body; /* before its prototypes */
}

/* The functions are sorted. */
static struct function *find_function(const struct ptx_scan *scan, const struct pdl_token *name)
{
    uint32_t low = 0;
    uint32_t high = scan->function_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (compare_texts(&scan->functions[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct function *found = low < scan->function_count ? &scan->functions[low] : NULL;
    return found != NULL && compare_texts(&found->name, name) == 0 ? found : NULL;
}

/* Finds the bodies of what is called, and says of a function that calls others that it is not known. */
static bool link_calls(struct ptx_scan *scan)
{
    for (uint32_t i = 0; i < scan->function_count; i++) {
        struct function *function = &scan->functions[i];
        for (uint32_t j = 0; j < function->use_count; j++) {
            const struct pdl_token *name = &scan->uses[function->first_use + j];
            const struct function *callee = find_function(scan, name);
            if (callee == NULL || !callee->body) {
                function->marks |= pdl_code_is_system(name->text, name->length) ? 0 : MARK_UNKNOWN;
                continue;
            }
            if (!PDL_ARRAY_ROOM(scan->calls, scan->call_count, scan->call_capacity)) {
                return false;
            }
            scan->calls[scan->call_count++] =
                (struct pdl_call){.caller = i, .callee = (uint32_t)(callee - scan->functions)};
        }
    }
    return true;
}

static bool read_all(struct ptx_scan *scan)
{
    if (!read_text(scan)) {
        return false;
    }
    if (scan->function_count == 0) {
        return true;
    }
    qsort(scan->functions, scan->function_count, sizeof(scan->functions[0]), compare_functions);
    return link_calls(scan) &&
           pdl_calls_spread(&scan->functions[0].marks, sizeof(scan->functions[0]),
                            scan->function_count, MARK_WAITS | MARK_TRIGGERS | MARK_UNKNOWN,
                            scan->calls, scan->call_count);
}

static struct pdl_scan_answer answer_of(const struct function *function, uint32_t target)
{
    const pdl_known otherwise = (function->marks & MARK_UNKNOWN) != 0 ? PDL_UNKNOWN : PDL_NO;
    return (struct pdl_scan_answer){
        .waits = (function->marks & MARK_WAITS) != 0 ? PDL_YES : otherwise,
        .triggers = (function->marks & MARK_TRIGGERS) != 0 ? PDL_YES : otherwise,
        .why = (function->marks & MARK_UNKNOWN) != 0 ? PDL_WHY_CALLS : PDL_WHY_NOTHING,
        .target = target,
        .ptx = true,
        .bounds = pdl_bounds_untold(&function->bounds),
    };
}

bool pdl_scan_ptx_each(const char *text, size_t size, uint32_t target, pdl_scan_visitor visit,
                       void *context)
{
    struct ptx_scan scan = {.function_count = 0};
    pdl_lexer_start(&scan.lexer, text, text + size, 1, 1);
    bool good = read_all(&scan);
    for (uint32_t i = 0; good && i < scan.function_count; i++) {
        const struct function *function = &scan.functions[i];
        if (function->entry && function->body) {
            const struct pdl_scan_answer answer = answer_of(function, target);
            good = visit(context, function->name.text, function->name.length, &answer);
        }
    }
    free(scan.functions);
    free(scan.uses);
    free(scan.calls);
    return good;
}
