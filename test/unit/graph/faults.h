/* SPDX-License-Identifier: MIT */
/* Calls of public functions that test_faults.c makes while something fails. */
#ifndef PDL_TEST_UNIT_FAULTS_H
#define PDL_TEST_UNIT_FAULTS_H

#include "graph_support.h"

/* What fails. */
extern bool is_watching;         /* allocations are those of the library */
extern unsigned fail_at;         /* the n-th from now fails; 0: none */
void forget(const void *memory); /* it is kept on purpose */

/* What the functions work on, made anew for each attempt. */
extern struct with {
    pdl_kernel *used;   /* in the chains */
    pdl_kernel *kernel; /* of which nothing is known yet */
    pdl_chain *chain;   /* of 20 links, not built */
    pdl_chain *built;
    pdl_chain *mixed; /* of every kind of node, not built */
    CUgraph graph;    /* with 20 nodes, and a 21st that depends on one of them in full */
    pdl_edge edges[20];
    CUevent event;
    union { /* what a function writes */
        unsigned char bytes[8192];
        uint32_t size;
        pdl_kernel *kernel;
        pdl_chain *chain;
        pdl_image *image;
        CUgraph graph;
        CUgraphNode node;
        uint32_t number;
    } out;
} with;
void open_fixture(int version, int devices);
void close_fixture(void);

/* How a function is called, and how what it made is destroyed. */
struct row {
    const char *function;
    const char *name;
    pdl_status (*run)(void);
    void (*undo)(void);
    uint32_t size;   /* of the struct that it fills; 0: none */
    bool old_driver; /* runs on one without graphs, too */
    bool symbol;     /* launches one */
};
extern struct row rows[128];
extern size_t row_count;

/* A file with an image, before and after all. */
int make_image_file(void **state);
int remove_image_file(void **state);

#endif /* PDL_TEST_UNIT_FAULTS_H */
