/* SPDX-License-Identifier: MIT */
#include "ptxas/settings.h"

#include <stdlib.h>
#include <string.h>

#include <pdl/version.h>

#include "code/instrument_words.h"
#include "common/memory.h"
#include "common/print.h"
#include "os/environment.h"
#include "ptxas/step.h"

/* As a word of the table; the value for an unset one, and false after an error about an unknown one. */
static bool read_choice(const struct pdl_variable *variable, uint64_t unset, uint64_t *choice)
{
    const struct pdl_reading reading = pdl_variable_look(variable);
    if (reading.problem[0] != '\0') {
        print_line(stderr, "pdl-ptxas: error: %s", reading.problem);
        return false;
    }
    *choice = reading.is_set ? reading.value[0] : unset;
    return true;
}

static void read_constants(pdl_instrument_options *options)
{
    const char *const value = pdl_variable_text(PDL_VARIABLE(PDL_INSTRUMENT_CONSTANT));
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
    uint64_t wait, trigger;
    *settings = (struct settings){.options = PDL_INSTRUMENT_OPTIONS_INIT};
    settings->log = pdl_variable_text(PDL_VARIABLE(PDL_INSTRUMENT_LOG));
    settings->is_step = pdl_variable_text(PDL_VARIABLE(PDL_NVCC_STEP)) != NULL;
    if (!read_choice(PDL_VARIABLE(PDL_INSTRUMENT), 2, &wait) ||
        !read_choice(PDL_VARIABLE(PDL_INSTRUMENT_TRIGGER), 0, &trigger)) {
        return false;
    }
    settings->off = wait == 0;
    settings->options.wait = pdl_instrument_wait_at(wait);
    settings->options.trigger = pdl_instrument_trigger_at(trigger);
    read_constants(&settings->options);
    return true;
}

char *settings_line(const struct settings *settings)
{
    const char *const constants = pdl_variable_text(PDL_VARIABLE(PDL_INSTRUMENT_CONSTANT));
    return format_text("pdl-ptxas %d.%d.%d, revision %u: wait %s, trigger %s, constant %s",
                       PDL_VERSION_MAJOR, PDL_VERSION_MINOR, PDL_VERSION_PATCH,
                       (unsigned)pdl_instrument_revision(),
                       pdl_instrument_wait_words()[settings->options.wait],
                       pdl_instrument_trigger_words()[settings->options.trigger],
                       constants != NULL ? constants : "none");
}
