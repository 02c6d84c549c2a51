/* SPDX-License-Identifier: MIT */
#include "bisect/bisect.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/memory.h"
#include "common/print.h"

/* ---- recordings ------------------------------------------------------------------------------- */

bool suspects_read(const struct bisect *bisect, struct watch *watch)
{
    const struct watch_window window = {0};
    glob_t files = {0};
    bool read = false;
    *watch = (struct watch){0};
    char *const all = format_text("%s*", bisect->record); /* of every process */
    if (glob(all, 0, NULL, &files) == 0) {
        read = watch_read(watch, (const char *const *)files.gl_pathv, files.gl_pathc);
    }
    globfree(&files);
    free(all);
    if (read) {
        watch_join(watch, &window);
        watch_look_at_code(watch);
    }
    return read;
}

/* ---- the list --------------------------------------------------------------------------------- */

static bool is_suspect(const struct bisect_options *options, const struct watch_kernel *kernel)
{
    return (options->only.count == 0 ||
            name_matches(kernel->name, options->only.items, options->only.count)) &&
           !name_matches(kernel->name, options->except.items, options->except.count);
}

/* A kernel that the code convicts is looked at first. */
static int rank(const struct watch_kernel *kernel)
{
    switch (kernel->race) {
    case WATCH_RACE_NO_WAIT:
    case WATCH_RACE_OLD_CODE:
        return 0;
    case WATCH_RACE_SOME_PATHS:
        return 1;
    case WATCH_RACE_EARLY:
    case WATCH_RACE_UNKNOWN:
        return 2;
    default:
        return 3;
    }
}

struct list {
    struct suspect *items;
    size_t count, capacity;
};

/* Whether a rule can name a kernel exactly. */
static bool can_name(const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f) {
            return false;
        }
    }
    return *name != '\0';
}

static struct suspect *find(const struct list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

static bool is_of(const struct bisect *bisect, const struct watch *watch,
                  const struct watch_launch *launch)
{
    const uint32_t wanted = bisect->options.added ? PDL_WATCH_ADDED : PDL_WATCH_ASKED;
    return (launch->flags & wanted) != 0 && launch->kernel < watch->kernels.count;
}

/* Suspects that the list has not; launches of the others were counted. */
static void add_kernels(const struct bisect *bisect, struct list *list, const struct watch *watch)
{
    const size_t counted = list->count;
    for (size_t i = 0; i < watch->launches.count; i++) {
        const struct watch_launch *const launch = &watch->launches.items[i];
        if (!is_of(bisect, watch, launch)) {
            continue;
        }
        const struct watch_kernel *const kernel = &watch->kernels.items[launch->kernel];
        struct suspect *suspect = find(list, kernel->name);
        if (suspect == NULL && is_suspect(&bisect->options, kernel)) {
            if (!can_name(kernel->name)) {
                print_warning("no rule can name the kernel \"%s\"; it is not suspected",
                              kernel->name);
                continue;
            }
            const struct suspect made = {
                .name = copy_text(kernel->name), .rank = rank(kernel), .place = list->count};
            APPEND(list, made);
            suspect = &list->items[list->count - 1];
        }
        if (suspect != NULL && suspect->place >= counted) {
            suspect->launches++;
        }
    }
}

static int compare(const void *a, const void *b)
{
    const struct suspect *const first = a;
    const struct suspect *const second = b;
    if (first->rank != second->rank) {
        return first->rank < second->rank ? -1 : 1;
    }
    return first->place < second->place ? -1 : first->place > second->place;
}

static void free_list(struct suspect *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(items[i].name);
    }
    free(items);
}

void suspects_free(struct bisect *bisect)
{
    free_list(bisect->suspects.items, bisect->suspects.count);
}

