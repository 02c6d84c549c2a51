/* SPDX-License-Identifier: MIT */
/* Stands in for a program under libpdl-watch: it makes the recording, heeds the rules, and fails by what overlaps.
 *
 *     bisect_program KERNELS LAUNCHES FAULT[,FAULT...] [OPTION...]
 *
 * launches each of kernel0, kernel1 ... so often. A FAULT is kernels that fail where one launch of each overlaps, `3`,
 * `3+7`; or `all`, `none`. The options:
 *     chance=P        it then fails with this chance
 *     amplified=P     and with this one where a faulty kernel is delayed
 *     count=FILE      a byte is added to the file for each run
 *     own=no          the program asks for no overlap; rules may add it
 *     skip=K          exit 125 where kernel K does not overlap
 *     kill=N          failing is by signal N
 *     code=N          failing is by exit code N
 *     hang=yes        failing is hanging
 *     vary=yes        the names of kernels are others in each run
 *     cut=N           a run that fails ends before it launches kernel N
 *     say=TEXT        it says so first
 *     record=no       no recording; record=own: only where launches overlap
 *     lost=N          the recording lacks so many records
 *     sleep=MS */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "make_recording.h"
#include "watch/change.h"

static int argument_count;
static char **arguments;

static const char *option(const char *name)
{
    const size_t length = strlen(name);
    for (int i = 4; i < argument_count; i++) {
        if (strncmp(arguments[i], name, length) == 0 && arguments[i][length] == '=') {
            return arguments[i] + length + 1;
        }
    }
    return NULL;
}

static double number(const char *name, double otherwise)
{
    const char *const text = option(name);
    return text != NULL ? strtod(text, NULL) : otherwise;
}

static struct pdl_watch_rules *read_rules(void)
{
    static char text[1 << 22];
    size_t line = 0;
    const char *const path = getenv("PDL_WATCH_RULES");
    FILE *const file = path != NULL ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return NULL;
    }
    const size_t size = fread(text, 1, sizeof(text), file);
    (void)fclose(file);
    struct pdl_watch_rules *const rules = pdl_watch_rules_read(text, size, &line);
    if (rules == NULL) {
        (void)fprintf(stderr, "rules: line %zu is wrong\n", line);
        exit(126);
    }
    return rules;
}

struct state {
    unsigned kernels, launches;
    unsigned *overlapping; /* how many launches of each kernel */
    bool *delayed;
};

static const char *kernel_name(unsigned kernel)
{
    static char name[64];
    (void)snprintf(name, sizeof(name), "_Z%zukernel%u%svv", strlen("kernel") + (kernel > 9 ? 2 : 1),
                   kernel, "");
    if (option("vary") != NULL) {
        (void)snprintf(name, sizeof(name), "varied%u_%ld", kernel, (long)getpid());
    }
    return name;
}

static bool can_fail(const struct state *state, char *fault, bool *delayed)
{
    if (strcmp(fault, "all") == 0) {
        return true;
    }
    if (strcmp(fault, "none") == 0) {
        return false;
    }
    char *rest = NULL;
    for (char *part = strtok_r(fault, "+", &rest); part != NULL;
         part = strtok_r(NULL, "+", &rest)) {
        const unsigned long kernel = strtoul(part, NULL, 10);
        if (kernel >= state->kernels || state->overlapping[kernel] == 0) {
            return false;
        }
        *delayed = *delayed || state->delayed[kernel];
    }
    return true;
}

static bool fails(const struct state *state)
{
    char faults[256];
    char *rest = NULL;
    (void)snprintf(faults, sizeof(faults), "%s", arguments[3]);
    for (char *fault = strtok_r(faults, ",", &rest); fault != NULL;
         fault = strtok_r(NULL, ",", &rest)) {
        bool delayed = false;
        if (can_fail(state, fault, &delayed)) {
            const double chance = number("chance", 1);
            struct timespec now;
            (void)clock_gettime(CLOCK_REALTIME, &now);
            unsigned seed = (unsigned)now.tv_nsec ^ (unsigned)getpid();
            (void)rand_r(&seed);
            if (rand_r(&seed) < (delayed ? number("amplified", chance) : chance) * RAND_MAX) {
                return true;
            }
        }
    }
    return false;
}

