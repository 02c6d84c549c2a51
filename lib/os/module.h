/* SPDX-License-Identifier: MIT */
/* The program and the shared objects of this process, as they lie in memory. */
#ifndef PDL_LIB_MODULE_H
#define PDL_LIB_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PDL_MODULE_SEGMENTS 32

struct pdl_segment {
    const unsigned char *begin;
    size_t size;
    size_t filled; /* from the file; the rest began as zeros */
    bool writable;
};

struct pdl_module {
    uintptr_t base;
    uint64_t build;             /* tells apart what lay at the same base; 0 where `unloads` does */
    unsigned long long unloads; /* of any module, until this was looked at */
    struct pdl_segment segments[PDL_MODULE_SEGMENTS]; /* that can be read */
    uint32_t count;
};

/* The module that an address lies in. */
bool pdl_module_find(const void *address, struct pdl_module *module);

/* How much of a module lies at an address and behind it, in one segment. */
static inline size_t pdl_module_room(const struct pdl_module *module, const void *address)
{
    for (uint32_t i = 0; i < module->count; i++) {
        const struct pdl_segment *segment = &module->segments[i];
        const uintptr_t offset = (uintptr_t)address - (uintptr_t)segment->begin;
        if (offset < segment->size) {
            return segment->size - offset;
        }
    }
    return 0;
}

/* Visits the modules that define a symbol of the name that is exported for `address`, beside the one that it lies in:
 * all of them may share that address. False without memory. */
bool pdl_module_namesakes(const void *address,
                          void (*visit)(void *context, const struct pdl_module *module),
                          void *context);

#endif /* PDL_LIB_MODULE_H */
