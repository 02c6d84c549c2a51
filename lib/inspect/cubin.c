/* SPDX-License-Identifier: MIT */
/* Cubins as images of an inspection. */
#include <string.h>

#include "code/info.h"
#include "code/scan.h"
#include "inspect/image.h"

static pdl_status add_kernel(pdl_inspection *inspection, const struct pdl_cubin *cubin,
                             const struct pdl_cubin_code *code)
{
    const pdl_inspect_kernel kernel = {.wait_count = code->wait_count,
                                       .trigger_count = code->trigger_count};
    pdl_kernel_info info =
        pdl_code_info(pdl_arena_copy(&inspection->arena, code->name, strlen(code->name)));
    info.binary_version = cubin->target;
    info.waits = code->waits;
    info.triggers = code->triggers;
    info.registers_per_thread = code->registers;
    info.static_shared_memory =
        code->shared_memory <= INT32_MAX ? (int32_t)code->shared_memory : -1;
    info.parameter_count = code->parameter_count;
    if (info.name == NULL || !pdl_inspection_add_kernel(inspection, &kernel, &info)) {
        return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for what is in a cubin");
    }
    return PDL_SUCCESS;
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
        return pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for what is in a cubin");
    }
    pdl_inspect_image *about = &inspection->images[image];
    about->kind = PDL_INSPECT_SASS;
    about->target = cubin.target;
    about->target_suffix = cubin.suffix;
    about->function_count = cubin.function_count;
    if (!cubin.known) {
        about->unread = pdl_arena_format(&inspection->arena,
                                         "the instructions of its architecture, %d, are not known",
                                         (int)cubin.target);
        if (about->unread == NULL) {
            status = pdl_inspect_fail(PDL_ERROR_OUT_OF_MEMORY, 0, 0, "no memory for a message");
        }
    }
    size_t names = 0; /* names that lie over each other could take any amount of memory */
    for (uint32_t i = 0; status == PDL_SUCCESS && i < cubin.count; i++) {
        const struct pdl_cubin_code *code = &cubin.codes[i];
        names += strlen(code->name);
        if (names > size) {
            status = pdl_inspect_fail(PDL_ERROR_INVALID_IMAGE, 0, 0,
                                      "the cubin is damaged: its names are longer than the file");
        } else if (code->kernel) {
            status = add_kernel(inspection, &cubin, code);
        }
    }
    pdl_scan_cubin_free(&cubin);
    return status;
}
