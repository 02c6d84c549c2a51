/* SPDX-License-Identifier: MIT */
/* libpdl-watch from the inside: who calls whom.
 *
 * The driver loads the library into a program (inject.c), or the dynamic linker does before the program starts
 * (interpose.c), or both. What is seen comes from CUPTI (callbacks.c, activity.c, graphs.c) or, where CUPTI is not to be
 * had, from the interposed calls, and goes to the recording. Nothing here may fail, end or hold up the program. */
#ifndef PDL_LIB_WATCH_WATCH_H
#define PDL_LIB_WATCH_WATCH_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/format.h"

/* ---- settings: what the environment asks for (settings.c) ----------------------------------------- */

/* The variables that `pdltool` sets. docs/watch.md documents them.
 *   PDL_WATCH_RECORD    the file of the first process; others add .2, .3 … Without it nothing is recorded.
 *   PDL_WATCH_RULES     a file that says which overlaps to add and to take out, see change.h
 *   PDL_WATCH_CUPTI     0: do not open it; launches then have no device times
 *   PDL_WATCH_LIMIT     most bytes of a recording, default 2 GiB
 *   PDL_WATCH_CODE      0: record no device code
 *   PDL_WATCH_SKIP, PDL_WATCH_COUNT, PDL_WATCH_SECONDS   a window: launches to leave out at the beginning, launches, time
 *   PDL_WATCH_RANGE     record only within NVTX ranges of this name
 *   PDL_CUPTI_PATH      libcupti.so, or the folder that it is in */
struct pdl_watch_settings {
    const char *record; /* NULL: not recorded */
    const char *rules;
    const char *range;
    const char *cupti_path;
    uint64_t limit;
    uint64_t skip, count; /* launches; count 0: all */
    uint64_t ns;          /* 0: all */
    bool cupti, code;
};

/* Read once. All in it stays. */
const struct pdl_watch_settings *pdl_watch_settings(void);

/* A line on stderr, "libpdl-watch: …"; the same one is said once per process. Also a NOTE of the recording. */
__attribute__((format(printf, 1, 2))) void pdl_watch_say(const char *format, ...);

/* ---- the recording (recording.c) ------------------------------------------------------------------- */

/* Opens it if settings ask for one; the first call does, and again in a child of a fork. False if there is none. */
bool pdl_watch_recording_open(void);
/* Whether there is one, and the window is open. Cheap. */
bool pdl_watch_recording_on(void);
/* Room for a record of `size` bytes, zeroed but for its header; NULL if it is lost, which is counted. What was written
 * counts once pdl_watch_commit() was called, on the same thread, before its next reservation. */
void *pdl_watch_reserve(enum pdl_watch_kind kind, size_t size);
void pdl_watch_commit(void *record);
/* A record whose text or bytes follow a struct of `head` bytes. */
void *pdl_watch_reserve_text(enum pdl_watch_kind kind, size_t head, const void *text, size_t length);
void pdl_watch_count_lost_device(uint64_t executions);
void pdl_watch_set_versions(uint32_t cupti, uint32_t driver);
/* What the header says at the end. */
void pdl_watch_recording_end(void);
/* The time of everything, in ns. */
uint64_t pdl_watch_now(void);

/* ---- the driver (driver.c) ------------------------------------------------------------------------- */

/* Calls of libcuda that the library makes itself: the driver's own, never the interposed ones. Members that the driver
 * lacks are NULL. NULL itself before libcuda is there. */
struct pdl_watch_driver;
const struct pdl_watch_driver *pdl_watch_driver(void);

/* ---- kernels (functions.c) ------------------------------------------------------------------------- */

/* A kernel as loaded, by its handle, which may be a CUfunction or a CUkernel. Made when it is first seen; lives as long
 * as the process. */
struct pdl_watch_kernel;    /* all of one name */
struct pdl_watch_function_of {
    uint32_t id; /* of the FUNCTION record */
    uint32_t name;
    const char *text; /* mangled name; "" if the driver does not tell */
    struct pdl_watch_kernel *kernel;
    int32_t ptx_version, binary_version;
    uint32_t capability; /* of the device, 90 for 9.0 */
};
const struct pdl_watch_function_of *pdl_watch_function(CUfunction handle);
/* The id of a name. */
uint32_t pdl_watch_name(const char *text);
/* The next number of a launch of a kernel of that name, from 1; and of all launches. */
uint32_t pdl_watch_nth(const struct pdl_watch_function_of *function, uint32_t *number);

/* ---- what is seen of a launch (launches.c) ----------------------------------------------------------- */

/* A launch that is being made: between the two calls, on one thread. */
struct pdl_watch_call {
    uint64_t begin_ns;
    const struct pdl_watch_function_of *function;
    uint32_t number, nth;
    uint32_t flags; /* ASKED, ADDED, … as change.c sets them; the rest comes from the configuration */
};
/* The thread's launch that the interposer has begun, NULL outside: CUPTI's callbacks write their record into this
 * one's name, so that a launch is seen once. */
struct pdl_watch_call *pdl_watch_call_of_thread(void);
void pdl_watch_call_begin(struct pdl_watch_call *call, CUfunction handle);
/* Writes the LAUNCH. `stream` is normalized by pdl_watch_stream(). */
void pdl_watch_call_end(const struct pdl_watch_call *call, const CUlaunchConfig *config,
                        uint64_t stream, CUresult result, uint32_t correlation, uint32_t context,
                        bool captured);
/* The handle of a stream as it is recorded; `per_thread`: the call was one of the _ptsz form. */
static inline uint64_t pdl_watch_stream(CUstream stream, bool per_thread)
{
    return stream != NULL ? (uint64_t)(uintptr_t)stream : per_thread ? 2 : 1;
}

/* ---- device code (images.c, prove.c) --------------------------------------------------------------- */

/* The driver is given code: a fatbin, its wrapper, a cubin or PTX, of which nobody tells the length. Called before
 * the driver returns. What lies in an ELF object stays there and is read when needed; other code is copied. */
void pdl_watch_image_given(const void *image);
/* The driver has loaded a cubin, CUPTI says: recorded, once. */
void pdl_watch_cubin_loaded(const void *cubin, size_t size);
/* Records the PTX that the program brings along for a kernel. When it is first launched. */
void pdl_watch_image_of(const struct pdl_watch_function_of *function);
/* Whether the kernel is proved to wait on every path before it touches memory; found out once for each. */
enum pdl_watch_proved pdl_watch_prove(const struct pdl_watch_function_of *function);

/* ---- changes (change.c, amplify.c) ------------------------------------------------------------------ */

/* Whether there are rules at all. */
bool pdl_watch_changes(void);

/* ---- CUPTI (cupti.c, callbacks.c, activity.c, graphs.c) ---------------------------------------------- */

/* Opens CUPTI and starts it. False, and pdl_watch_say() has said why, where that fails. */
bool pdl_watch_cupti_start(void);
/* Has it hand over what it holds. */
void pdl_watch_cupti_flush(void);

#endif /* PDL_LIB_WATCH_WATCH_H */
