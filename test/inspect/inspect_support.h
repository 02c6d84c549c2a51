/* SPDX-License-Identifier: MIT */
/* What the tests of libpdl-inspect's readers share. */
#ifndef PDL_TEST_INSPECT_SUPPORT_H
#define PDL_TEST_INSPECT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pdl/inspect.h>

#include "make_image.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Makes a last error; and asserts that a call which succeeds has left it alone. */
void mark_inspect_error(void);
pdl_status leaves_inspect_error(pdl_status status);

/* pdl_inspect_memory() between the two. */
pdl_status inspect_memory(const void *bytes, size_t size, const char *name,
                          const pdl_inspect_options *options, pdl_inspection **out);

/* The inspection of bytes, which must succeed. The caller destroys it. */
pdl_inspection *inspect(const struct bytes *bytes, const char *name);

/* Asserts that it fails so, with a sentence that holds `words`, and leaves nothing. */
void assert_not_inspected(const struct bytes *bytes, pdl_status status, const char *words);

/* Inspects, whatever comes of it, and looks at everything that did. */
void inspect_whatever(const struct bytes *bytes);

/* Inspects each prefix, which has to be refused or, if not `refused`, to do no harm. */
void check_every_prefix(const struct bytes *bytes, bool refused);

/* Inspects with each byte changed, in three ways. */
void check_every_byte(struct bytes *bytes);

/* The kernel of that name in the first image that has one; fails without. */
const pdl_inspect_kernel *find_kernel(const pdl_inspection *inspection, const char *name);

/* The image whose origin ends so; fails without. */
const pdl_inspect_image *find_image(const pdl_inspection *inspection, const char *end);

void assert_kernel(const pdl_inspect_kernel *kernel, pdl_known waits, pdl_known triggers,
                   unsigned wait_count, unsigned trigger_count);

/* Asserts that the facts that bound launches are those of `wanted`; blocks_are_clusters 0 is PDL_NO. */
void assert_bounds(const pdl_kernel_info *info, const pdl_kernel_info *wanted);

/* A PTX text with a kernel fc1 that waits, and one fc2 that does not. */
extern const char ptx_text[];

#endif /* PDL_TEST_INSPECT_SUPPORT_H */
