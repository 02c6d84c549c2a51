/* SPDX-License-Identifier: MIT */
/* Another source of the same program, which never has the implementation. */
#include "pdl.h"

#ifdef __cplusplus
extern "C"
#endif
    const char *
    other_message(void);

const char *other_message(void)
{
    return pdl_last_error()->message;
}
