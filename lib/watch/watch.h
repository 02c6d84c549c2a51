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

#include "os/variable.h"
#include "watch/format.h"

/* ---- settings: what the environment asks for (settings.c) ----------------------------------------- */

/* os/environment.h has the variables, of which `pdltool` sets most. */
struct pdl_watch_settings {
    const char *record; /* NULL: not recorded */
    const char *rules;
    const char *cupti_path;
    const char *constants;
    struct pdl_reading instrument, trigger;
    uint64_t limit;
    uint64_t skip, count; /* launches; count 0: all */
    uint64_t ns;          /* 0: all */
    bool cupti, code;
    bool is_instrumented; /* or asked for with an unknown word, which is said */
};

/* Read once. All in it stays. */
const struct pdl_watch_settings *pdl_watch_settings(void);

/* A line on stderr, "libpdl-watch: …"; the same one is said once per process. Also a NOTE of the recording. */
__attribute__((format(printf, 1, 2))) void pdl_watch_say(const char *format, ...);

/* ---- the recording (recording.c) ------------------------------------------------------------------- */

/* Opens it if settings ask for one; the first call does, and again in a child of a fork. False if there is none. */
bool pdl_watch_recording_open(void);
/* Whether there is one, and the window is open: launches, operations and executions are recorded then, names,
 * functions and code always. Cheap. */
bool pdl_watch_window_is_open(void);
/* Counts a launch for the window, and opens or closes it. */
void pdl_watch_window_launch(uint32_t number);
/* Room for a record of `size` bytes, zeroed but for its header; NULL if it is lost, which is counted. What was written
 * counts once pdl_watch_commit() was called, on the same thread, before its next reservation. */
void *pdl_watch_reserve(enum pdl_watch_kind kind, size_t size);
void pdl_watch_commit(void *record);
/* A record whose text or bytes follow a struct of `head` bytes. */
void *pdl_watch_reserve_text(enum pdl_watch_kind kind, size_t head, const void *text,
                             size_t length);
void pdl_watch_count_lost_device(uint64_t executions);
void pdl_watch_set_versions(uint32_t cupti, uint32_t driver);
/* What the header says at the end. */
void pdl_watch_recording_end(void);
/* Forks between the process that loaded the library and this one, once it has a recording. */
uint32_t pdl_watch_forks(void);
/* The id of this thread, as records have it. */
uint32_t pdl_watch_thread(void);
/* The time of everything, in ns. */
uint64_t pdl_watch_now(void);

/* ---- kernels (functions.c) ------------------------------------------------------------------------- */

/* All kernels of one name. Lives as long as the process. */
struct pdl_watch_kernel {
    uint32_t id;               /* of the NAME record */
    _Atomic uint32_t launches; /* so far */
    _Atomic uint32_t
        rule;         /* what the rules say of the name, for interpose_launch.c; 0: not asked yet */
    const char *text; /* mangled; "" if the driver does not tell */
};

/* A kernel as loaded, by its handle, which may be a CUfunction or a CUkernel. Made when it is first seen; lives as long
 * as the process. */
struct pdl_watch_loaded {
    uint32_t id; /* of the FUNCTION record */
    struct pdl_watch_kernel *kernel;
    uint64_t handle;
    uint64_t module;                      /* that it goes with; 0: not known */
    struct pdl_watch_loaded *module_next; /* of those in a bucket of modules; under the lock */
    uint32_t generation;
    _Atomic bool gone;          /* it was unloaded, or made again */
    bool settled;               /* the driver told all: not so without a context */
    uint32_t attempts;          /* to be told */
    _Atomic uint32_t questions; /* for prove.c, that had no answer yet */
    int32_t ptx_version, binary_version;
    uint32_t capability;           /* of the device, 90 for 9.0; 0: not known */
    _Atomic uint32_t proved;       /* enum pdl_watch_proved, for prove.c */
    struct pdl_watch_loaded *next; /* in its bucket */
};

