/* SPDX-License-Identifier: MIT */
/* A compiler for the tests of the cache: this program's own pdl_rtc_compile_request(), which stands before the
 * library's. It "compiles" a text to PTX that holds, in a comment, all that it was made of.
 *
 * Words in a text tell it what to do: FAIL, NO_KERNEL (code without any), `#include "FILE"` (whose
 * content goes into the comment). */
#ifndef PDL_TEST_RTC_CACHE_SUPPORT_H
#define PDL_TEST_RTC_CACHE_SUPPORT_H

#include <stdatomic.h>
#include <stdbool.h>

#include <pdl/rtc.h>

#include "launch/image.h"

struct cache_mock {
    atomic_int compilations;
    int milliseconds;              /* that one takes */
    int version;                   /* of the compiler: 13000 */
    void (*while_compiling)(void); /* NULL: nothing */
};
extern struct cache_mock cache_mock;

/* A compiler of that version and identity; 0: none is installed. */
void cache_mock_start(int version, const char *identity);

/* Whether the code is of that text, with that word in what was included (NULL: any). */
bool cache_mock_made(const pdl_rtc_image *image, const char *source, const char *word);

#endif /* PDL_TEST_RTC_CACHE_SUPPORT_H */
