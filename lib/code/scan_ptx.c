/* SPDX-License-Identifier: MIT */
/* Whether a kernel in a PTX text waits and triggers, by tokens. No more of the language is read than
 * tells bodies, calls and the two instructions apart. What cannot be followed is unknown. */
#include <stdlib.h>

#include "code/scan.h"

struct token {
    const char *text;
    size_t size; /* 0 at the end */
};

struct function {
    struct token name;
    bool body; /* without one it is a prototype, or elsewhere */
    bool waits;
    bool triggers;
    bool unknown; /* calls through a pointer */
    bool seen;
    uint32_t first_call;
    uint32_t call_count;
};

struct ptx_scan {
    const char *at;
    const char *end;
    struct function *functions;
    struct token *calls;
    uint32_t function_count, function_capacity;
    uint32_t call_count, call_capacity;
};

/* ---- tokens --------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%' || c == '.';
}

static void skip_blanks(struct ptx_scan *scan)
{
    while (scan->at < scan->end) {
        const char *at = scan->at;
        const bool two = scan->end - at >= 2 && at[0] == '/';
        if (two && at[1] == '/') {
            const char *line = memchr(at, '\n', (size_t)(scan->end - at));
            scan->at = line != NULL ? line : scan->end;
        } else if (two && at[1] == '*') {
            scan->at += 2;
            while (scan->end - scan->at >= 2 && (scan->at[0] != '*' || scan->at[1] != '/')) {
                scan->at++;
            }
            scan->at = scan->end - scan->at >= 2 ? scan->at + 2 : scan->end;
        } else if (*at == ' ' || (*at >= '\t' && *at <= '\r')) {
            scan->at++;
        } else {
            return;
        }
    }
}

/* A word, a string, or a single character. */
static struct token next(struct ptx_scan *scan)
{
    skip_blanks(scan);
    struct token token = {.text = scan->at, .size = 0};
    if (scan->at == scan->end) {
        return token;
    }
    if (*scan->at == '"') {
        const char *quote = memchr(scan->at + 1, '"', (size_t)(scan->end - scan->at) - 1);
        scan->at = quote != NULL ? quote + 1 : scan->end;
    } else if (is_word(*scan->at)) {
        while (scan->at < scan->end && is_word(*scan->at)) {
            scan->at++;
        }
    } else {
        scan->at++;
    }
    token.size = (size_t)(scan->at - token.text);
    return token;
}

static bool is(struct token token, const char *text)
{
    return token.size == strlen(text) && memcmp(token.text, text, token.size) == 0;
}

static bool same(struct token a, struct token b)
{
    return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
}

/* Whether an instruction's name begins so, and ends there or goes on with a modifier. */
static bool is_instruction(struct token token, const char *text)
{
    const size_t size = strlen(text);
    return token.size >= size && memcmp(token.text, text, size) == 0 &&
           (token.size == size || token.text[size] == '.');
}

