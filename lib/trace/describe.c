/* SPDX-License-Identifier: MIT */
/* Chains as text for `pdltool sim`, whose docs/model.md tells what the words mean. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "graph/chain.h"
#include "launch/kernel.h"
#include "launch/lower.h"

/* A name as one word that no comment begins in. */
static void write_name(FILE *to, const char *name)
{
    for (; *name != '\0'; name++) {
        (void)fputc(*name > ' ' && *name < 0x7f && *name != '#' ? *name : '_', to);
    }
}

static void write_kernel(FILE *to, uint32_t index, const struct pdl_link *link,
                         const struct pdl_lowered *lowered)
{
    const struct pdl_kernel_facts *const facts = lowered->facts;
    const CUlaunchConfig *const config = &lowered->config;
    const uint64_t blocks = (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ;
    const uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    (void)fprintf(to, "kernel ");
    write_name(to, pdl_kernel_name(link->kernel, facts));
    (void)fprintf(to,
                  ".%u blocks=%llu threads=%llu registers=%d shared=%llu prologue=1us before=1us "
                  "after=1us%s%s\n",
                  index, (unsigned long long)blocks, (unsigned long long)threads, facts->registers,
                  (unsigned long long)facts->static_shared_memory + config->sharedMemBytes,
                  link->kernel->waits == PDL_NO ? " nowait" : "",
                  link->kernel->triggers == PDL_NO ? " trigger=never" : "");
}

static void write_node(FILE *to, uint32_t index, const struct pdl_link *link,
                       const struct pdl_kernel_facts *facts)
{
    (void)fprintf(to, "    node %u ", index);
    write_name(to, pdl_kernel_name(link->kernel, facts));
    (void)fprintf(to, ".%u\n", index);
}

enum part { KERNELS, NODES, EDGES };

static pdl_status write_link(FILE *to, struct pdl_chain *chain, uint32_t index, enum part part)
{
    struct pdl_lowered lowered = {.reason = PDL_REASON_NOT_REQUESTED};
    const struct pdl_link *const link = &chain->links[index];
    const pdl_status status = pdl_chain_lower(chain, link->kernel, &link->desc, &lowered);
    if (status != PDL_SUCCESS) {
        return status;
    }
    if (part == KERNELS) {
        write_kernel(to, index, link, &lowered);
    } else if (part == NODES) {
        write_node(to, index, link, lowered.facts);
    } else {
        uint32_t before;
        uint32_t count = 0;
        const uint32_t *const on = pdl_chain_dependencies(chain, index, &before, &count);
        for (uint32_t i = 0; i < count; i++) {
            (void)fprintf(to, "    edge %u %u%s\n", on[i], index,
                          lowered.reason == PDL_REASON_GRANTED ? " overlap" : "");
        }
    }
    return PDL_SUCCESS;
}

static pdl_status write_part(FILE *to, struct pdl_chain *chain, enum part part)
{
    pdl_status status = PDL_SUCCESS;
    for (uint32_t i = 0; i < chain->count && status == PDL_SUCCESS; i++) {
        status = write_link(to, chain, i, part);
    }
    return status;
}

/* Nodes before edges: a link may depend on one that was added later. */
static pdl_status write_all(FILE *to, struct pdl_chain *chain)
{
    (void)fprintf(to,
                  "# A chain of %u links. The phases of the kernels are not known: put what was "
                  "measured in their place.\n",
                  chain->count);
    pdl_status status = write_part(to, chain, KERNELS);
    (void)fprintf(to, "gate\ngraph\n");
    if (status == PDL_SUCCESS) {
        status = write_part(to, chain, NODES);
    }
    if (status == PDL_SUCCESS) {
        status = write_part(to, chain, EDGES);
    }
    (void)fprintf(to, "end\n");
    return status;
}

/* Whether every link could be launched: else no file is touched. */
static pdl_status check(struct pdl_chain *chain)
{
    pdl_status status = PDL_SUCCESS;
    for (uint32_t i = 0; i < chain->count && status == PDL_SUCCESS; i++) {
        struct pdl_lowered lowered = {.reason = PDL_REASON_NOT_REQUESTED};
        status = pdl_chain_lower(chain, chain->links[i].kernel, &chain->links[i].desc, &lowered);
    }
    return status;
}

static pdl_status describe(struct pdl_chain *chain, const char *path)
{
    pdl_status status = check(chain);
    if (status != PDL_SUCCESS) {
        return status;
    }
    FILE *const to = fopen(path, "w");
    if (to == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%.200s cannot be written: %s", path,
                              strerror(errno));
    }
    status = write_all(to, chain);
    const bool written = ferror(to) == 0;
    if ((fclose(to) != 0 || !written) && status == PDL_SUCCESS) {
        status = PDL_FAIL_FIELD(PDL_ERROR_FILE, "path", "%.200s cannot be written: %s", path,
                                strerror(errno));
    }
    return status;
}

pdl_status pdl_chain_describe(pdl_chain *chain, const char *path)
{
    if (path == NULL || path[0] == '\0') {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "path", "there is no path");
    }
    const pdl_status status = pdl_chain_enter(chain);
    return status == PDL_SUCCESS ? pdl_chain_leave(chain, describe(chain, path)) : status;
}
