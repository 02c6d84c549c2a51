/* SPDX-License-Identifier: MIT */
#include "bench/gpu_state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "bench/gpu.h"
#include "common/memory.h"

/* NVML's ABI, as nvml.h declares it: that header is in no package of its own. */
typedef struct nvml_device *nvml_device;
enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

static struct {
    int (*init)(void);
    int (*driver_version)(char *version, unsigned length);
    int (*by_bus_id)(const char *bus_id, nvml_device *device);
    int (*clock)(nvml_device device, int type, unsigned *mhz);
    int (*temperature)(nvml_device device, int sensor, unsigned *celsius);
    int (*power)(nvml_device device, unsigned *milliwatts);
    int (*reasons)(nvml_device device, unsigned long long *reasons);
} nvml;

static bool open_nvml(void)
{
    static int state; /* 0: not tried, 1: there, -1: not there */
    if (state != 0) {
        return state > 0;
    }
    state = -1;
    void *const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == NULL) {
        return false;
    }
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"nvmlInit_v2", &nvml.init},
        {"nvmlSystemGetDriverVersion", &nvml.driver_version},
        {"nvmlDeviceGetHandleByPciBusId_v2", &nvml.by_bus_id},
        {"nvmlDeviceGetClockInfo", &nvml.clock},
        {"nvmlDeviceGetTemperature", &nvml.temperature},
        {"nvmlDeviceGetPowerUsage", &nvml.power},
        {"nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.reasons},
    };
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *const found = dlsym(library, functions[i].name);
        if (found == NULL) {
            return false;
        }
        memcpy(functions[i].place, &found, sizeof(found));
    }
    if (nvml.init() != NVML_SUCCESS) {
        return false;
    }
    state = 1;
    return true;
}

/* The bits of NVML's clock event reasons; those that mean "as fast as wanted" are left out. */
static void name_reasons(unsigned long long reasons, char *to, size_t size)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{1, "application clocks setting"},
                 {2, "power cap"},
                 {3, "hardware slowdown"},
                 {4, "sync boost"},
                 {5, "software thermal slowdown"},
                 {6, "hardware thermal slowdown"},
                 {7, "power brake"},
                 {8, "display clock setting"}};
    size_t used = 0;
    (void)snprintf(to, size, "nothing");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && used < size; i++) {
        if ((reasons >> names[i].bit & 1) != 0) {
            used += (size_t)snprintf(to + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     names[i].name);
        }
    }
}

bool gpu_state_get(struct gpu_state *state)
{
    char bus_id[32];
    nvml_device device = NULL;
    unsigned milliwatts = 0;
    unsigned long long reasons = 0;
    memset(state, 0, sizeof(*state));
    if (!open_nvml() ||
        cu.cuDeviceGetPCIBusId(bus_id, sizeof(bus_id), gpu.device) != CUDA_SUCCESS ||
        nvml.by_bus_id(bus_id, &device) != NVML_SUCCESS ||
        nvml.clock(device, NVML_CLOCK_SM, &state->sm_clock_mhz) != NVML_SUCCESS ||
        nvml.clock(device, NVML_CLOCK_MEMORY, &state->memory_clock_mhz) != NVML_SUCCESS ||
        nvml.temperature(device, NVML_TEMPERATURE_GPU, &state->temperature_c) != NVML_SUCCESS ||
        nvml.power(device, &milliwatts) != NVML_SUCCESS ||
        nvml.reasons(device, &reasons) != NVML_SUCCESS) {
        return false;
    }
    state->power_w = milliwatts / 1e3;
    name_reasons(reasons, state->held_back_by, sizeof(state->held_back_by));
    return true;
}

/* The kernel module's line is "NVRM version: NVIDIA ... Kernel Module  580.65.06  ...": the first word that
 * begins with a digit and has a dot. */
static char *driver_of_module(void)
{
    char line[256] = "";
    char *rest = NULL;
    char *found = NULL;
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (file == NULL) {
        return NULL;
    }
    if (fgets(line, sizeof(line), file) != NULL) {
        for (char *word = strtok_r(line, " \t\n", &rest); word != NULL && found == NULL;
             word = strtok_r(NULL, " \t\n", &rest)) {
            if (*word >= '0' && *word <= '9' && strchr(word, '.') != NULL) {
                found = copy_text(word);
            }
        }
    }
    (void)fclose(file);
    return found;
}

char *gpu_state_driver(void)
{
    char version[96];
    if (open_nvml() && nvml.driver_version(version, sizeof(version)) == NVML_SUCCESS) {
        return copy_text(version);
    }
    return driver_of_module();
}
