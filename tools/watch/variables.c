/* SPDX-License-Identifier: MIT */
#include "watch/variables.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"

/* The index of a variable; the count: it is not there. */
static size_t find(const struct variables *variables, const char *name)
{
    const size_t length = strlen(name);
    size_t i = 0;
    while (i < variables->count && (strncmp(variables->items[i], name, length) != 0 ||
                                    variables->items[i][length] != '=')) {
        i++;
    }
    return i;
}

void variables_read(struct variables *variables)
{
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL) {
        count++;
    }
    variables->items = allocate(count + 1, sizeof(*variables->items));
    variables->count = count;
    for (size_t i = 0; i < count; i++) {
        variables->items[i] = copy_text(environ[i]);
    }
}

void variables_set(struct variables *variables, const char *name, const char *value)
{
    size_t i = find(variables, name);
    if (i < variables->count) {
        free(variables->items[i]);
        memmove(&variables->items[i], &variables->items[i + 1],
                (variables->count - i) * sizeof(*variables->items));
        variables->count--;
    }
    if (value == NULL) {
        return;
    }
    char **const grown = allocate(variables->count + 2, sizeof(*grown));
    memcpy(grown, variables->items, variables->count * sizeof(*grown));
    grown[variables->count++] = format_text("%s=%s", name, value);
    free(variables->items);
    variables->items = grown;
}

const char *variables_get(const struct variables *variables, const char *name)
{
    const size_t i = find(variables, name);
    return i < variables->count ? variables->items[i] + strlen(name) + 1 : NULL;
}

void variables_free(struct variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        free(variables->items[i]);
    }
    free(variables->items);
    *variables = (struct variables){0};
}
