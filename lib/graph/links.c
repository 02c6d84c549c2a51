/* SPDX-License-Identifier: MIT */
/* Chains: their links, and what these depend on. */
#include "graph/links.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/error.h"
#include "core/sized.h"

/* ---- one thread at a time ------------------------------------------------------------------- */

pdl_status pdl_chain_not_entered(const struct pdl_chain *chain)
{
    return chain == NULL ? PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "chain", "chain is NULL")
                         : PDL_FAIL(PDL_ERROR_BUSY,
                                    "another thread is using the chain: only one at a time may");
}

pdl_status pdl_chain_no_link(const struct pdl_chain *chain, uint32_t link, const char *name)
{
    return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, name, "%s is %u and the chain has %u links",
                          name, link, chain->count);
}

pdl_status pdl_chain_check_root(const struct pdl_chain *chain)
{
    return chain->root == chain
               ? PDL_SUCCESS
               : PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "chain",
                                "the chain is the body of link %u: call this for the whole chain",
                                chain->parent_link);
}

pdl_status pdl_chain_check_kernel(const struct pdl_chain *chain, uint32_t link)
{
    PDL_RETURN_IF_ERROR(pdl_chain_check_link(chain, link, "link"));
    return chain->links[link].kernel != NULL
               ? PDL_SUCCESS
               : PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "link",
                                "link %u is %s and has no arguments and no descriptor", link,
                                pdl_link_node_name(chain->links[link].kind));
}

pdl_status pdl_chain_check_built(const struct pdl_chain *chain)
{
    PDL_RETURN_IF_ERROR(pdl_chain_check_root(chain));
    if (!chain->built) {
        return PDL_FAIL(PDL_ERROR_NOT_BUILT,
                        "the chain of %u links %s: call pdl_chain_build() first", chain->count,
                        chain->exec != NULL ? "was changed since it was built" : "is not built");
    }
    return PDL_SUCCESS;
}

/* ---- create and destroy --------------------------------------------------------------------- */

static pdl_status check_options(const pdl_chain_options *given, pdl_chain_options *options)
{
    PDL_RETURN_IF_ERROR(pdl_sized_resize(options, sizeof(*options), given,
                                         offsetof(pdl_chain_options, default_stream), "options"));
    if (options->default_stream > PDL_DEFAULT_STREAM_PER_THREAD) {
        return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "default_stream",
                              "default_stream has the value %u, which is not one of 0 to %d",
                              options->default_stream, PDL_DEFAULT_STREAM_PER_THREAD);
    }
    return PDL_SUCCESS;
}

/* A chain, or the body of a link of `parent`; NULL without memory. */
static struct pdl_chain *make_chain(const struct pdl_driver *driver, struct pdl_chain *parent,
                                    uint32_t link)
{
    struct pdl_chain *made = calloc(1, sizeof(*made));
    if (made != NULL) {
        made->driver = driver;
        made->root = parent != NULL ? parent->root : made;
        made->parent = parent;
        made->parent_link = link;
        made->depth = parent != NULL ? parent->depth + 1 : 0;
        made->device = -1;
        made->tail = PDL_NO_LINK;
        atomic_flag_clear(&made->busy);
    }
    return made;
}

pdl_status pdl_chain_create(const pdl_chain_options *options, pdl_chain **chain)
{
    const struct pdl_driver *driver;
    pdl_chain_options whole = {.default_stream = PDL_DEFAULT_STREAM_LEGACY};
    if (chain == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "chain", "chain is NULL");
    }
    if (options != NULL) {
        PDL_RETURN_IF_ERROR(check_options(options, &whole));
    }
    PDL_RETURN_IF_ERROR(pdl_driver_get(&driver));
    PDL_RETURN_IF_ERROR(pdl_node_check_driver(driver));
    struct pdl_chain *made = make_chain(driver, NULL, PDL_NO_LINK);
    if (made == NULL) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a chain");
    }
    made->default_stream =
        whole.default_stream == PDL_DEFAULT_STREAM_PER_THREAD ? CU_STREAM_PER_THREAD : NULL;
    *chain = made;
    return PDL_SUCCESS;
}

