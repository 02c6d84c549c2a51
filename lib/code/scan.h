/* SPDX-License-Identifier: MIT */
/* Small scans for whether kernels wait and trigger. scan_cubin.c is how both libpdl and
 * libpdl-inspect read machine code; scan_ptx.c and scan_choice.c are libpdl's own (libpdl-inspect
 * reads PTX in full). */
#ifndef PDL_LIB_SCAN_H
#define PDL_LIB_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pdl/pdl.h>

#include "code/bounds.h"
#include "code/proof.h"

/* ---- cubins --------------------------------------------------------------------------------- */

/* A kernel, or a device function with a section of its own. Strings point into the cubin. */
struct pdl_cubin_code {
    const char *name;
    bool kernel;
    pdl_known waits; /* what it calls included */
    pdl_known triggers;
    bool unknown;        /* it calls what cannot be told, what it calls included */
    uint32_t wait_count; /* in its own body */
    uint32_t trigger_count;
    int32_t registers;       /* -1 if not known */
    int64_t shared_memory;   /* static, bytes, without what the system reserves */
    int32_t parameter_count; /* -1 if not known */
    struct pdl_bounds bounds;
    /* For the scan itself: */
    uint32_t section;
    uint32_t symbol; /* UINT32_MAX if it has none */
    uint64_t own_size;
    uint32_t marks;
};

struct pdl_cubin {
    int32_t target;   /* 90 of sm_90; 0 if not known */
    char suffix;      /* 'a', 'f' or NUL */
    bool known;       /* whether the instructions of that target are known */
    int32_t read_as;  /* known because they look like those of this target: 121 of sm_121; else 0 */
    bool relocatable; /* to be linked with others: not what a driver runs */
    uint32_t function_count; /* device functions with a body, once for each kernel they are in */
    struct pdl_cubin_code *codes;
    uint32_t count;
};

/* What came of a scan. */
enum pdl_scan_result { PDL_SCAN_DONE, PDL_SCAN_MALFORMED, PDL_SCAN_NO_MEMORY };

/* Reads a cubin, which has to stay for as long as the names are used. Freed by
 * pdl_scan_cubin_free(); nothing has to be freed after a failure. */
enum pdl_scan_result pdl_scan_cubin(struct pdl_cubin *cubin, const unsigned char *bytes,
                                    size_t size);
void pdl_scan_cubin_free(struct pdl_cubin *cubin);

/* ---- what libpdl asks ----------------------------------------------------------------------- */

/* Why something is not known of a kernel. */
enum pdl_why {
    PDL_WHY_NOTHING,   /* all is known */
    PDL_WHY_ALIKE,     /* known because its instructions look like those of another target */
    PDL_WHY_NO_IMAGE,  /* nobody gave its code */
    PDL_WHY_DECLARED,  /* the caller said that it is unknown */
    PDL_WHY_NOT_FOUND, /* there is no code of it */
    PDL_WHY_CALLS,     /* it calls through pointers, or what is not there */
    PDL_WHY_TARGET,    /* machine code whose instructions are not known */
    PDL_WHY_LIBRARY,   /* compressed, and the library for that cannot be opened */
    PDL_WHY_DAMAGED,   /* or of a form that is not known */
    PDL_WHY_DIFFERENT, /* several codes of that name do different things */
    PDL_WHY_VERSION,   /* the driver says that it runs other code than was read */
    PDL_WHY_UNNAMED,   /* the driver does not tell the kernel's name: before CUDA 12.3 */
    PDL_WHY_NO_MEMORY
};

/* One clause, such as "its code was not found". */
const char *pdl_why_string(enum pdl_why why);

/* What the code of a kernel does, as far as it is known. */
struct pdl_scan_answer {
    pdl_known waits;
    pdl_known triggers;
    enum pdl_why why; /* if one of them is unknown, or known by likeness */
    uint32_t target;  /* that the code is for: 90 of sm_90 or compute_90; 0 if not known */
    bool ptx;         /* PTX, which the driver compiles; else machine code */
    struct pdl_proof_answer proof; /* for who asks; the scans here leave it alone */
    struct pdl_untold_bounds bounds;
};

/* What is called for each kernel; it returns false to end the scan for want of memory. Names need
 * not end in a NUL. */
typedef bool (*pdl_scan_visitor)(void *context, const char *name, size_t length,
                                 const struct pdl_scan_answer *answer);

/* Visits the kernels of a PTX text, by its tokens; `target` is passed on. False without memory. */
bool pdl_scan_ptx_each(const char *text, size_t size, uint32_t target, pdl_scan_visitor visit,
                       void *context);

/* Visits the kernels of the code that a driver chooses from a fatbin for a device, whose compute
 * capability is 90 for 9.0: the newest cubin that fits, else PTX; `ptx_only` as under
 * CUDA_FORCE_PTX_JIT. Returns PDL_WHY_NOTHING if all of it was visited, PDL_WHY_NOT_FOUND if
 * nothing fits. */
enum pdl_why pdl_scan_fatbin_each(const unsigned char *bytes, size_t size, uint32_t capability,
                                  bool ptx_only, pdl_scan_visitor visit, void *context);

/* Those of a cubin: the same. */
enum pdl_why pdl_scan_cubin_each(const unsigned char *bytes, size_t size, pdl_scan_visitor visit,
                                 void *context);

/* A kernel in a table. Its name is kept as two hashes. */
struct pdl_scan_row {
    uint64_t hash[2];
    const unsigned char *data; /* the table's `reading` when it was added */
    uint32_t target;
    uint8_t ptx;
    uint8_t waits;
    uint8_t triggers;
    uint8_t why;
    struct pdl_untold_bounds bounds;
};

struct pdl_scan_table {
    struct pdl_scan_row *rows; /* owned */
    uint32_t count;
    size_t capacity;
    const unsigned char *reading;
};

/* Adds a kernel to a table: a pdl_scan_visitor. Sort the table after the last one. */
bool pdl_scan_keep(void *table, const char *name, size_t length,
                   const struct pdl_scan_answer *answer);
void pdl_scan_sort(struct pdl_scan_table *table);

/* The first of the `count` kernels of a name; they follow each other. */
const struct pdl_scan_row *pdl_scan_find(const struct pdl_scan_table *table, const char *name,
                                         uint32_t *count);
struct pdl_scan_answer pdl_scan_answer_of(const struct pdl_scan_row *row);

/* How good code for a target is for a device, as the driver chooses: 0 not at all, else more is better. */
uint32_t pdl_scan_fitness(bool machine, uint32_t target, char suffix, uint32_t capability);

/* The same for an entry of a fatbin, 0 for what is neither machine code nor PTX. */
struct pdl_fatbin_entry;
uint32_t pdl_scan_entry_fitness(const struct pdl_fatbin_entry *entry, uint32_t capability,
                                bool ptx_only);

/* Whether the environment has the driver compile PTX even where there is machine code. */
bool pdl_scan_ptx_is_forced(void);

/* What is known of code that may be either. */
struct pdl_scan_answer pdl_scan_either(struct pdl_scan_answer a, struct pdl_scan_answer b);

#endif /* PDL_LIB_SCAN_H */
