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

struct pair {
    const char *key;
    json_t *value;
};

static json_t *object_of(const struct pair *pairs)
{
    json_t *object = json_new_object();
    for (; pairs->key != NULL; pairs++) {
        json_set(object, pairs->key, pairs->value);
    }
    return object;
}

/* An object with these keys and values, and an array of one value. Both take the values over. */
#define OBJECT(...) object_of((const struct pair[]){__VA_ARGS__, {NULL, NULL}})

static json_t *list_of(json_t *value)
{
    json_t *list = json_new_array();
    json_add(list, value);
    return list;
}

static json_t *message(const char *text)
{
    return OBJECT({"text", json_shown(text)});
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
    char *cut = shown(path);
    char *uri = uri_of(cut);
    json_t *physical = OBJECT({"artifactLocation", OBJECT({"uri", json_text(uri)})});
    free(uri);
    free(cut);
    if (line > 0) {
        json_t *region = OBJECT({"startLine", json_number(line)});
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
        json_t *key = json_shown(name);
        if (json_object_get(seen, json_string_value(key)) == NULL) {
            char *demangled = demangle(name);
            json_set(seen, json_string_value(key), json_true());
            json_add(list,
                     OBJECT({"name", json_text(demangled)},
                            {"fullyQualifiedName", json_text(demangled)},
                            {"decoratedName", json_shown(name)}, {"kind", json_text("function")}));
            free(demangled);
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
    /* A line of PTX that is inside of another file is no line of that file. */
    const bool whole = place.in_source || strcmp(place.file, entry->input->name) == 0;
    json_t *physical = physical_location(whole ? place.file : entry->input->name,
                                         whole ? place.line : 0, whole ? place.column : 0);
    return OBJECT({"physicalLocation", physical}, {"logicalLocations", logical_locations(item)});
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
        const char *function = inside  ? place->inlined
                               : i > 0 ? finding->places[i - 1]->inlined
                                       : NULL;
        char *name = function != NULL ? demangle(function) : NULL;
        char *text = inside ? format_text("the access, in %s", name != NULL ? name : "the kernel")
                     : name != NULL ? format_text("%s is inlined here", name)
                                    : copy_text("inlined here");
        json_add(list, OBJECT({"physicalLocation",
                               physical_location(place->file, place->line, place->column)},
                              {"message", message(text)}));
        free(text);
        free(name);
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
    if (finding->suppressed == NULL) {
        return json_new_array();
    }
    const bool external =
        is_from_list(report, finding->suppressed) || lint_sifted(finding) > LINT_SIFTED_SUPPRESSED;
    return list_of(OBJECT({"kind", json_text(external ? "external" : "inSource")},
                          {"status", json_text("accepted")},
                          {"justification", json_shown(finding->suppressed)}));
}

static json_t *result_of(const struct lint_report *report, const struct lint_item *item)
{
    const pdl_lint_finding *finding = item->entries[0].finding;
    char *pointers = lint_pointers_text(item);
    char *text = format_text("%s%s%s%s%s", finding->message, *pointers != '\0' ? ", " : "",
                             pointers, finding->advice != NULL ? "; " : "",
                             finding->advice != NULL ? finding->advice : "");
    free(pointers);
    json_t *properties = OBJECT({"ptxOrigin", json_shown(lint_image_of(&item->entries[0])->origin)},
                                {"ptxLine", json_number(finding->line)},
                                {"machineCode", json_shown(finding->machine)},
                                {"instructions", json_number(finding->count)});
    json_t *result =
        OBJECT({"ruleId", json_text(pdl_lint_rule_id((pdl_lint_rule)finding->rule))},
               {"ruleIndex", json_number(index_of(finding->rule))},
               {"level", json_text(pdl_lint_level_name((pdl_lint_level)finding->level))},
               {"message", message(text)}, {"locations", list_of(location_of(item))},
               {"relatedLocations", related_locations(finding)},
               {"suppressions", suppressions_of(report, finding)},
               {"partialFingerprints", OBJECT({"pdlLint/v2", json_text(item->fingerprint)})},
               {"properties", properties});
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
        char *page = format_text("See share/doc/libpdl/docs/lint/%s.md.", id);
        json_t *level = json_text(pdl_lint_level_name(pdl_lint_rule_level(rule)));
        json_add(list, OBJECT({"id", json_text(id)},
                              {"shortDescription", message(pdl_lint_rule_summary(rule))},
                              {"help", message(page)},
                              {"defaultConfiguration", OBJECT({"level", level})}));
        free(page);
    }
    return list;
}

static json_t *tool(void)
{
    const unsigned version = pdl_version();
    char *text = format_text("%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    json_t *driver = OBJECT({"name", json_text("pdltool lint")}, {"version", json_text(text)},
                            {"semanticVersion", json_text(text)}, {"rules", rules()});
    free(text);
    return OBJECT({"driver", driver});
}

static json_t *notification(const char *level, const char *text, json_t *physical)
{
    json_t *object = OBJECT({"level", json_text(level)}, {"message", message(text)});
    if (physical != NULL) {
        json_set(object, "locations", list_of(OBJECT({"physicalLocation", physical})));
    }
    return object;
}

/* What could not be read, and suppressions that are not needed. */
static json_t *invocations(const struct lint_report *report)
{
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
    const bool whole = !report->inputs.incomplete && !report->unchecked.none;
    return list_of(OBJECT({"executionSuccessful", json_boolean(whole)},
                          {"exitCode", json_number(report->exit_code)},
                          {"toolExecutionNotifications", notifications}));
}

bool lint_print_sarif(const struct lint_report *report)
{
    json_t *results = json_new_array();
    for (size_t i = 0; i < report->item_count; i++) {
        if (report->items[i].entries[0].finding->level >= (int32_t)report->level) {
            json_add(results, result_of(report, &report->items[i]));
        }
    }
    json_t *run = OBJECT({"tool", tool()}, {"invocations", invocations(report)},
                         {"columnKind", json_text("utf16CodeUnits")}, {"results", results});
    return json_print(
        OBJECT({"$schema", json_text("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/"
                                     "schemas/sarif-schema-2.1.0.json")},
               {"version", json_text("2.1.0")}, {"runs", list_of(run)}));
}