/* NOLINTBEGIN(misc-no-recursion): bodies, no deeper than PDL_SUBGRAPH_DEPTH */
void pdl_chain_free_link(const struct pdl_link *link)
{
    for (uint32_t i = 0; i < link->body_count; i++) {
        pdl_chain_free(link->bodies[i].chain);
    }
    free(link->bodies);
    pdl_subgraph_destroy(link->subgraph);
    if (link->kernel != NULL) {
        free((void *)link->desc.extra_attributes);
    }
    free(link->arguments);
    free(link->passed);
    free(link->on);
}

void pdl_chain_free(struct pdl_chain *chain)
{
    if (chain == NULL) {
        return;
    }
    for (uint32_t i = 0; i < chain->count; i++) {
        pdl_chain_free_link(&chain->links[i]);
    }
    free(chain->links);
    free(chain);
}

/* NOLINTEND(misc-no-recursion) */

/* ---- recording ------------------------------------------------------------------------------ */

pdl_status pdl_chain_lower(const struct pdl_chain *chain, pdl_kernel *kernel,
                           const pdl_launch_desc *desc, struct pdl_lowered *lowered)
{
    int device = chain->root->device;
    if (!chain->root->built) {
        PDL_RETURN_IF_ERROR(pdl_kernel_device(kernel, NULL, &device));
    }
    return pdl_node_lower(kernel, device, desc, lowered);
}

/* Of what a descriptor points to, only these are the caller's memory; the rest are handles and addresses. */
static pdl_status copy_extra(pdl_launch_desc *desc)
{
    const size_t bytes = desc->extra_attribute_count * sizeof(CUlaunchAttribute);
    void *const copy = bytes > 0 ? malloc(bytes) : NULL;
    if (copy != NULL) {
        memcpy(copy, desc->extra_attributes, bytes);
    } else if (bytes > 0) {
        return PDL_NO_MEMORY();
    }
    desc->extra_attributes = copy;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_check_launch(const struct pdl_chain *chain, pdl_kernel *kernel,
                                  const pdl_launch_desc *desc, pdl_launch_desc *whole,
                                  struct pdl_lowered *lowered)
{
    if (kernel == NULL || desc == NULL) {
        const char *const missing = kernel == NULL ? "kernel" : "desc";
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, missing, "%s is NULL", missing);
    }
    PDL_RETURN_IF_ERROR(pdl_desc_whole(&desc, whole));
    if (desc != whole) {
        *whole = *desc;
    }
    whole->size = (uint32_t)sizeof(*whole);
    if (whole->device_node != NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_SUPPORTED, "device_node",
                              "device_node is set: the nodes of a chain belong to it");
    }
    PDL_RETURN_IF_ERROR(pdl_chain_lower(chain, kernel, whole, lowered));
    return copy_extra(whole);
}

pdl_status pdl_chain_append(struct pdl_chain *chain, const struct pdl_link *made, uint32_t *link)
{
    const uint32_t index = chain->count;
    if (!PDL_ARRAY_ROOM(chain->links, chain->count, chain->capacity)) {
        pdl_chain_free_link(made);
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for link %u", index);
    }
    chain->links[index] = *made;
    chain->links[index].implicit = chain->tail;
    chain->count++;
    if (made->kind != PDL_NODE_EVENT_RECORD) { /* for which the next link does not wait */
        chain->tail = index;
    }
    if (chain->links[index].implicit != PDL_NO_LINK) {
        chain->links[chain->links[index].implicit].dependents++;
    }
    chain->root->built = false;
    if (link != NULL) {
        *link = index;
    }
    return PDL_SUCCESS;
}

static pdl_status add(struct pdl_chain *chain, pdl_kernel *kernel, const pdl_launch_desc *desc,
                      void *const *args, const size_t *sizes, size_t count, uint32_t *link)
{
    struct pdl_lowered lowered;
    struct pdl_link made = {.kernel = kernel};
    if (sizes == NULL && count > 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "sizes", "sizes is NULL and count is %zu",
                              count);
    }
    PDL_RETURN_IF_ERROR(pdl_chain_check_idle(chain));
    PDL_RETURN_IF_ERROR(pdl_chain_check_launch(chain, kernel, desc, &made.desc, &lowered));
    const pdl_status status = pdl_arguments_copy(kernel, args, sizes, count, &made.arguments);
    if (status != PDL_SUCCESS) {
        pdl_chain_free_link(&made);
        return status;
    }
    return pdl_chain_append(chain, &made, link);
}