/* Behind an opening bracket: goes behind the one that closes it. */
static void skip_brackets(struct ptx_scan *scan)
{
    for (size_t depth = 1; depth > 0;) {
        const struct token token = next(scan);
        if (token.size == 0) {
            return;
        }
        depth += is(token, "(");
        depth -= is(token, ")");
    }
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool grow(void **items, uint32_t *capacity, size_t each)
{
    if (*capacity > UINT32_MAX / 2) {
        return false;
    }
    const uint32_t room = *capacity > 0 ? *capacity * 2 : 32;
    void *grown = realloc(*items, room * each);
    if (grown == NULL) {
        return false;
    }
    *items = grown;
    *capacity = room;
    return true;
}

static bool add_call(struct ptx_scan *scan, struct function *function)
{
    struct token token = next(scan);
    if (is(token, "(")) { /* what it returns */
        skip_brackets(scan);
        token = next(scan);
        if (is(token, ",")) {
            token = next(scan);
        }
    }
    if (token.size == 0 || token.text[0] == '%' || !is_word(token.text[0])) {
        function->unknown = true;
        return true;
    }
    if (scan->call_count == scan->call_capacity &&
        !grow((void **)&scan->calls, &scan->call_capacity, sizeof(scan->calls[0]))) {
        return false;
    }
    scan->calls[scan->call_count++] = token;
    function->call_count++;
    return true;
}

/* Behind the brace that opens it. */
static bool read_body(struct ptx_scan *scan, struct function *function)
{
    function->body = true;
    function->first_call = scan->call_count;
    for (size_t depth = 1; depth > 0;) {
        const struct token token = next(scan);
        if (token.size == 0) {
            function->unknown = true; /* cut short */
            return true;
        }
        depth += is(token, "{");
        depth -= is(token, "}");
        if (is(token, "griddepcontrol.wait")) {
            function->waits = true;
        } else if (is(token, "griddepcontrol.launch_dependents")) {
            function->triggers = true;
        } else if (is_instruction(token, "call") && !add_call(scan, function)) {
            return false;
        }
    }
    return true;
}

/* Behind .entry or .func. */
static bool read_function(struct ptx_scan *scan)
{
    struct token token = next(scan);
    if (is(token, "(")) { /* what it returns */
        skip_brackets(scan);
        token = next(scan);
    }
    if (scan->function_count == scan->function_capacity &&
        !grow((void **)&scan->functions, &scan->function_capacity, sizeof(scan->functions[0]))) {
        return false;
    }
    struct function *function = &scan->functions[scan->function_count];
    *function = (struct function){.name = token};
    /* Its parameters, and directives such as .maxntid, stand before the body. */
    for (;;) {
        token = next(scan);
        if (token.size == 0 || is(token, ";")) {
            break;
        }
        if (is(token, "(")) {
            skip_brackets(scan);
        } else if (is(token, "{")) {
            if (!read_body(scan, function)) {
                return false;
            }
            break;
        }
    }
    scan->function_count++;
    return true;
}

static bool read_text(struct ptx_scan *scan)
{
    for (;;) {
        const struct token token = next(scan);
        if (token.size == 0) {
            return true;
        }
        if ((is(token, ".entry") || is(token, ".func")) && !read_function(scan)) {
            return false;
        }
    }
}

/* ---- following calls ------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
    const struct function *first = a;
    const struct function *second = b;
    const size_t common =
        first->name.size < second->name.size ? first->name.size : second->name.size;
    const int order = memcmp(first->name.text, second->name.text, common);
    if (order != 0) {
        return order;
    }
    if (first->name.size != second->name.size) {
        return first->name.size < second->name.size ? -1 : 1;
    }
    return (int)second->body - (int)first->body; /* a body before its prototypes */
}

/* The functions are sorted. */
static struct function *find(const struct ptx_scan *scan, struct token name)
{
    const struct function wanted = {.name = name, .body = true};
    uint32_t low = 0;
    uint32_t high = scan->function_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (compare_names(&scan->functions[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct function *found = low < scan->function_count ? &scan->functions[low] : NULL;
    return found != NULL && same(found->name, name) ? found : NULL;
}

static struct pdl_scan_answer follow(struct ptx_scan *scan, struct function *entry)
{
    bool waits = false;
    bool triggers = false;
    bool unknown = false;
    uint32_t queued = 0;
    struct function **queue = malloc(scan->function_count * sizeof(struct function *));
    if (queue == NULL) {
        return (struct pdl_scan_answer){PDL_UNKNOWN, PDL_UNKNOWN};
    }
    entry->seen = true;
    queue[queued++] = entry;
    while (queued > 0) {
        const struct function *function = queue[--queued];
        waits = waits || function->waits;
        triggers = triggers || function->triggers;
        unknown = unknown || function->unknown;
        for (uint32_t i = 0; i < function->call_count; i++) {
            const struct token name = scan->calls[function->first_call + i];
            struct function *callee = find(scan, name);
            if (callee == NULL || !callee->body) {
                unknown = unknown || !pdl_scan_is_system(name.text, name.size);
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
    struct pdl_scan_answer answer = {PDL_UNKNOWN, PDL_UNKNOWN};
    struct ptx_scan scan = {.at = text, .end = text + size};
    if (read_text(&scan) && scan.function_count > 0) {
        qsort(scan.functions, scan.function_count, sizeof(scan.functions[0]), compare_names);
        struct function *entry = find(&scan, (struct token){.text = name, .size = strlen(name)});
        if (entry != NULL && entry->body) {
            answer = follow(&scan, entry);
        }
    }
    free(scan.functions);
    free(scan.calls);
    return answer;
}
