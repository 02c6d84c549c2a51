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

/* `found` is what comes before the wait, NULL if that was not looked for. */
static void add_kernel(pdl_inspection *inspection, const struct pdl_cubin *cubin,
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
    pdl_inspection_add_kernel(inspection, &kernel, &info);
}

/* ---- what comes before the wait ----------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
    return pdl_machine_access_order(*(struct pdl_machine_access *const *)left,
                                    *(struct pdl_machine_access *const *)right);
}

static void find_lines(pdl_inspection *inspection, uint32_t first, const unsigned char *bytes,
                       size_t size)
{
    size_t count = 0;
    for (uint32_t i = first; i < inspection->machine_count; i++) {
        count += inspection->machines[i].count;
    }
    if (count == 0) {
        return;
    }
    struct pdl_machine_access **list = pdl_take(count, sizeof(*list));
    count = 0;
    for (uint32_t i = first; i < inspection->machine_count; i++) {
        for (uint32_t a = 0; a < inspection->machines[i].count; a++) {
            list[count++] = &inspection->machines[i].accesses[a];
        }
    }
    qsort((void *)list, count, sizeof(*list), by_place);
    pdl_lines_find(&inspection->arena, bytes, size, list, (uint32_t)count);
}

static void add_machine(pdl_inspection *inspection, const struct pdl_order_found *found)
{
    const size_t size = found->count * sizeof(*found->accesses);
    struct pdl_machine_access *accesses = pdl_arena_alloc(&inspection->arena, size);
    if (size > 0) {
        memcpy(accesses, found->accesses, size);
    }
    PDL_KEEP(inspection->machines, inspection->machine_count, inspection->machine_capacity,
             (struct pdl_machine){.accesses = accesses,
                                  .count = found->count,
                                  .kernel = inspection->kernel_count - 1,
                                  .lost = found->lost,
                                  .lost_at = found->lost_at,
                                  .leaves = found->leaves,
                                  .unordered = found->unordered});
}

/* A cubin while it is read. */
struct job {
    pdl_inspection *inspection;
    const unsigned char *bytes;
    size_t size;
    uint32_t image;
    struct pdl_cubin cubin;
};

static void read_cubin(void *context)
{
    const struct job *job = context;
    const struct pdl_cubin *cubin = &job->cubin;
    pdl_inspection *inspection = job->inspection;
    pdl_inspect_image *about = &inspection->images[job->image];
    about->target = cubin->target;
    about->target_suffix = cubin->suffix;
    about->function_count = cubin->function_count;
    about->read_as = cubin->read_as;
    if (!cubin->known) {
        about->unread = pdl_arena_format(&inspection->arena,
                                         "the instructions of its architecture, %d, are unknown, "
                                         "and do not look like those of %d",
                                         (int)cubin->target, PDL_SASS_NEWEST);
    }
    struct pdl_order *order = NULL;
    const uint32_t first = inspection->machine_count;
    size_t names = 0; /* names that lie over each other could take any amount of memory */
    for (uint32_t i = 0; i < cubin->count; i++) {
        const struct pdl_cubin_code *code = &cubin->codes[i];
        const bool follow = code->waits == PDL_YES && !inspection->facts_only;
        struct pdl_order_found found;
        names += strlen(code->name);
        if (names > job->size) {
            pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                     "the cubin is damaged: its names are longer than the file");
        }
        if (!code->kernel) {
            continue;
        }
        if (follow) {
            order = order != NULL ? order : pdl_order_open(cubin, job->bytes, job->size);
            pdl_order_walk(order, i, &found);
        }
        add_kernel(inspection, cubin, code, follow ? &found : NULL);
        if (follow) {
            add_machine(inspection, &found);
        }
    }
    find_lines(inspection, first, job->bytes, job->size);
}

void pdl_cubin_read(pdl_inspection *inspection, const unsigned char *bytes, size_t size,
                    uint32_t image)
{
    struct job job = {inspection, bytes, size, .image = image};
    switch (pdl_scan_cubin(&job.cubin, bytes, size)) {
    case PDL_SCAN_DONE:
        break;
    case PDL_SCAN_MALFORMED:
        pdl_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                 "the cubin is damaged or cut short: its headers do not fit its %zu bytes", size);
    default:
        pdl_fail_memory();
    }
    const pdl_status status = pdl_attempt(read_cubin, &job);
    pdl_scan_cubin_free(&job.cubin);
    if (status != PDL_SUCCESS) {
        pdl_fail_again(status);
    }
}
