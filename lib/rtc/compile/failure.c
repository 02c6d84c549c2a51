/* SPDX-License-Identifier: MIT */
/* What a compilation failed of: results and logs of NVRTC made statuses and sentences. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/path_text.h"
#include "rtc/compile/dump.h"
#include "rtc/compile/job.h"
#include "rtc/compile/log.h"
#include "rtc/directory.h"

/* ---- the log -------------------------------------------------------------------------------- */

/* The line of a log that says what is wrong: the first with an error in it, else the first. */
static const char *find_error(const char *log, size_t *size)
{
    static const char *const words[] = {"error", "fatal"};
    const char *line = log + strspn(log, "\n");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *found = strstr(log, words[i]);
        if (found != NULL) {
            while (found > log && found[-1] != '\n') {
                found--;
            }
            line = found;
            break;
        }
    }
    *size = strcspn(line, "\n");
    return line;
}

/* Whether every error in the log is about a name expression: NVRTC reads those as lines of a file of this
 * name, and calls the whole a compilation that failed. */
static bool only_names_are_wrong(const char *log)
{
    static const char file[] = "__nv_name_map(";
    bool any = false;
    while (*log != '\0') {
        const size_t size = strcspn(log, "\n");
        const char *error = memmem(log, size, "): error", 8);
        if (error == NULL) {
            error = memmem(log, size, "): catastrophic error", 21);
        }
        if (error != NULL) {
            any = true;
            if (strncmp(log, file, sizeof(file) - 1) != 0) {
                return false;
            }
        }
        log += size + (log[size] == '\n');
    }
    return any;
}

/* ---- failures ------------------------------------------------------------------------------- */

/* What to do about an error that people often meet; "" if it is another. */
static const char *hint_for(const char *line, size_t size)
{
    static const struct {
        const char *said, *hint;
    } hints[] = {
        {"\"PDL_", "; #include <pdl/device.cuh>, which is built in"},
        {"\"cudaGridDependencySynchronize\"",
         "; #include <pdl/device.cuh>, which is built in, and call PDL_WAIT()"},
        {"\"cudaTriggerProgrammaticLaunchCompletion\"",
         "; #include <pdl/device.cuh>, which is built in, and call PDL_LAUNCH_DEPENDENTS()"},
        {"source file \"cuda_", "; pass the folder of CUDA's headers: -I/usr/local/cuda/include"},
        {"source file \"c",
         "; NVRTC has no headers of C++: #include <cuda/std/...>, and pass their "
         "folder: -I/usr/local/cuda/include/cccl"},
    };
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        if (memmem(line, size, hints[i].said, strlen(hints[i].said)) != NULL) {
            return hints[i].hint;
        }
    }
    return "";
}

/* "FIRST ERROR; HINT; all of it in FILE", the file's name in full if it can be. */
pdl_status pdl_rtc_job_fail(const struct pdl_rtc_job *job, const char *call, int result)
{
    enum { ROOM = sizeof(((pdl_error *)NULL)->message) - 1 };
    const struct pdl_rtc_request *request = job->request;
    const char *directory = request->cache_directory;
    char *default_directory = NULL;
    char path[ROOM] = "no memory";
    char tail[ROOM + 32] = "";
    size_t size = 0;
    const char *line = find_error(pdl_rtc_log(), &size);
    bool written = false;
    if (directory != NULL || pdl_rtc_directory_default(&default_directory) == PDL_SUCCESS) {
        written = pdl_rtc_dump(request, directory != NULL ? directory : default_directory,
                               pdl_rtc_log(), path, sizeof(path));
    }
    free(default_directory);
    if (path[0] != '\0') {
        (void)snprintf(tail, sizeof(tail), "; %s %s",
                       written ? "all of it in" : "not written:", path);
    }
    if (size == 0) {
        line = "the compiler gives no reason";
        size = strlen(line);
    }
    const char *const hint = hint_for(line, size);
    const size_t least = size < 100 ? size : 100; /* of the error, whatever the file is called */
    const size_t others = strlen(hint) + strlen(tail);
    const size_t rest = others < ROOM - least ? ROOM - others : least;
    return PDL_FAIL_CALL(PDL_ERROR_COMPILE, call, result, "%.*s%s%s",
                         (int)(size < rest ? size : rest), line, hint, tail);
}

