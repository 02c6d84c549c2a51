/* SPDX-License-Identifier: MIT */
#include "graph/link_node.h"

#include <string.h>

#include "core/error.h"
#include "core/sized.h"

const char *pdl_link_node_name(uint32_t kind)
{
    static const char *const names[] = {
        [PDL_NODE_KERNEL] = "a kernel",
        [PDL_NODE_CAPTURE] = "a capture",
        [PDL_NODE_EMPTY] = "an empty node",
        [PDL_NODE_MEMSET] = "a memset",
        [PDL_NODE_COPY] = "a copy",
        [PDL_NODE_HOST] = "a host function",
        [PDL_NODE_EVENT_RECORD] = "an event record",
        [PDL_NODE_EVENT_WAIT] = "an event wait",
        [PDL_NODE_GRAPH] = "a graph",
        [PDL_NODE_IF] = "an if",
        [PDL_NODE_WHILE] = "a while",
        [PDL_NODE_SWITCH] = "a switch",
    };
    return names[kind];
}

#define SWITCH_BODIES 65536 /* at most */

/* ---- checking ------------------------------------------------------------------------------- */

#define KIND(kind) (1u << PDL_NODE_##kind)
#define MEMORY     (KIND(MEMSET) | KIND(COPY))
#define EVENTS     (KIND(EVENT_RECORD) | KIND(EVENT_WAIT))
#define CONDITIONS (KIND(IF) | KIND(WHILE) | KIND(SWITCH))

/* The fields, with the kinds that have them and those that cannot do without. */
static const struct {
    const char *name;
    uint32_t offset;
    uint32_t size;
    uint32_t kinds;
    uint32_t required;
} fields[] = {
#define FIELD(name, kinds, required)                                                               \
    {                                                                                              \
#name, offsetof(pdl_chain_node, name), sizeof(((pdl_chain_node *)0)->name), kinds,         \
            required                                                                               \
    }
    FIELD(destination, MEMORY, MEMORY),
    FIELD(source, KIND(COPY), KIND(COPY)),
    FIELD(width, MEMORY, MEMORY),
    FIELD(height, MEMORY, 0),
    FIELD(depth, KIND(COPY), 0),
    FIELD(destination_pitch, MEMORY, 0),
    FIELD(destination_rows, KIND(COPY), 0),
    FIELD(source_pitch, KIND(COPY), 0),
    FIELD(source_rows, KIND(COPY), 0),
    FIELD(value, KIND(MEMSET), 0),
    FIELD(element_size, KIND(MEMSET), 0),
    FIELD(function, KIND(HOST), KIND(HOST)),
    FIELD(data, KIND(HOST), 0),
    FIELD(event, EVENTS, EVENTS),
    FIELD(graph, KIND(GRAPH), KIND(GRAPH)),
    FIELD(initial, CONDITIONS, 0),
    FIELD(bodies, CONDITIONS, KIND(SWITCH)),
#undef FIELD
};

static bool is_zero(const pdl_chain_node *node, size_t offset, size_t size)
{
    static const unsigned char zero[sizeof(uint64_t)] = {0};
    return memcmp((const char *)node + offset, zero, size) == 0;
}

static pdl_status check_fields(const pdl_chain_node *node)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const bool has = (fields[i].kinds >> node->kind & 1) != 0;
        const bool needs = (fields[i].required >> node->kind & 1) != 0;
        const bool zero = is_zero(node, fields[i].offset, fields[i].size);
        if (zero ? needs : !has) {
            return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, fields[i].name,
                                  zero ? "%s is 0, and %s needs it"
                                       : "%s is set, and %s does not have it",
                                  fields[i].name, pdl_link_node_name(node->kind));
        }
    }
    return PDL_SUCCESS;
}

static void default_to(uint64_t *field, uint64_t value)
{
    *field = *field != 0 ? *field : value;
}

/* A distance between rows or slices, which must not be shorter than they are. */
static pdl_status check_distance(const char *name, uint64_t distance, uint64_t least,
                                 const char *what)
{
    return distance >= least
               ? PDL_SUCCESS
               : PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, name,
                                "%s is %llu and %s is %llu: it may not be less", name,
                                (unsigned long long)distance, what, (unsigned long long)least);
}

static pdl_status check_memory(pdl_chain_node *node)
{
    default_to(&node->height, 1);
    default_to(&node->destination_pitch, node->width);
    PDL_RETURN_IF_ERROR(
        check_distance("destination_pitch", node->destination_pitch, node->width, "width"));
    if (node->kind == PDL_NODE_MEMSET) {
        node->element_size = node->element_size != 0 ? node->element_size : 1;
        const uint32_t bytes = node->element_size;
        if (bytes != 1 && bytes != 2 && bytes != 4) {
            return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "element_size",
                                  "element_size is %u: it must be 1, 2 or 4 bytes", bytes);
        }
        if (node->width % bytes != 0) {
            return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "width",
                                  "width is %llu bytes: it must be a multiple of element_size (%u)",
                                  (unsigned long long)node->width, bytes);
        }
        if (bytes < 4 && node->value >> (8 * bytes) != 0) {
            return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "value",
                                  "value is 0x%x, which does not fit in element_size (%u bytes)",
                                  node->value, bytes);
        }
        return PDL_SUCCESS;
    }
    default_to(&node->depth, 1);
    default_to(&node->destination_rows, node->height);
    default_to(&node->source_pitch, node->width);
    default_to(&node->source_rows, node->height);
    PDL_RETURN_IF_ERROR(check_distance("source_pitch", node->source_pitch, node->width, "width"));
    PDL_RETURN_IF_ERROR(
        check_distance("destination_rows", node->destination_rows, node->height, "height"));
    return check_distance("source_rows", node->source_rows, node->height, "height");
}

