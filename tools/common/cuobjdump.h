/* SPDX-License-Identifier: MIT */
/* The toolkit's cuobjdump, for code that is stored in a way that libpdl-inspect does not read. */
#ifndef PDL_TOOLS_CUOBJDUMP_H
#define PDL_TOOLS_CUOBJDUMP_H

#include <stddef.h>

#include <pdl/inspect.h>

#include "common/temporary.h"

/* What it unpacked: files in a directory of their own. */
struct extraction {
    struct temporary directory;
    char **items; /* names in the directory, sorted */
    size_t count, capacity;
};

/* Has the cuobjdump on PATH unpack the PTX or the cubins of a file; where `path` is NULL, of
 * `bytes`. Returns NULL, or why there is nothing: a clause that the caller frees. The extraction
 * has to be removed in either case. */
char *cuobjdump_extract(struct extraction *extraction, const char *path, const void *bytes,
                        size_t size, pdl_inspect_kind kind);

/* The path of a file of it, which the caller frees. */
char *extraction_path(const struct extraction *extraction, size_t index);

/* Deletes the files. */
void extraction_remove(struct extraction *extraction);

#endif /* PDL_TOOLS_CUOBJDUMP_H */
