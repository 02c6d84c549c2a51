/* SPDX-License-Identifier: MIT */
/* What was read and not checked: nothing found in it would look like a good answer. */
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/print.h"
#include "lint/lint.h"

/* A kernel that was not checked, or was. */
struct kernel {
    const char *name;
    bool checked;
    bool newer; /* its code is for sm_90 or newer */
};

/* What says most of a kernel comes first. */
static int by_name(const void *left, const void *right)
{
    const struct kernel *a = left;
    const struct kernel *b = right;
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : (b->checked - a->checked) * 2 + (b->newer - a->newer);
}

void lint_gather_unchecked(struct lint_report *report)
{
    struct lint_unchecked *unchecked = &report->unchecked;
    struct {
        struct kernel *items;
        size_t count, capacity;
    } all = {0};
    for (size_t i = 0; i < report->inputs.count; i++) {
        const pdl_inspection *inspection = report->inputs.items[i].inspection;
        const size_t images = inspection != NULL ? pdl_inspection_image_count(inspection) : 0;
        const size_t kernels = inspection != NULL ? pdl_inspection_kernel_count(inspection) : 0;
        for (size_t at = 0; at < images; at++) {
            const int32_t kind = pdl_inspection_image(inspection, at)->kind;
            unchecked->images += kind == PDL_INSPECT_LTO || kind == PDL_INSPECT_TILE;
        }
        for (size_t at = 0; at < kernels; at++) {
            const pdl_inspect_kernel *own = pdl_inspection_kernel(inspection, at);
            const struct kernel kernel = {
                .name = own->info->name,
                .checked = own->unchecked == NULL,
                .newer = pdl_inspection_image(inspection, own->image)->target >= 90,
            };
            APPEND(&all, kernel);
        }
    }
    if (all.count > 0) {
        qsort(all.items, all.count, sizeof(*all.items), by_name);
    }
    unchecked->none = !report->inputs.incomplete; /* else what could not be read is said */
    for (size_t i = 0; i < all.count; i++) {
        const struct kernel *kernel = &all.items[i];
        unchecked->none = unchecked->none && !kernel->checked;
        if ((i == 0 || strcmp(all.items[i - 1].name, kernel->name) != 0) && !kernel->checked) {
            unchecked->machine_code += kernel->newer;
            unchecked->older += !kernel->newer;
        }
    }
    free(all.items);
}

bool lint_is_all_checked(const struct lint_report *report)
{
    const struct lint_unchecked *unchecked = &report->unchecked;
    return !unchecked->none &&
           unchecked->machine_code + unchecked->older + unchecked->images + unchecked->launched ==
               0;
}

static char *append(char *text, size_t count, const char *one, const char *many)
{
    if (count == 0) {
        return text;
    }
    char *part = format_count(count, one, many);
    char *whole = format_text("%s%s%s", text, *text != '\0' ? ", " : "", part);
    free(part);
    free(text);
    return whole;
}

char *lint_unchecked_text(const struct lint_report *report)
{
    const struct lint_unchecked *unchecked = &report->unchecked;
    char *text = copy_text("");
    text = append(text, unchecked->machine_code, "kernel without PTX", "kernels without PTX");
    text = append(text, unchecked->older, "kernel for architectures older than sm_90",
                  "kernels for architectures older than sm_90");
    text = append(text, unchecked->images, "image of intermediate code",
                  "images of intermediate code");
    text = append(text, unchecked->launched, "kernel that was launched and is in no input",
                  "kernels that were launched and are in no input");
    if (*text == '\0') { /* nor a kernel that could be named */
        free(text);
        text = copy_text("no input has a kernel");
    }
    return text;
}
