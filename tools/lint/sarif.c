/* SPDX-License-Identifier: MIT */
/* Findings as SARIF 2.1.0, the form that code hosts and editors read. */
#include <stdlib.h>
#include <string.h>

#include "common/demangle.h"
#include "common/json.h"
#include "common/memory.h"
#include "common/shown.h"
#include "lint/lint.h"

/* Whether a number is a rule's: some were, and are not any more. */
static bool is_rule(int32_t value)
{
    return pdl_lint_rule_find(pdl_lint_rule_id((pdl_lint_rule)value)) == value;
}

/* Where a rule is in the run's list. */
static int32_t index_of(int32_t rule)
{
    int32_t index = 0;
    for (int32_t value = 1; value < rule; value++) {
        index += is_rule(value);
    }
    return index;
}

static json_t *message(const char *text)
{
    json_t *object = json_new_object();
    json_set(object, "text", json_shown(text));
    return object;
}

/* ---- places -----------------------------------------------------------------------------------*/

/* A path as a URI reference: relative as it is, absolute as a file URI. */
static char *uri_of(const char *path)
{
    static const char unreserved[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789-._~/";
    static const char digits[] = "0123456789ABCDEF";
    const char *scheme = path[0] == '/' ? "file://" : "";
    char *uri = allocate(strlen(scheme) + 3 * strlen(path) + 1, 1);
    char *to = stpcpy(uri, scheme);
    for (const char *at = path; *at != '\0'; at++) {
        const unsigned char c = (unsigned char)*at;
        if (strchr(unreserved, c) != NULL) {
            *to++ = *at;
        } else {
            *to++ = '%';
            *to++ = digits[c >> 4];
            *to++ = digits[c & 15];
        }
    }
    *to = '\0';
    return uri;
}

static json_t *physical_location(const char *path, uint32_t line, uint32_t column)
{
    json_t *physical = json_new_object();
    json_t *artifact = json_new_object();
    char *cut = shown(path);
    char *uri = uri_of(cut);
    json_set(artifact, "uri", json_text(uri));
    json_set(physical, "artifactLocation", artifact);
    free(uri);
    free(cut);
    if (line > 0) {
        json_t *region = json_new_object();
        json_set(region, "startLine", json_number(line));
        if (column > 0) {
            json_set(region, "startColumn", json_number(column));
        }
        json_set(physical, "region", region);
    }
    return physical;
}

/* The kernels of an item, each once. Those for several architectures follow each other seldom, so
 * that what was listed is kept in an object. */
static json_t *logical_locations(const struct lint_item *item)
{
    json_t *list = json_new_array();
    json_t *seen = json_new_object();
    for (size_t i = 0; i < item->count; i++) {
        const char *name = lint_kernel_of(&item->entries[i])->info->name;
        json_t *location = json_new_object();
        json_t *key = json_shown(name);
        char *demangled = demangle(name);
        json_set(location, "name", json_text(demangled));
        json_set(location, "fullyQualifiedName", json_text(demangled));
        json_set(location, "decoratedName", json_shown(name));
        json_set(location, "kind", json_text("function"));
        free(demangled);
        if (json_object_get(seen, json_string_value(key)) == NULL) {
            json_set(seen, json_string_value(key), json_true());
            json_add(list, location);
        } else {
            json_decref(location);
        }
        json_decref(key);
    }
    json_decref(seen);
    return list;
}

static json_t *location_of(const struct lint_item *item)
{
    const struct lint_entry *entry = &item->entries[0];
    const struct lint_place place = lint_place_of(entry);
    json_t *location = json_new_object();
    /* A line of PTX that is inside of another file is no line of that file. */
    const bool whole = place.in_source || strcmp(place.file, entry->input->name) == 0;
    json_set(location, "physicalLocation",
             physical_location(whole ? place.file : entry->input->name, whole ? place.line : 0,
                               whole ? place.column : 0));
    json_set(location, "logicalLocations", logical_locations(item));
    return location;
}

/* The other places of the chain, from the inside out: what is inlined to the finding's line, and where that is
 * inlined to. */
static json_t *related_locations(const pdl_lint_finding *finding)
{
    json_t *list = json_new_array();
    const pdl_inspect_place *headline = lint_headline(finding);
    bool inside = true;
    for (uint32_t i = 0; i < finding->place_count; i++) {
        const pdl_inspect_place *place = finding->places[i];
        inside = inside && place != headline;
        if (place->file == NULL || place == headline) {
            continue;
        }
        json_t *location = json_new_object();
        const char *function = inside  ? place->inlined
                               : i > 0 ? finding->places[i - 1]->inlined
                                       : NULL;
        char *name = function != NULL ? demangle(function) : NULL;
        char *text = inside ? format_text("the access, in %s", name != NULL ? name : "the kernel")
                     : name != NULL ? format_text("%s is inlined here", name)
                                    : copy_text("inlined here");
        json_set(location, "physicalLocation",
                 physical_location(place->file, place->line, place->column));
        json_set(location, "message", message(text));
        free(text);
        free(name);
        json_add(list, location);
    }
    return list;
}

/* ---- results ----------------------------------------------------------------------------------*/

/* The reason is the very string of the suppression that was used; a marker's is the inspection's.
 */
static bool is_from_list(const struct lint_report *report, const char *reason)
{
    for (size_t i = 0; i < report->allowance_count; i++) {
        if (strcmp(report->allowances[i].what, "marker") != 0 &&
            report->allowances[i].suppression->reason == reason) {
            return true;
        }
    }
    return false;
}

static json_t *suppressions_of(const struct lint_report *report, const pdl_lint_finding *finding)
{
    json_t *list = json_new_array();
    if (finding->suppressed != NULL) {
        json_t *suppression = json_new_object();
        json_set(suppression, "kind",
                 json_text(is_from_list(report, finding->suppressed) ||
                                   lint_sifted(finding) > LINT_SIFTED_SUPPRESSED
                               ? "external"
                               : "inSource"));
        json_set(suppression, "status", json_text("accepted"));
        json_set(suppression, "justification", json_shown(finding->suppressed));
        json_add(list, suppression);
    }
    return list;
}

static json_t *result_of(const struct lint_report *report, const struct lint_item *item)
{
    const pdl_lint_finding *finding = item->entries[0].finding;
    json_t *result = json_new_object();
    json_t *locations = json_new_array();
    json_t *partial = json_new_object();
    json_t *properties = json_new_object();
    char *pointers = lint_pointers_text(item);
    char *text = format_text("%s%s%s%s%s", finding->message, *pointers != '\0' ? ", " : "",
                             pointers, finding->advice != NULL ? "; " : "",
                             finding->advice != NULL ? finding->advice : "");
    free(pointers);
    json_set(result, "ruleId", json_text(pdl_lint_rule_id((pdl_lint_rule)finding->rule)));
    json_set(result, "ruleIndex", json_number(index_of(finding->rule)));
    json_set(result, "level", json_text(pdl_lint_level_name((pdl_lint_level)finding->level)));
    json_set(result, "message", message(text));
    json_add(locations, location_of(item));
    json_set(result, "locations", locations);
    json_set(result, "relatedLocations", related_locations(finding));
    json_set(result, "suppressions", suppressions_of(report, finding));
    json_set(partial, "pdlLint/v2", json_text(item->fingerprint));
    json_set(result, "partialFingerprints", partial);
    json_set(properties, "ptxOrigin", json_shown(lint_image_of(&item->entries[0])->origin));
    json_set(properties, "ptxLine", json_number(finding->line));
    json_set(properties, "machineCode", json_shown(finding->machine));
    json_set(properties, "instructions", json_number(finding->count));
    json_set(result, "properties", properties);
    free(text);
    return result;
}

/* ---- the run ----------------------------------------------------------------------------------*/

static json_t *rules(void)
{
    json_t *list = json_new_array();
    for (int value = 1; value < PDL_LINT_RULE_COUNT_; value++) {
        const pdl_lint_rule rule = (pdl_lint_rule)value;
        const char *id = pdl_lint_rule_id(rule);
        if (!is_rule(value)) {
            continue;
        }
        json_t *object = json_new_object();
        json_t *configuration = json_new_object();
        char *page = format_text("See share/doc/libpdl/docs/lint/%s.md.", id);
        json_set(configuration, "level", json_text(pdl_lint_level_name(pdl_lint_rule_level(rule))));
        json_set(object, "id", json_text(id));
        json_set(object, "shortDescription", message(pdl_lint_rule_summary(rule)));
        json_set(object, "help", message(page));
        json_set(object, "defaultConfiguration", configuration);
        json_add(list, object);
        free(page);
    }
    return list;
}

static json_t *tool(void)
{
    json_t *object = json_new_object();
    json_t *driver = json_new_object();
    const unsigned version = pdl_version();
    char *text = format_text("%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    json_set(driver, "name", json_text("pdltool lint"));
    json_set(driver, "version", json_text(text));
    json_set(driver, "semanticVersion", json_text(text));
    json_set(driver, "rules", rules());
    json_set(object, "driver", driver);
    free(text);
    return object;
}

static json_t *notification(const char *level, const char *text, json_t *physical)
{
    json_t *object = json_new_object();
    json_set(object, "level", json_text(level));
    json_set(object, "message", message(text));
    if (physical != NULL) {
        json_t *locations = json_new_array();
        json_t *location = json_new_object();
        json_set(location, "physicalLocation", physical);
        json_add(locations, location);
        json_set(object, "locations", locations);
    }
    return object;
}

/* What could not be read, and suppressions that are not needed. */
static json_t *invocations(const struct lint_report *report)
{
    json_t *list = json_new_array();
    json_t *invocation = json_new_object();
    json_t *notifications = json_new_array();
    for (size_t i = 0; i < report->inputs.count; i++) {
        const struct input *input = &report->inputs.items[i];
        if (input->inspection == NULL) {
            json_add(notifications, notification("error", input->error.message,
                                                 physical_location(input->name, input->error.line,
                                                                   input->error.column)));
        }
    }
    for (size_t i = 0; i < report->allowance_count; i++) {
        const struct lint_allowance *allowance = &report->allowances[i];
        if (lint_is_unused(report, allowance)) {
            char *text = format_text("%s: unused %s '%s'", allowance->suppression->origin,
                                     allowance->what, allowance->suppression->text);
            json_add(notifications, notification("warning", text, NULL));
            free(text);
        }
    }
    if (!lint_is_all_checked(report)) {
        char *unchecked = lint_unchecked_text(report);
        char *text = format_text("not checked: %s", unchecked);
        json_add(notifications, notification("warning", text, NULL));
        free(text);
        free(unchecked);
    }
    json_set(invocation, "executionSuccessful",
             json_boolean(!report->inputs.incomplete && !report->unchecked.none));
    json_set(invocation, "exitCode", json_number(report->exit_code));
    json_set(invocation, "toolExecutionNotifications", notifications);
    json_add(list, invocation);
    return list;
}

bool lint_print_sarif(const struct lint_report *report)
{
    json_t *root = json_new_object();
    json_t *runs = json_new_array();
    json_t *run = json_new_object();
    json_t *results = json_new_array();
    for (size_t i = 0; i < report->item_count; i++) {
        if (report->items[i].entries[0].finding->level >= (int32_t)report->level) {
            json_add(results, result_of(report, &report->items[i]));
        }
    }
    json_set(root, "$schema",
             json_text("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                       "sarif-schema-2.1.0.json"));
    json_set(root, "version", json_text("2.1.0"));
    json_set(run, "tool", tool());
    json_set(run, "invocations", invocations(report));
    json_set(run, "columnKind", json_text("utf16CodeUnits"));
    json_set(run, "results", results);
    json_add(runs, run);
    json_set(root, "runs", runs);
    return json_print(root);
}
