/* SPDX-License-Identifier: MIT */
/* pdltool info: what libpdl finds on this machine, and what that allows. */
#include <dlfcn.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <pdl/pdl.h>
#include <pdl/rtc.h>

#include "commands.h"
#include "common/memory.h"
#include "common/options.h"
#include "common/print.h"
#include "launch/attributes.h"
#include "os/environment.h"

/* Variables of CUDA that change what a launch does, and what each does. */
static const struct {
    const char *name, *effect;
} cuda_variables[] = {
    {"CUDA_LAUNCH_BLOCKING", "1: the host waits for each launch to end, so nothing overlaps"},
    {"CUDA_VISIBLE_DEVICES", "which devices are visible, and their numbers"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", "hardware queues; 1 puts all streams into one"},
    {"CUDA_MODULE_LOADING", "EAGER: code is loaded at the start, not at the first launch"},
    {"CUDA_FORCE_PTX_JIT", "1: code is compiled from its PTX"},
    {"CUDA_DISABLE_PTX_JIT", "1: no code is compiled from PTX"},
};

static void show_device(const pdl_device_info *info)
{
    print_line(stdout, "device %d: %s", info->ordinal, info->name);
    printf("  compute capability %d.%d, %d SMs, %d MiB of L2\n", info->compute_capability_major,
           info->compute_capability_minor, info->multiprocessor_count, info->l2_cache_size >> 20);
    printf("  per SM: %d threads, %d blocks, %d registers, %d KiB of shared memory\n",
           info->max_threads_per_multiprocessor, info->max_blocks_per_multiprocessor,
           info->registers_per_multiprocessor, info->shared_memory_per_multiprocessor >> 10);
    printf("  per block: %d threads, %d KiB of shared memory\n"
           "    (%d KiB on request, %d bytes reserved)\n",
           info->max_threads_per_block, info->shared_memory_per_block >> 10,
           info->shared_memory_per_block_optin >> 10, info->reserved_shared_memory_per_block);
    printf("  cooperative launches: %s; clusters: %s\n", info->cooperative_launch ? "yes" : "no",
           info->cluster_launch ? "yes" : "no");
    printf("  overlap: %s\n",
           info->can_overlap ? "yes" : pdl_reason_string((pdl_reason)info->overlap_reason));
}

/* All of this machine's. */
struct devices {
    pdl_device_info *items;
    size_t count, capacity;
};

/* ---- what launches may ask for ------------------------------------------------------------------ */

static char *version_text(int version)
{
    return format_text("%d.%d", version / 1000, version % 1000 / 10);
}

static char *here(const struct pdl_attribute *need, const pdl_device_info *info)
{
    const int capability = 10 * info->compute_capability_major + info->compute_capability_minor;
    if (info->driver_version < need->since) {
        return copy_text("no: driver");
    }
    if (capability < need->capability) {
        return copy_text("no: device");
    }
    return copy_text("yes");
}

static void show_needs(const struct devices *devices)
{
    enum { FIXED = 3, DEVICES = 16 };
    static const char *const fixed[FIXED] = {"field", "driver", "device"};
    const pdl_device_info *const infos = devices->items;
    size_t shown = devices->count;
    if (shown > DEVICES) {
        shown = DEVICES;
    }
    const char *headings[FIXED + DEVICES];
    char *names[DEVICES];
    char right[FIXED + DEVICES + 1] = {0};
    for (size_t i = 0; i < FIXED; i++) {
        headings[i] = fixed[i];
    }
    for (size_t i = 0; i < shown; i++) {
        names[i] = format_text("device %d", infos[i].ordinal);
        headings[FIXED + i] = names[i];
    }
    for (size_t i = 0; i < FIXED + shown; i++) {
        right[i] = i == 1 || i == 2 ? 'r' : 'l';
    }
    struct table table = {.headings = headings, .right = right};
    for (size_t i = 0; i < PDL_ATTRIBUTE_COUNT; i++) {
        const struct pdl_attribute *const row = &pdl_attributes[i];
        table_add(&table, copy_text(row->field));
        table_add(&table, version_text(row->since));
        table_add(&table, row->capability > 0
                              ? format_text("%d.%d", row->capability / 10, row->capability % 10)
                              : copy_text("any"));
        for (size_t j = 0; j < shown; j++) {
            table_add(&table, here(row, &infos[j]));
        }
    }
    printf("\nwhat a launch may ask for, and the least driver and device:\n");
    table_print(&table, stdout);
    for (size_t i = 0; i < PDL_ATTRIBUTE_COUNT; i++) {
        if (pdl_attributes[i].remark[0] != '\0') {
            printf("note: %s: %s\n", pdl_attributes[i].field, pdl_attributes[i].remark);
        }
    }
    table_free(&table);
    for (size_t i = 0; i < shown; i++) {
        free(names[i]);
    }
}

/* ---- libraries and environment ------------------------------------------------------------------- */

/* The one that a program linked with it would load. */
static void show_runtime(void)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *const library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        int (*get_version)(int *) = NULL;
        int version = 0;
        if (library == NULL) {
            continue;
        }
        *(void **)&get_version = dlsym(library, "cudaRuntimeGetVersion");
        if (get_version != NULL && get_version(&version) == 0) {
            printf("CUDA Runtime %d.%d (%s)\n", version / 1000, version % 1000 / 10, names[i]);
            return;
        }
    }
    printf("no shared CUDA Runtime on the library path (programs may carry their own)\n");
}

