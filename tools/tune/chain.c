/* SPDX-License-Identifier: MIT */
/* A chain that somebody has described: its memory, its kernels, and building it. */
#include "tune/chain.h"

#include <stdlib.h>
#include <string.h>

#include "bench/gpu.h"
#include "common/memory.h"

/* ---- memory and arguments ----------------------------------------------------------------------- */

static size_t aligned(size_t at, size_t align)
{
    return (at + align - 1) / align * align;
}

static void put(const struct chain *chain, const struct chain_value *value, unsigned char *to)
{
    if (value->buffer != SIZE_MAX) {
        const CUdeviceptr address = chain->buffers.items[value->buffer].memory + value->offset;
        memcpy(to, &address, sizeof(address));
    } else {
        memcpy(to, value->bytes, value->size);
    }
}

/* The bytes of an argument, its members in their places as a C compiler puts them. */
static void *complete(const struct chain *chain, const struct chain_argument *argument,
                      size_t *size)
{
    size_t at = 0;
    size_t widest = 1;
    for (size_t i = 0; i < argument->count; i++) {
        const size_t own = argument->items[i].size;
        at = aligned(at, own) + own;
        widest = own > widest ? own : widest;
    }
    *size = aligned(at, widest);
    unsigned char *const bytes = allocate(*size, 1);
    at = 0;
    for (size_t i = 0; i < argument->count; i++) {
        at = aligned(at, argument->items[i].size);
        put(chain, &argument->items[i], bytes + at);
        at += argument->items[i].size;
    }
    return bytes;
}

