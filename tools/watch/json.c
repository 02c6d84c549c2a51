/* SPDX-License-Identifier: MIT */
/* The report as JSON. test/watch/watch.schema.json has all keys, docs/watch.md explains some. */
#include "common/json.h"

#include <stdlib.h>

#include "common/memory.h"
#include "watch/model.h"
#include "watch/start.h"

static json_t *count_json(uint64_t count)
{
    return json_number(count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

static json_t *known(pdl_known value)
{
    return json_text(known_name((uint32_t)value));
}

/* The reasons with how often each. */
static json_t *reasons_json(const uint64_t reasons[WATCH_REASON_COUNT])
{
    json_t *object = json_new_object();
    for (unsigned i = 0; i < WATCH_REASON_COUNT; i++) {
        if (reasons[i] > 0) {
            json_set(object, watch_reason_word((enum watch_reason)i), count_json(reasons[i]));
        }
    }
    return object;
}

static json_t *index_json(uint32_t index)
{
    return index == WATCH_NONE ? json_null() : json_number(index);
}

static json_t *program_json(const struct started *program)
{
    if (program == NULL) {
        return json_null();
    }
    json_t *object = json_new_object();
    json_set(object, "exit_code", json_number(program->exit_code));
    json_set(object, "signal", json_number_from(program->signal, 1));
    json_set(object, "started", json_boolean(!program->not_started));
    return object;
}

static json_t *sums_json(const struct watch *watch)
{
    json_t *object = json_new_object();
    const bool times = watch->has_times;
    json_set(object, "launches", count_json(watch->sums.launches));
    json_set(object, "asked", count_json(watch->sums.asked));
    json_set(object, "granted", count_json(watch->sums.granted));
    json_set(object, "overlapped", times ? count_json(watch->sums.overlapped) : json_null());
    json_set(object, "graph_runs", count_json(watch->sums.graph_runs));
    json_set(object, "races",
             watch->sums.launches > 0 ? count_json(watch->sums.races) : json_null());
    json_set(object, "unobserved", json_text(watch_unseen_word(watch_unseen(watch))));
    json_set(object, "kernel_ns", times ? count_json(watch->sums.kernel_ns) : json_null());
    json_set(object, "busy_ns", times ? count_json(watch->sums.busy_ns) : json_null());
    json_set(object, "saved_ns", times ? count_json(watch->sums.saved_ns) : json_null());
    json_set(object, "saving_ns", times ? count_json(watch->sums.saving_ns) : json_null());
    json_set(object, "added", count_json(watch->sums.added));
    json_set(object, "removed", count_json(watch->sums.removed));
    json_set(object, "not_proved", count_json(watch->sums.not_proved));
    json_set(object, "added_overlapped",
             times ? count_json(watch->sums.added_overlapped) : json_null());
    json_set(object, "added_close", times ? count_json(watch->sums.added_close) : json_null());
    json_set(object, "added_saved_ns",
             times ? count_json(watch->sums.added_saved_ns) : json_null());
    json_set(object, "no_trigger", times ? count_json(watch->sums.no_trigger) : json_null());
    json_set(object, "late", times ? count_json(watch->sums.late) : json_null());
    json_set(object, "late_interval_ns",
             watch->sums.late > 0 ? count_json(watch->sums.late_interval_ns) : json_null());
    json_set(object, "late_kernel_ns",
             watch->sums.late > 0 ? count_json(watch->sums.late_kernel_ns) : json_null());
    json_set(object, "instrumented",
             watch->instruments ? count_json(watch->sums.instrumented) : json_null());
    return object;
}

static json_t *processes_json(const struct watch *watch)
{
    json_t *array = json_new_array();
    for (size_t i = 0; i < watch->processes.count; i++) {
        const struct watch_process *const process = &watch->processes.items[i];
        json_t *object = json_new_object();
        json_set(object, "recording", json_shown(process->path));
        json_set(object, "command", json_shown(process->command));
        json_set(object, "id", json_number(process->id));
        json_set(object, "parent", json_number(process->parent));
        json_set(object, "cupti_version", json_number_from(process->cupti_version, 1));
        json_set(object, "driver_version", json_number_from(process->driver_version, 1));
        json_set(object, "start_ns", count_json(process->start_ns));
        json_set(object, "start_realtime_ns", count_json(process->start_realtime_ns));
        json_set(object, "lost", count_json(process->lost));
        json_set(object, "lost_device", count_json(process->lost_device));
        json_set(object, "ended", json_boolean(process->ended));
        json_set(object, "damaged", json_boolean(process->damaged));
        json_add(array, object);
    }
    return array;
}

static json_t *devices_json(const struct watch *watch)
{
    json_t *array = json_new_array();
    for (size_t i = 0; i < watch->devices.count; i++) {
        const struct watch_device *const device = &watch->devices.items[i];
        json_t *object = json_new_object();
        json_set(object, "process", json_number(device->process));
        json_set(object, "context", json_number(device->context));
        json_set(object, "device", json_number(device->device));
        json_set(object, "name", json_shown(device->name));
        json_set(object, "compute_capability", json_number(device->capability));
        json_set(object, "sms", json_number(device->sms));
        json_add(array, object);
    }
    return array;
}

static json_t *kernel_json(const struct watch *watch, const struct watch_kernel *kernel)
{
    const bool times = watch->has_times;
    json_t *object = json_new_object();
    json_set(object, "name", json_shown(kernel->name));
    json_set(object, "demangled", json_shown(kernel->shown));
    json_set(object, "registers", json_number_from(kernel->registers, 0));
    json_set(object, "static_shared_memory", json_number_from(kernel->static_shared, 0));
    json_set(object, "ptx_version", json_number_from(kernel->ptx_version, 1));
    json_set(object, "binary_version", json_number_from(kernel->binary_version, 1));
    json_set(object, "waits", known(kernel->waits));
    json_set(object, "triggers", known(kernel->triggers));
    json_set(object, "shown_to_wait", known(kernel->shown_to_wait));
    json_set(object, "work_before_wait",
             kernel->touches_before_wait_known ? json_boolean(kernel->work_before_wait)
                                               : json_null());
    json_set(object, "why_unknown", json_shown(kernel->why_unknown));
    json_set(object, "race", json_text(watch_race_word(kernel->race)));
    json_set(object, "finding", json_shown(kernel->finding));
    json_set(object, "launches", count_json(kernel->launches));
    json_set(object, "asked", count_json(kernel->asked));
    json_set(object, "granted", count_json(kernel->granted));
    json_set(object, "overlapped", times ? count_json(kernel->overlapped) : json_null());
    json_set(object, "added", count_json(kernel->added));
    json_set(object, "removed", count_json(kernel->removed));
    json_set(object, "not_proved", count_json(kernel->not_proved));
    json_set(object, "added_overlapped",
             times ? count_json(kernel->added_overlapped) : json_null());
    json_set(object, "added_close", times ? count_json(kernel->added_close) : json_null());
    json_set(object, "added_saved_ns", times ? count_json(kernel->added_saved_ns) : json_null());
    json_set(object, "time_ns", times ? count_json(kernel->time_ns) : json_null());
    json_set(object, "overlap_ns", times ? count_json(kernel->overlap_ns) : json_null());
    json_set(object, "reasons", reasons_json(kernel->reasons));
    json_set(object, "instrumented", json_text(watch_instrumented_word(kernel->instrumented)));
    json_set(object, "why_not_instrumented", json_shown(kernel->why_not_instrumented));
    return object;
}

static json_t *pair_json(const struct watch_pair *pair)
{
    json_t *object = json_new_object();
    json_set(object, "first", index_json(pair->first));
    json_set(object, "second", index_json(pair->second));
    json_set(object, "in_graph", json_boolean(pair->in_graph));
    json_set(object, "count", count_json(pair->count));
    json_set(object, "overlapped", count_json(pair->overlapped));
    json_set(object, "overlap_ns", count_json(pair->overlap_ns));
    json_set(object, "gap_ns", count_json(pair->gap_ns));
    json_set(object, "saving_ns", count_json(pair->saving_ns));
    json_set(object, "reason", json_text(watch_reason_word(pair->reason)));
    json_set(object, "reasons", reasons_json(pair->reasons));
    json_set(object, "detail", json_shown(pair->detail));
    return object;
}

bool watch_print_json(const struct watch *watch)
{
    const unsigned version = pdl_version();
    char *const tool =
        format_text("pdltool %u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    json_t *root = json_new_object();
    json_t *kernels = json_new_array();
    json_t *pairs = json_new_array();
    json_t *notes = json_new_array();
    for (size_t i = 0; i < watch->kernels.count; i++) {
        json_add(kernels, kernel_json(watch, &watch->kernels.items[i]));
    }
    for (size_t i = 0; i < watch->pairs.count; i++) {
        json_add(pairs, pair_json(&watch->pairs.items[i]));
    }
    for (size_t i = 0; i < watch->notes.count; i++) {
        json_add(notes, json_shown(watch->notes.items[i]));
    }
    json_set(root, "version", json_number(1));
    json_set(root, "tool", json_text(tool));
    json_set(root, "program", program_json(watch->program));
    json_set(root, "has_times", json_boolean(watch->has_times));
    json_set(root, "verdict", sums_json(watch));
    json_set(root, "processes", processes_json(watch));
    json_set(root, "devices", devices_json(watch));
    json_set(root, "kernels", kernels);
    json_set(root, "pairs", pairs);
    json_set(root, "notes", notes);
    free(tool);
    return json_print(root);
}
