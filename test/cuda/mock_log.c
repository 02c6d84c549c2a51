/* SPDX-License-Identifier: MIT */
/* The model of CUDA: what launches, attributes and nodes look like in the log. */
#include <stdarg.h>
#include <string.h>

#include "mock_entry.h"

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
    static const char *const words[] = {[2] = "COOPERATIVE",
                                        [5] = "CLUSTER_SCHEDULING_POLICY_PREFERENCE",
                                        [6] = "PROGRAMMATIC_STREAM_SERIALIZATION",
                                        [10] = "MEM_SYNC_DOMAIN",
                                        [13] = "DEVICE_UPDATABLE_KERNEL_NODE",
                                        [14] = "PREFERRED_SHARED_MEMORY_CARVEOUT",
                                        [16] = "NVLINK_UTIL_CENTRIC_SCHEDULING"};
    const CUlaunchAttributeValue *value = &attribute->value;
    const int id = (int)attribute->id;
    switch (id) {
    case 1:
        add(line, "ACCESS_POLICY_WINDOW={base=%p,bytes=%zu,hit_ratio=%g,hit=%d,miss=%d}",
            value->accessPolicyWindow.base_ptr, value->accessPolicyWindow.num_bytes,
            (double)value->accessPolicyWindow.hitRatio, (int)value->accessPolicyWindow.hitProp,
            (int)value->accessPolicyWindow.missProp);
        break;
    case 4:
    case 11:
        add(line, "%s=%u,%u,%u", id == 4 ? "CLUSTER_DIMENSION" : "PREFERRED_CLUSTER_DIMENSION",
            word_of(value, 0), word_of(value, 1), word_of(value, 2));
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
    case 12:
        add(line, "LAUNCH_COMPLETION_EVENT={event=%p,flags=%u}",
            (void *)value->programmaticEvent.event, word_of(value, 2));
        break;
    default:
        if (id > 0 && id < (int)(sizeof(words) / sizeof(words[0])) && words[id] != NULL) {
            add(line, "%s=%u", words[id], word_of(value, 0));
        } else {
            add(line, "ATTRIBUTE_%d", id);
        }
        break;
    }
}

void mock_format_attribute(char *text, size_t size, const CUlaunchAttribute *attribute)
{
    struct line line = {.length = 0};
    add_attribute(&line, attribute);
    (void)snprintf(text, size, "%.*s", (int)line.length, line.text);
}

void mock_log_launch(const CUlaunchConfig *config, const char *name)
{
    struct line line = {.length = 0};
    add(&line, "f=%s grid=%u,%u,%u block=%u,%u,%u smem=%u stream=0x%llx attrs=[", name,
        config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY,
        config->blockDimZ, config->sharedMemBytes, (unsigned long long)(uintptr_t)config->hStream);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        add(&line, "%s", i > 0 ? ", " : "");
        add_attribute(&line, &config->attrs[i]);
    }
    add(&line, "]");
    mock_log("%s", line.text);
}

void mock_log_node(const char *head, const struct mock_node_params *params)
{
    struct line line = {.length = 0};
    int device = 0;
    const struct mock_kernel *kernel = mock_kernel_of_params(params, &device);
    for (unsigned i = 0; kernel != NULL && i < kernel->parameter_count; i++) {
        unsigned long long value = 0;
        const size_t size = kernel->parameter_sizes[i];
        add(&line, "%s", i > 0 ? ", " : "");
        if (size <= sizeof(value)) {
            memcpy(&value, params->arguments[i], size);
            add(&line, "0x%llx", value);
        } else {
            add(&line, "%zu bytes", size);
        }
    }
    mock_log("%sf=%s grid=%u,%u,%u block=%u,%u,%u smem=%u args=[%s]", head,
             kernel != NULL ? kernel->name : "?", params->grid[0], params->grid[1], params->grid[2],
             params->block[0], params->block[1], params->block[2], params->shared, line.text);
}
