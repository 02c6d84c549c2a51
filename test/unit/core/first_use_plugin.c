/* SPDX-License-Identifier: MIT */
/* A library whose constructor calls the program that loads it. */
void pdl_test_in_constructor(void);

__attribute__((constructor)) static void call_the_program(void)
{
    pdl_test_in_constructor();
}
