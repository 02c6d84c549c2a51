/* SPDX-License-Identifier: MIT */
#include "inspect/edit/reach.h"

#include "code/system.h"

static void push(struct pdl_reach *reach, uint32_t function)
{
    if (!reach->seen[function]) {
        reach->seen[function] = true;
        reach->reached[reach->count++] = function;
    }
}

/* What a function that CUDA supplies does to the launch. */
static unsigned of_system(const struct pdl_name *name)
{
    static const char grid[] = "cudaCG";
    const enum pdl_system is = pdl_code_system(name->text, name->length);
    if (is == PDL_SYSTEM_LAUNCH) {
        return PDL_REACH_LAUNCHES;
    }
    return is == PDL_SYSTEM_BARRIER || (name->length >= sizeof(grid) - 1 &&
                                        memcmp(name->text, grid, sizeof(grid) - 1) == 0)
               ? PDL_REACH_COOPERATIVE
               : 0;
}

/* The grid's barrier has its memory from these registers, which the driver sets for cooperative launches. */
static bool reads_environment(const struct pdl_ptx_module *module,
                              const struct pdl_ptx_function *function)
{
    static const char word[] = "%envreg";
    const char *begin = module->text + function->body;
    const size_t size = function->body_end - function->body;
    struct pdl_lexer lexer;
    if (memmem(begin, size, word, sizeof(word) - 1) == NULL) {
        return false;
    }
    pdl_lexer_start(&lexer, begin, begin + size, 1, 1); /* it may be in a comment */
    do {
        pdl_lexer_next(&lexer);
    } while (!pdl_lexer_at_end(&lexer) &&
             !(lexer.token.kind == PDL_TOKEN_WORD && lexer.token.length >= sizeof(word) - 1 &&
               memcmp(lexer.token.text, word, sizeof(word) - 1) == 0));
    return lexer.token.kind == PDL_TOKEN_WORD;
}

void pdl_reach_add(struct pdl_reach *reach, const struct pdl_ptx_module *module, uint32_t function,
                   unsigned *found)
{
    uint32_t next = reach->count;
    *found = 0;
    push(reach, function);
    while (next < reach->count) {
        const struct pdl_ptx_function *at = &module->functions[reach->reached[next++]];
        if (!at->has_body) {
            *found |= of_system(&module->names.names[at->name]);
            continue;
        }
        *found |= reads_environment(module, at) ? PDL_REACH_COOPERATIVE : 0u;
        for (uint32_t i = 0; i < at->callee_count; i++) {
            const uint32_t name = module->callees[at->first_callee + i];
            if (name & PDL_PTX_INDIRECT) {
                const struct pdl_prototype *prototype =
                    &module->pointers.prototypes[name & ~PDL_PTX_INDIRECT];
                for (uint32_t j = 0; j < prototype->count; j++) {
                    push(reach, module->pointers.by_prototype[prototype->first + j]);
                }
                continue;
            }
            const struct pdl_ptx_function *callee = pdl_ptx_function_find(module, name);
            if (callee != NULL) {
                push(reach, (uint32_t)(callee - module->functions));
            } else {
                *found |= of_system(&module->names.names[name]);
            }
        }
    }
}

void pdl_reach_clear(struct pdl_reach *reach, const struct pdl_ptx_module *module)
{
    const size_t count = (size_t)module->function_count + 1;
    while (reach->count > 0) {
        reach->seen[reach->reached[--reach->count]] = false;
    }
    if (reach->seen_capacity > 0) {
        return;
    }
    PDL_RESERVE(reach->reached, count, reach->reached_capacity);
    PDL_RESERVE(reach->seen, count, reach->seen_capacity);
    memset(reach->seen, 0, count * sizeof(*reach->seen));
}
