/* SPDX-License-Identifier: MIT */
/* A descriptor, checked and turned into what the driver takes. */
#ifndef PDL_LIB_LOWER_H
#define PDL_LIB_LOWER_H

#include <string.h>

#include "launch/kernel.h"

/* Every attribute that a launch accepts, once. */
#define PDL_ATTRIBUTE_MAX 14

/* Attributes that the oldest supported headers lack. Their numbers and values are the driver's ABI:
 * what can be asked for depends on the driver that is there, not on the headers this was compiled
 * with. */
enum {
    PDL_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = 11,
    PDL_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE = 13,
    PDL_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 14,
    PDL_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING = 16
};

struct pdl_lowered {
    struct pdl_kernel_facts *facts;
    CUlaunchConfig config;
    pdl_reason reason;
    CUlaunchAttribute attributes[PDL_ATTRIBUTE_MAX]; /* config.attrs points here */
};

/* Checks a whole descriptor (its size is right) against a kernel on a device and fills *lowered. On
 * failure the error is recorded, and lowered->reason holds if the check of overlap was reached. */
pdl_status pdl_lower(pdl_kernel *kernel, int device, const pdl_launch_desc *desc,
                     struct pdl_lowered *lowered);

/* An attribute by its id; NULL if the launch does not have it. */
static inline const CUlaunchAttribute *pdl_lowered_find(const struct pdl_lowered *lowered, int id)
{
    for (unsigned i = 0; i < lowered->config.numAttrs; i++) {
        if ((int)lowered->attributes[i].id == id) {
            return &lowered->attributes[i];
        }
    }
    return NULL;
}

/* The handle that the driver writes into a device-updatable attribute's value, after the word that
 * asks for it. */
static inline void pdl_device_node_get(const CUlaunchAttributeValue *value,
                                       struct CUgraphDeviceUpdatableNode_st **device_node)
{
    memcpy(device_node, value->pad + 8, sizeof(*device_node));
}

/* The descriptor's field that an attribute comes from. */
const char *pdl_attribute_field(int id);

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
