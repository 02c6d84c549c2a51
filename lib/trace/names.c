/* SPDX-License-Identifier: MIT */
#include "trace/names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"

struct node {
    const char *text;
    uint32_t index;
    char own[]; /* the text, of those in the tree */
};

static int compare(const void *left, const void *right)
{
    const struct node *const a = left;
    const struct node *const b = right;
    return strcmp(a->text, b->text);
}

bool pdl_names_find(const struct pdl_names *names, const char *name, uint32_t *index)
{
    const struct node wanted = {.text = name};
    void *const found = tfind(&wanted, &names->tree, compare);
    if (found != NULL) {
        *index = (*(struct node *const *)found)->index;
    }
    return found != NULL;
}

bool pdl_names_add(struct pdl_names *names, const char *name, uint32_t *index)
{
    if (pdl_names_find(names, name, index)) {
        return true;
    }
    const size_t size = strlen(name) + 1;
    struct node *const node = PDL_ARRAY_ROOM(names->names, names->count, names->room)
                                  ? malloc(sizeof(*node) + size)
                                  : NULL;
    if (node == NULL) {
        return false;
    }
    node->text = memcpy(node->own, name, size);
    node->index = names->count;
    if (tsearch(node, &names->tree, compare) == NULL) {
        free(node);
        return false;
    }
    names->names[names->count++] = node->own;
    *index = node->index;
    return true;
}

void pdl_names_free(struct pdl_names *names)
{
    while (names->tree != NULL) {
        struct node *const node = *(struct node **)names->tree;
        (void)tdelete(node, &names->tree, compare);
        free(node);
    }
    free((void *)names->names);
    *names = (struct pdl_names){.names = NULL};
}
