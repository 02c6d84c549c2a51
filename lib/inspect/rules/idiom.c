/* SPDX-License-Identifier: MIT */
/* What the code that is looked at writes where it waits and triggers, so that advice speaks its language. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "inspect/ptx/places.h"
#include "inspect/rules/report.h"
#include "inspect/rules/source.h"

/* What waits, and what triggers in the same language. */
static const struct {
    const char *wait, *trigger;
} pairs[] = {
    {"cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion"},
    {"wait_on_dependent_grids", "launch_dependent_grids"},
    {"griddepcontrol_wait", "griddepcontrol_launch_dependents"},
    {"gdc_wait", "gdc_launch_dependents"},
    {"PDL_WAIT", "PDL_LAUNCH_DEPENDENTS"},
    {"_CCCL_PDL_GRID_DEPENDENCY_SYNC", "_CCCL_PDL_TRIGGER_NEXT_LAUNCH"},
    {"griddepcontrol.wait", "griddepcontrol.launch_dependents"},
};

static const char inline_wait[] = "asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")";
static const char inline_trigger[] =
    "asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\")";

/* The other one of a pair, with what is around the name: NULL if it is of none, or there is no memory. */
static const char *counterpart(struct pdl_arena *arena, const char *text, bool to_trigger)
{
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const char *from = to_trigger ? pairs[i].wait : pairs[i].trigger;
        const char *found = strstr(text, from);
        if (found != NULL) {
            return pdl_arena_format(arena, "%.*s%s%s", (int)(found - text), text,
                                    to_trigger ? pairs[i].trigger : pairs[i].wait,
                                    found + strlen(from));
        }
    }
    return NULL;
}

