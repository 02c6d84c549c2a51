/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <pdl/rtc.h>

#include "common/json.h"
#include "common/memory.h"
#include "documents.h"

static json_t *json_of_kernels(const char *names)
{
    json_t *array = json_new_array();
    while (*names != '\0') {
        const size_t length = strcspn(names, "\n");
        char *name = format_text("%.*s", (int)length, names);
        json_add(array, json_text(name));
        free(name);
        names += length + (names[length] == '\n');
    }
    return array;
}

static json_t *json_of_file(const pdl_rtc_file *file)
{
    const bool whole = file->damage == NULL;
    json_t *object = json_new_object();
    json_set(object, "file", json_text(file->name));
    json_set(object, "bytes", json_number((int64_t)file->bytes));
    json_set(object, "used", json_number(file->used));
    json_set(object, "damage", json_text(file->damage));
    json_set(object, "program", json_text(whole ? file->program : NULL));
    json_set(object, "target", json_text(whole ? file->target : NULL));
    json_set(object, "output",
             json_text(!whole                        ? NULL
                       : file->output == PDL_RTC_PTX ? "ptx"
                                                     : "cubin"));
    json_set(object, "nvrtc", json_number_from(whole ? file->compiler_version : 0, 1));
    json_set(object, "kernels", whole ? json_of_kernels(file->kernels) : json_new_array());
    return object;
}

static int32_t add_file(void *files, const pdl_rtc_file *file)
{
    json_add(files, json_of_file(file));
    return 0;
}

bool cache_print_json(const char *directory, pdl_status *status)
{
    json_t *const files = json_new_array();
    uint64_t bytes = 0;
    *status = pdl_rtc_folder_list(directory, add_file, files, &bytes);
    if (*status != PDL_SUCCESS) {
        json_decref(files);
        return true;
    }
    json_t *const root = json_new_object();
    json_set(root, "version", json_number(1));
    json_set(root, "bytes", json_number((int64_t)bytes));
    json_set(root, "files", files);
    return json_print(root);
}
