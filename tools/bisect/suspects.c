/* SPDX-License-Identifier: MIT */
#include "bisect/bisect.h"

#include <fnmatch.h>
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

static bool matches(const struct bisect_patterns *patterns, const struct watch_kernel *kernel)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (fnmatch(patterns->items[i], kernel->name, 0) == 0 ||
            fnmatch(patterns->items[i], kernel->shown, 0) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_suspect(const struct bisect_options *options, const struct watch_kernel *kernel)
{
    return (options->only.count == 0 || matches(&options->only, kernel)) &&
           !matches(&options->except, kernel);
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

struct listed {
    struct suspect suspect;
    size_t room;
    int rank;
    uint32_t place;
};

struct list {
    struct listed *items;
    size_t count, capacity;
};

static struct listed *find(struct list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].suspect.name, name) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

static void add_kernel(const struct bisect *bisect, struct list *list, const struct watch *watch,
                       const struct watch_launch *launch)
{
    const struct watch_kernel *const kernel = &watch->kernels.items[launch->kernel];
    struct listed *listed = find(list, kernel->name);
    if (listed == NULL) {
        if (!is_suspect(&bisect->options, kernel)) {
            return;
        }
        if (!subset_can_name(kernel->name)) {
            print_warning("no rule can name the kernel \"%s\"; it is not suspected", kernel->name);
            return;
        }
        const struct listed made = {.suspect = {.name = copy_text(kernel->name)},
                                    .rank = rank(kernel),
                                    .place = (uint32_t)list->count};
        APPEND(list, made);
        listed = &list->items[list->count - 1];
    }
    listed->suspect.nths =
        room_for_one(listed->suspect.nths, listed->suspect.count, &listed->room, sizeof(uint32_t));
    listed->suspect.nths[listed->suspect.count++] = launch->nth;
}

static void add_launches(const struct bisect *bisect, struct list *list, const struct watch *watch)
{
    const uint32_t wanted = bisect->options.added ? PDL_WATCH_ADDED : PDL_WATCH_ASKED;
    for (size_t i = 0; i < watch->launches.count; i++) {
        const struct watch_launch *const launch = &watch->launches.items[i];
        if ((launch->flags & wanted) != 0 && launch->kernel < watch->kernels.count &&
            launch->nth > 0) {
            add_kernel(bisect, list, watch, launch);
        }
    }
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t first = *(const uint32_t *)a;
    const uint32_t second = *(const uint32_t *)b;
    return first < second ? -1 : first > second;
}

static int compare_listed(const void *a, const void *b)
{
    const struct listed *const first = a;
    const struct listed *const second = b;
    if (first->rank != second->rank) {
        return first->rank < second->rank ? -1 : 1;
    }
    return first->place < second->place ? -1 : first->place > second->place;
}

/* Processes have launches of the same numbers. */
static void make_unique(struct suspect *suspect)
{
    uint32_t kept = 0;
    qsort(suspect->nths, suspect->count, sizeof(uint32_t), compare_numbers);
    for (uint32_t i = 0; i < suspect->count; i++) {
        if (kept == 0 || suspect->nths[kept - 1] != suspect->nths[i]) {
            suspect->nths[kept++] = suspect->nths[i];
        }
    }
    suspect->count = kept;
}

/* In the order in which they are suspected. */
static struct list make_list(const struct bisect *bisect, const struct watch *second)
{
    struct list list = {0};
    add_launches(bisect, &list, &bisect->watch);
    if (second != NULL) {
        add_launches(bisect, &list, second);
    }
    if (list.count > 0) {
        qsort(list.items, list.count, sizeof(*list.items), compare_listed);
    }
    return list;
}

void suspects_find(struct bisect *bisect, const struct watch *second)
{
    struct list list = make_list(bisect, second);
    struct suspect *suspects = allocate(list.count + 1, sizeof(*suspects));
    for (size_t i = 0; i < list.count; i++) {
        make_unique(&list.items[i].suspect);
        suspects[i] = list.items[i].suspect;
        bisect->likely += list.items[i].rank <= 1;
    }
    log_suspects(&bisect->log, suspects, (uint32_t)list.count);
    free(list.items);
}

static void free_list(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].suspect.name);
        free(list->items[i].suspect.nths);
    }
    free(list->items);
}

uint32_t suspects_any(const struct bisect *bisect)
{
    struct list list = make_list(bisect, NULL);
    const uint32_t count = (uint32_t)list.count;
    free_list(&list);
    return count;
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

bool suspects_compare(const struct bisect *bisect)
{
    struct list list = make_list(bisect, NULL);
    bool same = true;
    for (size_t i = 0; i < list.count; i++) {
        bool known = false;
        for (size_t j = 0; j < bisect->log.suspect_count && !known; j++) {
            known = strcmp(bisect->log.suspects[j].name, list.items[i].suspect.name) == 0;
        }
        if (!known) {
            print_error(
                "the log %s has other kernels: the command now overlaps %s, which is not in it",
                bisect->log.path, list.items[i].suspect.name);
            same = false;
            break;
        }
    }
    for (size_t j = 0; j < bisect->log.suspect_count && same; j++) {
        if (find(&list, bisect->log.suspects[j].name) == NULL) {
            print_error("the log %s has other kernels: the command no longer overlaps %s",
                        bisect->log.path, bisect->log.suspects[j].name);
            same = false;
        }
    }
    free_list(&list);
    return same;
}

/* ---- what is known of one --------------------------------------------------------------------- */

const struct watch_kernel *suspects_kernel(const struct bisect *bisect, uint32_t suspect)
{
    for (size_t i = 0; i < bisect->watch.kernels.count; i++) {
        if (strcmp(bisect->watch.kernels.items[i].name, bisect->log.suspects[suspect].name) == 0) {
            return &bisect->watch.kernels.items[i];
        }
    }
    return NULL;
}

char *suspects_shown(const struct bisect *bisect, uint32_t suspect)
{
    return demangle(bisect->log.suspects[suspect].name);
}

static bool is_in(const struct culprit *culprit, const struct suspect *suspects, uint32_t suspect,
                  uint32_t nth)
{
    const struct suspect *const of = &suspects[suspect];
    const uint32_t *const found = bsearch(&nth, of->nths, of->count, sizeof(nth), compare_numbers);
    return found != NULL &&
           (culprit->subset.whole[suspect] || (culprit->subset.parts[suspect] != NULL &&
                                               culprit->subset.parts[suspect][found - of->nths]));
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

size_t suspects_before(const struct bisect *bisect, const struct culprit *culprit, uint32_t suspect,
                       struct suspect_before *before, size_t most)
{
    const struct watch *const watch = &bisect->watch;
    const struct watch_kernel *const kernel = suspects_kernel(bisect, suspect);
    uint64_t *const counts = allocate(watch->kernels.count + 1, sizeof(*counts));
    memset(counts, 0, (watch->kernels.count + 1) * sizeof(*counts));
    for (size_t i = 0; kernel != NULL && i < watch->launches.count; i++) {
        const struct watch_launch *const launch = &watch->launches.items[i];
        if (launch->kernel < watch->kernels.count &&
            &watch->kernels.items[launch->kernel] == kernel &&
            is_in(culprit, bisect->log.suspects, suspect, launch->nth)) {
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
