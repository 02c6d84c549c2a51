/* SPDX-License-Identifier: MIT */
#include "bench/environment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/gpu.h"
#include "bench/gpu_state.h"
#include "bench/gpu_time.h"
#include "common/memory.h"

#ifdef PDL_HAVE_GIT_VERSION
#include "git_version.h"
#else
#define PDL_GIT_VERSION "unknown"
#endif

void environment_add_text(struct bench_environment *environment, const char *key, const char *text)
{
    struct bench_fact fact = {.key = copy_text(key), .text = copy_text(text)};
    APPEND(environment, fact);
}

void environment_add_number(struct bench_environment *environment, const char *key, double number)
{
    struct bench_fact fact = {.key = copy_text(key), .number = number};
    APPEND(environment, fact);
}

const struct bench_fact *environment_find(const struct bench_environment *environment,
                                          const char *key)
{
    for (size_t i = 0; i < environment->count; i++) {
        if (strcmp(environment->items[i].key, key) == 0) {
            return &environment->items[i];
        }
    }
    return NULL;
}

void environment_free(struct bench_environment *environment)
{
    for (size_t i = 0; i < environment->count; i++) {
        free(environment->items[i].key);
        free(environment->items[i].text);
    }
    free(environment->items);
    memset(environment, 0, sizeof(*environment));
}

static void add_version(struct bench_environment *environment, const char *key, unsigned major,
                        unsigned minor)
{
    char *text = format_text("%u.%u", major, minor);
    environment_add_text(environment, key, text);
    free(text);
}

/* What stands behind the first line of a file that begins with `key`, after a colon; NULL if none. */
static char *value_in_file(const char *path, const char *key)
{
    char line[256];
    char *value = NULL;
    FILE *file = fopen(path, "r");
    while (file != NULL && value == NULL && fgets(line, sizeof(line), file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) == 0 && colon != NULL) {
            colon[strcspn(colon, "\n")] = '\0';
            value = copy_text(colon + 1 + strspn(colon + 1, " \t"));
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return value;
}

static void add_host(struct bench_environment *environment)
{
    struct utsname system;
    char *const processor = value_in_file("/proc/cpuinfo", "model name");
    if (processor != NULL) {
        environment_add_text(environment, "processor", processor);
        free(processor);
    }
    environment_add_number(environment, "processor_cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
    if (uname(&system) == 0) {
        char *text = format_text("%s %s %s", system.sysname, system.release, system.machine);
        environment_add_text(environment, "system", text);
        free(text);
    }
}

static void add_gpu(struct bench_environment *environment)
{
    environment_add_text(environment, "gpu", gpu.name);
    environment_add_number(environment, "device", gpu.ordinal);
    environment_add_number(environment, "devices", gpu.count);
    add_version(environment, "compute_capability", (unsigned)gpu.major, (unsigned)gpu.minor);
    environment_add_number(environment, "multiprocessors", gpu.multiprocessors);
    environment_add_number(environment, "memory_bytes", (double)gpu.memory);
    environment_add_number(environment, "l2_bytes", (double)gpu.l2);
    char *const driver = gpu_state_driver();
    if (driver != NULL) {
        environment_add_text(environment, "driver", driver);
        free(driver);
    }
    add_version(environment, "driver_cuda", (unsigned)gpu.driver_version / 1000,
                (unsigned)gpu.driver_version % 1000 / 10);
    environment_add_number(environment, "sm_clock_limit_mhz", gpu.clock_khz / 1e3);
    environment_add_number(environment, "memory_clock_limit_mhz", gpu.memory_clock_khz / 1e3);
    environment_add_number(environment, "timer_step_ns", (double)gpu.timer_step);
}

static void add_program(struct bench_environment *environment, int argc, char *const *argv)
{
    const unsigned version = pdl_version();
    char *command = copy_text("pdltool");
    for (int i = 0; i < argc; i++) {
        char *longer = format_text("%s %s", command, argv[i]);
        free(command);
        command = longer;
    }
    environment_add_text(environment, "command", command);
    free(command);
    char *text = format_text("%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    environment_add_text(environment, "libpdl", text);
    free(text);
    environment_add_text(environment, "git", PDL_GIT_VERSION);
    add_version(environment, "cuda_headers", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    environment_add_text(environment, "compiler", __VERSION__);
}

void environment_fill(struct bench_environment *environment, int argc, char *const *argv)
{
    char date[32];
    const time_t now = time(NULL);
    struct tm parts;
    (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    environment_add_text(environment, "date", date);
    add_program(environment, argc, argv);
    add_host(environment);
    add_gpu(environment);
}

void environment_add_state(struct bench_environment *environment, const char *when)
{
    struct gpu_state state;
    char *key = format_text("sm_clock_measured_mhz_%s", when);
    environment_add_number(environment, key, gpu_sm_clock_mhz());
    free(key);
    if (!gpu_state_get(&state)) {
        return;
    }
    const struct {
        const char *name;
        double number;
    } numbers[] = {{"sm_clock_mhz", state.sm_clock_mhz},
                   {"memory_clock_mhz", state.memory_clock_mhz},
                   {"temperature_c", state.temperature_c},
                   {"power_w", state.power_w}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        key = format_text("%s_%s", numbers[i].name, when);
        environment_add_number(environment, key, numbers[i].number);
        free(key);
    }
    key = format_text("clocks_held_back_by_%s", when);
    environment_add_text(environment, key, state.held_back_by);
    free(key);
}
