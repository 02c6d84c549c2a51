/* SPDX-License-Identifier: MIT */
/* Chains as text for `pdltool sim`, whose docs/model.md tells what the words mean. */
#include <stdlib.h>

#include <pdl/chain.h>
#include <pdl/timeline.h>

#include "core/error.h"
#include "trace/output.h"

struct link {
    pdl_chain_report report;
    pdl_kernel_info kernel;
};

/* ---- what is known of the links ---------------------------------------------------------------- */

static pdl_status ask(pdl_chain *chain, uint32_t index, struct link *link)
{
    *link = (struct link){.report = PDL_CHAIN_REPORT_INIT, .kernel = PDL_KERNEL_INFO_INIT};
    pdl_status status = pdl_chain_explain(chain, index, &link->report);
    if (status == PDL_SUCCESS) {
        status = pdl_kernel_get(link->report.kernel, link->report.device, &link->kernel);
    }
    if (status != PDL_SUCCESS || link->report.dependencies == 0) {
        return status;
    }
    link->report.dependency_capacity = link->report.dependencies;
    link->report.dependency_links =
        calloc(link->report.dependencies, sizeof(*link->report.dependency_links));
    if (link->report.dependency_links == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %u dependencies",
                        (unsigned)link->report.dependencies);
    }
    return pdl_chain_explain(chain, index, &link->report);
}

static void free_links(struct link *links, uint32_t count)
{
    for (uint32_t i = 0; links != NULL && i < count; i++) {
        free(links[i].report.dependency_links);
    }
    free(links);
}

/* All of them, before a file is touched. The caller frees *links in any case. */
static pdl_status ask_all(pdl_chain *chain, struct link **links, uint32_t *count)
{
    pdl_chain_report first = PDL_CHAIN_REPORT_INIT;
    pdl_status status = pdl_chain_explain(chain, 0, &first);
    if (status != PDL_SUCCESS) {
        return status;
    }
    *links = calloc(first.links, sizeof(**links));
    if (*links == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %u links", (unsigned)first.links);
    }
    *count = first.links;
    for (uint32_t i = 0; i < first.links && status == PDL_SUCCESS; i++) {
        status = ask(chain, i, &(*links)[i]);
    }
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------- */

/* A name as one word that no comment begins in, and with the link's number, so that it is its own. */
static void write_name(FILE *to, const struct link *link, uint32_t index)
{
    for (const char *name = link->kernel.name; *name != '\0'; name++) {
        (void)fputc(*name > ' ' && *name < 0x7f && *name != '#' ? *name : '_', to);
    }
    (void)fprintf(to, ".%u", (unsigned)index);
}

static unsigned long long product(const uint32_t sizes[3])
{
    return (unsigned long long)sizes[0] * sizes[1] * sizes[2];
}

static void write_kernel(FILE *to, const struct link *link, uint32_t index)
{
    const pdl_chain_report *const report = &link->report;
    const pdl_kernel_info *const kernel = &link->kernel;
    const unsigned long long cluster = product(kernel->required_cluster); /* 0: none */
    (void)fputs("kernel ", to);
    write_name(to, link, index);
    (void)fprintf(to,
                  " blocks=%llu threads=%llu registers=%d shared=%llu prologue=1us before=1us "
                  "after=1us%s%s",
                  product(report->grid) *
                      (cluster > 0 && kernel->blocks_are_clusters == PDL_YES ? cluster : 1),
                  product(report->block), (int)kernel->registers_per_thread,
                  (unsigned long long)kernel->static_shared_memory + report->dynamic_shared_memory,
                  kernel->waits == PDL_NO ? " nowait" : "",
                  kernel->triggers == PDL_NO ? " trigger=never" : "");
    (void)(cluster > 1 ? fprintf(to, " cluster=%llu\n", cluster) : fputs("\n", to));
}

static void write_edges(FILE *to, const struct link *link, uint32_t index)
{
    for (uint32_t i = 0; i < link->report.dependencies; i++) {
        (void)fprintf(to, "    edge %u %u%s\n", (unsigned)link->report.dependency_links[i],
                      (unsigned)index, link->report.overlap != 0 ? " overlap" : "");
    }
}

/* Nodes before edges: a link may depend on one that was added later. */
static void write_all(FILE *to, const struct link *links, uint32_t count)
{
    (void)fprintf(to,
                  "# A chain of %u links. The phases of the kernels are unknown: replace them by "
                  "measured times.\n",
                  (unsigned)count);
    for (uint32_t i = 0; i < count; i++) {
        write_kernel(to, &links[i], i);
    }
    (void)fputs("gate\ngraph\n", to);
    for (uint32_t i = 0; i < count; i++) {
        (void)fprintf(to, "    node %u ", (unsigned)i);
        write_name(to, &links[i], i);
        (void)fputc('\n', to);
    }
    for (uint32_t i = 0; i < count; i++) {
        write_edges(to, &links[i], i);
    }
    (void)fputs("end\n", to);
}

pdl_status pdl_chain_describe(pdl_chain *chain, const char *path)
{
    struct link *links = NULL;
    uint32_t count = 0;
    FILE *to;
    pdl_status status = ask_all(chain, &links, &count);
    if (status == PDL_SUCCESS) {
        status = pdl_output_open(path, &to);
    }
    if (status == PDL_SUCCESS) {
        write_all(to, links, count);
        status = pdl_output_close(to, path, status);
    }
    free_links(links, count);
    return status;
}
