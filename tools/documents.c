/* SPDX-License-Identifier: MIT */
#include "documents.h"

#include <stdlib.h>
#include <string.h>

#include "code/instrument_words.h"
#include "common/demangle.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/print.h"

bool inspect_print_json(const struct inputs *inputs, kernel_filter *wanted, const void *context,
                        bool *any)
{
    json_t *const root = json_document(inputs);
    json_t *const kernels = json_kernels(inputs, wanted, context);
    *any = json_array_size(kernels) > 0;
    json_set(root, "kernels", kernels);
    return json_print(root);
}

bool instrument_print_json(const char *name, const pdl_instrumentation *result)
{
    const struct inputs none = {0};
    json_t *const root = json_document(&none);
    json_t *const kernels = json_new_array();
    (void)json_object_del(root, "inputs");
    (void)json_object_del(root, "images");
    json_set(root, "input", json_text(name));
    for (size_t i = 0; i < pdl_instrumentation_kernel_count(result); i++) {
        const pdl_instrument_kernel *kernel = pdl_instrumentation_kernel(result, i);
        json_t *const object = json_new_object();
        char *const demangled = demangle(kernel->name);
        json_set(object, "name", json_shown(kernel->name));
        json_set(object, "demangled", json_text(demangled));
        json_set(object, "result", json_text(pdl_instrument_action_word(kernel->action)));
        json_set(object, "reason", json_text(pdl_instrument_reason_word(kernel->reason)));
        json_set(object, "message", json_shown(kernel->message));
        json_set(object, "line", json_number(kernel->line));
        json_set(object, "wait_line", json_number_from(kernel->wait_line, 1));
        json_set(object, "trigger_line", json_number_from(kernel->trigger_line, 1));
        json_set(object, "trigger_points", json_number_from(kernel->trigger_points, 1));
        json_set(object, "coherent_loads", json_number(kernel->loads));
        json_add(kernels, object);
        free(demangled);
    }
    json_set(root, "kernels", kernels);
    return json_print(root);
}