/* Thread-safe, without a lock once it is known. NULL without memory, and for NULL. */
struct pdl_watch_loaded *pdl_watch_function(CUfunction handle);
/* The kernels of a name, made if it is new. NULL without memory. */
struct pdl_watch_kernel *pdl_watch_kernel(const char *text);
/* Code was unloaded: handles may be given out again for other kernels. That of a module; all. */
void pdl_watch_functions_forget_module(CUmodule module);
void pdl_watch_functions_forget(void);

/* ---- what is seen of a launch (launches.c) ----------------------------------------------------------- */

/* A launch that is being made: between the two calls, on one thread. */
struct pdl_watch_call {
    uint64_t begin_ns;
    struct pdl_watch_loaded *function;
    uint32_t number, nth;
    uint32_t
        flags; /* ASKED, ADDED, … as the interposer sets them; the rest comes from the configuration */
    bool active;      /* between begin and end */
    bool by_callback; /* a callback began it */
    bool recorded;
};
/* The thread's launch. The interposer begins and ends it around the driver's call; CUPTI's callbacks in between find it
 * active and complete it. Without an interposer they begin and end it themselves. */
struct pdl_watch_call *pdl_watch_call(void);
void pdl_watch_call_begin(struct pdl_watch_call *call, CUfunction handle);
/* Writes the LAUNCH, unless it was written or is outside of the window. `stream` is as pdl_watch_stream() gives it. */
void pdl_watch_call_record(struct pdl_watch_call *call, const CUlaunchConfig *config,
                           uint64_t stream, CUresult result, uint32_t correlation,
                           uint32_t context);
/* What a configuration's attributes say, as enum pdl_watch_flags. */
uint32_t pdl_watch_flags_of(const CUlaunchAttribute *attributes, unsigned count);
/* Whether a stream is being captured. */
bool pdl_watch_is_captured(CUstream stream, bool per_thread);
/* A capture began or ended. */
void pdl_watch_captures(int change);
/* The OPERATION record. */
void pdl_watch_operation(uint32_t operation, uint64_t begin_ns, uint64_t stream, uint64_t detail,
                         uint32_t correlation, uint32_t context, bool captured);
/* The handle of a stream as it is recorded; `per_thread`: the call was one of the _ptsz form. */
static inline uint64_t pdl_watch_stream(CUstream stream, bool per_thread)
{
    return stream != NULL ? (uint64_t)(uintptr_t)stream : per_thread ? 2 : 1;
}

/* ---- device code (images.c, prove.c, replace.c) ------------------------------------------------------ */

/* The driver is given code: a fatbin, its wrapper, a cubin or PTX, of which nobody tells the length. Called before
 * the driver returns. What lies in an ELF object stays there and is read when needed; other code is copied. */
void pdl_watch_image_given(const void *image);
/* The driver has loaded a cubin, CUPTI says: recorded, once. */
void pdl_watch_cubin_loaded(const void *cubin, size_t size);
/* Records the PTX that the program brings along for a kernel. When it is first launched. */
void pdl_watch_image_of(struct pdl_watch_loaded *function);
/* Whether the kernel is proved to wait on every path before it touches memory; found out once for each. */
enum pdl_watch_proved pdl_watch_prove(struct pdl_watch_loaded *function);

/* ---- changes (change.c, amplify.c) ------------------------------------------------------------------ */

/* The real dlsym(), not the one that this library exports. */
void *pdl_watch_symbol(void *library, const char *name);

/* ---- CUPTI (cupti.c, callbacks.c, activity.c, graphs.c) ---------------------------------------------- */

/* Opens CUPTI and starts it. False, and pdl_watch_say() has said why, where that fails. */
bool pdl_watch_cupti_start(void);
/* Whether it runs. */
bool pdl_watch_cupti_runs(void);
/* Has it hand over what has ended, if it did not lately: for processes that are killed. By itself it does so only when a
 * buffer is full. When the host has waited for the device, little is held up. */
void pdl_watch_cupti_flush_at_times(void);
/* Has it hand over what it holds. */
void pdl_watch_cupti_flush(void);
/* Device times on or off. */
void pdl_watch_activities(bool on);
/* What has become known of a context's device: a DEVICE record, once. */
void pdl_watch_device(uint32_t context_id);

#endif /* PDL_LIB_WATCH_WATCH_H */