/* The name that NVRTC found wrong first: those before it are right. */
static pdl_status fail_names(const struct pdl_rtc_job *job)
{
    static const char said[] = "Input name expression was: \"";
    const struct pdl_rtc_request *request = job->request;
    const char *pragma = strstr(pdl_rtc_log(), "#pragma nv_mangled_name ");
    const char *name = NULL;
    size_t size = 0;
    if (pragma != NULL) {
        name = pragma + strlen("#pragma nv_mangled_name ");
        size = strcspn(name, "\n");
    } else if ((name = strstr(pdl_rtc_log(), said)) != NULL) {
        name += sizeof(said) - 1;
        size = strcspn(name, "\"\n");
    } else {
        name = request->name_count > 0 ? request->names[0] : "";
        size = strlen(name);
    }
    return PDL_FAIL_FIELD(PDL_ERROR_NOT_FOUND, "name", "%.100s has no %.*s", request->program,
                          size < 200 ? (int)size : 200, name);
}

static pdl_status fail_option(const struct pdl_rtc_job *job, int result)
{
    size_t size = 0;
    const char *line = find_error(pdl_rtc_log(), &size);
    return PDL_FAIL_CALL(PDL_ERROR_OPTION, "nvrtcCompileProgram", result,
                         "NVRTC %d.%d refuses an option: %.*s", job->compiler->number / 1000,
                         job->compiler->number % 1000 / 10, size < 250 ? (int)size : 250, line);
}

static pdl_status fail_builtins(const struct pdl_rtc_job *job, int result)
{
    size_t size = 0;
    const char *line = find_error(pdl_rtc_log(), &size);
    return PDL_FAIL_CALL(
        PDL_ERROR_NO_COMPILER, "nvrtcCompileProgram", result,
        "%s does not find libnvrtc-builtins.so of its version: both must be in one folder%s%.*s",
        pdl_path_text(job->compiler->path, 150).text, size > 0 ? ": " : "",
        size < 100 ? (int)size : 100, line);
}

/* What a result of NVRTC's means that is none of the above. */
pdl_status pdl_rtc_job_fail_call(const struct pdl_rtc_job *job, const char *call, int result)
{
    switch (result) {
    case NVRTC_OUT_OF_MEMORY:
        return PDL_FAIL_CALL(PDL_ERROR_OUT_OF_MEMORY, call, result, "%s: no memory", call);
    case NVRTC_INVALID_INPUT:
        return PDL_FAIL_CALL(PDL_ERROR_INVALID_ARGUMENT, call, result, "%s refuses %.100s: %s",
                             call, job->request->program, job->compiler->error_string(result));
    default:
        break;
    }
    if (pdl_rtc_log()[0] == '\0') {
        char *log = pdl_rtc_log_room(256);
        if (log != NULL) {
            (void)snprintf(log, 256, "%s: error: %s (%d)\n", call,
                           result != 0 ? job->compiler->error_string(result) : "it gives no code",
                           result);
        }
    }
    return pdl_rtc_job_fail(job, call, result);
}

pdl_status pdl_rtc_job_judge(struct pdl_rtc_job *job, nvrtcResult result)
{
    switch (result) {
    case 0:
        return PDL_SUCCESS;
    case NVRTC_INVALID_OPTION:
        return fail_option(job, result);
    case NVRTC_BUILTIN_OPERATION_FAILURE:
        return fail_builtins(job, result);
    case NVRTC_NAME_EXPRESSION_NOT_VALID:
        return fail_names(job);
    case NVRTC_COMPILATION:
        return only_names_are_wrong(pdl_rtc_log())
                   ? fail_names(job)
                   : pdl_rtc_job_fail(job, "nvrtcCompileProgram", result);
    default:
        return pdl_rtc_job_fail_call(job, "nvrtcCompileProgram", result);
    }
}
