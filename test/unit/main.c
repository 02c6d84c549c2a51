/* SPDX-License-Identifier: MIT */
/* For the programs that have no main() of their own. */
#include "support.h"

int main(void)
{
    return run_all_tests(NULL, NULL);
}
