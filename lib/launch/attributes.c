/* SPDX-License-Identifier: MIT */
#include "launch/attributes.h"

#define MEMBER_SIZE(member) sizeof(((pdl_launch_desc *)NULL)->member)

const struct pdl_attribute pdl_attributes[PDL_ATTRIBUTE_COUNT] = {
#define ROW(number_, name_, field_, emit_, probe_, flag_, limit_, since_, capability_, remark_)    \
    {.name = #name_,                                                                               \
     .field = #field_,                                                                             \
     .remark = (remark_),                                                                          \
     .offset = offsetof(pdl_launch_desc, field_),                                                  \
     .size = MEMBER_SIZE(field_),                                                                  \
     .probe = offsetof(pdl_launch_desc, probe_),                                                   \
     .probe_size = MEMBER_SIZE(probe_),                                                            \
     .number = (number_),                                                                          \
     .emit = PDL_EMIT_##emit_,                                                                     \
     .capability = (capability_),                                                                  \
     .since = (since_),                                                                            \
     .flag = (flag_),                                                                              \
     .limit = (limit_)},
    PDL_ATTRIBUTE_LIST(ROW)
#undef ROW
};

const struct pdl_attribute *pdl_attribute_find(int number)
{
    for (size_t i = 0; i < PDL_ATTRIBUTE_COUNT; i++) {
        if (pdl_attributes[i].number == number) {
            return &pdl_attributes[i];
        }
    }
    return NULL;
}
