/* SPDX-License-Identifier: MIT */
#include "rtc/compile/image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pdl/inspect.h>

#include "code/info.h"
#include "core/error.h"
#include "os/environment.h"

/* ---- life ----------------------------------------------------------------------------------- */

pdl_rtc_image *pdl_rtc_image_retain(pdl_rtc_image *image)
{
    (void)atomic_fetch_add_explicit(&image->references, 1, memory_order_relaxed);
    return image;
}

void pdl_rtc_image_destroy(pdl_rtc_image *image)
{
    if (image == NULL ||
        atomic_fetch_sub_explicit(&image->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < image->kernel_count; i++) {
        free(image->kernels[i].expression);
        free(image->kernels[i].name);
    }
    free(image->kernels);
    free(image->program);
    free(image->log);
    free(image->code);
    free(image);
}

/* ---- what it says --------------------------------------------------------------------------- */

const void *pdl_rtc_image_code(const pdl_rtc_image *image, size_t *size)
{
    if (size != NULL) {
        *size = image->code_size;
    }
    return image->code;
}

pdl_rtc_output pdl_rtc_image_output(const pdl_rtc_image *image)
{
    return (pdl_rtc_output)image->output;
}

const char *pdl_rtc_image_target(const pdl_rtc_image *image)
{
    return image->target;
}

const char *pdl_rtc_image_log(const pdl_rtc_image *image)
{
    return image->log;
}

size_t pdl_rtc_image_kernel_count(const pdl_rtc_image *image)
{
    return image->kernel_count;
}

const pdl_kernel_info *pdl_rtc_image_info(const pdl_rtc_image *image, size_t index)
{
    return index < image->kernel_count ? &image->kernels[index].info : NULL;
}

const char *pdl_rtc_image_expression(const pdl_rtc_image *image, size_t index)
{
    return index < image->kernel_count ? image->kernels[index].expression : NULL;
}

/* ---- finding -------------------------------------------------------------------------------- */

/* The name with blanks around it left out. */
static bool same_expression(const char *expression, const char *name)
{
    name += strspn(name, " \t\n\v\f\r");
    const size_t size = strlen(expression);
    return strncmp(expression, name, size) == 0 &&
           name[size + strspn(name + size, " \t\n\v\f\r")] == '\0';
}

const pdl_kernel_info *pdl_rtc_image_find(const pdl_rtc_image *image, const char *name)
{
    if (name == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < image->kernel_count; i++) {
        const struct pdl_rtc_image_kernel *kernel = &image->kernels[i];
        if (kernel->expression != NULL && same_expression(kernel->expression, name)) {
            return &kernel->info;
        }
    }
    for (size_t i = 0; i < image->kernel_count; i++) {
        if (strcmp(image->kernels[i].name, name) == 0) {
            return &image->kernels[i].info;
        }
    }
    return NULL;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* A declaration that a kernel waits is the program's to make: it stands above what the code proves. Here it is made
 * only where nothing is proved of any kernel, or of this one because libpdl does not see that it waits; never in strict
 * mode. libpdl says that a value is unknown, once. */
static bool may_declare(pdl_kernel *kernel, uint32_t waits)
{
    pdl_kernel_info seen = PDL_KERNEL_INFO_INIT;
    if (waits != PDL_YES) {
        return true;
    }
    if (pdl_variable_look(PDL_VARIABLE(PDL_OVERLAP_STRICT)).value[0] != 0) {
        return false;
    }
    return pdl_variable_look(PDL_VARIABLE(PDL_OVERLAP_PROOF)).value[0] == 0 ||
           (pdl_kernel_get(kernel, 0, &seen) == PDL_SUCCESS && seen.waits != PDL_YES);
}

pdl_status pdl_rtc_image_kernel(const pdl_rtc_image *image, const char *name, pdl_kernel **kernel)
{
    pdl_kernel *made = NULL;
    if (image == NULL || name == NULL || kernel == NULL) {
        const char *field = name == NULL ? "name" : "kernel";
        field = image == NULL ? "image" : field;
        return PDL_FAIL_FIELD(PDL_ERROR_INVALID_ARGUMENT, field, "%s is NULL", field);
    }
    const pdl_kernel_info *info = pdl_rtc_image_find(image, name);
    if (info == NULL) {
        return PDL_FAIL_FIELD(
            PDL_ERROR_NOT_FOUND, "name",
            "%.100s has no kernel %.150s: unless it is extern \"C\", it must be among the names",
            image->program, name);
    }
    pdl_image *loaded = NULL;
    pdl_status status = pdl_image_load(image->code, image->code_size, &loaded);
    if (status == PDL_SUCCESS) {
        status = pdl_image_kernel(loaded, info->name, &made);
        pdl_image_free(loaded);
    }
    /* What was found when it was compiled stands above the loader's quicker look, where it is whole. */
    if (status == PDL_SUCCESS && info->waits != PDL_UNKNOWN && info->triggers != PDL_UNKNOWN &&
        may_declare(made, info->waits)) {
        status = pdl_kernel_declare(made, (pdl_known)info->waits, (pdl_known)info->triggers);
    }
    if (status != PDL_SUCCESS) {
        pdl_kernel_destroy(made);
        return status;
    }
    *kernel = made;
    return PDL_SUCCESS;
}

/* ---- the list of kernels -------------------------------------------------------------------- */

/* Adds a kernel; `expression` may be NULL. */
static pdl_status add_kernel(pdl_rtc_image *image, const char *expression, const char *name,
                             const pdl_kernel_info *facts)
{
    struct pdl_rtc_image_kernel *kernel = &image->kernels[image->kernel_count++];
    kernel->expression = expression != NULL ? strdup(expression) : NULL;
    kernel->name = strdup(name);
    kernel->info = facts != NULL ? *facts : pdl_code_info(kernel->name);
    kernel->info.name = kernel->name;
    return kernel->name != NULL && (expression == NULL || kernel->expression != NULL)
               ? PDL_SUCCESS
               : PDL_NO_MEMORY();
}

static const pdl_kernel_info *find_facts(const pdl_inspection *inspection, const char *name)
{
    const size_t count = inspection != NULL ? pdl_inspection_kernel_count(inspection) : 0;
    for (size_t i = 0; i < count; i++) {
        const pdl_kernel_info *info = pdl_inspection_kernel(inspection, i)->info;
        if (strcmp(info->name, name) == 0) {
            return info;
        }
    }
    return NULL;
}

static bool is_listed(const pdl_rtc_image *image, const char *name)
{
    for (size_t i = 0; i < image->kernel_count; i++) {
        if (strcmp(image->kernels[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

pdl_status pdl_rtc_image_describe(pdl_rtc_image *image, const char *const *names,
                                  const char *const *lowered, size_t count)
{
    pdl_inspect_options options = PDL_INSPECT_OPTIONS_INIT;
    pdl_inspection *inspection = NULL;
    options.flags = PDL_INSPECT_FACTS_ONLY | PDL_INSPECT_NO_SOURCES;
    /* Code that libpdl-inspect cannot read has kernels all the same: those that were named. */
    pdl_status status =
        pdl_inspect_memory(image->code, image->code_size, image->program, &options, &inspection);
    if (status == PDL_ERROR_OUT_OF_MEMORY) {
        return PDL_NO_MEMORY();
    }
    const size_t kernels = inspection != NULL ? pdl_inspection_kernel_count(inspection) : 0;
    image->kernels = calloc(count + kernels + 1, sizeof(*image->kernels));
    image->kernel_count = 0;
    status = image->kernels != NULL ? PDL_SUCCESS : PDL_NO_MEMORY();
    for (size_t i = 0; status == PDL_SUCCESS && i < count; i++) {
        status = add_kernel(image, names[i], lowered[i], find_facts(inspection, lowered[i]));
    }
    for (size_t i = 0; status == PDL_SUCCESS && i < kernels; i++) {
        const pdl_kernel_info *info = pdl_inspection_kernel(inspection, i)->info;
        if (!is_listed(image, info->name)) {
            status = add_kernel(image, NULL, info->name, info);
        }
    }
    pdl_inspection_destroy(inspection);
    return status;
}