void suspects_find(struct bisect *bisect, const struct watch *second)
{
    struct list list = {0};
    add_kernels(bisect, &list, &bisect->watch);
    if (second != NULL) {
        add_kernels(bisect, &list, second);
    }
    if (list.count > 0) {
        qsort(list.items, list.count, sizeof(*list.items), compare);
    }
    for (size_t i = 0; i < list.count; i++) {
        bisect->likely += list.items[i].rank <= 1;
    }
    bisect->suspects.items = list.items;
    bisect->suspects.count = list.count;
    bisect->suspects.capacity = list.capacity;
    bisect->has_suspects = true;
}

uint32_t suspects_any(const struct bisect *bisect)
{
    struct list list = {0};
    add_kernels(bisect, &list, &bisect->watch);
    free_list(list.items, list.count);
    return (uint32_t)list.count;
}

bool suspects_observed(const struct bisect *bisect, const struct watch *watch)
{
    bool any = false;
    for (size_t i = 0; i < watch->launches.count && !any; i++) {
        const uint32_t kernel = watch->launches.items[i].kernel;
        any = kernel < watch->kernels.count &&
              is_suspect(&bisect->options, &watch->kernels.items[kernel]);
    }
    if (!any) {
        print_error(watch->launches.count == 0
                        ? "the command was not observed: its recording has no launch"
                        : "nothing was observed: no launch is of a kernel that --only and --except "
                          "leave");
        return false;
    }
    for (size_t i = 0; i < watch->processes.count && suspects_any(bisect) == 0; i++) {
        if (watch->processes.items[i].lost > 0 || watch->processes.items[i].damaged) {
            print_error("the command was not observed completely: records of launches were lost");
            return false;
        }
    }
    return true;
}

/* ---- what is known of one --------------------------------------------------------------------- */

const struct watch_kernel *suspects_kernel(const struct bisect *bisect, uint32_t suspect)
{
    for (size_t i = 0; i < bisect->watch.kernels.count; i++) {
        if (strcmp(bisect->watch.kernels.items[i].name, bisect->suspects.items[suspect].name) ==
            0) {
            return &bisect->watch.kernels.items[i];
        }
    }
    return NULL;
}

char *suspects_shown(const struct bisect *bisect, uint32_t suspect)
{
    return demangle(bisect->suspects.items[suspect].name);
}

/* The kernel launched before a launch, in its stream; WATCH_NONE. */
static uint32_t kernel_before(const struct watch *watch, size_t index)
{
    const struct watch_launch *const launch = &watch->launches.items[index];
    while (index-- > 0) {
        const struct watch_launch *const before = &watch->launches.items[index];
        if (before->process == launch->process && before->context == launch->context &&
            before->stream == launch->stream) {
            return before->kernel;
        }
    }
    return WATCH_NONE;
}

size_t suspects_before(const struct bisect *bisect, uint32_t suspect, struct suspect_before *before,
                       size_t most)
{
    const struct watch *const watch = &bisect->watch;
    const struct watch_kernel *const kernel = suspects_kernel(bisect, suspect);
    uint64_t *const counts = allocate(watch->kernels.count + 1, sizeof(*counts));
    memset(counts, 0, (watch->kernels.count + 1) * sizeof(*counts));
    for (size_t i = 0; kernel != NULL && i < watch->launches.count; i++) {
        const struct watch_launch *const launch = &watch->launches.items[i];
        if (is_of(bisect, watch, launch) && &watch->kernels.items[launch->kernel] == kernel) {
            const uint32_t first = kernel_before(watch, i);
            counts[first < watch->kernels.count ? first : watch->kernels.count]++;
        }
    }
    size_t found = 0;
    for (; found < most; found++) {
        size_t best = 0;
        for (size_t i = 1; i < watch->kernels.count; i++) {
            best = counts[i] > counts[best] ? i : best;
        }
        if (watch->kernels.count == 0 || counts[best] == 0) {
            break;
        }
        before[found] = (struct suspect_before){.shown = watch->kernels.items[best].shown,
                                                .count = counts[best]};
        counts[best] = 0;
    }
    free(counts);
    return found;
}
