/* SPDX-License-Identifier: MIT */
/* The members of a kernel's parameter that is a struct, from its source: PTX has only bytes. */
#ifndef PDL_INSPECT_MEMBERS_H
#define PDL_INSPECT_MEMBERS_H

#include "inspect/rules/source.h"

struct pdl_member {
    const char *name; /* of a struct within: with that one's name and a dot in front */
    uint32_t offset, size;
    uint32_t step; /* of an array the size of an element; else `size` */
};

/* Reads the members of the struct that `name->type` names, if its file defines it once and all of it is
 * understood, and if it has `size` bytes. Otherwise there are none. */
void pdl_members_read(struct pdl_source_file *file, struct pdl_arena *arena,
                      struct pdl_parameter_name *name, uint32_t size);

/* The member that a byte is in; NULL if none is known. */
const struct pdl_member *pdl_member_at(const struct pdl_parameter_name *name, int32_t offset);

/* Finds `MEMBER` or `MEMBER[INDEX]`; false if there is none of that name. */
bool pdl_member_find(const struct pdl_parameter_name *name, const char *text, uint32_t *offset,
                     uint32_t *size);

#endif /* PDL_INSPECT_MEMBERS_H */