static pdl_status check_conditional(const struct pdl_driver *driver, pdl_chain_node *node)
{
    const uint32_t most = node->kind == PDL_NODE_SWITCH ? SWITCH_BODIES
                          : node->kind == PDL_NODE_IF   ? 2
                                                        : 1;
    node->bodies = node->bodies != 0 ? node->bodies : 1;
    const bool newer = node->kind == PDL_NODE_SWITCH || node->bodies > 1;
    if (node->bodies > most) {
        return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "bodies", "bodies is %u and %s has at most %u",
                              node->bodies, pdl_link_node_name(node->kind), most);
    }
    if (newer && driver->version < 12080) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_SUPPORTED,
                              node->kind == PDL_NODE_IF ? "bodies" : "kind",
                              "%s with %u bodies needs a driver of CUDA 12.8 or newer, this one is "
                              "%d.%d",
                              pdl_link_node_name(node->kind), node->bodies, driver->version / 1000,
                              driver->version % 1000 / 10);
    }
    return PDL_SUCCESS;
}

pdl_status pdl_link_node_check(const struct pdl_driver *driver, const pdl_chain_node *given,
                               bool in_body, pdl_chain_node *whole)
{
    PDL_RETURN_IF_ERROR(pdl_sized_resize(whole, sizeof(*whole), given,
                                         offsetof(pdl_chain_node, destination), "node"));
    whole->size = (uint32_t)sizeof(*whole);
    if (whole->kind < PDL_NODE_EMPTY || whole->kind > PDL_NODE_SWITCH) {
        return PDL_FAIL_FIELD(PDL_ERROR_DESC_FIELD, "kind",
                              "kind is %u: pdl_chain_add_node() takes %d to %d", whole->kind,
                              PDL_NODE_EMPTY, PDL_NODE_SWITCH);
    }
    PDL_RETURN_IF_ERROR(check_fields(whole));
    if (in_body && ((EVENTS | KIND(HOST)) >> whole->kind & 1) != 0) {
        return PDL_FAIL_FIELD(PDL_ERROR_NOT_SUPPORTED, "kind",
                              "the body of a conditional cannot have %s: CUDA accepts kernels, "
                              "memsets, copies, graphs, conditionals and empty nodes there",
                              pdl_link_node_name(whole->kind));
    }
    if ((MEMORY >> whole->kind & 1) != 0) {
        return check_memory(whole);
    }
    return pdl_link_node_is_conditional(whole->kind) ? check_conditional(driver, whole)
                                                     : PDL_SUCCESS;
}

/* ---- the driver's parameters ---------------------------------------------------------------- */

void pdl_link_node_params(const pdl_chain_node *node, CUcontext context, CUgraphNodeParams *params)
{
    CUDA_MEMCPY3D *copy = &params->memcpy.copyParams;
    memset(params, 0, sizeof(*params));
    params->type = CU_GRAPH_NODE_TYPE_EMPTY;
    switch (node->kind) {
    case PDL_NODE_MEMSET:
        params->type = CU_GRAPH_NODE_TYPE_MEMSET;
        params->memset.dst = (CUdeviceptr)(uintptr_t)node->destination;
        params->memset.pitch = node->destination_pitch;
        params->memset.value = node->value;
        params->memset.elementSize = node->element_size;
        params->memset.width = node->width / node->element_size;
        params->memset.height = node->height;
        params->memset.ctx = context;
        break;
    case PDL_NODE_COPY:
        params->type = CU_GRAPH_NODE_TYPE_MEMCPY;
        params->memcpy.copyCtx = context;
        copy->srcMemoryType = CU_MEMORYTYPE_UNIFIED; /* the address says where the memory is */
        copy->srcDevice = (CUdeviceptr)(uintptr_t)node->source;
        copy->srcPitch = node->source_pitch;
        copy->srcHeight = node->source_rows;
        copy->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
        copy->dstDevice = (CUdeviceptr)(uintptr_t)node->destination;
        copy->dstPitch = node->destination_pitch;
        copy->dstHeight = node->destination_rows;
        copy->WidthInBytes = node->width;
        copy->Height = node->height;
        copy->Depth = node->depth;
        break;
    case PDL_NODE_HOST:
        params->type = CU_GRAPH_NODE_TYPE_HOST;
        params->host.fn = node->function;
        params->host.userData = node->data;
        break;
    case PDL_NODE_EVENT_RECORD:
        params->type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
        params->eventRecord.event = node->event;
        break;
    case PDL_NODE_EVENT_WAIT:
        params->type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
        params->eventWait.event = node->event;
        break;
    default:
        break;
    }
}
