/* SPDX-License-Identifier: MIT */
/* A shared object with device code, laid out as nvcc does. test_plugins.c writes the code into copies of the file. */
#include <stdint.h>

struct wrapper { /* as in fatbinary_section.h */
    uint32_t magic;
    uint32_t version;
    const void *data;
    const void *more;
};

__attribute__((used)) static _Alignas(16) unsigned char code[4096] = "the code goes here";
__attribute__((used)) static struct wrapper wrapper = {0x466243b1u, 1, code, 0};

static void own_stub(void)
{
    wrapper.more = 0; /* so that it is there */
}

/* Of a kernel that no other object sees, and of one that is exported, as that of a template is. */
__attribute__((visibility("default"))) const void *pdl_test_own_stub(void);
__attribute__((visibility("default"))) void pdl_test_shared_stub(void);

const void *pdl_test_own_stub(void)
{
    return (const void *)(uintptr_t)own_stub;
}

void pdl_test_shared_stub(void)
{
    own_stub();
}
