/* SPDX-License-Identifier: MIT */
/* What a recording shows: read from the file, joined and judged, then written in one form or another.
 *
 * recording.c reads files into a struct watch. join.c finds for each run its launch and the run before it. code.c says
 * what the code does. pairs.c finds why neighbours do not overlap, and adds up. The forms (text.c, json.c, trace.c,
 * picture.c) only read. Strings belong to the struct watch. */
#ifndef PDL_TOOLS_WATCH_H
#define PDL_TOOLS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pdl/pdl.h>

#include "common/optional.h"
#include "watch/format.h"

#define WATCH_NONE UINT32_MAX

struct started; /* see start.h */

/* Why a run did not begin before the one in front of it had ended: the first that holds. */
enum watch_reason {
    WATCH_OVERLAPPED,
    WATCH_FIRST,     /* nothing is in front of it */
    WATCH_NOT_ASKED, /* launched without the attribute, or by a full edge that was never programmatic */
    WATCH_TAKEN_OUT,   /* libpdl-watch did */
    WATCH_NOT_PROVED,  /* libpdl-watch was to add it, and the kernel is not proved to wait */
    WATCH_COOPERATIVE, /* asked for, and nothing that the driver does overlaps it */
    WATCH_OLD_CODE, /* asked for, and the code that ran is for less than 9.0: its waits are not in it */
    WATCH_OLD_DEVICE,
    WATCH_COPY_BETWEEN, /* a copy or memset in the stream, or a node of the graph that is no kernel */
    WATCH_EVENT_BETWEEN, /* the stream waited for an event of another stream */
    WATCH_HOST_BETWEEN,  /* a host function */
    WATCH_OTHER_BETWEEN, /* another operation: a value, an allocation, a launch of a graph, another context */
    WATCH_EVENT_EAGER, /* a programmatic event to another stream, outside of a graph: the driver does not overlap it */
    WATCH_FULL_EDGE, /* asked for in the capture, and the edge is full, or one of several is */
    WATCH_NO_ROOM,   /* no block of it fits beside those in front */
    WATCH_HOST_LATE, /* the launch call came when the run in front had ended, or nearly */
    WATCH_TRIGGERS_AT_END, /* the run in front never triggers: this one's blocks start when its last ones end */
    WATCH_WAVES, /* the run in front triggers once its last blocks have started, which is in a later wave */
    WATCH_WAITS_FIRST, /* nothing is before its wait: only the latency of the launch is hidden */
    WATCH_UNKNOWN,     /* none of the above explains it */
    WATCH_REASON_COUNT
};

/* What is wrong with a kernel that was launched with overlap. */
enum watch_race {
    WATCH_RACE_NONE,
    WATCH_RACE_NO_WAIT,    /* never waits */
    WATCH_RACE_OLD_CODE,   /* was compiled for less than 9.0, so that its waits are not in it */
    WATCH_RACE_SOME_PATHS, /* does not wait on every path: its finding tells */
    WATCH_RACE_EARLY,  /* touches memory before it waits: a race, unless no kernel in flight writes
                            * that memory, which only the host knows: not an error */
    WATCH_RACE_UNKNOWN /* no code, or code that could not be followed: not an error */
};

/* What of the launches was not looked at: the first that holds. */
enum watch_unseen {
    WATCH_ALL_SEEN,
    WATCH_NOTHING_RECORDED,
    WATCH_NO_LAUNCH, /* that ran, of the kernels that were asked for */
    WATCH_LOST,      /* records are missing: launches may be among them */
    WATCH_NO_CODE    /* nothing is known of a kernel that was launched with overlap */
};

struct watch_kernel {
    const char *name;                                              /* mangled */
    const char *shown;                                             /* as people read it */
    int32_t registers, static_shared, ptx_version, binary_version; /* -1: not known */
    /* From its code. */
    pdl_known waits, triggers;
    pdl_known shown_to_wait; /* on every path before it touches memory */
    bool touches_before_wait_known,
        work_before_wait;    /* whether there is work before the wait that overlap hides */
    const char *why_unknown; /* NULL: known */
    bool no_code;            /* nothing of its code was seen */
    enum watch_race race;
    const char *finding; /* the first that libpdl-inspect reports, with its place; NULL */
    /* Sums. */
    uint64_t launches; /* runs on the device, or calls where there are no device times */
    uint64_t asked;    /* with overlap, by the program */
    uint64_t granted;  /* as the driver got it */
    uint64_t overlapped;
    uint64_t added, removed, not_proved; /* by libpdl-watch */
    uint64_t added_overlapped,
        added_close;         /* of those that it added: the others without a gap before them */
    uint64_t added_saved_ns; /* by them: overlap and hidden gaps, about */
    uint64_t time_ns, overlap_ns;
    uint64_t reasons[WATCH_REASON_COUNT];
    uint32_t
        instrumented; /* enum pdl_watch_instrumented_as; 0: was not loaded as PTX to be instrumented */
    const char *why_not_instrumented; /* of one that was refused; NULL */
};

/* One run of a kernel, a copy or a memset. Ordered by start. */
struct watch_run {
    uint64_t start_ns, end_ns;
    uint64_t node;
    uint32_t kernel; /* index; WATCH_NONE: a copy or memset */
    uint32_t process;
    uint32_t track; /* index of its stream, or of its graph's branch */
    uint32_t
        launch; /* index of its launch or of that of its graph's launch's operation; WATCH_NONE */
    uint32_t before; /* index of the run before it in the stream or graph; WATCH_NONE */
    uint32_t pair;   /* index; WATCH_NONE */
    uint32_t grid[3];
    uint16_t block[3];
    uint16_t registers;
    uint32_t static_shared, dynamic_shared, shared_size;
    uint32_t flags;  /* enum pdl_watch_flags */
    uint32_t device; /* index */
    uint8_t reason;  /* enum watch_reason */
    bool in_graph, is_set, from_device, in_window;
};

