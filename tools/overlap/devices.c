/* SPDX-License-Identifier: MIT */
/* Devices that `pdltool overlap` knows without having them. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/print.h"
#include "os/environment.h"
#include "overlap/spec.h"

enum { KIB = 1024 };

/* What SMs have differently: as in cuda/__device/arch_traits.h of libcu++ 13.3.5 (CUDA 13.5); blocks as in
 * cuda_occupancy.h of CUDA 13.5, too, without the carve-out for oversized shared memory that it has for 10.7. */
static const struct {
    int32_t compute_capability;
    uint32_t threads, blocks, shared_kib;
} sms[] = {
    {80, 2048, 32, 164},  {86, 1536, 16, 100},  {87, 1536, 16, 164},  {88, 1536, 16, 100},
    {89, 1536, 24, 100},  {90, 2048, 32, 228},  {100, 2048, 32, 228}, {103, 2048, 32, 228},
    {107, 1024, 16, 228}, {110, 1536, 24, 228}, {120, 1536, 24, 100}, {121, 1536, 24, 100},
};

enum { CAPABILITIES = sizeof(sms) / sizeof(sms[0]) };

/* With a number of SMs that was read from the device itself. */
static const struct {
    const char *name;
    const char *full;
    uint32_t sms;
    int32_t capability;
} devices[] = {
    {"h200", "NVIDIA H200", 132, 90},
};

enum { DEVICES = sizeof(devices) / sizeof(devices[0]) };

/* False where nothing is known of the compute capability. */
static bool find_sm(int32_t capability, struct pdl_sm *sm)
{
    for (size_t i = 0; i < CAPABILITIES; i++) {
        if (sms[i].compute_capability == capability) {
            *sm = (struct pdl_sm){.compute_capability = capability,
                                  .threads = sms[i].threads,
                                  .threads_per_block = 1024,
                                  .warp_size = 32,
                                  .blocks = sms[i].blocks,
                                  .registers = 65536,
                                  .shared_memory = sms[i].shared_kib * KIB,
                                  .shared_memory_per_block = (sms[i].shared_kib - 1) * KIB,
                                  .reserved_shared_memory = KIB,
                                  .barriers = pdl_sm_barriers(capability)};
            return true;
        }
    }
    return false;
}

void overlap_device_list(FILE *to)
{
    for (size_t i = 0; i < DEVICES; i++) {
        (void)fprintf(to, "  %-10s %s: compute capability %d.%d, %u SMs\n", devices[i].name,
                      devices[i].full, devices[i].capability / 10, devices[i].capability % 10,
                      devices[i].sms);
    }
    (void)fputs("  X.Y:SMS    SMS multiprocessors of compute capability X.Y:\n            ", to);
    for (size_t i = 0; i < CAPABILITIES; i++) {
        (void)fprintf(to, "%s %d.%d", i > 0 ? "," : "", sms[i].compute_capability / 10,
                      sms[i].compute_capability % 10);
    }
    (void)fputc('\n', to);
}

/* A number of 1 to `most` that ends with `end`; 0: it is none. */
static uint32_t read_number(const char **text, char end, long most)
{
    char *rest = NULL;
    if (!isdigit((unsigned char)**text)) {
        return 0;
    }
    errno = 0;
    const long number = strtol(*text, &rest, 10);
    if (errno != 0 || *rest != end || number > most) {
        return 0;
    }
    *text = end != '\0' ? rest + 1 : rest;
    return (uint32_t)number;
}

/* X.Y:SMS; false where it is none. */
static bool read_capability(const char *text, int32_t *capability, uint32_t *count)
{
    const char *at = text;
    const uint32_t major = read_number(&at, '.', 99);
    if (major == 0 || !isdigit((unsigned char)at[0]) || at[1] != ':') {
        return false;
    }
    *capability = (int32_t)major * 10 + (at[0] - '0');
    at += 2;
    *count = read_number(&at, '\0', 65536);
    return *count > 0;
}

bool overlap_device_find(const char *text, struct pdl_overlap_input *input)
{
    int32_t capability = 0;
    input->device_name = "a device";
    for (size_t i = 0; i < DEVICES; i++) {
        if (strcmp(text, devices[i].name) == 0) {
            input->device_name = devices[i].full;
            input->sms = devices[i].sms;
            capability = devices[i].capability;
        }
    }
    if (capability == 0 && !read_capability(text, &capability, &input->sms)) {
        print_error("unknown device '%s'; use h200, or X.Y:SMS such as 10.0:148 ('pdltool info' "
                    "prints them for the devices of this machine)",
                    text);
        return false;
    }
    if (!find_sm(capability, &input->sm)) {
        print_error("'%s': no header of CUDA 13.5 says what an SM of compute capability %d.%d has",
                    text, capability / 10, capability % 10);
        return false;
    }
    input->device = -1;
    input->disabled = pdl_variable_read(PDL_VARIABLE(PDL_OVERLAP)).value[0] == 0;
    return true;
}
