/* SPDX-License-Identifier: MIT */
/* A descriptor, checked and turned into what the driver takes. */
#ifndef PDL_LIB_LOWER_H
#define PDL_LIB_LOWER_H

#include <string.h>

#include "launch/attributes.h"
#include "launch/kernel.h"

/* The largest extra_attribute_count. */
#define PDL_EXTRA_ATTRIBUTES 16

/* Every attribute that a launch accepts, once, and those that it brings. */
#define PDL_ATTRIBUTE_MAX (PDL_ATTRIBUTE_COUNT + PDL_EXTRA_ATTRIBUTES)

struct pdl_lowered {
    struct pdl_kernel_facts *facts;
    CUlaunchConfig config;
    CUfunction function; /* of a launch: what the driver takes; NULL: only the Runtime knows it */
    pdl_reason reason;
    uint32_t rare;  /* whether more was asked for than the short way has, */
    uint32_t asked; /* and if so, the rows of the table of attributes, a bit each */
    CUlaunchAttribute attributes[PDL_ATTRIBUTE_MAX]; /* config.attrs may point here */
};

/* y or z of a descriptor's grid, block or cluster. */
static inline uint32_t pdl_or_one(uint32_t value)
{
    return value != 0 ? value : 1;
}

/* Whether a launch, or a node, of the kernel overlaps, and if not, why: what is known of kernel and device, switches and
 * policies. All that answers this asks here; pdl_lower() keeps the answer to ordinary launches. */
pdl_reason pdl_launch_decide(pdl_kernel *kernel, struct pdl_kernel_facts *facts,
                             const pdl_launch_desc *desc);

/* Checks a whole descriptor (its size is right) against a kernel on a device and fills *lowered. On
 * failure the error is recorded, and lowered->reason holds if the check of overlap was reached. */
pdl_status pdl_lower(pdl_kernel *kernel, int device, const pdl_launch_desc *desc,
                     struct pdl_lowered *lowered);

/* An attribute by its id; NULL if the launch does not have it. */
static inline const CUlaunchAttribute *pdl_lowered_find(const struct pdl_lowered *lowered, int id)
{
    for (unsigned i = 0; i < lowered->config.numAttrs; i++) {
        if ((int)lowered->config.attrs[i].id == id) {
            return &lowered->config.attrs[i];
        }
    }
    return NULL;
}

/* The blocks of a launch's clusters, its own or those that are compiled in; false if it has none. */
bool pdl_lowered_cluster(const struct pdl_lowered *lowered, uint32_t cluster[3]);

static inline bool pdl_lowered_divides(const struct pdl_lowered *lowered, const uint32_t cluster[3])
{
    const CUlaunchConfig *const config = &lowered->config;
    return config->gridDimX % cluster[0] == 0 && config->gridDimY % cluster[1] == 0 &&
           config->gridDimZ % cluster[2] == 0;
}

/* The handle that the driver writes into a device-updatable attribute's value, after the word that
 * asks for it. */
static inline void pdl_device_node_get(const CUlaunchAttributeValue *value,
                                       struct CUgraphDeviceUpdatableNode_st **device_node)
{
    memcpy(device_node, value->pad + 8, sizeof(*device_node));
}

/* Finds the device of a launch, and checks and lowers it. On failure *device holds if it got that
 * far. */
pdl_status pdl_launch_prepare(pdl_kernel *kernel, const pdl_launch_desc *desc, int *device,
                              struct pdl_lowered *lowered);

/* Brings a descriptor of another size to this library's. */
PDL_COLD pdl_status pdl_desc_resize(const pdl_launch_desc *desc, pdl_launch_desc *copy);

/* The rule of sizes: *desc points to a whole descriptor afterwards, the caller's or *copy. */
static inline pdl_status pdl_desc_whole(const pdl_launch_desc **desc, pdl_launch_desc *copy)
{
    if ((*desc)->size == sizeof(**desc)) {
        return PDL_SUCCESS;
    }
    const pdl_status status = pdl_desc_resize(*desc, copy);
    *desc = copy;
    return status;
}

#endif /* PDL_LIB_LOWER_H */
