/* SPDX-License-Identifier: MIT */
/* What the test of several copies calls of each. */
#ifndef PDL_TEST_FAKE_COPIES_H
#define PDL_TEST_FAKE_COPIES_H

#include <pdl/chain.h>
#include <pdl/policy.h>

#define COPY_FUNCTIONS(X)                                                                          \
    X(pdl_image_load)                                                                              \
    X(pdl_image_kernel)                                                                            \
    X(pdl_image_free)                                                                              \
    X(pdl_kernel_destroy)                                                                          \
    X(pdl_launch)                                                                                  \
    X(pdl_launch_explain)                                                                          \
    X(pdl_last_error)                                                                              \
    X(pdl_policy_set)                                                                              \
    X(pdl_graph_add_launch)

struct copy_functions {
#define COPY_MEMBER_(name) __typeof__(name) *name;
    COPY_FUNCTIONS(COPY_MEMBER_)
#undef COPY_MEMBER_
};

#endif /* PDL_TEST_FAKE_COPIES_H */
