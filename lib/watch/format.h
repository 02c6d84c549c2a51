/* SPDX-License-Identifier: MIT */
/* The format of recordings: what libpdl-watch writes into a file while a program runs, and what `pdltool` reads.
 *
 * A recording is a page with the header, and behind it chunks, each a multiple of the page and at a multiple of it.
 * A chunk is written by one thread at a time, through a mapping of the file: what a process wrote is in the file, however
 * the process ends. A chunk's records follow its header; a record's `kind` is stored last, so that a record with a
 * size and without a kind, or without both, ends its chunk. Records of different chunks have no order but that of their
 * times and numbers. All numbers are in the byte order of the machine, which `order` tells.
 *
 * A reader skips kinds that it does not know, and takes of a longer record the members that it knows. A change that such
 * a reader would get wrong raises PDL_WATCH_VERSION. Times are nanoseconds of CLOCK_MONOTONIC, those of the device too. */
#ifndef PDL_LIB_WATCH_FORMAT_H
#define PDL_LIB_WATCH_FORMAT_H

#include <stdint.h>

#define PDL_WATCH_MAGIC       "PDLWATCH"
#define PDL_WATCH_VERSION     1u
#define PDL_WATCH_ORDER       0x01020304u
#define PDL_WATCH_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */

enum {
    PDL_WATCH_PAGE = 4096, /* of the format, whatever the machine's is */
    PDL_WATCH_CHUNK =
        256 * 1024, /* of most chunks; one record that is longer has a chunk for itself */
    PDL_WATCH_COMMAND = 1024
};

/* At the beginning of the file. */
struct pdl_watch_header {
    char magic[8];
    uint32_t version;
    uint32_t order;
    uint32_t header_size; /* of this struct */
    uint32_t process;     /* pid */
    uint32_t parent;
    uint32_t
        ended; /* 1: the process came to its exit; 0: it runs, was killed or executed another program */
    uint64_t start_ns;          /* when the recording began */
    uint64_t start_realtime_ns; /* the same moment by CLOCK_REALTIME */
    uint64_t
        lost; /* records that found no room: the disk is full, or the file as large as allowed */
    uint64_t lost_device;    /* executions that CUPTI dropped */
    uint32_t cupti_version;  /* 0: not used */
    uint32_t driver_version; /* as cuDriverGetVersion() counts */
    uint32_t first_chunk;    /* where the first chunk is; others follow one another */
    uint32_t reserved;
    char command
        [PDL_WATCH_COMMAND]; /* the program's arguments, a blank between two; cut where it is longer */
};

struct pdl_watch_chunk {
    uint32_t magic;
    uint32_t size; /* with this header, a multiple of PDL_WATCH_PAGE */
    uint64_t reserved;
};

/* 13 and 15 were used. */
enum pdl_watch_kind {
    PDL_WATCH_NONE,
    PDL_WATCH_NAME,      /* of kernels */
    PDL_WATCH_DEVICE,    /* a device, when its first context is seen */
    PDL_WATCH_FUNCTION,  /* a kernel as loaded in a context */
    PDL_WATCH_IMAGE,     /* device code */
    PDL_WATCH_LAUNCH,    /* a call that launches a kernel */
    PDL_WATCH_OPERATION, /* a call that puts other work into a stream */
    PDL_WATCH_EXECUTION, /* a kernel has run, CUPTI says */
    PDL_WATCH_TRANSFER,  /* a copy or a memset has run, CUPTI says */
    PDL_WATCH_GRAPH,     /* an executable graph was made */
    PDL_WATCH_NODE,      /* a node of the graph that an executable graph was made of */
    PDL_WATCH_EDGE,      /* an edge between two of them */
    PDL_WATCH_CLONE,     /* a node was copied: into another graph or an executable one */
    PDL_WATCH_NOTE = 14, /* a sentence about the recording: what could not be seen, and why */
    PDL_WATCH_INSTRUMENTED = 16 /* what was done with a kernel of PTX that was to be instrumented */
};

/* What each record begins with. A multiple of 8 bytes. */
struct pdl_watch_record {
    uint32_t size; /* with this header and padding */
    uint16_t kind;
    uint16_t extra; /* bytes of padding behind a text or an image */
};

/* Text that ends a record has no NUL. */
struct pdl_watch_name {
    struct pdl_watch_record record;
    uint32_t id; /* from 1 */
    uint32_t reserved;
    char text[]; /* mangled, as the driver has it */
};