pdl_status pdl_chain_add(pdl_chain *chain, pdl_kernel *kernel, const pdl_launch_desc *desc,
                         void *const *args, const size_t *sizes, size_t count, uint32_t *link)
{
    return PDL_CHAIN_RUN(chain, add(chain, kernel, desc, args, sizes, count, link));
}

/* ---- other nodes ---------------------------------------------------------------------------- */

static pdl_status clone_graph(const struct pdl_driver *driver, CUgraph graph, bool in_body,
                              struct pdl_subgraph **subgraph)
{
    PDL_RETURN_IF_ERROR(pdl_subgraph_check(driver, graph, in_body));
    PDL_RETURN_IF_ERROR(pdl_subgraph_create(driver, subgraph));
    const CUresult result = driver->cuGraphClone(&(*subgraph)->graph, graph);
    if (result != CUDA_SUCCESS) {
        (*subgraph)->graph = NULL;
        return pdl_error_from_cuda(driver, "cuGraphClone", (int32_t)result,
                                   "to add a graph to a chain");
    }
    return pdl_subgraph_finish(*subgraph, in_body);
}

static pdl_status make_bodies(struct pdl_chain *chain, struct pdl_link *link)
{
    const uint32_t count = link->node.bodies;
    if (chain->depth == PDL_SUBGRAPH_DEPTH) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_SUPPORTED, "kind",
                              "conditionals are in each other more than %d deep",
                              PDL_SUBGRAPH_DEPTH);
    }
    link->bodies = calloc(count, sizeof(*link->bodies));
    bool enough = link->bodies != NULL;
    while (enough && link->body_count < count) {
        struct pdl_body *const body = &link->bodies[link->body_count++];
        body->chain = make_chain(chain->driver, chain, chain->count);
        enough = body->chain != NULL;
    }
    return enough ? PDL_SUCCESS
                  : PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for %u bodies", count);
}

static pdl_status add_node(struct pdl_chain *chain, const pdl_chain_node *given, uint32_t *link)
{
    const bool in_body = chain->root != chain;
    struct pdl_link made = {.kernel = NULL};
    pdl_status status = PDL_SUCCESS;
    PDL_RETURN_IF_ERROR(pdl_chain_check_idle(chain));
    PDL_RETURN_IF_ERROR(pdl_link_node_check(chain->driver, given, in_body, &made.node));
    made.kind = made.node.kind;
    if (pdl_link_node_is_conditional(made.kind)) {
        status = make_bodies(chain, &made);
    } else if (made.kind == PDL_NODE_GRAPH) {
        status = clone_graph(chain->driver, made.node.graph, in_body, &made.subgraph);
    }
    if (status != PDL_SUCCESS) {
        pdl_chain_free_link(&made);
        return status;
    }
    return pdl_chain_append(chain, &made, link);
}

pdl_status pdl_chain_add_node(pdl_chain *chain, const pdl_chain_node *node, uint32_t *link)
{
    return PDL_CHAIN_RUN(chain, add_node(chain, node, link));
}

/* ---- bodies and conditions ------------------------------------------------------------------ */

static pdl_status check_conditional(const struct pdl_chain *chain, uint32_t link, const char *name)
{
    PDL_RETURN_IF_ERROR(pdl_chain_check_link(chain, link, name));
    const uint32_t kind = chain->links[link].kind;
    return pdl_link_node_is_conditional(kind)
               ? PDL_SUCCESS
               : PDL_FAIL_FIELD(
                     PDL_ERROR_INVALID_ARGUMENT, name,
                     "link %u is %s: only an if, a while and a switch have a condition and bodies",
                     link, pdl_link_node_name(kind));
}

