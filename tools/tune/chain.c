/* SPDX-License-Identifier: MIT */
/* A chain that a file describes, on the device: building it, and what it computes. */
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu.h"
#include "common/memory.h"

static pdl_status add_link(const struct tune_chain *chain, pdl_chain *made,
                           const struct tune_link *link, const struct tune_choice *choice,
                           pdl_overlap overlap)
{
    const struct tune_kind *const kind = &chain->kinds[link->kind];
    pdl_launch_desc desc = kind->desc;
    desc.overlap = (uint32_t)(kind->never || choice->serial ? PDL_OVERLAP_NONE : overlap);
    return pdl_chain_add(made, choice->kernel, &desc, link->args, link->sizes, link->count, NULL);
}

pdl_chain *tune_build(const struct tune_chain *chain, const size_t *choices, pdl_overlap overlap,
                      char **why)
{
    pdl_chain *made = NULL;
    const struct tune_link *link = NULL;
    pdl_status status = pdl_chain_create(NULL, &made);
    for (size_t i = 0; status == PDL_SUCCESS && i < chain->links.count; i++) {
        link = &chain->links.items[i];
        status = add_link(chain, made, link, &chain->kinds[link->kind].items[choices[link->kind]],
                          overlap);
    }
    if (status == PDL_SUCCESS) {
        link = NULL;
        status = pdl_chain_build(made);
    }
    if (status != PDL_SUCCESS) {
        *why = link != NULL ? format_text("line %u: %s", link->line, pdl_last_error()->message)
                            : copy_text(pdl_last_error()->message);
        pdl_chain_destroy(made);
        return NULL;
    }
    return made;
}

void tune_reset(const struct tune_chain *chain)
{
    for (size_t i = 0; i < chain->buffers.count; i++) {
        const struct tune_buffer *const buffer = &chain->buffers.items[i];
        if (!buffer->constant) {
            gpu_write(buffer->memory, buffer->fill, buffer->bytes);
        }
    }
}

void tune_results(const struct tune_chain *chain, unsigned char *to)
{
    for (size_t i = 0; i < chain->buffers.count; i++) {
        const struct tune_buffer *const buffer = &chain->buffers.items[i];
        if (!buffer->constant) {
            gpu_read(to, buffer->memory, buffer->bytes);
            to += buffer->bytes;
        }
    }
}

char *tune_changed_constant(const struct tune_chain *chain)
{
    char *why = NULL;
    for (size_t i = 0; why == NULL && i < chain->buffers.count; i++) {
        const struct tune_buffer *const buffer = &chain->buffers.items[i];
        if (buffer->constant) {
            unsigned char *const now = allocate(buffer->bytes, 1);
            gpu_read(now, buffer->memory, buffer->bytes);
            if (memcmp(now, buffer->fill, buffer->bytes) != 0) {
                why = format_text("the chain has written to buffer %s, which is declared constant",
                                  buffer->name);
            }
            free(now);
        }
    }
    return why;
}

static void free_link(struct tune_link *link)
{
    for (size_t i = 0; i < link->count; i++) {
        free(link->args[i]);
    }
    free((void *)link->args);
    free(link->sizes);
}

void tune_chain_free(struct tune_chain *chain)
{
    for (size_t i = 0; i < chain->links.count; i++) {
        free_link(&chain->links.items[i]);
    }
    for (size_t i = 0; i < chain->kind_count; i++) {
        free(chain->kinds[i].name);
        free(chain->kinds[i].kernel);
        free(chain->kinds[i].items);
    }
    for (size_t i = 0; i < chain->kernels.count; i++) {
        pdl_kernel_destroy(chain->kernels.items[i]);
    }
    for (size_t i = 0; i < chain->buffers.count; i++) {
        gpu_free(chain->buffers.items[i].memory);
        free(chain->buffers.items[i].name);
        free(chain->buffers.items[i].fill);
    }
    free(chain->links.items);
    free(chain->kinds);
    free((void *)chain->kernels.items);
    free(chain->buffers.items);
    free(chain->name);
    memset(chain, 0, sizeof(*chain));
}
