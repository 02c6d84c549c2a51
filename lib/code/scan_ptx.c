/* SPDX-License-Identifier: MIT */
/* Whether a kernel in a PTX text waits and triggers, by tokens. No more of the language is read than
 * tells bodies, calls and the two instructions apart. What cannot be followed is unknown. */
#include <stdlib.h>
#include <string.h>

#include "code/lexer.h"
#include "code/scan.h"
#include "code/system.h"
#include "core/array.h"

struct function {
    struct pdl_token name;
    bool body; /* without one it is a prototype, or elsewhere */
    bool waits;
    bool triggers;
    bool unknown; /* calls through a pointer */
    bool seen;
    uint32_t first_call;
    uint32_t call_count;
};

struct ptx_scan {
    struct pdl_lexer lexer;
    struct function *functions;
    struct pdl_token *calls;
    uint32_t function_count, call_count;
    size_t function_capacity, call_capacity;
};

/* ---- functions ------------------------------------------------------------------------------ */

static bool add_call(struct ptx_scan *scan, struct function *function)
{
    const struct pdl_token *token = &scan->lexer.token;
    pdl_lexer_callee(&scan->lexer);
    if (token->kind != PDL_TOKEN_WORD || token->text[0] == '%') {
        function->unknown = true;
        return true;
    }
    if (!PDL_ARRAY_ROOM(scan->calls, scan->call_count, scan->call_capacity)) {
        return false;
    }
    scan->calls[scan->call_count++] = *token;
    function->call_count++;
    return true;
}

/* From the brace that opens it to the one that closes it. */
static bool read_body(struct ptx_scan *scan, struct function *function)
{
    struct pdl_lexer *lexer = &scan->lexer;
    size_t depth = 0;
    function->body = true;
    function->first_call = scan->call_count;
    do {
        depth += lexer->token.mark == '{';
        depth -= lexer->token.mark == '}';
        if (depth == 0) {
            return true;
        }
        if (PDL_TOKEN_IS(lexer, "griddepcontrol.wait")) {
            function->waits = true;
        } else if (PDL_TOKEN_IS(lexer, "griddepcontrol.launch_dependents")) {
            function->triggers = true;
        } else if (pdl_lexer_at_call(lexer)) {
            if (!add_call(scan, function)) {
                return false;
            }
            continue; /* what stands there may be a brace */
        }
        pdl_lexer_next(lexer);
    } while (!pdl_lexer_at_end(lexer));
    function->unknown = true; /* cut short */
    return true;
}

/* From .entry or .func to its last token. */
static bool read_function(struct ptx_scan *scan)
{
    struct pdl_lexer *lexer = &scan->lexer;
    pdl_lexer_next(lexer);
    if (lexer->token.mark == '(' && pdl_lexer_skip(lexer)) { /* what it returns */
        pdl_lexer_next(lexer);
    }
    if (!PDL_ARRAY_ROOM(scan->functions, scan->function_count, scan->function_capacity)) {
        return false;
    }
    struct function *function = &scan->functions[scan->function_count++];
    *function = (struct function){.name = lexer->token};
    /* Its parameters, and directives such as .maxntid, stand before the body. */
    while (!pdl_lexer_at_end(lexer) && lexer->token.mark != ';' && lexer->token.mark != '{') {
        pdl_lexer_next(lexer);
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

static struct pdl_scan_answer follow(struct ptx_scan *scan, struct function *entry)
{
    bool waits = false;
    bool triggers = false;
    bool unknown = false;
    uint32_t queued = 0;
    struct function **queue = malloc(scan->function_count * sizeof(struct function *));
    if (queue == NULL) {
        return (struct pdl_scan_answer){.no_memory = true};
    }
    entry->seen = true;
    queue[queued++] = entry;
    while (queued > 0) {
        const struct function *function = queue[--queued];
        waits = waits || function->waits;
        triggers = triggers || function->triggers;
        unknown = unknown || function->unknown;
        for (uint32_t i = 0; i < function->call_count; i++) {
            const struct pdl_token *name = &scan->calls[function->first_call + i];
            struct function *callee = find_function(scan, name);
            if (callee == NULL || !callee->body) {
                unknown = unknown || !pdl_code_is_system(name->text, name->length);
            } else if (!callee->seen) {
                callee->seen = true;
                queue[queued++] = callee;
            }
        }
    }
    free(queue);
    const pdl_known otherwise = unknown ? PDL_UNKNOWN : PDL_NO;
    return (struct pdl_scan_answer){.waits = waits ? PDL_YES : otherwise,
                                    .triggers = triggers ? PDL_YES : otherwise};
}

struct pdl_scan_answer pdl_scan_ptx(const char *text, size_t size, const char *name)
{
    struct pdl_scan_answer answer = {.no_memory = false};
    struct ptx_scan scan = {.function_count = 0};
    pdl_lexer_start(&scan.lexer, text, text + size, 1, 1);
    answer.no_memory = !read_text(&scan);
    if (!answer.no_memory && scan.function_count > 0) {
        const struct pdl_token wanted = {.text = name, .length = (uint32_t)strlen(name)};
        qsort(scan.functions, scan.function_count, sizeof(scan.functions[0]), compare_functions);
        struct function *entry = find_function(&scan, &wanted);
        if (entry != NULL && entry->body) {
            answer = follow(&scan, entry);
        }
    }
    free(scan.functions);
    free(scan.calls);
    return answer;
}
