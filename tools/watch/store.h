/* SPDX-License-Identifier: MIT */
/* What a recording holds besides what the forms show: private to the files that make a struct watch. */
#ifndef PDL_TOOLS_WATCH_STORE_H
#define PDL_TOOLS_WATCH_STORE_H

#include "trace/names.h"
#include "watch/ids.h"
#include "watch/model.h"

/* Of a launch or a run: what is between it and the run before it. */
enum store_between {
    BETWEEN_COPY = 1 << 0,
    BETWEEN_EVENT = 1 << 1,
    BETWEEN_HOST = 1 << 2,
    BETWEEN_OTHER = 1 << 3,
    BETWEEN_EAGER = 1 << 4,    /* waits for a programmatic event of another stream */
    BETWEEN_LOST = 1 << 5,     /* a launch whose run was not recorded */
    BETWEEN_FULL = 1 << 6,     /* an edge of the graph that is not programmatic */
    BETWEEN_EDGE = 1 << 7,     /* an edge that is */
    BETWEEN_NO_EDGES = 1 << 8, /* the graph's edges are not known */
    BETWEEN_NO_TIMES = 1 << 9  /* the run is a call: there are no times of the device */
};
enum { BETWEEN_ANY = BETWEEN_COPY | BETWEEN_EVENT | BETWEEN_HOST | BETWEEN_OTHER };

/* What is known of a run besides its struct watch_run, at the same index. */
struct store_run {
    uint32_t correlation, context, stream, graph;
    uint32_t function;   /* index; WATCH_NONE */
    uint32_t call;       /* index of its launch's call or of its graph's launch; WATCH_NONE */
    uint32_t group;      /* index of the launch of its graph; WATCH_NONE */
    uint32_t between;    /* enum store_between */
    uint32_t graph_node; /* index of its NODE; WATCH_NONE */
};

/* A call of the host that puts something into a stream. Ordered by time. */
struct store_call {
    uint64_t begin_ns, end_ns, stream, detail;
    uint32_t process, context, thread, correlation;
    uint32_t what;   /* enum pdl_watch_operations; 0: a launch */
    uint32_t launch; /* index; WATCH_NONE */
    uint32_t function;
    uint32_t run;   /* of a launch or a copy; of the launch of a graph the group; WATCH_NONE */
    uint32_t queue; /* index of what it is put into, see join.c */
    bool captured;
};

/* One launch of a graph. */
struct store_group {
    uint32_t first, count; /* in `members` */
    uint32_t call;         /* WATCH_NONE */
    uint32_t last;         /* kernel's run that ends last; WATCH_NONE */
};

struct store_name {
    const char *text;
    uint32_t kernel; /* index; WATCH_NONE: none of it ran */
};

struct store_function {
    uint32_t process, id, name, kernel, device, proved;
    int32_t registers, static_shared, ptx_version, binary_version, carveout;
    bool overlapped; /* launched with overlap */
};

struct store_instrumented {
    const char *name, *message;
    uint32_t action; /* enum pdl_watch_instrumented_as */
};

struct store_image {
    const unsigned char *bytes;
    size_t size;
    uint32_t form, target, process;
};

/* Executable graphs with one handle. */
struct store_graph {
    uint64_t handle;
    uint32_t process;
};

struct store_node {
    uint64_t node;
    uint32_t graph, type, function, flags;
    uint32_t grid[3];
    uint16_t block[3];
    uint32_t dynamic_shared;
    uint32_t first_edge, edge_count; /* of those that end here */
};

struct store_edge {
    uint64_t from, to;
    uint32_t graph;
    uint32_t from_node, to_node; /* indices; WATCH_NONE */
    bool programmatic;
};

struct watch_store {
    WATCH_LIST(unsigned char *) files;
    WATCH_LIST(char *) texts;
    struct pdl_names kernel_names;
    uint32_t process; /* that is read */

    WATCH_LIST(struct store_name) names;
    WATCH_LIST(struct store_function) functions;
    WATCH_LIST(struct store_image) images;
    WATCH_LIST(struct store_instrumented) instrumented;
    WATCH_LIST(struct store_call) calls;
    WATCH_LIST(struct store_run) runs;
    WATCH_LIST(struct store_graph) graphs;
    WATCH_LIST(struct store_node) nodes;
    WATCH_LIST(struct store_edge) edges;
    WATCH_LIST(uint64_t) originals;
    WATCH_LIST(struct store_group) groups;
    uint32_t *members; /* runs of the groups, each group's by start */

    struct ids by_name;     /* (id, process) → names */
    struct ids by_function; /* (id, process) → functions */
    struct ids by_context;  /* (context, process) → devices */
    struct ids by_handle;   /* (handle of an executable graph, process) → graphs */
    struct ids by_graph;    /* (CUPTI's id of one, process) → graphs */
    struct ids by_node;     /* (node, graph) → nodes */
    struct ids any_node;    /* (node, process) → nodes */
    struct ids by_clone;    /* (node, process) → originals */

    uint64_t impossible; /* executions whose times cannot be */
    /* Of launches that nothing else explains, the usual gap behind the run in front; [1]: in graphs. */
    uint64_t usual_gap_ns[2];
};

/* Has the struct watch free a text from malloc(), which it returns. */
const char *store_text(struct watch_store *store, char *text);

/* The kernel of a mangled name, made when it is first asked for. */
uint32_t store_kernel(struct watch *watch, const char *name);

/* How long a run was on the device at the same time as the run before it; 0 without one. */
uint64_t store_overlap_ns(const struct watch *watch, const struct watch_run *run);

/* queues.c: what is in front of what in streams. `has_times`: of processes. */
void store_queue_runs(struct watch *watch, const bool *has_times);

/* graphs.c: launches of graphs, and in each what is in front of what. */
void store_group_graphs(struct watch *watch);
void store_link_graphs(struct watch *watch);
/* Puts the runs of graphs on tracks. */
void store_branch_graphs(struct watch *watch);
/* The index of a track, made where it is new. */
uint32_t store_track(struct watch *watch, struct ids *tracks, const struct watch_run *run,
                     uint32_t branch);

/* front.c: whether a kernel has work in front of its first wait that overlap hides. `ptx` begins where the kernel does. */
struct front {
    bool known, work;
};
struct front front_of_wait(const char *ptx, size_t size, const char *kernel);

/* room.c: whether a block of the second kernel fits beside those of the first that are left at its end. NULL if it
 * does or cannot be told, or a text to free that says what is missing. */
char *room_missing(const struct watch *watch, const struct watch_run *first,
                   const struct watch_run *second);
/* How many blocks of a run the device holds at the same time; 0: not known. *blocks: how many it has. */
uint64_t room_wave(const struct watch *watch, const struct watch_run *run, uint64_t *blocks);
/* Whether SMs had to be set to more shared memory for the second. */
static inline bool room_is_resized(const struct watch_run *first, const struct watch_run *second)
{
    return first->shared_size > 0 && second->shared_size > first->shared_size;
}

/* pairs.c: whether the program, or libpdl-watch for it, wanted a run to overlap the one before it. */
bool store_is_wanted(const struct watch *watch, const struct watch_run *run);
/* Whether the host launched a run too late for it to overlap the run before it. */
bool store_host_late(const struct watch *watch, const struct watch_run *run);
/* What overlap would save of a run that has a run before it, at most. */
uint64_t store_saving_ns(const struct watch *watch, const struct watch_run *run);

#endif /* PDL_TOOLS_WATCH_STORE_H */
