/* SPDX-License-Identifier: MIT */
#include "rtc/compiler.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/once.h"
#include "core/path_text.h"

enum {
    OLDEST = 12000 /* the oldest that is tested */
};

static pdl_status resolve(void *library, struct pdl_rtc_compiler *compiler)
{
    const struct {
        const char *name;
        void **slot;
    } entries[] = {
        {"nvrtcVersion", (void **)&compiler->version},
        {"nvrtcCreateProgram", (void **)&compiler->create},
        {"nvrtcDestroyProgram", (void **)&compiler->destroy},
        {"nvrtcCompileProgram", (void **)&compiler->compile},
        {"nvrtcAddNameExpression", (void **)&compiler->add_name},
        {"nvrtcGetLoweredName", (void **)&compiler->lowered_name},
        {"nvrtcGetProgramLogSize", (void **)&compiler->log_size},
        {"nvrtcGetProgramLog", (void **)&compiler->log},
        {"nvrtcGetPTXSize", (void **)&compiler->ptx_size},
        {"nvrtcGetPTX", (void **)&compiler->ptx},
        {"nvrtcGetCUBINSize", (void **)&compiler->cubin_size},
        {"nvrtcGetCUBIN", (void **)&compiler->cubin},
        {"nvrtcGetNumSupportedArchs", (void **)&compiler->arch_count},
        {"nvrtcGetSupportedArchs", (void **)&compiler->archs},
        {"nvrtcGetErrorString", (void **)&compiler->error_string},
    };
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        *entries[i].slot = dlsym(library, entries[i].name);
        if (*entries[i].slot == NULL) {
            return PDL_FAIL_CALL(PDL_ERROR_NO_COMPILER, "dlsym", 0, "%s has no %s",
                                 PDL_PATH(compiler->path), entries[i].name);
        }
    }
    return PDL_SUCCESS;
}

static pdl_status ask_architectures(struct pdl_rtc_compiler *compiler)
{
    int count = 0;
    nvrtcResult result = compiler->arch_count(&count);
    if (result == 0 && (count <= 0 || count > PDL_RTC_ARCHITECTURES)) {
        return PDL_FAIL_CALL(PDL_ERROR_NO_COMPILER, "nvrtcGetNumSupportedArchs", 0,
                             "%s compiles for %d architectures, which is impossible",
                             PDL_PATH(compiler->path), count);
    }
    if (result == 0) {
        result = compiler->archs(compiler->known);
    }
    if (result != 0) {
        return PDL_FAIL_CALL(PDL_ERROR_NO_COMPILER, "nvrtcGetSupportedArchs", result,
                             "%s does not report its architectures: %s", PDL_PATH(compiler->path),
                             compiler->error_string(result));
    }
    compiler->known_count = (size_t)count;
    for (int i = 0; i < count; i++) {
        compiler->newest =
            compiler->known[i] > compiler->newest ? compiler->known[i] : compiler->newest;
    }
    return PDL_SUCCESS;
}

static pdl_status ask_version(void *library, struct pdl_rtc_compiler *compiler)
{
    nvrtcResult (*version)(int *major, int *minor) = NULL;
    int major = 0;
    int minor = 0;
    *(void **)&version = dlsym(library, "nvrtcVersion");
    const nvrtcResult result = version(&major, &minor);
    if (result != 0) {
        return PDL_FAIL_CALL(PDL_ERROR_NO_COMPILER, "nvrtcVersion", result,
                             "%s does not report its version", PDL_PATH(compiler->path));
    }
    compiler->number = 1000 * major + 10 * minor;
    if (compiler->number < OLDEST) {
        return PDL_FAIL(PDL_ERROR_COMPILER_TOO_OLD,
                        "%s is NVRTC %d.%d, and %d.%d or newer is needed", PDL_PATH(compiler->path),
                        major, minor, OLDEST / 1000, OLDEST % 1000 / 10);
    }
    return PDL_SUCCESS;
}

/* NVRTC opens a second library by its name in the first compilation, and not every build of it looks for
 * it beside itself. */
static void open_builtins(const struct pdl_rtc_compiler *compiler)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "libnvrtc-builtins%s.so.%d.%d",
                   strstr(compiler->path, "libnvrtc.alt.") != NULL ? ".alt" : "",
                   compiler->number / 1000, compiler->number % 1000 / 10);
    pdl_rtc_library_open_beside(compiler->path, name);
}

static pdl_status load(void *room)
{
    struct pdl_rtc_compiler *compiler = room;
    static const struct pdl_rtc_library_names names = {
        .variable = PDL_VARIABLE(PDL_NVRTC),
        .sonames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
        .marker = "nvrtcVersion",
    };
    char why[512];
    memset(compiler, 0, sizeof(*compiler));
    void *library =
        pdl_rtc_library_open(&names, compiler->path, sizeof(compiler->path), why, sizeof(why));
    if (library == NULL) {
        return PDL_FAIL_CALL(PDL_ERROR_NO_COMPILER, "dlopen", 0, "NVRTC cannot be loaded: %s", why);
    }
    pdl_status status = ask_version(library, compiler);
    if (status == PDL_SUCCESS) {
        status = resolve(library, compiler);
    }
    if (status == PDL_SUCCESS) {
        status = ask_architectures(compiler);
    }
    if (status != PDL_SUCCESS) {
        (void)dlclose(library);
        return status;
    }
    open_builtins(compiler);
    pdl_rtc_library_identify(*(void **)&compiler->version, compiler->number, &compiler->identity);
    return PDL_SUCCESS; /* it stays loaded: threads of its own may run */
}

static struct pdl_rtc_compiler loaded;
static struct pdl_once once;

pdl_status pdl_rtc_compiler_open(const struct pdl_rtc_compiler **compiler)
{
    struct pdl_rtc_compiler fresh;
    const void *table;
    const pdl_status status = pdl_once_get(&once, load, &fresh, &loaded, sizeof(fresh), &table);
    if (status == PDL_SUCCESS) {
        *compiler = table;
    }
    return status;
}

void pdl_rtc_compiler_override(const struct pdl_rtc_compiler *compiler)
{
    pdl_once_override(&once, compiler);
}
