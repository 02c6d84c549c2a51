/* SPDX-License-Identifier: MIT */
#ifdef __cplusplus
@POP@
#endif
#endif /* PDL_IMPLEMENTATION */
