/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "common/json.h"
#include "sim/output.h"

static void set_us(json_t *object, const char *key, double ns)
{
    json_set(object, key, json_real(round(ns) / 1e3));
}

static json_t *result_json(const struct sim_program *program, const struct sim_result *result,
                           const struct sim_result *plain)
{
    json_t *const root = json_new_object();
    json_t *const launches = json_new_array();
    json_set(root, "schema", json_number(1));
    json_set(root, "tool", json_text("pdltool sim"));
    json_set(root, "device", json_text(program->device.name));
    set_us(root, "total_us", result->end);
    if (plain != NULL) {
        set_us(root, "without_overlap_us", plain->end);
    }
    json_set(root, "events", json_number((int64_t)result->events));
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct sim_outcome *const outcome = &result->outcomes[i];
        const struct sim_kernel *const kernel =
            &program->kernels.items[program->launches.items[i].kernel];
        json_t *const launch = json_new_object();
        json_set(launch, "kernel", json_text(kernel->name));
        json_set(launch, "stream",
                 json_text(program->tracks.items[program->launches.items[i].track]));
        set_us(launch, "start_us", outcome->start);
        if (kernel->waits) {
            set_us(launch, "waited_us", outcome->waited);
        } else {
            json_set(launch, "waited_us", json_null());
        }
        set_us(launch, "triggered_us", outcome->triggered);
        set_us(launch, "end_us", outcome->end);
        set_us(launch, "complete_us", outcome->completed);
        json_set(launch, "busiest", json_number(outcome->busiest));
        json_add(launches, launch);
    }
    json_set(root, "launches", launches);
    return root;
}

static json_t *sweep_json(const struct sim_try *tries, int steps)
{
    json_t *const array = json_new_array();
    for (int i = 0; i <= steps; i++) {
        json_t *const item = json_new_object();
        json_set(item, "trigger", json_real(tries[i].share));
        set_us(item, "total_us", tries[i].ns);
        json_add(array, item);
    }
    return array;
}

bool sim_print_json(const struct sim_program *program, const struct sim_result *result,
                    const struct sim_result *plain, const struct sim_try *tries, int steps)
{
    json_t *const root = result_json(program, result, plain);
    if (tries != NULL) {
        json_set(root, "what_if", sweep_json(tries, steps));
    }
    return json_print(root);
}