#pragma weak pdl_rtc_compiler_get /* as TOOL_OPTIONAL does */

static void show_compiler(void)
{
    if (pdl_rtc_compiler_get == NULL) {
        return;
    }
    pdl_rtc_compiler_info info = PDL_RTC_COMPILER_INFO_INIT;
    if (pdl_rtc_compiler_get(&info) != PDL_SUCCESS) {
        print_line(stdout, "no NVRTC: %s", pdl_last_error()->message);
        return;
    }
    printf("NVRTC %d.%d, up to compute_%d\n", info.version / 1000, info.version % 1000 / 10,
           info.newest_architecture);
    print_line(stdout, "  %s", info.path);
}

static void show_proofs(void)
{
    const char *const missing = pdl_proof_missing();
    printf("\n");
    print_line(stdout, "%s", missing != NULL ? missing : "kernels are proved by libpdl-inspect");
}

static bool show_variable(bool any, const char *name, const char *value, const char *effect)
{
    if (value != NULL) {
        printf("%s  %s=", any ? "" : "\nset in the environment:\n", name);
        print_plain(stdout, value);
        printf("  (%s)\n", effect);
    }
    return any || value != NULL;
}

static void show_switches(void)
{
    bool any = false;
    for (size_t i = 0; i < PDL_VARIABLE_COUNT; i++) {
        const struct pdl_variable *const row = &pdl_variables[i];
        const char *const value = getenv(row->name);
        const bool is_unknown = pdl_variable_parse(row, value).problem[0] != '\0';
        char *const unknown =
            is_unknown ? format_text("unknown: must be %s; %s is used", row->values, row->unknown)
                       : NULL;
        any = show_variable(any, row->name, value, is_unknown ? unknown : row->effect);
        free(unknown);
    }
    for (size_t i = 0; i < sizeof(cuda_variables) / sizeof(cuda_variables[0]); i++) {
        any = show_variable(any, cuda_variables[i].name, getenv(cuda_variables[i].name),
                            cuda_variables[i].effect);
    }
    if (!any) {
        printf("\nno environment variable of libpdl or the driver is set\n");
    }
}

/* ---- the command ---------------------------------------------------------------------------------- */

static int show_devices(void)
{
    struct devices devices = {.count = 0};
    pdl_status status = PDL_SUCCESS;
    while (status == PDL_SUCCESS) {
        pdl_device_info info = PDL_DEVICE_INFO_INIT;
        status = pdl_device_get((int)devices.count, &info);
        if (status == PDL_SUCCESS) {
            APPEND(&devices, info);
        }
    }
    if (devices.count == 0) {
        print_line(stdout, "no device: %s", pdl_last_error()->message);
        return EXIT_FINDING;
    }
    const bool whole = status == PDL_ERROR_INVALID_DEVICE; /* past the last one */
    if (!whole) {
        print_line(stdout, "device %zu: %s", devices.count, pdl_last_error()->message);
    } else {
        printf("driver for CUDA %d.%d\n", devices.items[0].driver_version / 1000,
               devices.items[0].driver_version % 1000 / 10);
        for (size_t i = 0; i < devices.count; i++) {
            show_device(&devices.items[i]);
        }
        show_needs(&devices);
    }
    free(devices.items);
    return whole ? EXIT_DONE : EXIT_FINDING;
}

int command_info(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int option;
    while ((option = next_option(argc, argv, "h", options)) != -1) {
        if (option != 'h') {
            return EXIT_USAGE;
        }
        (void)fputs(
            "usage: pdltool info\n"
            "\n"
            "Shows the driver, the CUDA Runtime, NVRTC, the devices, what a launch may ask\n"
            "for on each of them, and the environment variables of libpdl that are set.\n"
            "\n"
            "Examples:\n"
            "  pdltool info\n"
            "  PDL_OVERLAP=0 pdltool info\n"
            "\n"
            "Exit status: 0; 1 if there is no device; 2 if the command line is wrong.\n",
            stdout);
        return EXIT_DONE;
    }
    if (optind < argc) {
        print_misuse("unexpected argument '%s'", argv[optind]);
        return EXIT_USAGE;
    }
    const unsigned version = pdl_version();
    printf("libpdl %u.%u.%u\n", version / 10000, version / 100 % 100, version % 100);
    const int code = show_devices();
    printf("\n");
    show_runtime();
    show_compiler();
    show_proofs();
    show_switches();
    return code;
}
