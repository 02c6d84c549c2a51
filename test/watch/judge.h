/* SPDX-License-Identifier: MIT */
/* Recordings that tests make, read and judged. */
#ifndef PDL_TEST_JUDGE_H
#define PDL_TEST_JUDGE_H

#include "make_recording.h"
#include "watch/model.h"

/* Times of the usual chain, in ns: calls come early, each run takes 10 µs, and a gap is 1.5 µs. */
enum { US = 1000, CALLS = 1000000, RUNS = 2000000, LENGTH = 10 * US, GAP = 1500 };

/* A file of this process's own, which the next call writes over and the end of the program removes. */
const char *recording_path(void);

/* Reads what was made, through a file, and does all of it. Ends the test if it cannot be read. */
void judge(struct watch *watch, const struct recording *recording,
           const struct watch_window *window);
/* Both. The recording is freed. */
void judge_made(struct watch *watch, struct recording *recording);

/* Two kernels, 1 "first" and 2 "second", as functions 1 and 2, of which PTX says that they wait and trigger. */
void make_kernels(struct recording *recording);
/* PTX for a kernel of that name; lines of its body. */
void make_ptx(struct recording *recording, const char *name, const char *body);

/* What first and second launch in stream 0x100, 7 of CUPTI's, with these flags: number i of the chain. They do not
 * overlap. */
void make_launch(struct recording *recording, unsigned i, uint32_t function, uint32_t flags);
uint64_t launch_time(unsigned i);
uint64_t run_time(unsigned i);

/* The pair of these kernels; ends the test if there is none. */
const struct watch_pair *pair_named(const struct watch *watch, const char *first,
                                    const char *second);
const struct watch_kernel *kernel_named(const struct watch *watch, const char *name);

#endif /* PDL_TEST_JUDGE_H */
