/* SPDX-License-Identifier: MIT */
/* pdltool info: what libpdl finds on this machine. */
#include <getopt.h>
#include <stdio.h>

#include <pdl/pdl.h>

#include "commands.h"

static void show(const pdl_device_info *info)
{
    printf("device %d: %s\n", info->ordinal, info->name);
    printf("  compute capability %d.%d, %d SMs, %d MiB of L2\n", info->compute_capability_major,
           info->compute_capability_minor, info->multiprocessor_count, info->l2_cache_size >> 20);
    printf("  an SM: %d threads, %d blocks, %d registers, %d KiB of shared memory\n",
           info->max_threads_per_multiprocessor, info->max_blocks_per_multiprocessor,
           info->registers_per_multiprocessor, info->shared_memory_per_multiprocessor >> 10);
    printf("  a block: %d threads, %d KiB of shared memory, %d KiB by opting in\n",
           info->max_threads_per_block, info->shared_memory_per_block >> 10,
           info->shared_memory_per_block_optin >> 10);
    printf("  cooperative launches: %s; clusters: %s\n", info->cooperative_launch ? "yes" : "no",
           info->cluster_launch ? "yes" : "no");
    printf("  overlap: %s\n",
           info->can_overlap ? "yes"
                             : pdl_overlap_reason_string((pdl_overlap_reason)info->overlap_reason));
}

int command_info(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int count = 0;
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option != 'h') {
            return EXIT_USAGE;
        }
        printf("usage: pdltool info\n\n"
               "Shows the driver and the devices. Exits with 1 where there is none.\n");
        return EXIT_DONE;
    }
    if (optind < argc) {
        (void)fprintf(stderr, "pdltool info: %s is one argument too many\n", argv[optind]);
        return EXIT_USAGE;
    }
    if (pdl_device_count(&count) != PDL_SUCCESS) {
        printf("no device: %s\n", pdl_last_error()->message);
        return EXIT_FINDING;
    }
    for (int device = 0; device < count; device++) {
        pdl_device_info info = PDL_DEVICE_INFO_INIT;
        if (pdl_device_get(device, &info) != PDL_SUCCESS) {
            printf("device %d: %s\n", device, pdl_last_error()->message);
            return EXIT_FINDING;
        }
        if (device == 0) {
            printf("driver for CUDA %d.%d\n", info.driver_version / 1000,
                   info.driver_version % 1000 / 10);
        }
        show(&info);
    }
    return EXIT_DONE;
}
