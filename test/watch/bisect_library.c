/* SPDX-License-Identifier: MIT */
/* Stands in for libpdl-watch, which is preloaded: the program of these tests heeds the rules itself. */
int InitializeInjection(void);
int InitializeInjection(void)
{
    return 1;
}