/* Whether a name speaks of what a wait or a trigger does: any function may have the instruction in it. */
static bool speaks_of_it(const char *name, size_t length)
{
    static const char *const words[] = {"wait", "sync",    "depend",  "gdc",
                                        "pdl",  "acquire", "trigger", "release"};
    for (size_t at = 0; at < length; at++) {
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            const size_t size = strlen(words[i]);
            if (length - at >= size && strncasecmp(name + at, words[i], size) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* `ns::f()` of a mangled function without arguments that speaks of it; "" of another one; NULL if there is no
 * memory. */
static const char *helper_name(struct pdl_arena *arena, const char *mangled)
{
    char text[256] = "";
    size_t length = 0;
    size_t last = 0;
    const bool nested = mangled != NULL && strncmp(mangled, "_ZN", 3) == 0;
    if (mangled == NULL || strncmp(mangled, "_Z", 2) != 0) {
        return "";
    }
    const char *at = mangled + (nested ? 3 : 2);
    while (*at == 'L') {
        at++;
    }
    do {
        size_t size = 0;
        while (isdigit((unsigned char)*at) && size < sizeof(text)) {
            size = size * 10 + (size_t)(*at++ - '0');
        }
        if (size == 0 || size > strlen(at) || length + size + 3 > sizeof(text)) {
            return "";
        }
        if (strncmp(at, "_INTERNAL_", 10) != 0 && strncmp(at, "_GLOBAL_", 8) != 0) {
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.*s",
                                       length > 0 ? "::" : "", (int)size, at);
            last = size;
        }
        at += size;
    } while (nested && *at != 'E' && *at != '\0');
    at += nested && *at == 'E';
    if (strcmp(at, "v") != 0 || last == 0 || !speaks_of_it(text + length - last, last)) {
        return "";
    }
    return pdl_arena_format(arena, "%s()", text);
}

static bool part_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':' || c == '.';
}

/* `NAME()` in a line of the source that speaks of it, a macro perhaps; the PTX, if that is in the line; or "". NULL if
 * there is no memory. */
static const char *written(struct pdl_arena *arena, const char *line, const char *ptx)
{
    for (const char *at = line; *at != '\0' && strncmp(at, "//", 2) != 0; at++) {
        if (!part_of_name(*at) || (at > line && part_of_name(at[-1])) ||
            isdigit((unsigned char)*at)) {
            continue;
        }
        size_t length = 0;
        while (part_of_name(at[length])) {
            length++;
        }
        const char *behind = at + length + strspn(at + length, " ");
        if (*behind == '(' && behind[1 + strspn(behind + 1, " ")] == ')' && length < 200 &&
            speaks_of_it(at, length)) {
            return pdl_arena_format(arena, "%.*s()", (int)length, at);
        }
    }
    return strstr(line, "asm") != NULL ? ptx : "";
}

/* What is written at a place of a wait or a trigger, as far as can be told; "" if it cannot. */
static const char *name_at(struct pdl_report *report, const pdl_inspect_place *const *places,
                           uint32_t count, const char *ptx)
{
    struct pdl_ptx_module *module = report->module;
    struct pdl_arena *arena = pdl_report_arena(report);
    const char *name = "";
    uint32_t at = 0;
    if (count == 0) {
        return "";
    }
    while (at + 1 < count) { /* out of all helpers that do nothing else */
        const char *helper = helper_name(arena, places[at]->inlined);
        if (helper == NULL || *helper == '\0') {
            break;
        }
        name = helper;
        at++;
    }
    char line[512];
    const char *file = places[at]->file;
    if (file != NULL && !(module->inspection->options->flags & PDL_INSPECT_NO_SOURCES) &&
        module->source != NULL &&
        pdl_source_line(module->source, file, places[at]->line, line, sizeof(line))) {
        const char *here = written(arena, line, ptx);
        if (here != NULL && *here != '\0' && (*name == '\0' || strstr(name, here) == NULL)) {
            return here;
        }
    }
    const char *end = file != NULL ? strrchr(file, '.') : NULL;
    if (*name == '\0' && end != NULL && strcmp(end, ".py") == 0) {
        return ptx == inline_wait ? "tl.extra.cuda.gdc_wait()"
                                  : "tl.extra.cuda.gdc_launch_dependents()";
    }
    return *name == '\0' && report->flow->body->marker_count == 0 ? ptx : name;
}

static const char *name_of(struct pdl_report *report, const struct pdl_mention *mention,
                           const char *ptx)
{
    struct pdl_ptx_module *module = report->module;
    uint32_t count = 0;
    bool ok = true;
    if (mention->count == 0) {
        return "";
    }
    const pdl_inspect_place *const *places =
        pdl_places_chain(module, report->flow->body, mention->instruction->place, &count, &ok);
    if (count != 1) {
        return name_at(report, places, count, ptx);
    }
    for (unsigned i = 0; i < PDL_IDIOMS; i++) {
        const struct pdl_said *said = &module->said[i];
        if (said->name != NULL && said->wait == (ptx == inline_wait) &&
            said->file == places[0]->file && said->line == places[0]->line) {
            return said->name;
        }
    }
    const char *name = name_at(report, places, count, ptx);
    module->said[module->next_said++ % PDL_IDIOMS] =
        (struct pdl_said){places[0]->file, name, places[0]->line, ptx == inline_wait};
    return name;
}

/* What the first wait in the text is written as, in whatever function. */
static const char *name_elsewhere(struct pdl_report *report)
{
    static const char wait[] = "griddepcontrol.wait";
    struct pdl_ptx_module *module = report->module;
    if (module->wait_name == NULL) {
        const char *found =
            memmem(module->text, (size_t)(module->end - module->text), wait, sizeof(wait) - 1);
        module->wait_name = "";
        if (found != NULL) {
            uint32_t count = 0;
            const pdl_inspect_place *const *places = pdl_places_before(module, found, &count);
            module->wait_name = name_at(report, places, count, inline_wait);
        }
    }
    return module->wait_name;
}

const struct pdl_idiom *pdl_report_idiom(const struct pdl_report *report)
{
    struct pdl_idiom *idiom = report->idiom;
    struct pdl_arena *arena = pdl_report_arena(report);
    const struct pdl_effects *effects = report->effects;
    struct pdl_report *own = idiom->report;
    if (idiom->wait != NULL) {
        return idiom;
    }
    idiom->wait = name_of(own, &effects->wait, inline_wait);
    idiom->trigger = name_of(own, &effects->trigger, inline_trigger);
    if (*idiom->wait == '\0' && *idiom->trigger != '\0') {
        const char *other = counterpart(arena, idiom->trigger, false);
        idiom->wait = other != NULL ? other : "";
    }
    if (*idiom->wait == '\0' && report->flow->body->marker_count > 0) {
        idiom->wait = "PDL_WAIT()"; /* the markers are libpdl's */
    }
    if (*idiom->wait == '\0') {
        idiom->wait = name_elsewhere(own);
    }
    if (*idiom->wait == '\0') {
        idiom->wait = "cudaGridDependencySynchronize()";
    }
    if (*idiom->trigger == '\0') {
        const char *other = counterpart(arena, idiom->wait, true);
        idiom->trigger = other != NULL ? other : "cudaTriggerProgrammaticLaunchCompletion()";
    }
    idiom->macros = strncmp(idiom->wait, "PDL_", 4) == 0;
    return idiom;
}

const char *pdl_report_sentence(const struct pdl_report *report, const char *before,
                                const char *name, const char *behind)
{
    struct pdl_ptx_module *module = report->module;
    const size_t skip = strlen(before);
    const size_t length = strlen(name);
    for (unsigned i = 0; i < PDL_IDIOMS; i++) {
        const struct pdl_sentence *known = &module->sentences[i];
        if (known->before == before && strncmp(known->text + skip, name, length) == 0 &&
            strcmp(known->text + skip + length, behind) == 0) {
            return known->text;
        }
    }
    const char *text = pdl_arena_format(pdl_report_arena(report), "%s%s%s", before, name, behind);
    if (text != NULL) {
        module->sentences[module->next_sentence++ % PDL_IDIOMS] =
            (struct pdl_sentence){before, text};
    }
    return text;
}