static void complete_arguments(const struct chain *chain, struct chain_link *link)
{
    link->args = allocate(link->count + 1, sizeof(*link->args));
    link->sizes = allocate(link->count + 1, sizeof(*link->sizes));
    for (size_t i = 0; i < link->count; i++) {
        link->args[i] = complete(chain, &link->items[i], &link->sizes[i]);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------- */

static const struct chain_variant *find_variant(const struct chain *chain, int trigger)
{
    size_t i = 0;
    while (chain->variants.items[i].trigger != trigger) {
        i++;
    }
    return &chain->variants.items[i];
}

/* Leaves `kernel` as it is where there is no such code. */
static pdl_status load_code(const struct chain_variant *variant, int code, const char *name,
                            pdl_kernel **kernel)
{
    if (variant->compiled[code] != NULL) {
        return tune_compiled_kernel(variant->compiled[code], name, kernel);
    }
    return variant->image != NULL && code == CHAIN_PLAIN
               ? pdl_kernel_from_image(variant->image, variant->size, name, kernel)
               : PDL_SUCCESS;
}

static bool load_kernel(const struct chain *chain, struct chain_kind *kind, int trigger, int code,
                        char **why)
{
    enum { WITHOUT_ASKING = 48 * 1024 };
    const struct chain_variant *const variant = find_variant(chain, trigger);
    pdl_kernel **const kernel = &kind->kernels[variant - chain->variants.items][code];
    if (*kernel != NULL) {
        return true;
    }
    pdl_status status = load_code(variant, code, kind->kernel, kernel);
    if (status == PDL_SUCCESS && *kernel != NULL && kind->shared > WITHOUT_ASKING) {
        status = pdl_kernel_set_attribute(*kernel, PDL_KERNEL_MAX_DYNAMIC_SHARED_MEMORY,
                                          (int32_t)kind->shared);
    }
    if (status != PDL_SUCCESS) {
        *why = format_text("kernel %s, trigger %d: %s", kind->kernel, trigger,
                           pdl_last_error()->message);
        return false;
    }
    return true;
}

/* What launches will know the kernel by: of a source, `kernel` is an expression. */
static char *name_of(const struct chain *chain, const struct chain_kind *kind, int trigger)
{
    pdl_kernel_info info = PDL_KERNEL_INFO_INIT;
    pdl_kernel *const kernel =
        kind->kernels[find_variant(chain, trigger) - chain->variants.items][CHAIN_PLAIN];
    const bool known = pdl_kernel_get(kernel, -1, &info) == PDL_SUCCESS && info.name[0] != '(';
    return copy_text(known ? info.name : kind->kernel);
}

static bool load_kernels(struct chain *chain, struct tune_job *job, char **why)
{
    for (size_t i = 0; i < chain->kinds.count; i++) {
        struct chain_kind *const kind = &chain->kinds.items[i];
        struct tune_kind *const choices = &job->kinds[i];
        kind->kernels = allocate(chain->variants.count, sizeof(*kind->kernels));
        for (size_t j = 0; j < CHAIN_CODES * choices->count; j++) {
            if (!load_kernel(chain, kind, choices->items[j / CHAIN_CODES].trigger,
                             (int)(j % CHAIN_CODES), why)) {
                return false;
            }
        }
        choices->kernel = name_of(chain, kind, choices->items[0].trigger);
        choices->never = !kind->overlap;
        memcpy(choices->block, kind->block, sizeof(kind->block));
    }
    return true;
}

bool chain_load(struct chain *chain, struct tune_job *job, char **why)
{
    size_t needed = 0;
    size_t left = 0;
    size_t total = 0;
    for (size_t i = 0; i < chain->buffers.count; i++) {
        needed += chain->buffers.items[i].bytes;
    }
    MUST(cu.cuMemGetInfo(&left, &total));
    if (needed > left) {
        *why = format_text("the buffers take %zu bytes, and %zu of the device's memory are free",
                           needed, left);
        return false;
    }
    for (size_t i = 0; i < chain->buffers.count; i++) {
        struct chain_buffer *const buffer = &chain->buffers.items[i];
        buffer->memory = gpu_alloc(buffer->bytes);
        gpu_write(buffer->memory, buffer->fill, buffer->bytes);
    }
    for (size_t i = 0; i < chain->links.count; i++) {
        complete_arguments(chain, &chain->links.items[i]);
    }
    return load_kernels(chain, job, why);
}

/* ---- the job ------------------------------------------------------------------------------------ */

static pdl_launch_desc make_desc(const struct chain_kind *kind, const struct tune_choice *choice,
                                 pdl_overlap overlap)
{
    pdl_launch_desc desc;
    pdl_launch_desc_init(&desc);
    memcpy(desc.grid, choice->grid, sizeof(desc.grid));
    memcpy(desc.block, kind->block, sizeof(desc.block));
    memcpy(desc.cluster, kind->cluster, sizeof(desc.cluster));
    desc.dynamic_shared_memory = kind->shared;
    desc.overlap = (uint32_t)(kind->overlap && !choice->serial ? overlap : PDL_OVERLAP_NONE);
    if (kind->carveout >= 0) {
        desc.shared_memory_carveout = (uint32_t)kind->carveout;
        desc.flags |= PDL_LAUNCH_SET_SHARED_MEMORY_CARVEOUT;
    }
    return desc;
}

static pdl_status add_link(const struct chain *chain, pdl_chain *made,
                           const struct chain_link *link, const struct tune_choice *choice,
                           pdl_overlap overlap, int code)
{
    const struct chain_kind *const kind = &chain->kinds.items[link->kind];
    const struct chain_variant *const variant = find_variant(chain, choice->trigger);
    const pdl_launch_desc desc = make_desc(kind, choice, overlap);
    return pdl_chain_add(made, kind->kernels[variant - chain->variants.items][code], &desc,
                         link->args, link->sizes, link->count, NULL);
}

static pdl_chain *build_of(const struct chain *chain, const size_t *choices, pdl_overlap overlap,
                           int code, char **why)
{
    pdl_chain *made = NULL;
    const struct chain_link *link = NULL;
    pdl_status status = pdl_chain_create(NULL, &made);
    for (size_t i = 0; status == PDL_SUCCESS && i < chain->repeat * chain->links.count; i++) {
        link = &chain->links.items[i % chain->links.count];
        status = add_link(chain, made, link,
                          &chain->job->kinds[link->kind].items[choices[link->kind]], overlap, code);
    }
    if (status == PDL_SUCCESS) {
        link = NULL;
        status = pdl_chain_build(made);
    }
    if (status != PDL_SUCCESS) {
        *why = link != NULL ? format_text("links[%zu]: %s", (size_t)(link - chain->links.items),
                                          pdl_last_error()->message)
                            : copy_text(pdl_last_error()->message);
        pdl_chain_destroy(made);
        return NULL;
    }
    return made;
}

static pdl_chain *build(void *self, const size_t *choices, pdl_overlap overlap, char **why)
{
    return build_of(self, choices, overlap, CHAIN_PLAIN, why);
}

static pdl_chain *build_faulty(void *self, const size_t *choices, char **why)
{
    return build_of(self, choices, PDL_OVERLAP_AUTO, CHAIN_FAULTY, why);
}

static void reset(void *self)
{
    const struct chain *const chain = self;
    for (size_t i = 0; i < chain->buffers.count; i++) {
        const struct chain_buffer *const buffer = &chain->buffers.items[i];
        if (!buffer->constant) {
            gpu_write(buffer->memory, buffer->fill, buffer->bytes);
        }
    }
}

static void results(void *self, void *to)
{
    const struct chain *const chain = self;
    unsigned char *at = to;
    for (size_t i = 0; i < chain->buffers.count; i++) {
        const struct chain_buffer *const buffer = &chain->buffers.items[i];
        if (!buffer->constant) {
            gpu_read(at, buffer->memory, buffer->bytes);
            at += buffer->bytes;
        }
    }
}

/* What was said to be constant must be what it was. */
static char *finish(void *self)
{
    const struct chain *const chain = self;
    char *why = NULL;
    for (size_t i = 0; why == NULL && i < chain->buffers.count; i++) {
        const struct chain_buffer *const buffer = &chain->buffers.items[i];
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

static void destroy(void *self)
{
    chain_free(self);
}

void chain_make_job(struct chain *chain, struct tune_job *job)
{
    chain->job = job;
    job->links = chain->repeat * chain->links.count;
    for (size_t i = 0; i < chain->buffers.count; i++) {
        job->result_bytes += chain->buffers.items[i].constant ? 0 : chain->buffers.items[i].bytes;
    }
    job->self = chain;
    job->build = build;
    job->build_faulty =
        chain->variants.items[0].compiled[CHAIN_FAULTY] != NULL ? build_faulty : NULL;
    job->reset = reset;
    job->results = results;
    job->finish = finish;
    job->destroy = destroy;
}

static void free_link(struct chain_link *link)
{
    for (size_t i = 0; i < link->count; i++) {
        if (link->args != NULL) {
            free(link->args[i]);
        }
        free(link->items[i].items);
    }
    free(link->items);
    free((void *)link->args);
    free(link->sizes);
}

void chain_free(struct chain *chain)
{
    for (size_t i = 0; i < chain->links.count; i++) {
        free_link(&chain->links.items[i]);
    }
    for (size_t i = 0; i < chain->kinds.count; i++) {
        struct chain_kind *const kind = &chain->kinds.items[i];
        for (size_t j = 0; kind->kernels != NULL && j < chain->variants.count; j++) {
            pdl_kernel_destroy(kind->kernels[j][CHAIN_PLAIN]);
            pdl_kernel_destroy(kind->kernels[j][CHAIN_FAULTY]);
        }
        free(kind->kernels);
        free(kind->kernel);
    }
    for (size_t i = 0; i < chain->variants.count; i++) {
        free(chain->variants.items[i].image);
        if (tune_compiled_free != NULL) {
            tune_compiled_free(chain->variants.items[i].compiled[CHAIN_PLAIN]);
            tune_compiled_free(chain->variants.items[i].compiled[CHAIN_FAULTY]);
        }
    }
    for (size_t i = 0; i < chain->buffers.count; i++) {
        gpu_free(chain->buffers.items[i].memory);
        free(chain->buffers.items[i].name);
        free(chain->buffers.items[i].fill);
    }
    free(chain->links.items);
    free(chain->kinds.items);
    free(chain->variants.items);
    free(chain->buffers.items);
    free(chain);
}
