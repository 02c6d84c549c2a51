/* SPDX-License-Identifier: MIT */
extern int not_empty;
int not_empty;
