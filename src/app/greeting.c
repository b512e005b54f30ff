/* SPDX-License-Identifier: MIT */
#include "app/greeting.h"

#include "app/version.h"

#include <stdio.h>

/* The set-up code stands behind '#': browsers send that to nobody, so that it is in no log on the
 * way. */
void greeting_print(const struct greeting *greeting)
{
    struct slice open = greeting->public_url;
    (void)printf("\n  Gatehouse %s is running.\n\n", GATEHOUSE_VERSION);
    if (!slice_equals(greeting->local_url, open)) {
        (void)printf("  Local    %.*s/\n", SLICE_ARG(greeting->local_url));
    }
    (void)printf("  Open     %.*s/\n", SLICE_ARG(open));
    (void)printf("  Data     %s\n", greeting->data_dir);
    (void)printf("  Stop     Ctrl+C\n\n");
    if (greeting->setup_code.len > 0) {
        (void)printf("  Nobody is registered yet. Open this link to create the first admin:\n\n"
                     "  %.*s/register#setup_code=%.*s\n\n",
                     SLICE_ARG(open), SLICE_ARG(greeting->setup_code));
    }
    (void)fflush(stdout);
}
