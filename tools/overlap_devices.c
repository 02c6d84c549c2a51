/* SPDX-License-Identifier: MIT */
/* Devices that `pdltool overlap` knows without having them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "overlap_spec.h"

enum { KIB = 1024 };

/* What an SM has, by compute capability: NVIDIA's table of technical specifications. */
#define SM_80                                                                                      \
    {                                                                                              \
        80, 2048, 1024, 32, 32, 65536, 164 * KIB, 163 * KIB, KIB, 64                               \
    }
#define SM_90                                                                                      \
    {                                                                                              \
        90, 2048, 1024, 32, 32, 65536, 228 * KIB, 227 * KIB, KIB, 64                               \
    }
#define SM_100                                                                                     \
    {                                                                                              \
        100, 2048, 1024, 32, 32, 65536, 228 * KIB, 227 * KIB, KIB, 64                              \
    }
#define SM_120                                                                                     \
    {                                                                                              \
        120, 1536, 1024, 32, 24, 65536, 100 * KIB, 99 * KIB, KIB, 24                               \
    }

static const struct {
    const char *name;
    const char *full;
    uint32_t sms;
    struct pdl_sm sm;
} devices[] = {
    {"a100", "NVIDIA A100", 108, SM_80},
    {"h100", "NVIDIA H100 SXM", 132, SM_90},
    {"h100-pcie", "NVIDIA H100 PCIe", 114, SM_90},
    {"h200", "NVIDIA H200", 132, SM_90},
    {"b200", "NVIDIA B200", 148, SM_100},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 170, SM_120},
};

enum { DEVICES = sizeof(devices) / sizeof(devices[0]) };

void overlap_device_list(FILE *to)
{
    for (size_t i = 0; i < DEVICES; i++) {
        (void)fprintf(to, "  %-10s %s: compute capability %d.%d, %u SMs\n", devices[i].name,
                      devices[i].full, devices[i].sm.compute_capability / 10,
                      devices[i].sm.compute_capability % 10, devices[i].sms);
    }
}

static bool ask_machine(int ordinal, struct pdl_overlap_input *input, char name[128])
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    if (pdl_device_get(ordinal, &info) != PDL_SUCCESS) {
        (void)fprintf(stderr, "pdltool overlap: device %d: %s\n", ordinal,
                      pdl_last_error()->message);
        return false;
    }
    const int32_t capability = 10 * info.compute_capability_major + info.compute_capability_minor;
    input->sm = (struct pdl_sm){
        .compute_capability = capability,
        .threads = (uint32_t)info.max_threads_per_multiprocessor,
        .threads_per_block = (uint32_t)info.max_threads_per_block,
        .warp_size = (uint32_t)info.warp_size,
        .blocks = (uint32_t)info.max_blocks_per_multiprocessor,
        .registers = (uint32_t)info.registers_per_multiprocessor,
        .shared_memory = (uint32_t)info.shared_memory_per_multiprocessor,
        .shared_memory_per_block = (uint32_t)info.shared_memory_per_block_optin,
        .reserved_shared_memory = (uint32_t)info.reserved_shared_memory_per_block,
        .barriers = pdl_sm_barriers(capability),
    };
    input->sms = (uint32_t)info.multiprocessor_count;
    input->device = ordinal;
    input->disabled = info.overlap_reason == PDL_OVERLAP_DISABLED;
    (void)snprintf(name, 128, "%s", info.name);
    input->device_name = name;
    return true;
}

bool overlap_device_find(const char *text, struct pdl_overlap_input *input, char name[128])
{
    char *end = NULL;
    errno = 0;
    const long ordinal = strtol(text, &end, 10);
    if (end != text && *end == '\0' && errno == 0 && ordinal >= 0 && ordinal < 1024) {
        return ask_machine((int)ordinal, input, name);
    }
    for (size_t i = 0; i < DEVICES; i++) {
        if (strcmp(text, devices[i].name) == 0) {
            const char *overlap = getenv("PDL_OVERLAP");
            input->sm = devices[i].sm;
            input->sms = devices[i].sms;
            input->device = -1;
            input->disabled = overlap != NULL && strcmp(overlap, "0") == 0;
            (void)snprintf(name, 128, "%s", devices[i].full);
            input->device_name = name;
            return true;
        }
    }
    (void)fprintf(
        stderr, "pdltool overlap: no device is known as %s; `pdltool overlap --help` lists them\n",
        text);
    return false;
}
