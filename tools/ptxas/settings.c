/* SPDX-License-Identifier: MIT */
#include "ptxas/settings.h"

#include <stdlib.h>
#include <string.h>

#include <pdl/version.h>

#include "code/instrument_words.h"
#include "common/memory.h"
#include "common/print.h"
#include "ptxas/step.h"

static const char *const waits[] = {"entry", "hoist", "off", NULL};

enum { WAIT_OFF = 2 };

/* The value of a variable; NULL also where it is empty. */
static const char *value_of(const char *variable)
{
    const char *const value = getenv(variable);
    return value != NULL && *value != '\0' ? value : NULL;
}

static bool read_choice(const char *variable, const char *const *choices, int32_t *choice)
{
    const char *const value = value_of(variable);
    if (value == NULL) {
        return true;
    }
    for (int32_t i = 0; choices[i] != NULL; i++) {
        if (strcmp(value, choices[i]) == 0) {
            *choice = i;
            return true;
        }
    }
    print_line(stderr, "pdl-ptxas: error: %s is '%s', and must be %s, %s or %s", variable, value,
               choices[0], choices[1], choices[2]);
    return false;
}

static void read_constants(pdl_instrument_options *options)
{
    const char *const value = value_of("PDL_INSTRUMENT_CONSTANT");
    struct {
        const char **items;
        size_t count, capacity;
    } names = {NULL, 0, 0};
    char *rest = value != NULL ? copy_text(value) : NULL;
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        if (*name != '\0') {
            APPEND(&names, name);
        }
    }
    options->constant_params = names.items;
    options->constant_param_count = names.count;
}

bool settings_read(struct settings *settings)
{
    int32_t wait = PDL_INSTRUMENT_ENTRY;
    *settings = (struct settings){.options = PDL_INSTRUMENT_OPTIONS_INIT};
    settings->log = value_of("PDL_INSTRUMENT_LOG");
    settings->is_step = value_of(STEP_OF_NVCC) != NULL;
    if (!read_choice("PDL_INSTRUMENT", waits, &wait) ||
        !read_choice("PDL_INSTRUMENT_TRIGGER", pdl_instrument_trigger_words(),
                     &settings->options.trigger)) {
        return false;
    }
    settings->off = wait == WAIT_OFF;
    settings->options.wait = settings->off ? PDL_INSTRUMENT_ENTRY : wait;
    read_constants(&settings->options);
    return true;
}

char *settings_line(const struct settings *settings)
{
    const char *const constants = value_of("PDL_INSTRUMENT_CONSTANT");
    return format_text("pdl-ptxas %d.%d.%d, revision %u: wait %s, trigger %s, constant %s",
                       PDL_VERSION_MAJOR, PDL_VERSION_MINOR, PDL_VERSION_PATCH,
                       (unsigned)pdl_instrument_revision(), waits[settings->options.wait],
                       pdl_instrument_trigger_words()[settings->options.trigger],
                       constants != NULL ? constants : "none");
}
