/* SPDX-License-Identifier: MIT */
#include "common/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "os/size_text.h"

bool kernel_number(const char *text, struct kernel_limits limits, int64_t *number)
{
    uint64_t value = 0;
    if (!pdl_size_parse(text, (uint64_t)limits.most, &value) || (int64_t)value < limits.least) {
        return false;
    }
    *number = (int64_t)value;
    return true;
}

static bool read_extent(const char *text, int64_t most, struct kernel_extent *extent)
{
    struct kernel_extent read = {.each = {1, 1, 1}, .all = 1};
    char *const copy = copy_text(text);
    char *rest = copy;
    bool good = true;
    while (good && rest != NULL) {
        const char *const number = strsep(&rest, "x");
        const struct kernel_limits left = {1, most / read.all};
        good = read.axes < 3 && kernel_number(number, left, &read.each[read.axes]);
        read.all *= good ? read.each[read.axes++] : 1;
    }
    free(copy);
    if (good) {
        *extent = read;
    }
    return good;
}

const char *kernel_value(const char *word, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

enum kernel_word kernel_take(struct kernel_resources *kernel, const char *word,
                             struct kernel_limits *limits)
{
    enum { THREADS = 1024, CLUSTER = 1024, REGISTERS = 255, BYTES = 1 << 20 };
    const struct {
        const char *key;
        struct kernel_extent *extent; /* NULL: a number */
        int64_t *number, most;
    } words[] = {
        {"blocks", &kernel->grid, NULL, INT64_C(1) << 62},
        {"grid", &kernel->grid, NULL, INT64_C(1) << 62},
        {"threads", &kernel->block, NULL, THREADS},
        {"block", &kernel->block, NULL, THREADS},
        {"cluster", &kernel->cluster, NULL, CLUSTER},
        {"registers", NULL, &kernel->registers, REGISTERS},
        {"shared", NULL, &kernel->shared, BYTES},
        {"dynamic", NULL, &kernel->dynamic, BYTES},
        {"carveout", NULL, &kernel->carveout, 100},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *const value = kernel_value(word, words[i].key);
        if (value != NULL) {
            struct kernel_extent *const extent = words[i].extent;
            int64_t *const number = words[i].number;
            *limits = (struct kernel_limits){extent != NULL, words[i].most};
            return (extent != NULL && read_extent(value, limits->most, extent)) ||
                           (number != NULL && kernel_number(value, *limits, number))
                       ? KERNEL_TAKEN
                       : KERNEL_WRONG;
        }
    }
    return KERNEL_OTHER;
}

bool kernel_clusters_divide(const struct kernel_extent *grid, const struct kernel_extent *cluster)
{
    bool divide = cluster->axes == 0 || grid->all % cluster->all == 0;
    for (int i = 0; i < 3 && grid->axes > 1 && cluster->axes > 0; i++) {
        divide = divide && grid->each[i] % cluster->each[i] == 0;
    }
    return divide;
}