struct pdl_watch_device {
    struct pdl_watch_record record;
    uint32_t context;    /* CUPTI's id of the context; 0 without CUPTI */
    uint32_t device;     /* ordinal in the process */
    uint32_t capability; /* 90 for 9.0 */
    uint32_t sms;
    uint32_t threads; /* of an SM, and so on */
    uint32_t blocks;
    uint32_t registers;
    uint32_t shared_memory;
    uint32_t shared_memory_per_block; /* by opting in */
    uint32_t reserved_shared_memory;
    uint32_t threads_per_block;
    uint32_t clock_khz;
    unsigned char uuid[16];
    char text[]; /* the device's name */
};

struct pdl_watch_function {
    struct pdl_watch_record record;
    uint32_t id;   /* from 1 */
    uint32_t name; /* id of a NAME */
    uint64_t handle;
    int32_t registers; /* of a thread; -1 where the driver does not say, and so on */
    int32_t static_shared;
    int32_t local;
    int32_t ptx_version; /* 90 for compute_90 */
    int32_t binary_version;
    int32_t carveout;
    uint32_t device;
    uint32_t proved; /* enum pdl_watch_proved */
};

/* Whether a kernel waits on every path before it touches memory, as far as the process found out: only where it had to,
 * to add overlaps. */
enum pdl_watch_proved {
    PDL_WATCH_PROVED_NOT_ASKED,
    PDL_WATCH_PROVED_YES,
    PDL_WATCH_PROVED_NO,      /* its code shows that it does not */
    PDL_WATCH_PROVED_UNKNOWN, /* no code, calls that cannot be followed */
    PDL_WATCH_PROVED_NO_TOOL  /* libpdl-inspect could not be loaded */
};

struct pdl_watch_image {
    struct pdl_watch_record record;
    uint32_t form;   /* enum pdl_watch_form */
    uint32_t target; /* 90; 0: it says so itself */
    uint64_t hash;   /* pdl_hash() of its bytes: each is recorded once */
    unsigned char bytes[];
};

enum pdl_watch_form {
    PDL_WATCH_CUBIN = 1, /* what the driver runs */
    PDL_WATCH_PTX /* what the program brings along for a kernel that was launched, decompressed */
};

/* Of a LAUNCH and of a NODE. Older recordings have further bits. */
enum pdl_watch_flags {
    PDL_WATCH_OVERLAP = 1 << 0, /* programmatic stream serialization, as the driver got it */
    PDL_WATCH_EVENT = 1 << 1,   /* a programmatic event */
    PDL_WATCH_COOPERATIVE = 1 << 4,
    PDL_WATCH_CAPTURED = 1 << 6,    /* into a graph: it runs when that is launched */
    PDL_WATCH_ASKED = 1 << 7,       /* the program asked for the overlap */
    PDL_WATCH_ADDED = 1 << 8,       /* libpdl-watch added it */
    PDL_WATCH_REMOVED = 1 << 9,     /* libpdl-watch took it out */
    PDL_WATCH_NOT_PROVED = 1 << 10, /* was to be added, and the kernel is not proved to wait */
    PDL_WATCH_AMPLIFIED = 1 << 11   /* what is before it was delayed */
};

/* `stream` here and below is a handle: 1 is the legacy default stream, 2 the thread's own. */
struct pdl_watch_launch {
    struct pdl_watch_record record;
    uint64_t begin_ns; /* of the call */
    uint64_t stream;
    uint32_t duration_ns; /* of the call; UINT32_MAX: longer */
    uint32_t correlation; /* CUPTI's; 0 without */
    uint32_t function;    /* id of a FUNCTION */
    uint32_t number;      /* of this launch in the process, from 1 */
    uint32_t nth;         /* of this launch among those of kernels of its name, from 1 */
    uint32_t context;
    uint32_t thread; /* tid */
    uint32_t flags;  /* enum pdl_watch_flags */
    uint32_t grid[3];
    uint16_t block[3];
    int16_t result; /* CUresult */
    uint32_t dynamic_shared;
};

