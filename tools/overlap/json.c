/* SPDX-License-Identifier: MIT */
/* The answer of `pdltool overlap` as JSON. docs/overlap.md describes it. */
#include "common/json.h"
#include "overlap/spec.h"

static json_t *known(uint32_t value)
{
    return json_text(known_name(value));
}

static json_t *kernel_json(const struct overlap_spec *spec, uint32_t per_sm)
{
    const struct pdl_overlap_side *side = &spec->side;
    json_t *object = json_new_object();
    json_set(object, "name", json_text(spec->name));
    json_set(object, "origin", json_text(spec->origin));
    json_set(object, "blocks", json_number((int64_t)side->blocks));
    json_set(object, "threads", json_number(side->block.threads));
    json_set(object, "registers", json_number_from(spec->resources.registers, 0));
    json_set(object, "static_shared_memory", json_number_from(spec->resources.shared, 0));
    json_set(object, "dynamic_shared_memory", json_number(spec->resources.dynamic));
    json_set(object, "carveout", json_number_from(side->block.carveout, 0));
    json_set(object, "cluster", json_number_from(side->cluster, 1));
    json_set(object, "refused", json_text(spec->refused));
    json_set(object, "code", json_number_from(side->code, 0));
    json_set(object, "waits", known(side->waits));
    json_set(object, "triggers", known(side->triggers));
    json_set(object, "per_sm", side->block_known ? json_number(per_sm) : json_null());
    return object;
}

static json_t *device_json(const struct pdl_overlap_input *input)
{
    json_t *object = json_new_object();
    json_set(object, "name", json_text(input->device_name));
    json_set(object, "compute_capability", json_number(input->sm.compute_capability));
    json_set(object, "sms", json_number(input->sms));
    return object;
}

static json_t *wave_json(const pdl_overlap_report *report)
{
    json_t *object = json_new_object();
    json_set(object, "waves", json_number(report->primary_waves));
    json_set(object, "blocks", json_number((int64_t)report->last_wave));
    json_set(object, "most_on_sm", json_number(report->most_on_sm));
    json_set(object, "sms_with_most", json_number(report->sms_with_most));
    json_set(object, "fewest_on_sm", json_number(report->fewest_on_sm));
    json_set(object, "idle_sms", json_number(report->idle_sms));
    json_set(object, "fit_beside_most", json_number(report->fit_beside_most));
    json_set(object, "fit_beside_fewest", json_number(report->fit_beside_fewest));
    json_set(object, "may_fit_beside_most", json_number(report->may_fit_beside_most));
    json_set(object, "may_fit_beside_fewest", json_number(report->may_fit_beside_fewest));
    json_set(object, "fit_total", json_number((int64_t)report->fit_total));
    json_set(object, "first_out",
             report->first_out > 0 ? json_text(pdl_condition_name((pdl_condition)report->first_out))
                                   : json_null());
    return object;
}

static json_t *conditions_json(const pdl_overlap_report *report)
{
    json_t *array = json_new_array();
    for (uint32_t i = 0; i < report->condition_count; i++) {
        const pdl_condition_report *condition = &report->conditions[i];
        json_t *object = json_new_object();
        json_set(object, "condition",
                 json_text(pdl_condition_name((pdl_condition)condition->condition)));
        json_set(object, "met", known(condition->met));
        json_set(object, "message", json_text(condition->message));
        json_add(array, object);
    }
    return array;
}

static json_t *resources_json(const pdl_overlap_report *report)
{
    json_t *array = json_new_array();
    for (uint32_t i = 0; i < report->resource_count; i++) {
        const pdl_resource_report *resource = &report->resources[i];
        if (!resource->known) {
            continue;
        }
        json_t *object = json_new_object();
        json_set(object, "resource",
                 json_text(pdl_condition_name((pdl_condition)resource->condition)));
        json_set(object, "capacity", json_number(resource->capacity));
        json_set(object, "primary_block", json_number(resource->primary_block));
        json_set(object, "secondary_block", json_number(resource->secondary_block));
        json_set(object, "left", json_number(resource->left));
        json_set(object, "fit",
                 resource->fit < UINT32_MAX ? json_number(resource->fit) : json_null());
        json_set(object, "may_fit",
                 resource->may_fit < UINT32_MAX ? json_number(resource->may_fit) : json_null());
        json_set(object, "secondary_at_most", json_number_from(resource->secondary_at_most, 0));
        json_set(object, "primary_at_most", json_number_from(resource->primary_at_most, 0));
        json_add(array, object);
    }
    return array;
}

bool overlap_print_json(const struct pdl_overlap_input *input, const struct overlap_spec specs[2],
                        const pdl_overlap_report *report)
{
    json_t *root = json_new_object();
    json_set(root, "version", json_number(1));
    json_set(root, "device", device_json(input));
    json_set(root, "primary", kernel_json(&specs[0], report->primary_per_sm));
    json_set(root, "secondary", kernel_json(&specs[1], report->secondary_per_sm));
    json_set(root, "overlap", known(report->overlap));
    json_set(root, "early_launch", known(report->early_launch));
    json_set(root, "message", json_text(report->message));
    json_set(root, "last_wave", wave_json(report));
    json_set(root, "conditions", conditions_json(report));
    json_set(root, "resources", resources_json(report));
    return json_print(root);
}