/* A call that launched a kernel. Ordered by time. */
struct watch_launch {
    uint64_t begin_ns, end_ns, stream;
    uint32_t kernel, process, number, nth, thread, flags, correlation, context;
    uint32_t grid[3];
    uint16_t block[3];
    int16_t result;
    uint32_t dynamic_shared;
    uint32_t run; /* index; WATCH_NONE: none was recorded */
};

struct watch_pair {
    uint32_t first, second; /* kernels; WATCH_NONE: a copy or memset */
    bool in_graph;
    uint64_t count, overlapped;
    uint64_t overlap_ns;
    uint64_t gap_ns;    /* between the end of the first and the start of the second, added up */
    uint64_t saving_ns; /* that overlap would save at most */
    uint64_t reasons[WATCH_REASON_COUNT];
    enum watch_reason
        reason; /* the commonest of those that did not overlap; WATCH_OVERLAPPED if all did */
    const char *detail; /* numbers that belong to it; NULL */
    uint32_t example;   /* a run with that reason */
};

struct watch_device {
    uint32_t process, context, device, capability, sms;
    uint32_t threads, blocks, registers, shared_memory, shared_memory_per_block,
        reserved_shared_memory, threads_per_block;
    const char *name;
};

struct watch_track {
    const char *name; /* "stream 7", "graph 1", with the process where there are several */
    uint32_t process, context, stream, graph;
};

struct watch_process {
    const char *path; /* of the recording */
    const char *command;
    uint32_t id, parent, cupti_version, driver_version;
    uint64_t start_ns, start_realtime_ns;
    uint64_t lost, lost_device;
    bool ended;
    bool has_times; /* runs of it were recorded */
    bool damaged;   /* the file ends within a record, or has what is none */
};

/* A list: items, how many, and for how many there is room. */
#define WATCH_LIST(type)                                                                           \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

/* Which runs are looked at. Zeroed: all. */
struct watch_window {
    const char *const *kernels; /* globs of mangled or shown names */
    size_t kernel_count;
};

struct watch {
    WATCH_LIST(struct watch_process) processes;
    WATCH_LIST(struct watch_kernel) kernels;
    WATCH_LIST(struct watch_launch) launches;
    WATCH_LIST(struct watch_run) runs;
    WATCH_LIST(struct watch_pair) pairs; /* by what they could save, then by count */
    WATCH_LIST(struct watch_device) devices;
    WATCH_LIST(struct watch_track) tracks;
    WATCH_LIST(const char *) notes;
    struct {
        uint64_t launches, asked, granted, overlapped, graph_runs, races;
        uint64_t kernel_ns; /* of all runs, added up */
        uint64_t busy_ns;   /* some kernel ran */
        uint64_t saved_ns;  /* two ran of which one waited for the other */
        uint64_t saving_ns; /* that overlap would save at most */
        uint64_t added, removed, not_proved, added_overlapped, added_close, added_saved_ns;
        uint64_t
            no_trigger; /* launches that it was added to, behind a kernel that never triggers */
        uint64_t late;  /* launches in streams that the host was late for */
        uint64_t late_interval_ns,
            late_kernel_ns;    /* medians: between those launches, and of the kernels before them */
        uint64_t instrumented; /* kernels */
    } sums;
    bool instruments;              /* PTX was to be instrumented */
    bool has_times;                /* CUPTI was there */
    const struct started *program; /* how it went; NULL: recordings are read */
    struct watch_store *store;     /* private to recording.c and join.c */
};

/* Reads recordings. False with a line on stderr for a file that is none or cannot be read; a damaged one is read as far
 * as it goes. */
bool watch_read(struct watch *watch, const char *const *paths, size_t count);
/* Everything after that, in this order. */
void watch_join(struct watch *watch, const struct watch_window *window);
void watch_look_at_code(struct watch *watch);
void watch_judge_pairs(struct watch *watch);
void watch_free(struct watch *watch);

/* One clause for people: "the launch did not ask for overlap"; what to do about it, NULL; and a word for programs:
 * "not_asked". */
const char *watch_reason_text(enum watch_reason reason);
const char *watch_reason_remedy(enum watch_reason reason);
const char *watch_reason_word(enum watch_reason reason);
/* Whether it is one for certain. */
bool watch_race_is_one(enum watch_race race);
/* Whether that is open: the code leaves it to the host, or could not be followed. */
bool watch_race_is_open(enum watch_race race);
const char *watch_race_text(enum watch_race race);
/* What a verdict about races leaves out; a clause for people; a word for programs, NULL if it leaves out nothing. */
enum watch_unseen watch_unseen(const struct watch *watch);
const char *watch_unseen_text(enum watch_unseen unseen);
const char *watch_unseen_word(enum watch_unseen unseen);
const char *watch_race_word(enum watch_race race);
/* Of enum pdl_watch_instrumented_as: "yes", "refused". */
const char *watch_instrumented_word(uint32_t instrumented);

/* The forms. False where writing failed. */
struct watch_limits {
    size_t rows; /* of each table; 0: all */
    bool full_names;
};
/* To standard output: the verdict alone in a line, the text, JSON. */
bool watch_print_verdict(const struct watch *watch);
bool watch_print_text(const struct watch *watch, const struct watch_limits *limits);
TOOL_OPTIONAL bool watch_print_json(const struct watch *watch);
bool watch_write_trace(const struct watch *watch, const char *path);
bool watch_write_picture(const struct watch *watch, const char *path);

#endif /* PDL_TOOLS_WATCH_H */
