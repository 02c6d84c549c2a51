/* SPDX-License-Identifier: MIT */
#include "bench/environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/gpu.h"
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

void environment_free(struct bench_environment *environment)
{
    for (size_t i = 0; i < environment->count; i++) {
        free(environment->items[i].key);
        free(environment->items[i].text);
    }
    free(environment->items);
    memset(environment, 0, sizeof(*environment));
}

__attribute__((format(printf, 3, 4))) static void
add_formatted(struct bench_environment *environment, const char *key, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    environment_add_text(environment, key, text);
}

/* The first line of a file that begins with `key`, without its end; false if there is none. */
static bool find_line(const char *path, const char *key, char line[256])
{
    bool found = false;
    FILE *const file = fopen(path, "r");
    while (file != NULL && !found && fgets(line, 256, file) != NULL) {
        found = strncmp(line, key, strlen(key)) == 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    line[found ? strcspn(line, "\n") : 0] = '\0';
    return found;
}

static void add_host(struct bench_environment *environment)
{
    char line[256];
    struct utsname system;
    if (find_line("/proc/cpuinfo", "model name", line) && strchr(line, ':') != NULL) {
        const char *const colon = strchr(line, ':');
        environment_add_text(environment, "processor", colon + 1 + strspn(colon + 1, " \t"));
    }
    environment_add_number(environment, "processor_cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
    if (uname(&system) == 0) {
        add_formatted(environment, "system", "%s %s %s", system.sysname, system.release,
                      system.machine);
    }
}

/* The kernel module's line is "NVRM version: NVIDIA ... Kernel Module  580.65.06  ...": the first word that
 * begins with a digit and has a dot. */
static void add_driver(struct bench_environment *environment)
{
    char line[256];
    char *rest = NULL;
    if (find_line("/proc/driver/nvidia/version", "NVRM", line)) {
        for (char *word = strtok_r(line, " \t", &rest); word != NULL;
             word = strtok_r(NULL, " \t", &rest)) {
            if (*word >= '0' && *word <= '9' && strchr(word, '.') != NULL) {
                environment_add_text(environment, "driver", word);
                return;
            }
        }
    }
}

static void add_gpu(struct bench_environment *environment)
{
    environment_add_text(environment, "gpu", gpu.name);
    environment_add_number(environment, "device", gpu.ordinal);
    environment_add_number(environment, "devices", gpu.count);
    add_formatted(environment, "compute_capability", "%d.%d", gpu.major, gpu.minor);
    environment_add_number(environment, "multiprocessors", gpu.multiprocessors);
    environment_add_number(environment, "memory_bytes", (double)gpu.memory);
    environment_add_number(environment, "l2_bytes", (double)gpu.l2);
    add_driver(environment);
    add_formatted(environment, "driver_cuda", "%d.%d", gpu.driver_version / 1000,
                  gpu.driver_version % 1000 / 10);
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
    add_formatted(environment, "libpdl", "%u.%u.%u", version / 10000, version / 100 % 100,
                  version % 100);
    environment_add_text(environment, "git", PDL_GIT_VERSION);
    add_formatted(environment, "cuda_headers", "%d.%d", CUDA_VERSION / 1000,
                  CUDA_VERSION % 1000 / 10);
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
