/* SPDX-License-Identifier: MIT */
/* Where machine code comes from: the line tables of a cubin that was compiled with -lineinfo. */
#ifndef PDL_INSPECT_LINES_H
#define PDL_INSPECT_LINES_H

#include "code/elf64.h"
#include "inspect/machine.h"
#include "inspect/memory.h"

/* Gives accesses their places in the source and their lines in the PTX, as far as the cubin says them. */
void pdl_lines_find(struct pdl_arena *arena, const unsigned char *cubin, size_t size,
                    struct pdl_machine_access *const *accesses, uint32_t count);

#endif /* PDL_INSPECT_LINES_H */
