/* SPDX-License-Identifier: MIT */
/* Cubins as images of an inspection. */
#include <stdlib.h>
#include <string.h>

#include "code/info.h"
#include "code/sass.h"
#include "code/scan.h"
#include "inspect/image.h"
#include "inspect/lines.h"
#include "inspect/order.h"

static pdl_status no_memory(void)
{
    return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for what is in a cubin");
}

/* `found` is what comes before the wait, NULL if that was not looked for. */
static pdl_status add_kernel(pdl_inspection *inspection, const struct pdl_cubin *cubin,
                             const struct pdl_cubin_code *code, const struct pdl_order_found *found)
{
    const pdl_inspect_kernel kernel = {.wait_count = code->wait_count,
                                       .trigger_count = code->trigger_count};
    pdl_kernel_info info =
        pdl_code_info(pdl_arena_copy(&inspection->arena, code->name, strlen(code->name)));
    info.binary_version = cubin->target;
    info.waits = code->waits;
    info.waits_always = found == NULL   ? PDL_UNKNOWN
                        : found->always ? PDL_YES
                        : found->leaves ? PDL_NO
                                        : PDL_UNKNOWN;
    info.triggers = code->triggers;
    info.registers_per_thread = code->registers;
    info.static_shared_memory =
        code->shared_memory <= INT32_MAX ? (int32_t)code->shared_memory : -1;
    info.parameter_count = code->parameter_count;
    pdl_code_info_bounds(&info, &code->bounds);
    if (info.name == NULL || !pdl_inspection_add_kernel(inspection, &kernel, &info)) {
        return no_memory();
    }
    return PDL_SUCCESS;
}

/* ---- what comes before the wait ----------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
    const struct pdl_machine_access *a = *(struct pdl_machine_access *const *)left;
    const struct pdl_machine_access *b = *(struct pdl_machine_access *const *)right;
    return a->section != b->section ? (a->section > b->section) - (a->section < b->section)
                                    : (a->at > b->at) - (a->at < b->at);
}

static pdl_status find_lines(pdl_inspection *inspection, uint32_t first, const unsigned char *bytes,
                             size_t size)
{
    size_t count = 0;
    for (uint32_t i = first; i < inspection->machine_count; i++) {
        count += inspection->machines[i].count;
    }
    if (count == 0) {
        return PDL_SUCCESS;
    }
    struct pdl_machine_access **list = malloc(count * sizeof(*list));
    count = 0;
    for (uint32_t i = first; list != NULL && i < inspection->machine_count; i++) {
        for (uint32_t a = 0; a < inspection->machines[i].count; a++) {
            list[count++] = &inspection->machines[i].accesses[a];
        }
    }
    bool found = list != NULL;
    if (found) {
        qsort((void *)list, count, sizeof(*list), by_place);
        found = pdl_lines_find(&inspection->arena, bytes, size, list, (uint32_t)count);
    }
    free((void *)list);
    return found ? PDL_SUCCESS : no_memory();
}

static pdl_status add_machine(pdl_inspection *inspection, const struct pdl_order_found *found)
{
    const size_t size = found->count * sizeof(*found->accesses);
    struct pdl_machine_access *accesses = pdl_arena_alloc(&inspection->arena, size);
    if (accesses == NULL || !PDL_ARRAY_ROOM(inspection->machines, inspection->machine_count,
                                            inspection->machine_capacity)) {
        return no_memory();
    }
    if (size > 0) {
        memcpy(accesses, found->accesses, size);
    }
    inspection->machines[inspection->machine_count++] =
        (struct pdl_machine){.accesses = accesses,
                             .count = found->count,
                             .kernel = inspection->kernel_count - 1,
                             .lost = found->lost,
                             .lost_at = found->lost_at,
                             .leaves = found->leaves,
                             .unordered = found->unordered};
    return PDL_SUCCESS;
}

static pdl_status read_kernels(pdl_inspection *inspection, const struct pdl_cubin *cubin,
                               const unsigned char *bytes, size_t size)
{
    struct pdl_order *order = NULL;
    const uint32_t first = inspection->machine_count;
    pdl_status status = PDL_SUCCESS;
    size_t names = 0; /* names that lie over each other could take any amount of memory */
    for (uint32_t i = 0; status == PDL_SUCCESS && i < cubin->count; i++) {
        const struct pdl_cubin_code *code = &cubin->codes[i];
        const bool follow = code->waits == PDL_YES && !inspection->facts_only;
        struct pdl_order_found found;
        names += strlen(code->name);
        if (names > size) {
            status = pdl_inspect_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                                      "the cubin is damaged: its names are longer than the file");
        }
        if (status != PDL_SUCCESS || !code->kernel) {
            continue;
        }
        if (follow) {
            order = order != NULL ? order : pdl_order_open(cubin, bytes, size);
            status = order != NULL && pdl_order_walk(order, i, &found) ? PDL_SUCCESS : no_memory();
        }
        if (status == PDL_SUCCESS) {
            status = add_kernel(inspection, cubin, code, follow ? &found : NULL);
        }
        if (status == PDL_SUCCESS && follow) {
            status = add_machine(inspection, &found);
        }
    }
    pdl_order_close(order);
    return status == PDL_SUCCESS ? find_lines(inspection, first, bytes, size) : status;
}

pdl_status pdl_cubin_read(pdl_inspection *inspection, const unsigned char *bytes, size_t size,
                          uint32_t image)
{
    struct pdl_cubin cubin;
    pdl_status status = PDL_SUCCESS;
    switch (pdl_scan_cubin(&cubin, bytes, size)) {
    case PDL_SCAN_DONE:
        break;
    case PDL_SCAN_MALFORMED:
        return pdl_inspect_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                                "the cubin is damaged or cut short: its headers do not fit its "
                                "%zu bytes",
                                size);
    default:
        return no_memory();
    }
    pdl_inspect_image *about = &inspection->images[image];
    about->kind = PDL_INSPECT_SASS;
    about->target = cubin.target;
    about->target_suffix = cubin.suffix;
    about->function_count = cubin.function_count;
    about->read_as = cubin.read_as;
    if (!cubin.known) {
        about->unread = pdl_arena_format(&inspection->arena,
                                         "the instructions of its architecture, %d, are unknown, "
                                         "and do not look like those of %d",
                                         (int)cubin.target, PDL_SASS_NEWEST);
        if (about->unread == NULL) {
            status = pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for a message");
        }
    }
    if (status == PDL_SUCCESS) {
        status = read_kernels(inspection, &cubin, bytes, size);
    }
    pdl_scan_cubin_free(&cubin);
    return status;
}
