/* SPDX-License-Identifier: MIT */
/* In the place of libpdl-watch: says that it was loaded. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void tell(void)
{
    static const char text[] = "teller: loaded\n";
    if (getenv("TELLER_SAYS") != NULL) {
        (void)!write(STDERR_FILENO, text, strlen(text));
    }
}