static void write_recording(const struct state *state, bool failing)
{
    const char *const path = getenv("PDL_WATCH_RECORD");
    struct recording recording;
    const char *const when = option("record");
    if (path == NULL ||
        (when != NULL && (strcmp(when, "own") != 0 || state->overlapping[0] == 0))) {
        return;
    }
    const unsigned most = failing ? (unsigned)number("cut", state->kernels) : state->kernels;
    const bool own = option("own") == NULL;
    recording_begin(&recording);
    recording_header(&recording)->lost = (uint64_t)number("lost", 0);
    recording_device(&recording, 1);
    for (unsigned i = 0; i < state->kernels; i++) {
        recording_name(&recording, i + 1, kernel_name(i));
        (void)recording_function(&recording, i + 1, i + 1);
    }
    uint64_t time = 2000;
    for (unsigned j = 0; j < state->launches; j++) {
        for (unsigned i = 0; i < most; i++) {
            const bool on = state->overlapping[i] > 0;
            const unsigned flags = (own ? PDL_WATCH_ASKED : 0u) | (on ? PDL_WATCH_OVERLAP : 0u) |
                                   (on && !own ? PDL_WATCH_ADDED : 0u) |
                                   (!on && own ? PDL_WATCH_REMOVED : 0u);
            recording_launch(&recording, i + 1, 16, time, 0, flags)->nth = j + 1;
            time += 3000;
        }
    }
    recording_write(&recording, path);
}

static void overlap(struct state *state, const struct pdl_watch_rules *rules)
{
    const bool own = option("own") == NULL;
    for (unsigned i = 0; i < state->kernels; i++) {
        const enum pdl_watch_change change =
            rules != NULL ? pdl_watch_rules_find(rules, kernel_name(i), &state->delayed[i])
                          : PDL_WATCH_KEEP;
        if (change == PDL_WATCH_ON || (change == PDL_WATCH_KEEP && own)) {
            state->overlapping[i] = state->launches;
        }
    }
}

static int fail(void)
{
    if (option("kill") != NULL) {
        (void)raise((int)number("kill", 0));
    }
    while (option("hang") != NULL) {
        (void)pause();
    }
    return (int)number("code", 1);
}

static void count_run(void)
{
    FILE *const file = option("count") != NULL ? fopen(option("count"), "ae") : NULL;
    if (file != NULL) {
        (void)putc('.', file);
        (void)fclose(file);
    }
}

int main(int argc, char **argv)
{
    argument_count = argc;
    arguments = argv;
    if (argc < 4) {
        return 126;
    }
    struct state state = {.kernels = (unsigned)strtoul(argv[1], NULL, 10),
                          .launches = (unsigned)strtoul(argv[2], NULL, 10)};
    state.overlapping = calloc(state.kernels, sizeof(unsigned));
    state.delayed = calloc(state.kernels, sizeof(bool));
    struct pdl_watch_rules *const rules = read_rules();
    count_run();
    if (option("say") != NULL) {
        (void)puts(option("say"));
    }
    overlap(&state, rules);
    const bool failing = fails(&state);
    write_recording(&state, failing);
    (void)usleep((unsigned)number("sleep", 0) * 1000);
    const char *const needed = option("skip");
    int code = failing ? -1 : 0;
    if (needed != NULL && state.overlapping[strtoul(needed, NULL, 10)] == 0) {
        code = 125;
    }
    pdl_watch_rules_free(rules);
    free(state.overlapping);
    free(state.delayed);
    return code < 0 ? fail() : code;
}
