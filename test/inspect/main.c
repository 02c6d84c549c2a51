/* SPDX-License-Identifier: MIT */
/* For the programs that have no main() of their own. */
#include "inspect_support.h"

int main(void)
{
    return run_all_tests(NULL, NULL);
}
