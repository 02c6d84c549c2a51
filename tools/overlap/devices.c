/* SPDX-License-Identifier: MIT */
/* Devices that `pdltool overlap` knows without having them. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"
#include "os/environment.h"
#include "overlap/spec.h"

enum { KIB = 1024 };

/* What an SM has: as in cuda/__device/arch_traits.h of libcu++ 13.3.5 (CUDA 13.5); blocks and barriers as in
 * cuda_occupancy.h of CUDA 13.5, which agrees on blocks. docs/overlap.md has the table and what is not in it. */
static const struct pdl_sm sms[] = {
    {80, 2048, 1024, 32, 32, 65536, 164 * KIB, 163 * KIB, KIB, 64},
    {86, 1536, 1024, 32, 16, 65536, 100 * KIB, 99 * KIB, KIB, 16},
    {87, 1536, 1024, 32, 16, 65536, 164 * KIB, 163 * KIB, KIB, 16},
    {88, 1536, 1024, 32, 16, 65536, 100 * KIB, 99 * KIB, KIB, 16},
    {89, 1536, 1024, 32, 24, 65536, 100 * KIB, 99 * KIB, KIB, 24},
    {90, 2048, 1024, 32, 32, 65536, 228 * KIB, 227 * KIB, KIB, 64},
    {100, 2048, 1024, 32, 32, 65536, 228 * KIB, 227 * KIB, KIB, 64},
    {103, 2048, 1024, 32, 32, 65536, 228 * KIB, 227 * KIB, KIB, 32},
    {107, 1024, 1024, 32, 16, 65536, 228 * KIB, 227 * KIB, KIB, 16},
    {110, 1536, 1024, 32, 24, 65536, 228 * KIB, 227 * KIB, KIB, 24},
    {120, 1536, 1024, 32, 24, 65536, 100 * KIB, 99 * KIB, KIB, 24},
    {121, 1536, 1024, 32, 24, 65536, 100 * KIB, 99 * KIB, KIB, 24},
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

static const struct pdl_sm *find_sm(int32_t capability)
{
    for (size_t i = 0; i < CAPABILITIES; i++) {
        if (sms[i].compute_capability == capability) {
            return &sms[i];
        }
    }
    return NULL;
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

static bool ask_machine(int ordinal, struct pdl_overlap_input *input, char name[128])
{
    pdl_device_info info = PDL_DEVICE_INFO_INIT;
    if (pdl_device_get(ordinal, &info) != PDL_SUCCESS) {
        print_error("device %d: %s; --device h200 needs no device", ordinal,
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
    input->disabled = info.overlap_reason == PDL_REASON_DISABLED;
    (void)snprintf(name, 128, "%s", info.name);
    input->device_name = name;
    return true;
}

static void fill(struct pdl_overlap_input *input, const struct pdl_sm *sm, uint32_t count)
{
    input->sm = *sm;
    input->sms = count;
    input->device = -1;
    input->disabled = pdl_variable_read(PDL_VARIABLE(PDL_OVERLAP)).value[0] == 0;
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

/* X.Y:SMS. Says if there is nothing to say of such an SM. */
static bool read_capability(const char *text, struct pdl_overlap_input *input, char name[128],
                            bool *undocumented)
{
    const char *at = text;
    const uint32_t major = read_number(&at, '.', 99);
    if (major == 0 || !isdigit((unsigned char)at[0]) || at[1] != ':') {
        return false;
    }
    const int32_t capability = (int32_t)major * 10 + (at[0] - '0');
    const struct pdl_sm *sm = find_sm(capability);
    at += 2;
    const uint32_t count = read_number(&at, '\0', 65536);
    if (count == 0) {
        return false;
    }
    if (sm == NULL) {
        *undocumented = true;
        print_error("'%s': no header of CUDA 13.5 says what an SM of compute capability %d.%d has",
                    text, capability / 10, capability % 10);
        return false;
    }
    fill(input, sm, count);
    (void)snprintf(name, 128, "a device");
    return true;
}

static bool find_name(const char *text, struct pdl_overlap_input *input, char name[128])
{
    for (size_t i = 0; i < DEVICES; i++) {
        if (strcmp(text, devices[i].name) == 0) {
            fill(input, find_sm(devices[i].capability), devices[i].sms);
            (void)snprintf(name, 128, "%s", devices[i].full);
            return true;
        }
    }
    return false;
}

static void print_unknown_device(const char *text)
{
    char *list = NULL;
    size_t size = 0;
    FILE *const to = memory_open(&list, &size);
    for (size_t i = 0; i < DEVICES; i++) {
        (void)fprintf(to, "%s, ", devices[i].name);
    }
    memory_close(to);
    print_error("unknown device '%s'; use %sX.Y:SMS such as 10.0:148, or the number of a device of "
                "this machine",
                text, list);
    free(list);
}

bool overlap_device_find(const char *text, struct pdl_overlap_input *input, char name[128])
{
    char *end = NULL;
    errno = 0;
    const long ordinal = strtol(text, &end, 10);
    if (end != text && *end == '\0' && errno == 0 && ordinal >= 0 && ordinal < 1024) {
        return ask_machine((int)ordinal, input, name);
    }
    bool undocumented = false;
    if (!find_name(text, input, name) && !read_capability(text, input, name, &undocumented)) {
        if (!undocumented) {
            print_unknown_device(text);
        }
        return false;
    }
    input->device_name = name;
    return true;
}
