/* SPDX-License-Identifier: MIT */
/* What a person who typed one command wants to know; the log is for later. */
#ifndef GH_APP_GREETING_H
#define GH_APP_GREETING_H

#include "base/slice.h"

struct greeting {
    struct slice local_url;
    struct slice public_url;
    const char *data_dir;
    struct slice setup_code; /* empty: somebody is registered */
};

void greeting_print(const struct greeting *greeting);
/* The same for programs that read the log. 'first_admin' is the command that shows the set-up code;
 * empty once there is one. */
void greeting_log(const struct greeting *greeting);

#endif
