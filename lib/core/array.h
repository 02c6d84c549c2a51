/* SPDX-License-Identifier: MIT */
/* Arrays from malloc() that grow: a pointer, a count, and a capacity of type size_t. */
#ifndef PDL_LIB_ARRAY_H
#define PDL_LIB_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `wanted` items of `each` bytes in the array that `items`, the address of a pointer,
 * points to; new room is zeroed. False, and the array stays as it is, without memory and for more
 * items than 32 bits count. */
static inline bool pdl_array_grow(void *items, size_t *capacity, size_t wanted, size_t each)
{
    /* Arrays of a megabyte or more grow by less: all of the new room is written to. */
    const size_t more = *capacity < ((size_t)1 << 20) / each ? *capacity : *capacity / 4;
    const size_t grown_to = *capacity < 8 ? 16 : *capacity + more;
    const size_t room = wanted > grown_to || grown_to > UINT32_MAX ? wanted : grown_to;
    void *old = NULL;
    if (room > UINT32_MAX || room > SIZE_MAX / each) {
        return false;
    }
    memcpy(&old, items, sizeof(old));
    void *grown = realloc(old, room * each);
    if (grown == NULL) {
        return false;
    }
    memset((char *)grown + *capacity * each, 0, (room - *capacity) * each);
    memcpy(items, &grown, sizeof(grown));
    *capacity = room;
    return true; /* cppcheck-suppress memleak ; `items` has it */
}

/* Whether there is room for `wanted` items, after it was made where it was not. */
#define PDL_ARRAY_RESERVE(items, wanted, capacity)                                                 \
    ((wanted) <= (capacity) ||                                                                     \
     pdl_array_grow((void *)&(items), &(capacity), (wanted), sizeof(*(items))))

/* The same for one item more than `count`. */
#define PDL_ARRAY_ROOM(items, count, capacity)                                                     \
    (((count) < (capacity) && (items) != NULL) ||                                                  \
     pdl_array_grow((void *)&(items), &(capacity), (size_t)(count) + 1, sizeof(*(items))))

#endif /* PDL_LIB_ARRAY_H */
