/* SPDX-License-Identifier: MIT */
#include "code/calls.h"

#include <stdlib.h>

static uint32_t *mark_of(uint32_t *marks, size_t stride, uint32_t index)
{
    return (uint32_t *)(void *)((char *)marks + index * stride);
}

bool pdl_calls_spread(uint32_t *marks, size_t stride, uint32_t count, uint32_t spreads,
                      const struct pdl_call *calls, uint32_t call_count)
{
    bool done = false;
    size_t queued = 0;
    size_t room = 1;
    for (uint32_t bits = spreads; bits != 0; bits &= bits - 1) {
        room++; /* a function is queued at first, and once a mark that it gets */
    }
    /* Callers by callee: those of c are at first[c] up to first[c + 1]. */
    uint32_t *first = calloc((size_t)count + 2, sizeof(first[0]));
    uint32_t *callers = malloc(((size_t)call_count + 1) * sizeof(callers[0]));
    uint32_t *queue = malloc(((size_t)count * room + 1) * sizeof(queue[0])); /* a stack */
    if (first == NULL || callers == NULL || queue == NULL) {
        goto free;
    }
    for (uint32_t i = 0; i < call_count; i++) {
        first[calls[i].callee + 2]++;
    }
    for (size_t i = 2; i < (size_t)count + 2; i++) {
        first[i] += first[i - 1];
    }
    for (uint32_t i = 0; i < call_count; i++) {
        callers[first[calls[i].callee + 1]++] = calls[i].caller;
    }
    for (uint32_t i = 0; i < count; i++) {
        if ((*mark_of(marks, stride, i) & spreads) != 0) {
            queue[queued++] = i;
        }
    }
    while (queued > 0) {
        const uint32_t callee = queue[--queued];
        const uint32_t gives = *mark_of(marks, stride, callee) & spreads;
        for (uint32_t i = first[callee]; i < first[callee + 1]; i++) {
            uint32_t *caller = mark_of(marks, stride, callers[i]);
            if ((*caller | gives) != *caller) {
                *caller |= gives;
                queue[queued++] = callers[i];
            }
        }
    }
    done = true;
free:
    free(first);
    free(callers);
    free(queue);
    return done;
}