enum pdl_watch_operations {
    PDL_WATCH_COPY = 1,
    PDL_WATCH_SET,
    PDL_WATCH_EVENT_RECORD, /* detail: the event */
    PDL_WATCH_EVENT_WAIT,   /* of a stream; detail: the event */
    PDL_WATCH_HOST_FUNCTION,
    PDL_WATCH_GRAPH_LAUNCH, /* detail: the handle of the executable graph */
    PDL_WATCH_VALUE,        /* a stream waits for a value in memory or writes one */
    PDL_WATCH_ALLOCATION,   /* in stream order, or a free */
    PDL_WATCH_SYNCHRONIZE,  /* the host waited for a stream, an event or all; detail: the event */
    PDL_WATCH_CAPTURE_BEGIN,
    PDL_WATCH_CAPTURE_END,
    PDL_WATCH_MANY /* a call that does several of these */
};

struct pdl_watch_operation {
    struct pdl_watch_record record;
    uint64_t begin_ns;
    uint64_t stream;
    uint64_t detail;
    uint32_t duration_ns;
    uint32_t correlation;
    uint32_t operation; /* enum pdl_watch_operations */
    uint32_t context;
    uint32_t thread;
    uint32_t captured; /* 1: into a graph */
};

struct pdl_watch_execution {
    struct pdl_watch_record record;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t node;        /* CUPTI's id of the graph's node; 0: no graph */
    uint32_t correlation; /* of the launch, or of the launch of the graph */
    uint32_t graph;       /* CUPTI's id of the executable graph */
    uint32_t context;
    uint32_t stream; /* CUPTI's id */
    uint32_t name;
    uint32_t grid[3];
    uint16_t block[3];
    uint16_t registers;
    uint32_t static_shared;
    uint32_t dynamic_shared;
    uint32_t shared_size; /* that the SM's shared memory was set to; 0: not known */
    uint32_t from_device; /* 1: launched by a kernel */
};

struct pdl_watch_transfer {
    struct pdl_watch_record record;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t node;
    uint64_t bytes;
    uint32_t correlation;
    uint32_t graph;
    uint32_t context;
    uint32_t stream;
    uint32_t operation; /* PDL_WATCH_COPY or PDL_WATCH_SET */
    uint32_t reserved;
};

struct pdl_watch_graph {
    struct pdl_watch_record record;
    uint64_t handle; /* of the executable graph */
    uint64_t time_ns;
    uint32_t graph; /* CUPTI's id of the executable graph; 0 without */
    uint32_t nodes; /* that follow */
    uint32_t edges;
    uint32_t context;
};

struct pdl_watch_node {
    struct pdl_watch_record record;
    uint64_t node;     /* CUPTI's id in the graph that was instantiated */
    uint64_t graph;    /* handle of the executable graph */
    uint32_t type;     /* CUgraphNodeType */
    uint32_t function; /* 0: no kernel */
    uint32_t flags;    /* enum pdl_watch_flags */
    uint32_t grid[3];
    uint16_t block[3];
    uint16_t reserved;
    uint32_t dynamic_shared;
};

struct pdl_watch_edge {
    struct pdl_watch_record record;
    uint64_t from; /* ids of nodes */
    uint64_t to;
    uint64_t graph;    /* handle of the executable graph */
    uint8_t from_port; /* CU_GRAPH_KERNEL_NODE_PORT_…: 1 programmatic, 2 launch order */
    uint8_t to_port;
    uint8_t type; /* CUgraphDependencyType: 1 programmatic */
    uint8_t reserved[5];
};

struct pdl_watch_clone {
    struct pdl_watch_record record;
    uint64_t original;
    uint64_t node;
};

/* As enum pdl_instrument_action. */
enum pdl_watch_instrumented_as {
    PDL_WATCH_INSTRUMENTED_DONE = 1,
    PDL_WATCH_INSTRUMENTED_WAITS = 2, /* it did already */
    PDL_WATCH_INSTRUMENTED_EXCLUDED = 3,
    PDL_WATCH_INSTRUMENTED_REFUSED = 4
};

struct pdl_watch_instrumented {
    struct pdl_watch_record record;
    uint32_t action; /* enum pdl_watch_instrumented_as */
    uint32_t reason; /* enum pdl_instrument_reason */
    uint32_t name_size;
    uint32_t reserved;
    char text
        []; /* the mangled name, and behind it why the kernel was refused; empty: no kernel, only that it is asked for */
};

struct pdl_watch_text { /* NOTE */
    struct pdl_watch_record record;
    char text[];
};

#endif /* PDL_LIB_WATCH_FORMAT_H */
