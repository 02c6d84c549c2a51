/* SPDX-License-Identifier: MIT */
/* What the test of several copies calls of each. */
#ifndef PDL_TEST_FAKE_COPIES_H
#define PDL_TEST_FAKE_COPIES_H

#include <pdl/chain.h>

#define COPY_FUNCTIONS(X)                                                                          \
    X(pdl_kernel_from_image)                                                                       \
    X(pdl_kernel_destroy)                                                                          \
    X(pdl_launch)                                                                                  \
    X(pdl_launch_explain)                                                                          \
    X(pdl_last_error)                                                                              \
    X(pdl_overlap_enable)                                                                          \
    X(pdl_graph_add_launch)

struct copy_functions {
#define COPY_MEMBER_(name) __typeof__(name) *name;
    COPY_FUNCTIONS(COPY_MEMBER_)
#undef COPY_MEMBER_
};

#endif /* PDL_TEST_FAKE_COPIES_H */