static pdl_status find_body(const struct pdl_chain *chain, uint32_t link, uint32_t index,
                            pdl_chain **body)
{
    PDL_RETURN_IF_ERROR(check_conditional(chain, link, "link"));
    const struct pdl_link *const of = &chain->links[link];
    if (body == NULL || index >= of->body_count) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, body == NULL ? "body" : "index",
                              body == NULL ? "body is NULL"
                                           : "index is %u and link %u has %u bodies",
                              index, link, of->body_count);
    }
    *body = of->bodies[index].chain;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_body(pdl_chain *chain, uint32_t link, uint32_t index, pdl_chain **body)
{
    return PDL_CHAIN_RUN(chain, find_body(chain, link, index, body));
}

static pdl_status pass(struct pdl_chain *chain, uint32_t index, uint32_t parameter,
                       const struct pdl_chain *owner, uint32_t conditional)
{
    const struct pdl_chain *at = chain;
    while (at != NULL && at != owner) {
        at = at->parent;
    }
    if (at == NULL) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "owner",
                              owner == NULL
                                  ? "owner is NULL"
                                  : "owner is neither the chain nor one that it is a body of");
    }
    PDL_RETURN_IF_ERROR(pdl_chain_check_link(chain, index, "link"));
    PDL_RETURN_IF_ERROR(check_conditional(owner, conditional, "conditional"));
    PDL_RETURN_IF_ERROR(pdl_chain_check_kernel(chain, index));
    struct pdl_link *link = &chain->links[index];
    if (parameter >= link->arguments->count) {
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "parameter",
                              "parameter is %u and kernel %s has %zu", parameter,
                              pdl_kernel_name(link->kernel), link->arguments->count);
    }
    if (link->arguments->sizes[parameter] != sizeof(CUgraphConditionalHandle)) {
        return PDL_FAIL_FIELD(
            PDL_ERROR_ARGUMENT_SIZE, "parameter",
            "parameter %u of kernel %s has %zu bytes: the handle of a condition has %zu", parameter,
            pdl_kernel_name(link->kernel), link->arguments->sizes[parameter],
            sizeof(CUgraphConditionalHandle));
    }
    uint32_t at_passed = 0; /* the one of this parameter, or a new one */
    while (at_passed < link->passed_count && link->passed[at_passed].parameter != parameter) {
        at_passed++;
    }
    if (at_passed == link->passed_count) {
        if (!PDL_ARRAY_ROOM(link->passed, link->passed_count, link->passed_capacity)) {
            return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for a condition");
        }
        link->passed_count++;
    }
    link->passed[at_passed] = (struct pdl_passed){parameter, conditional, owner};
    chain->root->built = false;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_pass_condition(pdl_chain *chain, uint32_t link, uint32_t parameter,
                                    pdl_chain *owner, uint32_t conditional)
{
    return PDL_CHAIN_RUN(chain, pass(chain, link, parameter, owner, conditional));
}

/* ---- dependencies --------------------------------------------------------------------------- */

const uint32_t *pdl_chain_dependencies(const struct pdl_chain *chain, uint32_t link,
                                       uint32_t *count)
{
    const struct pdl_link *of = &chain->links[link];
    *count = of->explicit_dependencies ? of->on_count : of->implicit != PDL_NO_LINK;
    return of->explicit_dependencies ? of->on : &of->implicit;
}

/* Notes that a link depends on what it was told to, and no longer on the one before it. */
static void make_explicit(struct pdl_chain *chain, struct pdl_link *link)
{
    if (!link->explicit_dependencies && link->implicit != PDL_NO_LINK) {
        chain->links[link->implicit].dependents--;
    }
    link->explicit_dependencies = true;
    chain->root->built = false;
}

/* The last ones first: what is given twice is mostly given twice in a row. */
static bool depends_directly(const struct pdl_link *link, uint32_t on)
{
    uint32_t left = link->on_count;
    while (left > 0 && link->on[left - 1] != on) {
        left--;
    }
    return left > 0;
}

/* Whether a search was not at a link yet. Now it was. */
static bool is_new(struct pdl_link *link, uint64_t search)
{
    const bool new = link->found_by != search;
    link->found_by = search;
    return new;
}

/* Whether a link depends on another one, directly or through others. Links that were found and are still to be
 * looked at are a list through `step`. */
