/* SPDX-License-Identifier: MIT */
/* The fake driver's environment and its log. */
#define _GNU_SOURCE
#include "fake_cuda.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct fake_state fake;

static int number_of(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text != NULL && text[0] != '\0' ? atoi(text) : otherwise;
}

static FILE *stream_of(const char *variable)
{
    const char *path = getenv(variable);
    if (path == NULL || path[0] == '\0') {
        return NULL;
    }
    if (strcmp(path, "-") == 0) {
        return stderr;
    }
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        abort(); /* a test that asks for a log cannot do without it */
    }
    return file;
}

__attribute__((constructor)) static void fake_start(void)
{
    const char *capability = getenv("PDL_FAKE_CC");
    fake.devices = number_of("PDL_FAKE_DEVICES", 1);
    fake.driver_version = number_of("PDL_FAKE_DRIVER_VERSION", 13000);
    if (capability == NULL || sscanf(capability, "%d.%d", &fake.major, &fake.minor) != 2) {
        fake.major = 9;
        fake.minor = 0;
    }
    fake.ptx_version = number_of("PDL_FAKE_PTX_VERSION", 10 * fake.major + fake.minor);
    fake.log = stream_of("PDL_FAKE_LOG");
    fake.count = stream_of("PDL_FAKE_COUNT");
}

__attribute__((destructor)) static void fake_end(void)
{
    if (fake.count != NULL) {
        (void)fprintf(fake.count, "launches=%lu\n", atomic_load(&fake.launches));
        (void)fflush(fake.count);
    }
    if (fake.count != NULL && fake.count != stderr) {
        (void)fclose(fake.count);
    }
    if (fake.log != NULL && fake.log != stderr) {
        (void)fclose(fake.log);
    }
    fake.log = NULL;
}

void fake_log(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    flockfile(fake.log);
    (void)vfprintf(fake.log, format, arguments);
    (void)fputc('\n', fake.log);
    (void)fflush(fake.log); /* the program may be killed */
    funlockfile(fake.log);
    va_end(arguments);
}

/* A growing line; what does not fit is cut. */
struct line {
    char text[2048];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t room = sizeof(line->text) - line->length;
    const int written = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    if (written > 0) {
        line->length += (size_t)written < room ? (size_t)written : room - 1;
    }
}

static unsigned word_of(const CUlaunchAttributeValue *value, size_t index)
{
    unsigned word;
    memcpy(&word, value->pad + index * sizeof(word), sizeof(word));
    return word;
}

static void add_attribute(struct line *line, const CUlaunchAttribute *attribute)
{
    const CUlaunchAttributeValue *value = &attribute->value;
    switch ((int)attribute->id) {
    case 1:
        add(line, "ACCESS_POLICY_WINDOW={base=%p,bytes=%zu,hit_ratio=%g,hit=%d,miss=%d}",
            value->accessPolicyWindow.base_ptr, value->accessPolicyWindow.num_bytes,
            (double)value->accessPolicyWindow.hitRatio, (int)value->accessPolicyWindow.hitProp,
            (int)value->accessPolicyWindow.missProp);
        break;
    case 2:
        add(line, "COOPERATIVE=%d", value->cooperative);
        break;
    case 4:
    case 11:
        add(line, "%s=%u,%u,%u",
            (int)attribute->id == 4 ? "CLUSTER_DIMENSION" : "PREFERRED_CLUSTER_DIMENSION",
            word_of(value, 0), word_of(value, 1), word_of(value, 2));
        break;
    case 5:
        add(line, "CLUSTER_SCHEDULING_POLICY_PREFERENCE=%u", word_of(value, 0));
        break;
    case 6:
        add(line, "PROGRAMMATIC_STREAM_SERIALIZATION=%u", word_of(value, 0));
        break;
    case 7:
        add(line, "PROGRAMMATIC_EVENT={event=%p,flags=%d,trigger_at_block_start=%d}",
            (void *)value->programmaticEvent.event, value->programmaticEvent.flags,
            value->programmaticEvent.triggerAtBlockStart);
        break;
    case 8:
        add(line, "PRIORITY=%d", value->priority);
        break;
    case 9:
        add(line, "MEM_SYNC_DOMAIN_MAP=%u,%u", value->memSyncDomainMap.default_,
            value->memSyncDomainMap.remote);
        break;
    case 10:
        add(line, "MEM_SYNC_DOMAIN=%u", word_of(value, 0));
        break;
    case 12:
        add(line, "LAUNCH_COMPLETION_EVENT={event=%p,flags=%u}",
            (void *)value->programmaticEvent.event, word_of(value, 2));
        break;
    case 13:
        add(line, "DEVICE_UPDATABLE_KERNEL_NODE=%u", word_of(value, 0));
        break;
    case 14:
        add(line, "PREFERRED_SHARED_MEMORY_CARVEOUT=%u", word_of(value, 0));
        break;
    case 16:
        add(line, "NVLINK_UTIL_CENTRIC_SCHEDULING=%u", word_of(value, 0));
        break;
    default:
        add(line, "ATTRIBUTE_%d", (int)attribute->id);
        break;
    }
}

void fake_format_attribute(char *text, size_t size, const CUlaunchAttribute *attribute)
{
    struct line line = {.length = 0};
    add_attribute(&line, attribute);
    (void)snprintf(text, size, "%.*s", (int)line.length, line.text);
}

void fake_log_launch(const char *call, const CUlaunchConfig *config, const char *name)
{
    struct line line = {.length = 0};
    add(&line, "%s f=%s grid=%u,%u,%u block=%u,%u,%u smem=%u stream=0x%llx attrs=[", call, name,
        config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY,
        config->blockDimZ, config->sharedMemBytes, (unsigned long long)(uintptr_t)config->hStream);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        add(&line, "%s", i > 0 ? ", " : "");
        add_attribute(&line, &config->attrs[i]);
    }
    add(&line, "]");
    fake_log("%s", line.text);
}
