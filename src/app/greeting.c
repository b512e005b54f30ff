/* SPDX-License-Identifier: MIT */
#include "app/greeting.h"

#include "app/version.h"
#include "io/log.h"

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

/* Logs are kept, copied and read by many: the code itself is for who can ask this gateway for it.
 */
void greeting_log(const struct greeting *greeting)
{
    char url[1024];
    char how[1024] = "";
    (void)snprintf(url, sizeof(url), "%.*s/", SLICE_ARG(greeting->public_url));
    if (greeting->setup_code.len > 0) {
        (void)snprintf(how, sizeof(how), "gatehouse setup-code --data-dir %s", greeting->data_dir);
    }
    log_line(LOG_APP, LOG_INFO, "the gateway runs", log_text("version", SLICE(GATEHOUSE_VERSION)),
             log_text("url", slice_of_text(url)), log_text("first_admin", slice_of_text(how)));
}