static bool depends_on(struct pdl_chain *chain, uint32_t link, uint32_t wanted)
{
    struct pdl_link *const links = chain->links;
    uint32_t found = link;
    links[link].found_by = ++chain->searches;
    links[link].step = PDL_NO_LINK;
    while (found != PDL_NO_LINK && found != wanted) {
        uint32_t count = 0;
        const uint32_t *on = pdl_chain_dependencies(chain, found, &count);
        found = links[found].step;
        for (uint32_t i = 0; i < count; i++) {
            if (is_new(&links[on[i]], chain->searches)) {
                links[on[i]].step = found;
                found = on[i];
            }
        }
    }
    return found == wanted;
}

/* Whether `on` depends on `link`. Searching takes time in proportion to what `on` depends on. It is not needed where
 * every dependency so far is on a link that was added earlier, and where no link depends on `link`. */
static bool closes_cycle(struct pdl_chain *chain, uint32_t link, uint32_t on)
{
    if (on == link || (on < link && !chain->goes_back)) {
        return on == link;
    }
    return chain->links[link].dependents > 0 && depends_on(chain, on, link);
}

/* The next dependency of a link that a search into the depth has not looked at, counted in `step`. */
static bool next_dependency(struct pdl_chain *chain, uint32_t link, uint32_t *next)
{
    uint32_t count = 0;
    const uint32_t *on = pdl_chain_dependencies(chain, link, &count);
    uint32_t *const step = &chain->links[link].step;
    if (*step == count) {
        return false;
    }
    *next = on[(*step)++];
    return true;
}

/* A search into the depth from each link. What is done is at the start of the array, the path to where the search is
 * at its end. */
uint32_t *pdl_chain_order(struct pdl_chain *chain)
{
    struct pdl_link *const links = chain->links;
    const uint64_t search = ++chain->searches;
    uint32_t *const order = malloc(((size_t)chain->count + 1) * sizeof(*order));
    uint32_t done = 0;
    for (uint32_t i = 0; i < chain->count && order != NULL; i++) {
        uint32_t top = chain->count;
        uint32_t next = i;
        do {
            if (is_new(&links[next], search)) {
                links[next].step = 0;
                order[--top] = next;
            }
            while (top < chain->count && !next_dependency(chain, order[top], &next)) {
                order[done++] = order[top++];
            }
        } while (top < chain->count);
    }
    return order;
}

static pdl_status add_dependency(struct pdl_chain *chain, uint32_t link, uint32_t on)
{
    PDL_RETURN_IF_ERROR(pdl_chain_check_link(chain, link, "link"));
    struct pdl_link *waits = &chain->links[link];
    if (on == PDL_CHAIN_START) {
        if (waits->on_count > 0) {
            return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, "on",
                                  "link %u depends on %u links and cannot be at the start as well",
                                  link, waits->on_count);
        }
        make_explicit(chain, waits);
        return PDL_SUCCESS;
    }
    PDL_RETURN_IF_ERROR(pdl_chain_check_link(chain, on, "on"));
    if (chain->links[on].dependents > 0 && depends_directly(waits, on)) {
        return PDL_SUCCESS;
    }
    if (closes_cycle(chain, link, on)) {
        return PDL_FAIL_FIELD(PDL_ERROR_CYCLE, "on",
                              on == link ? "link %u cannot wait for itself (%u)"
                                         : "link %u cannot wait for link %u, which waits for it",
                              link, on);
    }
    if (!PDL_ARRAY_ROOM(waits->on, waits->on_count, waits->on_capacity)) {
        return PDL_FAIL(PDL_ERROR_OUT_OF_MEMORY, "no memory for dependency %u", waits->on_count);
    }
    make_explicit(chain, waits);
    waits->on[waits->on_count++] = on;
    chain->links[on].dependents++;
    chain->goes_back = chain->goes_back || on > link;
    return PDL_SUCCESS;
}

pdl_status pdl_chain_add_dependency(pdl_chain *chain, uint32_t link, uint32_t on)
{
    return PDL_CHAIN_RUN(chain, add_dependency(chain, link, on));
}
