/* SPDX-License-Identifier: MIT */
/* Small scans for whether kernels wait and trigger. scan_cubin.c is how both libpdl and
 * libpdl-inspect read machine code; scan_ptx.c and scan_choice.c are libpdl's own, for the images
 * that it loads itself (libpdl-inspect reads PTX in full). */
#ifndef PDL_INSPECT_SCAN_H
#define PDL_INSPECT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pdl/pdl.h>

/* ---- cubins --------------------------------------------------------------------------------- */

/* A kernel, or a device function with a section of its own. Strings point into the cubin. */
struct pdl_cubin_code {
    const char *name;
    bool kernel;
    pdl_known waits; /* what it calls included */
    pdl_known triggers;
    uint32_t wait_count; /* in its own body */
    uint32_t trigger_count;
    int32_t registers;       /* -1 if not known */
    int64_t shared_memory;   /* static, bytes, without what the system reserves */
    int32_t parameter_count; /* -1 if not known */
    /* For the scan itself: */
    uint32_t section;
    uint32_t symbol; /* UINT32_MAX if it has none */
    uint64_t own_size;
    uint32_t marks;
};

struct pdl_cubin {
    int32_t target;          /* 90 of sm_90; 0 if not known */
    char suffix;             /* 'a', 'f' or NUL */
    bool known;              /* whether the instructions of that target are known */
    bool relocatable;        /* to be linked with others: not what a driver runs */
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

/* What code does, as far as it is known. */
struct pdl_scan_answer {
    pdl_known waits;
    pdl_known triggers;
    bool no_memory; /* and therefore unknown */
};

/* Whether the kernel of that name in a PTX text waits and triggers, by the text's tokens. Unknown
 * if there is no such kernel, here and below. */
struct pdl_scan_answer pdl_scan_ptx(const char *text, size_t size, const char *name);

/* The same for a kernel in a cubin. */
struct pdl_scan_answer pdl_scan_cubin_kernel(const unsigned char *bytes, size_t size,
                                             const char *name);

/* The same for the code that a driver chooses from a fatbin for a device, whose compute capability
 * is 90 for 9.0. */
struct pdl_scan_answer pdl_scan_fatbin(const unsigned char *bytes, size_t size, const char *name,
                                       uint32_t capability);

/* What is known of code that may be either. */
struct pdl_scan_answer pdl_scan_either(struct pdl_scan_answer a, struct pdl_scan_answer b);

#endif /* PDL_INSPECT_SCAN_H */
